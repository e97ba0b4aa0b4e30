/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the parts of latency-mon. Times are CLOCK_MONOTONIC unless the name says local. */
#ifndef LM_H
#define LM_H

#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "lm_features.h"
#include "lm_hist.h"

struct dentry;

enum lm_kind {
	LM_NORMAL,
	LM_HIGHPRI,
	LM_UNBOUND,
	LM_BH,
	LM_KTHREAD,
	LM_KINDS,
};

enum lm_console {
	LM_CONSOLE_OFF,
	LM_CONSOLE_CLASSIC,
	LM_CONSOLE_EXTENDED,
};

#define LM_PERIOD_MIN_US    1000u
#define LM_PERIOD_MAX_US    10000000u
#define LM_THRESHOLD_MIN_US 100u
#define LM_THRESHOLD_MAX_US 60000000u

/* A work item that ran while the probe's work waited: how long it held its pool and ran. */
struct lm_held {
	work_func_t func;
	u64 ns;
	u64 ran_ns;
	u64 until_ns;
	pid_t pid;
};

/* What the scheduler had accounted to a task by ns; on_cpu: and it ran just then. */
struct lm_mark {
	u64 ns;
	u64 exec_ns;
	u64 delay_ns;
	unsigned long sleeps;
	unsigned long displaced;
	bool on_cpu;
};

/*
 * A work item in execution. task, NULL for BH, is valid until the item's end, which removes it.
 * due has the marks for samples that became due while it was in execution.
 */
struct lm_run {
	const struct work_struct *work;
	work_func_t func;
	enum lm_kind pool;
	struct task_struct *task;
	struct lm_mark start;
	struct lm_mark due[LM_KINDS];
};

#define LM_RUNS 48

/*
 * Of what has ended since a probe's sample became due: what ran longest, in any of the CPU's pools,
 * and what held the probe's own pool longest.
 */
struct lm_window {
	u64 since_ns;
	struct lm_held ran;
	struct lm_held held;
};

struct lm_holder {
	raw_spinlock_t lock;
	bool enabled;
	DECLARE_BITMAP(used, LM_RUNS);
	struct lm_run run[LM_RUNS];
	struct lm_window window[LM_KINDS];
};

struct lm_stats {
	u64 beats;
	u64 missed;
	u64 over;
	u64 self;
	u64 max_ns;
	u64 max_due_local_ns;
	u64 max_run_local_ns;
	u64 irq_max_ns;
	u64 sched_max_ns;
	u64 wq_max_ns;
};

struct lm_cpu;

/* One probe on one CPU; all of it under the CPU's lock. */
struct lm_probe {
	struct work_struct work;
	struct lm_cpu *c;
	enum lm_kind kind;

	/* The sample under way: due, not yet run. */
	bool pending;
	u64 due_ns;
	u64 fire_ns;
	s64 local_off_ns;
	u64 print_at_due_ns;
	bool sched_known;
	u64 sched_ns;

	/* The next live line is due at threshold << live_shift; live: one waits to be printed. */
	unsigned int live_shift;
	bool live;
	u64 live_age_ns;
	u64 live_due_local_ns;

	struct lm_stats stats;
	u64 *hist;
};

struct lm_cpu {
	raw_spinlock_t lock;
	unsigned int cpu;
	bool running;
	struct hrtimer timer;
	u64 next_due_ns;

	/* Time that this module's own console output kept this CPU busy, preemption off. */
	bool printing;
	u64 print_begin_ns;
	u64 print_end_ns;
	u64 print_total_ns;

	struct lm_probe probe[LM_KINDS];
	struct lm_holder holder;
};

struct lm_event {
	u64 number;
	enum lm_kind kind;
	unsigned int cpu;
	unsigned int run_cpu;
	bool sched_known;
	bool cut;
	pid_t pid;
	u64 total_ns;
	u64 due_ns;
	u64 due_local_ns;
	u64 irq_ns;
	u64 sched_ns;
	u64 self_ns;
	struct lm_held held;
};

/* An event with its symbols, "-" if unknown; module also if it is the kernel itself. */
struct lm_entry {
	struct lm_event ev;
	char func[64];
	char module[56];
};

#define LM_RING 64u

/* What the reporter has handled. The next place in recent is recent_next; worst has no order. */
struct lm_log {
	u64 seq;
	u64 events;
	u64 lost;
	unsigned int recent_next;
	unsigned int recents;
	unsigned int worsts;
	struct lm_entry recent[LM_RING];
	struct lm_entry worst[LM_RING];
};

struct lm {
	u32 period_us;
	u32 threshold_us;
	enum lm_console console;
	unsigned long kinds;
	struct cpumask cpus;
	struct cpumask active;
	struct lm_cpu **cpu;
};

extern struct lm lm;

#define lm_for_each_kind(k) for_each_set_bit(k, &lm.kinds, LM_KINDS)

static inline bool lm_kind_enabled(enum lm_kind kind)
{
	return lm.kinds & BIT(kind);
}

static inline u64 lm_threshold_ns(void)
{
	return (u64)READ_ONCE(lm.threshold_us) * NSEC_PER_USEC;
}

/* lm_main.c */
const char *lm_kind_name(enum lm_kind kind);
const char *lm_console_name(enum lm_console console);
int lm_console_parse(const char *text, enum lm_console *ret_console);
int lm_set_period_us(u32 us);
int lm_set_threshold_us(u32 us);

/* lm_probe.c */
int lm_probes_alloc(void);
void lm_probes_free(void);
int lm_probes_start(void);
void lm_probes_stop(void);
void lm_probes_reset(void);
u64 lm_probe_pending_ns(const struct lm_probe *p, u64 now_ns);
bool lm_probe_sched_separable(enum lm_kind kind);

/* lm_holder.c */
int lm_holders_open(void);
void lm_holders_close(void);
bool lm_holders_available(void);
void lm_holder_start(struct lm_cpu *c);
void lm_holder_stop(struct lm_cpu *c);
void lm_holder_begin(struct lm_cpu *c, enum lm_kind kind, u64 due_ns, u64 fire_ns);
struct lm_held lm_holder_get(struct lm_cpu *c, enum lm_kind kind, u64 total_ns, u64 now_ns);
void lm_probe_work(struct work_struct *work);

/* lm_report.c */
int lm_report_open(void);
void lm_report_close(void);
void lm_report_event(const struct lm_event *ev);
void lm_report_todo(void);
bool lm_report_has_todo(void);
void lm_report_wake(unsigned int cpu);
int lm_report_sync(void);
void lm_report_copy(struct lm_log *ret_log);
void lm_report_reset(void);

/* lm_debugfs.c */
void lm_debugfs_open(void);
void lm_debugfs_close(void);

#endif
