/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assemble.c - unpacked pieces of a kernel become a build folder with its identity. */
#include "base/fdio.h"
#include "kernels/ident.h"
#include "kernels/private.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CONFIG_MAX     (4u << 20)
#define UNPACK_NS      (120 * NSEC_PER_SEC)
#define DEPMOD_NS      (300 * NSEC_PER_SEC)
#define SYSTEM_MAP_MIN 1024
/* Where the kernel's own clock-based scaling starts; it raises this at boot on slow machines. */
#define CPU_INTENSIVE_DEFAULT_US 10000

struct mapped {
	uint8_t *bytes; /* NULL = nothing mapped */
	size_t n;
};

static void auto_cleanup_mapped(struct mapped *m)
{
	if (m->bytes)
		(void)munmap(m->bytes, m->n);
}
#define auto_mapped __attribute__((cleanup(auto_cleanup_mapped)))

static int map_file(const char *path, struct mapped *ret, struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	if (st.st_size == 0)
		return err_set(e, ERR_KERNEL, EINVAL, "%s: empty", path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(e, ERR_INTERNAL, errno, "%s: mmap", path);
	*ret = (struct mapped){.bytes = p, .n = (size_t)st.st_size};
	return 0;
}

static bool contains(const struct mapped *m, const char *text)
{
	return memmem(m->bytes, m->n, text, strlen(text)) != NULL;
}

static int move(const char *from, const char *to, struct err *e)
{
	if (rename(from, to) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: rename to %s", from, to);
	return 0;
}

char *dir_find_prefix(const char *dir, const char *prefix)
{
	struct dirent **list = NULL;
	char *found = NULL;
	int n = scandir(dir, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (!found && strncmp(list[i]->d_name, prefix, strlen(prefix)) == 0 &&
		    strcmp(list[i]->d_name, ".") != 0 && strcmp(list[i]->d_name, "..") != 0)
			found = xstrdup(list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return found;
}

/* Unpacks the compressed file <path><suffix>, which goes away, into path. */
static int decompress(const struct kernels_ctx *ctx, const char *program, const char *path,
		      const char *suffix, struct err *e)
{
	auto_free char *packed = xasprintf("%s%s", path, suffix);
	const char *const argv[] = {program, "-d", "-f", packed, NULL};
	/* zstd and lz4 keep their input unless told otherwise */
	const char *const argv_rm[] = {program, "-d", "-f", "-q", "--rm", packed, NULL};
	bool keeps_input = strcmp(program, "zstd") == 0 || strcmp(program, "lz4") == 0;
	auto_free char *parent = xasprintf("%.*s", (int)(strrchr(path, '/') - path), path);

	return kernels_run(ctx, keeps_input ? argv_rm : argv, NULL, parent, UNPACK_NS, NULL, e);
}

/* The kernel proper out of a self-extracting image, into path. */
static int unpack_payload(const struct kernels_ctx *ctx, const struct mapped *m, const char *path,
			  struct err *e)
{
	auto_free char *packed = NULL;
	struct image_payload p;
	auto_fd int fd = -1;
	int r;

	r = image_payload(m->bytes, m->n, &p, e);
	if (r < 0)
		return r;
	packed = xasprintf("%s%s", path, p.suffix);
	fd = open(packed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", packed);
	r = fd_write_all(fd, m->bytes + p.offset, p.len);
	if (r < 0)
		return err_errno(e, ERR_INTERNAL, -r, "%s", packed);
	return decompress(ctx, p.program, path, p.suffix, e);
}

/* Leaves a bzImage or an uncompressed arm64 Image at dir/image. */
static int take_image(const struct kernels_ctx *ctx, const char *from, const char *path,
		      enum image_format *ret, struct err *e)
{
	auto_free char *packed = xasprintf("%s.gz", path);
	enum image_format format;
	int r;

	r = move(from, path, e);
	if (r < 0)
		return r;
	/* one layer of compression at most */
	for (int layer = 0;; layer++) {
		auto_mapped struct mapped m = {0};

		r = map_file(path, &m, e);
		if (r < 0)
			return r;
		format = image_format(m.bytes, m.n);
		if (format == IMAGE_BZIMAGE || format == IMAGE_ARM64) {
			*ret = format;
			return 0;
		}
		if (format == IMAGE_UNKNOWN || layer)
			return err_set(e, ERR_USAGE, EINVAL,
				       "neither a bzImage nor an arm64 Image");
		if (format == IMAGE_GZIP) {
			r = move(path, packed, e);
			if (r >= 0)
				r = decompress(ctx, "gzip", path, ".gz", e);
		} else {
			auto_free char *inner = xasprintf("%s.inner", path);

			r = unpack_payload(ctx, &m, inner, e);
			if (r >= 0)
				r = move(inner, path, e);
		}
		if (r < 0)
			return r;
	}
}

/* Maps the kernel's own code and data: the Image itself, or what is packed in the bzImage. */
static int map_kernel(const struct kernels_ctx *ctx, const char *dir, enum image_format format,
		      struct mapped *ret, struct err *e)
{
	auto_free char *path = xasprintf("%s/image", dir);
	auto_free char *inner = xasprintf("%s/image.inner", dir);
	auto_mapped struct mapped m = {0};
	int r;

	if (format == IMAGE_ARM64)
		return map_file(path, ret, e);
	r = map_file(path, &m, e);
	if (r < 0)
		return r;
	r = unpack_payload(ctx, &m, inner, e);
	if (r < 0)
		return r;
	r = map_file(inner, ret, e);
	(void)unlink(inner);
	return r;
}

/* CONFIG_IKCONFIG=y puts a gzip of the .config between two marks. */
static int config_from_kernel(const struct kernels_ctx *ctx, const char *dir,
			      enum image_format format, const char *path, struct err *e)
{
	static const char start[] = "IKCFG_ST";
	static const char end[] = "IKCFG_ED";
	auto_free char *packed = xasprintf("%s.gz", path);
	auto_mapped struct mapped m = {0};
	const uint8_t *a, *b;
	int r;

	r = map_kernel(ctx, dir, format, &m, e);
	if (r < 0)
		return r;
	a = memmem(m.bytes, m.n, start, strlen(start));
	b = a ? memmem(a, m.n - (size_t)(a - m.bytes), end, strlen(end)) : NULL;
	if (!b)
		return err_set(e, ERR_USAGE, ENOENT,
			       "no config beside the image and none inside (CONFIG_IKCONFIG)");
	a += strlen(start);
	r = file_write_atomic(packed, a, (size_t)(b - a), e);
	if (r < 0)
		return r;
	return decompress(ctx, "gzip", path, ".gz", e);
}

static int take_config(const struct kernels_ctx *ctx, const struct assemble_cfg *cfg,
		       const char *dir, enum image_format format, struct kernel_build *k,
		       struct err *e)
{
	auto_free char *path = xasprintf("%s/config", dir);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r;

	if (cfg->config)
		r = move(cfg->config, path, e);
	else
		r = config_from_kernel(ctx, dir, format, path, e);
	if (r < 0)
		return r;
	r = file_read(path, CONFIG_MAX, &text, e);
	if (r < 0)
		return r;
	k->hz = config_hz(strbuf_str(&text));
	if (k->hz == 0)
		return err_set(e, ERR_USAGE, EINVAL, "its config has no CONFIG_HZ");
	k->preempt = xstrdup(config_preempt(strbuf_str(&text)));
	sha256_bytes(text.data, text.len, k->config_sha256);
	return 0;
}

static int take_system_map(const char *from, const char *to, struct err *e)
{
	struct stat st;

	/* Debian ships one line that says where the real one is */
	if (!from || stat(from, &st) < 0 || st.st_size < SYSTEM_MAP_MIN)
		return 0;
	return move(from, to, e);
}

/* depmod wants lib/modules/<release> under a base folder. */
static int run_depmod(const struct kernels_ctx *ctx, const char *dir, const char *release,
		      struct err *e)
{
	auto_free char *base = xasprintf("%s/depmod", dir);
	auto_free char *parent = xasprintf("%s/lib/modules", base);
	auto_free char *link_path = xasprintf("%s/%s", parent, release);
	auto_free char *target = xasprintf("%s/modules", dir);
	const char *const argv[] = {"depmod", "-b", base, release, NULL};
	int r;

	kernels_progress(ctx, "indexing the modules of %s", release);
	r = dir_make(parent, e);
	if (r < 0)
		return r;
	if (symlink(target, link_path) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", link_path);
	r = kernels_run(ctx, argv, NULL, dir, DEPMOD_NS, NULL, e);
	if (r < 0)
		return r;
	return dir_remove(base, e);
}

static int take_modules(const struct kernels_ctx *ctx, const struct assemble_cfg *cfg,
			const char *dir, const char *release, struct err *e)
{
	static const char *const links[] = {"build", "source"};
	auto_free char *path = xasprintf("%s/modules", dir);
	auto_free char *dep = xasprintf("%s/modules.dep", path);
	auto_free char *kernel = xasprintf("%s/kernel", path);
	int r;

	if (!cfg->modules_dir)
		return dir_make(path, e);
	r = move(cfg->modules_dir, path, e);
	if (r < 0)
		return r;
	/* they point to where the headers lie on the machine that built the kernel */
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		auto_free char *file = xasprintf("%s/%s", path, links[i]);

		(void)unlink(file);
	}
	if (access(dep, F_OK) == 0 || access(kernel, F_OK) < 0)
		return 0;
	return run_depmod(ctx, dir, release, e);
}

static int has_cpu_intensive(const struct kernels_ctx *ctx, const char *dir,
			     enum image_format format, bool *ret, struct err *e)
{
	auto_free char *modinfo = xasprintf("%s/modules/modules.builtin.modinfo", dir);
	auto_free char *system_map = xasprintf("%s/System.map", dir);
	auto_mapped struct mapped m = {0};
	int r;

	if (access(modinfo, F_OK) == 0) {
		r = map_file(modinfo, &m, e);
		if (r >= 0)
			*ret = contains(&m, "workqueue.parmtype=cpu_intensive_thresh_us:");
	} else if (access(system_map, F_OK) == 0) {
		r = map_file(system_map, &m, e);
		if (r >= 0)
			*ret = contains(&m, " wq_cpu_intensive_thresh_us\n");
	} else {
		r = map_kernel(ctx, dir, format, &m, e);
		if (r >= 0)
			*ret = contains(&m, "workqueue.cpu_intensive_thresh_us");
	}
	return r < 0 ? r : 0;
}

static int assemble(const struct kernels_ctx *ctx, const struct assemble_cfg *cfg, const char *dir,
		    struct kernel_build *k, struct err *e)
{
	auto_free char *image = xasprintf("%s/image", dir);
	auto_free char *system_map = xasprintf("%s/System.map", dir);
	auto_mapped struct mapped m = {0};
	enum image_format format = IMAGE_UNKNOWN;
	bool has_param = false;
	int r;

	r = take_image(ctx, cfg->image, image, &format, e);
	if (r < 0)
		return r;
	k->arch = xstrdup(format == IMAGE_ARM64 ? "arm64" : "x86_64");
	r = map_file(image, &m, e);
	if (r < 0)
		return r;
	r = image_banner(m.bytes, m.n, &k->release, &k->version, e);
	if (r < 0)
		return r;
	r = sha256_file(image, k->image_sha256, e);
	if (r < 0)
		return r;
	r = take_config(ctx, cfg, dir, format, k, e);
	if (r < 0)
		return r;
	r = take_system_map(cfg->system_map, system_map, e);
	if (r < 0)
		return r;
	r = take_modules(ctx, cfg, dir, k->release, e);
	if (r < 0)
		return r;
	r = has_cpu_intensive(ctx, dir, format, &has_param, e);
	if (r < 0)
		return r;
	k->cpu_intensive_thresh_us = has_param ? CPU_INTENSIVE_DEFAULT_US : -1;
	k->name = cfg->name ? xstrdup(cfg->name) : xasprintf("%s%s", cfg->name_prefix, k->release);
	k->dir = xstrdup(dir);
	k->origin = xstrdup(cfg->origin);
	k->package_version = xstrdup(cfg->package_version ? cfg->package_version : "");
	k->commit = xstrdup("");
	k->source = xstrdup("");
	k->mutations = xstrdup("");
	k->added_wall_ns = wall_now();
	return kernel_build_save(k, dir, e);
}

int kernel_assemble(const struct kernels_ctx *ctx, const struct assemble_cfg *cfg, const char *dir,
		    struct kernel_build **ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = xcalloc(1, sizeof(*k));
	int r;

	r = assemble(ctx, cfg, dir, k, e);
	if (r < 0)
		return r;
	*ret = take(k);
	return 0;
}

#define HEADERS_MAKEFILE_MAX (256u << 10)

/* "include /usr/src/X/Makefile" -> relative to the file that includes it */
static int make_relative(const char *path, struct err *e)
{
	static const char fixed[] = "include /usr/src/";
	static const char relative[] = "include $(dir $(lastword $(MAKEFILE_LIST)))../";
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_free char *changed = NULL;
	int r;

	r = file_read(path, HEADERS_MAKEFILE_MAX, &text, e);
	if (r < 0)
		return r;
	if (strncmp(strbuf_str(&text), fixed, sizeof(fixed) - 1) != 0)
		return 0;
	changed = xasprintf("%s%s", relative, strbuf_str(&text) + sizeof(fixed) - 1);
	return file_write_atomic(path, changed, strlen(changed), e);
}

int kernel_assemble_headers(const char *dir, const char *release, struct err *e)
{
	auto_free char *target = xasprintf("devel/usr/src/linux-headers-%s", release);
	auto_free char *makefile = xasprintf("%s/%s/Makefile", dir, target);
	auto_free char *link_path = xasprintf("%s/headers", dir);
	static const char *const unneeded[] = {"devel/usr/share", "devel/lib", "devel/boot"};
	int r;

	if (access(makefile, F_OK) < 0)
		return err_set(e, ERR_USAGE, ENOENT, "the packages hold no headers for %s",
			       release);
	r = make_relative(makefile, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(unneeded); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, unneeded[i]);

		r = dir_remove(path, e);
		if (r < 0)
			return r;
	}
	if (symlink(target, link_path) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", link_path);
	return 0;
}
