/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wqdump.c - "workqueue …:", "pwq …:", "in-flight:", "pool …:" and the stacks behind them. */
#include "console/wqdump.h"

#include <string.h>

struct cursor {
	const char *s;
	size_t pos;
	size_t len;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip_spaces(struct cursor *c)
{
	while (c->pos < c->len && (c->s[c->pos] == ' ' || c->s[c->pos] == '\t'))
		c->pos++;
}

static bool accept(struct cursor *c, const char *word)
{
	size_t n = strlen(word);

	if (c->len - c->pos < n || memcmp(c->s + c->pos, word, n) != 0)
		return false;
	c->pos += n;
	return true;
}

/* Decimal of at most 9 digits, signed. */
static bool accept_int(struct cursor *c, int *ret)
{
	size_t pos = c->pos;
	bool is_negative = pos < c->len && c->s[pos] == '-';
	size_t first = pos += is_negative;
	int v = 0;

	while (pos < c->len && is_digit(c->s[pos]) && pos - first < 9)
		v = v * 10 + (c->s[pos++] - '0');
	if (pos == first || (pos < c->len && is_digit(c->s[pos])))
		return false;
	c->pos = pos;
	*ret = is_negative ? -v : v;
	return true;
}

static bool accept_hex(struct cursor *c, unsigned *ret)
{
	struct cursor at = *c;
	unsigned v = 0;
	size_t first;

	if (!accept(&at, "0x"))
		return false;
	for (first = at.pos; at.pos < at.len && at.pos - first < 8; at.pos++) {
		char ch = at.s[at.pos];

		if (is_digit(ch))
			v = v << 4 | (unsigned)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			v = v << 4 | (unsigned)(ch - 'a' + 10);
		else
			break;
	}
	if (at.pos == first)
		return false;
	*c = at;
	*ret = v;
	return true;
}

/* Copies up to one of the bytes in `until` or the end. */
static size_t copy_until(struct cursor *c, const char *until, char *ret, size_t cap, bool *ret_cut)
{
	size_t n = 0;
	size_t len = 0;

	while (c->pos < c->len && !strchr(until, c->s[c->pos])) {
		if (n + 1 < cap)
			ret[n++] = c->s[c->pos];
		else
			*ret_cut = true;
		c->pos++;
		len++;
	}
	ret[n] = '\0';
	return len;
}

/* " cpus=0 node=0 flags=0x0 nice=0", any of them absent. True if there was one. */
static bool read_attrs(struct wqdump *d, struct cursor *c, struct wqdump_attrs *ret)
{
	bool is_any = false;

	for (;;) {
		struct cursor at = *c;

		skip_spaces(&at);
		if (accept(&at, "cpus=")) {
			(void)copy_until(&at, " ", ret->cpus, sizeof(ret->cpus), &d->is_truncated);
		} else if (accept(&at, "node=")) {
			if (!accept_int(&at, &ret->node))
				return is_any;
		} else if (accept(&at, "flags=")) {
			if (!accept_hex(&at, &ret->flags))
				return is_any;
		} else if (accept(&at, "nice=")) {
			if (!accept_int(&at, &ret->nice))
				return is_any;
		} else if (accept(&at, "bh")) {
			ret->is_bh = true;
			if (accept(&at, "-hi"))
				ret->nice = -20;
		} else {
			return is_any;
		}
		*c = at;
		is_any = true;
	}
}

/* " active=1/256 refcnt=2 MAYDAY" */
static bool read_activity(struct cursor *c, struct wqdump_pwq *ret)
{
	struct cursor at = *c;

	skip_spaces(&at);
	if (!accept(&at, "active=") || !accept_int(&at, &ret->active))
		return false;
	if (accept(&at, "/"))
		(void)accept_int(&at, &ret->max_active);
	skip_spaces(&at);
	if (accept(&at, "refcnt="))
		(void)accept_int(&at, &ret->refcnt);
	skip_spaces(&at);
	ret->is_mayday = accept(&at, "MAYDAY");
	*c = at;
	return true;
}

static bool read_pwq(struct wqdump *d, struct cursor *c)
{
	struct wqdump_pwq pwq = {.active = -1, .max_active = -1, .refcnt = -1, .attrs.node = -1};

	if (!accept(c, "pwq ") || !accept_int(c, &pwq.pool) || !accept(c, ":"))
		return false;
	memcpy(pwq.wq, d->wq, sizeof(pwq.wq));
	pwq.wq_flags = d->wq_flags;
	(void)read_attrs(d, c, &pwq.attrs);
	(void)read_activity(c, &pwq);
	d->at = WQDUMP_AT_PWQ;
	d->has_pwq = d->n_pwqs < WQDUMP_PWQS_MAX;
	if (d->has_pwq)
		d->pwqs[d->n_pwqs++] = pwq;
	else
		d->is_truncated = true;
	return true;
}

static void add_work(struct wqdump *d, const struct wqdump_work *work)
{
	struct wqdump_pwq *pwq;

	if (!d->has_pwq)
		return;
	pwq = &d->pwqs[d->n_pwqs - 1];
	switch (work->kind) {
	case WQDUMP_IN_FLIGHT:
		pwq->in_flight += work->count;
		break;
	case WQDUMP_PENDING:
		pwq->pending += work->count;
		break;
	case WQDUMP_INACTIVE:
		pwq->inactive += work->count;
		break;
	}
	if (d->n_works == WQDUMP_WORKS_MAX) {
		d->is_truncated = true;
		return;
	}
	d->works[d->n_works] = *work;
	d->works[d->n_works++].pwq = d->n_pwqs - 1;
}

/* One of "func", "func [module]", "15*func", "BAR(123)", "123(RESCUER):func for 5s". */
static bool read_work(struct wqdump *d, struct cursor *c)
{
	struct wqdump_work work = {.kind = d->list, .count = 1, .pid = -1, .seconds = INT64_MIN};
	struct cursor at = *c;
	int number;

	if (accept_int(&at, &number)) {
		struct cursor after = at;

		if (accept(&after, "*")) {
			work.count = number > 0 ? number : 1;
			at = after;
		} else {
			work.is_rescuer = accept(&after, "(RESCUER)");
			if (!accept(&after, ":"))
				return false;
			work.pid = number;
			at = after;
		}
	} else if (accept(&at, "bh:") || accept(&at, "bh-hi:")) {
		/* a bottom-half pool has no process */
	}
	if (accept(&at, "BAR(")) {
		memcpy(work.func, "BAR", 4);
		(void)accept_int(&at, &work.pid);
		(void)accept(&at, ")");
	} else if (copy_until(&at, " ,", work.func, sizeof(work.func), &d->is_truncated) == 0) {
		return false;
	}
	/* " [module]", " for 72s" */
	for (;;) {
		struct cursor after = at;

		skip_spaces(&after);
		if (after.pos < after.len && after.s[after.pos] == '[') {
			size_t n = strlen(work.func);

			if (n + 1 < sizeof(work.func)) {
				work.func[n++] = ' ';
				(void)copy_until(&after, " ,", work.func + n, sizeof(work.func) - n,
						 &d->is_truncated);
			} else {
				return false;
			}
		} else if (accept(&after, "for ") && accept_int(&after, &number) &&
			   accept(&after, "s")) {
			work.seconds = number;
		} else {
			break;
		}
		at = after;
	}
	*c = at;
	add_work(d, &work);
	return true;
}

static void read_works(struct wqdump *d, struct cursor *c)
{
	while (c->pos < c->len) {
		if (c->s[c->pos] == ' ' || c->s[c->pos] == ',') {
			c->pos++;
			continue;
		}
		if (!read_work(d, c))
			return;
	}
}

static bool read_list(struct wqdump *d, struct cursor *c)
{
	static const struct {
		const char *word;
		enum wqdump_work_kind kind;
	} lists[] = {{"in-flight:", WQDUMP_IN_FLIGHT},
		     {"pending:", WQDUMP_PENDING},
		     {"inactive:", WQDUMP_INACTIVE},
		     {"delayed:", WQDUMP_INACTIVE}};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!accept(c, lists[i].word))
			continue;
		d->at = WQDUMP_AT_LIST;
		d->list = lists[i].kind;
		read_works(d, c);
		return true;
	}
	return false;
}

static bool read_workqueue(struct wqdump *d, struct cursor *c)
{
	struct cursor at = *c;
	char name[WQDUMP_NAME_MAX];
	unsigned flags;

	if (!accept(&at, "workqueue ") ||
	    copy_until(&at, ":", name, sizeof(name), &d->is_truncated) == 0)
		return false;
	/* a name may have colons of its own */
	while (!accept(&at, ": flags=")) {
		size_t n = strlen(name);

		if (at.pos >= at.len || n + 2 > sizeof(name))
			return false;
		name[n++] = at.s[at.pos++];
		(void)copy_until(&at, ":", name + n, sizeof(name) - n, &d->is_truncated);
	}
	if (!accept_hex(&at, &flags))
		return false;
	memcpy(d->wq, name, sizeof(name));
	d->wq_flags = flags;
	d->at = WQDUMP_AT_NONE;
	*c = at;
	return true;
}

/* " hung=31s workers=2 manager: 816094 idle: 823322 9 bh" */
static bool read_pool_state(struct cursor *c, struct wqdump_pool *pool)
{
	struct cursor at = *c;
	bool is_any = false;
	int number;

	for (;;) {
		skip_spaces(&at);
		if (accept(&at, "hung=") && accept_int(&at, &number)) {
			pool->hung_s = number;
			(void)accept(&at, "s");
		} else if (accept(&at, "workers=") && accept_int(&at, &number)) {
			pool->workers = number;
		} else if (accept(&at, "manager: ") && accept_int(&at, &number)) {
			pool->manager = number;
		} else if (accept(&at, "idle:")) {
			for (;;) {
				skip_spaces(&at);
				if (!accept_int(&at, &number) && !accept(&at, "bh"))
					break;
				pool->idle++;
			}
		} else {
			break;
		}
		is_any = true;
	}
	*c = at;
	return is_any;
}

static bool read_pool(struct wqdump *d, struct cursor *c)
{
	struct wqdump_pool pool = {
		.hung_s = INT64_MIN, .workers = -1, .manager = -1, .attrs.node = -1};
	bool has_attrs;

	if (!accept(c, "pool ") || !accept_int(c, &pool.pool) || !accept(c, ":"))
		return false;
	has_attrs = read_attrs(d, c, &pool.attrs);
	if (!has_attrs) {
		/* "pool 2:" heads the stacks of its workers; else the rest comes as a fragment */
		d->trace_pool = pool.pool;
		if (d->in_traces)
			return true;
	}
	(void)read_pool_state(c, &pool);
	d->at = WQDUMP_AT_POOL;
	if (d->n_pools < WQDUMP_POOLS_MAX)
		d->pools[d->n_pools++] = pool;
	else
		d->is_truncated = true;
	return true;
}

/* Parts of a line that came as records of their own, because another CPU printed in between. */
static bool read_fragment(struct wqdump *d, struct cursor *c)
{
	struct cursor at = *c;
	struct wqdump_pwq *pwq = d->has_pwq ? &d->pwqs[d->n_pwqs - 1] : NULL;
	struct wqdump_pool *pool = d->n_pools > 0 ? &d->pools[d->n_pools - 1] : NULL;

	if (d->at == WQDUMP_AT_PWQ && pwq) {
		bool is_any = read_attrs(d, &at, &pwq->attrs);

		return read_activity(&at, pwq) || is_any;
	}
	if (d->at == WQDUMP_AT_POOL && pool) {
		bool is_any = read_attrs(d, &at, &pool->attrs);

		return read_pool_state(&at, pool) || is_any;
	}
	if (d->at == WQDUMP_AT_LIST && at.pos > 0) {
		size_t before = d->n_works;

		skip_spaces(&at);
		if (at.pos < at.len && (at.s[at.pos] == ',' || is_digit(at.s[at.pos])))
			read_works(d, &at);
		return d->n_works > before;
	}
	return false;
}

/* "task:kworker/0:1 state:R …pid:77", or before 5.9 "kworker/0:1     R  running task  0 77 …". */
static bool read_task(struct wqdump *d, struct cursor *c)
{
	struct wqdump_trace trace = {.pool = d->trace_pool, .pid = -1};
	const char *pid;
	bool is_new = accept(c, "task:");

	if (!is_new && (c->len - c->pos < 8 || memcmp(c->s + c->pos, "kworker/", 8) != 0))
		return false;
	(void)copy_until(c, " ", trace.comm, sizeof(trace.comm), &d->is_truncated);
	pid = is_new ? memmem(c->s + c->pos, c->len - c->pos, " pid:", 5) : NULL;
	if (pid) {
		c->pos = (size_t)(pid - c->s) + 5;
		skip_spaces(c);
		(void)accept_int(c, &trace.pid);
	}
	if (d->n_traces < WQDUMP_TRACES_MAX)
		d->traces[d->n_traces++] = trace;
	else
		d->is_truncated = true;
	return true;
}

/* "? func+0x1/0x2 [module]" without the question mark: a sure frame. */
static bool read_frame(struct wqdump *d, struct cursor *c)
{
	struct wqdump_trace *trace = d->n_traces > 0 ? &d->traces[d->n_traces - 1] : NULL;
	char name[WQDUMP_NAME_MAX];
	bool is_cut = false;
	char unused[WQDUMP_NAME_MAX];

	if (!trace)
		return false;
	if (accept(c, "Call Trace:") || accept(c, "Call trace:") || accept(c, "<TASK>") ||
	    accept(c, "</TASK>") || accept(c, "Workqueue: ") || accept(c, "? "))
		return true;
	if (accept(c, "[<")) {
		(void)copy_until(c, ">", unused, sizeof(unused), &is_cut);
		if (!accept(c, ">]"))
			return false;
		skip_spaces(c);
	}
	if (copy_until(c, "+ ", name, sizeof(name), &is_cut) == 0 || !accept(c, "+0x"))
		return false;
	if (trace->n_frames < WQDUMP_FRAMES_MAX)
		memcpy(trace->frames[trace->n_frames++], name, sizeof(name));
	return true;
}

void wqdump_init(struct wqdump *d)
{
	/* only what counts: the rows are 130 KiB, and each is written in whole when it is counted
	 */
	d->n_pwqs = 0;
	d->n_pools = 0;
	d->n_works = 0;
	d->n_traces = 0;
	d->is_truncated = false;
	d->wq[0] = '\0';
	d->wq_flags = 0;
	d->at = WQDUMP_AT_NONE;
	d->list = WQDUMP_IN_FLIGHT;
	d->has_pwq = false;
	d->in_traces = false;
	d->trace_pool = -1;
}

bool wqdump_is_head(const char *text, size_t len)
{
	struct cursor c = {text, 0, len};

	return accept(&c, "Showing busy workqueues and worker pools:");
}

bool wqdump_line(struct wqdump *d, const char *text, size_t len)
{
	struct cursor c = {text, 0, len};

	skip_spaces(&c);
	if (accept(&c, "Showing backtraces of ")) {
		d->in_traces = true;
		return true;
	}
	if (read_workqueue(d, &c) || read_pwq(d, &c) || read_list(d, &c) || read_pool(d, &c))
		return true;
	if (d->in_traces && (read_task(d, &c) || read_frame(d, &c)))
		return true;
	return read_fragment(d, &c);
}

const struct wqdump_work *wqdump_culprit(const struct wqdump *d, int pool)
{
	const struct wqdump_work *best = NULL;

	for (size_t i = 0; i < d->n_works; i++) {
		const struct wqdump_work *work = &d->works[i];

		if (work->kind != WQDUMP_IN_FLIGHT || d->pwqs[work->pwq].pool != pool)
			continue;
		if (!best || work->seconds > best->seconds)
			best = work;
	}
	return best;
}
