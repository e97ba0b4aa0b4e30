/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.c - samples as text. Addresses and call chains are kept once and then called by number;
 * names are looked up at the end, when that disturbs no sample.
 */
#include "profile.h"

#include "kallsyms.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* --- the memory that is shared ------------------------------------------------------------- */

#define ADDRESS_LINE_MAX 300 /* KALLSYMS_NAME_MAX, the module, three numbers */
#define TEXT_MAX         (PROFILE_SAMPLES_TEXT_MAX + (size_t)PROFILE_ADDRESSES_MAX * ADDRESS_LINE_MAX)

static struct shared {
	_Atomic size_t len;
	char text[TEXT_MAX + 1];
} * shared;

int profile_prepare(struct err *e)
{
	if (!shared) {
		void *p = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return err_errno(e, ERR_TARGET, errno, "profile: %zu bytes",
					 sizeof(*shared));
		shared = p;
	}
	atomic_store(&shared->len, 0);
	shared->text[0] = '\0';
	return 0;
}

const char *profile_text(size_t *ret_len)
{
	*ret_len = shared ? atomic_load(&shared->len) : 0;
	return shared ? shared->text : "";
}

/* Appends a whole line, unless the text would get longer than cap. */
static bool put_line(size_t cap, const char *fmt, ...) printf_like(2, 3);
static bool put_line(size_t cap, const char *fmt, ...)
{
	size_t len = atomic_load(&shared->len);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(shared->text + len, cap + 1 - len, fmt, ap);
	va_end(ap);
	if (n < 0 || len + (size_t)n > cap) {
		shared->text[len] = '\0';
		return false;
	}
	atomic_store(&shared->len, len + (size_t)n);
	return true;
}

/* --- addresses and stacks, each once ------------------------------------------------------- */

#define ADDRESS_SLOTS (2 * PROFILE_ADDRESSES_MAX)
#define STACK_SLOTS   (2 * PROFILE_STACKS_MAX)

/* Of the worker alone. */
static struct {
	uint64_t addresses[PROFILE_ADDRESSES_MAX];
	uint32_t n_addresses;
	uint32_t address_slots[ADDRESS_SLOTS]; /* number + 1; 0 = free */

	struct {
		uint32_t from, depth;
	} stacks[PROFILE_STACKS_MAX];
	uint32_t n_stacks;
	uint32_t stack_slots[STACK_SLOTS];
	uint32_t frames[PROFILE_FRAMES_MAX];
	size_t n_frames;
} known;

void profile_begin(const char *event, unsigned hz, unsigned cpus, int64_t start_ns)
{
	memset(&known, 0, sizeof(known));
	(void)put_line(PROFILE_SAMPLES_TEXT_MAX, "h1,%s,%u,%u,%" PRId64 "\n", event, hz, cpus,
		       start_ns);
}

static uint64_t hash_of(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = 1469598103934665603u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static bool number_address(uint64_t addr, uint32_t *ret)
{
	size_t slot = hash_of(&addr, sizeof(addr)) % ADDRESS_SLOTS;

	for (; known.address_slots[slot]; slot = (slot + 1) % ADDRESS_SLOTS) {
		*ret = known.address_slots[slot] - 1;
		if (known.addresses[*ret] == addr)
			return true;
	}
	if (known.n_addresses == PROFILE_ADDRESSES_MAX)
		return false;
	*ret = known.n_addresses++;
	known.addresses[*ret] = addr;
	known.address_slots[slot] = *ret + 1;
	return true;
}

static bool put_stack(uint32_t number, const uint32_t *ids, uint32_t depth)
{
	char text[PROFILE_LINE_MAX] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < depth; i++)
		len += (size_t)sprintf(text + len, "%s%" PRIu32, i ? "." : "", ids[i]);
	return put_line(PROFILE_SAMPLES_TEXT_MAX, "k%" PRIu32 ",%s\n", number, text);
}

static bool number_stack(const uint64_t *chain, uint32_t depth, uint32_t *ret)
{
	uint32_t ids[PROFILE_DEPTH_MAX];
	size_t bytes = depth * sizeof(*ids);
	size_t slot;

	for (uint32_t i = 0; i < depth; i++)
		if (!number_address(chain[i], &ids[i]))
			return false;
	slot = hash_of(ids, bytes) % STACK_SLOTS;
	for (; known.stack_slots[slot]; slot = (slot + 1) % STACK_SLOTS) {
		*ret = known.stack_slots[slot] - 1;
		if (known.stacks[*ret].depth == depth &&
		    memcmp(&known.frames[known.stacks[*ret].from], ids, bytes) == 0)
			return true;
	}
	*ret = known.n_stacks;
	if (*ret == PROFILE_STACKS_MAX || known.n_frames + depth > PROFILE_FRAMES_MAX ||
	    !put_stack(*ret, ids, depth))
		return false;
	known.stacks[*ret].from = (uint32_t)known.n_frames;
	known.stacks[*ret].depth = depth;
	memcpy(&known.frames[known.n_frames], ids, bytes);
	known.n_stacks++;
	known.n_frames += depth;
	known.stack_slots[slot] = *ret + 1;
	return true;
}

bool profile_add_sample(int64_t us, uint32_t cpu, const uint64_t *chain, uint32_t depth)
{
	uint32_t stack = 0;

	return number_stack(chain, depth, &stack) &&
	       put_line(PROFILE_SAMPLES_TEXT_MAX, "s%" PRId64 ",%" PRIu32 ",%" PRIu32 "\n", us, cpu,
			stack);
}

/* --- names --------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct kallsyms_place *pa = a, *pb = b;

	return pa->addr < pb->addr ? -1 : pa->addr > pb->addr;
}

int profile_name_addresses(const char *root, struct err *e)
{
	static struct kallsyms_place places[PROFILE_ADDRESSES_MAX];
	uint32_t n = known.n_addresses;
	int r;

	for (uint32_t i = 0; i < n; i++)
		places[i] = (struct kallsyms_place){.addr = known.addresses[i], .number = i};
	qsort(places, n, sizeof(places[0]), by_address);
	r = kallsyms_resolve(root, places, n, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		const struct kallsyms_place *p = &places[i];

		(void)put_line(TEXT_MAX, "a%" PRIu32 ",%" PRIx64 ",%s,%" PRIx64 ",%s\n", p->number,
			       p->addr, p->name, p->start ? p->addr - p->start : 0, p->module);
	}
	return 0;
}
