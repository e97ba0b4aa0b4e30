/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpio.h - writes an initramfs archive: the "newc" format of cpio(5), as the kernel's
 * Documentation/driver-api/early-userspace/buffer-format.rst describes it. Own writer, because
 * device nodes in an archive then need no root and no folder tree on the disk. All times are 0, all
 * owners root, so equal contents give equal bytes.
 */
#pragma once

#include "base/strbuf.h"

struct cpio {
	struct strbuf out;
	uint32_t next_ino;
};

#define CPIO_INIT              \
	{                      \
		STRBUF_INIT, 1 \
	}

/* Names are relative to the root, without a leading '/'. Parents must be added first. */
void cpio_add_dir(struct cpio *c, const char *name);
void cpio_add_file(struct cpio *c, const char *name, unsigned mode, const void *bytes, size_t n);
void cpio_add_symlink(struct cpio *c, const char *name, const char *target);
void cpio_add_char_device(struct cpio *c, const char *name, unsigned mode, unsigned major,
			  unsigned minor);
/* Ends the archive. */
void cpio_finish(struct cpio *c);
