/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load_scenario.c - the parts of a scenario file that describe loads. */
#include "load_scenario.h"

#include "base/parse.h"

#include <fnmatch.h>
#include <string.h>

#define TEXT_MAX    1000 /* a command has to fit into a frame of the agent link, encoded */
#define JOBS_MAX    512
#define SECONDS_MAX 600

typedef __typeof__(((struct scenario *)0)->hiccup) hiccup_type;

#define OPTIONAL_TEXT(key, type, member)                                                       \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 1, \
			       TEXT_MAX)
#define TEXT(key, type, member) \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, TEXT_MAX)
#define UINT(key, type, member)          CYAML_FIELD_UINT(key, CYAML_FLAG_DEFAULT, type, member)
#define OPTIONAL_UINT(key, type, member) CYAML_FIELD_UINT(key, CYAML_FLAG_OPTIONAL, type, member)

static const cyaml_schema_field_t disk_fields[] = {
	TEXT("name", struct rig_disk, name), TEXT("driver", struct rig_disk, driver),
	UINT("size_mib", struct rig_disk, size_mib), CYAML_FIELD_END};

const cyaml_schema_value_t scenario_disk_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct rig_disk, disk_fields)};

static const cyaml_schema_value_t jobs_schema = {CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, unsigned)};

static const cyaml_schema_field_t load_fields[] = {
	TEXT("name", struct scenario_load, name),
	TEXT("kind", struct scenario_load, kind),
	OPTIONAL_TEXT("path", struct scenario_load, path),
	OPTIONAL_TEXT("to", struct scenario_load, to),
	OPTIONAL_TEXT("command", struct scenario_load, command),
	OPTIONAL_TEXT("before", struct scenario_load, before),
	CYAML_FIELD_SEQUENCE("jobs", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct scenario_load,
			     jobs, &jobs_schema, 1, SCENARIO_LOADS_MAX),
	UINT("seconds", struct scenario_load, seconds),
	OPTIONAL_UINT("block_kib", struct scenario_load, block_kib),
	OPTIONAL_UINT("count", struct scenario_load, count),
	OPTIONAL_UINT("seed", struct scenario_load, seed),
	OPTIONAL_TEXT("program", struct scenario_load, program),
	OPTIONAL_TEXT("iflag", struct scenario_load, iflag),
	OPTIONAL_TEXT("oflag", struct scenario_load, oflag),
	OPTIONAL_TEXT("conv", struct scenario_load, conv),
	YAML_FIELD_BOOL_OPTIONAL("is_value", struct scenario_load, is_value),
	CYAML_FIELD_END};

const cyaml_schema_value_t scenario_load_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct scenario_load, load_fields)};

static const cyaml_schema_field_t limit_fields[] = {
	TEXT("name", struct scenario_limit, name),
	CYAML_FIELD_INT_PTR("min", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct scenario_limit,
			    min),
	CYAML_FIELD_INT_PTR("max", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct scenario_limit,
			    max),
	OPTIONAL_UINT("min_baseline_pct", struct scenario_limit, min_baseline_pct),
	OPTIONAL_UINT("max_baseline_pct", struct scenario_limit, max_baseline_pct),
	CYAML_FIELD_END};

const cyaml_schema_value_t scenario_limit_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct scenario_limit, limit_fields)};

const cyaml_schema_field_t scenario_hiccup_fields[] = {TEXT("disk", hiccup_type, disk),
						       TEXT("load", hiccup_type, load),
						       UINT("write_iops", hiccup_type, write_iops),
						       UINT("after_ms", hiccup_type, after_ms),
						       UINT("for_ms", hiccup_type, for_ms),
						       CYAML_FIELD_END};

bool scenario_is_load(const struct scenario *sc)
{
	return sc->kind && strcmp(sc->kind, "load") == 0;
}

static void set_default_text(char **text, const char *value)
{
	if (!*text)
		*text = xstrdup(value);
}

void load_scenario_defaults(struct scenario *sc)
{
	set_default_text(&sc->kind, "unplug");
	for (unsigned i = 0; i < sc->loads_count; i++) {
		struct scenario_load *l = &sc->loads[i];

		if (!l->jobs) {
			l->jobs = xcalloc(1, sizeof(*l->jobs));
			l->jobs[0] = 1;
			l->jobs_count = 1;
		}
		if (!l->block_kib)
			l->block_kib = 4;
		if (!l->seed)
			l->seed = 1;
	}
}

/* ---- checks ---- */

#define RANDOM_NUMBERS "iops", "kib_per_s", "worst_s_iops", "p50_us", "p99_us", "max_us"

/* Which keys a kind of load has. */
static const struct {
	const char *kind;
	const char *needs;    /* the one key that says what it is about */
	const char *takes;    /* further keys, ' ' around each */
	const char *gives[7]; /* what its numbers are called, behind NAME_JOBS_ */
} kinds[] = {
	{"random-read", "path", " jobs block_kib seed program ", {RANDOM_NUMBERS}},
	{"random-write", "path", " jobs block_kib seed program ", {RANDOM_NUMBERS}},
	{"dd", "path", " jobs block_kib count to iflag oflag conv ", {"iops", "cut"}},
	{"walk", "path", " jobs ", {"entries_per_s"}},
	{"sh", "command", " is_value ", {NULL}},
};

static const char *const special_keys[] = {"path",  "command", "jobs",     "block_kib",
					   "seed",  "count",   "to",       "iflag",
					   "oflag", "conv",    "is_value", "program"};

static int check_number(const struct yaml_doc *doc, const char *at, const char *key, unsigned v,
			unsigned min, unsigned max, struct err *e)
{
	auto_free char *path = xasprintf("%s.%s", at, key);

	if (v < min || v > max)
		return yaml_complain(doc, path, e, "outside %u..%u", min, max);
	return 0;
}

static int check_disks(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	for (unsigned i = 0; i < sc->needs.disks_count; i++) {
		const struct rig_disk *d = &sc->needs.disks[i];
		auto_free char *at = xasprintf("needs.disks[%u]", i);
		auto_free char *name = xasprintf("%s.name", at);
		auto_free char *driver = xasprintf("%s.driver", at);
		int r;

		/* it becomes a serial number, which has 20 bytes */
		if (!parse_is_name(d->name) || strlen(d->name) > 20)
			return yaml_complain(doc, name, e,
					     "at most 20 letters, digits and . _ + - are allowed");
		for (unsigned k = 0; k < i; k++)
			if (strcmp(sc->needs.disks[k].name, d->name) == 0)
				return yaml_complain(doc, name, e, "stands twice");
		if (strcmp(d->driver, "nvme") != 0 && strcmp(d->driver, "virtio-blk") != 0)
			return yaml_complain(doc, driver, e, "not one of: nvme, virtio-blk");
		r = check_number(doc, at, "size_mib", d->size_mib, 1, 65536, e);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < sc->needs.programs_count; i++) {
		auto_free char *at = xasprintf("needs.programs[%u]", i);

		if (!parse_is_name(sc->needs.programs[i]))
			return yaml_complain(doc, at, e, "not the name of a program");
	}
	return 0;
}

static int check_keys(const struct yaml_doc *doc, const char *at, size_t kind, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(special_keys); i++) {
		const char *key = special_keys[i];
		auto_free char *path = xasprintf("%s.%s", at, key);
		auto_free char *word = xasprintf(" %s ", key);
		bool is_needed = strcmp(kinds[kind].needs, key) == 0;
		unsigned line, column;
		bool is_there = yaml_position(doc, path, &line, &column);

		if (is_needed && !is_there)
			return yaml_complain(doc, path, e, "a load of kind '%s' needs this key",
					     kinds[kind].kind);
		if (!is_needed && is_there && !strstr(kinds[kind].takes, word))
			return yaml_complain(doc, path, e, "a load of kind '%s' has no such key",
					     kinds[kind].kind);
	}
	return 0;
}

static int check_load(const struct scenario *sc, unsigned i, const struct yaml_doc *doc,
		      struct err *e)
{
	const struct scenario_load *l = &sc->loads[i];
	auto_free char *at = xasprintf("loads[%u]", i);
	auto_free char *name = xasprintf("%s.name", at);
	auto_free char *kind_at = xasprintf("%s.kind", at);
	auto_free char *program = xasprintf("%s.program", at);
	size_t kind = 0;
	int r;

	/* numbers are called NAME_JOBS_WHAT and have 47 bytes */
	if (strspn(l->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(l->name) ||
	    strlen(l->name) > 24)
		return yaml_complain(doc, name, e,
				     "at most 24 small letters, digits and _ are allowed");
	for (unsigned k = 0; k < i; k++)
		if (strcmp(sc->loads[k].name, l->name) == 0)
			return yaml_complain(doc, name, e, "stands twice");
	while (kind < ARRAY_SIZE(kinds) && strcmp(kinds[kind].kind, l->kind) != 0)
		kind++;
	if (kind == ARRAY_SIZE(kinds))
		return yaml_complain(doc, kind_at, e,
				     "not one of: random-read, random-write, dd, walk, sh");
	r = check_keys(doc, at, kind, e);
	if (r == 0)
		r = check_number(doc, at, "seconds", l->seconds, 1, SECONDS_MAX, e);
	if (r == 0)
		r = check_number(doc, at, "block_kib", l->block_kib, 1, 1024, e);
	if (r == 0 && l->program && strcmp(l->program, "fio") != 0)
		r = yaml_complain(doc, program, e, "must be 'fio', or be left out");
	for (unsigned k = 0; r == 0 && k < l->jobs_count; k++) {
		auto_free char *key = xasprintf("jobs[%u]", k);

		r = check_number(doc, at, key, l->jobs[k], 1, JOBS_MAX, e);
	}
	return r;
}

static bool is_one(const char *pattern, char *number)
{
	auto_free char *owned = number;

	return fnmatch(pattern, owned, 0) == 0;
}

/* Whether a load, or the profile of it, can give a number of that name. */
static bool is_given(const struct scenario *sc, const struct scenario_load *l, const char *pattern)
{
	size_t kind = 0;
	bool found = false;

	while (kind < ARRAY_SIZE(kinds) - 1 && strcmp(kinds[kind].kind, l->kind) != 0)
		kind++;
	if (strcmp(l->kind, "sh") == 0)
		found = is_one(pattern, xasprintf("%s%s", l->name, l->is_value ? "" : "_ms"));
	for (unsigned k = 0; k < l->jobs_count && !found; k++) {
		auto_free char *window = strcmp(l->kind, "sh") == 0
						 ? xstrdup(l->name)
						 : xasprintf("%s_%u", l->name, l->jobs[k]);

		for (size_t g = 0; kinds[kind].gives[g] && !found; g++)
			found = is_one(pattern, xasprintf("%s_%s", window, kinds[kind].gives[g]));
		if (sc->profile.hz)
			found |= is_one(pattern, xasprintf("%s_samples", window));
		for (unsigned s = 0; s < sc->profile.sets_count && !found; s++)
			found = is_one(pattern,
				       xasprintf("%s_%s_ppm", window, sc->profile.sets[s].name));
	}
	return found;
}

static int check_limit(const struct scenario *sc, unsigned i, const struct yaml_doc *doc,
		       struct err *e)
{
	const struct scenario_limit *l = &sc->limits[i];
	auto_free char *at = xasprintf("limits[%u]", i);
	auto_free char *name = xasprintf("%s.name", at);
	bool is_there = false;
	int r = 0;

	if (!l->min && !l->max && !l->min_baseline_pct && !l->max_baseline_pct)
		return yaml_complain(doc, at, e,
				     "needs one of: min, max, min_baseline_pct, max_baseline_pct");
	for (unsigned k = 0; k < sc->loads_count; k++)
		is_there |= is_given(sc, &sc->loads[k], l->name);
	if (!is_there)
		return yaml_complain(
			doc, name, e,
			"no load gives such a number: they are called NAME_JOBS_WHAT, see "
			"loads.kind in stallrig-scenario(5)");
	if (l->min && l->max && *l->max < *l->min)
		return yaml_complain(doc, at, e, "max is less than min");
	if (l->min_baseline_pct)
		r = check_number(doc, at, "min_baseline_pct", l->min_baseline_pct, 1, 100, e);
	if (r == 0 && l->max_baseline_pct)
		r = check_number(doc, at, "max_baseline_pct", l->max_baseline_pct, 100, 100000, e);
	return r;
}

static int check_hiccup(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	const struct scenario_load *load = NULL;
	bool is_disk = false;
	int r;

	if (!sc->hiccup.disk)
		return 0;
	for (unsigned i = 0; i < sc->needs.disks_count; i++)
		is_disk |= strcmp(sc->needs.disks[i].name, sc->hiccup.disk) == 0;
	for (unsigned i = 0; i < sc->loads_count; i++)
		if (strcmp(sc->loads[i].name, sc->hiccup.load) == 0)
			load = &sc->loads[i];
	if (!is_disk)
		return yaml_complain(doc, "hiccup.disk", e, "not one of needs.disks");
	if (!load)
		return yaml_complain(doc, "hiccup.load", e, "not one of loads");
	r = check_number(doc, "hiccup", "write_iops", sc->hiccup.write_iops, 1, 1000000, e);
	if (r == 0)
		r = check_number(doc, "hiccup", "after_ms", sc->hiccup.after_ms, 0, 600000, e);
	if (r == 0)
		r = check_number(doc, "hiccup", "for_ms", sc->hiccup.for_ms, 1, 600000, e);
	if (r == 0 && sc->hiccup.after_ms + sc->hiccup.for_ms > load->seconds * 1000)
		r = yaml_complain(doc, "hiccup.for_ms", e, "ends after load '%s' (%u s)",
				  load->name, load->seconds);
	return r;
}

int load_scenario_check(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	static const char *const unplug_keys[] = {"load",        "stimulus",      "window",
						  "prepare.irq", "prepare.mount", "prepare.hold"};
	unsigned line, column;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(unplug_keys); i++)
		if (yaml_position(doc, unplug_keys[i], &line, &column))
			return yaml_complain(doc, unplug_keys[i], e,
					     "a scenario of kind 'load' has no such key");
	if (!sc->loads_count)
		return yaml_complain(doc, "loads", e, "a scenario of kind 'load' needs this key");
	r = check_disks(sc, doc, e);
	for (unsigned i = 0; r == 0 && i < sc->loads_count; i++)
		r = check_load(sc, i, doc, e);
	for (unsigned i = 0; r == 0 && i < sc->limits_count; i++)
		r = check_limit(sc, i, doc, e);
	return r == 0 ? check_hiccup(sc, doc, e) : r;
}
