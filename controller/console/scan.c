/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.c - anchors by trigrams at every third byte; line ends and odd bytes by vectors. */
#include "scan.h"

#include <assert.h>
#include <string.h>

static uint32_t four_at(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t trigram_at(const char *p)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return four_at(p) >> 8;
#else
	return four_at(p) & 0xFFFFFFu;
#endif
}

/* The factor was chosen for few collisions with what healthy logs are full of. */
static uint32_t slot_of(uint32_t trigram)
{
	return (trigram * 0x1B56C4E9u) >> (32 - SCAN_BITS);
}

static uint32_t head_of(uint32_t trigram)
{
	return (trigram * 0x9E3779B1u) >> 22;
}

/* What healthy logs are full of; the trigrams of these would let too much through. */
static const char common_text[] =
	"clocksource: 'tsc' cs_nsec: 928102724 mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: "
	"Mount-cache hash table entries: 512 (order: 0, 4096 bytes, linear) "
	"pci 0000:00:02.0: BAR 2 [mem 0xfebf0000-0xfebf0fff] PCI host bridge to bus resource "
	"shpchp: Standard Hot Plug PCI Controller Driver version: ACPI: Reserving table memory at "
	"RAX: 0000000000000000 RBX: ffffffff8a203dd8 CPU: 1 registered enabled to device driver on "
	"usb usb1: New USB device found, Internal interrupt error. serial port for from with and "
	"task:kworker/u8:0    state:I stack:0     pid:12    tgid:12    ppid:2   flags:0x00004000 "
	"Call Trace:  <TASK>  __schedule+0x4e0/0xbf0  schedule+0x27/0xc0  </TASK> "
	" ? __pfx_kthread+0x10/0x10  kthread+0xd2/0x100  ret_from_fork_asm+0x1a/0x30 "
	" ? __pfx_rescuer_thread+0x10/0x10  worker_thread+0x2b6/0x3d0  process_one_work+0x18f/ "
	" schedule_timeout+0x94/0x150  entry_SYSCALL_64_after_hwframe  do_syscall_64+0x69/0xb0 "
	"  .nr_running   : 0   .cfs_rq[0]:/ sysctl  I kworker/u8:1  30  214355.449956   2   120 "
	"------------------------------------------ boot local complete connected reached lock block local register accepting for more registered config activated at the messages "
	"systemd started, reading state, stopping, setting path to kernel, not able in all ready ";

static unsigned occurrences(const char *trigram)
{
	unsigned n = 0;

	for (const char *at = common_text; (at = strchr(at, trigram[0])); at++)
		n += at[1] == trigram[1] && at[1] && at[2] == trigram[2];
	return n;
}

/* How common the five bytes at text are: the less the better. */
static unsigned commonness(const char *text)
{
	unsigned score = 0;

	for (size_t i = 0; i < SCAN_ANCHOR_MIN; i++)
		score += text[i] >= 'a' && text[i] <= 'z';
	for (size_t i = 0; i < SCAN_STRIDE; i++)
		score += 8 * occurrences(text + i);
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

		*en = (struct scan_entry){trigram, four_at(text), (uint16_t)s->n_anchors,
					  s->heads[head_of(trigram)], (uint8_t)shift};
		s->heads[head_of(trigram)] = (int16_t)s->n_entries++;
		s->is_known[slot_of(trigram)] = 1;
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
		if (four_at(p + at) != en->beginning ||
		    memcmp(p + at, s->anchors[en->anchor], len) != 0)
			continue;
		if (groups == 0 || at < *ret_at)
			*ret_at = at;
		groups |= s->groups[en->anchor];
	}
	return groups;
}

static inline uint8_t is_candidate(const struct scan *s, uint32_t trigram)
{
	return s->is_known[slot_of(trigram)];
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

typedef signed char bytes16 __attribute__((vector_size(16)));

/* Bit i is for byte i of a comparison's result. */
static inline uint64_t bits_of(bytes16 is_equal)
{
#ifdef __SSE2__
	typedef char chars16 __attribute__((vector_size(16)));

	return (uint16_t)__builtin_ia32_pmovmskb128((chars16)is_equal);
#else
	uint64_t halves[2];
	uint64_t bits = 0;

	memcpy(halves, &is_equal, sizeof(halves));
	for (size_t k = 0; k < 2; k++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		halves[k] = __builtin_bswap64(halves[k]);
#endif
		/* moves the lowest bit of byte i to bit 56 + i */
		bits |= ((halves[k] & 0x0101010101010101u) * 0x0102040810204080u) >> 56 << (8 * k);
	}
	return bits;
#endif
}

struct word_marks {
	uint64_t lf;
	uint64_t cr;
	uint64_t bracket;
	uint64_t
		control; /* no printable ASCII; as signed bytes what is >= 0x80 is below 0x20 too */
};

static inline struct word_marks mark_word(const char *p)
{
	struct word_marks m = {0};

	for (unsigned k = 0; k < 4; k++) {
		bytes16 v;

		memcpy(&v, p + 16 * (size_t)k, sizeof(v));
		m.lf |= bits_of((bytes16)(v == '\n')) << (16 * k);
		m.cr |= bits_of((bytes16)(v == '\r')) << (16 * k);
		m.bracket |= bits_of((bytes16)(v == ']')) << (16 * k);
		m.control |= bits_of((bytes16)((v < 0x20) | (v == 0x7f))) << (16 * k);
	}
	return m;
}

size_t scan_marks(const char *p, size_t n, struct scan_marks *ret)
{
	for (size_t at = 0; at < n; at += 64) {
		char last[64];
		const char *from = p + at;
		struct word_marks m;
		uint64_t odd;

		if (n - at < sizeof(last)) {
			memset(last, ' ', sizeof(last));
			memcpy(last, from, n - at);
			from = last;
		}
		m = mark_word(from);
		ret->lf[at / 64] = m.lf;
		ret->bracket[at / 64] = m.bracket;
		odd = m.control & ~m.lf & ~(m.cr & m.lf >> 1);
		for (; odd; odd &= odd - 1) {
			size_t i = at + (size_t)__builtin_ctzll(odd);

			if (p[i] == '\t' || (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n'))
				continue;
			return i;
		}
	}
	return n;
}

size_t scan_whole_lines(const struct scan_marks *marks, size_t n)
{
	for (size_t k = (n + 63) / 64; k > 0; k--) {
		uint64_t word = marks->lf[k - 1];

		if (k * 64 > n)
			word &= UINT64_MAX >> (k * 64 - n);
		if (word)
			return k * 64 - (size_t)__builtin_clzll(word);
	}
	return 0;
}
