/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: dashboard */
/* test_dashboard_site.c - routes, their description, and hostile words in answers. */
#include "../../controller/dashboard/pages.h"
#include "dashboard/dashboard.h"
#include "sample_run.h"
#include "store/query.h"
#include "store/queue.h"
#include "unit.h"

#define HOSTILE "<script>alert(1)</script>\x1b[31m\"'&"
#define RUN_ID  "20261130-111754-a3f2"

struct bench {
	char *dir;
	struct store *st;
	struct site site;
};

static void put_run(struct store *st, const struct run *r)
{
	struct err e = {0};

	assert_int_equal(store_run_begin(st, r, &e), 0);
	for (size_t i = 0; i < r->n_boots; i++)
		assert_int_equal(store_boot_add(st, r, &r->boots[i], &e), 0);
	for (size_t i = 0; i < r->n_trials; i++)
		assert_int_equal(store_trial_add(st, r, r->trials[i], &e), 0);
	assert_int_equal(store_run_update(st, r, &e), 0);
}

static int set_up(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));
	auto_run struct run *r = sample_run("debian 6.1", "virtual-x86", "virtual");
	auto_free char *path = NULL;
	auto_free char *raw = NULL;
	struct trial *t;
	struct err e = {0};

	b->dir = unit_tmpdir();
	path = xasprintf("%s/results.db", b->dir);
	unit_write(b->dir, "console.raw", "[    1.000000] " HOSTILE "\n[    2.0] next\n");
	raw = xasprintf("0.100000 %zu\n", strlen("[    1.000000] " HOSTILE "\n[    2.0] next\n"));
	unit_write(b->dir, "console.timing", raw);
	/* the overview looks at the last months */
	r->started_wall_ns = wall_now() - 3600 * NSEC_PER_SEC;
	r->ended_wall_ns = r->started_wall_ns + 90 * NSEC_PER_SEC;
	free(r->append);
	r->append = xstrdup(HOSTILE);
	(void)sample_add_boot(r, b->dir);
	t = sample_add_trial(r, 1, 812000);
	t->console_to = 200;
	strcpy(t->worst_func, HOSTILE);
	(void)sample_add_trial(r, 1, 4000);
	run_judge(r);
	assert_int_equal(store_open(path, STORE_WRITE, &b->st, &e), 0);
	put_run(b->st, r);
	b->site = (struct site){.store = b->st, .recordings_dir = b->dir};
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	store_close(b->st);
	unit_rmdir(b->dir);
	free(b);
	return 0;
}

/* Caller frees. */
static char *answer(struct bench *b, const char *path, const char *key, const char *value,
		    unsigned *ret_status)
{
	struct request rq = {.method = "GET", .path = path};
	struct reply rp = REPLY_INIT;
	char *text;

	if (key) {
		rq.args[0].key = key;
		rq.args[0].value = value;
		rq.n_args = 1;
	}
	site_answer(&b->site, &rq, &rp);
	*ret_status = rp.status;
	text = strbuf_take(&rp.body);
	reply_release(&rp);
	return text;
}

static void test_each_route_of_the_api_is_described_and_nothing_else(void **state)
{
	json_error_t je;
	json_t *doc = json_load_file(STALLRIG_SOURCE_DIR "/docs/openapi.json", 0, &je);
	json_t *paths = json_object_get(doc, "paths");
	const char *path;
	json_t *item;

	(void)state;
	assert_non_null(paths);
	for (const struct route *rt = routes; rt->method; rt++) {
		bool is_found = false;

		if (strncmp(rt->pattern, "/api/", 5) != 0 &&
		    strncmp(rt->pattern, "/power/", 7) != 0 && strcmp(rt->pattern, "/metrics") != 0)
			continue;
		json_object_foreach(paths, path, item)
		{
			auto_strbuf struct strbuf plain = STRBUF_INIT;

			for (const char *p = path; *p; p++) {
				strbuf_add(&plain, p, 1);
				if (*p == '{') {
					p += strcspn(p, "}");
					strbuf_adds(&plain, "}");
				}
			}
			is_found |=
				strcmp(strbuf_str(&plain), rt->pattern) == 0 &&
				json_object_get(item, strcmp(rt->method, "GET") == 0   ? "get"
						      : strcmp(rt->method, "PUT") == 0 ? "put"
										       : "post");
		}
		if (!is_found)
			fail_msg("%s %s is not in docs/openapi.json", rt->method, rt->pattern);
	}
	json_object_foreach(paths, path, item)
	{
		static const char *const methods[][2] = {
			{"get", "GET"}, {"post", "POST"}, {"put", "PUT"}};
		struct bench *b = *state;

		for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
			struct request rq = {.method = methods[i][1], .path = path, .body = "1"};
			struct reply rp = REPLY_INIT;

			if (!json_object_get(item, methods[i][0]))
				continue;
			/* "{run}" is a name like another, so that the route is there, if not the
			   run */
			site_answer(&b->site, &rq, &rp);
			if (rp.status == 404 && strstr(strbuf_str(&rp.body), "no such page"))
				fail_msg("%s %s is described but not there", rq.method, path);
			reply_release(&rp);
		}
	}
	json_decref(doc);
}

static void test_hostile_words_become_text_on_every_page(void **state)
{
	static const char *const paths[] = {"/", "/runs/" RUN_ID, "/trials/" RUN_ID ".1"};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		unsigned status;
		auto_free char *text = answer(b, paths[i], NULL, NULL, &status);

		assert_int_equal(status, 200);
		assert_null(strstr(text, "<script>alert"));
		assert_null(strchr(text, '\x1b'));
		assert_contains(text, "&lt;script&gt;");
	}
}

static void test_each_page_answers_and_lets_nothing_hostile_through(void **state)
{
	static const char *const paths[] = {
		"/trends",
		"/trends/virtual/unplug-read/virtual-x86",
		"/compare",
		"/compare/" RUN_ID,
		"/compare/" RUN_ID ".." RUN_ID,
		"/rigs",
		"/rigs/virtual-x86",
		"/kernels",
		"/kernels/debian-6.1.0-57-amd64",
		"/incidents",
		"/bisects",
		"/live/" RUN_ID,
		"/login",
		"/api/v1/trends/virtual/unplug-read/virtual-x86",
		"/api/v1/compare/" RUN_ID ".." RUN_ID,
		"/api/v1/rigs",
		"/api/v1/incidents",
		"/api/v1/live",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		unsigned status;
		auto_free char *text = answer(*state, paths[i], NULL, NULL, &status);

		if (status != 200)
			fail_msg("%s: %u %s", paths[i], status, text);
		if (strncmp(paths[i], "/api/", 5) != 0)
			assert_null(strstr(text, "<script>alert"));
		assert_null(strchr(text, '\x1b'));
	}
}

static void test_the_overview_shows_rigs_in_quarantine_with_and_without_runs(void **state)
{
	static const struct {
		const char *path, *key, *value;
		bool has_virtual, has_other;
	} cases[] = {
		{"/", NULL, NULL, true, true},
		{"/", "rig", "other-rig", false, true},
		{"/", "rig", "virtual-x86", true, false},
		{"/", "class", "virtual", true, false},
		{"/", "kernel", "none", false, false},
		{"/api/v1/front", NULL, NULL, true, true},
		{"/api/v1/front", "class", "virtual", true, false},
	};
	struct bench *b = *state;
	struct err e = {0};
	unsigned status;

	for (int is_in = 0; is_in < 2; is_in++) {
		assert_int_equal(store_rig_quarantine(b->st, "virtual-x86",
						      is_in ? "welded <relay>" : NULL, &e),
				 0);
		assert_int_equal(store_rig_quarantine(b->st, "other-rig",
						      is_in ? "no \x1b[31mpower" : NULL, &e),
				 0);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			auto_free char *text =
				answer(b, cases[i].path, cases[i].key, cases[i].value, &status);

			assert_int_equal(status, 200);
			assert_null(strchr(text, '\x1b'));
			if (strncmp(cases[i].path, "/api/", 5) != 0)
				assert_null(strstr(text, "<relay>"));
			if (!strstr(text, "welded") != !(is_in && cases[i].has_virtual) ||
			    !strstr(text, "power") != !(is_in && cases[i].has_other))
				fail_msg("case %zu, %d: %s", i, is_in, text);
		}
	}
}

static void test_at_most_six_runs_are_compared(void **state)
{
	auto_strbuf struct strbuf path = STRBUF_INIT;
	unsigned status;

	strbuf_adds(&path, "/api/v1/compare/" RUN_ID);
	for (int i = 2; i <= 7; i++) {
		auto_free char *text = NULL;

		strbuf_adds(&path, ".." RUN_ID);
		text = answer(*state, strbuf_str(&path), NULL, NULL, &status);
		assert_int_equal(status, i <= 6 ? 200 : 400);
	}
}

static void test_a_run_that_has_ended_has_no_live_view(void **state)
{
	unsigned status;
	auto_free char *text =
		answer(*state, "/api/v1/live/" RUN_ID "/events", NULL, NULL, &status);

	assert_int_equal(status, 404);
	assert_contains(text, "{\"error\":");
}

static struct store_bisect a_bisect(void)
{
	static char id[] = "main-1", repo[] = "/src", good[] = "v1", bad[] = "v2",
		    rig[] = "virtual-x86", scenario[] = "unplug-read", phase[] = "exploring",
		    none[] = "", config[] = "{}";

	return (struct store_bisect){
		.id = id,
		.repo = repo,
		.good = good,
		.bad = bad,
		.rig = rig,
		.scenario = scenario,
		.state = phase,
		.next = none,
		.config = config,
		.probability = .5,
		.entropy_bits = 1,
		.eta_s = -1,
		.started_wall_ns = 1,
		.updated_wall_ns = 1,
	};
}

/* The store has the likeliest commits only: what it has not is among the others all the same. */
static void test_the_candidates_of_a_bisect_are_all_commits(void **state)
{
	static const struct {
		unsigned commits, listed;
		double each;
		const char *others; /* NULL = no such row */
	} cases[] = {
		{43, 20, .02, "33 others<td>together<td class=num>80.0 %"},
		{20, 20, .05, "10 others<td>together<td class=num>50.0 %"},
		{21, 20, .05, "11 others<td>together<td class=num>50.0 %"},
		{12, 12, .08, "2 others<td>together<td class=num>20.0 %"},
		{11, 11, 1. / 11, NULL},
		{3, 3, 1. / 3, NULL},
		{43, 0, 0, NULL}, /* not known yet */
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_bisect bisect = a_bisect();
		auto_strbuf struct strbuf list = STRBUF_INIT;
		auto_free char *id = xasprintf("listed-%zu", i);
		auto_free char *path = xasprintf("/bisects/%s", id);
		auto_free char *text = NULL;
		struct err e = {0};
		unsigned status;

		bisect.id = id;
		for (unsigned n = 0; n < cases[i].listed; n++)
			strbuf_addf(&list,
				    "%s{\"commit\":\"%040u\",\"subject\":\"s\",\"probability\":%f}",
				    n ? "," : "[", n, cases[i].each);
		strbuf_adds(&list, cases[i].listed ? "]" : "[]");
		bisect.n_commits = cases[i].commits;
		bisect.candidates = list.data;
		assert_int_equal(store_bisect_put(b->st, &bisect, &e), 0);
		text = answer(b, path, NULL, NULL, &status);
		assert_int_equal(status, 200);
		if (cases[i].others)
			assert_contains(text, cases[i].others);
		else
			assert_null(strstr(text, "others<td>together"));
	}
}

static void test_the_site_as_files_holds_each_page_and_its_answer(void **state)
{
	static const char *const files[] = {
		"index.html",
		"runs/" RUN_ID ".html",
		"trials/" RUN_ID ".1.html",
		"trends/virtual/unplug-read/virtual-x86.html",
		"api/v1/trends/virtual/unplug-read/virtual-x86.json",
		"compare/" RUN_ID ".html",
		"api/v1/front.json",
		"rigs/virtual-x86.html",
		"incidents.html",
		"bisects/main-1.html",
		"api/v1/bisects/main-1.json",
	};
	struct store_bisect bisect = a_bisect();
	struct bench *b = *state;
	auto_free char *dir = xasprintf("%s/site", b->dir);
	struct err e = {0};

	assert_int_equal(store_bisect_put(b->st, &bisect, &e), 0);
	assert_int_equal(dashboard_write_site(b->st, dir, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, files[i]);
		auto_strbuf struct strbuf text = STRBUF_INIT;

		assert_int_equal(file_read(path, 1 << 20, &text, &e), 0);
		assert_null(strstr(strbuf_str(&text), "href=\"/"));
	}
}

/* A file from a disk can ask for nothing and check no hash: what the charts need is in it. */
static void test_a_page_as_a_file_has_its_data_whatever_the_words(void **state)
{
	static const char *const pages[] = {"compare/" RUN_ID,
					    "trends/virtual/unplug-read/virtual-x86"};
	static const char before[] = "class=data>";
	struct bench *b = *state;
	auto_free char *dir = xasprintf("%s/site", b->dir);
	struct err e = {0};

	assert_int_equal(dashboard_write_site(b->st, dir, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		auto_free char *page = xasprintf("%s/%s.html", dir, pages[i]);
		auto_free char *api = xasprintf("%s/api/v1/%s.json", dir, pages[i]);
		auto_strbuf struct strbuf html = STRBUF_INIT;
		auto_strbuf struct strbuf json = STRBUF_INIT;
		json_t *in_page, *answer;
		const char *data;

		assert_int_equal(file_read(page, 1 << 20, &html, &e), 0);
		assert_int_equal(file_read(api, 1 << 20, &json, &e), 0);
		assert_null(strstr(strbuf_str(&html), "integrity="));
		data = strstr(strbuf_str(&html), before);
		assert_non_null(data);
		data += strlen(before);
		in_page = json_loadb(data, strcspn(data, "<"), 0, NULL);
		answer = json_loads(strbuf_str(&json), 0, NULL);
		assert_non_null(answer);
		assert_true(json_equal(in_page, answer));
		assert_contains(strbuf_str(&json), "<script>");
		json_decref(in_page);
		json_decref(answer);
	}
}

static void test_the_overview_says_how_the_last_check_of_a_rig_went(void **state)
{
	struct bench *b = *state;
	struct err e = {0};
	unsigned status;

	for (int is_ok = 0; is_ok < 2; is_ok++) {
		auto_free char *text = NULL;

		assert_int_equal(
			store_rig_checked(b->st, "virtual-x86", is_ok, "no \x1b[31m<relay>", &e),
			0);
		text = answer(b, "/", NULL, NULL, &status);
		assert_int_equal(status, 200);
		assert_contains(text, is_ok ? "> checked</span>" : "> check failed</span>");
		assert_null(strstr(text, "<relay>"));
		assert_int_equal(strstr(text, "&lt;relay&gt;") == NULL, is_ok);
	}
}

static void test_the_console_of_a_trial_is_shown_without_escapes(void **state)
{
	unsigned status;
	auto_free char *text = answer(*state, "/trials/" RUN_ID ".1", NULL, NULL, &status);

	/* the escape stood in front of the quotes */
	assert_contains(text,
			"<code>[    1.000000] &lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;"
			"&amp;</code>");
}

static void test_errors_are_pages_or_json_as_the_path_promises(void **state)
{
	static const struct {
		const char *path;
		unsigned status;
		const char *says;
	} cases[] = {
		{"/nothing", 404, "<h1>Not there"},
		{"/runs/none", 404, "there is no run &#39;none&#39;"},
		{"/runs/", 404, "<h1>Not there"},
		{"/runs/a/b", 404, "<h1>Not there"},
		{"/trials/" RUN_ID ".9", 404, "none with the number 9"},
		{"/trials/x", 400, "is not a trial"},
		{"/api/v1/runs/none", 404, "{\"error\":\"there is no run 'none'\"}"},
		{"/api/v1/nothing", 404, "{\"error\":"},
		{"/api/v2/runs", 404, "{\"error\":"},
		{"/api/v1/trials/x", 400, "{\"error\":"},
		{"/api/v1/runs/" RUN_ID "/boots/7/console.raw", 404, "{\"error\":"},
		{"/api/v1/runs/" RUN_ID "/boots/x/console.raw", 400, "{\"error\":"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned status;
		auto_free char *text = answer(*state, cases[i].path, NULL, NULL, &status);

		if (status != cases[i].status)
			fail_msg("%s: %u", cases[i].path, status);
		assert_contains(text, cases[i].says);
	}
}

static void test_arguments_are_checked(void **state)
{
	static const struct {
		const char *key, *value;
		unsigned status;
	} cases[] = {
		{"last", "0", 400}, {"last", "10001", 400}, {"last", "x", 400},
		{"last", "5", 200}, {"rig", "none", 200},   {"last", "", 200},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned status;
		auto_free char *text =
			answer(*state, "/api/v1/runs", cases[i].key, cases[i].value, &status);

		assert_int_equal(status, cases[i].status);
	}
}

static void test_runs_come_in_the_formats_of_the_report(void **state)
{
	static const struct {
		const char *path, *format;
		unsigned status;
		const char *says;
	} cases[] = {
		{"/api/v1/runs/" RUN_ID, "csv", 200, "812.000"},
		{"/api/v1/runs", "csv", 200, RUN_ID},
		{"/api/v1/runs/" RUN_ID, "junit", 200, "<testsuite"},
		{"/api/v1/runs/" RUN_ID, "kcidb", 400, "there is no format 'kcidb' here"},
		{"/api/v1/runs/" RUN_ID, "xls", 400, "there is no format 'xls' here"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned status;
		auto_free char *text =
			answer(*state, cases[i].path, "format", cases[i].format, &status);

		assert_int_equal(status, cases[i].status);
		assert_contains(text, cases[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_each_route_of_the_api_is_described_and_nothing_else, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_hostile_words_become_text_on_every_page,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_each_page_answers_and_lets_nothing_hostile_through, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_overview_shows_rigs_in_quarantine_with_and_without_runs, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_at_most_six_runs_are_compared, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_run_that_has_ended_has_no_live_view, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_candidates_of_a_bisect_are_all_commits,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_site_as_files_holds_each_page_and_its_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_page_as_a_file_has_its_data_whatever_the_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_overview_says_how_the_last_check_of_a_rig_went, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_console_of_a_trial_is_shown_without_escapes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errors_are_pages_or_json_as_the_path_promises,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_arguments_are_checked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_runs_come_in_the_formats_of_the_report, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
