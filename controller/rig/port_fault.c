/* SPDX-License-Identifier: GPL-2.0-or-later */
/* port_fault.c - a console port with faults on purpose. */
#include "port_fault.h"

#include "base/strbuf.h"

/* What may be late; more is handed on at once. */
#define HELD_MAX (1u << 20)

struct port_fault {
	struct port *port;
	const struct port_faults *faults;
	struct rng *rng;
	struct waiter *w;
	struct strbuf held; /* late */
	struct waiter_timer release;
	bool is_stuck;
};

static void hand_on_held(struct port_fault *f)
{
	if (f->held.len)
		port_hand_on(f->port, f->held.data, f->held.len, waiter_now(f->w));
	strbuf_reset(&f->held);
}

static void on_release(void *self)
{
	hand_on_held(self);
}

static void hand_on(struct port_fault *f, const void *bytes, size_t n, nsec_t t_host_ns,
		    bool is_late)
{
	if (!is_late && !f->held.len) {
		port_hand_on(f->port, bytes, n, t_host_ns);
		return;
	}
	if (!f->held.len) {
		f->release.at_ns = waiter_now(f->w) + f->faults->late_ns;
		if (waiter_timer_set(f->w, &f->release, NULL) < 0) {
			/* no room for a timer: in time is better than never */
			port_hand_on(f->port, bytes, n, t_host_ns);
			return;
		}
	}
	strbuf_add(&f->held, bytes, n);
	if (f->held.len > HELD_MAX) {
		waiter_timer_cancel(f->w, &f->release);
		hand_on_held(f);
	}
}

void port_fault_noise(struct rng *rng, char ret[PORT_FLOOD_BYTES])
{
	for (size_t i = 0; i < PORT_FLOOD_BYTES; i++)
		ret[i] = (char)rng_below(rng, 256);
}

static void flood(struct port_fault *f, nsec_t t_host_ns, bool is_late)
{
	char noise[PORT_FLOOD_BYTES];

	port_fault_noise(f->rng, noise);
	hand_on(f, noise, sizeof(noise), t_host_ns, is_late);
}

static void on_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	struct port_fault *f = self;
	/* always as many draws, so that one probability does not shift the others' luck */
	const bool fails = rng_unit(f->rng) < f->faults->fail;
	const bool is_short = rng_unit(f->rng) < f->faults->shorn;
	const bool is_late = rng_unit(f->rng) < f->faults->late;
	const bool lies = rng_unit(f->rng) < f->faults->lie;
	const bool sticks = rng_unit(f->rng) < f->faults->stuck;
	const bool floods = rng_unit(f->rng) < f->faults->flood;
	const uint64_t where = rng_u64(f->rng);
	auto_strbuf struct strbuf copy = STRBUF_INIT;

	f->is_stuck |= sticks;
	if (f->is_stuck)
		return;
	strbuf_add(&copy, bytes, n);
	if (lies)
		copy.data[where % n] = (char)(copy.data[where % n] ^ (1 << (where >> 32) % 8));
	if (is_short)
		n = where % n;
	if (n)
		hand_on(f, copy.data, n, t_host_ns, is_late);
	if (floods)
		flood(f, t_host_ns, is_late);
	if (fails)
		port_lose(f->port, "injected fault: the adapter is gone");
}

struct port_fault *port_fault_new(struct port *p, const struct port_faults *faults, struct rng *rng,
				  struct waiter *w)
{
	struct port_fault *f = xcalloc(1, sizeof(*f));

	*f = (struct port_fault){.port = p, .faults = faults, .rng = rng, .w = w};
	f->release = (struct waiter_timer){.fire = on_release, .self = f};
	port_set_filter(p, on_bytes, f);
	return f;
}

void port_fault_free(struct port_fault *f)
{
	if (!f)
		return;
	waiter_timer_cancel(f->w, &f->release);
	hand_on_held(f);
	port_set_filter(f->port, NULL, NULL);
	strbuf_release(&f->held);
	free(f);
}
