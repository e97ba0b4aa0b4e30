/* SPDX-License-Identifier: GPL-2.0-or-later */
/* action.c - commands of this program, run for whoever may act. */
#include "action.h"

#include "base/child.h"
#include "base/fdio.h"
#include "report/text.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define EXIT_USAGE     129 /* of this program: asked for in the wrong way, or at the wrong time */
#define LINE_BYTES_MAX 400

struct action {
	struct action_set *set;
	struct action *next;
	struct action_order *order; /* owned */
	char *address;              /* owned */
	struct child *child;        /* NULL once it has ended */
	int out_fd, err_fd;
	nsec_t deadline_ns;
	void (*ended)(void *connection);
	void *connection;
	/* the outcome */
	bool has_ended;
	bool is_forgotten;
	struct strbuf said;
	struct err e;
};

struct action_set {
	const char *program;
	struct waiter *w;
	void (*say)(void *self, const char *line);
	void *self;
	struct action *actions;
	size_t n;
	struct action_entry kept[ACTIONS_KEPT]; /* the oldest at n_ever % ACTIONS_KEPT */
	size_t n_ever;
};

void action_order_add(struct action_order *o, const char *arg)
{
	size_t i = 0;

	while (o->args[i])
		i++;
	if (i == ACTION_ARGS_MAX)
		abort();
	o->args[i] = xstrdup(arg);
}

void action_order_free(struct action_order *o)
{
	if (!o)
		return;
	for (size_t i = 0; o->args[i]; i++)
		free(o->args[i]);
	free(o->subject);
	free(o->words);
	free(o->who);
	free(o->back);
	free(o);
}

struct action_set *action_set_new(const char *program, struct waiter *w,
				  void (*say)(void *self, const char *line), void *self)
{
	struct action_set *set = xcalloc(1, sizeof(*set));

	set->program = program;
	set->w = w;
	set->say = say;
	set->self = self;
	return set;
}

bool action_is_possible(const struct action_set *set)
{
	return set->program != NULL;
}

/* ---- the log ---- */

static void entry_release(struct action_entry *en)
{
	free(en->subject);
	free(en->words);
	free(en->who);
	free(en->address);
	free(en->outcome);
}

/* What came from a client becomes one line without control characters. */
static char *visible(const char *text)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;

	text_add_visible(&out, text, strlen(text), LINE_BYTES_MAX);
	return xstrdup(strbuf_str(&out));
}

static void say(const struct action_set *set, const char *what, const char *who,
		const char *address, const char *outcome)
{
	auto_free char *now = wall_format(wall_now());
	auto_free char *line =
		xasprintf("%s %s by %s from %s: %s", now, what, who, address, outcome);

	if (set->say)
		set->say(set->self, line);
}

static void keep(struct action *a)
{
	struct action_set *set = a->set;
	struct action_entry *en = &set->kept[set->n_ever % ACTIONS_KEPT];
	const struct action_order *o = a->order;

	set->n_ever++;
	entry_release(en);
	*en = (struct action_entry){
		.wall_ns = wall_now(),
		.subject = xstrdup(o->subject),
		.words = visible(o->words),
		.who = visible(o->who),
		.address = xstrdup(a->address),
		.outcome = visible(a->e.code ? a->e.text : strbuf_str(&a->said)),
		.is_ok = a->e.code == 0,
	};
	say(set, en->words, en->who, en->address, *en->outcome ? en->outcome : "done");
}

void action_refused(struct action_set *set, const char *path, const char *address, const char *why)
{
	auto_free char *what = visible(path);

	say(set, what, "nobody", address, why);
}

const struct action_entry *action_entry(const struct action_set *set, const char *subject, size_t i)
{
	size_t n = set->n_ever < ACTIONS_KEPT ? set->n_ever : ACTIONS_KEPT;

	for (size_t k = 0; k < n; k++) {
		const struct action_entry *en = &set->kept[(set->n_ever - 1 - k) % ACTIONS_KEPT];

		if (subject && strcmp(en->subject, subject) != 0)
			continue;
		if (i-- == 0)
			return en;
	}
	return NULL;
}

/* ---- the end of one ---- */

static void add_file(struct strbuf *out, int fd)
{
	char buf[ACTION_OUT_BYTES];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
		n--;
	if (n > 0)
		strbuf_add(out, buf, (size_t)n);
}

/* The program's own words without its name in front of them. */
static void set_failure(struct action *a, int status)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	static const char name[] = "stallrig: ";
	const char *words;

	add_file(&text, a->err_fd);
	words = strrchr(strbuf_str(&text), '\n');
	words = words ? words + 1 : strbuf_str(&text);
	if (strncmp(words, name, sizeof(name) - 1) == 0)
		words += sizeof(name) - 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_USAGE) {
		(void)err_set(&a->e, ERR_USAGE, EALREADY, "%s", words);
	} else if (WIFEXITED(status)) {
		(void)err_set(&a->e, ERR_RIG, EIO, "%s", *words ? words : "it failed");
	} else {
		auto_free char *how = child_status_text(status);

		(void)err_set(&a->e, ERR_RIG, EIO, "%s was %s", a->order->words, how);
	}
}

static void drop_child(struct action *a)
{
	waiter_remove(a->set->w, child_pidfd(a->child));
	child_free(a->child);
	a->child = NULL;
}

static void action_free(struct action *a)
{
	for (struct action **at = &a->set->actions; *at; at = &(*at)->next)
		if (*at == a) {
			*at = a->next;
			a->set->n--;
			break;
		}
	if (a->child)
		drop_child(a);
	if (a->out_fd >= 0)
		close(a->out_fd);
	if (a->err_fd >= 0)
		close(a->err_fd);
	strbuf_release(&a->said);
	action_order_free(a->order);
	free(a->address);
	free(a);
}

static void finish(struct action *a)
{
	a->has_ended = true;
	if (!a->order->is_question || a->e.code)
		keep(a);
	if (a->is_forgotten)
		action_free(a);
	else
		a->ended(a->connection);
}

void action_forget(struct action *a)
{
	a->is_forgotten = true;
	if (a->has_ended)
		action_free(a);
}

static int on_end(void *self, short revents, struct err *e)
{
	struct action *a = self;
	int status;

	(void)revents;
	(void)e;
	if (!child_has_ended(a->child, &status))
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		add_file(&a->said, a->out_fd);
	else
		set_failure(a, status);
	drop_child(a);
	finish(a);
	return 0;
}

static void end_early(struct action *a, int code, const char *why)
{
	drop_child(a);
	(void)err_set(&a->e, ERR_RIG, code, "%s: %s", a->order->words, why);
	finish(a);
}

void action_sweep(struct action_set *set, nsec_t now_ns)
{
	for (struct action *a = set->actions, *next; a; a = next) {
		next = a->next;
		if (a->child && now_ns >= a->deadline_ns)
			end_early(a, ETIMEDOUT, "it took too long and was ended");
	}
}

void action_end_all(struct action_set *set)
{
	for (struct action *a = set->actions, *next; a; a = next) {
		next = a->next;
		if (a->child)
			end_early(a, EINTR, "the server stops");
	}
}

int action_take(struct action *a, struct strbuf *ret_said, char **ret_back, struct err *e)
{
	int r = -a->e.code;

	*ret_back = xstrdup(a->order->back);
	if (r < 0)
		*e = a->e;
	else
		strbuf_add(ret_said, strbuf_str(&a->said), a->said.len);
	action_free(a);
	return r;
}

void action_set_free(struct action_set *set)
{
	if (!set)
		return;
	while (set->actions)
		action_free(set->actions);
	for (size_t i = 0; i < ACTIONS_KEPT; i++)
		entry_release(&set->kept[i]);
	free(set);
}

/* ---- the start ---- */

static int start_child(struct action *a, struct err *e)
{
	const char *argv[ACTION_ARGS_MAX + 2] = {a->set->program};
	struct child_cfg cfg = {.argv = argv, .stdin_fd = -1, .dies_with_parent = true};
	int r;

	for (size_t i = 0; a->order->args[i]; i++)
		argv[i + 1] = a->order->args[i];
	/* files in memory: nothing has to be read while it runs */
	a->out_fd = memfd_create("stallrig-action-out", MFD_CLOEXEC);
	a->err_fd = memfd_create("stallrig-action-err", MFD_CLOEXEC);
	if (a->out_fd < 0 || a->err_fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "a file in memory");
	cfg.stdout_fd = a->out_fd;
	cfg.stderr_fd = a->err_fd;
	r = child_start(&cfg, &a->child, e);
	if (r < 0)
		return r;
	return waiter_add(
		a->set->w,
		&(struct waiter_source){
			.fd = child_pidfd(a->child), .events = POLLIN, .ready = on_end, .self = a},
		e);
}

int action_start(struct action_set *set, struct action_order *order, const char *address,
		 void (*ended)(void *connection), void *connection, struct action **ret,
		 struct err *e)
{
	struct action *a;
	int r;

	if (set->n == ACTIONS_MAX) {
		action_order_free(order);
		return err_set(e, ERR_USAGE, EBUSY, "%d actions are under way, try again later",
			       ACTIONS_MAX);
	}
	a = xcalloc(1, sizeof(*a));
	a->set = set;
	a->order = order;
	a->address = xstrdup(address);
	a->out_fd = a->err_fd = -1;
	a->deadline_ns = waiter_now(set->w) + ACTION_S * NSEC_PER_SEC;
	a->ended = ended;
	a->connection = connection;
	a->next = set->actions;
	set->actions = a;
	set->n++;
	r = start_child(a, e);
	if (r < 0) {
		action_free(a);
		return r;
	}
	*ret = a;
	return 0;
}
