/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port.c - console port over a stream socket. */
#include "port.h"

#include <string.h>

/* One read; also how much a flooding console may take before other sources get their turn. */
#define READ_MAX 16384

struct port {
	struct waiter *w;
	int fd; /* not owned */
	rig_console_fn fn;
	void *self;
	uint64_t bytes;
	bool is_connected;
	char why[96];
};

static void hang_up(struct port *p, const char *why)
{
	if (!p->is_connected)
		return;
	p->is_connected = false;
	(void)snprintf(p->why, sizeof(p->why), "%s", why);
	waiter_remove(p->w, p->fd);
}

/* One read. True if there may be more. */
static bool read_some(struct port *p)
{
	char bytes[READ_MAX];
	ssize_t n = read(p->fd, bytes, sizeof(bytes));

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		hang_up(p, n == 0 ? "the console was closed by the other side"
				  : strerrordesc_np(errno));
		return false;
	}
	p->bytes += (uint64_t)n;
	p->fn(p->self, bytes, (size_t)n, waiter_now(p->w));
	return true;
}

static int on_ready(void *self, short revents, struct err *e)
{
	(void)revents;
	(void)e;
	(void)read_some(self);
	return 0;
}

int port_open(struct waiter *w, int fd, rig_console_fn fn, void *self, struct port **ret,
	      struct err *e)
{
	struct port *p = xcalloc(1, sizeof(*p));
	const struct waiter_source src = {.fd = fd, .events = POLLIN, .ready = on_ready, .self = p};
	int r;

	*p = (struct port){.w = w, .fd = fd, .fn = fn, .self = self, .is_connected = true};
	r = waiter_add(w, &src, e);
	if (r < 0) {
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void port_close(struct port *p)
{
	if (!p)
		return;
	hang_up(p, "closed");
	util_free(p);
}

bool port_is_connected(const struct port *p, const char **ret_why)
{
	if (ret_why)
		*ret_why = p->is_connected ? NULL : p->why;
	return p->is_connected;
}

void port_drain(struct port *p)
{
	while (p->is_connected && read_some(p))
		continue;
}

uint64_t port_bytes(const struct port *p)
{
	return p->bytes;
}
