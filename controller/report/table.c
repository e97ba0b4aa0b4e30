/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - the verdict table for a terminal. */
#include "report/report.h"
#include "report/run_text.h"
#include "report/text.h"

#include <string.h>

enum column { COL_KERNEL, COL_RIG, COL_VALID, COL_OVER, COL_WORST, COL_P50, COL_VERDICT, COL_MAX };

static const struct {
	const char *head;
	bool is_right;
} columns[COL_MAX] = {
	[COL_KERNEL] = {"kernel build", false}, [COL_RIG] = {"rig", false},
	[COL_VALID] = {"valid", true},          [COL_OVER] = {"over", true},
	[COL_WORST] = {"worst", true},          [COL_P50] = {"p50", true},
	[COL_VERDICT] = {"verdict", false},
};

/* SGR parameters; the word stands beside the colour, so nothing hangs on it. */
static const char *const verdict_sgr[VERDICT_MAX] = {
	[VERDICT_PASS] = "32",         [VERDICT_FAIL] = "1;31",    [VERDICT_INCONCLUSIVE] = "33",
	[VERDICT_UNTESTABLE] = "1;33", [VERDICT_RIG_FAULT] = "35",
};

static void fill_cell(struct strbuf *out, const struct run *r, enum column col)
{
	const struct judge_result *j = &r->result;

	switch (col) {
	case COL_KERNEL: {
		const char *label =
			r->kernel_label && *r->kernel_label ? r->kernel_label : r->kernel;

		text_add_visible(out, label, strlen(label), 0);
		break;
	}
	case COL_RIG:
		text_add_visible(out, r->rig, strlen(r->rig), 0);
		break;
	case COL_VALID:
		strbuf_addf(out, "%u/%u", j->valid, r->planned_valid);
		break;
	case COL_OVER:
		if (j->valid)
			strbuf_addf(out, "%u/%u", j->over, j->valid);
		else
			strbuf_adds(out, TEXT_UNKNOWN);
		break;
	case COL_WORST:
		text_add_ms(out, j->worst_us);
		break;
	case COL_P50:
		text_add_ms(out, j->p50_us);
		break;
	case COL_VERDICT:
		strbuf_adds(out, verdict_name(j->verdict));
		break;
	case COL_MAX:
		break;
	}
}

static size_t column_width(struct run *const *runs, size_t n, enum column col)
{
	size_t width = text_width(columns[col].head);

	for (size_t i = 0; i < n; i++) {
		auto_strbuf struct strbuf cell = STRBUF_INIT;
		size_t w;

		fill_cell(&cell, runs[i], col);
		w = text_width(strbuf_str(&cell));
		if (w > width)
			width = w;
	}
	return width;
}

static void add_row(struct strbuf *out, const struct run *r, const size_t *widths, bool has_colour)
{
	for (enum column col = 0; col < COL_MAX; col++) {
		auto_strbuf struct strbuf cell = STRBUF_INIT;
		bool is_coloured = has_colour && col == COL_VERDICT;

		fill_cell(&cell, r, col);
		if (is_coloured)
			strbuf_addf(out, "\033[%sm", verdict_sgr[r->result.verdict]);
		text_add_padded(out, strbuf_str(&cell), widths[col], columns[col].is_right);
		if (is_coloured)
			strbuf_adds(out, "\033[0m");
		strbuf_adds(out, "  ");
	}
	run_text_add_outcome(out, r);
	strbuf_adds(out, "\n");
}

void report_table(struct strbuf *out, struct run *const *runs, size_t n, bool has_colour)
{
	auto_free size_t *order = xcalloc(n, sizeof(*order));
	auto_free size_t *group = xcalloc(n, sizeof(*group));
	size_t groups = run_text_group(runs, n, order, group);
	size_t widths[COL_MAX];

	for (enum column col = 0; col < COL_MAX; col++)
		widths[col] = column_width(runs, n, col);
	for (size_t i = 0; i < n; i++) {
		const struct run *r = runs[order[i]];
		bool is_new_group = i == 0 || group[i] != group[i - 1];

		if (is_new_group && groups > 1) {
			strbuf_adds(out, i ? "\n" : "");
			run_text_add_group(out, r);
			strbuf_adds(out, "\n");
		}
		if (is_new_group) {
			for (enum column col = 0; col < COL_MAX; col++) {
				text_add_padded(out, columns[col].head, widths[col],
						columns[col].is_right);
				strbuf_adds(out, "  ");
			}
			strbuf_adds(out, "strength\n");
		}
		add_row(out, r, widths, has_colour);
	}
}
