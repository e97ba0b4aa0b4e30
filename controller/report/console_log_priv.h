/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_log_priv.h - what console_log.c collects and console_log_show.c shows. */
#pragma once

#include "console/load.h"
#include "report/console_log.h"

struct log_delay {
	int64_t us; /* -1: the line's number is negative */
	int64_t ms; /* as printed */
	int64_t t_kernel_us;
	int cpu;
	char probe[16];
	bool is_suspect;
	bool counts; /* for the verdict */
	unsigned boot;
	double load_pct;  /* how busy the serial line was meanwhile; < 0 unknown */
	bool is_printing; /* sending alone may have made it */
};

struct log_boot {
	uint64_t offset;
	char banner[160];
	unsigned boot;
	char release[65]; /* "" unknown */
};

struct log_file {
	char *name;
	unsigned first_boot; /* its boots are this one and what follows, up to the next file's */
};

struct log_work {
	char func[WQDUMP_NAME_MAX];
	char wq[WQDUMP_NAME_MAX];
	int64_t pending; /* behind it in the same workqueue and pool */
};

struct console_log {
	struct console_log_cfg cfg;
	struct console_parser *parser; /* of the current file; NULL between files */
	struct log_file *files;
	size_t n_files;
	unsigned last_boot;
	unsigned boots_before;        /* first_boot of the current file */
	struct console_integrity sum; /* of the files that are over */
	uint64_t events;

	bool has_marks; /* stallrig's own markers were seen */
	int64_t last_disconnect_us;
	uint64_t disconnects;
	uint64_t clean_delays, suspect_delays, counted, over;
	uint64_t printing; /* delays over the limit that sending may have made */
	struct console_load load;
	int64_t worst_us; /* of the delays that count; -1 = none */

	struct log_delay *delays; /* CONSOLE_LOG_DELAYS_MAX, NULL until the first */
	size_t n_delays;
	uint64_t delays_dropped;
	struct log_boot boots[CONSOLE_LOG_BOOTS_MAX];
	size_t n_boots;
	uint64_t boots_dropped;
	struct log_work works[CONSOLE_LOG_WORKS_MAX]; /* in flight in workqueue dumps, each once */
	size_t n_works;
	uint64_t dumps;
	struct console_incidents incidents;
};

/* The file that a boot is of. */
const struct log_file *log_file_of(const struct console_log *log, unsigned boot);
/* The waiver that covers an incident, or NULL. */
const struct console_waiver *log_waiver_of(const struct console_log *log,
					   const struct console_incident *in);

/* The delay of a DELAY event; -1 if its number is negative. */
int64_t log_delay_us(const struct console_event *ev);
/* Counters of all files, the current one included. */
struct console_integrity log_sum(const struct console_log *log);
