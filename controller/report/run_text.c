/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_text.c - how runs and trials are put into words and groups. */
#include "report/run_text.h"

#include "base/waiter.h"
#include "report/text.h"

#include <string.h>

void run_text_add_outcome(struct strbuf *out, const struct run *r)
{
	const struct judge_result *j = &r->result;
	bool has_own_reason = j->verdict != VERDICT_PASS && strcmp(j->reason, "over-limit") != 0;

	if (!r->ended_wall_ns)
		strbuf_adds(out, "not ended, so far: ");
	if (has_own_reason)
		text_add_visible(out, j->reason, strlen(j->reason), 0);
	if (has_own_reason && j->reason[0] && j->strength[0])
		strbuf_adds(out, ": ");
	text_add_visible(out, j->strength, strlen(j->strength), 0);
}

void run_text_add_trial(struct strbuf *out, const struct run *r, const struct trial *t)
{
	if (t->is_crash) {
		strbuf_adds(out, "crash: ");
		text_add_visible(out, t->crash, strlen(t->crash), 0);
	} else if (!t->is_valid) {
		strbuf_addf(out, "invalid: %s", evidence_name(t->missing));
	} else if (t->worst_us > r->limit_us) {
		strbuf_adds(out, "valid, over the limit");
	} else {
		strbuf_adds(out, "valid");
	}
}

void run_text_add_trial_id(struct strbuf *out, const struct run *r, const struct trial *t)
{
	strbuf_addf(out, "%s.%u", r->id, t->number);
}

void run_text_add_group(struct strbuf *out, const struct run *r)
{
	strbuf_adds(out, "scenario ");
	text_add_visible(out, r->scenario, strlen(r->scenario), 0);
	strbuf_adds(out, " on ");
	text_add_visible(out, r->rig_class, strlen(r->rig_class), 0);
	strbuf_adds(out, " rigs, limit ");
	text_add_ms(out, r->limit_us);
}

static bool is_same_group(const struct run *a, const struct run *b)
{
	return a->limit_us == b->limit_us && strcmp(a->rig_class, b->rig_class) == 0 &&
	       strcmp(a->scenario, b->scenario) == 0;
}

size_t run_text_group(struct run *const *runs, size_t n, size_t *ret_order, size_t *ret_group)
{
	size_t groups = 0;
	size_t placed = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_first = true;

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !is_same_group(runs[k], runs[i]);
		if (!is_first)
			continue;
		for (size_t k = i; k < n; k++) {
			if (!is_same_group(runs[i], runs[k]))
				continue;
			ret_order[placed] = k;
			ret_group[placed++] = groups;
		}
		groups++;
	}
	return groups;
}

const struct trial_boot *run_text_boot(const struct run *r, unsigned number)
{
	for (size_t i = 0; i < r->n_boots; i++)
		if (r->boots[i].number == number)
			return &r->boots[i];
	return NULL;
}

const char *run_text_mark(enum evidence_state s)
{
	switch (s) {
	case EVIDENCE_OK:
		return "✓";
	case EVIDENCE_MISSING:
		return "✗";
	case EVIDENCE_NOT_NEEDED:
		return "–";
	case EVIDENCE_NOT_REACHED:
		break;
	}
	return "·";
}

int run_text_excerpt(const struct trial *t, const struct trial_boot *b,
		     const struct excerpt_size *size, struct excerpt *ret, bool *ret_has_cut,
		     int64_t *ret_cut_ns, struct err *e)
{
	int64_t seen_us = 0;
	int r;

	r = excerpt_read(text_or_empty(b->recording), t->console_from, t->console_to,
			 "USB disconnect", size, ret, e);
	if (r < 0)
		return r;
	*ret_has_cut = ret->anchor != EXCERPT_NO_ANCHOR && trial_number(t, "cut_seen_us", &seen_us);
	*ret_cut_ns = *ret_has_cut ? ret->lines[ret->anchor].t_ns - seen_us * NSEC_PER_USEC : 0;
	return 0;
}
