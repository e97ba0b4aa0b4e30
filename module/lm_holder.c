// SPDX-License-Identifier: GPL-2.0
/*
 * latency-mon: which work item held a CPU's pool while a probe's work waited.
 *
 * The workqueue tracepoints are not exported to modules; they are found by name among the kernel's
 * own. Without them the probes measure just the same and the holder is unknown.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "lm.h"

#include <linux/hardirq.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/tracepoint.h>

#if defined(CONFIG_TRACEPOINTS) && defined(LM_HAVE_EXECUTE_START) && \
	(defined(LM_HAVE_EXECUTE_END) || defined(LM_HAVE_EXECUTE_END_FUNC))

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

static struct lm_holder *current_holder(void)
{
	struct lm_cpu *c = lm.cpu[raw_smp_processor_id()];
	enum lm_kind kind;

	if (!c)
		return NULL;

	kind = current_pool();
	return kind == LM_KINDS ? NULL : &c->holder[kind];
}

/* Time that the task ran or was ready to run; as old as the last tick while it runs. */
static u64 task_busy_ns(const struct task_struct *task)
{
	u64 ns = READ_ONCE(task->se.sum_exec_runtime);

#ifdef CONFIG_SCHED_INFO
	ns += READ_ONCE(task->sched_info.run_delay);
#endif
	return ns;
}

/*
 * How long the item has kept its pool from starting another since since_ns. A worker that sleeps
 * gives the pool free: unless it never slept, only the time that it was busy counts, which is known
 * to one tick.
 */
static u64 held_ns(const struct lm_run *run, u64 since_ns, u64 now_ns)
{
	u64 begin = max(run->start_ns, since_ns);
	u64 wall = now_ns > begin ? now_ns - begin : 0;

	if (!run->task || READ_ONCE(run->task->nvcsw) == run->sleeps)
		return wall;

	return min(wall, task_busy_ns(run->task) - run->cpu_ns + TICK_NSEC);
}

static void take_longer(struct lm_held *best, const struct lm_run *run, u64 since_ns, u64 now_ns)
{
	u64 ns = held_ns(run, since_ns, now_ns);

	if (ns <= best->ns)
		return;

	best->ns = ns;
	best->func = run->func;
	best->pid = run->task ? run->task->pid : 0;
}

static void on_start(void *data, struct work_struct *work)
{
	struct lm_holder *h = current_holder();
	struct lm_run *slot = NULL;
	unsigned long flags;
	unsigned int i;

	if (!h || work->func == lm_probe_work)
		return;

	raw_spin_lock_irqsave(&h->lock, flags);
	if (!h->enabled)
		goto unlock;

	/* If all are taken, by sleepers mostly, the oldest makes room. */
	for (i = 0; i < LM_RUNS; i++) {
		if (!h->run[i].work) {
			slot = &h->run[i];
			break;
		}
		if (!slot || h->run[i].start_ns < slot->start_ns)
			slot = &h->run[i];
	}

	slot->work = work;
	slot->func = work->func;
	slot->start_ns = ktime_get_ns();
	slot->task = in_serving_softirq() ? NULL : current;
	slot->cpu_ns = slot->task ? task_busy_ns(current) : 0;
	slot->sleeps = slot->task ? current->nvcsw : 0;
unlock:
	raw_spin_unlock_irqrestore(&h->lock, flags);
}

/* The item may be freed by now: its address is compared, never followed. */
static void ended(const struct work_struct *work)
{
	struct lm_holder *h = current_holder();
	unsigned long flags;
	unsigned int i;

	if (!h)
		return;

	raw_spin_lock_irqsave(&h->lock, flags);
	for (i = 0; i < LM_RUNS; i++) {
		struct lm_run *run = &h->run[i];

		if (run->work != work || (run->task && run->task != current))
			continue;

		take_longer(&h->best, run, h->since_ns, ktime_get_ns());
		run->work = NULL;
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

void lm_holder_begin(struct lm_cpu *c, enum lm_kind kind, u64 due_ns)
{
	struct lm_holder *h = &c->holder[kind];

	if (!available)
		return;

	raw_spin_lock(&h->lock);
	h->since_ns = due_ns;
	h->best = (struct lm_held){};
	raw_spin_unlock(&h->lock);
}

static struct lm_held longest(struct lm_holder *h, u64 now_ns)
{
	struct lm_held best;
	unsigned int i;

	raw_spin_lock(&h->lock);
	best = h->best;
	for (i = 0; i < LM_RUNS; i++) {
		if (h->run[i].work)
			take_longer(&best, &h->run[i], h->since_ns, now_ns);
	}
	raw_spin_unlock(&h->lock);

	return best;
}

/*
 * The item of the probe's own pool that held it for at least a quarter of total_ns; else one of the
 * CPU's other pools, whose worker kept the CPU itself. An unbound worker waits for no CPU in
 * particular.
 * Called with interrupts off.
 */
struct lm_held lm_holder_get(struct lm_cpu *c, enum lm_kind kind, u64 total_ns, u64 now_ns)
{
	static const enum lm_kind bound[] = { LM_NORMAL, LM_HIGHPRI };
	struct lm_held best = {};
	unsigned int i;

	if (kind == LM_UNBOUND)
		return best;

	if (kind != LM_KTHREAD)
		best = longest(&c->holder[kind], now_ns);

	for (i = 0; i < ARRAY_SIZE(bound) && best.ns < total_ns / 4; i++) {
		if (bound[i] != kind)
			best = longest(&c->holder[bound[i]], now_ns);
	}

	if (best.ns < total_ns / 4)
		return (struct lm_held){};

	best.ns = min(best.ns, total_ns);
	return best;
}

static void set_enabled(struct lm_cpu *c, bool enabled)
{
	unsigned int kind;

	for (kind = 0; kind < LM_KINDS; kind++) {
		struct lm_holder *h = &c->holder[kind];

		raw_spin_lock_irq(&h->lock);
		h->enabled = enabled;
		memset(h->run, 0, sizeof(h->run));
		h->best = (struct lm_held){};
		raw_spin_unlock_irq(&h->lock);
	}
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

void lm_holder_begin(struct lm_cpu *c, enum lm_kind kind, u64 due_ns)
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
