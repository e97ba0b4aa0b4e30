/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * catalog.h - every kernel message that the parser knows, as data. The table in docs/console.md is
 * made from it; a unit test compares them.
 */
#pragma once

#include "console/console.h"

enum console_rule_flag {
	CONSOLE_RULE_STAMPED = 1 << 0, /* only with a kernel envelope: user space says it too */
	CONSOLE_RULE_BARE = 1 << 1,    /* only without one: firmware */
	CONSOLE_RULE_DETAIL = 1 << 2,  /* belongs to an incident that began before */
	CONSOLE_RULE_CRASH = 1 << 3,   /* a detail only while a crash is being printed */
	CONSOLE_RULE_COUNTED = 1 << 4, /* goes into the integrity counters, no event */
	CONSOLE_RULE_NO_DUMP = 1 << 5, /* does not explain a stack dump behind it */
};

struct console_rule {
	enum console_class cls;
	unsigned flags;
	const char *pattern; /* language: pattern.h of the room */
	/* a part of the pattern's literal text, 5 bytes or more: lines that have none of all
	   anchors are not looked at */
	const char *anchor;
	const char *kernels; /* "4.19+", "< 5.16", "all" */
	const char *example; /* a text that this rule, and no earlier one, matches */
};

size_t console_rule_count(void);
const struct console_rule *console_rule(size_t i);

/*
 * A piece of a message that is left when bytes were lost in it: a line that has such a piece but
 * gives no event of its own is reported as a suspect event of the class.
 */
struct console_trace {
	enum console_class cls;
	const char *text; /* 5 bytes or more */
};

size_t console_trace_count(void);
const struct console_trace *console_trace(size_t i);
