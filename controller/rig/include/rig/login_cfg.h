/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_cfg.h - what stands under `login` in rig.yaml; see stallrig-rig(5). */
#pragma once

#include "rig/yaml.h"

struct login_cfg {
	char *user;
	char *password_file; /* its first line is the password; NULL = see the next one */
	char *password_env;  /* name of the environment variable that holds it; NULL = none is sent
			      */
	char *login_prompt, *password_prompt, *shell_prompt; /* as they end, with their blanks */
	unsigned timeout_s;        /* from the first prompt to a shell that answers */
	char *folder;              /* on the target, for what is uploaded */
	unsigned upload_timeout_s; /* of all that is uploaded in one boot */
	unsigned upload_max_kib;   /* the same, compressed */
};

/* For a CYAML_FIELD_MAPPING_PTR. */
extern const cyaml_schema_field_t login_cfg_fields[];

/* Fills in what is not there and checks the rest; key_path is "login". ERR_CONFIG. */
int login_cfg_check(struct login_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		    struct err *e) must_check;
/*
 * The password, NULL if there is none. ERR_CONFIG names the file or variable that cannot be read,
 * is readable by others (-EACCES) or holds what cannot be typed; never what it holds. Caller frees.
 */
int login_cfg_password(const struct login_cfg *cfg, char **ret, struct err *e) must_check;
/* Frees what is in it and itself. Accepts NULL. */
void login_cfg_free(struct login_cfg *cfg);
