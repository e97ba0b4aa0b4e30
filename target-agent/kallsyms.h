/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms.h - the functions of the running kernel and its modules, as /proc/kallsyms has them: at
 * the addresses at which they run, wherever the kernel was put.
 */
#pragma once

#include "agent.h"

#define KALLSYMS_NAME_MAX 160 /* with the NUL; longer names are cut */

struct kallsyms_function {
	uint64_t addr;
	bool is_global;
	char name[KALLSYMS_NAME_MAX];
	char module[64]; /* "" = of the kernel itself */
};

/*
 * Calls fn for each function, in the order of the file, until it returns false. ERR_TARGET: the
 * file cannot be read (-ENOENT: a kernel without CONFIG_KALLSYMS), or it hides the addresses
 * (-EACCES).
 */
int kallsyms_each(const char *root, bool (*fn)(void *arg, const struct kallsyms_function *f),
		  void *arg, struct err *e) must_check;

/* Where an address lies. */
struct kallsyms_place {
	uint64_t addr;
	uint32_t number; /* whatever the caller likes; stays */
	uint64_t start;  /* of the function; 0 = none is known */
	bool is_global;
	char name[KALLSYMS_NAME_MAX];
	char module[64];
};

/* Beyond this an address belongs to nothing that is known: memory between modules, freed code. */
#define KALLSYMS_FUNCTION_MAX ((uint64_t)1 << 20)

/* Fills in what is known about n places, sorted by addr. */
int kallsyms_resolve(const char *root, struct kallsyms_place *places, size_t n,
		     struct err *e) must_check;
