/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_util.h - what the tests of a store share: runs made of a seed, comparison. */
#pragma once

#include "base/rng.h"
#include "store/store.h"
#include "unit.h"

#include <limits.h>
#include <sys/wait.h>

#define SEED 4242

struct fixture {
	char *dir;
	char path[256]; /* where the store lies */
	struct err e;
};

#define assert_ok(f, call)                                      \
	do {                                                    \
		if ((call) < 0)                                 \
			fail_msg("%s: %s", #call, (f)->e.text); \
	} while (0)

/* ---- runs made of a seed ---- */

static inline int64_t any_i64(struct rng *rng)
{
	static const int64_t edges[] = {INT64_MAX, INT64_MIN + 1, 0, 1, -2};
	uint64_t i = rng_below(rng, 10);

	return i < ARRAY_SIZE(edges) ? edges[i] : (int64_t)(rng_u64(rng) >> rng_below(rng, 64));
}

static inline unsigned any_unsigned(struct rng *rng)
{
	return rng_below(rng, 4) ? (unsigned)rng_below(rng, 1000) : UINT_MAX;
}

/* Quotes, UTF-8 and bytes that are no UTF-8 in texts of 0…cap - 1 bytes. */
static inline void any_chars(struct rng *rng, char *ret, size_t cap)
{
	static const char bytes[] = "abc 'x\"%;\\\t\n\xc3\xa4\xff-_.:";
	size_t n = rng_below(rng, 8) ? (size_t)rng_below(rng, cap) : cap - 1;

	for (size_t i = 0; i < n; i++)
		ret[i] = bytes[rng_below(rng, sizeof(bytes) - 1)];
	ret[n] = '\0';
}

static inline char *any_string(struct rng *rng)
{
	char text[300];

	any_chars(rng, text, sizeof(text));
	return xstrdup(text);
}

/* rows: in each list. */
static inline struct trial *make_trial(uint64_t seed, unsigned number, size_t rows)
{
	struct trial *t = trial_new();
	struct rng rng;

	rng_init(&rng, seed + number);
	t->number = number;
	t->boot = 1 + number % 2;
	t->unplug = any_unsigned(&rng);
	t->started_wall_ns = any_i64(&rng);
	t->is_crash = rng_below(&rng, 4) == 0;
	if (t->is_crash)
		any_chars(&rng, t->crash, sizeof(t->crash));
	else
		t->is_valid = rng_below(&rng, 2);
	if (!t->is_crash && !t->is_valid)
		t->missing = (enum evidence_id)rng_below(&rng, EVIDENCE_MAX);
	for (size_t i = 0; i < EVIDENCE_MAX; i++) {
		t->evidence[i].state = (enum evidence_state)rng_below(&rng, 4);
		any_chars(&rng, t->evidence[i].detail, sizeof(t->evidence[i].detail));
	}
	t->worst_us = rng_below(&rng, 4) ? any_i64(&rng) : -1;
	t->worst_cpu = rng_below(&rng, 4) ? INT_MAX : -1;
	any_chars(&rng, t->worst_probe, sizeof(t->worst_probe));
	any_chars(&rng, t->worst_func, sizeof(t->worst_func));
	t->console_from = rng_u64(&rng);
	t->console_to = UINT64_MAX;
	for (size_t i = 0; i < rows; i++) {
		struct trial_delay *d = trial_add_delay(t);
		struct trial_incident *n = trial_add_incident(t);
		char text[200];

		d->us = any_i64(&rng);
		d->cpu = (int)rng_below(&rng, 9) - 1;
		any_chars(&rng, d->probe, sizeof(d->probe));
		d->due_us = any_i64(&rng);
		d->t_host_ns = any_i64(&rng);
		d->offset = rng_u64(&rng);
		d->is_live = rng_below(&rng, 2);
		d->is_suspect = rng_below(&rng, 2);

		any_chars(&rng, n->cls, sizeof(n->cls));
		any_chars(&rng, n->title, sizeof(n->title));
		n->count = any_unsigned(&rng);
		n->t_first_us = rng_below(&rng, 2) ? any_i64(&rng) : INT64_MIN;
		n->worst_s = rng_below(&rng, 2) ? any_i64(&rng) : INT64_MIN;
		n->offset = rng_u64(&rng);

		any_chars(&rng, text, sizeof(text));
		trial_add_moment(t, (int64_t)rng_below(&rng, 5) - 2, text, "%s", text);
		trial_add_load_point(t, any_i64(&rng), any_i64(&rng));
		if (i < 400) { /* below 2^62: 0, 1, a bucket or a gap between them */
			int64_t low_ns = (int64_t)i * ((int64_t)1 << 53);
			struct trial_bucket b = {
				.low_ns = low_ns,
				.end_ns = low_ns + 1 + (int64_t)rng_below(&rng, (uint64_t)1 << 53),
				.count = rng_below(&rng, 8) ? 1 + (int64_t)rng_below(&rng, 300)
							    : (int64_t)1 << 50,
			};

			(void)trial_add_samples(t, rng_below(&rng, 2) ? "bh" : "normal", &b);
		}
		if (i < TRIAL_LIST_MAX - 1) {
			(void)snprintf(text, sizeof(text), "number_%zu", i);
			trial_add_number(t, text, any_i64(&rng));
		}
	}
	return t;
}

static inline struct run *make_run(uint64_t seed, const char *id, unsigned trials, size_t rows)
{
	struct run *r = xcalloc(1, sizeof(*r));
	struct rng rng;

	rng_init(&rng, seed);
	r->id = xstrdup(id);
	r->rig = any_string(&rng);
	r->rig_class = any_string(&rng);
	r->arch = any_string(&rng);
	r->kernel = any_string(&rng);
	r->kernel_label = any_string(&rng);
	r->kernel_release = any_string(&rng);
	r->kernel_version = any_string(&rng);
	r->kernel_config_sha256 = any_string(&rng);
	r->kernel_image_sha256 = any_string(&rng);
	r->append = any_string(&rng);
	r->scenario = any_string(&rng);
	r->scenario_sha256 = any_string(&rng);
	r->started_wall_ns = any_i64(&rng);
	r->limit_us = 50000;
	r->planned_valid = 8;
	r->tolerated_over = 0.1;
	r->confidence = 0.95;
	r->boots = xcalloc(2, sizeof(*r->boots));
	for (; r->n_boots < 2; r->n_boots++) {
		struct trial_boot *b = &r->boots[r->n_boots];

		b->number = (unsigned)r->n_boots + 1;
		b->recording = any_string(&rng);
		b->banner = any_string(&rng);
		b->environment = any_string(&rng);
		b->console_bytes = rng_u64(&rng);
		b->boot_ms = r->n_boots ? -1 : 4321;
	}
	r->trials = xcalloc(trials, sizeof(struct trial *));
	for (; r->n_trials < trials; r->n_trials++)
		r->trials[r->n_trials] = make_trial(seed, (unsigned)r->n_trials + 1, rows);
	return r;
}

/* ---- comparison, field by field ---- */

static inline void assert_same_lists(const struct trial *a, const struct trial *b)
{
	assert_int_equal(a->n_delays, b->n_delays);
	for (size_t i = 0; i < a->n_delays; i++) {
		const struct trial_delay *x = &a->delays[i], *y = &b->delays[i];

		assert_true(x->us == y->us && x->cpu == y->cpu && x->due_us == y->due_us);
		assert_true(x->t_host_ns == y->t_host_ns && x->offset == y->offset);
		assert_true(x->is_live == y->is_live && x->is_suspect == y->is_suspect);
		assert_string_equal(x->probe, y->probe);
	}
	assert_int_equal(a->n_incidents, b->n_incidents);
	for (size_t i = 0; i < a->n_incidents; i++) {
		const struct trial_incident *x = &a->incidents[i], *y = &b->incidents[i];

		assert_string_equal(x->cls, y->cls);
		assert_string_equal(x->title, y->title);
		assert_true(x->count == y->count && x->t_first_us == y->t_first_us);
		assert_true(x->worst_s == y->worst_s && x->offset == y->offset);
	}
	assert_int_equal(a->n_load, b->n_load);
	for (size_t i = 0; i < a->n_load; i++) {
		assert_true(a->load[i].t_ns == b->load[i].t_ns);
		assert_true(a->load[i].bytes == b->load[i].bytes);
	}
	assert_int_equal(a->n_moments, b->n_moments);
	for (size_t i = 0; i < a->n_moments; i++) {
		assert_true(a->moments[i].t_ns == b->moments[i].t_ns);
		assert_string_equal(a->moments[i].what, b->moments[i].what);
		assert_string_equal(a->moments[i].detail, b->moments[i].detail);
	}
	assert_int_equal(a->n_histograms, b->n_histograms);
	for (size_t i = 0; i < a->n_histograms; i++) {
		const struct trial_histogram *x = &a->histograms[i];
		const struct trial_histogram *y = b->histograms;

		while (y < b->histograms + b->n_histograms && strcmp(x->probe, y->probe) != 0)
			y++;
		assert_true(y < b->histograms + b->n_histograms);
		assert_int_equal(x->n_buckets, y->n_buckets);
		assert_memory_equal(x->buckets, y->buckets, x->n_buckets * sizeof(*x->buckets));
	}
	assert_int_equal(a->n_numbers, b->n_numbers);
	for (size_t i = 0; i < a->n_numbers; i++) {
		assert_string_equal(a->numbers[i].name, b->numbers[i].name);
		assert_true(a->numbers[i].value == b->numbers[i].value);
	}
}

static inline void assert_same_trial(const struct trial *a, const struct trial *b)
{
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->boot, b->boot);
	assert_int_equal(a->unplug, b->unplug);
	assert_true(a->started_wall_ns == b->started_wall_ns);
	assert_int_equal(a->is_valid, b->is_valid);
	assert_int_equal(a->missing, b->missing);
	assert_int_equal(a->is_crash, b->is_crash);
	assert_string_equal(a->crash, b->crash);
	for (size_t i = 0; i < EVIDENCE_MAX; i++) {
		assert_int_equal(a->evidence[i].state, b->evidence[i].state);
		assert_string_equal(a->evidence[i].detail, b->evidence[i].detail);
	}
	assert_true(a->worst_us == b->worst_us);
	assert_int_equal(a->worst_cpu, b->worst_cpu);
	assert_string_equal(a->worst_probe, b->worst_probe);
	assert_string_equal(a->worst_func, b->worst_func);
	assert_true(a->console_from == b->console_from && a->console_to == b->console_to);
	assert_same_lists(a, b);
}

static inline void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a)
		assert_string_equal(a, b);
}

static inline void assert_same_result(const struct judge_result *a, const struct judge_result *b)
{
	assert_int_equal(a->verdict, b->verdict);
	assert_string_equal(a->reason, b->reason);
	assert_string_equal(a->strength, b->strength);
	assert_int_equal(a->valid, b->valid);
	assert_int_equal(a->over, b->over);
	assert_int_equal(a->invalid, b->invalid);
	assert_int_equal(a->crashes, b->crashes);
	assert_int_equal(a->boots, b->boots);
	assert_int_equal(a->boots_over, b->boots_over);
	assert_int_equal(a->is_clustered, b->is_clustered);
	assert_true(a->worst_us == b->worst_us && a->p50_us == b->p50_us);
	assert_memory_equal(&a->over_low, &b->over_low, sizeof(double));
	assert_memory_equal(&a->over_high, &b->over_high, sizeof(double));
}

static inline void assert_same_head(const struct run *a, const struct run *b)
{
	assert_string_equal(a->id, b->id);
	assert_string_equal(a->rig, b->rig);
	assert_string_equal(a->rig_class, b->rig_class);
	assert_string_equal(a->arch, b->arch);
	assert_string_equal(a->kernel, b->kernel);
	assert_string_equal(a->kernel_label, b->kernel_label);
	assert_string_equal(a->kernel_release, b->kernel_release);
	assert_string_equal(a->kernel_version, b->kernel_version);
	assert_string_equal(a->kernel_config_sha256, b->kernel_config_sha256);
	assert_string_equal(a->kernel_image_sha256, b->kernel_image_sha256);
	assert_string_equal(a->append, b->append);
	assert_string_equal(a->scenario, b->scenario);
	assert_string_equal(a->scenario_sha256, b->scenario_sha256);
	assert_true(a->started_wall_ns == b->started_wall_ns);
	assert_true(a->ended_wall_ns == b->ended_wall_ns);
	assert_true(a->limit_us == b->limit_us && a->planned_valid == b->planned_valid);
	assert_memory_equal(&a->tolerated_over, &b->tolerated_over, sizeof(double));
	assert_memory_equal(&a->confidence, &b->confidence, sizeof(double));
	assert_same_text(a->rig_fault, b->rig_fault);
	assert_same_text(a->untestable, b->untestable);
	assert_same_result(&a->result, &b->result);
}

static inline void assert_same_run(const struct run *a, const struct run *b)
{
	assert_same_head(a, b);
	assert_int_equal(a->n_boots, b->n_boots);
	for (size_t i = 0; i < a->n_boots; i++) {
		const struct trial_boot *x = &a->boots[i], *y = &b->boots[i];

		assert_int_equal(x->number, y->number);
		assert_string_equal(x->recording, y->recording);
		assert_string_equal(x->banner, y->banner);
		assert_string_equal(x->environment, y->environment);
		assert_true(x->console_bytes == y->console_bytes && x->boot_ms == y->boot_ms);
	}
	assert_int_equal(a->n_trials, b->n_trials);
	for (size_t i = 0; i < a->n_trials; i++)
		assert_same_trial(a->trials[i], b->trials[i]);
}

/* ---- shortcuts ---- */

static inline struct store *open_store(struct fixture *f, enum store_mode mode)
{
	struct store *st = NULL;

	assert_ok(f, store_open(f->path, mode, &st, &f->e));
	return st;
}

static inline void write_run(struct fixture *f, struct store *st, const struct run *r)
{
	assert_ok(f, store_run_begin(st, r, &f->e));
	for (size_t i = 0; i < r->n_boots; i++)
		assert_ok(f, store_boot_add(st, r, &r->boots[i], &f->e));
	for (size_t i = 0; i < r->n_trials; i++)
		assert_ok(f, store_trial_add(st, r, r->trials[i], &f->e));
}

struct found {
	struct run **runs;
	size_t n;
};

static inline struct found find_runs(struct fixture *f, struct store *st,
				     const struct store_filter *filter, bool with_trials)
{
	struct found found = {0};

	assert_ok(f, store_runs(st, filter, with_trials, &found.runs, &found.n, &f->e));
	return found;
}

static inline void found_release(struct found *found)
{
	for (size_t i = 0; i < found->n; i++)
		run_free(found->runs[i]);
	free(found->runs);
}
#define auto_found __attribute__((cleanup(found_release)))

/* Makes a store with one run "r" of 3 trials and closes it. */
static inline void make_store(struct fixture *f)
{
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 3, 2);

	write_run(f, st, r);
}

/* Expects store_open() to fail with the code and to name the file and why. */
static inline void expect_open_fails(struct fixture *f, const char *location, enum store_mode mode,
				     int code, const char *why)
{
	struct store *st = NULL;
	int r = store_open(location, mode, &st, &f->e);

	if (r != -code)
		fail_msg("returned %d, not %d: %s", r, -code, r < 0 ? f->e.text : "no error");
	assert_null(st);
	assert_int_equal(f->e.kind, ERR_STORE);
	assert_int_equal(f->e.code, code);
	assert_contains(f->e.text, location);
	assert_contains(f->e.text, why);
}

/* Runs a function in a child process, which must end with _exit(0). */
static inline void in_child(struct fixture *f, void (*func)(struct fixture *f))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		func(f);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* For children: cmocka's asserts would go on with the parent's tests. */
#define child_expect(f, cond)                                                                  \
	do {                                                                                   \
		if (!(cond)) {                                                                 \
			dprintf(STDERR_FILENO, "line %d: %s is not so: %s\n", __LINE__, #cond, \
				(f)->e.text);                                                  \
			_exit(1);                                                              \
		}                                                                              \
	} while (0)
