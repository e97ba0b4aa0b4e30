/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image.c - the initramfs of a virtual target. */
#include "base/fdio.h"
#include "kernels/cpio.h"
#include "kernels/deb.h"
#include "kernels/modules.h"
#include "kernels/strip.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define IMAGES_KEPT    20
#define IMAGE_SIZE_MAX (128u << 20)

static const char *const applets[] = {
	"[",     "awk",     "basename", "blockdev", "cat",     "chmod",    "cmp",     "cp",
	"cut",   "date",    "dd",       "df",       "dirname", "dmesg",    "du",      "echo",
	"env",   "false",   "find",     "free",     "grep",    "head",     "hexdump", "insmod",
	"kill",  "ln",      "ls",       "lsmod",    "md5sum",  "mkdir",    "mknod",   "mount",
	"mv",    "nproc",   "poweroff", "printf",   "ps",      "readlink", "reboot",  "renice",
	"rm",    "rmdir",   "rmmod",    "sed",      "seq",     "setsid",   "sh",      "sha256sum",
	"sleep", "sort",    "stat",     "stty",     "sync",    "tail",     "taskset", "tee",
	"test",  "timeout", "top",      "touch",    "tr",      "true",     "umount",  "uname",
	"uniq",  "uptime",  "usleep",   "vi",       "wc",      "xargs",
};

static const char *const folders[] = {"bin",   "dev",  "etc", "mnt", "modules",
				      "probe", "proc", "sys", "tmp"};

/*
 * Is the file a static program for arch? The loader it would need is not in the image, and a
 * program for another machine would only show as a kernel panic.
 */
static int check_program(const char *path, const struct strbuf *bytes, const char *arch,
			 struct err *e)
{
	unsigned machine = strcmp(arch, "arm64") == 0 ? EM_AARCH64 : EM_X86_64;
	Elf64_Ehdr eh;

	if (bytes->len < sizeof(eh) || memcmp(bytes->data, ELFMAG, SELFMAG) != 0 ||
	    bytes->data[EI_CLASS] != ELFCLASS64)
		return err_set(e, ERR_RIG, ENOEXEC, "%s: not a 64-bit program", path);
	memcpy(&eh, bytes->data, sizeof(eh));
	if (eh.e_machine != machine)
		return err_set(e, ERR_RIG, ENOEXEC, "%s: not a program for %s", path, arch);
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		uint64_t at = eh.e_phoff + (uint64_t)i * eh.e_phentsize;
		Elf64_Phdr ph;

		if (at > bytes->len || bytes->len - at < sizeof(ph))
			return err_set(e, ERR_RIG, ENOEXEC, "%s: cut short", path);
		memcpy(&ph, bytes->data + at, sizeof(ph));
		if (ph.p_type == PT_INTERP)
			return err_set(e, ERR_RIG, ENOEXEC,
				       "%s: needs shared libraries; a static program is needed",
				       path);
	}
	return 0;
}

static int read_program(const char *path, const char *arch, struct strbuf *ret, struct err *e)
{
	int r;

	r = file_read(path, PROGRAM_MAX, ret, e);
	if (r < 0)
		return err_rekind(e, ERR_RIG);
	return check_program(path, ret, arch, e);
}

/* busybox of a foreign arch, out of the registry's package. Caller frees. */
static int fetch_busybox(const struct kernels_ctx *ctx, const char *arch, char **ret, struct err *e)
{
	auto_free char *parent = path_cache("busybox");
	auto_free char *dir = NULL;
	auto_free char *file = NULL;
	auto_free char *tmp = NULL;
	auto_free char *sub = NULL;
	auto_apt struct apt *a = NULL;
	static const char *const places[] = {"bin/busybox", "usr/bin/busybox"};
	int r;

	dir = xasprintf("%s/%s", parent, arch);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		file = xasprintf("%s/%s", dir, places[i]);
		if (access(file, R_OK) == 0) {
			*ret = take(file);
			return 0;
		}
		free(take(file));
	}
	r = apt_open(ctx, arch, &a, e);
	if (r < 0)
		return r;
	r = kernels_tmp_dir(parent, &tmp, e);
	if (r < 0)
		return r;
	sub = xasprintf("%s/root", tmp);
	r = dir_make(sub, e);
	if (r >= 0)
		r = package_unpack(ctx, a, "busybox-static", sub, e);
	/* only under the lock of the apt state, so no other process makes it meanwhile */
	if (r >= 0)
		r = dir_remove(dir, e);
	if (r >= 0)
		r = kernels_commit_dir(sub, dir, e);
	kernels_tmp_remove(tmp);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(places) && !*ret; i++) {
		file = xasprintf("%s/%s", dir, places[i]);
		if (access(file, R_OK) == 0)
			*ret = take(file);
		else
			free(take(file));
	}
	if (!*ret)
		return err_set(e, ERR_RIG, ENOENT,
			       "the package busybox-static has no busybox inside");
	return 0;
}

static int read_busybox(const struct kernels_ctx *ctx, const char *arch, struct strbuf *ret,
			struct err *e)
{
	auto_free char *path = NULL;
	int r;

	if (strcmp(arch, kernels_host_arch()) == 0) {
		path = kernels_find_program("busybox");
		if (!path)
			return err_set(
				e, ERR_RIG, ENOENT,
				"program 'busybox' is not installed (package busybox-static)");
	} else {
		r = fetch_busybox(ctx, arch, &path, e);
		if (r < 0)
			return err_wrap(e, "busybox for %s", arch);
	}
	return read_program(path, arch, ret, e);
}

/* <dir>/stallrig-agent for the host's arch, <dir>/<arch>/stallrig-agent for another. */
static char *find_agent(const char *arch)
{
	bool is_host = strcmp(arch, kernels_host_arch()) == 0;
	auto_free char *beside = path_program();
	auto_free char *installed = xasprintf("%s/../libexec/stallrig", beside);
	const char *const dirs[] = {beside, installed, STALLRIG_BUILD_DIR};
	auto_free char *path = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		free(take(path));
		path = xasprintf("%s%s%s/stallrig-agent", dirs[i], is_host ? "" : "/",
				 is_host ? "" : arch);
		if (access(path, R_OK) == 0)
			break;
	}
	return take(path);
}

static void add_base(struct cpio *c, const struct strbuf *busybox, const struct strbuf *init,
		     const struct strbuf *agent, const char *link)
{
	auto_free char *link_line = xasprintf("%s\n", link);

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		cpio_add_dir(c, folders[i]);
	cpio_add_char_device(c, "dev/console", 0600, 5, 1);
	cpio_add_char_device(c, "dev/null", 0666, 1, 3);
	cpio_add_file(c, "bin/busybox", 0755, busybox->data, busybox->len);
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++) {
		auto_free char *name = xasprintf("bin/%s", applets[i]);

		cpio_add_symlink(c, name, "busybox");
	}
	cpio_add_file(c, "init", 0755, init->data, init->len);
	cpio_add_file(c, "agent", 0755, agent->data, agent->len);
	cpio_add_file(c, "etc/stallrig-link", 0644, link_line, strlen(link_line));
}

static int too_large(struct err *e)
{
	return err_set(e, ERR_KERNEL, EFBIG, "the initramfs would be larger than %u MiB",
		       IMAGE_SIZE_MAX >> 20);
}

static int add_modules(const struct kernels_ctx *ctx, const char *arch, struct cpio *c,
		       const struct module_list *l, struct err *e)
{
	auto_strbuf struct strbuf order = STRBUF_INIT;

	for (size_t i = 0; i < l->n; i++) {
		auto_strbuf struct strbuf bytes = STRBUF_INIT;
		const struct module *m = &l->v[i];
		auto_free char *name = xasprintf("modules/%s.ko", m->name);
		int r;

		if (!m->path) {
			strbuf_addf(&order, "- %s %s\n", m->name, m->params);
			continue;
		}
		r = module_read(ctx, arch, m, &bytes, e);
		if (r < 0)
			return r;
		if (c->out.len + bytes.len > IMAGE_SIZE_MAX)
			return too_large(e);
		cpio_add_file(c, name, 0644, bytes.data, bytes.len);
		strbuf_addf(&order, "%s.ko %s %s\n", m->name, m->name, m->params);
	}
	cpio_add_file(c, "modules/order", 0644, order.data, order.len);
	return 0;
}

/* A build without headers has no probe modules: then the image has none, as the rig will say. */
static int add_probe(const struct kernels_ctx *ctx, struct cpio *c, const struct kernel_build *k,
		     struct err *e)
{
	for (size_t i = 0; i < PROBES; i++) {
		auto_free char *name = xasprintf("probe/%s", probe_names[i]);
		auto_strbuf struct strbuf bytes = STRBUF_INIT;
		int r;

		r = probe_read(ctx, k, probe_names[i], &bytes, e);
		if (r < 0)
			return r;
		if (r)
			cpio_add_file(c, name, 0644, bytes.data, bytes.len);
	}
	return 0;
}

/* The folders above name, those that are not there yet. */
static void add_parents(struct cpio *c, const char *name, struct strbuf *there)
{
	for (const char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) {
		auto_free char *dir = xasprintf("%.*s", (int)(p - name), name);
		auto_free char *line = xasprintf("\n%s\n", dir);

		if (strstr(strbuf_str(there), line))
			continue;
		strbuf_adds(there, line);
		cpio_add_dir(c, dir);
	}
}

/* A file of this machine or of the cache; one that is there already is left out. */
static int add_host_file(struct cpio *c, const char *path, const char *name, struct strbuf *there,
			 struct err *e)
{
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	auto_free char *line = xasprintf("\n%s\n", name);
	int r;

	if (strstr(strbuf_str(there), line))
		return 0;
	strbuf_adds(there, line);
	r = file_read(path, PROGRAM_MAX, &bytes, e);
	if (r < 0)
		return err_rekind(e, ERR_RIG);
	if (c->out.len + bytes.len > IMAGE_SIZE_MAX)
		return too_large(e);
	add_parents(c, name, there);
	cpio_add_file(c, name, 0755, bytes.data, bytes.len);
	return 0;
}

static int add_libraries(const struct kernels_ctx *ctx, struct cpio *c, const char *program,
			 struct strbuf *there, struct err *e)
{
	auto_strbuf struct strbuf paths = STRBUF_INIT;
	char *rest;
	int r;

	r = program_libraries(ctx, program, &paths, e);
	rest = paths.data;
	for (char *path; r >= 0 && rest && (path = strsep(&rest, "\n"));)
		if (*path)
			r = add_host_file(c, path, path + 1, there, e);
	return r;
}

static int add_foreign_program(const struct kernels_ctx *ctx, struct cpio *c, const char *arch,
			       const char *program, struct strbuf *there, struct err *e)
{
	auto_strbuf struct strbuf names = STRBUF_INIT;
	auto_free char *dir = NULL;
	auto_free char *list = NULL;
	char *rest;
	int r;

	r = foreign_program_ensure(ctx, arch, program, &dir, e);
	if (r < 0)
		return r;
	list = xasprintf("%s/files", dir);
	r = file_read(list, PROGRAM_MAX, &names, e);
	rest = names.data;
	for (char *name; r >= 0 && rest && (name = strsep(&rest, "\n"));) {
		auto_free char *path = xasprintf("%s/%s", dir, name);

		if (*name)
			r = add_host_file(c, path, name, there, e);
	}
	return r < 0 ? err_rekind(e, ERR_RIG) : 0;
}

static int add_programs(const struct kernels_ctx *ctx, struct cpio *c,
			const struct target_image_cfg *cfg, struct err *e)
{
	auto_strbuf struct strbuf there = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		strbuf_addf(&there, "\n%s\n", folders[i]);
	for (size_t i = 0; cfg->programs && cfg->programs[i]; i++) {
		const char *program = cfg->programs[i];
		auto_free char *path = kernels_find_program(program);
		auto_free char *name = xasprintf("bin/%s", program);
		int r;

		if (!path)
			return err_set(e, ERR_RIG, ENOENT, "program '%s' is not installed",
				       program);
		if (strcmp(cfg->kernel->arch, kernels_host_arch()) != 0) {
			r = add_foreign_program(ctx, c, cfg->kernel->arch, path, &there, e);
		} else {
			r = add_host_file(c, path, name, &there, e);
			if (r >= 0)
				r = add_libraries(ctx, c, path, &there, e);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int target_agent_read(const struct kernels_ctx *ctx, const char *path, const char *arch,
		      struct strbuf *ret, struct err *e)
{
	auto_free char *found = path ? xstrdup(path) : find_agent(arch);
	int r;

	r = read_program(found, arch, ret, e);
	return r < 0 ? r : strip_debug(ctx, arch, "agent", ret, e);
}

static int make_archive(const struct kernels_ctx *ctx, const struct target_image_cfg *cfg,
			struct cpio *c, struct err *e)
{
	const struct kernel_build *k = cfg->kernel;
	auto_free char *init_path = path_data("target-agent/init");
	auto_strbuf struct strbuf busybox = STRBUF_INIT;
	auto_strbuf struct strbuf init = STRBUF_INIT;
	auto_strbuf struct strbuf agent = STRBUF_INIT;
	struct module_list list = {0};
	int r;

	r = modules_resolve(k, cfg->modules, &list, e);
	if (r < 0)
		return r;
	r = read_busybox(ctx, k->arch, &busybox, e);
	if (r >= 0)
		r = target_agent_read(ctx, cfg->agent, k->arch, &agent, e);
	if (r >= 0)
		r = file_read(init_path, PROGRAM_MAX, &init, e);
	if (r >= 0) {
		add_base(c, &busybox, &init, &agent, cfg->link);
		r = add_modules(ctx, k->arch, c, &list, e);
	}
	module_list_release(&list);
	if (r < 0)
		return r;
	r = add_probe(ctx, c, k, e);
	if (r >= 0)
		r = add_programs(ctx, c, cfg, e);
	if (r < 0)
		return r;
	cpio_finish(c);
	return c->out.len > IMAGE_SIZE_MAX ? too_large(e) : 0;
}

struct aged {
	char *path;
	nsec_t mtime_ns;
};

static int cmp_newest_first(const void *a, const void *b)
{
	const struct aged *x = a;
	const struct aged *y = b;

	return (x->mtime_ns < y->mtime_ns) - (x->mtime_ns > y->mtime_ns);
}

static bool is_image_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".cpio") == 0 && name[0] != '.';
}

static void remove_old_images(const char *dir)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, NULL);
	struct aged *files = xcalloc(n > 0 ? (size_t)n : 1, sizeof(*files));
	size_t n_files = 0;

	for (int i = 0; i < n; i++) {
		auto_free char *path = xasprintf("%s/%s", dir, list[i]->d_name);
		struct stat st;

		if (is_image_name(list[i]->d_name) && stat(path, &st) == 0) {
			files[n_files].path = take(path);
			files[n_files++].mtime_ns =
				(nsec_t)st.st_mtim.tv_sec * NSEC_PER_SEC + st.st_mtim.tv_nsec;
		}
		free(list[i]);
	}
	free(list);
	if (n_files)
		qsort(files, n_files, sizeof(*files), cmp_newest_first);
	for (size_t i = 0; i < n_files; i++) {
		if (i >= IMAGES_KEPT)
			(void)unlink(files[i].path);
		free(files[i].path);
	}
	free(files);
}

int target_image_ensure(const struct kernels_ctx *ctx, const struct target_image_cfg *cfg,
			char **ret_path, struct err *e)
{
	auto_free char *dir = path_cache("images");
	auto_free char *lock_path = xasprintf("%s/.lock", dir);
	auto_free char *path = NULL;
	struct cpio c = CPIO_INIT;
	char sha256[SHA256_HEX_SIZE];
	auto_fd int lock = -1;
	struct stat st;
	int r;

	r = make_archive(ctx, cfg, &c, e);
	if (r >= 0)
		r = dir_make(dir, e);
	if (r >= 0)
		r = kernels_lock(ctx, lock_path, &lock, e);
	if (r < 0)
		goto out;
	sha256_bytes(c.out.data, c.out.len, sha256);
	path = xasprintf("%s/%s-%.16s.cpio", dir, cfg->kernel->name, sha256);
	if (stat(path, &st) == 0 && (uint64_t)st.st_size == c.out.len)
		/* the time says when it was last used */
		(void)utimensat(AT_FDCWD, path, NULL, 0);
	else
		r = file_write_atomic(path, c.out.data, c.out.len, e);
	if (r < 0)
		goto out;
	remove_old_images(dir);
	*ret_path = take(path);
out:
	strbuf_release(&c.out);
	return r;
}
