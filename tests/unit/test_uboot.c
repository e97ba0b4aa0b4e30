/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/*
 * U-Boot's command line and the conversation under it, against a scripted U-Boot that loses and
 * garbles characters; the real one is in test_boot_uboot.c.
 */
#include "../../controller/rig/uboot.h"
#include "jump_clock.h"
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>

/* What the scripted boot loader does; its command line keeps at most 250 characters, as a small
   CONFIG_SYS_CBSIZE does. */
struct loader {
	int fd;
	const char *prompt;
	bool has_echo, has_hush;
	unsigned drop_every; /* of the characters typed at it; 0 = none … */
	unsigned drops_left; /* … until that many are gone */
	bool is_noisy;       /* a colour and a stray line before each prompt */
	/* so often noise eats these; UINT_MAX = always */
	unsigned eat_prompts, eat_statuses, eat_returns;
	unsigned resets;  /* so often it begins anew instead of what it was told */
	bool is_stuck;    /* nothing comes back from what it was told */
	unsigned status;  /* of commands that are not known here */
	const char *says; /* what such a command prints */
	char line[251];
	size_t len;
	unsigned result; /* "$sr" */
	unsigned n_typed, n_executed;
	char bootargs[2048];
	char last[512]; /* command, without what asks for its status */
};

struct fixture {
	nsec_t now;
	struct waiter *w;
	struct port *port;
	struct loader l;
	struct uboot_cfg cfg;
	struct uboot_shell u;
	int ours;
};

static void say(struct loader *l, const char *text)
{
	assert_int_equal(write(l->fd, text, strlen(text)), strlen(text));
}

static bool eats(unsigned *left)
{
	if (*left && *left != UINT_MAX)
		return (*left)--;
	return *left;
}

static void say_prompt(struct loader *l)
{
	if (l->is_noisy)
		say(l, "\x1b[1;31musb 1-1: stray line\x1b[0m\r\n");
	if (eats(&l->eat_prompts))
		say(l, "\xff=\x80> ");
	else
		say(l, l->prompt);
}

static void say_banner(struct loader *l)
{
	say(l, "\r\n\r\nU-Boot 2023.01\r\n\r\nHit any key to stop autoboot:  2 ");
}

/* Just the two forms of setenv that are used: 'text', and the old value before it. */
static void set_bootargs(struct loader *l, const char *value)
{
	static const char old[] = "\"${bootargs}\"";
	auto_free char *copy = NULL;

	if (!value)
		l->bootargs[0] = '\0';
	else if (strncmp(value, old, strlen(old)) == 0)
		value += strlen(old);
	else
		l->bootargs[0] = '\0';
	if (!value)
		return;
	assert_int_equal(*value, '\'');
	copy = xstrdup(value + 1);
	*strrchr(copy, '\'') = '\0';
	(void)strncat(l->bootargs, copy, sizeof(l->bootargs) - strlen(l->bootargs) - 1);
}

static void say_status(struct loader *l, const char *number)
{
	char text[64];

	if (l->has_hush)
		(void)snprintf(text, sizeof(text), "sr-%u-%s\r\n", l->result, number);
	else
		(void)snprintf(text, sizeof(text), "sr-$sr-%s\r\n", number);
	say(l, eats(&l->eat_statuses) ? "sr-\x80\r\n" : text);
}

static void execute(struct loader *l)
{
	static const char setenv[] = "setenv bootargs", ask[] = "echo sr-$sr-";
	char *status = strstr(l->line, "; sr=$?; echo sr-$sr-");
	const char *number = strstr(l->line, ask);

	if (number)
		number += strlen(ask);
	if (number && !status) {
		say_status(l, number);
		return;
	}
	l->n_executed++;
	l->result = 0;
	if (status)
		*status = '\0';
	(void)snprintf(l->last, sizeof(l->last), "%s", l->line);
	if (strncmp(l->line, setenv, strlen(setenv)) == 0) {
		set_bootargs(l, l->line[strlen(setenv)] ? l->line + strlen(setenv) + 1 : NULL);
	} else {
		l->result = l->status;
		say(l, l->says ? l->says : "");
	}
	if (number)
		say_status(l, number);
}

static void typed(struct loader *l, char c)
{
	l->n_typed++;
	if (l->drop_every && l->drops_left && l->n_typed % l->drop_every == 0) {
		l->drops_left--;
		return;
	}
	if (c == '\x03') {
		l->len = 0;
		say(l, "<INTERRUPT>\r\n");
		say_prompt(l);
	} else if (c == '\r') {
		if (eats(&l->eat_returns))
			return;
		say(l, "\r\n");
		l->line[l->len] = '\0';
		if (l->len && eats(&l->resets)) {
			l->len = 0;
			say_banner(l);
			return;
		}
		if (l->len)
			execute(l);
		l->len = 0;
		if (l->is_stuck)
			return;
		say_prompt(l);
	} else if (l->len < sizeof(l->line) - 1) {
		l->line[l->len++] = c;
		if (l->has_echo)
			assert_int_equal(write(l->fd, &c, 1), 1);
	}
}

static int on_typed(void *self, short revents, struct err *e)
{
	struct loader *l = self;
	char buf[512];
	ssize_t n = read(l->fd, buf, sizeof(buf));

	(void)revents;
	(void)e;
	for (ssize_t i = 0; i < n; i++)
		typed(l, buf[i]);
	return 0;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	const struct waiter_ops ops = {
		.now = jump_clock_now, .poll = jump_clock_poll, .self = &f->now};
	struct waiter_source src = {.events = POLLIN, .ready = on_typed, .self = &f->l};
	struct err e = {0};
	int p[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	f->ours = p[0];
	assert_int_equal(fcntl(f->ours, F_SETFL, O_NONBLOCK), 0);
	f->now = NSEC_PER_SEC;
	f->w = waiter_new(&ops);
	f->l = (struct loader){.fd = p[1], .prompt = "=> ", .has_echo = true, .has_hush = true};
	src.fd = p[1];
	assert_int_equal(waiter_add(f->w, &src, &e), 0);
	f->cfg = (struct uboot_cfg){.prompt = (char *)(uintptr_t) "=> ",
				    .autoboot = (char *)(uintptr_t) "stop autoboot",
				    .stop_key = (char *)(uintptr_t) " ",
				    .fetch = (char *)(uintptr_t) "tftpboot"};
	*state = f;
	return 0;
}

static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)self;
	(void)bytes;
	(void)n;
	(void)t_host_ns;
}

static void open_shell(struct fixture *f)
{
	struct err e = {0};

	assert_int_equal(port_open_fd(f->w, f->ours, on_console, f, &f->port, &e), 0);
	f->u = (struct uboot_shell){.w = f->w, .port = f->port, .cfg = &f->cfg};
	assert_int_equal(talk_open(f->w, f->port, &f->u.talk, &e), 0);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	talk_close(f->u.talk);
	port_close(f->port);
	waiter_free(f->w);
	close(f->ours);
	close(f->l.fd);
	free(f);
	return 0;
}

static nsec_t in_ms(const struct fixture *f, int64_t ms)
{
	return waiter_now(f->w) + ms * NSEC_PER_MSEC;
}

static void test_autoboot_is_stopped_and_the_line_is_clean(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};
	unsigned status = 9;

	open_shell(f);
	say(&f->l,
	    "\r\n\r\nU-Boot 2023.01\r\n\r\nHit any key to stop autoboot:  2 \b\b\b 0\r\n=> ");
	if (uboot_catch(&f->u, in_ms(f, 5000), &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(uboot_command(&f->u, "version", in_ms(f, 5000), &status, NULL, &e), 0);
	assert_int_equal(status, 0);
	/* no key of the stopping was left in front of it */
	assert_string_equal(f->l.last, "version");
}

static void test_a_silent_console_and_a_missed_autoboot_are_told_apart(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	open_shell(f);
	assert_int_equal(uboot_catch(&f->u, in_ms(f, 300), &e), -ENODATA);
	assert_contains(e.text, "not one byte");
	assert_int_equal(f->l.n_typed, 0);

	say(&f->l, "\r\nBL2: something else\r\n");
	assert_int_equal(uboot_catch(&f->u, in_ms(f, 300), &e), -ETIMEDOUT);
	assert_contains(e.text, "no boot loader: no '=> ' within");
	assert_contains(e.text, "the last line is 'BL2: something else'");
	/* nothing is typed at what is not U-Boot */
	assert_int_equal(f->l.n_typed, 0);

	say(&f->l, "Starting kernel ...\r\n");
	assert_int_equal(uboot_catch(&f->u, in_ms(f, 300), &e), -ECANCELED);
	assert_contains(e.text, "autoboot was not stopped");
	assert_int_equal(e.kind, ERR_RIG);
}

static void test_statuses_and_output_come_back(void **state)
{
	struct fixture *f = *state;
	auto_strbuf struct strbuf out = STRBUF_INIT;
	unsigned status = 9;
	struct err e = {0};

	f->l.is_noisy = true;
	f->l.prompt = "Board $ ";
	f->cfg.prompt = (char *)(uintptr_t) "Board $ ";
	open_shell(f);
	f->l.says = "one\r\n\x1b[32mtwo\x1b[0m\r\n";
	f->l.status = 3;
	assert_int_equal(uboot_command(&f->u, "foo", in_ms(f, 5000), &status, &out, &e), 0);
	assert_int_equal(status, 3);
	assert_string_equal(strbuf_str(&out), "\none\ntwo\n");
	assert_int_equal(uboot_do(&f->u, "foo", in_ms(f, 5000), &e), -EREMOTEIO);
	assert_contains(e.text, "U-Boot: 'foo' ended with status 3: 'two'");
}

static void test_a_line_that_does_not_arrive_whole_is_typed_again_and_not_executed(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	f->l.drop_every = 7;
	f->l.drops_left = 5;
	open_shell(f);
	if (uboot_do(&f->u, "setenv bootargs 'quiet'", in_ms(f, 60000), &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(f->l.n_executed, 1);
	assert_string_equal(f->l.bootargs, "quiet");
	/* and from then on slower */
	assert_true(f->u.tx_byte_us >= 500);
}

static void test_a_line_that_never_arrives_whole_is_the_benchs_fault(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	f->l.drop_every = 7;
	f->l.drops_left = 1000000;
	open_shell(f);
	assert_int_equal(uboot_do(&f->u, "setenv bootargs 'quiet'", in_ms(f, 120000), &e), -EIO);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "U-Boot does not get what is typed, tried 4 times");
	assert_contains(e.text, "was typed, ");
	assert_int_equal(f->l.n_executed, 0);
}

static void test_a_loader_without_echo_or_hush(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	f->l.has_echo = false;
	f->cfg.is_mute = true;
	open_shell(f);
	assert_int_equal(uboot_do(&f->u, "version", in_ms(f, 5000), &e), 0);
	f->l.has_hush = false;
	assert_int_equal(uboot_do(&f->u, "version", in_ms(f, 5000), &e), -EPROTO);
	assert_contains(e.text, "CONFIG_HUSH_PARSER");
}

static void test_noise_is_met_by_asking_again(void **state)
{
	struct fixture *f = *state;
	struct loader *l = &f->l;
	unsigned *const eaten[] = {&l->eat_prompts, &l->eat_statuses, &l->eat_returns};
	auto_strbuf struct strbuf out = STRBUF_INIT;
	unsigned status = 9;
	struct err e = {0};

	open_shell(f);
	l->says = "done\r\n";
	l->status = 3;
	for (size_t i = 0; i < ARRAY_SIZE(eaten); i++)
		for (unsigned n = 1; n <= (eaten[i] == &l->eat_returns ? 1 : 2); n++) {
			*eaten[i] = n;
			l->n_executed = 0;
			if (uboot_command(&f->u, "foo", in_ms(f, 60000), &status, &out, &e) < 0)
				fail_msg("%zu, %u times: %s", i, n, e.text);
			assert_int_equal(status, 3);
			assert_int_equal(*eaten[i], 0);
			/* asked again is not done again */
			assert_int_equal(l->n_executed, 1);
			assert_string_equal(l->last, "foo");
			assert_contains(strbuf_str(&out), "done");
		}
}

static void test_noise_on_the_first_prompts_is_met_by_asking_again(void **state)
{
	struct fixture *f = *state;
	unsigned status = 9;
	struct err e = {0};

	f->l.eat_prompts = 3;
	open_shell(f);
	say_banner(&f->l);
	say_prompt(&f->l);
	if (uboot_catch(&f->u, in_ms(f, 60000), &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(f->l.eat_prompts, 0);
	assert_int_equal(uboot_command(&f->u, "version", in_ms(f, 5000), &status, NULL, &e), 0);
	assert_string_equal(f->l.last, "version");
}

static void pull_out(void *self)
{
	port_lose(((struct fixture *)self)->port, "pulled out");
}

static void test_an_adapter_that_is_pulled_out_may_come_back_in_time(void **state)
{
	struct fixture *f = *state;
	struct waiter_timer timer = {.fire = pull_out, .self = f};
	unsigned status = 9;
	struct err e = {0};
	nsec_t began_ns;

	f->l.is_stuck = true;
	open_shell(f);
	began_ns = f->now;
	timer.at_ns = in_ms(f, 1000);
	assert_int_equal(waiter_timer_set(f->w, &timer, &e), 0);
	/* this one does not */
	assert_int_equal(uboot_command(&f->u, "foo", in_ms(f, 20000), &status, NULL, &e), -EPIPE);
	assert_contains(e.text, "pulled out");
	assert_int_equal(f->now - began_ns, 20 * NSEC_PER_SEC);
}

static void test_what_stops_in_the_boot_loader_has_its_word(void **state)
{
	struct fixture *f = *state;
	struct loader *l = &f->l;
	unsigned status = 9;
	struct err e = {0};

	open_shell(f);
	assert_int_equal(uboot_catch(&f->u, in_ms(f, 200), &e), -ENODATA);
	assert_string_equal(e.reason, "no-console");
	say(l, "\r\nBL2: something else\r\n");
	assert_int_equal(uboot_catch(&f->u, in_ms(f, 200), &e), -ETIMEDOUT);
	assert_string_equal(e.reason, "no-loader");
	say(l, "Starting kernel ...\r\n");
	assert_int_equal(uboot_catch(&f->u, in_ms(f, 2000), &e), -ECANCELED);
	assert_string_equal(e.reason, "autoboot-missed");
	for (unsigned i = 0; i < UBOOT_BANNERS_MAX; i++)
		say_banner(l);
	assert_int_equal(uboot_catch(&f->u, in_ms(f, 5000), &e), -ELOOP);
	assert_string_equal(e.reason, "loader-loop");
	assert_contains(e.text, "its banner came 6 times and no prompt '=> '");

	l->resets = 1;
	assert_int_equal(uboot_do(&f->u, "foo", in_ms(f, 5000), &e), -ELOOP);
	assert_string_equal(e.reason, "loader-loop");
	l->status = 1;
	assert_int_equal(uboot_do(&f->u, "foo", in_ms(f, 5000), &e), -EREMOTEIO);
	assert_string_equal(e.reason, "loader-command");
	assert_int_equal(uboot_fetch(&f->u, "${a}", "f", 4, in_ms(f, 5000), &e), -EREMOTEIO);
	assert_string_equal(e.reason, "no-file");
	l->says = "Bytes transferred = 3 (3 hex)\r\n";
	l->status = 0;
	assert_int_equal(uboot_fetch(&f->u, "${a}", "f", 4, in_ms(f, 5000), &e), -EREMOTEIO);
	assert_string_equal(e.reason, "no-file");
	l->eat_statuses = UINT_MAX;
	assert_int_equal(uboot_command(&f->u, "foo", in_ms(f, 5000), &status, NULL, &e), -EPROTO);
	assert_string_equal(e.reason, "loader-deaf");
	l->says = "working\r\n";
	l->is_stuck = true;
	assert_int_equal(uboot_command(&f->u, "foo", in_ms(f, 700), &status, NULL, &e), -ETIMEDOUT);
	assert_string_equal(e.reason, "loader-hang");
	assert_contains(e.text, "U-Boot: 'foo': nothing for ");
	assert_contains(e.text, "no '=> '; the last line is '");
	assert_int_equal(e.kind, ERR_RIG);
}

static void test_long_values_pass_a_short_command_line(void **state)
{
	struct fixture *f = *state;
	char value[1001];
	struct err e = {0};

	memset(value, 'x', sizeof(value));
	value[1000] = '\0';
	memcpy(value, "root=/dev/nfs $dollar \"q\" ; ", 28);
	open_shell(f);
	if (uboot_set(&f->u, "bootargs", value, in_ms(f, 20000), &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(f->l.bootargs, value);
	assert_int_equal(uboot_set(&f->u, "bootargs", "", in_ms(f, 5000), &e), 0);
	assert_string_equal(f->l.bootargs, "");
	assert_int_equal(uboot_set(&f->u, "bootargs", "it's", in_ms(f, 5000), &e), -EINVAL);
	assert_contains(e.text, "a quote cannot be passed on");
}

static void test_a_fetched_file_must_have_its_size(void **state)
{
	static const struct {
		const char *says;
		unsigned status;
		int want;
		const char *text;
	} cases[] = {
		{"Loading: ###\r\nBytes transferred = 4096 (1000 hex)\r\n", 0, 0, ""},
		{"Bytes transferred = 40960 (a000 hex)\r\n", 0, -EREMOTEIO,
		 "got 40960 bytes, the file has 4096"},
		{"Bytes transferred = 409 (199 hex)\r\n", 0, -EREMOTEIO, "got 409 bytes"},
		{"TFTP error: 'File not found' (1)\r\nNot retrying...\r\n", 1, -EREMOTEIO,
		 "ended with status 1: 'TFTP error: 'File not found' (1)'"},
		{"\r\n", 0, -EREMOTEIO, "ended with status 0: ''"},
	};
	struct fixture *f = *state;

	open_shell(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};

		f->l.says = cases[i].says;
		f->l.status = cases[i].status;
		assert_int_equal(uboot_fetch(&f->u, "${a}", "r1/Image", 4096, in_ms(f, 5000), &e),
				 cases[i].want);
		assert_string_equal(f->l.last, "tftpboot ${a} r1/Image");
		assert_contains(e.text, cases[i].text);
	}
}

static void test_what_uboot_says_of_an_image_is_the_kernels_fault_and_the_rest_is_not(void **state)
{
	static const struct {
		const char *says;
		int want;
		enum err_kind kind;
	} cases[] = {
		{"## Flattened\r\nStarting kernel ...\r\n", 0, ERR_NONE},
		/* noise has eaten the first */
		{"Start\x80ng kernel ...\r\n[    0.000000] Linux version 6.1\r\n", 0, ERR_NONE},
		{"Bad Linux ARM64 Image magic!\r\n", -ENOEXEC, ERR_KERNEL},
		{"ERROR: Did not find a cmdline Flattened Device Tree\r\n", -EREMOTEIO, ERR_RIG},
		{"resetting ...\r\n\r\nU-Boot 2023.01\r\n", -ELOOP, ERR_RIG},
	};
	struct fixture *f = *state;

	open_shell(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};

		f->l.says = cases[i].says;
		assert_int_equal(uboot_go(&f->u, "booti 1 2 3", in_ms(f, 5000), &e), cases[i].want);
		assert_int_equal(e.kind, cases[i].kind);
	}
}

static void test_last_lines(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""}, {"\n\n", ""}, {"a", "a"}, {"a\n  b c \n\n", "b c"}, {"x\ty\n", "x?y"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char last[8];

		talk_last_line(cases[i].text, last, sizeof(last));
		assert_string_equal(last, cases[i].want);
	}
}

static void test_the_text_that_is_kept_has_a_limit(void **state)
{
	static char block[8192];
	struct fixture *f = *state;
	const char *const end[] = {"END"};
	auto_strbuf struct strbuf before = STRBUF_INIT;
	struct err e = {0};

	memset(block, 'x', sizeof(block));
	open_shell(f);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(write(f->l.fd, block, sizeof(block)), sizeof(block));
		assert_int_equal(waiter_sleep(f->w, 0, &e), 0);
		port_drain(f->port);
	}
	say(&f->l, "END");
	assert_int_equal(talk_expect(f->u.talk, end, 1, in_ms(f, 5000), &before, &e), 0);
	assert_int_equal(before.len, TALK_TEXT_MAX - 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_autoboot_is_stopped_and_the_line_is_clean),
		TEST(test_a_silent_console_and_a_missed_autoboot_are_told_apart),
		TEST(test_statuses_and_output_come_back),
		TEST(test_a_line_that_does_not_arrive_whole_is_typed_again_and_not_executed),
		TEST(test_a_line_that_never_arrives_whole_is_the_benchs_fault),
		TEST(test_a_loader_without_echo_or_hush),
		TEST(test_noise_is_met_by_asking_again),
		TEST(test_noise_on_the_first_prompts_is_met_by_asking_again),
		TEST(test_an_adapter_that_is_pulled_out_may_come_back_in_time),
		TEST(test_what_stops_in_the_boot_loader_has_its_word),
		TEST(test_long_values_pass_a_short_command_line),
		TEST(test_a_fetched_file_must_have_its_size),
		TEST(test_what_uboot_says_of_an_image_is_the_kernels_fault_and_the_rest_is_not),
		cmocka_unit_test(test_last_lines),
		TEST(test_the_text_that_is_kept_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
