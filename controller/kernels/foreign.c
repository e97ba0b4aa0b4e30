/* SPDX-License-Identifier: GPL-2.0-or-later */
/* foreign.c - programs of this machine for a target of another arch, out of the same packages. */
#include "base/fdio.h"
#include "kernels/deb.h"

#include <string.h>

#define LDD_NS        (30 * NSEC_PER_SEC)
#define DPKG_NS       (60 * NSEC_PER_SEC)
#define LIBRARIES_MAX 64

/* Debian's names of an arch: the folder of its libraries and its loader. */
static const struct abi {
	const char *arch, *triplet, *loader;
} abis[] = {
	{"x86_64", "x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2"},
	{"arm64", "aarch64-linux-gnu", "/lib/ld-linux-aarch64.so.1"},
};

static const struct abi *find_abi(const char *arch)
{
	for (size_t i = 0; i < ARRAY_SIZE(abis); i++)
		if (strcmp(abis[i].arch, arch) == 0)
			return &abis[i];
	return &abis[0];
}

int program_libraries(const struct kernels_ctx *ctx, const char *program, struct strbuf *ret,
		      struct err *e)
{
	const char *const argv[] = {"ldd", program, NULL};
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err why = {0};
	char *rest;
	char *line;
	int r;

	r = kernels_run(ctx, argv, NULL, "/", LDD_NS, &out, &why);
	if (r == -ECHILD)
		return 0; /* "not a dynamic executable" */
	if (r < 0) {
		*e = why;
		return err_rekind(e, ERR_RIG);
	}
	rest = out.data;
	while ((line = strsep(&rest, "\n"))) {
		char *path = strchr(line, '/');
		char *end = path ? strstr(path, " (0x") : NULL;

		if (strstr(line, "not found"))
			return err_set(e, ERR_RIG, ENOENT, "%s: its library%s", program, line);
		if (!end)
			continue;
		*end = '\0';
		strbuf_addf(ret, "%s\n", path);
	}
	return 0;
}

int package_unpack(const struct kernels_ctx *ctx, struct apt *a, const char *name, const char *dir,
		   struct err *e)
{
	auto_deb_pkg struct deb_pkg p = {0};
	auto_free char *deb = NULL;
	int r;

	r = apt_find(a, name, &p, e);
	if (r >= 0)
		r = apt_download(a, &p, &deb, e);
	if (r >= 0)
		r = deb_unpack(ctx, deb, dir, e);
	return r;
}

/* The path with /usr before it or without: packages and the file system of Debian 12 disagree. */
static char *other_name(const char *path)
{
	return strncmp(path, "/usr/", 5) == 0 ? xstrdup(path + 4) : xasprintf("/usr%s", path);
}

/*
 * Which packages of this machine the files are from, one a line, each once; a file that is from
 * none is left out, and so not there for the program.
 */
static int packages_of(const struct kernels_ctx *ctx, char *const *files, size_t n,
		       struct strbuf *ret, struct err *e)
{
	const char *argv[2 * (LIBRARIES_MAX + 1) + 3] = {"dpkg-query", "-S"};
	char *others[LIBRARIES_MAX + 1];
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err why = {0};
	size_t argc = 2;
	char *rest;
	int r;

	for (size_t i = 0; i < n; i++) {
		others[i] = other_name(files[i]);
		argv[argc++] = files[i];
		argv[argc++] = others[i];
	}
	/* it fails if it does not know one of the names, which is half of them */
	r = kernels_run(ctx, argv, NULL, "/", DPKG_NS, &out, &why);
	for (size_t i = 0; i < n; i++)
		free(others[i]);
	if (r < 0 && r != -ECHILD) {
		*e = why;
		return err_rekind(e, ERR_RIG);
	}
	rest = out.data;
	strbuf_adds(ret, "\n");
	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		auto_free char *word = xasprintf("\n%.*s\n", (int)strcspn(line, ":, "), line);

		/* "libc6:amd64: /lib/…", "diversion by dash from: /bin/sh" */
		if (strchr(line, '/') && strncmp(line, "diversion ", 10) != 0 &&
		    !strstr(strbuf_str(ret), word))
			strbuf_adds(ret, word + 1);
	}
	return 0;
}

/* Where a file of this machine is in the other arch's packages. */
static char *translate(const char *path, const struct abi *host, const struct abi *target)
{
	const char *at = strstr(path, host->triplet);

	if (strcmp(path, host->loader) == 0)
		return xstrdup(target->loader);
	if (!at)
		return xstrdup(path);
	return xasprintf("%.*s%s%s", (int)(at - path), path, target->triplet,
			 at + strlen(host->triplet));
}

/* Copies a file out of the unpacked packages to where the target has it, at the same path. */
static int pick(const char *root, const char *path, const char *to, const char *name, struct err *e)
{
	auto_free char *other = other_name(path);
	const char *const names[] = {path, other};
	auto_free char *target = xasprintf("%s%s", to, name);
	auto_free char *folder = xasprintf("%.*s", (int)(strrchr(target, '/') - target), target);
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	int r = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r == -ENOENT; i++) {
		auto_free char *from = xasprintf("%s%s", root, names[i]);

		err_clear(e);
		r = file_read(from, PROGRAM_MAX, &bytes, e);
	}
	if (r == -ENOENT)
		return err_set(e, ERR_RIG, ENOENT,
			       "'%s' is not in the packages that this machine has it from", path);
	if (r >= 0)
		r = dir_make(folder, e);
	if (r >= 0)
		r = file_write_atomic(target, bytes.data, bytes.len, e);
	return r < 0 ? err_rekind(e, ERR_RIG) : 0;
}

/* All of it into the folder `to`, with the help of a folder for what is unpacked. */
static int gather(const struct kernels_ctx *ctx, const char *arch, const char *program,
		  const char *root, const char *to, struct err *e)
{
	const struct abi *host = find_abi(kernels_host_arch()), *target = find_abi(arch);
	auto_strbuf struct strbuf libraries = STRBUF_INIT;
	auto_strbuf struct strbuf packages = STRBUF_INIT;
	auto_strbuf struct strbuf list = STRBUF_INIT;
	auto_free char *list_path = xasprintf("%s/files", to);
	auto_free char *in_bin = xasprintf("/bin/%s", strrchr(program, '/') + 1);
	char *files[LIBRARIES_MAX + 1] = {xstrdup(program)};
	auto_apt struct apt *a = NULL;
	size_t n = 1;
	char *rest;
	int r;

	r = program_libraries(ctx, program, &libraries, e);
	rest = libraries.data;
	for (char *line; r >= 0 && rest && (line = strsep(&rest, "\n"));) {
		if (*line && n <= LIBRARIES_MAX)
			files[n++] = xstrdup(line);
		else if (*line)
			r = err_set(e, ERR_RIG, E2BIG, "%s: more than %d libraries", program,
				    LIBRARIES_MAX);
	}
	if (r >= 0)
		r = packages_of(ctx, files, n, &packages, e);
	if (r >= 0)
		r = apt_open(ctx, arch, &a, e);
	rest = packages.data;
	for (char *name; r >= 0 && rest && (name = strsep(&rest, "\n"));)
		if (*name)
			r = package_unpack(ctx, a, name, root, e);
	for (size_t i = 0; i < n && r >= 0; i++) {
		auto_free char *path = translate(files[i], host, target);
		const char *name = i == 0 ? in_bin : path;

		strbuf_addf(&list, "%s\n", name + 1);
		r = pick(root, path, to, name, e);
	}
	if (r >= 0)
		r = file_write_atomic(list_path, list.data, list.len, e);
	for (size_t i = 0; i < n; i++)
		free(files[i]);
	return r;
}

int foreign_program_ensure(const struct kernels_ctx *ctx, const char *arch, const char *program,
			   char **ret, struct err *e)
{
	auto_free char *sub = xasprintf("programs/%s", arch);
	auto_free char *parent = path_cache(sub);
	auto_free char *dir = NULL;
	auto_free char *tmp = NULL;
	auto_free char *root = NULL;
	auto_free char *to = NULL;
	char digest[SHA256_HEX_SIZE];
	int r;

	/* another version of the package is another program */
	r = sha256_file(program, digest, e);
	if (r < 0)
		return err_rekind(e, ERR_RIG);
	dir = xasprintf("%s/%s-%.12s", parent, strrchr(program, '/') + 1, digest);
	if (access(dir, F_OK) == 0) {
		*ret = take(dir);
		return 0;
	}
	kernels_progress(ctx, "fetching '%s' for %s", strrchr(program, '/') + 1, arch);
	r = kernels_tmp_dir(parent, &tmp, e);
	if (r < 0)
		return r;
	root = xasprintf("%s/root", tmp);
	to = xasprintf("%s/image", tmp);
	r = dir_make(root, e);
	if (r >= 0)
		r = dir_make(to, e);
	if (r >= 0)
		r = gather(ctx, arch, program, root, to, e);
	if (r >= 0 && access(dir, F_OK) < 0) {
		r = kernels_commit_dir(to, dir, e);
		/* another process was faster */
		if (r < 0 && access(dir, F_OK) == 0) {
			err_clear(e);
			r = 0;
		}
	}
	kernels_tmp_remove(tmp);
	if (r < 0)
		return err_wrap(e, "program '%s' for %s", program, arch);
	*ret = take(dir);
	return 0;
}
