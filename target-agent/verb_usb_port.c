/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verb_usb_port.c - a USB port that the kernel closes by itself: nothing is unplugged.
 *
 * Linux 6.0 and later have an attribute `disable` for each port of a hub
 * (Documentation/ABI/testing/sysfs-bus-usb); a device on it is disconnected as if it were pulled
 * out, but in the context of who writes. A port that shares its socket with one of another speed
 * names it as `peer`: both are closed, else the device comes back there. Older kernels can only
 * take the device's configuration away (`authorized`), and log no disconnect.
 */
#include "agent.h"

#include <limits.h>
#include <string.h>

#define DEVICES "/sys/bus/usb/devices"

/* "2-1", "1-1.4": a bus, and one to seven ports. */
static bool is_usb_path(const char *text)
{
	const char *p = text + strspn(text, "0123456789");
	unsigned n_ports = 0;

	if (p == text || *p != '-')
		return false;
	do {
		size_t n = strspn(++p, "0123456789");

		if (!n || n > 3 || ++n_ports > 7)
			return false;
		p += n;
	} while (*p == '.');
	return *p == '\0' && strlen(text) < 40;
}

/* Folder of the port that a device sits on: of the hub 1-1, or of the root hub usb2. */
static void port_dir(const char *usb_path, char ret[SYSFILE_PATH_MAX])
{
	const char *dot = strrchr(usb_path, '.');
	const char *dash = strchr(usb_path, '-');
	const int n = (int)(dot ? dot - usb_path : dash - usb_path);

	if (dot)
		(void)snprintf(ret, SYSFILE_PATH_MAX, DEVICES "/%.*s/%.*s:1.0/%.*s-port%s", n,
			       usb_path, n, usb_path, n, usb_path, dot + 1);
	else
		(void)snprintf(ret, SYSFILE_PATH_MAX, DEVICES "/usb%.*s/%.*s-0:1.0/usb%.*s-port%s",
			       n, usb_path, n, usb_path, n, usb_path, dash + 1);
}

static bool is_there(const char *root, const char *path)
{
	char full[SYSFILE_PATH_MAX];

	return sysfile_path(root, path, full, NULL) == 0 && access(full, F_OK) == 0;
}

/* A closed peer stays closed while the other one is opened: what is plugged in shows up there. */
static int set_port(const char *root, const char *disable, const char *peer, bool is_on,
		    struct err *e)
{
	const char *first = is_on ? disable : peer;
	const char *second = is_on ? peer : disable;
	int r = 0;

	if (*first)
		r = sysfile_write(root, first, is_on ? "0" : "1", e);
	if (r == 0 && *second)
		r = sysfile_write(root, second, is_on ? "0" : "1", e);
	return r;
}

int verb_usb_port(struct request *rq, struct err *e)
{
	char dir[SYSFILE_PATH_MAX], disable[SYSFILE_PATH_MAX + 16];
	char peer[SYSFILE_PATH_MAX + 16], authorized[SYSFILE_PATH_MAX];
	const char *state = request_get(rq, "state");
	const char *path = NULL;
	bool has_disable;
	char word[16];
	int r;

	r = request_need(rq, "path", &path, e);
	if (r < 0)
		return r;
	if (!is_usb_path(path))
		return err_set(e, ERR_TARGET, EINVAL, "usb-port: path='%.64s' is no place like 2-1",
			       path);
	if (state && strcmp(state, "on") != 0 && strcmp(state, "off") != 0)
		return err_set(e, ERR_TARGET, EINVAL, "usb-port: state='%.64s' is not on or off",
			       state);
	port_dir(path, dir);
	(void)snprintf(disable, sizeof(disable), "%s/disable", dir);
	(void)snprintf(peer, sizeof(peer), "%s/peer/disable", dir);
	(void)snprintf(authorized, sizeof(authorized), DEVICES "/%s/authorized", path);
	has_disable = is_there(rq->root, disable);
	if (!has_disable && !is_there(rq->root, authorized))
		return err_set(e, ERR_TARGET, ENODEV,
			       "usb-port: neither %s nor %s is there: no such port, or nothing is "
			       "plugged in",
			       disable, authorized);
	if (!is_there(rq->root, peer))
		*peer = '\0';
	if (state && has_disable)
		r = set_port(rq->root, disable, peer, strcmp(state, "on") == 0, e);
	else if (state)
		r = sysfile_write(rq->root, authorized, strcmp(state, "on") == 0 ? "1" : "0", e);
	if (r < 0)
		return r;
	if (!sysfile_word(rq->root, has_disable ? disable : authorized, word, sizeof(word)))
		return err_set(e, ERR_TARGET, ENODEV, "usb-port: %s went away",
			       has_disable ? disable : authorized);
	answer_word(rq->answer, "method", "%s", has_disable ? "disable" : "authorized");
	answer_word(rq->answer, "state", "%s",
		    (strcmp(word, "0") == 0) == has_disable ? "on" : "off");
	return 0;
}
