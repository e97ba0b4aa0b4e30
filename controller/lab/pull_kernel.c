/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pull_kernel.c - the artifacts of a job become a kernel of the store. */
#include "base/child.h"
#include "base/fdio.h"
#include "base/http_ask.h"
#include "kernels/kernels.h"
#include "pull_priv.h"

#include <fcntl.h>
#include <string.h>

#define ARTIFACT_MAX ((size_t)4 << 30) /* bytes */
#define ARTIFACT_NS  (1800 * NSEC_PER_SEC)
#define UNPACK_NS    (600 * NSEC_PER_SEC)

static int check_sum(const json_t *definition, const char *key, const char *path, struct err *e)
{
	const json_t *sums = json_object_get(json_object_get(definition, "integrity"), "sha256");
	const char *wanted = pull_text_of(sums, key);
	char found[SHA256_HEX_SIZE];
	int r;

	if (!*wanted)
		return 0;
	r = sha256_file(path, found, e);
	if (r >= 0 && strcasecmp(wanted, found) != 0)
		r = err_set(e, ERR_CONFIG, EBADMSG, "%s: its SHA-256 is %s, not %s", key, found,
			    wanted);
	return r;
}

/* 1 = it is at *ret_path, 0 = the job has no such artifact. */
static int fetch_artifact(const struct pull *p, const json_t *definition, const char *key,
			  const char *dir, char **ret_path, struct err *e)
{
	const char *url = pull_text_of(json_object_get(definition, "artifacts"), key);
	auto_free char *path = xasprintf("%s/%s", dir, key);
	auto_free char *shown = http_url_shown(url);
	auto_strbuf struct strbuf said = STRBUF_INIT;
	auto_fd int fd = -1;
	int r;

	if (!*url)
		return 0;
	pull_say(p, "fetching %s", shown);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	r = pull_get(p, url, ARTIFACT_NS, ARTIFACT_MAX, fd, &said, e);
	if (r >= 0)
		r = check_sum(definition, key, path, e);
	if (r < 0)
		return r;
	*ret_path = take(path);
	return 1;
}

/* The same for an archive, which is unpacked. */
static int fetch_tree(const struct pull *p, const json_t *definition, const char *key,
		      const char *dir, char **ret_path, struct err *e)
{
	auto_free char *archive = NULL;
	auto_free char *tree = xasprintf("%s/%s.tree", dir, key);
	int r;

	r = fetch_artifact(p, definition, key, dir, &archive, e);
	if (r > 0) {
		const char *const argv[] = {"tar", "-xf", archive, "-C", tree, "--no-same-owner",
					    NULL};
		const struct child_cfg cfg = {
			.argv = argv, .stdin_fd = -1, .dies_with_parent = true};

		r = dir_make(tree, e);
		if (r >= 0)
			r = child_run(p->w, &cfg, UNPACK_NS, NULL, e);
		if (r == -ECHILD)
			r = err_set(e, ERR_CONFIG, EBADMSG, "%s: no archive that tar unpacks", key);
		(void)unlink(archive);
		if (r >= 0)
			*ret_path = take(tree);
	}
	return r < 0 ? r : 0;
}

/* Headers stay where they are: the kernel in the store points to them. */
static int add_kernel(const struct pull *p, const json_t *definition, const char *name,
		      struct err *e)
{
	auto_free char *sub = xasprintf("pulled/%s", name);
	auto_free char *dir = path_cache(sub);
	auto_free char *image = NULL;
	auto_free char *config = NULL;
	auto_free char *modules = NULL;
	auto_free char *headers = NULL;
	auto_kernel_build struct kernel_build *k = NULL;
	const struct kernels_ctx ctx = {.w = p->w};
	struct kernel_add_cfg cfg = {.name = name, .n_paths = 1};
	const char *paths[1];
	int r;

	r = dir_remove(dir, e);
	if (r >= 0)
		r = dir_make(dir, e);
	if (r >= 0)
		r = fetch_artifact(p, definition, "kernel", dir, &image, e);
	if (r == 0)
		return err_set(e, ERR_CONFIG, EBADMSG, "the job has no artifact 'kernel'");
	if (r >= 0)
		r = fetch_artifact(p, definition, "config", dir, &config, e);
	if (r >= 0)
		r = fetch_tree(p, definition, "modules", dir, &modules, e);
	if (r >= 0)
		r = fetch_tree(p, definition, "headers", dir, &headers, e);
	if (r < 0)
		return r;
	paths[0] = image;
	cfg.paths = paths;
	cfg.modules_dir = modules;
	cfg.headers_dir = headers;
	cfg.config = config;
	r = kernel_add(&ctx, &cfg, &k, e);
	(void)unlink(image);
	if (modules && dir_remove(modules, NULL) < 0)
		pull_say(p, "%s stays", modules);
	return r < 0 ? r : 0;
}

int pull_ensure_kernel(const struct pull *p, const json_t *definition, char **ret, struct err *e)
{
	static const char *const keys[] = {"kernel", "modules", "config", "headers"};
	const json_t *artifacts = json_object_get(definition, "artifacts");
	const struct kernels_ctx ctx = {.w = p->w};
	auto_kernel_build struct kernel_build *k = NULL;
	auto_strbuf struct strbuf from = STRBUF_INIT;
	auto_free char *name = NULL;
	char sum[SHA256_HEX_SIZE];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		strbuf_addf(&from, "%s\n", pull_text_of(artifacts, keys[i]));
	sha256_bytes(strbuf_str(&from), from.len, sum);
	name = xasprintf("pulled-%.16s", sum);
	r = kernel_find(&ctx, name, NULL, &k, e);
	if (r == -ENOENT) {
		err_clear(e);
		r = add_kernel(p, definition, name, e);
	}
	if (r >= 0)
		*ret = take(name);
	else if (e->kind != ERR_STOPPED && r != -EAGAIN && r != -ENOSPC)
		e->code = EBADMSG; /* it is this job's: the others go on */
	return r < 0 ? -e->code : 0;
}
