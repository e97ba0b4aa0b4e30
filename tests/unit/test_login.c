/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/*
 * Login and upload against the real shells of busybox, dash and bash on a real terminal, behind a
 * line that loses characters and has the kernel's lines in between. The getty is a script: the real
 * one is in tests/fixtures/login.py.
 */
#include "../../controller/rig/login.h"
#include "../../controller/rig/upload.h"
#include "base/child.h"
#include "base/rng.h"
#include "unit.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SECRET "geheim 1"
#define NOISE  "[   12.345678] usb 2-1: a line of the kernel log, sr-0-1 @up 3\r\n"

struct fixture {
	char *dir;
	struct waiter *w;
	struct port *port;
	struct login_cfg cfg;
	struct login l;
	pid_t pid;
	int master;          /* of the terminal */
	int ours, theirs;    /* of the line between: the port has ours */
	struct strbuf seen;  /* what the console's recording gets */
	struct strbuf sent;  /* what was sent to the target */
	unsigned drop_every; /* of the bytes to the target, 0 = none */
	size_t drops_left;
	unsigned noise_every; /* bytes from the target between lines of noise */
	unsigned n_to, n_from;
	bool is_cut; /* nothing gets through any more */
};

static int to_target(void *self, short revents, struct err *e)
{
	struct fixture *f = self;
	char buf[512];
	ssize_t n = read(f->theirs, buf, sizeof(buf));

	(void)revents;
	(void)e;
	for (ssize_t i = 0; i < n; i++) {
		strbuf_add(&f->sent, &buf[i], 1);
		if (f->is_cut)
			continue;
		if (f->drop_every && f->drops_left && ++f->n_to % f->drop_every == 0) {
			f->drops_left--;
			continue;
		}
		assert_int_equal(write(f->master, &buf[i], 1), 1);
	}
	return 0;
}

static int from_target(void *self, short revents, struct err *e)
{
	struct fixture *f = self;
	char buf[512];
	ssize_t n = read(f->master, buf, sizeof(buf));

	(void)revents;
	(void)e;
	if (n <= 0) {
		/* the shell has ended */
		waiter_remove(f->w, f->master);
		return 0;
	}
	for (ssize_t i = 0; i < n && !f->is_cut; i++) {
		if (f->noise_every && ++f->n_from % f->noise_every == 0)
			assert_int_equal(write(f->theirs, NOISE, strlen(NOISE)), strlen(NOISE));
		assert_int_equal(write(f->theirs, &buf[i], 1), 1);
	}
	return 0;
}

static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)t_host_ns;
	strbuf_add(&((struct fixture *)self)->seen, bytes, n);
}

static char *text(const char *literal)
{
	return (char *)(uintptr_t)literal;
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	int p[2];

	f->dir = unit_tmpdir();
	f->w = waiter_new(NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	f->ours = p[0];
	f->theirs = p[1];
	assert_int_equal(fcntl(f->ours, F_SETFL, O_NONBLOCK), 0);
	f->cfg = (struct login_cfg){
		.user = text("root"),
		.login_prompt = text("login: "),
		.password_prompt = text("assword: "),
		.shell_prompt = text("# "),
		.timeout_s = 60,
		.folder = xasprintf("%s/kept", f->dir),
		.upload_timeout_s = 120,
		.upload_max_kib = 1024,
	};
	f->master = -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	talk_close(f->l.talk);
	port_close(f->port);
	waiter_free(f->w);
	if (f->pid > 0) {
		(void)kill(-f->pid, SIGKILL);
		(void)kill(f->pid, SIGKILL);
		(void)waitpid(f->pid, NULL, 0);
	}
	if (f->master >= 0)
		close(f->master);
	close(f->ours);
	close(f->theirs);
	free(f->cfg.folder);
	strbuf_release(&f->seen);
	strbuf_release(&f->sent);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

/*
 * Runs a script on a terminal; the log level that it sees and sets is a file's. Waits for nothing.
 */
static void start(struct fixture *f, const char *script, const char *password)
{
	static const char unshared[] = "mount --bind \"$1/printk\" /proc/sys/kernel/printk && "
				       "exec /bin/sh \"$1/script\"";
	struct waiter_source to = {
		.fd = f->theirs, .events = POLLIN, .ready = to_target, .self = f};
	struct waiter_source from = {.events = POLLIN, .ready = from_target, .self = f};
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	struct err e = {0};

	unit_write(f->dir, "script", script);
	unit_write(f->dir, "printk", "7\t4\t1\t7\n");
	f->pid = forkpty(&f->master, NULL, NULL, &size);
	assert_true(f->pid >= 0);
	if (f->pid == 0) {
		(void)setenv("TERM", "vt100", 1);
		(void)setenv("PS1", "# ", 1);
		(void)setenv("D", f->dir, 1);
		execlp("unshare", "unshare", "--mount", "/bin/sh", "-c", unshared, "sh", f->dir,
		       (char *)NULL);
		_exit(127);
	}
	from.fd = f->master;
	assert_int_equal(waiter_add(f->w, &to, &e), 0);
	assert_int_equal(waiter_add(f->w, &from, &e), 0);
	assert_int_equal(port_open_fd(f->w, f->ours, on_console, f, &f->port, &e), 0);
	f->l = (struct login){.w = f->w, .port = f->port, .cfg = &f->cfg, .password = password};
	assert_int_equal(talk_open(f->w, f->port, &f->l.talk, &e), 0);
}

static int enter(struct fixture *f, int64_t timeout_ms, struct err *e)
{
	return login_enter(&f->l, waiter_now(f->w) + timeout_ms * NSEC_PER_MSEC, e);
}

static void must_enter(struct fixture *f)
{
	struct err e = {0};

	if (enter(f, 60000, &e) < 0)
		fail_msg("%s; seen: '%s'", e.text, strbuf_str(&f->seen));
}

/* As login(1): asks for both, says no, or goes on with what stands behind it. */
#define GETTY                                                              \
	"while :; do\n"                                                    \
	"	printf 'lab login: '; read -r u || exit\n"                       \
	"	[ -n \"$u\" ] || continue\n"                                     \
	"	stty -echo; printf 'Password: '; read -r p; stty echo; echo\n"   \
	"	[ \"$u\" = root ] && [ \"$p\" = '" SECRET "' ] && break\n" \
	"	printf '\\nLogin incorrect\\n'\n"                                \
	"done\n"                                                           \
	"echo 'Last login: Mon Nov 30 01:02:03 on ttyS0'; echo '# no prompt either'\n"

#define BUSYBOX_SH "exec busybox sh -i\n"

static char *level_of(const struct fixture *f)
{
	auto_free char *path = xasprintf("%s/printk", f->dir);
	auto_strbuf struct strbuf s = STRBUF_INIT;
	struct err e = {0};

	assert_int_equal(file_read(path, 100, &s, &e), 0);
	return strbuf_take(&s);
}

static void test_a_login_ends_in_a_shell_that_takes_commands(void **state)
{
	static const char *const shells[] = {BUSYBOX_SH, "exec dash -i\n",
					     "exec bash --norc --noprofile -i\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		auto_free char *script = xasprintf("%s%s", GETTY, shells[i]);
		auto_strbuf struct strbuf out = STRBUF_INIT;
		auto_free char *lowered = NULL;
		auto_free char *restored = NULL;
		struct fixture *f;
		struct err e = {0};

		assert_int_equal(setup((void **)&f), 0);
		start(f, script, SECRET);
		must_enter(f);
		assert_int_equal(f->l.console_level, 7);
		lowered = level_of(f);
		assert_string_equal(lowered, "1\n");
		assert_int_equal(
			login_do(&f->l, "echo one;echo \"t'w\\o\"", NSEC_PER_SEC * 5, &out, &e), 0);
		assert_string_equal(strbuf_str(&out), "one\nt'w\\o\n");
		assert_int_equal(login_do(&f->l, "echo no;(exit 3)", NSEC_PER_SEC * 5, NULL, &e),
				 -EREMOTEIO);
		assert_contains(e.text, "ended with status 3: 'no'");
		assert_int_equal(login_exec(&f->l, "sh -c 'echo gone;sleep 9'", &e), 0);
		const char *const gone[] = {"gone\n"};
		assert_int_equal(talk_expect(f->l.talk, gone, 1,
					     waiter_now(f->w) + 5 * NSEC_PER_SEC, NULL, &e),
				 0);
		restored = level_of(f);
		assert_string_equal(restored, "7\n");
		assert_null(strstr(strbuf_str(&f->seen), SECRET));
		teardown((void **)&f);
	}
}

static void test_what_is_sent_and_what_comes_may_suffer(void **state)
{
	struct fixture *f = *state;
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	start(f, GETTY BUSYBOX_SH, SECRET);
	f->noise_every = 90;
	must_enter(f);
	f->noise_every = 0;
	f->drop_every = 41;
	f->drops_left = 2;
	assert_int_equal(login_do(&f->l, "echo this arrives whole or not at all", 5 * NSEC_PER_SEC,
				  &out, &e),
			 0);
	assert_contains(strbuf_str(&out), "this arrives whole or not at all");
	assert_true(f->l.n_repeated > 0);
	/* and from then on slower */
	assert_true(f->l.tx_byte_us > 0);
}

static void test_each_way_not_to_get_a_shell_is_named(void **state)
{
	static const struct {
		const char *script, *password;
		int64_t timeout_ms;
		int code;
		const char *want, *want_too;
	} cases[] = {
		{GETTY BUSYBOX_SH, "wrong", 60000, -EACCES, "login as 'root' was refused 2 times",
		 "the console says 'Login incorrect'"},
		{GETTY BUSYBOX_SH, NULL, 60000, -EACCES, "asks for a password",
		 "neither login.password_file"},
		{"echo booting; sleep 60\n", SECRET, 1500, -ETIMEDOUT, "no 'login: ' within",
		 "the last line is 'booting'"},
		{GETTY "echo 'no home directory'; sleep 60\n", SECRET, 3000, -ETIMEDOUT,
		 "no '# ' within", "'no home directory'"},
		{GETTY "printf 'New password: '; read p\n", SECRET, 20000, -EACCES,
		 "asks for another password", "is it expired?"},
		{GETTY "printf 'boot# '; exec cat\n", SECRET, 60000, -ENOEXEC, "is no shell",
		 "ended in 'echo sr-$((40+2))"},
		{"id() { echo 1000; }\n" GETTY
		 "mkdir $D/bin; printf '#!/bin/sh\\necho 1000\\n' >$D/bin/id; chmod 755 $D/bin/id\n"
		 "PATH=$D/bin:$PATH exec dash -i\n",
		 SECRET, 60000, -EACCES, "is user 1000 on the target", "needs root"},
		{GETTY "echo 'Kernel panic - not syncing: bye'; sleep 60\n", SECRET, 60000, -ECHILD,
		 "the kernel panicked during the login", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f;
		struct err e = {0};
		int r;

		assert_int_equal(setup((void **)&f), 0);
		start(f, cases[i].script, cases[i].password);
		r = enter(f, cases[i].timeout_ms, &e);
		if (r != cases[i].code)
			fail_msg("case %zu: %d: %s", i, r, e.text);
		assert_int_equal(e.kind, r == -ECHILD ? ERR_KERNEL : ERR_RIG);
		assert_contains(e.text, cases[i].want);
		assert_contains(e.text, cases[i].want_too);
		assert_null(strstr(e.text, SECRET));
		teardown((void **)&f);
	}
}

static void test_a_password_that_is_echoed_is_kept_by_nobody(void **state)
{
	struct fixture *f = *state;

	start(f,
	      "printf 'login: '; read u; printf 'Password: '; read p; echo \"you said $p.\"\n"
	      "echo 'gehei geheim 2'\n" BUSYBOX_SH,
	      SECRET);
	must_enter(f);
	assert_null(strstr(strbuf_str(&f->seen), SECRET));
	assert_contains(strbuf_str(&f->seen), "you said ***.");
	/* and nothing else is lost */
	assert_contains(strbuf_str(&f->seen), "gehei geheim 2");
}

static void test_a_shell_without_a_login(void **state)
{
	struct fixture *f = *state;

	f->cfg.login_prompt = text("# ");
	start(f, BUSYBOX_SH, NULL);
	must_enter(f);
}

/* --- upload ---------------------------------------------------------------------------------- */

/* Bytes that do not shrink, so that size is what it says. */
static void make_file(struct target_file *ret, const char *name, size_t packed_min, uint64_t seed)
{
	const struct child_cfg child = {.argv = (const char *const[]){"gzip", "-9nc", name, NULL},
					.stdin_fd = -1};
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	struct waiter *w = waiter_new(NULL);
	struct err e = {0};
	struct rng rng;

	rng_init(&rng, seed);
	while (bytes.len < packed_min) {
		uint64_t v = rng_u64(&rng);

		strbuf_add(&bytes, &v, sizeof(v));
	}
	*ret = (struct target_file){.name = xstrdup(name), .packed = STRBUF_INIT};
	assert_int_equal(file_write_atomic(name, bytes.data, bytes.len, &e), 0);
	sha256_bytes(bytes.data, bytes.len, ret->sha256);
	assert_int_equal(child_run(w, &child, 20 * NSEC_PER_SEC, &ret->packed, &e), 0);
	waiter_free(w);
}

static void must_have(const struct fixture *f, const struct target_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		auto_free char *path = xasprintf("%s/%s", f->cfg.folder, files->v[i].sha256);
		char sha256[SHA256_HEX_SIZE];
		struct err e = {0};
		struct stat st;

		assert_int_equal(sha256_file(path, sha256, &e), 0);
		assert_string_equal(sha256, files->v[i].sha256);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0111, 0111);
	}
}

static unsigned count(const struct strbuf *s, const char *what)
{
	unsigned n = 0;

	for (const char *p = strbuf_str(s); (p = strstr(p, what)); p++)
		n++;
	return n;
}

struct upload_fixture {
	struct fixture *f;
	struct target_files files;
	struct upload u;
};

static void begin_upload(struct upload_fixture *uf, struct fixture *f, unsigned n, size_t bytes)
{
	*uf = (struct upload_fixture){.f = f, .u.login = &f->l};
	uf->files.v = xcalloc(n, sizeof(*uf->files.v));
	for (; uf->files.n < n; uf->files.n++) {
		auto_free char *path = xasprintf("%s/file%zu", f->dir, uf->files.n);

		make_file(&uf->files.v[uf->files.n], path, bytes, 7 + uf->files.n);
	}
	start(f, BUSYBOX_SH, NULL);
	f->cfg.login_prompt = f->cfg.shell_prompt;
	must_enter(f);
	strbuf_reset(&f->sent);
}

static void must_upload(struct upload_fixture *uf)
{
	struct err e = {0};

	if (upload_files(&uf->u, &uf->files, &e) < 0)
		fail_msg("%s; seen: '%s'", e.text, strbuf_str(&uf->f->seen));
	must_have(uf->f, &uf->files);
}

static void test_files_arrive_whole_over_a_bad_line_and_are_sent_once(void **state)
{
	struct fixture *f = *state;
	struct upload_fixture uf;

	begin_upload(&uf, f, 2, 12000);
	f->drop_every = 7001;
	f->drops_left = 4;
	f->noise_every = 300;
	must_upload(&uf);
	assert_int_equal(uf.u.n_sent, 2);
	assert_true(f->l.n_repeated > 0);

	strbuf_reset(&f->sent);
	uf.u.n_sent = 0;
	must_upload(&uf);
	assert_int_equal(uf.u.n_sent, 0);
	assert_int_equal(uf.u.n_had, 2);
	assert_int_equal(count(&f->sent, " sr_b "), 0);
	target_files_release(&uf.files);
}

/* What an upload that was cut off has left: size bytes of the file, the first spoiled or not. */
static void leave_part(const struct upload_fixture *uf, size_t size, bool is_spoiled)
{
	const struct strbuf *packed = &uf->files.v[0].packed;
	auto_free char *bytes = xcalloc(size, 1);
	char sha256[SHA256_HEX_SIZE];
	auto_free char *path = NULL;
	struct err e = {0};

	sha256_bytes(packed->data, packed->len, sha256);
	path = xasprintf("%s/%.16s.part", uf->f->cfg.folder, sha256);
	memcpy(bytes, packed->data, size);
	bytes[0] = (char)(bytes[0] ^ is_spoiled);
	assert_int_equal(dir_make(uf->f->cfg.folder, &e), 0);
	assert_int_equal(file_write_atomic(path, bytes, size, &e), 0);
}

static void test_half_a_file_goes_on_where_it_stopped(void **state)
{
	static const struct {
		size_t had_blocks, had_bytes;
		bool is_spoiled;
		unsigned want; /* blocks that are sent; the file has 5 */
	} cases[] = {
		{3, 0, false, 2},
		{0, 0, false, 5},
		/* half a block is none, and nothing before it is trusted */
		{3, 100, false, 5},
		/* it only shows at the end */
		{4, 0, true, 6},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct upload_fixture uf;
		struct fixture *f;

		assert_int_equal(setup((void **)&f), 0);
		begin_upload(&uf, f, 1, 4 * UPLOAD_BLOCK + 500);
		if (cases[i].had_blocks)
			leave_part(&uf, cases[i].had_blocks * UPLOAD_BLOCK + cases[i].had_bytes,
				   cases[i].is_spoiled);
		must_upload(&uf);
		assert_int_equal(count(&f->sent, " sr_b "), cases[i].want);
		target_files_release(&uf.files);
		teardown((void **)&f);
	}
}

static void test_an_upload_has_limits(void **state)
{
	struct fixture *f = *state;
	struct upload_fixture uf;
	struct err e = {0};

	f->cfg.upload_max_kib = 40;
	begin_upload(&uf, f, 1, 40 * 1024 + 1);
	assert_int_equal(upload_files(&uf.u, &uf.files, &e), -EFBIG);
	assert_contains(e.text, "KiB compressed, login.upload_max_kib allows 40");
	assert_int_equal(f->sent.len, 0);
	/* at the limit */
	f->cfg.upload_max_kib = (unsigned)((uf.files.v[0].packed.len + 1023) / 1024);
	must_upload(&uf);

	/* the time: nothing gets through any more */
	f->cfg.upload_timeout_s = 1;
	f->is_cut = true;
	assert_int_equal(upload_files(&uf.u, &uf.files, &e), -ETIMEDOUT);
	assert_contains(e.text, "does not answer to 'sr_d=");
	target_files_release(&uf.files);
}

static void test_a_target_that_cannot_keep_files_says_why(void **state)
{
	struct fixture *f = *state;
	struct upload_fixture uf;
	struct err e = {0};

	free(f->cfg.folder);
	f->cfg.folder = xstrdup("/proc/nowhere");
	begin_upload(&uf, f, 1, 100);
	assert_int_equal(upload_files(&uf.u, &uf.files, &e), -EREMOTEIO);
	assert_int_equal(e.kind, ERR_RIG);
	assert_contains(e.text, "mkdir");
	target_files_release(&uf.files);
}

static void test_passwords_come_from_a_file_or_the_environment(void **state)
{
	struct fixture *f = *state;
	auto_free char *path = xasprintf("%s/pw", f->dir);
	struct login_cfg cfg = {0};
	char *password = NULL;
	char longest[202];
	struct err e = {0};

	assert_int_equal(login_cfg_password(&cfg, &password, &e), 0);
	assert_null(password);
	unit_write(f->dir, "pw", SECRET "\r\nnot this\n");
	cfg.password_file = path;
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(login_cfg_password(&cfg, &password, &e), -EACCES);
	assert_contains(e.text, "others than its owner can read it");
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(login_cfg_password(&cfg, &password, &e), 0);
	assert_string_equal(password, SECRET);
	free(take(password));

	cfg = (struct login_cfg){.password_env = text("STALLRIG_TEST_PW")};
	(void)unsetenv("STALLRIG_TEST_PW");
	assert_int_equal(login_cfg_password(&cfg, &password, &e), -ENOENT);
	assert_contains(e.text, "no variable 'STALLRIG_TEST_PW'");
	memset(longest, 'x', sizeof(longest));
	longest[201] = '\0';
	(void)setenv("STALLRIG_TEST_PW", longest, 1);
	assert_int_equal(login_cfg_password(&cfg, &password, &e), -EINVAL);
	assert_null(strstr(e.text, "xxxx"));
	longest[200] = '\0';
	(void)setenv("STALLRIG_TEST_PW", longest, 1);
	assert_int_equal(login_cfg_password(&cfg, &password, &e), 0);
	assert_string_equal(password, longest);
	free(password);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_login_ends_in_a_shell_that_takes_commands),
		TEST(test_what_is_sent_and_what_comes_may_suffer),
		cmocka_unit_test(test_each_way_not_to_get_a_shell_is_named),
		TEST(test_a_password_that_is_echoed_is_kept_by_nobody),
		TEST(test_a_shell_without_a_login),
		TEST(test_files_arrive_whole_over_a_bad_line_and_are_sent_once),
		cmocka_unit_test(test_half_a_file_goes_on_where_it_stopped),
		TEST(test_an_upload_has_limits),
		TEST(test_a_target_that_cannot_keep_files_says_why),
		TEST(test_passwords_come_from_a_file_or_the_environment),
	};

	/* a log level of its own needs a mount */
	UNIT_NEEDS_ROOT();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
