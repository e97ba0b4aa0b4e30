/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * switch_usb_hub.c - a port of a hub that switches its ports' power one by one.
 *
 * Linux 6.0 and later have an attribute `disable` for each port, which also keeps the kernel from
 * powering the port again; it is used where it exists. Otherwise the hub is asked directly
 * (ClearPortFeature(PORT_POWER), USB 2.0 section 11.24.2), and what the kernel makes of that shows
 * in the status read back. A USB 3 hub is two hubs in one case whose ports share VBUS: both halves
 * are switched, the other one is found by the kernel's `peer` link or by `twin_hub`.
 */
#include "base/fdio.h"
#include "base/log.h"
#include "switch_driver.h"

#include <fcntl.h>
#include <libusb.h>
#include <limits.h>
#include <string.h>

#define SYSFS      "/sys/bus/usb/devices"
#define REQUEST_MS 500
#define PORT_POWER 8 /* feature selector, USB 2.0 table 11-17 */
#define HUBS       2
#define CHECK_NS   (300 * NSEC_PER_MSEC)
#define CHECK_EACH (20 * NSEC_PER_MSEC)
#define CHAIN_MAX  7 /* ports from the root to a device, USB 2.0 section 4.1.1 */

/* One half: of a USB 2 hub the only one. */
struct hub_port {
	char *name; /* "1-1.4" */
	unsigned port;
	libusb_device_handle *handle;
	bool is_superspeed;
	char *disable; /* path of the attribute, NULL = not there */
};

struct switch_usb_hub {
	struct waiter *w;
	libusb_context *usb;
	struct hub_port hubs[HUBS];
	size_t n_hubs;
};

/* ---- finding ---- */

struct place {
	unsigned bus;
	uint8_t chain[CHAIN_MAX];
	int n_chain;
};

/* "usb1" (a root hub) or "1-1.4.2". */
static bool parse_place(const char *name, struct place *ret)
{
	struct place p = {0};
	const char *s = name;
	char *end;

	if (strncmp(s, "usb", 3) == 0) {
		p.bus = (unsigned)strtoul(s + 3, &end, 10);
		*ret = p;
		return end != s + 3 && *end == '\0' && p.bus > 0;
	}
	p.bus = (unsigned)strtoul(s, &end, 10);
	if (end == s || *end != '-' || p.bus == 0)
		return false;
	do {
		unsigned long port = strtoul(end + 1, &end, 10);

		if (p.n_chain == CHAIN_MAX || port < 1 || port > 255)
			return false;
		p.chain[p.n_chain++] = (uint8_t)port;
	} while (*end == '.');
	*ret = p;
	return *end == '\0';
}

static libusb_device *find_device(libusb_context *usb, const struct place *at)
{
	libusb_device *found = NULL;
	libusb_device **list;
	ssize_t n = libusb_get_device_list(usb, &list);

	for (ssize_t i = 0; i < n && !found; i++) {
		uint8_t chain[CHAIN_MAX];
		int n_chain = libusb_get_port_numbers(list[i], chain, CHAIN_MAX);

		if (libusb_get_bus_number(list[i]) == at->bus && n_chain == at->n_chain &&
		    memcmp(chain, at->chain, (size_t)n_chain) == 0)
			found = libusb_ref_device(list[i]);
	}
	if (n >= 0)
		libusb_free_device_list(list, 1);
	return found;
}

/* "…/1-1:1.0/1-1-port4" of a hub, "…/usb1/1-0:1.0/usb1-port4" of a root hub. */
static char *port_dir(const char *hub, unsigned port)
{
	if (strncmp(hub, "usb", 3) == 0)
		return xasprintf(SYSFS "/%s/%s-0:1.0/%s-port%u", hub, hub + 3, hub, port);
	return xasprintf(SYSFS "/%s/%s:1.0/%s-port%u", hub, hub, hub, port);
}

static int usb_error(int code, struct err *e, const char *hub, const char *what)
{
	int errno_value = code == LIBUSB_ERROR_ACCESS      ? EACCES
			  : code == LIBUSB_ERROR_NO_DEVICE ? ENODEV
			  : code == LIBUSB_ERROR_BUSY      ? EBUSY
			  : code == LIBUSB_ERROR_TIMEOUT   ? ETIMEDOUT
							   : EIO;

	return err_set(e, ERR_RIG, errno_value, "usb hub %s: %s: %s%s", hub, what,
		       libusb_strerror(code),
		       code == LIBUSB_ERROR_ACCESS ? " (are the udev rules installed?)" : "");
}

/*
 * Hub descriptor, USB 2.0 table 11-13 and USB 3.1 table 10-3: bNbrPorts is byte 2, the low two bits
 * of wHubCharacteristics (byte 3) say how power is switched: 0 all ports at once, 1 one by one.
 */
static int check_descriptor(struct hub_port *h, struct err *e)
{
	static const char *const modes[] = {"all its ports together", "", "none of its ports",
					    "none of its ports"};
	const uint16_t type = h->is_superspeed ? LIBUSB_DT_SUPERSPEED_HUB : LIBUSB_DT_HUB;
	unsigned char d[16];
	int n;

	n = libusb_control_transfer(
		h->handle, LIBUSB_ENDPOINT_IN | LIBUSB_REQUEST_TYPE_CLASS | LIBUSB_RECIPIENT_DEVICE,
		LIBUSB_REQUEST_GET_DESCRIPTOR, (uint16_t)(type << 8), 0, d, sizeof(d), REQUEST_MS);
	if (n < 0)
		return usb_error(n, e, h->name, "hub descriptor");
	if (n < 5)
		return err_set(e, ERR_RIG, EPROTO, "usb hub %s: a hub descriptor of %d bytes",
			       h->name, n);
	if (h->port < 1 || h->port > d[2])
		return err_set(e, ERR_RIG, ENOENT, "usb hub %s has no port %u, only %u", h->name,
			       h->port, d[2]);
	if ((d[3] & 3) != 1)
		return err_set(e, ERR_RIG, ENOTSUP,
			       "usb hub %s switches the power of %s; one that switches port by "
			       "port is needed",
			       h->name, modes[d[3] & 3]);
	return 0;
}

static int open_half(struct switch_usb_hub *s, const char *hub, unsigned port, struct err *e)
{
	struct hub_port *h = &s->hubs[s->n_hubs];
	struct libusb_device_descriptor d;
	auto_free char *dir = port_dir(hub, port);
	libusb_device *device;
	struct place at;
	int r;

	if (!parse_place(hub, &at))
		return err_set(e, ERR_CONFIG, EINVAL, "usb hub '%s' is no place like 1-1.4 or usb1",
			       hub);
	device = find_device(s->usb, &at);
	if (!device)
		return err_set(e, ERR_RIG, ENODEV, "usb hub %s is not there", hub);
	s->n_hubs++;
	h->name = xstrdup(hub);
	h->port = port;
	r = libusb_get_device_descriptor(device, &d);
	if (r >= 0)
		r = libusb_open(device, &h->handle);
	libusb_unref_device(device);
	if (r < 0)
		return usb_error(r, e, hub, "open");
	if (d.bDeviceClass != LIBUSB_CLASS_HUB)
		return err_set(e, ERR_RIG, ENOTTY, "usb device %s is no hub (%04x:%04x)", hub,
			       d.idVendor, d.idProduct);
	h->is_superspeed = d.bcdUSB >= 0x0300;
	h->disable = xasprintf("%s/disable", dir);
	if (access(h->disable, F_OK) < 0) {
		util_free(h->disable);
		h->disable = NULL;
	} else if (access(h->disable, W_OK) < 0) {
		return err_errno(e, ERR_RIG, errno, "%s (are the udev rules installed?)",
				 h->disable);
	}
	return check_descriptor(h, e);
}

/* The kernel's idea of the port that shares the socket: ".../2-1:1.0/2-1-port4". */
static bool find_peer(const char *hub, unsigned port, char ret_hub[64], unsigned *ret_port)
{
	auto_free char *dir = port_dir(hub, port);
	auto_free char *link = xasprintf("%s/peer", dir);
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	char *name, *dash;

	if (n < 0)
		return false;
	target[n] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	dash = strstr(name, "-port");
	if (!dash || (size_t)(dash - name) >= 64)
		return false;
	memcpy(ret_hub, name, (size_t)(dash - name));
	ret_hub[dash - name] = '\0';
	*ret_port = (unsigned)strtoul(dash + 5, NULL, 10);
	return true;
}

/* ---- switching ---- */

/* 1 powered, 0 not: bit 8 of wPortStatus (USB 2.0 table 11-21), bit 9 (USB 3.1 table 10-13). */
static int read_power(struct hub_port *h, struct err *e)
{
	unsigned char status[4];
	int n;

	n = libusb_control_transfer(
		h->handle, LIBUSB_ENDPOINT_IN | LIBUSB_REQUEST_TYPE_CLASS | LIBUSB_RECIPIENT_OTHER,
		LIBUSB_REQUEST_GET_STATUS, 0, (uint16_t)h->port, status, sizeof(status),
		REQUEST_MS);
	if (n < 0)
		return usb_error(n, e, h->name, "port status");
	if (n < 4)
		return err_set(e, ERR_RIG, EPROTO, "usb hub %s: a port status of %d bytes", h->name,
			       n);
	return (status[1] & (h->is_superspeed ? 2 : 1)) != 0;
}

static int write_disable(const char *path, bool is_disabled, struct err *e)
{
	auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, is_disabled ? "1" : "0", 1) < 0)
		return err_errno(e, ERR_RIG, errno, "%s", path);
	return 0;
}

static int switch_half(struct hub_port *h, bool is_on, struct err *e)
{
	int r;

	if (h->disable)
		return write_disable(h->disable, !is_on, e);
	r = libusb_control_transfer(h->handle, LIBUSB_REQUEST_TYPE_CLASS | LIBUSB_RECIPIENT_OTHER,
				    is_on ? LIBUSB_REQUEST_SET_FEATURE
					  : LIBUSB_REQUEST_CLEAR_FEATURE,
				    PORT_POWER, (uint16_t)h->port, NULL, 0, REQUEST_MS);
	return r < 0 ? usb_error(r, e, h->name, "port power") : 0;
}

static int usb_hub_set(void *self, enum switch_state state, nsec_t deadline_ns,
		       struct switch_change *ret, struct err *e)
{
	struct switch_usb_hub *s = self;
	const bool is_on = state == SWITCH_ON;
	bool has_plain = false;
	nsec_t until_ns;

	*ret = (struct switch_change){.asked_ns = waiter_now(s->w)};
	for (size_t i = 0; i < s->n_hubs; i++) {
		int r = switch_half(&s->hubs[i], is_on, e);

		if (r < 0)
			return r;
		has_plain |= s->hubs[i].disable == NULL;
	}
	ret->applied_ns = waiter_now(s->w);
	/* the kernel powers a port again that it has not switched off itself: it takes a moment */
	until_ns = has_plain && !is_on ? ret->applied_ns + CHECK_NS : ret->applied_ns;
	if (until_ns > deadline_ns)
		until_ns = deadline_ns;
	for (;;) {
		for (size_t i = 0; i < s->n_hubs; i++) {
			int r = read_power(&s->hubs[i], e);

			if (r < 0)
				return r;
			if ((r != 0) != is_on)
				return err_set(e, ERR_RIG, EIO,
					       "usb hub %s says that port %u is still %s%s",
					       s->hubs[i].name, s->hubs[i].port,
					       is_on ? "off" : "on",
					       has_plain && !is_on
						       ? " (the kernel may have powered it again: "
							 "Linux 6.0 and later can be kept from it)"
						       : "");
		}
		if (waiter_now(s->w) >= until_ns)
			return 0;
		if (waiter_sleep(s->w, CHECK_EACH, e) < 0)
			return -e->code;
	}
}

/* What the hub says of itself; whether the stick has power only a load on VBUS could tell. */
static enum switch_state usb_hub_get(void *self)
{
	struct switch_usb_hub *s = self;
	struct err e = {0};
	int sum = 0;

	for (size_t i = 0; i < s->n_hubs; i++) {
		int r = read_power(&s->hubs[i], &e);

		if (r < 0) {
			log_debug(LOG_RIG, "%s", e.text);
			return SWITCH_UNKNOWN;
		}
		sum += r;
	}
	return sum == 0 ? SWITCH_OFF : sum == (int)s->n_hubs ? SWITCH_ON : SWITCH_UNKNOWN;
}

static void usb_hub_close(void *self)
{
	struct switch_usb_hub *s = self;

	for (size_t i = 0; i < s->n_hubs; i++) {
		if (s->hubs[i].handle)
			libusb_close(s->hubs[i].handle);
		free(s->hubs[i].name);
		free(s->hubs[i].disable);
	}
	if (s->usb)
		libusb_exit(s->usb);
	free(s);
}

static const struct switch_ops usb_hub_ops = {
	.driver = "usb-hub",
	.caps = SWITCH_CAN_READBACK | SWITCH_PER_PORT | SWITCH_CUTS_DATA,
	.set = usb_hub_set,
	.get = usb_hub_get,
	.close = usb_hub_close,
};

int switch_usb_hub_open(const struct switch_cfg *cfg, struct waiter *w,
			const struct switch_ops **ret_ops, void **ret_self, struct err *e)
{
	struct switch_usb_hub *s = xcalloc(1, sizeof(*s));
	char peer[64];
	unsigned port;
	int r;

	s->w = w;
	r = libusb_init(&s->usb);
	if (r < 0)
		r = usb_error(r, e, cfg->hub, "libusb");
	else
		r = open_half(s, cfg->hub, cfg->port, e);
	if (r == 0 && cfg->twin_hub)
		r = open_half(s, cfg->twin_hub, cfg->port, e);
	else if (r == 0 && find_peer(cfg->hub, cfg->port, peer, &port))
		r = open_half(s, peer, port, e);
	if (r < 0) {
		usb_hub_close(s);
		return r;
	}
	*ret_ops = &usb_hub_ops;
	*ret_self = s;
	return 0;
}
