/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.c - samples with call chains, read and counted. */
#include "trial/profile.h"

#include "base/fdio.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

struct address {
	char *function; /* owned; NULL = not named (yet) */
	char *module;   /* owned */
};

struct stack {
	uint32_t *addresses; /* owned; the innermost first */
	size_t depth;
	bool is_there;
};

struct sample {
	int64_t us;
	uint32_t stack;
};

struct profile {
	struct profile_head head;
	struct address *addresses;
	size_t n_addresses;
	struct stack *stacks;
	size_t n_stacks;
	struct sample *samples;
	size_t n_samples, cap_samples;
	struct profile_window *windows;
	size_t n_windows;
};

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_addresses; i++) {
		free(p->addresses[i].function);
		free(p->addresses[i].module);
	}
	for (size_t i = 0; i < p->n_stacks; i++)
		free(p->stacks[i].addresses);
	free(p->addresses);
	free(p->stacks);
	free(p->samples);
	free(p->windows);
	free(p);
}

/* ---- reading ---- */

/* A line's fields, taken from its beginning. */
struct fields {
	const char *at, *end;
	bool is_broken;
};

/* The next number and the separator behind it (sep, or the end of the line). */
static int64_t take_number(struct fields *f, char sep, int64_t min, int64_t max)
{
	bool is_negative = f->at < f->end && *f->at == '-';
	const char *from = f->at += is_negative;
	int64_t v = 0;

	for (; f->at < f->end && *f->at >= '0' && *f->at <= '9'; f->at++) {
		if (v > (INT64_MAX - 9) / 10) {
			f->is_broken = true;
			return min;
		}
		v = v * 10 + (*f->at - '0');
	}
	v = is_negative ? -v : v;
	if (f->at == from || v < min || v > max || (f->at < f->end && *f->at != sep)) {
		f->is_broken = true;
		return min;
	}
	f->at += f->at < f->end;
	return v;
}

/* The next text up to ',' or the end; caller frees. */
static char *take_text(struct fields *f)
{
	const char *comma = memchr(f->at, ',', (size_t)(f->end - f->at));
	const char *end = comma ? comma : f->end;
	char *text = xasprintf("%.*s", (int)(end - f->at), f->at);

	f->at = comma ? comma + 1 : f->end;
	return text;
}

static void read_head(struct profile *p, struct fields *f)
{
	auto_free char *event = NULL;

	(void)take_number(f, ',', 1, 1);
	event = take_text(f);
	if (strlen(event) >= sizeof(p->head.event))
		f->is_broken = true;
	else
		strcpy(p->head.event, event);
	p->head.hz = (unsigned)take_number(f, ',', 1, 1000000);
	p->head.cpus = (unsigned)take_number(f, ',', 1, 1000000);
	p->head.start_ns = take_number(f, ',', 0, INT64_MAX);
}

static uint32_t take_id(struct fields *f, char sep)
{
	return (uint32_t)take_number(f, sep, 0, PROFILE_IDS_MAX - 1);
}

static void read_address(struct profile *p, struct fields *f)
{
	uint32_t id = take_id(f, ',');
	auto_free char *hex = NULL;
	auto_free char *offset = NULL;
	struct address a;

	if (f->is_broken)
		return;
	hex = take_text(f);
	a.function = take_text(f);
	offset = take_text(f);
	a.module = take_text(f);
	/* what separates functions of a chain in the folded form */
	for (char *c = a.function; *c; c++)
		if (*c == ';' || (unsigned char)*c <= ' ')
			*c = '?';
	if (strspn(hex, "0123456789abcdef") != strlen(hex) || !*hex ||
	    (id < p->n_addresses && p->addresses[id].function)) {
		f->is_broken = true;
		free(a.function);
		free(a.module);
		return;
	}
	if (p->n_addresses <= id)
		p->addresses = xrealloc(p->addresses, id + 1, sizeof(*p->addresses));
	while (p->n_addresses <= id)
		p->addresses[p->n_addresses++] = (struct address){0};
	p->addresses[id] = a;
}

static void read_stack(struct profile *p, struct fields *f)
{
	uint32_t id = take_id(f, ',');
	struct stack s = {.is_there = true};

	if (f->is_broken || (id < p->n_stacks && p->stacks[id].is_there)) {
		f->is_broken = true;
		return;
	}
	s.addresses = xcalloc(PROFILE_DEPTH_MAX, sizeof(*s.addresses));
	while (f->at < f->end && s.depth < PROFILE_DEPTH_MAX && !f->is_broken)
		s.addresses[s.depth++] = take_id(f, '.');
	s.addresses = xrealloc(s.addresses, s.depth + 1, sizeof(*s.addresses));
	if (p->n_stacks <= id)
		p->stacks = xrealloc(p->stacks, id + 1, sizeof(*p->stacks));
	while (p->n_stacks <= id)
		p->stacks[p->n_stacks++] = (struct stack){0};
	p->stacks[id] = s;
}

static void read_sample(struct profile *p, struct fields *f)
{
	struct sample s;

	s.us = take_number(f, ',', -INT64_MAX / 1000, INT64_MAX / 1000);
	(void)take_number(f, ',', 0, UINT32_MAX);
	s.stack = take_id(f, ',');
	if (p->n_samples == p->cap_samples) {
		p->cap_samples = p->cap_samples ? 2 * p->cap_samples : 1024;
		p->samples = xrealloc(p->samples, p->cap_samples, sizeof(*p->samples));
	}
	p->samples[p->n_samples++] = s;
	/* the agent writes a chain before its first sample */
	if (s.stack >= p->n_stacks || !p->stacks[s.stack].is_there)
		f->is_broken = true;
}

static void read_window(struct profile *p, struct fields *f)
{
	auto_free char *name = NULL;
	struct profile_window w;

	w.from_us = take_number(f, ',', -INT64_MAX / 1000, INT64_MAX / 1000);
	w.to_us = take_number(f, ',', w.from_us, INT64_MAX / 1000);
	name = take_text(f);
	if (!*name || strlen(name) >= sizeof(w.name)) {
		f->is_broken = true;
		return;
	}
	strcpy(w.name, name);
	p->windows = xrealloc(p->windows, p->n_windows + 1, sizeof(*p->windows));
	p->windows[p->n_windows++] = w;
}

static void read_end(struct profile *p, struct fields *f)
{
	uint64_t *const counts[] = {&p->head.lost, &p->head.dropped, &p->head.throttled,
				    &p->head.idle, &p->head.own};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		*counts[i] = (uint64_t)take_number(f, ',', 0, INT64_MAX);
}

static void read_record(struct profile *p, char kind, struct fields *f)
{
	/* a separator at the end stands for an empty text, a chain of user space, or a mistake */
	f->is_broken = f->end[-1] == '.' || (f->end[-1] == ',' && kind != 'a' && kind != 'k');
	switch (kind) {
	case 'h':
		read_head(p, f);
		break;
	case 'a':
		read_address(p, f);
		break;
	case 'k':
		read_stack(p, f);
		break;
	case 's':
		read_sample(p, f);
		break;
	case 'w':
		read_window(p, f);
		break;
	case 'e':
		read_end(p, f);
		break;
	default:
		f->is_broken = true;
	}
	f->is_broken |= f->at != f->end;
}

int profile_parse(const char *text, size_t n, const char *path, struct profile **ret, struct err *e)
{
	auto_profile struct profile *p = xcalloc(1, sizeof(*p));
	const char *end = text + n;
	unsigned line = 0;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		struct fields f = {.at = text + 1, .end = eol ? eol : end};
		char kind = *text;

		line++;
		/* the head is first, and only there */
		f.is_broken = !eol || eol == text || (kind == 'h') != (line == 1);
		if (!f.is_broken)
			read_record(p, kind, &f);
		if (f.is_broken)
			return err_set(e, ERR_STORE, EBADMSG, "%s:%u: not a record of a profile",
				       path, line);
		if (p->n_windows > PROFILE_WINDOWS_MAX)
			return err_set(e, ERR_STORE, E2BIG, "%s:%u: more than %d windows", path,
				       line, PROFILE_WINDOWS_MAX);
		text = f.end + 1;
	}
	if (!line)
		return err_set(e, ERR_STORE, EBADMSG, "%s: it is empty", path);

	*ret = take(p);
	return 0;
}

char *profile_path(const struct run *r, const struct trial *t)
{
	for (size_t i = 0; i < r->n_boots; i++) {
		const char *boot = r->boots[i].recording;
		const char *slash = boot ? strrchr(boot, '/') : NULL;

		if (r->boots[i].number == t->boot && slash)
			return xasprintf("%.*s/trial-%u-profile.txt", (int)(slash - boot), boot,
					 t->number);
	}
	return NULL;
}

int profile_of_trial(const struct run *r, const struct trial *t, struct profile **ret,
		     struct err *e)
{
	auto_free char *path = profile_path(r, t);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int res;

	if (!path || access(path, F_OK) < 0) {
		*ret = NULL;
		return 0;
	}
	res = file_read(path, PROFILE_FILE_MAX, &text, e);
	if (res < 0)
		return err_rekind(e, ERR_STORE);
	return profile_parse(strbuf_str(&text), text.len, path, ret, e);
}

/* ---- counting ---- */

const struct profile_head *profile_head(const struct profile *p)
{
	return &p->head;
}

size_t profile_windows(const struct profile *p, const struct profile_window **ret)
{
	*ret = p->windows;
	return p->n_windows;
}

const struct profile_window *profile_window(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_windows; i++)
		if (strcmp(p->windows[i].name, name) == 0)
			return &p->windows[i];
	return NULL;
}

/* Samples of the window by stack. Caller frees. */
static uint64_t *count_stacks(const struct profile *p, const struct profile_window *w)
{
	uint64_t *counts = xcalloc(p->n_stacks + 1, sizeof(*counts));

	for (size_t i = 0; i < p->n_samples; i++) {
		const struct sample *s = &p->samples[i];

		if (s->us >= w->from_us && s->us < w->to_us)
			counts[s->stack]++;
	}
	return counts;
}

uint64_t profile_samples(const struct profile *p, const struct profile_window *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->n_samples; i++)
		n += p->samples[i].us >= w->from_us && p->samples[i].us < w->to_us;
	return n;
}

/* The function and module of an address, no samples. */
static struct profile_row name_of(const struct profile *p, uint32_t id)
{
	const struct address *a = id < p->n_addresses ? &p->addresses[id] : NULL;

	if (!a || !a->function || !*a->function)
		return (struct profile_row){PROFILE_UNKNOWN, "", 0};
	return (struct profile_row){a->function, a->module, 0};
}

static struct profile_row innermost(const struct profile *p, const struct stack *s)
{
	return s->depth ? name_of(p, s->addresses[0]) : (struct profile_row){PROFILE_USER, "", 0};
}

static int by_name(const void *a, const void *b)
{
	const struct profile_row *ra = a, *rb = b;
	int r = strcmp(ra->function, rb->function);

	return r ? r : strcmp(ra->module, rb->module);
}

static int by_samples(const void *a, const void *b)
{
	const struct profile_row *ra = a, *rb = b;

	if (ra->samples != rb->samples)
		return ra->samples < rb->samples ? 1 : -1;
	return by_name(a, b);
}

size_t profile_top(const struct profile *p, const struct profile_window *w,
		   struct profile_row **ret)
{
	auto_free uint64_t *counts = count_stacks(p, w);
	struct profile_row *rows = xcalloc(p->n_stacks + 1, sizeof(*rows));
	size_t n = 0;
	size_t kept = 0;

	for (size_t i = 0; i < p->n_stacks; i++)
		if (counts[i]) {
			rows[n] = innermost(p, &p->stacks[i]);
			rows[n++].samples = counts[i];
		}
	qsort(rows, n, sizeof(*rows), by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_name(&rows[kept - 1], &rows[i]) == 0)
			rows[kept - 1].samples += rows[i].samples;
		else
			rows[kept++] = rows[i];
	}
	qsort(rows, kept, sizeof(*rows), by_samples);
	*ret = rows;
	return kept;
}

static bool is_like(const char *function, char *const *patterns, size_t n)
{
	auto_free char *bare = xasprintf("%.*s", (int)strcspn(function, "."), function);

	for (size_t i = 0; i < n; i++)
		if (fnmatch(patterns[i], function, 0) == 0 || fnmatch(patterns[i], bare, 0) == 0)
			return true;
	return false;
}

uint64_t profile_matching(const struct profile *p, const struct profile_window *w,
			  char *const *patterns, size_t n)
{
	struct profile_row *rows = NULL;
	size_t n_rows = profile_top(p, w, &rows);
	uint64_t sum = 0;

	for (size_t i = 0; i < n_rows; i++)
		if (is_like(rows[i].function, patterns, n))
			sum += rows[i].samples;
	free(rows);
	return sum;
}

/* ---- call chains ---- */

struct chain {
	const char **functions; /* the outermost first */
	size_t depth;
	uint64_t samples;
};

static int by_functions(const void *a, const void *b)
{
	const struct chain *ca = a, *cb = b;

	for (size_t i = 0; i < ca->depth && i < cb->depth; i++) {
		int r = strcmp(ca->functions[i], cb->functions[i]);

		if (r)
			return r;
	}
	return ca->depth < cb->depth ? -1 : ca->depth > cb->depth;
}

static void fill_chain(const struct profile *p, const struct stack *s, struct chain *c)
{
	c->depth = s->depth ? s->depth : 1;
	c->functions = xcalloc(c->depth, sizeof(*c->functions));
	c->functions[0] = PROFILE_USER;
	for (size_t i = 0; i < s->depth; i++)
		c->functions[i] = name_of(p, s->addresses[s->depth - 1 - i]).function;
}

void profile_chains(const struct profile *p, const struct profile_window *w, profile_chain_fn fn,
		    void *self)
{
	auto_free uint64_t *counts = count_stacks(p, w);
	auto_free struct chain *chains = xcalloc(p->n_stacks + 1, sizeof(*chains));
	size_t n = 0;

	for (size_t i = 0; i < p->n_stacks; i++)
		if (counts[i]) {
			fill_chain(p, &p->stacks[i], &chains[n]);
			chains[n++].samples = counts[i];
		}
	qsort(chains, n, sizeof(*chains), by_functions);
	for (size_t i = 0; i < n; i++) {
		uint64_t samples = chains[i].samples;

		/* addresses of one function at one place of the chain are one */
		while (i + 1 < n && by_functions(&chains[i], &chains[i + 1]) == 0)
			samples += chains[++i].samples;
		fn(self, chains[i].functions, chains[i].depth, samples);
	}
	for (size_t i = 0; i < n; i++)
		free(chains[i].functions);
}

static void add_folded(void *self, const char *const *functions, size_t depth, uint64_t samples)
{
	struct strbuf *out = self;

	for (size_t i = 0; i < depth; i++)
		strbuf_addf(out, "%s%s", i ? ";" : "", functions[i]);
	strbuf_addf(out, " %" PRIu64 "\n", samples);
}

void profile_folded(const struct profile *p, const struct profile_window *w, struct strbuf *out)
{
	profile_chains(p, w, add_folded, out);
}
