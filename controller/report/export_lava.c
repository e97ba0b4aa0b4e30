/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export_lava.c - what LAVA's test shell looks for in a test's output. Values have no blanks. */
#include "report/export.h"
#include "report/text.h"

#include <ctype.h>

static void add_id(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_addf(out, "%c",
			    isalnum((unsigned char)*s) || *s == '-' || *s == '.' ? *s : '_');
}

static const char *result_word(enum verdict v)
{
	switch (v) {
	case VERDICT_PASS:
		return "pass";
	case VERDICT_FAIL:
		return "fail";
	case VERDICT_UNTESTABLE:
		return "skip";
	case VERDICT_INCONCLUSIVE:
	case VERDICT_RIG_FAULT:
	case VERDICT_MAX:
		break;
	}
	return "unknown";
}

int export_lava(struct strbuf *out, struct run *const *runs, size_t n,
		const struct export_options *o, struct err *e)
{
	(void)o;
	(void)e;
	for (size_t i = 0; i < n; i++) {
		const struct run *r = runs[i];

		strbuf_adds(out, "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=");
		add_id(out, r->scenario);
		strbuf_adds(out, "_");
		add_id(out, r->rig);
		strbuf_adds(out, "_");
		add_id(out, text_or_empty(r->kernel));
		if (r->append && *r->append) {
			strbuf_adds(out, "_");
			add_id(out, r->append);
		}
		strbuf_addf(out, " RESULT=%s", result_word(r->result.verdict));
		if (r->result.worst_us >= 0)
			strbuf_addf(out, " UNITS=ms MEASUREMENT=%.3f",
				    (double)r->result.worst_us / 1000);
		strbuf_adds(out, ">\n");
	}
	return 0;
}
