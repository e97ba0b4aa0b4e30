/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_switch_http.c - the http switch with services that speak three protocols, and that fail. */
/* ctest: rig */
#include "../../controller/rig/switch_driver.h"
#include "http_util.h"

#include <sys/mman.h>
#include <sys/stat.h>

enum mood {
	WELL,
	LATE,      /* does what it was told when it is asked for the third time */
	LIES,      /* says yes and does nothing */
	BROKEN,    /* status 500 */
	ODD,       /* answers what no protocol knows */
	HALF,      /* closes in the middle of the answer */
	SILENT,    /* takes the request and says nothing */
	ELSEWHERE, /* a redirection */
	LONG,      /* more than anybody wants to read */
};

/* The service's outlet, in memory that all processes share. */
struct outlet {
	volatile enum mood mood;
	volatile int state;
	volatile int wanted;
	volatile unsigned questions, requests;
	char last[4096]; /* request that changes something */
};

static struct outlet *outlet;
static struct http_util server;

static void change(int state)
{
	outlet->wanted = state;
	outlet->questions = 0;
	if (outlet->mood == WELL)
		outlet->state = state;
}

/* True: it was a fault. */
static bool goes_wrong(int fd, bool *ret_is_over)
{
	static char text[100001];

	*ret_is_over = true;
	switch (outlet->mood) {
	case BROKEN:
		http_util_answer(fd, 500, "", "no \x1b[31mfuse\nhere");
		return true;
	case ODD:
		http_util_answer(fd, 200, "", "perhaps");
		return true;
	case HALF:
		(void)!fd_write_all(fd, "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n1", 39);
		return true;
	case SILENT:
		*ret_is_over = false;
		return true;
	case ELSEWHERE:
		http_util_answer(fd, 302, "Location: /elsewhere\r\n", "");
		return true;
	case LONG:
		memset(text, '1', sizeof(text) - 1);
		http_util_answer(fd, 200, "", text);
		return true;
	case WELL:
	case LATE:
	case LIES:
		break;
	}
	return false;
}

static bool serve(void *self, const char *request, int fd)
{
	const char *body = strstr(request, "\r\n\r\n");
	bool is_over = true;

	(void)self;
	outlet->requests++;
	body = body ? body + 4 : "";
	if (strncmp(request, "GET /relay ", 11) != 0 && strncmp(request, "GET /light ", 11) != 0)
		(void)snprintf(outlet->last, sizeof(outlet->last), "%s", request);
	else if (outlet->mood == LATE && ++outlet->questions == 3)
		outlet->state = outlet->wanted;
	if (goes_wrong(fd, &is_over))
		return is_over;
	if (strncmp(request, "GET /relay ", 11) == 0) {
		http_util_answer(fd, 200, "", outlet->state ? "1" : "0");
	} else if (strncmp(request, "GET /light ", 11) == 0) {
		http_util_answer(fd, 200, "",
				 outlet->state ? "{\"lit\": true}\n" : "{\"lit\":false}");
	} else if (strncmp(request, "PUT /relay ", 11) == 0) {
		change(strcmp(body, "1") == 0);
		http_util_answer(fd, 204, "", "");
	} else if (strncmp(request, "POST /button ", 13) == 0) {
		change(strcmp(body, "plug=yes") == 0);
		http_util_answer(fd, 200, "", "ok");
	} else if (strncmp(request, "GET /power/control/on?", 22) == 0 ||
		   strncmp(request, "GET /power/control/off?", 23) == 0) {
		change(request[20] == 'n');
		http_util_answer(fd, 200, "", "OK - accepted request\n");
	} else {
		http_util_answer(fd, 404, "", "");
	}
	return true;
}

static int setup(void **state)
{
	(void)state;
	outlet = mmap(NULL, sizeof(*outlet), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(outlet, MAP_FAILED);
	http_util_start(&server, 0, serve, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	http_util_end(&server);
	return munmap(outlet, sizeof(*outlet));
}

struct fixture {
	struct waiter *w;
	char *url, *status_url;
	struct switch_cfg cfg;
	const struct switch_ops *ops;
	void *self;
	struct err e;
	nsec_t timeout_ns; /* of set() */
};

#define TEXT(s) ((char *)(uintptr_t)(s))

static void describe(struct fixture *f, const char *protocol, const char *path)
{
	*f = (struct fixture){
		.w = waiter_new(NULL),
		.url = xasprintf("http://ann:secret@127.0.0.1:%u%s", server.port, path),
		.status_url = xasprintf("http://127.0.0.1:%u/light", server.port),
		.cfg = {.driver = TEXT("http"), .protocol = TEXT(protocol), .timeout_ms = 30000},
		.timeout_ns = 60 * NSEC_PER_SEC,
	};
	f->cfg.url = f->url;
	outlet->mood = WELL;
	outlet->state = 0;
}

static void open_it(struct fixture *f)
{
	if (switch_http_open(&f->cfg, f->w, &f->ops, &f->self, &f->e) < 0)
		fail_msg("%s", f->e.text);
}

static void describe_output(struct fixture *f)
{
	describe(f, "output", "/button");
	f->cfg.method = TEXT("POST");
	f->cfg.on_body = TEXT("plug=yes");
	f->cfg.off_body = TEXT("plug=no");
	f->cfg.status_url = f->status_url;
	f->cfg.on_match = TEXT("\\{\"lit\": *true\\}");
	f->cfg.off_match = TEXT("\\{\"lit\": *false\\}");
}

static void close_it(struct fixture *f)
{
	if (f->ops)
		f->ops->close(f->self);
	waiter_free(f->w);
	free(f->url);
	free(f->status_url);
}

static int set(struct fixture *f, enum switch_state state)
{
	struct switch_change done = {0};

	err_clear(&f->e);
	return f->ops->set(f->self, state, waiter_now(f->w) + f->timeout_ns, &done, &f->e);
}

static void must_set(struct fixture *f, enum switch_state state)
{
	if (set(f, state) < 0)
		fail_msg("%s", f->e.text);
	assert_int_equal(outlet->state, state == SWITCH_ON);
	assert_int_equal(f->ops->get(f->self), state);
}

static void test_each_protocol_switches(void **state)
{
	struct fixture f;

	(void)state;
	describe(&f, "rest", "/relay");
	open_it(&f);
	assert_true(f.ops->caps & SWITCH_CAN_READBACK);
	assert_int_equal(f.ops->get(f.self), SWITCH_OFF);
	must_set(&f, SWITCH_ON);
	assert_contains(outlet->last, "PUT /relay HTTP/1.1\r\n");
	assert_contains(outlet->last, "Authorization: Basic YW5uOnNlY3JldA==\r\n");
	assert_contains(outlet->last, "\r\n\r\n1");
	must_set(&f, SWITCH_OFF);
	outlet->state = 1; /* by another hand */
	assert_int_equal(f.ops->get(f.self), SWITCH_ON);
	close_it(&f);

	describe_output(&f);
	open_it(&f);
	assert_true(f.ops->caps & SWITCH_CAN_READBACK);
	must_set(&f, SWITCH_ON);
	assert_contains(outlet->last, "POST /button HTTP/1.1\r\n");
	must_set(&f, SWITCH_OFF);
	close_it(&f);

	describe(&f, "pdudaemon", "//");
	f.cfg.pdu = TEXT("pdu 1");
	f.cfg.outlet = TEXT("7&x");
	open_it(&f);
	assert_false(f.ops->caps & SWITCH_CAN_READBACK);
	assert_int_equal(f.ops->get(f.self), SWITCH_UNKNOWN);
	must_set(&f, SWITCH_ON);
	assert_contains(outlet->last, "GET /power/control/on?hostname=pdu%201&port=7%26x HTTP/1.1");
	must_set(&f, SWITCH_OFF);
	close_it(&f);
}

static void test_a_token_is_sent_and_its_file_checked(void **state)
{
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/token", dir);
	struct fixture f;

	(void)state;
	unit_write(dir, "token", "0123456789abcdef\n");
	describe_output(&f);
	free(f.url);
	f.url = xasprintf("http://127.0.0.1:%u/button", server.port);
	f.cfg.url = f.url;
	f.cfg.token_file = path;
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(switch_http_open(&f.cfg, f.w, &f.ops, &f.self, &f.e), -EACCES);
	assert_int_equal(f.e.kind, ERR_CONFIG);
	assert_int_equal(chmod(path, 0600), 0);
	open_it(&f);
	must_set(&f, SWITCH_ON);
	assert_contains(outlet->last, "Authorization: Bearer 0123456789abcdef\r\n");
	close_it(&f);
	unit_rmdir(dir);
}

static void test_what_goes_wrong_is_named_with_the_address_and_without_the_secret(void **state)
{
	static const struct {
		enum mood mood;
		unsigned timeout_ms;
		int code;
		const char *says;
	} cases[] = {
		{BROKEN, 30000, EIO, ": status 500: no  [31mfuse here"},
		{ODD, 30000, EPROTO, ": says neither on nor off: 'perhaps'"},
		{LONG, 30000, EPROTO, ": says neither on nor off: '1111"},
		{HALF, 30000, EIO, ": "},
		{SILENT, 150, ETIMEDOUT, ": no answer within 1"},
		{LIES, 350, EIO, ": does not say 'on' afterwards"},
		{ELSEWHERE, 30000, EIO, ": status 302"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;

		describe(&f, "rest", "/relay");
		f.cfg.timeout_ms = cases[i].timeout_ms;
		open_it(&f);
		outlet->mood = cases[i].mood;
		assert_int_equal(set(&f, SWITCH_ON), -cases[i].code);
		assert_int_equal(f.e.kind, ERR_RIG);
		assert_contains(f.e.text, cases[i].says);
		assert_contains(f.e.text, "http://127.0.0.1:");
		assert_contains(f.e.text, "/relay");
		assert_null(strstr(f.e.text, "secret"));
		assert_null(strstr(outlet->last, "/elsewhere"));
		assert_int_equal(f.ops->get(f.self),
				 cases[i].mood == LIES ? SWITCH_OFF : SWITCH_UNKNOWN);
		/* and it works again when the service does */
		outlet->mood = WELL;
		f.cfg.timeout_ms = 30000;
		must_set(&f, SWITCH_ON);
		close_it(&f);
	}
}

static void test_a_failed_change_leaves_a_state_that_nobody_knows(void **state)
{
	struct fixture f;

	(void)state;
	describe(&f, "pdudaemon", "");
	f.cfg.pdu = f.cfg.outlet = TEXT("1");
	open_it(&f);
	must_set(&f, SWITCH_ON);
	outlet->mood = BROKEN;
	assert_int_equal(set(&f, SWITCH_OFF), -EIO);
	assert_contains(f.e.text, "/power/control/off: status 500");
	assert_null(strstr(f.e.text, "hostname"));
	assert_int_equal(f.ops->get(f.self), SWITCH_UNKNOWN);
	close_it(&f);
}

static void test_a_service_that_needs_time_is_waited_for(void **state)
{
	struct fixture f;

	(void)state;
	describe(&f, "rest", "/relay");
	open_it(&f);
	outlet->mood = LATE;
	must_set(&f, SWITCH_ON);
	assert_int_equal(outlet->questions, 4); /* one more by must_set() */
	close_it(&f);
}

static void test_the_deadline_comes_before_the_timeout(void **state)
{
	struct fixture f;

	(void)state;
	describe(&f, "rest", "/relay");
	f.timeout_ns = 120 * NSEC_PER_MSEC;
	open_it(&f);
	outlet->mood = SILENT;
	assert_int_equal(set(&f, SWITCH_ON), -ETIMEDOUT);
	close_it(&f);
}

static void test_nobody_listens(void **state)
{
	struct http_util other;
	struct fixture f;

	(void)state;
	describe(&f, "rest", "/relay");
	http_util_start(&other, 0, serve, NULL);
	http_util_end(&other);
	free(f.url);
	f.cfg.url = f.url = xasprintf("http://u:secret@127.0.0.1:%u/relay?key=secret", other.port);
	open_it(&f);
	assert_int_equal(set(&f, SWITCH_ON), -EIO);
	assert_int_equal(f.e.kind, ERR_RIG);
	assert_contains(f.e.text, "/relay: ");
	assert_null(strstr(f.e.text, "secret"));
	close_it(&f);
}

/* ---- with its guardian ---- */

static void wait_until_off(void)
{
	struct waiter *w = waiter_new(NULL);
	const nsec_t until_ns = waiter_now(w) + 20 * NSEC_PER_SEC;
	struct err e = {0};

	while (outlet->state && waiter_now(w) < until_ns)
		assert_int_equal(waiter_sleep(w, 5 * NSEC_PER_MSEC, &e), 0);
	waiter_free(w);
	assert_int_equal(outlet->state, 0);
}

/* A controller that switches on, perhaps asks a service that has fallen silent, and is killed. */
static void kill_a_controller(bool is_at_work)
{
	unsigned seen;
	struct fixture f;
	pid_t pid;

	describe(&f, "rest", "/relay");
	f.cfg.timeout_ms = 60000;
	seen = outlet->requests;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (switch_cfg_open(&f.cfg, -1, f.w, &f.ops, &f.self, &f.e) < 0 ||
		    set(&f, SWITCH_ON) < 0)
			_exit(1);
		if (is_at_work) {
			outlet->mood = SILENT;
			(void)set(&f, SWITCH_ON);
		}
		for (;;)
			(void)pause();
	}
	/* a PUT and the question after it, then perhaps the one that is not answered */
	while (outlet->requests < seen + (is_at_work ? 3 : 2))
		assert_int_equal(waiter_sleep(f.w, 5 * NSEC_PER_MSEC, &f.e), 0);
	assert_int_equal(outlet->state, 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	outlet->mood = WELL;
	wait_until_off();
	close_it(&f);
}

static void test_the_guardian_makes_it_safe_when_the_controller_is_killed(void **state)
{
	(void)state;
	kill_a_controller(false);
}

/* The request that nobody waits for any more is dropped: its own time-out would be a minute. */
static void test_the_guardian_does_not_wait_for_a_silent_service(void **state)
{
	(void)state;
	kill_a_controller(true);
}

static void test_the_limits_above_the_driver_hold(void **state)
{
	const struct switch_limits limits = {
		.min_off_ns = 200 * NSEC_PER_MSEC, .max_cycles = 1, .safe = SWITCH_OFF};
	struct switch_change off = {0};
	struct switch_change on = {0};
	struct stick_switch *sw;
	struct fixture f;
	nsec_t until_ns;

	(void)state;
	describe(&f, "rest", "/relay");
	assert_int_equal(switch_cfg_open(&f.cfg, -1, f.w, &f.ops, &f.self, &f.e), 0);
	sw = switch_new("stick0", f.ops, f.self, &limits, f.w);
	until_ns = waiter_now(f.w) + 60 * NSEC_PER_SEC;
	assert_int_equal(switch_set(sw, SWITCH_ON, until_ns, NULL, &f.e), 0);
	assert_int_equal(switch_set(sw, SWITCH_OFF, until_ns, &off, &f.e), 0);
	assert_int_equal(switch_set(sw, SWITCH_ON, until_ns, &on, &f.e), 0);
	assert_true(on.asked_ns - off.applied_ns >= 200 * NSEC_PER_MSEC);
	assert_int_equal(switch_set(sw, SWITCH_OFF, until_ns, &off, &f.e), -EDQUOT);
	assert_int_equal(outlet->state, 1);
	switch_close(sw);
	assert_int_equal(outlet->state, 0);
	f.ops = NULL;
	close_it(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_protocol_switches),
		cmocka_unit_test(test_a_token_is_sent_and_its_file_checked),
		cmocka_unit_test(
			test_what_goes_wrong_is_named_with_the_address_and_without_the_secret),
		cmocka_unit_test(test_a_failed_change_leaves_a_state_that_nobody_knows),
		cmocka_unit_test(test_a_service_that_needs_time_is_waited_for),
		cmocka_unit_test(test_the_deadline_comes_before_the_timeout),
		cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_the_guardian_makes_it_safe_when_the_controller_is_killed),
		cmocka_unit_test(test_the_guardian_does_not_wait_for_a_silent_service),
		cmocka_unit_test(test_the_limits_above_the_driver_hold),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
