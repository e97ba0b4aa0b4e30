/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_store.c - results come back as they went in, whatever happens to the file or the writer. */
/* ctest: store */
#include "base/rng.h"
#include "store/store.h"
#include "unit.h"

#include <sqlite3.h>

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SEED 4242

struct fixture {
	char *dir;
	char path[96];
	struct err e;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	(void)snprintf(f->path, sizeof(f->path), "%s/results.db", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unit_rmdir(f->dir);
	free(f);
	return 0;
}

#define assert_ok(f, call)                                      \
	do {                                                    \
		if ((call) < 0)                                 \
			fail_msg("%s: %s", #call, (f)->e.text); \
	} while (0)

/* ---- runs made of a seed ---- */

static int64_t any_i64(struct rng *rng)
{
	static const int64_t edges[] = {INT64_MAX, INT64_MIN + 1, 0, 1, -2};
	uint64_t i = rng_below(rng, 10);

	return i < ARRAY_SIZE(edges) ? edges[i] : (int64_t)(rng_u64(rng) >> rng_below(rng, 64));
}

static unsigned any_unsigned(struct rng *rng)
{
	return rng_below(rng, 4) ? (unsigned)rng_below(rng, 1000) : UINT_MAX;
}

/* Quotes, UTF-8 and bytes that are no UTF-8 in texts of 0…cap - 1 bytes. */
static void any_chars(struct rng *rng, char *ret, size_t cap)
{
	static const char bytes[] = "abc 'x\"%;\\\t\n\xc3\xa4\xff-_.:";
	size_t n = rng_below(rng, 8) ? (size_t)rng_below(rng, cap) : cap - 1;

	for (size_t i = 0; i < n; i++)
		ret[i] = bytes[rng_below(rng, sizeof(bytes) - 1)];
	ret[n] = '\0';
}

static char *any_string(struct rng *rng)
{
	char text[300];

	any_chars(rng, text, sizeof(text));
	return xstrdup(text);
}

/* rows: in each list. */
static struct trial *make_trial(uint64_t seed, unsigned number, size_t rows)
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
		if (i < TRIAL_LIST_MAX - 1) {
			(void)snprintf(text, sizeof(text), "number_%zu", i);
			trial_add_number(t, text, any_i64(&rng));
		}
	}
	return t;
}

static struct run *make_run(uint64_t seed, const char *id, unsigned trials, size_t rows)
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

static void assert_same_lists(const struct trial *a, const struct trial *b)
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
	assert_int_equal(a->n_moments, b->n_moments);
	for (size_t i = 0; i < a->n_moments; i++) {
		assert_true(a->moments[i].t_ns == b->moments[i].t_ns);
		assert_string_equal(a->moments[i].what, b->moments[i].what);
		assert_string_equal(a->moments[i].detail, b->moments[i].detail);
	}
	assert_int_equal(a->n_numbers, b->n_numbers);
	for (size_t i = 0; i < a->n_numbers; i++) {
		assert_string_equal(a->numbers[i].name, b->numbers[i].name);
		assert_true(a->numbers[i].value == b->numbers[i].value);
	}
}

static void assert_same_trial(const struct trial *a, const struct trial *b)
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

static void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a)
		assert_string_equal(a, b);
}

static void assert_same_result(const struct judge_result *a, const struct judge_result *b)
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

static void assert_same_head(const struct run *a, const struct run *b)
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

static void assert_same_run(const struct run *a, const struct run *b)
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

static struct store *open_store(struct fixture *f, enum store_mode mode)
{
	struct store *st = NULL;

	assert_ok(f, store_open(f->path, mode, &st, &f->e));
	return st;
}

static void write_run(struct fixture *f, struct store *st, const struct run *r)
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

static struct found find_runs(struct fixture *f, struct store *st,
			      const struct store_filter *filter, bool with_trials)
{
	struct found found = {0};

	assert_ok(f, store_runs(st, filter, with_trials, &found.runs, &found.n, &f->e));
	return found;
}

static void found_release(struct found *found)
{
	for (size_t i = 0; i < found->n; i++)
		run_free(found->runs[i]);
	free(found->runs);
}
#define auto_found __attribute__((cleanup(found_release)))

/* Makes a store with one run "r" of 3 trials and closes it. */
static void make_store(struct fixture *f)
{
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 3, 2);

	write_run(f, st, r);
}

/* Expects store_open() to fail with the code and to name the file and why. */
static void expect_open_fails(struct fixture *f, const char *location, enum store_mode mode,
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

static void put_file(const char *path, const void *bytes, size_t n, off_t at)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), n);
}

/* Changes a store behind its back. */
static void tamper(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Runs a function in a child process, which must end with _exit(0). */
static void in_child(struct fixture *f, void (*func)(struct fixture *f))
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

/* ---- what goes in comes out ---- */

static void test_a_run_comes_back_field_by_field(void **state)
{
	struct fixture *f = *state;

	print_message("seed %d\n", SEED);
	for (uint64_t seed = SEED; seed < SEED + 6; seed++) {
		auto_run struct run *r = make_run(seed, "20261130-111754-a3f2", 9, seed % 4 * 3);
		auto_store struct store *st = NULL;
		struct store *reader;

		(void)unlink(f->path);
		st = open_store(f, STORE_WRITE);
		run_judge(r);
		write_run(f, st, r);

		reader = open_store(f, STORE_READ);
		{
			auto_found struct found found = find_runs(f, reader, NULL, true);

			assert_int_equal(found.n, 1);
			assert_same_run(r, found.runs[0]);
		}
		store_close(reader);
	}
}

static void test_lists_of_a_trial_come_back_whole_at_their_limit(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "big", 1, TRIAL_LIST_MAX);

	assert_null(trial_add_delay(r->trials[0])); /* makes "rows_dropped" the last number */
	assert_int_equal(r->trials[0]->n_numbers, TRIAL_LIST_MAX);
	run_judge(r);
	write_run(f, st, r);

	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_same_run(r, found.runs[0]);
}

static void test_strings_that_are_not_there_come_back_empty(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = xcalloc(1, sizeof(*r));
	struct trial_boot boot = {.number = 1, .boot_ms = -1};

	r->id = xstrdup("bare");
	assert_ok(f, store_run_begin(st, r, &f->e));
	assert_ok(f, store_boot_add(st, r, &boot, &f->e));

	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 1);
	assert_string_equal(found.runs[0]->kernel_version, "");
	assert_string_equal(found.runs[0]->boots[0].banner, "");
	assert_null(found.runs[0]->rig_fault);
	assert_null(found.runs[0]->untestable);
}

static void test_a_run_that_was_not_judged_is_not_a_pass(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 0, 0);

	assert_int_equal(r->result.verdict, VERDICT_PASS);
	assert_ok(f, store_run_begin(st, r, &f->e));

	auto_found struct found found = find_runs(f, st, NULL, false);

	assert_int_equal(found.runs[0]->result.verdict, VERDICT_INCONCLUSIVE);
	assert_int_equal(found.runs[0]->ended_wall_ns, 0);
}

static void test_an_update_brings_verdict_fault_and_end(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 4, 1);
	auto_run struct run *other = make_run(SEED + 1, "other", 1, 1);

	run_judge(other);
	write_run(f, st, other);
	write_run(f, st, r);
	r->rig_fault = xstrdup("rig.qemu-ended: killed by signal 9");
	r->untestable = xstrdup("");
	r->ended_wall_ns = INT64_MAX;
	run_judge(r);
	assert_ok(f, store_run_update(st, r, &f->e));

	auto_found struct found found =
		find_runs(f, st, &(struct store_filter){.run_id = "r"}, true);
	auto_found struct found rest =
		find_runs(f, st, &(struct store_filter){.run_id = "other"}, true);

	assert_same_run(r, found.runs[0]);
	assert_same_run(other, rest.runs[0]);
}

static void test_a_boot_or_trial_stored_again_replaces_the_first(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 3, 5);

	run_judge(r);
	write_run(f, st, r);
	trial_free(r->trials[1]);
	r->trials[1] = make_trial(SEED + 99, 2, 3);
	r->boots[0].console_bytes = 7;
	free(r->boots[0].banner);
	r->boots[0].banner = xstrdup("Linux version 6.1");
	assert_ok(f, store_boot_add(st, r, &r->boots[0], &f->e));
	assert_ok(f, store_trial_add(st, r, r->trials[1], &f->e));

	auto_found struct found found = find_runs(f, st, NULL, true);

	run_judge(found.runs[0]);
	run_judge(r);
	assert_same_run(r, found.runs[0]);
}

static void test_runs_are_filtered_and_come_newest_first(void **state)
{
	static const struct {
		const char *id, *rig, *kernel, *label, *scenario;
		int64_t started;
	} rows[] = {
		{"a", "x86", "debian-6.1", "debian 6.1 amd64", "unplug-read", 30},
		{"b", "x86", "debian-6.12", "debian 6.12 amd64", "unplug-read", 10},
		{"c", "arm64", "debian-6.12", "debian 6.12 thresh_us=0", "unplug-read", 20},
		{"d", "x86", "own", "100% mine", "unplug-write", 20},
	};
	static const struct {
		struct store_filter filter;
		const char *ids;
	} cases[] = {
		{{0}, "adcb"},
		{{.last = 1}, "a"},
		{{.last = 9}, "adcb"},
		{{.rig = "x86"}, "adb"},
		{{.rig = "x8"}, ""},
		{{.scenario = "unplug-write"}, "d"},
		{{.kernel = "debian"}, "acb"},
		{{.kernel = "debian-6.12"}, "cb"},
		{{.kernel = "thresh_us=0"}, "c"},
		{{.kernel = "%"}, "d"}, /* no wildcard */
		{{.kernel = "6.1", .rig = "x86", .last = 1}, "a"},
		{{.run_id = "b"}, "b"},
		{{.run_id = "B"}, ""},
		{{.run_id = "' OR 1=1 --"}, ""},
	};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct run r = {
			.id = xstrdup(rows[i].id),
			.rig = xstrdup(rows[i].rig),
			.kernel = xstrdup(rows[i].kernel),
			.kernel_label = xstrdup(rows[i].label),
			.scenario = xstrdup(rows[i].scenario),
			.started_wall_ns = rows[i].started,
		};
		auto_run struct run *owned = xcalloc(1, sizeof(*owned));

		*owned = r;
		assert_ok(f, store_run_begin(st, owned, &f->e));
	}

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_found struct found found = find_runs(f, st, &cases[i].filter, false);
		char ids[8] = "";

		for (size_t j = 0; j < found.n; j++)
			(void)snprintf(ids + j, sizeof(ids) - j, "%s", found.runs[j]->id);
		if (strcmp(ids, cases[i].ids) != 0)
			fail_msg("case %zu: '%s', expected '%s'", i, ids, cases[i].ids);
	}
}

static void test_without_trials_only_the_head_comes(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	auto_store struct store *st = open_store(f, STORE_READ);
	auto_found struct found found = find_runs(f, st, NULL, false);

	assert_int_equal(found.n, 1);
	assert_int_equal(found.runs[0]->n_trials, 0);
	assert_int_equal(found.runs[0]->n_boots, 0);
}

static void test_a_trial_is_found_by_its_id_or_a_unique_prefix(void **state)
{
	static const char *const ids[] = {"20261130-111754-a3f2", "20261130-111754-a3f2b",
					  "20261201-080000-0001", "x%_"};
	static const struct {
		const char *trial_id;
		int code;
		const char *run_id; /* found, or part of the message */
	} cases[] = {
		{"20261130-111754-a3f2.2", 0, "20261130-111754-a3f2"}, /* exact beats the longer */
		{"20261130-111754-a3f2b.2", 0, "20261130-111754-a3f2b"},
		{"202612.1", 0, "20261201-080000-0001"},
		{"2026113.1", EEXIST, "'20261130-111754-a3f2' and '20261130-111754-a3f2b'"},
		{"2.1", EEXIST, "'2…'"},
		{"2027.1", ENOENT, "no run '2027'"},
		{"%.1", ENOENT, "no run '%'"},
		{"202612.3", ENOENT, "none with the number 3"},
		{"202612.0", ERANGE, "0 is outside"},
		{"202612.x", EINVAL, "'x'"},
		{"202612.", EINVAL, "202612."},
		{"202612", EINVAL, "<run id>.<number>"},
		{".1", EINVAL, "<run id>.<number>"},
		{"", EINVAL, "<run id>.<number>"},
	};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);

	for (size_t i = 0; i < 3; i++) {
		auto_run struct run *r = make_run(SEED + i, ids[i], 2, 1);

		write_run(f, st, r);
	}

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_run struct run *run = NULL;
		const struct trial *trial = NULL;
		int r = store_find_trial(st, cases[i].trial_id, &run, &trial, &f->e);

		if (cases[i].code == 0) {
			assert_int_equal(r, 0);
			assert_string_equal(run->id, cases[i].run_id);
			assert_int_equal(trial->number,
					 cases[i].trial_id[strlen(cases[i].trial_id) - 1] - '0');
			assert_int_equal(trial->n_delays, 1);
		} else {
			assert_true(r < 0);
			assert_null(run);
			assert_int_equal(f->e.kind, ERR_USAGE);
			if (cases[i].code == ENOENT || cases[i].code == EEXIST)
				assert_int_equal(r, -cases[i].code);
			assert_contains(f->e.text, cases[i].run_id);
		}
	}
}

/* ---- what is refused ---- */

static void test_rows_without_what_they_belong_to_are_refused(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 1, 1);
	auto_run struct run *absent = make_run(SEED, "absent", 1, 1);

	assert_ok(f, store_run_begin(st, r, &f->e));

	assert_int_equal(store_run_begin(st, r, &f->e), -EEXIST);
	assert_contains(f->e.text, "run 'r': the run is in it already");
	assert_int_equal(store_boot_add(st, absent, &absent->boots[0], &f->e), -ENOENT);
	assert_contains(f->e.text, "run 'absent': boot 1: the run is not in it");
	assert_int_equal(store_run_update(st, absent, &f->e), -ENOENT);
	assert_int_equal(store_trial_add(st, absent, absent->trials[0], &f->e), -ENOENT);
	assert_int_equal(store_trial_add(st, r, r->trials[0], &f->e), -ENOENT);
	assert_contains(f->e.text, "trial 'r.1': its boot 2 is not in it");
	assert_int_equal(f->e.kind, ERR_STORE);

	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 1);
	assert_int_equal(found.runs[0]->n_trials, 0);
}

static void test_ids_that_cannot_name_a_run_are_refused(void **state)
{
	static const char *const ids[] = {"", "a.b", "a/b", "-a", "a b"};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		auto_run struct run *r = make_run(SEED, ids[i], 0, 0);

		assert_int_equal(store_run_begin(st, r, &f->e), -EINVAL);
		assert_contains(f->e.text, ids[i]);
	}
}

static void test_a_trial_that_fails_half_way_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	auto_run struct run *r = make_run(SEED, "r", 3, 4);
	struct trial *t = r->trials[2];

	make_store(f);
	tamper(f->path, "DROP TABLE moments"); /* the last rows of a trial to be written */
	auto_store struct store *st = open_store(f, STORE_WRITE);

	t->number = 4;
	assert_int_equal(store_trial_add(st, r, t, &f->e), -EIO);
	assert_contains(f->e.text, "moments");

	store_close(take(st));
	tamper(f->path, "CREATE TABLE moments (trial, seq, t_ns, what, detail)");
	st = open_store(f, STORE_READ);
	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.runs[0]->n_trials, 3);
}

static void test_a_trial_with_an_impossible_number_is_refused(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 0, 0);
	struct trial *t = make_trial(SEED, 1, 0);

	write_run(f, st, r);
	t->is_valid = t->is_crash = false;
	t->missing = EVIDENCE_MAX;
	assert_int_equal(store_trial_add(st, r, t, &f->e), -EINVAL);
	assert_int_equal(f->e.kind, ERR_INTERNAL);
	trial_free(t);

	r->tolerated_over = NAN;
	free(r->id);
	r->id = xstrdup("nan");
	assert_true(store_run_begin(st, r, &f->e) < 0);
	assert_contains(f->e.text, "tolerated_over");
}

static void test_values_that_no_run_can_have_are_named_and_not_believed(void **state)
{
	static const struct {
		const char *sql, *where;
	} cases[] = {
		{"UPDATE evidence SET name = 'luck' WHERE name = 'cut-seen'", "evidence"},
		{"UPDATE evidence SET state = 'fine'", "evidence"},
		{"UPDATE runs SET verdict = 'GREAT'", "runs"},
		{"UPDATE runs SET planned_valid = 5000000000", "runs"},
		{"UPDATE trials SET is_valid = 0, missing = 'luck'", "trials"},
		{"UPDATE trials SET worst_cpu = -7", "trials"},
		{"UPDATE delays SET cpu = 5000000000", "delays"},
		{"UPDATE incidents SET count = 5000000000", "incidents"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run **runs = NULL;
		size_t n = 0;

		(void)unlink(f->path);
		make_store(f);
		tamper(f->path, cases[i].sql);

		auto_store struct store *st = open_store(f, STORE_READ);

		assert_int_equal(store_runs(st, NULL, true, &runs, &n, &f->e), -EBADMSG);
		assert_null(runs);
		assert_contains(f->e.text, f->path);
		assert_contains(f->e.text, "run 'r'");
		assert_contains(f->e.text, cases[i].where);
	}
}

/* ---- files that are not what they should be ---- */

static void test_reading_what_is_not_there_says_so_and_makes_nothing(void **state)
{
	struct fixture *f = *state;
	char missing[128];

	expect_open_fails(f, f->path, STORE_READ, ENOENT, "No such file");
	assert_int_equal(access(f->path, F_OK), -1);
	(void)snprintf(missing, sizeof(missing), "%s/no/results.db", f->dir);
	expect_open_fails(f, missing, STORE_WRITE, ENOENT, "No such file");
	expect_open_fails(f, f->dir, STORE_WRITE, EINVAL, "not a regular file");
	expect_open_fails(f, f->dir, STORE_READ, EINVAL, "not a regular file");

	struct store *st = NULL;

	assert_int_equal(store_open("", STORE_WRITE, &st, &f->e), -EINVAL);
	assert_int_equal(f->e.kind, ERR_USAGE);
}

static void test_files_that_are_no_store_are_refused_and_left_alone(void **state)
{
	static const char text[] =
		"This is a file with some text in it, and it is long enough to be "
		"taken for the header of a database of one hundred bytes or more.\n";
	struct fixture *f = *state;
	auto_strbuf struct strbuf before = STRBUF_INIT;
	auto_strbuf struct strbuf after = STRBUF_INIT;

	put_file(f->path, text, sizeof(text), 0);
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "not an SQLite database");
	expect_open_fails(f, f->path, STORE_READ, EBADMSG, "not an SQLite database");

	(void)unlink(f->path);
	tamper(f->path, "CREATE TABLE shopping (item)");
	assert_ok(f, file_read(f->path, 1 << 20, &before, &f->e));
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "not one of stallrig");
	expect_open_fails(f, f->path, STORE_READ, EBADMSG, "not one of stallrig");
	assert_ok(f, file_read(f->path, 1 << 20, &after, &f->e));
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
}

static void test_an_empty_file_becomes_a_store_only_for_a_writer(void **state)
{
	struct fixture *f = *state;
	struct store *st;

	put_file(f->path, "", 0, 0);
	expect_open_fails(f, f->path, STORE_READ, EBADMSG, "the file is empty");
	st = open_store(f, STORE_WRITE);
	assert_int_equal(store_schema_version(st), 1);
	assert_string_equal(store_location(st), f->path);
	store_close(st);
	st = open_store(f, STORE_READ);
	assert_int_equal(store_schema_version(st), 1);
	store_close(st);
}

static void test_a_newer_schema_is_refused_with_both_versions(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	tamper(f->path, "PRAGMA user_version = 99");

	expect_open_fails(f, f->path, STORE_READ, ENOTSUP, "version 99 is newer than 1");
	expect_open_fails(f, f->path, STORE_WRITE, ENOTSUP, "version 99 is newer than 1");

	tamper(f->path, "PRAGMA user_version = 0");
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "schema version");
}

static void test_a_damaged_file_is_called_damaged(void **state)
{
	struct fixture *f = *state;
	struct run **runs = NULL;
	struct store *store;
	char junk[4096];
	struct stat sb;
	size_t n = 0;

	auto_run struct run *r = make_run(SEED, "r", 9, 30);

	store = open_store(f, STORE_WRITE);
	write_run(f, store, r);
	store_close(store);
	memset(junk, 0xA5, sizeof(junk));
	assert_int_equal(stat(f->path, &sb), 0);
	/* the schema lies in the first half */
	for (off_t at = sb.st_size / 2 / 4096 * 4096; at < sb.st_size; at += 4096)
		put_file(f->path, junk, sizeof(junk), at);

	auto_store struct store *st = open_store(f, STORE_READ);

	assert_int_equal(store_runs(st, NULL, true, &runs, &n, &f->e), -EBADMSG);
	assert_int_equal(f->e.kind, ERR_STORE);
	assert_contains(f->e.text, f->path);
	assert_contains(f->e.text, "damaged");

	/* and one that lost its end */
	assert_int_equal(truncate(f->path, 5000), 0);
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "damaged");
}

static void become_nobody(struct fixture *f)
{
	if (geteuid() == 0)
		child_expect(f, setresuid(65534, 65534, 65534) == 0);
}

static void child_opens_read_only(struct fixture *f)
{
	struct store *st = NULL;

	become_nobody(f);
	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == -EROFS);
	child_expect(f, strstr(f->e.text, f->path) && strstr(f->e.text, "read-only"));

	/* WAL needs its files beside the store even for reading; the message has to say so */
	child_expect(f, store_open(f->path, STORE_READ, &st, &f->e) == -EACCES);
	child_expect(f, strstr(f->e.text, f->path) && strstr(f->e.text, "-shm"));
}

static void test_a_read_only_file_is_refused_for_writing(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	assert_int_equal(chmod(f->path, 0444), 0);
	assert_int_equal(chmod(f->dir, 0555), 0);
	in_child(f, child_opens_read_only);
	assert_int_equal(chmod(f->dir, 0755), 0);
}

static void child_may_not_even_look(struct fixture *f)
{
	struct store *st = NULL;

	become_nobody(f);
	child_expect(f, store_open(f->path, STORE_READ, &st, &f->e) == -EACCES);
	child_expect(f, strstr(f->e.text, f->path) && strstr(f->e.text, "Permission denied"));
}

static void test_a_file_out_of_reach_is_refused(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	assert_int_equal(chmod(f->dir, 0), 0);
	in_child(f, child_may_not_even_look);
	assert_int_equal(chmod(f->dir, 0755), 0);
}

static void test_names_that_mean_something_to_sqlite_are_plain_files(void **state)
{
	static const char *const names[] = {":memory:", "file:x?mode=memory", "a b'c"};
	struct fixture *f = *state;
	int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(chdir(f->dir), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_store struct store *st = NULL;

		assert_ok(f, store_open(names[i], STORE_WRITE, &st, &f->e));
		assert_int_equal(access(names[i], F_OK), 0);
	}
	assert_int_equal(fchdir(back), 0);
	close(back);
}

static void test_the_default_store_lies_in_the_state_folder(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = NULL;
	char state_dir[96], path[128];

	(void)snprintf(state_dir, sizeof(state_dir), "%s/new/state", f->dir);
	(void)snprintf(path, sizeof(path), "%s/results.db", state_dir);
	assert_int_equal(setenv("STALLRIG_STATE", state_dir, 1), 0);

	assert_ok(f, store_open(NULL, STORE_WRITE, &st, &f->e));

	assert_string_equal(store_location(st), path);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unsetenv("STALLRIG_STATE"), 0);
}

/* ---- full disks ---- */

/* Adds trials until one fails; the code must be right and all before it must still be there. */
static void child_fills_the_store(struct fixture *f, struct store *st, struct run *r, int code)
{
	struct found found = {0};
	unsigned n = 0;
	int res = 0;

	while (res == 0 && n < 1000) {
		struct trial *t = make_trial(SEED, ++n, 50);

		res = store_trial_add(st, r, t, &f->e);
		trial_free(t);
	}
	child_expect(f, res == -code);
	child_expect(f, f->e.kind == ERR_STORE && strstr(f->e.text, store_location(st)));
	child_expect(f, store_runs(st, NULL, true, &found.runs, &found.n, &f->e) == 0);
	child_expect(f, found.n == 1 && found.runs[0]->n_trials == n - 1);
}

static void child_runs_into_the_file_size_limit(struct fixture *f)
{
	struct rlimit limit = {.rlim_cur = 600 << 10, .rlim_max = 600 << 10};
	struct run *r = make_run(SEED, "r", 0, 0);
	struct store *st = NULL;

	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == 0);
	child_expect(f, store_run_begin(st, r, &f->e) == 0);
	for (size_t i = 0; i < 2; i++)
		child_expect(f, store_boot_add(st, r, &r->boots[i], &f->e) == 0);
	child_expect(f, signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	child_expect(f, setrlimit(RLIMIT_FSIZE, &limit) == 0);
	child_fills_the_store(f, st, r, EIO);
	store_close(st);
}

static void test_a_file_that_may_not_grow_keeps_what_it_has(void **state)
{
	struct fixture *f = *state;

	in_child(f, child_runs_into_the_file_size_limit);

	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 1);
	assert_true(found.runs[0]->n_trials > 0);
}

static void child_runs_out_of_disk(struct fixture *f)
{
	struct run *r = make_run(SEED, "r", 0, 0);
	struct store *st = NULL;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", f->dir, "tmpfs", 0, "size=1m") < 0) {
		dprintf(STDERR_FILENO, "no right to mount a small file system: skipped\n");
		_exit(77);
	}

	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == 0);
	child_expect(f, store_run_begin(st, r, &f->e) == 0);
	for (size_t i = 0; i < 2; i++)
		child_expect(f, store_boot_add(st, r, &r->boots[i], &f->e) == 0);
	child_fills_the_store(f, st, r, ENOSPC);
	child_expect(f, strstr(f->e.text, "disk is full") || strstr(f->e.text, "No space left"));
	store_close(st);
}

static void test_a_full_disk_is_called_so_and_loses_no_finished_trial(void **state)
{
	in_child(*state, child_runs_out_of_disk);
}

/* ---- several processes ---- */

static void test_a_locked_store_is_reported_after_the_patience(void **state)
{
	struct fixture *f = *state;
	auto_run struct run *r = make_run(SEED, "late", 0, 0);
	sqlite3 *other;

	make_store(f);
	auto_store struct store *st = open_store(f, STORE_WRITE);

	assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	store_set_patience_ms(st, 20);

	assert_int_equal(store_run_begin(st, r, &f->e), -EBUSY);
	assert_contains(f->e.text, f->path);
	assert_contains(f->e.text, "more than 20 ms");

	/* readers do not care, and the writer goes on once the lock is gone */
	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 1);
	assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	assert_ok(f, store_run_begin(st, r, &f->e));
}

#define WRITERS           3
#define TRIALS_PER_WRITER 10

/* Opens the store (which may not be there yet) and writes a run of its own. */
static void child_writes_run(struct fixture *f, unsigned writer)
{
	struct store *st = NULL;
	struct run *r;
	char id[16];

	(void)snprintf(id, sizeof(id), "run-%u", writer);
	r = make_run(SEED + writer, id, TRIALS_PER_WRITER, 3);
	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == 0);
	child_expect(f, store_run_begin(st, r, &f->e) == 0);
	for (size_t i = 0; i < r->n_boots; i++)
		child_expect(f, store_boot_add(st, r, &r->boots[i], &f->e) == 0);
	for (size_t i = 0; i < r->n_trials; i++)
		child_expect(f, store_trial_add(st, r, r->trials[i], &f->e) == 0);
	run_judge(r);
	child_expect(f, store_run_update(st, r, &f->e) == 0);
	store_close(st);
	_exit(0);
}

static void test_processes_that_start_and_write_at_once_all_get_through(void **state)
{
	struct fixture *f = *state;

	for (unsigned round = 0; round < 5; round++) {
		pid_t pids[WRITERS];

		(void)unlink(f->path);
		for (unsigned i = 0; i < WRITERS; i++) {
			pids[i] = fork();
			if (pids[i] == 0)
				child_writes_run(f, i);
		}
		for (unsigned i = 0; i < WRITERS; i++) {
			int status;

			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}

		auto_store struct store *st = open_store(f, STORE_READ);

		for (unsigned i = 0; i < WRITERS; i++) {
			char id[16];

			(void)snprintf(id, sizeof(id), "run-%u", i);
			auto_run struct run *r = make_run(SEED + i, id, TRIALS_PER_WRITER, 3);
			struct store_filter filter = {.run_id = id};
			auto_found struct found found = find_runs(f, st, &filter, true);

			run_judge(r);
			assert_int_equal(found.n, 1);
			assert_same_run(r, found.runs[0]);
		}
	}
}

/* Writes trials without end and says on fd which one has just been stored. */
static void child_writes_for_ever(struct fixture *f, int fd)
{
	struct run *r = make_run(SEED, "killed", 0, 0);
	struct store *st = NULL;

	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == 0);
	child_expect(f, store_run_begin(st, r, &f->e) == 0);
	for (size_t i = 0; i < r->n_boots; i++)
		child_expect(f, store_boot_add(st, r, &r->boots[i], &f->e) == 0);
	for (unsigned n = 1;; n++) {
		struct trial *t = make_trial(SEED, n, 40);

		child_expect(f, store_trial_add(st, r, t, &f->e) == 0);
		child_expect(f, fd_write_all(fd, &n, sizeof(n)) == 0);
		trial_free(t);
	}
}

static void kill_writer_after(struct fixture *f, unsigned stored)
{
	unsigned n = 0;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_writes_for_ever(f, fds[1]);
	close(fds[1]);
	while (n < stored)
		assert_int_equal(read(fds[0], &n, sizeof(n)), sizeof(n));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (read(fds[0], &n, sizeof(n)) == sizeof(n))
		;
	close(fds[0]);

	auto_store struct store *st = open_store(f, STORE_READ);
	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 1);
	/* all that were reported, and at most the one that was just about to be */
	assert_in_range(found.runs[0]->n_trials, n, n + 1);
	assert_int_equal(found.runs[0]->ended_wall_ns, 0);
	for (size_t i = 0; i < found.runs[0]->n_trials; i++) {
		struct trial *t = make_trial(SEED, (unsigned)i + 1, 40);

		assert_same_trial(t, found.runs[0]->trials[i]);
		trial_free(t);
	}
}

static void test_a_killed_writer_leaves_its_finished_trials(void **state)
{
	struct fixture *f = *state;

	for (unsigned stored = 1; stored <= 8; stored++) {
		kill_writer_after(f, stored);

		/* the next writer goes on as if nothing had been */
		auto_store struct store *st = open_store(f, STORE_WRITE);
		auto_run struct run *r = make_run(SEED, "next", 2, 2);

		write_run(f, st, r);
		store_close(take(st));
		(void)unlink(f->path);
	}
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_a_run_comes_back_field_by_field),
		STORE_TEST(test_lists_of_a_trial_come_back_whole_at_their_limit),
		STORE_TEST(test_strings_that_are_not_there_come_back_empty),
		STORE_TEST(test_a_run_that_was_not_judged_is_not_a_pass),
		STORE_TEST(test_an_update_brings_verdict_fault_and_end),
		STORE_TEST(test_a_boot_or_trial_stored_again_replaces_the_first),
		STORE_TEST(test_runs_are_filtered_and_come_newest_first),
		STORE_TEST(test_without_trials_only_the_head_comes),
		STORE_TEST(test_a_trial_is_found_by_its_id_or_a_unique_prefix),
		STORE_TEST(test_rows_without_what_they_belong_to_are_refused),
		STORE_TEST(test_ids_that_cannot_name_a_run_are_refused),
		STORE_TEST(test_a_trial_that_fails_half_way_leaves_nothing),
		STORE_TEST(test_a_trial_with_an_impossible_number_is_refused),
		STORE_TEST(test_values_that_no_run_can_have_are_named_and_not_believed),
		STORE_TEST(test_reading_what_is_not_there_says_so_and_makes_nothing),
		STORE_TEST(test_files_that_are_no_store_are_refused_and_left_alone),
		STORE_TEST(test_an_empty_file_becomes_a_store_only_for_a_writer),
		STORE_TEST(test_a_newer_schema_is_refused_with_both_versions),
		STORE_TEST(test_a_damaged_file_is_called_damaged),
		STORE_TEST(test_a_read_only_file_is_refused_for_writing),
		STORE_TEST(test_a_file_out_of_reach_is_refused),
		STORE_TEST(test_names_that_mean_something_to_sqlite_are_plain_files),
		STORE_TEST(test_the_default_store_lies_in_the_state_folder),
		STORE_TEST(test_a_file_that_may_not_grow_keeps_what_it_has),
		STORE_TEST(test_a_full_disk_is_called_so_and_loses_no_finished_trial),
		STORE_TEST(test_a_locked_store_is_reported_after_the_patience),
		STORE_TEST(test_processes_that_start_and_write_at_once_all_get_through),
		STORE_TEST(test_a_killed_writer_leaves_its_finished_trials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
