/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig_cfg.c - the description of a rig: fixtures/rigs/NAME.yaml. */
#include "base/fdio.h"
#include "base/parse.h"
#include "rig/names.h"
#include "rig/rig.h"
#include "rig/yaml.h"

#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX    200
#define APPEND_MAX  1024
#define MODULES_MAX 64
#define TAGS_MAX    32

/* One entry of the list `sticks`, with the switch that cuts it. */
struct stick_entry {
	char *name;
	__typeof__(((struct rig_cfg *)0)->stick) stick;
	struct switch_cfg sw;
};

/* What libcyaml fills: rig_cfg with the list of sticks as it stands in the file. */
struct rig_file {
	struct rig_cfg cfg;
	struct stick_entry *sticks;
	unsigned sticks_count;
};

/* A text: at least one byte. */
#define TEXT(key, type, member) \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 1, TEXT_MAX)

/* A text that may be absent: NULL then. */
#define OPTIONAL_TEXT(key, type, member)                                                       \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 1, \
			       TEXT_MAX)

static const cyaml_schema_value_t module_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, TEXT_MAX)};

typedef __typeof__(((struct rig_cfg *)0)->boot) boot_type;
typedef __typeof__(((struct rig_cfg *)0)->console) console_type;
typedef __typeof__(((struct rig_cfg *)0)->link) link_type;

static const cyaml_schema_field_t boot_fields[] = {
	TEXT("driver", boot_type, driver),
	CYAML_FIELD_UINT("attempts", CYAML_FLAG_OPTIONAL, boot_type, attempts),
	OPTIONAL_TEXT("machine", boot_type, machine),
	OPTIONAL_TEXT("cpu", boot_type, cpu),
	CYAML_FIELD_UINT("cpus", CYAML_FLAG_DEFAULT, boot_type, cpus),
	CYAML_FIELD_UINT("memory_mib", CYAML_FLAG_OPTIONAL, boot_type, memory_mib),
	CYAML_FIELD_STRING_PTR("append", CYAML_FLAG_POINTER, boot_type, append, 0, APPEND_MAX),
	OPTIONAL_TEXT("pstore", boot_type, pstore),
	CYAML_FIELD_UINT("timeout_s", CYAML_FLAG_DEFAULT, boot_type, timeout_s),
	CYAML_FIELD_SEQUENCE("modules", CYAML_FLAG_POINTER, boot_type, modules, &module_schema, 0,
			     MODULES_MAX),
	CYAML_FIELD_MAPPING_PTR("exec", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, boot_type, exec,
				hook_cfg_fields),
	OPTIONAL_TEXT("initrd", boot_type, initrd),
	CYAML_FIELD_MAPPING_PTR("uboot", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, boot_type, uboot,
				uboot_cfg_fields),
	CYAML_FIELD_END};

static const cyaml_schema_field_t console_fields[] = {
	TEXT("driver", console_type, driver),
	OPTIONAL_TEXT("address", console_type, address),
	TEXT("device", console_type, device),
	CYAML_FIELD_UINT("baud", CYAML_FLAG_OPTIONAL, console_type, baud),
	OPTIONAL_TEXT("flow", console_type, flow),
	CYAML_FIELD_UINT("tx_byte_us", CYAML_FLAG_OPTIONAL, console_type, tx_byte_us),
	CYAML_FIELD_END};

static const cyaml_schema_field_t link_fields[] = {TEXT("driver", link_type, driver),
						   CYAML_FIELD_END};

static const cyaml_schema_field_t stick_fields[] = {
	TEXT("name", struct stick_entry, name),
	TEXT("serial", struct stick_entry, stick.serial),
	TEXT("usb_path", struct stick_entry, stick.usb_path),
	TEXT("filesystem", struct stick_entry, stick.filesystem),
	CYAML_FIELD_UINT("size_mib", CYAML_FLAG_DEFAULT, struct stick_entry, stick.size_mib),
	TEXT("file", struct stick_entry, stick.file),
	CYAML_FIELD_UINT("file_mib", CYAML_FLAG_DEFAULT, struct stick_entry, stick.file_mib),
	CYAML_FIELD_STRING_PTR("content_sha256", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			       struct stick_entry, stick.content_sha256, 0, TEXT_MAX),
	CYAML_FIELD_MAPPING("switch", CYAML_FLAG_DEFAULT, struct stick_entry, sw,
			    switch_cfg_fields),
	CYAML_FIELD_END};

static const cyaml_schema_value_t stick_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct stick_entry, stick_fields)};

static const cyaml_schema_field_t rig_fields[] = {
	TEXT("name", struct rig_file, cfg.name),
	TEXT("class", struct rig_file, cfg.rig_class),
	TEXT("arch", struct rig_file, cfg.arch),
	OPTIONAL_TEXT("golden_kernel", struct rig_file, cfg.golden_kernel),
	CYAML_FIELD_SEQUENCE("tags", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct rig_file,
			     cfg.tags, &module_schema, 1, TAGS_MAX),
	CYAML_FIELD_MAPPING("boot", CYAML_FLAG_DEFAULT, struct rig_file, cfg.boot, boot_fields),
	CYAML_FIELD_MAPPING("console", CYAML_FLAG_DEFAULT, struct rig_file, cfg.console,
			    console_fields),
	CYAML_FIELD_MAPPING("link", CYAML_FLAG_DEFAULT, struct rig_file, cfg.link, link_fields),
	CYAML_FIELD_MAPPING_PTR("login", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct rig_file,
				cfg.login, login_cfg_fields),
	CYAML_FIELD_MAPPING_PTR("power", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct rig_file,
				cfg.power, switch_cfg_fields),
	CYAML_FIELD_SEQUENCE("sticks", CYAML_FLAG_POINTER, struct rig_file, sticks, &stick_schema,
			     1, 2),
	CYAML_FIELD_END};

static const cyaml_schema_value_t rig_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct rig_file, rig_fields)};

/* Numbers have a range, */
struct number_rule {
	const char *key;
	size_t offset; /* in struct rig_cfg */
	unsigned min, max;
};

#define NUMBER(key, member, min, max)                           \
	{                                                       \
		key, offsetof(struct rig_cfg, member), min, max \
	}

static const struct number_rule number_rules[] = {
	NUMBER("boot.cpus", boot.cpus, 1, 64),
	NUMBER("boot.attempts", boot.attempts, 1, 20),
	NUMBER("boot.timeout_s", boot.timeout_s, 1, 3600),
	NUMBER("console.baud", console.baud, 0, 4000000),
	NUMBER("console.tx_byte_us", console.tx_byte_us, 0, 100000),
	NUMBER("sticks[0].size_mib", stick.size_mib, 16, 65536),
	NUMBER("sticks[0].file_mib", stick.file_mib, 1, 65536),
};

/* some texts are one of a few, */
struct choice_rule {
	const char *key;
	size_t offset;
	const char *choices[4];
};

#define CHOICE(key, member, ...)                       \
	{                                              \
		key, offsetof(struct rig_cfg, member), \
		{                                      \
			__VA_ARGS__                    \
		}                                      \
	}

static const struct choice_rule choice_rules[] = {
	CHOICE("class", rig_class, "virtual", "board"),
	CHOICE("arch", arch, "x86_64", "arm64"),
	CHOICE("boot.driver", boot.driver, "qemu", "uboot", "exec"),
	CHOICE("console.driver", console.driver, "socket", "serial"),
	CHOICE("console.flow", console.flow, "none", "rtscts", "xonxoff"),
	CHOICE("link.driver", link.driver, "virtio-serial", "console"),
	CHOICE("sticks[0].filesystem", stick.filesystem, "ext4", "vfat", "exfat"),
};

/* and some become file names, device names or parts of a QEMU option. */
struct name_rule {
	const char *key;
	size_t offset;
};

#define NAME(key, member)                             \
	{                                             \
		key, offsetof(struct rig_cfg, member) \
	}

static const struct name_rule name_rules[] = {
	NAME("name", name),
	NAME("console.device", console.device),
	NAME("sticks[0].name", stick_switch.name),
	NAME("sticks[0].serial", stick.serial),
	NAME("sticks[0].usb_path", stick.usb_path),
	NAME("sticks[0].file", stick.file),
};

static const char *text_at(const struct rig_cfg *cfg, size_t offset)
{
	return *(char *const *)(const void *)((const char *)cfg + offset);
}

static unsigned number_at(const struct rig_cfg *cfg, size_t offset)
{
	return *(const unsigned *)(const void *)((const char *)cfg + offset);
}

bool rig_is_qemu(const struct rig_cfg *cfg)
{
	return strcmp(cfg->boot.driver, "qemu") == 0 ||
	       (cfg->boot.uboot && cfg->boot.uboot->firmware);
}

bool rig_loses_records(const struct rig_cfg *cfg)
{
	return cfg->boot.pstore && strcmp(cfg->boot.pstore, "ram") == 0;
}

bool rig_cuts_neighbour(const struct rig_cfg *cfg)
{
	return cfg->neighbour && cfg->stick_switch.is_hub_cut && cfg->neighbour->sw.hub_port;
}

static int check_numbers(const struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(number_rules); i++) {
		const struct number_rule *rule = &number_rules[i];
		unsigned v = number_at(cfg, rule->offset);

		if (v < rule->min || v > rule->max)
			return yaml_complain(doc, rule->key, e, "outside %u..%u", rule->min,
					     rule->max);
	}
	return 0;
}

static int check_choices(const struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(choice_rules); i++) {
		const struct choice_rule *rule = &choice_rules[i];
		auto_strbuf struct strbuf known = STRBUF_INIT;
		bool is_known = false;

		for (size_t c = 0; c < ARRAY_SIZE(rule->choices) && rule->choices[c]; c++) {
			is_known |= strcmp(text_at(cfg, rule->offset), rule->choices[c]) == 0;
			strbuf_addf(&known, "%s'%s'", c ? " or " : "", rule->choices[c]);
		}
		if (!is_known)
			return yaml_complain(doc, rule->key, e, "must be %s", strbuf_str(&known));
	}
	return 0;
}

static int check_names(const struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_rules); i++) {
		if (!parse_is_name(text_at(cfg, name_rules[i].offset)))
			return yaml_complain(doc, name_rules[i].key, e,
					     "only letters, digits and ._+- are allowed");
	}
	for (unsigned i = 0; i < cfg->tags_count; i++) {
		auto_free char *at = xasprintf("tags[%u]", i);

		if (!parse_is_name(cfg->tags[i]))
			return yaml_complain(doc, at, e,
					     "only letters, digits and ._+- are allowed");
	}
	return 0;
}

static bool is_sha256(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int check_rest(const struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	/* file system structures, measured: below 2 % for each kind */
	const unsigned need_mib = cfg->stick.file_mib + cfg->stick.file_mib / 50 + 12;

	if (need_mib > cfg->stick.size_mib)
		return yaml_complain(doc, "sticks[0].size_mib", e,
				     "a file of %u MiB needs a stick of at least %u MiB",
				     cfg->stick.file_mib, need_mib);
	/* FAT keeps a file's size in 32 bits */
	if (strcmp(cfg->stick.filesystem, "vfat") == 0 && cfg->stick.file_mib > 4095)
		return yaml_complain(doc, "sticks[0].file_mib", e,
				     "a file on vfat is at most 4095 MiB");
	if (*cfg->stick.content_sha256 && !is_sha256(cfg->stick.content_sha256))
		return yaml_complain(doc, "sticks[0].content_sha256", e,
				     "must be 64 lower-case hexadecimal digits");
	for (unsigned i = 0; i < cfg->boot.modules_count; i++) {
		char key[32];

		(void)snprintf(key, sizeof(key), "boot.modules[%u]", i);
		/* it becomes a line of a file in the initramfs */
		if (strpbrk(cfg->boot.modules[i], "\n\r\t/"))
			return yaml_complain(doc, key, e, "not a module name with parameters");
	}
	if (strpbrk(cfg->boot.append, "\n\r\t"))
		return yaml_complain(doc, "boot.append", e, "must be one line");
	return 0;
}

/* What a target in QEMU needs, and what only a real one has. */
static int check_target(const struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	const bool is_qemu = rig_is_qemu(cfg);
	const bool is_uboot = strcmp(cfg->boot.driver, "uboot") == 0;
	const bool is_exec = strcmp(cfg->boot.driver, "exec") == 0;
	const struct {
		const char *key;
		bool is_there;
	} qemu_keys[] = {{"boot.machine", cfg->boot.machine != NULL},
			 {"boot.cpu", cfg->boot.cpu != NULL},
			 {"boot.memory_mib", cfg->boot.memory_mib != 0}};

	if (is_uboot != (cfg->boot.uboot != NULL))
		return yaml_complain(doc, "boot.uboot", e,
				     is_uboot ? "driver 'uboot' needs this key"
					      : "only driver 'uboot' has this key");
	if (is_exec != (cfg->boot.exec != NULL))
		return yaml_complain(doc, "boot.exec", e,
				     is_exec ? "driver 'exec' needs this key"
					     : "only driver 'exec' has this key");
	/* something must start it and end it */
	if (is_exec && !cfg->power && !(cfg->boot.exec->reset && cfg->boot.exec->power_off))
		return yaml_complain(
			doc, "boot.exec", e,
			"a board without the key 'power' needs 'reset' and 'power_off'");
	for (size_t i = 0; i < ARRAY_SIZE(qemu_keys); i++)
		if (qemu_keys[i].is_there != is_qemu)
			return yaml_complain(doc, qemu_keys[i].key, e,
					     is_qemu ? "a target in QEMU needs this key"
						     : "only a target in QEMU has this key");
	if (is_qemu && (cfg->boot.memory_mib < 128 || cfg->boot.memory_mib > 65536))
		return yaml_complain(doc, "boot.memory_mib", e, "outside 128..65536");
	if (is_qemu && strpbrk(cfg->boot.cpu, " \n\r\t"))
		return yaml_complain(doc, "boot.cpu", e, "not a CPU model");
	if (is_qemu && strpbrk(cfg->boot.machine, " \n\r\t"))
		return yaml_complain(doc, "boot.machine", e, "not a machine type");
	if (is_qemu && (cfg->console.address || strcmp(cfg->console.driver, "socket") != 0))
		return yaml_complain(doc, "console", e,
				     "the console of a target in QEMU is a socket without address");
	if (!is_qemu && !cfg->console.address)
		return yaml_complain(doc, "console.address", e, "a board needs this key");
	if (is_qemu ? cfg->power != NULL : !cfg->power && !is_exec)
		return yaml_complain(doc, "power", e,
				     is_qemu ? "QEMU is its own power switch"
					     : "a board needs a switch for its power");
	if (cfg->power && !switch_cfg_is_standalone(cfg->power))
		return yaml_complain(doc, "power.driver", e, "not a switch for a board");
	if (!is_qemu && strcmp(cfg->stick_switch.driver, "qmp") == 0)
		return yaml_complain(doc, "sticks[0].switch.driver", e,
				     "only a target in QEMU has that");
	if (switch_cfg_is_soft(&cfg->stick_switch) && is_qemu != (cfg->stick_switch.port != 0))
		return yaml_complain(doc, "sticks[0].switch.port", e,
				     is_qemu ? "a target in QEMU needs this key: the port that the "
					       "stick is plugged into"
					     : "only a target in QEMU has this key");
	if (cfg->stick_switch.is_hub_cut && !cfg->stick_switch.hub_port)
		return yaml_complain(doc, "sticks[0].switch.cut_hub", e,
				     "there is no hub without hub_port");
	if (!is_qemu && !*cfg->stick.content_sha256)
		return yaml_complain(doc, "sticks[0].content_sha256", e,
				     "a real stick needs the SHA-256 of its file");
	if (strcmp(cfg->console.driver, "serial") == 0 && !cfg->console.baud)
		return yaml_complain(doc, "console.baud", e, "a serial line needs its rate");
	if (!is_qemu && strcmp(cfg->link.driver, "virtio-serial") == 0)
		return yaml_complain(doc, "link.driver", e, "only a target in QEMU has that");
	return 0;
}

/* Where a crashed kernel's records are kept, and how they come through. */
static int check_pstore(const struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	const char *pstore = cfg->boot.pstore;

	if (cfg->boot.uboot && cfg->boot.uboot->reset &&
	    (cfg->boot.uboot->firmware || !rig_loses_records(cfg)))
		return yaml_complain(doc, "boot.uboot.reset", e,
				     "only a board with 'pstore: ram' is reset");
	if (!pstore)
		return 0;
	if (strcmp(pstore, "ram") != 0 && strcmp(pstore, "nvram") != 0)
		return yaml_complain(doc, "boot.pstore", e, "must be 'nvram' or 'ram'");
	if (rig_is_qemu(cfg) && rig_loses_records(cfg))
		return yaml_complain(doc, "boot.pstore", e,
				     "the RAM of a target in QEMU goes with each boot: must be "
				     "'nvram'");
	if (rig_is_qemu(cfg) && (strcmp(cfg->arch, "x86_64") != 0 || cfg->boot.uboot))
		return yaml_complain(doc, "boot.pstore", e,
				     "in QEMU only a target of arch 'x86_64' with driver 'qemu' "
				     "has it");
	if (rig_loses_records(cfg) && cfg->boot.exec && !cfg->boot.exec->reset)
		return yaml_complain(doc, "boot.pstore", e,
				     "'ram' needs the command boot.exec.reset: the power must stay "
				     "on");
	return 0;
}

/* A target with a user space of its own. */
static int check_login(const struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	if (!cfg->login && cfg->boot.initrd)
		return yaml_complain(doc, "boot.initrd", e,
				     "only a target with the key 'login' has a user space of its "
				     "own");
	if (!cfg->login)
		return 0;
	if (cfg->boot.initrd && *cfg->boot.initrd != '/')
		return yaml_complain(doc, "boot.initrd", e, "must begin with /");
	if (!cfg->boot.initrd && strcmp(cfg->boot.driver, "qemu") == 0)
		return yaml_complain(doc, "boot", e,
				     "driver 'qemu' with 'login' needs the key 'initrd'");
	if (strcmp(cfg->link.driver, "console") != 0)
		return yaml_complain(doc, "link.driver", e,
				     "an agent that comes in by a login answers on the console");
	return 0;
}

static int check(struct rig_cfg *cfg, const struct yaml_doc *doc, struct err *e)
{
	int r;

	r = check_numbers(cfg, doc, e);
	if (r == 0)
		r = check_choices(cfg, doc, e);
	if (r == 0)
		r = check_names(cfg, doc, e);
	if (r == 0)
		r = switch_cfg_check(&cfg->stick_switch, doc, "sticks[0].switch", e);
	if (r == 0 && cfg->power)
		r = switch_cfg_check(cfg->power, doc, "power", e);
	if (r == 0)
		r = check_rest(cfg, doc, e);
	if (r == 0)
		r = check_target(cfg, doc, e);
	if (r == 0)
		r = check_pstore(cfg, doc, e);
	if (r == 0 && cfg->boot.exec)
		r = hook_cfg_check(cfg->boot.exec, doc, "boot.exec", e);
	if (r == 0 && cfg->login)
		r = login_cfg_check(cfg->login, doc, "login", e);
	if (r == 0)
		r = check_login(cfg, doc, e);
	if (r == 0 && cfg->boot.uboot)
		r = uboot_cfg_check(cfg->boot.uboot, doc, "boot.uboot", e);
	return r;
}

/* A second stick has the content of the first and a port of its own. f still has the list. */
static int check_neighbour(struct rig_file *f, const struct yaml_doc *doc, struct err *e)
{
	const struct stick_entry *a = &f->sticks[0];
	struct stick_entry *b = &f->sticks[1];
	int r;

	if (f->sticks_count < 2)
		return 0;
	const struct {
		const char *key;
		bool is_same;
	} same[] = {{"sticks[1].filesystem", strcmp(a->stick.filesystem, b->stick.filesystem) == 0},
		    {"sticks[1].file", strcmp(a->stick.file, b->stick.file) == 0},
		    {"sticks[1].size_mib", a->stick.size_mib == b->stick.size_mib},
		    {"sticks[1].file_mib", a->stick.file_mib == b->stick.file_mib}};
	const struct {
		const char *key, *first, *second;
	} own[] = {{"sticks[1].name", a->name, b->name},
		   {"sticks[1].serial", a->stick.serial, b->stick.serial},
		   {"sticks[1].usb_path", a->stick.usb_path, b->stick.usb_path}};

	r = switch_cfg_check(&b->sw, doc, "sticks[1].switch", e);
	if (r < 0)
		return r;
	if (strcmp(a->sw.driver, "qmp") != 0 || strcmp(b->sw.driver, "qmp") != 0)
		return yaml_complain(doc, "sticks[1].switch.driver", e,
				     "only where both switches are 'qmp' there can be two sticks");
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (!same[i].is_same)
			return yaml_complain(doc, same[i].key, e,
					     "the second stick has the content of the first");
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (!parse_is_name(own[i].second))
			return yaml_complain(doc, own[i].key, e,
					     "only letters, digits and ._+- are allowed");
		if (strcmp(own[i].first, own[i].second) == 0)
			return yaml_complain(doc, own[i].key, e, "that is the first stick's");
	}
	if (b->stick.content_sha256 && *b->stick.content_sha256)
		return yaml_complain(doc, "sticks[1].content_sha256", e,
				     "the second stick has the content of the first");
	if (b->sw.is_hub_cut)
		return yaml_complain(doc, "sticks[1].switch.cut_hub", e,
				     "only the first stick is cut");
	if (b->sw.hub_port && (!a->sw.hub_port || a->sw.port != b->sw.port))
		return yaml_complain(doc, "sticks[1].switch.hub_port", e,
				     "there is no hub but that of the first stick");
	if (a->sw.port == b->sw.port && a->sw.hub_port == b->sw.hub_port)
		return yaml_complain(doc, "sticks[1].switch.port", e, "that is the first stick's");
	if (a->sw.port == b->sw.port && !b->sw.hub_port)
		return yaml_complain(doc, "sticks[1].switch.port", e, "a hub is plugged in there");
	return 0;
}

/* Moves the sticks out of the list. */
static void adopt_sticks(struct rig_file *f)
{
	struct stick_entry *s = &f->sticks[0];

	if (f->sticks_count > 1) {
		struct stick_entry *b = &f->sticks[1];
		struct rig_neighbour *nb = xcalloc(1, sizeof(*nb));

		nb->serial = take(b->stick.serial);
		nb->usb_path = take(b->stick.usb_path);
		nb->sw = b->sw;
		nb->sw.name = take(b->name);
		memset(&b->sw, 0, sizeof(b->sw));
		f->cfg.neighbour = nb;
	}
	f->cfg.stick = s->stick;
	f->cfg.stick_switch = s->sw;
	f->cfg.stick_switch.name = s->name;
	if (!f->cfg.stick.content_sha256)
		f->cfg.stick.content_sha256 = xstrdup("");
	if (f->cfg.power)
		f->cfg.power->name = xstrdup("power");
	if (!f->cfg.golden_kernel)
		f->cfg.golden_kernel = xstrdup("");
	if (!f->cfg.console.flow)
		f->cfg.console.flow = xstrdup("none");
	if (!f->cfg.boot.attempts)
		f->cfg.boot.attempts = 1;
	memset(s, 0, sizeof(*s));
}

static int load_file(const char *path, struct rig_cfg **ret, struct err *e)
{
	auto_yaml_doc struct yaml_doc *doc = NULL;
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct rig_file *f;
	void *data = NULL;
	int r;

	r = yaml_load(path, &rig_schema, &data, &doc, e);
	if (r < 0)
		return r;
	f = data;
	r = check_neighbour(f, doc, e);
	if (r < 0) {
		yaml_data_free(&rig_schema, f);
		return r;
	}
	adopt_sticks(f);
	cfg = xcalloc(1, sizeof(*cfg));
	*cfg = f->cfg;
	cfg->path = xstrdup(path);
	memset(&f->cfg, 0, sizeof(f->cfg));
	yaml_data_free(&rig_schema, f);

	r = check(cfg, doc, e);
	if (r < 0)
		return r;
	*ret = take(cfg);
	return 0;
}

int rig_cfg_load(const char *name_or_path, struct rig_cfg **ret, struct err *e)
{
	auto_free char *path = NULL;
	int r;

	r = names_find(&names_of_rigs, name_or_path, &path, e);
	if (r < 0)
		return r;
	return load_file(path, ret, e);
}

void rig_cfg_free(struct rig_cfg *cfg)
{
	if (!cfg)
		return;
	for (unsigned i = 0; i < cfg->boot.modules_count; i++)
		util_free(cfg->boot.modules[i]);
	for (unsigned i = 0; i < cfg->tags_count; i++)
		util_free(cfg->tags[i]);
	util_free(cfg->tags);
	char *const owned[] = {
		cfg->path,
		cfg->name,
		cfg->golden_kernel,
		cfg->arch,
		cfg->rig_class,
		cfg->boot.driver,
		cfg->boot.machine,
		cfg->boot.cpu,
		cfg->boot.append,
		cfg->boot.initrd,
		cfg->boot.pstore,
		cfg->console.driver,
		cfg->console.address,
		cfg->console.device,
		cfg->console.flow,
		cfg->link.driver,
		cfg->stick.serial,
		cfg->stick.usb_path,
		cfg->stick.filesystem,
		cfg->stick.file,
		cfg->stick.content_sha256,
	};

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		util_free(owned[i]);
	switch_cfg_release(&cfg->stick_switch);
	if (cfg->neighbour) {
		switch_cfg_release(&cfg->neighbour->sw);
		free(cfg->neighbour->serial);
		free(cfg->neighbour->usb_path);
		free(cfg->neighbour);
	}
	if (cfg->power)
		switch_cfg_release(cfg->power);
	util_free(cfg->power);
	util_free(cfg->boot.modules);
	uboot_cfg_free(cfg->boot.uboot);
	hook_cfg_free(cfg->boot.exec);
	login_cfg_free(cfg->login);
	util_free(cfg);
}
