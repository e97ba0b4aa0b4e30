/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_fault.c - a boot with faults on purpose. */
#include "boot_fault.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "port_fault.h"

#include <ctype.h>
#include <string.h>

#define BANNER "Linux version "

struct boot_fault {
	struct boot_fault_io io;
	struct rng *rng;
	bool lies, floods;
	size_t matched; /* bytes of BANNER that came last */
	struct waiter_timer cut;
};

static void on_cut(void *self)
{
	struct boot_fault *f = self;

	log_debug(LOG_RIG, "injected fault: the power goes again");
	f->io.stop(f->io.self);
}

/* The first digit of the release is another one. */
static char in_banner(struct boot_fault *f, char c)
{
	if (f->matched == strlen(BANNER)) {
		f->matched = 0;
		return (char)(c == '9' ? '0' : isdigit((unsigned char)c) ? c + 1 : c);
	}
	if (c == BANNER[f->matched])
		f->matched++;
	else
		f->matched = c == BANNER[0];
	return c;
}

static void on_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	struct boot_fault *f = self;
	auto_strbuf struct strbuf copy = STRBUF_INIT;

	if (f->floods) {
		char noise[PORT_FLOOD_BYTES];

		f->floods = false;
		port_fault_noise(f->rng, noise);
		port_hand_on(f->io.port, noise, sizeof(noise), t_host_ns);
	}
	strbuf_add(&copy, bytes, n);
	for (size_t i = 0; f->lies && i < n; i++)
		copy.data[i] = in_banner(f, copy.data[i]);
	port_hand_on(f->io.port, copy.data, n, t_host_ns);
}

int boot_fault_meet(const struct boot_faults *faults, struct rng *rng,
		    const struct boot_fault_io *io, nsec_t deadline_ns, struct boot_fault **ret,
		    struct err *e)
{
	/* always as many draws, so that one probability does not shift the others' luck */
	const bool fails = rng_unit(rng) < faults->fail;
	const bool is_stuck = rng_unit(rng) < faults->stuck;
	const bool is_late = rng_unit(rng) < faults->late;
	const bool lies = rng_unit(rng) < faults->lie;
	const bool is_short = rng_unit(rng) < faults->shorn;
	const bool floods = rng_unit(rng) < faults->flood;
	struct boot_fault *f;
	int r = 0;

	if (fails)
		return err_set(e, ERR_RIG, EIO, "injected fault: the power does not come");
	if (is_stuck) {
		r = waiter_until(io->w, deadline_ns, NULL, NULL, e);
		return r < 0 ? r : err_set(e, ERR_RIG, ETIMEDOUT, "injected fault: the boot hangs");
	}
	if (is_late)
		r = waiter_sleep(io->w, faults->late_ns, e);
	if (r < 0)
		return r;
	f = xcalloc(1, sizeof(*f));
	*f = (struct boot_fault){.io = *io, .rng = rng, .lies = lies, .floods = floods};
	f->cut = (struct waiter_timer){
		.at_ns = waiter_now(io->w) + faults->late_ns, .fire = on_cut, .self = f};
	if (is_short)
		r = waiter_timer_set(io->w, &f->cut, e);
	if (r < 0) {
		free(f);
		return r;
	}
	port_set_filter(io->port, on_bytes, f);
	*ret = f;
	return 0;
}

void boot_fault_free(struct boot_fault *f)
{
	if (!f)
		return;
	waiter_timer_cancel(f->io.w, &f->cut);
	port_set_filter(f->io.port, NULL, NULL);
	free(f);
}
