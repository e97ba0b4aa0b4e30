/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpio.c - writes an initramfs archive in the newc format. */
#include "kernels/cpio.h"

#include <string.h>

#define TYPE_DIR      0040000u
#define TYPE_FILE     0100000u
#define TYPE_SYMLINK  0120000u
#define TYPE_CHAR     0020000u
#define ARCHIVE_ALIGN 512

static void pad(struct strbuf *sb, size_t align)
{
	while (sb->len % align)
		strbuf_add(sb, "", 1);
}

static void add(struct cpio *c, const char *name, unsigned mode, unsigned major, unsigned minor,
		const void *bytes, size_t n)
{
	/* ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize
	 * check */
	strbuf_addf(&c->out, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		    c->next_ino++, mode, 0u, 0u, 1u, 0u, (unsigned)n, 0u, 0u, major, minor,
		    (unsigned)strlen(name) + 1, 0u);
	strbuf_add(&c->out, name, strlen(name) + 1);
	pad(&c->out, 4);
	if (n)
		strbuf_add(&c->out, bytes, n);
	pad(&c->out, 4);
}

void cpio_add_dir(struct cpio *c, const char *name)
{
	add(c, name, TYPE_DIR | 0755, 0, 0, NULL, 0);
}

void cpio_add_file(struct cpio *c, const char *name, unsigned mode, const void *bytes, size_t n)
{
	add(c, name, TYPE_FILE | mode, 0, 0, bytes, n);
}

void cpio_add_symlink(struct cpio *c, const char *name, const char *target)
{
	add(c, name, TYPE_SYMLINK | 0777, 0, 0, target, strlen(target));
}

void cpio_add_char_device(struct cpio *c, const char *name, unsigned mode, unsigned major,
			  unsigned minor)
{
	add(c, name, TYPE_CHAR | mode, major, minor, NULL, 0);
}

void cpio_finish(struct cpio *c)
{
	add(c, "TRAILER!!!", 0, 0, 0, NULL, 0);
	pad(&c->out, ARCHIVE_ALIGN);
}
