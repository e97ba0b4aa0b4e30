/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.c - runs and trials as JSON. What is unknown is absent, never null. */
#include "report/json.h"

#include "base/waiter.h"
#include "console/console.h"
#include "report/excerpt.h"
#include "report/json_put.h"
#include "report/report.h"
#include "report/run_text.h"
#include "report/text.h"
#include "trial/profile.h"
#include "trial/pstore.h"

#include <jansson.h>

#include <math.h>
#include <string.h>

/* Enough for microseconds in milliseconds, and few enough that 4.9 is not 4.9000000000000004. */
#define DUMP_FLAGS (JSON_REAL_PRECISION(12) | JSON_COMPACT)

static void set_ms_of_us(json_t *obj, const char *key, int64_t us)
{
	if (us >= 0)
		set_real(obj, key, (double)us / 1000.0);
}

json_t *report_trial_head_value(const struct run *r, const struct trial *t)
{
	auto_strbuf struct strbuf id = STRBUF_INIT;
	json_t *obj = json_object();

	run_text_add_trial_id(&id, r, t);
	set_text(obj, "id", strbuf_str(&id));
	set(obj, "valid", json_boolean(t->is_valid));
	if (!t->is_valid && !t->is_crash)
		set_text(obj, "missing_evidence", evidence_name(t->missing));
	set_ms_of_us(obj, "worst_ms", t->worst_us);
	if (t->worst_us >= 0 && t->worst_cpu >= 0)
		set(obj, "worst_cpu", json_integer(t->worst_cpu));
	set_text(obj, "worst_probe", t->worst_probe);
	set_text(obj, "worst_func", t->worst_func);
	if (t->is_crash)
		set(obj, "crash", text_value(t->crash, strlen(t->crash)));
	set_count(obj, "boot", t->boot);
	set_count(obj, "unplug", t->unplug);
	set_wall(obj, "started", t->started_wall_ns);
	return obj;
}

static json_t *record_value(const struct pstore_record *rec)
{
	json_t *obj = json_object();

	set_text(obj, "name", rec->name);
	set_text(obj, "file", rec->file);
	set_text(obj, "sha256", rec->sha256);
	set_count(obj, "bytes", (uint64_t)rec->bytes);
	if (rec->kept_bytes < rec->bytes)
		set_count(obj, "kept_bytes", (uint64_t)rec->kept_bytes);
	if (!rec->boot)
		set(obj, "of_earlier_boot", json_true());
	set_count(obj, "collected_in", rec->collected_in);
	return obj;
}

static json_t *boot_value(const struct trial_boot *b, const struct pstore *p)
{
	json_t *records = json_array();
	json_t *obj = json_object();

	set_count(obj, "number", b->number);
	if (b->boot_ms >= 0)
		set(obj, "boot_ms", json_integer(b->boot_ms));
	set_count(obj, "console_bytes", b->console_bytes);
	set_text(obj, "banner", b->banner);
	set_text(obj, "environment", b->environment);
	set_text(obj, "recording", b->recording);
	for (size_t i = 0; i < p->n; i++)
		if (pstore_is_of_boot(&p->records[i], b->number))
			append(records, record_value(&p->records[i]));
	if (json_array_size(records))
		set(obj, "pstore", json_incref(records));
	json_decref(records);
	return obj;
}

/* What a run's boots left in the target's persistent store; obj says so if it cannot be read. */
static void read_pstore(const struct run *r, struct pstore *ret, json_t *obj)
{
	struct err e = {0};

	if (pstore_of_run(r, ret, &e) < 0)
		set_text(obj, "pstore_error", e.text);
}

/* What a run is of, without its trials. */
json_t *report_run_value(const struct run *r)
{
	const struct judge_result *j = &r->result;
	json_t *obj = json_object();

	set_text(obj, "id", r->id);
	set_text(obj, "kernel", r->kernel);
	set_text(obj, "kernel_label", r->kernel_label);
	set_text(obj, "rig", r->rig);
	set_text(obj, "scenario", r->scenario);
	set_text(obj, "verdict", verdict_name(j->verdict));
	set_text(obj, "reason", j->reason);
	set_text(obj, "strength", j->strength);
	set_real(obj, "limit_ms", (double)r->limit_us / 1000.0);
	set_ms_of_us(obj, "worst_ms", j->worst_us);
	set_ms_of_us(obj, "p50_ms", j->p50_us);
	set_count(obj, "over", j->over);
	set_count(obj, "valid", j->valid);
	set_count(obj, "invalid", j->invalid);
	set_count(obj, "crashes", j->crashes);
	set_count(obj, "planned_valid", r->planned_valid);
	set_count(obj, "boots_valid", j->boots);
	set_count(obj, "boots_over", j->boots_over);
	set(obj, "is_clustered", json_boolean(j->is_clustered));
	if (j->valid) {
		set_real(obj, "over_low", j->over_low);
		set_real(obj, "over_high", j->over_high);
	}
	set_real(obj, "confidence", r->confidence);
	set_text(obj, "rig_fault", r->rig_fault);
	set_text(obj, "untestable", r->untestable);
	set_text(obj, "rig_class", r->rig_class);
	set_text(obj, "arch", r->arch);
	set_text(obj, "append", r->append);
	set_text(obj, "kernel_release", r->kernel_release);
	set_text(obj, "kernel_version", r->kernel_version);
	set_text(obj, "kernel_config_sha256", r->kernel_config_sha256);
	set_text(obj, "kernel_image_sha256", r->kernel_image_sha256);
	set_text(obj, "scenario_sha256", r->scenario_sha256);
	set_wall(obj, "started", r->started_wall_ns);
	set_wall(obj, "ended", r->ended_wall_ns);
	return obj;
}

void report_add_value(struct strbuf *out, json_t *value)
{
	auto_free char *text = json_dumps(value, DUMP_FLAGS);

	if (!text)
		abort();
	strbuf_adds(out, text);
	json_decref(value);
}

static void dump(struct strbuf *out, json_t *value)
{
	add_json_line(out, value, DUMP_FLAGS);
}

json_t *report_whole_run_value(const struct run *r)
{
	json_t *obj = report_run_value(r);
	json_t *boots = json_array();
	json_t *trials = json_array();
	json_t *notes = json_array();
	auto_pstore struct pstore pstore = {0};

	read_pstore(r, &pstore, obj);
	for (size_t k = 0; k < r->n_boots; k++)
		append(boots, boot_value(&r->boots[k], &pstore));
	for (size_t k = 0; k < pstore.n_notes; k++)
		append(notes, text_value(pstore.notes[k], strlen(pstore.notes[k])));
	for (size_t k = 0; k < r->n_trials; k++)
		append(trials, report_trial_head_value(r, r->trials[k]));
	set(obj, "boots", boots);
	set(obj, "trials", trials);
	if (pstore.n_notes)
		set(obj, "pstore_notes", json_incref(notes));
	json_decref(notes);
	return obj;
}

void report_json(struct strbuf *out, struct run *const *runs, size_t n)
{
	json_t *root = json_object();
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		append(array, report_whole_run_value(runs[i]));
	set(root, "runs", array);
	dump(out, root);
}

static json_t *evidence_value(const struct trial *t)
{
	json_t *array = json_array();

	for (enum evidence_id id = 0; id < EVIDENCE_MAX; id++) {
		const struct evidence *ev = &t->evidence[id];
		json_t *obj = json_object();

		set_text(obj, "name", evidence_name(id));
		set_text(obj, "state", evidence_state_name(ev->state));
		set_text(obj, "detail", ev->detail);
		append(array, obj);
	}
	return array;
}

static json_t *timeline_value(const struct trial *t)
{
	json_t *array = json_array();

	for (size_t i = 0; i < t->n_moments; i++) {
		const struct trial_moment *m = &t->moments[i];
		json_t *obj = json_object();

		set_real(obj, "t_ms", (double)m->t_ns / 1e6);
		set_text(obj, "what", m->what);
		set_text(obj, "detail", m->detail);
		append(array, obj);
	}
	return array;
}

static json_t *load_value(const struct trial *t)
{
	json_t *array = json_array();

	for (size_t i = 0; i < t->n_load; i++) {
		json_t *obj = json_object();

		set_real(obj, "t_ms", (double)t->load[i].t_ns / 1e6);
		set(obj, "bytes", json_integer(t->load[i].bytes));
		append(array, obj);
	}
	return array;
}

static json_t *delays_value(const struct trial *t)
{
	json_t *array = json_array();

	for (size_t i = 0; i < t->n_delays; i++) {
		const struct trial_delay *d = &t->delays[i];
		json_t *obj = json_object();

		set_real(obj, "ms", (double)d->us / 1000.0);
		if (d->cpu >= 0)
			set(obj, "cpu", json_integer(d->cpu));
		set_text(obj, "probe", d->probe);
		if (d->due_us != CONSOLE_UNKNOWN)
			set_real(obj, "due_kernel_s", (double)d->due_us / 1e6);
		set(obj, "live", json_boolean(d->is_live));
		set(obj, "suspect", json_boolean(d->is_suspect));
		set_count(obj, "offset", d->offset);
		append(array, obj);
	}
	return array;
}

static json_t *incidents_value(const struct trial *t)
{
	json_t *array = json_array();

	for (size_t i = 0; i < t->n_incidents; i++) {
		const struct trial_incident *inc = &t->incidents[i];
		json_t *obj = json_object();

		set_text(obj, "class", inc->cls);
		set_text(obj, "title", inc->title);
		set_count(obj, "count", inc->count);
		if (inc->t_first_us != CONSOLE_UNKNOWN)
			set_real(obj, "t_first_s", (double)inc->t_first_us / 1e6);
		if (inc->worst_s != CONSOLE_UNKNOWN)
			set(obj, "worst_s", json_integer(inc->worst_s));
		set_count(obj, "offset", inc->offset);
		append(array, obj);
	}
	return array;
}

static void set_console(json_t *obj, const struct trial *t, const struct trial_boot *b)
{
	auto_excerpt struct excerpt x = EXCERPT_INIT;
	struct err e = {0};
	int64_t cut_ns;
	bool has_cut;
	json_t *array;

	set_text(obj, "recording", b->recording);
	set_count(obj, "console_from", t->console_from);
	set_count(obj, "console_to", t->console_to);
	if (run_text_excerpt(t, b, NULL, &x, &has_cut, &cut_ns, &e) < 0) {
		set_text(obj, "console_error", e.text);
		return;
	}
	array = json_array();
	for (size_t i = 0; i < x.n; i++) {
		json_t *line = json_object();

		set_real(line, "t_boot_ms", (double)x.lines[i].t_ns / 1e6);
		if (has_cut)
			set_real(line, "t_ms", (double)(x.lines[i].t_ns - cut_ns) / 1e6);
		set_count(line, "offset", x.lines[i].offset);
		set(line, "text", text_value(x.lines[i].text, strlen(x.lines[i].text)));
		append(array, line);
	}
	set(obj, "console", array);
}

#define PROFILE_ROWS_MAX 50 /* functions of a window */

static json_t *profile_window_value(const struct profile *p, const struct profile_window *w)
{
	auto_free struct profile_row *rows = NULL;
	size_t n = profile_top(p, w, &rows);
	json_t *obj = json_object();
	json_t *top = json_array();

	set_text(obj, "name", w->name);
	set(obj, "from_us", json_integer(w->from_us));
	set(obj, "to_us", json_integer(w->to_us));
	set_count(obj, "samples", profile_samples(p, w));
	for (size_t i = 0; i < n && i < PROFILE_ROWS_MAX; i++) {
		json_t *row = json_object();

		set_text(row, "function", rows[i].function);
		set_text(row, "module", rows[i].module);
		set_count(row, "samples", rows[i].samples);
		append(top, row);
	}
	set(obj, "top", top);
	return obj;
}

static void set_profile(json_t *obj, const struct run *r, const struct trial *t)
{
	auto_profile struct profile *p = NULL;
	const struct profile_window *windows;
	struct err e = {0};
	json_t *profile, *list;
	size_t n;

	if (profile_of_trial(r, t, &p, &e) < 0) {
		set_text(obj, "profile_error", e.text);
		return;
	}
	if (!p)
		return;
	profile = json_object();
	list = json_array();
	n = profile_windows(p, &windows);
	set_text(profile, "event", profile_head(p)->event);
	set_count(profile, "hz", profile_head(p)->hz);
	set_count(profile, "cpus", profile_head(p)->cpus);
	set_count(profile, "lost", profile_head(p)->lost + profile_head(p)->dropped);
	for (size_t i = 0; i < n; i++)
		append(list, profile_window_value(p, &windows[i]));
	set(profile, "windows", list);
	set(obj, "profile", profile);
}

json_t *report_trial_value(const struct run *r, const struct trial *t)
{
	const struct trial_boot *b = run_text_boot(r, t->boot);
	json_t *obj = report_trial_head_value(r, t);
	json_t *numbers = json_object();

	for (size_t i = 0; i < t->n_numbers; i++)
		set(numbers, t->numbers[i].name, json_integer(t->numbers[i].value));
	set(obj, "run", report_run_value(r));
	set(obj, "evidence", evidence_value(t));
	set(obj, "timeline", timeline_value(t));
	if (t->n_load)
		set(obj, "load", load_value(t));
	set(obj, "delays", delays_value(t));
	set(obj, "incidents", incidents_value(t));
	set(obj, "numbers", numbers);
	set_profile(obj, r, t);
	if (b) {
		auto_pstore struct pstore pstore = {0};

		read_pstore(r, &pstore, obj);
		set(obj, "booted", boot_value(b, &pstore));
		set_console(obj, t, b);
	}
	return obj;
}

void report_trial_json(struct strbuf *out, const struct run *r, const struct trial *t)
{
	dump(out, report_trial_value(r, t));
}

/* ---- the queue ---- */

static void set_known(json_t *obj, const char *key, int64_t value)
{
	if (value)
		(void)json_object_set_new(obj, key, json_integer(value));
}

json_t *report_job_value(const struct store_job *j)
{
	json_t *obj = json_object();

	set_known(obj, "job", j->job);
	set_text(obj, "state", store_job_state_name(j->state));
	set_text(obj, "kind", j->kind);
	(void)json_object_set_new(obj, "priority", json_integer(j->priority));
	set_text(obj, "rig", j->rig);
	set_text(obj, "on_rig", j->on_rig);
	set_text(obj, "scenario", j->scenario);
	set_text(obj, "kernel", j->kernel);
	set_text(obj, "append", j->append);
	set_known(obj, "trials", j->trials);
	set_known(obj, "boots", j->boots);
	set_known(obj, "night", j->night);
	set_text(obj, "item", j->item);
	set_wall(obj, "submitted", j->submitted_wall_ns);
	set_text(obj, "submitted_by", j->submitted_by);
	set_wall(obj, "not_before", j->not_before_wall_ns);
	(void)json_object_set_new(obj, "attempts", json_integer(j->attempts));
	(void)json_object_set_new(obj, "attempts_max", json_integer(j->attempts_max));
	(void)json_object_set_new(obj, "is_cancel_wanted", json_boolean(j->is_cancel_wanted));
	set_text(obj, "worker", j->worker);
	set_wall(obj, "lease_until", j->lease_until_wall_ns);
	set_wall(obj, "started", j->started_wall_ns);
	set_wall(obj, "ended", j->ended_wall_ns);
	set_text(obj, "run", j->run_id);
	set_text(obj, "verdict", j->verdict);
	set_text(obj, "error", j->error);
	return obj;
}
