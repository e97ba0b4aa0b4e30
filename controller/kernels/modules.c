/* SPDX-License-Identifier: GPL-2.0-or-later */
/* modules.c - which module files a kernel needs loaded, in which order. */
#include "kernels/modules.h"

#include "base/fdio.h"
#include "kernels/ident.h"
#include "kernels/strip.h"

#include <string.h>

#define INDEX_MAX  (16u << 20)
#define MODULE_MAX (64u << 20)
#define DEPTH_MAX  32
#define NAME_MAX_  64
#define DECODE_NS  (60 * NSEC_PER_SEC)

/* The text indexes that depmod and the kernel's build left; empty if there are none. */
struct indexes {
	const struct kernel_build *k;
	struct strbuf dep, softdep, alias, builtin, config;
	bool has_builtin;
	struct module_list *list;
};

void module_list_release(struct module_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].path);
		free(l->v[i].params);
	}
	free(l->v);
	l->v = NULL;
	l->n = 0;
}

/* Module names know no difference between '-' and '_'. */
static bool same_name(const char *a, size_t a_len, const char *b)
{
	if (a_len != strlen(b))
		return false;
	for (size_t i = 0; i < a_len; i++)
		if ((a[i] == '-' ? '_' : a[i]) != (b[i] == '-' ? '_' : b[i]))
			return false;
	return true;
}

static char *kernel_name(const char *s, size_t len)
{
	char *name = xasprintf("%.*s", (int)len, s);

	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	return name;
}

/* The module name inside a path of at most len bytes: "kernel/a/usb-storage.ko.xz". */
static const char *base_of(const char *path, size_t len, size_t *ret_len)
{
	const char *base = path;
	const char *dot;

	for (size_t i = 0; i < len; i++)
		if (path[i] == '/')
			base = path + i + 1;
	*ret_len = len - (size_t)(base - path);
	dot = memmem(base, *ret_len, ".ko", 3);
	if (dot)
		*ret_len = (size_t)(dot - base);
	return base;
}

/* The line of a "path:" or "path" index whose module is name, or NULL. */
static const char *find_path_line(const struct strbuf *index, const char *name)
{
	for (const char *line = strbuf_str(index); *line;) {
		size_t len = strcspn(line, ":\n");
		size_t base_len;
		const char *base = base_of(line, len, &base_len);

		if (same_name(base, base_len, name))
			return line;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return NULL;
}

/* Without modules.builtin (an image alone was added) the config tells for what the rigs use. */
static bool is_built_in_by_config(const struct indexes *ix, const char *name)
{
	static const struct {
		const char *module, *option;
	} options[] = {
		{"usbcore", "USB"},
		{"xhci-hcd", "USB_XHCI_HCD"},
		{"xhci-pci", "USB_XHCI_PCI"},
		{"scsi_mod", "SCSI"},
		{"sd_mod", "BLK_DEV_SD"},
		{"usb-storage", "USB_STORAGE"},
		{"uas", "USB_UAS"},
		{"ext4", "EXT4_FS"},
		{"vfat", "VFAT_FS"},
		{"nls_cp437", "NLS_CODEPAGE_437"},
		{"nls_ascii", "NLS_ASCII"},
		{"nls_utf8", "NLS_UTF8"},
		{"crc32c_generic", "CRYPTO_CRC32C"},
		{"virtio_pci", "VIRTIO_PCI"},
		{"virtio_console", "VIRTIO_CONSOLE"},
	};

	if (ix->has_builtin)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		auto_free char *v = NULL;

		if (!same_name(name, strlen(name), options[i].module))
			continue;
		v = config_value(strbuf_str(&ix->config), options[i].option);
		return v && strcmp(v, "y") == 0;
	}
	return false;
}

static bool is_built_in(const struct indexes *ix, const char *name)
{
	return find_path_line(&ix->builtin, name) || is_built_in_by_config(ix, name);
}

static struct module *find_in_list(const struct module_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (same_name(name, strlen(name), l->v[i].name))
			return &l->v[i];
	return NULL;
}

/* Takes path over. */
static int append(struct indexes *ix, const char *name, char *path, const char *params,
		  struct err *e)
{
	struct module_list *l = ix->list;

	if (l->n == MODULES_MAX) {
		free(path);
		return err_set(e, ERR_KERNEL, E2BIG, "kernel '%s': more than %d modules to load",
			       ix->k->name, MODULES_MAX);
	}
	l->v = xrealloc(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct module){
		.name = kernel_name(name, strlen(name)),
		.path = path,
		.params = xstrdup(params),
	};
	return 0;
}

/* "alias crc32c crc32c_generic": the portable implementation if there are several. */
static char *find_alias(const struct indexes *ix, const char *name)
{
	auto_free char *best = NULL;

	for (const char *line = strbuf_str(&ix->alias); *line;) {
		size_t len = strcspn(line, "\n");
		const char *key = line + strlen("alias ");
		const char *end = line + len;
		const char *space;

		line = end + (*end == '\n');
		if (len < strlen("alias a b") || strncmp(end - len, "alias ", 6) != 0)
			continue;
		space = memchr(key, ' ', (size_t)(end - key));
		if (!space || !same_name(key, (size_t)(space - key), name))
			continue;
		if (best && strstr(best, "_generic"))
			continue;
		free(best);
		best = xasprintf("%.*s", (int)(end - space - 1), space + 1);
	}
	return take(best);
}

static int resolve(struct indexes *ix, const char *name, const char *params, int depth,
		   struct err *e);

/* "softdep ext4 pre: crypto-crc32c post: x": what should be there first; missing ones are no error
 */
static int resolve_softdeps(struct indexes *ix, const char *name, int depth, struct err *e)
{
	for (const char *line = strbuf_str(&ix->softdep); *line;) {
		size_t len = strcspn(line, "\n");
		auto_free char *text = xasprintf("%.*s", (int)len, line);
		char *rest = text;
		const char *word = strsep(&rest, " ");
		bool is_pre = false;

		line += len;
		line += *line == '\n';
		if (strcmp(word, "softdep") != 0 || !rest)
			continue;
		word = strsep(&rest, " ");
		if (!same_name(word, strlen(word), name))
			continue;
		while (rest && (word = strsep(&rest, " "))) {
			struct err why = {0};
			int r;

			if (strcmp(word, "pre:") == 0 || strcmp(word, "post:") == 0) {
				is_pre = word[1] == 'r';
				continue;
			}
			if (!is_pre || !*word)
				continue;
			r = resolve(ix, word, "", depth + 1, &why);
			if (r < 0 && r != -ENOENT) {
				if (e)
					*e = why;
				return r;
			}
		}
	}
	return 0;
}

/* The dependencies in a line of modules.dep, last first: that is the order to load them in. */
static int resolve_deps(struct indexes *ix, const char *line, int depth, struct err *e)
{
	const char *first = line + strcspn(line, ":\n");
	const char *end = line + strcspn(line, "\n");
	const char *at = end;

	while (at > first) {
		const char *start = at;
		size_t len;
		const char *base;
		auto_free char *name = NULL;
		int r;

		while (start > first && start[-1] != ' ' && start[-1] != ':')
			start--;
		base = base_of(start, (size_t)(at - start), &len);
		at = start - 1;
		if (!len)
			continue;
		name = xasprintf("%.*s", (int)len, base);
		r = resolve(ix, name, "", depth + 1, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int resolve(struct indexes *ix, const char *name, const char *params, int depth,
		   struct err *e)
{
	struct module *known = find_in_list(ix->list, name);
	auto_free char *alias = NULL;
	const char *line;
	char *path;
	int r;

	if (known) {
		if (*params) {
			free(known->params);
			known->params = xstrdup(params);
		}
		return 0;
	}
	if (depth > DEPTH_MAX)
		return err_set(e, ERR_KERNEL, ELOOP,
			       "kernel '%s': modules depend on each other in a circle at '%s'",
			       ix->k->name, name);
	line = find_path_line(&ix->dep, name);
	if (!line) {
		if (is_built_in(ix, name))
			return *params ? append(ix, name, NULL, params, e) : 0;
		alias = find_alias(ix, name);
		if (alias)
			return resolve(ix, alias, params, depth + 1, e);
		return err_set(e, ERR_KERNEL, ENOENT,
			       "kernel '%s' has no module '%s' (neither as a file nor built in)",
			       ix->k->name, name);
	}
	r = resolve_softdeps(ix, name, depth, e);
	if (r < 0)
		return r;
	r = resolve_deps(ix, line, depth, e);
	if (r < 0)
		return r;
	path = *line == '/'
		       ? xasprintf("%.*s", (int)strcspn(line, ":"), line)
		       : xasprintf("%s/modules/%.*s", ix->k->dir, (int)strcspn(line, ":"), line);
	return append(ix, name, path, params, e);
}

/* A missing index is an empty one. */
static int read_index(const struct kernel_build *k, const char *name, struct strbuf *ret,
		      struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", k->dir, name);
	int r;

	if (access(path, F_OK) < 0)
		return 0;
	r = file_read(path, INDEX_MAX, ret, e);
	return r < 0 ? r : 1;
}

static int read_indexes(struct indexes *ix, struct err *e)
{
	int r;

	r = read_index(ix->k, "modules/modules.dep", &ix->dep, e);
	if (r >= 0)
		r = read_index(ix->k, "modules/modules.softdep", &ix->softdep, e);
	if (r >= 0)
		r = read_index(ix->k, "modules/modules.alias", &ix->alias, e);
	if (r >= 0)
		r = read_index(ix->k, "config", &ix->config, e);
	if (r < 0)
		return r;
	r = read_index(ix->k, "modules/modules.builtin", &ix->builtin, e);
	ix->has_builtin = r > 0;
	return r < 0 ? r : 0;
}

int modules_resolve(const struct kernel_build *k, const char *const *words, struct module_list *ret,
		    struct err *e)
{
	struct module_list list = {0};
	struct indexes ix = {.k = k, .list = &list};
	int r;

	r = read_indexes(&ix, e);
	for (; r >= 0 && *words; words++) {
		size_t len = strcspn(*words, " ");
		auto_free char *name = xasprintf("%.*s", (int)len, *words);

		if (!len || len > NAME_MAX_) {
			r = err_set(e, ERR_CONFIG, EINVAL,
				    "'%.80s' does not start with the name of "
				    "a module",
				    *words);
			break;
		}
		r = resolve(&ix, name, *words + len + strspn(*words + len, " "), 0, e);
	}
	strbuf_release(&ix.dep);
	strbuf_release(&ix.softdep);
	strbuf_release(&ix.alias);
	strbuf_release(&ix.builtin);
	strbuf_release(&ix.config);
	if (r < 0) {
		module_list_release(&list);
		return r;
	}
	*ret = list;
	return 0;
}

static int unpack(const struct kernels_ctx *ctx, const char *path, struct strbuf *ret,
		  struct err *e)
{
	static const struct {
		const char *suffix, *program;
	} packed[] = {{".xz", "xz"}, {".zst", "zstd"}, {".gz", "gzip"}};
	const char *end = path + strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(packed); i++) {
		const char *const argv[] = {packed[i].program, "-dcq", path, NULL};
		size_t len = strlen(packed[i].suffix);
		int r;

		if ((size_t)(end - path) < len || strcmp(end - len, packed[i].suffix) != 0)
			continue;
		r = kernels_run(ctx, argv, NULL, NULL, DECODE_NS, ret, e);
		if (r == -ECHILD)
			(void)err_rekind(e, ERR_KERNEL);
		return r < 0 ? err_wrap(e, "%s", path) : 0;
	}
	return file_read(path, MODULE_MAX, ret, e);
}

int module_read(const struct kernels_ctx *ctx, const char *arch, const struct module *m,
		struct strbuf *ret, struct err *e)
{
	int r;

	r = unpack(ctx, m->path, ret, e);
	return r < 0 ? r : strip_debug(ctx, arch, m->path, ret, e);
}
