/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strip.c - programs and modules without their debug information, which no target reads. */
#include "kernels/strip.h"

#include "base/fdio.h"
#include "base/log.h"

#include <elf.h>
#include <string.h>

#define STRIP_NS (60 * NSEC_PER_SEC)
/* kernel/module_signature.h; the signature is over all that stands before */
#define SIGNED "~Module signature appended~\n"

static bool is_signed(const struct strbuf *file)
{
	const size_t n = strlen(SIGNED);

	return file->len >= n && memcmp(file->data + file->len - n, SIGNED, n) == 0;
}

static bool get_section(const struct strbuf *file, const Elf64_Ehdr *eh, unsigned i,
			Elf64_Shdr *ret)
{
	const uint64_t at = eh->e_shoff + (uint64_t)i * sizeof(*ret);

	if (eh->e_shoff > file->len || at > file->len || file->len - at < sizeof(*ret))
		return false;
	memcpy(ret, file->data + at, sizeof(*ret));
	return true;
}

/* False too for what is no 64-bit ELF file: that is somebody else's to complain about. */
static bool has_debug_info(const struct strbuf *file)
{
	static const char prefix[] = ".debug_";
	Elf64_Shdr names, section;
	Elf64_Ehdr eh;

	if (file->len < sizeof(eh) || memcmp(file->data, ELFMAG, SELFMAG) != 0 ||
	    file->data[EI_CLASS] != ELFCLASS64)
		return false;
	memcpy(&eh, file->data, sizeof(eh));
	if (!get_section(file, &eh, eh.e_shstrndx, &names) || names.sh_offset > file->len ||
	    names.sh_size > file->len - names.sh_offset)
		return false;
	for (unsigned i = 0; i < eh.e_shnum; i++)
		if (get_section(file, &eh, i, &section) && section.sh_name < names.sh_size &&
		    names.sh_size - section.sh_name >= strlen(prefix) &&
		    memcmp(file->data + names.sh_offset + section.sh_name, prefix,
			   strlen(prefix)) == 0)
			return true;
	return false;
}

static int strip(const struct kernels_ctx *ctx, const char *arch, const char *dir,
		 struct strbuf *file, size_t max, struct err *e)
{
	auto_free char *program = xasprintf("%sstrip", kernels_cross_prefix(arch));
	auto_free char *path = xasprintf("%s/file", dir);
	const char *const argv[] = {program, "--strip-debug", path, NULL};
	auto_strbuf struct strbuf stripped = STRBUF_INIT;
	int r;

	r = file_write_atomic(path, file->data, file->len, e);
	if (r >= 0)
		r = kernels_run(ctx, argv, NULL, dir, STRIP_NS, NULL, e);
	if (r >= 0)
		r = file_read(path, max, &stripped, e);
	if (r >= 0) {
		strbuf_reset(file);
		strbuf_add(file, stripped.data, stripped.len);
	}
	return r;
}

int strip_debug(const struct kernels_ctx *ctx, const char *arch, const char *what,
		struct strbuf *file, struct err *e)
{
	auto_free char *parent = path_cache("strip");
	const size_t size = file->len;
	auto_free char *dir = NULL;
	struct err why = {0};
	int r;

	if (!has_debug_info(file) || is_signed(file))
		return 0;
	r = kernels_tmp_dir(parent, &dir, &why);
	if (r >= 0)
		r = strip(ctx, arch, dir, file, size, &why);
	kernels_tmp_remove(dir);
	if (r < 0 && why.kind == ERR_STOPPED) {
		*e = why;
		return r;
	}
	/* it works with it, too */
	log_debug(LOG_KERNELS, "%s: %zu bytes, without debug information %zu%s%s", what, size,
		  file->len, r < 0 ? ": " : "", r < 0 ? why.text : "");
	return 0;
}
