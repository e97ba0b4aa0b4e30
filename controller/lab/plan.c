/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.c - the description of a nightly run: hil/plans/NAME.yaml. */
#include "lab/plan.h"

#include "base/http_ask.h"
#include "base/parse.h"
#include "rig/names.h"
#include "rig/yaml.h"

#include <ctype.h>
#include <string.h>

#define TEXT_MAX     200
#define APPEND_MAX   1024
#define LIST_MAX     256
#define CONFIGS_MAX  16
#define SETTLE_S     30
#define PREVIOUS     "previous"
#define PRIORITY     100u  /* as of `submit` */
#define PRIORITY_MAX 1000u /* checks of rigs have it too */

#define TEXT(key, type, member) \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, TEXT_MAX)
#define TEXT_OPTIONAL(key, type, member)                                                       \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 1, \
			       TEXT_MAX)
#define UINT_OPTIONAL(key, member) CYAML_FIELD_UINT(key, CYAML_FLAG_OPTIONAL, struct plan, member)

static const cyaml_schema_value_t word_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, TEXT_MAX)};

static const cyaml_schema_field_t kernel_fields[] = {
	TEXT_OPTIONAL("debian", struct plan_kernel, debian),
	TEXT_OPTIONAL("build", struct plan_kernel, build),
	TEXT_OPTIONAL("folder", struct plan_kernel, folder),
	TEXT_OPTIONAL("git", struct plan_kernel, git),
	TEXT_OPTIONAL("branch", struct plan_kernel, branch),
	CYAML_FIELD_SEQUENCE("configs", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct plan_kernel, configs, &word_schema, 1, CONFIGS_MAX),
	CYAML_FIELD_STRING_PTR("command", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			       struct plan_kernel, command, 1, APPEND_MAX),
	YAML_FIELD_BOOL_OPTIONAL("new_only", struct plan_kernel, new_only),
	CYAML_FIELD_UINT("priority", CYAML_FLAG_OPTIONAL, struct plan_kernel, priority),
	CYAML_FIELD_STRING_PTR("append", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			       struct plan_kernel, append, 0, APPEND_MAX),
	CYAML_FIELD_END};

static const cyaml_schema_value_t kernel_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct plan_kernel, kernel_fields)};

static const cyaml_schema_field_t plan_fields[] = {
	TEXT("name", struct plan, name),
	CYAML_FIELD_SEQUENCE("rigs", CYAML_FLAG_POINTER, struct plan, rigs, &word_schema, 1,
			     LIST_MAX),
	CYAML_FIELD_SEQUENCE("scenarios", CYAML_FLAG_POINTER, struct plan, scenarios, &word_schema,
			     1, LIST_MAX),
	CYAML_FIELD_SEQUENCE("kernels", CYAML_FLAG_POINTER, struct plan, kernels, &kernel_schema, 1,
			     LIST_MAX),
	TEXT_OPTIONAL("baseline", struct plan, baseline),
	UINT_OPTIONAL("trials", trials),
	UINT_OPTIONAL("budget_minutes", budget_minutes),
	UINT_OPTIONAL("retries", retries),
	YAML_FIELD_BOOL_OPTIONAL("new_only", struct plan, new_only),
	UINT_OPTIONAL("settle_seconds", settle_s),
	UINT_OPTIONAL("priority", priority),
	TEXT_OPTIONAL("notify", struct plan, notify),
	CYAML_FIELD_END};

static const cyaml_schema_value_t plan_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct plan, plan_fields)};

static const struct {
	const char *key;
	size_t offset;
	unsigned min, max;
} ranges[] = {
	{"trials", offsetof(struct plan, trials), 1, 10000},
	{"budget_minutes", offsetof(struct plan, budget_minutes), 1, 10080},
	{"retries", offsetof(struct plan, retries), 0, 100},
	{"settle_seconds", offsetof(struct plan, settle_s), 0, 3600},
	{"priority", offsetof(struct plan, priority), 0, PRIORITY_MAX},
};

/* What git is given as a word of its own, and what becomes part of a run's name in the night. */
static bool is_plain(const char *text)
{
	if (*text == '-')
		return false;
	for (; *text; text++)
		if (!isgraph((unsigned char)*text) || *text == '|')
			return false;
	return true;
}

static int check_git(const struct plan_kernel *k, const char *at, const struct yaml_doc *doc,
		     struct err *e)
{
	const struct {
		const char *key;
		bool is_there;
	} only[] = {{"branch", k->branch}, {"configs", k->configs}, {"command", k->command}};

	for (size_t i = 0; i < ARRAY_SIZE(only); i++) {
		auto_free char *key_at = xasprintf("%s.%s", at, only[i].key);

		if (only[i].is_there && !k->git)
			return yaml_complain(doc, key_at, e, "goes only with git");
	}
	if (!k->git)
		return 0;
	if (!k->branch)
		return yaml_complain(doc, at, e, "git needs a branch");
	if (!is_plain(k->git) || !is_plain(k->branch))
		return yaml_complain(doc, at, e,
				     "git and branch have neither blanks nor '|' in them, nor '-' "
				     "at their beginning");
	return 0;
}

static int check_kernel(const struct plan_kernel *k, unsigned i, const struct yaml_doc *doc,
			struct err *e)
{
	auto_free char *at = xasprintf("kernels[%u]", i);
	auto_free char *append_at = xasprintf("kernels[%u].append", i);
	auto_free char *priority_at = xasprintf("kernels[%u].priority", i);
	unsigned given = (k->debian ? 1u : 0) + (k->build ? 1u : 0) + (k->folder ? 1u : 0) +
			 (k->git ? 1u : 0);

	if (given != 1)
		return yaml_complain(doc, at, e,
				     "give exactly one of debian, build, folder and git, not %u",
				     given);
	for (const char *p = k->append ? k->append : ""; *p; p++)
		if (!isprint((unsigned char)*p))
			return yaml_complain(doc, append_at, e, "not printable ASCII");
	if (k->priority > PRIORITY_MAX)
		return yaml_complain(doc, priority_at, e, "outside 0..%u", PRIORITY_MAX);
	return check_git(k, at, doc, e);
}

/* The same thing twice would be run once and look like a mistake of the program. */
static int check_unique(char *const *list, unsigned n, const char *key, const struct yaml_doc *doc,
			struct err *e)
{
	for (unsigned i = 1; i < n; i++)
		for (unsigned k = 0; k < i; k++) {
			auto_free char *at = xasprintf("%s[%u]", key, i);

			if (strcmp(list[i], list[k]) == 0)
				return yaml_complain(doc, at, e, "is in the list twice");
		}
	return 0;
}

static int check(const struct plan *p, const struct yaml_doc *doc, struct err *e)
{
	int r = 0;

	if (!parse_is_name(p->name))
		return yaml_complain(doc, "name", e,
				     "only letters, digits and . _ + - are allowed");
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		unsigned line, column, v;

		memcpy(&v, (const char *)p + ranges[i].offset, sizeof(v));
		if (yaml_position(doc, ranges[i].key, &line, &column) &&
		    (v < ranges[i].min || v > ranges[i].max))
			return yaml_complain(doc, ranges[i].key, e, "outside %u..%u", ranges[i].min,
					     ranges[i].max);
	}
	for (unsigned i = 0; r >= 0 && i < p->kernels_count; i++)
		r = check_kernel(&p->kernels[i], i, doc, e);
	if (r >= 0)
		r = check_unique(p->rigs, p->rigs_count, "rigs", doc, e);
	if (r >= 0)
		r = check_unique(p->scenarios, p->scenarios_count, "scenarios", doc, e);
	return r;
}

static void fill_in_kernel(const struct plan *p, unsigned i, const struct yaml_doc *doc)
{
	auto_free char *new_only = xasprintf("kernels[%u].new_only", i);
	auto_free char *priority = xasprintf("kernels[%u].priority", i);
	struct plan_kernel *k = &p->kernels[i];
	unsigned line, column;

	if (!k->append)
		k->append = xstrdup("");
	/* what was dropped once is there every night */
	if (!yaml_position(doc, new_only, &line, &column))
		k->new_only = yaml_position(doc, "new_only", &line, &column) ? p->new_only
									     : k->folder != NULL;
	if (!yaml_position(doc, priority, &line, &column))
		k->priority = p->priority;
	if (k->git && !k->configs) {
		k->configs = xcalloc(1, sizeof(*k->configs));
		k->configs[0] = xstrdup("virtual");
		k->configs_count = 1;
	}
	if (k->git) {
		auto_free char *shown = http_url_shown(k->git);

		k->text = xasprintf("%s of %s", k->branch, shown);
	} else {
		k->text = xstrdup(k->debian ? k->debian : k->build ? k->build : k->folder);
	}
}

static void fill_in(struct plan *p, const struct yaml_doc *doc)
{
	unsigned line, column;

	if (!yaml_position(doc, "priority", &line, &column))
		p->priority = PRIORITY;
	for (unsigned i = 0; i < p->kernels_count; i++)
		fill_in_kernel(p, i, doc);
	if (!p->baseline)
		p->baseline = xstrdup(PREVIOUS);
	if (!p->notify)
		p->notify = xstrdup("");
	if (!yaml_position(doc, "retries", &line, &column))
		p->retries = 1;
	if (!yaml_position(doc, "settle_seconds", &line, &column))
		p->settle_s = SETTLE_S;
}

int plan_load(const char *name_or_path, struct plan **ret, struct err *e)
{
	auto_plan struct plan *p = NULL;
	auto_yaml_doc struct yaml_doc *doc = NULL;
	auto_free char *path = NULL;
	void *data = NULL;
	int r;

	r = names_find(&names_of_plans, name_or_path, &path, e);
	if (r < 0)
		return r;
	r = yaml_load(path, &plan_schema, &data, &doc, e);
	if (r < 0)
		return r;
	p = data;
	r = check(p, doc, e);
	if (r < 0)
		return r;
	fill_in(p, doc);
	r = sha256_file(path, p->sha256, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	p->path = take(path);

	*ret = take(p);
	return 0;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	util_free(p->path);
	p->path = NULL;
	for (unsigned i = 0; i < p->kernels_count; i++)
		util_free(p->kernels[i].text);
	yaml_data_free(&plan_schema, p);
}

const char *plan_kernel_text(const struct plan_kernel *k)
{
	return k->text;
}

bool plan_names_baseline(const struct plan *p)
{
	return strcmp(p->baseline, PREVIOUS) != 0;
}

bool plan_is_baseline(const struct plan *p, const char *kernel, const char *append)
{
	return plan_names_baseline(p) && strcmp(p->baseline, kernel) == 0 && !*append;
}
