/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_source.c - console logs from files, compressed files, recordings, folders and stdin. */
#include "cli/log_source.h"

#include "base/child.h"
#include "report/text.h"
#include "trial/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK_BYTES (256 * 1024)
/* How much is read of text without any kernel message, and of noise, before it is given up. */
#define PATIENCE_BYTES  (64ull << 20)
#define NOISE_BYTES     (4ull << 20)
#define FOLLOW_PAUSE_NS (200 * NSEC_PER_MSEC)
#define IDLE_AFTER_NS   (500 * NSEC_PER_MSEC)

/* ---- is it a console log at all? ---- */

static int not_a_log(const struct console_log *log, const char *name, struct err *e)
{
	const struct console_integrity *in = console_log_integrity(log);

	if (console_log_has_kernel_text(log))
		return err_set(e, ERR_USAGE, EINVAL,
			       "%s: not a console log: %" PRIu64 " of the first %" PRIu64
			       " bytes are none that a console prints",
			       name, in->garbage_bytes, in->bytes);
	return err_set(e, ERR_USAGE, EINVAL,
		       "%s: not a console log: no kernel message in %" PRIu64 " lines", name,
		       in->lines);
}

/* A source that never ends must not be read for ever when nothing sensible comes out of it. */
static bool has_lost_patience(const struct console_log *log)
{
	const struct console_integrity *in = console_log_integrity(log);

	if (in->bytes >= PATIENCE_BYTES && !console_log_has_kernel_text(log))
		return true;
	/* noise makes a kernel record by chance now and then */
	return in->bytes >= NOISE_BYTES && in->garbage_bytes > in->bytes / 4 &&
	       in->records < in->lines / 100;
}

/* Checks after a file has been fed whole; an empty file is a silent console, not a wrong one. */
static int end_file(struct console_log *log, const char *name, struct err *e)
{
	int r = 0;

	/* the last line without a line end counts too */
	console_log_idle(log);
	if (console_log_integrity(log)->bytes > 0 && !console_log_has_kernel_text(log))
		r = not_a_log(log, name, e);
	console_log_end_file(log);
	return r;
}

/* ---- a stream of bytes ---- */

static int feed_fd(struct console_log *log, int fd, const char *name, struct err *e)
{
	auto_free char *chunk = xcalloc(1, CHUNK_BYTES);

	for (;;) {
		ssize_t n = read(fd, chunk, CHUNK_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, ERR_USAGE, errno, "%s", name);
		if (n == 0)
			return 0;
		console_log_feed(log, chunk, (size_t)n, 0);
		if (has_lost_patience(log))
			return not_a_log(log, name, e);
	}
}

/* ---- compressed files ---- */

static const struct packer {
	const char *magic;
	size_t n;
	const char *program;
} packers[] = {
	{"\x1f\x8b", 2, "gzip"},
	{"\xfd"
	 "7zXZ",
	 5, "xz"},
	{"\x28\xb5\x2f\xfd", 4, "zstd"},
};

static const struct packer *find_packer(const char *head, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(packers); i++)
		if (n >= packers[i].n && memcmp(head, packers[i].magic, packers[i].n) == 0)
			return &packers[i];
	return NULL;
}

static bool has_ended(void *arg)
{
	return child_has_ended(arg, NULL);
}

static int feed_packed(struct console_log *log, const struct packer *p, int fd, const char *name,
		       struct waiter *w, struct err *e)
{
	const char *const argv[] = {p->program, "-dc", NULL};
	auto_child struct child *child = NULL;
	auto_fd int read_fd = -1;
	auto_fd int write_fd = -1;
	int status = 0;
	int ends[2];
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: pipe", name);
	read_fd = ends[0];
	write_fd = ends[1];
	{
		const struct child_cfg cfg = {
			.argv = argv,
			.stdin_fd = fd,
			.stdout_fd = write_fd,
			.stderr_fd = -1,
			.dies_with_parent = true,
		};

		r = child_start(&cfg, &child, e);
	}
	if (r < 0)
		return err_wrap(e, "%s", name);
	close(take_fd(write_fd));
	r = feed_fd(log, read_fd, name, e);
	close(take_fd(read_fd));
	if (r < 0)
		return r;
	r = waiter_until(w, waiter_now(w) + 10 * NSEC_PER_SEC, has_ended, child, e);
	if (r < 0)
		return r;
	if (r == 0 || !child_has_ended(child, &status) || status != 0) {
		auto_free char *how = child_status_text(status);

		return err_set(e, ERR_USAGE, EINVAL, "%s: %s says that it is damaged (%s)", name,
			       p->program, how);
	}
	return 0;
}

/* ---- one file ---- */

static int feed_file(struct console_log *log, const char *path, struct waiter *w, struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	const struct packer *p;
	char head[8];
	ssize_t n;
	int r;

	if (fd < 0)
		return err_errno(e, ERR_USAGE, errno, "%s", path);
	n = pread(fd, head, sizeof(head), 0);
	p = n > 0 ? find_packer(head, (size_t)n) : NULL; /* a pipe has no head to look at */
	console_log_begin_file(log, path);
	if (p)
		r = feed_packed(log, p, fd, path, w, e);
	else
		r = feed_fd(log, fd, path, e);
	if (r < 0)
		return r;
	return end_file(log, path, e);
}

static int feed_chunk(void *self, const void *bytes, size_t n, nsec_t t_ns, struct err *e)
{
	(void)e;
	console_log_feed(self, bytes, n, t_ns);
	return 0;
}

static int feed_recording(struct console_log *log, const char *dir, struct err *e)
{
	int r;

	console_log_begin_file(log, dir);
	r = recording_play(dir, feed_chunk, log, e);
	if (r < 0)
		return err_rekind(e, ERR_USAGE);
	return end_file(log, dir, e);
}

/* ---- folders ---- */

static int is_wanted(const struct dirent *d)
{
	size_t len = strlen(d->d_name);
	bool is_timing = len > 7 && strcmp(d->d_name + len - 7, ".timing") == 0;

	return d->d_name[0] != '.' && !is_timing;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int feed_path(struct console_log *log, const char *path, unsigned depth, struct waiter *w,
		     size_t *n_fed, struct err *e);

static int feed_dir(struct console_log *log, const char *dir, unsigned depth, struct waiter *w,
		    size_t *n_fed, struct err *e)
{
	struct dirent **rows = NULL;
	int n = scandir(dir, &rows, is_wanted, versionsort);
	int r = 0;

	if (n < 0)
		return err_errno(e, ERR_USAGE, errno, "%s", dir);
	for (int i = 0; i < n; i++) {
		auto_free char *path = xasprintf("%s/%s", dir, rows[i]->d_name);

		if (r >= 0)
			r = feed_path(log, path, depth, w, n_fed, e);
		free(rows[i]);
	}
	free(rows);
	return r;
}

static int feed_path(struct console_log *log, const char *path, unsigned depth, struct waiter *w,
		     size_t *n_fed, struct err *e)
{
	auto_free char *raw = xasprintf("%s/console.raw", path);

	if (!is_dir(path) || access(raw, F_OK) == 0) {
		++*n_fed;
		return is_dir(path) ? feed_recording(log, path, e) : feed_file(log, path, w, e);
	}
	if (depth == LOG_SOURCE_DEPTH)
		return err_set(e, ERR_USAGE, ELOOP, "%s: more than %d folders deep", path,
			       LOG_SOURCE_DEPTH);
	return feed_dir(log, path, depth + 1, w, n_fed, e);
}

int log_source_feed(struct console_log *log, const char *path, int stdin_fd, struct waiter *w,
		    struct err *e)
{
	size_t n_fed = 0;
	int r;

	if (strcmp(path, "-") == 0) {
		console_log_begin_file(log, "standard input");
		r = feed_fd(log, stdin_fd, "standard input", e);
		return r < 0 ? r : end_file(log, "standard input", e);
	}
	r = feed_path(log, path, 0, w, &n_fed, e);
	if (r >= 0 && n_fed == 0)
		r = err_set(e, ERR_USAGE, ENOENT, "%s: there is no file in this folder", path);
	return r;
}

/* ---- a file that grows ---- */

struct follower {
	struct console_log *log;
	const char *name;
	int fd;
	bool is_over;
	struct waiter *w;
};

/* All that is there now. */
static int drain(struct follower *f, bool *ret_has_news, struct err *e)
{
	auto_free char *chunk = xcalloc(1, CHUNK_BYTES);
	ssize_t n = read(f->fd, chunk, CHUNK_BYTES);

	*ret_has_news = n > 0;
	if (n > 0)
		console_log_feed(f->log, chunk, (size_t)n, waiter_now(f->w));
	else if (n == 0)
		f->is_over = true;
	else if (errno != EINTR && errno != EAGAIN)
		return err_errno(e, ERR_USAGE, errno, "%s", f->name);
	return 0;
}

static int on_readable(void *self, short revents, struct err *e)
{
	bool has_news;

	(void)revents;
	return drain(self, &has_news, e);
}

static bool is_over(void *self)
{
	const struct follower *f = self;

	return f->is_over;
}

int log_source_follow(struct console_log *log, const char *path, int stdin_fd, struct waiter *w,
		      void (*after_each)(void *self), void *self, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	auto_fd int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct follower f = {
		.log = log,
		.name = is_stdin ? "standard input" : path,
		.fd = is_stdin ? stdin_fd : opened,
		.w = w,
	};
	nsec_t last_news_ns = waiter_now(w);
	struct stat st;
	int r = 0;

	if (f.fd < 0 || fstat(f.fd, &st) < 0)
		return err_errno(e, ERR_USAGE, errno, "%s", f.name);
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, EISDIR, "%s: a folder cannot be followed", f.name);
	console_log_begin_file(log, f.name);
	if (!S_ISREG(st.st_mode)) {
		const struct waiter_source src = {
			.fd = f.fd, .events = POLLIN, .ready = on_readable, .self = &f};

		r = waiter_add(w, &src, e);
		if (r < 0)
			return r;
	}
	while (r >= 0 && !(f.is_over && !S_ISREG(st.st_mode))) {
		uint64_t before = console_log_integrity(log)->bytes;
		bool has_news = S_ISREG(st.st_mode);

		if (S_ISREG(st.st_mode))
			while (r >= 0 && has_news)
				r = drain(&f, &has_news, e);
		if (console_log_integrity(log)->bytes != before)
			last_news_ns = waiter_now(w);
		else if (waiter_now(w) - last_news_ns > IDLE_AFTER_NS)
			console_log_idle(log);
		after_each(self);
		f.is_over = false;
		if (r >= 0)
			r = waiter_until(w, waiter_now(w) + FOLLOW_PAUSE_NS,
					 S_ISREG(st.st_mode) ? NULL : is_over, &f, e);
		if (!S_ISREG(st.st_mode) && console_log_integrity(log)->bytes != before)
			last_news_ns = waiter_now(w);
	}
	waiter_remove(w, f.fd);
	console_log_end_file(log);
	return r < 0 ? r : 0;
}
