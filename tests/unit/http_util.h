/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http_util.h - a server on loopback, a process of its own, that answers as a test's function says.
 */
#pragma once

#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct http_util {
	uint16_t port;
	pid_t pid;
};

/* request: head and body as they came. Writes the answer; fd is closed afterwards unless it returns
   false. */
typedef bool (*http_util_fn)(void *self, const char *request, int fd);

static inline void http_util_answer(int fd, int status, const char *head, const char *body)
{
	auto_free char *text =
		xasprintf("HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
			  status, head, strlen(body), body);

	(void)!fd_write_all(fd, text, strlen(text));
}

static inline void http_util_serve(int fd, http_util_fn fn, void *self)
{
	char buf[16384] = "";
	size_t n = 0;

	while (n < sizeof(buf) - 1) {
		const char *end = strstr(buf, "\r\n\r\n");
		const char *length = strcasestr(buf, "\r\nContent-Length:");
		ssize_t got;

		if (end &&
		    n >= (size_t)(end + 4 - buf) +
				    (length && length < end ? strtoul(length + 17, NULL, 10) : 0))
			break;
		got = read(fd, buf + n, sizeof(buf) - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
		buf[n] = '\0';
	}
	if (fn(self, buf, fd))
		(void)close(fd);
}

/* limit: connections until it ends by itself and nobody listens any more; 0 = none. */
static inline void http_util_start(struct http_util *s, unsigned limit, http_util_fn fn, void *self)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(at);

	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	s->port = ntohs(at.sin_port);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; !limit || i < limit; i++) {
			int fd = accept(listener, NULL, NULL);

			if (fd >= 0)
				http_util_serve(fd, fn, self);
		}
		_exit(0);
	}
	(void)close(listener);
}

/* Afterwards its port refuses. */
static inline void http_util_end(struct http_util *s)
{
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
}
