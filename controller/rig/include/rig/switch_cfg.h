/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_cfg.h - a switch as it is described under `switch:` in rig.yaml; see stallrig-rig(5). */
#pragma once

#include "rig/switch.h"
#include "rig/yaml.h"

/* One line of a switch: of a GPIO chip, or a relay. */
struct switch_line_cfg {
	char *chip; /* gpio: path, name or label; NULL = the switch's */
	char *line; /* gpio: name; NULL = by offset */
	unsigned *offset;
	unsigned channel; /* hid-relay: 1… */
	bool is_active_low;
	char *drive; /* gpio output: "push-pull" (also NULL), "open-drain", "open-source" */
	char *bias;  /* gpio: "as-is" (also NULL), "off", "up", "down" */
};

#define SWITCH_WORDS_MAX 32

struct switch_cfg {
	char *name;   /* of the stick */
	char *driver; /* "qmp", "gpio", "usb-hub", "hid-relay", "exec", "http", "target-port" */
	unsigned port;
	unsigned hub_port; /* qmp: a hub is in `port` and the stick in this one of it; 0 = none */
	bool is_hub_cut;   /* qmp: the hub goes away, with all that is behind it */
	unsigned min_off_ms, settle_ms, max_cycles;
	char *safe_state; /* "off" (also NULL), "on" */
	char *chip;       /* gpio: of the lines that name none */
	char *serial;     /* hid-relay: NULL = the only board */
	char *hub;        /* usb-hub: "1-1.4", "usb1" */
	char *twin_hub;   /* usb-hub: NULL = the kernel's `peer` of the port, if it has one */
	struct switch_line_cfg *vbus, *data, *discharge, *sense, *over_current; /* NULL = none */
	unsigned lead_ms;                     /* between data and VBUS */
	unsigned discharge_ms;                /* how long VBUS is pulled down after a cut */
	unsigned sense_timeout_ms;            /* VBUS must have followed by then */
	char **turn_on, **turn_off, **status; /* exec: argument vectors without NULL at the end */
	unsigned turn_on_count, turn_off_count, status_count;
	unsigned timeout_ms; /* exec: of one command; http: of one request */
	char *protocol;      /* http: "pdudaemon", "rest", "output" */
	char *url;
	char *token_file;           /* http: NULL = no token is sent */
	char *pdu, *outlet;         /* http, pdudaemon */
	char *method;               /* http, output: "PUT" (also NULL), "POST", "GET" */
	char *off_url, *status_url; /* http, output: NULL = url */
	char *on_body, *off_body;   /* http, output: NULL = none */
	char *on_match, *off_match; /* http, output: extended regular expressions; NULL = it is
				       not asked */
};

/* The keys of a switch, for a CYAML_FIELD_MAPPING of a struct switch_cfg; `name` is no key. */
extern const cyaml_schema_field_t switch_cfg_fields[];

/*
 * Fills in what is not there and checks the keys that stand at key_path ("sticks[0].switch"):
 * ERR_CONFIG with file:line:column for a driver that does not exist, a key that the driver does
 * not have or needs, a number outside its range.
 */
int switch_cfg_check(struct switch_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		     struct err *e) must_check;
/* Frees what is in it. */
void switch_cfg_release(struct switch_cfg *cfg);

/* What the facade needs. */
void switch_cfg_limits(const struct switch_cfg *cfg, struct switch_limits *ret);

/* Whether the driver works by itself: without a booted target (not "qmp",
   "target-port"). */
bool switch_cfg_is_standalone(const struct switch_cfg *cfg);
/* Whether the target unplugs by itself: nothing electrical happens (SWITCH_IS_SOFT). */
bool switch_cfg_is_soft(const struct switch_cfg *cfg);

/* The port whose contacts a cut wears out; NULL if nothing is cut electrically. Belongs to cfg. */
const char *switch_cfg_worn_part(const struct switch_cfg *cfg);

/*
 * Opens a stand-alone switch in a guardian: a process that holds the hardware and puts it into its
 * safe state within a second if this process dies, or is stopped for SWITCH_STOP_MAX_NS. keep_fd:
 * stays open in the guardian (the rig's lock, so that nobody gets a rig that is not safe yet), -1 =
 * none. Changes nothing. ERR_RIG: the hardware is not there, not permitted, in use.
 */
int switch_cfg_open(const struct switch_cfg *cfg, int keep_fd, struct waiter *w,
		    const struct switch_ops **ret_ops, void **ret_self, struct err *e) must_check;
