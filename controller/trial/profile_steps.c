/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_steps.c - the sampler on the target while a trial measures. */
#include "base/fdio.h"
#include "base/frame.h"
#include "base/parse.h"
#include "runner_priv.h"
#include "trial/profile.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#define START_NS (30 * NSEC_PER_SEC)
#define NAME_NS  (180 * NSEC_PER_SEC) /* to name the functions, and to give 256 KiB of samples */
#define LOOK_NS  (100 * NSEC_PER_MSEC)

/* A share of fewer samples says nothing; more than one of so many lost may say the wrong thing. */
#define SAMPLES_MIN 200
#define LOST_ONE_OF 20
#define PPM         1000000

static bool is_wanted(const struct runner *rn)
{
	return rn->sc->profile.hz > 0;
}

/* ---- sets ---- */

static bool is_for_release(const struct scenario_symbols *s, const char *release)
{
	for (unsigned i = 0; i < s->releases_count; i++)
		if (fnmatch(s->releases[i], release, 0) == 0)
			return true;
	return s->releases_count == 0;
}

/* The row of that name for the kernel that runs; NULL if there is none. */
static const struct scenario_symbols *set_of(const struct runner *rn, const char *name)
{
	for (unsigned i = 0; i < rn->sc->profile.sets_count; i++) {
		const struct scenario_symbols *s = &rn->sc->profile.sets[i];

		if (strcmp(s->name, name) == 0 && is_for_release(s, rn->agent_release))
			return s;
	}
	return NULL;
}

/* The first row of each name stands for all of them. */
static bool is_first_of_name(const struct runner *rn, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (strcmp(rn->sc->profile.sets[k].name, rn->sc->profile.sets[i].name) == 0)
			return false;
	return true;
}

/* A set without a function in this kernel would have a share of 0 whatever happens. */
static int check_set(struct runner *rn, const char *name, struct err *e)
{
	const struct scenario_symbols *s = set_of(rn, name);
	auto_strbuf struct strbuf list = STRBUF_INIT;
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	char word[FRAME_MAX];
	int64_t n = 0;
	int r;

	if (!s)
		return err_set(e, ERR_TARGET, ENOENT, "profile: no set '%s' is for a kernel %s",
			       name, rn->agent_release);
	for (unsigned i = 0; i < s->functions_count; i++)
		strbuf_addf(&list, "%s%s", i ? "," : "", s->functions[i]);
	if (!frame_encode_word(strbuf_str(&list), word, sizeof(word) - 64))
		return err_set(e, ERR_CONFIG, EMSGSIZE, "profile: set '%s' is too long", name);
	r = link_call(rig_link(rn->rig), NAME_NS, &reply, e, "symbols match=%s", word);
	if (r < 0)
		return r;
	if (!parse_pair_i64(strbuf_str(&reply), "functions", &n) || n == 0)
		return err_set(e, ERR_TARGET, ENOENT,
			       "profile: the kernel has no function of set '%s' (%s)", name,
			       strbuf_str(&list));
	return 0;
}

static int check_sets(struct runner *rn, struct err *e)
{
	for (unsigned i = 0; i < rn->sc->profile.sets_count && !rn->is_profile_checked; i++) {
		int r = is_first_of_name(rn, i) ? check_set(rn, rn->sc->profile.sets[i].name, e)
						: 0;

		if (r < 0)
			return r;
	}
	rn->is_profile_checked = true;
	return 0;
}

/* ---- while it samples ---- */

/* Until the sampler's state is no longer as it was: running without samples, or running at all. */
static int await_state(struct runner *rn, bool is_starting, nsec_t timeout_ns, struct strbuf *ret,
		       struct err *e)
{
	nsec_t until_ns = waiter_now(rn->w) + timeout_ns;

	for (;;) {
		const char *words;
		char message[200];
		int r = link_call(rig_link(rn->rig), CALL_NS, ret, e, "profile-state");

		if (r < 0)
			return r;
		words = strbuf_str(ret);
		if (strstr(words, "state=failed") || strstr(words, "state=none")) {
			if (!reply_text(words, "message", message, sizeof(message)))
				(void)snprintf(message, sizeof(message), "profile: it went away");
			return err_set(e, ERR_TARGET, EIO, "%s", message);
		}
		if (strstr(words, is_starting ? "sampling=1" : "state=ended"))
			return 0;
		if (waiter_now(rn->w) >= until_ns)
			return err_set(e, ERR_TARGET, ETIMEDOUT, "profile: it does not %s",
				       is_starting ? "begin" : "end");
		r = waiter_sleep(rn->w, LOOK_NS, e);
		if (r < 0)
			return r;
	}
}

int profiling_begin(struct runner *rn, struct err *e)
{
	const char *event = rn->sc->profile.event;
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	int r;

	if (!is_wanted(rn))
		return 0;
	r = check_sets(rn, e);
	if (r == 0)
		r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "profile hz=%u%s%s bg=1",
			      rn->sc->profile.hz, event ? " event=" : "", event ? event : "");
	if (r < 0)
		return r;
	rn->is_profiling = true;
	strbuf_reset(&rn->profile_windows);
	r = await_state(rn, true, START_NS, &reply, e);
	if (r < 0)
		return r;
	if (!parse_pair_i64(strbuf_str(&reply), "clock_ns", &rn->profile_start_ns))
		return err_set(e, ERR_TARGET, EPROTO, "agent: no 'clock_ns=' of the profile");
	return 0;
}

/* The target's clock, since the profile's start. */
static int read_clock(struct runner *rn, int64_t *ret_us, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	int64_t now_ns;
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e, "clock");
	if (r < 0)
		return r;
	if (!parse_pair_i64(strbuf_str(&reply), "clock_ns", &now_ns))
		return err_set(e, ERR_TARGET, EPROTO, "agent: reply to 'clock' has no 'clock_ns='");
	*ret_us = (now_ns - rn->profile_start_ns) / 1000;
	return 0;
}

int profiling_open(struct runner *rn, struct err *e)
{
	return is_wanted(rn) ? read_clock(rn, &rn->window_from_us, e) : 0;
}

int profiling_close(struct runner *rn, const char *window, struct err *e)
{
	int64_t to_us;
	int r;

	if (!is_wanted(rn))
		return 0;
	r = read_clock(rn, &to_us, e);
	if (r == 0)
		strbuf_addf(&rn->profile_windows, "w%" PRId64 ",%" PRId64 ",%s\n",
			    rn->window_from_us, to_us, window);
	return r;
}

/* ---- what it has seen ---- */

static int read_records(struct runner *rn, struct strbuf *out, struct err *e)
{
	int64_t next = 0, bytes = 1;

	while (next < bytes) {
		auto_strbuf struct strbuf reply = STRBUF_INIT;
		const char *words;
		int64_t from = next;
		int r = link_call(rig_link(rn->rig), NAME_NS, &reply, e,
				  "profile-read from=%" PRId64, from);

		if (r < 0)
			return r;
		/* the last line is that of the reply itself */
		reply.data[reply.len - 1] = '\0';
		words = strrchr(reply.data, '\n');
		words = words ? words + 1 : reply.data;
		if (!parse_pair_i64(words, "next", &next) ||
		    !parse_pair_i64(words, "bytes", &bytes) || next <= from ||
		    strstr(words, "truncated="))
			return err_set(e, ERR_TARGET, EPROTO,
				       "agent: reply to 'profile-read' makes no sense: %.100s",
				       words);
		for (const char *p = reply.data; p < words; p++)
			strbuf_add(out, *p == ';' ? "\n" : p, 1);
	}
	return 0;
}

static void add_share(struct runner *rn, const struct profile *p, const struct profile_window *w,
		      const struct scenario_symbols *s, uint64_t all)
{
	uint64_t n = profile_matching(p, w, s->functions, s->functions_count);
	auto_free char *name = xasprintf("%s_%s_ppm", w->name, s->name);

	runner_add_number(rn, name, (int64_t)(all ? n * PPM / all : 0));
}

static int take_numbers(struct runner *rn, const struct profile *p, struct err *e)
{
	const struct profile_head *h = profile_head(p);
	const struct profile_window *windows;
	size_t n = profile_windows(p, &windows);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct profile_window *w = &windows[i];
		uint64_t all = profile_samples(p, w);
		auto_free char *name = xasprintf("%s_samples", w->name);

		sum += all;
		runner_add_number(rn, name, (int64_t)all);
		if (rn->sc->profile.sets_count && all < SAMPLES_MIN)
			return err_set(e, ERR_TARGET, ENODATA,
				       "profile: %" PRIu64 " samples in '%s', %d are needed", all,
				       w->name, SAMPLES_MIN);
		for (unsigned k = 0; k < rn->sc->profile.sets_count; k++)
			if (is_first_of_name(rn, k))
				add_share(rn, p, w, set_of(rn, rn->sc->profile.sets[k].name), all);
	}
	if (rn->sc->profile.sets_count && (h->lost + h->dropped) * LOST_ONE_OF > sum)
		return err_set(e, ERR_TARGET, EOVERFLOW,
			       "profile: %" PRIu64 " samples were lost, %" PRIu64 " are there",
			       h->lost + h->dropped, sum);
	return 0;
}

int profiling_end(struct runner *rn, struct err *e)
{
	static const char *const counts[] = {"lost", "dropped", "throttled", "idle", "own"};
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	auto_profile struct profile *p = NULL;
	auto_free char *path = NULL;
	int r;

	if (!is_wanted(rn))
		return 0;
	runner_phase(rn, "trial %u: reading the profile", rn->trial->number);
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "profile-stop");
	if (r == 0)
		r = await_state(rn, false, NAME_NS, &reply, e);
	if (r == 0)
		r = read_records(rn, &text, e);
	if (r < 0)
		return r;
	rn->is_profiling = false;
	strbuf_adds(&text, strbuf_str(&rn->profile_windows));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		int64_t v = 0;

		(void)parse_pair_i64(strbuf_str(&reply), counts[i], &v);
		strbuf_addf(&text, "%s%" PRId64, i ? "," : "e", v);
	}
	strbuf_adds(&text, "\n");
	path = xasprintf("%s/trial-%u-profile.txt", rn->dir, rn->trial->number);
	r = file_write_atomic(path, strbuf_str(&text), text.len, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	r = profile_parse(strbuf_str(&text), text.len, path, &p, e);
	if (r < 0)
		return err_rekind(e, ERR_TARGET); /* the target has said it */
	return take_numbers(rn, p, e);
}

void profiling_drop(struct runner *rn)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	struct err unused = {0};

	if (!rn->is_profiling)
		return;
	rn->is_profiling = false;
	if (link_call(rig_link(rn->rig), CALL_NS, NULL, &unused, "profile-stop") == 0)
		(void)!await_state(rn, false, NAME_NS, &reply, &unused);
}
