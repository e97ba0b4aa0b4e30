/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tip.c - the newest commit of a branch becomes a build of the store. */
#include "base/fdio.h"
#include "base/http_ask.h"
#include "base/parse.h"
#include "kernels/git.h"
#include "kernels/source.h"

#include <string.h>

#define SHA_SHOWN  12
#define BRANCH_MAX 12 /* bytes of the branch in a name */
#define REASON_MAX 400

static const char *arch_of(const struct kernel_tip_cfg *cfg)
{
	return cfg->arch ? cfg->arch : kernels_host_arch();
}

static char *ref_of(const struct kernel_tip_cfg *cfg)
{
	return strncmp(cfg->branch, "refs/", 5) == 0 ? xstrdup(cfg->branch)
						     : xasprintf("refs/heads/%s", cfg->branch);
}

/* Relative paths are those of this process, not of the tree that git runs in. */
static char *repo_of(const struct kernel_tip_cfg *cfg)
{
	char *path = strstr(cfg->repo, "://") ? NULL : realpath(cfg->repo, NULL);

	return path ? path : xstrdup(cfg->repo);
}

static int refuse(const struct kernel_tip_cfg *cfg, struct err *e)
{
	auto_free char *shown = http_url_shown(cfg->repo);
	auto_free char *why = xstrdup(e->text);

	/* a repository that hangs is this kernel's trouble, too */
	if (e->code != ECHILD && e->code != ETIMEDOUT)
		return -e->code;
	return err_set(e, ERR_CONFIG, ENOENT, "branch '%s' of %s: %s", cfg->branch, shown, why);
}

/* The commit that the branch is at now, in the repository itself. */
static int ask_tip(const struct kernels_ctx *ctx, const struct kernel_tip_cfg *cfg, char **ret,
		   struct err *e)
{
	auto_free char *repo = repo_of(cfg);
	auto_free char *ref = ref_of(cfg);
	/* of a tag that is an object of its own the commit comes second, as REF^{} */
	auto_free char *peeled = xasprintf("%s^{}", ref);
	const char *const args[] = {"ls-remote", "--exit-code", "--", repo, ref, peeled, NULL};
	auto_strbuf struct strbuf out = STRBUF_INIT;
	const char *line;
	int r;

	r = git_ask(ctx->w, "/", args, &out, e);
	if (r == 2) {
		auto_free char *shown = http_url_shown(cfg->repo);

		return err_set(e, ERR_CONFIG, ENOENT, "%s has no branch '%s'", shown, cfg->branch);
	}
	if (r)
		return refuse(cfg, e);
	line = strstr(strbuf_str(&out), "^{}");
	while (line && line > strbuf_str(&out) && line[-1] != '\n')
		line--;
	if (!line)
		line = strbuf_str(&out);
	*ret = xasprintf("%.*s", (int)strcspn(line, " \t\n"), line);
	return 0;
}

/* What else than the commit decides what the build is. */
static int digest_words(const struct kernel_tip_cfg *cfg, char ret[SHA256_HEX_SIZE], struct err *e)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;
	int r = 0;

	strbuf_addf(&words, "%s\n%s\n", arch_of(cfg), cfg->command ? cfg->command : "");
	if (cfg->command)
		for (size_t i = 0; i < cfg->n_configs; i++)
			strbuf_addf(&words, "%s\n", cfg->configs[i]);
	else
		r = kernel_configs_join(cfg->configs, cfg->n_configs, arch_of(cfg), &words, e);
	if (r >= 0)
		sha256_bytes(strbuf_str(&words), words.len, ret);
	return r;
}

/* "for-next-0123456789ab-1a2b3c" */
static int name_tip(const struct kernel_tip_cfg *cfg, const char *commit, char **ret, struct err *e)
{
	const char *slash = strrchr(cfg->branch, '/');
	char digest[SHA256_HEX_SIZE];
	char *name;
	int r;

	r = digest_words(cfg, digest, e);
	if (r < 0)
		return r;
	name = xasprintf("%.*s-%.*s-%.6s", BRANCH_MAX, slash ? slash + 1 : cfg->branch, SHA_SHOWN,
			 commit, digest);
	parse_make_name(name);
	*ret = name;
	return 0;
}

int kernel_tip_name(const struct kernels_ctx *ctx, const struct kernel_tip_cfg *cfg, char **ret,
		    struct err *e)
{
	auto_free char *commit = NULL;
	int r = ask_tip(ctx, cfg, &commit, e);

	return r < 0 ? r : name_tip(cfg, commit, ret, e);
}

/* ---- its tree ---- */

/* A folder for each branch, so that the next tip finds the objects of the last one. */
static char *home_of(const struct kernel_tip_cfg *cfg)
{
	auto_free char *repo = repo_of(cfg);
	auto_free char *words = xasprintf("%s\n%s", repo, cfg->branch);
	const char *slash = strrchr(cfg->branch, '/');
	char digest[SHA256_HEX_SIZE];
	auto_free char *sub = NULL;

	sha256_bytes(words, strlen(words), digest);
	sub = xasprintf("sources/tip-%.*s-%.12s", BRANCH_MAX, slash ? slash + 1 : cfg->branch,
			digest);
	parse_make_name(strrchr(sub, '/') + 1);
	return path_cache(sub);
}

/* *ret_commit is what was fetched: the branch may have moved since it was asked. */
static int fetch_tip(const struct kernels_ctx *ctx, const struct kernel_tip_cfg *cfg,
		     const char *tree, char **ret_commit, struct err *e)
{
	auto_free char *repo = repo_of(cfg);
	auto_free char *ref = ref_of(cfg);
	const char *const init[] = {"init", "--quiet", NULL};
	const char *const fetch[] = {"fetch", "--quiet", "--depth=1", "--no-tags",
				     "--",    repo,      ref,         NULL};
	int r;

	kernels_progress(ctx, "fetching branch %s", cfg->branch);
	r = dir_make(tree, e);
	if (r >= 0)
		r = git_run(ctx->w, tree, init, NULL, e);
	if (r < 0)
		return r;
	r = git_run(ctx->w, tree, fetch, NULL, e);
	if (r < 0)
		return refuse(cfg, e);
	r = git_commit_of(ctx->w, tree, "FETCH_HEAD", ret_commit, e);
	return r < 0 ? r : git_check_out(ctx->w, tree, *ret_commit, e);
}

/* ---- its build ---- */

struct tip {
	const struct kernels_ctx *ctx;
	const struct kernel_tip_cfg *cfg;
	char *home, *tree, *log;
	char *commit, *name;
};

static void tip_release(struct tip *t)
{
	free(t->home);
	free(t->tree);
	free(t->log);
	free(t->commit);
	free(t->name);
}

/* Puts "it does not build" into the store. */
static int note_no_build(const struct tip *t, const char *why, struct kernel_build **ret,
			 struct err *e)
{
	auto_kernel_build struct kernel_build *k = xcalloc(1, sizeof(*k));
	auto_free char *store = NULL;
	auto_free char *final = NULL;
	auto_free char *tmp = NULL;
	auto_free char *build = NULL;
	int r;

	*k = (struct kernel_build){
		.name = xstrdup(t->name),
		.arch = xstrdup(arch_of(t->cfg)),
		.release = xstrdup(""),
		.version = xstrdup("does not build"),
		.origin = xstrdup("build"),
		.package_version = xstrdup(""),
		.commit = xstrdup(t->commit),
		.source = http_url_shown(t->cfg->repo),
		.mutations = xstrdup(""),
		.preempt = xstrdup(""),
		.cpu_intensive_thresh_us = -1,
		.added_wall_ns = wall_now(),
		.no_build = xasprintf("%.*s", REASON_MAX, why),
	};
	for (char *c = k->no_build; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = ' ';
	/* there is no image, and no other kernel may be taken for the same */
	sha256_bytes(t->name, strlen(t->name), k->image_sha256);
	sha256_bytes("", 0, k->config_sha256);
	r = kernels_store_dir(t->ctx, &store, e);
	if (r >= 0)
		r = kernels_tmp_dir(store, &tmp, e);
	if (r < 0)
		return r;
	build = xasprintf("%s/build", tmp);
	final = xasprintf("%s/%s", store, t->name);
	r = dir_make(build, e);
	if (r >= 0)
		r = kernel_build_save(k, build, e);
	if (r >= 0)
		r = kernels_commit_dir(build, final, e);
	kernels_tmp_remove(tmp);
	return r < 0 ? r : kernel_build_load(final, ret, e);
}

static int build_tip(const struct tip *t, struct kernel_build **ret, struct err *e)
{
	auto_free char *out = xasprintf("%s/out", t->home);
	const struct kernel_command_cfg command = {
		.command = t->cfg->command,
		.tree = t->tree,
		.name = t->name,
		.commit = t->commit,
		.config = t->cfg->n_configs ? t->cfg->configs[0] : NULL,
		.out = out,
		.log = t->log,
	};
	const struct kernel_compile_cfg compile = {
		.source = t->tree,
		.is_in_place = true,
		.configs = t->cfg->configs,
		.n_configs = t->cfg->n_configs,
		.name = t->name,
		.arch = arch_of(t->cfg),
		.commit = t->commit,
		.jobs = t->cfg->jobs,
		.log = t->log,
	};
	struct err why = {0};
	int r;

	kernels_progress(t->ctx, "building %s", t->name);
	r = t->cfg->command ? kernel_build_by_command(t->ctx, &command, ret, &why)
			    : kernel_compile(t->ctx, &compile, ret, &why);
	if (r < 0 && why.kind == ERR_KERNEL)
		return note_no_build(t, why.text, ret, e);
	if (r < 0)
		*e = why;
	return r;
}

/* 1 = *ret is the build of that name. */
static int look_up(const struct kernels_ctx *ctx, const char *name, struct kernel_build **ret,
		   struct err *e)
{
	struct err why = {0};
	int r = kernel_find(ctx, name, NULL, ret, &why);

	if (r >= 0)
		return 1;
	if (r == -ENOENT)
		return 0;
	*e = why;
	return r;
}

static int ensure(struct tip *t, struct kernel_build **ret, struct err *e)
{
	auto_free char *lock_path = xasprintf("%s/lock", t->home);
	auto_free char *logs = xasprintf("%s/logs", t->home);
	auto_fd int lock = -1;
	int r;

	r = dir_make(logs, e);
	if (r >= 0)
		r = kernels_lock(t->ctx, lock_path, &lock, e);
	if (r >= 0)
		r = fetch_tip(t->ctx, t->cfg, t->tree, &t->commit, e);
	if (r >= 0)
		r = name_tip(t->cfg, t->commit, &t->name, e);
	if (r >= 0)
		r = look_up(t->ctx, t->name, ret, e);
	if (r)
		return r < 0 ? r : 0;
	t->log = xasprintf("%s/%s.log", logs, t->name);
	return build_tip(t, ret, e);
}

int kernel_tip_ensure(const struct kernels_ctx *ctx, const struct kernel_tip_cfg *cfg,
		      struct kernel_build **ret, struct err *e)
{
	__attribute__((cleanup(tip_release))) struct tip t = {.ctx = ctx, .cfg = cfg};
	auto_free char *name = NULL;
	int r;

	r = kernel_tip_name(ctx, cfg, &name, e);
	if (r >= 0)
		r = look_up(ctx, name, ret, e);
	if (r)
		return r < 0 ? r : 0;
	t.home = home_of(cfg);
	t.tree = xasprintf("%s/src", t.home);
	return ensure(&t, ret, e);
}
