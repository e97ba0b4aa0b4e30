/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * news.h - what a person wants to be told of a night, and telling it to the plan's program. The
 * objects are described in stallrig-plan(5), NEWS.
 */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"
#include "judge/compare.h"
#include "trial/trial.h"

#include <stdbool.h>

enum news_kind {
	NEWS_NEW_FAIL,
	NEWS_FIXED,
	NEWS_REGRESSION,
	NEWS_QUARANTINE,
	NEWS_NIGHT_ENDED,
	NEWS_KIND_MAX
};

/* "new-fail", "fixed", "regression", "quarantine", "night-ended". */
const char *news_kind_name(enum news_kind kind);

/* Since which run the worst delays of a series are at the level that they have now. */
struct news_since {
	char *run_id, *kernel; /* owned; NULL = they always were, as far as is known */
	int64_t started_wall_ns;
	int64_t before_us, after_us; /* medians of the level before and of this one */
};

void news_since_release(struct news_since *s);
/* "at 812.0 ms since the night of 11-28 (debian-6.1.0-57-amd64), 4.0 ms before". */
void news_since_words(const struct news_since *s, int64_t now_wall_ns, struct strbuf *out);

struct news {
	enum news_kind kind;
	const char *plan;
	int64_t night;
	const struct run *run;          /* NULL = of none */
	const struct run *previous;     /* what it is compared with; NULL = nothing */
	const struct news_since *since; /* NULL = not known */
	const char *rig;                /* if there is no run; NULL = none */
	const char *text;               /* one sentence */
};

/*
 * What a run that has ended is news of, if anything: false = nothing to tell. previous: the run
 * that it was compared with, or NULL; change: the comparison, or NULL if there was none. Only PASS
 * and FAIL are verdicts that something can change between; a run that was FAIL already is no news.
 */
bool news_of_run(const struct run *previous, const struct run *r,
		 const struct compare_result *change, enum news_kind *ret);

/* One object, ends with a line end. */
void news_json(struct strbuf *out, const struct news *n);

#define NEWS_TIMEOUT_NS (30 * NSEC_PER_SEC)

/*
 * Starts the program with the object on its standard input and waits for its end, at most
 * NEWS_TIMEOUT_NS. ERR_CONFIG names the program that is missing, fails or takes too long.
 */
int news_tell(struct waiter *w, const char *program, const struct news *n,
	      struct err *e) must_check;
