/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remains.c - finds damaged grave messages by their beginning. */
#include "remains.h"

#include <assert.h>
#include <string.h>

#define HEAD_MAX  40
#define EDITS_MAX 6

/*
 * Beginnings of the catalogue's fatal and stall messages, up to what differs each time; and how
 * many bytes of them are enough, whatever follows: no healthy kernel's message has them. The rest
 * is filled in by remains_init().
 */
static struct remains_head heads[] = {
	{.text = "BUG: soft lockup - CPU#", .sure = 5},
	{.text = "BUG: workqueue lockup - pool", .sure = 5},
	{.text = "BUG: workqueue leaked ", .sure = 5},
	{.text = "BUG: scheduling while atomic", .sure = 5},
	{.text = "BUG: sleeping function called", .sure = 5},
	{.text = "BUG: kernel NULL pointer", .sure = 5},
	{.text = "BUG: unable to handle", .sure = 5},
	{.text = "BUG: KASAN: ", .sure = 5},
	{.text = "BUG: KFENCE: ", .sure = 5},
	{.text = "INFO: task ", .sure = 7},
	{.text = "INFO: rcu_", .sure = 7},
	{.text = "rcu: INFO: rcu_", .sure = 6},
	{.text = "watchdog: BUG: soft lockup - CPU#", .sure = 11},
	{.text = "NMI watchdog: BUG: soft lockup - CPU#", .sure = 15},
	{.text = "NMI watchdog: Watchdog detected hard LOCKUP", .sure = 15},
	{.text = "Watchdog detected hard LOCKUP", .sure = 10},
	{.text = "Kernel panic - not syncing", .sure = 10},
	{.text = "Unable to handle kernel", .sure = 11},
	{.text = "Internal error: ", .sure = 14},
	{.text = "general protection fault", .sure = 10},
	{.text = "kernel BUG at ", .sure = 8},
	{.text = "WARNING: CPU: ", .sure = 9},
	{.text = "WARNING: possible ", .sure = 9},
	{.text = "WARNING: suspicious RCU usage", .sure = 9},
	{.text = "WARNING: inconsistent lock state", .sure = 9},
	{.text = "UBSAN: ", .sure = 6},
};

const char *const remains_pieces[] = {"queue lockup",  "lockup - ",
				      "soft lock",     "detected ha",
				      "ed hard LOCK",  "LOCKUP on",
				      "self-detec",    "-detected st",
				      "ted stall on",  "blocked for m",
				      "ked for more",  "for more th",
				      "scheduling wh", "ling while a",
				      "while atomic",  "rnel panic",
				      "panic - not",   "not syncing",
				      "KASAN: ",       "after-free in",
				      "circular loc",  "cular lockin",
				      "king depende",  "dency detect",
				      "NULL pointer",  "pointer deref",
				      "to handle k",   "dle kernel ",
				      "virtual addr",  "ted stalls on",
				      " jiffies, g=",  " jiffies g=",
				      "(detected by ", NULL};

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

/* By the hash's upper bits: which heads a text may begin like; bit k is for heads[k]. */
static uint32_t heads_by_hash[1024];

static_assert(ARRAY_SIZE(heads) <= 32, "a bit for each head");

static uint32_t *heads_like(const char *three)
{
	return &heads_by_hash[remains_hash(three) / (65536 / ARRAY_SIZE(heads_by_hash))];
}

static void init_head(struct remains_head *head)
{
	size_t len = strlen(head->text);

	head->len = (unsigned)(len < HEAD_MAX ? len : HEAD_MAX);
	/* one byte in five; of a random text no such part would be left */
	head->limit = head->len / 5 < EDITS_MAX ? head->len / 5 : EDITS_MAX;
	for (unsigned i = 0; i < head->len; i++)
		head->places[(unsigned char)head->text[i]] |= UINT64_C(1) << i;
}

const struct remains_head *remains_head(size_t i)
{
	return i < ARRAY_SIZE(heads) ? &heads[i] : NULL;
}

void remains_init(void)
{
	for (size_t k = 0; k < ARRAY_SIZE(heads); k++) {
		init_head(&heads[k]);
		for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
			const char *head = heads[k].text;
			const char three[3] = {head[beginnings[i][0]], head[beginnings[i][1]],
					       head[beginnings[i][2]]};
			unsigned h = remains_hash(three);

			remains_beginnings[h / 64] |= UINT64_C(1) << (h % 64);
			*heads_like(three) |= UINT32_C(1) << k;
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

/*
 * A column of the table of distances at a time, as the signs of the differences in it (G. Myers,
 * "A fast bit-vector algorithm for approximate string matching based on dynamic programming",
 * J. ACM 46, 1999; H. Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit
 * distances", 2003), with the text bound to the head's first byte.
 */
bool remains_are_near(const struct remains_head *head, const char *text, size_t len)
{
	uint64_t more = UINT64_MAX; /* than the row above */
	uint64_t less = 0;
	unsigned distance = head->len;

	for (size_t j = 0; j < len && j < head->len + head->limit; j++) {
		unsigned char c = (unsigned char)text[j];
		uint64_t equal = c < ARRAY_SIZE(head->places) ? head->places[c] : 0;
		uint64_t same = (((equal & more) + more) ^ more) | equal | less; /* diagonally */
		uint64_t grows = less | ~(same | more); /* from the column before */
		uint64_t shrinks = more & same;

		distance += (unsigned)(grows >> (head->len - 1)) & 1;
		distance -= (unsigned)(shrinks >> (head->len - 1)) & 1;
		if (distance <= head->limit)
			return true;
		grows = grows << 1 | 1;
		more = shrinks << 1 | ~(same | grows);
		less = grows & same;
	}
	return false;
}

bool remains_are_grave(const char *text, size_t len)
{
	if (!remains_may_begin(text, len))
		return false;
	for (uint32_t left = *heads_like(text); left; left &= left - 1) {
		const struct remains_head *head = &heads[__builtin_ctz(left)];

		if (!begins_like(head->text, text))
			continue;
		if (len >= head->sure && memcmp(text, head->text, head->sure) == 0)
			return true;
		if (remains_are_near(head, text, len))
			return true;
	}
	return false;
}
