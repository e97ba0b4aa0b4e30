/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pstore.c - the list of a run's pstore records. */
#include "trial/pstore.h"

#include <jansson.h>

#include <string.h>

#define LIST_MAX ((size_t)1 << 20) /* bytes of pstore.json */

void pstore_release(struct pstore *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->records[i].name);
		free(p->records[i].file);
	}
	for (size_t i = 0; i < p->n_notes; i++)
		free(p->notes[i]);
	free(p->records);
	free(p->notes);
	*p = (struct pstore){0};
}

struct pstore_record *pstore_add(struct pstore *p)
{
	p->records = xrealloc(p->records, p->n + 1, sizeof(*p->records));
	p->records[p->n] = (struct pstore_record){0};
	return &p->records[p->n++];
}

void pstore_add_note(struct pstore *p, const char *text)
{
	for (size_t i = 0; i < p->n_notes; i++)
		if (strcmp(p->notes[i], text) == 0)
			return;
	p->notes = xrealloc(p->notes, p->n_notes + 1, sizeof(*p->notes));
	p->notes[p->n_notes++] = xstrdup(text);
}

size_t pstore_fitting(const int64_t *bytes, size_t n)
{
	int64_t left_bytes = PSTORE_ALL_MAX;
	size_t i = 0;

	for (; i < n && i < PSTORE_RECORDS_MAX; i++) {
		left_bytes -= bytes[i] < PSTORE_RECORD_MAX ? bytes[i] : PSTORE_RECORD_MAX;
		if (left_bytes < 0)
			break;
	}
	return i;
}

bool pstore_is_of_boot(const struct pstore_record *rec, unsigned boot)
{
	return boot == (rec->boot ? rec->boot : rec->collected_in);
}

/* ---- the list as a file ---- */

static int read_record(const json_t *row, struct pstore_record *ret)
{
	json_error_t why;
	const char *name, *file, *sha256;
	json_int_t bytes, kept, boot, in;

	if (json_unpack_ex((json_t *)(uintptr_t)row, &why, 0, "{s:s, s:s, s:s, s:I, s:I, s:I, s:I}",
			   "name", &name, "file", &file, "sha256", &sha256, "bytes", &bytes,
			   "kept_bytes", &kept, "boot", &boot, "collected_in", &in) < 0 ||
	    strlen(sha256) != SHA256_HEX_SIZE - 1 || boot < 0 || boot > UINT32_MAX || in < 0 ||
	    in > UINT32_MAX)
		return -EINVAL;
	ret->name = xstrdup(name);
	ret->file = xstrdup(file);
	memcpy(ret->sha256, sha256, SHA256_HEX_SIZE);
	ret->bytes = bytes;
	ret->kept_bytes = kept;
	ret->boot = (unsigned)boot;
	ret->collected_in = (unsigned)in;
	return 0;
}

int pstore_read(const char *dir, struct pstore *ret, struct err *e)
{
	auto_free char *path = xasprintf("%s/pstore.json", dir);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_pstore struct pstore p = {0};
	const json_t *rows, *notes;
	json_error_t why;
	json_t *root;
	int r = 0;

	*ret = (struct pstore){0};
	if (access(path, F_OK) < 0)
		return 0;
	r = file_read(path, LIST_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	root = json_loadb(strbuf_str(&text), text.len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return err_set(e, ERR_STORE, EINVAL, "%s:%d:%d: %s", path, why.line, why.column,
			       why.text);
	rows = json_object_get(root, "records");
	for (size_t i = 0; r == 0 && i < json_array_size(rows); i++)
		r = read_record(json_array_get(rows, i), pstore_add(&p));
	notes = json_object_get(root, "notes");
	for (size_t i = 0; i < json_array_size(notes); i++) {
		const char *note = json_string_value(json_array_get(notes, i));

		pstore_add_note(&p, note ? note : "");
	}
	json_decref(root);
	if (r < 0)
		return err_set(e, ERR_STORE, EINVAL, "%s: record %zu is none", path, p.n);
	*ret = p;
	p = (struct pstore){0};
	return 0;
}

int pstore_write(const char *dir, const struct pstore *p, struct err *e)
{
	auto_free char *path = xasprintf("%s/pstore.json", dir);
	json_t *root = json_object();
	json_t *rows = json_array();
	json_t *notes = json_array();
	auto_free char *text = NULL;
	int r;

	for (size_t i = 0; i < p->n; i++) {
		const struct pstore_record *rec = &p->records[i];

		(void)json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "name", rec->name,
					"file", rec->file, "sha256", rec->sha256, "bytes",
					(json_int_t)rec->bytes, "kept_bytes",
					(json_int_t)rec->kept_bytes, "boot", (json_int_t)rec->boot,
					"collected_in", (json_int_t)rec->collected_in));
	}
	/* what a target says need not be UTF-8 */
	for (size_t i = 0; i < p->n_notes; i++) {
		json_t *note = json_string(p->notes[i]);

		(void)json_array_append_new(notes, note ? note : json_string("not UTF-8"));
	}
	(void)json_object_set_new(root, "records", rows);
	(void)json_object_set_new(root, "notes", notes);
	text = json_dumps(root, JSON_INDENT(1));
	json_decref(root);
	if (!text)
		return err_set(e, ERR_STORE, EILSEQ, "%s: a text is not UTF-8", path);
	r = file_write_atomic(path, text, strlen(text), e);
	return r < 0 ? err_rekind(e, ERR_STORE) : 0;
}

int pstore_of_run(const struct run *r, struct pstore *ret, struct err *e)
{
	const char *recording = r->n_boots ? r->boots[0].recording : NULL;
	const char *slash = recording ? strrchr(recording, '/') : NULL;
	auto_free char *dir = NULL;

	*ret = (struct pstore){0};
	if (!slash)
		return 0;
	dir = xasprintf("%.*s", (int)(slash - recording), recording);
	return pstore_read(dir, ret, e);
}
