/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_load.c - programs of the target as load: dd and sha256sum, their output understood. */
#include "base/parse.h"
#include "program.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

int program_start(const char *const *argv, int stream, struct program *ret, struct err *e)
{
	int fds[2];
	int start_fds[2];
	int code = 0;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(e, ERR_TARGET, errno, "%s: pipe", argv[0]);
	if (pipe2(start_fds, O_CLOEXEC) < 0) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		return err_errno(e, ERR_TARGET, errno, "%s: pipe", argv[0]);
	}
	ret->pid = fork();
	if (ret->pid == 0) {
		int null_fd = open("/dev/null", O_RDWR);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int fd = 0; fd < 3; fd++)
			(void)dup2(fd == stream ? fds[1] : null_fd, fd);
		(void)setenv("LC_ALL", "C", 1);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		code = errno;
		(void)!write(start_fds[1], &code, sizeof(code));
		_exit(127);
	}
	code = ret->pid < 0 ? errno : 0;
	(void)close(fds[1]);
	(void)close(start_fds[1]);
	n = code ? 0 : read(start_fds[0], &code, sizeof(code));
	(void)close(start_fds[0]);
	if (n == (ssize_t)sizeof(code))
		(void)waitpid(ret->pid, NULL, 0);
	if (code) {
		(void)close(fds[0]);
		return err_errno(e, ERR_TARGET, code, "%s", argv[0]);
	}
	ret->out_fd = fds[0];
	return 0;
}

ssize_t program_read(const struct program *p, char *buf, size_t n, int64_t until_ns)
{
	for (;;) {
		struct pollfd pfd = {.fd = p->out_fd, .events = POLLIN};
		int64_t left_ns = until_ns - clock_ns(CLOCK_MONOTONIC);
		ssize_t got;

		if (left_ns <= 0)
			return -ETIMEDOUT;
		if (poll(&pfd, 1, (int)(left_ns / 1000000) + 1) <= 0)
			continue;
		got = read(p->out_fd, buf, n);
		if (got >= 0 || errno != EINTR)
			return got > 0 ? got : 0;
	}
}

bool program_line_add(char *line, size_t cap, size_t *len, char c)
{
	if (c != '\n') {
		if (*len < cap - 1)
			line[(*len)++] = c;
		return false;
	}
	line[*len] = '\0';
	*len = 0;
	return true;
}

int program_exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- dd ------------------------------------------------------------------------------------ */

/* "<full>+<part> records in" */
static bool parse_records(const char *line, const char *tail, uint64_t *ret_full,
			  uint64_t *ret_part)
{
	const char *plus = strchr(line, '+');
	char full[24], part[24];
	size_t n;

	if (!plus)
		return false;
	n = strspn(plus + 1, "0123456789");
	if (strcmp(plus + 1 + n, tail) != 0)
		return false;
	(void)snprintf(full, sizeof(full), "%.*s", (int)(plus - line), line);
	(void)snprintf(part, sizeof(part), "%.*s", (int)n, plus + 1);
	return parse_u64("records", full, 0, UINT64_MAX, ret_full, NULL) == 0 &&
	       parse_u64("records", part, 0, UINT64_MAX, ret_part, NULL) == 0;
}

/* "<bytes> bytes (…) copied, <seconds> s, …": the seconds as microseconds, or -1. */
static int64_t parse_elapsed(const char *line)
{
	static const char before[] = " copied, ";
	const char *p = strstr(line, before);
	int64_t us = 0;

	if (!p)
		return -1;
	p += strlen(before);
	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (us > INT64_MAX / 100)
			return -1;
		us = us * 10 + (*p - '0');
	}
	if (us > INT64_MAX / 1000000)
		return -1;
	us *= 1000000;
	/* tiny times are written as 1.2e-05 */
	if (*p == '.') {
		int64_t unit = 100000;

		for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
			us += unit * (*p - '0');
	}
	if (*p == 'e')
		us = 0;
	return *p == ' ' || *p == 'e' ? us : -1;
}

static void dd_line(struct dd_report *rep, const char *line)
{
	size_t n = strspn(line, "0123456789");
	char digits[24];

	if (parse_records(line, " records in", &rep->in_full, &rep->in_part)) {
		rep->has_in = true;
	} else if (parse_records(line, " records out", &rep->out_full, &rep->out_part)) {
		rep->has_out = true;
	} else if (n && strncmp(line + n, " byte", 5) == 0) {
		(void)snprintf(digits, sizeof(digits), "%.*s", (int)n, line);
		if (parse_u64("bytes", digits, 0, UINT64_MAX, &rep->bytes, NULL) < 0)
			return;
		rep->has_bytes = true;
		rep->elapsed_us = parse_elapsed(line);
	} else if (*line) {
		(void)snprintf(rep->last, sizeof(rep->last), "%s", line);
	}
}

void dd_report_feed(struct dd_report *rep, const char *bytes, size_t n)
{
	rep->said += n;
	for (size_t i = 0; i < n; i++)
		if (program_line_add(rep->line, sizeof(rep->line), &rep->len, bytes[i]))
			dd_line(rep, rep->line);
}

/*
 * All that the process wrote, its messages included. Asking dd itself (SIGUSR1) would cut its
 * reads short, and not each busybox prints bytes.
 */
static bool bytes_written(pid_t pid, uint64_t *ret)
{
	char path[64];
	char text[512];
	char *p;

	(void)snprintf(path, sizeof(path), "/proc/%jd/io", (intmax_t)pid);
	if (!sysfile_word("", path, text, sizeof(text)))
		return false;
	p = strstr(text, "wchar: ");
	if (!p)
		return false;
	p += strlen("wchar: ");
	p[strspn(p, "0123456789")] = '\0';
	return parse_u64("wchar", p, 0, UINT64_MAX, ret, NULL) == 0;
}

/* The same without its messages, those too that nobody has read yet: never more than was copied. */
static bool bytes_copied(const struct program *p, const struct dd_report *rep, uint64_t *ret)
{
	uint64_t written;
	int waiting = 0;

	if (!bytes_written(p->pid, &written) || ioctl(p->out_fd, FIONREAD, &waiting) < 0)
		return false;
	*ret = written > rep->said + (uint64_t)waiting ? written - rep->said - (uint64_t)waiting
						       : 0;
	return true;
}

#define DD_PROGRESS_NS 500000000

/* Follows dd to its end and passes on how far it is, at most twice a second. */
static void dd_follow(struct request *rq, const struct program *p, struct dd_report *rep)
{
	const int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t next_ns = start_ns + DD_PROGRESS_NS;

	for (;;) {
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t bytes;
		char buf[512];
		ssize_t n;

		if (now_ns >= next_ns) {
			if (bytes_copied(p, rep, &bytes))
				answer_linef(rq->answer, "bytes=%" PRIu64 " elapsed_ms=%" PRId64,
					     bytes, (now_ns - start_ns) / 1000000);
			next_ns = now_ns + DD_PROGRESS_NS;
		}
		n = program_read(p, buf, sizeof(buf), next_ns);
		if (n == 0)
			return;
		if (n > 0)
			dd_report_feed(rep, buf, (size_t)n);
	}
}

int verb_dd(struct request *rq, struct err *e)
{
	const char *argv[FRAME_WORDS_MAX + 3] = {"dd"};
	struct dd_report rep = {.elapsed_us = -1};
	struct answer *a = rq->answer;
	int64_t start_ns, wall_ms;
	const char *in = NULL;
	struct program p = {.pid = -1, .out_fd = -1};
	siginfo_t ended;
	uint64_t written;
	size_t n = 1;
	int status;
	int r;

	r = request_need(rq, "if", &in, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rq->frame->n_words; i++)
		if (strncmp(rq->frame->words[i], "bg=", 3) != 0)
			argv[n++] = rq->frame->words[i];
	if (!request_get(rq, "of"))
		argv[n++] = "of=/dev/null";
	argv[n] = NULL;
	start_ns = clock_ns(CLOCK_MONOTONIC);
	r = program_start(argv, STDERR_FILENO, &p, e);
	if (r < 0)
		return r;

	dd_follow(rq, &p, &rep);
	(void)close(p.out_fd);
	/* its counters can be read until it is reaped */
	(void)waitid(P_PID, (id_t)p.pid, &ended, WEXITED | WNOWAIT);
	if (!rep.has_bytes && bytes_written(p.pid, &written) && written >= rep.said) {
		rep.bytes = written - rep.said;
		rep.has_bytes = true;
	}
	(void)waitpid(p.pid, &status, 0);
	wall_ms = (clock_ns(CLOCK_MONOTONIC) - start_ns) / 1000000;
	if (!rep.has_in || !rep.has_out)
		return err_set(e, ERR_TARGET, EIO, "dd: exit %d: %s", program_exit_code(status),
			       *rep.last ? rep.last : "no records in its output");

	answer_word(a, "records_in", "%" PRIu64, rep.in_full);
	answer_word(a, "records_in_partial", "%" PRIu64, rep.in_part);
	answer_word(a, "records_out", "%" PRIu64, rep.out_full);
	answer_word(a, "records_out_partial", "%" PRIu64, rep.out_part);
	if (rep.has_bytes)
		answer_word(a, "bytes", "%" PRIu64, rep.bytes);
	answer_word(a, "elapsed_ms", "%" PRId64,
		    rep.elapsed_us >= 0 ? rep.elapsed_us / 1000 : wall_ms);
	answer_word(a, "wall_ms", "%" PRId64, wall_ms);
	answer_word(a, "exit", "%d", program_exit_code(status));
	if (*rep.last)
		answer_word(a, "message", "%s", rep.last);
	return 0;
}

/* --- sha256 -------------------------------------------------------------------------------- */

int verb_sha256(struct request *rq, struct err *e)
{
	const char *argv[] = {"sha256sum", NULL, NULL};
	const char *path = NULL;
	struct program p = {.pid = -1, .out_fd = -1};
	struct stat st;
	char text[256];
	size_t len = 0;
	ssize_t n;
	int status;
	int r;

	r = request_need(rq, "path", &path, e);
	if (r < 0)
		return r;
	if (*path != '/')
		return err_set(e, ERR_TARGET, EINVAL, "sha256: path '%s' does not begin with /",
			       path);
	if (stat(path, &st) < 0)
		return err_errno(e, ERR_TARGET, errno, "sha256: %s", path);
	argv[1] = path;
	r = program_start(argv, STDOUT_FILENO, &p, e);
	if (r < 0)
		return r;

	/* the hash stands first; what follows is read and thrown away */
	for (;;) {
		char rest[256];
		bool is_full = len == sizeof(text) - 1;

		n = is_full ? read(p.out_fd, rest, sizeof(rest))
			    : read(p.out_fd, text + len, sizeof(text) - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (!is_full)
			len += (size_t)n;
	}
	text[len] = '\0';
	(void)close(p.out_fd);
	(void)waitpid(p.pid, &status, 0);
	if (status != 0)
		return err_set(e, ERR_TARGET, EIO, "sha256: sha256sum %s: exit %d", path,
			       program_exit_code(status));
	/* GNU marks a name with special characters by a backslash in front */
	if (strspn(text + (text[0] == '\\'), "0123456789abcdef") != 64)
		return err_set(e, ERR_TARGET, EBADMSG, "sha256: '%.80s' is no hash", text);
	answer_word(rq->answer, "sha256", "%.64s", text + (text[0] == '\\'));
	if (S_ISREG(st.st_mode))
		answer_word(rq->answer, "bytes", "%jd", (intmax_t)st.st_size);
	return 0;
}

/* --- sh ------------------------------------------------------------------------------------ */

#define SH_LINES_MAX 400

/* Passes on what the command says, and keeps the last line. */
static void sh_follow(struct request *rq, const struct program *p, char *last, size_t cap)
{
	unsigned n_lines = 0;
	char line[512];
	size_t len = 0;
	char buf[512];
	ssize_t n;

	while ((n = read(p->out_fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno != EINTR)
			return;
		for (ssize_t i = 0; i < n; i++) {
			if (!program_line_add(line, sizeof(line), &len, buf[i]))
				continue;
			if (*line)
				(void)snprintf(last, cap, "%s", line);
			if (n_lines++ < SH_LINES_MAX)
				answer_line(rq->answer, line);
		}
	}
	if (len) {
		line[len] = '\0';
		(void)snprintf(last, cap, "%s", line);
		answer_line(rq->answer, line);
	}
}

int verb_sh(struct request *rq, struct err *e)
{
	const char *argv[] = {"sh", "-c", NULL, NULL};
	struct program p = {.pid = -1, .out_fd = -1};
	char script[FRAME_MAX + 16];
	const char *command = NULL;
	char last[256] = "";
	int64_t start_ns;
	int status = 0;
	int r;

	r = request_need(rq, "command", &command, e);
	if (r < 0)
		return r;
	(void)snprintf(script, sizeof(script), "exec 2>&1\n%s", command);
	argv[2] = script;
	start_ns = clock_ns(CLOCK_MONOTONIC);
	r = program_start(argv, STDOUT_FILENO, &p, e);
	if (r < 0)
		return r;
	sh_follow(rq, &p, last, sizeof(last));
	(void)close(p.out_fd);
	(void)waitpid(p.pid, &status, 0);
	if (status)
		return err_set(e, ERR_TARGET, EIO, "sh: '%.80s': exit %d: %s", command,
			       program_exit_code(status), *last ? last : "it said nothing");
	answer_word(rq->answer, "elapsed_ms", "%" PRId64,
		    (clock_ns(CLOCK_MONOTONIC) - start_ns) / 1000000);
	return 0;
}
