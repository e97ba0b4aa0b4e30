/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: trial */
#include "trial/scenario.h"
#include "unit.h"

/* The shipped scenario with one text replaced by another, in a file of its own. */
static int load_changed(const char *from, const char *to, struct err *e)
{
	auto_scenario struct scenario *sc = NULL;
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	auto_strbuf struct strbuf out = STRBUF_INIT;
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/s.yaml", dir);
	char *at;
	int r;

	assert_int_equal(file_read(STALLRIG_SOURCE_DIR "/hil/scenarios/unplug-read.yaml", 1u << 20,
				   &sb, NULL),
			 0);
	at = strstr(sb.data, from);
	assert_non_null(at);
	strbuf_add(&out, sb.data, (size_t)(at - sb.data));
	strbuf_adds(&out, to);
	strbuf_adds(&out, at + strlen(from));
	unit_write(dir, "s.yaml", strbuf_str(&out));
	r = scenario_load(path, &sc, e);
	unit_rmdir(dir);
	return r;
}

static void test_every_shipped_scenario_loads(void **state)
{
	auto_scenario struct scenario *sc = NULL;
	struct err e = {0};

	(void)state;
	if (scenario_load("unplug-read", &sc, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(sc->name, "unplug-read");
	assert_int_equal(sc->limit.max_ms, 50);
	assert_int_equal(strlen(sc->sha256), 64);
}

static void test_the_variants_of_unplug_differ_in_what_they_are_about(void **state)
{
	static const struct {
		const char *name, *mount;
		bool hold, drop_cache, keep_reading, unmount_first, neighbour;
		unsigned dirty_mib, cache_floor_pct;
	} cases[] = {
		{"unplug-read", "ro", false, false, false, false, false, 0, 90},
		{"unplug-reading", "ro", false, false, true, false, false, 0, 90},
		{"unplug-unmounted", "ro", false, false, false, true, false, 0, 90},
		{"unplug-uncached", "ro", false, true, false, false, false, 0, 0},
		{"unplug-raw", "none", true, false, false, false, false, 0, 90},
		{"unplug-two", "ro", false, false, false, false, true, 0, 90},
		{"unplug-dirty", "rw", false, false, false, false, false, 16, 90},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_scenario struct scenario *sc = NULL;
		struct err e = {0};

		if (scenario_load(cases[i].name, &sc, &e) < 0)
			fail_msg("%s", e.text);
		assert_string_equal(sc->name, cases[i].name);
		assert_string_equal(sc->prepare.mount, cases[i].mount);
		assert_int_equal(sc->prepare.hold, cases[i].hold);
		assert_int_equal(sc->load.drop_cache, cases[i].drop_cache);
		assert_int_equal(sc->load.keep_reading, cases[i].keep_reading);
		assert_int_equal(sc->stimulus.unmount_first, cases[i].unmount_first);
		assert_int_equal(sc->load.neighbour, cases[i].neighbour);
		assert_int_equal(sc->load.dirty_mib, cases[i].dirty_mib);
		assert_int_equal(sc->load.cache_floor_pct, cases[i].cache_floor_pct);
		assert_int_equal(sc->limit.max_ms, 50);
	}
}

static void test_an_unknown_name_lists_what_there_is(void **state)
{
	struct scenario *sc = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(scenario_load("unplug-reed", &sc, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.text, "'unplug-reed'");
	assert_contains(e.text, "unplug-read");
	assert_null(sc);
}

static void test_a_file_of_this_folder_needs_no_slash(void **state)
{
	auto_free char *text = xasprintf("%s/hil/scenarios/unplug-read.yaml", STALLRIG_SOURCE_DIR);
	char *dir = unit_tmpdir();
	auto_free char *here = xasprintf("%s/mine.yaml", dir);
	auto_free char *before = getcwd(NULL, 0);
	auto_scenario struct scenario *sc = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(file_copy(text, here, &e), 0);
	assert_int_equal(scenario_load("mine.yaml", &sc, &e), -ENOENT);
	assert_int_equal(chdir(dir), 0);
	if (scenario_load("mine.yaml", &sc, &e) < 0)
		fail_msg("%s", e.text);
	/* only what ends so: a name stays a name whatever lies around */
	assert_int_equal(rename("mine.yaml", "mine"), 0);
	scenario_free(take(sc));
	assert_int_equal(scenario_load("mine", &sc, &e), -ENOENT);
	assert_int_equal(chdir(before), 0);
	unit_rmdir(dir);
}

static void test_a_name_is_never_a_way_out_of_the_folder(void **state)
{
	static const char *const names[] = {"..", ".", "", "-x", "unplug read"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct scenario *sc = NULL;
		struct err e = {0};

		assert_int_equal(scenario_load(names[i], &sc, &e), -ENOENT);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_contains(e.text, "there is no scenario");
	}
}

static void test_mistakes_are_named_with_file_line_and_column(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{"max_ms: 50", "max_ms: 0", "limit.max_ms"},
		{"max_ms: 50", "max_ms: 600001", "outside 1..600000"},
		{"max_ms: 50", "max_ms: fast", "max_ms"},
		{"max_ms: 50", "max_mss: 50", "max_mss"},
		{"block_kib:", "drop_cache: perhaps\n  block_kib:", "drop_cache"},
		{"mount: ro ", "mount: rx ", "not one of: ro, rw, none"},
		{"mount: ro ", "mount: rw ", "'rw' and load.dirty_mib only go together"},
		{"block_kib:", "dirty_mib: 1\n  block_kib:", "only go together"},
		{"block_kib:", "dirty_mib: 0\n  block_kib:",
		 "load.dirty_mib: '0': outside 1..65536"},
		{"block_kib:", "dirty_mib: 65537\n  block_kib:", "outside 1..65536"},
		{"block_kib:", "neighbour: 2\n  block_kib:", "neighbour"},
		{"mount: ro ", "hold: true\n  mount: ro ", "only with prepare.mount none"},
		{"mount: ro ", "hold: 2\n  mount: none ", "hold"},
		{"kind: unplug", "kind: unplug\n  unmount_first: maybe", "unmount_first"},
		{"kind: unplug", "kind: unplgu", "stimulus.kind"},
		{"count: [normal]", "count: [norml]", "norml"},
		{"count: [normal]", "count: []", "at least one probe"},
		{"max_ms: 60000", "max_ms: 1000", "less than window.min_ms"},
		{"threshold_us: 20000", "threshold_us: 50001", "above the limit"},
		{"cpus: all", "cpus: some", "CPU list"},
		{"name: unplug-read", "name: ../x", "name"},
		{"valid: 8", "valid: -8", "valid"},
		{"valid: 8", "valid: 8\n  valid: 9", "valid"},
		{"limit:", "limits:", "limits"},
		{"name: unplug-read\n", "", "name"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {0};
		int r = load_changed(cases[i].from, cases[i].to, &e);

		if (r >= 0)
			fail_msg("'%s' was accepted", cases[i].to);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, "/s.yaml:");
		assert_contains(e.text, cases[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_shipped_scenario_loads),
		cmocka_unit_test(test_the_variants_of_unplug_differ_in_what_they_are_about),
		cmocka_unit_test(test_an_unknown_name_lists_what_there_is),
		cmocka_unit_test(test_a_file_of_this_folder_needs_no_slash),
		cmocka_unit_test(test_a_name_is_never_a_way_out_of_the_folder),
		cmocka_unit_test(test_mistakes_are_named_with_file_line_and_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
