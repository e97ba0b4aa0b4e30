/* SPDX-License-Identifier: GPL-2.0-or-later */
/* faults.c - the words of `run --faults`. */
#include "rig/faults.h"

#include "base/parse.h"

#include <string.h>

#define PAIR_MAX    64
#define LATE_NS     (500 * NSEC_PER_MSEC)
#define LATE_MS_MAX 600000

/* A decimal fraction from 0 to 1 without exponent or sign. */
static bool parse_probability(const char *text, double *ret)
{
	size_t len = strlen(text);
	char *end;
	double v;

	if (len == 0 || strspn(text, "0123456789.") != len)
		return false;
	v = strtod(text, &end);
	if (*end || v > 1.0)
		return false;
	*ret = v;
	return true;
}

/* One for each, so that the faults of one do not shift those of another. */
static void set_seeds(struct rig_faults *f, uint64_t seed)
{
	f->stick_switch.seed = seed;
	f->console.seed = seed + 1;
	f->boot.seed = seed + 2;
}

static int parse_one(const char *key, const char *value, struct rig_faults *f, struct err *e)
{
	const struct {
		const char *key;
		double *to;
	} chances[] = {
		{"fail", &f->stick_switch.fail},      {"lie", &f->stick_switch.lie},
		{"late", &f->stick_switch.late},      {"short", &f->stick_switch.shorn},
		{"stuck", &f->stick_switch.stuck},    {"flood", &f->stick_switch.flood},
		{"console.fail", &f->console.fail},   {"console.lie", &f->console.lie},
		{"console.late", &f->console.late},   {"console.short", &f->console.shorn},
		{"console.stuck", &f->console.stuck}, {"console.flood", &f->console.flood},
		{"boot.fail", &f->boot.fail},         {"boot.lie", &f->boot.lie},
		{"boot.late", &f->boot.late},         {"boot.short", &f->boot.shorn},
		{"boot.stuck", &f->boot.stuck},       {"boot.flood", &f->boot.flood},
	};
	const struct {
		const char *key, *what;
		nsec_t *to;
	} times[] = {{"late_ms", "faults: late_ms", &f->stick_switch.late_ns},
		     {"console.late_ms", "faults: console.late_ms", &f->console.late_ns},
		     {"boot.late_ms", "faults: boot.late_ms", &f->boot.late_ns}};
	uint64_t n;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(chances); i++) {
		if (strcmp(key, chances[i].key) != 0)
			continue;
		if (!parse_probability(value, chances[i].to))
			return err_set(e, ERR_USAGE, EINVAL,
				       "faults: %s: '%s' is no number from 0 to 1", key, value);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		if (strcmp(key, times[i].key) != 0)
			continue;
		r = parse_u64(times[i].what, value, 0, LATE_MS_MAX, &n, e);
		if (r == 0)
			*times[i].to = (nsec_t)n * NSEC_PER_MSEC;
		return r;
	}
	if (strcmp(key, "seed") == 0) {
		r = parse_u64("faults: seed", value, 0, UINT64_MAX, &n, e);
		if (r == 0)
			set_seeds(f, n);
		return r;
	}
	return err_set(e, ERR_USAGE, EINVAL,
		       "faults: '%s' is none of fail, lie, late, late_ms, short, stuck, flood, "
		       "console.… and boot.… (the same), seed",
		       key);
}

int rig_faults_parse(const char *text, struct rig_faults *ret, struct err *e)
{
	struct rig_faults f = {.stick_switch.late_ns = LATE_NS,
			       .console.late_ns = LATE_NS,
			       .boot.late_ns = LATE_NS};
	const char *p = text;
	int r;

	set_seeds(&f, 0);
	do {
		size_t n = strcspn(p, ",");
		char pair[PAIR_MAX];
		char *eq;

		if (n >= sizeof(pair))
			return err_set(e, ERR_USAGE, EINVAL, "faults: '%.40s…' is too long", p);
		memcpy(pair, p, n);
		pair[n] = '\0';
		eq = strchr(pair, '=');
		if (!eq)
			return err_set(e, ERR_USAGE, EINVAL, "faults: '%s' is not KEY=VALUE", pair);
		*eq = '\0';
		r = parse_one(pair, eq + 1, &f, e);
		if (r < 0)
			return r;
		p += n;
	} while (*p++ == ',');
	*ret = f;
	return 0;
}
