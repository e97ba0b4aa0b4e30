/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bisect_unit.h - a small git repository and a bench that is not there: which commit is bad, how
 * often a trial fails and what goes wrong is chosen. Each outcome is a function of commit, boot and
 * trial alone, so an interrupted bisect sees what an uninterrupted one sees.
 */
#pragma once

#include "base/child.h"
#include "base/rng.h"
#include "bisect/driver.h"
#include "bisect/setup.h"
#include "unit.h"

#include <sys/stat.h>

static char *bu_dir; /* holds repo/ and the bisects */
static char *bu_repo;
static struct waiter *bu_w;

static inline int bu_set_up(void **state)
{
	(void)state;
	bu_dir = unit_tmpdir();
	bu_repo = xasprintf("%s/repo", bu_dir);
	bu_w = waiter_new(NULL);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
	/* equal names of commits in every run, and so equal outcomes */
	setenv("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z", 1);
	setenv("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z", 1);
	setenv("GIT_AUTHOR_NAME", "test", 1);
	setenv("GIT_AUTHOR_EMAIL", "test@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "test", 1);
	setenv("GIT_COMMITTER_EMAIL", "test@example.org", 1);
	return 0;
}

static inline int bu_tear_down(void **state)
{
	(void)state;
	waiter_free(bu_w);
	free(bu_repo);
	unit_rmdir(bu_dir);
	return 0;
}

/* Runs a shell script in bu_dir; returns its stdout without the last line end. */
static inline char *bu_sh(const char *script)
{
	const char *const argv[] = {"sh", "-ec", script, NULL};
	const struct child_cfg cfg = {
		.argv = argv, .cwd = bu_dir, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	if (child_run(bu_w, &cfg, 120 * NSEC_PER_SEC, &out, &e) < 0)
		fail_msg("%s", e.text);
	while (out.len && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	return strbuf_take(&out);
}

/* n commits on one base, the fifth a merge; tags "c0" (the base) … "cN". */
static inline void bu_make_repo(unsigned n)
{
	auto_free char *script = xasprintf(
		"rm -rf repo; git init -q -b main repo; cd repo; mkdir -p drivers/usb Documentation\n"
		"c() { echo $1 >>$2; git add -A; git commit -qm \"change $1 in $2\"; git tag c$1; }\n"
		"c 0 Makefile\n"
		"i=1; while [ $i -le %u ]; do\n"
		"case $((i %% 4)) in 0) f=drivers/usb/hub.c;; 1) f=Documentation/a;; *) f=main.c;; esac\n"
		"if [ $i -eq 5 ]; then git checkout -q -b side HEAD~2; echo s >side.c; git add -A;\n"
		"git commit -qm 'on the side'; git checkout -q main;\n"
		"git merge -q --no-ff -m 'change 5 is a merge' side; git tag c5\n"
		"else c $i $f; fi; i=$((i + 1)); done",
		n);

	free(bu_sh(script));
}

static inline char *bu_sha(const char *rev)
{
	auto_free char *script = xasprintf("git -C repo rev-parse %s", rev);

	return bu_sh(script);
}

struct fake_bench {
	struct bisect_bench bench;
	char *bad; /* names of all bad commits */
	double fail_good, fail_bad;
	const char *unbuildable[4];
	unsigned stop_after;       /* boots until it acts as after SIGTERM; 0 = never */
	unsigned full_disk_builds; /* so many builds find the disk full */
	unsigned empty_boots;      /* so many boots have only invalid trials */
	unsigned builds, boots;
	bool has_conflict;   /* nothing can be reverted */
	bool has_second_one; /* reverting the guilty commit does not help */
	char reverted[64];
	char order[512]; /* "C" and "P" of the boots of rebuilt kernels */
	char built[128][64];
	unsigned n_built;
	unsigned boots_of[128];
};

static inline bool fake_has_kernel(void *self, const char *name)
{
	struct fake_bench *f = self;

	for (unsigned i = 0; i < f->n_built; i++)
		if (strcmp(f->built[i], name) == 0)
			return true;
	return false;
}

static inline int fake_build(void *self, const char *sha, const char *revert, const char *name,
			     char *ret_untestable, size_t cap, struct err *e)
{
	struct fake_bench *f = self;

	f->builds++;
	if (revert)
		(void)snprintf(f->reverted, sizeof(f->reverted), "%s", revert);
	if (revert && f->has_conflict) {
		(void)snprintf(ret_untestable, cap, "a conflict");
		return 0;
	}
	if (f->full_disk_builds) {
		f->full_disk_builds--;
		return err_set(e, ERR_INTERNAL, ENOSPC, "the disk is full");
	}
	for (size_t i = 0; i < ARRAY_SIZE(f->unbuildable); i++)
		if (f->unbuildable[i] && strcmp(f->unbuildable[i], sha) == 0) {
			(void)snprintf(ret_untestable, cap, "does not build");
			return 0;
		}
	(void)snprintf(f->built[f->n_built++], sizeof(f->built[0]), "%s", name);
	return 0;
}

static inline bool fake_is_bad(const struct fake_bench *f, const char *name)
{
	auto_free char *sha = xasprintf("%.12s", name);

	if (strstr(name, "-r"))
		return f->has_second_one;
	return strstr(f->bad, sha) != NULL;
}

static inline int fake_boot(void *self, const char *name, unsigned trials, struct bisect_boot *ret,
			    struct err *e)
{
	struct fake_bench *f = self;
	bool is_bad = fake_is_bad(f, name);
	size_t len = strlen(f->order);
	uint64_t hash = 1469598103934665603u;
	unsigned k = 0;
	struct rng rng;

	if (f->stop_after && f->boots == f->stop_after)
		return err_set(e, ERR_STOPPED, EINTR, "stopped");
	f->boots++;
	(void)snprintf(ret->run, sizeof(ret->run), "run-%u", f->boots);
	while (strcmp(f->built[k], name) != 0)
		k++;
	for (const char *p = name; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 1099511628211u;
	rng_init(&rng, hash + f->boots_of[k]++);
	if (strstr(name, "-c") && len < sizeof(f->order) - 1) {
		f->order[len] = is_bad ? 'C' : 'P';
		f->order[len + 1] = '\0';
	}
	if (f->empty_boots) {
		f->empty_boots--;
		ret->invalid = trials;
		(void)snprintf(ret->missing, sizeof(ret->missing), "controls-quiet");
		return 0;
	}
	for (unsigned i = 0; i < trials; i++) {
		struct bisect_observation *o = &ret->v[ret->n++];

		o->is_over = rng_unit(&rng) < (is_bad ? f->fail_bad : f->fail_good);
		o->delay_ms = (o->is_over ? 300 : 5) * (0.8 + 0.4 * rng_unit(&rng));
	}
	ret->boot_s = 10;
	ret->trials_s = 5 * trials;
	return 0;
}

/* What contains the guilty commit fails every second time. fake_release() afterwards. */
static inline struct fake_bench bu_bench(const char *guilty)
{
	auto_free char *script =
		xasprintf("echo %s; git -C repo rev-list --ancestry-path %s..c40", guilty, guilty);

	return (struct fake_bench){
		.bench = {.has_kernel = fake_has_kernel, .build = fake_build, .boot = fake_boot},
		.bad = bu_sh(script),
		.fail_bad = 0.5,
	};
}

static inline void fake_release(struct fake_bench *f)
{
	free(f->bad);
}
#define auto_fake __attribute__((cleanup(fake_release)))

/* What a test needs; the rest as bisect_setup_default() has it. */
static inline struct bisect_setup bu_setup(void)
{
	struct bisect_setup s;

	bisect_setup_default(&s);
	s.repo = xstrdup(bu_repo);
	s.rig = xstrdup("rig");
	s.scenario = xstrdup("scenario");
	s.arch = xstrdup("x86_64");
	s.failure = xstrdup("over-limit");
	return s;
}

/* Starts c0..cN in a folder of this name; takes the setup. */
static inline struct bisect *bu_start_as(const char *name, const char *bad, struct bisect_setup s)
{
	auto_free char *dir = xasprintf("%s/%s", bu_dir, name);
	struct bisect *b = NULL;
	struct err e = {0};

	if (bisect_start(bu_w, dir, &s, "c0", bad, &b, &e) < 0)
		fail_msg("%s", e.text);
	bisect_setup_release(&s);
	return b;
}

static inline struct bisect *bu_start(const char *name, const char *bad)
{
	return bu_start_as(name, bad, bu_setup());
}

static inline struct bisect *bu_start_reverting(const char *name, const char *bad)
{
	struct bisect_setup s = bu_setup();

	s.has_revert = true;
	return bu_start_as(name, bad, s);
}

static inline struct bisect *bu_open(const char *name)
{
	auto_free char *dir = xasprintf("%s/%s", bu_dir, name);
	struct bisect *b = NULL;
	struct err e = {0};

	if (bisect_open(dir, true, &b, &e) < 0)
		fail_msg("%s", e.text);
	return b;
}
