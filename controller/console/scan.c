/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.c - anchors by trigrams at every third byte; line ends and odd bytes by vectors. */
#include "scan.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#define ANCHOR_MAX 128

/* Of the byte before a trigram these bits are looked at. */
#define BEFORE_MASK 0x1Fu

/* Four bytes, the first one lowest. */
static inline uint32_t four_at(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

/*
 * By the last three of four bytes and some bits of the first, which may stand before the anchor: so
 * an anchor that begins there has but a few slots.
 */
static inline uint32_t slot_of(uint32_t four)
{
	return ((four & (0xFFFFFF00u | BEFORE_MASK)) * 0x1B56C4E9u) >> (32 - SCAN_BITS);
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
	"systemd started, reading state, stopping, setting path to kernel, not able in all ready "
	"Call Trace: <TASK> Call Trace: <IRQ> Workqueue: events blocks on CPU 0 pages RIP: PC IO-APIC "
	"previous supported enabled using linux override driver present preempt soft interrupt ";

/* How often healthy logs have what the table would be asked for a trigram of an anchor. */
static unsigned occurrences(const char *text, size_t shift)
{
	uint32_t mask = shift > 0 ? 0xFFFFFF00u | BEFORE_MASK : 0xFFFFFF00u;
	uint32_t four = shift > 0 ? four_at(text + shift - 1) : four_at(text) << 8;
	unsigned n = 0;

	for (size_t i = 0; i + sizeof(uint32_t) < sizeof(common_text); i++)
		n += ((four_at(common_text + i) ^ four) & mask) == 0;
	return n;
}

/* Which five bytes of an anchor are the least common, with what stands in front if it is known. */
static size_t choose_window(const char *text, size_t len)
{
	unsigned scores[ANCHOR_MAX];
	size_t first = len > SCAN_ANCHOR_MIN;
	size_t window = first;
	unsigned least = UINT_MAX;

	for (size_t i = first; i + SCAN_STRIDE <= len; i++)
		scores[i] = 8 * occurrences(text, i);
	for (size_t i = first; i + SCAN_ANCHOR_MIN <= len; i++) {
		unsigned score = scores[i] + scores[i + 1] + scores[i + 2];

		for (size_t k = 0; k < SCAN_ANCHOR_MIN; k++)
			score += text[i + k] >= 'a' && text[i + k] <= 'z';
		if (score < least) {
			least = score;
			window = i;
		}
	}
	return window;
}

void scan_init(struct scan *s)
{
	memset(s, 0, sizeof(*s));
	for (enum scan_marks_how how = 0; how < SCAN_MARKS_HOW_MAX; how++) {
		if (scan_marks_by(how))
			s->marks = scan_marks_by(how);
	}
	for (size_t i = 0; i < ARRAY_SIZE(s->heads); i++)
		s->heads[i] = -1;
}

void scan_add(struct scan *s, const char *text, uint8_t group)
{
	size_t len = strlen(text);
	size_t window;

	assert(len >= SCAN_ANCHOR_MIN && len < ANCHOR_MAX);
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
	window = choose_window(text, len);
	for (size_t shift = window; shift < window + SCAN_STRIDE; shift++) {
		struct scan_entry *en = &s->entries[s->n_entries];
		uint32_t trigram = four_at(text + shift) & 0xFFFFFFu;

		*en = (struct scan_entry){trigram, four_at(text), (uint16_t)s->n_anchors,
					  s->heads[head_of(trigram)], (uint8_t)shift};
		s->heads[head_of(trigram)] = (int16_t)s->n_entries++;
		for (uint32_t before = 0; before <= BEFORE_MASK; before++) {
			if (shift == 0 || ((unsigned)text[shift - 1] & BEFORE_MASK) == before)
				s->is_known[slot_of(trigram << 8 | before)] = 1;
		}
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

static inline uint8_t is_candidate(const struct scan *s, const char *p)
{
	return s->is_known[slot_of(four_at(p))];
}

/*
 * Moves *i on to the next place where the table knows the trigram, and what may stand before it.
 * Places are every third from the second byte on, so that there is a byte before. False at the end.
 */
static inline bool next_candidate(const struct scan *s, const char *p, size_t *i, size_t end)
{
	size_t at = *i - 1;

	/* four at once: one branch for all, as nearly none is a candidate */
	for (; at + 3 * SCAN_STRIDE + sizeof(uint32_t) <= end; at += 4 * SCAN_STRIDE) {
		if (is_candidate(s, p + at) | is_candidate(s, p + at + SCAN_STRIDE) |
		    is_candidate(s, p + at + 2 * SCAN_STRIDE) |
		    is_candidate(s, p + at + 3 * SCAN_STRIDE))
			break;
	}
	for (; at + sizeof(uint32_t) <= end; at += SCAN_STRIDE) {
		if (is_candidate(s, p + at)) {
			*i = at + 1;
			return true;
		}
	}
	return false;
}

size_t scan_anchor(const struct scan *s, const char *p, size_t from, size_t end)
{
	size_t at;

	for (size_t i = from + 1; next_candidate(s, p, &i, end); i += SCAN_STRIDE) {
		if (verify(s, p, i, from, end, four_at(p + i - 1) >> 8, &at))
			return at;
	}
	return end;
}

uint8_t scan_groups(const struct scan *s, const char *p, size_t from, size_t end)
{
	uint8_t groups = 0;
	size_t at;

	for (size_t i = from + 1; next_candidate(s, p, &i, end); i += SCAN_STRIDE)
		groups |= verify(s, p, i, from, end, four_at(p + i - 1) >> 8, &at);
	return groups;
}

struct word_marks {
	uint64_t lf;
	uint64_t cr;
	uint64_t dot;
	uint64_t bracket;
	uint64_t control; /* no printable ASCII */
};

typedef signed char bytes16 __attribute__((vector_size(16)));
typedef unsigned char ubytes16 __attribute__((vector_size(16)));
typedef signed char bytes32 __attribute__((vector_size(32)));
typedef unsigned char ubytes32 __attribute__((vector_size(32)));

/*
 * mark_word_HOW() marks 64 bytes by vectors of N; bits_of_HOW() makes bit i out of byte i of a
 * comparison's result. As signed bytes, and with one added, all that is no printable ASCII is
 * below 0x21.
 */
#define DEFINE_MARK_WORD(HOW, N, TARGET)                                        \
	TARGET static inline struct word_marks mark_word_##HOW(const char *p) { \
		struct word_marks m = {0};                                      \
                                                                                \
		_Pragma("GCC unroll 4") for (unsigned k = 0; k < 64; k += N)    \
		{                                                               \
			bytes##N v;                                             \
                                                                                \
			memcpy(&v, p + k, sizeof(v));                           \
			m.lf |= bits_of_##HOW(v == '\n') << k;                  \
			m.cr |= bits_of_##HOW(v == '\r') << k;                  \
			m.dot |= bits_of_##HOW(v == '.') << k;                  \
			m.bracket |= bits_of_##HOW(v == ']') << k;              \
			v = (bytes##N)((ubytes##N)v + 1);                       \
			m.control |= bits_of_##HOW(v < 0x21) << k;              \
		}                                                               \
		return m;                                                       \
	}

static inline uint64_t bits_of_portable(bytes16 is_so)
{
	uint64_t halves[2];
	uint64_t bits = 0;

	memcpy(halves, &is_so, sizeof(halves));
	for (size_t k = 0; k < 2; k++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		halves[k] = __builtin_bswap64(halves[k]);
#endif
		/* moves the lowest bit of byte i to bit 56 + i */
		bits |= ((halves[k] & 0x0101010101010101u) * 0x0102040810204080u) >> 56 << (8 * k);
	}
	return bits;
}

DEFINE_MARK_WORD(portable, 16, )

#ifdef __x86_64__
#define TARGET_AVX2 __attribute__((target("avx2,bmi")))

typedef char chars16 __attribute__((vector_size(16)));
typedef char chars32 __attribute__((vector_size(32)));

static inline uint64_t bits_of_sse2(bytes16 is_so)
{
	return (uint16_t)__builtin_ia32_pmovmskb128((chars16)is_so);
}

TARGET_AVX2 static inline uint64_t bits_of_avx2(bytes32 is_so)
{
	return (uint32_t)__builtin_ia32_pmovmskb256((chars32)is_so);
}

DEFINE_MARK_WORD(sse2, 16, )
DEFINE_MARK_WORD(avx2, 32, TARGET_AVX2)
#endif

/*
 * Appends the positions of a word's bits. One or two are usual, and are written whether they are
 * there or not: a branch for each would be guessed wrong at every other line.
 */
static inline __attribute__((always_inline)) size_t add_positions(uint16_t *list, size_t n,
								  size_t at, uint64_t word)
{
	for (int i = 0; i < 2; i++) {
		list[n] = (uint16_t)(at + (size_t)__builtin_ctzll(word | UINT64_C(1) << 63));
		n += word != 0;
		word &= word - 1;
	}
	for (; word; word &= word - 1)
		list[n++] = (uint16_t)(at + (size_t)__builtin_ctzll(word));
	return n;
}

/* The first odd byte among those of a word that may be one, or n. */
static size_t first_odd(const char *p, size_t n, size_t at, uint64_t maybe)
{
	for (; maybe; maybe &= maybe - 1) {
		size_t i = at + (size_t)__builtin_ctzll(maybe);

		if (p[i] != '\t' && (p[i] != '\r' || i + 1 >= n || p[i + 1] != '\n'))
			return i;
	}
	return n;
}

/* Inlined into callers that can use other instructions, so that mark_word is inlined into it. */
static inline __attribute__((always_inline)) size_t
mark(const char *p, size_t n, struct scan_marks *ret, struct word_marks (*mark_word)(const char *))
{
	size_t n_ends = 0;
	size_t n_stamps = 0;
	uint64_t dot_before = 0;
	size_t odd = n;

	for (size_t at = 0; at < n && odd == n; at += 64) {
		char last[64];
		const char *from = p + at;
		struct word_marks m;
		uint64_t stamp;
		uint64_t maybe_odd;

		if (n - at < sizeof(last)) {
			memset(last, ' ', sizeof(last));
			memcpy(last, from, n - at);
			from = last;
		}
		m = mark_word(from);
		stamp = m.bracket & (m.dot << 7 | dot_before >> 57);
		dot_before = m.dot;
		maybe_odd = m.control & ~m.lf & ~(m.cr & m.lf >> 1);
		if (maybe_odd) {
			odd = first_odd(p, n, at, maybe_odd);
			if (odd < n) {
				m.lf &= (UINT64_C(1) << odd % 64) - 1;
				stamp &= (UINT64_C(1) << odd % 64) - 1;
			}
		}
		n_ends = add_positions(ret->ends, n_ends, at, m.lf);
		n_stamps = add_positions(ret->stamps, n_stamps, at, stamp);
	}
	ret->ends[n_ends] = SCAN_WINDOW;
	ret->stamps[n_stamps] = SCAN_WINDOW;
	ret->n_ends = n_ends;
	ret->n_stamps = n_stamps;
	return odd;
}

static size_t marks_portable(const char *p, size_t n, struct scan_marks *ret)
{
	return mark(p, n, ret, mark_word_portable);
}

#ifdef __x86_64__
static size_t marks_sse2(const char *p, size_t n, struct scan_marks *ret)
{
	return mark(p, n, ret, mark_word_sse2);
}

TARGET_AVX2 static size_t marks_avx2(const char *p, size_t n, struct scan_marks *ret)
{
	return mark(p, n, ret, mark_word_avx2);
}
#endif

scan_marks_fn scan_marks_by(enum scan_marks_how how)
{
	switch (how) {
	case SCAN_MARKS_PORTABLE:
		return marks_portable;
#ifdef __x86_64__
	case SCAN_MARKS_SSE2:
		return marks_sse2;
	case SCAN_MARKS_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") ? marks_avx2
										       : NULL;
#else
	case SCAN_MARKS_SSE2:
	case SCAN_MARKS_AVX2:
#endif
	case SCAN_MARKS_HOW_MAX:
		break;
	}
	return NULL;
}
