/* SPDX-License-Identifier: GPL-2.0-or-later */
/* setup.c - the setup of a bisect as JSON. */
#include "bisect/setup.h"

#include <string.h>

#define SETUP_FORMAT 1

static void free_texts(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

void bisect_setup_release(struct bisect_setup *s)
{
	free(s->repo);
	free(s->rig);
	free(s->scenario);
	free(s->config);
	free(s->arch);
	free(s->build);
	free(s->append);
	free(s->against);
	free(s->failure);
	free_texts(s->paths, s->n_paths);
	free_texts(s->hotfixes, s->n_hotfixes);
	*s = (struct bisect_setup){0};
}

void bisect_setup_default(struct bisect_setup *ret)
{
	struct bisect_cfg cfg;

	bisect_cfg_default(&cfg);
	*ret = (struct bisect_setup){
		.target = cfg.target,
		.confirm = 10,
		.ends_min_trials = cfg.ends_min_trials,
		.ends_max_trials = cfg.ends_max_trials,
		.cost = cfg.cost,
	};
}

struct text_key {
	const char *key;
	size_t offset;
	bool is_optional;
};

static const struct text_key text_keys[] = {
	{"repo", offsetof(struct bisect_setup, repo), false},
	{"rig", offsetof(struct bisect_setup, rig), false},
	{"scenario", offsetof(struct bisect_setup, scenario), false},
	{"config", offsetof(struct bisect_setup, config), true},
	{"arch", offsetof(struct bisect_setup, arch), false},
	{"build", offsetof(struct bisect_setup, build), true},
	{"append", offsetof(struct bisect_setup, append), true},
	{"against", offsetof(struct bisect_setup, against), true},
	{"failure", offsetof(struct bisect_setup, failure), false},
};

struct number_key {
	const char *key;
	size_t offset;
	bool is_count;
};

static const struct number_key number_keys[] = {
	{"target", offsetof(struct bisect_setup, target), false},
	{"confirm_trials", offsetof(struct bisect_setup, confirm), true},
	{"ends_min_trials", offsetof(struct bisect_setup, ends_min_trials), true},
	{"ends_max_trials", offsetof(struct bisect_setup, ends_max_trials), true},
	{"max_trials", offsetof(struct bisect_setup, max_trials), true},
	{"trials_per_boot_max", offsetof(struct bisect_setup, trials_per_boot_max), true},
	{"jobs", offsetof(struct bisect_setup, jobs), true},
	{"build_cold_s", offsetof(struct bisect_setup, cost.build_cold_s), false},
	{"build_warm_s", offsetof(struct bisect_setup, cost.build_warm_s), false},
	{"build_per_commit_s", offsetof(struct bisect_setup, cost.build_per_commit_s), false},
	{"boot_s", offsetof(struct bisect_setup, cost.boot_s), false},
	{"trial_s", offsetof(struct bisect_setup, cost.trial_s), false},
};

static json_t *texts_to_json(char *const *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(a, json_string(v[i])) < 0)
			abort(); /* out of memory, as xcalloc() */
	return a;
}

json_t *bisect_setup_to_json(const struct bisect_setup *s)
{
	const char *at = (const char *)s;
	json_t *o = json_pack("{s:s, s:i}", "type", "start", "format", SETUP_FORMAT);

	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++) {
		const char *v = *(char *const *)(const void *)(at + text_keys[i].offset);

		if (v)
			json_object_set_new(o, text_keys[i].key, json_string(v));
	}
	for (size_t i = 0; i < ARRAY_SIZE(number_keys); i++) {
		const void *p = at + number_keys[i].offset;

		json_object_set_new(o, number_keys[i].key,
				    number_keys[i].is_count ? json_integer(*(const unsigned *)p)
							    : json_real(*(const double *)p));
	}
	json_object_set_new(o, "revert", json_boolean(s->has_revert));
	json_object_set_new(o, "paths", texts_to_json(s->paths, s->n_paths));
	json_object_set_new(o, "hotfixes", texts_to_json(s->hotfixes, s->n_hotfixes));
	return o;
}

static void texts_from_json(const json_t *a, char ***ret, size_t *ret_n)
{
	size_t n = json_array_size(a);

	*ret = xcalloc(n + 1, sizeof(char *));
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *v = json_string_value(json_array_get(a, i));

		if (v)
			(*ret)[(*ret_n)++] = xstrdup(v);
	}
}

int bisect_setup_from_json(const json_t *o, struct bisect_setup *ret, struct err *e)
{
	struct bisect_setup s = {0};
	char *at = (char *)&s;
	int r = 0;

	if (json_integer_value(json_object_get(o, "format")) != SETUP_FORMAT)
		return err_set(e, ERR_STORE, EPROTO, "format %lld, this stallrig knows %d",
			       json_integer_value(json_object_get(o, "format")), SETUP_FORMAT);
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++) {
		const char *v = json_string_value(json_object_get(o, text_keys[i].key));

		if (v)
			*(char **)(void *)(at + text_keys[i].offset) = xstrdup(v);
		else if (!text_keys[i].is_optional)
			r = err_set(e, ERR_STORE, EBADMSG, "the start lacks '%s'",
				    text_keys[i].key);
	}
	for (size_t i = 0; i < ARRAY_SIZE(number_keys); i++) {
		const json_t *v = json_object_get(o, number_keys[i].key);
		void *p = at + number_keys[i].offset;

		if (!json_is_number(v))
			r = err_set(e, ERR_STORE, EBADMSG, "the start lacks '%s'",
				    number_keys[i].key);
		else if (number_keys[i].is_count)
			*(unsigned *)p = (unsigned)json_integer_value(v);
		else
			*(double *)p = json_number_value(v);
	}
	s.has_revert = json_is_true(json_object_get(o, "revert"));
	texts_from_json(json_object_get(o, "paths"), &s.paths, &s.n_paths);
	texts_from_json(json_object_get(o, "hotfixes"), &s.hotfixes, &s.n_hotfixes);
	if (r < 0) {
		bisect_setup_release(&s);
		return r;
	}
	*ret = s;
	return 0;
}
