/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock.c - advisory locks that name their holder. */
#include "lock.h"

#include "base/fdio.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define HOLDER_MAX 512
#define RETRY_NS   (100 * NSEC_PER_MSEC)

struct rig_lock {
	int fd;
};

/* This process's command line with spaces between the words. */
static void own_command(char *ret, size_t cap)
{
	auto_fd int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, cap - 1);
	size_t len = n > 0 ? (size_t)n : 0;

	while (len && ret[len - 1] == '\0')
		len--;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)ret[i] < 0x20)
			ret[i] = ' ';
	ret[len] = '\0';
}

/* A failure to write costs the other side its hint, not the lock. */
static void write_holder(int fd)
{
	auto_free char *since = wall_format(wall_now());
	char command[256];
	char text[HOLDER_MAX];
	int n;

	own_command(command, sizeof(command));
	n = snprintf(text, sizeof(text), "pid %ld since %s: %s\n", (long)getpid(), since, command);
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, text, (size_t)n, 0);
}

static int busy(int fd, const char *path, const char *what, struct err *e)
{
	char holder[HOLDER_MAX];
	ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);

	holder[n > 0 ? n : 0] = '\0';
	holder[strcspn(holder, "\n")] = '\0';
	return err_set(e, ERR_USAGE, EBUSY, "%s is in use by %s (lock file %s)", what,
		       holder[0] ? holder : "another process", path);
}

static int make_parent(const char *path, struct err *e)
{
	auto_free char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');

	if (!slash || slash == dir)
		return 0;
	*slash = '\0';
	return dir_make(dir, e);
}

int lock_take(const char *path, const char *what, struct waiter *w, nsec_t wait_ns,
	      struct rig_lock **ret, struct err *e)
{
	const nsec_t until_ns = waiter_now(w) + wait_ns;
	auto_fd int fd = -1;
	int r;

	r = make_parent(path, e);
	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "lock file %s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		nsec_t left_ns = until_ns - waiter_now(w);

		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(e, ERR_INTERNAL, errno, "lock file %s", path);
		if (left_ns <= 0)
			return busy(fd, path, what, e);
		/* flock() gives no event that could be polled for */
		r = waiter_sleep(w, left_ns < RETRY_NS ? left_ns : RETRY_NS, e);
		if (r < 0)
			return r;
	}
	write_holder(fd);
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->fd = take_fd(fd);
	return 0;
}

int lock_rig(const char *name, struct waiter *w, nsec_t wait_ns, struct rig_lock **ret,
	     struct err *e)
{
	auto_free char *locks = path_state("locks");
	auto_free char *path = xasprintf("%s/%s", locks, name);
	auto_free char *what = xasprintf("rig '%s'", name);

	return lock_take(path, what, w, wait_ns, ret, e);
}

int lock_fd(const struct rig_lock *l)
{
	return l->fd;
}

void lock_release(struct rig_lock *l)
{
	int saved = errno;

	if (!l)
		return;
	/* the file stays: removing it would let two processes lock two files of one name */
	(void)!ftruncate(l->fd, 0);
	close(l->fd);
	free(l);
	errno = saved;
}
