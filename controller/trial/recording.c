/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recording.c - console bytes and their times on disk. */
#include "trial/recording.h"

#include "base/fdio.h"
#include "base/parse.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

struct recording {
	char *dir;
	int raw_fd;
	int timing_fd;
	nsec_t t0_ns;
	nsec_t last_ns;
	uint64_t bytes;
};

static int open_part(const char *dir, const char *name, int flags, int *ret, struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_errno(e, ERR_STORE, errno, "%s", path);
	*ret = fd;
	return 0;
}

int recording_create(const char *dir, nsec_t t0_ns, struct recording **ret, struct err *e)
{
	auto_recording struct recording *rec = xcalloc(1, sizeof(*rec));
	int r;

	rec->raw_fd = -1;
	rec->timing_fd = -1;
	rec->dir = xstrdup(dir);
	rec->t0_ns = t0_ns;
	rec->last_ns = t0_ns;
	r = dir_make(dir, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	r = open_part(dir, "console.raw", O_WRONLY | O_CREAT | O_EXCL, &rec->raw_fd, e);
	if (r < 0)
		return r;
	r = open_part(dir, "console.timing", O_WRONLY | O_CREAT | O_EXCL, &rec->timing_fd, e);
	if (r < 0)
		return r;

	*ret = take(rec);
	return 0;
}

int recording_add(struct recording *rec, const void *bytes, size_t n, nsec_t t_ns, struct err *e)
{
	nsec_t delta = t_ns > rec->last_ns ? t_ns - rec->last_ns : 0;
	char line[64];
	int len;
	int r;

	if (n == 0)
		return 0;
	/* bytes first: a time without bytes would be a lie, bytes without a time are not */
	r = fd_write_all(rec->raw_fd, bytes, n);
	if (r < 0)
		return err_errno(e, ERR_STORE, -r, "%s/console.raw", rec->dir);
	len = snprintf(line, sizeof(line), "%" PRId64 ".%06" PRId64 " %zu\n", delta / NSEC_PER_SEC,
		       delta % NSEC_PER_SEC / NSEC_PER_USEC, n);
	r = fd_write_all(rec->timing_fd, line, (size_t)len);
	if (r < 0)
		return err_errno(e, ERR_STORE, -r, "%s/console.timing", rec->dir);

	/* the times in the file are whole microseconds: keep the remainder for the next one */
	rec->last_ns += delta - delta % NSEC_PER_USEC;
	rec->bytes += n;
	return 0;
}

uint64_t recording_bytes(const struct recording *rec)
{
	return rec->bytes;
}

const char *recording_dir(const struct recording *rec)
{
	return rec->dir;
}

nsec_t recording_t0_ns(const struct recording *rec)
{
	return rec->t0_ns;
}

void recording_close(struct recording *rec)
{
	int saved = errno;

	if (!rec)
		return;
	if (rec->raw_fd >= 0) {
		(void)fsync(rec->raw_fd);
		close(rec->raw_fd);
	}
	if (rec->timing_fd >= 0) {
		(void)fsync(rec->timing_fd);
		close(rec->timing_fd);
	}
	free(rec->dir);
	free(rec);
	errno = saved;
}

/* "<seconds>.<6 digits> <bytes>\n". Returns false for anything else. */
static bool parse_timing(char *line, nsec_t *ret_delta_ns, uint64_t *ret_bytes)
{
	char *dot = strchr(line, '.');
	char *space = dot ? strchr(dot, ' ') : NULL;
	char *end = space ? strchr(space, '\n') : NULL;
	uint64_t seconds;
	uint64_t micros;

	if (!end || space - dot != 7)
		return false;
	*dot = '\0';
	*space = '\0';
	*end = '\0';
	if (parse_u64("seconds", line, 0, 1u << 30, &seconds, NULL) < 0 ||
	    parse_u64("microseconds", dot + 1, 0, 999999, &micros, NULL) < 0 ||
	    parse_u64("bytes", space + 1, 0, UINT32_MAX, ret_bytes, NULL) < 0)
		return false;
	*ret_delta_ns = (nsec_t)seconds * NSEC_PER_SEC + (nsec_t)micros * NSEC_PER_USEC;
	return true;
}

/* Hands over up to n bytes of raw. Returns how many there were, or a negative error. */
static int64_t play_bytes(FILE *raw, uint64_t n, recording_chunk_fn fn, void *self, nsec_t t_ns,
			  struct err *e)
{
	char bytes[65536];
	int64_t done = 0;

	while (n) {
		size_t want = n < sizeof(bytes) ? (size_t)n : sizeof(bytes);
		size_t got = fread(bytes, 1, want, raw);
		int r;

		if (got == 0)
			break;
		r = fn(self, bytes, got, t_ns, e);
		if (r < 0)
			return r;
		done += (int64_t)got;
		n -= got;
	}
	return done;
}

int recording_play(const char *dir, recording_chunk_fn fn, void *self, struct err *e)
{
	auto_free char *raw_path = xasprintf("%s/console.raw", dir);
	auto_free char *timing_path = xasprintf("%s/console.timing", dir);
	auto_file FILE *timing = NULL;
	auto_file FILE *raw = NULL;
	unsigned line_no = 0;
	char line[128];
	nsec_t t_ns = 0;
	int64_t got;

	raw = fopen(raw_path, "re");
	if (!raw)
		return err_errno(e, ERR_STORE, errno, "%s", raw_path);
	timing = fopen(timing_path, "re");
	if (!timing)
		return err_errno(e, ERR_STORE, errno, "%s", timing_path);

	while (fgets(line, sizeof(line), timing)) {
		uint64_t n = 0;
		nsec_t delta;

		line_no++;
		if (!strchr(line, '\n'))
			break; /* a kill in the middle of the write */
		if (!parse_timing(line, &delta, &n))
			return err_set(e, ERR_STORE, EINVAL,
				       "%s:%u: not a timing line \"<seconds> <bytes>\"",
				       timing_path, line_no);
		t_ns += delta;
		got = play_bytes(raw, n, fn, self, t_ns, e);
		if (got < 0)
			return (int)got;
		if ((uint64_t)got < n)
			return err_set(e, ERR_STORE, EINVAL,
				       "%s:%u: %" PRIu64 " bytes announced, %" PRId64
				       " there in console.raw",
				       timing_path, line_no, n, got);
	}
	got = play_bytes(raw, UINT64_MAX, fn, self, t_ns, e);
	return got < 0 ? (int)got : 0;
}
