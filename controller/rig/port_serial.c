/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * port_serial.c - console over a serial line, through libserialport.
 *
 * The library opens, sets up and closes; bytes go through the handle, because its read functions
 * return 0 for "nothing came" as well as for "the adapter is gone". It takes no links, so those of
 * /dev/serial/by-id are resolved at each opening, which also finds an adapter under its new name.
 */
#include "port.h"

#include <fcntl.h>
#include <libserialport.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>

/* What the library has to say, as an error. */
static int sp_err(struct err *e, enum sp_return r, const char *what)
{
	int code = sp_last_error_code();
	char *text;

	if (r == SP_ERR_MEM)
		return err_errno(e, ERR_INTERNAL, ENOMEM, "%s", what);
	if (r == SP_ERR_SUPP)
		return err_set(e, ERR_RIG, ENOTSUP, "%s: the port cannot do that", what);
	if (r == SP_ERR_ARG)
		return err_set(e, ERR_RIG, EINVAL, "%s: not a serial port", what);
	text = sp_last_error_message();
	(void)err_set(e, ERR_RIG, code > 0 ? code : EIO, "%s: %s", what,
		      text && *text ? text : "failed");
	sp_free_error_message(text);
	return -(code > 0 ? code : EIO);
}

/* The device node of the USB adapter with that serial number. Caller frees. */
static int find_usb(const char *serial, char **ret, struct err *e)
{
	struct sp_port **list = NULL;
	enum sp_return sr = sp_list_ports(&list);
	unsigned n = 0;

	if (sr != SP_OK)
		return sp_err(e, sr, "listing the serial ports");
	for (size_t i = 0; list[i]; i++) {
		const char *s = sp_get_port_usb_serial(list[i]);

		if (!s || strcmp(s, serial) != 0)
			continue;
		if (n++ == 0)
			*ret = xstrdup(sp_get_port_name(list[i]));
	}
	sp_free_port_list(list);
	if (n > 1) {
		free(take(*ret));
		return err_set(
			e, ERR_RIG, EINVAL,
			"%u ports have the USB serial number '%s': name one by its path below "
			"/dev/serial/by-path",
			n, serial);
	}
	if (n == 0)
		return err_set(e, ERR_RIG, ENODEV, "no adapter with the USB serial number '%s'",
			       serial);
	return 0;
}

static int find_node(const char *address, char **ret, struct err *e)
{
	static const char usb[] = "usb:";
	char path[PATH_MAX];

	if (strncmp(address, usb, strlen(usb)) == 0)
		return find_usb(address + strlen(usb), ret, e);
	/* as above: an adapter that is not there, and no wrong name */
	if (!realpath(address, path))
		return errno == ENOENT ? err_set(e, ERR_RIG, ENODEV, "no such device")
				       : err_errno(e, ERR_RIG, errno, "%s", address);
	*ret = xstrdup(path);
	return 0;
}

static int set_up(struct sp_port *sp, const struct port_cfg *cfg, struct err *e)
{
	const char *flow = cfg->flow ? cfg->flow : "none";
	enum sp_flowcontrol fc = strcmp(flow, "rtscts") == 0    ? SP_FLOWCONTROL_RTSCTS
				 : strcmp(flow, "xonxoff") == 0 ? SP_FLOWCONTROL_XONXOFF
								: SP_FLOWCONTROL_NONE;
	enum sp_return sr;

	sr = sp_set_baudrate(sp, (int)cfg->baud);
	if (sr != SP_OK)
		return sp_err(e, sr, "setting the line rate");
	sr = sp_set_bits(sp, 8);
	if (sr == SP_OK)
		sr = sp_set_parity(sp, SP_PARITY_NONE);
	if (sr == SP_OK)
		sr = sp_set_stopbits(sp, 1);
	if (sr != SP_OK)
		return sp_err(e, sr, "setting 8 bits, no parity, 1 stop bit");
	sr = sp_set_flowcontrol(sp, fc);
	if (sr != SP_OK)
		return sp_err(e, sr, "setting the flow control");
	return 0;
}

static int serial_open(const struct port_cfg *cfg, void **ret_self, int *ret_fd, struct err *e)
{
	auto_free char *node = NULL;
	struct sp_port *sp = NULL;
	enum sp_return sr;
	int fd = -1;
	int r;

	r = find_node(cfg->address, &node, e);
	if (r < 0)
		return r;
	sr = sp_get_port_by_name(node, &sp);
	if (sr != SP_OK)
		return sp_err(e, sr, node);
	sr = sp_open(sp, SP_MODE_READ_WRITE);
	if (sr != SP_OK) {
		r = sp_err(e, sr, node);
		sp_free_port(sp);
		return r;
	}
	sr = sp_get_port_handle(sp, &fd);
	/* the library's TIOCEXCL does not keep root out */
	if (sr == SP_OK && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = err_set(e, ERR_RIG, EBUSY, "%s: another process has it open", node);
	} else {
		r = sr == SP_OK ? set_up(sp, cfg, e) : sp_err(e, sr, node);
	}
	/* A tty echoes and translates until it is set up: what came before is not what was sent,
	   and its echo must not go to a boot loader. */
	if (r == 0)
		(void)sp_flush(sp, SP_BUF_BOTH);
	if (r < 0) {
		(void)sp_close(sp);
		sp_free_port(sp);
		return r;
	}
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	*ret_self = sp;
	*ret_fd = fd;
	return 0;
}

static void serial_close(void *self, int fd)
{
	(void)fd;
	(void)sp_close(self);
	sp_free_port(self);
}

static int serial_break(void *self, bool is_on, struct err *e)
{
	enum sp_return sr = is_on ? sp_start_break(self) : sp_end_break(self);

	return sr == SP_OK ? 0 : sp_err(e, sr, "break");
}

const struct port_ops port_serial_ops = {
	.driver = "serial",
	.open = serial_open,
	.close = serial_close,
	.set_break = serial_break,
};
