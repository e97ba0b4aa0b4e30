/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port_socket.c - console over TCP (ser2net in raw mode, a terminal server) or a local socket. */
#include "port.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct address {
	struct sockaddr_storage sa;
	socklen_t len;
};

static int local_address(const char *path, struct address *ret, struct err *e)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&ret->sa;

	if (strlen(path) >= sizeof(un->sun_path))
		return err_set(e, ERR_RIG, EINVAL, "longer than %zu bytes",
			       sizeof(un->sun_path) - 1);
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, strlen(path) + 1);
	ret->len = sizeof(*un);
	return 0;
}

/* A name is looked up at each opening; those of a lab's hosts stand in /etc/hosts or near by. */
static int tcp_address(const char *text, struct address *ret, struct err *e)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	const char *colon = strrchr(text, ':');
	auto_free char *host = NULL;
	struct addrinfo *list = NULL;
	int r;

	if (!colon || colon == text || !colon[1])
		return err_set(e, ERR_RIG, EINVAL, "not HOST:PORT and no path");
	/* [::1]:2000 */
	host = *text == '[' && colon[-1] == ']' ? strndup(text + 1, (size_t)(colon - text) - 2)
						: strndup(text, (size_t)(colon - text));
	r = getaddrinfo(host, colon + 1, &hints, &list);
	if (r != 0)
		return err_set(e, ERR_RIG, r == EAI_SERVICE ? EINVAL : ENXIO, "%s",
			       gai_strerror(r));
	memcpy(&ret->sa, list->ai_addr, list->ai_addrlen);
	ret->len = list->ai_addrlen;
	freeaddrinfo(list);
	return 0;
}

static int socket_open(const struct port_cfg *cfg, void **ret_self, int *ret_fd, struct err *e)
{
	struct address to = {.len = 0};
	auto_fd int fd = -1;
	int one = 1;
	int r;

	r = *cfg->address == '/' ? local_address(cfg->address, &to, e)
				 : tcp_address(cfg->address, &to, e);
	if (r < 0)
		return r;
	fd = socket(to.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(e, ERR_RIG, errno, "socket");
	if (to.sa.ss_family != AF_UNIX) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		/* a terminal server that lost its power says nothing */
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	}
	r = 0;
	if (connect(fd, (const struct sockaddr *)&to.sa, to.len) < 0) {
		if (errno != EINPROGRESS)
			return err_errno(e, ERR_RIG, errno, "connect");
		r = 1;
	}
	*ret_self = NULL;
	*ret_fd = take_fd(fd);
	return r;
}

static void socket_close(void *self, int fd)
{
	(void)self;
	close(fd);
}

const struct port_ops port_socket_ops = {
	.driver = "socket",
	.open = socket_open,
	.close = socket_close,
};
