/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
/* Profiles as the target gives them: read, counted over windows, folded. */
#include "base/rng.h"
#include "trial/profile.h"
#include "unit.h"

#include <inttypes.h>

static const char text[] = "h1,cpu-clock,199,2,1000000\n"
			   "k0,0.2\n"
			   "s-5,0,0\n"
			   "s100,0,0\n"
			   "k1,1.2\n"
			   "s200,1,1\n"
			   "s300,1,1\n"
			   "k2,\n"
			   "s400,1,2\n"
			   "k3,3\n"
			   "s500,0,3\n"
			   "k4,4.2\n"
			   "s999,0,4\n"
			   "s1000,0,4\n"
			   "a2,ffffffff81000010,entry,10,\n"
			   "a0,ffffffff81002000,osq_lock,0,\n"
			   "a1,ffffffff81002004,osq_lock,4,\n"
			   "a3,ffffffffc0000000,,0,\n"
			   "a4,ffffffffc0100000,wait.isra.0,0,ext4\n"
			   "w0,1000,dd_50\n"
			   "w1000,1000,empty\n"
			   "e3,2,1,7,9\n";

static struct profile *parse(const char *from)
{
	struct profile *p = NULL;
	struct err e = {0};

	if (profile_parse(from, strlen(from), "p.txt", &p, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static void test_samples_of_a_window_are_counted_by_their_innermost_function(void **state)
{
	auto_profile struct profile *p = parse(text);
	const struct profile_window *w = profile_window(p, "dd_50");
	auto_free struct profile_row *rows = NULL;
	auto_free struct profile_row *none = NULL;
	const struct profile_window *all;

	(void)state;
	assert_int_equal(profile_windows(p, &all), 2);
	assert_ptr_equal(w, &all[0]);
	assert_null(profile_window(p, "dd_5"));
	assert_int_equal(profile_head(p)->hz, 199);
	assert_int_equal(profile_head(p)->start_ns, 1000000);
	assert_int_equal(profile_head(p)->dropped, 2);
	assert_int_equal(profile_head(p)->own, 9);

	/* from the first microsecond up to the last, not included */
	assert_int_equal(profile_samples(p, w), 6);
	assert_int_equal(profile_top(p, w, &rows), 4);
	assert_string_equal(rows[0].function, "osq_lock");
	assert_int_equal(rows[0].samples, 3);
	assert_string_equal(rows[1].function, PROFILE_UNKNOWN);
	assert_string_equal(rows[2].function, PROFILE_USER);
	assert_string_equal(rows[3].function, "wait.isra.0");
	assert_string_equal(rows[3].module, "ext4");
	assert_int_equal(profile_samples(p, &all[1]), 0);
	assert_int_equal(profile_top(p, &all[1], &none), 0);
}

static void test_a_set_has_the_functions_that_are_like_its_patterns(void **state)
{
	static const struct {
		char patterns[2][16];
		uint64_t n;
	} cases[] = {
		{{"osq_*", "nothing"}, 3}, {{"wait", "entry"}, 1}, {{"wait.isra.0", "wait"}, 1},
		{{"osq_lock", "wait"}, 4}, {{"osq", "ait"}, 0},
	};
	auto_profile struct profile *p = parse(text);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *first = xstrdup(cases[i].patterns[0]);
		auto_free char *second = xstrdup(cases[i].patterns[1]);
		char *const list[] = {first, second};

		assert_int_equal(profile_matching(p, profile_window(p, "dd_50"), list, 2),
				 cases[i].n);
	}
}

static void test_chains_are_folded_by_function_and_not_by_address(void **state)
{
	auto_profile struct profile *p = parse(text);
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	profile_folded(p, profile_window(p, "dd_50"), &out);
	assert_string_equal(strbuf_str(&out), "[unknown] 1\n"
					      "[user] 1\n"
					      "entry;osq_lock 3\n"
					      "entry;wait.isra.0 1\n");
}

static void test_a_function_cannot_be_two_and_a_line_cannot_be_forged(void **state)
{
	auto_profile struct profile *p = parse("h1,cycles,99,1,0\nk0,0\ns1,0,0\n"
					       "a0,ff,a;b <c>\033&,0,m\nw0,9,x\n");
	auto_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	profile_folded(p, profile_window(p, "x"), &out);
	assert_string_equal(strbuf_str(&out), "a?b?<c>?& 1\n");
}

static void test_what_is_no_record_is_named_with_its_line(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
	} cases[] = {
		{"", 0},
		{"k0,1\n", 1},
		{"h2,cpu-clock,199,2,0\n", 1},
		{"h1,cpu-clock,199,2,0", 1},
		{"h1,a-name-beyond-the-room,199,2,0\n", 1},
		{"h1,cpu-clock,199,2,0\nh1,cpu-clock,199,2,0\n", 2},
		{"h1,cpu-clock,199,2,0\n\n", 2},
		{"h1,cpu-clock,199,2,0\nx1\n", 2},
		{"h1,cpu-clock,199,2,0\ns1,0,0\n", 2},
		{"h1,cpu-clock,199,2,0\nk0,\nk0,\n", 3},
		{"h1,cpu-clock,199,2,0\nk65536,\n", 2},
		{"h1,cpu-clock,199,2,0\nk0,1.\n", 2},
		{"h1,cpu-clock,199,2,0\nk0,1\ns1,0,0,\n", 3},
		{"h1,cpu-clock,199,2,0\nk0,1..2\n", 2},
		{"h1,cpu-clock,199,2,0\nk0,-1\n", 2},
		{"h1,cpu-clock,199,2,0\na0,xyz,f,0,\n", 2},
		{"h1,cpu-clock,199,2,0\na0,1,f,0,\na0,1,f,0,\n", 3},
		{"h1,cpu-clock,199,2,0\nw9,8,x\n", 2},
		{"h1,cpu-clock,199,2,0\nw8,9,\n", 2},
		{"h1,cpu-clock,199,2,0\nw8,99999999999999999999,x\n", 2},
		{"h1,cpu-clock,199,2,0\ne1,2,3,4\n", 2},
		{"h1,cpu-clock,199,2,0\ne1,2,3,4,5,6\n", 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = NULL;
		struct err e = {0};
		auto_free char *place = xasprintf("p.txt:%u: ", cases[i].line);

		if (profile_parse(cases[i].text, strlen(cases[i].text), "p.txt", &p, &e) !=
		    -EBADMSG)
			fail_msg("case %zu is taken: %s", i, cases[i].text);
		assert_contains(e.text, cases[i].line ? place : "p.txt: it is empty");
		assert_null(p);
	}
}

static void test_the_longest_chain_is_read_and_a_longer_one_is_refused(void **state)
{
	auto_strbuf struct strbuf chain = STRBUF_INIT;
	auto_profile struct profile *p = NULL;
	struct profile *none = NULL;
	struct err e = {0};

	(void)state;
	strbuf_adds(&chain, "h1,cpu-clock,199,2,0\nk65535,1");
	for (int i = 1; i < PROFILE_DEPTH_MAX; i++)
		strbuf_adds(&chain, ".65535");
	strbuf_adds(&chain, "\n");
	assert_int_equal(profile_parse(strbuf_str(&chain), chain.len, "p", &p, &e), 0);
	chain.data[--chain.len] = '\0';
	strbuf_adds(&chain, ".1\n");
	assert_int_equal(profile_parse(strbuf_str(&chain), chain.len, "p", &none, &e), -EBADMSG);
}

static void test_more_windows_than_are_allowed_are_an_error(void **state)
{
	auto_strbuf struct strbuf windows = STRBUF_INIT;
	auto_profile struct profile *p = NULL;
	struct profile *none = NULL;
	struct err e = {0};

	(void)state;
	strbuf_adds(&windows, "h1,cpu-clock,199,2,0\n");
	for (int i = 0; i < PROFILE_WINDOWS_MAX; i++)
		strbuf_addf(&windows, "w0,1,n%d\n", i);
	assert_int_equal(profile_parse(strbuf_str(&windows), windows.len, "p", &p, &e), 0);
	strbuf_adds(&windows, "w0,1,one_more\n");
	assert_int_equal(profile_parse(strbuf_str(&windows), windows.len, "p", &none, &e), -E2BIG);
}

static void test_a_trial_has_its_profile_beside_its_boots(void **state)
{
	char *dir = unit_tmpdir();
	auto_run struct run *r = xcalloc(1, sizeof(*r));
	struct trial *t = trial_new();
	auto_profile struct profile *p = NULL;
	struct profile *none = NULL;
	struct err e = {0};

	(void)state;
	t->number = 3;
	t->boot = 2;
	assert_null(profile_path(r, t));
	assert_int_equal(profile_of_trial(r, t, &none, &e), 0);
	assert_null(none);
	r->boots = xcalloc(1, sizeof(*r->boots));
	r->n_boots = 1;
	r->boots[0].number = 2;
	r->boots[0].recording = xasprintf("%s/boot-2", dir);
	assert_int_equal(profile_of_trial(r, t, &none, &e), 0);
	assert_null(none);
	unit_write(dir, "trial-3-profile.txt", text);
	assert_int_equal(profile_of_trial(r, t, &p, &e), 0);
	assert_non_null(profile_window(p, "dd_50"));
	unit_write(dir, "trial-3-profile.txt", "nothing\n");
	assert_int_equal(profile_of_trial(r, t, &none, &e), -EBADMSG);
	assert_contains(e.text, "trial-3-profile.txt:1: ");
	trial_free(t);
	unit_rmdir(dir);
}

static void ignore_chain(void *self, const char *const *functions, size_t depth, uint64_t samples)
{
	uint64_t *sum = self;

	for (size_t i = 0; i < depth; i++)
		assert_non_null(functions[i]);
	*sum += samples;
}

/* Whatever a target sends is refused, or can be counted in every way. */
static void test_changed_bytes_are_refused_or_counted_and_never_break_it(void **state)
{
	const uint64_t seed = 20150707;
	unsigned taken = 0;
	struct rng rng;

	(void)state;
	print_message("seed %" PRIu64 "\n", seed);
	rng_init(&rng, seed);
	for (unsigned i = 0; i < 20000; i++) {
		auto_free char *changed = xstrdup(text);
		auto_profile struct profile *p = NULL;
		size_t n = strlen(text) - (size_t)rng_below(&rng, 40);
		const struct profile_window *windows;
		struct err e = {0};

		for (uint64_t k = rng_below(&rng, 4) + 1; k; k--)
			changed[rng_below(&rng, n)] =
				"0123456789,.;-\nhaskwe\xff\0"[rng_below(&rng, 22)];
		if (profile_parse(changed, n, "p", &p, &e) < 0)
			continue;
		taken++;
		for (size_t w = 0; w < profile_windows(p, &windows); w++) {
			auto_free struct profile_row *rows = NULL;
			uint64_t all = profile_samples(p, &windows[w]);
			uint64_t chains = 0, top = 0;
			size_t n_rows = profile_top(p, &windows[w], &rows);

			for (size_t k = 0; k < n_rows; k++)
				top += rows[k].samples;
			profile_chains(p, &windows[w], ignore_chain, &chains);
			assert_int_equal(top, all);
			assert_int_equal(chains, all);
		}
	}
	/* else nothing was tried */
	assert_in_range(taken, 100, 19900);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_of_a_window_are_counted_by_their_innermost_function),
		cmocka_unit_test(test_a_set_has_the_functions_that_are_like_its_patterns),
		cmocka_unit_test(test_chains_are_folded_by_function_and_not_by_address),
		cmocka_unit_test(test_a_function_cannot_be_two_and_a_line_cannot_be_forged),
		cmocka_unit_test(test_what_is_no_record_is_named_with_its_line),
		cmocka_unit_test(test_the_longest_chain_is_read_and_a_longer_one_is_refused),
		cmocka_unit_test(test_more_windows_than_are_allowed_are_an_error),
		cmocka_unit_test(test_a_trial_has_its_profile_beside_its_boots),
		cmocka_unit_test(test_changed_bytes_are_refused_or_counted_and_never_break_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
