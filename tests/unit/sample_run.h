/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample_run.h - runs as the runner would leave them, for tests of what shows them. */
#pragma once

#include "base/waiter.h"
#include "console/console.h"
#include "trial/trial.h"

#include <string.h>

/* 2026-11-30T11:17:54Z */
#define SAMPLE_WALL_NS ((int64_t)1796037474 * NSEC_PER_SEC)

static inline struct run *sample_run(const char *label, const char *rig, const char *rig_class)
{
	struct run *r = xcalloc(1, sizeof(*r));

	r->id = xstrdup("20261130-111754-a3f2");
	r->rig = xstrdup(rig);
	r->rig_class = xstrdup(rig_class);
	r->arch = xstrdup("x86_64");
	r->kernel = xstrdup("debian-6.1.0-57-amd64");
	r->kernel_label = xstrdup(label);
	r->kernel_release = xstrdup("6.1.0-57-amd64");
	r->kernel_version = xstrdup("#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-3");
	r->kernel_config_sha256 = xstrdup("c0ffee");
	r->kernel_image_sha256 = xstrdup("beef");
	r->append = xstrdup("");
	r->scenario = xstrdup("unplug-read");
	r->scenario_sha256 = xstrdup("5ca1ab1e");
	r->started_wall_ns = SAMPLE_WALL_NS;
	r->ended_wall_ns = SAMPLE_WALL_NS + 90 * NSEC_PER_SEC;
	r->limit_us = 50000;
	r->planned_valid = 8;
	r->tolerated_over = 0.01;
	r->confidence = 0.95;
	return r;
}

static inline struct trial *sample_add_trial(struct run *r, unsigned boot, int64_t worst_us)
{
	struct trial *t = trial_new();

	r->trials = xrealloc(r->trials, r->n_trials + 1, sizeof(*r->trials));
	r->trials[r->n_trials++] = t;
	t->number = (unsigned)r->n_trials;
	t->boot = boot;
	t->unplug = 1;
	t->started_wall_ns = SAMPLE_WALL_NS + (int64_t)r->n_trials * 10 * NSEC_PER_SEC;
	t->is_valid = true;
	t->worst_us = worst_us;
	t->worst_cpu = 0;
	strcpy(t->worst_probe, "normal");
	strcpy(t->worst_func, "hub_event");
	for (int i = 0; i < EVIDENCE_MAX; i++)
		t->evidence[i].state = EVIDENCE_OK;
	strcpy(t->evidence[EVIDENCE_CACHE_LOADED].detail,
	       "614400 KiB of 614400 KiB cached, floor 90 %");
	return t;
}

static inline void sample_invalidate(struct trial *t, enum evidence_id missing, const char *detail)
{
	t->is_valid = false;
	t->missing = missing;
	t->evidence[missing].state = EVIDENCE_MISSING;
	(void)snprintf(t->evidence[missing].detail, sizeof(t->evidence[missing].detail), "%s",
		       detail);
	for (int i = (int)missing + 1; i < EVIDENCE_MAX; i++) {
		t->evidence[i].state = EVIDENCE_NOT_REACHED;
		t->evidence[i].detail[0] = '\0';
	}
	t->worst_us = -1;
	t->worst_cpu = -1;
	t->worst_probe[0] = '\0';
	t->worst_func[0] = '\0';
}

static inline struct trial_boot *sample_add_boot(struct run *r, const char *recording)
{
	struct trial_boot *b;

	r->boots = xrealloc(r->boots, r->n_boots + 1, sizeof(*r->boots));
	b = &r->boots[r->n_boots++];
	memset(b, 0, sizeof(*b));
	b->number = (unsigned)r->n_boots;
	b->recording = xstrdup(recording);
	b->banner = xstrdup("Linux version 6.1.0-57-amd64");
	b->environment = xstrdup("hz=250 preempt=voluntary");
	b->boot_ms = 5210;
	return b;
}
