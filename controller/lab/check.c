/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - from a run with the golden kernel to the health of its rig. */
#include "lab/check.h"

#include <string.h>

#define EVIDENCE_OF_PART 4

static const struct {
	const char *name;
	enum evidence_id evidence[EVIDENCE_OF_PART];
	unsigned n;
} part_table[CHECK_PART_MAX] = {
	[CHECK_BOOT] = {"boot", {EVIDENCE_BOOTED_BUILD}, 1},
	[CHECK_CONSOLE] = {"console", {EVIDENCE_CONSOLE_AUDIBLE, EVIDENCE_CONSOLE_INTACT}, 2},
	[CHECK_CONTROL] = {"control",
			   {EVIDENCE_CONTROL_POSITIVE, EVIDENCE_PROBE_RUNNING,
			    EVIDENCE_PROBE_ON_CPU},
			   3},
	[CHECK_STICK_READS] = {"stick-reads", {EVIDENCE_CACHE_LOADED}, 1},
	[CHECK_SWITCH] = {"switch", {EVIDENCE_CUT_APPLIED}, 1},
	[CHECK_STICK_GOES] = {"stick-goes", {EVIDENCE_CUT_SEEN}, 1},
	[CHECK_STICK_COMES] = {"stick-comes", {EVIDENCE_REPLUGGED, EVIDENCE_ENVIRONMENT_SAME}, 2},
	[CHECK_GOLDEN_KERNEL] = {"golden-kernel", {0}, 0},
};

const char *check_part_name(enum check_part part)
{
	return (unsigned)part < CHECK_PART_MAX ? part_table[part].name : "unknown";
}

const char *check_state_name(enum check_state state)
{
	static const char *const names[] = {
		[CHECK_UNKNOWN] = "unknown", [CHECK_OK] = "ok", [CHECK_FAILED] = "failed"};

	return (unsigned)state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

static void printf_like(4, 5) set_part(struct check_result *res, enum check_part part,
				       enum check_state state, const char *fmt, ...)
{
	va_list ap;

	res->parts[part].state = state;
	va_start(ap, fmt);
	(void)vsnprintf(res->parts[part].detail, sizeof(res->parts[part].detail), fmt, ap);
	va_end(ap);
}

/* The trial that speaks for the run: the last valid one, else the last one. */
static const struct trial *telling_trial(const struct run *r)
{
	for (size_t i = r->n_trials; i-- > 0;)
		if (r->trials[i]->is_valid)
			return r->trials[i];
	return r->n_trials ? r->trials[r->n_trials - 1] : NULL;
}

/* Failed if one of its evidences is missing, ok if all are there. */
static void judge_part(const struct trial *t, enum check_part part, struct check_result *res)
{
	unsigned there = 0;

	for (unsigned i = 0; i < part_table[part].n; i++) {
		const struct evidence *ev = &t->evidence[part_table[part].evidence[i]];

		if (ev->state == EVIDENCE_MISSING) {
			set_part(res, part, CHECK_FAILED, "%s", ev->detail);
			return;
		}
		if (ev->state == EVIDENCE_NOT_REACHED)
			continue;
		if (there++ == 0)
			set_part(res, part, CHECK_UNKNOWN, "%s", ev->detail);
	}
	if (there == part_table[part].n)
		res->parts[part].state = CHECK_OK;
	else
		set_part(res, part, CHECK_UNKNOWN, "not reached");
}

static void judge_boot(const struct run *r, struct check_result *res)
{
	const struct trial_boot *b = r->n_boots ? &r->boots[r->n_boots - 1] : NULL;

	if (r->rig_fault)
		set_part(res, CHECK_BOOT, CHECK_FAILED, "%s", r->rig_fault);
	else if (r->untestable)
		set_part(res, CHECK_BOOT, CHECK_FAILED, "%s", r->untestable);
	else if (res->parts[CHECK_BOOT].state == CHECK_OK && b && b->boot_ms >= 0)
		set_part(res, CHECK_BOOT, CHECK_OK, "%s answered after %.1f s", r->kernel_release,
			 (double)b->boot_ms / 1000);
}

static void judge_kernel(const struct run *r, struct check_result *res)
{
	const struct judge_result *j = &r->result;
	enum check_state state = CHECK_UNKNOWN;

	if (j->verdict == VERDICT_PASS)
		state = CHECK_OK;
	else if (j->verdict == VERDICT_FAIL)
		state = CHECK_FAILED;
	set_part(res, CHECK_GOLDEN_KERNEL, state, "%s: %s, %s", r->kernel_label,
		 verdict_name(j->verdict), j->reason);
}

/* A reason may begin with the name of its part already. */
static const char *without_name(const char *detail, const char *name)
{
	size_t n = strlen(name);

	return strncmp(detail, name, n) == 0 && strncmp(detail + n, ": ", 2) == 0 ? detail + n + 2
										  : detail;
}

static void sum_up(struct check_result *res, const char *kernel)
{
	enum check_state worst = CHECK_OK;
	size_t part = 0;

	for (size_t i = 0; i < CHECK_PART_MAX; i++) {
		enum check_state s = res->parts[i].state;

		if (s == CHECK_OK || worst == CHECK_FAILED || (s == CHECK_UNKNOWN && worst == s))
			continue;
		worst = s;
		part = i;
	}
	if (worst == CHECK_OK) {
		res->verdict = VERDICT_PASS;
		(void)snprintf(res->text, sizeof(res->text), "ok with %s", kernel);
		return;
	}
	res->verdict = worst == CHECK_FAILED ? VERDICT_RIG_FAULT : VERDICT_INCONCLUSIVE;
	(void)snprintf(res->text, sizeof(res->text), "%s: %s", part_table[part].name,
		       without_name(res->parts[part].detail, part_table[part].name));
}

void check_judge(const struct run *r, struct check_result *ret)
{
	const struct trial *t = telling_trial(r);

	*ret = (struct check_result){0};
	for (enum check_part part = 0; part < CHECK_PART_MAX; part++) {
		set_part(ret, part, CHECK_UNKNOWN, "not reached");
		if (t && part_table[part].n)
			judge_part(t, part, ret);
	}
	judge_boot(r, ret);
	judge_kernel(r, ret);
	sum_up(ret, r->kernel_label);
}

void check_judge_error(const char *error, struct check_result *ret)
{
	*ret = (struct check_result){0};
	for (enum check_part part = 0; part < CHECK_PART_MAX; part++)
		set_part(ret, part, CHECK_UNKNOWN, "not reached");
	set_part(ret, CHECK_BOOT, CHECK_FAILED, "%s", error);
	sum_up(ret, "");
}

int check_keep(struct store *st, const char *rig, const struct check_result *res, struct err *e)
{
	bool is_ok = res->verdict == VERDICT_PASS;
	auto_free char *why = xasprintf("failed its check: %s", res->text);
	int r;

	if (res->verdict == VERDICT_INCONCLUSIVE)
		return 0;
	r = store_rig_checked(st, rig, is_ok, res->text, e);
	return r < 0 ? r : store_rig_quarantine(st, rig, is_ok ? NULL : why, e);
}
