/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * incidents.h - events of one kind become one incident: a lockup that is reported every 30 s is one
 * lockup, reported often. Grouped by boot, class and title. Pure, bounded.
 */
#pragma once

#include "console/console.h"

#define CONSOLE_INCIDENTS_MAX      512
#define CONSOLE_INCIDENT_TITLE_MAX 128
#define CONSOLE_INCIDENT_PLACE_MAX 64
#define CONSOLE_INCIDENT_TEXT_MAX  256

struct console_incident {
	enum console_class cls;
	char title[CONSOLE_INCIDENT_TITLE_MAX];
	char place[CONSOLE_INCIDENT_PLACE_MAX]; /* function of a crash; "" if not seen */
	char text[CONSOLE_INCIDENT_TEXT_MAX];   /* the first message, cut if longer */
	unsigned boot;
	uint64_t count;     /* events that are not suspect */
	uint64_t suspects;  /* damaged ones; an incident may consist of such alone */
	int64_t t_first_us; /* kernel time; CONSOLE_UNKNOWN if no stamp */
	int64_t t_last_us;  /* as t_first_us */
	int64_t t_first_host_ns;
	uint64_t first_offset;
	uint64_t last_offset;
	int64_t worst_s;       /* largest "stuck for"; CONSOLE_UNKNOWN if the class has none */
	int64_t worst_jiffies; /* of RCU stalls, whose HZ may be unknown; CONSOLE_UNKNOWN as above
				*/
	int64_t total;         /* sum of dropped messages, overruns; 0 else */
};

struct console_incidents {
	struct console_incident rows[CONSOLE_INCIDENTS_MAX];
	size_t n;
	uint64_t overflow; /* events for which there was no room: their incident is not listed */
};

void console_incidents_init(struct console_incidents *is);
/*
 * Takes one event. Delays, markers, boots and usb-new are no incidents and are ignored; a detail
 * goes to the incident that it belongs to.
 */
void console_incidents_add(struct console_incidents *is, const struct console_event *ev);
/* The worst severity of incidents with count > 0; CONSOLE_INFO if there is none. */
enum console_severity console_incidents_worst(const struct console_incidents *is);
