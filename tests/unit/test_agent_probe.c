/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
/* Only what needs no module: the modules themselves are exercised in QEMU (tests/system). */
#include "agent_unit.h"
#include "base/crc32c.h"

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
	assert_int_equal(run_verb(*state, "probe-read section=snapshot", &got), -EINVAL);
	assert_int_equal(run_verb(*state, "probe-read section=../x", &got), -EINVAL);
	assert_contains(got.err, "section '../x' is none of");
	strbuf_release(&got.lines);
}

/* ---- snapshots ---- */

enum { KIND_NORMAL, KIND_HIGHPRI, KIND_UNBOUND, KIND_BH, KIND_KTHREAD };

/* What a snapshot says of itself, in the order of its header. */
struct layout {
	uint32_t version, header_bytes, probe_bytes, event_bytes;
	uint32_t probes, buckets, sub_buckets, recent, worst;
};

static const struct layout usual = {1, 96, 104, 216, 3, 1216, 32, 2, 1};

static void put(struct strbuf *sb, uint64_t v, size_t n)
{
	for (; n; n--, v >>= 8) {
		char byte = (char)(v & 0xff);

		strbuf_add(sb, &byte, 1);
	}
}

/* Zeros up to a length. */
static void fill(struct strbuf *sb, size_t len)
{
	while (sb->len < len)
		put(sb, 0, 1);
}

/* A snapshot with this layout; the probes are of these kinds in turn, each with these counts. */
static void build(struct strbuf *sb, const struct layout *l, const uint32_t *kinds, size_t n_kinds,
		  const uint64_t *counts)
{
	strbuf_reset(sb);
	strbuf_adds(sb, "LMSNAP\r\n");
	for (size_t i = 0; i < sizeof(*l) / 4; i++)
		put(sb, ((const uint32_t *)l)[i], 4);
	fill(sb, l->header_bytes);
	for (uint32_t i = 0; i < l->probes; i++) {
		const size_t at = sb->len;

		put(sb, i, 4);
		put(sb, kinds[i % n_kinds], 4);
		fill(sb, at + l->probe_bytes);
		for (uint32_t b = 0; b < l->buckets; b++)
			put(sb, counts[b], 8);
	}
	fill(sb, sb->len + (size_t)(l->recent + l->worst) * l->event_bytes);
	put(sb, crc32c(sb->data, sb->len), 4);
}

static void plant_snapshot(const char *root, const struct strbuf *sb)
{
	plant_bytes(root, MON "snapshot", sb->data, sb->len);
}

static void test_samples_of_a_probe_are_summed_over_the_cpus(void **state)
{
	static const uint32_t kinds[] = {KIND_NORMAL, KIND_HIGHPRI, KIND_NORMAL};
	static uint64_t counts[2048];
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	struct layout grown = usual;
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "probe-samples", &got), -EINVAL);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -ENOENT);
	assert_contains(got.err, "probe-samples: module latency_mon is not loaded");
	assert_int_equal(run_verb(*state, "probe-samples probe=normal2", &got), -EINVAL);
	assert_contains(got.err, "probe 'normal2' is none of normal, highpri");

	/* the buckets at both ends of what is exact, and the last */
	counts[8] = 1;
	counts[63] = 2;
	counts[64] = 3;
	counts[1215] = 4;
	build(&sb, &usual, kinds, 3, counts);
	plant_snapshot(*state, &sb);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), 0);
	assert_string_equal(strbuf_str(&got.lines),
			    "normal;8,9,2;63,64,4;64,66,6;4329327034368,4398046511104,8\n");
	assert_int_equal(number(&got, "samples"), 20);
	assert_int_equal(run_verb(*state, "probe-samples probe=highpri", &got), 0);
	assert_int_equal(number(&got, "samples"), 10);
	assert_int_equal(run_verb(*state, "probe-samples probe=bh", &got), 0);
	assert_string_equal(strbuf_str(&got.lines), "");
	assert_int_equal(number(&got, "samples"), 0);

	/* a later module may have more in each record */
	grown.header_bytes += 8;
	grown.probe_bytes += 16;
	grown.event_bytes += 4;
	build(&sb, &grown, kinds, 3, counts);
	plant_snapshot(*state, &sb);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), 0);
	assert_int_equal(number(&got, "samples"), 20);

	/* many CPUs, every bucket in use: an answer of many lines */
	grown = usual;
	grown.probes = 64;
	for (size_t i = 0; i < 1216; i++)
		counts[i] = 1;
	build(&sb, &grown, kinds, 1, counts);
	plant_snapshot(*state, &sb);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), 0);
	assert_int_equal(number(&got, "samples"), 64 * 1216);
	assert_true(got.lines.len < 48000);
	assert_contains(strbuf_str(&got.lines), "normal;0,1,64;1,2,64;");
	assert_contains(strbuf_str(&got.lines), ";4329327034368,4398046511104,64\n");
	strbuf_release(&got.lines);
}

static void test_a_snapshot_that_is_none_is_refused(void **state)
{
	static const struct {
		struct layout l;
		const char *part;
	} cases[] = {
		{{2, 96, 104, 216, 1, 1216, 32, 0, 0}, "version 2; this agent reads 1"},
		{{1, 95, 104, 216, 1, 1216, 32, 0, 0}, "records of 95, 104 and 216 bytes"},
		{{1, 96, 103, 216, 1, 1216, 32, 0, 0}, "records of 96, 103"},
		{{1, 96, 104, 215, 1, 1216, 32, 0, 0}, "104 and 215 bytes"},
		{{1, 96, 65537, 216, 1, 1216, 32, 0, 0}, "records of 96, 65537"},
		{{1, 96, 104, 216, 1, 2049, 64, 0, 0}, "2049 buckets, 64 in a power of two"},
		{{1, 96, 104, 216, 1, 0, 32, 0, 0}, " 0 buckets"},
		{{1, 96, 104, 216, 1, 1216, 0, 0, 0}, "1216 buckets, 0 in"},
		{{1, 96, 104, 216, 1, 1216, 33, 0, 0}, "1216 buckets, 33 in"},
		{{1, 96, 104, 216, 1, 1216, 16, 0, 0}, "1216 buckets, 16 in"},
	};
	static const uint32_t normal[] = {KIND_NORMAL};
	static uint64_t counts[2049];
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	struct layout most = {1, 96, 104, 216, 1, 2048, 64, 0, 0};
	struct answered got = {0};
	size_t len;

	plant(*state, MON "snapshot", "");
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
	assert_contains(got.err, "is no snapshot");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		build(&sb, &cases[i].l, normal, 1, counts);
		plant_snapshot(*state, &sb);
		assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
		assert_contains(got.err, cases[i].part);
	}
	/* as many buckets as there may be; and every length that a file can be cut to */
	build(&sb, &most, normal, 1, counts);
	plant_snapshot(*state, &sb);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), 0);
	build(&sb, &usual, normal, 1, counts);
	len = sb.len;
	for (sb.len = 0; sb.len < len; sb.len += sb.len < 200 ? 1 : 997) {
		plant_snapshot(*state, &sb);
		assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
	}
	sb.len = len;
	/* one bit of anything */
	for (size_t at = 12; at < len; at += 211) {
		sb.data[at] ^= 4;
		plant_snapshot(*state, &sb);
		assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
		assert_contains(got.err, "the CRC is wrong");
		sb.data[at] ^= 4;
	}
	/* right in itself, but longer than it says */
	sb.len -= 4;
	put(&sb, 0, 8);
	put(&sb, crc32c(sb.data, sb.len), 4);
	plant_snapshot(*state, &sb);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
	assert_contains(got.err, "by its header");

	/* more samples than a number holds */
	counts[0] = (uint64_t)INT64_MAX;
	counts[1] = 1;
	build(&sb, &usual, normal, 1, counts);
	plant_snapshot(*state, &sb);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EBADMSG);
	assert_contains(got.err, "normal has more samples than there can be");

	/* more bytes than are read: a file full of holes */
	auto_free char *path = xasprintf("%s" MON "snapshot", (const char *)*state);

	assert_int_equal(truncate(path, (off_t)(64 << 20) + 1), 0);
	assert_int_equal(run_verb(*state, "probe-samples probe=normal", &got), -EFBIG);
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
		ROOTED(test_a_snapshot_that_is_none_is_refused),
		ROOTED(test_probe_control_writes_its_words),
		ROOTED(test_stall_checks_its_words_before_it_injects),
		ROOTED(test_stall_waits_until_all_spins_have_ended),
		ROOTED(test_stall_gives_up_when_nothing_runs),
		ROOTED(test_modules_that_cannot_be_loaded_or_unloaded_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
