/* SPDX-License-Identifier: GPL-2.0-or-later */
/* add.c - a user's own kernel into the store: packages, a folder, or an image. */
#include "base/fdio.h"
#include "base/parse.h"
#include "kernels/deb.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define COPY_NS (600 * NSEC_PER_SEC)

/* Where the pieces of the user's kernel lie; NULL = there is none. */
struct pieces {
	char *image, *config, *system_map, *modules, *headers;
	char *package_version;
	char *modules_release; /* RELEASE of .../lib/modules/RELEASE, where the modules came from */
};

static void pieces_release(struct pieces *p)
{
	free(p->image);
	free(p->config);
	free(p->system_map);
	free(p->modules);
	free(p->headers);
	free(p->package_version);
	free(p->modules_release);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_deb(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && strcmp(path + n - 4, ".deb") == 0;
}

/*
 * The first of the names that is a file in dir. A name that ends with '-' stands for all that start
 * with it; several of those are an error, because which one is meant cannot be told.
 */
static int look_for(const char *dir, const char *const *names, const char *what, char **ret,
		    struct err *e)
{
	for (; !*ret && *names; names++) {
		const char *slash = strrchr(*names, '/');
		const char *base = slash ? slash + 1 : *names;
		auto_free char *folder = xasprintf("%s/%.*s", dir, (int)(base - *names), *names);
		struct dirent **list = NULL;
		unsigned found = 0;
		int n;

		if (base[strlen(base) - 1] != '-') {
			auto_free char *path = xasprintf("%s/%s", dir, *names);

			if (is_file(path))
				*ret = take(path);
			continue;
		}
		n = scandir(folder, &list, NULL, alphasort);
		for (int i = 0; i < n; i++) {
			auto_free char *path = xasprintf("%s/%s", folder, list[i]->d_name);

			if (strncmp(list[i]->d_name, base, strlen(base)) == 0 && is_file(path) &&
			    ++found == 1)
				*ret = take(path);
			free(list[i]);
		}
		free(list);
		if (found > 1)
			return err_set(e, ERR_USAGE, EEXIST,
				       "%s: there are %u files named %s…: name the %s", folder,
				       found, base, what);
	}
	return 0;
}

/* The only folder in <dir>/lib/modules or <dir>/usr/lib/modules. */
static int look_for_modules(const char *dir, char **ret, struct err *e)
{
	static const char *const places[] = {"lib/modules", "usr/lib/modules",
					     "modules/lib/modules"};

	for (size_t i = 0; i < ARRAY_SIZE(places) && !*ret; i++) {
		auto_free char *parent = xasprintf("%s/%s", dir, places[i]);
		struct dirent **list = NULL;
		int n = scandir(parent, &list, NULL, alphasort);
		unsigned found = 0;

		for (int j = 0; j < n; j++) {
			auto_free char *path = xasprintf("%s/%s", parent, list[j]->d_name);

			if (list[j]->d_name[0] != '.' && is_folder(path) && ++found == 1)
				*ret = take(path);
			free(list[j]);
		}
		free(list);
		if (found > 1)
			return err_set(
				e, ERR_USAGE, EEXIST,
				"%s: holds the modules of %u kernels: name the folder of one",
				parent, found);
	}
	return 0;
}

static bool is_modules_folder(const char *path)
{
	static const char *const signs[] = {"modules.builtin", "modules.dep", "modules.order"};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		auto_free char *sign = xasprintf("%s/%s", path, signs[i]);

		if (access(sign, F_OK) == 0)
			return true;
	}
	return false;
}

/* dir is what the user named: the release's folder itself, or one that has lib/modules in it. */
static int take_named_modules(const char *dir, char **ret, struct err *e)
{
	int r;

	if (!is_folder(dir))
		return err_set(e, ERR_USAGE, ENOTDIR, "modules '%s': not a folder", dir);
	r = look_for_modules(dir, ret, e);
	if (r < 0 || *ret)
		return r;
	if (!is_modules_folder(dir))
		return err_set(e, ERR_USAGE, ENOENT,
			       "modules '%s': neither lib/modules/RELEASE nor modules.* in it",
			       dir);
	*ret = xstrdup(dir);
	return 0;
}

static bool is_build_tree(const char *dir)
{
	auto_free char *makefile = xasprintf("%s/Makefile", dir);
	auto_free char *config = xasprintf("%s/include/generated/autoconf.h", dir);

	return is_file(makefile) && is_file(config);
}

static void look_for_headers(const char *dir, struct pieces *p)
{
	auto_free char *build = p->modules ? xasprintf("%s/build", p->modules) : NULL;

	if (dir && is_build_tree(dir))
		p->headers = realpath(dir, NULL);
	else if (build && is_folder(build))
		p->headers = realpath(build, NULL);
}

static int look_in_folder(const char *dir, struct pieces *p, struct err *e)
{
	static const char *const images[] = {"bzImage",
					     "Image",
					     "Image.gz",
					     "vmlinuz",
					     "arch/x86/boot/bzImage",
					     "arch/arm64/boot/Image",
					     "vmlinuz-",
					     "boot/vmlinuz-",
					     NULL};
	static const char *const configs[] = {"config", ".config", "config-", "boot/config-", NULL};
	static const char *const maps[] = {"System.map", "System.map-", "boot/System.map-", NULL};
	auto_free char *modules = xasprintf("%s/modules", dir);
	int r;

	r = look_for(dir, images, "image", &p->image, e);
	if (r < 0)
		return r;
	if (!p->image)
		return err_set(e, ERR_USAGE, ENOENT,
			       "%s: no kernel image in it (bzImage, Image, vmlinuz*)", dir);
	r = look_for(dir, configs, "config", &p->config, e);
	if (r < 0)
		return r;
	r = look_for(dir, maps, "System.map", &p->system_map, e);
	if (r < 0)
		return r;
	r = look_for_modules(dir, &p->modules, e);
	if (r < 0)
		return r;
	if (!p->modules && is_folder(modules) && is_modules_folder(modules))
		p->modules = take(modules);
	look_for_headers(dir, p);
	return 0;
}

/* What lies beside an image: /boot/vmlinuz-X has config-X; a build tree has .config at its top. */
static void look_beside(const char *image, struct pieces *p)
{
	const char *slash = strrchr(image, '/');
	const char *base = slash ? slash + 1 : image;
	auto_free char *dir = slash ? xasprintf("%.*s", (int)(slash - image), image) : xstrdup(".");
	const char *suffix = strncmp(base, "vmlinuz-", 8) == 0 ? base + 8 : NULL;
	auto_free char *candidates[] = {
		suffix ? xasprintf("%s/config-%s", dir, suffix) : xasprintf("%s/config", dir),
	};
	auto_free char *map =
		xasprintf("%s/System.map%s%s", dir, suffix ? "-" : "", suffix ? suffix : "");
	auto_free char *in_tree = xasprintf("%s/../../../.config", dir);
	auto_free char *tree = xasprintf("%s/../../..", dir);
	auto_free char *modules = suffix ? xasprintf("%s/../lib/modules/%s", dir, suffix) : NULL;

	p->image = xstrdup(image);
	if (is_file(candidates[0]))
		p->config = take(candidates[0]);
	else if (strstr(dir, "arch/") && is_file(in_tree))
		p->config = take(in_tree);
	if (is_file(map))
		p->system_map = take(map);
	if (modules && is_folder(modules))
		p->modules = take(modules);
	look_for_headers(strstr(dir, "arch/") ? tree : NULL, p);
}

/* Replaces what was found by what the user named. */
static int take_named(const struct kernel_add_cfg *cfg, struct pieces *p, struct err *e)
{
	const char *modules = cfg->modules_dir;
	int r;

	if (cfg->n_paths == 2 && !modules)
		modules = cfg->paths[1];
	if (modules) {
		free(take(p->modules));
		r = take_named_modules(modules, &p->modules, e);
		if (r < 0)
			return r;
		if (!p->headers)
			look_for_headers(NULL, p);
	}
	if (cfg->config) {
		if (!is_file(cfg->config))
			return err_set(e, ERR_USAGE, ENOENT, "config '%s': no such file",
				       cfg->config);
		free(p->config);
		p->config = xstrdup(cfg->config);
	}
	if (cfg->headers_dir) {
		free(p->headers);
		p->headers = realpath(cfg->headers_dir, NULL);
		if (!p->headers)
			return err_errno(e, ERR_USAGE, errno, "headers '%s'", cfg->headers_dir);
	}
	return 0;
}

static int copy_file(const char *from, const char *tmp, const char *name, char **ret, struct err *e)
{
	auto_free char *to = xasprintf("%s/%s", tmp, name);
	int r;

	if (!from)
		return 0;
	r = file_copy(from, to, e);
	if (r < 0)
		return err_rekind(e, r == -ENOSPC ? ERR_INTERNAL : ERR_USAGE);
	*ret = take(to);
	return 0;
}

static int copy_folder(const struct kernels_ctx *ctx, const char *from, const char *tmp, char **ret,
		       struct err *e)
{
	auto_free char *to = xasprintf("%s/modules", tmp);
	const char *const argv[] = {"cp", "-RP", "--", from, to, NULL};
	int r;

	if (!from)
		return 0;
	r = kernels_run(ctx, argv, NULL, tmp, COPY_NS, NULL, e);
	if (r < 0)
		return r;
	*ret = take(to);
	return 0;
}

/* Copies into tmp, so that the user's own files stay where they are. */
static int copy_pieces(const struct kernels_ctx *ctx, const struct pieces *from, const char *tmp,
		       struct pieces *to, struct err *e)
{
	int r;

	r = copy_file(from->image, tmp, "vmlinuz", &to->image, e);
	if (r >= 0)
		r = copy_file(from->config, tmp, "config", &to->config, e);
	if (r >= 0)
		r = copy_file(from->system_map, tmp, "System.map", &to->system_map, e);
	if (r >= 0)
		r = copy_folder(ctx, from->modules, tmp, &to->modules, e);
	return r;
}

/* The folder .../lib/modules/RELEASE says which kernel its modules are for. */
static void note_modules_release(struct pieces *p)
{
	static const char parent[] = "lib/modules";
	const char *base = p->modules ? strrchr(p->modules, '/') : NULL;
	size_t len = sizeof(parent) - 1;

	if (base && (size_t)(base - p->modules) >= len && strncmp(base - len, parent, len) == 0)
		p->modules_release = xstrdup(base + 1);
}

static int check_release(const struct pieces *p, const struct kernel_build *k, struct err *e)
{
	if (!p->modules_release || strcmp(p->modules_release, k->release) == 0)
		return 0;
	return err_set(e, ERR_USAGE, EINVAL, "the modules are for %s, the image is %s",
		       p->modules_release, k->release);
}

static int unpack_debs(const struct kernels_ctx *ctx, const struct kernel_add_cfg *cfg,
		       const char *root, struct pieces *p, struct err *e)
{
	int r;

	r = dir_make(root, e);
	for (size_t i = 0; i < cfg->n_paths && r >= 0; i++) {
		auto_free char *package = NULL;

		if (!is_deb(cfg->paths[i]))
			return err_set(e, ERR_USAGE, EINVAL, "'%s': not a .deb like the others",
				       cfg->paths[i]);
		r = deb_unpack(ctx, cfg->paths[i], root, e);
		if (r < 0)
			return r;
		r = deb_field(ctx, cfg->paths[i], "Package", &package, e);
		if (r >= 0 && strncmp(package, "linux-image", 11) == 0 && !p->package_version)
			r = deb_field(ctx, cfg->paths[i], "Version", &p->package_version, e);
	}
	if (r < 0)
		return r;
	r = look_in_folder(root, p, e);
	return r < 0 ? err_wrap(e, "the packages") : 0;
}

/* usr/src and usr/lib/linux-kbuild-* of header packages. */
static int take_header_debs(const char *root, const char *build, const char *release, struct err *e)
{
	auto_free char *src = xasprintf("%s/usr/src/linux-headers-%s", root, release);
	auto_free char *usr = xasprintf("%s/usr", root);
	auto_free char *devel = xasprintf("%s/devel", build);
	auto_free char *to = xasprintf("%s/usr", devel);
	int r;

	if (!is_folder(src))
		return 0;
	r = dir_make(devel, e);
	if (r < 0)
		return r;
	if (rename(usr, to) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s: rename to %s", usr, to);
	return kernel_assemble_headers(build, release, e);
}

static int check_free_name(const char *store, const char *name, char **ret_path, struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", store, name);

	if (!parse_is_name(name))
		return err_set(
			e, ERR_USAGE, EINVAL,
			"'%s' cannot be the name of a kernel build: letters, digits and ._+- "
			"only",
			name);
	if (access(path, F_OK) == 0)
		return err_set(
			e, ERR_USAGE, EEXIST,
			"kernel '%s' is in the store already: remove it or choose another name",
			name);
	*ret_path = take(path);
	return 0;
}

static int find_pieces(const struct kernels_ctx *ctx, const struct kernel_add_cfg *cfg,
		       const char *tmp, struct pieces *ret, struct err *e)
{
	auto_free char *root = xasprintf("%s/root", tmp);
	struct pieces found = {0};
	int r = 0;

	if (is_deb(cfg->paths[0])) {
		r = unpack_debs(ctx, cfg, root, ret, e);
		note_modules_release(ret);
		return r;
	}
	if (cfg->n_paths > 2)
		return err_set(e, ERR_USAGE, EINVAL,
			       "'%s': expected an image and its modules folder, or .deb files",
			       cfg->paths[2]);
	if (is_folder(cfg->paths[0]))
		r = look_in_folder(cfg->paths[0], &found, e);
	else if (is_file(cfg->paths[0]))
		look_beside(cfg->paths[0], &found);
	else
		r = err_set(e, ERR_USAGE, ENOENT, "'%s': no such file or folder", cfg->paths[0]);
	if (r >= 0)
		r = take_named(cfg, &found, e);
	if (r >= 0) {
		kernels_progress(ctx, "copying %s", found.image);
		r = copy_pieces(ctx, &found, tmp, ret, e);
		note_modules_release(&found);
		ret->headers = take(found.headers);
		ret->modules_release = take(found.modules_release);
	}
	pieces_release(&found);
	return r;
}

static int add_in(const struct kernels_ctx *ctx, const struct kernel_add_cfg *cfg,
		  const struct pieces *p, const char *store, const char *tmp,
		  struct kernel_build **ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *build = xasprintf("%s/build", tmp);
	auto_free char *root = xasprintf("%s/root", tmp);
	auto_free char *headers = xasprintf("%s/headers", build);
	auto_free char *final = NULL;
	const struct assemble_cfg assemble = {
		.image = p->image,
		.config = p->config,
		.system_map = p->system_map,
		.modules_dir = p->modules,
		.origin = "add",
		.package_version = p->package_version,
		.name = cfg->name,
		.name_prefix = "",
	};
	int r;

	r = dir_make(build, e);
	if (r < 0)
		return r;
	r = kernel_assemble(ctx, &assemble, build, &k, e);
	if (r < 0)
		return r;
	r = check_release(p, k, e);
	if (r < 0)
		return r;
	r = check_free_name(store, k->name, &final, e);
	if (r < 0)
		return r;
	/* a user's build tree is used where it lies: it is large, and only read */
	if (p->headers && symlink(p->headers, headers) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", headers);
	if (!p->headers) {
		r = take_header_debs(root, build, k->release, e);
		if (r < 0)
			return r;
	}
	r = kernels_commit_dir(build, final, e);
	if (r < 0)
		return r;
	return kernel_build_load(final, ret, e);
}

int kernel_add(const struct kernels_ctx *ctx, const struct kernel_add_cfg *cfg,
	       struct kernel_build **ret, struct err *e)
{
	auto_free char *store = NULL;
	auto_free char *lock_path = NULL;
	auto_free char *free_path = NULL;
	auto_free char *tmp = NULL;
	struct pieces p = {0};
	auto_fd int lock = -1;
	int r;

	if (cfg->n_paths == 0)
		return err_set(e, ERR_USAGE, EINVAL,
			       "no kernel named: a folder, an image or .deb files");
	r = kernels_store_dir(ctx, &store, e);
	if (r < 0)
		return r;
	if (cfg->name) {
		r = check_free_name(store, cfg->name, &free_path, e);
		if (r < 0)
			return r;
	}
	lock_path = xasprintf("%s/.lock", store);
	r = kernels_lock(ctx, lock_path, &lock, e);
	if (r < 0)
		return r;
	r = kernels_tmp_dir(store, &tmp, e);
	if (r < 0)
		return r;
	r = find_pieces(ctx, cfg, tmp, &p, e);
	if (r >= 0)
		r = add_in(ctx, cfg, &p, store, tmp, ret, e);
	if (r < 0)
		r = err_wrap(e, "adding '%s'", cfg->paths[0]);
	pieces_release(&p);
	kernels_tmp_remove(tmp);
	return r;
}
