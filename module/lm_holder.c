// SPDX-License-Identifier: GPL-2.0
/*
 * latency-mon: which work item held a CPU's pool while a probe's work waited.
 *
 * The workqueue tracepoints are not exported to modules; they are found by name among the kernel's
 * own. Without them the probes measure just the same and the holder is unknown.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "lm.h"

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/hardirq.h>
#include <linux/ktime.h>
#include <linux/tracepoint.h>

#if defined(CONFIG_TRACEPOINTS) && defined(LM_HAVE_EXECUTE_START) && \
	(defined(LM_HAVE_EXECUTE_END) || defined(LM_HAVE_EXECUTE_END_FUNC))

/* Nothing shorter can be a quarter of a delay over the threshold. */
#define LM_HOLDER_LEAST_NS (LM_THRESHOLD_MIN_US * NSEC_PER_USEC / 4)

static struct tracepoint *tp_start;
static struct tracepoint *tp_end;
static bool available;

/* The pool whose worker runs here, LM_KINDS if it is none of a CPU's own. */
static enum lm_kind current_pool(void)
{
	if (in_serving_softirq())
		return LM_BH;

	/*
	 * Workers of an offline CPU's pool run anywhere, and unbound ones have no pool of a CPU:
	 * only a worker that must stay here keeps its entry's task valid until its end.
	 */
	if (!(current->flags & PF_WQ_WORKER) || current->nr_cpus_allowed != 1 ||
	    strncmp(current->comm, "kworker/", 8) || current->comm[8] < '0' ||
	    current->comm[8] > '9')
		return LM_KINDS;

	return task_nice(current) < 0 ? LM_HIGHPRI : LM_NORMAL;
}

static struct lm_holder *current_holder(enum lm_kind *ret_pool)
{
	struct lm_cpu *c = lm.cpu[raw_smp_processor_id()];

	*ret_pool = current_pool();
	return c && *ret_pool != LM_KINDS ? &c->holder : NULL;
}

static bool is_watched(enum lm_kind kind)
{
	return kind != LM_UNBOUND && lm_kind_enabled(kind);
}

static struct lm_mark mark(const struct task_struct *task, u64 now_ns)
{
	struct lm_mark m = { .ns = now_ns, .on_cpu = !task || task == current };

	if (!task)
		return m;

	m.exec_ns = READ_ONCE(task->se.sum_exec_runtime);
#ifdef CONFIG_SCHED_INFO
	m.delay_ns = READ_ONCE(task->sched_info.run_delay);
#endif
	m.sleeps = READ_ONCE(task->nvcsw);
	m.displaced = READ_ONCE(task->nivcsw);
	return m;
}

/*
 * What the item did since the later of its start and the time at which the probe's sample became
 * due. It holds its pool, which starts no other item, while it runs and while it waits for the CPU,
 * not while it sleeps. As long as it has neither slept nor been displaced the wall clock tells both
 * times; else the scheduler's accounting does, which is up to a tick old for a task that runs.
 */
static struct lm_held did(const struct lm_run *run, enum lm_kind kind, u64 since_ns, u64 now_ns)
{
	const struct lm_mark *m = run->start.ns >= since_ns ? &run->start : &run->due[kind];
	const struct lm_mark now = mark(run->task, now_ns);
	u64 wall = now.ns > m->ns ? now.ns - m->ns : 0;
	bool awake = m->on_cpu && now.sleeps == m->sleeps;
	struct lm_held held = {
		.func = run->func,
		.until_ns = now_ns,
		.pid = run->task ? run->task->pid : 0,
	};

	if (awake && now.displaced == m->displaced)
		held.ran_ns = wall;
	else
		held.ran_ns = min(wall, now.exec_ns - m->exec_ns);

	held.ns = awake ? wall : min(wall, held.ran_ns + now.delay_ns - m->delay_ns);
	return held;
}

static void take(struct lm_window *w, enum lm_kind kind, const struct lm_run *run, u64 now_ns)
{
	struct lm_held held = did(run, kind, w->since_ns, now_ns);

	if (held.ran_ns > w->ran.ran_ns)
		w->ran = held;

	if (run->pool != kind || held.ns < w->held.ns)
		return;

	if (held.ns > w->held.ns || held.ran_ns > w->held.ran_ns)
		w->held = held;
}

static void on_start(void *data, struct work_struct *work)
{
	enum lm_kind pool;
	struct lm_holder *h = current_holder(&pool);
	struct lm_run *run;
	unsigned long flags;
	unsigned int slot;
	unsigned int i;

	if (!h || work->func == lm_probe_work)
		return;

	raw_spin_lock_irqsave(&h->lock, flags);
	if (!h->enabled)
		goto unlock;

	/* If all are taken, by sleepers mostly, the oldest makes room. */
	slot = find_first_zero_bit(h->used, LM_RUNS);
	if (slot == LM_RUNS) {
		slot = 0;
		for (i = 1; i < LM_RUNS; i++) {
			if (h->run[i].start.ns < h->run[slot].start.ns)
				slot = i;
		}
	}

	__set_bit(slot, h->used);
	run = &h->run[slot];
	run->work = work;
	run->func = work->func;
	run->pool = pool;
	run->task = pool == LM_BH ? NULL : current;
	run->start = mark(run->task, ktime_get_ns());
unlock:
	raw_spin_unlock_irqrestore(&h->lock, flags);
}

/* The item may be freed by now: its address is compared, never followed. */
static void ended(const struct work_struct *work)
{
	enum lm_kind pool;
	struct lm_holder *h = current_holder(&pool);
	unsigned long flags;
	unsigned int kind;
	unsigned int i;
	u64 now;

	if (!h)
		return;

	raw_spin_lock_irqsave(&h->lock, flags);
	for_each_set_bit(i, h->used, LM_RUNS) {
		struct lm_run *run = &h->run[i];

		if (run->work != work || (run->task && run->task != current))
			continue;

		__clear_bit(i, h->used);
		now = ktime_get_ns();
		if (now - run->start.ns < LM_HOLDER_LEAST_NS)
			break;

		lm_for_each_kind(kind) {
			if (is_watched(kind))
				take(&h->window[kind], kind, run, now);
		}
		break;
	}
	raw_spin_unlock_irqrestore(&h->lock, flags);
}

#ifdef LM_HAVE_EXECUTE_END_FUNC
static void on_end(void *data, struct work_struct *work, work_func_t func)
{
	ended(work);
}
#else
static void on_end(void *data, struct work_struct *work)
{
	ended(work);
}
#endif

/* Of what has ended before the interrupt came that part which lay after the due time. */
static void clip(struct lm_held *held, u64 due_ns)
{
	if (held->until_ns <= due_ns) {
		*held = (struct lm_held){};
		return;
	}

	held->ns = min(held->ns, held->until_ns - due_ns);
	held->ran_ns = min(held->ran_ns, held->until_ns - due_ns);
}

/*
 * A sample has become due. From then to the interrupt, interrupts were off: what the interrupt came
 * upon had the CPU all that time. Or a hypervisor held the interrupt back: then items may have
 * ended in between.
 * Called with interrupts off.
 */
void lm_holder_begin(struct lm_cpu *c, enum lm_kind kind, u64 due_ns, u64 fire_ns)
{
	struct lm_holder *h = &c->holder;
	unsigned int i;

	if (!available || !is_watched(kind))
		return;

	raw_spin_lock(&h->lock);
	h->window[kind].since_ns = due_ns;
	clip(&h->window[kind].ran, due_ns);
	clip(&h->window[kind].held, due_ns);
	for_each_set_bit(i, h->used, LM_RUNS) {
		struct lm_mark *m = &h->run[i].due[kind];

		*m = mark(h->run[i].task, due_ns);
		if (m->on_cpu)
			m->exec_ns -= fire_ns - due_ns;
	}
	raw_spin_unlock(&h->lock);
}

/*
 * The item that kept the probe's work waiting: the one that ran longest on its CPU, in any pool, if
 * that is at least a quarter of total_ns. What merely waited for the CPU itself comes only where
 * no item ran that long: the one that held the probe's own pool longest, while something that is no
 * work item had the CPU. An unbound worker waits for no CPU in particular.
 * Called with interrupts off.
 */
struct lm_held lm_holder_get(struct lm_cpu *c, enum lm_kind kind, u64 total_ns, u64 now_ns)
{
	struct lm_holder *h = &c->holder;
	struct lm_held held = {};
	struct lm_window w;
	unsigned int i;

	if (!available || !is_watched(kind))
		return held;

	raw_spin_lock(&h->lock);
	w = h->window[kind];
	for_each_set_bit(i, h->used, LM_RUNS)
		take(&w, kind, &h->run[i], now_ns);
	raw_spin_unlock(&h->lock);

	if (w.ran.ran_ns >= total_ns / 4)
		held = w.ran;
	else if (w.held.ns >= total_ns / 4)
		held = w.held;

	held.ns = min(held.ns, total_ns);
	return held;
}

static void set_enabled(struct lm_cpu *c, bool enabled)
{
	struct lm_holder *h = &c->holder;

	raw_spin_lock_irq(&h->lock);
	h->enabled = enabled;
	bitmap_zero(h->used, LM_RUNS);
	memset(h->window, 0, sizeof(h->window));
	raw_spin_unlock_irq(&h->lock);
}

void lm_holder_start(struct lm_cpu *c)
{
	set_enabled(c, true);
}

void lm_holder_stop(struct lm_cpu *c)
{
	set_enabled(c, false);
}

bool lm_holders_available(void)
{
	return available;
}

static void find(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "workqueue_execute_start"))
		tp_start = tp;
	else if (!strcmp(tp->name, "workqueue_execute_end"))
		tp_end = tp;
}

int lm_holders_open(void)
{
	int r;

	for_each_kernel_tracepoint(find, NULL);
	if (!tp_start || !tp_end)
		return 0;

	r = tracepoint_probe_register(tp_start, on_start, NULL);
	if (r < 0) {
		pr_err("cannot attach to workqueue_execute_start: %d\n", r);
		return r;
	}

	r = tracepoint_probe_register(tp_end, on_end, NULL);
	if (r < 0) {
		pr_err("cannot attach to workqueue_execute_end: %d\n", r);
		tracepoint_probe_unregister(tp_start, on_start, NULL);
		tracepoint_synchronize_unregister();
		return r;
	}

	available = true;
	return 0;
}

void lm_holders_close(void)
{
	if (!available)
		return;

	tracepoint_probe_unregister(tp_start, on_start, NULL);
	tracepoint_probe_unregister(tp_end, on_end, NULL);
	tracepoint_synchronize_unregister();
	available = false;
}

#else

void lm_holder_begin(struct lm_cpu *c, enum lm_kind kind, u64 due_ns, u64 fire_ns)
{
}

struct lm_held lm_holder_get(struct lm_cpu *c, enum lm_kind kind, u64 total_ns, u64 now_ns)
{
	return (struct lm_held){};
}

void lm_holder_start(struct lm_cpu *c)
{
}

void lm_holder_stop(struct lm_cpu *c)
{
}

bool lm_holders_available(void)
{
	return false;
}

int lm_holders_open(void)
{
	return 0;
}

void lm_holders_close(void)
{
}

#endif
