/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fetch.c - a stock Debian kernel, from the machine's own registry into the store. */
#include "base/fdio.h"
#include "base/parse.h"
#include "kernels/deb.h"
#include "kernels/deb_version.h"

#include <string.h>

static const char debian[] = "debian:";

static int check_spec(const char *spec, const char *arch, const char **ret_arch, struct err *e)
{
	const char *series = spec + sizeof(debian) - 1;
	size_t len = strlen(spec);

	if (strncmp(spec, debian, sizeof(debian) - 1) != 0)
		return err_set(e, ERR_USAGE, EINVAL,
			       "kernel '%s': only debian:SERIES can be fetched, e.g. debian:6.12",
			       spec);
	if (!parse_is_name(series) || *series < '0' || *series > '9')
		return err_set(e, ERR_USAGE, EINVAL, "kernel '%s': '%s' is not a kernel series",
			       spec, series);
	if (!arch && len > 6 && strcmp(spec + len - 6, "-amd64") == 0)
		arch = "x86_64";
	if (!arch && len > 6 && strcmp(spec + len - 6, "-arm64") == 0)
		arch = "arm64";
	if (!arch)
		arch = kernels_host_arch();
	if (strcmp(arch, "x86_64") != 0 && strcmp(arch, "arm64") != 0)
		return err_set(e, ERR_USAGE, EINVAL, "arch '%s': there is x86_64 and arm64", arch);
	*ret_arch = arch;
	return 0;
}

/* The build of this package version if the store has it; *ret NULL if not. */
static int find_existing(const struct kernels_ctx *ctx, const char *release, const char *version,
			 struct kernel_build **ret, struct err *e)
{
	struct kernel_list list = {0};
	int r;

	*ret = NULL;
	r = kernel_list(ctx, &list, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < list.n && !*ret; i++) {
		const struct kernel_build *k = list.builds[i];

		if (strncmp(k->origin, debian, sizeof(debian) - 1) == 0 &&
		    strcmp(k->release, release) == 0 && strcmp(k->package_version, version) == 0)
			*ret = take(list.builds[i]);
	}
	kernel_list_release(&list);
	return 0;
}

#define HEADER_DEBS_MAX 8

struct debs {
	char *image;
	char *headers[HEADER_DEBS_MAX];
	size_t n_headers;
};

static void debs_release(struct debs *d)
{
	free(d->image);
	for (size_t i = 0; i < d->n_headers; i++)
		free(d->headers[i]);
}

static int download_one(struct apt *a, const char *name, struct debs *d, struct err *e)
{
	auto_deb_pkg struct deb_pkg p = {0};
	int r;

	if (d->n_headers == HEADER_DEBS_MAX)
		return err_set(e, ERR_INTERNAL, E2BIG, "more than %d packages of headers",
			       HEADER_DEBS_MAX);
	r = apt_find(a, name, &p, e);
	if (r < 0)
		return r;
	r = apt_download(a, &p, &d->headers[d->n_headers], e);
	if (r < 0)
		return r;
	d->n_headers++;
	return 0;
}

/*
 * The headers of the release and what they need. linux-kbuild holds programs that run here, so it
 * is for the host's arch.
 */
static int download_headers(struct apt *a, struct apt *host, const char *release, struct debs *d,
			    struct err *e)
{
	auto_free char *name = xasprintf("linux-headers-%s", release);
	auto_deb_pkg struct deb_pkg p = {0};
	static const struct {
		const char *prefix;
		bool is_for_host;
	} needed[] = {{"linux-headers-", false}, {"linux-kbuild-", true}};
	int r;

	r = apt_find(a, name, &p, e);
	if (r < 0)
		return r;
	r = download_one(a, name, d, e);
	for (size_t i = 0; i < ARRAY_SIZE(needed) && r >= 0; i++) {
		const char *pos = p.depends;
		auto_free char *dependency = NULL;

		while (r >= 0 && (dependency = deb_next_dependency(&pos, needed[i].prefix))) {
			r = download_one(needed[i].is_for_host ? host : a, dependency, d, e);
			free(dependency);
			dependency = NULL;
		}
	}
	return r;
}

static int download(const struct kernels_ctx *ctx, struct apt *a, const char *arch,
		    const struct deb_pkg *image, const char *release, struct debs *ret,
		    struct err *e)
{
	bool is_foreign = strcmp(arch, kernels_host_arch()) != 0;
	auto_apt struct apt *host = NULL;
	int r;

	if (is_foreign) {
		r = apt_open(ctx, kernels_host_arch(), &host, e);
		if (r < 0)
			return r;
	}
	r = apt_download(a, image, &ret->image, e);
	if (r < 0)
		return r;
	return download_headers(a, is_foreign ? host : a, release, ret, e);
}

/* "debian-6.1.0-57-amd64", with the package's version if that name is taken by another one. */
static char *build_name(const char *store, const char *release, const char *version)
{
	auto_free char *name = xasprintf("debian-%s", release);
	auto_free char *path = xasprintf("%s/%s", store, name);
	char *longer;

	if (access(path, F_OK) < 0)
		return take(name);
	longer = xasprintf("%s_%s", name, version);
	for (char *s = longer; *s; s++)
		if (*s == '~' || *s == ':')
			*s = '.';
	return longer;
}

static int unpack(const struct kernels_ctx *ctx, const struct debs *d, const char *root,
		  const char *build, struct err *e)
{
	auto_free char *devel = xasprintf("%s/devel", build);
	int r;

	r = dir_make(root, e);
	if (r < 0)
		return r;
	r = dir_make(devel, e);
	if (r < 0)
		return r;
	r = deb_unpack(ctx, d->image, root, e);
	for (size_t i = 0; i < d->n_headers && r >= 0; i++)
		r = deb_unpack(ctx, d->headers[i], devel, e);
	return r;
}

static int build_in(const struct kernels_ctx *ctx, const struct debs *d, const char *spec,
		    const char *release, const char *version, const char *name, const char *tmp,
		    const char *build, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *root = xasprintf("%s/root", tmp);
	auto_free char *image = xasprintf("%s/boot/vmlinuz-%s", root, release);
	auto_free char *config = xasprintf("%s/boot/config-%s", root, release);
	auto_free char *system_map = xasprintf("%s/boot/System.map-%s", root, release);
	auto_free char *modules = xasprintf("%s/lib/modules/%s", root, release);
	auto_free char *usr_modules = xasprintf("%s/usr/lib/modules/%s", root, release);
	const struct assemble_cfg cfg = {
		.image = image,
		.config = config,
		.system_map = system_map,
		.origin = spec,
		.package_version = version,
		.name = name,
	};
	struct assemble_cfg here = cfg;
	int r;

	kernels_progress(ctx, "unpacking %s", release);
	r = unpack(ctx, d, root, build, e);
	if (r < 0)
		return r;
	here.modules_dir = access(modules, F_OK) == 0 ? modules : usr_modules;
	r = kernel_assemble(ctx, &here, build, &k, e);
	if (r < 0)
		return err_wrap(e, "%s", d->image);
	return kernel_assemble_headers(build, release, e);
}

static int fetch(const struct kernels_ctx *ctx, const char *store, const char *spec,
		 const char *arch, struct kernel_build **ret, struct err *e)
{
	auto_deb_pkg struct deb_pkg p = {0};
	auto_apt struct apt *a = NULL;
	struct debs d = {0};
	auto_free char *tmp = NULL;
	auto_free char *build = NULL;
	auto_free char *name = NULL;
	auto_free char *final = NULL;
	const char *release;
	int r;

	r = apt_open(ctx, arch, &a, e);
	if (r < 0)
		return r;
	r = apt_find_kernel(a, spec + sizeof(debian) - 1, &p, e);
	if (r < 0)
		return r;
	release = p.name + strlen("linux-image-");
	r = find_existing(ctx, release, p.version, ret, e);
	if (r < 0 || *ret)
		return r;

	r = download(ctx, a, arch, &p, release, &d, e);
	if (r < 0)
		goto out;
	r = kernels_tmp_dir(store, &tmp, e);
	if (r < 0)
		goto out;
	build = xasprintf("%s/build", tmp);
	name = build_name(store, release, p.version);
	final = xasprintf("%s/%s", store, name);
	r = build_in(ctx, &d, spec, release, p.version, name, tmp, build, e);
	if (r < 0)
		goto out;
	r = kernels_commit_dir(build, final, e);
	if (r < 0)
		goto out;
	r = kernel_build_load(final, ret, e);
out:
	kernels_tmp_remove(tmp);
	debs_release(&d);
	return r;
}

int kernel_fetch(const struct kernels_ctx *ctx, const char *spec, const char *arch,
		 struct kernel_build **ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = NULL;
	auto_free char *store = NULL;
	auto_free char *lock_path = NULL;
	auto_fd int lock = -1;
	int r;

	r = check_spec(spec, arch, &arch, e);
	if (r < 0)
		return r;
	r = kernels_store_dir(ctx, &store, e);
	if (r < 0)
		return r;
	lock_path = xasprintf("%s/.lock", store);
	r = kernels_lock(ctx, lock_path, &lock, e);
	if (r < 0)
		return r;
	r = fetch(ctx, store, spec, arch, &k, e);
	if (r < 0)
		return err_wrap(e, "kernel '%s'", spec);
	*ret = take(k);
	return 0;
}
