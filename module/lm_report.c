// SPDX-License-Identifier: GPL-2.0
/*
 * latency-mon: turns events into console lines and into the rings that debugfs shows.
 *
 * Nothing is printed where it is measured. Each CPU has a reporter thread; whichever CPU can
 * schedule prints for all, so that a line comes while another CPU is still stalled.
 */

/* A console line is exactly the text of the contract, without a prefix. */
#define pr_fmt(fmt) fmt

#include "lm.h"
#include "lm_crc32c.h"

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smpboot.h>
#include <linux/string.h>
#include <linux/wait.h>

#define LM_QUEUE	256u
#define LM_LINE_BYTES	192
#define LM_SYNC_TIMEOUT (5 * HZ)
#define LM_DEFER_MS	50
#define LM_REPORT_NICE	10

static DEFINE_PER_CPU(struct task_struct *, report_task);
static DECLARE_WAIT_QUEUE_HEAD(idle_wait);

/*
 * Guards report_log: taken, with preemption off, for one record at a time, so a holder cannot be
 * displaced by what stalls its CPU, and between two records another CPU can go on. A bit and not a
 * spinlock: nobody spins for it, as printing is slow, and under a raw spinlock the console drivers
 * may not take their own locks.
 */
static unsigned long log_busy;
static struct lm_log report_log;

/* Something waits to be handled; since progress_jiffies nothing has been. */
static atomic_t todo = ATOMIC_INIT(0);
static unsigned long progress_jiffies;

/* Events on their way from the measured context to a reporter. */
static DEFINE_RAW_SPINLOCK(queue_lock);
static struct lm_event queue[LM_QUEUE];
static unsigned int queue_head;
static unsigned int queue_len;
static u64 queue_number;
static u64 queue_lost;

static bool try_lock_log(void)
{
	preempt_disable();
	if (!test_and_set_bit_lock(0, &log_busy))
		return true;

	preempt_enable();
	return false;
}

static void unlock_log(void)
{
	clear_bit_unlock(0, &log_busy);
	preempt_enable();
}

static bool log_is_locked(void)
{
	return test_bit(0, &log_busy);
}

/* Called with interrupts off. */
void lm_report_event(const struct lm_event *ev)
{
	raw_spin_lock(&queue_lock);
	queue_number++;
	if (queue_len < LM_QUEUE) {
		struct lm_event *slot = &queue[(queue_head + queue_len) % LM_QUEUE];

		*slot = *ev;
		slot->number = queue_number;
		queue_len++;
	} else {
		queue_lost++;
	}
	raw_spin_unlock(&queue_lock);
	lm_report_todo();
}

void lm_report_todo(void)
{
	if (!atomic_xchg(&todo, 1))
		WRITE_ONCE(progress_jiffies, jiffies);
}

bool lm_report_has_todo(void)
{
	return atomic_read(&todo);
}

void lm_report_wake(unsigned int cpu)
{
	struct task_struct *task = per_cpu(report_task, cpu);

	if (task)
		wake_up_process(task);
}

static bool pop(struct lm_event *ret_ev)
{
	bool found;

	raw_spin_lock_irq(&queue_lock);
	found = queue_len > 0;
	if (found) {
		*ret_ev = queue[queue_head];
		queue_head = (queue_head + 1) % LM_QUEUE;
		queue_len--;
	}
	raw_spin_unlock_irq(&queue_lock);
	return found;
}

/*
 * Prints, and accounts the time to this CPU: the console driver may keep it from taking interrupts
 * for longer than the threshold, and that must not be reported, let alone cause more lines.
 * Called with preemption off, so that nothing but the printing is accounted.
 */
static void print(const char *line)
{
	struct lm_cpu *c = lm.cpu[smp_processor_id()];
	u64 begin;

	if (!c) {
		pr_crit("%s\n", line);
		return;
	}

	raw_spin_lock_irq(&c->lock);
	begin = ktime_get_ns();
	c->print_begin_ns = begin;
	c->printing = true;
	raw_spin_unlock_irq(&c->lock);

	pr_crit("%s\n", line);

	raw_spin_lock_irq(&c->lock);
	c->print_end_ns = ktime_get_ns();
	c->print_total_ns += c->print_end_ns - begin;
	c->printing = false;
	raw_spin_unlock_irq(&c->lock);
}

static void print_delay(unsigned int cpu, enum lm_kind kind, u64 ns, u64 due_local_ns, bool live)
{
	enum lm_console console = READ_ONCE(lm.console);
	u64 us = div_u64(ns, NSEC_PER_USEC);
	char line[LM_LINE_BYTES];
	int len;

	if (console == LM_CONSOLE_OFF || (console == LM_CONSOLE_CLASSIC && live))
		return;

	report_log.seq++;
	if (console == LM_CONSOLE_CLASSIC) {
		scnprintf(line, sizeof(line), "DELAY: %llu", div_u64(us, USEC_PER_MSEC));
		print(line);
		return;
	}

	len = scnprintf(line, sizeof(line),
			"DELAY: %llu cpu=%u probe=%s seq=%llu us=%llu due_ns=%llu live=%d",
			div_u64(us, USEC_PER_MSEC), cpu, lm_kind_name(kind), report_log.seq, us,
			due_local_ns, live);
	scnprintf(line + len, sizeof(line) - len, " crc=%08x", lm_crc32c(line, len));
	print(line);
}

/* Symbols are resolved at once: the function's module may be gone when somebody reads. */
static void resolve(struct lm_entry *en)
{
	char symbol[KSYM_SYMBOL_LEN];
	char *module;
	char *end;

	strscpy(en->func, "-", sizeof(en->func));
	strscpy(en->module, "-", sizeof(en->module));
	if (!en->ev.held.func)
		return;

	snprintf(symbol, sizeof(symbol), "%ps", en->ev.held.func);
	module = strstr(symbol, " [");
	if (module) {
		*module = '\0';
		module += 2;
		end = strpbrk(module, " ]");
		if (end)
			*end = '\0';
		strscpy(en->module, module, sizeof(en->module));
	}
	strscpy(en->func, symbol, sizeof(en->func));
}

static void keep_worst(const struct lm_entry *en)
{
	struct lm_entry *least = &report_log.worst[0];
	unsigned int i;

	if (report_log.worsts < LM_RING) {
		report_log.worst[report_log.worsts++] = *en;
		return;
	}

	for (i = 1; i < LM_RING; i++) {
		if (report_log.worst[i].ev.total_ns < least->ev.total_ns)
			least = &report_log.worst[i];
	}

	if (en->ev.total_ns > least->ev.total_ns)
		*least = *en;
}

static void handle_event(const struct lm_event *ev)
{
	struct lm_entry *en = &report_log.recent[report_log.recent_next];

	report_log.events++;
	report_log.recent_next = (report_log.recent_next + 1) % LM_RING;
	report_log.recents = min(report_log.recents + 1, LM_RING);

	en->ev = *ev;
	resolve(en);
	keep_worst(en);
	print_delay(ev->cpu, ev->kind, ev->total_ns, ev->due_local_ns, false);
}

static bool take_live(struct lm_probe *p, u64 *ret_age_ns, u64 *ret_due_local_ns)
{
	bool live;

	raw_spin_lock_irq(&p->c->lock);
	live = p->live;
	*ret_age_ns = p->live_age_ns;
	*ret_due_local_ns = p->live_due_local_ns;
	p->live = false;
	raw_spin_unlock_irq(&p->c->lock);
	return live;
}

static bool handle_live(void)
{
	unsigned int cpu;
	unsigned int kind;
	u64 age;
	u64 due;

	for_each_cpu(cpu, &lm.cpus) {
		lm_for_each_kind(kind) {
			if (!take_live(&lm.cpu[cpu]->probe[kind], &age, &due))
				continue;

			print_delay(cpu, kind, age, due, true);
			return true;
		}
	}

	return false;
}

/*
 * True if there was something. Ended samples go first: a live line about a later sample of the same
 * probe must not come before them.
 */
static bool handle_one(void)
{
	struct lm_event ev;

	if (!atomic_xchg(&todo, 0))
		return false;

	if (pop(&ev))
		handle_event(&ev);
	else if (!handle_live())
		return false;

	WRITE_ONCE(progress_jiffies, jiffies);
	atomic_set(&todo, 1);
	return true;
}

/*
 * Printing keeps the CPU busy, and after a long stall the scheduler would give the reporter as much
 * time as the stalled worker has had: a CPU whose own samples wait leaves it to another one, unless
 * none does it.
 */
static bool may_print(unsigned int cpu)
{
	const struct lm_cpu *c = lm.cpu[cpu];
	unsigned int kind;

	if (!c || time_after(jiffies, READ_ONCE(progress_jiffies) + msecs_to_jiffies(LM_DEFER_MS)))
		return true;

	lm_for_each_kind(kind) {
		if (kind != LM_UNBOUND && READ_ONCE(c->probe[kind].pending))
			return false;
	}

	return true;
}

static int report_should_run(unsigned int cpu)
{
	return atomic_read(&todo) && !log_is_locked() && may_print(cpu);
}

static void report_run(unsigned int cpu)
{
	bool more = true;

	while (more && may_print(cpu) && !kthread_should_park()) {
		if (!try_lock_log())
			return;

		more = handle_one();
		unlock_log();
		cond_resched();
	}

	wake_up_all(&idle_wait);
}

static void report_setup(unsigned int cpu)
{
	set_user_nice(current, LM_REPORT_NICE);
}

static struct smp_hotplug_thread report_threads = {
	.store = &report_task,
	.setup = report_setup,
	.thread_should_run = report_should_run,
	.thread_fn = report_run,
	.thread_comm = "latency_rep/%u",
};

static bool is_idle(void)
{
	return !atomic_read(&todo) && !log_is_locked();
}

/* Waits until all that has ended by now is in the rings and handed to printk. */
int lm_report_sync(void)
{
	unsigned int cpu;
	long r;

	if (is_idle())
		return 0;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		lm_report_wake(cpu);
	cpus_read_unlock();

	r = wait_event_interruptible_timeout(idle_wait, is_idle(), LM_SYNC_TIMEOUT);
	return r < 0 ? (int)r : 0;
}

static void lock_log(void)
{
	while (!try_lock_log())
		usleep_range(200, 1000);
}

void lm_report_copy(struct lm_log *ret_log)
{
	lock_log();
	*ret_log = report_log;
	raw_spin_lock_irq(&queue_lock);
	ret_log->lost = queue_lost;
	raw_spin_unlock_irq(&queue_lock);
	unlock_log();
}

void lm_report_reset(void)
{
	lock_log();
	raw_spin_lock_irq(&queue_lock);
	queue_len = 0;
	queue_number = 0;
	queue_lost = 0;
	raw_spin_unlock_irq(&queue_lock);

	memset(&report_log, 0, sizeof(report_log));
	lm_probes_reset();
	unlock_log();
}

int lm_report_open(void)
{
	int r;

	r = smpboot_register_percpu_thread(&report_threads);
	if (r < 0)
		pr_err("latency_mon: cannot start the reporter threads: %d\n", r);

	return r;
}

void lm_report_close(void)
{
	smpboot_unregister_percpu_thread(&report_threads);
}
