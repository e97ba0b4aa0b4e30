// SPDX-License-Identifier: GPL-2.0
/* latency-mon: the files of debugfs latency_mon/. Their formats stand in docs/latency-mon.md. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "lm.h"
#include "lm_crc32c.h"
#include "lm_snapshot.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define LM_COMMAND_BYTES 64u

static struct dentry *dir;

/* A probe's numbers at one instant. */
struct probe_view {
	struct lm_stats stats;
	u64 pending_ns;
	bool online;
	bool pending;
};

static u64 us_of(u64 ns)
{
	return div_u64(ns, NSEC_PER_USEC);
}

/* ret_hist: LM_HIST_BUCKETS counts, or NULL. The counts and the numbers belong together. */
static void view_probe(const struct lm_probe *p, struct probe_view *ret_view, u64 *ret_hist)
{
	struct lm_cpu *c = p->c;

	raw_spin_lock_irq(&c->lock);
	ret_view->stats = p->stats;
	ret_view->pending_ns = lm_probe_pending_ns(p, ktime_get_ns());
	ret_view->online = c->running;
	ret_view->pending = p->pending;
	if (ret_hist)
		memcpy(ret_hist, p->hist, LM_HIST_BYTES);
	raw_spin_unlock_irq(&c->lock);
}

/* The reporter's rings, complete up to now. NULL without memory; freed with kvfree(). */
static struct lm_log *copy_log(void)
{
	struct lm_log *log;

	log = kvzalloc(sizeof(*log), GFP_KERNEL);
	if (!log)
		return NULL;

	if (lm_report_sync() < 0) {
		kvfree(log);
		return NULL;
	}

	lm_report_copy(log);
	return log;
}

static int state_show(struct seq_file *m, void *data)
{
	struct lm_log *log;
	unsigned int cpu;
	unsigned int kind;

	log = copy_log();
	if (!log)
		return -ENOMEM;

	seq_printf(m,
		   "latency_mon version=1 period_us=%u threshold_us=%u hz=%u console=%s seq=%llu events=%llu clock_ns=%llu lost=%llu timer_res_ns=%u holder=%d\n",
		   READ_ONCE(lm.period_us), READ_ONCE(lm.threshold_us), HZ,
		   lm_console_name(READ_ONCE(lm.console)), log->seq, log->events, local_clock(),
		   log->lost, hrtimer_resolution, lm_holders_available());
	kvfree(log);

	for_each_cpu(cpu, &lm.cpus) {
		lm_for_each_kind(kind) {
			struct probe_view v;

			view_probe(&lm.cpu[cpu]->probe[kind], &v, NULL);
			seq_printf(m,
				   "cpu=%u probe=%s beats=%llu missed=%llu over=%llu max_us=%llu max_due_ns=%llu max_run_ns=%llu pending_us=%llu irq_max_us=%llu sched_max_us=%llu wq_max_us=%llu sched_known=%d self=%llu online=%d\n",
				   cpu, lm_kind_name(kind), v.stats.beats, v.stats.missed,
				   v.stats.over, us_of(v.stats.max_ns), v.stats.max_due_local_ns,
				   v.stats.max_run_local_ns, us_of(v.pending_ns),
				   us_of(v.stats.irq_max_ns), us_of(v.stats.sched_max_ns),
				   us_of(v.stats.wq_max_ns), lm_probe_sched_separable(kind),
				   v.stats.self, v.online);
		}
	}

	return 0;
}

static void show_entry(struct seq_file *m, const struct lm_entry *en)
{
	const struct lm_event *ev = &en->ev;

	seq_printf(m,
		   "cpu=%u probe=%s us=%llu due_ns=%llu run_ns=%llu irq_us=%llu pid=%d func=%s n=%llu sched_us=%llu sched_known=%d wq_us=%llu self_us=%llu held_us=%llu held_pid=%d mod=%s run_cpu=%u cut=%d due_mono_ns=%llu\n",
		   ev->cpu, lm_kind_name(ev->kind), us_of(ev->total_ns), ev->due_local_ns,
		   ev->due_local_ns + ev->total_ns, us_of(ev->irq_ns), ev->pid, en->func,
		   ev->number, us_of(ev->sched_ns), ev->sched_known,
		   us_of(ev->total_ns - ev->irq_ns - ev->sched_ns), us_of(ev->self_ns),
		   us_of(ev->held.ns), ev->held.pid, en->module, ev->run_cpu, ev->cut, ev->due_ns);
}

/* The index of the i-th oldest entry in the ring. */
static unsigned int recent_index(const struct lm_log *log, unsigned int i)
{
	return (log->recent_next + LM_RING - log->recents + i) % LM_RING;
}

static int events_show(struct seq_file *m, void *data)
{
	struct lm_log *log;
	unsigned int i;

	log = copy_log();
	if (!log)
		return -ENOMEM;

	for (i = 0; i < log->recents; i++)
		show_entry(m, &log->recent[recent_index(log, i)]);

	kvfree(log);
	return 0;
}

static int worst_show(struct seq_file *m, void *data)
{
	struct lm_log *log;
	unsigned int i;
	unsigned int n;

	log = copy_log();
	if (!log)
		return -ENOMEM;

	for (n = log->worsts; n > 0; n--) {
		unsigned int max = 0;

		for (i = 1; i < n; i++) {
			if (log->worst[i].ev.total_ns > log->worst[max].ev.total_ns)
				max = i;
		}

		show_entry(m, &log->worst[max]);
		log->worst[max] = log->worst[n - 1];
	}

	kvfree(log);
	return 0;
}

static int hist_show(struct seq_file *m, void *data)
{
	struct probe_view v;
	unsigned int cpu;
	unsigned int kind;
	unsigned int i;
	u64 *hist;

	hist = kvzalloc(LM_HIST_BYTES, GFP_KERNEL);
	if (!hist)
		return -ENOMEM;

	for_each_cpu(cpu, &lm.cpus) {
		lm_for_each_kind(kind) {
			view_probe(&lm.cpu[cpu]->probe[kind], &v, hist);
			for (i = 0; i < LM_HIST_BUCKETS; i++) {
				if (!hist[i])
					continue;

				seq_printf(m,
					   "cpu=%u probe=%s low_ns=%llu end_ns=%llu count=%llu\n",
					   cpu, lm_kind_name(kind), lm_hist_low_ns(i),
					   lm_hist_low_ns(i + 1), hist[i]);
			}
		}
	}

	kvfree(hist);
	return 0;
}

static int state_open(struct inode *inode, struct file *file)
{
	return single_open(file, state_show, NULL);
}

static int events_open(struct inode *inode, struct file *file)
{
	return single_open(file, events_show, NULL);
}

static int worst_open(struct inode *inode, struct file *file)
{
	return single_open(file, worst_show, NULL);
}

static int hist_open(struct inode *inode, struct file *file)
{
	return single_open(file, hist_show, NULL);
}

#define LM_SHOW_FOPS(name)                                  \
	static const struct file_operations name##_fops = { \
		.owner = THIS_MODULE,                       \
		.open = name##_open,                        \
		.read = seq_read,                           \
		.llseek = seq_lseek,                        \
		.release = single_release,                  \
	}

LM_SHOW_FOPS(state);
LM_SHOW_FOPS(events);
LM_SHOW_FOPS(worst);
LM_SHOW_FOPS(hist);

/* A snapshot is taken whole when the file is opened: it does not change while it is read. */
struct snapshot {
	size_t len;
	u8 bytes[];
};

static struct lm_snap_event snap_event(const struct lm_entry *en)
{
	const struct lm_event *ev = &en->ev;
	struct lm_snap_event e = {
		.number = cpu_to_le64(ev->number),
		.cpu = cpu_to_le32(ev->cpu),
		.kind = cpu_to_le32(ev->kind),
		.run_cpu = cpu_to_le32(ev->run_cpu),
		.flags = cpu_to_le32((ev->sched_known ? LM_SNAP_EVENT_SCHED_KNOWN : 0) |
				     (ev->cut ? LM_SNAP_EVENT_CUT : 0)),
		.pid = cpu_to_le32(ev->pid),
		.held_pid = cpu_to_le32(ev->held.pid),
		.total_ns = cpu_to_le64(ev->total_ns),
		.due_ns = cpu_to_le64(ev->due_local_ns),
		.run_ns = cpu_to_le64(ev->due_local_ns + ev->total_ns),
		.irq_ns = cpu_to_le64(ev->irq_ns),
		.sched_ns = cpu_to_le64(ev->sched_ns),
		.self_ns = cpu_to_le64(ev->self_ns),
		.held_ns = cpu_to_le64(ev->held.ns),
		.due_mono_ns = cpu_to_le64(ev->due_ns),
	};

	BUILD_BUG_ON(sizeof(e.func) != sizeof(en->func) || sizeof(e.module) != sizeof(en->module));
	memcpy(e.func, en->func, sizeof(e.func));
	memcpy(e.module, en->module, sizeof(e.module));
	return e;
}

static struct lm_snap_probe snap_probe(const struct lm_probe *p, const struct probe_view *v)
{
	u32 flags = 0;

	flags |= v->online ? LM_SNAP_PROBE_ONLINE : 0;
	flags |= v->pending ? LM_SNAP_PROBE_PENDING : 0;
	flags |= lm_probe_sched_separable(p->kind) ? LM_SNAP_PROBE_SCHED_KNOWN : 0;

	return (struct lm_snap_probe){
		.cpu = cpu_to_le32(p->c->cpu),
		.kind = cpu_to_le32(p->kind),
		.flags = cpu_to_le32(flags),
		.beats = cpu_to_le64(v->stats.beats),
		.missed = cpu_to_le64(v->stats.missed),
		.over = cpu_to_le64(v->stats.over),
		.self = cpu_to_le64(v->stats.self),
		.max_ns = cpu_to_le64(v->stats.max_ns),
		.max_due_ns = cpu_to_le64(v->stats.max_due_local_ns),
		.max_run_ns = cpu_to_le64(v->stats.max_run_local_ns),
		.pending_ns = cpu_to_le64(v->pending_ns),
		.irq_max_ns = cpu_to_le64(v->stats.irq_max_ns),
		.sched_max_ns = cpu_to_le64(v->stats.sched_max_ns),
		.wq_max_ns = cpu_to_le64(v->stats.wq_max_ns),
	};
}

static void *append(struct snapshot *snap, const void *data, size_t len)
{
	void *place = snap->bytes + snap->len;

	if (data)
		memcpy(place, data, len);
	snap->len += len;
	return place;
}

static void fill_snapshot(struct snapshot *snap, const struct lm_log *log, u32 probes, u64 *hist)
{
	struct lm_snap_header header = {
		.magic = LM_SNAP_MAGIC,
		.version = cpu_to_le32(LM_SNAP_VERSION),
		.header_bytes = cpu_to_le32(sizeof(header)),
		.probe_bytes = cpu_to_le32(sizeof(struct lm_snap_probe)),
		.event_bytes = cpu_to_le32(sizeof(struct lm_snap_event)),
		.probes = cpu_to_le32(probes),
		.buckets = cpu_to_le32(LM_HIST_BUCKETS),
		.sub_buckets = cpu_to_le32(LM_HIST_SUB),
		.recent = cpu_to_le32(log->recents),
		.worst = cpu_to_le32(log->worsts),
		.period_us = cpu_to_le32(READ_ONCE(lm.period_us)),
		.threshold_us = cpu_to_le32(READ_ONCE(lm.threshold_us)),
		.hz = cpu_to_le32(HZ),
		.timer_res_ns = cpu_to_le32(hrtimer_resolution),
		.console = cpu_to_le32(READ_ONCE(lm.console)),
		.seq = cpu_to_le64(log->seq),
		.events = cpu_to_le64(log->events),
		.lost = cpu_to_le64(log->lost),
		.clock_ns = cpu_to_le64(local_clock()),
	};
	struct lm_snap_probe probe;
	struct lm_snap_event event;
	struct probe_view view;
	unsigned int cpu;
	unsigned int kind;
	unsigned int i;
	__le32 crc;

	append(snap, &header, sizeof(header));
	for_each_cpu(cpu, &lm.cpus) {
		lm_for_each_kind(kind) {
			const struct lm_probe *p = &lm.cpu[cpu]->probe[kind];

			view_probe(p, &view, hist);
			probe = snap_probe(p, &view);
			append(snap, &probe, sizeof(probe));
			for (i = 0; i < LM_HIST_BUCKETS; i++) {
				__le64 count = cpu_to_le64(hist[i]);

				append(snap, &count, sizeof(count));
			}
		}
	}

	for (i = 0; i < log->recents; i++) {
		event = snap_event(&log->recent[recent_index(log, i)]);
		append(snap, &event, sizeof(event));
	}

	for (i = 0; i < log->worsts; i++) {
		event = snap_event(&log->worst[i]);
		append(snap, &event, sizeof(event));
	}

	crc = cpu_to_le32(lm_crc32c(snap->bytes, snap->len));
	append(snap, &crc, sizeof(crc));
}

static int snapshot_open(struct inode *inode, struct file *file)
{
	struct snapshot *snap = NULL;
	struct lm_log *log;
	u64 *hist;
	u32 probes;
	size_t size;
	int r = -ENOMEM;

	probes = cpumask_weight(&lm.cpus) * hweight_long(lm.kinds);
	log = copy_log();
	hist = kvzalloc(LM_HIST_BYTES, GFP_KERNEL);
	if (!log || !hist)
		goto out;

	size = sizeof(struct lm_snap_header) +
	       (size_t)probes * (sizeof(struct lm_snap_probe) + LM_HIST_BYTES) +
	       (size_t)(log->recents + log->worsts) * sizeof(struct lm_snap_event) + sizeof(__le32);
	snap = kvzalloc(sizeof(*snap) + size, GFP_KERNEL);
	if (!snap)
		goto out;

	fill_snapshot(snap, log, probes, hist);
	file->private_data = snap;
	r = 0;

out:
	kvfree(hist);
	kvfree(log);
	return r;
}

static ssize_t snapshot_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	const struct snapshot *snap = file->private_data;

	return simple_read_from_buffer(to, len, pos, snap->bytes, snap->len);
}

static int snapshot_release(struct inode *inode, struct file *file)
{
	kvfree(file->private_data);
	return 0;
}

static const struct file_operations snapshot_fops = {
	.owner = THIS_MODULE,
	.open = snapshot_open,
	.read = snapshot_read,
	.llseek = default_llseek,
	.release = snapshot_release,
};

static int set_u32(const char *key, const char *value, int (*set)(u32 value))
{
	u32 number;
	int r;

	r = kstrtou32(value, 10, &number);
	if (r < 0) {
		pr_err("control: %s=%s: is no number of microseconds\n", key, value);
		return -EINVAL;
	}

	return set(number);
}

static int run_command(char *text)
{
	char *value = text;
	char *key;
	enum lm_console console;
	int r;

	if (!strcmp(text, "reset")) {
		r = lm_report_sync();
		if (r < 0)
			return r;

		lm_report_reset();
		return 0;
	}

	key = strsep(&value, "=");
	if (value && !strcmp(key, "threshold_us"))
		return set_u32(key, value, lm_set_threshold_us);
	if (value && !strcmp(key, "period_us"))
		return set_u32(key, value, lm_set_period_us);
	if (value && !strcmp(key, "console")) {
		r = lm_console_parse(value, &console);
		if (r < 0)
			return r;

		WRITE_ONCE(lm.console, console);
		return 0;
	}

	pr_err("control: '%s' is none of reset, threshold_us=N, period_us=N, console=MODE\n", key);
	return -EINVAL;
}

/* One command a write. */
static ssize_t control_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char text[LM_COMMAND_BYTES];
	int r;

	if (len >= sizeof(text)) {
		pr_err("control: a command has less than %zu characters\n", sizeof(text));
		return -EINVAL;
	}

	if (copy_from_user(text, from, len))
		return -EFAULT;

	text[len] = '\0';
	r = run_command(strim(text));
	return r < 0 ? r : (ssize_t)len;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
	.llseek = noop_llseek,
};

/* A kernel without debugfs still measures and prints. */
void lm_debugfs_open(void)
{
	dir = debugfs_create_dir("latency_mon", NULL);
	if (IS_ERR_OR_NULL(dir)) {
		pr_warn("no debugfs: only the console shows what is measured\n");
		dir = NULL;
		return;
	}

	debugfs_create_file("state", 0444, dir, NULL, &state_fops);
	debugfs_create_file("events", 0444, dir, NULL, &events_fops);
	debugfs_create_file("worst", 0444, dir, NULL, &worst_fops);
	debugfs_create_file("hist", 0444, dir, NULL, &hist_fops);
	debugfs_create_file("snapshot", 0444, dir, NULL, &snapshot_fops);
	debugfs_create_file("control", 0200, dir, NULL, &control_fops);
}

void lm_debugfs_close(void)
{
	debugfs_remove_recursive(dir);
}
