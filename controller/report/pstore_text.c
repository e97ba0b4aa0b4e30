/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pstore_text.c - how many records, of which boot, where they lie, and what is missing. */
#include "report/pstore_text.h"

#include "report/text.h"

#include <inttypes.h>
#include <string.h>

void pstore_text_add_counts(struct strbuf *out, const struct pstore *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const unsigned boot = p->records[i].boot;
		bool is_first = true;
		unsigned n = 0;

		for (size_t k = 0; k < p->n; k++) {
			is_first &= k >= i || p->records[k].boot != boot;
			n += p->records[k].boot == boot;
		}
		if (!is_first)
			continue;
		strbuf_addf(out, i ? ", %u of " : n == 1 ? "%u record of " : "%u records of ", n);
		if (boot)
			strbuf_addf(out, "boot %u", boot);
		else
			strbuf_adds(out, "an earlier boot");
	}
}

static void add_record(struct strbuf *out, const struct pstore_record *rec)
{
	text_add_visible(out, rec->file, strlen(rec->file), 0);
	strbuf_addf(out, ", %" PRId64 " bytes", rec->kept_bytes);
	if (rec->kept_bytes < rec->bytes)
		strbuf_addf(out, " of %" PRId64, rec->bytes);
	if (!rec->boot)
		strbuf_addf(out, ", of an earlier boot, found in boot %u", rec->collected_in);
	strbuf_adds(out, "\n");
}

void pstore_text_add(struct strbuf *out, const struct pstore *p, unsigned boot)
{
	for (size_t i = 0; i < p->n; i++)
		if (!boot || pstore_is_of_boot(&p->records[i], boot))
			add_record(out, &p->records[i]);
	for (size_t i = 0; i < p->n_notes; i++) {
		text_add_visible(out, p->notes[i], strlen(p->notes[i]), 0);
		strbuf_adds(out, "\n");
	}
}
