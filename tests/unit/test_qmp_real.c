/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/* QMP and its switch against a real QEMU whose CPUs never run: no kernel is needed. */
#include "../../controller/rig/switch_qmp.h"
#include "base/child.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

struct fixture {
	struct waiter *w;
	struct child *child;
	int fd;
	struct qmp *q;
	char *dir;
};

static nsec_t soon(const struct fixture *f)
{
	return waiter_now(f->w) + 10 * NSEC_PER_SEC;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	auto_free char *image = NULL;
	auto_free char *chardev = NULL;
	auto_free char *blockdev = NULL;
	auto_free char *second = NULL;
	struct err e = {0};
	int p[2];

	f->w = waiter_new(NULL);
	f->dir = unit_tmpdir();
	image = xasprintf("%s/stick.img", f->dir);
	unit_write(f->dir, "stick.img", "");
	assert_int_equal(truncate(image, 1 << 20), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	assert_int_equal(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(p[1], F_SETFD, 0), 0);
	f->fd = p[0];
	chardev = xasprintf("socket,id=qmp,fd=%d", p[1]);
	blockdev = xasprintf("driver=raw,node-name=stick,read-only=on,file.driver=file,"
			     "file.filename=%s,file.read-only=on",
			     image);
	second = xasprintf("driver=raw,node-name=second,read-only=on,file.driver=file,"
			   "file.filename=%s,file.read-only=on",
			   image);
	const char *const argv[] = {"qemu-system-x86_64",
				    "-nodefaults",
				    "-display",
				    "none",
				    "-S",
				    "-M",
				    "q35",
				    "-accel",
				    "tcg",
				    "-chardev",
				    chardev,
				    "-mon",
				    "chardev=qmp,mode=control",
				    "-device",
				    "qemu-xhci,id=xhci,p2=15,p3=15",
				    "-device",
				    "pcie-root-port,id=rp,chassis=1,slot=1",
				    "-device",
				    "virtio-rng-pci,id=rng,bus=rp",
				    "-blockdev",
				    blockdev,
				    "-blockdev",
				    second,
				    NULL};
	const struct child_cfg cfg = {
		.argv = argv,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = STDERR_FILENO,
		.dies_with_parent = true,
	};

	if (child_start(&cfg, &f->child, &e) < 0)
		fail_msg("%s", e.text);
	close(p[1]);
	if (qmp_open(f->w, f->fd, soon(f), &f->q, &e) < 0)
		fail_msg("%s", e.text);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	qmp_close(f->q);
	child_free(f->child);
	close(f->fd);
	waiter_free(f->w);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static struct stick_switch *new_switch(struct fixture *f, const char *port)
{
	const struct switch_qmp_cfg cfg = {.devices = {{.id = "stick0",
							.driver = "usb-storage",
							.bus = "xhci.0",
							.port = port,
							.node = "stick",
							.serial = "S1"}},
					   .n = 1};
	const struct switch_limits limits = {0};

	return switch_new("stick0", &switch_qmp_ops, switch_qmp_new(f->q, &cfg, f->w), &limits,
			  f->w);
}

static void test_a_stick_goes_out_and_in_again_and_sense_follows(void **state)
{
	struct fixture *f = *state;
	struct stick_switch *sw = new_switch(f, "1");
	struct err e = {0};

	assert_int_equal(switch_get(sw), SWITCH_OFF);
	assert_int_equal(switch_sense(sw), SWITCH_OFF);
	for (int i = 0; i < 5; i++) {
		struct switch_change on = {0}, off = {0};

		/* at once after the last cut: its id may still be in use */
		if (switch_set(sw, SWITCH_ON, soon(f), &on, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(switch_sense(sw), SWITCH_ON);
		assert_true(on.applied_ns >= on.asked_ns);
		if (switch_set(sw, SWITCH_OFF, soon(f), &off, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(switch_sense(sw), SWITCH_OFF);
		assert_true(off.is_sensed);
		assert_true(off.asked_ns > on.applied_ns && off.applied_ns > off.asked_ns);
		assert_int_equal(qmp_find_event(f->q, 0, "DEVICE_DELETED", "stick0") != NULL, 1);
	}
	assert_int_equal(switch_cycles(sw), 5);
	switch_close(sw);
}

static void test_the_stick_comes_back_on_the_same_port(void **state)
{
	struct fixture *f = *state;
	struct stick_switch *sw = new_switch(f, "3");
	struct err e = {0};

	for (int i = 0; i < 2; i++) {
		json_t *port = NULL;

		assert_int_equal(switch_set(sw, SWITCH_ON, soon(f), NULL, &e), 0);
		assert_int_equal(
			qmp_execute(f->q, soon(f), "qom-get",
				    json_pack("{s:s, s:s}", "path", "/machine/peripheral/stick0",
					      "property", "port"),
				    &port, &e),
			0);
		assert_string_equal(json_string_value(port), "3");
		json_decref(port);
		assert_int_equal(switch_set(sw, SWITCH_OFF, soon(f), NULL, &e), 0);
	}
	switch_close(sw);
}

static void test_what_qemu_refuses_is_an_error_with_its_words(void **state)
{
	struct fixture *f = *state;
	struct stick_switch *sw = new_switch(f, "16");
	struct err e = {0};

	/* the controller of this machine has fewer ports */
	assert_int_equal(switch_set(sw, SWITCH_ON, soon(f), NULL, &e), -EIO);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "switch 'stick0' on: QMP device_add: ");
	assert_contains(e.text, "port");
	assert_int_equal(switch_sense(sw), SWITCH_OFF);
	switch_close(sw);

	assert_int_equal(qmp_execute(f->q, soon(f), "device_del", json_pack("{s:s}", "id", "nope"),
				     NULL, &e),
			 -ENODEV);
	assert_contains(e.text, "nope");
	assert_int_equal(qmp_execute(f->q, soon(f), "no-such-command", NULL, NULL, &e), -EIO);
	assert_contains(e.text, "no-such-command");
}

static void test_a_cut_that_the_guest_must_allow_is_not_complete_without_it(void **state)
{
	struct fixture *f = *state;
	/* PCIe hot-unplug needs a running guest: the reply comes, DEVICE_DELETED does not */
	const struct switch_qmp_cfg cfg = {
		.devices = {{.id = "rng", .driver = "virtio-rng-pci", .bus = "rp", .port = "1"}},
		.n = 1};
	void *self = switch_qmp_new(f->q, &cfg, f->w);
	struct switch_change change = {0};
	struct err e = {0};

	assert_int_equal(switch_qmp_ops.set(self, SWITCH_OFF,
					    waiter_now(f->w) + 200 * NSEC_PER_MSEC, &change, &e),
			 -ETIMEDOUT);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "no DEVICE_DELETED for 'rng' in time");
	assert_int_equal(change.applied_ns, 0);
	assert_int_equal(switch_qmp_ops.get(self), SWITCH_UNKNOWN);
	assert_int_equal(switch_qmp_ops.sense(self), SWITCH_ON);
	switch_qmp_ops.close(self);
}

static void test_the_death_of_qemu_is_noticed_by_who_waits(void **state)
{
	struct fixture *f = *state;
	struct stick_switch *sw = new_switch(f, "1");
	struct err e = {0};

	assert_int_equal(switch_set(sw, SWITCH_ON, soon(f), NULL, &e), 0);
	child_kill(f->child, SIGKILL);
	assert_int_equal(switch_set(sw, SWITCH_OFF, soon(f), NULL, &e), -EPIPE);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "QEMU closed its control socket");
	assert_int_equal(switch_sense(sw), SWITCH_UNKNOWN);
	switch_close(sw);
}

static bool is_there(struct fixture *f, const char *id)
{
	struct err e = {0};
	json_t *list = NULL;
	json_t *item;
	bool found = false;
	size_t i;

	assert_int_equal(qmp_execute(f->q, soon(f), "qom-list",
				     json_pack("{s:s}", "path", "/machine/peripheral"), &list, &e),
			 0);
	json_array_foreach(list, i, item) found |=
		strcmp(json_string_value(json_object_get(item, "name")), id) == 0;
	json_decref(list);
	return found;
}

/* Behind a hub: with the hub all goes that is behind it, and what is not stays. */
static void test_a_cut_takes_what_is_behind_it_and_no_more(void **state)
{
	static const struct {
		size_t cut;
		const char *third; /* port of the second stick */
		bool stays[3];     /* hub, stick, the second stick */
	} cases[] = {
		{1, "1.3", {true, false, true}},
		{1, "2", {true, false, true}},
		{0, "1.3", {false, false, false}},
		/* not behind it, though its number begins alike */
		{0, "12", {false, false, true}},
	};
	static const char *const ids[] = {"hub", "stick0", "stick1"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct switch_qmp_cfg cfg = {.devices = {{.id = "hub",
								.driver = "usb-hub",
								.bus = "xhci.0",
								.port = "1"},
							       {.id = "stick0",
								.driver = "usb-storage",
								.bus = "xhci.0",
								.port = "1.2",
								.node = "stick",
								.serial = "S1"},
							       {.id = "stick1",
								.driver = "usb-storage",
								.bus = "xhci.0",
								.port = cases[i].third,
								.node = "second",
								.serial = "S2"}},
						   .n = 3,
						   .cut = cases[i].cut};
		void *self = switch_qmp_new(f->q, &cfg, f->w);

		for (unsigned round = 0; round < 2; round++) {
			struct switch_change change = {0};
			struct err e = {0};

			if (switch_qmp_ops.set(self, SWITCH_ON, soon(f), &change, &e) < 0)
				fail_msg("case %zu: %s", i, e.text);
			for (size_t k = 0; k < 3; k++)
				assert_true(is_there(f, ids[k]));
			if (switch_qmp_ops.set(self, SWITCH_OFF, soon(f), &change, &e) < 0)
				fail_msg("case %zu: %s", i, e.text);
			assert_true(change.is_sensed);
			for (size_t k = 0; k < 3; k++)
				assert_int_equal(is_there(f, ids[k]), cases[i].stays[k]);
		}
		switch_qmp_ops.close(self);
		/* what stayed goes by hand before the next case */
		for (size_t k = 3; k-- > 0;)
			if (is_there(f, ids[k])) {
				struct err e = {0};

				assert_int_equal(qmp_execute(f->q, soon(f), "device_del",
							     json_pack("{s:s}", "id", ids[k]), NULL,
							     &e),
						 0);
				while (is_there(f, ids[k]))
					assert_int_equal(waiter_sleep(f->w, NSEC_PER_MSEC, &e), 0);
			}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_stick_goes_out_and_in_again_and_sense_follows),
		TEST(test_a_cut_takes_what_is_behind_it_and_no_more),
		TEST(test_the_stick_comes_back_on_the_same_port),
		TEST(test_what_qemu_refuses_is_an_error_with_its_words),
		TEST(test_a_cut_that_the_guest_must_allow_is_not_complete_without_it),
		TEST(test_the_death_of_qemu_is_noticed_by_who_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
