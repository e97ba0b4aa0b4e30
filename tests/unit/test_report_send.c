/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_report_send.c - posting to a server on loopback that answers as it is told. */
/* ctest: report */
#include "http_util.h"
#include "report/send.h"

#define BODY "{\"version\":{\"major\":5,\"minor\":3}}"

struct server {
	struct http_util http;
	char *dir;
	char url[64];
	const int *statuses;
	unsigned n;
};

/* Writes the request to a file and answers with the next status. */
static bool serve(void *self, const char *request, int fd)
{
	struct server *s = self;
	auto_free char *name = xasprintf("request-%u", s->n);

	unit_write(s->dir, name, request);
	http_util_answer(fd, s->statuses[s->n++], "", "{\"id\":\"r1\"}");
	return true;
}

static void server_start(struct server *s, const int *statuses, unsigned n)
{
	s->dir = unit_tmpdir();
	s->statuses = statuses;
	s->n = 0;
	http_util_start(&s->http, n, serve, s);
	(void)snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u/submit", s->http.port);
}

static void server_end(struct server *s)
{
	http_util_end(&s->http);
	unit_rmdir(s->dir);
}

static unsigned requests_of(const struct server *s)
{
	unsigned n = 0;

	for (;; n++) {
		auto_free char *path = xasprintf("%s/request-%u", s->dir, n);

		if (access(path, F_OK) < 0)
			return n;
	}
}

static void count_failed(void *self, const char *text)
{
	unsigned *n = self;

	assert_non_null(strstr(text, "http://127.0.0.1:"));
	(*n)++;
}

/* What send_json() returns; 3 tries. */
static int post(struct server *s, struct strbuf *answer, unsigned *failed, struct err *e)
{
	auto_strbuf struct strbuf json = STRBUF_INIT;
	struct waiter *w = waiter_new(NULL);
	const struct send_cfg cfg = {
		.url = s->url,
		.token = "secret-token",
		.tries = 3,
		.pause_ns = NSEC_PER_MSEC,
		.timeout_ns = 30 * NSEC_PER_SEC,
		.w = w,
		.failed = count_failed,
		.self = failed,
	};
	int r;

	strbuf_adds(&json, BODY);
	r = send_json(&cfg, &json, answer, e);
	waiter_free(w);
	return r;
}

static void test_a_report_is_posted_with_its_token(void **state)
{
	static const int statuses[] = {200};
	auto_strbuf struct strbuf answer = STRBUF_INIT, request = STRBUF_INIT;
	auto_free char *path = NULL;
	struct server s;
	struct err e = {0};
	unsigned failed = 0;

	(void)state;
	server_start(&s, statuses, 1);
	if (post(&s, &answer, &failed, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(strbuf_str(&answer), "{\"id\":\"r1\"}");
	path = xasprintf("%s/request-0", s.dir);
	assert_int_equal(file_read(path, 65536, &request, &e), 0);
	assert_contains(strbuf_str(&request), "POST /submit HTTP/1.1\r\n");
	assert_contains(strbuf_str(&request), "Authorization: Bearer secret-token\r\n");
	assert_contains(strbuf_str(&request), "Content-Type: application/json\r\n");
	assert_contains(strbuf_str(&request), BODY);
	assert_int_equal(failed, 0);
	server_end(&s);
}

static void test_what_can_heal_is_tried_again_and_all_else_is_not(void **state)
{
	static const struct {
		int statuses[3];
		unsigned requests;
		int code; /* 0 = taken in the end */
		const char *says;
	} cases[] = {
		{{503, 429, 202}, 3, 0, NULL},
		{{500, 502, 504}, 3, EIO, "tried 3 times: "},
		{{401, 200, 200}, 1, EACCES, "status 401: {\"id\":\"r1\"}"},
		{{403, 200, 200}, 1, EACCES, "status 403"},
		{{400, 200, 200}, 1, EIO, "status 400"},
		{{301, 200, 200}, 1, EIO, "status 301"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf answer = STRBUF_INIT;
		struct server s;
		struct err e = {0};
		unsigned failed = 0;

		server_start(&s, cases[i].statuses, 3);
		assert_int_equal(post(&s, &answer, &failed, &e), -cases[i].code);
		assert_int_equal(requests_of(&s), cases[i].requests);
		assert_int_equal(failed, cases[i].requests - 1);
		if (cases[i].code) {
			assert_int_equal(e.kind, ERR_CONFIG);
			assert_contains(e.text, cases[i].says);
			assert_contains(e.text, s.url);
			assert_null(strstr(e.text, "secret-token"));
		}
		server_end(&s);
	}
}

static void test_a_server_that_is_not_there_is_named_after_all_tries(void **state)
{
	auto_strbuf struct strbuf answer = STRBUF_INIT;
	struct server s;
	struct err e = {0};
	unsigned failed = 0;

	(void)state;
	server_start(&s, NULL, 1);
	http_util_end(&s.http); /* and its socket with it */
	assert_int_equal(post(&s, &answer, &failed, &e), -EIO);
	assert_contains(e.text, "tried 3 times: http://127.0.0.1:");
	assert_int_equal(failed, 2);
	unit_rmdir(s.dir);
}

static void test_only_http_is_spoken(void **state)
{
	static const char *const urls[] = {"file:///etc/passwd", "ftp://127.0.0.1/x", "http://"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		auto_strbuf struct strbuf answer = STRBUF_INIT;
		struct server s = {0};
		struct err e = {0};
		unsigned failed = 0;

		(void)snprintf(s.url, sizeof(s.url), "%s", urls[i]);
		assert_int_equal(post(&s, &answer, &failed, &e), -EINVAL);
		assert_contains(e.text, urls[i]);
		assert_int_equal(answer.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_report_is_posted_with_its_token),
		cmocka_unit_test(test_what_can_heal_is_tried_again_and_all_else_is_not),
		cmocka_unit_test(test_a_server_that_is_not_there_is_named_after_all_tries),
		cmocka_unit_test(test_only_http_is_spoken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
