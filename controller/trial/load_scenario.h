/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_scenario.h - the parts of a scenario file that describe loads, and the profile. Private to
 * the room.
 */
#pragma once

#include "rig/yaml.h"
#include "trial/scenario.h"

extern const cyaml_schema_value_t scenario_disk_schema;
extern const cyaml_schema_value_t scenario_load_schema;
extern const cyaml_schema_value_t scenario_limit_schema;
extern const cyaml_schema_field_t scenario_hiccup_fields[];
extern const cyaml_schema_field_t scenario_profile_fields[];

/* Fills in what a load scenario leaves out; of any kind. */
void load_scenario_defaults(struct scenario *sc);
/* Of a load scenario: what the schema cannot say. ERR_CONFIG with file:line:column. */
int load_scenario_check(const struct scenario *sc, const struct yaml_doc *doc,
			struct err *e) must_check;
/* Of any kind of scenario, as above. */
int profile_scenario_check(const struct scenario *sc, const struct yaml_doc *doc,
			   struct err *e) must_check;
