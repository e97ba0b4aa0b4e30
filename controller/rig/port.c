/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port.c - the console port: reading, paced writing, coming back after a loss. */
#include "port.h"

#include "base/log.h"

#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

/* One read; also how much a flooding console may take before other sources get their turn. */
#define READ_MAX   16384
#define REOPEN_NS  (200 * NSEC_PER_MSEC)
#define CONNECT_NS (10 * NSEC_PER_SEC)
#define BREAK_NS   (250 * NSEC_PER_MSEC)

struct tap {
	rig_console_fn fn;
	void *self;
};

struct port {
	struct waiter *w;
	struct port_cfg cfg;
	const struct port_ops *ops; /* NULL = the fd was given */
	void *driver;               /* self of ops, while fd >= 0 */
	int fd;                     /* -1 = lost */
	bool is_connecting;
	struct tap taps[1 + PORT_TAPS_MAX]; /* the first one records */
	size_t n_taps;
	struct tap filter;  /* fn NULL = none */
	const char *secret; /* NULL = none */
	char held[PORT_SECRET_MAX];
	size_t held_len;
	struct waiter_timer reopen, pace;
	char out[PORT_OUT_MAX];
	size_t out_len;
	nsec_t next_tx_ns; /* pacing: not before */
	struct port_stats stats;
	char why[256];
};

static void serve_out(struct port *p);

static void set_reopen(struct port *p)
{
	p->reopen.at_ns = waiter_now(p->w) + REOPEN_NS;
	/* without room for a timer the port stays lost, as its state says */
	(void)!waiter_timer_set(p->w, &p->reopen, NULL);
}

/* Lets go of the fd, without a word about it. */
static void drop(struct port *p)
{
	if (p->fd < 0)
		return;
	waiter_remove(p->w, p->fd);
	waiter_timer_cancel(p->w, &p->pace);
	/* at once: a device node that is held open comes back under another name */
	if (p->ops)
		p->ops->close(take(p->driver), p->fd);
	p->fd = -1;
	p->is_connecting = false;
	p->out_len = 0;
}

static void lost(struct port *p, const char *why)
{
	if (p->fd < 0)
		return;
	drop(p);
	p->stats.losses++;
	(void)snprintf(p->why, sizeof(p->why), "%s", why);
	log_debug(LOG_CONSOLE, "port lost: %s", why);
	if (p->ops)
		set_reopen(p);
}

/* One read. True if there may be more. */
static bool read_some(struct port *p, short revents)
{
	char bytes[READ_MAX];
	nsec_t now_ns;
	ssize_t n;

	if (p->fd < 0)
		return false;
	n = read(p->fd, bytes, sizeof(bytes));
	if (n < 0 && errno == EINTR)
		return true;
	/* a serial line whose adapter is gone has nothing to read and a hang-up */
	if (n < 0 && errno == EAGAIN && !(revents & (POLLHUP | POLLERR)))
		return false;
	if (n <= 0) {
		lost(p, n == 0            ? "the console was closed by the other side"
			: errno == EAGAIN ? "the console hung up"
					  : strerrordesc_np(errno));
		return false;
	}
	p->stats.bytes += (uint64_t)n;
	now_ns = waiter_now(p->w);
	if (p->filter.fn)
		p->filter.fn(p->filter.self, bytes, (size_t)n, now_ns);
	else
		port_hand_on(p, bytes, (size_t)n, now_ns);
	return true;
}

static void tell_taps(struct port *p, const void *bytes, size_t n, nsec_t t_host_ns)
{
	/* a listener may add or remove listeners */
	for (size_t i = 0; i < p->n_taps; i++)
		p->taps[i].fn(p->taps[i].self, bytes, n, t_host_ns);
}

static void let_go(struct port *p, size_t n, nsec_t t_host_ns)
{
	tell_taps(p, p->held, n, t_host_ns);
	p->held_len -= n;
	memmove(p->held, p->held + n, p->held_len);
}

void port_hand_on(struct port *p, const void *bytes, size_t n, nsec_t t_host_ns)
{
	const char *in = bytes;

	if (!p->secret) {
		tell_taps(p, bytes, n, t_host_ns);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		p->held[p->held_len++] = in[i];
		while (p->held_len && memcmp(p->held, p->secret, p->held_len) != 0)
			let_go(p, 1, t_host_ns);
		if (p->held_len == strlen(p->secret)) {
			p->held_len = 0;
			tell_taps(p, "***", 3, t_host_ns);
		}
	}
}

void port_set_secret(struct port *p, const char *secret)
{
	if (p->held_len)
		let_go(p, p->held_len, waiter_now(p->w));
	p->secret = secret && *secret && strlen(secret) <= PORT_SECRET_MAX ? secret : NULL;
}

void port_set_filter(struct port *p, rig_console_fn fn, void *self)
{
	p->filter = (struct tap){fn, self};
}

void port_lose(struct port *p, const char *why)
{
	lost(p, why);
}

static void connected(struct port *p)
{
	int code = 0;
	socklen_t len = sizeof(code);

	if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &code, &len) == 0 && code) {
		(void)snprintf(p->why, sizeof(p->why), "%s", strerrordesc_np(code));
		drop(p);
		set_reopen(p);
		return;
	}
	p->is_connecting = false;
	waiter_set_events(p->w, p->fd, POLLIN);
	serve_out(p);
}

static int on_ready(void *self, short revents, struct err *e)
{
	struct port *p = self;

	(void)e;
	if (p->is_connecting) {
		connected(p);
		return 0;
	}
	if (revents & (POLLIN | POLLHUP | POLLERR))
		(void)read_some(p, revents);
	if (revents & POLLOUT)
		serve_out(p);
	return 0;
}

/* --- sending ------------------------------------------------------------------------------- */

static ssize_t put_bytes(int fd, const void *bytes, size_t n)
{
	ssize_t r = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);

	return r < 0 && errno == ENOTSOCK ? write(fd, bytes, n) : r;
}

static void on_pace(void *self)
{
	serve_out(self);
}

/* Sends what may be sent now and sees to it that the rest follows. */
static void serve_out(struct port *p)
{
	while (p->out_len && p->fd >= 0 && !p->is_connecting) {
		size_t n = p->cfg.tx_byte_us ? 1 : p->out_len;
		nsec_t now_ns = waiter_now(p->w);
		ssize_t r;

		if (p->cfg.tx_byte_us && now_ns < p->next_tx_ns) {
			p->pace.at_ns = p->next_tx_ns;
			if (waiter_timer_set(p->w, &p->pace, NULL) == 0)
				break;
			/* no room for a timer: unpaced is better than never */
		}
		r = put_bytes(p->fd, p->out, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno == EAGAIN) {
			waiter_set_events(p->w, p->fd, POLLIN | POLLOUT);
			return;
		}
		if (r <= 0) {
			lost(p, r == 0 ? "nothing can be sent" : strerrordesc_np(errno));
			return;
		}
		memmove(p->out, p->out + r, p->out_len - (size_t)r);
		p->out_len -= (size_t)r;
		p->stats.sent += (uint64_t)r;
		p->next_tx_ns = now_ns + (nsec_t)p->cfg.tx_byte_us * NSEC_PER_USEC;
	}
	if (p->fd >= 0 && !p->is_connecting)
		waiter_set_events(p->w, p->fd, POLLIN);
}

int port_write(struct port *p, const void *bytes, size_t n, struct err *e)
{
	if (!port_is_connected(p, NULL))
		return err_set(e, ERR_RIG, EPIPE, "console: cannot send: %s", p->why);
	if (n > sizeof(p->out) - p->out_len)
		return err_set(e, ERR_RIG, ENOBUFS,
			       "console: %zu bytes wait to be sent, %zu more do not fit into %d",
			       p->out_len, n, PORT_OUT_MAX);
	memcpy(p->out + p->out_len, bytes, n);
	p->out_len += n;
	serve_out(p);
	return 0;
}

bool port_is_sent(const struct port *p)
{
	return p->out_len == 0;
}

void port_forget_out(struct port *p)
{
	p->out_len = 0;
}

void port_set_pacing(struct port *p, unsigned tx_byte_us)
{
	p->cfg.tx_byte_us = tx_byte_us;
}

int port_break(struct port *p, struct err *e)
{
	int r;

	if (!p->ops || !p->ops->set_break)
		return err_set(e, ERR_RIG, ENOTSUP, "console: only a serial port can send a break");
	if (!port_is_connected(p, NULL))
		return err_set(e, ERR_RIG, EPIPE, "console: cannot send a break: %s", p->why);
	r = p->ops->set_break(p->driver, true, e);
	if (r < 0)
		return r;
	r = waiter_sleep(p->w, BREAK_NS, e);
	if (p->fd >= 0 && p->ops->set_break(p->driver, false, r < 0 ? NULL : e) < 0 && r == 0)
		r = -EIO;
	return r;
}

/* --- lifecycle ----------------------------------------------------------------------------- */

static int adopt(struct port *p, int fd, bool is_connecting, struct err *e)
{
	const struct waiter_source src = {
		.fd = fd, .events = is_connecting ? POLLOUT : POLLIN, .ready = on_ready, .self = p};
	int r;

	r = waiter_add(p->w, &src, e);
	if (r < 0)
		return r;
	p->fd = fd;
	p->is_connecting = is_connecting;
	return 0;
}

static int open_once(struct port *p, struct err *e)
{
	void *driver = NULL;
	int fd = -1;
	int r;

	r = p->ops->open(&p->cfg, &driver, &fd, e);
	if (r < 0)
		return r;
	p->driver = driver;
	r = adopt(p, fd, r == 1, e);
	if (r < 0)
		p->ops->close(take(p->driver), fd);
	return r;
}

static void on_reopen(void *self)
{
	struct port *p = self;
	struct err e = {0};

	if (open_once(p, &e) == 0)
		return;
	(void)snprintf(p->why, sizeof(p->why), "%s", e.text);
	set_reopen(p);
}

static struct port *port_new(struct waiter *w, rig_console_fn fn, void *self)
{
	struct port *p = xcalloc(1, sizeof(*p));

	p->w = w;
	p->fd = -1;
	p->taps[p->n_taps++] = (struct tap){fn, self};
	p->reopen = (struct waiter_timer){.fire = on_reopen, .self = p};
	p->pace = (struct waiter_timer){.fire = on_pace, .self = p};
	return p;
}

int port_open_fd(struct waiter *w, int fd, rig_console_fn fn, void *self, struct port **ret,
		 struct err *e)
{
	struct port *p = port_new(w, fn, self);
	int r;

	r = adopt(p, fd, false, e);
	if (r < 0) {
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct port_cfg port_cfg_of(const struct rig_cfg *cfg)
{
	return (struct port_cfg){
		.driver = cfg->console.driver,
		.address = cfg->console.address,
		.baud = cfg->console.baud,
		.flow = cfg->console.flow,
		.tx_byte_us = cfg->console.tx_byte_us,
	};
}

static const struct port_ops *const drivers[] = {&port_socket_ops, &port_serial_ops};

static bool is_decided(void *arg)
{
	const struct port *p = arg;

	return p->fd >= 0 && !p->is_connecting;
}

int port_open(struct waiter *w, const struct port_cfg *cfg, rig_console_fn fn, void *self,
	      struct port **ret, struct err *e)
{
	struct port *p = port_new(w, fn, self);
	int r;

	p->cfg = *cfg;
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (strcmp(drivers[i]->driver, cfg->driver) == 0)
			p->ops = drivers[i];
	if (!p->ops) {
		free(p);
		return err_set(e, ERR_CONFIG, EINVAL, "console driver '%s' is not known",
			       cfg->driver);
	}
	r = open_once(p, e);
	if (r == 0) {
		r = waiter_until(w, waiter_now(w) + CONNECT_NS, is_decided, p, e);
		if (r == 0)
			r = err_set(e, ERR_RIG, ETIMEDOUT, "no connection within %" PRId64 " s%s%s",
				    CONNECT_NS / NSEC_PER_SEC, *p->why ? ": " : "", p->why);
	}
	if (r < 0) {
		port_close(p);
		return err_wrap(e, "console %s '%s'", cfg->driver, cfg->address);
	}
	*ret = p;
	return 0;
}

void port_close(struct port *p)
{
	if (!p)
		return;
	drop(p);
	waiter_timer_cancel(p->w, &p->reopen);
	util_free(p);
}

bool port_is_connected(const struct port *p, const char **ret_why)
{
	bool is_connected = p->fd >= 0 && !p->is_connecting;

	if (ret_why)
		*ret_why = is_connected ? NULL : p->why;
	return is_connected;
}

void port_drain(struct port *p)
{
	while (read_some(p, 0))
		continue;
}

int port_tap(struct port *p, rig_console_fn fn, void *self, struct err *e)
{
	if (p->n_taps == ARRAY_SIZE(p->taps))
		return err_set(e, ERR_INTERNAL, ENOSPC, "console: more than %d listeners",
			       PORT_TAPS_MAX);
	p->taps[p->n_taps++] = (struct tap){fn, self};
	return 0;
}

void port_untap(struct port *p, rig_console_fn fn, void *self)
{
	for (size_t i = 1; i < p->n_taps; i++) {
		if (p->taps[i].fn != fn || p->taps[i].self != self)
			continue;
		memmove(&p->taps[i], &p->taps[i + 1], (p->n_taps - i - 1) * sizeof(p->taps[0]));
		p->n_taps--;
		return;
	}
}

const struct port_stats *port_stats(const struct port *p)
{
	return &p->stats;
}
