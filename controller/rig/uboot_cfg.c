/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uboot_cfg.c - the keys of boot.uboot. */
#include "rig/uboot_cfg.h"

#include <ctype.h>
#include <string.h>

#define TEXT_MAX      200
#define CATCH_MAX_S   600
#define CATCH_USUAL_S 60

#define TEXT(key, member)                                                                       \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct uboot_cfg, \
			       member, 1, TEXT_MAX)

static const cyaml_schema_value_t command_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, TEXT_MAX)};

const cyaml_schema_field_t uboot_cfg_fields[] = {
	TEXT("firmware", firmware),
	TEXT("prompt", prompt),
	TEXT("autoboot", autoboot),
	TEXT("stop_key", stop_key),
	YAML_FIELD_BOOL_OPTIONAL("no_echo", struct uboot_cfg, is_mute),
	CYAML_FIELD_UINT("catch_s", CYAML_FLAG_OPTIONAL, struct uboot_cfg, catch_s),
	CYAML_FIELD_SEQUENCE("commands", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct uboot_cfg,
			     commands, &command_schema, 0, UBOOT_COMMANDS_MAX),
	CYAML_FIELD_SEQUENCE("reset", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct uboot_cfg,
			     reset, &command_schema, 1, UBOOT_WORDS_MAX),
	TEXT("fetch", fetch),
	TEXT("folder", folder),
	TEXT("prefix", prefix),
	TEXT("image", image),
	TEXT("kernel_addr", kernel_addr),
	TEXT("initrd_addr", initrd_addr),
	TEXT("dtb_addr", dtb_addr),
	TEXT("dtb", dtb),
	CYAML_FIELD_END};

static void fill(char **text, const char *usual)
{
	if (!*text)
		*text = xstrdup(usual);
}

static int complain(const struct yaml_doc *doc, const char *key_path, const char *key,
		    const char *why, struct err *e)
{
	auto_free char *path = xasprintf("%s.%s", key_path, key);

	return yaml_complain(doc, path, e, "%s", why);
}

/* A number or ${variable}: it becomes a word of a command. */
static bool is_address(const char *text)
{
	if (strncmp(text, "${", 2) == 0) {
		size_t n = strspn(text + 2, "abcdefghijklmnopqrstuvwxyz_0123456789");

		return n > 0 && strcmp(text + 2 + n, "}") == 0;
	}
	return strncmp(text, "0x", 2) == 0 && text[2] &&
	       strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2);
}

static bool is_path(const char *text)
{
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("/._+-:", *p))
			return false;
	return true;
}

static bool is_printable(const char *text)
{
	for (const char *p = text; *p; p++)
		if (!isprint((unsigned char)*p))
			return false;
	return true;
}

int uboot_cfg_check(struct uboot_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		    struct err *e)
{
	const struct {
		const char *key, *value;
	} addresses[] = {{"kernel_addr", cfg->kernel_addr},
			 {"initrd_addr", cfg->initrd_addr},
			 {"dtb_addr", cfg->dtb_addr}},
	  paths[] = {{"prefix", cfg->prefix}, {"dtb", cfg->dtb}};

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		if (addresses[i].value && !is_address(addresses[i].value))
			return complain(doc, key_path, addresses[i].key,
					"must be 0x… or ${variable}", e);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (paths[i].value && !is_path(paths[i].value))
			return complain(doc, key_path, paths[i].key,
					"only letters, digits and /._+-: are allowed", e);
	for (unsigned i = 0; i < cfg->commands_count; i++) {
		auto_free char *key = xasprintf("commands[%u]", i);

		if (!is_printable(cfg->commands[i]))
			return complain(doc, key_path, key, "must be one line of ASCII", e);
	}
	if (cfg->catch_s > CATCH_MAX_S)
		return complain(doc, key_path, "catch_s", "outside 1..600", e);
	if (!cfg->firmware && !cfg->folder)
		return complain(doc, key_path, "folder",
				"a board needs the folder of the server that it fetches from", e);
	if (cfg->folder && *cfg->folder != '/')
		return complain(doc, key_path, "folder", "must begin with /", e);
	if (cfg->fetch && strcmp(cfg->fetch, "tftpboot") != 0 && strcmp(cfg->fetch, "wget") != 0)
		return complain(doc, key_path, "fetch", "must be 'tftpboot' or 'wget'", e);
	if (cfg->image && strcmp(cfg->image, "booti") != 0 && strcmp(cfg->image, "bootz") != 0 &&
	    strcmp(cfg->image, "fit") != 0)
		return complain(doc, key_path, "image", "must be 'booti', 'bootz' or 'fit'", e);

	fill(&cfg->prompt, "=> ");
	fill(&cfg->autoboot, "stop autoboot");
	fill(&cfg->stop_key, " ");
	fill(&cfg->fetch, "tftpboot");
	fill(&cfg->image, "booti");
	fill(&cfg->kernel_addr, "${kernel_addr_r}");
	fill(&cfg->initrd_addr, "${ramdisk_addr_r}");
	fill(&cfg->dtb_addr, cfg->dtb ? "${fdt_addr_r}" : "${fdtcontroladdr}");
	if (!cfg->catch_s)
		cfg->catch_s = CATCH_USUAL_S;
	return 0;
}

void uboot_cfg_free(struct uboot_cfg *cfg)
{
	if (!cfg)
		return;
	for (unsigned i = 0; i < cfg->commands_count; i++)
		free(cfg->commands[i]);
	for (unsigned i = 0; i < cfg->reset_count; i++)
		free(cfg->reset[i]);
	char *const owned[] = {cfg->firmware, cfg->prompt,      cfg->autoboot,    cfg->stop_key,
			       cfg->fetch,    cfg->folder,      cfg->prefix,      cfg->image,
			       cfg->dtb,      cfg->kernel_addr, cfg->initrd_addr, cfg->dtb_addr};

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	free(cfg->commands);
	free(cfg->reset);
	util_free(cfg);
}
