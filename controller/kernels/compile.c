/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compile.c - from a source tree to a build in the store. */
#include "base/child.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "kernels/source.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define CONFIG_MAX   (4u << 20)
#define LOG_MAX      (256u << 20)
#define MAKE_NS      (12 * 3600 * NSEC_PER_SEC)
#define CONFIG_NS    (1200 * NSEC_PER_SEC)
#define COPY_NS      (600 * NSEC_PER_SEC)
#define ERRORS_SHOWN 3

/* One build that goes on. */
struct compile {
	const struct kernels_ctx *ctx;
	const struct kernel_compile_cfg *cfg;
	const char *arch; /* "x86_64", "arm64" */
	struct source *src;
	char *obj;   /* where make puts what it makes */
	char *tmp;   /* in the store */
	char *log;   /* path */
	char *store; /* folder */
	char *final; /* folder of the build */
};

static void compile_release(struct compile *c)
{
	source_close(c->src);
	kernels_tmp_remove(c->tmp);
	free(c->obj);
	free(c->tmp);
	free(c->log);
	free(c->store);
	free(c->final);
}

static int run_logged(const struct compile *c, const char *const *argv, const char *const *env,
		      nsec_t timeout_ns, struct err *e)
{
	const struct child_cfg cfg = {.argv = argv, .env = env};

	return kernels_run_logged(c->ctx, &cfg, c->cfg->name, c->log, timeout_ns, NULL, e);
}

/* ---- what went wrong ---- */

static bool line_has(const char *line, size_t n, const char *what)
{
	return memmem(line, n, what, strlen(what)) != NULL;
}

static bool is_error_line(const char *line, size_t n)
{
	static const char *const signs[] = {"error:", "ERROR:", "undefined reference", "Error: "};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (line_has(line, n, signs[i]))
			return true;
	return false;
}

static void add_error_lines(const char *log, const struct compile *c, bool wants_make,
			    struct strbuf *out)
{
	size_t dir_len = strlen(c->src->dir);
	unsigned n_found = 0;

	for (const char *line = log; *line && n_found < ERRORS_SHOWN;) {
		size_t n = strcspn(line, "\n");
		const char *from = line;
		size_t len = n;

		if (wants_make ? line_has(line, n, "*** ") : is_error_line(line, n)) {
			if (n > dir_len && strncmp(line, c->src->dir, dir_len) == 0) {
				from += dir_len + 1;
				len -= dir_len + 1;
			}
			if (len > 160)
				len = 160;
			strbuf_addf(out, "\n  %.*s", (int)len, from);
			n_found++;
		}
		line += n + (line[n] == '\n');
	}
}

#define DISK_IS_FULL_BYTES (8u << 20)

static bool disk_is_full(const char *where)
{
	struct statvfs fs;

	return statvfs(where, &fs) == 0 &&
	       ((uint64_t)fs.f_bavail * fs.f_frsize < DISK_IS_FULL_BYTES || fs.f_favail == 0);
}

/* Turns -ECHILD of make into what it means. */
static int explain(const struct compile *c, const char *step, int r, struct err *e)
{
	auto_strbuf struct strbuf log = STRBUF_INIT;
	auto_strbuf struct strbuf lines = STRBUF_INIT;
	struct err ignored = {0};

	if (r != -ECHILD)
		return r;
	(void)!file_read(c->log, LOG_MAX, &log, &ignored);
	if (strstr(strbuf_str(&log), "No space left on device") || disk_is_full(c->obj) ||
	    disk_is_full(c->tmp))
		return err_set(e, ERR_INTERNAL, ENOSPC,
			       "no space left on the disk of %s while building '%s'", c->obj,
			       c->cfg->name);
	add_error_lines(strbuf_str(&log), c, false, &lines);
	if (lines.len == 0)
		add_error_lines(strbuf_str(&log), c, true, &lines);
	return err_set(e, ERR_KERNEL, ECHILD, "%s does not %s (all of it: %s)%s", c->src->label,
		       step, c->log, lines.len ? strbuf_str(&lines) : "");
}

/* ---- make ---- */

static int run_make(const struct compile *c, const char *const *targets, const char *allconfig,
		    nsec_t timeout_ns, struct err *e)
{
	const char *cross = kernels_cross_prefix(c->arch);
	auto_free char *ccache = kernels_find_program("ccache");
	auto_free char *gcc = xasprintf("%sgcc", cross);
	auto_free char *gcc_path = kernels_find_program(gcc);
	const char *front = ccache ? "ccache " : "";
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned jobs = c->cfg->jobs ? c->cfg->jobs : (unsigned)(cpus > 0 ? cpus : 1);
	char *words[] = {
		xasprintf("O=%s", c->obj),
		xasprintf("ARCH=%s", c->arch),
		xasprintf("CROSS_COMPILE=%s", cross),
		xasprintf("CC=%s%s", front, gcc),
		xasprintf("HOSTCC=%sgcc", front),
		xasprintf("LOCALVERSION=-%s", c->cfg->name),
		xasprintf("-j%u", jobs),
		xasprintf("KCONFIG_ALLCONFIG=%s", allconfig ? allconfig : ""),
	};
	/* what would differ from build to build of the same source */
	static const char *const stamps[] = {
		"KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970",
		"KBUILD_BUILD_USER=stallrig",
		"KBUILD_BUILD_HOST=stallrig",
		"KBUILD_BUILD_VERSION=1",
		/* depmod is run when the build is assembled */
		"DEPMOD=true",
	};
	auto_free char *install = xasprintf("INSTALL_MOD_PATH=%s/root", c->tmp);
	auto_free char *cache = path_cache("ccache");
	auto_free char *cache_env = xasprintf("CCACHE_DIR=%s", cache);
	auto_free char *base_env = xasprintf("CCACHE_BASEDIR=%s", c->src->dir);
	const char *const env[] = {"LC_ALL=C",
				   "KBUILD_VERBOSE=0",
				   "CCACHE_NOHASHDIR=1",
				   base_env,
				   getenv("CCACHE_DIR") ? "STALLRIG_CCACHE=own" : cache_env,
				   NULL};
	const char *argv[48] = {"make", "-C", c->src->dir, install, "INSTALL_MOD_STRIP=1"};
	size_t n = 5;
	int r;

	if (!gcc_path)
		r = err_set(e, ERR_RIG, ENOENT,
			    "program '%s' is not installed; it builds kernels for %s", gcc,
			    c->arch);
	else
		r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (i + 1 < ARRAY_SIZE(words) || allconfig)
			argv[n++] = words[i];
	for (size_t i = 0; i < ARRAY_SIZE(stamps); i++)
		argv[n++] = stamps[i];
	while (*targets)
		argv[n++] = *targets++;
	argv[n] = NULL;
	if (r >= 0)
		r = run_logged(c, argv, env, timeout_ns, e);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		free(words[i]);
	return r;
}

/* ---- config ---- */

/* "virtual" or a path. *ret_arch: the part that comes on top for this arch, NULL = none. */
static int find_config(const char *name, const char *arch, char **ret, char **ret_arch,
		       struct err *e)
{
	auto_free char *dir = path_data("fixtures/kernels");
	auto_free char *path = NULL;
	auto_free char *for_arch = NULL;

	if (strchr(name, '/') || (access(name, R_OK) == 0 && strchr(name, '.'))) {
		if (access(name, R_OK) < 0)
			return err_errno(e, ERR_USAGE, errno, "config '%s'", name);
		*ret = xstrdup(name);
		return 0;
	}
	path = xasprintf("%s/%s.config", dir, name);
	if (!parse_is_name(name) || access(path, R_OK) < 0)
		return err_set(e, ERR_USAGE, ENOENT,
			       "config '%s': neither a file nor a fragment in %s", name, dir);
	for_arch = xasprintf("%s/%s-%s.config", dir, name, arch);
	*ret = take(path);
	if (access(for_arch, R_OK) == 0)
		*ret_arch = take(for_arch);
	return 0;
}

static int add_config(const char *path, struct strbuf *out, struct err *e)
{
	size_t before = out->len;
	int r;

	if (!path)
		return 0;
	r = file_read(path, before + CONFIG_MAX, out, e);
	if (r < 0)
		return err_rekind(e, ERR_USAGE);
	strbuf_adds(out, "\n");
	return 0;
}

int kernel_configs_join(const char *const *configs, size_t n, const char *arch, struct strbuf *ret,
			struct err *e)
{
	int r = 0;

	if (n == 0)
		return err_set(e, ERR_USAGE, EINVAL, "no config named, e.g. virtual");
	for (size_t i = 0; i < n && r >= 0; i++) {
		auto_free char *path = NULL;
		auto_free char *for_arch = NULL;

		r = find_config(configs[i], arch, &path, &for_arch, e);
		if (r >= 0)
			r = add_config(path, ret, e);
		if (r >= 0)
			r = add_config(for_arch, ret, e);
	}
	return r;
}

static int join_configs(const struct compile *c, struct strbuf *ret, struct err *e)
{
	return kernel_configs_join(c->cfg->configs, c->cfg->n_configs, c->arch, ret, e);
}

static bool is_complete_config(const char *text)
{
	const char *mark = strstr(text, "Automatically generated file");

	return mark && mark - text < 200;
}

/* True if the text has this very line. */
static bool has_line(const char *text, const char *line, size_t n)
{
	for (const char *at = text; (at = memmem(at, strlen(at), line, n)); at++)
		if ((at == text || at[-1] == '\n') && (at[n] == '\n' || at[n] == '\0'))
			return true;
	return false;
}

/* True if a later line gives the option another value. */
static bool is_overridden(const char *after, const char *line, size_t n)
{
	size_t name_len = (size_t)((const char *)memchr(line, '=', n) - line);
	auto_free char *set = xasprintf("\n%.*s=", (int)name_len, line);
	auto_free char *unset = xasprintf("\n# %.*s is not set", (int)name_len, line);

	return strstr(after, set) || strstr(after, unset);
}

/* A kernel that lacks what was asked for would make its tests say less than they claim. */
static int check_taken(const struct compile *c, const char *wanted, struct err *e)
{
	auto_free char *path = xasprintf("%s/.config", c->obj);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_strbuf struct strbuf lost = STRBUF_INIT;
	unsigned n_lost = 0;
	int r;

	r = file_read(path, CONFIG_MAX, &text, e);
	if (r < 0)
		return r;
	for (const char *line = wanted; *line;) {
		size_t n = strcspn(line, "\n");
		const char *eq = memchr(line, '=', n);

		if (strncmp(line, "CONFIG_", 7) == 0 && eq && strncmp(eq, "=n", n) != 0 &&
		    !has_line(strbuf_str(&text), line, n) && !is_overridden(line + n, line, n)) {
			if (n_lost++ < 8)
				strbuf_addf(&lost, "%s%.*s", n_lost > 1 ? ", " : "", (int)n, line);
		}
		line += n + (line[n] == '\n');
	}
	if (n_lost == 0)
		return 0;
	if (c->cfg->may_drop_options) {
		kernels_progress(c->ctx, "options that this kernel does not take: %s",
				 strbuf_str(&lost));
		return 0;
	}
	return err_set(e, ERR_USAGE, EINVAL,
		       "%s does not take %u option%s for %s: %s%s (unknown, or what they depend on "
		       "is missing)",
		       c->src->label, n_lost, n_lost == 1 ? "" : "s", c->arch, strbuf_str(&lost),
		       n_lost > 8 ? ", …" : "");
}

/* Leaves obj/.config. A file that stays the same keeps its time, so that make rebuilds nothing. */
static int configure(const struct compile *c, struct err *e)
{
	static const char *const complete[] = {"olddefconfig", NULL};
	static const char *const fragments[] = {"allnoconfig", NULL};
	auto_free char *dot_config = xasprintf("%s/.config", c->obj);
	auto_free char *wanted_path = xasprintf("%s/.wanted.config", c->obj);
	auto_strbuf struct strbuf wanted = STRBUF_INIT;
	bool is_complete;
	int r;

	kernels_progress(c->ctx, "configuring %s", c->cfg->name);
	r = join_configs(c, &wanted, e);
	if (r < 0)
		return r;
	is_complete = is_complete_config(strbuf_str(&wanted));
	r = file_write_atomic(is_complete ? dot_config : wanted_path, wanted.data, wanted.len, e);
	if (r < 0)
		return r;
	r = run_make(c, is_complete ? complete : fragments, is_complete ? NULL : wanted_path,
		     CONFIG_NS, e);
	if (r < 0)
		return explain(c, "take the config", r, e);
	return is_complete ? 0 : check_taken(c, strbuf_str(&wanted), e);
}

/* ---- into the store ---- */

static int run_cp(const struct compile *c, const char *how, const char *from, const char *to,
		  struct err *e)
{
	const char *const argv[] = {"cp", how, "--reflink=auto", "--", from, to, NULL};

	return kernels_run(c->ctx, argv, NULL, c->tmp, COPY_NS, NULL, e);
}

/* Copies dir/name to headers/name if it is there, making the folder above it. */
static int copy_header(const struct compile *c, const char *dir, const char *headers,
		       const char *name, struct err *e)
{
	auto_free char *from = xasprintf("%s/%s", dir, name);
	auto_free char *to = xasprintf("%s/%s", headers, name);
	auto_free char *parent = xasprintf("%.*s", (int)(strrchr(to, '/') - to), to);
	struct stat st;
	int r;

	if (stat(from, &st) < 0)
		return 0;
	r = dir_make(parent, e);
	/* -T: the folder may be there already, from the source; its contents are joined */
	if (r >= 0 && S_ISDIR(st.st_mode)) {
		auto_free char *all = xasprintf("%s/.", from);

		r = dir_make(to, e);
		return r < 0 ? r : run_cp(c, "-a", all, to, e);
	}
	return r < 0 ? r : run_cp(c, "-a", from, to, e);
}

/*
 * What modules are built against: source and made files in one folder, as if the kernel had been
 * built in it. The tree itself goes on to the next build and cannot be linked to.
 */
static int take_headers(const struct compile *c, const char *build, struct err *e)
{
	const char *karch = strcmp(c->arch, "arm64") == 0 ? "arm64" : "x86";
	auto_free char *headers = xasprintf("%s/headers", build);
	auto_free char *arch_include = xasprintf("arch/%s/include", karch);
	auto_free char *arch_make = xasprintf("arch/%s/Makefile", karch);
	auto_free char *arch_um = xasprintf("arch/%s/Makefile_32.cpu", karch);
	const char *const of_source[] = {"Makefile",   "Kbuild",  "include", "scripts",
					 arch_include, arch_make, arch_um};
	const char *const of_build[] = {".config",    "include",        "scripts",
					arch_include, "Module.symvers", "tools/objtool/objtool"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(of_source) && r >= 0; i++)
		r = copy_header(c, c->src->dir, headers, of_source[i], e);
	for (size_t i = 0; i < ARRAY_SIZE(of_build) && r >= 0; i++)
		r = copy_header(c, c->obj, headers, of_build[i], e);
	return r;
}

static int copy_made(const struct compile *c, const char *from, const char *name, char **ret,
		     struct err *e)
{
	auto_free char *made = xasprintf("%s/%s", c->obj, from);
	auto_free char *to = xasprintf("%s/%s", c->tmp, name);
	int r;

	r = file_copy(made, to, e);
	if (r < 0)
		return r;
	*ret = take(to);
	return 0;
}

static int check_release(const struct compile *c, const struct kernel_build *k, struct err *e)
{
	size_t n = strlen(k->release);
	size_t m = strlen(c->cfg->name);

	if (n > m && strcmp(k->release + n - m, c->cfg->name) == 0)
		return 0;
	return err_set(e, ERR_INTERNAL, EINVAL,
		       "the kernel that was built calls itself %s, not …-%s", k->release,
		       c->cfg->name);
}

static char *join_names(const char *const *names, size_t n)
{
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&sb, "%s%s", i ? " " : "", names[i]);
	return strbuf_take(&sb);
}

/* The folder lib/modules/RELEASE that modules_install made. */
static char *installed_modules(const struct compile *c)
{
	auto_free char *parent = xasprintf("%s/root/lib/modules", c->tmp);
	auto_free char *name = dir_find_prefix(parent, "");

	return name ? xasprintf("%s/%s", parent, name) : NULL;
}

static int assemble(const struct compile *c, const char *build, struct err *e)
{
	bool is_arm64 = strcmp(c->arch, "arm64") == 0;
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *image = NULL;
	auto_free char *config = NULL;
	auto_free char *map = NULL;
	auto_free char *modules = installed_modules(c);
	struct assemble_cfg cfg = {.origin = "build", .name = c->cfg->name, .modules_dir = modules};
	int r;

	r = copy_made(c, is_arm64 ? "arch/arm64/boot/Image" : "arch/x86/boot/bzImage", "image",
		      &image, e);
	if (r >= 0)
		r = copy_made(c, ".config", "config", &config, e);
	if (r >= 0)
		r = copy_made(c, "System.map", "System.map", &map, e);
	if (r < 0)
		return r;
	cfg.image = image;
	cfg.config = config;
	cfg.system_map = map;
	r = kernel_assemble(c->ctx, &cfg, build, &k, e);
	if (r < 0)
		return r;
	r = check_release(c, k, e);
	if (r < 0)
		return r;
	free(k->commit);
	free(k->source);
	free(k->mutations);
	k->commit = xstrdup(c->cfg->commit ? c->cfg->commit : c->src->commit);
	k->source = xstrdup(c->src->label);
	k->mutations = join_names(c->cfg->mutations, c->cfg->n_mutations);
	return kernel_build_save(k, build, e);
}

/* The probe is built while the tree is as the kernel was built from, and before anyone sees it. */
static int finish(const struct compile *c, struct kernel_build **ret, struct err *e)
{
	auto_free char *build = xasprintf("%s/build", c->tmp);
	auto_free char *headers = xasprintf("%s/headers", build);
	auto_free char *log = xasprintf("%s/build.log", build);
	auto_kernel_build struct kernel_build *k = NULL;
	int r;

	kernels_progress(c->ctx, "putting %s into the store", c->cfg->name);
	r = dir_make(build, e);
	if (r >= 0)
		r = assemble(c, build, e);
	if (r >= 0)
		r = take_headers(c, build, e);
	if (r >= 0)
		r = kernel_build_load(build, &k, e);
	if (r >= 0)
		r = kernel_probe_ensure(c->ctx, k, e);
	if (r >= 0 && c->cfg->has_no_headers)
		r = dir_remove(headers, e);
	if (r >= 0 && !c->cfg->log)
		r = file_copy(c->log, log, e);
	if (r >= 0)
		r = kernels_commit_dir(build, c->final, e);
	return r < 0 ? r : kernel_build_load(c->final, ret, e);
}

static int compile(const struct compile *c, struct kernel_build **ret, struct err *e)
{
	static const char *const x86_targets[] = {"bzImage", "modules", NULL};
	static const char *const arm64_targets[] = {"Image", "modules", NULL};
	static const char *const install[] = {"modules_install", NULL};
	bool is_arm64 = strcmp(c->arch, "arm64") == 0;
	int r;

	r = configure(c, e);
	if (r < 0)
		return r;
	kernels_progress(c->ctx, "building %s", c->cfg->name);
	r = run_make(c, is_arm64 ? arm64_targets : x86_targets, NULL, MAKE_NS, e);
	if (r < 0)
		return explain(c, "build", r, e);
	r = run_make(c, install, NULL, CONFIG_NS, e);
	if (r < 0)
		return explain(c, "install its modules", r, e);
	return finish(c, ret, e);
}

/* What is named wrongly is said before anything is fetched or built. */
static int check_words(const struct compile *c, struct err *e)
{
	auto_strbuf struct strbuf ignored = STRBUF_INIT;
	int r;

	r = join_configs(c, &ignored, e);
	for (size_t i = 0; i < c->cfg->n_mutations && r >= 0; i++) {
		struct kernel_mutation m = {0};

		r = kernel_mutation_find(c->cfg->mutations[i], &m, e);
		if (r >= 0)
			kernel_mutation_release(&m);
	}
	return r;
}

static int check_cfg(const struct kernel_compile_cfg *cfg, struct compile *c, struct err *e)
{
	if (!cfg->name || !parse_is_name(cfg->name) || strlen(cfg->name) > KERNEL_COMPILE_NAME_MAX)
		return err_set(e, ERR_USAGE, EINVAL,
			       "'%s' cannot be the name of a kernel build: at most %d letters, "
			       "digits and ._+- are allowed",
			       cfg->name ? cfg->name : "", KERNEL_COMPILE_NAME_MAX);
	c->arch = cfg->arch ? cfg->arch : kernels_host_arch();
	if (strcmp(c->arch, "x86_64") != 0 && strcmp(c->arch, "arm64") != 0)
		return err_set(e, ERR_USAGE, EINVAL, "arch '%s': there is x86_64 and arm64",
			       c->arch);
	return check_words(c, e);
}

static int prepare(struct compile *c, struct err *e)
{
	int r;

	r = kernels_store_dir(c->ctx, &c->store, e);
	if (r < 0)
		return r;
	c->final = xasprintf("%s/%s", c->store, c->cfg->name);
	if (access(c->final, F_OK) == 0)
		return err_set(
			e, ERR_USAGE, EEXIST,
			"kernel '%s' is in the store already: remove it or choose another name",
			c->cfg->name);
	r = source_open(c->ctx, c->cfg->source, c->cfg->is_in_place, &c->src, e);
	if (r < 0)
		return r;
	c->obj = xasprintf("%s/.obj-%s", c->src->dir, c->arch);
	r = dir_make(c->obj, e);
	if (r < 0)
		return r;
	/* of its own: a build takes long, and others may fetch or remove meanwhile */
	c->tmp = xasprintf("%s/.compile-%s", c->store, c->cfg->name);
	r = dir_remove(c->tmp, e);
	if (r >= 0)
		r = dir_make(c->tmp, e);
	if (r < 0)
		return r;
	c->log = c->cfg->log ? xstrdup(c->cfg->log) : xasprintf("%s/.build.log", c->obj);
	(void)unlink(c->log);
	return source_mutate(c->ctx, c->src, c->cfg->mutations, c->cfg->n_mutations, e);
}

int kernel_compile(const struct kernels_ctx *ctx, const struct kernel_compile_cfg *cfg,
		   struct kernel_build **ret, struct err *e)
{
	struct compile c = {.ctx = ctx, .cfg = cfg};
	auto_free char *lock_path = NULL;
	auto_fd int lock = -1;
	int r;

	r = check_cfg(cfg, &c, e);
	if (r < 0)
		return r;
	r = kernels_store_dir(ctx, &c.store, e);
	if (r < 0)
		return r;
	lock_path = xasprintf("%s/.compile-%s.lock", c.store, cfg->name);
	free(take(c.store));
	r = kernels_lock(ctx, lock_path, &lock, e);
	if (r >= 0)
		r = prepare(&c, e);
	if (r >= 0)
		r = compile(&c, ret, e);
	compile_release(&c);
	(void)unlink(lock_path);
	return r < 0 ? err_wrap(e, "kernel '%s'", cfg->name) : 0;
}
