/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * collect.c - brings in what crashed kernels left in the target's persistent store (rig file, key
 * boot.pstore). A record is on disk here before it is removed there.
 *
 * Records do not say which boot left them. It is known by order: the store was empty, one boot
 * crashed, and now there are some. In any other case they are those of an earlier boot.
 */
#include "base/base64.h"
#include "base/parse.h"
#include "runner_priv.h"
#include "trial/pstore.h"

#include <inttypes.h>
#include <string.h>

#define READ_NS (120 * NSEC_PER_SEC) /* 64 KiB in base64 over a line of 9600 baud take 93 s */

struct listed {
	char name[129];
	int64_t bytes;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

/* Cuts the reply's own words off its lines. */
static const char *cut_words(struct strbuf *reply)
{
	char *words;

	if (!reply->len)
		return "";
	reply->data[--reply->len] = '\0';
	words = strrchr(reply->data, '\n');
	if (!words)
		return reply->data;
	*words = '\0';
	return words + 1;
}

/* The records on the target by name. *ret_has_backend: its kernel has somewhere to keep them. */
static int list_records(struct runner *rn, struct listed **ret, size_t *ret_n,
			bool *ret_has_backend, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	struct listed *list = NULL;
	char backend[64];
	const char *words;
	size_t n = 0;
	char *rest;
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e, "pstore");
	if (r < 0)
		return r;
	words = cut_words(&reply);
	rest = reply.data;
	for (char *line; words != reply.data && (line = strsep(&rest, "\n"));) {
		struct listed row;

		if (!parse_pair(line, "name", row.name, sizeof(row.name)) ||
		    !parse_is_name(row.name) || !parse_pair_i64(line, "bytes", &row.bytes))
			continue;
		list = xrealloc(list, n + 1, sizeof(*list));
		list[n++] = row;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	*ret_has_backend = parse_pair(words, "backend", backend, sizeof(backend));
	*ret = list;
	*ret_n = n;
	return 0;
}

static int read_record(struct runner *rn, const char *name, struct strbuf *ret, int64_t *ret_bytes,
		       struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	const char *words;
	int64_t sent;
	char *rest;
	int r;

	r = link_call(rig_link(rn->rig), READ_NS, &reply, e, "pstore-read name=%s", name);
	if (r < 0)
		return r;
	words = cut_words(&reply);
	if (!parse_pair_i64(words, "bytes", ret_bytes) || !parse_pair_i64(words, "sent", &sent))
		return err_set(e, ERR_TARGET, EPROTO, "agent: reply to 'pstore-read' has no sizes");
	rest = reply.data;
	for (char *line; words != reply.data && (line = strsep(&rest, "\n"));)
		if (!strbuf_add_from_base64(ret, line))
			return err_set(e, ERR_TARGET, EPROTO,
				       "agent: reply to 'pstore-read' is not base64");
	if (ret->len != (uint64_t)sent || ret->len > PSTORE_RECORD_MAX)
		return err_set(e, ERR_TARGET, EPROTO,
			       "agent: reply to 'pstore-read' has %zu bytes of %" PRId64, ret->len,
			       sent);
	return 0;
}

/* ---- what is kept ---- */

int collect_note(struct runner *rn, const char *text, struct err *e)
{
	auto_pstore struct pstore p = {0};
	int r;

	runner_phase(rn, "%s", text);
	r = pstore_read(rn->dir, &p, e);
	if (r < 0)
		return r;
	pstore_add_note(&p, text);
	return pstore_write(rn->dir, &p, e);
}

/* The boot that left what is there now; 0 if that cannot be told. */
static unsigned culprit(const struct runner *rn)
{
	return rn->is_pstore_known && rn->n_crashed == 1 ? rn->crashed_boot : 0;
}

static int keep_record(struct runner *rn, const struct listed *row, const struct strbuf *bytes,
		       int64_t n_bytes, struct err *e)
{
	auto_pstore struct pstore p = {0};
	struct pstore_record *rec;
	auto_free char *path = NULL;
	int r;

	r = pstore_read(rn->dir, &p, e);
	if (r < 0)
		return r;
	rec = pstore_add(&p);
	rec->name = xstrdup(row->name);
	rec->boot = culprit(rn);
	rec->collected_in = rn->boot->number;
	rec->file = xasprintf("boot-%u/pstore-%s%s.raw", rec->boot ? rec->boot : rec->collected_in,
			      rec->boot ? "" : "earlier-", row->name);
	rec->bytes = n_bytes;
	rec->kept_bytes = (int64_t)bytes->len;
	sha256_bytes(strbuf_str(bytes), bytes->len, rec->sha256);
	path = xasprintf("%s/%s", rn->dir, rec->file);
	r = file_write_atomic(path, strbuf_str(bytes), bytes->len, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	return pstore_write(rn->dir, &p, e);
}

/* Brings in the first n. */
static int take_records(struct runner *rn, const struct listed *list, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		auto_strbuf struct strbuf bytes = STRBUF_INIT;
		int64_t n_bytes = 0;
		int r;

		r = read_record(rn, list[i].name, &bytes, &n_bytes, e);
		if (r == 0)
			r = keep_record(rn, &list[i], &bytes, n_bytes, e);
		if (r == 0)
			r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "pstore-remove name=%s",
				      list[i].name);
		if (r < 0)
			return r;
	}
	return 0;
}

static size_t fitting(const struct listed *list, size_t n)
{
	auto_free int64_t *bytes = xcalloc(n + 1, sizeof(*bytes));

	for (size_t i = 0; i < n; i++)
		bytes[i] = list[i].bytes;
	return pstore_fitting(bytes, n);
}

static int collect(struct runner *rn, struct err *e)
{
	auto_free struct listed *list = NULL;
	auto_free char *note = NULL;
	bool has_backend = false;
	size_t n = 0, n_taken;
	int r;

	r = list_records(rn, &list, &n, &has_backend, e);
	n_taken = fitting(list, n);
	if (r == 0)
		r = take_records(rn, list, n_taken, e);
	if (r < 0)
		return r;
	if (n_taken && culprit(rn))
		runner_phase(rn, "boot %u: pstore: %zu record%s of boot %u", rn->boot->number,
			     n_taken, n_taken == 1 ? "" : "s", culprit(rn));
	else if (n_taken)
		runner_phase(rn, "boot %u: pstore: %zu record%s of an earlier boot",
			     rn->boot->number, n_taken, n_taken == 1 ? "" : "s");
	rn->is_pstore_known = n_taken == n;
	rn->n_crashed = 0;
	if (n_taken < n)
		note = xasprintf("boot %u: pstore: %zu records more are left on the target: at "
				 "most %d with %d KiB are brought in at once",
				 rn->boot->number, n - n_taken, PSTORE_RECORDS_MAX,
				 PSTORE_ALL_MAX >> 10);
	else if (!has_backend)
		note = xstrdup("pstore: the target's kernel has no backend for it");
	return note ? collect_note(rn, note, e) : 0;
}

int collect_records(struct runner *rn, struct err *e)
{
	auto_free char *note = NULL;
	int r;

	if (!rn->cfg->rig->boot.pstore)
		return 0;
	r = collect(rn, e);
	if (r == 0 || e->kind != ERR_TARGET)
		return r;
	rn->is_pstore_known = false;
	note = xasprintf("boot %u: pstore: %s", rn->boot->number, e->text);
	err_clear(e);
	return collect_note(rn, note, e);
}
