/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_scenario.c - the part of a scenario file that describes its profile. */
#include "load_scenario.h"

#include <string.h>

#define HZ_MAX        4999 /* the agent's */
#define SETS_MAX      16
#define FUNCTIONS_MAX 16 /* of a set: they have to fit into a frame of the agent link */
#define FUNCTION_MAX  100
#define RELEASES_MAX  16

typedef __typeof__(((struct scenario *)0)->profile) profile_type;

static const cyaml_schema_value_t word_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, FUNCTION_MAX)};

static const cyaml_schema_field_t set_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct scenario_symbols, name, 1,
			       FUNCTION_MAX),
	CYAML_FIELD_SEQUENCE("functions", CYAML_FLAG_POINTER, struct scenario_symbols, functions,
			     &word_schema, 1, FUNCTIONS_MAX),
	CYAML_FIELD_SEQUENCE("releases", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct scenario_symbols, releases, &word_schema, 1, RELEASES_MAX),
	CYAML_FIELD_END};

static const cyaml_schema_value_t set_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct scenario_symbols, set_fields)};

const cyaml_schema_field_t scenario_profile_fields[] = {
	CYAML_FIELD_UINT("hz", CYAML_FLAG_DEFAULT, profile_type, hz),
	CYAML_FIELD_STRING_PTR("event", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, profile_type,
			       event, 1, FUNCTION_MAX),
	CYAML_FIELD_SEQUENCE("sets", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, profile_type, sets,
			     &set_schema, 1, SETS_MAX),
	CYAML_FIELD_END};

static int check_set(const struct scenario *sc, unsigned i, const struct yaml_doc *doc,
		     struct err *e)
{
	const struct scenario_symbols *s = &sc->profile.sets[i];
	auto_free char *name = xasprintf("profile.sets[%u].name", i);

	/* numbers are called LOAD_JOBS_SET_ppm and have 47 bytes */
	if (strspn(s->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(s->name) ||
	    strlen(s->name) > 14)
		return yaml_complain(doc, name, e,
				     "at most 14 small letters, digits and _ are allowed");
	for (unsigned k = 0; k < i; k++)
		if (strcmp(sc->profile.sets[k].name, s->name) == 0 &&
		    (!s->releases_count || !sc->profile.sets[k].releases_count))
			return yaml_complain(doc, name, e,
					     "stands twice, and not for releases of their own");
	for (unsigned k = 0; k < s->functions_count; k++) {
		auto_free char *at = xasprintf("profile.sets[%u].functions[%u]", i, k);
		const char *f = s->functions[k];

		if (strspn(f, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			      "_.$*?") != strlen(f))
			return yaml_complain(doc, at, e, "not the name of a function");
		if (strspn(f, "*?") == strlen(f))
			return yaml_complain(doc, at, e, "it stands for every function");
	}
	return 0;
}

int profile_scenario_check(const struct scenario *sc, const struct yaml_doc *doc, struct err *e)
{
	unsigned line, column;

	if (!yaml_position(doc, "profile", &line, &column))
		return 0;
	if (sc->profile.hz < 1 || sc->profile.hz > HZ_MAX)
		return yaml_complain(doc, "profile.hz", e, "outside 1..%d", HZ_MAX);
	if (sc->profile.event && strcmp(sc->profile.event, "cycles") != 0 &&
	    strcmp(sc->profile.event, "cpu-clock") != 0)
		return yaml_complain(doc, "profile.event", e, "not one of: cycles, cpu-clock");
	for (unsigned i = 0; i < sc->profile.sets_count; i++) {
		int r = check_set(sc, i, doc, e);

		if (r < 0)
			return r;
	}
	return 0;
}
