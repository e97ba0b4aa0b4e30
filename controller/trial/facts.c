/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts.c - observations as JSON files. */
#include "facts.h"

#include "base/fdio.h"

#include <inttypes.h>
#include <string.h>

#define FACTS_FILE_MAX (8u << 20)

/* One member of a structure that stands in the file under a name. */
struct member {
	const char *name;
	size_t offset;
	/*
	 * Recordings of earlier versions may lack a ..._NEWER: it is 0. A PLACE is an index into
	 * the event log (size_t); in the file it is the place in the console (event_log.h).
	 */
	enum {
		I64,
		I64_NEWER,
		TIME,
		TIME_NEWER,
		PLACE,
		INT,
		UNSIGNED,
		BOOL,
		BOOL_NEWER,
		DOUBLE,
		TEXT
	} type;
};

#define AT(type, member) offsetof(struct type, member)

/* TIME is written relative to the recording's start; 0 stays 0, it means "did not happen" */
static const struct member observation_members[] = {
	{"reached", AT(observation, reached), UNSIGNED},
	{"log_from_at", AT(observation, log_from), PLACE},
	{"log_armed_at", AT(observation, log_armed), PLACE},
	{"log_window_at", AT(observation, log_window), PLACE},
	{"log_end_at", AT(observation, log_end), PLACE},
	{"failed", AT(observation, failed), UNSIGNED},
	{"failed_why", AT(observation, failed_why), TEXT},
	{"agent_release", AT(observation, build.agent_release), TEXT},
	{"agent_version", AT(observation, build.agent_version), TEXT},
	{"mark_start", AT(observation, mark_start), TEXT},
	{"mark_end", AT(observation, mark_end), TEXT},
	{"console_loglevel", AT(observation, console_loglevel), I64},
	{"control_log_from_at", AT(observation, control.log_from), PLACE},
	{"control_log_to_at", AT(observation, control.log_to), PLACE},
	{"control_cpu", AT(observation, control.cpu), INT},
	{"control_actual_us", AT(observation, control.actual_us), I64},
	{"cached_bytes", AT(observation, cached_bytes), I64},
	{"file_bytes", AT(observation, file_bytes), I64},
	{"neighbour_bytes", AT(observation, neighbour_bytes), I64_NEWER},
	{"dirty_kib", AT(observation, dirty_kib), I64_NEWER},
	{"cut_asked_ns", AT(observation, cut_asked_ns), TIME},
	{"cut_applied_ns", AT(observation, cut_applied_ns), TIME},
	{"is_cut_sensed", AT(observation, is_cut_sensed), BOOL},
	{"is_cut_blind", AT(observation, is_cut_blind), BOOL_NEWER},
	{"is_cut_soft", AT(observation, is_cut_soft), BOOL_NEWER},
	{"end_ns", AT(observation, end_ns), TIME},
	{"is_host_wait_known", AT(observation, is_host_wait_known), BOOL_NEWER},
	{"host_wait_us", AT(observation, host_wait_us), I64_NEWER},
	{"environment_before", AT(observation, environment_before), TEXT},
	{"environment_after", AT(observation, environment_after), TEXT},
	{"replug_path", AT(observation, replug_path), TEXT},
	{"replug_ms", AT(observation, replug_ms), I64},
	{"worst_func", AT(observation, worst_func), TEXT},
	{"samples", AT(observation, samples), TEXT},
	{"load_ms", AT(observation, load_ms), I64},
	{"load_progress", AT(observation, load_progress), TEXT},
	{"load_started_ns", AT(observation, load_started_ns), TIME_NEWER},
	{"machine_broken", AT(observation, machine_broken), TEXT},
	{"console_losses_before", AT(observation, console_losses_before), I64_NEWER},
	{"console_losses_after", AT(observation, console_losses_after), I64_NEWER},
};

/* Only of load scenarios. */
static const struct member loads_members[] = {
	{"done", AT(observation, loads_done), UNSIGNED},
	{"planned", AT(observation, loads_planned), UNSIGNED},
};

/* What a run keeps of its baseline. */
static const struct member baseline_members[] = {
	{"id", AT(run, id), TEXT},
	{"kernel_label", AT(run, kernel_label), TEXT},
	{"rig_class", AT(run, rig_class), TEXT},
	{"arch", AT(run, arch), TEXT},
	{"scenario", AT(run, scenario), TEXT},
	{"scenario_sha256", AT(run, scenario_sha256), TEXT},
};

static const struct member state_members[] = {
	{"version", AT(probe_state, version), I64},
	{"period_us", AT(probe_state, period_us), I64},
	{"threshold_us", AT(probe_state, threshold_us), I64},
	{"hz", AT(probe_state, hz), I64},
	{"seq", AT(probe_state, seq), I64},
	{"events", AT(probe_state, events), I64},
	{"clock_ns", AT(probe_state, clock_ns), I64},
};

static const struct member row_members[] = {
	{"cpu", AT(probe_row, cpu), INT},       {"beats", AT(probe_row, beats), I64},
	{"missed", AT(probe_row, missed), I64}, {"over", AT(probe_row, over), I64},
	{"max_us", AT(probe_row, max_us), I64}, {"max_due_ns", AT(probe_row, max_due_ns), I64},
	{"self", AT(probe_row, self), I64},     {"pending_us", AT(probe_row, pending_us), I64},
};

static const struct member trial_members[] = {
	{"number", AT(trial, number), UNSIGNED},
	{"boot", AT(trial, boot), UNSIGNED},
	{"unplug", AT(trial, unplug), UNSIGNED},
	{"started_wall_ns", AT(trial, started_wall_ns), I64},
	{"console_from", AT(trial, console_from), I64},
	{"console_to", AT(trial, console_to), I64},
};

static const struct member run_members[] = {
	{"id", AT(run, id), TEXT},
	{"rig", AT(run, rig), TEXT},
	{"rig_class", AT(run, rig_class), TEXT},
	{"arch", AT(run, arch), TEXT},
	{"kernel", AT(run, kernel), TEXT},
	{"kernel_label", AT(run, kernel_label), TEXT},
	{"kernel_release", AT(run, kernel_release), TEXT},
	{"kernel_version", AT(run, kernel_version), TEXT},
	{"kernel_config_sha256", AT(run, kernel_config_sha256), TEXT},
	{"kernel_image_sha256", AT(run, kernel_image_sha256), TEXT},
	{"append", AT(run, append), TEXT},
	{"scenario", AT(run, scenario), TEXT},
	{"scenario_sha256", AT(run, scenario_sha256), TEXT},
	{"started_wall_ns", AT(run, started_wall_ns), I64},
	{"ended_wall_ns", AT(run, ended_wall_ns), I64},
	{"limit_us", AT(run, limit_us), I64},
	{"planned_valid", AT(run, planned_valid), UNSIGNED},
	{"tolerated_over", AT(run, tolerated_over), DOUBLE},
	{"confidence", AT(run, confidence), DOUBLE},
	{"rig_fault", AT(run, rig_fault), TEXT},
	{"untestable", AT(run, untestable), TEXT},
};

static const struct member boot_members[] = {
	{"number", AT(trial_boot, number), UNSIGNED},
	{"recording", AT(trial_boot, recording), TEXT},
	{"banner", AT(trial_boot, banner), TEXT},
	{"environment", AT(trial_boot, environment), TEXT},
	{"console_bytes", AT(trial_boot, console_bytes), I64},
	{"boot_ms", AT(trial_boot, boot_ms), I64},
};

static json_t *member_json(const void *base, const struct member *m, nsec_t t0_ns)
{
	const void *p = (const char *)base + m->offset;

	switch (m->type) {
	case I64:
	case I64_NEWER:
		return json_integer(*(const int64_t *)p);
	case TIME:
	case TIME_NEWER: {
		int64_t t = *(const int64_t *)p;

		return json_integer(t ? t - t0_ns : 0);
	}
	case PLACE:
		return json_integer(event_log_place(((const struct observation *)base)->log,
						    *(const size_t *)p));
	case INT:
		return json_integer(*(const int *)p);
	case UNSIGNED:
		return json_integer(*(const unsigned *)p);
	case BOOL:
	case BOOL_NEWER:
		return json_boolean(*(const bool *)p);
	case DOUBLE:
		return json_real(*(const double *)p);
	case TEXT:
		break;
	}
	const char *text = *(const char *const *)p;

	/* console and agent text need not be UTF-8; what is judged is plain ASCII */
	return text ? json_string(text) : NULL;
}

static void put_members(json_t *o, const void *base, const struct member *m, size_t n, nsec_t t0_ns)
{
	for (size_t i = 0; i < n; i++) {
		json_t *v = member_json(base, &m[i], t0_ns);

		if (v)
			(void)json_object_set_new(o, m[i].name, v);
	}
}

/* "log_from" was an index where "log_from_at" is a place. */
static json_t *earlier_index(const json_t *o, const char *name)
{
	auto_free char *earlier = xasprintf("%.*s", (int)(strlen(name) - strlen("_at")), name);

	return json_object_get(o, earlier);
}

/* False for a value of another type. A name that is absent leaves the member as it is. */
static bool get_member(const json_t *o, void *base, const struct member *m)
{
	void *p = (char *)base + m->offset;
	json_t *v = json_object_get(o, m->name);
	bool is_right;

	if (!v && m->type == PLACE)
		v = earlier_index(o, m->name);

	if (!v)
		return m->type == TEXT || m->type == I64_NEWER || m->type == TIME_NEWER ||
		       m->type == BOOL_NEWER;
	is_right = m->type == TEXT                            ? json_is_string(v)
		   : m->type == BOOL || m->type == BOOL_NEWER ? json_is_boolean(v)
		   : m->type == DOUBLE                        ? json_is_number(v)
							      : json_is_integer(v);
	if (!is_right)
		return false;
	switch (m->type) {
	case I64:
	case I64_NEWER:
	case TIME:
	case TIME_NEWER:
		*(int64_t *)p = json_integer_value(v);
		break;
	case PLACE:
		*(size_t *)p = (size_t)json_integer_value(v);
		break;
	case INT:
		*(int *)p = (int)json_integer_value(v);
		break;
	case UNSIGNED:
		*(unsigned *)p = (unsigned)json_integer_value(v);
		break;
	case BOOL:
	case BOOL_NEWER:
		*(bool *)p = json_is_true(v);
		break;
	case DOUBLE:
		*(double *)p = json_number_value(v);
		break;
	case TEXT:
		*(const char **)p = json_string_value(v);
		break;
	}
	return true;
}

static int get_members(const json_t *o, void *base, const struct member *m, size_t n,
		       const char *path, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (!get_member(o, base, &m[i]))
			return err_set(e, ERR_STORE, EINVAL,
				       "%s: '%s' is missing or of a wrong type", path, m[i].name);
	return 0;
}

#define PUT(o, base, members, t0) put_members((o), (base), (members), ARRAY_SIZE(members), (t0))
#define GET(o, base, members, path, e) \
	get_members((o), (base), (members), ARRAY_SIZE(members), (path), (e))

/* ---- probe states and interrupt counts ---- */

static json_t *state_json(const struct probe_state *st)
{
	json_t *o = json_object();
	json_t *rows = json_array();

	PUT(o, st, state_members, 0);
	for (size_t i = 0; i < st->n_rows; i++) {
		json_t *row = json_object();

		PUT(row, &st->rows[i], row_members, 0);
		(void)json_object_set_new(row, "probe", json_string(st->rows[i].probe));
		(void)json_array_append_new(rows, row);
	}
	(void)json_object_set_new(o, "rows", rows);
	return o;
}

static int state_read(const json_t *o, struct probe_state *ret, const char *path, struct err *e)
{
	const json_t *rows = json_object_get(o, "rows");
	size_t n = json_array_size(rows);
	int r;

	r = GET(o, ret, state_members, path, e);
	if (r < 0)
		return r;
	if (n > PROBE_ROWS_MAX)
		return err_set(e, ERR_STORE, EINVAL, "%s: more than %d probes", path,
			       PROBE_ROWS_MAX);
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		const char *probe = json_string_value(json_object_get(row, "probe"));

		r = GET(row, &ret->rows[i], row_members, path, e);
		if (r < 0)
			return r;
		(void)snprintf(ret->rows[i].probe, sizeof(ret->rows[i].probe), "%s",
			       probe ? probe : "");
	}
	ret->n_rows = n;
	return 0;
}

static json_t *irq_json(const struct irq_counts *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->n_cpus; i++)
		(void)json_array_append_new(list, json_integer(c->per_cpu[i]));
	return list;
}

static void irq_read(const json_t *list, struct irq_counts *ret)
{
	ret->n_cpus = json_array_size(list);
	if (ret->n_cpus > OBSERVATION_CPUS_MAX)
		ret->n_cpus = OBSERVATION_CPUS_MAX;
	for (size_t i = 0; i < ret->n_cpus; i++)
		ret->per_cpu[i] = json_integer_value(json_array_get(list, i));
}

/* ---- numbers of loads, and a baseline's ---- */

static json_t *numbers_json(const struct trial_number *numbers, size_t n)
{
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++)
		(void)json_object_set_new(o, numbers[i].name, json_integer(numbers[i].value));
	return o;
}

/* *ret is NULL if there are none; caller frees. */
static int numbers_read(const json_t *o, struct trial_number **ret, size_t *ret_n, const char *path,
			struct err *e)
{
	struct trial_number *list = NULL;
	size_t n = 0;
	const char *name;
	json_t *v;

	if (json_object_size(o) > TRIAL_LIST_MAX)
		return err_set(e, ERR_STORE, E2BIG, "%s: more than %d numbers", path,
			       TRIAL_LIST_MAX);
	list = xcalloc(json_object_size(o) + 1, sizeof(*list));
	json_object_foreach((json_t *)(uintptr_t)o, name, v)
	{
		if (!json_is_integer(v)) {
			free(list);
			return err_set(e, ERR_STORE, EINVAL, "%s: '%s' is no integer", path, name);
		}
		(void)snprintf(list[n].name, sizeof(list[n].name), "%s", name);
		list[n++].value = json_integer_value(v);
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

static json_t *baseline_json(const struct run *base)
{
	json_t *o = json_object();
	json_t *trials = json_array();

	PUT(o, base, baseline_members, 0);
	if (base->n_boots)
		(void)json_object_set_new(o, "environment",
					  json_string(base->boots[0].environment));
	for (size_t i = 0; i < base->n_trials; i++) {
		const struct trial *t = base->trials[i];

		(void)json_array_append_new(trials,
					    json_pack("{s:i, s:i, s:o}", "number", (int)t->number,
						      "boot", (int)t->boot, "numbers",
						      numbers_json(t->numbers, t->n_numbers)));
	}
	(void)json_object_set_new(o, "trials", trials);
	return o;
}

/* Adds the baseline to r. */
static int baseline_read(const json_t *o, struct run *r, const char *path, struct err *e)
{
	const json_t *list = json_object_get(o, "trials");
	const char *environment = json_string_value(json_object_get(o, "environment"));
	struct trial_boot boot = {.environment = (char *)(uintptr_t)environment};
	struct run base = {.boots = &boot, .n_boots = environment ? 1 : 0};
	auto_free struct trial **trials =
		xcalloc(json_array_size(list) + 1, sizeof(struct trial *));
	int ret;

	base.trials = trials;
	ret = GET(o, &base, baseline_members, path, e);
	for (size_t i = 0; ret == 0 && i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		struct trial_number *numbers = NULL;
		struct trial *t = trial_new();
		size_t n = 0;

		trials[base.n_trials++] = t;
		t->is_valid = true;
		t->number = (unsigned)json_integer_value(json_object_get(row, "number"));
		t->boot = (unsigned)json_integer_value(json_object_get(row, "boot"));
		ret = numbers_read(json_object_get(row, "numbers"), &numbers, &n, path, e);
		for (size_t k = 0; k < n; k++)
			trial_add_number(t, numbers[k].name, numbers[k].value);
		free(numbers);
	}
	if (ret == 0 && (!base.id || !base.kernel_label || !base.scenario_sha256 ||
			 !base.scenario || !base.arch || !base.rig_class))
		ret = err_set(e, ERR_STORE, EINVAL, "%s: the baseline is not complete", path);
	if (ret == 0)
		run_set_baseline(r, &base);
	for (size_t i = 0; i < base.n_trials; i++)
		trial_free(trials[i]);
	return ret;
}

/* ---- files ---- */

static int write_json(const char *path, json_t *root, struct err *e)
{
	char *text = json_dumps(root, JSON_INDENT(1));
	int r;

	json_decref(root);
	if (!text)
		return err_set(e, ERR_STORE, EILSEQ, "%s: a text is not UTF-8", path);
	r = file_write_atomic(path, text, strlen(text), e);
	free(text);
	return r < 0 ? err_rekind(e, ERR_STORE) : 0;
}

static int read_json(const char *path, json_t **ret, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	json_error_t why;
	int r;

	r = file_read(path, FACTS_FILE_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	*ret = json_loadb(strbuf_str(&text), text.len, JSON_REJECT_DUPLICATES, &why);
	if (!*ret)
		return err_set(e, ERR_STORE, EINVAL, "%s:%d:%d: %s", path, why.line, why.column,
			       why.text);
	return 0;
}

static const struct member head_members[] = {
	{"usb_path", AT(facts_head, usb_path), TEXT},
	{"console_baud", AT(facts_head, console_baud), UNSIGNED},
	{"has_waivers", AT(facts_head, has_waivers), BOOL},
	{"last_trial", AT(facts_head, last_trial), UNSIGNED},
};

int facts_write_run(const char *dir, const struct run *r, const struct scenario *sc,
		    const struct facts_setup *setup, struct err *e)
{
	auto_free char *usb_path = xstrdup(setup->usb_path);
	const struct facts_head head = {
		.usb_path = usb_path,
		.console_baud = setup->console_baud,
		.has_waivers = setup->waivers_path != NULL,
		.last_trial = r->n_trials ? r->trials[r->n_trials - 1]->number : 0,
	};
	auto_free char *scenario = xasprintf("%s/scenario.yaml", dir);
	auto_free char *waivers = xasprintf("%s/waivers.yaml", dir);
	auto_free char *path = xasprintf("%s/run.json", dir);
	json_t *boots = json_array();
	json_t *root = json_object();
	int ret;

	PUT(root, r, run_members, 0);
	for (size_t i = 0; i < r->n_boots; i++) {
		json_t *boot = json_object();

		PUT(boot, &r->boots[i], boot_members, 0);
		(void)json_array_append_new(boots, boot);
	}
	(void)json_object_set_new(root, "boots", boots);
	PUT(root, &head, head_members, 0);
	if (r->baseline)
		(void)json_object_set_new(root, "baseline", baseline_json(r->baseline));
	ret = write_json(path, root, e);
	if (ret < 0)
		return ret;
	ret = file_copy(sc->path, scenario, e);
	/* once: a file that is changed later is not the one that the run goes by */
	if (ret >= 0 && setup->waivers_path && access(waivers, F_OK) < 0)
		ret = file_copy(setup->waivers_path, waivers, e);
	return ret < 0 ? err_rekind(e, ERR_STORE) : 0;
}

int facts_write_trial(const char *dir, const struct trial *t, const struct observation *o,
		      nsec_t t0_ns, struct err *e)
{
	auto_free char *path = xasprintf("%s/trial-%u.json", dir, t->number);
	json_t *root = json_object();
	json_t *obs = json_object();

	PUT(root, t, trial_members, 0);
	PUT(obs, o, observation_members, t0_ns);
	(void)json_object_set_new(obs, "control_state", state_json(&o->control.state));
	(void)json_object_set_new(obs, "before", state_json(&o->before));
	(void)json_object_set_new(obs, "after", state_json(&o->after));
	(void)json_object_set_new(obs, "irq_before", irq_json(&o->irq_before));
	(void)json_object_set_new(obs, "irq_after", irq_json(&o->irq_after));
	(void)json_object_set_new(obs, "integrity_before_at",
				  json_integer((json_int_t)o->integrity_before.bytes));
	(void)json_object_set_new(obs, "integrity_after_at",
				  json_integer((json_int_t)o->integrity_after.bytes));
	if (o->loads_planned || o->n_numbers) {
		json_t *loads = json_object();

		PUT(loads, o, loads_members, 0);
		(void)json_object_set_new(loads, "numbers", numbers_json(o->numbers, o->n_numbers));
		(void)json_object_set_new(obs, "loads", loads);
	}
	(void)json_object_set_new(root, "observation", obs);
	return write_json(path, root, e);
}

static int read_observation(const json_t *obs, struct facts *f, const char *path, struct err *e)
{
	struct observation *o = &f->obs;
	int r;

	f->has_indexes = json_object_get(obs, "log_from") != NULL;
	r = GET(obs, o, observation_members, path, e);
	if (r == 0)
		r = state_read(json_object_get(obs, "control_state"), &o->control.state, path, e);
	if (r == 0)
		r = state_read(json_object_get(obs, "before"), &o->before, path, e);
	if (r == 0)
		r = state_read(json_object_get(obs, "after"), &o->after, path, e);
	if (r < 0)
		return r;
	if ((unsigned)o->failed >= EVIDENCE_MAX)
		return err_set(e, ERR_STORE, EINVAL, "%s: 'failed' is no evidence", path);
	if (json_object_get(obs, "loads")) {
		const json_t *loads = json_object_get(obs, "loads");

		r = GET(loads, o, loads_members, path, e);
		if (r == 0)
			r = numbers_read(json_object_get(loads, "numbers"), &f->numbers,
					 &o->n_numbers, path, e);
		if (r < 0)
			return r;
		o->numbers = f->numbers;
	}
	irq_read(json_object_get(obs, "irq_before"), &o->irq_before);
	irq_read(json_object_get(obs, "irq_after"), &o->irq_after);
	f->integrity_before_at =
		(uint64_t)json_integer_value(json_object_get(obs, "integrity_before_at"));
	f->integrity_after_at =
		(uint64_t)json_integer_value(json_object_get(obs, "integrity_after_at"));
	return 0;
}

int facts_read_trial(const char *path, struct facts *ret, struct err *e)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	r = read_json(path, &ret->root, e);
	if (r < 0)
		return r;
	ret->trial = trial_new();
	r = GET(ret->root, ret->trial, trial_members, path, e);
	if (r == 0)
		r = read_observation(json_object_get(ret->root, "observation"), ret, path, e);
	if (r == 0 && ret->obs.samples) {
		r = probe_samples_parse(ret->obs.samples, ret->trial, e);
		if (r < 0) {
			(void)err_rekind(e, ERR_STORE);
			r = err_wrap(e, "%s", path);
		}
	}
	if (r < 0)
		facts_release(ret);
	return r;
}

int facts_find_events(struct facts *f, const struct event_log *log, uint64_t n_bytes, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(observation_members); i++) {
		const struct member *m = &observation_members[i];
		size_t *p = (size_t *)(void *)((char *)&f->obs + m->offset);
		uint64_t most = f->has_indexes ? log->n : n_bytes;

		if (m->type != PLACE)
			continue;
		if (*p > most && *p != (size_t)EVENT_LOG_ENDED)
			return err_set(e, ERR_STORE, EINVAL,
				       "trial %u saw %zu %s (%s), the recording has %llu",
				       f->trial->number, *p,
				       f->has_indexes ? "events of the console"
						      : "bytes of the console",
				       m->name, (unsigned long long)most);
		if (!f->has_indexes)
			*p = event_log_index(log, (int64_t)*p);
	}
	return 0;
}

void facts_release(struct facts *f)
{
	json_decref(f->root);
	trial_free(f->trial);
	util_free(f->numbers);
	f->numbers = NULL;
	f->root = NULL;
	f->trial = NULL;
}

/* The texts of a run belong to it, those of jansson do not last. */
static void own_texts(void *base, const struct member *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char **p = (char **)(void *)((char *)base + m[i].offset);

		if (m[i].type == TEXT && *p)
			*p = xstrdup(*p);
	}
}

static int read_boots(const json_t *boots, struct run *r, const char *path, struct err *e)
{
	size_t n = json_array_size(boots);

	r->boots = xcalloc(n, sizeof(*r->boots));
	for (size_t i = 0; i < n; i++) {
		int code = GET(json_array_get(boots, i), &r->boots[i], boot_members, path, e);

		if (code < 0)
			return code;
		own_texts(&r->boots[i], boot_members, ARRAY_SIZE(boot_members));
		r->n_boots++;
	}
	return 0;
}

void facts_head_release(struct facts_head *h)
{
	util_free(h->usb_path);
	h->usb_path = NULL;
}

int facts_read_run(const char *dir, struct run **ret, struct facts_head *ret_head, struct err *e)
{
	auto_free char *path = xasprintf("%s/run.json", dir);
	struct facts_head head = {0};
	json_t *root = NULL;
	struct run *r;
	int code;

	code = read_json(path, &root, e);
	if (code < 0)
		return code;
	r = xcalloc(1, sizeof(*r));
	code = GET(root, r, run_members, path, e);
	if (code == 0)
		code = GET(root, &head, head_members, path, e);
	if (code < 0) {
		/* its texts are still jansson's */
		free(r);
		json_decref(root);
		return code;
	}
	own_texts(r, run_members, ARRAY_SIZE(run_members));
	code = read_boots(json_object_get(root, "boots"), r, path, e);
	if (code < 0) {
		run_free(r);
		json_decref(root);
		return code;
	}
	if (json_object_get(root, "baseline"))
		code = baseline_read(json_object_get(root, "baseline"), r, path, e);
	if (code < 0) {
		run_free(r);
		json_decref(root);
		return code;
	}
	head.usb_path = xstrdup(head.usb_path ? head.usb_path : "");
	json_decref(root);
	*ret_head = head;
	*ret = r;
	return 0;
}
