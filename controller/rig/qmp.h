/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qmp.h - client of QEMU's control protocol. Commands are answered one at a time; events that come
 * in between are kept with the time at which they came. Private to the rig room.
 */
#pragma once

#include "base/waiter.h"

#include <jansson.h>

#define QMP_LINE_MAX   (256u << 10) /* bytes of one message; a longer one ends the connection */
#define QMP_EVENTS_MAX 64           /* kept; older ones are forgotten */

struct qmp;

struct qmp_event {
	uint64_t seq; /* 0, 1, 2, … in order of arrival */
	nsec_t t_ns;  /* when its last byte was read */
	char *name;   /* "DEVICE_DELETED" */
	json_t *data; /* object, or NULL */
};

/*
 * Speaks over fd (connected, non-blocking; not owned): waits for the greeting and negotiates.
 * Registers fd with the waiter. ERR_RIG: no QMP peer, hang-up, or deadline_ns (-ETIMEDOUT).
 */
int qmp_open(struct waiter *w, int fd, nsec_t deadline_ns, struct qmp **ret,
	     struct err *e) must_check;
/* Accepts NULL. */
void qmp_close(struct qmp *q);

/*
 * One command. arguments (may be NULL) is taken over. *ret_value (may be NULL): what "return"
 * holds, a new reference. ERR_RIG with QEMU's text if it refuses (-ENODEV: no such device, -EEXIST:
 * the id is still in use, else -EIO), -EPIPE if the connection is gone, -ETIMEDOUT.
 */
int qmp_execute(struct qmp *q, nsec_t deadline_ns, const char *command, json_t *arguments,
		json_t **ret_value, struct err *e) must_check;

/* The number that the next event will get: taken before a command, it separates old from new. */
uint64_t qmp_next_seq(const struct qmp *q);
/*
 * The first event with seq >= since, that name and, if device is not NULL, data.device. NULL if
 * there is none. Valid until the next wait.
 */
const struct qmp_event *qmp_find_event(const struct qmp *q, uint64_t since, const char *name,
				       const char *device);
/* Events that came when QMP_EVENTS_MAX were kept already. */
uint64_t qmp_forgotten_events(const struct qmp *q);

/* False after a hang-up or a broken message; why goes to ret_why (may be NULL; not owned). */
bool qmp_is_connected(const struct qmp *q, const char **ret_why);
/* Reads what is there without waiting: the last words of a QEMU that has ended. */
void qmp_drain(struct qmp *q);
