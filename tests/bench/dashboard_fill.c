/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dashboard_fill.c - fills a store with the nights of a lab, for tests and benchmarks of the
 * dashboard: dashboard_fill STORE [--nights N] [--rigs N] [--kernels N] [--trials N] [--seed N]
 * [--until WALL-SECONDS] [--recording DIR] [--going 1].
 *
 * --going leaves the runs as they began, without trials and without an end.
 *
 * Delays are drawn from worst delays and samples recorded on the virtual rig, with one level a
 * kernel, so that their distribution is a recorded one. One kernel gets worse some nights ago on
 * one rig.
 */
#include "base/parse.h"
#include "base/rng.h"
#include "base/waiter.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

/* Worst delays in us of trials on virtual-x86, from its recordings: a kernel that stalls, and one
   that does not. */
static const int64_t recorded_bad[] = {277000, 511000, 304000, 183000, 289000, 262000, 341000,
				       390000, 531000, 604000, 706000, 756000, 218000, 245000};
static const int64_t recorded_good[] = {9100,  14000, 7800, 11900, 8600,  12400, 9700,
					10300, 29000, 8100, 10900, 13100, 9400,  34000};

/* All samples of "normal" in one trial on virtual-x86 with 6.12: where a bucket of latency-mon
   begins in ns, and how many were in it. */
static const struct {
	int64_t low_ns;
	unsigned count;
} recorded_samples[] = {
	{155648, 1},  {180224, 1},  {184320, 1},  {188416, 1},   {192512, 1},   {196608, 1},
	{200704, 1},  {204800, 1},  {208896, 1},  {212992, 3},   {221184, 3},   {225280, 2},
	{229376, 5},  {233472, 1},  {237568, 1},  {241664, 4},   {245760, 1},   {249856, 1},
	{253952, 2},  {258048, 4},  {262144, 1},  {270336, 11},  {278528, 5},   {286720, 4},
	{294912, 6},  {303104, 6},  {311296, 9},  {319488, 13},  {327680, 6},   {335872, 2},
	{344064, 6},  {352256, 1},  {368640, 1},  {376832, 1},   {385024, 4},   {393216, 6},
	{401408, 2},  {409600, 2},  {417792, 4},  {425984, 2},   {434176, 3},   {442368, 3},
	{450560, 3},  {458752, 4},  {466944, 3},  {475136, 4},   {483328, 3},   {491520, 6},
	{499712, 4},  {507904, 1},  {516096, 3},  {524288, 5},   {540672, 7},   {557056, 4},
	{573440, 5},  {589824, 3},  {606208, 5},  {622592, 3},   {638976, 3},   {655360, 3},
	{671744, 2},  {688128, 1},  {704512, 3},  {737280, 2},   {753664, 2},   {770048, 3},
	{786432, 1},  {802816, 1},  {819200, 3},  {835584, 3},   {851968, 2},   {868352, 1},
	{884736, 4},  {901120, 2},  {917504, 3},  {933888, 2},   {950272, 2},   {966656, 2},
	{983040, 2},  {999424, 2},  {1015808, 1}, {1032192, 1},  {1048576, 2},  {1081344, 4},
	{1114112, 2}, {1146880, 1}, {1212416, 2}, {1245184, 1},  {1277952, 1},  {1310720, 1},
	{1376256, 1}, {1409024, 1}, {1474560, 1}, {1540096, 1},  {1605632, 1},  {1703936, 1},
	{1802240, 2}, {2097152, 2}, {2293760, 2}, {2359296, 2},  {2424832, 1},  {2555904, 2},
	{2621440, 2}, {2686976, 2}, {2752512, 2}, {2818048, 3},  {2883584, 1},  {2949120, 2},
	{3014656, 1}, {3080192, 5}, {3145728, 2}, {3211264, 3},  {3276800, 1},  {3342336, 2},
	{3407872, 1}, {3473408, 1}, {3538944, 1}, {3735552, 1},  {3932160, 1},  {3997696, 1},
	{4063232, 1}, {4587520, 1}, {4718592, 1}, {4849664, 1},  {4980736, 1},  {5242880, 3},
	{5373952, 2}, {6160384, 1}, {6553600, 1}, {6684672, 2},  {6815744, 2},  {7077888, 1},
	{7208960, 1}, {7340032, 1}, {8650752, 1}, {12320768, 2}, {12582912, 1}, {12845056, 1},
	{20971520, 1}};
#define RECORDED_SAMPLES 336 /* their sum */
#define SAMPLES_A_TRIAL  100

struct plan {
	uint32_t nights, rigs, kernels, trials, seed, going;
	uint64_t until_s;
	const char *recording;
};

struct kernel {
	const char *series;
	const char *append;
	bool is_bad;
};

static const struct kernel kernels[] = {
	{"6.12", "", false}, {"6.1", "", true},
	{"6.6", "", false},  {"6.18", "", false},
	{"5.10", "", true},  {"6.12", "workqueue.cpu_intensive_thresh_us=0", true},
	{"6.17", "", false}, {"5.15", "", true},
};

static const char *const rig_names[] = {"rcar-m3-1", "rcar-m3-2", "rcar-h3-1", "rcar-h3-2",
					"imx8-1",    "imx8-2",    "rk3588-1",  "virtual-x86"};

static int64_t draw(struct rng *g, const int64_t *recorded, size_t n, double factor)
{
	return (int64_t)((double)recorded[rng_below(g, n)] * factor * (0.9 + 0.2 * rng_unit(g)));
}

/* One that stalls does so in most trials. */
static int64_t draw_worst(struct rng *g, bool is_bad, double factor)
{
	if (is_bad && rng_unit(g) < 0.9)
		return draw(g, recorded_bad, ARRAY_SIZE(recorded_bad), factor);
	return draw(g, recorded_good, ARRAY_SIZE(recorded_good), factor);
}

/* The bucket of latency-mon: 32 an octave. */
static void add_sample(struct trial *t, int64_t ns)
{
	unsigned shift = ns < 64 ? 0 : 63u - (unsigned)__builtin_clzll((uint64_t)ns) - 5u;
	int64_t low_ns = ns >> shift << shift;
	struct trial_bucket b = {
		.low_ns = low_ns, .end_ns = low_ns + ((int64_t)1 << shift), .count = 1};

	(void)trial_add_samples(t, "normal", &b);
}

/* The worst delay, and others as they were recorded. */
static void draw_samples(struct rng *g, struct trial *t)
{
	add_sample(t, t->worst_us * 1000);
	for (unsigned i = 1; i < SAMPLES_A_TRIAL; i++) {
		uint64_t at = rng_below(g, RECORDED_SAMPLES);
		size_t k = 0;

		while (at >= recorded_samples[k].count)
			at -= recorded_samples[k++].count;
		add_sample(t, recorded_samples[k].low_ns);
	}
}

static void add_delays(struct rng *g, struct trial *t, int64_t limit_us)
{
	int64_t due_us = 117000000 + (int64_t)rng_below(g, 1000000);

	trial_add_number(t, "cut_applied_us", 1200);
	trial_add_number(t, "cut_seen_us", 21000);
	trial_add_number(t, "cached_kib", 524288);
	trial_add_number(t, "load_ms", 14000);
	{
		struct trial_incident *inc = trial_add_incident(t);

		strcpy(inc->cls, "usb-disconnect");
		strcpy(inc->title, "2-1");
		inc->count = 1;
		inc->t_first_us = due_us - 4000;
		inc->worst_s = INT64_MIN;
		inc->offset = t->console_from + 100;
	}
	for (int64_t s = 0; s <= 14; s++) /* 512 MiB as a stick reads them, its beginning faster */
		trial_add_load_point(t, (s - 31) * NSEC_PER_SEC,
				     (s * 36 + (s < 4 ? s : 4) * 2) * 1048576);
	trial_add_moment(t, 0, "cut-asked", "command to the switch");
	trial_add_moment(t, 1200000, "cut-applied", "sensed");
	trial_add_moment(t, 21000000, "usb-disconnect", "usb 2-1: USB disconnect, device number 3");
	if (t->worst_us > limit_us / 3) {
		struct trial_delay *d = trial_add_delay(t);

		d->us = t->worst_us;
		d->cpu = t->worst_cpu;
		strcpy(d->probe, "normal");
		d->due_us = due_us;
		d->t_host_ns = 117 * NSEC_PER_SEC;
		d->offset = t->console_from + 200;
	}
}

static struct trial *make_trial(struct rng *g, const struct run *r, unsigned number,
				unsigned per_boot, bool is_bad, double factor)
{
	struct trial *t = trial_new();

	t->number = number;
	t->boot = (number - 1) / per_boot + 1;
	t->unplug = (number - 1) % per_boot + 1;
	t->started_wall_ns = r->started_wall_ns + (int64_t)number * 20 * NSEC_PER_SEC;
	t->worst_us = draw_worst(g, is_bad, factor);
	t->worst_cpu = (int)rng_below(g, 2);
	strcpy(t->worst_probe, "normal");
	if (is_bad)
		strcpy(t->worst_func, "hub_event");
	for (int i = 0; i < EVIDENCE_MAX; i++)
		t->evidence[i].state = EVIDENCE_OK;
	t->is_valid = true;
	if (rng_unit(g) < 0.03) {
		t->is_valid = false;
		t->missing = EVIDENCE_CACHE_LOADED;
		t->evidence[EVIDENCE_CACHE_LOADED].state = EVIDENCE_MISSING;
		strcpy(t->evidence[EVIDENCE_CACHE_LOADED].detail,
		       "401204 KiB of 524288 KiB cached, floor 90 %");
	}
	add_delays(g, t, r->limit_us);
	draw_samples(g, t);
	return t;
}

static struct run *make_run(const struct plan *p, uint32_t night, uint32_t rig, uint32_t kernel)
{
	const struct kernel *k = &kernels[kernel % ARRAY_SIZE(kernels)];
	const char *rig_name = rig_names[rig % ARRAY_SIZE(rig_names)];
	bool is_virtual = strncmp(rig_name, "virtual", 7) == 0;
	uint32_t patch = 100 + night / 7 + kernel;
	struct run *r = xcalloc(1, sizeof(*r));
	int64_t age_s = (int64_t)(p->nights - night) * 86400 - (int64_t)kernel * 1800;

	r->started_wall_ns = ((int64_t)p->until_s - age_s) * NSEC_PER_SEC;
	r->ended_wall_ns = r->started_wall_ns + 600 * NSEC_PER_SEC;
	r->id = xasprintf("n%05u-%02u-%02u", night, rig, kernel);
	r->rig =
		rig < ARRAY_SIZE(rig_names) ? xstrdup(rig_name) : xasprintf("%s-%u", rig_name, rig);
	r->rig_class = xstrdup(is_virtual ? "virtual" : "board");
	r->arch = xstrdup(is_virtual ? "x86_64" : "arm64");
	r->kernel = xasprintf("debian-%s.%u-%s", k->series, patch, r->arch);
	r->kernel_label = xstrdup(r->kernel);
	r->kernel_release = xasprintf("%s.%u-%s", k->series, patch, is_virtual ? "amd64" : "arm64");
	r->kernel_version =
		xasprintf("#1 SMP PREEMPT_DYNAMIC Debian %s.%u-1 (2026-11-26)", k->series, patch);
	r->kernel_config_sha256 = xstrdup("");
	r->kernel_image_sha256 = xasprintf("%s-%u", k->series, patch);
	r->append = xstrdup(k->append);
	r->scenario = xstrdup("unplug-read");
	r->scenario_sha256 = xstrdup("");
	r->limit_us = 50000;
	r->planned_valid = p->trials;
	r->tolerated_over = 0.01;
	r->confidence = 0.95;
	return r;
}

/* Kernel 0 stalls on rig 0 since three nights, kernel 2 on rig 2 since the last one; kernel 3 is
   cured everywhere since a week. */
static bool is_bad_then(const struct plan *p, uint32_t night, uint32_t rig, uint32_t kernel)
{
	uint32_t left = p->nights - night;

	if (kernel == 0 && rig == 0 && left <= 3)
		return true;
	if (kernel == 2 && rig == 2 && left <= 1)
		return true;
	if (kernel == 3 && left > 7)
		return true;
	return kernels[kernel % ARRAY_SIZE(kernels)].is_bad;
}

static int add_run(struct store *st, const struct plan *p, uint32_t night, uint32_t rig,
		   uint32_t kernel, struct err *e)
{
	struct rng g;
	auto_run struct run *r = make_run(p, night, rig, kernel);
	unsigned per_boot = 4;
	unsigned n_boots = (p->trials + per_boot - 1) / per_boot;
	double factor = 0.7 + 0.12 * (rig % 8);
	int res;

	rng_init(&g,
		 (uint64_t)p->seed << 40 ^ (uint64_t)night << 20 ^ (uint64_t)rig << 10 ^ kernel);
	if (p->going) {
		r->started_wall_ns = wall_now();
		r->ended_wall_ns = 0;
		return store_run_begin(st, r, e);
	}
	if (rng_unit(&g) < 0.02) {
		r->rig_fault = xstrdup("switch: the VBUS sense line did not fall within 250 ms");
		n_boots = 0;
	}
	res = store_run_begin(st, r, e);
	for (unsigned b = 1; res >= 0 && b <= n_boots; b++) {
		r->boots = xrealloc(r->boots, b, sizeof(*r->boots));
		r->boots[r->n_boots++] = (struct trial_boot){
			.number = b,
			.recording = xstrdup(p->recording),
			.banner = xasprintf("Linux version %s", r->kernel_release),
			.environment = xstrdup("hz=250 preempt=voluntary cpus=2"),
			.console_bytes = 4000,
			.boot_ms = 5200,
		};
		res = store_boot_add(st, r, &r->boots[b - 1], e);
	}
	for (unsigned n = 1; res >= 0 && n_boots && n <= p->trials; n++) {
		r->trials = xrealloc(r->trials, n, sizeof(*r->trials));
		r->trials[r->n_trials++] =
			make_trial(&g, r, n, per_boot, is_bad_then(p, night, rig, kernel), factor);
		res = store_trial_add(st, r, r->trials[n - 1], e);
	}
	run_judge(r);
	return res < 0 ? res : store_run_update(st, r, e);
}

static int parse_args(int argc, char **argv, struct plan *p, struct err *e)
{
	const struct {
		const char *name;
		uint32_t *ret;
	} numbers[] = {
		{"--nights", &p->nights}, {"--rigs", &p->rigs}, {"--kernels", &p->kernels},
		{"--trials", &p->trials}, {"--seed", &p->seed}, {"--going", &p->going},
	};

	for (int i = 2; i + 1 < argc; i += 2) {
		size_t k = 0;
		int r = 0;

		while (k < ARRAY_SIZE(numbers) && strcmp(argv[i], numbers[k].name) != 0)
			k++;
		if (k < ARRAY_SIZE(numbers))
			r = parse_u32(argv[i], argv[i + 1], 0, 10000000, numbers[k].ret, e);
		else if (strcmp(argv[i], "--until") == 0)
			r = parse_u64(argv[i], argv[i + 1], 1, 1ull << 33, &p->until_s, e);
		else if (strcmp(argv[i], "--recording") == 0)
			p->recording = argv[i + 1];
		else
			r = err_set(e, ERR_USAGE, EINVAL, "unknown option '%s'", argv[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct plan p = {.nights = 30,
			 .rigs = 4,
			 .kernels = 6,
			 .trials = 8,
			 .seed = 1,
			 .until_s = (uint64_t)(wall_now() / NSEC_PER_SEC),
			 .recording = ""};
	auto_store struct store *st = NULL;
	struct err e = {0};
	int r = -EINVAL;

	if (argc < 2 || argc % 2 != 0)
		(void)err_set(&e, ERR_USAGE, EINVAL,
			      "usage: dashboard_fill STORE [--nights N] "
			      "[--rigs N] [--kernels N] [--trials N] [--seed N] [--until SECONDS] "
			      "[--recording DIR] [--going 1]");
	else
		r = parse_args(argc, argv, &p, &e);
	if (r >= 0)
		r = store_open(argv[1], STORE_WRITE, &st, &e);
	for (uint32_t night = 0; r >= 0 && night < p.nights; night++)
		for (uint32_t rig = 0; r >= 0 && rig < p.rigs; rig++)
			for (uint32_t kernel = 0; r >= 0 && kernel < p.kernels; kernel++)
				r = add_run(st, &p, night, rig, kernel, &e);
	if (r < 0) {
		fprintf(stderr, "dashboard_fill: %s\n", e.text);
		return 1;
	}
	printf("%s: seed %u, %u nights, %u rigs, %u kernels, %" PRIu64 " trials\n", argv[1], p.seed,
	       p.nights, p.rigs, p.kernels, (uint64_t)p.nights * p.rigs * p.kernels * p.trials);
	return 0;
}
