/* SPDX-License-Identifier: GPL-2.0-or-later */
/* modules.h - which module files a kernel needs loaded, in which order. */
#pragma once

#include "kernels/private.h"

struct module {
	char *name;   /* as the kernel names it: "usb_storage" */
	char *path;   /* absolute, may end with .xz, .zst, .gz; NULL = built into the kernel */
	char *params; /* "delay_use=0", "" = none */
};

#define MODULES_MAX 128

struct module_list {
	struct module *v; /* owned, in load order */
	size_t n;
};
void module_list_release(struct module_list *l);

/*
 * Resolves words such as "usb-storage delay_use=0" (NULL-terminated) with the build's modules.dep,
 * modules.softdep, modules.alias and modules.builtin: each module once, after what it depends on.
 * Modules that are built in appear only if they have parameters. ERR_KERNEL names what the kernel
 * does not have.
 */
int modules_resolve(const struct kernel_build *k, const char *const *words, struct module_list *ret,
		    struct err *e) must_check;

/* The module's bytes, decompressed and without debug information. */
int module_read(const struct kernels_ctx *ctx, const char *arch, const struct module *m,
		struct strbuf *ret, struct err *e) must_check;
