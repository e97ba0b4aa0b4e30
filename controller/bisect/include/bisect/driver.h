/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * driver.h - a bisect from its start to its answer: what the decision core asks for is built and
 * measured on a bench, and every observation is in the journal before anything is made of it.
 *
 * A bisect is a folder: journal.jsonl (see journal.h), history (the commits), kernels/ (a kernel
 * store of its own), logs/ (what the compiler said).
 */
#pragma once

#include "bisect/core.h"
#include "bisect/history.h"
#include "bisect/journal.h"

/* What the user asked for; kept in the journal's first record. Strings are owned. */
struct bisect_setup {
	char *repo; /* absolute */
	char *rig, *scenario, *config;
	char *arch;
	char *build; /* command in place of the own kernel build; NULL = none */
	char *append;
	char *against; /* run in the store whose numbers are the baseline; NULL = none */
	char **paths;
	size_t n_paths;
	char **hotfixes; /* "FROM..TO=FILE": commits that contain FROM and not TO get the patch */
	size_t n_hotfixes;
	/* "over-limit", "any" (crashes too), or a text in the title of the wanted crash */
	char *failure;
	double target;    /* wanted probability of the answer */
	unsigned confirm; /* trials of the culprit and of each parent at the end; 0 = none */
	bool has_revert;  /* and then the bad end with the culprit reverted, as many trials */
	unsigned ends_min_trials, ends_max_trials, max_trials;
	unsigned trials_per_boot_max; /* 0 = as the core says */
	unsigned jobs;
	struct bisect_cost cost; /* before anything was measured */
};
void bisect_setup_release(struct bisect_setup *s);

/* One valid trial. */
struct bisect_observation {
	bool is_over;
	double delay_ms; /* < 0 = a crash, or the scenario has limits on other numbers */
	bool is_censored;
	char trial[64]; /* id in the store, "" */
};

#define BISECT_BOOT_TRIALS_MAX 256

/* What one boot of a kernel gave. */
struct bisect_boot {
	struct bisect_observation v[BISECT_BOOT_TRIALS_MAX];
	unsigned n;
	unsigned invalid;        /* trials without their evidence */
	char missing[64];        /* of the last of these */
	char run[40];            /* id of the run in the store; "" = none */
	char untestable[300];    /* why the kernel cannot be tested; "" it can */
	double boot_s, trials_s; /* time taken; < 0 = not known */
};

/* Where kernels come from and are tested. Each call blocks. */
struct bisect_bench {
	/* True if the kernel of this name is there already. */
	bool (*has_kernel)(void *self, const char *name);
	/*
	 * Builds the commit under the name, with `revert`, a commit in it (NULL = none), reverted.
	 * 0, with why it is untestable in ret_untestable or "" there; an error is the bench's or
	 * the machine's (-ENOSPC) and ends the bisect for now.
	 */
	int (*build)(void *self, const char *sha, const char *revert, const char *name,
		     char *ret_untestable, size_t cap, struct err *e);
	/* Boots it once and makes so many trials. Errors as above. */
	int (*boot)(void *self, const char *name, unsigned trials, struct bisect_boot *ret,
		    struct err *e);
	void *self;
};

struct bisect;

/* For those who watch. Each may be NULL. */
struct bisect_watch {
	void (*now)(void *self, const char *text);   /* what goes on, overwritten by the next */
	void (*stays)(void *self, const char *text); /* a line that stays */
	/*
	 * At the beginning, after each boot and each commit that cannot be tested, and with
	 * is_stopped after an error or a signal. Its own error ends the bisect for now.
	 */
	int (*changed)(void *self, const struct bisect *b, bool is_stopped, struct err *e);
	void *self;
};

/* path_state("bisect/NAME"). Caller frees. */
char *bisect_dir(const char *name);

/*
 * Makes the folder and its first record. ERR_USAGE/-EEXIST if there is a bisect of this name.
 * *ret is as after bisect_open() for writing.
 */
int bisect_start(struct waiter *w, const char *dir, const struct bisect_setup *setup,
		 const char *good, const char *bad, struct bisect **ret, struct err *e) must_check;
/* Reads it. For writing it is locked; see journal_open(). ERR_USAGE/-ENOENT if there is none. */
int bisect_open(const char *dir, bool is_writer, struct bisect **ret, struct err *e) must_check;
void bisect_close(struct bisect *b);
DEFINE_AUTO(bisect, struct bisect *, bisect_close)
#define auto_bisect AUTO(bisect)

const struct bisect_setup *bisect_setup_of(const struct bisect *b);
const struct history *bisect_history_of(const struct bisect *b);
const struct bisect_core *bisect_core_of(const struct bisect *b);
const struct journal *bisect_journal_of(const struct bisect *b);
const char *bisect_dir_of(const struct bisect *b);

/*
 * Goes on until there is an answer (0), or an error: ERR_STOPPED after a signal, ERR_RIG, -ENOSPC.
 * After an error it can be called again, now or by another process: nothing that was seen is lost.
 */
int bisect_go_on(struct bisect *b, const struct bisect_bench *bench,
		 const struct bisect_watch *watch, struct err *e) must_check;

/* Somebody knows better. certainty in [0.5, 0.999999]. */
int bisect_tell(struct bisect *b, const char *rev, const char *what, double certainty,
		struct err *e) must_check;

/* The confirmation as far as it went. */
struct bisect_side {
	uint32_t commit;
	const char *sha;
	unsigned trials, over;
	double p50_ms, worst_ms; /* < 0 = nothing measured */
};
#define BISECT_SIDES_MAX 9 /* the culprit and at most 8 parents */

struct bisect_confirmation {
	bool is_wanted;
	bool is_complete;
	bool is_confirmed; /* complete, and the answer still stands with the wanted probability */
	struct bisect_side sides[BISECT_SIDES_MAX]; /* culprit first */
	unsigned n_sides;
};
void bisect_confirmation_of(const struct bisect *b, struct bisect_confirmation *ret);

/* The bad end without the culprit, after a confirmation that confirms. */
struct bisect_revert {
	bool is_wanted;         /* asked for, and there is a confirmed culprit */
	const char *impossible; /* why it cannot be tested; NULL = it can */
	bool is_complete;
	unsigned trials, over;
	double p50_ms, worst_ms;       /* < 0 = nothing measured */
	unsigned end_trials, end_over; /* of the bad end as it is, all its trials */
	bool is_cured;                 /* complete, and it fails less often than the bad end */
};
void bisect_revert_of(const struct bisect *b, struct bisect_revert *ret);

/* True if nothing is left to be done. */
bool bisect_is_over(const struct bisect *b);

/* Why a commit is untestable, "" unknown. */
const char *bisect_reason_of(const struct bisect *b, uint32_t commit);

/* Delays in ms of all trials of a commit, ascending; caller frees *ret. Crashes are left out. */
size_t bisect_delays_of(const struct bisect *b, uint32_t commit, double **ret);

enum bisect_kernel {
	BISECT_KERNEL_SEARCH,  /* "a1b2c3d4e5f6" */
	BISECT_KERNEL_CONFIRM, /* "a1b2c3d4e5f6-c", rebuilt */
	BISECT_KERNEL_REVERT,  /* "a1b2c3d4e5f6-r", the bad end without the culprit */
};
/* Caller frees. */
char *bisect_kernel_name(const char *sha, enum bisect_kernel kind);
