/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenario.c - the description of a scenario: hil/scenarios/NAME.yaml. */
#include "trial/scenario.h"

#include "base/parse.h"
#include "load_scenario.h"
#include "rig/names.h"
#include "rig/yaml.h"

#include <string.h>

#define TEXT_MAX 200
#define LIST_MAX 64
/* a command has to fit into a frame of the agent link, encoded */
#define COMMAND_MAX 1000

#define NEW(type, member) typedef __typeof__(((struct scenario *)0)->member) type
NEW(needs_type, needs);
NEW(prepare_type, prepare);
NEW(irq_type, prepare.irq);
NEW(load_type, load);
NEW(probe_type, probe);
NEW(controls_type, controls);
NEW(stimulus_type, stimulus);
NEW(window_type, window);
NEW(limit_type, limit);
NEW(trials_type, trials);
#undef NEW

#define TEXT(key, type, member) \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, TEXT_MAX)
#define UINT(key, type, member) CYAML_FIELD_UINT(key, CYAML_FLAG_DEFAULT, type, member)
#define LIST(key, type, member) \
	CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER, type, member, &word_schema, 0, LIST_MAX)
#define PART(key, type, member, fields) \
	CYAML_FIELD_MAPPING(key, CYAML_FLAG_DEFAULT, type, member, fields)

static const cyaml_schema_value_t word_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, TEXT_MAX)};

/* Keys that a scenario of one kind has and one of the other has not: check() looks after them. */
#define OPTIONAL (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define OPTIONAL_LIST(key, type, member, schema) \
	CYAML_FIELD_SEQUENCE(key, OPTIONAL, type, member, schema, 0, LIST_MAX)
#define OPTIONAL_PART(key, type, member, fields) \
	CYAML_FIELD_MAPPING(key, CYAML_FLAG_OPTIONAL, type, member, fields)

static const cyaml_schema_field_t needs_fields[] = {
	LIST("kernel_modules", needs_type, kernel_modules),
	OPTIONAL_LIST("programs", needs_type, programs, &word_schema),
	OPTIONAL_LIST("disks", needs_type, disks, &scenario_disk_schema), CYAML_FIELD_END};

static const cyaml_schema_value_t command_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, COMMAND_MAX)};

static const cyaml_schema_field_t irq_fields[] = {TEXT("match", irq_type, match),
						  UINT("cpu", irq_type, cpu), CYAML_FIELD_END};

static const cyaml_schema_field_t prepare_fields[] = {
	UINT("console_loglevel", prepare_type, console_loglevel),
	OPTIONAL_PART("irq", prepare_type, irq, irq_fields),
	CYAML_FIELD_STRING_PTR("mount", OPTIONAL, prepare_type, mount, 1, TEXT_MAX),
	YAML_FIELD_BOOL_OPTIONAL("hold", prepare_type, hold),
	OPTIONAL_LIST("setup", prepare_type, setup, &command_schema),
	CYAML_FIELD_END};

static const cyaml_schema_field_t load_fields[] = {
	TEXT("kind", load_type, kind),
	UINT("block_kib", load_type, block_kib),
	UINT("timeout_s", load_type, timeout_s),
	UINT("cache_floor_pct", load_type, cache_floor_pct),
	YAML_FIELD_BOOL_OPTIONAL("drop_cache", load_type, drop_cache),
	YAML_FIELD_BOOL_OPTIONAL("keep_reading", load_type, keep_reading),
	YAML_FIELD_BOOL_OPTIONAL("neighbour", load_type, neighbour),
	CYAML_FIELD_UINT("dirty_mib", CYAML_FLAG_OPTIONAL, load_type, dirty_mib),
	CYAML_FIELD_END};

static const cyaml_schema_field_t probe_fields[] = {TEXT("cpus", probe_type, cpus),
						    LIST("count", probe_type, count),
						    LIST("watch", probe_type, watch),
						    UINT("period_us", probe_type, period_us),
						    UINT("threshold_us", probe_type, threshold_us),
						    CYAML_FIELD_END};

static const cyaml_schema_field_t controls_fields[] = {
	UINT("stall_ms", controls_type, stall_ms),
	UINT("stall_tolerance_ms", controls_type, stall_tolerance_ms),
	UINT("noise_max_ms", controls_type, noise_max_ms), CYAML_FIELD_END};

static const cyaml_schema_field_t stimulus_fields[] = {
	TEXT("kind", stimulus_type, kind),
	YAML_FIELD_BOOL_OPTIONAL("unmount_first", stimulus_type, unmount_first),
	UINT("apply_timeout_ms", stimulus_type, apply_timeout_ms),
	UINT("seen_timeout_ms", stimulus_type, seen_timeout_ms), CYAML_FIELD_END};

static const cyaml_schema_field_t window_fields[] = {
	UINT("min_ms", window_type, min_ms), UINT("max_ms", window_type, max_ms),
	UINT("attribution_ms", window_type, attribution_ms), CYAML_FIELD_END};

static const cyaml_schema_field_t limit_fields[] = {
	UINT("max_ms", limit_type, max_ms),
	UINT("tolerated_over_pct", limit_type, tolerated_over_pct),
	UINT("confidence_pct", limit_type, confidence_pct), CYAML_FIELD_END};

static const cyaml_schema_field_t trials_fields[] = {
	UINT("valid", trials_type, valid), UINT("per_boot", trials_type, per_boot),
	UINT("max_invalid", trials_type, max_invalid),
	CYAML_FIELD_UINT("baseline", OPTIONAL, trials_type, baseline), CYAML_FIELD_END};

static const cyaml_schema_field_t scenario_fields[] = {
	TEXT("name", struct scenario, name),
	TEXT("title", struct scenario, title),
	PART("needs", struct scenario, needs, needs_fields),
	PART("prepare", struct scenario, prepare, prepare_fields),
	CYAML_FIELD_STRING_PTR("kind", OPTIONAL, struct scenario, kind, 1, TEXT_MAX),
	OPTIONAL_PART("load", struct scenario, load, load_fields),
	OPTIONAL_LIST("loads", struct scenario, loads, &scenario_load_schema),
	OPTIONAL_LIST("limits", struct scenario, limits, &scenario_limit_schema),
	OPTIONAL_LIST("invalid_if", struct scenario, invalid_if, &word_schema),
	OPTIONAL_PART("hiccup", struct scenario, hiccup, scenario_hiccup_fields),
	OPTIONAL_PART("profile", struct scenario, profile, scenario_profile_fields),
	PART("probe", struct scenario, probe, probe_fields),
	PART("controls", struct scenario, controls, controls_fields),
	OPTIONAL_PART("stimulus", struct scenario, stimulus, stimulus_fields),
	OPTIONAL_PART("window", struct scenario, window, window_fields),
	PART("limit", struct scenario, limit, limit_fields),
	PART("trials", struct scenario, trials, trials_fields),
	CYAML_FIELD_END};

static const cyaml_schema_value_t scenario_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct scenario, scenario_fields)};

/* What the schema cannot say: ranges of numbers. */
static const struct {
	const char *key;
	size_t offset;
	unsigned min, max;
} ranges[] = {
	{"prepare.console_loglevel", offsetof(struct scenario, prepare.console_loglevel), 1, 15},
	{"prepare.irq.cpu", offsetof(struct scenario, prepare.irq.cpu), 0, 255},
	{"load.block_kib", offsetof(struct scenario, load.block_kib), 1, 65536},
	{"load.timeout_s", offsetof(struct scenario, load.timeout_s), 1, 3600},
	{"load.cache_floor_pct", offsetof(struct scenario, load.cache_floor_pct), 0, 100},
	{"probe.period_us", offsetof(struct scenario, probe.period_us), 1000, 1000000},
	{"probe.threshold_us", offsetof(struct scenario, probe.threshold_us), 1000, 10000000},
	{"controls.stall_ms", offsetof(struct scenario, controls.stall_ms), 20, 2000},
	{"controls.stall_tolerance_ms", offsetof(struct scenario, controls.stall_tolerance_ms), 1,
	 1000},
	{"controls.noise_max_ms", offsetof(struct scenario, controls.noise_max_ms), 1, 60000},
	{"stimulus.apply_timeout_ms", offsetof(struct scenario, stimulus.apply_timeout_ms), 1,
	 600000},
	{"stimulus.seen_timeout_ms", offsetof(struct scenario, stimulus.seen_timeout_ms), 1,
	 600000},
	{"window.min_ms", offsetof(struct scenario, window.min_ms), 100, 600000},
	{"window.max_ms", offsetof(struct scenario, window.max_ms), 100, 600000},
	{"window.attribution_ms", offsetof(struct scenario, window.attribution_ms), 1, 600000},
	{"limit.max_ms", offsetof(struct scenario, limit.max_ms), 1, 600000},
	{"limit.tolerated_over_pct", offsetof(struct scenario, limit.tolerated_over_pct), 0, 99},
	{"limit.confidence_pct", offsetof(struct scenario, limit.confidence_pct), 50, 99},
	{"trials.valid", offsetof(struct scenario, trials.valid), 1, 10000},
	{"trials.per_boot", offsetof(struct scenario, trials.per_boot), 1, 1000},
	{"trials.max_invalid", offsetof(struct scenario, trials.max_invalid), 0, 10000},
};

/* Words of which a key takes one. */
static const struct {
	const char *key;
	size_t offset;
	const char *words[4];
} choices[] = {
	{"prepare.mount", offsetof(struct scenario, prepare.mount), {"ro", "rw", "none"}},
	{"load.kind", offsetof(struct scenario, load.kind), {"dd"}},
	{"stimulus.kind", offsetof(struct scenario, stimulus.kind), {"unplug"}},
};

static const char *const probe_names[] = {"normal", "highpri", "unbound", "bh", "kthread"};

/* Parts that only a scenario that unplugs has, and it must have them. */
static const char *const unplug_parts[] = {"load", "stimulus", "window", "prepare.irq",
					   "prepare.mount"};
/* Parts that only a load scenario may have. */
static const char *const load_parts[] = {"loads",       "limits",         "invalid_if",   "hiccup",
					 "needs.disks", "needs.programs", "prepare.setup"};

static bool is_of_unplug(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(unplug_parts); i++) {
		size_t n = strlen(unplug_parts[i]);

		if (strncmp(key, unplug_parts[i], n) == 0 && (key[n] == '.' || !key[n]))
			return true;
	}
	return false;
}

static int check_kind(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	unsigned line, column;

	if (strcmp(sc->kind, "unplug") != 0 && strcmp(sc->kind, "load") != 0)
		return yaml_complain(doc, "kind", e, "not one of: unplug, load");
	if (scenario_is_load(sc))
		return load_scenario_check(sc, doc, e);
	for (size_t i = 0; i < ARRAY_SIZE(unplug_parts); i++)
		if (!yaml_position(doc, unplug_parts[i], &line, &column))
			return yaml_complain(doc, unplug_parts[i], e,
					     "a scenario of kind 'unplug' needs this key");
	for (size_t i = 0; i < ARRAY_SIZE(load_parts); i++)
		if (yaml_position(doc, load_parts[i], &line, &column))
			return yaml_complain(doc, load_parts[i], e,
					     "only a scenario of kind 'load' has this key");
	return 0;
}

static int check_ranges(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		unsigned v;

		if (scenario_is_load(sc) && is_of_unplug(ranges[i].key))
			continue;
		memcpy(&v, (const char *)sc + ranges[i].offset, sizeof(v));
		if (v < ranges[i].min || v > ranges[i].max)
			return yaml_complain(doc, ranges[i].key, e, "outside %u..%u", ranges[i].min,
					     ranges[i].max);
	}
	if (sc->window.max_ms < sc->window.min_ms)
		return yaml_complain(doc, "window.max_ms", e, "less than window.min_ms (%u)",
				     sc->window.min_ms);
	if (sc->probe.threshold_us > sc->limit.max_ms * 1000)
		return yaml_complain(
			doc, "probe.threshold_us", e,
			"above the limit of %u ms: delays over the limit would not be printed",
			sc->limit.max_ms);
	if (sc->probe.threshold_us >= sc->controls.stall_ms * 1000)
		return yaml_complain(
			doc, "probe.threshold_us", e,
			"not below controls.stall_ms (%u ms): the control would not be "
			"printed",
			sc->controls.stall_ms);
	return 0;
}

static int check_choices(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		auto_strbuf struct strbuf known = STRBUF_INIT;
		bool is_known = false;
		const char *v;

		memcpy(&v, (const char *)sc + choices[i].offset, sizeof(v));
		for (size_t w = 0; w < ARRAY_SIZE(choices[i].words) && choices[i].words[w]; w++) {
			is_known |= strcmp(v, choices[i].words[w]) == 0;
			strbuf_addf(&known, "%s%s", w ? ", " : "", choices[i].words[w]);
		}
		if (!is_known)
			return yaml_complain(doc, choices[i].key, e, "not one of: %s",
					     strbuf_str(&known));
	}
	return 0;
}

static int check_probes(char *const *list, unsigned n, const char *key, const struct yaml_doc *doc,
			struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		auto_free char *at = xasprintf("%s[%u]", key, i);
		bool is_known = false;

		for (size_t p = 0; p < ARRAY_SIZE(probe_names); p++)
			is_known |= strcmp(list[i], probe_names[p]) == 0;
		if (!is_known)
			return yaml_complain(doc, at, e,
					     "not one of: normal, highpri, unbound, bh, kthread");
	}
	return 0;
}

static int check_probe(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	int r;

	if (sc->probe.count_count == 0)
		return yaml_complain(doc, "probe.count", e, "at least one probe must be judged");
	r = check_probes(sc->probe.count, sc->probe.count_count, "probe.count", doc, e);
	if (r < 0)
		return r;
	r = check_probes(sc->probe.watch, sc->probe.watch_count, "probe.watch", doc, e);
	if (r < 0)
		return r;
	if (strcmp(sc->probe.cpus, "all") != 0 &&
	    strspn(sc->probe.cpus, "0123456789,-") != strlen(sc->probe.cpus))
		return yaml_complain(doc, "probe.cpus", e, "neither 'all' nor a CPU list as 0-1,3");
	return 0;
}

/* Switches that contradict each other. */
static int check_unplug(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	bool is_mounted = strcmp(sc->prepare.mount, "none") != 0;
	unsigned line, column;

	if (sc->prepare.hold && is_mounted)
		return yaml_complain(doc, "prepare.hold", e,
				     "only with prepare.mount none: a mount holds the device");
	/* the target runs one load beside a command */
	if (sc->prepare.hold && sc->load.keep_reading)
		return yaml_complain(doc, "prepare.hold", e, "not together with load.keep_reading");
	if (sc->stimulus.unmount_first && !is_mounted)
		return yaml_complain(doc, "stimulus.unmount_first", e,
				     "nothing is mounted (prepare.mount none)");
	if (yaml_position(doc, "load.dirty_mib", &line, &column) &&
	    (sc->load.dirty_mib < 1 || sc->load.dirty_mib > 65536))
		return yaml_complain(doc, "load.dirty_mib", e, "outside 1..65536");
	if ((sc->load.dirty_mib != 0) != (strcmp(sc->prepare.mount, "rw") == 0))
		return yaml_complain(doc, "prepare.mount", e,
				     "'rw' and load.dirty_mib only go together");
	if (sc->load.dirty_mib && sc->load.drop_cache)
		return yaml_complain(doc, "load.drop_cache", e,
				     "that would write back what load.dirty_mib leaves");
	if (sc->stimulus.unmount_first && sc->load.keep_reading)
		return yaml_complain(doc, "stimulus.unmount_first", e,
				     "not together with load.keep_reading");
	return 0;
}

static int check_trials(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	unsigned line, column;

	if (!yaml_position(doc, "trials.baseline", &line, &column))
		return 0;
	if (!scenario_needs_baseline(sc))
		return yaml_complain(doc, "trials.baseline", e,
				     "no limit is a share of a baseline's number");
	if (sc->trials.baseline < 1 || sc->trials.baseline > 10000)
		return yaml_complain(doc, "trials.baseline", e, "outside 1..10000");
	return 0;
}

static int check(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	int r;

	if (!parse_is_name(sc->name))
		return yaml_complain(doc, "name", e,
				     "only letters, digits and . _ + - are allowed");
	r = check_kind(sc, doc, e);
	if (r < 0)
		return r;
	r = check_ranges(sc, doc, e);
	if (r < 0)
		return r;
	/* all of these are of unplugging */
	r = scenario_is_load(sc) ? 0 : check_choices(sc, doc, e);
	if (r < 0)
		return r;
	r = scenario_is_load(sc) ? 0 : check_unplug(sc, doc, e);
	if (r < 0)
		return r;
	r = check_trials(sc, doc, e);
	if (r >= 0)
		r = check_probe(sc, doc, e);
	return r < 0 ? r : profile_scenario_check(sc, doc, e);
}

int scenario_load(const char *name_or_path, struct scenario **ret, struct err *e)
{
	auto_scenario struct scenario *sc = NULL;
	auto_yaml_doc struct yaml_doc *doc = NULL;
	auto_free char *path = NULL;
	void *data = NULL;
	int r;

	r = names_find(&names_of_scenarios, name_or_path, &path, e);
	if (r < 0)
		return r;
	r = yaml_load(path, &scenario_schema, &data, &doc, e);
	if (r < 0)
		return r;
	sc = data;
	load_scenario_defaults(sc);
	r = check(sc, doc, e);
	if (r < 0)
		return r;
	r = sha256_file(path, sc->sha256, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	sc->path = take(path);

	*ret = take(sc);
	return 0;
}

void scenario_free(struct scenario *sc)
{
	if (!sc)
		return;
	util_free(sc->path);
	sc->path = NULL;
	yaml_data_free(&scenario_schema, sc);
}
