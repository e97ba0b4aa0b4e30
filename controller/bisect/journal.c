/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal.c - an append-only file of JSON lines. */
#include "bisect/journal.h"

#include "base/fdio.h"
#include "base/waiter.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

struct journal {
	char *path;
	int fd;   /* -1 for a reader */
	int lock; /* -1 for a reader */
	off_t end;
	json_t **v;
	size_t n;
};

void journal_close(struct journal *j)
{
	int saved = errno;

	if (!j)
		return;
	for (size_t i = 0; i < j->n; i++)
		json_decref(j->v[i]);
	free(j->v);
	free(j->path);
	if (j->fd >= 0)
		close(j->fd);
	if (j->lock >= 0)
		close(j->lock);
	free(j);
	errno = saved;
}

static void keep(struct journal *j, json_t *record)
{
	/* doubling: a long bisect has many thousands of records */
	if ((j->n & (j->n - 1)) == 0)
		j->v = xrealloc(j->v, j->n ? 2 * j->n : 1, sizeof(json_t *));
	j->v[j->n++] = record;
}

static pid_t read_pid(const char *lock_path)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err ignored = {0};

	if (file_read(lock_path, 64, &text, &ignored) < 0)
		return 0;
	return (pid_t)strtol(strbuf_str(&text), NULL, 10);
}

static int take_lock(struct journal *j, struct err *e)
{
	auto_free char *path = xasprintf("%s.lock", j->path);
	char pid[32];

	j->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (j->lock < 0)
		return err_errno(e, ERR_STORE, errno, "%s", path);
	if (flock(j->lock, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_errno(e, ERR_STORE, errno, "lock %s", path);
		return err_set(e, ERR_USAGE, EBUSY, "the bisect is running: process %ld has %s",
			       (long)read_pid(path), path);
	}
	(void)snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(j->lock, 0) < 0 || pwrite(j->lock, pid, strlen(pid), 0) < 0)
		return err_errno(e, ERR_STORE, errno, "%s", path);
	return 0;
}

pid_t journal_holder(const char *path)
{
	auto_free char *lock_path = xasprintf("%s.lock", path);
	auto_fd int fd = open(lock_path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return read_pid(lock_path);
}

static int parse(struct journal *j, const struct strbuf *text, struct err *e)
{
	const char *p = strbuf_str(text);
	size_t left = text->len;
	unsigned line = 0;

	while (left) {
		const char *end = memchr(p, '\n', left);
		size_t n = end ? (size_t)(end - p) : left;
		json_error_t why;
		json_t *record;

		line++;
		if (!end)
			return 0; /* cut short by a crash */
		record = json_loadb(p, n, JSON_REJECT_DUPLICATES, &why);
		if (!json_is_object(record) || j->n == JOURNAL_RECORDS_MAX) {
			json_decref(record);
			return err_set(e, ERR_STORE, EBADMSG, "%s:%u: %s", j->path, line,
				       j->n == JOURNAL_RECORDS_MAX ? "too many records"
				       : *why.text                 ? why.text
								   : "not an object");
		}
		keep(j, record);
		p += n + 1;
		left -= n + 1;
		j->end += (off_t)n + 1;
	}
	return 0;
}

int journal_open(const char *path, bool is_writer, struct journal **ret, struct err *e)
{
	auto_journal struct journal *j = xcalloc(1, sizeof(*j));
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r;

	j->path = xstrdup(path);
	j->fd = -1;
	j->lock = -1;
	if (is_writer) {
		r = take_lock(j, e);
		if (r < 0)
			return r;
		j->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (j->fd < 0)
			return err_errno(e, ERR_STORE, errno, "%s", path);
	}
	r = file_read(path, JOURNAL_FILE_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	r = parse(j, &text, e);
	if (r < 0)
		return r;
	if (is_writer && (size_t)j->end < text.len && ftruncate(j->fd, j->end) < 0)
		return err_errno(e, ERR_STORE, errno, "%s", path);
	*ret = take(j);
	return 0;
}

int journal_append(struct journal *j, json_t *record, struct err *e)
{
	auto_free char *wall = wall_format(wall_now());
	auto_free char *text = NULL;
	auto_free char *line = NULL;
	size_t n, done = 0;
	int code = 0;

	if (json_object_set_new(record, "seq", json_integer((json_int_t)j->n + 1)) < 0 ||
	    json_object_set_new(record, "wall", json_string(wall)) < 0)
		abort(); /* out of memory, as xcalloc() */
	text = json_dumps(record, JSON_COMPACT);
	if (!text || strlen(text) >= JOURNAL_LINE_MAX || j->n == JOURNAL_RECORDS_MAX) {
		json_decref(record);
		return err_set(e, ERR_INTERNAL, E2BIG, "%s: a record is too long or one too many",
			       j->path);
	}
	line = xasprintf("%s\n", text);
	n = strlen(line);
	while (done < n && !code) {
		ssize_t w = pwrite(j->fd, line + done, n - done, j->end + (off_t)done);

		if (w < 0 && errno != EINTR)
			code = errno;
		else if (w > 0)
			done += (size_t)w;
	}
	if (!code && fsync(j->fd) < 0)
		code = errno;
	if (code) {
		json_decref(record);
		(void)!ftruncate(j->fd, j->end);
		return err_errno(e, ERR_STORE, code, "%s", j->path);
	}
	j->end += (off_t)n;
	keep(j, record);
	return 0;
}

size_t journal_n(const struct journal *j)
{
	return j->n;
}

const json_t *journal_at(const struct journal *j, size_t i)
{
	return j->v[i];
}
