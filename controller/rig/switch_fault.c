/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_fault.c - a switch with faults on purpose. */
#include "rig/switch_fault.h"

struct switch_fault {
	struct switch_ops ops; /* what the outside sees: the inner caps, this set() */
	const struct switch_ops *inner_ops;
	void *inner;
	const struct switch_faults *faults;
	struct switch_fault_state *state;
	struct waiter *w;
	bool has_lied; /* the claim differs from what the inner switch does */
	enum switch_state claim;
};

void switch_fault_init(struct switch_fault_state *state, const struct switch_faults *faults)
{
	*state = (struct switch_fault_state){.is_armed = true};
	rng_init(&state->rng, faults->seed);
}

static enum switch_state other(enum switch_state state)
{
	return state == SWITCH_OFF ? SWITCH_ON : SWITCH_OFF;
}

/* Reports what the inner switch does not do, or did not keep to. */
static void claim(struct switch_fault *s, enum switch_state state)
{
	s->has_lied = true;
	s->claim = state;
}

/* There and back again, so often; ends where it began. */
static int bounce(struct switch_fault *s, enum switch_state to, nsec_t deadline_ns, struct err *e)
{
	struct switch_change ignored;
	int r = 0;

	for (unsigned i = 0; i < SWITCH_FLOOD_BOUNCES && r >= 0; i++) {
		r = s->inner_ops->set(s->inner, to, deadline_ns, &ignored, e);
		if (r >= 0)
			r = s->inner_ops->set(s->inner, other(to), deadline_ns, &ignored, e);
	}
	return r;
}

static int set_with_faults(struct switch_fault *s, enum switch_state to, nsec_t deadline_ns,
			   struct switch_change *ret, struct err *e)
{
	/* always as many draws, so that one probability does not shift the others' luck */
	const bool fails = rng_unit(&s->state->rng) < s->faults->fail;
	const bool lies = rng_unit(&s->state->rng) < s->faults->lie;
	const bool is_late = rng_unit(&s->state->rng) < s->faults->late;
	const bool is_short = rng_unit(&s->state->rng) < s->faults->shorn;
	const bool is_stuck = rng_unit(&s->state->rng) < s->faults->stuck;
	const bool floods = rng_unit(&s->state->rng) < s->faults->flood;
	struct switch_change undone;
	const nsec_t asked_ns = waiter_now(s->w);
	int r;

	s->state->sets++;
	if (fails) {
		s->state->failed++;
		return err_set(e, ERR_RIG, EIO, "injected fault: the switch does not work");
	}
	if (is_stuck) {
		s->state->stuck++;
		r = waiter_until(s->w, deadline_ns, NULL, NULL, e);
		return r < 0 ? r
			     : err_set(e, ERR_RIG, ETIMEDOUT,
				       "injected fault: the switch does not answer");
	}
	if (lies) {
		s->state->lied++;
		claim(s, to);
		*ret = (struct switch_change){.asked_ns = asked_ns, .applied_ns = asked_ns};
		return 0;
	}
	if (is_late) {
		s->state->late++;
		r = waiter_sleep(s->w, s->faults->late_ns, e);
		if (r < 0)
			return r;
	}
	s->has_lied = false;
	if (s->inner_ops->get(s->inner) == to) {
		/* it is there already, because the change before this one was a lie */
		*ret = (struct switch_change){.asked_ns = asked_ns, .applied_ns = waiter_now(s->w)};
		return 0;
	}
	if (floods) {
		s->state->flooded++;
		r = bounce(s, to, deadline_ns, e);
		if (r < 0)
			return r;
	}
	r = s->inner_ops->set(s->inner, to, deadline_ns, ret, e);
	ret->asked_ns = asked_ns;
	if (r < 0 || !is_short)
		return r;
	s->state->shorn++;
	claim(s, to);
	return s->inner_ops->set(s->inner, other(to), deadline_ns, &undone, e);
}

static int switch_fault_set(void *self, enum switch_state to, nsec_t deadline_ns,
			    struct switch_change *ret, struct err *e)
{
	struct switch_fault *s = self;

	if (!s->state->is_armed)
		return s->inner_ops->set(s->inner, to, deadline_ns, ret, e);
	return set_with_faults(s, to, deadline_ns, ret, e);
}

static enum switch_state switch_fault_get(void *self)
{
	struct switch_fault *s = self;

	return s->has_lied ? s->claim : s->inner_ops->get(s->inner);
}

static enum switch_state switch_fault_sense(void *self)
{
	struct switch_fault *s = self;

	return s->inner_ops->sense(s->inner);
}

static void switch_fault_close(void *self)
{
	struct switch_fault *s = self;

	s->inner_ops->close(s->inner);
	free(s);
}

void switch_fault_wrap(const struct switch_ops **ops, void **self,
		       const struct switch_faults *faults, struct switch_fault_state *state,
		       struct waiter *w)
{
	struct switch_fault *s = xcalloc(1, sizeof(*s));

	s->inner_ops = *ops;
	s->inner = *self;
	s->faults = faults;
	s->state = state;
	s->w = w;
	s->ops = (struct switch_ops){
		.driver = s->inner_ops->driver,
		.caps = s->inner_ops->caps,
		.set = switch_fault_set,
		.get = switch_fault_get,
		.sense = s->inner_ops->sense ? switch_fault_sense : NULL,
		.close = switch_fault_close,
	};
	*ops = &s->ops;
	*self = s;
}
