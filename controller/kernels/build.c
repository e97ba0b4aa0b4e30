/* SPDX-License-Identifier: GPL-2.0-or-later */
/* build.c - kernel.json, the identity of a kernel build. */
#include "base/fdio.h"
#include "base/parse.h"
#include "kernels/private.h"

#include <jansson.h>

#include <string.h>

#define KERNEL_JSON_MAX    (64u << 10)
#define KERNEL_JSON_FORMAT 1

void kernel_build_free(struct kernel_build *k)
{
	int saved = errno;

	if (!k)
		return;
	free(k->name);
	free(k->dir);
	free(k->arch);
	free(k->release);
	free(k->version);
	free(k->origin);
	free(k->package_version);
	free(k->commit);
	free(k->source);
	free(k->mutations);
	free(k->preempt);
	free(k->no_build);
	free(k);
	errno = saved;
}

static void free_json(json_t *j)
{
	json_decref(j);
}
DEFINE_AUTO(json, json_t *, free_json)
#define auto_json AUTO(json)

struct text_key {
	const char *key;
	size_t offset; /* of a char * in struct kernel_build */
};

static const struct text_key text_keys[] = {
	{"arch", offsetof(struct kernel_build, arch)},
	{"release", offsetof(struct kernel_build, release)},
	{"version", offsetof(struct kernel_build, version)},
	{"origin", offsetof(struct kernel_build, origin)},
	{"package_version", offsetof(struct kernel_build, package_version)},
	{"commit", offsetof(struct kernel_build, commit)},
	{"preempt", offsetof(struct kernel_build, preempt)},
};

/* Absent where they say nothing: "". */
static const struct text_key optional_keys[] = {
	{"source", offsetof(struct kernel_build, source)},
	{"mutations", offsetof(struct kernel_build, mutations)},
	{"no_build", offsetof(struct kernel_build, no_build)},
};

static char **text_of(struct kernel_build *k, const struct text_key *key)
{
	return (char **)(void *)((char *)k + key->offset);
}

static int load_text(const json_t *root, const char *path, const char *key, char **ret,
		     struct err *e)
{
	const char *text = json_string_value(json_object_get(root, key));

	if (!text)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: '%s' is missing or not a text", path,
			       key);
	*ret = xstrdup(text);
	return 0;
}

static int load_digest(const json_t *root, const char *path, const char *key, char *ret,
		       struct err *e)
{
	const char *text = json_string_value(json_object_get(root, key));

	if (!text || strlen(text) != SHA256_HEX_SIZE - 1)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: '%s' is missing or not a SHA-256", path,
			       key);
	memcpy(ret, text, SHA256_HEX_SIZE);
	return 0;
}

static int load_int(const json_t *root, const char *path, const char *key, int64_t min, int64_t max,
		    int64_t *ret, struct err *e)
{
	const json_t *v = json_object_get(root, key);
	int64_t n = json_integer_value(v);

	if (!json_is_integer(v))
		return err_set(e, ERR_CONFIG, EINVAL, "%s: '%s' is missing or not a number", path,
			       key);
	if (n < min || n > max)
		return err_set(e, ERR_CONFIG, ERANGE, "%s: '%s' is %lld, not in %lld..%lld", path,
			       key, (long long)n, (long long)min, (long long)max);
	*ret = n;
	return 0;
}

static int load_keys(const json_t *root, const char *path, struct kernel_build *k, struct err *e)
{
	int64_t n = 0;
	int r;

	r = load_int(root, path, "format", 1, INT32_MAX, &n, e);
	if (r < 0)
		return r;
	if (n > KERNEL_JSON_FORMAT)
		return err_set(
			e, ERR_CONFIG, EINVAL,
			"%s: format %lld was written by a newer stallrig (this one knows %d)", path,
			(long long)n, KERNEL_JSON_FORMAT);
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++) {
		r = load_text(root, path, text_keys[i].key, text_of(k, &text_keys[i]), e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(optional_keys); i++) {
		const char *key = optional_keys[i].key;

		if (!json_object_get(root, key)) {
			*text_of(k, &optional_keys[i]) = xstrdup("");
			continue;
		}
		r = load_text(root, path, key, text_of(k, &optional_keys[i]), e);
		if (r < 0)
			return r;
	}
	r = load_digest(root, path, "config_sha256", k->config_sha256, e);
	if (r < 0)
		return r;
	r = load_digest(root, path, "image_sha256", k->image_sha256, e);
	if (r < 0)
		return r;
	r = load_int(root, path, "hz", *k->no_build ? 0 : 1, 100000, &n, e);
	if (r < 0)
		return r;
	k->hz = (int)n;
	k->cpu_intensive_thresh_us = -1;
	if (json_object_get(root, "cpu_intensive_thresh_us")) {
		r = load_int(root, path, "cpu_intensive_thresh_us", 0, INT64_MAX,
			     &k->cpu_intensive_thresh_us, e);
		if (r < 0)
			return r;
	}
	return load_int(root, path, "added_wall_ns", 0, INT64_MAX, &k->added_wall_ns, e);
}

int kernel_build_load(const char *dir, struct kernel_build **ret, struct err *e)
{
	auto_kernel_build struct kernel_build *k = xcalloc(1, sizeof(*k));
	auto_free char *path = xasprintf("%s/kernel.json", dir);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_json json_t *root = NULL;
	json_error_t why;
	int r;

	r = file_read(path, KERNEL_JSON_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	root = json_loadb(strbuf_str(&text), text.len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return err_set(e, ERR_CONFIG, EINVAL, "%s:%d:%d: %s", path, why.line, why.column,
			       why.text);
	if (!json_is_object(root))
		return err_set(e, ERR_CONFIG, EINVAL, "%s: not an object", path);
	k->dir = xstrdup(dir);
	k->name = xstrdup(strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir);
	r = load_keys(root, path, k, e);
	if (r < 0)
		return r;
	*ret = take(k);
	return 0;
}

int kernel_build_save(const struct kernel_build *k, const char *dir, struct err *e)
{
	auto_free char *path = xasprintf("%s/kernel.json", dir);
	auto_json json_t *root = json_object();
	auto_free char *text = NULL;
	auto_free char *line = NULL;
	int bad = 0;

	bad |= json_object_set_new(root, "format", json_integer(KERNEL_JSON_FORMAT));
	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++) {
		const char *v =
			*(char *const *)(const void *)((const char *)k + text_keys[i].offset);

		bad |= json_object_set_new(root, text_keys[i].key, json_string(v ? v : ""));
	}
	for (size_t i = 0; i < ARRAY_SIZE(optional_keys); i++) {
		const char *v =
			*(char *const *)(const void *)((const char *)k + optional_keys[i].offset);

		if (v && *v)
			bad |= json_object_set_new(root, optional_keys[i].key, json_string(v));
	}
	bad |= json_object_set_new(root, "config_sha256", json_string(k->config_sha256));
	bad |= json_object_set_new(root, "image_sha256", json_string(k->image_sha256));
	bad |= json_object_set_new(root, "hz", json_integer(k->hz));
	if (k->cpu_intensive_thresh_us >= 0)
		bad |= json_object_set_new(root, "cpu_intensive_thresh_us",
					   json_integer(k->cpu_intensive_thresh_us));
	bad |= json_object_set_new(root, "added_wall_ns", json_integer(k->added_wall_ns));
	text = bad ? NULL : json_dumps(root, JSON_INDENT(2));
	if (!text)
		return err_set(e, ERR_KERNEL, EILSEQ, "%s: the kernel's names are not UTF-8 text",
			       path);
	line = xasprintf("%s\n", text);
	return file_write_atomic(path, line, strlen(line), e);
}
