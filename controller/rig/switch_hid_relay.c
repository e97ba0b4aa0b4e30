/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch_hid_relay.c - the common USB relay boards (16c0:05df, "USBRelay1" to "USBRelay8").
 *
 * They are HID devices with one feature report of 8 bytes. Written: 0xff channel (close), 0xfd
 * channel (open). Read: five letters of the board's serial number in bytes 0-4, in byte 7 one bit a
 * relay. Spoken with libusb, because there is no kernel driver to go through.
 */
#include "lines.h"
#include "switch_driver.h"

#include <libusb.h>
#include <string.h>

#define VENDOR      0x16c0
#define PRODUCT     0x05df
#define CHANNELS    8
#define REQUEST_MS  500
#define GET_REPORT  0x01 /* HID 1.11 section 7.2 */
#define SET_REPORT  0x09
#define FEATURE     0x0300 /* report type in the high byte of wValue; report id 0 */
#define CLOSE_ONE   0xff
#define OPEN_ONE    0xfd
#define REPORT_SIZE 8
#define SERIAL_SIZE 5

struct hid_relay {
	libusb_context *usb;
	libusb_device_handle *handle;
	char serial[SERIAL_SIZE + 1];
	const struct switch_line_cfg *lines[LINE_ROLE_MAX];
};

static int usb_error(int code, struct err *e, const char *serial, const char *what)
{
	int errno_value = code == LIBUSB_ERROR_ACCESS      ? EACCES
			  : code == LIBUSB_ERROR_NO_DEVICE ? ENODEV
			  : code == LIBUSB_ERROR_BUSY      ? EBUSY
			  : code == LIBUSB_ERROR_TIMEOUT   ? ETIMEDOUT
							   : EIO;

	return err_set(e, ERR_RIG, errno_value, "hid relay%s%s: %s: %s%s", serial ? " " : "",
		       serial ? serial : "", what, libusb_strerror(code),
		       code == LIBUSB_ERROR_ACCESS ? " (are the udev rules installed?)" : "");
}

/* The interface is released first: only then does libusb give it back to the kernel's driver. */
static void close_board(libusb_device_handle *h)
{
	if (!h)
		return;
	(void)libusb_release_interface(h, 0);
	libusb_close(h);
}

static int read_report(libusb_device_handle *h, unsigned char ret[REPORT_SIZE])
{
	int n = libusb_control_transfer(
		h, LIBUSB_ENDPOINT_IN | LIBUSB_REQUEST_TYPE_CLASS | LIBUSB_RECIPIENT_INTERFACE,
		GET_REPORT, FEATURE, 0, ret, REPORT_SIZE, REQUEST_MS);

	return n < 0 ? n : n < REPORT_SIZE ? LIBUSB_ERROR_IO : 0;
}

/* 1 relay closed, 0 open. */
static int read_relay(struct hid_relay *h, unsigned channel, struct err *e)
{
	unsigned char report[REPORT_SIZE];
	int r = read_report(h->handle, report);

	if (r < 0)
		return usb_error(r, e, h->serial, "state");
	return (report[7] >> (channel - 1)) & 1;
}

static int relay_set(void *self, enum line_role role, bool is_active, struct err *e)
{
	struct hid_relay *h = self;
	const struct switch_line_cfg *line = h->lines[role];
	const bool is_closed = is_active != line->is_active_low;
	unsigned char report[REPORT_SIZE] = {is_closed ? CLOSE_ONE : OPEN_ONE,
					     (unsigned char)line->channel};
	int r;

	r = libusb_control_transfer(h->handle,
				    LIBUSB_REQUEST_TYPE_CLASS | LIBUSB_RECIPIENT_INTERFACE,
				    SET_REPORT, FEATURE, 0, report, sizeof(report), REQUEST_MS);
	if (r < 0)
		return usb_error(r, e, h->serial, "switching");
	r = read_relay(h, line->channel, e);
	if (r >= 0 && (r != 0) != is_closed)
		return err_set(e, ERR_RIG, EIO, "hid relay %s says that relay %u is still %s",
			       h->serial, line->channel, is_closed ? "open" : "closed");
	return r < 0 ? r : 0;
}

static enum switch_state relay_get(void *self, enum line_role role)
{
	struct hid_relay *h = self;
	struct err ignored = {0};
	int r = read_relay(h, h->lines[role]->channel, &ignored);

	if (r < 0)
		return SWITCH_UNKNOWN;
	return (r != 0) != h->lines[role]->is_active_low ? SWITCH_ON : SWITCH_OFF;
}

static void relay_close(void *self)
{
	struct hid_relay *h = self;

	close_board(h->handle);
	if (h->usb)
		libusb_exit(h->usb);
	free(h);
}

static const struct line_ops relay_lines = {
	.driver = "hid-relay",
	.caps = SWITCH_CAN_READBACK,
	.set = relay_set,
	.get = relay_get,
	.close = relay_close,
};

/* ---- finding ---- */

/* Number of relays by the product's name "USBRelay2"; 0 = none of these boards. */
static unsigned count_relays(libusb_device_handle *h, uint8_t product)
{
	unsigned char text[64];
	int n = libusb_get_string_descriptor_ascii(h, product, text, sizeof(text));

	if (n != 9 || memcmp(text, "USBRelay", 8) != 0 || text[8] < '1' || text[8] > '8')
		return 0;
	return text[8] - (unsigned)'0';
}

struct search {
	const char *serial; /* NULL = any */
	libusb_device_handle *found;
	char found_serial[SERIAL_SIZE + 1];
	unsigned n_relays;
	unsigned n_found;
	char seen[200]; /* the serial numbers of all boards, for the error */
	int failed;     /* libusb's error of a board that could not be looked at */
};

static void look_at(struct search *s, libusb_device *device, uint8_t product)
{
	unsigned char report[REPORT_SIZE];
	char serial[SERIAL_SIZE + 1] = "";
	libusb_device_handle *h = NULL;
	unsigned n_relays = 0;
	size_t len = strlen(s->seen);
	int r;

	r = libusb_open(device, &h);
	if (r == 0)
		(void)libusb_set_auto_detach_kernel_driver(h, 1);
	if (r == 0)
		r = libusb_claim_interface(h, 0);
	if (r == 0) {
		n_relays = count_relays(h, product);
		r = n_relays ? read_report(h, report) : 0;
	}
	if (r < 0)
		s->failed = r;
	if (r < 0 || !n_relays) {
		close_board(h);
		return;
	}
	memcpy(serial, report, SERIAL_SIZE);
	(void)snprintf(s->seen + len, sizeof(s->seen) - len, "%s%s", len ? ", " : "", serial);
	if (s->serial && strcmp(s->serial, serial) != 0) {
		close_board(h);
		return;
	}
	s->n_found++;
	close_board(s->found);
	s->found = h;
	s->n_relays = n_relays;
	memcpy(s->found_serial, serial, sizeof(serial));
}

static int find_board(struct hid_relay *relay, const char *serial, unsigned *ret_relays,
		      struct err *e)
{
	struct search s = {.serial = serial};
	libusb_device **list;
	ssize_t n;

	n = libusb_get_device_list(relay->usb, &list);
	for (ssize_t i = 0; i < n; i++) {
		struct libusb_device_descriptor d;

		if (libusb_get_device_descriptor(list[i], &d) == 0 && d.idVendor == VENDOR &&
		    d.idProduct == PRODUCT)
			look_at(&s, list[i], d.iProduct);
	}
	if (n >= 0)
		libusb_free_device_list(list, 1);
	if (s.n_found == 1) {
		relay->handle = s.found;
		memcpy(relay->serial, s.found_serial, sizeof(relay->serial));
		*ret_relays = s.n_relays;
		return 0;
	}
	close_board(s.found);
	if (s.n_found > 1)
		return err_set(e, ERR_RIG, ENOTUNIQ,
			       "hid relay: %u boards (%s): the key 'serial' must say which one",
			       s.n_found, s.seen);
	if (s.failed)
		return usb_error(s.failed, e, serial, "looking for the board");
	return err_set(e, ERR_RIG, ENODEV, "hid relay%s%s is not there%s%s", serial ? " " : "",
		       serial ? serial : "", *s.seen ? ", only " : "", s.seen);
}

int switch_hid_relay_open(const struct switch_cfg *cfg, struct waiter *w,
			  const struct switch_ops **ret_ops, void **ret_self, struct err *e)
{
	struct hid_relay *h = xcalloc(1, sizeof(*h));
	bool has[LINE_ROLE_MAX];
	unsigned n_relays = 0;
	int r;

	h->lines[LINE_VBUS] = cfg->vbus;
	h->lines[LINE_DATA] = cfg->data;
	h->lines[LINE_DISCHARGE] = cfg->discharge;
	r = libusb_init(&h->usb);
	r = r < 0 ? usb_error(r, e, cfg->serial, "libusb")
		  : find_board(h, cfg->serial, &n_relays, e);
	for (size_t i = 0; i < LINE_ROLE_MAX; i++) {
		has[i] = h->lines[i] != NULL;
		if (r == 0 && has[i] && h->lines[i]->channel > n_relays)
			r = err_set(e, ERR_RIG, ENOENT, "hid relay %s has no relay %u, only %u",
				    h->serial, h->lines[i]->channel, n_relays);
	}
	if (r < 0) {
		relay_close(h);
		return r;
	}
	lines_new(&relay_lines, h, has, cfg, w, ret_ops, ret_self);
	return 0;
}
