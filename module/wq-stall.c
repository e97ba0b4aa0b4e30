// SPDX-License-Identifier: GPL-2.0
/*
 * wq-stall: holds a worker pool for a known time, so that a probe can be shown to see it.
 * The modes and what each must show on which kernel stand in docs/latency-mon.md.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "lm_features.h"

#define STALL_MIN_US 100u
#define STALL_MAX_US 60000000u

/* Interrupts stay off for less than a tenth of what a hard lockup detector waits. */
#define STALL_IRQOFF_MAX_US 1000000u

#define STALL_MAX_COUNT	      1000u
#define STALL_MAX_GAP_US      10000000u
#define STALL_MAX_OUTSTANDING 64u
#define STALL_COMMAND_BYTES   160u

/* How long STALL_RESCHED runs between two offers of the CPU, as a loop over pages does. */
#define STALL_RESCHED_US 50

/* How much longer STALL_SLEEP may take, so that its wakeup can come with another one. */
#define STALL_SLEEP_SLACK_US 50

enum stall_pool {
	STALL_NORMAL,
	STALL_HIGHPRI,
	STALL_UNBOUND,
	STALL_BH,
	STALL_POOLS,
};

enum stall_mode {
	STALL_BLOCK,
	STALL_SPIN,
	STALL_RESCHED,
	STALL_IRQOFF,
	STALL_SLEEP,
	STALL_MODES,
};

static const char *const pool_names[STALL_POOLS] = { "normal", "highpri", "unbound", "bh" };
static const char *const mode_names[STALL_MODES] = {
	"block", "spin", "resched", "irqoff", "sleep",
};

static unsigned int max_us = 2000000;
module_param(max_us, uint, 0444);
MODULE_PARM_DESC(max_us, "longest stall that may be asked for, 100..60000000 (default 2000000)");

struct request {
	unsigned int cpu;
	enum stall_pool pool;
	enum stall_mode mode;
	u32 us;
	u32 count;
	u32 gap_us;
};

/*
 * The gap is a timer of its own and not delayed work: that would put its timer onto the CPU even
 * when it is offline, where it does not expire.
 */
struct stall {
	struct list_head list;
	struct work_struct work;
	struct hrtimer gap;
	struct request rq;
	u32 left;
};

static struct dentry *dir;

/* The accepted requests until they are freed; under stalls_lock, which no stall takes. */
static DEFINE_MUTEX(stalls_lock);
static LIST_HEAD(stalls);
static bool stopping;

static DEFINE_RAW_SPINLOCK(state_lock);
static struct {
	u64 injected;
	u64 running;
	u64 strayed;
	unsigned int last_cpu;
	struct request last;
	u64 last_start_ns;
	u64 last_end_ns;
	u64 last_start_mono_ns;
	u64 last_end_mono_ns;
} state;

static struct workqueue_struct *queue_of(enum stall_pool pool)
{
	switch (pool) {
	case STALL_HIGHPRI:
		return system_highpri_wq;
	case STALL_UNBOUND:
#ifdef LM_HAVE_SYSTEM_DFL_WQ
		return system_dfl_wq;
#else
		return system_unbound_wq;
#endif
#ifdef LM_HAVE_SYSTEM_BH_WQ
	case STALL_BH:
		return system_bh_wq;
#endif
	default:
#ifdef LM_HAVE_SYSTEM_PERCPU_WQ
		return system_percpu_wq;
#else
		return system_wq;
#endif
	}
}

static void spin_until(u64 end_ns)
{
	while (ktime_get_ns() < end_ns && !READ_ONCE(stopping))
		cpu_relax();
}

static void hold(const struct request *rq)
{
	u64 end_ns = ktime_get_ns() + (u64)rq->us * NSEC_PER_USEC;
	unsigned long flags;

	switch (rq->mode) {
	case STALL_BLOCK:
		preempt_disable();
		spin_until(end_ns);
		preempt_enable();
		break;
	case STALL_SPIN:
		spin_until(end_ns);
		break;
	case STALL_RESCHED:
		while (ktime_get_ns() < end_ns && !READ_ONCE(stopping)) {
			spin_until(min(end_ns, ktime_get_ns() + STALL_RESCHED_US * NSEC_PER_USEC));
			cond_resched();
		}
		break;
	case STALL_IRQOFF:
		local_irq_save(flags);
		spin_until(end_ns);
		local_irq_restore(flags);
		break;
	default:
		break;
	}
}

static void sleep_for(const struct request *rq)
{
	usleep_range(rq->us, rq->us + STALL_SLEEP_SLACK_US);
}

static void run_once(struct stall *s, void (*stay)(const struct request *rq))
{
	const struct request *rq = &s->rq;
	unsigned int cpu = raw_smp_processor_id();
	bool strayed = rq->pool != STALL_UNBOUND && cpu != rq->cpu;
	u64 start_mono_ns;
	u64 end_mono_ns;
	u64 start_ns;
	u64 end_ns;

	/* The CPU went offline in between: the item must not stall another one. */
	start_ns = local_clock();
	start_mono_ns = ktime_get_ns();
	if (!strayed)
		stay(rq);
	end_mono_ns = ktime_get_ns();
	end_ns = local_clock();

	s->left--;
	raw_spin_lock_irq(&state_lock);
	state.running--;
	if (strayed) {
		state.strayed++;
	} else {
		state.injected++;
		state.last_cpu = cpu;
		state.last = *rq;
		state.last_start_ns = start_ns;
		state.last_end_ns = end_ns;
		state.last_start_mono_ns = start_mono_ns;
		state.last_end_mono_ns = end_mono_ns;
	}
	raw_spin_unlock_irq(&state_lock);

	if (s->left && !READ_ONCE(stopping))
		hrtimer_start(&s->gap, ns_to_ktime((u64)rq->gap_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
}

/* Two functions: what holds a pool and what only sleeps in it can be told apart by name. */
static void stall_work(struct work_struct *work)
{
	run_once(container_of(work, struct stall, work), hold);
}

static void sleep_work(struct work_struct *work)
{
	run_once(container_of(work, struct stall, work), sleep_for);
}

static enum hrtimer_restart gap_over(struct hrtimer *timer)
{
	struct stall *s = container_of(timer, struct stall, gap);
	unsigned int cpu = s->rq.cpu;

	/*
	 * Of a CPU that went offline no BH work may be queued. Here, the item finds itself on
	 * another one. No CPU goes offline while this one is in an interrupt.
	 */
	if (!cpu_online(cpu))
		cpu = smp_processor_id();
	queue_work_on((int)cpu, queue_of(s->rq.pool), &s->work);
	return HRTIMER_NORESTART;
}

/* Nobody starts another one: nothing is left of s or stopping is set. */
static void free_stall(struct stall *s)
{
	/* A work that still runs may start the timer, and the timer queue the work, once. */
	cancel_work_sync(&s->work);
	hrtimer_cancel(&s->gap);
	cancel_work_sync(&s->work);
	kfree(s);
}

/* Frees what has ended. Called with stalls_lock held; returns how many are left. */
static unsigned int reap(void)
{
	struct stall *s;
	struct stall *next;
	unsigned int outstanding = 0;

	list_for_each_entry_safe(s, next, &stalls, list) {
		if (READ_ONCE(s->left)) {
			outstanding++;
			continue;
		}

		/* It has counted itself done; it may still be returning. */
		list_del(&s->list);
		free_stall(s);
	}

	return outstanding;
}

static int queue_stall(const struct request *rq)
{
	struct stall *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;

	s->rq = *rq;
	s->left = rq->count;
	INIT_WORK(&s->work, rq->mode == STALL_SLEEP ? sleep_work : stall_work);
#ifdef LM_HAVE_HRTIMER_SETUP
	hrtimer_setup(&s->gap, gap_over, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&s->gap, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	s->gap.function = gap_over;
#endif

	mutex_lock(&stalls_lock);
	if (reap() >= STALL_MAX_OUTSTANDING) {
		mutex_unlock(&stalls_lock);
		kfree(s);
		pr_err("inject: %u requests have not ended yet\n", STALL_MAX_OUTSTANDING);
		return -EBUSY;
	}

	cpus_read_lock();
	if (!cpu_online(rq->cpu)) {
		cpus_read_unlock();
		mutex_unlock(&stalls_lock);
		kfree(s);
		pr_err("inject: CPU %u is offline\n", rq->cpu);
		return -EINVAL;
	}

	raw_spin_lock_irq(&state_lock);
	state.running += rq->count;
	raw_spin_unlock_irq(&state_lock);

	list_add_tail(&s->list, &stalls);
	queue_work_on((int)rq->cpu, queue_of(rq->pool), &s->work);
	cpus_read_unlock();
	mutex_unlock(&stalls_lock);
	return 0;
}

static int parse_u32(const char *key, const char *value, u32 min, u32 max, u32 *ret)
{
	u32 number;

	if (kstrtou32(value, 10, &number) < 0 || number < min || number > max) {
		pr_err("inject: %s=%s: is no number in %u..%u\n", key, value, min, max);
		return -EINVAL;
	}

	*ret = number;
	return 0;
}

static int parse_name(const char *key, const char *value, const char *const *names,
		      unsigned int names_len, unsigned int *ret)
{
	unsigned int i;

	for (i = 0; i < names_len; i++) {
		if (strcmp(value, names[i]))
			continue;

		*ret = i;
		return 0;
	}

	pr_err("inject: %s=%s: no such %s\n", key, value, key);
	return -EINVAL;
}

enum {
	KEY_CPU = 0x1,
	KEY_US = 0x2,
	KEY_POOL = 0x4,
	KEY_MODE = 0x8,
	KEY_COUNT = 0x10,
	KEY_GAP_US = 0x20,
};

static int parse_pair(char *pair, struct request *rq, unsigned int *seen)
{
	char *value = pair;
	const char *key = strsep(&value, "=");
	unsigned int bit;
	unsigned int index;
	int r;

	if (!value) {
		pr_err("inject: '%s' is not key=value\n", key);
		return -EINVAL;
	}

	if (!strcmp(key, "cpu")) {
		bit = KEY_CPU;
		r = parse_u32(key, value, 0, nr_cpu_ids - 1, &rq->cpu);
	} else if (!strcmp(key, "us")) {
		bit = KEY_US;
		r = parse_u32(key, value, STALL_MIN_US, max_us, &rq->us);
	} else if (!strcmp(key, "pool")) {
		bit = KEY_POOL;
		r = parse_name(key, value, pool_names, STALL_POOLS, &index);
#ifndef LM_HAVE_SYSTEM_BH_WQ
		if (!r && index == STALL_BH) {
			pr_err("inject: pool=bh: this kernel has no BH workqueues\n");
			r = -EINVAL;
		}
#endif
		if (!r)
			rq->pool = index;
	} else if (!strcmp(key, "mode")) {
		bit = KEY_MODE;
		r = parse_name(key, value, mode_names, STALL_MODES, &index);
		if (!r)
			rq->mode = index;
	} else if (!strcmp(key, "count")) {
		bit = KEY_COUNT;
		r = parse_u32(key, value, 1, STALL_MAX_COUNT, &rq->count);
	} else if (!strcmp(key, "gap_us")) {
		bit = KEY_GAP_US;
		r = parse_u32(key, value, 0, STALL_MAX_GAP_US, &rq->gap_us);
	} else {
		pr_err("inject: %s= is none of cpu, pool, us, mode, count, gap_us\n", key);
		return -EINVAL;
	}

	if (!r && (*seen & bit)) {
		pr_err("inject: %s= is given twice\n", key);
		return -EINVAL;
	}

	*seen |= bit;
	return r;
}

static int parse_request(char *text, struct request *ret_rq)
{
	struct request rq = {
		.pool = STALL_NORMAL, .mode = STALL_BLOCK, .count = 1, .gap_us = 20000
	};
	unsigned int seen = 0;
	char *pair;
	int r;

	while ((pair = strsep(&text, " \t\n"))) {
		if (!*pair)
			continue;

		r = parse_pair(pair, &rq, &seen);
		if (r < 0)
			return r;
	}

	if (!(seen & KEY_CPU) || !(seen & KEY_US)) {
		pr_err("inject: cpu= and us= must be given\n");
		return -EINVAL;
	}

	if (rq.mode == STALL_IRQOFF && rq.us > STALL_IRQOFF_MAX_US) {
		pr_err("inject: us=%u: mode=irqoff allows at most %u\n", rq.us,
		       STALL_IRQOFF_MAX_US);
		return -EINVAL;
	}

	/* These work items run in softirq, where nothing may sleep or give the CPU away. */
	if (rq.pool == STALL_BH && (rq.mode == STALL_SLEEP || rq.mode == STALL_RESCHED)) {
		pr_err("inject: mode=%s: pool=bh allows block, spin and irqoff\n",
		       mode_names[rq.mode]);
		return -EINVAL;
	}

	*ret_rq = rq;
	return 0;
}

static ssize_t inject_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char text[STALL_COMMAND_BYTES];
	struct request rq;
	int r;

	if (len >= sizeof(text)) {
		pr_err("inject: a request has less than %zu characters\n", sizeof(text));
		return -EINVAL;
	}

	if (copy_from_user(text, from, len))
		return -EFAULT;

	text[len] = '\0';
	r = parse_request(text, &rq);
	if (r < 0)
		return r;

	r = queue_stall(&rq);
	return r < 0 ? r : (ssize_t)len;
}

static const struct file_operations inject_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = inject_write,
	.llseek = noop_llseek,
};

static int state_show(struct seq_file *m, void *data)
{
	typeof(state) now;

	raw_spin_lock_irq(&state_lock);
	now = state;
	raw_spin_unlock_irq(&state_lock);

	seq_printf(m,
		   "injected=%llu running=%llu last_cpu=%u last_us=%u last_start_ns=%llu last_end_ns=%llu last_pool=%s last_mode=%s strayed=%llu last_start_mono_ns=%llu last_end_mono_ns=%llu\n",
		   now.injected, now.running, now.last_cpu, now.last.us, now.last_start_ns,
		   now.last_end_ns, pool_names[now.last.pool], mode_names[now.last.mode],
		   now.strayed, now.last_start_mono_ns, now.last_end_mono_ns);
	return 0;
}

static int state_open(struct inode *inode, struct file *file)
{
	return single_open(file, state_show, NULL);
}

static const struct file_operations state_fops = {
	.owner = THIS_MODULE,
	.open = state_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init stall_init(void)
{
	if (max_us < STALL_MIN_US || max_us > STALL_MAX_US) {
		pr_err("max_us=%u: is not in %u..%u\n", max_us, STALL_MIN_US, STALL_MAX_US);
		return -EINVAL;
	}

	dir = debugfs_create_dir("wq_stall", NULL);
	if (IS_ERR_OR_NULL(dir)) {
		pr_err("no debugfs: nothing could be injected\n");
		return -ENODEV;
	}

	debugfs_create_file("inject", 0200, dir, NULL, &inject_fops);
	debugfs_create_file("state", 0444, dir, NULL, &state_fops);
	return 0;
}

static void __exit stall_exit(void)
{
	struct stall *s;
	struct stall *next;

	debugfs_remove_recursive(dir);
	WRITE_ONCE(stopping, true);
	list_for_each_entry_safe(s, next, &stalls, list)
		free_stall(s);
}

module_init(stall_init);
module_exit(stall_exit);

MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("Holds workqueue pools for a known time");
