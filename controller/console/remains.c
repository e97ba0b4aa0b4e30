/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remains.c - finds damaged grave messages by their beginning. */
#include "remains.h"

#include <string.h>

#define HEAD_MAX  40
#define EDITS_MAX 6

/* Beginnings of the catalogue's fatal and stall messages, up to what differs each time. */
static const struct head {
	const char *text;
	/* so many bytes of it are enough, whatever follows: no healthy kernel's message has them */
	size_t sure;
} heads[] = {
	{"BUG: soft lockup - CPU#", 5},
	{"BUG: workqueue lockup - pool", 5},
	{"BUG: workqueue leaked ", 5},
	{"BUG: scheduling while atomic", 5},
	{"BUG: sleeping function called", 5},
	{"BUG: kernel NULL pointer", 5},
	{"BUG: unable to handle", 5},
	{"BUG: KASAN: ", 5},
	{"BUG: KFENCE: ", 5},
	{"INFO: task ", 7},
	{"INFO: rcu_", 7},
	{"rcu: INFO: rcu_", 6},
	{"watchdog: BUG: soft lockup - CPU#", 11},
	{"NMI watchdog: BUG: soft lockup - CPU#", 15},
	{"NMI watchdog: Watchdog detected hard LOCKUP", 15},
	{"Watchdog detected hard LOCKUP", 10},
	{"Kernel panic - not syncing", 10},
	{"Unable to handle kernel", 11},
	{"Internal error: ", 14},
	{"general protection fault", 10},
	{"kernel BUG at ", 8},
	{"WARNING: CPU: ", 9},
	{"WARNING: possible ", 9},
	{"WARNING: suspicious RCU usage", 9},
	{"WARNING: inconsistent lock state", 9},
	{"UBSAN: ", 6},
};

const char *const remains_pieces[] = {
	"queue lockup",  "lockup - ",    "soft lock",     "detected ha",  "ed hard LOCK",
	"LOCKUP on",     "self-detec",   "-detected st",  "ted stall on", "blocked for m",
	"ked for more",  "for more th",  "scheduling wh", "ling while a", "while atomic",
	"rnel panic",    "panic - not",  "not syncing",   "KASAN: ",      "after-free in",
	"circular loc",  "cular lockin", "king depende",  "dency detect", "NULL pointer",
	"pointer deref", "to handle k",  "dle kernel ",   "virtual addr", NULL};

bool remains_have_piece(const char *text, size_t len)
{
	for (size_t i = 0; remains_pieces[i]; i++)
		if (memmem(text, len, remains_pieces[i], strlen(remains_pieces[i])))
			return true;
	return false;
}

/* The first three bytes that are left when at most two of the first are lost or doubled. */
static const uint8_t beginnings[][3] = {{0, 1, 2}, {0, 1, 3}, {0, 1, 4}, {0, 2, 3}, {0, 2, 4},
					{0, 3, 4}, {1, 2, 3}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4},
					{0, 0, 1}, {0, 1, 1}, {0, 0, 0}, {0, 0, 2}, {0, 2, 2},
					{1, 1, 2}, {1, 2, 2}};

uint64_t remains_beginnings[65536 / 64];

void remains_init(void)
{
	for (size_t k = 0; k < ARRAY_SIZE(heads); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
			const char *head = heads[k].text;
			const char three[3] = {head[beginnings[i][0]], head[beginnings[i][1]],
					       head[beginnings[i][2]]};
			unsigned h = remains_hash(three);

			remains_beginnings[h / 64] |= UINT64_C(1) << (h % 64);
		}
	}
}

static bool begins_like(const char *head, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (text[0] == head[beginnings[i][0]] && text[1] == head[beginnings[i][1]] &&
		    text[2] == head[beginnings[i][2]])
			return true;
	return false;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * True if some beginning of the text comes from the head by at most `limit` bytes lost, added or
 * changed. The distances of ever longer beginnings of the head, in a band that the limit allows.
 */
static bool is_near(const char *head, size_t head_len, const char *text, size_t len, unsigned limit)
{
	unsigned before[HEAD_MAX + EDITS_MAX + 2];
	unsigned row[ARRAY_SIZE(before)];

	if (len > head_len + limit)
		len = head_len + limit;
	for (size_t j = 0; j <= len; j++)
		before[j] = j <= limit ? (unsigned)j : limit + 1;
	for (size_t i = 1; i <= head_len; i++) {
		size_t from = i > limit ? i - limit : 1;
		size_t to = i + limit < len ? i + limit : len;
		unsigned best = limit + 1;

		if (from > to + 1)
			return false;
		row[from - 1] = from == 1 && i <= limit ? (unsigned)i : limit + 1;
		best = least(best, row[from - 1]);
		for (size_t j = from; j <= to; j++) {
			row[j] = least(before[j - 1] + (head[i - 1] != text[j - 1]),
				       least(before[j], row[j - 1]) + 1);
			best = least(best, row[j]);
		}
		if (best > limit)
			return false;
		if (to < len)
			row[to + 1] = limit + 1;
		memcpy(&before[from - 1], &row[from - 1],
		       (to + (to < len) + 2 - from) * sizeof(row[0]));
	}
	return true;
}

bool remains_are_grave(const char *text, size_t len)
{
	if (!remains_may_begin(text, len))
		return false;
	for (size_t h = 0; h < ARRAY_SIZE(heads); h++) {
		const struct head *head = &heads[h];
		size_t head_len = strlen(head->text);
		unsigned limit;

		if (!begins_like(head->text, text))
			continue;
		if (len >= head->sure && memcmp(text, head->text, head->sure) == 0)
			return true;
		if (head_len > HEAD_MAX)
			head_len = HEAD_MAX;
		/* one byte in five; of a random text no such part would be left */
		limit = (unsigned)head_len / 5;
		if (is_near(head->text, head_len, text, len, limit < EDITS_MAX ? limit : EDITS_MAX))
			return true;
	}
	return false;
}
