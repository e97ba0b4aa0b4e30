/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/*
 * The boot driver exec with real commands: shell scripts that do what a lab's would, and whose
 * board is the other side of a terminal.
 */
#include "../../controller/rig/boot.h"
#include "rig/link.h"
#include "unit.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <termios.h>

#define BANNER "Linux version 6.1.0-test (gcc) #1 SMP Test\\n"
#define READY  "stallrig-init: ready\\n"

struct fixture {
	char *dir;
	struct waiter *w;
	struct rig_cfg rig;
	struct hook_cfg hooks;
	char *words[3][3];
	struct kernel_build build;
	struct boot_cfg cfg;
	void *machine;
	struct port *port;
	struct link *link; /* NULL = nobody is asked */
	int master, slave;
};

static char *text(const char *literal)
{
	return (char *)(uintptr_t)literal;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct termios raw;
	char tty[64];

	f->dir = unit_tmpdir();
	f->w = waiter_new(NULL);
	assert_int_equal(openpty(&f->master, &f->slave, tty, NULL, NULL), 0);
	assert_int_equal(tcgetattr(f->slave, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(f->slave, TCSANOW, &raw), 0);
	assert_int_equal(fcntl(f->master, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(setenv("T", tty, 1), 0);
	assert_int_equal(setenv("D", f->dir, 1), 0);
	f->hooks.timeout_s = 20;
	f->rig = (struct rig_cfg){
		.path = text("r1.yaml"),
		.name = text("r1"),
		.arch = text("arm64"),
		.boot.driver = text("exec"),
		.boot.exec = &f->hooks,
	};
	f->build = (struct kernel_build){.name = text("k1"),
					 .dir = f->dir,
					 .release = text("6.1.0-test"),
					 .version = text("#1 SMP Test")};
	f->cfg = (struct boot_cfg){
		.rig = &f->rig,
		.build = &f->build,
		.kernel = "/store/k1/image",
		.initrd = "/cache/k1.cpio",
		.command_line = "console=ttyS0 quiet",
		.run_dir = f->dir,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->machine)
		boot_exec_ops.close(f->machine);
	link_close(f->link);
	port_close(f->port);
	close(f->master);
	close(f->slave);
	waiter_free(f->w);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static void set_hook(struct fixture *f, unsigned i, const char *script)
{
	char ***const members[] = {&f->hooks.deploy, &f->hooks.reset, &f->hooks.power_off};
	unsigned *const counts[] = {&f->hooks.deploy_count, &f->hooks.reset_count,
				    &f->hooks.power_off_count};

	if (!script)
		return;
	f->words[i][0] = text("sh");
	f->words[i][1] = text("-c");
	f->words[i][2] = text(script);
	*members[i] = f->words[i];
	*counts[i] = 3;
}

static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)self;
	(void)bytes;
	(void)n;
	(void)t_host_ns;
}

static void on_link_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)t_host_ns;
	link_feed(self, bytes, n);
}

static bool send_frame(void *self, const char *frame, size_t n)
{
	struct fixture *f = self;

	return port_write(f->port, frame, n, NULL) == 0;
}

static int ask_agent(void *self, nsec_t until_ns, struct err *e)
{
	struct fixture *f = self;

	(void)e;
	return link_hello(f->link, until_ns, NULL) == 0;
}

/* From now on the agent of the board is asked when the console is quiet. */
static void ask_from_now_on(struct fixture *f)
{
	const struct link_io io = {.send = send_frame, .self = f};

	f->link = link_new_over(f->w, &io);
	f->cfg.ask = (struct user_space_ask){
		.fn = ask_agent, .self = f, .quiet_ns = 100 * NSEC_PER_MSEC};
}

static int boot(struct fixture *f, int64_t timeout_ms, struct err *e)
{
	int r;

	r = boot_exec_ops.start(f->w, &f->cfg, &f->machine, e);
	if (r < 0)
		return r;
	assert_int_equal(port_open_fd(f->w, f->master, on_console, f, &f->port, e), 0);
	if (f->link)
		assert_int_equal(port_tap(f->port, on_link_bytes, f->link, e), 0);
	return boot_exec_ops.run(f->machine, f->port, waiter_now(f->w) + timeout_ms * NSEC_PER_MSEC,
				 e);
}

static void test_commands_are_told_what_to_boot_and_run_in_order(void **state)
{
	struct fixture *f = *state;
	auto_free char *path = xasprintf("%s/env", f->dir);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	auto_free char *run_dir = xasprintf("STALLRIG_RUN_DIR=%s\n", f->dir);
	auto_free char *modules = xasprintf("STALLRIG_MODULES=%s/modules\n", f->dir);
	const char *const want[] = {
		"deploy\nSTALLRIG_ARCH=arm64\nSTALLRIG_COMMAND_LINE=console=ttyS0 quiet\n",
		"STALLRIG_HOOK=deploy\nSTALLRIG_IMAGE=/store/k1/image\n",
		"STALLRIG_INITRD=/cache/k1.cpio\nSTALLRIG_KERNEL=k1\n",
		"STALLRIG_RELEASE=6.1.0-test\nSTALLRIG_RIG=r1\n",
		"reset\npower_off\n",
		run_dir,
		modules,
	};
	struct err e = {0};

	set_hook(f, 0, "echo deploy >>$D/env; env | grep ^STALLRIG_ | sort >>$D/env");
	set_hook(f, 1, "echo reset >>$D/env; printf '" BANNER READY "' >$T");
	set_hook(f, 2, "echo power_off >>$D/env");
	if (boot(f, 20000, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(boot_exec_ops.state(f->machine, NULL), BOOT_RUNS);
	boot_exec_ops.stop(f->machine);
	/* once is enough */
	boot_exec_ops.stop(f->machine);
	assert_int_equal(file_read(path, 10000, &out, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_contains(strbuf_str(&out), want[i]);
	assert_string_equal(strstr(strbuf_str(&out), "power_off"), "power_off\n");
}

static void test_each_end_of_a_boot_is_named(void **state)
{
	static const struct {
		const char *deploy, *reset;
		int code;
		enum err_kind kind;
		const char *want;
	} cases[] = {
		{"echo one >&2; echo no room on the board >&2; exit 3", ":", -ECHILD, ERR_RIG,
		 "boot.exec.deploy: sh: exit status 3: one;no room on the board"},
		{NULL, "echo relay is gone >&2; exit 1", -ECHILD, ERR_RIG,
		 "boot.exec.reset: sh: exit status 1: relay is gone"},
		{NULL, ":", -ENODATA, ERR_RIG, "not one byte came from the console"},
		{NULL, "echo 'BL2: no kernel' >$T", -ETIMEDOUT, ERR_RIG,
		 "no kernel was started within "},
		{NULL, "printf '" BANNER "' >$T", -ETIMEDOUT, ERR_KERNEL,
		 "the kernel hangs: no user space within"},
		{NULL, "printf '" BANNER "Kernel panic - not syncing: no root\\n' >$T", -ECHILD,
		 ERR_KERNEL, "'Kernel panic - not syncing: no root'"},
		{NULL, "printf 'Linux version 5.4.0 (gcc) #9 Old\\n" READY "' >$T", -ESTALE,
		 ERR_RIG, "another kernel was booted"},
		{NULL, "printf '" BANNER "Run /init as init process\\n" BANNER "' >$T", -ECHILD,
		 ERR_KERNEL, "the board reset itself"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f;
		struct err e = {0};
		int r;

		assert_int_equal(setup((void **)&f), 0);
		set_hook(f, 0, cases[i].deploy);
		set_hook(f, 1, cases[i].reset);
		r = boot(f, 1500, &e);
		if (r != cases[i].code || e.kind != cases[i].kind)
			fail_msg("case %zu: %d, kind %d: %s", i, r, e.kind, e.text);
		assert_contains(e.text, cases[i].want);
		if (f->machine)
			boot_exec_ops.stop(f->machine);
		teardown((void **)&f);
	}
}

static void test_a_command_that_does_not_end_is_ended_with_its_children(void **state)
{
	struct fixture *f = *state;
	auto_free char *path = xasprintf("%s/pid", f->dir);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};
	bool is_gone = false;
	pid_t pid;

	f->hooks.timeout_s = 1;
	set_hook(f, 0, "sleep 300 & echo $! >$D/pid; wait");
	assert_int_equal(boot(f, 20000, &e), -ETIMEDOUT);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "boot.exec.deploy: sh: not done within 1 s");
	assert_int_equal(file_read(path, 100, &out, &e), 0);
	pid = (pid_t)strtol(strbuf_str(&out), NULL, 10);
	assert_true(pid > 1);
	/* whoever inherited it may take a moment to reap it */
	for (int i = 0; i < 50 && !is_gone; i++) {
		auto_free char *proc = xasprintf("/proc/%d/stat", (int)pid);
		auto_strbuf struct strbuf stat = STRBUF_INIT;
		struct err ignored = {0};

		is_gone = file_read(proc, 1000, &stat, &ignored) < 0 ||
			  strstr(strbuf_str(&stat), ") Z ");
		assert_int_equal(waiter_sleep(f->w, 100 * NSEC_PER_MSEC, &e), 0);
	}
	assert_true(is_gone);
}

/* A switch whose changes stand among those of the commands. */
struct fake_power {
	const char *dir;
	enum switch_state state;
};

static int power_set(void *self, enum switch_state state, nsec_t deadline_ns,
		     struct switch_change *ret, struct err *e)
{
	struct fake_power *p = self;
	auto_free char *path = xasprintf("%s/env", p->dir);
	FILE *log = fopen(path, "ae");

	(void)deadline_ns;
	(void)ret;
	(void)e;
	assert_non_null(log);
	(void)fprintf(log, "power %s\n", switch_state_name(state));
	(void)fclose(log);
	p->state = state;
	return 0;
}

static enum switch_state power_get(void *self)
{
	return ((struct fake_power *)self)->state;
}

static void power_close(void *self)
{
	(void)self;
}

static void test_a_board_is_reset_before_its_power_is_cut(void **state)
{
	static const struct switch_ops ops = {
		.driver = "fake", .set = power_set, .get = power_get, .close = power_close};
	static const struct switch_limits limits = {.safe = SWITCH_UNKNOWN};
	struct fixture *f = *state;
	struct fake_power power = {.dir = f->dir};
	auto_free char *path = xasprintf("%s/env", f->dir);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	f->cfg.power = switch_new("power", &ops, &power, &limits, f->w);
	set_hook(f, 0, "echo deploy >>$D/env");
	set_hook(f, 1, "echo reset >>$D/env; printf '" BANNER READY "' >$T");
	if (boot(f, 20000, &e) < 0)
		fail_msg("%s", e.text);
	/* the kernel crashed: the machine is given up, its power is not, and its last words come
	   while it is reset */
	boot_exec_ops.close(f->machine);
	f->machine = NULL;
	port_close(f->port);
	f->port = NULL;
	assert_int_equal(power.state, SWITCH_ON);
	set_hook(f, 1,
		 "printf -- '---[ end Kernel panic - not syncing: x ]---\\n' >$T; "
		 "echo reset >>$D/env; sleep 0.2; printf '" BANNER READY "' >$T");
	f->cfg.is_warm = true;
	if (boot(f, 20000, &e) < 0)
		fail_msg("%s", e.text);
	boot_exec_ops.stop(f->machine);

	assert_int_equal(file_read(path, 10000, &out, &e), 0);
	assert_string_equal(strbuf_str(&out), "deploy\npower on\nreset\nreset\npower off\n");
	switch_close(f->cfg.power);
}

#define AGENT STALLRIG_BUILD_DIR "/stallrig-agent"

static void end_agent(struct fixture *f)
{
	auto_free char *path = xasprintf("%s/agent", f->dir);
	auto_strbuf struct strbuf pid = STRBUF_INIT;
	struct err e = {0};

	assert_int_equal(file_read(path, 100, &pid, &e), 0);
	/* it may have ended with its console */
	(void)kill((pid_t)strtol(strbuf_str(&pid), NULL, 10), SIGKILL);
}

static void test_a_ready_line_that_is_damaged_ends_no_boot(void **state)
{
	static const char *const says[] = {
		"Run /init as init process\\n",
		BANNER,
		BANNER "Run /init as init process\\n",
		BANNER "tallrig-init: ready\\n",
		BANNER "stallrig-init: eady\\n",
		BANNER "stallrig-init: read\\367\\n",
		BANNER "stallrig-init: ready",
		BANNER "stallrig\\000\\377\\000-init: ready\\n",
		BANNER "stallrig-init: [    3.123456] usb 1-1: new device\\nready\\n",
		BANNER "stallrig-init: ready[    3.123456] usb 1-1: new device\\n",
		BANNER "[    3.12345] Freeing unused kernel memory\\n\\367\\367\\367\\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		/* before the console is listened to, and while it is */
		auto_free char *script =
			xasprintf("(sleep 0.%zu; printf '%s' >$T; exec " AGENT
				  " -r / -l $T) >/dev/null 2>&1 & echo $! >$D/agent",
				  i % 5, says[i]);
		struct fixture *f;
		struct err e = {0};

		assert_int_equal(setup((void **)&f), 0);
		ask_from_now_on(f);
		set_hook(f, 1, script);
		/* whoever waited for the deadline would not come to its end */
		if (boot(f, 100000000, &e) < 0)
			fail_msg("case %zu: %s", i, e.text);
		assert_int_equal(boot_exec_ops.state(f->machine, NULL), BOOT_RUNS);
		end_agent(f);
		teardown((void **)&f);
	}
}

static int press_enter(void *self, nsec_t until_ns, struct err *e)
{
	struct fixture *f = self;

	(void)until_ns;
	return port_write(f->port, "\r", 1, e);
}

static void test_a_login_whose_prompt_is_damaged_is_asked_again(void **state)
{
	struct login_cfg login = {.login_prompt = text("login: ")};
	struct fixture *f = *state;
	struct err e = {0};

	f->rig.login = &login;
	f->cfg.ask = (struct user_space_ask){
		.fn = press_enter, .self = f, .quiet_ns = 100 * NSEC_PER_MSEC};
	set_hook(f, 1,
		 "printf '" BANNER "\\nboard loXin: ' >$T; "
		 "(head -c1 <$T; printf '\\nboard login: ' >$T) >/dev/null 2>&1 &");
	if (boot(f, 60000, &e) < 0)
		fail_msg("%s", e.text);
}

static void test_a_damaged_console_is_not_taken_for_a_kernel_that_hangs(void **state)
{
	static const struct {
		const char *says;
		enum err_kind kind;
		const char *reason, *want;
	} cases[] = {
		{BANNER "stallrig-init: re\\367\\001y\\n", ERR_RIG, "console-damaged",
		 "damaged, so nobody can tell whether the kernel hangs: 2 bytes that no text has"},
		{BANNER "[    3.12345] usb 1-1: new device\\n", ERR_RIG, "console-damaged",
		 "1 broken time stamps"},
		/* what is no damage of the kernel's words */
		{"\\367\\000\\377 BL2\\n" BANNER
		 "[    3.123456] \\033[1musb\\r\\n[12]+ Done\\n[3.5]\\n",
		 ERR_KERNEL, "kernel-hang", "the kernel hangs: no user space within"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *script = xasprintf("printf '%s' >$T", cases[i].says);
		struct fixture *f;
		struct err e = {0};

		assert_int_equal(setup((void **)&f), 0);
		ask_from_now_on(f);
		set_hook(f, 1, script);
		assert_int_equal(boot(f, 1500, &e), -ETIMEDOUT);
		if (e.kind != cases[i].kind || !e.reason || strcmp(e.reason, cases[i].reason) != 0)
			fail_msg("case %zu: kind %d: %s", i, e.kind, e.text);
		assert_contains(e.text, cases[i].want);
		teardown((void **)&f);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_commands_are_told_what_to_boot_and_run_in_order),
		cmocka_unit_test(test_each_end_of_a_boot_is_named),
		cmocka_unit_test(test_a_ready_line_that_is_damaged_ends_no_boot),
		TEST(test_a_login_whose_prompt_is_damaged_is_asked_again),
		cmocka_unit_test(test_a_damaged_console_is_not_taken_for_a_kernel_that_hangs),
		TEST(test_a_command_that_does_not_end_is_ended_with_its_children),
		TEST(test_a_board_is_reset_before_its_power_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
