/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trial.h - what a run is made of: boots, trials, their evidence, measurements and events. The
 * runner fills it, the store keeps it, reports show it.
 */
#pragma once

#include "base/err.h"
#include "judge/judge.h"

/* In the order in which a missing one is named first. Names: evidence_name(). */
enum evidence_id {
	EVIDENCE_BOOTED_BUILD,
	EVIDENCE_PROBE_RUNNING,
	EVIDENCE_PROBE_ON_CPU, /* a probe watches the CPU that handled the hub's interrupt */
	EVIDENCE_CONSOLE_AUDIBLE,
	EVIDENCE_CONTROL_POSITIVE,
	EVIDENCE_CACHE_LOADED,
	EVIDENCE_CUT_APPLIED,
	EVIDENCE_CUT_SEEN,
	EVIDENCE_WINDOW_COVERED,
	EVIDENCE_CONSOLE_INTACT,
	EVIDENCE_PROBES_AGREE,
	EVIDENCE_ATTRIBUTABLE,
	EVIDENCE_CONTROLS_QUIET,
	EVIDENCE_ENVIRONMENT_SAME,
	EVIDENCE_REPLUGGED,
	EVIDENCE_LOADS_DONE,    /* each load of the scenario ran to its end and was measured */
	EVIDENCE_MACHINE_SOUND, /* nothing on the console says that the machine itself is broken */
	EVIDENCE_MAX
};

enum evidence_state { EVIDENCE_NOT_REACHED, EVIDENCE_OK, EVIDENCE_MISSING, EVIDENCE_NOT_NEEDED };

struct evidence {
	enum evidence_state state;
	char detail[192]; /* the numbers behind it */
};

/* "cache-loaded" etc. Never NULL. */
const char *evidence_name(enum evidence_id id);
/* "not-reached", "ok", "missing", "not-needed". */
const char *evidence_state_name(enum evidence_state s);
/* False if there is no such name. */
bool evidence_state_parse(const char *name, enum evidence_state *ret);
bool evidence_parse(const char *name, enum evidence_id *ret);
/* One sentence: what it means, for docs, reports and `stallrig show`. */
const char *evidence_meaning(enum evidence_id id);
/* True if a missing one is the bench's fault and not the kernel's or the scenario's. */
bool evidence_blames_rig(enum evidence_id id);

#define TRIAL_LIST_MAX 4096 /* most delays, incidents, timeline rows, numbers kept of a trial */

struct trial_delay {
	int64_t us;
	int cpu; /* -1 unknown */
	char probe[16];
	int64_t due_us;    /* printk clock */
	int64_t t_host_ns; /* host clock, relative to the boot's first byte */
	uint64_t offset;   /* of the console line in the boot's recording */
	bool is_live;
	bool is_suspect;
};

struct trial_incident {
	char cls[32]; /* console_class_name() */
	char title[160];
	unsigned count;
	int64_t t_first_us; /* printk clock, INT64_MIN unknown */
	int64_t worst_s;    /* INT64_MIN unknown */
	uint64_t offset;
};

/* One row of the timeline, in order of time. */
struct trial_moment {
	int64_t t_ns;  /* host clock, relative to the cut command (negative = before) */
	char what[32]; /* "cut-asked", "cut-applied", "cut-seen", "delay", … */
	char detail[160];
};

/* How much of the stick's file dd had read. */
struct trial_load_point {
	int64_t t_ns; /* host clock, relative to the cut command (negative = before) */
	int64_t bytes;
};

/* A named number; the unit ends the name ("cached_kib", "control_error_us"). */
struct trial_number {
	char name[48];
	int64_t value;
};

/* Samples from low_ns to below end_ns. */
struct trial_bucket {
	int64_t low_ns, end_ns, count;
};

/* All samples of a judged probe from its reset just before the cut to the end of the window, of all
   CPUs together. */
struct trial_histogram {
	char probe[16];
	struct trial_bucket *buckets; /* ascending, none of them empty */
	size_t n_buckets;
};

struct trial {
	unsigned number; /* 1… in the run */
	unsigned boot;   /* 1… */
	unsigned unplug; /* 1… in the boot */
	int64_t started_wall_ns;
	bool is_valid;
	enum evidence_id missing; /* first missing one if !is_valid && !is_crash */
	bool is_crash;
	char crash[160]; /* signature */
	struct evidence evidence[EVIDENCE_MAX];
	int64_t worst_us; /* worst delay of the probes that count, from the probe's own counters; -1
			   */
	int worst_cpu;
	char worst_probe[16];
	char worst_func[64];               /* what held the pool, if the probe could tell; "" */
	uint64_t console_from, console_to; /* offsets into the boot's recording */

	struct trial_delay *delays;
	size_t n_delays;
	struct trial_incident *incidents;
	size_t n_incidents;
	struct trial_moment *moments;
	size_t n_moments;
	struct trial_load_point *load; /* from the start of dd on, as it came; none = unknown */
	size_t n_load;
	struct trial_number *numbers;
	size_t n_numbers;
	struct trial_histogram *histograms; /* one a probe */
	size_t n_histograms;
};

/* One boot of the target and its recording. */
struct trial_boot {
	unsigned number; /* 1… */
	char *recording; /* folder: console.raw (every byte), console.timing (script(1) timing) */
	char *banner;    /* "Linux version …" as seen on the console, "" if none */
	/* from the agent, as "key=value" words: environment of section 5 of the design */
	char *environment;
	uint64_t console_bytes;
	int64_t boot_ms; /* from power-on to the agent's answer; -1 did not come */
};

/* A limit on a number of the trials. */
struct run_limit {
	char *name;            /* of the number; '*' stands for any text */
	bool has_min, has_max; /* of each trial: */
	int64_t min, max;
	double min_ratio, max_ratio; /* of the baseline's numbers; 0 = not limited */
};

struct run {
	char *id; /* "20261130-111754-a3f2": wall time of its start and 4 hex digits */
	char *rig, *rig_class, *arch; /* class: that of the rig, "-soft" behind it if it unplugs by
					 software (switch.h: SWITCH_IS_SOFT) */
	char *kernel;                 /* name in the kernel store */
	char *kernel_label;           /* for people: "debian 6.12.117-1 amd64 thresh_us=0" */
	char *kernel_release, *kernel_version, *kernel_config_sha256, *kernel_image_sha256;
	char *append; /* added kernel command line, "" */
	char *scenario;
	char *scenario_sha256;                  /* of the YAML file's bytes */
	int64_t started_wall_ns, ended_wall_ns; /* ended 0 while it runs */
	int64_t limit_us;
	unsigned planned_valid;
	double tolerated_over, confidence;
	/* what is demanded of the trials' numbers; owned */
	struct run_limit *limits;
	size_t n_limits;
	/*
	 * What the numbers are held against: id, label, conditions and valid trials of another run,
	 * see run_set_baseline(). NULL = none.
	 */
	struct run *baseline;
	char *rig_fault;  /* NULL = none; code and text: "rig.qemu-ended: …" */
	char *untestable; /* NULL = none; "kernel.no-boot: …" */
	struct trial_boot *boots;
	size_t n_boots;
	struct trial **trials; /* owned */
	size_t n_trials;
	struct judge_result result; /* of the trials so far */
};

void trial_free(struct trial *t);
void run_free(struct run *r);
DEFINE_AUTO(run, struct run *, run_free)
#define auto_run AUTO(run)

/* worst_us and worst_cpu are -1, all else 0. Caller frees. */
struct trial *trial_new(void);
/* Each appends a zeroed row and returns it; NULL beyond TRIAL_LIST_MAX (a number "rows_dropped"
   then counts what was lost). Rows move when more are added: do not keep the pointer. The lists
   grow by these functions only. */
struct trial_delay *trial_add_delay(struct trial *t);
struct trial_incident *trial_add_incident(struct trial *t);
/* Puts the moment where its time belongs, after those of the same time. */
void trial_add_moment(struct trial *t, int64_t t_ns, const char *what, const char *fmt, ...)
	printf_like(4, 5);
/* Puts the point behind the others; the row is dropped beyond TRIAL_LIST_MAX as above. */
void trial_add_load_point(struct trial *t, int64_t t_ns, int64_t bytes);
/* A name that is there already gets the new value. */
void trial_add_number(struct trial *t, const char *name, int64_t value);
/*
 * Adds samples to a bucket of a probe, which is made if it is new. False if it cannot be: it begins
 * below 0 or behind its end, is empty, lies across another one, a sum would be over INT64_MAX, or
 * more than TRIAL_LIST_MAX buckets or probes. The histograms grow by this function only.
 */
bool trial_add_samples(struct trial *t, const char *probe, const struct trial_bucket *b);
void trial_clear_samples(struct trial *t);
int64_t trial_histogram_samples(const struct trial_histogram *h);
/* False if there is no such number. */
bool trial_number(const struct trial *t, const char *name, int64_t *ret);

/* Adds an empty limit; name is copied. */
struct run_limit *run_add_limit(struct run *r, const char *name);
/* Copies from base what r is held against: its valid trials. Replaces an earlier one. */
void run_set_baseline(struct run *r, const struct run *base);
/* True if a limit of the run needs a baseline. */
bool run_needs_baseline(const struct run *r);
/*
 * Whether a number of a valid trial is outside a limit of the run: a limit that is a share of a
 * baseline is one of the median of r->baseline's trials, and none without that. For those who have
 * to judge trials one by one; run_judge() looks at all of them together.
 */
bool run_trial_is_outside(const struct run *r, const struct trial *t);
/*
 * True if a run that is held against a baseline needs no more trials for a FAIL: there are valid
 * ones of two boots at least, and the whole interval of a number is outside its limit at a
 * confidence of 99.9 % (one-sided).
 */
bool run_is_surely_outside(const struct run *r);

/*
 * A kernel series, whose builds are compared over time: the first two numbers of a release and its
 * flavour. Of "6.1.0-57-amd64" the length of "6.1", and "-amd64" (behind the last dash; "" if that
 * is followed by a digit or not there; points into release).
 */
size_t release_series_length(const char *release);
const char *release_flavour(const char *release);

/* Judges what the run holds and fills run->result. The one way from a run to its verdict. */
void run_judge(struct run *r);
