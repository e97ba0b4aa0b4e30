/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export_kcidb.c - KCIDB schema 5.3. Nothing is null, no object has keys that the schema does not
 * know, and every id begins with the origin.
 */
#include "base/fdio.h"
#include "base/waiter.h"
#include "report/export.h"
#include "report/json_put.h"
#include "report/run_text.h"

#include <ctype.h>
#include <string.h>

static bool is_origin(const char *s)
{
	if (!s || !*s)
		return false;
	for (; *s; s++)
		if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

/* A path is made of [a-zA-Z0-9_-]+ with dots between; a name's dots would make levels. */
static void add_path_part(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_addf(out, "%c", isalnum((unsigned char)*s) || *s == '-' ? *s : '_');
}

/* "<origin>:<kind>-<sha256 of the parts>". */
static void set_id(json_t *obj, const char *key, const char *origin, const char *kind,
		   const char *const *parts, size_t n)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free char *id = NULL;
	char hash[SHA256_HEX_SIZE];

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&text, "%s|", text_or_empty(parts[i]));
	sha256_bytes(text.data, text.len, hash);
	id = xasprintf("%s:%s-%s", origin, kind, hash);
	set_text(obj, key, id);
}

/* The release and version stand for the source: packaged kernels come without a commit. */
static void set_checkout_id(json_t *obj, const char *key, const char *origin, const struct run *r)
{
	const char *parts[] = {r->kernel_release, r->kernel_version};

	set_id(obj, key, origin, "ck", parts, ARRAY_SIZE(parts));
}

static void set_build_id(json_t *obj, const char *key, const char *origin, const struct run *r)
{
	const char *parts[] = {r->kernel_image_sha256, r->kernel_config_sha256, r->arch};

	set_id(obj, key, origin, "b", parts, ARRAY_SIZE(parts));
}

/* DONE: measured, not judged. MISS: the harness failed. ERROR: it could not be run on this build.
 */
static const char *status_word(const struct run *r)
{
	switch (r->result.verdict) {
	case VERDICT_PASS:
		return "PASS";
	case VERDICT_FAIL:
		return "FAIL";
	case VERDICT_INCONCLUSIVE:
		return r->result.valid ? "DONE" : "MISS";
	case VERDICT_UNTESTABLE:
		return "ERROR";
	case VERDICT_RIG_FAULT:
	case VERDICT_MAX:
		break;
	}
	return "MISS";
}

/* Takes obj; drops it if an object with that id is there already. */
static void append_once(json_t *array, json_t *obj)
{
	const char *id = json_string_value(json_object_get(obj, "id"));
	size_t i;
	json_t *other;

	json_array_foreach(array, i, other)
	{
		if (strcmp(json_string_value(json_object_get(other, "id")), id) == 0) {
			json_decref(obj);
			return;
		}
	}
	append(array, obj);
}

static json_t *checkout_value(const char *origin, const struct run *r)
{
	json_t *obj = json_object();

	set_checkout_id(obj, "id", origin, r);
	set_text(obj, "origin", origin);
	set_text(obj, "comment", r->kernel_release);
	set(obj, "valid", json_true());
	return obj;
}

static json_t *build_value(const char *origin, const struct run *r)
{
	const bool is_built = strcmp(r->result.reason, "kernel.no-build") != 0;
	json_t *obj = json_object();
	json_t *misc = json_object();

	set_build_id(obj, "id", origin, r);
	set_checkout_id(obj, "checkout_id", origin, r);
	set_text(obj, "origin", origin);
	set_text(obj, "architecture", r->arch);
	set_text(obj, "comment", r->kernel_label);
	set_text(obj, "status", is_built ? "PASS" : "FAIL");
	if (is_built) {
		set_text(misc, "kernel_config_sha256", r->kernel_config_sha256);
		set_text(misc, "kernel_image_sha256", r->kernel_image_sha256);
		set_text(misc, "kernel_version", r->kernel_version);
	}
	set(obj, "misc", misc);
	return obj;
}

static json_t *test_value(const char *origin, const struct run *r)
{
	const char *id_parts[] = {r->id, r->rig};
	auto_strbuf struct strbuf path = STRBUF_INIT, outcome = STRBUF_INIT;
	auto_free char *rig = xasprintf("%s (%s)", r->rig, text_or_empty(r->rig_class));
	json_t *obj = json_object();
	json_t *misc = json_object();
	json_t *environment = json_object();

	strbuf_adds(&path, "stallrig.");
	add_path_part(&path, r->scenario);
	strbuf_adds(&path, ".worst_delay");
	run_text_add_outcome(&outcome, r);

	set_id(obj, "id", origin, "t", id_parts, ARRAY_SIZE(id_parts));
	set_build_id(obj, "build_id", origin, r);
	set_text(obj, "origin", origin);
	set_text(obj, "path", strbuf_str(&path));
	set_text(obj, "status", status_word(r));
	set_text(obj, "comment", strbuf_str(&outcome));
	set_wall(obj, "start_time", r->started_wall_ns);
	if (r->ended_wall_ns)
		set(obj, "duration",
		    json_real((double)(r->ended_wall_ns - r->started_wall_ns) / 1e9));
	if (r->result.worst_us >= 0) {
		json_t *number = json_object();

		set(number, "value", json_real((double)r->result.worst_us / 1e6));
		set_text(number, "unit", "s");
		set_text(number, "prefix", "metric");
		set(obj, "number", number);
	}
	set_text(environment, "comment", rig);
	set(obj, "environment", environment);
	set_text(misc, "run", r->id);
	set_text(misc, "verdict", verdict_name(r->result.verdict));
	set_text(misc, "reason", r->result.reason);
	set_text(misc, "append", r->append);
	set_count(misc, "valid", r->result.valid);
	set_count(misc, "over", r->result.over);
	set(misc, "limit_s", json_real((double)r->limit_us / 1e6));
	set(obj, "misc", misc);
	return obj;
}

int export_kcidb(struct strbuf *out, struct run *const *runs, size_t n,
		 const struct export_options *o, struct err *e)
{
	json_t *root, *version, *checkouts, *builds, *tests;

	if (!is_origin(o->origin))
		return err_set(e, ERR_USAGE, EINVAL,
			       "kcidb: origin '%s' is not made of a-z, 0-9 and _: give --origin",
			       text_or_empty(o->origin));

	root = json_object();
	version = json_object();
	checkouts = json_array();
	builds = json_array();
	tests = json_array();
	set_count(version, "major", 5);
	set_count(version, "minor", 3);
	for (size_t i = 0; i < n; i++) {
		append_once(checkouts, checkout_value(o->origin, runs[i]));
		append_once(builds, build_value(o->origin, runs[i]));
		append_once(tests, test_value(o->origin, runs[i]));
	}
	set(root, "version", version);
	set(root, "checkouts", checkouts);
	set(root, "builds", builds);
	set(root, "tests", tests);
	add_json_line(out, root, JSON_REAL_PRECISION(12) | JSON_INDENT(2));
	return 0;
}
