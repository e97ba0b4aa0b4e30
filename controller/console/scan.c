/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.c - anchors by trigrams at every third byte; odd bytes by vectors. */
#include "scan.h"

#include <assert.h>
#include <string.h>

static uint32_t trigram_at(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v & 0xFFFFFFu;
}

static uint32_t bit_of(uint32_t trigram)
{
	return (trigram * 0x9E3779B1u) >> (32 - SCAN_BITS);
}

static uint32_t head_of(uint32_t trigram)
{
	return (trigram * 0x9E3779B1u) >> 22;
}

/* Words of healthy logs; their trigrams would let too much through. */
static const char common_text[] =
	" kworker kthread thread threads started state status stack task register registered read "
	"ready reset kernel internal interrupt error memory device driver support loaded enabled to "
	"able all call clock block lock sched process time timer usb: pci pool for from with the and "
	"not on in is of at CPU: cpu ---------- 0000000000 ffffffff ?  ret_from_fork schedule system "
	"allocated using version detected ";

/* How common the five bytes at text are: the less the better. */
static unsigned commonness(const char *text)
{
	unsigned score = 0;

	for (size_t i = 0; i < SCAN_ANCHOR_MIN; i++)
		score += text[i] >= 'a' && text[i] <= 'z' ? 2 : 0;
	for (size_t i = 0; i < SCAN_STRIDE; i++)
		score += memmem(common_text, sizeof(common_text) - 1, text + i, 3) ? 10 : 0;
	return score;
}

void scan_init(struct scan *s)
{
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < ARRAY_SIZE(s->heads); i++)
		s->heads[i] = -1;
}

void scan_add(struct scan *s, const char *text, uint8_t group)
{
	size_t len = strlen(text);
	size_t window = 0;

	assert(len >= SCAN_ANCHOR_MIN && len < 128);
	for (size_t i = 0; i < s->n_anchors; i++) {
		if (strstr(text, s->anchors[i])) {
			s->groups[i] |= group;
			return;
		}
	}
	assert(s->n_anchors < SCAN_ANCHORS_MAX);
	s->anchors[s->n_anchors] = text;
	s->lengths[s->n_anchors] = (uint8_t)len;
	s->groups[s->n_anchors] = group;
	for (size_t i = 1; i + SCAN_ANCHOR_MIN <= len; i++) {
		if (commonness(text + i) < commonness(text + window))
			window = i;
	}
	for (size_t shift = window; shift < window + SCAN_STRIDE; shift++) {
		struct scan_entry *en = &s->entries[s->n_entries];
		uint32_t trigram = trigram_at(text + shift);
		uint32_t bit = bit_of(trigram);

		*en = (struct scan_entry){trigram, (uint16_t)s->n_anchors, (uint8_t)shift,
					  s->heads[head_of(trigram)]};
		s->heads[head_of(trigram)] = (int16_t)s->n_entries++;
		s->bits[bit / 64] |= (uint64_t)1 << (bit % 64);
	}
	s->n_anchors++;
}

/*
 * The groups of the anchors that have this trigram at i and lie in [from, end), and where the first
 * of them begins.
 */
static uint8_t verify(const struct scan *s, const char *p, size_t i, size_t from, size_t end,
		      uint32_t trigram, size_t *ret_at)
{
	uint8_t groups = 0;

	for (int k = s->heads[head_of(trigram)]; k >= 0; k = s->entries[k].next) {
		const struct scan_entry *en = &s->entries[k];
		size_t len = s->lengths[en->anchor];
		size_t at = i - en->shift;

		if (en->trigram != trigram || i < from + en->shift || end - at < len)
			continue;
		/* most candidates differ in the first or fifth byte already */
		if (p[at] != s->anchors[en->anchor][0] || p[at + 4] != s->anchors[en->anchor][4] ||
		    memcmp(p + at, s->anchors[en->anchor], len) != 0)
			continue;
		if (groups == 0 || at < *ret_at)
			*ret_at = at;
		groups |= s->groups[en->anchor];
	}
	return groups;
}

static inline uint64_t is_candidate(const struct scan *s, uint32_t trigram)
{
	uint32_t bit = bit_of(trigram);

	return s->bits[bit / 64] >> (bit % 64) & 1;
}

/* Moves *i on to the next trigram that the table knows. False at the end. */
static inline bool next_candidate(const struct scan *s, const char *p, size_t *i, size_t end,
				  uint32_t *ret_trigram)
{
	size_t at = *i;

	/* four at once: one branch for all, as nearly none is a candidate */
	for (; at + 3 * SCAN_STRIDE + sizeof(uint32_t) <= end; at += 4 * SCAN_STRIDE) {
		if (is_candidate(s, trigram_at(p + at)) |
		    is_candidate(s, trigram_at(p + at + SCAN_STRIDE)) |
		    is_candidate(s, trigram_at(p + at + 2 * SCAN_STRIDE)) |
		    is_candidate(s, trigram_at(p + at + 3 * SCAN_STRIDE)))
			break;
	}
	for (; at + sizeof(uint32_t) <= end; at += SCAN_STRIDE) {
		uint32_t trigram = trigram_at(p + at);

		if (is_candidate(s, trigram)) {
			*ret_trigram = trigram;
			*i = at;
			return true;
		}
	}
	return false;
}

size_t scan_anchor(const struct scan *s, const char *p, size_t from, size_t end)
{
	uint32_t trigram;
	size_t at;

	for (size_t i = from; next_candidate(s, p, &i, end, &trigram); i += SCAN_STRIDE) {
		if (verify(s, p, i, from, end, trigram, &at))
			return at;
	}
	return end;
}

uint8_t scan_groups(const struct scan *s, const char *p, size_t from, size_t end)
{
	uint8_t groups = 0;
	uint32_t trigram;
	size_t at;

	for (size_t i = from; next_candidate(s, p, &i, end, &trigram); i += SCAN_STRIDE)
		groups |= verify(s, p, i, from, end, trigram, &at);
	return groups;
}

static bool is_odd(const char *p, size_t i)
{
	unsigned char c = (unsigned char)p[i];

	if (c == '\r')
		return p[i + 1] != '\n';
	return (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f;
}

typedef signed char bytes16 __attribute__((vector_size(16)));

static bytes16 load16(const char *p)
{
	bytes16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool is_any(bytes16 v)
{
	uint64_t halves[2];

	memcpy(halves, &v, sizeof(halves));
	return (halves[0] | halves[1]) != 0;
}

/* As signed bytes, what is >= 0x80 is below 0x20 too. */
static bytes16 odd16(const char *p)
{
	bytes16 v = load16(p);
	bytes16 next = load16(p + 1);

	return (bytes16)(((v < 0x20) & (v != '\n') & (v != '\t') &
			  ~((v == '\r') & (next == '\n'))) |
			 (v == 0x7f));
}

size_t scan_odd(const char *p, size_t from, size_t end)
{
	size_t i = from;

	while (i + 33 <= end) {
		if (is_any(odd16(p + i) | odd16(p + i + 16)))
			break;
		i += 32;
	}
	for (; i < end; i++) {
		if (is_odd(p, i))
			return i;
	}
	return end;
}
