/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opt.c - options and other words of a command line. */
#include "cli/opt.h"

#include "base/parse.h"
#include "base/strbuf.h"
#include "cli/cmd.h"
#include "report/text.h"

#include <assert.h>
#include <string.h>

const struct opt opt_common[] = {
	{.name = "help", .letter = 'h', .type = OPT_FLAG, .help = "show this help"},
	{.name = NULL},
};

#define NEAREST_NAME_MAX 40

/* Edits from a to b: insert, delete, change, or swap two neighbours (optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
	size_t na = strnlen(a, NEAREST_NAME_MAX);
	size_t nb = strnlen(b, NEAREST_NAME_MAX);
	size_t rows[3][NEAREST_NAME_MAX + 1];
	size_t *before = rows[0];
	size_t *last = rows[1];
	size_t *now = rows[2];

	for (size_t k = 0; k <= nb; k++)
		last[k] = k;
	for (size_t i = 1; i <= na; i++) {
		size_t *recycled = before;

		now[0] = i;
		for (size_t k = 1; k <= nb; k++) {
			size_t best = last[k - 1] + (a[i - 1] != b[k - 1]);

			if (last[k] + 1 < best)
				best = last[k] + 1;
			if (now[k - 1] + 1 < best)
				best = now[k - 1] + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    before[k - 2] + 1 < best)
				best = before[k - 2] + 1;
			now[k] = best;
		}
		before = last;
		last = now;
		now = recycled;
	}
	return last[nb];
}

const char *opt_nearest(const char *typed, const char *const *names, size_t n)
{
	size_t len = strlen(typed);
	size_t allowed = len < 3 ? 1 : len < 6 ? 2 : len / 3;
	const char *best = NULL;

	if (len > NEAREST_NAME_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t d = distance(typed, names[i]);

		/* the beginning of a name is as good as one wrong letter */
		if (len >= 2 && d > 1 && strncmp(names[i], typed, len) == 0)
			d = 1;
		if (d <= allowed && d < len) {
			allowed = d - (d > 0); /* from here on only a nearer one is better */
			best = names[i];
		}
	}
	return best;
}

static size_t count_rows(const struct opt *table)
{
	size_t n = 0;

	while (table && table[n].name)
		n++;
	return n;
}

static const struct opt *find_long(const struct opt *table, const char *name, size_t len)
{
	for (const struct opt *o = table; o && o->name; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
	for (const struct opt *o = table; o && o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

static bool is_common(const struct opt *o)
{
	return o >= opt_common && o < opt_common + count_rows(opt_common);
}

/* Typed text for a message: quoted by the caller, harmless for the terminal. */
static const char *shown(struct strbuf *sb, const char *text, size_t len)
{
	strbuf_reset(sb);
	text_add_visible(sb, text, len, 80);
	return strbuf_str(sb);
}

static int unknown_option(const struct cmd *cmd, const char *word, struct err *e)
{
	const char *names[OPT_TABLE_MAX + 4];
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	const char *near = NULL;
	size_t n = 0;

	if (strncmp(word, "--", 2) == 0) {
		size_t len = strcspn(word + 2, "=");
		auto_free char *typed = strndup(word + 2, len);

		for (const struct opt *o = cmd->options; o && o->name; o++)
			names[n++] = o->name;
		for (const struct opt *o = opt_common; o->name; o++)
			names[n++] = o->name;
		near = typed ? opt_nearest(typed, names, n) : NULL;
		(void)shown(&sb, word, len + 2);
	} else {
		(void)shown(&sb, word, strlen(word));
	}
	if (near)
		return err_set(e, ERR_USAGE, EINVAL,
			       "'%s' has no option '%s', did you mean '--%s'?", cmd->name,
			       strbuf_str(&sb), near);
	return err_set(e, ERR_USAGE, EINVAL, "'%s' has no option '%s', see 'stallrig help %s'",
		       cmd->name, strbuf_str(&sb), cmd->name);
}

static int check_choice(const char *what, const char *const *choices, const char *text,
			struct err *e)
{
	auto_strbuf struct strbuf all = STRBUF_INIT;
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	for (const char *const *c = choices; *c; c++) {
		if (strcmp(*c, text) == 0)
			return 0;
		strbuf_addf(&all, "%s%s", all.len ? ", " : "", *c);
	}
	return err_set(e, ERR_USAGE, EINVAL, "%s: '%s' is not one of: %s", what,
		       shown(&sb, text, strlen(text)), strbuf_str(&all));
}

static int set_value(const struct cmd *cmd, const struct opt *o, const char *text, struct args *a,
		     struct err *e)
{
	auto_free char *what = xasprintf("'%s': --%s", cmd->name, o->name);
	struct opt_value *v;

	if (is_common(o)) {
		a->wants_help = true;
		return 0;
	}
	v = &a->values[o - cmd->options];
	if (o->is_list && v->n == OPT_LIST_MAX)
		return err_set(e, ERR_USAGE, E2BIG, "%s: given more than %d times", what,
			       OPT_LIST_MAX);
	if (!o->is_list)
		v->n = 0;
	v->texts[v->n++] = text;
	if (!text)
		return 0;
	if (!*text && o->type != OPT_TEXT)
		return err_set(e, ERR_USAGE, EINVAL, "%s: the value is empty", what);
	if (o->type == OPT_COUNT)
		return parse_u32(what, text, o->min, o->max, &v->count, e);
	if (o->type == OPT_CHOICE)
		return check_choice(what, o->choices, text, e);
	return 0;
}

/* "--name", "--name=value" or "--name value". *i is the index of the word. */
static int parse_long(const struct cmd *cmd, int argc, char *const *argv, int *i, struct args *a,
		      struct err *e)
{
	const char *word = argv[*i] + 2;
	size_t len = strcspn(word, "=");
	const char *value = word[len] == '=' ? word + len + 1 : NULL;
	const struct opt *o = find_long(cmd->options, word, len);

	if (!o)
		o = find_long(opt_common, word, len);
	if (!o)
		return unknown_option(cmd, argv[*i], e);
	if (o->type == OPT_FLAG && value)
		return err_set(e, ERR_USAGE, EINVAL, "'%s': --%s takes no value", cmd->name,
			       o->name);
	if (o->type != OPT_FLAG && !o->is_arg_optional && !value) {
		if (*i + 1 == argc)
			return err_set(e, ERR_USAGE, EINVAL, "'%s': --%s needs a value: --%s=%s",
				       cmd->name, o->name, o->name, o->arg);
		value = argv[++*i];
	}
	return set_value(cmd, o, value, a, e);
}

/* "-x", "-xy" for flags, "-xvalue" or "-x value". */
static int parse_letters(const struct cmd *cmd, int argc, char *const *argv, int *i, struct args *a,
			 struct err *e)
{
	const char *word = argv[*i];

	for (const char *p = word + 1; *p; p++) {
		const struct opt *o = find_letter(cmd->options, *p);
		const char *value = NULL;
		int r;

		if (!o)
			o = find_letter(opt_common, *p);
		if (!o)
			return unknown_option(cmd, word, e);
		if (o->type != OPT_FLAG && !o->is_arg_optional) {
			if (p[1])
				value = p + 1;
			else if (*i + 1 < argc)
				value = argv[++*i];
			else
				return err_set(e, ERR_USAGE, EINVAL,
					       "'%s': -%c needs a value: -%c %s", cmd->name,
					       o->letter, o->letter, o->arg);
		}
		r = set_value(cmd, o, value, a, e);
		if (r < 0)
			return r;
		if (value)
			break;
	}
	return 0;
}

static int check_positional(const struct cmd *cmd, const struct args *a, struct err *e)
{
	const struct positional *p = &cmd->positional;
	unsigned max = p->name ? p->max : 0;
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	if (a->n_positional > max)
		return err_set(e, ERR_USAGE, E2BIG, "'%s': unexpected word '%s'", cmd->name,
			       shown(&sb, a->positional[max], strlen(a->positional[max])));
	if (a->n_positional < p->min)
		return err_set(e, ERR_USAGE, EINVAL, "'%s' needs %s%s, see 'stallrig help %s'",
			       cmd->name, p->min == 1 ? "a " : "", p->name, cmd->name);
	for (size_t i = 0; i < a->n_positional; i++) {
		int r = 0;

		if (!*a->positional[i])
			return err_set(e, ERR_USAGE, EINVAL, "'%s': %s is empty", cmd->name,
				       p->name);
		if (p->type == OPT_CHOICE)
			r = check_choice(p->name, p->choices, a->positional[i], e);
		if (r < 0)
			return err_wrap(e, "'%s'", cmd->name);
	}
	return 0;
}

static int check_required(const struct cmd *cmd, const struct args *a, struct err *e)
{
	for (size_t i = 0; cmd->options && cmd->options[i].name; i++) {
		const struct opt *o = &cmd->options[i];

		if (o->is_required && a->values[i].n == 0)
			return err_set(e, ERR_USAGE, EINVAL, "'%s' needs --%s=%s", cmd->name,
				       o->name, o->arg);
	}
	return 0;
}

int args_parse(const struct cmd *cmd, int argc, char *const *argv, struct args *ret, struct err *e)
{
	const char **words = xcalloc((size_t)argc + 1, sizeof(*words));
	bool is_over = false;
	int r = 0;

	assert(count_rows(cmd->options) <= OPT_TABLE_MAX);
	memset(ret, 0, sizeof(*ret));
	ret->cmd = cmd;
	ret->positional = words;
	for (int i = 0; i < argc && r >= 0; i++) {
		const char *word = argv[i];

		if (is_over || word[0] != '-' || !word[1])
			words[ret->n_positional++] = word;
		else if (strcmp(word, "--") == 0)
			is_over = true;
		else if (word[1] == '-')
			r = parse_long(cmd, argc, argv, &i, ret, e);
		else
			r = parse_letters(cmd, argc, argv, &i, ret, e);
	}
	if (r < 0 || ret->wants_help)
		return r;
	r = check_positional(cmd, ret, e);
	if (r < 0)
		return r;
	return check_required(cmd, ret, e);
}

void args_release(struct args *a)
{
	util_free((void *)(uintptr_t)a->positional);
	a->positional = NULL;
	a->n_positional = 0;
}

const struct opt_value *args_list(const struct args *a, const char *name)
{
	const struct opt *o = find_long(a->cmd->options, name, strlen(name));

	assert(o);
	return &a->values[o - a->cmd->options];
}

bool args_has(const struct args *a, const char *name)
{
	return args_list(a, name)->n > 0;
}

const char *args_text(const struct args *a, const char *name)
{
	const struct opt_value *v = args_list(a, name);

	return v->n ? v->texts[v->n - 1] : NULL;
}

uint32_t args_count(const struct args *a, const char *name, uint32_t if_absent)
{
	const struct opt_value *v = args_list(a, name);

	return v->n && v->texts[v->n - 1] ? v->count : if_absent;
}
