/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_cfg.c - the keys of boot.exec. */
#include "rig/hook_cfg.h"

#define WORD_MAX        200
#define TIMEOUT_USUAL_S 120
#define TIMEOUT_MAX_S   3600

static const cyaml_schema_value_t word_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, WORD_MAX)};

#define WORDS(key, member)                                                                   \
	CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct hook_cfg, \
			     member, &word_schema, 1, HOOK_WORDS_MAX)

const cyaml_schema_field_t hook_cfg_fields[] = {
	WORDS("deploy", deploy), WORDS("reset", reset), WORDS("power_off", power_off),
	CYAML_FIELD_UINT("timeout_s", CYAML_FLAG_OPTIONAL, struct hook_cfg, timeout_s),
	CYAML_FIELD_END};

int hook_cfg_check(struct hook_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		   struct err *e)
{
	auto_free char *timeout = xasprintf("%s.timeout_s", key_path);

	if (!cfg->timeout_s)
		cfg->timeout_s = TIMEOUT_USUAL_S;
	if (cfg->timeout_s > TIMEOUT_MAX_S)
		return yaml_complain(doc, timeout, e, "outside 1..%u", TIMEOUT_MAX_S);
	return 0;
}

static void free_words(char **words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(words[i]);
	free(words);
}

void hook_cfg_free(struct hook_cfg *cfg)
{
	if (!cfg)
		return;
	free_words(cfg->deploy, cfg->deploy_count);
	free_words(cfg->reset, cfg->reset_count);
	free_words(cfg->power_off, cfg->power_off_count);
	util_free(cfg);
}
