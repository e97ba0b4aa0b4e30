/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contract_store.c - what every store promises, whichever database is behind it. The argument says
 * which: "sqlite", or "postgres" with its location in STALLRIG_TEST_POSTGRES.
 */
#include "base/waiter.h"
#include "contract_util.h"
#include "store/copy.h"
#include "store/nights.h"
#include "store/query.h"
#include "store/queue.h"
#include "store/recordings.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

static void test_a_run_comes_back_field_by_field(void **state)
{
	struct fixture *f = *state;

	print_message("seed %d\n", SEED);
	for (uint64_t seed = SEED; seed < SEED + 6; seed++) {
		auto_run struct run *r = make_run(seed, "20261130-111754-a3f2", 9, seed % 4 * 3);
		auto_store struct store *st = NULL;
		struct store *reader;

		wipe(f);
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

static void test_an_overview_keeps_the_turns_of_a_series_and_the_newest_of_each_cell(void **state)
{
	/* the oldest first; a night each */
	static const struct {
		char id;
		const char *rig, *release;
		enum verdict verdict;
	} rows[] = {
		{'a', "x", "6.1.0-57-amd64", VERDICT_FAIL}, /* only shows that it is not kept */
		{'b', "x", "6.1.0-57-amd64", VERDICT_PASS},
		{'c', "x", "6.1.0-57-amd64", VERDICT_FAIL}, /* since */
		{'d', "x", "6.1.0-57-amd64", VERDICT_FAIL}, /* neither */
		{'e', "x", "6.1.0-58-amd64", VERDICT_FAIL},
		{'f', "y", "6.1.0-58-arm64", VERDICT_PASS},
		{'g', "x", "6.1.0-58-amd64", VERDICT_RIG_FAULT},
	};
	static const struct {
		struct store_overview_filter filter;
		const char *ids;
	} cases[] = {
		{{.older = 0}, "gfecb"},
		{{.older = 1}, "gfedcb"},
		{{.rig = "y"}, "f"},
		{{.kernel = "lab", .scenario = "s", .rig_class = "c"}, "gfecb"},
		{{.kernel = "none"}, ""},
		{{.kernel = "-57"}, "dcb"},
		/* only the series of x had a run since then; its changes are as old as they are */
		{{.older = 1, .since_wall_ns = 7}, "gecb"},
		{{.since_wall_ns = 8}, ""},
	};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct run r = {
			.id = xasprintf("%c", rows[i].id),
			.rig = xstrdup(rows[i].rig),
			.rig_class = xstrdup("c"),
			.kernel = xstrdup(rows[i].release),
			.kernel_release = xstrdup(rows[i].release),
			.kernel_label = xstrdup("label"),
			.scenario = xstrdup("s"),
			.started_wall_ns = (int64_t)i + 1,
			.ended_wall_ns = (int64_t)i + 2,
			.result = {.verdict = rows[i].verdict, .reason = "test"},
		};
		auto_run struct run *owned = xcalloc(1, sizeof(*owned));

		*owned = r;
		assert_ok(f, store_run_begin(st, owned, &f->e));
		assert_ok(f, store_run_update(st, owned, &f->e));
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_found struct found found = {0};
		char ids[16] = "";

		assert_ok(f, store_overview(st, &cases[i].filter, &found.runs, &found.n, &f->e));
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

static void test_a_run_is_found_by_its_whole_id(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	auto_store struct store *st = open_store(f, STORE_READ);
	auto_run struct run *run = NULL, *none = NULL;

	assert_ok(f, store_find_run(st, "r", &run, &f->e));
	assert_int_equal(run->n_trials, 3);
	assert_ok(f, store_find_run(st, "R", &none, &f->e));
	assert_null(none);
	assert_ok(f, store_find_run(st, NULL, &none, &f->e));
	assert_null(none);
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
	tamper(f, "DROP TABLE moments"); /* the last rows of a trial to be written */
	auto_store struct store *st = open_store(f, STORE_WRITE);

	t->number = 4;
	assert_int_equal(store_trial_add(st, r, t, &f->e), -EIO);
	assert_contains(f->e.text, "moments");

	store_close(take(st));
	tamper(f, "CREATE TABLE moments (trial BIGINT, seq BIGINT, t_ns BIGINT, what TEXT,"
		  " detail TEXT)");
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

		wipe(f);
		make_store(f);
		tamper(f, cases[i].sql);

		auto_store struct store *st = open_store(f, STORE_READ);

		assert_int_equal(store_runs(st, NULL, true, &runs, &n, &f->e), -EBADMSG);
		assert_null(runs);
		assert_contains(f->e.text, f->path);
		assert_contains(f->e.text, "run 'r'");
		assert_contains(f->e.text, cases[i].where);
	}
}

static void test_a_histogram_that_cannot_be_is_named(void **state)
{
	static const char *const hex[] = {
		"01",                           /* only a gap */
		"0101",                         /* no count */
		"0101ff",                       /* a number without an end */
		"010001",                       /* nothing fits into a bucket */
		"010100",                       /* none in it */
		"01ffffffffffffffffff0101",     /* over 64 bits */
		"0101010101ffffffffffffffff7f", /* the sum of the counts */
	};
	struct fixture *f = *state;

	make_store(f);
	for (size_t i = 0; i < ARRAY_SIZE(hex); i++) {
		auto_free char *sql =
			xasprintf("UPDATE histograms SET buckets = %s%s%s",
				  postgres ? "'\\x" : "x'", hex[i], postgres ? "'::bytea" : "'");
		auto_store struct store *st = NULL;
		struct run **runs = NULL;
		size_t n = 0;

		tamper(f, sql);
		st = open_store(f, STORE_READ);
		if (store_runs(st, NULL, true, &runs, &n, &f->e) != -EBADMSG)
			fail_msg("%s was believed", hex[i]);
		assert_null(runs);
		assert_contains(f->e.text, "run 'r'");
		assert_contains(f->e.text, "histograms");
	}
}

static void test_a_newer_schema_is_refused_with_both_versions(void **state)
{
	struct fixture *f = *state;

	make_store(f);
	set_version(f, 99);

	expect_open_fails(f, f->path, STORE_READ, ENOTSUP, "version 99 is newer than 6");
	expect_open_fails(f, f->path, STORE_WRITE, ENOTSUP, "version 99 is newer than 6");

	set_version(f, 0);
	expect_open_fails(f, f->path, STORE_WRITE, EBADMSG, "schema version");
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

static void test_only_an_ended_verdict_of_the_very_same_run_counts_as_judged(void **state)
{
	static const struct {
		enum verdict verdict;
		bool has_ended, is_judged;
		const char *append;
	} cases[] = {
		{VERDICT_PASS, true, true, "quiet"},
		{VERDICT_FAIL, true, true, "quiet"},
		{VERDICT_INCONCLUSIVE, true, false, "quiet"},
		{VERDICT_RIG_FAULT, true, false, "quiet"},
		{VERDICT_UNTESTABLE, true, false, "quiet"},
		{VERDICT_PASS, false, false, "quiet"},
		{VERDICT_PASS, true, false, "quiet splash"},
	};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *id = xasprintf("j%zu", i);
		auto_free char *rig = xasprintf("rig-%zu", i);
		auto_run struct run *r = make_run(SEED, id, 1, 1);
		bool is_judged = false;

		free(r->rig);
		r->rig = xstrdup(rig);
		free(r->append);
		r->append = xstrdup(cases[i].append);
		r->ended_wall_ns = 0;
		write_run(f, st, r);
		r->result.verdict = cases[i].verdict;
		(void)snprintf(r->result.reason, sizeof(r->result.reason), "why");
		r->ended_wall_ns = cases[i].has_ended ? wall_now() : 0;
		assert_ok(f, store_run_update(st, r, &f->e));
		assert_ok(f, store_was_judged(st, r->kernel, "quiet", rig, r->scenario, &is_judged,
					      &f->e));
		assert_int_equal(is_judged, cases[i].is_judged);
	}
}

/* Made of the schema as it was released then, with rows in each of its tables. */
static void test_a_store_of_the_first_version_is_brought_up_to_date_with_all_its_rows(void **state)
{
	struct fixture *f = *state;
	auto_free char *path = xasprintf("%s/fixtures/stores/v1-%s.sql", STALLRIG_SOURCE_DIR,
					 postgres ? "postgres" : "sqlite");
	auto_strbuf struct strbuf sql = STRBUF_INIT;
	struct store_incident *incidents = NULL;
	struct run *run = NULL;
	struct store *st = NULL;
	size_t n = 0;

	assert_ok(f, file_read(path, 1 << 20, &sql, &f->e));
	tamper(f, strbuf_str(&sql));
	expect_open_fails(f, f->path, STORE_READ, EPROTO, "version 1 is older than");

	st = open_store(f, STORE_WRITE);
	assert_true(store_schema_version(st) > 1);
	assert_ok(f, store_find_run(st, "20261130-111754-a3f2", &run, &f->e));
	assert_int_equal(run->n_boots, 1);
	assert_int_equal(run->n_trials, 3);
	assert_int_equal(run->result.verdict, VERDICT_FAIL);
	assert_int_equal(run->result.worst_us, 183000);
	assert_int_equal(run->trials[0]->n_delays, 1);
	assert_int_equal(run->trials[0]->n_moments, 1);
	assert_int_equal(run->trials[0]->n_numbers, 2);
	assert_int_equal(run->trials[0]->n_incidents, 2);
	assert_string_equal(run->trials[0]->incidents[1].title, "hub_event hogged CPU");
	assert_int_equal(run->trials[0]->incidents[1].count, 3);
	assert_int_equal(run->trials[1]->missing, EVIDENCE_CONTROLS_QUIET);
	assert_string_equal(run->trials[1]->evidence[EVIDENCE_CONTROLS_QUIET].detail,
			    "highpri of CPU1: 61 ms");
	assert_int_equal(run->trials[2]->n_incidents, 1);
	run_free(run);
	assert_ok(f, store_find_run(st, "20261130-120000-b001", &run, &f->e));
	assert_int_equal(run->ended_wall_ns, 0);
	assert_string_equal(run->rig_fault, "boot: no agent");
	run_free(run);

	/* what is found by words now, and new rows beside the old ones */
	assert_ok(f, store_incidents(st, "hogged", 10, &incidents, &n, &f->e));
	assert_int_equal(n, 1);
	store_incidents_free(incidents, n);
	run = make_run(SEED, "new", 2, 3);
	write_run(f, st, run);
	run_free(run);
	assert_ok(f, store_rig_quarantine(st, "bench", "why", &f->e));
	store_close(st);

	st = open_store(f, STORE_READ);
	auto_found struct found found = find_runs(f, st, NULL, true);

	assert_int_equal(found.n, 3);
	store_close(st);
}

/* As many of a title as there may be: the newest come, of all titles together. */
static void test_the_newest_incidents_come_first_whatever_their_titles(void **state)
{
	static const char *const titles[] = {"hub_event", "hub_event again", "other"};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_run struct run *r = make_run(SEED, "r", 40, 0);
	const struct trial_incident *expected[400];
	size_t n_expected = 0;
	struct rng g;

	rng_init(&g, SEED);
	for (size_t i = 0; i < r->n_trials; i++)
		for (uint64_t k = rng_below(&g, 5); k > 0; k--) {
			struct trial_incident *inc = trial_add_incident(r->trials[i]);

			(void)snprintf(inc->cls, sizeof(inc->cls), "hung-task");
			(void)snprintf(inc->title, sizeof(inc->title), "%s",
				       titles[rng_below(&g, ARRAY_SIZE(titles))]);
			inc->count = (unsigned)rng_below(&g, 1000);
		}
	write_run(f, st, r);
	for (size_t i = r->n_trials; i-- > 0;)
		for (size_t k = 0; k < r->trials[i]->n_incidents; k++)
			if (strncmp(r->trials[i]->incidents[k].title, "hub", 3) == 0)
				expected[n_expected++] = &r->trials[i]->incidents[k];
	assert_true(n_expected > 30);
	for (unsigned last = 1; last < n_expected + 3; last++) {
		struct store_incident *rows = NULL;
		size_t n = 0;

		assert_ok(f, store_incidents(st, "hub_event", last, &rows, &n, &f->e));
		assert_int_equal(n, last < n_expected ? last : n_expected);
		for (size_t i = 0; i < n; i++) {
			assert_string_equal(rows[i].title, expected[i]->title);
			assert_int_equal(rows[i].count, expected[i]->count);
		}
		store_incidents_free(rows, n);
	}
}

static void test_processes_that_start_and_write_at_once_all_get_through(void **state)
{
	struct fixture *f = *state;

	for (unsigned round = 0; round < 5; round++) {
		pid_t pids[WRITERS];

		wipe(f);
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
		wipe(f);
	}
}

/* ---- the queue ---- */

static const char *const rig_a[] = {"a"};
static const char *const rigs_ab[] = {"a", "b"};

static struct store_worker make_worker(const char *name, const char *const *rigs, size_t n)
{
	struct store_worker w = {
		.host = "host", .pid = 1, .rigs = rigs, .n_rigs = n, .lease_ns = 60 * NSEC_PER_SEC};

	(void)snprintf(w.name, sizeof(w.name), "%s", name);
	return w;
}

static int64_t submit(struct fixture *f, struct store *st, const char *rig, int64_t priority,
		      unsigned attempts_max)
{
	char kind[] = "run", scenario[] = "unplug-read", kernel[] = "k", by[] = "me@here";
	auto_free char *wanted = rig ? xstrdup(rig) : NULL;
	const struct store_job j = {.kind = kind,
				    .scenario = scenario,
				    .kernel = kernel,
				    .submitted_by = by,
				    .rig = wanted,
				    .priority = priority,
				    .attempts_max = attempts_max};
	int64_t job = 0;

	assert_ok(f, store_job_submit(st, &j, &job, &f->e));
	assert_true(job > 0);
	return job;
}

/* The job's number, 0 if there is nothing to do. */
static int64_t take_job(struct fixture *f, struct store *st, const struct store_worker *w,
			struct store_job **ret)
{
	int r = store_job_take(st, w, ret, &f->e);

	assert_ok(f, r);
	return r ? (*ret)->job : 0;
}

static void expect_state(struct fixture *f, struct store *st, int64_t job,
			 enum store_job_state state, const char *error)
{
	struct store_job_filter filter = {.job = job};
	struct store_job **jobs = NULL;
	size_t n = 0;

	assert_ok(f, store_jobs(st, &filter, &jobs, &n, &f->e));
	assert_int_equal(n, 1);
	assert_string_equal(store_job_state_name(jobs[0]->state), store_job_state_name(state));
	if (error)
		assert_contains(jobs[0]->error, error);
	else
		assert_null(jobs[0]->error);
	store_job_free(jobs[0]);
	free(jobs);
}

static void test_jobs_are_taken_by_priority_then_age_and_only_for_free_rigs(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker a = make_worker("wa", rig_a, 1);
	struct store_worker ab = make_worker("wab", rigs_ab, 2);
	struct store_worker none = make_worker("none", NULL, 0);
	struct store_job_result done = {.state = STORE_JOB_DONE};
	auto_store_job struct store_job *j1 = NULL, *j2 = NULL, *j3 = NULL;
	int64_t low, first, second, other;

	assert_ok(f, store_worker_register(st, &a, &f->e));
	assert_ok(f, store_worker_register(st, &ab, &f->e));
	low = submit(f, st, NULL, -1, 1);
	first = submit(f, st, "a", 5, 1);
	second = submit(f, st, "a", 5, 1);
	other = submit(f, st, "c", 9, 1);

	assert_int_equal(take_job(f, st, &none, &j1), 0);
	assert_int_equal(take_job(f, st, &a, &j1), first);
	assert_string_equal(j1->on_rig, "a");
	assert_int_equal(j1->attempts, 1);
	assert_int_equal(take_job(f, st, &a, &j2), 0);    /* its rig is held by itself */
	assert_int_equal(take_job(f, st, &ab, &j2), low); /* b is free and the job takes any */
	assert_string_equal(j2->on_rig, "b");

	assert_ok(f, store_job_finish(st, a.name, j1, &done, &f->e));
	assert_ok(f, store_job_finish(st, a.name, j1, &done, &f->e)); /* an answer was lost */
	assert_int_equal(take_job(f, st, &a, &j3), second);
	expect_state(f, st, first, STORE_JOB_DONE, NULL);
	expect_state(f, st, low, STORE_JOB_RUNNING, NULL);
	expect_state(f, st, other, STORE_JOB_QUEUED, NULL);

	int64_t counts[STORE_JOB_STATE_MAX];

	assert_ok(f, store_job_counts(st, counts, &f->e));
	assert_int_equal(counts[STORE_JOB_RUNNING], 2);
	assert_int_equal(counts[STORE_JOB_DONE], 1);
	assert_int_equal(counts[STORE_JOB_QUEUED], 1);
}

static void test_a_silent_worker_loses_its_job_and_cannot_end_it(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker dead = make_worker("dead", rig_a, 1);
	struct store_worker next = make_worker("next", rig_a, 1);
	struct store_job_result done = {.state = STORE_JOB_DONE};
	auto_store_job struct store_job *old = NULL, *again = NULL, *none = NULL;
	int64_t job;

	dead.lease_ns = next.lease_ns = 1;
	assert_ok(f, store_worker_register(st, &dead, &f->e));
	job = submit(f, st, NULL, 0, 2);
	assert_int_equal(take_job(f, st, &dead, &old), job);
	(void)usleep(1000);
	assert_int_equal(take_job(f, st, &next, &again), job);
	assert_int_equal(again->attempts, 2);

	assert_int_equal(store_job_renew(st, &dead, old, &f->e), -ESTALE);
	assert_int_equal(store_job_finish(st, dead.name, old, &done, &f->e), -ESTALE);
	assert_contains(f->e.text, "no longer that of worker 'dead'");
	expect_state(f, st, job, STORE_JOB_RUNNING, NULL);

	/* the second was the last attempt */
	(void)usleep(1000);
	assert_int_equal(take_job(f, st, &dead, &none), 0);
	expect_state(f, st, job, STORE_JOB_FAILED, "worker next went silent");
	assert_int_equal(store_job_finish(st, next.name, again, &done, &f->e), -ESTALE);
}

static void test_a_sign_of_life_keeps_the_job(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker w = make_worker("w", rig_a, 1);
	struct store_worker other = make_worker("other", rig_a, 1);
	auto_store_job struct store_job *j = NULL, *none = NULL;

	w.lease_ns = 1;
	assert_ok(f, store_worker_register(st, &w, &f->e));
	(void)submit(f, st, NULL, 0, 3);
	assert_true(take_job(f, st, &w, &j) > 0);
	w.lease_ns = 60 * NSEC_PER_SEC;
	assert_int_equal(store_job_renew(st, &w, j, &f->e), 0);
	assert_int_equal(take_job(f, st, &other, &none), 0);
}

static void test_cancelling_ends_what_waits_and_tells_who_works(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker w = make_worker("w", rig_a, 1);
	struct store_job_result over = {.state = STORE_JOB_CANCELLED};
	auto_store_job struct store_job *j = NULL;
	int64_t running, waiting;

	assert_ok(f, store_worker_register(st, &w, &f->e));
	running = submit(f, st, NULL, 0, 1);
	waiting = submit(f, st, NULL, 0, 1);
	assert_int_equal(take_job(f, st, &w, &j), running);

	assert_int_equal(store_job_cancel(st, waiting, &f->e), 0);
	expect_state(f, st, waiting, STORE_JOB_CANCELLED, NULL);
	assert_int_equal(store_job_cancel(st, waiting, &f->e), -EALREADY);
	assert_contains(f->e.text, "is cancelled already");
	assert_int_equal(store_job_cancel(st, 4711, &f->e), -ENOENT);

	assert_int_equal(store_job_cancel(st, running, &f->e), 1);
	assert_int_equal(store_job_renew(st, &w, j, &f->e), 1);
	assert_ok(f, store_job_finish(st, w.name, j, &over, &f->e));
	expect_state(f, st, running, STORE_JOB_CANCELLED, NULL);
}

static void test_a_job_that_is_given_back_waits_and_fails_in_the_end(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker w = make_worker("w", rig_a, 1);
	struct store_job_result back = {.state = STORE_JOB_QUEUED, .error = "rig.no-stick"};
	auto_store_job struct store_job *j1 = NULL, *j2 = NULL;
	int64_t job;

	assert_ok(f, store_worker_register(st, &w, &f->e));
	job = submit(f, st, "a", 0, 2);
	assert_int_equal(take_job(f, st, &w, &j1), job);
	back.pause_ns = 3600 * NSEC_PER_SEC;
	assert_ok(f, store_job_finish(st, w.name, j1, &back, &f->e));
	expect_state(f, st, job, STORE_JOB_QUEUED, "rig.no-stick");
	assert_int_equal(take_job(f, st, &w, &j2), 0); /* not before */

	tamper(f, "UPDATE jobs SET not_before_wall_ns = 0");
	assert_int_equal(take_job(f, st, &w, &j2), job);
	assert_ok(f, store_job_finish(st, w.name, j2, &back, &f->e));
	expect_state(f, st, job, STORE_JOB_FAILED, "rig.no-stick");
}

static void test_an_item_of_a_night_is_queued_once(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	char kind[] = "run", item[] = "x86/unplug-read/debian-6.1";
	struct store_job j = {.kind = kind, .item = item, .night = 1};
	int64_t first = 0, second = 0;

	tamper(f, "INSERT INTO nights (night, plan, plan_sha256, plan_yaml, started_wall_ns, note)"
		  " VALUES (1, 'p', '', '', 0, '')");
	assert_int_equal(store_job_submit(st, &j, &first, &f->e), 0);
	assert_int_equal(store_job_submit(st, &j, &second, &f->e), 1);
	assert_int_equal(first, second);

	/* of no night: another one, and that once too */
	j.night = 0;
	assert_int_equal(store_job_submit(st, &j, &second, &f->e), 0);
	assert_int_not_equal(first, second);
	assert_int_equal(store_job_submit(st, &j, &first, &f->e), 1);
	assert_int_equal(first, second);
	j.item = NULL;
	assert_int_equal(store_job_submit(st, &j, &first, &f->e), 0);
	assert_int_equal(store_job_submit(st, &j, &second, &f->e), 0);
	assert_int_not_equal(first, second);
}

static void test_a_night_begins_ends_once_and_the_newest_is_found(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_store_night struct store_night *newest = NULL, *ended = NULL;
	int64_t first = 0, second = 0, other = 0;

	assert_int_equal(store_night_newest(st, "p", &newest, &f->e), -ENOENT);
	assert_int_equal(f->e.kind, ERR_USAGE);
	assert_null(newest);
	assert_ok(f, store_night_begin(st, "p", "5ha", "name: p\n", 0, &first, &f->e));
	assert_ok(f, store_night_begin(st, "p", "5hb", "name: p\n", 3600, &second, &f->e));
	assert_ok(f, store_night_begin(st, "q", "5hc", "name: q\n", 0, &other, &f->e));

	assert_ok(f, store_night_newest(st, "p", &newest, &f->e));
	assert_int_equal(newest->night, second);
	assert_string_equal(newest->plan, "p");
	assert_string_equal(newest->plan_sha256, "5hb");
	assert_int_equal(newest->budget_s, 3600);
	assert_true(newest->started_wall_ns > 0);
	assert_int_equal(newest->ended_wall_ns, 0);
	assert_string_equal(newest->note, "");

	assert_ok(f, store_night_end(st, second, "done", &f->e));
	assert_ok(f, store_night_end(st, second, "done twice", &f->e));
	assert_ok(f, store_night_newest(st, "p", &ended, &f->e));
	assert_true(ended->ended_wall_ns >= ended->started_wall_ns);
	assert_string_equal(ended->note, "done");
	assert_int_equal(store_night_end(st, other + 1, "", &f->e), -ENOENT);
}

static void test_the_run_of_an_earlier_night_is_found_by_entry_scenario_rig_and_append(void **state)
{
	static const struct {
		const char *entry, *scenario, *rig, *append, *run;
	} asked[] = {
		{"debian:6.1", "s", "a", "", "run-2"}, {"debian:6.1", "s", "a", "quiet", "run-4"},
		{"debian:6.1", "s", "b", "", NULL},    {"debian:6.1", "t", "a", "", NULL},
		{"debian:6", "s", "a", "", NULL},      {"debian:6.12", "s", "a", "", "run-5"},
	};
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	int64_t nights[4];

	for (size_t i = 0; i < ARRAY_SIZE(nights); i++)
		assert_ok(f,
			  store_night_begin(st, i == 3 ? "q" : "p", "", "", 0, &nights[i], &f->e));
	for (unsigned i = 0; i < 7; i++) {
		static const struct {
			unsigned night;
			const char *item, *append, *verdict;
		} jobs[] = {
			{0, "debian:6.1|k1", "", "FAIL"},
			{0, "debian:6.1|k2", "", "FAIL"},
			{1, "debian:6.1|k3", "", "PASS"},
			{1, "debian:6.1|k4", "", "RIG-FAULT"},
			{0, "debian:6.1|k5", "quiet", "PASS"},
			{1, "debian:6.12|k6", "", "PASS"},
			{3, "debian:6.1|k7", "", "PASS"},
		};
		auto_free char *sql = xasprintf(
			"INSERT INTO jobs (state, kind, priority, scenario, kernel, append,"
			" parameters, night, item, submitted_wall_ns, submitted_by,"
			" not_before_wall_ns, attempts, attempts_max, is_cancel_wanted, on_rig,"
			" run_id, verdict) VALUES ('done', 'run', 0, 's', 'k', '%s', '{}', %lld,"
			" '%s', 0, '', 0, 1, 1, 0, 'a', 'run-%u', '%s')",
			jobs[i].append, (long long)nights[jobs[i].night], jobs[i].item, i,
			jobs[i].verdict);

		tamper(f, sql);
	}
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		auto_free char *id = NULL;

		assert_ok(f,
			  store_night_previous_run(st, nights[2], asked[i].entry, asked[i].scenario,
						   asked[i].rig, asked[i].append, &id, &f->e));
		if (asked[i].run)
			assert_string_equal(id, asked[i].run);
		else
			assert_null(id);
	}
}

static void test_a_finished_job_stores_the_end_of_its_run_with_it(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker w = make_worker("w", rig_a, 1);
	auto_run struct run *r = make_run(SEED, "of-a-job", 2, 1);
	struct store_job_result done = {.state = STORE_JOB_DONE, .run = r};
	auto_store_job struct store_job *j = NULL;

	assert_ok(f, store_worker_register(st, &w, &f->e));
	(void)submit(f, st, NULL, 0, 1);
	assert_true(take_job(f, st, &w, &j) > 0);
	write_run(f, st, r);
	r->ended_wall_ns = 77;
	run_judge(r);
	(void)snprintf(w.name, sizeof(w.name), "somebody-else");
	assert_int_equal(store_job_finish(st, w.name, j, &done, &f->e), -ESTALE);
	{
		auto_found struct found found = find_runs(f, st, NULL, false);

		assert_int_equal(found.runs[0]->ended_wall_ns, 0);
	}
	assert_ok(f, store_job_finish(st, "w", j, &done, &f->e));

	auto_found struct found found = find_runs(f, st, NULL, false);

	assert_int_equal(found.runs[0]->ended_wall_ns, 77);
}

static void test_a_rig_is_held_by_one_and_for_a_time(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker w = make_worker("w", rig_a, 1);
	auto_store_job struct store_job *j = NULL;
	struct store_rig *rigs = NULL;
	size_t n = 0;

	assert_ok(f, store_worker_register(st, &w, &f->e));
	(void)submit(f, st, "a", 0, 1);
	assert_ok(f, store_rig_hold(st, "a", "ann@desk", "soldering", NSEC_PER_SEC * 60, &f->e));
	assert_int_equal(store_rig_hold(st, "a", "bob@desk", "", NSEC_PER_SEC, &f->e), -EBUSY);
	assert_int_equal(f->e.kind, ERR_USAGE);
	assert_contains(f->e.text, "rig 'a' is held by ann@desk until ");
	assert_contains(f->e.text, "soldering");
	assert_int_equal(take_job(f, st, &w, &j), 0);
	assert_ok(f, store_rig_for(st, "a", "ann@desk", &f->e));
	assert_ok(f, store_rig_for(st, "b", "bob@desk", &f->e)); /* nobody ever used it */
	assert_int_equal(store_rig_for(st, "a", "bob@desk", &f->e), -EBUSY);
	assert_int_equal(f->e.kind, ERR_USAGE);
	assert_contains(f->e.text, "rig 'a' is held by ann@desk until ");

	assert_ok(f, store_rigs(st, &rigs, &n, &f->e));
	assert_int_equal(n, 1);
	assert_string_equal(rigs[0].holder, "ann@desk");
	assert_string_equal(rigs[0].host, "host");
	store_rigs_free(rigs, n);

	assert_int_equal(store_rig_release(st, "a", "bob@desk", &f->e), -EBUSY);
	assert_ok(f, store_rig_hold(st, "a", "ann@desk", "soldering", 1, &f->e)); /* shorter */
	(void)usleep(1000);
	assert_int_equal(store_rig_release(st, "a", "ann@desk", &f->e), -ENOENT);
	assert_true(take_job(f, st, &w, &j) > 0);
	assert_ok(f, store_rigs(st, &rigs, &n, &f->e));
	assert_contains(rigs[0].running, "unplug-read with k");
	store_rigs_free(rigs, n);
	assert_ok(f, store_rig_release(st, "a", NULL, &f->e));
	assert_ok(f, store_rig_for(st, "a", "bob@desk", &f->e));
}

static void test_a_rig_in_quarantine_gets_checks_and_no_other_job(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_worker w = make_worker("w", rig_a, 1);
	char kind[] = "check", rig[] = "a";
	const struct store_job check = {.kind = kind, .rig = rig};
	const struct store_job_result passed = {.state = STORE_JOB_DONE};
	auto_store_job struct store_job *j = NULL, *c = NULL;
	struct store_rig *rigs = NULL;
	int64_t number = 0;
	size_t n = 0;

	assert_ok(f, store_worker_register(st, &w, &f->e));
	(void)submit(f, st, NULL, 0, 1);
	assert_ok(f, store_rig_checked(st, "a", false, "no positive control", &f->e));
	assert_ok(f, store_rig_quarantine(st, "a", "failed its check", &f->e));
	assert_int_equal(take_job(f, st, &w, &j), 0);
	assert_ok(f, store_rigs(st, &rigs, &n, &f->e));
	assert_true(rigs[0].quarantined_wall_ns > 0 && rigs[0].checked_wall_ns > 0);
	assert_false(rigs[0].is_check_ok);
	assert_string_equal(rigs[0].quarantine_reason, "failed its check");
	store_rigs_free(rigs, n);

	assert_ok(f, store_job_submit(st, &check, &number, &f->e));
	assert_int_equal(take_job(f, st, &w, &c), number);
	assert_string_equal(c->on_rig, "a");
	assert_ok(f, store_job_finish(st, w.name, c, &passed, &f->e));
	assert_int_equal(take_job(f, st, &w, &j), 0);

	assert_ok(f, store_rig_quarantine(st, "a", NULL, &f->e));
	assert_true(take_job(f, st, &w, &j) > 0);
}

/* ---- recordings ---- */

#define BYTES_MAX 70000

/* A run's folder below dir with a console of every byte; returns its path. */
static char *make_recording(const struct fixture *f, const char *run)
{
	char *dir = xasprintf("%s/%s", f->dir, run);
	auto_free char *boot = xasprintf("%s/boot-1", dir);
	auto_free char *raw = xasprintf("%s/console.raw", boot);
	auto_free unsigned char *bytes = xcalloc(BYTES_MAX, 1);
	struct err e = {0};

	assert_int_equal(dir_make(boot, &e), 0);
	for (size_t i = 0; i < BYTES_MAX; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256);
	assert_int_equal(file_write_atomic(raw, bytes, BYTES_MAX, &e), 0);
	unit_write(boot, "console.timing", "0.1 70000\n");
	unit_write(dir, "run.json", "{}");
	unit_write(dir, "trial-1.json", "");
	unit_write(dir, "trial-1-loads.txt", "job=0 iops=159\n");
	unit_write(dir, "fit.itb", "a kernel that the kernel store has");
	return dir;
}

static void expect_same_file(const char *a, const char *b, const char *name)
{
	auto_free char *x = xasprintf("%s/%s", a, name);
	auto_free char *y = xasprintf("%s/%s", b, name);
	char of_x[SHA256_HEX_SIZE], of_y[SHA256_HEX_SIZE];
	struct err e = {0};

	if (sha256_file(x, of_x, &e) < 0 || sha256_file(y, of_y, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(of_x, of_y);
}

static void write_recorded_run(struct fixture *f, struct store *st, const char *recording)
{
	auto_run struct run *r = make_run(SEED, "r", 1, 1);

	free(r->boots[0].recording);
	r->boots[0].recording = xstrdup(recording);
	write_run(f, st, r);
}

static void recordings_come_back(struct fixture *f, const char *folder)
{
	static const char *const names[] = {"run.json", "trial-1.json", "trial-1-loads.txt",
					    "boot-1/console.raw", "boot-1/console.timing"};
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_free char *dir = make_recording(f, "r");
	auto_free char *boot = xasprintf("%s/boot-1", dir);
	auto_free char *moved = xasprintf("%s/elsewhere", f->dir);
	auto_free char *cache = xasprintf("%s/cache", f->dir);
	auto_free char *to = xasprintf("%s/cache/r", f->dir);
	auto_free char *itb = xasprintf("%s/fit.itb", to);
	auto_run struct run *run = NULL;

	write_recorded_run(f, st, boot);
	assert_ok(f, store_recording_keep(st, "r", dir, folder, &f->e));
	assert_ok(f, store_recording_keep(st, "r", dir, folder, &f->e)); /* again is fine */
	assert_ok(f, store_find_run(st, "r", &run, &f->e));
	assert_ok(f, store_recording_locate(st, folder, cache, run, &f->e));
	assert_string_equal(run->boots[0].recording, boot); /* it is here */

	/* another host does not have the folder */
	assert_int_equal(rename(dir, moved), 0);
	assert_ok(f, store_recording_locate(st, folder, cache, run, &f->e));
	assert_contains(run->boots[0].recording, "/cache/r/boot-1");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect_same_file(moved, to, names[i]);
	assert_true(access(itb, F_OK) < 0);
}

static void test_recordings_come_back_from_the_store(void **state)
{
	recordings_come_back(*state, NULL);
}

static void test_recordings_come_back_from_a_shared_folder(void **state)
{
	struct fixture *f = *state;
	auto_free char *folder = xasprintf("%s/shared", f->dir);

	recordings_come_back(f, folder);
}

static void test_a_recording_that_was_spoiled_or_lost_is_named(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	auto_free char *dir = make_recording(f, "r");
	auto_free char *to = xasprintf("%s/to", f->dir);

	write_recorded_run(f, st, "/nowhere/boot-1");
	assert_int_equal(store_recording_fetch(st, "r", NULL, to, &f->e), -ENODATA);
	assert_int_equal(store_recording_keep(st, "other", dir, NULL, &f->e), -ENOENT);
	assert_ok(f, store_recording_keep(st, "r", dir, NULL, &f->e));

	tamper(f, postgres ? "UPDATE recordings SET content = '\\x7b207d' WHERE bytes = 2"
			   : "UPDATE recordings SET content = x'7b207d' WHERE bytes = 2");
	assert_int_equal(store_recording_fetch(st, "r", NULL, to, &f->e), -EBADMSG);
	assert_contains(f->e.text, "'run.json' has SHA-256");
	tamper(f, "DELETE FROM recordings WHERE bytes = 2");
	assert_int_equal(store_recording_fetch(st, "r", NULL, to, &f->e), -ENOENT);
	assert_contains(f->e.text, "'run.json'");
	tamper(f, "UPDATE recording_files SET path = '../run.json' WHERE path = 'run.json'");
	assert_int_equal(store_recording_fetch(st, "r", NULL, to, &f->e), -EBADMSG);
}

static void test_wear_adds_up(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct store_wear *wear = NULL;
	size_t n = 0;

	assert_ok(f, store_wear_add(st, "a", "stick", "4C53", 8, &f->e));
	assert_ok(f, store_wear_add(st, "a", "stick", "4C53", 4, &f->e));
	assert_ok(f, store_wear_add(st, "b", "switch", "1", 1, &f->e));
	assert_true(store_wear_add(st, "b", "luck", "1", 1, &f->e) < 0);
	assert_ok(f, store_wear(st, "a", &wear, &n, &f->e));
	assert_int_equal(n, 1);
	assert_int_equal(wear[0].cycles, 12);
	assert_true(wear[0].last_wall_ns >= wear[0].first_wall_ns);
	store_wear_free(wear, n);
	assert_ok(f, store_wear(st, NULL, &wear, &n, &f->e));
	assert_int_equal(n, 2);
	store_wear_free(wear, n);
}

static void test_wear_of_a_rigs_parts(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	uint64_t on_switch = 99, on_stick = 99;

	assert_ok(f, store_wear_of(st, "a", "stick0", "4C53", &on_switch, &on_stick, &f->e));
	assert_int_equal(on_switch + on_stick, 0);
	assert_ok(f, store_wear_add(st, "a", "switch", "stick0", 8, &f->e));
	assert_ok(f, store_wear_add(st, "a", "switch", "4C53", 100, &f->e));
	assert_ok(f, store_wear_add(st, "a", "stick", "4C53", 5, &f->e));
	assert_ok(f, store_wear_add(st, "a", "stick", "stick0", 100, &f->e));
	/* the same stick, on another rig; the same port name there is another switch */
	assert_ok(f, store_wear_add(st, "b", "stick", "4C53", 6, &f->e));
	assert_ok(f, store_wear_add(st, "b", "switch", "stick0", 100, &f->e));
	assert_ok(f, store_wear_of(st, "a", "stick0", "4C53", &on_switch, &on_stick, &f->e));
	assert_int_equal(on_switch, 8);
	assert_int_equal(on_stick, 11);
	/* where nothing is cut, nothing is worn */
	assert_ok(f, store_wear_of(st, "a", NULL, "4C53", &on_switch, &on_stick, &f->e));
	assert_int_equal(on_switch + on_stick, 0);

	assert_ok(f, store_wear_add(st, "c", "switch", "stick1", 7, &f->e));
	assert_int_equal(store_wear_forget(st, "a", "stick1", &f->e), -ENOENT);
	assert_int_equal(f->e.kind, ERR_USAGE);
	assert_contains(f->e.text, "rig 'a': 'stick1' is no part of it that was ever cut");
	assert_ok(f, store_wear_forget(st, "c", "stick1", &f->e));
	assert_ok(f, store_wear_of(st, "c", "stick1", "4C53", &on_switch, &on_stick, &f->e));
	assert_int_equal(on_switch, 0);
	assert_int_equal(on_stick, 11);
}

static void test_a_cut_counts_on_switch_and_stick(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *st = open_store(f, STORE_WRITE);
	struct trial *t = trial_new();
	struct store_wear *wear = NULL;
	size_t n = 0;

	/* it did not come to a cut */
	assert_ok(f, store_count_cut(st, "r1", "stick0", "4C53", t, &f->e));
	trial_add_moment(t, 0, "cut-asked", "command to the switch");
	assert_ok(f, store_count_cut(st, "r1", "stick0", "4C53", t, &f->e));
	assert_ok(f, store_count_cut(st, "r1", "stick0", "4C53", t, &f->e));
	/* nothing wears out */
	assert_ok(f, store_count_cut(st, "r1", NULL, "4C53", t, &f->e));
	assert_ok(f, store_wear(st, "r1", &wear, &n, &f->e));
	assert_int_equal(n, 2);
	assert_string_equal(wear[0].kind, "stick");
	assert_string_equal(wear[0].part, "4C53");
	assert_int_equal(wear[0].cycles, 2);
	assert_string_equal(wear[1].kind, "switch");
	assert_string_equal(wear[1].part, "stick0");
	assert_int_equal(wear[1].cycles, 2);
	store_wear_free(wear, n);
	trial_free(t);
}

#define QUEUE_WORKERS 4
#define QUEUE_JOBS    60

/* Takes and ends jobs until there are none; writes each one's number to fd. */
static void child_works(struct fixture *f, unsigned number, int fd)
{
	char name[8];
	const char *const rigs[] = {name};
	struct store_worker w;
	struct store *st = NULL;
	struct store_job_result done = {.state = STORE_JOB_DONE};

	(void)snprintf(name, sizeof(name), "r%u", number);
	w = make_worker(name, rigs, 1);
	child_expect(f, store_open(f->path, STORE_WRITE, &st, &f->e) == 0);
	child_expect(f, store_worker_register(st, &w, &f->e) == 0);
	for (;;) {
		struct store_job *j = NULL;
		int r = store_job_take(st, &w, &j, &f->e);

		child_expect(f, r >= 0);
		if (r == 0)
			break;
		child_expect(f, store_job_finish(st, w.name, j, &done, &f->e) == 0);
		child_expect(f, fd_write_all(fd, &j->job, sizeof(j->job)) == 0);
		store_job_free(j);
	}
	store_close(st);
	_exit(0);
}

static void test_workers_at_once_share_the_jobs_and_none_is_done_twice(void **state)
{
	struct fixture *f = *state;
	struct store *st = open_store(f, STORE_WRITE);
	bool is_done[QUEUE_JOBS] = {false};
	pid_t pids[QUEUE_WORKERS];
	int64_t job, first = 0;
	unsigned n = 0;
	int fds[2];

	for (unsigned i = 0; i < QUEUE_JOBS; i++) {
		job = submit(f, st, NULL, 0, 1);
		first = first ? first : job;
	}
	store_close(st);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	for (unsigned i = 0; i < QUEUE_WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			child_works(f, i, fds[1]);
	}
	close(fds[1]);
	while (read(fds[0], &job, sizeof(job)) == sizeof(job)) {
		assert_in_range(job, first, first + QUEUE_JOBS - 1);
		assert_false(is_done[job - first]);
		is_done[job - first] = true;
		n++;
	}
	close(fds[0]);
	for (unsigned i = 0; i < QUEUE_WORKERS; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(n, QUEUE_JOBS);
}

/* ---- bisects ---- */

static struct store_bisect_test make_test(const char *commit, unsigned over)
{
	return (struct store_bisect_test){
		.commit = (char *)(uintptr_t)commit,
		.subject = (char *)(uintptr_t) "usb: gr\xc3\xbc\xc3\x9f 'x'",
		.verdict = (char *)(uintptr_t)(over ? "FAIL" : "PASS"),
		.trials = 8,
		.over = over,
		.worst_us = over ? 300000 : -1,
		.run_id = over ? (char *)(uintptr_t) "20261130-111754-a3f2" : NULL,
		.tested_wall_ns = 1000 + over,
	};
}

static void test_a_bisect_grows_in_the_store_and_comes_back(void **state)
{
	struct fixture *f = *state;
	struct store_bisect_test tests[3] = {make_test("aaaa", 3), make_test("bbbb", 0),
					     make_test("cccc", 1)};
	struct store_bisect b = {
		.id = (char *)(uintptr_t) "main-20261130-111754",
		.repo = (char *)(uintptr_t) "/linux",
		.good = (char *)(uintptr_t) "aaaa",
		.bad = (char *)(uintptr_t) "cccc",
		.rig = (char *)(uintptr_t) "virtual-x86",
		.scenario = (char *)(uintptr_t) "unplug-read",
		.state = (char *)(uintptr_t) "searching",
		.n_commits = 41,
		.probability = 0.25,
		.next = (char *)(uintptr_t) "tests bbbb next",
		.eta_s = 600,
		.started_wall_ns = 10,
		.updated_wall_ns = 20,
		.config = (char *)(uintptr_t) "{\"confirm\":10}",
		.entropy_bits = 4.5,
		.candidates = (char *)(uintptr_t) "[{\"commit\":\"bbbb\"}]",
		.tests = tests,
		.n_tests = 2,
	};
	struct store_bisect *rows = NULL;
	size_t n = 0;

	/* as after each boot; the same again changes nothing */
	for (unsigned i = 0; i < 2; i++) {
		auto_store struct store *st = NULL;

		assert_ok(f, store_open(f->path, STORE_WRITE, &st, &f->e));
		assert_ok(f, store_bisect_put(st, &b, &f->e));
		assert_ok(f, store_bisects(st, b.id, &rows, &n, &f->e));
		assert_int_equal(n, 1);
		assert_string_equal(rows[0].state, "searching");
		assert_null(rows[0].culprit);
		assert_true(fabs(rows[0].probability - 0.25) < 1e-9);
		assert_int_equal(rows[0].eta_s, 600);
		assert_int_equal(rows[0].ended_wall_ns, 0);
		assert_string_equal(rows[0].config, b.config);
		assert_string_equal(rows[0].candidates, b.candidates);
		assert_true(fabs(rows[0].entropy_bits - 4.5) < 1e-9);
		assert_int_equal(rows[0].n_tests, 2);
		assert_string_equal(rows[0].tests[0].subject, tests[0].subject);
		assert_string_equal(rows[0].tests[0].run_id, tests[0].run_id);
		assert_int_equal(rows[0].tests[0].worst_us, 300000);
		assert_int_equal(rows[0].tests[0].tested_wall_ns, 1003);
		assert_null(rows[0].tests[1].run_id);
		assert_int_equal(rows[0].tests[1].worst_us, -1);
		store_bisects_free(rows, n);
	}
	{
		auto_store struct store *st = NULL;

		b.state = (char *)(uintptr_t) "done";
		b.culprit = (char *)(uintptr_t) "cccc";
		b.probability = 0.995;
		b.next = (char *)(uintptr_t) "";
		b.eta_s = -1;
		b.updated_wall_ns = b.ended_wall_ns = 30;
		b.entropy_bits = 0.01;
		b.n_tests = 3;
		b.candidates = (char *)(uintptr_t) "[{\"commit\":\"cccc\"}]";
		assert_ok(f, store_open(f->path, STORE_WRITE, &st, &f->e));
		assert_ok(f, store_bisect_put(st, &b, &f->e));
		assert_ok(f, store_bisects(st, b.id, &rows, &n, &f->e));
		assert_string_equal(rows[0].culprit, "cccc");
		assert_string_equal(rows[0].candidates, b.candidates);
		assert_int_equal(rows[0].eta_s, -1);
		assert_int_equal(rows[0].started_wall_ns, 10);
		assert_int_equal(rows[0].ended_wall_ns, 30);
		assert_int_equal(rows[0].n_tests, 3);
		store_bisects_free(rows, n);

		b.id = (char *)(uintptr_t) "other-20261130-120000";
		b.updated_wall_ns = 40;
		b.n_tests = 0;
		b.candidates = NULL;
		assert_ok(f, store_bisect_put(st, &b, &f->e));
		assert_ok(f, store_bisects(st, NULL, &rows, &n, &f->e));
		assert_int_equal(n, 2);
		assert_string_equal(rows[0].id, b.id);
		assert_null(rows[0].candidates);
		assert_true(isnan(rows[0].entropy_bits));
		store_bisects_free(rows, n);

		b.id = (char *)(uintptr_t) "../main";
		assert_int_equal(store_bisect_put(st, &b, &f->e), -EINVAL);
		assert_contains(f->e.text, "'../main' cannot be the id of a bisect");
	}
}

/* ---- copies ---- */

/* A row or more in every table, beside those of runs. */
static void fill_lab_tables(struct fixture *f)
{
	static const char blob[] =
		"INSERT INTO recordings (sha256, bytes, content) VALUES ('aa', 3, ";
	auto_free char *recording =
		xasprintf("%s%s)", blob, postgres ? "'\\x00ff41'::bytea" : "x'00ff41'");

	tamper(f, "INSERT INTO nights (plan, plan_sha256, plan_yaml, started_wall_ns, note)"
		  " VALUES ('p', 'h', 'y', 1, 'n')");
	tamper(f, "INSERT INTO bisects (id, repo, good, bad, rig, scenario, state, n_commits,"
		  " probability, next, started_wall_ns, updated_wall_ns, config) VALUES ('b', 'r',"
		  " 'g', 'x', 'a', 's', 'running', 9, 0.1, '', 1, 2, '{}')");
	tamper(f, recording);
}

static void copy_and_check(struct fixture *f, const char *from_path, const char *to_path)
{
	auto_store struct store *from = NULL, *to = NULL;
	struct store_worker w = make_worker("w", rig_a, 1);
	auto_store_job struct store_job *j = NULL;
	int64_t rows = 0;

	assert_ok(f, store_open(from_path, STORE_READ, &from, &f->e));
	assert_ok(f, store_open(to_path, STORE_WRITE, &to, &f->e));
	assert_ok(f, store_copy(from, to, NULL, &rows, &f->e));
	assert_true(rows > 100);

	auto_found struct found was = find_runs(f, from, NULL, true);
	auto_found struct found is = find_runs(f, to, NULL, true);

	assert_int_equal(was.n, 2);
	assert_int_equal(is.n, 2);
	for (size_t i = 0; i < was.n; i++)
		assert_same_run(was.runs[i], is.runs[i]);

	/* the copy goes on: numbers do not meet those that came */
	assert_int_equal(store_copy(from, to, NULL, &rows, &f->e), -EEXIST);
	assert_contains(f->e.text, "it holds something already");
	assert_ok(f, store_worker_register(to, &w, &f->e));
	assert_int_equal(submit(f, to, NULL, 0, 1), 3);
	assert_true(take_job(f, to, &w, &j) == 1);

	auto_run struct run *r = make_run(SEED + 9, "after", 2, 2);

	write_run(f, to, r);
}

static void test_the_state_stays_until_something_changes_whoever_changes_it(void **state)
{
	struct fixture *f = *state;
	auto_store struct store *writer = open_store(f, STORE_WRITE);
	auto_store struct store *reader = open_store(f, STORE_READ);
	auto_run struct run *r = make_run(SEED, "state", 1, 1);
	int64_t before = 0, again = 0, after = 0, own = 0, own_after = 0;

	assert_ok(f, store_state(reader, &before, &f->e));
	assert_ok(f, store_state(writer, &own, &f->e));
	{
		auto_found struct found found = find_runs(f, reader, NULL, false);

		assert_int_equal(found.n, 0);
	}
	assert_ok(f, store_state(reader, &again, &f->e));
	assert_int_equal(before, again);

	assert_ok(f, store_run_begin(writer, r, &f->e));
	assert_ok(f, store_state(reader, &after, &f->e));
	assert_ok(f, store_state(writer, &own_after, &f->e));
	assert_true(after != before);
	assert_true(own_after != own);
}

static void test_a_copy_in_either_direction_is_the_same(void **state)
{
	struct fixture *f = *state;
	char other[300], back[300];

	(void)snprintf(other, sizeof(other), "%s/other.db", f->dir);
	(void)snprintf(back, sizeof(back), "%s/back.db", f->dir);
	make_store(f);
	{
		auto_store struct store *st = open_store(f, STORE_WRITE);
		auto_run struct run *r = make_run(SEED + 1, "second", 5, 3);

		write_run(f, st, r);
		(void)submit(f, st, "a", 1, 2);
		(void)submit(f, st, NULL, 0, 1);
		assert_ok(f, store_wear_add(st, "a", "stick", "4C53", 8, &f->e));
	}
	fill_lab_tables(f);
	copy_and_check(f, f->path, other);

	/* and the other way, out of a file */
	{
		auto_store struct store *st = open_store(f, STORE_READ);
		auto_store struct store *file = NULL;
		int64_t rows = 0;

		assert_ok(f, store_open(back, STORE_WRITE, &file, &f->e));
		assert_ok(f, store_copy(st, file, NULL, &rows, &f->e));
	}
	wipe(f);
	copy_and_check(f, back, f->path);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_a_run_comes_back_field_by_field),
		STORE_TEST(test_lists_of_a_trial_come_back_whole_at_their_limit),
		STORE_TEST(test_strings_that_are_not_there_come_back_empty),
		STORE_TEST(test_a_run_that_was_not_judged_is_not_a_pass),
		STORE_TEST(test_an_update_brings_verdict_fault_and_end),
		STORE_TEST(test_a_boot_or_trial_stored_again_replaces_the_first),
		STORE_TEST(test_runs_are_filtered_and_come_newest_first),
		STORE_TEST(
			test_an_overview_keeps_the_turns_of_a_series_and_the_newest_of_each_cell),
		STORE_TEST(test_without_trials_only_the_head_comes),
		STORE_TEST(test_a_run_is_found_by_its_whole_id),
		STORE_TEST(test_a_trial_is_found_by_its_id_or_a_unique_prefix),
		STORE_TEST(test_rows_without_what_they_belong_to_are_refused),
		STORE_TEST(test_ids_that_cannot_name_a_run_are_refused),
		STORE_TEST(test_a_trial_that_fails_half_way_leaves_nothing),
		STORE_TEST(test_a_trial_with_an_impossible_number_is_refused),
		STORE_TEST(test_values_that_no_run_can_have_are_named_and_not_believed),
		STORE_TEST(test_a_histogram_that_cannot_be_is_named),
		STORE_TEST(test_a_newer_schema_is_refused_with_both_versions),
		STORE_TEST(test_only_an_ended_verdict_of_the_very_same_run_counts_as_judged),
		STORE_TEST(
			test_a_store_of_the_first_version_is_brought_up_to_date_with_all_its_rows),
		STORE_TEST(test_the_newest_incidents_come_first_whatever_their_titles),
		STORE_TEST(test_processes_that_start_and_write_at_once_all_get_through),
		STORE_TEST(test_a_killed_writer_leaves_its_finished_trials),
		STORE_TEST(test_jobs_are_taken_by_priority_then_age_and_only_for_free_rigs),
		STORE_TEST(test_a_silent_worker_loses_its_job_and_cannot_end_it),
		STORE_TEST(test_a_sign_of_life_keeps_the_job),
		STORE_TEST(test_cancelling_ends_what_waits_and_tells_who_works),
		STORE_TEST(test_a_job_that_is_given_back_waits_and_fails_in_the_end),
		STORE_TEST(test_an_item_of_a_night_is_queued_once),
		STORE_TEST(test_a_night_begins_ends_once_and_the_newest_is_found),
		STORE_TEST(
			test_the_run_of_an_earlier_night_is_found_by_entry_scenario_rig_and_append),
		STORE_TEST(test_a_finished_job_stores_the_end_of_its_run_with_it),
		STORE_TEST(test_a_rig_is_held_by_one_and_for_a_time),
		STORE_TEST(test_a_rig_in_quarantine_gets_checks_and_no_other_job),
		STORE_TEST(test_recordings_come_back_from_the_store),
		STORE_TEST(test_recordings_come_back_from_a_shared_folder),
		STORE_TEST(test_a_recording_that_was_spoiled_or_lost_is_named),
		STORE_TEST(test_wear_adds_up),
		STORE_TEST(test_wear_of_a_rigs_parts),
		STORE_TEST(test_a_cut_counts_on_switch_and_stick),
		STORE_TEST(test_workers_at_once_share_the_jobs_and_none_is_done_twice),
		STORE_TEST(test_a_bisect_grows_in_the_store_and_comes_back),
		STORE_TEST(test_the_state_stays_until_something_changes_whoever_changes_it),
		STORE_TEST(test_a_copy_in_either_direction_is_the_same),
	};

	if (!contract_args(argc, argv))
		return 2;
	return cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
}
