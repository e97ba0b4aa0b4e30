/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/*
 * Login and upload against the real shells of busybox, dash and bash on a real terminal, behind a
 * line that loses characters and has the kernel's lines in between. The getty is a script: the real
 * one is in tests/fixtures/login.py.
 */
#include "../../controller/rig/bring_in.h"
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
	/* a line of 115200 baud: what has come from the target and is on its way */
	unsigned bytes_per_s; /* 0 = it takes no time */
	struct strbuf on_way_to, on_way_from;
	nsec_t free_to_ns, free_from_ns; /* when the line is free again */
	struct waiter_timer tick;
	size_t n_line_to, n_line_from; /* bytes that went through */
};

#define FIFO        16   /* of a UART */
#define UART_BUFFER 4096 /* UART_XMIT_SIZE */

/* Lets through what its time has come for. */
static void pass(struct fixture *f, struct strbuf *way, nsec_t *free_ns, int fd, size_t *count)
{
	const nsec_t now_ns = waiter_now(f->w);

	while (way->len && *free_ns <= now_ns) {
		const size_t n = way->len < FIFO ? way->len : FIFO;

		assert_int_equal(write(fd, strbuf_str(way), n), n);
		strbuf_consume(way, n);
		*count += n;
		*free_ns += (nsec_t)n * NSEC_PER_SEC / f->bytes_per_s;
	}
}

static void on_tick(void *self)
{
	struct fixture *f = self;

	pass(f, &f->on_way_to, &f->free_to_ns, f->master, &f->n_line_to);
	pass(f, &f->on_way_from, &f->free_from_ns, f->theirs, &f->n_line_from);
	/* a UART's buffer in the kernel: who writes more has to wait */
	waiter_set_events(f->w, f->master, f->on_way_from.len < UART_BUFFER ? POLLIN : 0);
	f->tick.at_ns = waiter_now(f->w) + NSEC_PER_MSEC;
	assert_int_equal(waiter_timer_set(f->w, &f->tick, NULL), 0);
}

/* Puts bytes on the line in one direction. */
static void put_on(struct fixture *f, struct strbuf *way, nsec_t *free_ns, const void *bytes,
		   size_t n)
{
	const nsec_t now_ns = waiter_now(f->w);

	if (!way->len && *free_ns < now_ns)
		*free_ns = now_ns;
	strbuf_add(way, bytes, n);
}

static void set_pace(struct fixture *f, unsigned bytes_per_s)
{
	f->bytes_per_s = bytes_per_s;
	f->tick = (struct waiter_timer){.fire = on_tick, .self = f};
	on_tick(f);
}

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
		if (f->bytes_per_s)
			put_on(f, &f->on_way_to, &f->free_to_ns, &buf[i], 1);
		else
			assert_int_equal(write(f->master, &buf[i], 1), 1);
	}
	return 0;
}

static int from_target(void *self, short revents, struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
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
	/* at once: a socket has room for few writes, whatever their size */
	for (ssize_t i = 0; i < n && !f->is_cut; i++) {
		if (f->noise_every && ++f->n_from % f->noise_every == 0)
			strbuf_adds(&out, NOISE);
		strbuf_add(&out, &buf[i], 1);
	}
	if (f->bytes_per_s) {
		put_on(f, &f->on_way_from, &f->free_from_ns, strbuf_str(&out), out.len);
		if (f->on_way_from.len >= UART_BUFFER)
			waiter_set_events(f->w, f->master, 0);
	} else {
		assert_int_equal(write(f->theirs, strbuf_str(&out), out.len), out.len);
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
	strbuf_release(&f->on_way_to);
	strbuf_release(&f->on_way_from);
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

static void test_the_kernel_has_no_regard_for_prompts(void **state)
{
	struct fixture *f = *state;

	/* each prompt has a line of the kernel behind it at once, and none comes twice */
	start(f,
	      "u=; while [ -z \"$u\" ]; do printf 'login: [   12.345678] usb 1-1: new\\n'; read u; done\n"
	      "printf 'Password: [   13.345678] usb 1-1: # gone\\n'; read p\n"
	      "[ \"$u$p\" = 'root" SECRET "' ] && " BUSYBOX_SH,
	      SECRET);
	must_enter(f);
}

static void test_a_shell_without_a_login(void **state)
{
	struct fixture *f = *state;

	f->cfg.login_prompt = text("# ");
	start(f, BUSYBOX_SH, NULL);
	must_enter(f);
}

/* --- upload ---------------------------------------------------------------------------------- */

static void pack_file(struct target_file *ret, const char *name, const char *path)
{
	const struct child_cfg child = {.argv = (const char *const[]){"gzip", "-9nc", path, NULL},
					.stdin_fd = -1};
	struct waiter *w = waiter_new(NULL);
	struct err e = {0};

	*ret = (struct target_file){.name = xstrdup(name), .packed = STRBUF_INIT};
	assert_int_equal(sha256_file(path, ret->sha256, &e), 0);
	assert_int_equal(child_run(w, &child, 20 * NSEC_PER_SEC, &ret->packed, &e), 0);
	waiter_free(w);
}

/* Bytes that do not shrink, so that size is what it says. */
static void make_file(struct target_file *ret, const char *name, const char *dir, size_t packed_min,
		      uint64_t seed)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	struct err e = {0};
	struct rng rng;

	rng_init(&rng, seed);
	while (bytes.len < packed_min) {
		uint64_t v = rng_u64(&rng);

		strbuf_add(&bytes, &v, sizeof(v));
	}
	assert_int_equal(file_write_atomic(path, bytes.data, bytes.len, &e), 0);
	pack_file(ret, name, path);
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

static void begin_upload_to(const char *script, struct upload_fixture *uf, struct fixture *f,
			    unsigned n, size_t bytes)
{
	*uf = (struct upload_fixture){.f = f, .u.login = &f->l};
	uf->files.v = xcalloc(n, sizeof(*uf->files.v));
	for (; uf->files.n < n; uf->files.n++) {
		auto_free char *name = xasprintf("file%zu", uf->files.n);

		make_file(&uf->files.v[uf->files.n], name, f->dir, bytes, 7 + uf->files.n);
	}
	start(f, script, NULL);
	f->cfg.login_prompt = f->cfg.shell_prompt;
	must_enter(f);
	strbuf_reset(&f->sent);
}

static void begin_upload(struct upload_fixture *uf, struct fixture *f, unsigned n, size_t bytes)
{
	begin_upload_to(BUSYBOX_SH, uf, f, n, bytes);
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
	static const struct {
		const char *script, *folder, *want;
	} cases[] = {
		{BUSYBOX_SH, "/proc/nowhere", "mkdir"},
		/* seen only by the target, whose mounts are its own */
		{"mkdir $D/kept; mount -t tmpfs -o size=16k none $D/kept\n" BUSYBOX_SH, NULL,
		 "no room for /tmp/"},
		{"mkdir $D/bin; for i in sha256sum cat id stty mkdir gzip wc touch; do\n"
		 "ln -s /bin/busybox $D/bin/$i; done; PATH=$D/bin exec /bin/dash -i\n",
		 NULL, "base64 is missing"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct upload_fixture uf;
		struct fixture *f;
		struct err e = {0};

		assert_int_equal(setup((void **)&f), 0);
		if (cases[i].folder) {
			free(f->cfg.folder);
			f->cfg.folder = xstrdup(cases[i].folder);
		}
		begin_upload_to(cases[i].script, &uf, f, 1, 40000);
		assert_int_equal(upload_files(&uf.u, &uf.files, &e), -EREMOTEIO);
		assert_int_equal(e.kind, ERR_RIG);
		assert_contains(e.text, cases[i].want);
		target_files_release(&uf.files);
		teardown((void **)&f);
	}
}

static bool send_in_band(void *self, const char *frame, size_t n)
{
	struct fixture *f = self;

	return port_is_sent(f->port) && port_write(f->port, frame, n, NULL) == 0;
}

static void on_link_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)t_host_ns;
	link_feed(self, bytes, n);
}

static void keep_progress(void *self, const char *said)
{
	strbuf_addf(self, "%s\n", said);
}

/* The real agent where the shell was; progress gets what a person is told. */
static struct link *bring_in(struct fixture *f, struct link_io *io, struct strbuf *progress)
{
	auto_free char *path = xasprintf("%s/pw", f->dir);
	struct target_files files = {0};
	struct rig_cfg rig = {.login = &f->cfg};
	struct link *link;
	struct err e = {0};

	files.v = xcalloc(2, sizeof(*files.v));
	files.n = 2;
	pack_file(&files.v[0], "agent", STALLRIG_BUILD_DIR "/stallrig-agent");
	make_file(&files.v[1], "latency-mon.ko", f->dir, 3000, 5);
	start(f, GETTY BUSYBOX_SH, NULL);
	unit_write(f->dir, "pw", SECRET "\n");
	assert_int_equal(chmod(path, 0600), 0);
	f->cfg.password_file = path;
	/* below /dev, as a board's ttySC0 */
	rig.console.device = ptsname(f->master) + strlen("/dev/");
	talk_close(take(f->l.talk));

	const struct bring_in b = {.w = f->w,
				   .port = f->port,
				   .rig = &rig,
				   .files = &files,
				   .tell = keep_progress,
				   .self = progress};

	if (bring_in_agent(&b, &e) < 0)
		fail_msg("%s", e.text);
	f->cfg.password_file = NULL;
	target_files_release(&files);
	*io = (struct link_io){.send = send_in_band, .self = f};
	link = link_new_over(f->w, io);
	assert_int_equal(port_tap(f->port, on_link_bytes, link, &e), 0);
	if (link_hello(link, waiter_now(f->w) + 30 * NSEC_PER_SEC, &e) < 0)
		fail_msg("%s", e.text);
	return link;
}

static void test_the_agent_comes_in_and_answers_where_the_shell_was(void **state)
{
	struct fixture *f = *state;
	auto_strbuf struct strbuf progress = STRBUF_INIT;
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	auto_free char *path = xasprintf("%s/probe/latency-mon.ko", f->cfg.folder);
	auto_link struct link *link = NULL;
	auto_free char *level = NULL;
	struct link_io io;
	struct err e = {0};

	link = bring_in(f, &io, &progress);
	if (link_call(link, 10 * NSEC_PER_SEC, &reply, &e, "info") < 0)
		fail_msg("%s", e.text);
	port_untap(f->port, on_link_bytes, link);
	assert_contains(strbuf_str(&reply), "release=");
	assert_contains(strbuf_str(&progress), "upload: agent, ");
	assert_contains(strbuf_str(&progress), "upload: 2 files sent, 0 were there");
	level = level_of(f);
	assert_string_equal(level, "7\n");
	/* the probe module has its name */
	assert_int_equal(access(path, R_OK), 0);
}

/* 11520 bytes a second, and a line of the kernel log in every few frames. */
static void test_the_agent_answers_over_a_slow_line_that_the_kernel_uses_too(void **state)
{
	struct fixture *f = *state;
	auto_free char *path = xasprintf("%s/long", f->dir);
	auto_strbuf struct strbuf progress = STRBUF_INIT;
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	auto_strbuf struct strbuf long_text = STRBUF_INIT;
	auto_link struct link *link = NULL;
	struct link_io io;
	struct err e = {0};

	for (int i = 0; i < 250; i++)
		strbuf_addf(&long_text, "line %d of an answer that takes a second on the line\n",
			    i);
	unit_write(f->dir, "long", strbuf_str(&long_text));
	link = bring_in(f, &io, &progress);
	set_pace(f, 11520);
	f->noise_every = 700;
	if (link_call(link, 60 * NSEC_PER_SEC, &reply, &e, "sh command=cat%%20%s", path) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(strncmp(strbuf_str(&reply), strbuf_str(&long_text), long_text.len), 0);
	for (int i = 0; i < 20; i++)
		if (link_call(link, 20 * NSEC_PER_SEC, &reply, &e, "ping") < 0)
			fail_msg("%s", e.text);
	port_untap(f->port, on_link_bytes, link);
	(void)fprintf(
		stderr, "115200 baud: %zu bytes to the agent, %zu from it, %llu repetitions\n",
		f->n_line_to, f->n_line_from, (unsigned long long)link_stats(link)->retransmits);
	assert_true(link_stats(link)->bad_frames > 0);
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
		TEST(test_the_kernel_has_no_regard_for_prompts),
		TEST(test_a_shell_without_a_login),
		TEST(test_files_arrive_whole_over_a_bad_line_and_are_sent_once),
		cmocka_unit_test(test_half_a_file_goes_on_where_it_stopped),
		TEST(test_an_upload_has_limits),
		cmocka_unit_test(test_a_target_that_cannot_keep_files_says_why),
		TEST(test_the_agent_comes_in_and_answers_where_the_shell_was),
		TEST(test_the_agent_answers_over_a_slow_line_that_the_kernel_uses_too),
		TEST(test_passwords_come_from_a_file_or_the_environment),
	};

	/* a log level of its own needs a mount */
	UNIT_NEEDS_ROOT();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
