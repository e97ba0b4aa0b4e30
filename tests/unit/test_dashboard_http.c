/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: dashboard */
/* test_dashboard_http.c - the server over real sockets, at its limits. */
#include "base/fdio.h"
#include "dashboard/dashboard.h"
#include "sample_run.h"
#include "unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define TOKEN "0123456789abcdef"

/* ---- a clock that can be put forward ---- */

static int64_t clock_ahead_ns;

static nsec_t real_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static nsec_t ahead_now(void *self)
{
	(void)self;
	return real_now() + clock_ahead_ns;
}

static int ahead_poll(void *self, struct pollfd *fds, nfds_t n, nsec_t until_ns)
{
	nsec_t left_ns = until_ns - ahead_now(self);
	struct timespec ts = {0};
	int r;

	if (left_ns > 0)
		ts = (struct timespec){left_ns / NSEC_PER_SEC, left_ns % NSEC_PER_SEC};
	r = ppoll(fds, n, &ts, NULL);
	return r < 0 ? -errno : r;
}

/* ---- a server over a store with one run ---- */

struct bench {
	char *dir;
	char *path;
	char *program; /* stands for this program in actions: keeps its arguments in a file */
	char *did;     /* that file */
	struct strbuf log;
	struct waiter *w;
	struct store *st;
	struct dashboard *d;
};

static void fill(const char *path)
{
	auto_run struct run *r = sample_run("debian 6.1", "virtual-x86", "virtual");
	auto_store struct store *st = NULL;
	struct err e = {0};

	(void)sample_add_boot(r, "/nowhere");
	(void)sample_add_trial(r, 1, 812000);
	assert_int_equal(store_open(path, STORE_WRITE, &st, &e), 0);
	assert_int_equal(store_run_begin(st, r, &e), 0);
	assert_int_equal(store_boot_add(st, r, &r->boots[0], &e), 0);
	assert_int_equal(store_trial_add(st, r, r->trials[0], &e), 0);
	run_judge(r);
	assert_int_equal(store_run_update(st, r, &e), 0);
}

static void on_log(void *self, const char *line)
{
	struct bench *b = self;

	strbuf_addf(&b->log, "%s\n", line);
}

/* What it does besides is in the file "then". */
static void make_program(struct bench *b)
{
	auto_free char *text = NULL;
	struct err e = {0};

	b->program = xasprintf("%s/program", b->dir);
	b->did = xasprintf("%s/did", b->dir);
	text = xasprintf("#!/bin/sh\nfor a; do printf '<%%s>' \"$a\"; done >>'%s'\n"
			 "echo it was done\n[ ! -e '%s/then' ] || . '%s/then'\n",
			 b->did, b->dir, b->dir);
	assert_int_equal(file_write_atomic(b->program, text, strlen(text), &e), 0);
	assert_int_equal(chmod(b->program, 0700), 0);
}

static void let_program(struct bench *b, const char *then)
{
	auto_free char *path = xasprintf("%s/then", b->dir);
	struct err e = {0};

	assert_int_equal(file_write_atomic(path, then, strlen(then), &e), 0);
}

/* The arguments of all calls; "" if there was none. Caller frees. */
static char *what_was_done(const struct bench *b)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err e = {0};

	if (file_read(b->did, 65536, &text, &e) < 0)
		return xstrdup("");
	return strbuf_take(&text);
}

static int start(void **state, const char *token)
{
	struct waiter_ops ops = {.now = ahead_now, .poll = ahead_poll};
	struct bench *b = xcalloc(1, sizeof(*b));
	struct err e = {0};

	clock_ahead_ns = 0;
	b->dir = unit_tmpdir();
	b->path = xasprintf("%s/results.db", b->dir);
	fill(b->path);
	make_program(b);
	b->w = waiter_new(&ops);
	assert_int_equal(store_open(b->path, STORE_READ, &b->st, &e), 0);
	assert_int_equal(dashboard_open(&(struct dashboard_cfg){.token = token,
								.recordings_dir = b->dir,
								.program = b->program,
								.store_location = b->path,
								.log = on_log,
								.log_self = b,
								.store = b->st,
								.w = b->w},
					&b->d, &e),
			 0);
	*state = b;
	return 0;
}

static int set_up(void **state)
{
	return start(state, NULL);
}

static int set_up_with_token(void **state)
{
	return start(state, TOKEN);
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	dashboard_close(b->d);
	store_close(b->st);
	waiter_free(b->w);
	unit_rmdir(b->dir);
	strbuf_release(&b->log);
	free(b->program);
	free(b->did);
	free(b->path);
	free(b);
	return 0;
}

static void serve_ms(struct bench *b, int ms)
{
	struct err e = {0};

	assert_int_equal(dashboard_serve(b->d, waiter_now(b->w) + ms * NSEC_PER_MSEC, &e), 0);
}

static int dial(const struct bench *b)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(dashboard_port(b->d))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Sends all of it while the server works; false if the server closed first. */
static bool send_all(struct bench *b, int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (done < 0 && errno != EAGAIN)
			return false;
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
		serve_ms(b, 1);
	}
	return true;
}

/* What comes until the server closes or nothing more came for a while; false while it is open. */
static bool receive(struct bench *b, int fd, struct strbuf *ret)
{
	char buf[65536];

	for (int silent = 0; silent < 20;) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n > 0) {
			strbuf_add(ret, buf, (size_t)n);
			silent = 0;
		} else if (n == 0 || errno != EAGAIN) {
			return true;
		} else {
			serve_ms(b, 5);
			silent++;
		}
	}
	return false;
}

/* One request on a connection of its own. Caller frees. */
static char *ask(struct bench *b, const char *request)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	int fd = dial(b);

	(void)send_all(b, fd, request, strlen(request));
	(void)receive(b, fd, &reply);
	close(fd);
	return strbuf_take(&reply);
}

static char *get(struct bench *b, const char *path)
{
	auto_free char *request =
		xasprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);

	return ask(b, request);
}

static void assert_status(const char *reply, int status)
{
	auto_free char *line = xasprintf("HTTP/1.1 %d ", status);

	if (strncmp(reply, line, strlen(line)) != 0)
		fail_msg("not %d: %.60s", status, reply);
}

/* ---- tests ---- */

static void test_a_page_comes_with_a_policy_that_allows_no_inline_script(void **state)
{
	auto_free char *reply = get(*state, "/");

	assert_status(reply, 200);
	assert_contains(reply, "script-src 'self'");
	assert_null(strstr(reply, "unsafe-inline"));
	assert_contains(reply, "X-Content-Type-Options: nosniff");
	assert_contains(reply, "812");
	assert_contains(reply, "</html>");
}

static void test_a_request_head_beyond_its_limit_is_refused_and_the_next_one_answered(void **state)
{
	auto_free char *name = xcalloc(DASHBOARD_HEAD_BYTES_MAX + 1, 1);
	auto_free char *request = NULL;
	auto_free char *reply = NULL;
	auto_free char *next = NULL;

	memset(name, 'a', DASHBOARD_HEAD_BYTES_MAX);
	request = xasprintf("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", name);
	reply = ask(*state, request);
	if (*reply && strncmp(reply, "HTTP/1.1 4", 10) != 0)
		fail_msg("not refused: %.60s", reply);
	next = get(*state, "/");
	assert_status(next, 200);
}

static void test_a_url_beyond_its_limit_is_refused(void **state)
{
	auto_free char *at_limit = xcalloc(DASHBOARD_URL_BYTES_MAX + 1, 1);
	auto_free char *over = xcalloc(DASHBOARD_URL_BYTES_MAX + 2, 1);
	auto_free char *first = NULL;
	auto_free char *second = NULL;

	memset(at_limit, 'a', DASHBOARD_URL_BYTES_MAX);
	memset(over, 'a', DASHBOARD_URL_BYTES_MAX + 1);
	at_limit[0] = over[0] = '/';
	first = get(*state, at_limit);
	assert_status(first, 404);
	second = get(*state, over);
	assert_status(second, 414);
}

static void test_a_body_beyond_its_limit_is_refused(void **state)
{
	static const struct {
		size_t n;
		int status;
	} cases[] = {
		{DASHBOARD_BODY_BYTES_MAX, 403}, /* small enough, but there is no token */
		{DASHBOARD_BODY_BYTES_MAX + 1, 413},
		{8u << 20, 413},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_strbuf struct strbuf request = STRBUF_INIT;
		auto_free char *body = xcalloc(cases[i].n, 1);
		auto_free char *reply = NULL;

		memset(body, 'b', cases[i].n);
		strbuf_addf(&request,
			    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
			    cases[i].n);
		strbuf_add(&request, body, cases[i].n);
		{
			struct bench *b = *state;
			auto_strbuf struct strbuf text = STRBUF_INIT;
			int fd = dial(b);

			(void)send_all(b, fd, request.data, request.len);
			(void)receive(b, fd, &text);
			close(fd);
			reply = strbuf_take(&text);
		}
		assert_status(reply, cases[i].status);
	}
}

static void test_no_path_leads_out_of_what_is_served(void **state)
{
	static const char *const paths[] = {
		"/../../../../etc/passwd",
		"/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
		"/assets/../../../../etc/passwd",
		"/assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
		"/assets//etc/passwd",
		"/api/v1/runs/..%2f..%2f/boots/1/console.raw",
		"/api/v1/runs/20261130-111754-a3f2/boots/1/..%2f..%2fetc%2fpasswd",
		"/api/v1/runs/20261130-111754-a3f2/boots/1/run.json",
		"/trials/..%2f..%2fetc%2fpasswd.1",
		"/assets/app.css%00.js",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		auto_free char *reply = get(*state, paths[i]);

		if (strncmp(reply, "HTTP/1.1 404 ", 13) != 0)
			fail_msg("%s: %.60s", paths[i], reply);
		assert_null(strstr(reply, "root:"));
	}
}

static void test_a_client_that_never_ends_its_request_is_cut_off(void **state)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
	struct bench *b = *state;
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	int fd = dial(b);

	assert_true(send_all(b, fd, head, sizeof(head) - 1));
	/* a byte each three seconds: it is never silent for long */
	for (int s = 0; s + 3 < DASHBOARD_REQUEST_S; s += 3) {
		clock_ahead_ns += 3 * NSEC_PER_SEC;
		assert_true(send_all(b, fd, "x", 1));
		assert_false(receive(b, fd, &reply));
	}
	clock_ahead_ns += 4 * NSEC_PER_SEC;
	assert_true(receive(b, fd, &reply));
	assert_int_equal(reply.len, 0);
	close(fd);
	{
		auto_free char *metrics = get(b, "/metrics");

		assert_contains(metrics, "stallrig_http_cut_off_total 1\n");
	}
}

static void test_a_thousand_idle_connections_keep_nobody_out_and_end_in_time(void **state)
{
	struct bench *b = *state;
	struct rlimit lim;
	int fds[1000];
	int n = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	if (lim.rlim_cur < 2200) { /* both ends are in this process */
		print_message("skipped: only %lu files may be open\n", (unsigned long)lim.rlim_cur);
		skip();
	}
	for (; n < 1000; n++) {
		fds[n] = dial(b);
		if (n % 50 == 0)
			serve_ms(b, 1);
	}
	{
		auto_free char *reply = get(b, "/");
		auto_free char *metrics = get(b, "/metrics");

		assert_status(reply, 200);
		assert_contains(metrics, "stallrig_http_connections 1001\n");
	}
	clock_ahead_ns += (DASHBOARD_REQUEST_S + 1) * NSEC_PER_SEC;
	serve_ms(b, 100);
	for (int i = 0; i < n; i++) {
		char byte;

		assert_int_equal(recv(fds[i], &byte, 1, MSG_DONTWAIT), 0);
		close(fds[i]);
	}
	{
		auto_free char *metrics = get(b, "/metrics");

		assert_contains(metrics, "stallrig_http_connections 1\n");
	}
}

static void test_another_name_in_the_host_field_is_refused(void **state)
{
	auto_free char *reply = ask(*state, "GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n");
	auto_free char *without = ask(*state, "GET / HTTP/1.0\r\n\r\n");

	assert_status(reply, 421);
	assert_contains(without, " 421 ");
}

static void test_only_reading_is_possible_without_a_token(void **state)
{
	auto_free char *put = ask(*state, "PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n");
	auto_free char *get = ask(*state, "GET /power/control/off?hostname=virtual-x86&port=1 "
					  "HTTP/1.1\r\nHost: localhost\r\n\r\n");
	auto_free char *delete = ask(*state, "DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n");
	auto_free char *post =
		ask(*state, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
	auto_free char *head = ask(*state, "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");

	assert_status(put, 403);
	assert_status(get, 403);
	assert_status(delete, 405);
	assert_status(post, 403);
	assert_status(head, 200);
	assert_null(strstr(head, "<html"));
}

static void test_one_connection_takes_several_requests(void **state)
{
	static const char two[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
				  "GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n"
				  "Connection: close\r\n\r\n";
	auto_free char *reply = ask(*state, two);

	assert_status(reply, 200);
	assert_contains(reply, "stallrig_http_connections");
	assert_contains(reply, "\"verdict\":\"FAIL\"");
}

static void test_with_a_token_pages_ask_for_it_and_the_api_says_how(void **state)
{
	auto_free char *page = get(*state, "/");
	auto_free char *api = get(*state, "/api/v1/front");
	auto_free char *shown = ask(*state, "GET /api/v1/runs HTTP/1.1\r\nHost: x\r\n"
					    "Authorization: Bearer " TOKEN "\r\n\r\n");

	assert_status(page, 401);
	assert_contains(page, "type=password");
	assert_null(strstr(page, "812"));
	assert_status(api, 401);
	assert_status(shown, 200);
}

static void test_logging_in_gives_a_cookie_that_opens_pages(void **state)
{
	auto_free char *wrong = ask(*state, "POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 7"
					    "\r\n\r\ntoken=x");
	auto_free char *right =
		ask(*state, "POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 22\r\n\r\n"
			    "token=" TOKEN);
	const char *cookie = strstr(right, "Set-Cookie: ");
	auto_free char *request = NULL;
	auto_free char *page = NULL;

	assert_status(wrong, 403);
	assert_status(right, 303);
	assert_non_null(cookie);
	assert_contains(cookie, "HttpOnly; SameSite=Strict");
	cookie += strlen("Set-Cookie: ");
	request = xasprintf("GET / HTTP/1.1\r\nHost: x\r\nCookie: %.*s\r\n\r\n",
			    (int)strcspn(cookie, ";"), cookie);
	page = ask(*state, request);
	assert_status(page, 200);
}

static void test_an_answer_costs_nothing_twice_and_follows_the_store(void **state)
{
	struct bench *b = *state;
	auto_free char *first = get(b, "/api/v1/front");
	const char *etag = strstr(first, "ETag: ");
	auto_free char *request = NULL;
	auto_free char *same = NULL;
	auto_free char *newer = NULL;

	assert_non_null(etag);
	etag += strlen("ETag: ");
	request = xasprintf("GET /api/v1/front HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
			    "If-None-Match: %.*s\r\n\r\n",
			    (int)strcspn(etag, "\r"), etag);
	same = ask(b, request);
	assert_status(same, 304);
	{
		auto_run struct run *r = sample_run("debian 6.12", "virtual-x86", "virtual");
		auto_store struct store *st = NULL;
		struct err e = {0};

		free(r->id);
		r->id = xstrdup("20261130-121754-b7c1");
		(void)sample_add_boot(r, "/nowhere");
		(void)sample_add_trial(r, 1, 5000);
		assert_int_equal(store_open(b->path, STORE_WRITE, &st, &e), 0);
		assert_int_equal(store_run_begin(st, r, &e), 0);
		run_judge(r);
		assert_int_equal(store_run_update(st, r, &e), 0);
	}
	/* the old one may be given for a second more */
	for (int i = 0; i < 600; i++) {
		free(newer);
		newer = ask(b, request);
		if (strncmp(newer, "HTTP/1.1 304", 12) != 0)
			break;
		usleep(50000);
	}
	assert_status(newer, 200);
	assert_contains(newer, "20261130-121754-b7c1");
}

/* ---- actions ---- */

static char *post(struct bench *b, const char *path, const char *head, const char *form)
{
	auto_free char *request = xasprintf(
		"POST %s HTTP/1.1\r\nHost: lab:8087\r\nConnection: close\r\n%s"
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\n%s",
		path, head, strlen(form), form);

	return ask(b, request);
}

#define BEARER "Authorization: Bearer " TOKEN "\r\n"
#define LOCK   "/api/v1/rigs/virtual-x86/lock"

static void test_an_action_is_a_command_of_the_program_and_its_words_are_the_answer(void **state)
{
	static const struct {
		const char *path, *form, *args;
	} cases[] = {
		{LOCK, "for=2h&as=ann&why=a+new+stick",
		 "<lock><virtual-x86><--for=2h><--as=ann><--why=a new stick><--store=%s>"},
		{LOCK, "for=90&as=%2D%2Dforce",
		 "<lock><virtual-x86><--for=90><--as=--force><--store=%s>"},
		{"/api/v1/rigs/virtual-x86/unlock", "as=ann",
		 "<unlock><virtual-x86><--as=ann><--store=%s>"},
		{"/api/v1/rigs/virtual-x86/unlock", "as=bob&force=1",
		 "<unlock><virtual-x86><--as=bob><--force><--store=%s>"},
		{"/api/v1/rigs/bench1/switch", "state=off", "<switch><off><bench1><--no-wait>"},
		{"/api/v1/rigs/bench1/switch", "state=cycle&port=stick0",
		 "<switch><cycle><bench1/stick0><--no-wait>"},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *reply = post(b, cases[i].path, BEARER, cases[i].form);
		auto_free char *done = what_was_done(b);
		auto_strbuf struct strbuf wanted = STRBUF_INIT;
		const char *at = strstr(cases[i].args, "%s");

		strbuf_addf(&wanted, "%.*s%s%s",
			    (int)(at ? (size_t)(at - cases[i].args) : strlen(cases[i].args)),
			    cases[i].args, at ? b->path : "", at ? at + 2 : "");
		assert_status(reply, 200);
		assert_contains(reply, "{\"said\":\"it was done\"}");
		assert_string_equal(done, strbuf_str(&wanted));
		assert_int_equal(unlink(b->did), 0);
	}
	assert_contains(strbuf_str(&b->log),
			"lock rig virtual-x86 by ann from 127.0.0.1: it was done");
	assert_contains(strbuf_str(&b->log), "switch off rig bench1 by web:127.0.0.1");
	{
		auto_free char *kept = ask(b, "GET /api/v1/actions HTTP/1.1\r\nHost: x\r\n"
					      "Connection: close\r\n" BEARER "\r\n");

		assert_contains(kept, "\"who\":\"ann\"");
		assert_contains(kept, "\"action\":\"unlock rig virtual-x86\"");
	}
}

static void test_other_labs_words_become_the_same_commands(void **state)
{
	static const struct {
		const char *method, *path, *body, *args;
	} cases[] = {
		{"GET", "/power/control/on?hostname=bench1&port=1", "",
		 "<switch><on><bench1><--no-wait>"},
		{"GET", "/power/control/off?hostname=bench1&port=stick0&delay=0", "",
		 "<switch><off><bench1/stick0><--no-wait>"},
		{"GET", "/power/control/reboot?hostname=bench1&port=1&delay=60", "",
		 "<switch><cycle><bench1><--no-wait><--off-for=60>"},
		{"GET", "/power/control/reboot?hostname=bench1&port=1", "",
		 "<switch><cycle><bench1><--no-wait>"},
		{"PUT", "/api/v1/rigs/bench1/switch/value", "1",
		 "<switch><on><bench1><--no-wait><--json>"},
		{"PUT", "/api/v1/rigs/bench1/switch/value", "0",
		 "<switch><off><bench1><--no-wait><--json>"},
		{"GET", "/api/v1/rigs/bench1/switch/value", "",
		 "<switch><status><bench1><--no-wait><--json>"},
	};
	static const struct {
		const char *said, *value; /* NULL = 502 */
	} answers[] = {
		{"{\"state\":\"on\"}", "1"},
		{"{\"state\":\"off\"}", "0"},
		{"{\"state\":\"on\",\"sensed\":\"off\"}", "0"},
		{"{\"state\":\"off\",\"sensed\":\"unknown\"}", "0"},
		{"{\"state\":\"unknown\"}", NULL},
		{"it was done", NULL},
		{"", NULL},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *request = xasprintf(
			"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" BEARER
			"Content-Length: %zu\r\n\r\n%s",
			cases[i].method, cases[i].path, strlen(cases[i].body), cases[i].body);
		auto_free char *reply = ask(b, request);
		auto_free char *done = what_was_done(b);

		assert_string_equal(done, cases[i].args);
		if (cases[i].path[1] == 'p') {
			assert_status(reply, 200);
			assert_contains(reply, "\r\n\r\nOK - accepted request\n");
		}
		assert_int_equal(unlink(b->did), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		auto_free char *program = xasprintf("#!/bin/sh\necho '%s'\n", answers[i].said);
		auto_free char *reply = NULL;
		struct err e = {0};

		assert_int_equal(file_write_atomic(b->program, program, strlen(program), &e), 0);
		assert_int_equal(chmod(b->program, 0700), 0);
		reply = ask(b, "GET /api/v1/rigs/bench1/switch/value HTTP/1.1\r\nHost: x\r\n"
			       "Connection: close\r\n" BEARER "\r\n");
		assert_status(reply, answers[i].value ? 200 : 502);
		assert_contains(reply, "Content-Type: text/plain");
		assert_string_equal(strstr(reply, "\r\n\r\n") + 4,
				    answers[i].value
					    ? answers[i].value
					    : "The switch does not say whether it is on\n");
	}
}

static void test_what_is_asked_for_wrongly_never_becomes_a_command(void **state)
{
	static const struct {
		const char *path, *form;
		int status;
		const char *says;
	} cases[] = {
		{LOCK, "as=ann", 400, "for is missing"},
		{LOCK, "for=never&as=ann", 400, "for"},
		{LOCK, "for=31d&as=ann", 400, "for"},
		{LOCK, "for=1h&as=a%0Ab", 400, "control character"},
		{LOCK, "for=1h&as=0123456789012345678901234567890123456789012345678901234567891",
		 400, "at most 60 bytes, this one 61"},
		{"/api/v1/rigs/nosuch/lock", "for=1h", 404, "rig 'nosuch' has no runs"},
		{"/api/v1/rigs/--force/lock", "for=1h", 404, "no name of a rig"},
		{"/api/v1/rigs/..%2f..%2fetc/switch", "state=off", 404, "no such page"},
		{"/api/v1/rigs/a%20b/switch", "state=off", 404, "no name of a rig"},
		{"/api/v1/rigs/bench1/switch", "state=explode", 400, "none of on, off, cycle"},
		{"/api/v1/rigs/bench1/switch", "", 400, "none of on, off, cycle"},
		{"/api/v1/rigs/bench1/switch", "state=on&port=..%2fx", 400, "port"},
		{"/api/v1/jobs/1/cancel", "", 404, "there is no job 1"},
		{"/api/v1/jobs/x/cancel", "", 400, "job"},
		{"/api/v1/rigs/bench1/explode", "", 404, "no such page"},
		{"/api/v1/runs", "", 404, "no such page"},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *reply = post(b, cases[i].path, BEARER, cases[i].form);

		assert_status(reply, cases[i].status);
		assert_contains(reply, cases[i].says);
	}
	{
		auto_free char *done = what_was_done(b);
		auto_free char *read = ask(b, "GET " LOCK " HTTP/1.1\r\nHost: x\r\n"
					      "Connection: close\r\n" BEARER "\r\n");

		assert_string_equal(done, "");
		assert_status(read, 404);
		assert_contains(strbuf_str(&b->log), "rig 'nosuch' has no runs");
	}
}

/* The value of the login's cookie and of the form field, as a browser has them. */
static void browse(struct bench *b, char **ret_cookie, char **ret_csrf)
{
	auto_free char *login =
		ask(b, "POST /login HTTP/1.1\r\nHost: lab:8087\r\nContent-Length: 22\r\n"
		       "Connection: close\r\n\r\ntoken=" TOKEN);
	const char *cookie = strstr(login, "Set-Cookie: ");
	auto_free char *request = NULL;
	auto_free char *page = NULL;
	const char *field;

	assert_non_null(cookie);
	cookie += strlen("Set-Cookie: ");
	*ret_cookie = xasprintf("Cookie: %.*s\r\n", (int)strcspn(cookie, ";"), cookie);
	request = xasprintf("GET /rigs/virtual-x86 HTTP/1.1\r\nHost: lab:8087\r\n"
			    "Connection: close\r\n%s\r\n",
			    *ret_cookie);
	page = ask(b, request);
	field = strstr(page, "name=csrf value=\"");
	assert_non_null(field);
	field += strlen("name=csrf value=\"");
	*ret_csrf = xasprintf("%.*s", (int)strcspn(field, "\""), field);
}

static void test_a_form_of_the_servers_own_page_acts_without_a_script(void **state)
{
	struct bench *b = *state;
	auto_free char *cookie = NULL;
	auto_free char *csrf = NULL;
	auto_free char *head = NULL;
	auto_free char *form = NULL;
	auto_free char *reply = NULL;
	auto_free char *done = NULL;

	browse(b, &cookie, &csrf);
	head = xasprintf("%sOrigin: http://lab:8087\r\n", cookie);
	form = xasprintf("csrf=%s&as=ann&for=2h&why=", csrf);
	reply = post(b, "/rigs/virtual-x86/lock", head, form);
	done = what_was_done(b);
	assert_status(reply, 303);
	assert_contains(reply, "Location: ../virtual-x86\r\n");
	assert_contains(done, "<lock><virtual-x86><--for=2h><--as=ann>");
}

static void test_what_another_site_sends_in_the_browsers_name_does_nothing(void **state)
{
	struct bench *b = *state;
	auto_free char *cookie = NULL;
	auto_free char *csrf = NULL;
	const struct {
		const char *cookie, *head, *csrf;
		int status;
		const char *says;
	} cases[] = {
		{"", "", "", 401, "log in"},
		{"", "Authorization: Bearer 0123456789abcdee\r\n", "", 401, "Authorization"},
		{"", "Authorization: Basic " TOKEN "\r\n", "", 401, "Authorization"},
		{"C", "Origin: http://evil.example.org\r\n", "F", 403, "(Origin)"},
		{"C", "Origin: null\r\n", "F", 403, "(Origin)"},
		{"C", "", "F", 403, "(Origin)"},
		{"C", "Origin: http://lab:8087\r\n", "", 403, "csrf"},
		{"C", "Origin: http://lab:8087\r\n", "x", 403, "csrf"},
		{"", "Origin: http://lab:8087\r\n", "F", 401, "log in"},
	};

	browse(b, &cookie, &csrf);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *head =
			xasprintf("%s%s", *cases[i].cookie ? cookie : "", cases[i].head);
		auto_free char *form =
			xasprintf("for=2h&csrf=%s", *cases[i].csrf == 'F' ? csrf : cases[i].csrf);
		auto_free char *api = post(b, LOCK, head, form);
		auto_free char *page = post(b, "/rigs/virtual-x86/lock", head, form);

		assert_status(api, cases[i].status);
		assert_contains(api, "{\"error\":");
		assert_contains(api, cases[i].says);
		assert_status(page, cases[i].status);
		assert_contains(page, "<!doctype html>");
	}
	{
		auto_free char *done = what_was_done(b);

		assert_string_equal(done, "");
	}
	/* it was noticed */
	assert_contains(strbuf_str(&b->log), LOCK " by nobody from 127.0.0.1: ");
}

static void test_why_an_action_failed_is_told_and_whose_fault_it_is(void **state)
{
	static const struct {
		const char *then;
		int status;
		const char *says;
	} cases[] = {
		{"echo first >&2; echo \"stallrig: rig 'virtual-x86' is held by bob\" >&2; exit 129",
		 409, "{\"error\":\"rig 'virtual-x86' is held by bob\"}"},
		{"echo 'stallrig: switch: no answer' >&2; exit 130", 502, "switch: no answer"},
		{"exit 1", 502, "it failed"},
		{"kill -9 $$", 502, "killed by signal 9"},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *reply = NULL;

		let_program(b, cases[i].then);
		reply = post(b, "/api/v1/rigs/virtual-x86/switch", BEARER, "state=off");
		assert_status(reply, cases[i].status);
		assert_contains(reply, cases[i].says);
		assert_contains(strbuf_str(&b->log), "switch off rig virtual-x86 by web:127.0.0.1");
	}
}

static void test_a_bench_that_hangs_keeps_nobody_waiting_and_is_given_up_in_time(void **state)
{
	static const char request[] =
		"POST /api/v1/rigs/virtual-x86/switch HTTP/1.1\r\nHost: x\r\n" BEARER
		"Content-Length: 9\r\nConnection: close\r\n\r\n"
		"state=off";
	struct bench *b = *state;
	auto_strbuf struct strbuf first = STRBUF_INIT;
	int fds[8]; /* as many as may act at one time */

	let_program(b, "exec sleep 1000");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = dial(b);
		assert_true(send_all(b, fds[i], request, sizeof(request) - 1));
		serve_ms(b, 20);
	}
	{
		auto_free char *more = ask(b, request);
		auto_free char *page =
			ask(b, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" BEARER "\r\n");

		assert_status(more, 503);
		assert_contains(more, "8 actions are under way");
		assert_status(page, 200);
	}
	close(fds[1]); /* who goes away does not keep its place for ever */
	clock_ahead_ns += 91 * NSEC_PER_SEC;
	serve_ms(b, 50);
	assert_true(receive(b, fds[0], &first));
	assert_status(strbuf_str(&first), 502);
	assert_contains(strbuf_str(&first), "it took too long");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (i != 1)
			close(fds[i]);
	serve_ms(b, 50);
	let_program(b, "");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		auto_free char *reply = ask(b, request);

		assert_status(reply, 200);
	}
}

static void test_the_server_ends_with_an_action_under_way(void **state)
{
	struct bench *b = *state;
	int fd = dial(b);
	static const char request[] =
		"POST /api/v1/rigs/virtual-x86/switch HTTP/1.1\r\nHost: x\r\n" BEARER
		"Content-Length: 9\r\n\r\nstate=off";

	let_program(b, "exec sleep 1000");
	assert_true(send_all(b, fd, request, sizeof(request) - 1));
	serve_ms(b, 50);
	dashboard_close(b->d);
	b->d = NULL;
	assert_contains(strbuf_str(&b->log), "the server stops");
	close(fd);
}

static void test_without_a_token_no_page_offers_an_action(void **state)
{
	auto_free char *page = get(*state, "/rigs/virtual-x86");
	auto_free char *reply = post(*state, LOCK, "Host: localhost\r\n", "for=1h");
	auto_free char *own = ask(*state, "POST " LOCK " HTTP/1.1\r\nHost: localhost\r\n"
					  "Content-Length: 6\r\nConnection: close\r\n\r\nfor=1h");

	assert_status(page, 200);
	assert_null(strstr(page, "<form class=action"));
	assert_true(strncmp(reply, "HTTP/1.1 4", 10) == 0);
	assert_status(own, 403);
	assert_contains(own, "see --token-file");
}

static void test_an_open_address_needs_a_token_and_a_token_needs_length(void **state)
{
	static const struct {
		const char *address, *token;
		int code;
		const char *says;
	} cases[] = {
		{"0.0.0.0", NULL, -EACCES, "0.0.0.0 is no loopback address"},
		{"::", NULL, -EACCES, ":: is no loopback address"},
		{"localhost", NULL, -EINVAL, "'localhost' is no IPv4 or IPv6 address"},
		{"127.0.0.1", "short", -EINVAL, "the token has 5 characters, at least 16"},
		{"127.0.0.1", "0123456789abcde\x01", -EINVAL, "no printable ASCII at 16"},
		{"127.0.0.1", "0123456789 abcdef", -EINVAL, "no printable ASCII at 11"},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dashboard *d = NULL;
		struct err e = {0};

		assert_int_equal(dashboard_open(&(struct dashboard_cfg){.address = cases[i].address,
									.token = cases[i].token,
									.store = b->st,
									.w = b->w},
						&d, &e),
				 cases[i].code);
		assert_null(d);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, cases[i].says);
	}
}

static void test_a_port_that_is_taken_is_named(void **state)
{
	struct bench *b = *state;
	struct dashboard *d = NULL;
	struct err e = {0};
	uint16_t port = dashboard_port(b->d);
	auto_free char *says = xasprintf("cannot listen on 127.0.0.1 port %u", port);

	assert_int_equal(
		dashboard_open(&(struct dashboard_cfg){.port = port, .store = b->st, .w = b->w}, &d,
			       &e),
		-EADDRINUSE);
	assert_contains(e.text, says);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_page_comes_with_a_policy_that_allows_no_inline_script, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_request_head_beyond_its_limit_is_refused_and_the_next_one_answered,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_url_beyond_its_limit_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_body_beyond_its_limit_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_no_path_leads_out_of_what_is_served, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_client_that_never_ends_its_request_is_cut_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_thousand_idle_connections_keep_nobody_out_and_end_in_time, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_another_name_in_the_host_field_is_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_reading_is_possible_without_a_token,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_connection_takes_several_requests, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_with_a_token_pages_ask_for_it_and_the_api_says_how, set_up_with_token,
			tear_down),
		cmocka_unit_test_setup_teardown(test_logging_in_gives_a_cookie_that_opens_pages,
						set_up_with_token, tear_down),
		cmocka_unit_test_setup_teardown(
			test_an_action_is_a_command_of_the_program_and_its_words_are_the_answer,
			set_up_with_token, tear_down),
		cmocka_unit_test_setup_teardown(test_other_labs_words_become_the_same_commands,
						set_up_with_token, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_is_asked_for_wrongly_never_becomes_a_command, set_up_with_token,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_form_of_the_servers_own_page_acts_without_a_script,
			set_up_with_token, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_another_site_sends_in_the_browsers_name_does_nothing,
			set_up_with_token, tear_down),
		cmocka_unit_test_setup_teardown(
			test_why_an_action_failed_is_told_and_whose_fault_it_is, set_up_with_token,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_bench_that_hangs_keeps_nobody_waiting_and_is_given_up_in_time,
			set_up_with_token, tear_down),
		cmocka_unit_test_setup_teardown(test_the_server_ends_with_an_action_under_way,
						set_up_with_token, tear_down),
		cmocka_unit_test_setup_teardown(test_without_a_token_no_page_offers_an_action,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_an_answer_costs_nothing_twice_and_follows_the_store, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_an_open_address_needs_a_token_and_a_token_needs_length, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_port_that_is_taken_is_named, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
