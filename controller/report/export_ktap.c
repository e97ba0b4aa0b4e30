/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export_ktap.c - the kernel's test format. A '#' begins a directive there, so names have none. */
#include "report/export.h"
#include "report/run_text.h"
#include "report/text.h"

#include <string.h>

static void add_word(struct strbuf *out, const char *s)
{
	auto_strbuf struct strbuf visible = STRBUF_INIT;

	text_add_visible(&visible, s, strlen(s), 0);
	for (char *c = visible.data; c && *c; c++)
		if (*c == '#')
			*c = '_';
	strbuf_adds(out, strbuf_str(&visible));
}

static void add_trial(struct strbuf *out, const struct run *r, const struct trial *t, size_t number)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;
	bool is_over = t->is_valid && t->worst_us > r->limit_us;

	run_text_add_trial(&words, r, t);
	strbuf_adds(out, "  # ");
	text_add_ms(out, t->worst_us);
	strbuf_adds(out, ", ");
	add_word(out, strbuf_str(&words));
	strbuf_addf(out, "\n  %s %zu trial %u", is_over || t->is_crash ? "not ok" : "ok", number,
		    t->number);
	if (!t->is_valid && !t->is_crash)
		strbuf_addf(out, " # SKIP evidence %s is missing", evidence_name(t->missing));
	strbuf_adds(out, "\n");
}

int export_ktap(struct strbuf *out, struct run *const *runs, size_t n,
		const struct export_options *o, struct err *e)
{
	(void)o;
	(void)e;
	strbuf_addf(out, "KTAP version 1\n1..%zu\n", n);
	for (size_t i = 0; i < n; i++) {
		const struct run *r = runs[i];
		enum verdict v = r->result.verdict;
		auto_strbuf struct strbuf outcome = STRBUF_INIT;
		auto_free char *name =
			xasprintf("%s %s %s", r->scenario, r->rig,
				  r->kernel_label && *r->kernel_label ? r->kernel_label
								      : text_or_empty(r->kernel));

		if (r->n_trials)
			strbuf_addf(out, "  KTAP version 1\n  1..%zu\n", r->n_trials);
		for (size_t k = 0; k < r->n_trials; k++)
			add_trial(out, r, r->trials[k], k + 1);
		run_text_add_outcome(&outcome, r);
		strbuf_adds(out, "# ");
		add_word(out, strbuf_str(&outcome));
		strbuf_addf(out, "\n%s %zu ", v == VERDICT_PASS ? "ok" : "not ok", i + 1);
		add_word(out, name);
		if (v != VERDICT_PASS && v != VERDICT_FAIL) {
			strbuf_addf(out, " # ERROR %s ", verdict_name(v));
			add_word(out, r->result.reason);
		}
		strbuf_adds(out, "\n");
	}
	return 0;
}
