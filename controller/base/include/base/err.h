/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.h - an error with its kind and a complete sentence.
 *
 * Fallible functions return 0 or a positive value on success and -errno on failure, and take a
 * `struct err *` last. The kind says whose fault it is and so which verdict it may cause: only a
 * kernel or target error may ever make a kernel look bad, a rig error never does.
 */
#pragma once

#include "base/util.h"

enum err_kind {
	ERR_NONE = 0,
	ERR_USAGE,    /* the command line                     -> exit 129 */
	ERR_CONFIG,   /* a YAML file or the store's contents  -> exit 129 */
	ERR_RIG,      /* bench, QEMU, switch, console         -> RIG-FAULT */
	ERR_TARGET,   /* the agent or the target's user space -> RIG-FAULT */
	ERR_KERNEL,   /* the kernel build itself              -> UNTESTABLE */
	ERR_STORE,    /* database or recording                -> exit 130 */
	ERR_INTERNAL, /* a bug or the host's resources        -> exit 130 */
	ERR_STOPPED,  /* SIGINT/SIGTERM                       -> exit 130 */
	ERR_KIND_MAX
};

#define ERR_TEXT_MAX 1024

struct err {
	enum err_kind kind;
	int code; /* positive errno value */
	/* A word for it where somebody counts them, "boot-loop"; static; NULL = none. Stays when
	   the error is wrapped. */
	const char *reason;
	char text[ERR_TEXT_MAX];
};

/* The name of a kind as it appears in JSON and in the store, e.g. "config". Never NULL. */
const char *err_kind_name(enum err_kind kind);

/*
 * Fills e (which may be NULL) with a new error and returns -code. Too long texts are cut at
 * ERR_TEXT_MAX - 1 bytes.
 */
int err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...) printf_like(4, 5);

/* Like err_set() but appends ": " and strerror(code). */
int err_errno(struct err *e, enum err_kind kind, int code, const char *fmt, ...) printf_like(4, 5);

/* Puts "fmt: " in front of the text that e already has; kind and code stay. Returns -e->code. */
int err_wrap(struct err *e, const char *fmt, ...) printf_like(2, 3);

/* Gives the error a word. Returns -e->code. */
int err_reason(struct err *e, const char *reason);

/* Changes the kind of an error that came from a lower room. Returns -e->code. */
int err_rekind(struct err *e, enum err_kind kind);

/* Forgets the error: kind ERR_NONE, code 0, empty text. */
void err_clear(struct err *e);
