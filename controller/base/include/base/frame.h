/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - frames of the agent link: one text line each, so that they survive between printk
 * lines and can be read by a person.
 *
 *   @sr <seq> <verb> <word>… <crc32c>\n
 *
 * seq: decimal, 1..2^32-1, chosen by the controller; a reply carries the request's seq. Words hold
 * any byte but must be encoded: bytes <= 0x20, '%', 0x7f and above are written %XX; an empty word
 * is "%". crc32c: 8 lower-case hex digits over everything from "@sr" up to, not including, the
 * space before the CRC. A line is at most FRAME_MAX bytes with its '\n'.
 *
 * Shared by the controller and the target agent: uses nothing but libc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX       2048
#define FRAME_WORDS_MAX 64

/* What both ends keep of one answer: frames ("data" and "part") and their bytes. */
#define FRAME_LINES_MAX 4096
#define FRAME_REPLY_MAX ((size_t)512 << 10)

/* Version of the protocol in docs/protocol.md; sent with "hello". */
#define FRAME_PROTOCOL 1

struct frame {
	uint32_t seq;
	char *verb;
	char *words[FRAME_WORDS_MAX]; /* decoded, NUL-terminated */
	size_t n_words;
	char buf[FRAME_MAX]; /* what the pointers point into */
};

/*
 * Encodes one word into out (cap bytes, NUL-terminated). Returns the length, or 0 if it does not
 * fit.
 */
size_t frame_encode_word(const char *word, char *out, size_t cap);

/*
 * Decodes one word of n bytes into out (cap bytes, NUL-terminated; out may be word itself). False
 * if it is not properly encoded, holds a NUL byte or does not fit.
 */
bool frame_decode_word(const char *word, size_t n, char *out, size_t cap);

/*
 * Builds a whole frame with its line end from a body of encoded, space-separated words
 * ("verb word word"). Returns its length, or 0 if it is longer than cap or FRAME_MAX.
 */
size_t frame_build(uint32_t seq, const char *body, char *out, size_t cap);

/*
 * Finds a frame in a line (with or without line end; text before "@sr " is allowed, since printk
 * may have left some). False if there is none, the CRC is wrong, or a limit is exceeded.
 */
bool frame_parse(const char *line, size_t len, struct frame *ret);

/* Cuts a stream of bytes into lines and finds the frames in them. */
struct frame_reader {
	char buf[2 * FRAME_MAX]; /* of the line that is not complete yet: at least its newest
				    FRAME_MAX bytes, so that no frame is lost behind long text */
	size_t len;
	uint64_t n_bad; /* lines that begin a frame but hold no whole one */
};

/* Calls fn for each whole frame in the order of their line ends. The frame is valid in the call. */
void frame_reader_feed(struct frame_reader *r, const void *bytes, size_t n,
		       void (*fn)(void *self, const struct frame *f), void *self);
/* Forgets the half line, e.g. because the link was opened anew. */
void frame_reader_reset(struct frame_reader *r);
