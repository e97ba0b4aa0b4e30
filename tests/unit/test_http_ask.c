/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_http_ask.c - one request to a server on loopback, and how addresses are shown. */
/* ctest: base */
#include "base/http_ask.h"
#include "http_util.h"

#include <fcntl.h>

#define MAX 1000

/* "GET /STATUS/BYTES": that status with so many bytes of 'x'. */
static bool serve(void *self, const char *request, int fd)
{
	static char body[MAX + 2];
	int status = 0;
	int n = 0;

	(void)self;
	if (sscanf(request, "GET /%d/%d ", &status, &n) != 2 || n > MAX + 1)
		return true;
	memset(body, 'x', (size_t)n);
	body[n] = '\0';
	http_util_answer(fd, status, "", body);
	return true;
}

/* What http_ask() returns; fd 0 = none. */
static int ask(const struct http_util *s, int status, int bytes, int fd, struct strbuf *ret,
	       unsigned *ret_status, struct err *e)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	auto_free char *url =
		xasprintf("http://127.0.0.1:%u/%d/%d?key=secret", s->port, status, bytes);
	const struct http_ask q = {.method = "GET",
				   .url = url,
				   .until_ns = waiter_now(w) + 60 * NSEC_PER_SEC,
				   .answer_max = MAX,
				   .file = fd,
				   .w = w};

	strbuf_reset(ret);
	*e = (struct err){0};
	return http_ask(&q, ret, ret_status, e);
}

static void test_an_answer_is_kept_up_to_its_limit(void **state)
{
	static const int sizes[] = {0, 1, MAX - 1, MAX, MAX + 1};
	auto_strbuf struct strbuf body = STRBUF_INIT;
	struct http_util s;
	unsigned status = 0;
	struct err e;

	(void)state;
	http_util_start(&s, 0, serve, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int kept = sizes[i] < MAX ? sizes[i] : MAX;

		assert_int_equal(ask(&s, 404, sizes[i], 0, &body, &status, &e), 0);
		assert_int_equal(status, 404);
		assert_int_equal(body.len, kept);
		assert_int_equal(strspn(strbuf_str(&body), "x"), kept);
	}
	http_util_end(&s);
}

static void test_a_file_gets_the_body_of_a_2xx_and_never_more_than_the_limit(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/file", dir);
	auto_strbuf struct strbuf body = STRBUF_INIT;
	auto_fd int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	auto_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct http_util s;
	unsigned status = 0;
	struct err e;

	(void)state;
	assert_true(fd > 0 && full > 0);
	http_util_start(&s, 0, serve, NULL);
	assert_int_equal(ask(&s, 503, 5, fd, &body, &status, &e), 0);
	assert_int_equal(status, 503);
	assert_string_equal(strbuf_str(&body), "xxxxx");
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);

	assert_int_equal(ask(&s, 200, MAX, fd, &body, &status, &e), 0);
	assert_int_equal(body.len, 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), MAX);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(ask(&s, 200, MAX + 1, fd, &body, &status, &e), -EFBIG);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_contains(e.text, "/200/1001: more than 1000 bytes");
	assert_null(strstr(e.text, "secret"));
	assert_true(lseek(fd, 0, SEEK_END) <= MAX);

	assert_int_equal(ask(&s, 200, 5, full, &body, &status, &e), -ENOSPC);
	assert_int_equal(e.kind, ERR_INTERNAL);
	http_util_end(&s);
	unit_rmdir(dir);
}

static void test_no_secret_of_an_address_is_shown(void **state)
{
	static const struct {
		const char *url, *shown;
		bool is_url;
	} cases[] = {
		{"http://pdu/", "http://pdu/", true},
		{"https://ann:secret@pdu:8080/a/b", "https://pdu:8080/a/b", true},
		{"http://secret@pdu", "http://pdu", true},
		{"http://ann:se@cret@pdu/x@y", "http://pdu/x@y", false},
		{"http://pdu/on?key=secret", "http://pdu/on", true},
		{"http://pdu/on#secret", "http://pdu/on", true},
		{"http://pdu?a@b", "http://pdu", true},
		{"ftp://ann:secret@pdu/x", "ftp://pdu/x", false},
		{"file:///etc/passwd", "file:///etc/passwd", false},
		{"ann:secret@pdu", "pdu", false},
		{"http://", "http://", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *shown = http_url_shown(cases[i].url);

		assert_string_equal(shown, cases[i].shown);
		if (http_is_url(cases[i].url) != cases[i].is_url)
			fail_msg("%s", cases[i].url);
	}
}

static void test_a_value_of_a_query_is_one_whatever_is_in_it(void **state)
{
	auto_free char *escaped = http_escape("a b&c=d?#/%\xc3\xa4");
	auto_free char *empty = http_escape("");

	(void)state;
	assert_string_equal(escaped, "a%20b%26c%3Dd%3F%23%2F%25%C3%A4");
	assert_string_equal(empty, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_is_kept_up_to_its_limit),
		cmocka_unit_test(test_a_file_gets_the_body_of_a_2xx_and_never_more_than_the_limit),
		cmocka_unit_test(test_no_secret_of_an_address_is_shown),
		cmocka_unit_test(test_a_value_of_a_query_is_one_whatever_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
