/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_cfg.h - what stands under `boot.exec` in rig.yaml; see stallrig-rig(5). */
#pragma once

#include "rig/yaml.h"

#define HOOK_WORDS_MAX 32

/* A lab's own commands; argument vectors without NULL at the end. */
struct hook_cfg {
	char **deploy, **reset, **power_off; /* NULL = none */
	unsigned deploy_count, reset_count, power_off_count;
	unsigned timeout_s; /* of one */
};

/* For a CYAML_FIELD_MAPPING_PTR. */
extern const cyaml_schema_field_t hook_cfg_fields[];

/* Fills in what is not there and checks the rest; key_path is "boot.exec". ERR_CONFIG. */
int hook_cfg_check(struct hook_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		   struct err *e) must_check;
/* Frees what is in it and itself. Accepts NULL. */
void hook_cfg_free(struct hook_cfg *cfg);
