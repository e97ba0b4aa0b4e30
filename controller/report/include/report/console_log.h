/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * console_log.h - what a bare console log says: boots, delays, incidents, its own integrity, and
 * the verdict that follows from that alone.
 *
 * A bare log can condemn a kernel, it can never acquit one: what was cached, whether a probe ran
 * and whether the switch cut are not in it. So the verdict is FAIL or INCONCLUSIVE.
 */
#pragma once

#include "base/strbuf.h"
#include "console/console.h"
#include "console/incidents.h"
#include "console/waiver.h"
#include "console/wqdump.h"
#include "judge/judge.h"

#define CONSOLE_LOG_DELAYS_MAX 4096
#define CONSOLE_LOG_BOOTS_MAX  1024
#define CONSOLE_LOG_WORKS_MAX  32

struct console_log_cfg {
	int64_t limit_us;
	/* How long after a disconnect a delay may be due to be its. Only a log with stallrig's own
	   markers has delays that do not count: those of the injected control. */
	int64_t attribution_us;
	/* Probes whose delays count; a line without a probe's name counts as well. */
	const char *const *probes;
	size_t n_probes;
	/* Incidents that do not count; not owned, may be NULL. */
	const struct console_waiver *waivers;
	size_t n_waivers;
	/* Of the serial line, to tell whether printing may have made a delay; 0: not looked at. */
	int64_t baud;
	/* Called for each delay and incident line as it comes, for --follow; may be NULL. */
	console_event_fn on_event;
	void *self;
};

struct console_log;

struct console_log *console_log_new(const struct console_log_cfg *cfg);
/* Accepts NULL. */
void console_log_free(struct console_log *log);

/*
 * Several files make one log; each begins a console of its own, with boots of its own. name tells
 * where a delay or an incident was if there are several.
 */
void console_log_begin_file(struct console_log *log, const char *name);
void console_log_feed(struct console_log *log, const void *bytes, size_t n, int64_t t_host_ns);
/* Nothing came for a while. */
void console_log_idle(struct console_log *log);
void console_log_end_file(struct console_log *log);

/* Of the file that is being fed. */
const struct console_integrity *console_log_integrity(const struct console_log *log);
/* False as long as nothing fed looked like a kernel's console. */
bool console_log_has_kernel_text(const struct console_log *log);

struct console_log_verdict {
	enum verdict verdict; /* VERDICT_FAIL or VERDICT_INCONCLUSIVE */
	char reason[96];
	char strength[256];
};

void console_log_judge(const struct console_log *log, struct console_log_verdict *ret);
/* For a terminal. */
void console_log_text(struct strbuf *out, const struct console_log *log, bool has_colour);
/* {"verdict",…} of the design, section 9; ends with a line end. */
void console_log_json(struct strbuf *out, const struct console_log *log);
/* One event for --follow: a line of text, or an object. */
void console_event_text(struct strbuf *out, const struct console_event *ev);
void console_event_json(struct strbuf *out, const struct console_event *ev);
