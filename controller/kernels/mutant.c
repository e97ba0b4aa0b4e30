/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mutant.c - kernels with and without a mutation, each made once. */
#include "base/fdio.h"
#include "kernels/source.h"

#include <string.h>

#define DIGEST_SHOWN 8
#define TAG_MAX      (KERNEL_COMPILE_NAME_MAX - DIGEST_SHOWN - (int)sizeof("selftest--") + 1)

/* What a build is made of, worked out of a mutation. */
struct recipe {
	char *config_words, *base_words; /* the names below point into them */
	const char *configs[KERNEL_WORDS_MAX + 1];
	size_t n_configs;
	const char *mutations[KERNEL_WORDS_MAX + 1];
	size_t n_mutations;
	const char *source;
	const char *arch;
	char *name;
};

static void auto_cleanup_recipe(struct recipe *rc)
{
	free(rc->config_words);
	free(rc->base_words);
	free(rc->name);
}
#define auto_recipe __attribute__((cleanup(auto_cleanup_recipe)))

/* Cuts text at blanks. The words stay where they are. */
static int split(const struct kernel_mutation *m, const char *key, char *text, const char **ret,
		 size_t *n, size_t max, struct err *e)
{
	char *rest = text;

	for (char *word; (word = strsep(&rest, " "));) {
		if (!*word)
			continue;
		if (*n == max)
			return err_set(e, ERR_CONFIG, E2BIG, "%s: more than %d words after '%s:'",
				       m->path, KERNEL_WORDS_MAX, key);
		ret[(*n)++] = word;
	}
	return 0;
}

/* Of the edit alone: its story may be told better without another build. */
static int add_mutation_digest(const char *name, struct strbuf *out, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct kernel_mutation m = {0};
	char digest[SHA256_HEX_SIZE];
	const char *edit;
	int r;

	r = kernel_mutation_find(name, &m, e);
	if (r < 0)
		return r;
	r = file_read(m.path, MUTATION_TEXT_MAX, &text, e);
	kernel_mutation_release(&m);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	edit = strstr(strbuf_str(&text), "\n--- ");
	if (!edit)
		edit = strbuf_str(&text);
	sha256_bytes(edit, strlen(edit), digest);
	strbuf_addf(out, "mutation %s %s\n", name, digest);
	return 0;
}

/* The name is made of a digest of all that goes in, so that an edited patch is another build. */
static int name_build(const struct kernels_ctx *ctx, struct recipe *rc, struct err *e)
{
	auto_strbuf struct strbuf all = STRBUF_INIT;
	auto_strbuf struct strbuf options = STRBUF_INIT;
	auto_free char *label = NULL;
	char digest[SHA256_HEX_SIZE];
	const char *tag = rc->n_mutations ? rc->mutations[rc->n_mutations - 1] : "plain";
	int r;

	r = source_label(ctx, rc->source, &label, e);
	if (r >= 0)
		r = kernel_configs_join(rc->configs, rc->n_configs, rc->arch, &options, e);
	if (r < 0)
		return r;
	sha256_bytes(options.data, options.len, digest);
	strbuf_addf(&all, "source %s\narch %s\noptions %s\n", label, rc->arch, digest);
	for (size_t i = 0; i < rc->n_mutations; i++) {
		r = add_mutation_digest(rc->mutations[i], &all, e);
		if (r < 0)
			return r;
	}
	sha256_bytes(all.data, all.len, digest);
	rc->name = xasprintf("selftest-%.*s-%.*s", TAG_MAX, tag, DIGEST_SHOWN, digest);
	return 0;
}

static int make_recipe(const struct kernels_ctx *ctx, const struct kernel_mutant_cfg *cfg,
		       struct recipe *rc, struct err *e)
{
	const struct kernel_mutation *m = cfg->mutation;
	int r;

	rc->config_words = xstrdup(m->configs);
	rc->base_words = xstrdup(m->base);
	rc->configs[rc->n_configs++] = "virtual";
	r = split(m, "Config", rc->config_words, rc->configs, &rc->n_configs, KERNEL_WORDS_MAX + 1,
		  e);
	if (r >= 0)
		r = split(m, "Base", rc->base_words, rc->mutations, &rc->n_mutations,
			  KERNEL_WORDS_MAX, e);
	if (r < 0)
		return r;
	if (cfg->is_mutated)
		rc->mutations[rc->n_mutations++] = m->name;
	rc->source = cfg->source ? cfg->source : m->source;
	rc->arch = cfg->arch ? cfg->arch : kernels_host_arch();
	return name_build(ctx, rc, e);
}

int kernel_mutant_name(const struct kernels_ctx *ctx, const struct kernel_mutant_cfg *cfg,
		       char **ret, struct err *e)
{
	auto_recipe struct recipe rc = {0};
	int r;

	r = make_recipe(ctx, cfg, &rc, e);
	if (r < 0)
		return r;
	*ret = take(rc.name);
	return 0;
}

static int find_build(const struct kernels_ctx *ctx, const struct recipe *rc,
		      struct kernel_build **ret, struct err *e)
{
	struct err why = {0};
	int r;

	r = kernel_find(ctx, rc->name, rc->arch, ret, &why);
	if (r < 0 && r != -ENOENT && e)
		*e = why;
	return r;
}

int kernel_mutant_ensure(const struct kernels_ctx *ctx, const struct kernel_mutant_cfg *cfg,
			 struct kernel_build **ret, struct err *e)
{
	auto_recipe struct recipe rc = {0};
	struct err why = {0};
	int r;

	r = make_recipe(ctx, cfg, &rc, e);
	if (r < 0)
		return r;
	r = find_build(ctx, &rc, ret, e);
	if (r != -ENOENT)
		return r;
	const struct kernel_compile_cfg compile = {
		.source = rc.source,
		.configs = rc.configs,
		.n_configs = rc.n_configs,
		.mutations = rc.mutations,
		.n_mutations = rc.n_mutations,
		.name = rc.name,
		.arch = rc.arch,
		.jobs = cfg->jobs,
	};

	r = kernel_compile(ctx, &compile, ret, &why);
	/* another process made it while this one waited for the tree */
	if (r == -EEXIST)
		return kernel_find(ctx, rc.name, rc.arch, ret, e);
	if (r < 0 && e)
		*e = why;
	return r;
}
