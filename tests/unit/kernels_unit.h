/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernels_unit.h - a throwaway folder with a store, a cache and tiny but well-formed kernels in it,
 * for the tests of controller/kernels.
 */
#pragma once

#include "base/child.h"
#include "base/fdio.h"
#include "kernels/private.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char ku_dir[] = "/tmp/test-kernels-XXXXXX";
static char *ku_store;
static struct kernels_ctx ku_ctx;
static char ku_said[4096]; /* the last lines of progress */

static void ku_progress(void *self, const char *text)
{
	size_t len = strlen(ku_said);

	(void)self;
	(void)snprintf(ku_said + len, sizeof(ku_said) - len, "%s\n", text);
}

static inline int ku_set_up(void **state)
{
	auto_free char *cache = NULL;

	(void)state;
	if (!mkdtemp(ku_dir))
		return -1;
	cache = xasprintf("%s/cache", ku_dir);
	setenv("STALLRIG_CACHE", cache, 1);
	ku_store = xasprintf("%s/store", ku_dir);
	ku_ctx = (struct kernels_ctx){
		.store = ku_store, .w = waiter_new(NULL), .progress = ku_progress};
	return 0;
}

static inline int ku_tear_down(void **state)
{
	struct err e = {0};

	(void)state;
	waiter_free(ku_ctx.w);
	free(ku_store);
	return dir_remove(ku_dir, &e);
}

/* <ku_dir>/<fmt...> */
static inline char *ku_path(const char *sub)
{
	return xasprintf("%s/%s", ku_dir, sub);
}

/* Writes ku_dir/name, making its folders. */
static inline void ku_put(const char *name, const void *bytes, size_t n)
{
	auto_free char *path = ku_path(name);
	auto_free char *parent = xstrdup(path);
	struct err e = {0};

	*strrchr(parent, '/') = '\0';
	if (dir_make(parent, &e) < 0 || file_write_atomic(path, bytes, n, &e) < 0)
		fail_msg("%s", e.text);
}

static inline void ku_puts(const char *name, const char *text)
{
	ku_put(name, text, strlen(text));
}

/* Runs a program and returns what it wrote; a failure fails the test. */
static inline char *ku_run(const char *const *argv)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	struct err e = {0};

	if (kernels_run(&ku_ctx, argv, ku_dir, NULL, 60 * NSEC_PER_SEC, &out, &e) < 0)
		fail_msg("%s", e.text);
	return strbuf_take(&out);
}

#define KU_IMAGE_SIZE 8192

/* What identification reads of a bzImage: the header and the version text. */
static inline void ku_put_image(const char *name, const char *release)
{
	uint8_t b[KU_IMAGE_SIZE] = {0};

	b[0x1f1] = 1;
	b[0x1fe] = 0x55;
	b[0x1ff] = 0xaa;
	memcpy(b + 0x202, "HdrS", 4);
	b[0x206] = 0x0f;
	b[0x207] = 0x02;
	b[0x20f] = 0x02;
	(void)snprintf((char *)b + 0x400, 256, "%s (a@b) #1 SMP test", release);
	ku_put(name, b, sizeof(b));
}

#define KU_CONFIG  "CONFIG_HZ=250\nCONFIG_PREEMPT_VOLUNTARY=y\n"
#define KU_MODINFO "workqueue.parmtype=cpu_intensive_thresh_us:ulong"

/* boot/ and lib/modules/ of a kernel under ku_dir/root; the modules have their index already. */
static inline void ku_put_kernel(const char *root, const char *release)
{
	auto_free char *image = xasprintf("%s/boot/vmlinuz-%s", root, release);
	auto_free char *config = xasprintf("%s/boot/config-%s", root, release);
	auto_free char *dep = xasprintf("%s/lib/modules/%s/modules.dep", root, release);
	auto_free char *modinfo =
		xasprintf("%s/lib/modules/%s/modules.builtin.modinfo", root, release);
	auto_free char *builtin = xasprintf("%s/lib/modules/%s/modules.builtin", root, release);

	ku_put_image(image, release);
	ku_puts(config, KU_CONFIG);
	ku_puts(dep, "");
	ku_puts(builtin, "kernel/drivers/usb/storage/usb-storage.ko\n");
	ku_put(modinfo, KU_MODINFO, sizeof(KU_MODINFO));
}

/* Packs ku_dir/root as a package into ku_dir/to. */
static inline void ku_make_deb(const char *root, const char *to, const char *package,
			       const char *version, const char *arch, const char *depends)
{
	auto_free char *control = xasprintf("%s/DEBIAN/control", root);
	auto_free char *text = xasprintf(
		"Package: %s\nVersion: %s\nArchitecture: %s\n%s%s%s"
		"Maintainer: nobody <nobody@example.org>\nDescription: test\n",
		package, version, arch, *depends ? "Depends: " : "", depends, *depends ? "\n" : "");
	const char *const argv[] = {"dpkg-deb", "--root-owner-group", "-Zgzip", "-b", root, to,
				    NULL};

	ku_puts(control, text);
	free(ku_run(argv));
}

/* Adds the kernel to the store from a folder. */
static inline struct kernel_build *ku_add(const char *release, const char *name)
{
	auto_free char *root = xasprintf("src-%s", name);
	auto_free char *path = ku_path(root);
	const char *const paths[] = {path};
	const struct kernel_add_cfg cfg = {.name = name, .paths = paths, .n_paths = 1};
	struct kernel_build *k = NULL;
	struct err e = {0};

	ku_put_kernel(root, release);
	if (kernel_add(&ku_ctx, &cfg, &k, &e) < 0)
		fail_msg("%s", e.text);
	return k;
}

static inline void ku_expect_error(const struct err *e, enum err_kind kind, const char *text)
{
	if (e->kind != kind || !strstr(e->text, text))
		fail_msg("%s error '%s', expected %s '%s'", err_kind_name(e->kind), e->text,
			 err_kind_name(kind), text);
}

/* How many entries of the folder start with prefix. */
static inline unsigned ku_count(const char *dir, const char *prefix)
{
	const char *const argv[] = {"ls", "-A", dir, NULL};
	auto_free char *names = ku_run(argv);
	char *rest = names;
	char *name;
	unsigned n = 0;

	while ((name = strsep(&rest, "\n")))
		n += *name && strncmp(name, prefix, strlen(prefix)) == 0;
	return n;
}
