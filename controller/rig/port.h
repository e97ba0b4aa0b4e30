/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * port.h - the console port: bytes both ways, as they come. Private to the rig room.
 *
 * A port survives the loss of what it is connected to (an adapter pulled out, a terminal server
 * that closed): it looks for it again until it is back, under whatever name, and counts the losses.
 * Only a port over a given fd ends with that fd.
 */
#pragma once

#include "rig/rig.h"

struct port;

/* How a port is reached; the texts must live as long as the port. */
struct port_cfg {
	const char *driver; /* "socket", "serial" */
	/*
	 * socket: "HOST:PORT" (TCP, e.g. ser2net in raw mode) or "/a/path" (AF_UNIX).
	 * serial: "/dev/…" (links like those of /dev/serial/by-id are followed at each opening) or
	 * "usb:SERIAL", the serial number of a USB adapter.
	 */
	const char *address;
	unsigned baud;       /* serial */
	const char *flow;    /* serial: "none", "rtscts", "xonxoff"; NULL = none */
	unsigned tx_byte_us; /* at least this long from byte to byte sent; 0 = no pacing */
};

/* Of the rig's console key; its texts live as long as cfg. */
struct port_cfg port_cfg_of(const struct rig_cfg *cfg);

/* What opens one kind of port. Neither function may wait. */
struct port_ops {
	const char *driver;
	/*
	 * *ret_fd is non-blocking. Returns 0, or 1 if the connection is still being made (fd
	 * becomes writable when it is decided). ERR_RIG; -EBUSY, -EACCES and -EINVAL will not pass
	 * by waiting. What the kernel kept from earlier is thrown away.
	 */
	int (*open)(const struct port_cfg *cfg, void **ret_self, int *ret_fd, struct err *e);
	void (*close)(void *self, int fd);
	/* NULL = cannot. Starts (true) or ends a break. */
	int (*set_break)(void *self, bool is_on, struct err *e);
};

extern const struct port_ops port_socket_ops, port_serial_ops;

/* Bytes that may wait to be sent. */
#define PORT_OUT_MAX 65536
/* Listeners beside the one that records. */
#define PORT_TAPS_MAX 4

/*
 * Reads fd (connected, non-blocking; not owned) through the waiter and hands every byte to fn with
 * the host's time just after the read.
 */
int port_open_fd(struct waiter *w, int fd, rig_console_fn fn, void *self, struct port **ret,
		 struct err *e) must_check;
/*
 * Opens the port that cfg describes; waits up to 10 s for a connection. ERR_RIG names driver and
 * address.
 */
int port_open(struct waiter *w, const struct port_cfg *cfg, rig_console_fn fn, void *self,
	      struct port **ret, struct err *e) must_check;
/* Accepts NULL. */
void port_close(struct port *p);
/* False after a hang-up; why goes to ret_why (may be NULL; not owned). */
bool port_is_connected(const struct port *p, const char **ret_why);
/* Hands on what is there without waiting: the last words of a machine that has ended. */
void port_drain(struct port *p);

/*
 * Queues bytes to be sent, in order, paced by tx_byte_us. -ENOBUFS if PORT_OUT_MAX would be
 * exceeded (then nothing is queued), -EPIPE while the port is not connected; ERR_RIG. Does not
 * wait.
 */
int port_write(struct port *p, const void *bytes, size_t n, struct err *e) must_check;
/* True once all that was queued has been handed to the kernel, or the port is lost. */
bool port_is_sent(const struct port *p);
/* Forgets what is queued. */
void port_forget_out(struct port *p);
void port_set_pacing(struct port *p, unsigned tx_byte_us);
/* Holds the line in break for a quarter of a second. -ENOTSUP (ERR_RIG) unless it is serial. */
int port_break(struct port *p, struct err *e) must_check;

/* Everything that is received goes to fn too, after it was recorded. -ENOSPC beyond PORT_TAPS_MAX.
 */
int port_tap(struct port *p, rig_console_fn fn, void *self, struct err *e) must_check;
/* Unknown taps are ignored. */
void port_untap(struct port *p, rig_console_fn fn, void *self);

/*
 * What is received goes to fn instead of the listeners, and fn hands on what they are to get. NULL
 * ends it. For faults on purpose.
 */
void port_set_filter(struct port *p, rig_console_fn fn, void *self);
void port_hand_on(struct port *p, const void *bytes, size_t n, nsec_t t_host_ns);
/* Bytes of a secret that is handed on as "***". */
#define PORT_SECRET_MAX 255
/*
 * From now on nobody hears this text, should it come back: not the listener that records, either. A
 * piece that may be its beginning is held until it is decided. NULL ends it. Not copied.
 */
void port_set_secret(struct port *p, const char *secret);
/* As if the other end had gone away. */
void port_lose(struct port *p, const char *why);

struct port_stats {
	uint64_t bytes;  /* received and handed on */
	uint64_t sent;   /* bytes */
	uint64_t losses; /* how often the other end went away: bytes may be missing there */
};
const struct port_stats *port_stats(const struct port *p);
