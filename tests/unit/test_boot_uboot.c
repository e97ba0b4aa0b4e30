/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/*
 * The U-Boot driver with the real U-Boot in QEMU and "kernels" of a few Arm instructions, which say
 * what a kernel would say and then hang, reset or power off: every way in which a boot can stop.
 */
#include "../../controller/rig/boot.h"
#include "unit.h"

#include <sys/socket.h>

#define FIRMWARE "/usr/lib/u-boot/qemu_arm64/u-boot.bin"

#define HANG      0x14000000u /* b . */
#define POWER_OFF 0x52800100u /* mov w0, #8: PSCI SYSTEM_OFF, low half */
#define RESET     0x52800120u /* mov w0, #9: PSCI SYSTEM_RESET, low half */

#define TEXT_AT 128 /* of the image */

/*
 * An arm64 Image (Documentation/arm64/booting.rst) that prints text on the PL011 and then does what
 * the instruction says.
 */
static void write_image(const char *path, const char *text, uint32_t end)
{
	uint32_t words[TEXT_AT / 4] = {
		[0] = 0x14000010u,  /* b code, at 64 */
		[4] = 65536,        /* image_size */
		[6] = 0xa,          /* flags: little-endian, 4 KiB pages, anywhere */
		[14] = 0x644d5241u, /* "ARM\x64" */
		/* 64: */
		[16] = 0xd2a12002u, /* mov x2, #0x9000000: the serial port */
		[17] = 0x100001e0u, /* adr x0, . + 60: the text */
		[18] = 0x38401401u, /* ldrb w1, [x0], #1 */
		[19] = 0x34000061u, /* cbz w1, . + 12 */
		[20] = 0xb9000041u, /* str w1, [x2] */
		[21] = 0x17fffffdu, /* b . - 12 */
		[22] = end,
		[23] = 0x72b08000u, /* movk w0, #0x8400, lsl #16 */
		[24] = 0xd4000002u, /* hvc #0 */
		[25] = HANG,
	};
	static char image[4096];
	struct err e = {0};

	memset(image, 0, sizeof(image));
	memcpy(image, words, sizeof(words));
	assert_true(strlen(text) < sizeof(image) - TEXT_AT);
	memcpy(image + TEXT_AT, text, strlen(text));
	assert_int_equal(file_write_atomic(path, image, sizeof(image), &e), 0);
}

struct fixture {
	char *dir;
	char *kernel, *initrd, *stick;
	struct waiter *w;
	struct rig_cfg rig;
	struct uboot_cfg uboot;
	char *commands[2];
	struct kernel_build build;
	struct boot_cfg cfg;
	void *machine;
	struct port *port;
	struct strbuf console;
	struct noise {
		bool is_on;
		int near[2];         /* between the port and the machine: ours, the port's */
		struct strbuf clean; /* what the machine really said */
		unsigned n_in, n_out, n_spoilt;
	} noise;
};

static char *text(const char *literal)
{
	return (char *)(uintptr_t)literal;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = unit_tmpdir();
	f->w = waiter_new(NULL);
	f->kernel = xasprintf("%s/image", f->dir);
	f->initrd = xasprintf("%s/initrd.in", f->dir);
	f->stick = xasprintf("%s/stick.img", f->dir);
	unit_write(f->dir, "stick.img", "");
	assert_int_equal(truncate(f->stick, 1 << 20), 0);
	unit_write(f->dir, "initrd.in", "not looked at by these kernels");
	f->commands[0] = text("setenv autoload no");
	f->commands[1] = text("dhcp");
	f->uboot = (struct uboot_cfg){
		.firmware = text(FIRMWARE),
		.prompt = text("=> "),
		.autoboot = text("stop autoboot"),
		.stop_key = text(" "),
		.catch_s = 120,
		.commands = f->commands,
		.commands_count = 2,
		.fetch = text("tftpboot"),
		.folder = xasprintf("%s/tftp,root", f->dir),
		.image = text("booti"),
		.kernel_addr = text("${kernel_addr_r}"),
		.initrd_addr = text("${ramdisk_addr_r}"),
		.dtb_addr = text("${fdtcontroladdr}"),
	};
	f->rig = (struct rig_cfg){
		.path = text("r1.yaml"),
		.name = text("r1"),
		.arch = text("arm64"),
		.boot.driver = text("uboot"),
		.boot.machine = text("virt"),
		.boot.cpu = text("cortex-a57"),
		.boot.cpus = 1,
		.boot.memory_mib = 256,
		.boot.uboot = &f->uboot,
		.console.driver = text("socket"),
		.link.driver = text("console"),
		.stick_switch.name = text("stick0"),
		.stick_switch.port = 1,
		.stick.serial = text("S1"),
	};
	f->build = (struct kernel_build){
		.dir = f->dir, .release = text("6.1.0-test"), .version = text("#1 SMP Test")};
	f->cfg = (struct boot_cfg){
		.rig = &f->rig,
		.build = &f->build,
		.kernel = f->kernel,
		.initrd = f->initrd,
		.stick = f->stick,
		.command_line = "console=ttyAMA0 quiet",
		.run_dir = f->dir,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->machine)
		boot_uboot_ops.close(f->machine);
	port_close(f->port);
	if (f->noise.is_on) {
		close(f->noise.near[0]);
		close(f->noise.near[1]);
	}
	strbuf_release(&f->noise.clean);
	free(f->kernel);
	free(f->initrd);
	free(f->stick);
	free(f->uboot.folder);
	strbuf_release(&f->console);
	waiter_free(f->w);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)t_host_ns;
	strbuf_add(&((struct fixture *)self)->console, bytes, n);
}

/*
 * A bad line: of what the machine says each 401st byte is another one, of what is typed each 331st
 * is lost. Both are more than twice the longest line, so that it can be typed whole the next time.
 */
#define SPOILS_EACH 401
#define LOSES_EACH  331

static int on_machine(void *self, short revents, struct err *e)
{
	struct fixture *f = self;
	struct noise *ns = &f->noise;
	char bytes[4096];
	ssize_t n = read(boot_uboot_ops.console_fd(f->machine), bytes, sizeof(bytes));

	(void)revents;
	(void)e;
	if (n > 0)
		strbuf_add(&ns->clean, bytes, (size_t)n);
	for (ssize_t i = 0; i < n; i++) {
		/* the kernel's words are not what is tested */
		if (++ns->n_in % SPOILS_EACH || strstr(strbuf_str(&ns->clean), "Starting kernel"))
			continue;
		bytes[i] = (char)0xf7;
		ns->n_spoilt++;
	}
	if (n > 0)
		assert_int_equal(write(ns->near[0], bytes, (size_t)n), n);
	else
		waiter_remove(f->w, boot_uboot_ops.console_fd(f->machine));
	return 0;
}

static int on_typed(void *self, short revents, struct err *e)
{
	struct fixture *f = self;
	char bytes[4096];
	ssize_t n = read(f->noise.near[0], bytes, sizeof(bytes));

	(void)revents;
	(void)e;
	for (ssize_t i = 0; i < n; i++) {
		if (++f->noise.n_out % LOSES_EACH == 0)
			f->noise.n_spoilt++;
		else
			(void)!write(boot_uboot_ops.console_fd(f->machine), &bytes[i], 1);
	}
	return 0;
}

/* The end of the console that the port gets. */
static int console_of(struct fixture *f)
{
	const struct waiter_source from = {.fd = boot_uboot_ops.console_fd(f->machine),
					   .events = POLLIN,
					   .ready = on_machine,
					   .self = f};
	struct waiter_source to = {.events = POLLIN, .ready = on_typed, .self = f};
	struct err e = {0};

	if (!f->noise.is_on)
		return from.fd;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, f->noise.near),
		0);
	to.fd = f->noise.near[0];
	assert_int_equal(waiter_add(f->w, &from, &e), 0);
	assert_int_equal(waiter_add(f->w, &to, &e), 0);
	return f->noise.near[1];
}

/* Boots with a deadline that counts from when the kernel has begun to speak, or for ever. */
static int boot(struct fixture *f, int64_t timeout_s, struct err *e)
{
	int r;

	r = boot_uboot_ops.start(f->w, &f->cfg, &f->machine, e);
	if (r < 0)
		return r;
	assert_int_equal(port_open_fd(f->w, console_of(f), on_console, f, &f->port, e), 0);
	return boot_uboot_ops.run(f->machine, f->port, waiter_now(f->w) + timeout_s * NSEC_PER_SEC,
				  e);
}

#define BANNER "Linux version 6.1.0-test (gcc) #1 SMP Test\n"

static void test_each_end_of_a_boot_is_named(void **state)
{
	static const struct {
		const char *says;
		uint32_t then;
		int code;
		enum err_kind kind;
		const char *want;
		const char *reason;
	} cases[] = {
		{BANNER "stallrig-init: ready\n", HANG, 0, ERR_NONE, "", NULL},
		{BANNER "Kernel panic - not syncing: VFS: no root\n", HANG, -ECHILD, ERR_KERNEL,
		 "'Kernel panic - not syncing: VFS: no root'", NULL},
		{BANNER "Kernel panic - not syncing: again\n", RESET, -ECHILD, ERR_KERNEL,
		 "panicked", NULL},
		{"", RESET, -ECHILD, ERR_KERNEL, "without a word from the kernel", "boot-loop"},
		{BANNER, RESET, -ECHILD, ERR_KERNEL,
		 "2 banners of the boot loader since power-on: the board reset itself ",
		 "boot-loop"},
		{BANNER "reboot: Power down\n", POWER_OFF, -ECHILD, ERR_KERNEL,
		 "powered the board off", "power-off"},
		{BANNER, POWER_OFF, -ECHILD, ERR_RIG, "the machine ended", NULL},
		{"Linux version 6.1.0-test-2 (gcc) #1 SMP Test\nstallrig-init: ready\n", HANG,
		 -ESTALE, ERR_RIG, "another kernel was booted: asked for '6.1.0-test #1 SMP Test'",
		 "wrong-kernel"},
		{"Linux version 6.1.0-test (gcc) #2 SMP Other\nstallrig-init: ready\n", HANG,
		 -ESTALE, ERR_RIG, "the console says 'Linux version 6.1.0-test (gcc) #2",
		 "wrong-kernel"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f;
		struct err e = {0};
		int r;

		if (i) {
			(void)teardown(state);
			(void)setup(state);
		}
		f = *state;
		write_image(f->kernel, cases[i].says, cases[i].then);
		r = boot(f, 300, &e);
		if (r != cases[i].code)
			fail_msg("case %zu: %d: %s\n%s", i, r, e.text, strbuf_str(&f->console));
		assert_int_equal(e.kind, cases[i].kind);
		assert_contains(e.text, cases[i].want);
		if (cases[i].reason)
			assert_string_equal(e.reason, cases[i].reason);
		else
			assert_null(e.reason);
		/* the recording has it all, the loader's words too */
		assert_contains(strbuf_str(&f->console), "U-Boot 20");
		assert_contains(strbuf_str(&f->console), cases[i].says);
	}
}

/* The deadline is the caller's: a boot to here took a few seconds on an idle machine. */
static void test_a_hang_says_what_came_last(void **state)
{
	static const struct {
		const char *says, *want;
	} cases[] = {
		{"", "the kernel hangs: not a word in "},
		{BANNER "Freeing unused memory\n", "no user space within "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f;
		struct err e = {0};
		int64_t timeout_s = 15;
		int r;

		do {
			if (i || timeout_s > 15) {
				(void)teardown(state);
				(void)setup(state);
			}
			f = *state;
			e = (struct err){0};
			write_image(f->kernel, cases[i].says, HANG);
			r = boot(f, timeout_s, &e);
			timeout_s *= 2;
			/* a busy machine may need longer to get to the kernel */
		} while (e.kind == ERR_RIG && timeout_s < 300);
		assert_int_equal(r, -ETIMEDOUT);
		assert_int_equal(e.kind, ERR_KERNEL);
		assert_string_equal(e.reason, "kernel-hang");
		assert_contains(e.text, cases[i].want);
		if (i)
			assert_contains(e.text, "after 'Freeing unused memory'");
	}
}

static void test_an_image_that_is_none_is_the_kernels_fault(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	unit_write(f->dir, "image",
		   "this is not an Image, and longer than its header would be ....");
	assert_int_equal(boot(f, 300, &e), -ENOEXEC);
	assert_int_equal(e.kind, ERR_KERNEL);
	assert_contains(e.text, "Bad Linux ARM64 Image magic");
	assert_string_equal(e.reason, "bad-image");
}

static void test_a_file_that_is_not_served_is_the_benchs_fault(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	write_image(f->kernel, "", HANG);
	f->uboot.prefix = text("elsewhere");
	assert_int_equal(boot(f, 300, &e), -EREMOTEIO);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "tftpboot ${kernel_addr_r} elsewhere/Image");
	assert_contains(e.text, "TFTP error: 'File not found'");
	assert_string_equal(e.reason, "no-file");
}

static void test_a_command_of_the_rig_that_fails_is_the_benchs_fault(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	write_image(f->kernel, "", HANG);
	f->commands[1] = text("no-such-command");
	assert_int_equal(boot(f, 300, &e), -EREMOTEIO);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "Unknown command 'no-such-command'");
	assert_string_equal(e.reason, "loader-command");
}

static void test_a_boot_loader_that_resets_is_the_benchs_fault(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	write_image(f->kernel, "", HANG);
	f->commands[1] = text("reset");
	assert_int_equal(boot(f, 300, &e), -ELOOP);
	assert_int_equal(e.kind, ERR_RIG);
	assert_string_equal(e.reason, "loader-loop");
	assert_contains(e.text, "U-Boot: 'reset': the boot loader began anew");
}

static void test_a_boot_loader_that_hangs_is_the_benchs_fault(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};
	int64_t timeout_s = 15;

	/* a busy machine may need longer to get to the prompt */
	for (;; timeout_s *= 2) {
		write_image(f->kernel, "", HANG);
		f->commands[1] = text("sleep 100000");
		assert_int_equal(boot(f, timeout_s, &e), -ETIMEDOUT);
		assert_int_equal(e.kind, ERR_RIG);
		if (strcmp(e.reason, "loader-hang") == 0 || timeout_s > 300)
			break;
		(void)teardown(state);
		(void)setup(state);
		f = *state;
		e = (struct err){0};
	}
	assert_string_equal(e.reason, "loader-hang");
	assert_contains(e.text, "U-Boot: 'sleep 100000': nothing for ");
}

/* The prompt, the echo, the status of commands: all of it is spoilt now and then. */
static void test_garbage_on_the_line_does_not_end_a_boot(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	write_image(f->kernel, BANNER "stallrig-init: ready\n", HANG);
	f->noise.is_on = true;
	if (boot(f, 300, &e) < 0)
		fail_msg("%s\n%s", e.text, strbuf_str(&f->console));
	print_message("%u of %u bytes were spoilt\n", f->noise.n_spoilt,
		      f->noise.n_in + f->noise.n_out);
	assert_true(f->noise.n_spoilt >= 3);
}

static bool has_ended(void *self)
{
	struct fixture *f = self;

	return boot_uboot_ops.state(f->machine, NULL) != BOOT_RUNS;
}

static void test_a_reset_after_the_boot_is_an_end_of_the_machine(void **state)
{
	struct fixture *f = *state;
	auto_free char *how = NULL;
	struct err e = {0};

	/* ready, a while of work (the serial port takes its time), and then a reset */
	write_image(f->kernel, BANNER "stallrig-init: ready\n", RESET);
	if (boot(f, 300, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(
		waiter_until(f->w, waiter_now(f->w) + 120 * NSEC_PER_SEC, has_ended, f, &e), 1);
	assert_int_equal(boot_uboot_ops.state(f->machine, &how), BOOT_ENDED_BY_TARGET);
	assert_contains(how, "the boot loader came again");
	boot_uboot_ops.stop(f->machine);
}

/* The supply of a board, which here is QEMU with U-Boot and its RAM: it can be switched on once. */
struct supply {
	void *board;
	enum switch_state state;
	nsec_t deadline_ns;
};

static int supply_set(void *self, enum switch_state state, nsec_t deadline_ns,
		      struct switch_change *ret, struct err *e)
{
	struct supply *s = self;

	(void)deadline_ns;
	(void)ret;
	s->state = state;
	if (state == SWITCH_ON)
		return boot_qemu_ops.run(s->board, NULL, s->deadline_ns, e);
	boot_qemu_ops.stop(s->board);
	return 0;
}

static enum switch_state supply_get(void *self)
{
	return ((struct supply *)self)->state;
}

static void supply_close(void *self)
{
	(void)self;
}

/* boot() of a board, whose console outlasts a boot. */
static int boot_board(struct fixture *f, const struct supply *s, struct err *e)
{
	int r;

	r = boot_uboot_ops.start(f->w, &f->cfg, &f->machine, e);
	if (r < 0)
		return r;
	assert_int_equal(
		port_open_fd(f->w, boot_qemu_ops.console_fd(s->board), on_console, f, &f->port, e),
		0);
	return boot_uboot_ops.run(f->machine, f->port, s->deadline_ns, e);
}

/* The kernel panics and resets the board: U-Boot is met wherever it is by then, and loads anew. */
static void test_a_board_whose_kernel_resets_it_keeps_its_power(void **state)
{
	static const struct switch_ops ops = {
		.driver = "fake", .set = supply_set, .get = supply_get, .close = supply_close};
	static const struct switch_limits limits = {.safe = SWITCH_UNKNOWN};
	struct fixture *f = *state;
	struct supply s = {.deadline_ns = waiter_now(f->w) + 300 * NSEC_PER_SEC};
	struct boot_cfg board = f->cfg;
	struct err e = {0};

	assert_int_equal(dir_make(f->uboot.folder, &e), 0);
	board.firmware = FIRMWARE;
	board.net_folder = f->uboot.folder;
	if (boot_qemu_ops.start(f->w, &board, &s.board, &e) < 0)
		fail_msg("%s", e.text);
	f->uboot.firmware = NULL;
	f->cfg.power = switch_new("power", &ops, &s, &limits, f->w);
	write_image(f->kernel, BANNER "Kernel panic - not syncing: first\n", RESET);
	assert_int_equal(boot_board(f, &s, &e), -ECHILD);
	assert_contains(e.text, "'Kernel panic - not syncing: first'");
	boot_uboot_ops.close(f->machine);
	port_close(f->port);
	f->machine = NULL;
	f->port = NULL;
	/* it is past its banner meanwhile */
	assert_int_equal(waiter_sleep(f->w, NSEC_PER_SEC, &e), 0);

	e = (struct err){0};
	strbuf_reset(&f->console);
	write_image(f->kernel, BANNER "stallrig-init: ready\n", HANG);
	f->cfg.is_warm = true;
	if (boot_board(f, &s, &e) < 0)
		fail_msg("%s\n%s", e.text, strbuf_str(&f->console));
	assert_int_equal(s.state, SWITCH_ON);
	boot_uboot_ops.stop(f->machine);
	assert_int_equal(s.state, SWITCH_OFF);
	boot_uboot_ops.close(f->machine);
	port_close(f->port);
	f->machine = NULL;
	f->port = NULL;
	boot_qemu_ops.close(s.board);
	switch_close(f->cfg.power);
}

static void test_kernel_initramfs_and_arguments_go_in_a_fit_too(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	write_image(f->kernel, BANNER "stallrig-init: ready\n", HANG);
	f->uboot.image = text("fit");
	f->uboot.kernel_addr = text("0x40400000");
	if (boot(f, 300, &e) < 0)
		fail_msg("%s\n%s", e.text, strbuf_str(&f->console));
	assert_contains(strbuf_str(&f->console), "Verifying Hash Integrity");
}

static void test_a_missing_firmware_or_device_tree_is_named(void **state)
{
	struct fixture *f = *state;
	struct err e = {0};

	f->uboot.firmware = text("/no/u-boot.bin");
	assert_int_equal(boot_uboot_ops.check(f->w, &f->rig, &e), -ENOENT);
	assert_contains(e.text, "/no/u-boot.bin (Debian package u-boot-qemu)");
	assert_int_equal(e.kind, ERR_RIG);

	write_image(f->kernel, "", HANG);
	f->uboot.dtb = text("renesas/board.dtb");
	assert_int_equal(boot(f, 10, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_KERNEL);
	assert_contains(e.text, "/dtbs/renesas/board.dtb");
	f->uboot.dtb = text("/no/board.dtb");
	assert_int_equal(boot(f, 10, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_RIG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_end_of_a_boot_is_named),
		TEST(test_a_hang_says_what_came_last),
		TEST(test_an_image_that_is_none_is_the_kernels_fault),
		TEST(test_a_file_that_is_not_served_is_the_benchs_fault),
		TEST(test_a_command_of_the_rig_that_fails_is_the_benchs_fault),
		TEST(test_a_boot_loader_that_resets_is_the_benchs_fault),
		TEST(test_a_boot_loader_that_hangs_is_the_benchs_fault),
		TEST(test_garbage_on_the_line_does_not_end_a_boot),
		TEST(test_a_reset_after_the_boot_is_an_end_of_the_machine),
		TEST(test_a_board_whose_kernel_resets_it_keeps_its_power),
		TEST(test_kernel_initramfs_and_arguments_go_in_a_fit_too),
		TEST(test_a_missing_firmware_or_device_tree_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
