/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_kernel.c - the kernel store: fetch, add, build, list, show, remove. */
#include "cli/common.h"
#include "judge/judge.h"
#include "report/json_put.h"
#include "report/text.h"

#include <jansson.h>

#include <inttypes.h>
#include <string.h>

static const char *const archs[] = {"x86_64", "arm64", NULL};

static void say_name(struct cli *cli, const struct kernel_build *k)
{
	progress_clear(cli);
	fprintf(cli->out, "%s\n", k->name);
}

/* ---- JSON ---- */

static int write_json(struct cli *cli, json_t *value, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	add_json_line(&text, value, JSON_COMPACT);
	return cli_write(cli, "-", &text, e);
}

/* ---- fetch ---- */

static const struct opt fetch_options[] = {
	{.name = "arch",
	 .letter = 'a',
	 .type = OPT_CHOICE,
	 .arg = "ARCH",
	 .choices = archs,
	 .absent = "the machine's",
	 .help = "architecture of the kernel"},
	OPT_ROW_END,
};

static int run_fetch(struct cli *cli, const struct args *a, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	struct kernels_ctx ctx;
	int r;

	waiter_catch_stop_signals();
	cli_kernels_ctx(cli, &ctx);
	r = kernel_fetch(&ctx, a->positional[0], args_text(a, "arch"), &k, e);
	progress_clear(cli);
	if (r < 0)
		return r;
	say_name(cli, k);
	return 0;
}

const struct cmd cmd_kernel_fetch = {
	.name = "kernel fetch",
	.summary = "Fetch a Debian kernel and put it into the kernel store",
	.details =
		"SPEC is a series as in debian:6.1 (its newest kernel), or a release as in "
		"debian:6.1.0-57-amd64. The packages come from the machine's own Debian registry, "
		"are unpacked and never installed. Prints the name of the build. What is in the "
		"store already is not fetched again.",
	.positional = {.name = "SPEC", .type = OPT_TEXT, .min = 1, .max = 1},
	.options = fetch_options,
	.run = run_fetch,
};

/* ---- add ---- */

static const struct opt add_options[] = {
	{.name = "name",
	 .letter = 'n',
	 .type = OPT_TEXT,
	 .arg = "NAME",
	 .absent = "from the release",
	 .help = "name of the build in the store"},
	{.name = "modules",
	 .type = OPT_DIR,
	 .arg = "DIR",
	 .absent = "looked for beside the image",
	 .help = "the folder that is installed as lib/modules/RELEASE"},
	{.name = "headers",
	 .type = OPT_DIR,
	 .arg = "DIR",
	 .absent = "DIR/build of the modules",
	 .help = "what modules are built against"},
	{.name = "config",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .absent = "looked for beside the image and in it",
	 .help = "the kernel's .config"},
	OPT_ROW_END,
};

static int run_add(struct cli *cli, const struct args *a, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	struct kernels_ctx ctx;
	struct kernel_add_cfg cfg = {
		.name = args_text(a, "name"),
		.paths = a->positional,
		.n_paths = a->n_positional,
		.modules_dir = args_text(a, "modules"),
		.headers_dir = args_text(a, "headers"),
		.config = args_text(a, "config"),
	};
	int r;

	waiter_catch_stop_signals();
	cli_kernels_ctx(cli, &ctx);
	r = kernel_add(&ctx, &cfg, &k, e);
	progress_clear(cli);
	if (r < 0)
		return r;
	say_name(cli, k);
	return 0;
}

const struct cmd cmd_kernel_add = {
	.name = "kernel add",
	.summary = "Put a kernel of your own into the kernel store",
	.details = "PATH is a folder with an image (bzImage, Image) and its modules, an image, or "
		   "Debian packages. Prints the name of the build.",
	.positional = {.name = "PATH", .type = OPT_PATH, .min = 1, .max = 64},
	.options = add_options,
	.run = run_add,
};

/* ---- build ---- */

static const struct opt build_options[] = {
	{.name = "source",
	 .letter = 's',
	 .type = OPT_PATH,
	 .arg = "SOURCE",
	 .is_required = true,
	 .help = "folder with kernel source, or debian:PACKAGE as in debian:linux-source-6.1"},
	{.name = "name",
	 .letter = 'n',
	 .type = OPT_TEXT,
	 .arg = "NAME",
	 .is_required = true,
	 .help = "name of the build in the store; its release ends with it"},
	{.name = "config",
	 .letter = 'c',
	 .type = OPT_PATH,
	 .arg = "FRAGMENT",
	 .is_list = true,
	 .absent = "virtual",
	 .help = "a complete .config, a file of options, or the name of one in fixtures/kernels; "
		 "later ones go on top of earlier ones"},
	{.name = "mutation",
	 .letter = 'm',
	 .type = OPT_TEXT,
	 .arg = "MUTATION",
	 .is_list = true,
	 .help = "edit the source in this described way, see 'kernel mutations'"},
	{.name = "arch",
	 .letter = 'a',
	 .type = OPT_CHOICE,
	 .arg = "ARCH",
	 .choices = archs,
	 .absent = "the machine's",
	 .help = "architecture to build for"},
	OPT_ROW_JOBS,
	{.name = "drop-options",
	 .type = OPT_FLAG,
	 .help = "go on if the kernel does not take an option of a fragment"},
	OPT_ROW_END,
};

static int run_build(struct cli *cli, const struct args *a, struct err *e)
{
	static const char *const default_configs[] = {"virtual"};
	const struct opt_value *configs = args_list(a, "config");
	const struct opt_value *mutations = args_list(a, "mutation");
	auto_kernel_build struct kernel_build *k = NULL;
	struct kernels_ctx ctx;
	const struct kernel_compile_cfg cfg = {
		.source = args_text(a, "source"),
		.configs = configs->n ? configs->texts : default_configs,
		.n_configs = configs->n ? configs->n : ARRAY_SIZE(default_configs),
		.may_drop_options = args_has(a, "drop-options"),
		.mutations = mutations->texts,
		.n_mutations = mutations->n,
		.name = args_text(a, "name"),
		.arch = args_text(a, "arch"),
		.jobs = args_count(a, "jobs", 0),
	};
	int r;

	waiter_catch_stop_signals();
	cli_kernels_ctx(cli, &ctx);
	r = kernel_compile(&ctx, &cfg, &k, e);
	progress_clear(cli);
	if (r < 0 && e->kind == ERR_KERNEL) {
		/* a kernel that does not build is a finding, not a mistake: as `run` would say */
		cli_say_error(cli, e);
		return verdict_exit_code(VERDICT_UNTESTABLE);
	}
	if (r < 0)
		return r;
	say_name(cli, k);
	return 0;
}

const struct cmd cmd_kernel_build = {
	.name = "kernel build",
	.summary = "Build a kernel from source and put it into the kernel store",
	.details =
		"The source is built in a copy of its own in the cache, which stays there, so that "
		"the next build compiles only what changed; ccache is used if it is installed. "
		"Fragments go on top of allnoconfig, or of the first --config if that is a complete "
		".config. Prints the name of the build. The exit status is 125 if the kernel does "
		"not build (UNTESTABLE, kernel.no-build): the first errors are shown and the whole "
		"log is kept.",
	.options = build_options,
	.run = run_build,
};

static const struct opt mutations_options[] = {
	{.name = "json", .type = OPT_FLAG, .help = "as JSON"},
	OPT_ROW_NAMES,
	OPT_ROW_END,
};

static json_t *mutation_value(const struct kernel_mutation *m)
{
	json_t *obj = json_object();

	set_text(obj, "name", m->name);
	set_text(obj, "title", m->title);
	set_text(obj, "scenario", m->scenario);
	set_text(obj, "expected", m->expected);
	if (*m->scenario)
		set_text(obj, "unmutated", m->unmutated);
	set_text(obj, "source", m->source);
	set_text(obj, "configs", m->configs);
	set_text(obj, "base", m->base);
	set_text(obj, "append", m->append);
	set_text(obj, "stands_for", m->stands_for);
	return obj;
}

static int run_mutations(struct cli *cli, const struct args *a, struct err *e)
{
	struct kernel_mutation_list l = {0};
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r;

	r = kernel_mutations(&l, e);
	if (r < 0)
		return r;
	if (args_has(a, "json")) {
		json_t *root = json_object();
		json_t *array = json_array();

		for (size_t i = 0; i < l.n; i++)
			if (json_array_append_new(array, mutation_value(&l.v[i])) < 0)
				abort();
		set(root, "mutations", array);
		r = write_json(cli, root, e);
	} else {
		for (size_t i = 0; i < l.n; i++) {
			const struct kernel_mutation *m = &l.v[i];

			if (args_has(a, "names")) {
				strbuf_addf(&text, "%s\n", m->name);
				continue;
			}
			strbuf_addf(&text, "%s%s\n", i ? "\n" : "", m->name);
			fact_add(&text, "  changes", "%s", m->title);
			fact_add(&text, "  scenario", "%s", m->scenario);
			fact_add(&text, "  expected", "%s", m->expected);
			if (*m->scenario)
				fact_add(&text, "  without it", "%s", m->unmutated);
			fact_add(&text, "  source", "%s", m->source);
			fact_add(&text, "  configs", "%s", m->configs);
			fact_add(&text, "  on top of", "%s", m->base);
			fact_add(&text, "  command line", "%s", m->append);
			fact_add(&text, "  stands for", "%s", m->stands_for);
		}
		r = cli_write(cli, "-", &text, e);
	}
	kernel_mutation_list_release(&l);
	return r;
}

const struct cmd cmd_kernel_mutations = {
	.name = "kernel mutations",
	.summary = "List the source edits that 'kernel build --mutation' knows",
	.details = "A mutation re-creates one failure mechanism, or takes one away, so that it can "
		   "be shown that a scenario finds it.",
	.options = mutations_options,
	.run = run_mutations,
};

/* ---- list and show ---- */

static json_t *build_value(const struct kernel_build *k)
{
	auto_free char *added = k->added_wall_ns ? wall_format(k->added_wall_ns) : NULL;
	json_t *obj = json_object();

	set_text(obj, "name", k->name);
	set_text(obj, "arch", k->arch);
	set_text(obj, "release", k->release);
	set_text(obj, "version", k->version);
	set_text(obj, "origin", k->origin);
	set_text(obj, "package_version", k->package_version);
	set_text(obj, "commit", k->commit);
	set_text(obj, "source", k->source);
	set_text(obj, "mutations", k->mutations);
	set_text(obj, "no_build", k->no_build);
	if (k->hz > 0)
		set(obj, "hz", json_integer(k->hz));
	set_text(obj, "preempt", k->preempt);
	if (k->cpu_intensive_thresh_us >= 0)
		set(obj, "cpu_intensive_thresh_us", json_integer(k->cpu_intensive_thresh_us));
	set_text(obj, "config_sha256", k->config_sha256);
	set_text(obj, "image_sha256", k->image_sha256);
	set_text(obj, "added", added);
	set_text(obj, "dir", k->dir);
	return obj;
}

static void add_list_row(struct strbuf *out, const char *const *cells)
{
	static const size_t widths[] = {34, 8, 8, 11, 11};

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		text_add_padded(out, cells[i], widths[i], false);
		strbuf_adds(out, " ");
	}
	strbuf_addf(out, "%s\n", cells[ARRAY_SIZE(widths)]);
}

static void add_build_row(struct strbuf *out, const struct kernel_build *k)
{
	auto_free char *hz = k->hz > 0 ? xasprintf("%d", k->hz) : xstrdup(TEXT_UNKNOWN);
	auto_free char *intensive =
		k->cpu_intensive_thresh_us >= 0
			? xasprintf("%" PRId64 " us", k->cpu_intensive_thresh_us)
			: xstrdup(TEXT_UNKNOWN);
	auto_strbuf struct strbuf version = STRBUF_INIT;
	const char *const cells[] = {k->name, k->arch, hz, k->preempt, intensive, NULL};
	const char *row[ARRAY_SIZE(cells)];

	memcpy(row, cells, sizeof(cells));
	text_add_visible(&version, k->version, strlen(k->version), 0);
	row[ARRAY_SIZE(cells) - 1] = strbuf_str(&version);
	add_list_row(out, row);
}

static const struct opt list_options[] = {
	{.name = "json", .type = OPT_FLAG, .help = "as JSON"},
	OPT_ROW_NAMES,
	OPT_ROW_END,
};

static int list_builds(struct cli *cli, const struct args *a, const struct kernel_list *l,
		       struct err *e)
{
	static const char *const head[] = {"name", "arch", "hz", "preempt", "intensive", "version"};
	auto_strbuf struct strbuf text = STRBUF_INIT;

	if (args_has(a, "json")) {
		json_t *root = json_object();
		json_t *array = json_array();

		for (size_t i = 0; i < l->n; i++)
			if (json_array_append_new(array, build_value(l->builds[i])) < 0)
				abort();
		set(root, "kernels", array);
		return write_json(cli, root, e);
	}
	if (!args_has(a, "names") && l->n)
		add_list_row(&text, head);
	for (size_t i = 0; i < l->n; i++) {
		if (args_has(a, "names"))
			strbuf_addf(&text, "%s\n", l->builds[i]->name);
		else
			add_build_row(&text, l->builds[i]);
	}
	if (l->n == 0 && !args_has(a, "names"))
		fputs("stallrig: the kernel store is empty, see 'stallrig help kernel fetch'\n",
		      cli->log);
	return cli_write(cli, "-", &text, e);
}

static int run_list(struct cli *cli, const struct args *a, struct err *e)
{
	struct kernel_list l = {0};
	struct kernels_ctx ctx;
	int r;

	cli_kernels_ctx(cli, &ctx);
	r = kernel_list(&ctx, &l, e);
	if (r < 0)
		return r;
	r = list_builds(cli, a, &l, e);
	kernel_list_release(&l);
	return r;
}

const struct cmd cmd_kernel_list = {
	.name = "kernel list",
	.summary = "List the kernel builds in the store, newest release first",
	.details = "\"intensive\" is the compiled-in workqueue.cpu_intensive_thresh_us.",
	.options = list_options,
	.run = run_list,
};

static const struct opt show_options[] = {
	{.name = "json", .type = OPT_FLAG, .help = "as JSON"},
	OPT_ROW_END,
};

static int run_show(struct cli *cli, const struct args *a, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free char *added = NULL;
	struct kernels_ctx ctx;
	int r;

	cli_kernels_ctx(cli, &ctx);
	r = kernel_find(&ctx, a->positional[0], NULL, &k, e);
	if (r < 0)
		return r;
	if (args_has(a, "json"))
		return write_json(cli, build_value(k), e);
	added = k->added_wall_ns ? wall_format(k->added_wall_ns) : xstrdup("");
	fact_add(&text, "name", "%s", k->name);
	fact_add(&text, "release", "%s", k->release);
	fact_add(&text, "version", "%s", k->version);
	fact_add(&text, "arch", "%s", k->arch);
	fact_add(&text, "origin", "%s", k->origin);
	fact_add(&text, "package version", "%s", k->package_version);
	fact_add(&text, "commit", "%s", k->commit);
	fact_add(&text, "source", "%s", k->source);
	fact_add(&text, "mutations", "%s", k->mutations);
	fact_add(&text, "does not build", "%s", k->no_build);
	if (k->hz > 0)
		fact_add(&text, "HZ", "%d", k->hz);
	fact_add(&text, "preemption", "%s", k->preempt);
	if (k->cpu_intensive_thresh_us >= 0)
		fact_add(&text, "cpu intensive", "%" PRId64 " us", k->cpu_intensive_thresh_us);
	fact_add(&text, "config sha256", "%s", k->config_sha256);
	fact_add(&text, "image sha256", "%s", k->image_sha256);
	fact_add(&text, "added", "%s", added);
	fact_add(&text, "folder", "%s", k->dir);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_kernel_show = {
	.name = "kernel show",
	.summary = "Show the identity of a kernel build",
	.positional = {.name = "NAME", .type = OPT_KERNEL, .min = 1, .max = 1},
	.options = show_options,
	.run = run_show,
};

/* ---- remove ---- */

static int run_remove(struct cli *cli, const struct args *a, struct err *e)
{
	struct kernels_ctx ctx;

	cli_kernels_ctx(cli, &ctx);
	return kernel_remove(&ctx, a->positional[0], e);
}

const struct cmd cmd_kernel_remove = {
	.name = "kernel remove",
	.summary = "Remove a kernel build from the store; its results stay",
	.positional = {.name = "NAME", .type = OPT_KERNEL, .min = 1, .max = 1},
	.run = run_remove,
};
