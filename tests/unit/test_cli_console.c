/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: cli */
/* `stallrig console` on a board whose console is a TCP server of this test. */
#include "cli/cmd.h"
#include "rig/rig_console.h"
#include "unit.h"

#include <arpa/inet.h>
#include <glob.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char board[] = "name: b1\n"
			    "class: board\n"
			    "arch: arm64\n"
			    "boot:\n"
			    "  driver: uboot\n"
			    "  cpus: 8\n"
			    "  append: ''\n"
			    "  timeout_s: 60\n"
			    "  modules: []\n"
			    "  uboot: {folder: /srv/tftp}\n"
			    "console: {driver: socket, address: '127.0.0.1:%u', device: ttySC0}\n"
			    "link: {driver: console}\n"
			    "power: {driver: exec, turn_on: [a], turn_off: [b], min_off_ms: 0,"
			    " settle_ms: 0}\n"
			    "sticks:\n"
			    "  - name: stick0\n"
			    "    serial: S1\n"
			    "    usb_path: 1-1\n"
			    "    filesystem: ext4\n"
			    "    size_mib: 64\n"
			    "    file: data.bin\n"
			    "    file_mib: 40\n"
			    "    content_sha256: '%064d'\n"
			    "    switch: {driver: exec, turn_on: [a], turn_off: [b], min_off_ms: 0,"
			    " settle_ms: 0}\n";

struct fixture {
	char *dir, *rig;
	int listener;
	int keys[2]; /* what is typed: [1] -> stdin */
	int stdin_before;
	char *out, *log;
	int status;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	auto_free char *text = NULL;

	f->dir = unit_tmpdir();
	assert_int_equal(setenv("STALLRIG_STATE", f->dir, 1), 0);
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(f->listener, 1), 0);
	assert_int_equal(getsockname(f->listener, (struct sockaddr *)&sin, &len), 0);
	text = xasprintf(board, ntohs(sin.sin_port), 7);
	unit_write(f->dir, "b1.yaml", text);
	f->rig = xasprintf("%s/b1.yaml", f->dir);
	assert_int_equal(pipe(f->keys), 0);
	f->stdin_before = dup(STDIN_FILENO);
	assert_int_equal(dup2(f->keys[0], STDIN_FILENO), STDIN_FILENO);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)dup2(f->stdin_before, STDIN_FILENO);
	close(f->stdin_before);
	close(f->keys[0]);
	close(f->keys[1]);
	close(f->listener);
	free(f->out);
	free(f->log);
	free(f->rig);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static void call(struct fixture *f, const char *option)
{
	auto_waiter struct waiter *w = waiter_new(NULL);
	char *const argv[] = {(char *)(uintptr_t) "console", f->rig, (char *)(uintptr_t)option,
			      NULL};
	size_t n_out, n_log;
	struct cli cli = {
		.out = open_memstream(&f->out, &n_out),
		.log = open_memstream(&f->log, &n_log),
		.columns = 80,
		.w = w,
	};

	f->status = cli_run(&cli, option ? 3 : 2, argv);
	(void)fclose(cli.out);
	(void)fclose(cli.log);
	waiter_clear_stop();
}

/* The other end, in a process of its own: fn has the connection. */
static pid_t serve(struct fixture *f, void (*fn)(struct fixture *f, int fd))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = accept(f->listener, NULL, NULL);

		fn(f, fd);
		_exit(0);
	}
	return pid;
}

static void put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
}

/* Reads until the text has come. */
static void await(int fd, const char *text)
{
	char got[256] = "";
	size_t n = 0;

	while (!strstr(got, text) && n + 1 < sizeof(got)) {
		ssize_t r = read(fd, got + n, 1);

		if (r <= 0)
			_exit(2);
		n += (size_t)r;
		got[n] = '\0';
	}
}

static void echo_and_leave(struct fixture *f, int fd)
{
	put(fd, "=> ");
	put(f->keys[1], "ver\x1d\x1d\x1dx\x1d"
			"bsion\r");
	await(fd, "ver\x1dsion\r");
	put(fd, "U-Boot 2023.01\r\n");
	put(f->keys[1], "\x1dq");
	(void)sleep(5);
}

static void test_what_is_typed_is_sent_and_what_comes_is_shown_and_recorded(void **state)
{
	struct fixture *f = *state;
	auto_strbuf struct strbuf raw = STRBUF_INIT;
	auto_free char *pattern = xasprintf("%s/recordings/console-b1-*/console.raw", f->dir);
	pid_t pid = serve(f, echo_and_leave);
	struct err e = {0};
	glob_t found;

	call(f, NULL);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (f->status != 0)
		fail_msg("%d: %s", f->status, f->log);
	assert_string_equal(f->out, "=> U-Boot 2023.01\r\n");
	assert_contains(f->log, "recording to ");
	assert_contains(f->log, "after Ctrl-]: q leaves");
	assert_contains(f->log, "only a serial port can send a break");
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(file_read(found.gl_pathv[0], 4096, &raw, &e), 0);
	assert_string_equal(strbuf_str(&raw), "=> U-Boot 2023.01\r\n");
	globfree(&found);
}

static void speak_and_stop_it(struct fixture *f, int fd)
{
	put(f->keys[1], "typed at nobody");
	put(fd, "[    1.0] hello\r\n");
	(void)usleep(500000);
	/* nothing was sent */
	if (recv(fd, &(char){0}, 1, MSG_DONTWAIT) >= 0)
		_exit(3);
	(void)kill(getppid(), SIGTERM);
	_exit(0);
}

static void test_with_tail_nothing_is_sent_and_a_signal_ends_it(void **state)
{
	struct fixture *f = *state;
	pid_t pid = serve(f, speak_and_stop_it);
	int status = -1;

	call(f, "--tail");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(f->status, 0);
	assert_string_equal(f->out, "[    1.0] hello\r\n");
}

static void hang_up_and_come_back(struct fixture *f, int fd)
{
	put(fd, "before\r\n");
	(void)usleep(100000);
	close(fd);
	fd = accept(f->listener, NULL, NULL);
	put(fd, "after\r\n");
	(void)usleep(500000);
	(void)kill(getppid(), SIGTERM);
	(void)sleep(5);
}

static void test_a_port_that_goes_away_is_told_counted_and_comes_back(void **state)
{
	struct fixture *f = *state;
	pid_t pid = serve(f, hang_up_and_come_back);

	call(f, "--tail");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_int_equal(f->status, 0);
	assert_string_equal(f->out, "before\r\nafter\r\n");
	assert_contains(f->log, "the console is lost (the console was closed by the other side) "
				"and looked for");
	assert_contains(f->log, "the console is back; what came meanwhile is missing");
	assert_contains(f->log, "the console was lost 1 time: bytes are missing in the recording");
}

static void ignore_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)self;
	(void)bytes;
	(void)n;
	(void)t_host_ns;
}

static void hold(struct fixture *f, int fd)
{
	auto_free char *dir2 = xasprintf("%s/two", f->dir);
	auto_free char *link = xasprintf("%s/consoles/b1", f->dir);
	auto_free char *tmp = xasprintf("%s.tmp", link);
	struct err e = {0};

	(void)fd;
	(void)usleep(500000);
	if (dir_make(dir2, &e) < 0)
		_exit(1);
	unit_write(dir2, "console.raw", "second boot\n");
	if (symlink(dir2, tmp) < 0 || rename(tmp, link) < 0)
		_exit(1);
	(void)usleep(800000);
	(void)kill(getppid(), SIGTERM);
	_exit(0);
}

static void test_while_a_run_holds_the_rig_its_recording_is_followed(void **state)
{
	struct fixture *f = *state;
	auto_free char *dir1 = xasprintf("%s/one", f->dir);
	auto_free char *consoles = xasprintf("%s/consoles", f->dir);
	auto_free char *link = xasprintf("%s/b1", consoles);
	auto_waiter struct waiter *w = waiter_new(NULL);
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct rig_console *holder = NULL;
	pid_t pid = serve(f, hold);
	struct err e = {0};

	assert_int_equal(rig_cfg_load(f->rig, &cfg, &e), 0);
	if (rig_console_open(cfg, w, ignore_bytes, NULL, &holder, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(dir_make(dir1, &e), 0);
	assert_int_equal(dir_make(consoles, &e), 0);
	unit_write(dir1, "console.raw", "first boot\n");
	assert_int_equal(symlink(dir1, link), 0);

	call(f, NULL);
	(void)waitpid(pid, NULL, 0);
	rig_console_close(holder);
	assert_int_equal(f->status, 0);
	assert_contains(f->log, "a run holds the rig");
	assert_string_equal(f->out, "first boot\nsecond boot\n");
}

static void test_a_target_in_qemu_has_no_console_of_its_own(void **state)
{
	struct fixture *f = *state;

	free(f->rig);
	f->rig = xstrdup("virtual-x86");
	call(f, NULL);
	assert_int_equal(f->status, CLI_EXIT_USAGE);
	assert_contains(f->log, "a target in QEMU has a console only while a run goes on");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_typed_is_sent_and_what_comes_is_shown_and_recorded),
		TEST(test_with_tail_nothing_is_sent_and_a_signal_ends_it),
		TEST(test_a_port_that_goes_away_is_told_counted_and_comes_back),
		TEST(test_while_a_run_holds_the_rig_its_recording_is_followed),
		TEST(test_a_target_in_qemu_has_no_console_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
