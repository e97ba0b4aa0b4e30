/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model.c - the data of a run: evidence, the rows of a trial, and the way to the verdict. */
#include "trial/trial.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

static const struct {
	const char *name;
	bool is_rig_to_blame;
	const char *meaning;
} evidence_table[EVIDENCE_MAX] = {
	[EVIDENCE_BOOTED_BUILD] =
		{"booted-build", true,
		 "The kernel that answered is the build that was asked for, by its banner."},
	[EVIDENCE_PROBE_RUNNING] = {"probe-running", false,
				    "The probe's heartbeat advanced before the cut."},
	[EVIDENCE_PROBE_ON_CPU] =
		{"probe-on-cpu", false,
		 "A probe watches the CPU that handled the USB host controller's interrupt."},
	[EVIDENCE_CONSOLE_AUDIBLE] =
		{"console-audible", true,
		 "An injected marker of the probe's log level came out of the console."},
	[EVIDENCE_CONTROL_POSITIVE] =
		{"control-positive", false,
		 "An injected stall of known length was seen by probe, console and parser."},
	[EVIDENCE_CACHE_LOADED] =
		{"cache-loaded", false,
		 "Enough of the stick was in the page cache just before the cut."},
	[EVIDENCE_CUT_APPLIED] = {"cut-applied", true,
				  "The switch's own measurement says that the stick was cut."},
	[EVIDENCE_CUT_SEEN] =
		{"cut-seen", true,
		 "The kernel reported the disconnect of that very port within its deadline."},
	[EVIDENCE_WINDOW_COVERED] =
		{"window-covered", false,
		 "The console was listened to for the whole window and the probe lived to its end."},
	[EVIDENCE_CONSOLE_INTACT] =
		{"console-intact", false,
		 "No message was dropped, garbled or overrun on the way from printk to the parser."},
	[EVIDENCE_PROBES_AGREE] = {"probes-agree", false,
				   "The delays on the console match the probe's own counters."},
	[EVIDENCE_ATTRIBUTABLE] =
		{"attributable", false,
		 "Each delay was due between the cut and one probe period after it."},
	[EVIDENCE_CONTROLS_QUIET] =
		{"controls-quiet", false,
		 "The pools and CPUs that must not stall stayed below their bound, or this host "
		 "cannot have kept them from it."},
	[EVIDENCE_ENVIRONMENT_SAME] =
		{"environment-same", true,
		 "Kernel settings, interrupt CPU, link speed and stick are as at the start."},
	[EVIDENCE_REPLUGGED] = {"replugged", true,
				"The stick enumerated again on its port before the next trial."},
	[EVIDENCE_LOADS_DONE] = {"loads-done", false,
				 "Each load of the scenario ran to its end, and so was measured."},
	[EVIDENCE_MACHINE_SOUND] =
		{"machine-sound", true,
		 "Nothing on the console says that the machine itself does not work as it should."},
};

static const char *const state_names[] = {
	[EVIDENCE_NOT_REACHED] = "not-reached",
	[EVIDENCE_OK] = "ok",
	[EVIDENCE_MISSING] = "missing",
	[EVIDENCE_NOT_NEEDED] = "not-needed",
};

const char *evidence_name(enum evidence_id id)
{
	if ((unsigned)id >= EVIDENCE_MAX)
		return "unknown";
	return evidence_table[id].name;
}

const char *evidence_state_name(enum evidence_state s)
{
	if ((unsigned)s >= ARRAY_SIZE(state_names))
		return "unknown";
	return state_names[s];
}

bool evidence_state_parse(const char *name, enum evidence_state *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++)
		if (strcmp(name, state_names[i]) == 0) {
			*ret = (enum evidence_state)i;
			return true;
		}
	return false;
}

bool evidence_parse(const char *name, enum evidence_id *ret)
{
	for (size_t i = 0; i < EVIDENCE_MAX; i++)
		if (strcmp(name, evidence_table[i].name) == 0) {
			*ret = (enum evidence_id)i;
			return true;
		}
	return false;
}

const char *evidence_meaning(enum evidence_id id)
{
	if ((unsigned)id >= EVIDENCE_MAX)
		return "unknown";
	return evidence_table[id].meaning;
}

bool evidence_blames_rig(enum evidence_id id)
{
	return (unsigned)id < EVIDENCE_MAX && evidence_table[id].is_rig_to_blame;
}

struct trial *trial_new(void)
{
	struct trial *t = xcalloc(1, sizeof(*t));

	t->worst_us = -1;
	t->worst_cpu = -1;
	return t;
}

void trial_clear_samples(struct trial *t)
{
	for (size_t i = 0; i < t->n_histograms; i++)
		util_free(t->histograms[i].buckets);
	util_free(t->histograms);
	t->histograms = NULL;
	t->n_histograms = 0;
}

void trial_free(struct trial *t)
{
	if (!t)
		return;
	util_free(t->delays);
	util_free(t->incidents);
	util_free(t->moments);
	util_free(t->load);
	util_free(t->numbers);
	trial_clear_samples(t);
	util_free(t);
}

void run_free(struct run *r)
{
	if (!r)
		return;
	util_free(r->id);
	util_free(r->rig);
	util_free(r->rig_class);
	util_free(r->arch);
	util_free(r->kernel);
	util_free(r->kernel_label);
	util_free(r->kernel_release);
	util_free(r->kernel_version);
	util_free(r->kernel_config_sha256);
	util_free(r->kernel_image_sha256);
	util_free(r->append);
	util_free(r->scenario);
	util_free(r->scenario_sha256);
	for (size_t i = 0; i < r->n_limits; i++)
		util_free(r->limits[i].name);
	util_free(r->limits);
	run_free(r->baseline);
	util_free(r->rig_fault);
	util_free(r->untestable);
	for (size_t i = 0; i < r->n_boots; i++) {
		util_free(r->boots[i].recording);
		util_free(r->boots[i].banner);
		util_free(r->boots[i].environment);
	}
	util_free(r->boots);
	for (size_t i = 0; i < r->n_trials; i++)
		trial_free(r->trials[i]);
	util_free(r->trials);
	util_free(r);
}

#define ROWS_DROPPED "rows_dropped"

/* Makes room for one row after the n that are there; the room doubles at 1, 2, 4, 8, … rows. */
static void *grow(void *rows, size_t n, size_t row_bytes)
{
	bool is_full = (n & (n - 1)) == 0;

	return is_full ? xrealloc(rows, n ? 2 * n : 1, row_bytes) : rows;
}

static struct trial_number *find_number(const struct trial *t, const char *name)
{
	for (size_t i = 0; i < t->n_numbers; i++)
		if (strcmp(t->numbers[i].name, name) == 0)
			return &t->numbers[i];
	return NULL;
}

static void append_number(struct trial *t, const char *name, int64_t value)
{
	struct trial_number *n;

	t->numbers = grow(t->numbers, t->n_numbers, sizeof(*t->numbers));
	n = &t->numbers[t->n_numbers++];
	(void)snprintf(n->name, sizeof(n->name), "%s", name);
	n->value = value;
}

static void count_dropped_row(struct trial *t)
{
	struct trial_number *n = find_number(t, ROWS_DROPPED);

	if (n)
		n->value++;
	else
		append_number(t, ROWS_DROPPED, 1);
}

struct trial_delay *trial_add_delay(struct trial *t)
{
	struct trial_delay *d;

	if (t->n_delays >= TRIAL_LIST_MAX) {
		count_dropped_row(t);
		return NULL;
	}
	t->delays = grow(t->delays, t->n_delays, sizeof(*t->delays));
	d = &t->delays[t->n_delays++];
	memset(d, 0, sizeof(*d));
	return d;
}

struct trial_incident *trial_add_incident(struct trial *t)
{
	struct trial_incident *i;

	if (t->n_incidents >= TRIAL_LIST_MAX) {
		count_dropped_row(t);
		return NULL;
	}
	t->incidents = grow(t->incidents, t->n_incidents, sizeof(*t->incidents));
	i = &t->incidents[t->n_incidents++];
	memset(i, 0, sizeof(*i));
	return i;
}

void trial_add_moment(struct trial *t, int64_t t_ns, const char *what, const char *fmt, ...)
{
	struct trial_moment m = {.t_ns = t_ns};
	size_t at = t->n_moments;
	va_list ap;

	if (t->n_moments >= TRIAL_LIST_MAX) {
		count_dropped_row(t);
		return;
	}

	(void)snprintf(m.what, sizeof(m.what), "%s", what);
	va_start(ap, fmt);
	(void)vsnprintf(m.detail, sizeof(m.detail), fmt, ap);
	va_end(ap);

	t->moments = grow(t->moments, t->n_moments, sizeof(*t->moments));
	while (at > 0 && t->moments[at - 1].t_ns > t_ns)
		at--;
	memmove(&t->moments[at + 1], &t->moments[at], (t->n_moments - at) * sizeof(m));
	t->moments[at] = m;
	t->n_moments++;
}

void trial_add_load_point(struct trial *t, int64_t t_ns, int64_t bytes)
{
	if (t->n_load >= TRIAL_LIST_MAX) {
		count_dropped_row(t);
		return;
	}
	t->load = grow(t->load, t->n_load, sizeof(*t->load));
	t->load[t->n_load++] = (struct trial_load_point){.t_ns = t_ns, .bytes = bytes};
}

void trial_add_number(struct trial *t, const char *name, int64_t value)
{
	char cut[sizeof(t->numbers->name)];
	struct trial_number *n;

	(void)snprintf(cut, sizeof(cut), "%s", name);
	n = find_number(t, cut);
	if (n)
		n->value = value;
	else if (t->n_numbers < TRIAL_LIST_MAX - 1 || strcmp(cut, ROWS_DROPPED) == 0)
		append_number(t, cut, value);
	else
		count_dropped_row(t); /* the last place is kept for this count */
}

/* NULL if there is no room for it. */
static struct trial_histogram *histogram_of(struct trial *t, const char *probe)
{
	struct trial_histogram *h;

	for (size_t i = 0; i < t->n_histograms; i++)
		if (strcmp(t->histograms[i].probe, probe) == 0)
			return &t->histograms[i];
	if (t->n_histograms == TRIAL_LIST_MAX || strlen(probe) >= sizeof(h->probe))
		return NULL;
	t->histograms = grow(t->histograms, t->n_histograms, sizeof(*h));
	h = &t->histograms[t->n_histograms++];
	*h = (struct trial_histogram){0};
	memcpy(h->probe, probe, strlen(probe));
	return h;
}

int64_t trial_histogram_samples(const struct trial_histogram *h)
{
	int64_t n = 0;

	for (size_t i = 0; i < h->n_buckets; i++)
		n += h->buckets[i].count;
	return n;
}

bool trial_add_samples(struct trial *t, const char *probe, const struct trial_bucket *b)
{
	struct trial_histogram *h;
	struct trial_bucket *after;
	size_t at;

	if (b->low_ns < 0 || b->end_ns <= b->low_ns || b->count <= 0)
		return false;
	h = histogram_of(t, probe);
	if (!h || b->count > INT64_MAX - trial_histogram_samples(h))
		return false;
	for (at = h->n_buckets; at > 0 && h->buckets[at - 1].low_ns >= b->low_ns; at--)
		;
	after = h->buckets + at; /* the first that begins there or later */
	if (at < h->n_buckets && after->low_ns == b->low_ns && after->end_ns == b->end_ns) {
		after->count += b->count;
		return true;
	}
	if (h->n_buckets == TRIAL_LIST_MAX || (at < h->n_buckets && after->low_ns < b->end_ns) ||
	    (at > 0 && h->buckets[at - 1].end_ns > b->low_ns))
		return false;
	h->buckets = grow(h->buckets, h->n_buckets, sizeof(*h->buckets));
	memmove(h->buckets + at + 1, h->buckets + at, (h->n_buckets - at) * sizeof(*h->buckets));
	h->buckets[at] = *b;
	h->n_buckets++;
	return true;
}

bool trial_number(const struct trial *t, const char *name, int64_t *ret)
{
	const struct trial_number *n = find_number(t, name);

	if (n)
		*ret = n->value;
	return n != NULL;
}

size_t release_series_length(const char *release)
{
	size_t n = strspn(release, "0123456789");

	if (n && release[n] == '.' && isdigit((unsigned char)release[n + 1]))
		n += 1 + strspn(release + n + 1, "0123456789");
	return n;
}

const char *release_flavour(const char *release)
{
	const char *dash = strrchr(release, '-');

	return dash && !isdigit((unsigned char)dash[1]) ? dash : "";
}
