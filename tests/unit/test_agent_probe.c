/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
/* Only what needs no module: the modules themselves are exercised in QEMU (tests/system). */
#include "agent_unit.h"

#include <signal.h>
#include <sys/wait.h>

#define MON   "/sys/kernel/debug/latency_mon/"
#define STALL "/sys/kernel/debug/wq_stall/"

static int setup(void **state)
{
	*state = unit_tmpdir();
	return 0;
}

static int teardown(void **state)
{
	unit_rmdir(*state);
	return 0;
}

static void test_probe_read_gives_the_section_asked_for(void **state)
{
	struct answered got = {0};

	plant(*state, MON "state", "latency_mon version=1 seq=5\ncpu=0 probe=normal beats=3\n");
	plant(*state, MON "hist", "0 1\n");
	assert_int_equal(run_verb(*state, "probe-read", &got), 0);
	assert_string_equal(strbuf_str(&got.lines),
			    "latency_mon version=1 seq=5\ncpu=0 probe=normal beats=3\n");
	assert_int_equal(run_verb(*state, "probe-read section=hist", &got), 0);
	assert_string_equal(strbuf_str(&got.lines), "0 1\n");
	assert_int_equal(run_verb(*state, "probe-read section=events", &got), -ENOENT);
	assert_contains(got.err, "probe-read: module latency_mon is not loaded: " MON "events");
	assert_int_equal(run_verb(*state, "probe-read section=../x", &got), -EINVAL);
	assert_contains(got.err, "section '../x' is none of");
	strbuf_release(&got.lines);
}

static void test_samples_of_a_probe_are_summed_over_the_cpus(void **state)
{
	auto_strbuf struct strbuf hist = STRBUF_INIT;
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -ENOENT);
	assert_contains(got.err, "probe-samples: module latency_mon is not loaded");
	plant(*state, MON "hist",
	      "cpu=0 probe=normal low_ns=64 end_ns=66 count=3\n"
	      "cpu=0 probe=normal2 low_ns=1 end_ns=2 count=9\n\n"
	      "cpu=1 probe=normal low_ns=8 end_ns=9 count=1\n"
	      "cpu=1 probe=normal low_ns=64 end_ns=66 count=4");
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), 0);
	assert_string_equal(strbuf_str(&got.lines), "normal;8,9,1;64,66,7\n");
	assert_int_equal(number(&got, "samples"), 8);
	assert_int_equal(run_verb(*state, "probe-samples probe=bh", &got), 0);
	assert_string_equal(strbuf_str(&got.lines), "");
	assert_int_equal(number(&got, "samples"), 0);
	plant(*state, MON "hist", "cpu=0 probe=normal low_ns=x end_ns=66 count=3\n");
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
	assert_contains(got.err, "low_ns=x");

	/* as many CPUs as make the file longer than a reply: the answer is not */
	for (int cpu = 0; cpu < 64; cpu++)
		for (int i = 0; i < 300; i++)
			strbuf_addf(&hist, "cpu=%d probe=normal low_ns=%d end_ns=%d count=1\n", cpu,
				    2 * i, 2 * i + 2);
	plant(*state, MON "hist", strbuf_str(&hist));
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), 0);
	assert_int_equal(number(&got, "samples"), 19200);
	assert_true(got.lines.len < 8000);

	/* more buckets than there can be */
	strbuf_reset(&hist);
	for (int i = 0; i <= 2048; i++)
		strbuf_addf(&hist, "cpu=0 probe=normal low_ns=%d end_ns=%d count=1\n", i, i + 1);
	plant(*state, MON "hist", strbuf_str(&hist));
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
	strbuf_release(&got.lines);
}

static void test_probe_control_writes_its_words(void **state)
{
	auto_free char *text = NULL;
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "probe-control reset", &got), -ENOENT);
	assert_contains(got.err, "probe-control: module latency_mon is not loaded");
	plant(*state, MON "control", "");
	assert_int_equal(run_verb(*state, "probe-control threshold_us=9000 now", &got), 0);
	text = harvest(*state, MON "control");
	assert_string_equal(text, "threshold_us=9000 now");
}

static void test_stall_checks_its_words_before_it_injects(void **state)
{
	static const struct {
		const char *body, *part;
	} cases[] = {
		{"stall cpu=0 pool=normal", "EINVAL stall: 'us=' is missing"},
		{"stall us=5 pool=normal", "EINVAL stall: 'cpu=' is missing"},
		{"stall cpu=0 us=0", "ERANGE stall: us: 0 is outside 1..60000000"},
		{"stall cpu=0 us=60000001", "ERANGE stall: us"},
		{"stall cpu=4096 us=1", "ERANGE stall: cpu"},
		{"stall cpu=0 us=1 count=1001", "ERANGE stall: count"},
		{"stall cpu=0 us=1 ms=1", "EINVAL stall: 'ms=1' is none of"},
	};
	auto_free char *text = NULL;
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "stall cpu=0 us=5", &got), -ENOENT);
	assert_contains(got.err, "stall: module wq_stall is not loaded");
	plant(*state, STALL "inject", "");
	plant(*state, STALL "state", "injected=0 running=0\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(run_verb(*state, cases[i].body, &got) < 0);
		assert_contains(got.err, cases[i].part);
	}
	text = harvest(*state, STALL "inject");
	assert_string_equal(text, "");
	plant(*state, STALL "state", "something else\n");
	assert_int_equal(run_verb(*state, "stall cpu=0 us=5", &got), -EBADMSG);
}

/* Another process plays the module: it sees the request and updates the state some time later. */
static void test_stall_waits_until_all_spins_have_ended(void **state)
{
	struct answered got = {0};
	char *root = *state;
	pid_t pid;

	plant(root, STALL "inject", "");
	plant(root, STALL "state", "injected=7 running=0 last_cpu=9 strayed=1\n");
	pid = fork();
	if (pid == 0) {
		auto_free char *path = xasprintf("%s" STALL "inject", root);
		struct stat st = {.st_size = 0};

		for (int i = 0; i < 1000 && !st.st_size; i++) {
			sleep_ms(5);
			(void)stat(path, &st);
		}
		plant(root, STALL "state", "injected=7 running=3 last_cpu=9 strayed=1\n");
		sleep_ms(50);
		plant(root, STALL "state", "injected=8 running=2 last_cpu=1 strayed=1\n");
		sleep_ms(50);
		plant(root, STALL "state",
		      "injected=9 running=0 last_cpu=1 last_us=20000 strayed=2\n");
		_exit(0);
	}
	assert_int_equal(run_verb(root, "stall us=20000 cpu=1 count=3 pool=highpri", &got), 0);
	assert_string_equal(got.ok, "injected=9 running=0 last_cpu=1 last_us=20000 strayed=2");
	assert_int_equal(waitpid(pid, NULL, 0), pid);

	auto_free char *text = harvest(root, STALL "inject");

	assert_string_equal(text, "cpu=1 pool=highpri us=20000 count=3");
}

static void test_stall_gives_up_when_nothing_runs(void **state)
{
	struct answered got = {0};

	plant(*state, STALL "inject", "");
	plant(*state, STALL "state", "injected=7 running=1\n");
	assert_int_equal(run_verb(*state, "stall us=1 cpu=0", &got), -ETIMEDOUT);
	assert_contains(got.err, "ended 0 of 1, running 1");
}

static void test_modules_that_cannot_be_loaded_or_unloaded_are_named(void **state)
{
	struct answered got = {0};
	char body[256];

	assert_int_equal(run_verb("", "load-module /nonexistent.ko a=1", &got), -ENOENT);
	assert_contains(got.err, "load-module: /nonexistent.ko");
	/* ENOSYS on a kernel without modules, ENOEXEC on one with */
	plant(*state, "/not-a-module.ko", "text");
	(void)snprintf(body, sizeof(body), "load-module %s/not-a-module.ko a=1 b=2",
		       (const char *)*state);
	assert_true(run_verb("", body, &got) < 0);
	assert_contains(got.err, "not-a-module.ko a=1 b=2: ");
	assert_true(run_verb("", "unload no_such_module", &got) < 0);
	assert_contains(got.err, "unload: no_such_module: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROOTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		ROOTED(test_probe_read_gives_the_section_asked_for),
		ROOTED(test_samples_of_a_probe_are_summed_over_the_cpus),
		ROOTED(test_probe_control_writes_its_words),
		ROOTED(test_stall_checks_its_words_before_it_injects),
		ROOTED(test_stall_waits_until_all_spins_have_ended),
		ROOTED(test_stall_gives_up_when_nothing_runs),
		ROOTED(test_modules_that_cannot_be_loaded_or_unloaded_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
