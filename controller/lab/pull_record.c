/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pull_record.c - what is known of a job that was taken: JSON, and its file in the state folder. */
#include "base/fdio.h"
#include "pull_priv.h"

#include <dirent.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#define RECORD_MAX_BYTES (4u << 20)
#define FIRST_LOOK_NS    (86400 * NSEC_PER_SEC) /* how old a job may be, the first time it asks */
#define KEPT_S           (180 * 86400) /* that a job was answered, should it be offered again */

void pull_say(const struct pull *p, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX + 128];
	va_list ap;

	if (!p->hooks || !p->hooks->say)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* some of the words are the service's */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	p->hooks->say(p->hooks->self, text);
}

/* ---- JSON ---- */

void pull_set(json_t *obj, const char *key, json_t *value)
{
	if (json_object_set_new(obj, key, value) < 0)
		abort(); /* out of memory, as xcalloc() */
}

json_t *pull_text_json(const char *text)
{
	json_t *value = json_string(text);
	auto_free char *ascii = value ? NULL : xstrdup(text);

	for (char *c = ascii; c && *c; c++)
		if ((unsigned char)*c >= 128)
			*c = '?';
	return value ? value : json_string(ascii);
}

const char *pull_text_of(const json_t *obj, const char *key)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text ? text : "";
}

json_t *pull_parse(const struct strbuf *text)
{
	return json_loadb(strbuf_str(text), text->len, JSON_REJECT_DUPLICATES, NULL);
}

/* ---- records ---- */

char *pull_record_path(const struct pull *p, const char *node)
{
	return xasprintf("%s/%s.json", p->dir, node);
}

static int write_json(const char *path, const json_t *value, struct err *e)
{
	char *text = json_dumps(value, JSON_COMPACT);
	int r;

	if (!text)
		abort();
	r = file_write_atomic(path, text, strlen(text), e);
	free(text);
	return r;
}

int pull_write_record(const struct pull *p, const char *node, const json_t *record, struct err *e)
{
	auto_free char *path = pull_record_path(p, node);

	return write_json(path, record, e);
}

int pull_keep(const struct pull *p, const struct pulled *j, struct err *e)
{
	return pull_write_record(p, j->node, j->record, e);
}

void pulled_free(struct pulled *j)
{
	json_decref(j->record);
	free(j->node);
	free(j);
}

void pull_add_open(struct pull *p, const char *node, json_t *record)
{
	struct pulled **at = &p->open;
	struct pulled *j = xcalloc(1, sizeof(*j));

	while (*at)
		at = &(*at)->next;
	j->node = xstrdup(node);
	j->record = record;
	*at = j;
	p->n_open++;
}

int pull_close_record(const struct pull *p, const struct pulled *j, const char *state,
		      struct err *e)
{
	json_t *record = json_pack("{s:s, s:s}", "node", j->node, "state", state);
	int r = pull_write_record(p, j->node, record, e);

	json_decref(record);
	return r;
}

static bool is_old(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && wall_now() / NSEC_PER_SEC - st.st_mtime > KEPT_S;
}

static int load_record(struct pull *p, const char *name, struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", p->dir, name);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const char *state;
	json_t *record;
	int r;

	r = file_read(path, RECORD_MAX_BYTES, &text, e);
	if (r < 0)
		return r;
	record = pull_parse(&text);
	state = pull_text_of(record, "state");
	if (!*state || !*pull_text_of(record, "node")) {
		json_decref(record);
		return err_set(e, ERR_STORE, EBADMSG, "%s: no record of a job", path);
	}
	if (strcmp(state, "answered") == 0 || strcmp(state, "refused") == 0) {
		json_decref(record);
		if (is_old(path))
			(void)unlink(path);
	} else {
		pull_add_open(p, pull_text_of(record, "node"), record);
	}
	return 0;
}

int pull_load_records(struct pull *p, struct err *e)
{
	auto_free char *path = xasprintf("%s/cursor", p->dir);
	auto_strbuf struct strbuf cursor = STRBUF_INIT;
	struct dirent **list = NULL;
	int n;
	int r = 0;

	if (file_read(path, 200, &cursor, NULL) >= 0) {
		p->cursor = strbuf_take(&cursor);
	} else {
		auto_free char *first = wall_format(wall_now() - FIRST_LOOK_NS);

		/* without the "Z": the service's times have none */
		p->cursor = xasprintf("%.19s.000000", first);
	}
	n = scandir(p->dir, &list, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *dot = strrchr(list[i]->d_name, '.');

		if (r >= 0 && dot && dot != list[i]->d_name && strcmp(dot, ".json") == 0)
			r = load_record(p, list[i]->d_name, e);
		free(list[i]);
	}
	free(list);
	return r;
}
