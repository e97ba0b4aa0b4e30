/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * action.h - what the server does when it is asked to: commands of this program ("lock", "cancel",
 * "switch off"), each as a process of its own, so that neither a bench that hangs nor a store that
 * is busy keeps the readers waiting, and the server itself needs no right to write.
 *
 * Who asked for what, when, and what came of it goes to the log of the server and is kept for the
 * pages, the newest ACTIONS_KEPT of it.
 */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"

#include <stdbool.h>

#define ACTIONS_MAX      8   /* at one time; beyond it -EBUSY */
#define ACTIONS_KEPT     100 /* entries of the log that pages can show */
#define ACTION_ARGS_MAX  16
#define ACTION_S         90 /* then it is ended, and a guardian leaves the rig safe */
#define ACTION_OUT_BYTES 4096
#define ACTION_WHO_MAX   60

/* What is to be done. Strings are owned. */
struct action_order {
	char *args[ACTION_ARGS_MAX + 1]; /* of this program, NULL-terminated */
	char *subject;                   /* "rig/bench1", "job/12": whose pages show it */
	char *words;                     /* "switch off rig bench1", for the log */
	char *who;                       /* as whoever asked calls themselves */
	char *back;                      /* page that a form leads back to, relative */
	bool is_question;                /* changes nothing: the log does not need its success */
};

/* Appends a copy of arg to o->args; no more than ACTION_ARGS_MAX, the lists are fixed. */
void action_order_add(struct action_order *o, const char *arg);
/* Accepts NULL. */
void action_order_free(struct action_order *o);
DEFINE_AUTO(action_order, struct action_order *, action_order_free)
#define auto_action_order AUTO(action_order)

struct action_entry {
	int64_t wall_ns;
	char *subject, *words, *who, *address, *outcome;
	bool is_ok;
};

struct action;
struct action_set;

/*
 * program: this one's path; NULL = nothing can be done, only the log is kept. say(self, line),
 * which may be NULL, gets each line of the log, without control characters. Borrowed: all of it.
 */
struct action_set *action_set_new(const char *program, struct waiter *w,
				  void (*say)(void *self, const char *line), void *self);
/* There is a program to do things with. */
bool action_is_possible(const struct action_set *set);
/* Ends what still runs. Accepts NULL. */
void action_set_free(struct action_set *set);

/*
 * Starts it for the client at address; takes the order over, also if it fails (-EBUSY: too many at
 * once). ended(connection) is called once, from a wait or action_sweep(), when there is an outcome
 * to be taken with action_take().
 */
int action_start(struct action_set *set, struct action_order *order, const char *address,
		 void (*ended)(void *connection), void *connection, struct action **ret,
		 struct err *e) must_check;
/*
 * Outcome of an action that has ended: 0 and what it said, or its error: ERR_USAGE if it was
 * refused as it was asked for, ERR_RIG if it was tried and failed. *ret_back (owned) as in the
 * order. Frees the action.
 */
int action_take(struct action *a, struct strbuf *ret_said, char **ret_back,
		struct err *e) must_check;
/* Nobody waits for its outcome any more; it goes on and is logged. */
void action_forget(struct action *a);
/* Ends those that take longer than ACTION_S. */
void action_sweep(struct action_set *set, nsec_t now_ns);
/* Ends all; each has an outcome then. */
void action_end_all(struct action_set *set);

/* A request for an action was refused before it was one: that goes to the log too. */
void action_refused(struct action_set *set, const char *path, const char *address, const char *why);

/* Newest first: entry i of those about subject (NULL = all); NULL beyond the last one. */
const struct action_entry *action_entry(const struct action_set *set, const char *subject,
					size_t i);
