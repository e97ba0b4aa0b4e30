// SPDX-License-Identifier: GPL-2.0
/* latency-mon: a pinned timer on each CPU makes the probes' work due; here it is measured. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "lm.h"

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smpboot.h>
#include <linux/topology.h>

#ifdef LM_HAVE_HRTIMER_HARD
#define LM_TIMER_MODE HRTIMER_MODE_ABS_PINNED_HARD
#else
#define LM_TIMER_MODE HRTIMER_MODE_ABS_PINNED
#endif

#define LM_MAP_TRIES   3
#define LM_MAP_GOOD_NS 5000u

/* Above this, threshold << live_shift could leave 64 bits; it is far above a year by then. */
#define LM_LIVE_SHIFT_MAX 26u

static enum cpuhp_state hotplug_state;
static DEFINE_PER_CPU(struct task_struct *, probe_task);

/* The workqueue of a pool as a user of the kernel's own queues meets it; NULL for the kthread. */
static struct workqueue_struct *queue_of(enum lm_kind kind)
{
	switch (kind) {
	case LM_NORMAL:
#ifdef LM_HAVE_SYSTEM_PERCPU_WQ
		return system_percpu_wq;
#else
		return system_wq;
#endif
	case LM_HIGHPRI:
		return system_highpri_wq;
	case LM_UNBOUND:
#ifdef LM_HAVE_SYSTEM_DFL_WQ
		return system_dfl_wq;
#else
		return system_unbound_wq;
#endif
#ifdef LM_HAVE_SYSTEM_BH_WQ
	case LM_BH:
		return system_bh_wq;
#endif
	default:
		return NULL;
	}
}

/*
 * The kthread is bound to the same CPU and woken by the same timer, so what it waited is what any
 * thread had to wait for the CPU. That says nothing about a worker that may run elsewhere or in
 * softirq.
 */
bool lm_probe_sched_separable(enum lm_kind kind)
{
	return lm_kind_enabled(LM_KTHREAD) && kind != LM_UNBOUND && kind != LM_BH;
}

static u64 overlap_ns(u64 a_begin, u64 a_end, u64 b_begin, u64 b_end)
{
	u64 begin = max(a_begin, b_begin);
	u64 end = min(a_end, b_end);

	return end > begin ? end - begin : 0;
}

/* Own console output on this CPU since the module's start, up to now. */
static u64 printed_ns(const struct lm_cpu *c, u64 now_ns)
{
	u64 total = c->print_total_ns;

	if (c->printing && now_ns > c->print_begin_ns)
		total += now_ns - c->print_begin_ns;

	return total;
}

/*
 * A sample's age from outside: of the pending one, or, if the timer itself is overdue because the
 * CPU takes no interrupts, of the one that it should have started.
 */
u64 lm_probe_pending_ns(const struct lm_probe *p, u64 now_ns)
{
	u64 due = p->pending ? p->due_ns : p->c->next_due_ns;

	if (!p->c->running || now_ns < due)
		return 0;

	return now_ns - due;
}

/* True if a live line has become due. */
static bool check_live(struct lm_probe *p, u64 now_ns, s64 local_off_ns)
{
	u64 threshold = lm_threshold_ns();
	u64 age = lm_probe_pending_ns(p, now_ns);

	if (p->live_shift >= LM_LIVE_SHIFT_MAX || age < threshold << p->live_shift)
		return false;

	while (p->live_shift < LM_LIVE_SHIFT_MAX && age >= threshold << p->live_shift)
		p->live_shift++;

	p->live = true;
	p->live_age_ns = age;
	p->live_due_local_ns = now_ns - age + (p->pending ? p->local_off_ns : local_off_ns);
	return true;
}

/*
 * Each CPU's timer also looks at the next CPU: if that takes no interrupts, its own timer cannot
 * tell. Trylock: what the neighbour is at may take long, and it will be looked at again.
 */
static bool check_neighbour(const struct lm_cpu *c, u64 now_ns, s64 local_off_ns)
{
	struct lm_cpu *other;
	unsigned int cpu;
	unsigned int kind;
	bool todo = false;

	cpu = cpumask_next(c->cpu, &lm.active);
	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(&lm.active);
	if (cpu >= nr_cpu_ids || cpu == c->cpu)
		return false;

	other = lm.cpu[cpu];
	if (!raw_spin_trylock(&other->lock))
		return false;

	lm_for_each_kind(kind)
		todo |= check_live(&other->probe[kind], now_ns, local_off_ns);
	raw_spin_unlock(&other->lock);
	return todo;
}

static void start_sample(struct lm_probe *p, u64 due_ns, u64 fire_ns, s64 local_off_ns)
{
	const struct lm_cpu *c = p->c;
	u64 print_end = c->printing ? fire_ns : c->print_end_ns;

	p->pending = true;
	p->due_ns = due_ns;
	p->fire_ns = fire_ns;
	p->local_off_ns = local_off_ns;
	p->sched_known = false;
	p->print_at_due_ns =
		printed_ns(c, fire_ns) - overlap_ns(c->print_begin_ns, print_end, due_ns, fire_ns);
}

static void kick(struct lm_probe *p)
{
	struct workqueue_struct *wq = queue_of(p->kind);

	if (p->kind == LM_KTHREAD)
		wake_up_process(per_cpu(probe_task, p->c->cpu));
	else if (p->kind == LM_UNBOUND)
		queue_work(wq, &p->work);
	else
		queue_work_on((int)p->c->cpu, wq, &p->work);
}

/*
 * local_clock() minus CLOCK_MONOTONIC. Of several readings the quickest counts: an NMI or a
 * hypervisor may come in between.
 */
static s64 map_local(void)
{
	u64 least = U64_MAX;
	s64 off = 0;
	int i;

	for (i = 0; i < LM_MAP_TRIES && least > LM_MAP_GOOD_NS; i++) {
		u64 before = ktime_get_ns();
		u64 local = local_clock();
		u64 between = ktime_get_ns() - before;

		if (between < least) {
			least = between;
			off = (s64)(local - before - between / 2);
		}
	}

	return off;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct lm_cpu *c = container_of(timer, struct lm_cpu, timer);
	u64 due = (u64)ktime_to_ns(hrtimer_get_expires(timer));
	u64 fire = ktime_get_ns();
	s64 local_off = map_local();
	unsigned long kicks = 0;
	unsigned int kind;
	bool todo = false;
	u64 lost;

	raw_spin_lock(&c->lock);
	lost = hrtimer_forward(timer, ns_to_ktime(fire),
			       ns_to_ktime((u64)READ_ONCE(lm.period_us) * NSEC_PER_USEC));
	lost = lost ? lost - 1 : 0;
	c->next_due_ns = (u64)ktime_to_ns(hrtimer_get_expires(timer));

	lm_for_each_kind(kind) {
		struct lm_probe *p = &c->probe[kind];

		p->stats.missed += lost;
		if (p->pending) {
			p->stats.missed++;
			todo |= check_live(p, fire, local_off);
			continue;
		}

		start_sample(p, due, fire, local_off);
		lm_holder_begin(c, kind, due, fire);
		kicks |= BIT(kind);
	}
	raw_spin_unlock(&c->lock);

	for_each_set_bit(kind, &kicks, LM_KINDS)
		kick(&c->probe[kind]);

	todo |= check_neighbour(c, fire, local_off);
	if (todo)
		lm_report_todo();
	if (lm_report_has_todo())
		lm_report_wake(c->cpu);

	return HRTIMER_RESTART;
}

/* The kthread has run: what it waited is the scheduling part of the samples that wait beside it. */
static void share_sched(struct lm_cpu *c, u64 due_ns, u64 run_ns)
{
	unsigned int kind;

	lm_for_each_kind(kind) {
		struct lm_probe *p = &c->probe[kind];

		if (kind == LM_KTHREAD || !p->pending || p->sched_known || p->due_ns < due_ns)
			continue;

		p->sched_known = true;
		p->sched_ns = run_ns - p->fire_ns;
	}
}

/*
 * Splits total = irq + sched + wq. While the kthread has not run either, all that came after the
 * interrupt is scheduling.
 */
static void split(struct lm_probe *p, struct lm_event *ev)
{
	u64 rest;

	ev->irq_ns = min(p->fire_ns - p->due_ns, ev->total_ns);
	ev->sched_ns = 0;
	ev->sched_known = lm_probe_sched_separable(p->kind);
	if (!ev->sched_known)
		return;

	rest = ev->total_ns - ev->irq_ns;
	ev->sched_ns = p->kind != LM_KTHREAD && p->sched_known ? min(p->sched_ns, rest) : rest;
}

/*
 * The sample ends: it ran, or (cut) the probe is withdrawn with its work still waiting.
 * Called with the CPU's lock held. True if the reporter has something to do.
 */
static bool end_sample(struct lm_probe *p, u64 run_ns, bool cut)
{
	struct lm_cpu *c = p->c;
	struct lm_stats *st = &p->stats;
	u64 threshold = lm_threshold_ns();
	struct lm_event ev = {
		.kind = p->kind,
		.cpu = c->cpu,
		.run_cpu = raw_smp_processor_id(),
		.cut = cut,
		.pid = cut ? 0 : current->pid,
		.total_ns = run_ns - p->due_ns,
		.due_ns = p->due_ns,
		.due_local_ns = p->due_ns + (u64)p->local_off_ns,
	};

	if (p->kind == LM_KTHREAD && !cut)
		share_sched(c, p->due_ns, run_ns);

	split(p, &ev);
	ev.self_ns = printed_ns(c, run_ns) - p->print_at_due_ns;
	p->pending = false;
	p->live = false;
	p->live_shift = 0;

	if (!cut) {
		st->beats++;
		p->hist[lm_hist_index(ev.total_ns)]++;
	} else {
		st->missed++;
	}

	if (ev.total_ns >= threshold && ev.total_ns - min(ev.self_ns, ev.total_ns) < threshold) {
		st->self++;
		return false;
	}

	if (cut && ev.total_ns < threshold)
		return false;

	st->irq_max_ns = max(st->irq_max_ns, ev.irq_ns);
	st->sched_max_ns = max(st->sched_max_ns, ev.sched_ns);
	st->wq_max_ns = max(st->wq_max_ns, ev.total_ns - ev.irq_ns - ev.sched_ns);
	if (ev.total_ns > st->max_ns) {
		st->max_ns = ev.total_ns;
		st->max_due_local_ns = ev.due_local_ns;
		st->max_run_local_ns = ev.due_local_ns + ev.total_ns;
	}

	if (ev.total_ns < threshold)
		return false;

	st->over++;
	ev.held = lm_holder_get(c, p->kind, ev.total_ns, run_ns);
	lm_report_event(&ev);
	return true;
}

static void ran(struct lm_probe *p)
{
	struct lm_cpu *c = p->c;
	u64 run = ktime_get_ns();
	unsigned long flags;
	bool todo = false;

	raw_spin_lock_irqsave(&c->lock, flags);
	if (p->pending)
		todo = end_sample(p, run, false);
	raw_spin_unlock_irqrestore(&c->lock, flags);

	/* The reporter may have been waiting for this very sample to end. */
	if (todo || lm_report_has_todo())
		lm_report_wake(raw_smp_processor_id());
}

void lm_probe_work(struct work_struct *work)
{
	ran(container_of(work, struct lm_probe, work));
}

static struct lm_probe *kthread_probe(unsigned int cpu)
{
	return lm.cpu[cpu] ? &lm.cpu[cpu]->probe[LM_KTHREAD] : NULL;
}

static int kthread_should_run(unsigned int cpu)
{
	const struct lm_probe *p = kthread_probe(cpu);

	return p && READ_ONCE(p->pending);
}

static void kthread_run_probe(unsigned int cpu)
{
	ran(kthread_probe(cpu));
}

static struct smp_hotplug_thread probe_threads = {
	.store = &probe_task,
	.thread_should_run = kthread_should_run,
	.thread_fn = kthread_run_probe,
	.thread_comm = "latency_mon/%u",
};

/* Runs on the CPU that has come up, after its workers and threads. */
static int cpu_up(unsigned int cpu)
{
	struct lm_cpu *c = lm.cpu[cpu];
	u64 first;

	if (!c)
		return 0;

	lm_holder_start(c);
	first = ktime_get_ns() + (u64)READ_ONCE(lm.period_us) * NSEC_PER_USEC;
	raw_spin_lock_irq(&c->lock);
	c->next_due_ns = first;
	c->running = true;
	raw_spin_unlock_irq(&c->lock);

	hrtimer_start(&c->timer, ns_to_ktime(first), LM_TIMER_MODE);
	cpumask_set_cpu(cpu, &lm.active);
	return 0;
}

/* Runs on the CPU that goes down, before its workers and threads. */
static int cpu_down_prepare(unsigned int cpu)
{
	struct lm_cpu *c = lm.cpu[cpu];
	unsigned int kind;
	bool todo = false;
	u64 now;

	if (!c)
		return 0;

	cpumask_clear_cpu(cpu, &lm.active);
	hrtimer_cancel(&c->timer);
	lm_for_each_kind(kind) {
		if (kind != LM_KTHREAD)
			cancel_work_sync(&c->probe[kind].work);
	}

	now = ktime_get_ns();
	raw_spin_lock_irq(&c->lock);
	c->running = false;
	lm_for_each_kind(kind) {
		if (c->probe[kind].pending)
			todo |= end_sample(&c->probe[kind], now, true);
	}
	raw_spin_unlock_irq(&c->lock);

	lm_holder_stop(c);
	if (todo)
		lm_report_wake(cpu);

	return 0;
}

void lm_probes_reset(void)
{
	unsigned int cpu;
	unsigned int kind;

	for_each_cpu(cpu, &lm.cpus) {
		struct lm_cpu *c = lm.cpu[cpu];

		raw_spin_lock_irq(&c->lock);
		lm_for_each_kind(kind) {
			struct lm_probe *p = &c->probe[kind];
			u64 beats = p->stats.beats;
			u64 missed = p->stats.missed;

			/* The two are the heartbeat: who watches it must never see it fall. */
			p->stats = (struct lm_stats){ .beats = beats, .missed = missed };
			memset(p->hist, 0, LM_HIST_BYTES);
		}
		raw_spin_unlock_irq(&c->lock);
	}
}

void lm_probes_free(void)
{
	unsigned int cpu;
	unsigned int kind;

	if (!lm.cpu)
		return;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!lm.cpu[cpu])
			continue;

		for (kind = 0; kind < LM_KINDS; kind++)
			kvfree(lm.cpu[cpu]->probe[kind].hist);
		kvfree(lm.cpu[cpu]);
	}

	kfree(lm.cpu);
	lm.cpu = NULL;
}

static int alloc_cpu(unsigned int cpu)
{
	struct lm_cpu *c;
	unsigned int kind;

	c = kvzalloc_node(sizeof(*c), GFP_KERNEL, cpu_to_node((int)cpu));
	if (!c)
		return -ENOMEM;

	lm.cpu[cpu] = c;
	c->cpu = cpu;
	raw_spin_lock_init(&c->lock);
	raw_spin_lock_init(&c->holder.lock);
#ifdef LM_HAVE_HRTIMER_SETUP
	hrtimer_setup(&c->timer, tick, CLOCK_MONOTONIC, LM_TIMER_MODE);
#else
	hrtimer_init(&c->timer, CLOCK_MONOTONIC, LM_TIMER_MODE);
	c->timer.function = tick;
#endif

	for (kind = 0; kind < LM_KINDS; kind++) {
		struct lm_probe *p = &c->probe[kind];

		p->c = c;
		p->kind = kind;
		INIT_WORK(&p->work, lm_probe_work);
		if (!lm_kind_enabled(kind))
			continue;

		p->hist = kvzalloc_node(LM_HIST_BYTES, GFP_KERNEL, cpu_to_node((int)cpu));
		if (!p->hist)
			return -ENOMEM;
	}

	return 0;
}

/* On failure what has been allocated is left to lm_probes_free(). */
int lm_probes_alloc(void)
{
	unsigned int cpu;
	int r;

	lm.cpu = kcalloc(nr_cpu_ids, sizeof(struct lm_cpu *), GFP_KERNEL);
	if (!lm.cpu)
		return -ENOMEM;

	for_each_cpu(cpu, &lm.cpus) {
		r = alloc_cpu(cpu);
		if (r < 0)
			return r;
	}

	return 0;
}

int lm_probes_start(void)
{
	int r;

	if (lm_kind_enabled(LM_KTHREAD)) {
		r = smpboot_register_percpu_thread(&probe_threads);
		if (r < 0) {
			pr_err("cannot start the probe threads: %d\n", r);
			return r;
		}
	}

	r = lm_holders_open();
	if (r < 0)
		goto stop_threads;

	r = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "tools/latency_mon:online", cpu_up,
			      cpu_down_prepare);
	if (r < 0) {
		pr_err("cannot follow CPU hotplug: %d\n", r);
		goto close_holders;
	}

	hotplug_state = r;
	return 0;

close_holders:
	lm_holders_close();
stop_threads:
	if (lm_kind_enabled(LM_KTHREAD))
		smpboot_unregister_percpu_thread(&probe_threads);
	return r;
}

void lm_probes_stop(void)
{
	cpuhp_remove_state(hotplug_state);
	lm_holders_close();
	if (lm_kind_enabled(LM_KTHREAD))
		smpboot_unregister_percpu_thread(&probe_threads);
}
