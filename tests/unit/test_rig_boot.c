/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/*
 * The QEMU driver with "kernels" of a few Arm instructions: they print a letter on the console
 * and end the machine, or hang. Takes a second, needs no kernel.
 */
#include "../../controller/rig/boot.h"
#include "../../controller/rig/port.h"
#include "unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define HANG      0x14000000u /* b . */
#define POWER_OFF 0x52800100u /* mov w0, #8: PSCI SYSTEM_OFF, low half */
#define RESET     0x52800120u /* mov w0, #9: PSCI SYSTEM_RESET, low half */

/* Prints 'K', calls PSCI with the function that word picks, then hangs. */
static void write_program(const char *dir, uint32_t word)
{
	const uint32_t program[] = {
		0xd2a12001u,              /* mov x1, #0x9000000: the serial port */
		0x52800962u,              /* mov w2, #'K' */
		0xb9000022u,              /* str w2, [x1] */
		word,        0x72b08000u, /* movk w0, #0x8400, lsl #16 */
		0xd4000002u,              /* hvc #0 */
		HANG,
	};
	auto_free char *path = xasprintf("%s/image", dir);
	struct err e = {0};

	assert_int_equal(file_write_atomic(path, program, sizeof(program), &e), 0);
}

struct fixture {
	char *dir;
	char *kernel, *stick;
	struct waiter *w;
	struct rig_cfg rig;
	struct boot_cfg cfg;
	void *machine;
	struct strbuf console;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	f->w = waiter_new(NULL);
	f->kernel = xasprintf("%s/image", f->dir);
	/* a comma in the path must not become an option */
	f->stick = xasprintf("%s/stick,read-only=off.img", f->dir);
	unit_write(f->dir, "stick,read-only=off.img", "");
	assert_int_equal(truncate(f->stick, 1 << 20), 0);
	unit_write(f->dir, "initrd", "x");
	f->rig = (struct rig_cfg){
		.path = xstrdup("r1.yaml"),
		.name = xstrdup("r1"),
		.arch = xstrdup("arm64"),
		.boot.driver = xstrdup("qemu"),
		.boot.machine = xstrdup("virt"),
		.boot.cpu = xstrdup("cortex-a57"),
		.boot.cpus = 1,
		.boot.memory_mib = 128,
		.link.driver = xstrdup("virtio-serial"),
		.stick_switch.name = xstrdup("stick0"),
		.stick_switch.port = 1,
		.stick.serial = xstrdup("S1"),
	};
	f->cfg = (struct boot_cfg){
		.rig = &f->rig,
		.kernel = f->kernel,
		.initrd = xasprintf("%s/initrd", f->dir),
		.stick = f->stick,
		.command_line = "quiet",
		.run_dir = f->dir,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char *const owned[] = {f->rig.path,         f->rig.name,       f->rig.arch,
			       f->rig.boot.machine, f->rig.boot.cpu,   f->rig.stick_switch.name,
			       f->rig.stick.serial, f->kernel,         f->stick,
			       f->rig.boot.driver,  f->rig.link.driver};

	if (f->machine)
		boot_qemu_ops.close(f->machine);
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	free((char *)(uintptr_t)f->cfg.initrd);
	strbuf_release(&f->console);
	waiter_free(f->w);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static void start(struct fixture *f)
{
	struct err e = {0};

	if (boot_qemu_ops.start(f->w, &f->cfg, &f->machine, &e) < 0)
		fail_msg("%s", e.text);
}

static bool has_ended(void *self)
{
	struct fixture *f = self;

	return boot_qemu_ops.state(f->machine, NULL) != BOOT_RUNS;
}

static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)t_host_ns;
	strbuf_add(&((struct fixture *)self)->console, bytes, n);
}

static bool has_console(void *self)
{
	return ((struct fixture *)self)->console.len > 0;
}

static nsec_t soon(const struct fixture *f)
{
	return waiter_now(f->w) + 20 * NSEC_PER_SEC;
}

static void test_a_machine_that_ends_itself_says_how(void **state)
{
	static const struct {
		uint32_t word;
		const char *how;
	} cases[] = {{POWER_OFF, "the target powered off"},
		     {RESET, "the target's kernel reset the machine"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *how = NULL;
		struct fixture *f;
		struct port *port = NULL;
		struct err e = {0};

		if (i) {
			(void)teardown(state);
			(void)setup(state);
		}
		f = *state;
		write_program(f->dir, cases[i].word);
		start(f);
		assert_int_equal(boot_qemu_ops.state(f->machine, &how), BOOT_RUNS);
		assert_null(how);
		assert_int_equal(port_open_fd(f->w, boot_qemu_ops.console_fd(f->machine),
					      on_console, f, &port, &e),
				 0);
		/* nothing runs before run() */
		assert_int_equal(waiter_sleep(f->w, 20 * NSEC_PER_MSEC, &e), 0);
		assert_int_equal(f->console.len, 0);
		assert_int_equal(boot_qemu_ops.run(f->machine, NULL, soon(f), &e), 0);
		assert_int_equal(waiter_until(f->w, soon(f), has_ended, f, &e), 1);

		assert_int_equal(boot_qemu_ops.state(f->machine, &how), BOOT_ENDED_BY_TARGET);
		assert_contains(how, cases[i].how);
		/* the last byte of a machine that is gone */
		port_drain(port);
		assert_string_equal(strbuf_str(&f->console), "K");
		port_close(port);
	}
}

static void test_a_machine_that_hangs_is_stopped(void **state)
{
	struct fixture *f = *state;
	struct port *port = NULL;
	auto_free char *how = NULL;
	struct err e = {0};

	write_program(f->dir, HANG);
	start(f);
	assert_int_equal(
		port_open_fd(f->w, boot_qemu_ops.console_fd(f->machine), on_console, f, &port, &e),
		0);
	assert_int_equal(boot_qemu_ops.run(f->machine, NULL, soon(f), &e), 0);
	assert_int_equal(waiter_until(f->w, soon(f), has_console, f, &e), 1);
	assert_false(has_ended(f));

	boot_qemu_ops.stop(f->machine);
	assert_int_equal(boot_qemu_ops.state(f->machine, &how), BOOT_ENDED);
	assert_contains(how, "QEMU was ended (host-qmp-quit)");
	port_close(port);
}

static void test_the_stick_of_a_machine_can_be_switched(void **state)
{
	struct fixture *f = *state;
	const struct switch_ops *ops = NULL;
	struct switch_change change = {0};
	struct err e = {0};
	void *self = NULL;

	write_program(f->dir, HANG);
	start(f);
	assert_true(boot_qemu_ops.make_switch(f->machine, &ops, &self));
	assert_int_equal(ops->sense(self), SWITCH_OFF);
	if (ops->set(self, SWITCH_ON, soon(f), &change, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(ops->sense(self), SWITCH_ON);
	assert_int_equal(ops->set(self, SWITCH_OFF, soon(f), &change, &e), 0);
	assert_int_equal(ops->sense(self), SWITCH_OFF);
	ops->close(self);
}

static void test_the_reason_of_a_failed_start_is_qemus_last_line(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	write_program(f->dir, HANG);
	free(f->rig.boot.machine);
	f->rig.boot.machine = xstrdup("toaster");
	assert_int_equal(boot_qemu_ops.start(f->w, &f->cfg, &f->machine, &e), -ECHILD);
	assert_null(f->machine);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "machine 'toaster', cpu 'cortex-a57': exit status 1: ");
	assert_contains(e.text, "unsupported machine type");
	assert_contains(e.text, "qemu.log");
}

static void test_a_missing_qemu_is_named_with_its_package(void **state)
{
	static const char *const archs[][2] = {{"arm64", "qemu-system-arm is needed"},
					       {"x86_64", "qemu-system-x86 is needed"}};
	struct fixture *f = *state;
	auto_free char *path = xstrdup(getenv("PATH"));

	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		struct err e = {0};
		int r;

		free(f->rig.arch);
		f->rig.arch = xstrdup(archs[i][0]);
		assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
		r = boot_qemu_ops.check(f->w, &f->rig, &e);
		assert_int_equal(setenv("PATH", path, 1), 0);
		assert_int_equal(r, -ENOENT);
		assert_int_equal(e.kind, ERR_RIG);
		assert_contains(e.text, archs[i][1]);
	}
}

static void test_a_killed_qemu_is_told_from_a_target_that_ended(void **state)
{
	struct fixture *f = *state;
	auto_free char *how = NULL;
	struct err e = {0};
	pid_t pid = -1;
	char line[64] = "";
	auto_free char *path = xasprintf("/proc/self/task/%d/children", getpid());
	FILE *children;

	write_program(f->dir, HANG);
	start(f);
	children = fopen(path, "re");
	assert_non_null(children);
	assert_non_null(fgets(line, sizeof(line), children));
	(void)fclose(children);
	pid = (pid_t)strtol(line, NULL, 10);
	assert_true(pid > 1);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waiter_until(f->w, soon(f), has_ended, f, &e), 1);
	assert_int_equal(boot_qemu_ops.state(f->machine, &how), BOOT_ENDED);
	assert_contains(how, "QEMU ended by itself: killed by signal 9 (Killed)");
	/* nothing to do any more */
	boot_qemu_ops.stop(f->machine);
}

static void test_qemu_does_not_outlive_a_controller_that_is_killed(void **state)
{
	struct fixture *f = *state;
	int status = 0;
	char byte = 0;
	pid_t pid;
	int p[2];

	write_program(f->dir, HANG);
	/* orphans of the process below come to this one */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe(p), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (boot_qemu_ops.start(f->w, &f->cfg, &f->machine, NULL) == 0 &&
		    boot_qemu_ops.run(f->machine, NULL, 0, NULL) == 0)
			(void)!write(p[1], "x", 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);

	pid = waitpid(-1, &status, 0);
	assert_true(pid > 1);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	close(p[0]);
	close(p[1]);
}

static void test_drivers_are_found_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(boot_find("qemu"), &boot_qemu_ops);
	assert_ptr_equal(boot_find("uboot"), &boot_uboot_ops);
	assert_null(boot_find("u-boot"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_machine_that_ends_itself_says_how),
		TEST(test_a_machine_that_hangs_is_stopped),
		TEST(test_the_stick_of_a_machine_can_be_switched),
		TEST(test_the_reason_of_a_failed_start_is_qemus_last_line),
		TEST(test_a_missing_qemu_is_named_with_its_package),
		TEST(test_a_killed_qemu_is_told_from_a_target_that_ended),
		TEST(test_qemu_does_not_outlive_a_controller_that_is_killed),
		cmocka_unit_test(test_drivers_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
