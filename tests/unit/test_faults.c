/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/* Faults on purpose of the console and of boots, and the words for all of them. */
#include "../../controller/rig/boot_fault.h"
#include "../../controller/rig/port_fault.h"
#include "base/strbuf.h"
#include "jump_clock.h"
#include "unit.h"

#include <string.h>
#include <sys/socket.h>

#define ROUNDS 200

struct fixture {
	nsec_t now;
	struct waiter *w;
	int far; /* the target's end of the console */
	struct port *port;
	struct rig_faults faults;
	struct rng rng;
	struct port_fault *fault;
	struct boot_fault *boot_fault;
	unsigned stops; /* of the machine, by a fault of its boot */
	struct strbuf got;
	nsec_t got_ns; /* when the last bytes came */
};

static void on_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	struct fixture *f = self;

	strbuf_add(&f->got, bytes, n);
	f->got_ns = t_host_ns;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	const struct waiter_ops ops = {
		.now = jump_clock_now, .poll = jump_clock_poll, .self = &f->now};
	struct err e = {0};
	int pair[2];

	f->now = NSEC_PER_SEC;
	f->w = waiter_new(&ops);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	f->far = pair[0];
	assert_int_equal(port_open_fd(f->w, pair[1], on_bytes, f, &f->port, &e), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	port_fault_free(f->fault);
	boot_fault_free(f->boot_fault);
	port_close(f->port);
	close(f->far);
	waiter_free(f->w);
	strbuf_release(&f->got);
	free(f);
	return 0;
}

static void inject(struct fixture *f, const char *text)
{
	struct err e = {0};

	if (rig_faults_parse(text, &f->faults, &e) < 0)
		fail_msg("%s", e.text);
	rng_init(&f->rng, f->faults.console.seed);
	f->fault = port_fault_new(f->port, &f->faults.console, &f->rng, f->w);
}

static void say(struct fixture *f, const char *text)
{
	struct err e = {0};

	assert_int_equal(write(f->far, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(waiter_sleep(f->w, NSEC_PER_MSEC, &e), 0);
}

static void test_without_a_fault_every_byte_comes(void **state)
{
	struct fixture *f = *state;

	inject(f, "seed=1");
	say(f, "one\r\n");
	say(f, "two\r\n");
	assert_string_equal(strbuf_str(&f->got), "one\r\ntwo\r\n");
	assert_true(port_is_connected(f->port, NULL));
}

static void test_short_loses_the_end_of_what_came(void **state)
{
	static const char text[] = "workqueue: DELAY 123\r\n";
	struct fixture *f = *state;
	size_t lost = 0;

	inject(f, "console.short=1,seed=2");
	for (int i = 0; i < ROUNDS; i++) {
		strbuf_reset(&f->got);
		say(f, text);
		assert_true(f->got.len < strlen(text));
		assert_memory_equal(strbuf_str(&f->got), text, f->got.len);
		lost += strlen(text) - f->got.len;
	}
	assert_in_range(lost, ROUNDS, ROUNDS * (strlen(text) - 1));
}

static void test_late_keeps_the_order(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};
	nsec_t said_ns;

	inject(f, "console.late=1,console.late_ms=50,seed=3");
	said_ns = f->now;
	say(f, "one ");
	f->faults.console.late = 0;
	say(f, "two ");
	assert_int_equal(f->got.len, 0);
	assert_int_equal(waiter_sleep(f->w, 100 * NSEC_PER_MSEC, &e), 0);
	assert_string_equal(strbuf_str(&f->got), "one two ");
	assert_in_range(f->got_ns - said_ns, 50 * NSEC_PER_MSEC, 60 * NSEC_PER_MSEC);
	say(f, "three");
	assert_string_equal(strbuf_str(&f->got), "one two three");
}

static void test_what_is_late_at_the_end_is_not_lost(void **state)
{
	struct fixture *f = *state;

	inject(f, "console.late=1,seed=4");
	say(f, "last words");
	port_fault_free(take(f->fault));
	assert_string_equal(strbuf_str(&f->got), "last words");
}

static void test_late_has_a_limit(void **state)
{
	static char block[8192];
	struct fixture *f = *state;
	size_t said = 0;

	memset(block, 'x', sizeof(block) - 1);
	inject(f, "console.late=1,console.late_ms=600000,seed=5");
	/* the clock stands still nearly: nothing is due */
	while (said <= 1u << 20) {
		assert_int_equal(f->got.len, 0);
		say(f, block);
		said += sizeof(block) - 1;
	}
	assert_int_equal(f->got.len, said);
}

static void test_a_lie_is_one_bit(void **state)
{
	static const char text[] = "0123456789";
	struct fixture *f = *state;

	inject(f, "console.lie=1,seed=6");
	for (int i = 0; i < ROUNDS; i++) {
		unsigned bits = 0;

		strbuf_reset(&f->got);
		say(f, text);
		assert_int_equal(f->got.len, strlen(text));
		for (size_t k = 0; k < f->got.len; k++)
			bits += (unsigned)__builtin_popcount(
				(unsigned char)(f->got.data[k] ^ text[k]));
		assert_int_equal(bits, 1);
	}
}

static void test_a_stuck_console_stays_stuck(void **state)
{
	struct fixture *f = *state;

	inject(f, "console.stuck=1,seed=7");
	say(f, "one");
	f->faults.console.stuck = 0;
	say(f, "two");
	assert_int_equal(f->got.len, 0);
	assert_true(port_is_connected(f->port, NULL));
}

static void test_a_flood_comes_behind(void **state)
{
	struct fixture *f = *state;

	inject(f, "console.flood=1,seed=8");
	say(f, "one");
	assert_int_equal(f->got.len, 3 + PORT_FLOOD_BYTES);
	assert_memory_equal(f->got.data, "one", 3);
}

static void test_fail_takes_the_port_away(void **state)
{
	struct fixture *f = *state;
	const char *why = NULL;

	inject(f, "console.fail=1,seed=9");
	say(f, "one");
	assert_string_equal(strbuf_str(&f->got), "one");
	assert_false(port_is_connected(f->port, &why));
	assert_string_equal(why, "injected fault: the adapter is gone");
	assert_int_equal(port_stats(f->port)->losses, 1);
}

static void test_the_seed_decides(void **state)
{
	struct fixture *f = *state;
	uint64_t seen[3] = {0};

	inject(f, "console.short=0.5,seed=42");
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
		rng_init(&f->rng, i == 2 ? 43 : 42);
		for (int bit = 0; bit < 64; bit++) {
			strbuf_reset(&f->got);
			say(f, "12345678");
			seen[i] |= (uint64_t)(f->got.len < 8) << bit;
		}
	}
	assert_true(seen[0] == seen[1]);
	assert_true(seen[0] != seen[2]);
	assert_in_range(__builtin_popcountll(seen[0]), 16, 48);
}

static void on_stop(void *self)
{
	((struct fixture *)self)->stops++;
}

static int meet(struct fixture *f, const char *text, nsec_t deadline_ns, struct err *e)
{
	const struct boot_fault_io io = {.w = f->w, .port = f->port, .stop = on_stop, .self = f};

	boot_fault_free(take(f->boot_fault));
	if (rig_faults_parse(text, &f->faults, e) < 0)
		fail_msg("%s", e->text);
	rng_init(&f->rng, f->faults.boot.seed);
	return boot_fault_meet(&f->faults.boot, &f->rng, &io, deadline_ns, &f->boot_fault, e);
}

static void test_a_boot_fails_hangs_or_comes_late(void **state)
{
	struct fixture *f = *state;
	const nsec_t began_ns = f->now;
	struct err e = {0};

	assert_int_equal(meet(f, "boot.fail=1", NSEC_FOREVER, &e), -EIO);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "injected fault: the power does not come");

	assert_int_equal(meet(f, "boot.late=1,boot.late_ms=70", NSEC_FOREVER, &e), 0);
	assert_int_equal(f->now - began_ns, 70 * NSEC_PER_MSEC);

	assert_int_equal(meet(f, "boot.stuck=1", began_ns + NSEC_PER_SEC, &e), -ETIMEDOUT);
	assert_int_equal(e.kind, ERR_RIG);
	assert_int_equal(f->now - began_ns, NSEC_PER_SEC);
}

static void test_the_power_of_a_short_boot_goes_again(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	assert_int_equal(meet(f, "boot.short=1,boot.late_ms=70", NSEC_FOREVER, &e), 0);
	assert_int_equal(waiter_sleep(f->w, 69 * NSEC_PER_MSEC, &e), 0);
	assert_int_equal(f->stops, 0);
	assert_int_equal(waiter_sleep(f->w, 2 * NSEC_PER_MSEC, &e), 0);
	assert_int_equal(f->stops, 1);
	/* a boot that is over is not cut */
	assert_int_equal(meet(f, "boot.short=1,boot.late_ms=70", NSEC_FOREVER, &e), 0);
	boot_fault_free(take(f->boot_fault));
	assert_int_equal(waiter_sleep(f->w, NSEC_PER_SEC, &e), 0);
	assert_int_equal(f->stops, 1);
}

static void test_a_boot_lies_about_its_kernel(void **state)
{
	static const char banner[] = "[    0.000000] Linux LLinux version 6.1.0-9-arm64 (gcc)\r\n";
	struct fixture *f = *state;
	struct err e = {0};

	/* however the bytes come */
	for (size_t cut = 0; cut < strlen(banner); cut++) {
		auto_free char *head = strndup(banner, cut);

		strbuf_reset(&f->got);
		assert_int_equal(meet(f, "boot.lie=1", NSEC_FOREVER, &e), 0);
		if (cut)
			say(f, head);
		say(f, banner + cut);
		assert_string_equal(strbuf_str(&f->got),
				    "[    0.000000] Linux LLinux version 7.1.0-9-arm64 (gcc)\r\n");
	}
	boot_fault_free(take(f->boot_fault));
	strbuf_reset(&f->got);
	say(f, banner);
	assert_string_equal(strbuf_str(&f->got), banner);
}

static void test_noise_comes_before_a_boot(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	assert_int_equal(meet(f, "boot.flood=1", NSEC_FOREVER, &e), 0);
	say(f, "one");
	say(f, "two");
	assert_int_equal(f->got.len, PORT_FLOOD_BYTES + 6);
	assert_memory_equal(f->got.data + PORT_FLOOD_BYTES, "onetwo", 6);
}

static void test_fault_texts_are_read_exactly(void **state)
{
	struct rig_faults got;
	struct err e = {0};
	static const struct {
		const char *text;
		const char *want;
	} wrong[] = {
		{"", "'' is not KEY=VALUE"},
		{"lie", "'lie' is not KEY=VALUE"},
		{"lie=1,", "'' is not KEY=VALUE"},
		{"lie=2", "lie: '2' is no number from 0 to 1"},
		{"lie=-1", "lie: '-1' is no number"},
		{"lie=1e0", "lie: '1e0' is no number"},
		{"lie=", "lie: '' is no number"},
		{"lie=nan", "lie: 'nan' is no number"},
		{"fail=1.0.0", "fail: '1.0.0' is no number"},
		{"late_ms=600001", "late_ms: 600001 is outside"},
		{"seed=x", "seed: 'x' is not a decimal number"},
		{"lies=1", "'lies' is none of"},
		{"console.short=1.1", "console.short: '1.1' is no number from 0 to 1"},
		{"console.late_ms=-1", "console.late_ms: '-1'"},
		{"boot.lies=1", "'boot.lies' is none of"},
		{"short_ms=1", "'short_ms' is none of"},
		{"console.=1", "'console.' is none of"},
		{"seed=0000000000000000000000000000000000000000000000000000000000000000001",
		 "is too long"},
	};

	(void)state;
	assert_int_equal(rig_faults_parse("lie=1.0,late=0.25,late_ms=600000,fail=.5,seed=42,"
					  "console.short=0.1,boot.late=1,boot.late_ms=3",
					  &got, &e),
			 0);
	assert_true(got.stick_switch.lie == 1.0 && got.stick_switch.late == 0.25 &&
		    got.stick_switch.fail == 0.5);
	assert_int_equal(got.stick_switch.late_ns, 600 * NSEC_PER_SEC);
	assert_int_equal(got.stick_switch.seed, 42);
	assert_true(got.console.shorn == 0.1 && got.console.late == 0 && got.boot.late == 1);
	assert_int_equal(got.boot.late_ns, 3 * NSEC_PER_MSEC);
	assert_int_equal(got.console.late_ns, 500 * NSEC_PER_MSEC);
	assert_true(got.console.seed != got.boot.seed);
	/* the same words for each of the three */
	assert_int_equal(
		rig_faults_parse("fail=.1,lie=.2,late=.3,short=.4,stuck=.5,flood=.6,"
				 "console.fail=.1,console.lie=.2,console.late=.3,console.short=.4,"
				 "console.stuck=.5,console.flood=.6,boot.fail=.1,boot.lie=.2,"
				 "boot.late=.3,boot.short=.4,boot.stuck=.5,boot.flood=.6",
				 &got, &e),
		0);
	assert_true(got.stick_switch.shorn == .4 && got.stick_switch.stuck == .5 &&
		    got.stick_switch.flood == .6);
	assert_true(got.console.fail == .1 && got.console.lie == .2 && got.console.late == .3 &&
		    got.console.shorn == .4 && got.console.stuck == .5 && got.console.flood == .6);
	assert_true(got.boot.fail == .1 && got.boot.lie == .2 && got.boot.late == .3 &&
		    got.boot.shorn == .4 && got.boot.stuck == .5 && got.boot.flood == .6);

	assert_int_equal(rig_faults_parse("late=1", &got, &e), 0);
	assert_int_equal(got.stick_switch.late_ns, 500 * NSEC_PER_MSEC);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		got.stick_switch.seed = 99;
		if (rig_faults_parse(wrong[i].text, &got, &e) >= 0)
			fail_msg("accepted: %s", wrong[i].text);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, wrong[i].want);
		assert_int_equal(got.stick_switch.seed, 99);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_fault_every_byte_comes),
		TEST(test_short_loses_the_end_of_what_came),
		TEST(test_late_keeps_the_order),
		TEST(test_what_is_late_at_the_end_is_not_lost),
		TEST(test_late_has_a_limit),
		TEST(test_a_lie_is_one_bit),
		TEST(test_a_stuck_console_stays_stuck),
		TEST(test_a_flood_comes_behind),
		TEST(test_fail_takes_the_port_away),
		TEST(test_the_seed_decides),
		TEST(test_a_boot_fails_hangs_or_comes_late),
		TEST(test_the_power_of_a_short_boot_goes_again),
		TEST(test_a_boot_lies_about_its_kernel),
		TEST(test_noise_comes_before_a_boot),
		TEST(test_fault_texts_are_read_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
