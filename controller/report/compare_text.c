/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare_text.c - a comparison in words and as JSON. */
#include "report/compare_text.h"

#include "report/json_put.h"
#include "report/text.h"

#include <math.h>

static void add_run(struct strbuf *out, const char *role, const struct run *r)
{
	const char *label = r->kernel_label && *r->kernel_label ? r->kernel_label : r->kernel;

	strbuf_addf(out, "%-5s ", role);
	text_add_visible(out, text_or_empty(label), strlen(text_or_empty(label)), 0);
	strbuf_adds(out, " on ");
	text_add_visible(out, r->rig, strlen(r->rig), 0);
	strbuf_addf(out, ", run %s: %s, worst ", r->id, verdict_name(r->result.verdict));
	text_add_ms(out, r->result.worst_us);
	strbuf_adds(out, "\n");
}

void compare_text(struct strbuf *out, const struct run *base, const struct run *new_run,
		  const struct compare_result *r, double confidence)
{
	compare_words(r, confidence, out);
	strbuf_addf(out, "\nP(a new delay > an old one) = %.2f, p = %.2g\n", r->superiority, r->p);
	add_run(out, "base", base);
	add_run(out, "new", new_run);
}

static json_t *side_value(const struct run *r, size_t trials, size_t boots, int64_t p50_us)
{
	json_t *obj = json_object();

	set_text(obj, "run", r->id);
	set_text(obj, "kernel", r->kernel);
	set_text(obj, "kernel_label", r->kernel_label);
	set_count(obj, "trials", trials);
	set_count(obj, "boots", boots);
	set_real(obj, "p50_ms", (double)p50_us / 1000);
	return obj;
}

void compare_json(struct strbuf *out, const struct run *base, const struct run *new_run,
		  const struct compare_result *r, double confidence)
{
	json_t *obj = json_object();

	set_text(obj, "change", compare_change_name(r->change));
	set(obj, "base", side_value(base, r->n_base, r->boots_base, r->p50_base));
	set(obj, "new", side_value(new_run, r->n_new, r->boots_new, r->p50_new));
	set(obj, "is_by_boot", json_boolean(r->is_by_boot));
	set_real(obj, "shift_ms", r->shift / 1000);
	set_real(obj, "shift_low_ms", r->shift_low / 1000);
	set_real(obj, "shift_high_ms", r->shift_high / 1000);
	set_real(obj, "ratio", r->ratio);
	if (isfinite(r->ratio_high)) {
		set_real(obj, "ratio_low", r->ratio_low);
		set_real(obj, "ratio_high", r->ratio_high);
	}
	set_real(obj, "superiority", r->superiority);
	set_real(obj, "p", r->p);
	set_real(obj, "confidence", confidence);
	add_json_line(out, obj, JSON_REAL_PRECISION(12) | JSON_COMPACT);
}
