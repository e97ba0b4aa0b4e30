/* SPDX-License-Identifier: GPL-2.0-or-later */
/* service.c - the protocol of sd_notify(3). */
#include "base/service.h"

#include "base/parse.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define STATUS_MAX 400 /* bytes */

static struct {
	struct sockaddr_un address;
	socklen_t address_len; /* 0 = nobody listens */
	struct waiter *w;
	struct waiter_timer timer;
	nsec_t every_ns;
} service;

/* A manager that does not listen is not waited for: it will say itself what it misses. */
static void tell(const char *text)
{
	auto_fd int fd = -1;

	if (!service.address_len)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL,
			      (const struct sockaddr *)&service.address, service.address_len);
}

static void sign_of_life(void *self)
{
	struct err ignored = {0};

	(void)self;
	tell("WATCHDOG=1");
	service.timer.at_ns = waiter_now(service.w) + service.every_ns;
	/* the timer has just been taken out: there is room */
	(void)!waiter_timer_set(service.w, &service.timer, &ignored);
}

/* A path, or a name in the abstract name space behind '@'. */
static int set_address(const char *text, struct err *e)
{
	size_t n = strlen(text);

	if ((*text != '/' && *text != '@') || n < 2 || n >= sizeof(service.address.sun_path))
		return err_set(e, ERR_CONFIG, EINVAL,
			       "NOTIFY_SOCKET: '%s' is no address of a socket that can be used",
			       text);
	service.address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(service.address.sun_path, text, n);
	if (*text == '@')
		service.address.sun_path[0] = '\0';
	service.address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	return 0;
}

/* 0 = no signs of life are wanted of this process. */
static int watchdog_ns(nsec_t *ret, struct err *e)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	int64_t n = 0;
	int r;

	*ret = 0;
	if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	r = parse_i64("WATCHDOG_USEC", usec, 1, INT64_MAX / 1000, &n, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	*ret = n * 1000;
	return 0;
}

int service_begin(struct waiter *w, struct err *e)
{
	static const char *const taken[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
	const char *address = getenv("NOTIFY_SOCKET");
	nsec_t watchdog = 0;
	int r;

	if (!address)
		return 0;
	r = set_address(address, e);
	if (r >= 0)
		r = watchdog_ns(&watchdog, e);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		(void)unsetenv(taken[i]);
	if (r < 0 || !watchdog)
		return r;
	service.w = w;
	service.every_ns = watchdog / 2;
	service.timer = (struct waiter_timer){.at_ns = waiter_now(w), .fire = sign_of_life};
	return waiter_timer_set(w, &service.timer, e);
}

void service_ready(void)
{
	tell("READY=1");
}

void service_status(const char *text)
{
	auto_free char *line = xasprintf("STATUS=%.*s", STATUS_MAX, text);

	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	tell(line);
}

void service_stopping(void)
{
	tell("STOPPING=1");
}

bool service_is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	auto_free char *own = NULL;

	if (!stream || fstat(fd, &st) < 0)
		return false;
	own = xasprintf("%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return strcmp(stream, own) == 0;
}
