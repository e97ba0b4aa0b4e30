/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_cfg.c - the description of a switch, and the drivers that stand by themselves. */
#include "rig/switch_cfg.h"

#include "base/http_ask.h"
#include "base/strbuf.h"
#include "guard.h"

#include <regex.h>
#include <string.h>

#define TEXT_MAX 200
#define WORD_MAX 1024

#define LEAD_MS_DEFAULT          2
#define SENSE_TIMEOUT_MS_DEFAULT 1000
#define TIMEOUT_MS_DEFAULT       10000

#define TEXT(key, type, member)                                                                \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, type, member, 1, \
			       TEXT_MAX)
#define LONG_TEXT(key, member)                                                                   \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct switch_cfg, \
			       member, 1, WORD_MAX)
#define NUMBER(key, member) CYAML_FIELD_UINT(key, CYAML_FLAG_OPTIONAL, struct switch_cfg, member)
#define LINE(key, member)                                                                         \
	CYAML_FIELD_MAPPING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct switch_cfg, \
				member, line_fields)
#define WORDS(key, member)                                                                     \
	CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct switch_cfg, \
			     member, &word_schema, 1, SWITCH_WORDS_MAX)

static const cyaml_schema_value_t word_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, WORD_MAX)};

static const cyaml_schema_field_t line_fields[] = {
	TEXT("chip", struct switch_line_cfg, chip),
	TEXT("line", struct switch_line_cfg, line),
	CYAML_FIELD_UINT_PTR("offset", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct switch_line_cfg, offset),
	CYAML_FIELD_UINT("channel", CYAML_FLAG_OPTIONAL, struct switch_line_cfg, channel),
	CYAML_FIELD_BOOL("active_low", CYAML_FLAG_OPTIONAL, struct switch_line_cfg, is_active_low),
	TEXT("drive", struct switch_line_cfg, drive),
	TEXT("bias", struct switch_line_cfg, bias),
	CYAML_FIELD_END};

const cyaml_schema_field_t switch_cfg_fields[] = {
	CYAML_FIELD_STRING_PTR("driver", CYAML_FLAG_POINTER, struct switch_cfg, driver, 1,
			       TEXT_MAX),
	NUMBER("port", port),
	NUMBER("hub_port", hub_port),
	YAML_FIELD_BOOL_OPTIONAL("cut_hub", struct switch_cfg, is_hub_cut),
	CYAML_FIELD_UINT("min_off_ms", CYAML_FLAG_DEFAULT, struct switch_cfg, min_off_ms),
	CYAML_FIELD_UINT("settle_ms", CYAML_FLAG_DEFAULT, struct switch_cfg, settle_ms),
	NUMBER("max_cycles", max_cycles),
	TEXT("safe_state", struct switch_cfg, safe_state),
	TEXT("chip", struct switch_cfg, chip),
	TEXT("serial", struct switch_cfg, serial),
	TEXT("hub", struct switch_cfg, hub),
	TEXT("twin_hub", struct switch_cfg, twin_hub),
	LINE("vbus", vbus),
	LINE("data", data),
	LINE("discharge", discharge),
	LINE("sense", sense),
	LINE("over_current", over_current),
	NUMBER("lead_ms", lead_ms),
	NUMBER("discharge_ms", discharge_ms),
	NUMBER("sense_timeout_ms", sense_timeout_ms),
	WORDS("turn_on", turn_on),
	WORDS("turn_off", turn_off),
	WORDS("status", status),
	NUMBER("timeout_ms", timeout_ms),
	TEXT("protocol", struct switch_cfg, protocol),
	LONG_TEXT("url", url),
	LONG_TEXT("token_file", token_file),
	TEXT("pdu", struct switch_cfg, pdu),
	TEXT("outlet", struct switch_cfg, outlet),
	TEXT("method", struct switch_cfg, method),
	LONG_TEXT("off_url", off_url),
	LONG_TEXT("status_url", status_url),
	LONG_TEXT("on_body", on_body),
	LONG_TEXT("off_body", off_body),
	LONG_TEXT("on_match", on_match),
	LONG_TEXT("off_match", off_match),
	CYAML_FIELD_END};

/* One bit a driver. */
enum {
	QMP = 1 << 0,
	GPIO = 1 << 1,
	USB_HUB = 1 << 2,
	HID_RELAY = 1 << 3,
	EXEC = 1 << 4,
	TARGET_PORT = 1 << 5,
	HTTP = 1 << 6,
	REAL = GPIO | USB_HUB | HID_RELAY | EXEC | HTTP,
	ALL = QMP | REAL | TARGET_PORT,
};

struct driver_row {
	const char *name;
	unsigned bit;
	switch_open_fn open; /* NULL: needs a booted target */
};

static const struct driver_row drivers[] = {
	{"qmp", QMP, NULL},
	{"gpio", GPIO, switch_gpio_open},
	{"usb-hub", USB_HUB, switch_usb_hub_open},
	{"hid-relay", HID_RELAY, switch_hid_relay_open},
	{"exec", EXEC, switch_exec_open},
	{"http", HTTP, switch_http_open},
	{"target-port", TARGET_PORT, NULL},
};

/* Which driver has which key, and which needs it. */
static const struct {
	const char *key;
	unsigned has, needs;
} keys[] = {
	/* target-port: only of a target in QEMU, which rig_cfg.c knows */
	{"port", QMP | USB_HUB | TARGET_PORT, QMP | USB_HUB},
	{"hub_port", QMP, 0},
	{"cut_hub", QMP, 0},
	{"safe_state", REAL, 0},
	{"chip", GPIO, 0},
	{"serial", HID_RELAY, 0},
	{"hub", USB_HUB, USB_HUB},
	{"twin_hub", USB_HUB, 0},
	{"vbus", GPIO | HID_RELAY, GPIO | HID_RELAY},
	{"data", GPIO | HID_RELAY, 0},
	{"discharge", GPIO | HID_RELAY, 0},
	{"sense", GPIO, 0},
	{"over_current", GPIO, 0},
	{"lead_ms", GPIO | HID_RELAY, 0},
	{"discharge_ms", GPIO | HID_RELAY, 0},
	{"sense_timeout_ms", GPIO, 0},
	{"turn_on", EXEC, EXEC},
	{"turn_off", EXEC, EXEC},
	{"status", EXEC, 0},
	{"timeout_ms", EXEC | HTTP, 0},
	{"protocol", HTTP, HTTP},
	{"url", HTTP, HTTP},
	{"token_file", HTTP, 0},
	{"pdu", HTTP, 0},
	{"outlet", HTTP, 0},
	{"method", HTTP, 0},
	{"off_url", HTTP, 0},
	{"status_url", HTTP, 0},
	{"on_body", HTTP, 0},
	{"off_body", HTTP, 0},
	{"on_match", HTTP, 0},
	{"off_match", HTTP, 0},
	{"max_cycles", ALL, 0},
};

/* The range of each number that stands in the file. */
static const struct {
	const char *key;
	size_t offset;
	unsigned min, max;
	unsigned absent; /* its value then */
} numbers[] = {
	{"port", offsetof(struct switch_cfg, port), 1, 255, 0},
	{"hub_port", offsetof(struct switch_cfg, hub_port), 1, 8, 0},
	{"min_off_ms", offsetof(struct switch_cfg, min_off_ms), 0, 60000, 0},
	{"settle_ms", offsetof(struct switch_cfg, settle_ms), 0, 60000, 0},
	{"max_cycles", offsetof(struct switch_cfg, max_cycles), 0, 100000000, 0},
	/* the guardian too waits so long before VBUS is cut, and has a second for all */
	{"lead_ms", offsetof(struct switch_cfg, lead_ms), 0, 250, LEAD_MS_DEFAULT},
	{"discharge_ms", offsetof(struct switch_cfg, discharge_ms), 0, 10000, 0},
	{"sense_timeout_ms", offsetof(struct switch_cfg, sense_timeout_ms), 1, 10000,
	 SENSE_TIMEOUT_MS_DEFAULT},
	{"timeout_ms", offsetof(struct switch_cfg, timeout_ms), 1, 60000, TIMEOUT_MS_DEFAULT},
};

#define PORT_MAX_QMP 15 /* of the emulated controller */

static const struct driver_row *find_driver(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (strcmp(drivers[i].name, name) == 0)
			return &drivers[i];
	return NULL;
}

/* Of a description that switch_cfg_check() has let through. */
static const struct driver_row *driver_of(const struct switch_cfg *cfg)
{
	const struct driver_row *driver = find_driver(cfg->driver);

	if (!driver)
		abort();
	return driver;
}

/* "sticks[0].switch" + "vbus" -> whether the file has it; the path goes to ret. */
static bool stands(const struct yaml_doc *doc, const char *key_path, const char *key, char ret[160])
{
	unsigned line, column;

	(void)snprintf(ret, 160, "%s.%s", key_path, key);
	return yaml_position(doc, ret, &line, &column);
}

static int check_driver(const struct switch_cfg *cfg, const struct yaml_doc *doc,
			const char *key_path, struct err *e)
{
	char path[160];

	if (find_driver(cfg->driver))
		return 0;
	(void)stands(doc, key_path, "driver", path);
	return yaml_complain(
		doc, path, e,
		"must be 'qmp', 'gpio', 'usb-hub', 'hid-relay', 'exec', 'http' or 'target-port'");
}

static int check_keys(const struct switch_cfg *cfg, const struct yaml_doc *doc,
		      const char *key_path, struct err *e)
{
	const unsigned driver = driver_of(cfg)->bit;
	char path[160];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const bool is_there = stands(doc, key_path, keys[i].key, path);

		if (is_there && !(keys[i].has & driver))
			return yaml_complain(doc, path, e, "the driver '%s' has no such key",
					     cfg->driver);
		if (!is_there && (keys[i].needs & driver))
			return yaml_complain(doc, key_path, e, "the driver '%s' needs the key '%s'",
					     cfg->driver, keys[i].key);
	}
	return 0;
}

static int check_numbers(struct switch_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
			 struct err *e)
{
	const bool is_in_qemu = (driver_of(cfg)->bit & (QMP | TARGET_PORT)) != 0;
	char path[160];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		unsigned *v = (unsigned *)(void *)((char *)cfg + numbers[i].offset);
		unsigned max = numbers[i].max;

		if (is_in_qemu && strcmp(numbers[i].key, "port") == 0)
			max = PORT_MAX_QMP;
		if (!stands(doc, key_path, numbers[i].key, path))
			*v = numbers[i].absent;
		else if (*v < numbers[i].min || *v > max)
			return yaml_complain(doc, path, e, "outside %u..%u", numbers[i].min, max);
	}
	return 0;
}

static int check_choice(const struct yaml_doc *doc, const char *key_path, const char *key,
			const char *value, const char *const *choices, size_t n, struct err *e)
{
	auto_strbuf struct strbuf known = STRBUF_INIT;
	char path[160];

	if (!value)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(value, choices[i]) == 0)
			return 0;
		strbuf_addf(&known, "%s'%s'", i ? " or " : "", choices[i]);
	}
	(void)stands(doc, key_path, key, path);
	return yaml_complain(doc, path, e, "must be %s", strbuf_str(&known));
}

static int check_gpio_line(const struct switch_cfg *cfg, const struct switch_line_cfg *line,
			   bool is_output, const struct yaml_doc *doc, const char *path,
			   struct err *e)
{
	static const char *const drives[] = {"push-pull", "open-drain", "open-source"};
	static const char *const biases[] = {"as-is", "off", "up", "down"};
	char where[160];
	int r;

	if ((line->line != NULL) == (line->offset != NULL))
		return yaml_complain(doc, path, e, "either 'line' or 'offset' is needed");
	if (line->offset && !line->chip && !cfg->chip)
		return yaml_complain(doc, path, e, "an offset needs a 'chip'");
	if (stands(doc, path, "channel", where))
		return yaml_complain(doc, where, e, "the driver 'gpio' has no such key");
	if (!is_output && stands(doc, path, "drive", where))
		return yaml_complain(doc, where, e, "an input is not driven");
	r = check_choice(doc, path, "drive", line->drive, drives, ARRAY_SIZE(drives), e);
	if (r == 0)
		r = check_choice(doc, path, "bias", line->bias, biases, ARRAY_SIZE(biases), e);
	return r;
}

static int check_relay_line(const struct switch_line_cfg *line, const struct yaml_doc *doc,
			    const char *path, struct err *e)
{
	static const char *const gpio_keys[] = {"chip", "line", "offset", "drive", "bias"};
	char where[160];

	for (size_t i = 0; i < ARRAY_SIZE(gpio_keys); i++)
		if (stands(doc, path, gpio_keys[i], where))
			return yaml_complain(doc, where, e,
					     "the driver 'hid-relay' has no such key");
	if (!stands(doc, path, "channel", where))
		return yaml_complain(doc, path, e, "the key 'channel' is missing");
	if (line->channel < 1 || line->channel > 8)
		return yaml_complain(doc, where, e, "outside 1..8");
	return 0;
}

static int check_lines(const struct switch_cfg *cfg, const struct yaml_doc *doc,
		       const char *key_path, struct err *e)
{
	const struct {
		const char *key;
		const struct switch_line_cfg *line;
		bool is_output;
	} lines[] = {
		{"vbus", cfg->vbus, true},
		{"data", cfg->data, true},
		{"discharge", cfg->discharge, true},
		{"sense", cfg->sense, false},
		{"over_current", cfg->over_current, false},
	};
	const bool is_gpio = strcmp(cfg->driver, "gpio") == 0;
	char path[160];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		int r;

		if (!lines[i].line)
			continue;
		(void)stands(doc, key_path, lines[i].key, path);
		r = is_gpio ? check_gpio_line(cfg, lines[i].line, lines[i].is_output, doc, path, e)
			    : check_relay_line(lines[i].line, doc, path, e);
		if (r < 0)
			return r;
		for (size_t k = 0; !is_gpio && k < i; k++)
			if (lines[k].line && lines[k].line->channel == lines[i].line->channel)
				return yaml_complain(doc, path, e, "'%s' has this relay already",
						     lines[k].key);
	}
	if (stands(doc, key_path, "discharge_ms", path) && !cfg->discharge)
		return yaml_complain(doc, path, e, "there is no line 'discharge'");
	if (stands(doc, key_path, "sense_timeout_ms", path) && !cfg->sense)
		return yaml_complain(doc, path, e, "there is no line 'sense'");
	if (cfg->discharge && !cfg->sense && !cfg->discharge_ms)
		return yaml_complain(doc, key_path, e,
				     "'discharge' without 'sense' needs 'discharge_ms'");
	return 0;
}

static int check_pattern(const struct yaml_doc *doc, const char *path, const char *pattern,
			 struct err *e)
{
	char why[120];
	regex_t re;
	int r = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);

	if (r == 0) {
		regfree(&re);
		return 0;
	}
	(void)regerror(r, &re, why, sizeof(why));
	return yaml_complain(doc, path, e, "no extended regular expression: %s", why);
}

/* An address may hold a password: the complaint is about the switch, and does not show it. */
static int check_url(const struct yaml_doc *doc, const char *key_path, const char *key,
		     const char *url, bool has_query, struct err *e)
{
	if (!http_is_url(url))
		return yaml_complain(doc, key_path, e,
				     "'%s' is no http:// or https:// address with a host", key);
	if (!has_query && strpbrk(url, "?#"))
		return yaml_complain(doc, key_path, e,
				     "'%s' is the address of a service and has no '?' or '#'", key);
	return 0;
}

enum { PDUDAEMON = 1 << 0, REST = 1 << 1, OUTPUT = 1 << 2 };

/* Which protocol of an http switch has which key, and which needs it. */
static int check_protocol_keys(unsigned protocol, const struct switch_cfg *cfg,
			       const struct yaml_doc *doc, const char *key_path, struct err *e)
{
	static const struct {
		const char *key;
		unsigned has, needs;
	} rows[] = {
		{"pdu", PDUDAEMON, PDUDAEMON}, {"outlet", PDUDAEMON, PDUDAEMON},
		{"method", OUTPUT, 0},         {"off_url", OUTPUT, 0},
		{"status_url", OUTPUT, 0},     {"on_body", OUTPUT, 0},
		{"off_body", OUTPUT, 0},       {"on_match", OUTPUT, 0},
		{"off_match", OUTPUT, 0},
	};
	char path[160];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const bool is_there = stands(doc, key_path, rows[i].key, path);

		if (is_there && !(rows[i].has & protocol))
			return yaml_complain(doc, key_path, e, "the protocol '%s' has no key '%s'",
					     cfg->protocol, rows[i].key);
		if (!is_there && (rows[i].needs & protocol))
			return yaml_complain(doc, key_path, e,
					     "the protocol '%s' needs the key '%s'", cfg->protocol,
					     rows[i].key);
	}
	return 0;
}

/* What makes sense together in an http switch of the protocol "output". */
static int check_output(const struct switch_cfg *cfg, const struct yaml_doc *doc,
			const char *key_path, struct err *e)
{
	const bool is_get = cfg->method && strcmp(cfg->method, "GET") == 0;
	char path[160];
	int r = 0;

	if (!cfg->off_url && !(cfg->on_body && cfg->off_body))
		return yaml_complain(doc, key_path, e,
				     "on and off are told apart by 'off_url', or by 'on_body' and "
				     "'off_body'");
	if (is_get && (cfg->on_body || cfg->off_body))
		return yaml_complain(doc, key_path, e, "the method GET sends no body");
	if (!cfg->on_match != !cfg->off_match || (cfg->status_url && !cfg->on_match))
		return yaml_complain(doc, key_path, e,
				     "to ask for the state 'on_match' and 'off_match' are needed");
	if (cfg->on_match) {
		(void)stands(doc, key_path, "on_match", path);
		r = check_pattern(doc, path, cfg->on_match, e);
	}
	if (r == 0 && cfg->off_match) {
		(void)stands(doc, key_path, "off_match", path);
		r = check_pattern(doc, path, cfg->off_match, e);
	}
	return r;
}

static int check_http(const struct switch_cfg *cfg, const struct yaml_doc *doc,
		      const char *key_path, struct err *e)
{
	static const char *const protocols[] = {"pdudaemon", "rest", "output"};
	static const char *const methods[] = {"PUT", "POST", "GET"};
	unsigned protocol = 1;
	char path[160];
	int r;

	r = check_choice(doc, key_path, "protocol", cfg->protocol, protocols, ARRAY_SIZE(protocols),
			 e);
	if (r == 0)
		r = check_choice(doc, key_path, "method", cfg->method, methods, ARRAY_SIZE(methods),
				 e);
	if (r < 0)
		return r;
	for (size_t i = 0; strcmp(cfg->protocol, protocols[i]) != 0; i++)
		protocol <<= 1;
	r = check_url(doc, key_path, "url", cfg->url, protocol != PDUDAEMON, e);
	if (r == 0)
		r = check_protocol_keys(protocol, cfg, doc, key_path, e);
	if (r == 0 && cfg->off_url)
		r = check_url(doc, key_path, "off_url", cfg->off_url, true, e);
	if (r == 0 && cfg->status_url)
		r = check_url(doc, key_path, "status_url", cfg->status_url, true, e);
	if (r == 0 && protocol == OUTPUT)
		r = check_output(cfg, doc, key_path, e);
	if (r == 0 && cfg->token_file && cfg->token_file[0] != '/') {
		(void)stands(doc, key_path, "token_file", path);
		r = yaml_complain(doc, path, e, "must be an absolute path");
	}
	return r;
}

int switch_cfg_check(struct switch_cfg *cfg, const struct yaml_doc *doc, const char *key_path,
		     struct err *e)
{
	static const char *const states[] = {"off", "on"};
	int r;

	r = check_driver(cfg, doc, key_path, e);
	if (r == 0)
		r = check_keys(cfg, doc, key_path, e);
	if (r == 0)
		r = check_numbers(cfg, doc, key_path, e);
	if (r == 0)
		r = check_choice(doc, key_path, "safe_state", cfg->safe_state, states,
				 ARRAY_SIZE(states), e);
	if (r == 0)
		r = check_lines(cfg, doc, key_path, e);
	if (r == 0 && driver_of(cfg)->bit == HTTP)
		r = check_http(cfg, doc, key_path, e);
	return r;
}

static void words_free(char **words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		util_free(words[i]);
	util_free(words);
}

static void line_free(struct switch_line_cfg *line)
{
	if (!line)
		return;
	util_free(line->chip);
	util_free(line->line);
	util_free(line->offset);
	util_free(line->drive);
	util_free(line->bias);
	util_free(line);
}

void switch_cfg_release(struct switch_cfg *cfg)
{
	util_free(cfg->name);
	util_free(cfg->driver);
	util_free(cfg->safe_state);
	util_free(cfg->chip);
	util_free(cfg->serial);
	util_free(cfg->hub);
	util_free(cfg->twin_hub);
	line_free(cfg->vbus);
	line_free(cfg->data);
	line_free(cfg->discharge);
	line_free(cfg->sense);
	line_free(cfg->over_current);
	words_free(cfg->turn_on, cfg->turn_on_count);
	words_free(cfg->turn_off, cfg->turn_off_count);
	words_free(cfg->status, cfg->status_count);
	util_free(cfg->protocol);
	util_free(cfg->url);
	util_free(cfg->token_file);
	util_free(cfg->pdu);
	util_free(cfg->outlet);
	util_free(cfg->method);
	util_free(cfg->off_url);
	util_free(cfg->status_url);
	util_free(cfg->on_body);
	util_free(cfg->off_body);
	util_free(cfg->on_match);
	util_free(cfg->off_match);
	*cfg = (struct switch_cfg){0};
}

static enum switch_state safe_state(const struct switch_cfg *cfg)
{
	return cfg->safe_state && strcmp(cfg->safe_state, "on") == 0 ? SWITCH_ON : SWITCH_OFF;
}

void switch_cfg_limits(const struct switch_cfg *cfg, struct switch_limits *ret)
{
	*ret = (struct switch_limits){
		.min_off_ns = cfg->min_off_ms * NSEC_PER_MSEC,
		.settle_ns = cfg->settle_ms * NSEC_PER_MSEC,
		.max_cycles = cfg->max_cycles,
		/* the others end with their target */
		.safe = switch_cfg_is_standalone(cfg) ? safe_state(cfg) : SWITCH_UNKNOWN,
	};
}

bool switch_cfg_is_standalone(const struct switch_cfg *cfg)
{
	return driver_of(cfg)->open != NULL;
}

bool switch_cfg_is_soft(const struct switch_cfg *cfg)
{
	return driver_of(cfg)->bit == TARGET_PORT;
}

const char *switch_cfg_worn_part(const struct switch_cfg *cfg)
{
	return switch_cfg_is_standalone(cfg) ? cfg->name : NULL;
}

int switch_cfg_open(const struct switch_cfg *cfg, int keep_fd, struct waiter *w,
		    const struct switch_ops **ret_ops, void **ret_self, struct err *e)
{
	const struct driver_row *driver = driver_of(cfg);

	return guard_open(driver->open, cfg, safe_state(cfg), keep_fd, w, ret_ops, ret_self, e);
}
