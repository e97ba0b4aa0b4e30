/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
/* Functions by address out of a kallsyms, and the sampler on this machine. */
#include "agent_unit.h"
#include "base/parse.h"
#include "base/rng.h"
#include "kallsyms.h"
#include "profile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

static void test_an_address_belongs_to_the_function_that_begins_before_it(void **state)
{
	/* not in order, as modules are not; data and marks are no functions */
	static const char text[] = "0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000000 t alias_of_text\n"
				   "ffffffff81001000 t local_first\n"
				   "ffffffff81001000 W weak_later\n"
				   "ffffffff81001800 D a_variable\n"
				   "ffffffff81001900 t $x.12\n"
				   "ffffffff81002000 T osq_lock.isra.0\n"
				   "ffffffffc0200000 t bad,na;me\t[ext4]\n"
				   "ffffffffc0100000 t dio_read\t[ext4]\n"
				   "no address T at_all\n"
				   "ffffffffc0100100 t\n";
	struct kallsyms_place p[] = {
		{.addr = 0x1000},
		{.addr = 0xffffffff81000000},
		{.addr = 0xffffffff81000fff},
		{.addr = 0xffffffff81001000},
		{.addr = 0xffffffff81001fff},
		{.addr = 0xffffffff81002001},
		{.addr = 0xffffffff81102000},
		{.addr = 0xffffffffc01000ff},
		{.addr = 0xffffffffc0200000},
	};
	static const char *const names[] = {
		"", "_text",    "_text",     "weak_later", "weak_later", "osq_lock.isra.0",
		"", "dio_read", "bad?na?me",
	};
	struct err e = {0};

	plant(*state, "/proc/kallsyms", text);
	assert_int_equal(kallsyms_resolve(*state, p, ARRAY_SIZE(p), &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		assert_string_equal(p[i].name, names[i]);
	assert_string_equal(p[1].module, "");
	assert_string_equal(p[7].module, "ext4");
	assert_int_equal(p[5].start, 0xffffffff81002000);
	/* none at all is nothing to complain about */
	assert_int_equal(kallsyms_resolve(*state, p, 0, &e), 0);
}

/* Against the plain way to find it. */
static void test_random_addresses_are_found_as_by_a_search_through_all(void **state)
{
	enum { FUNCTIONS = 300, PLACES = 400 };
	static struct kallsyms_place places[PLACES];
	const uint64_t seed = 20150707;
	uint64_t functions[FUNCTIONS];
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err e = {0};
	struct rng rng;

	print_message("seed %" PRIu64 "\n", seed);
	rng_init(&rng, seed);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		functions[i] = 0xffff800000000000 + rng_below(&rng, 1 << 22);
		strbuf_addf(&text, "%016" PRIx64 " t f_%" PRIx64 "\n", functions[i], functions[i]);
	}
	for (size_t i = 0; i < PLACES; i++)
		places[i].addr =
			(i ? places[i - 1].addr : 0xffff800000000000) + rng_below(&rng, 20000);
	plant(*state, "/proc/kallsyms", strbuf_str(&text));
	assert_int_equal(kallsyms_resolve(*state, places, PLACES, &e), 0);
	for (size_t i = 0; i < PLACES; i++) {
		char name[64] = "";
		uint64_t best = 0;

		for (size_t k = 0; k < FUNCTIONS; k++)
			if (functions[k] <= places[i].addr && functions[k] > best)
				best = functions[k];
		if (best && places[i].addr - best < KALLSYMS_FUNCTION_MAX)
			(void)snprintf(name, sizeof(name), "f_%" PRIx64, best);
		assert_string_equal(places[i].name, name);
	}
}

static void test_hidden_addresses_and_a_kernel_without_names_are_errors(void **state)
{
	struct kallsyms_place p = {.addr = 1};
	struct answered got = {0};
	struct err e = {0};

	assert_int_equal(kallsyms_resolve(*state, &p, 1, &e), -ENOENT);
	assert_contains(e.text, "/proc/kallsyms");
	plant(*state, "/proc/kallsyms", "0000000000000000 T _text\n0000000000000000 t f\n");
	err_clear(&e);
	assert_int_equal(kallsyms_resolve(*state, &p, 1, &e), -EACCES);
	assert_contains(e.text, "kptr_restrict");
	assert_int_equal(run_verb(*state, "symbols match=x", &got), -EACCES);
	assert_int_equal(profile_prepare(&e), 0);
	assert_int_equal(run_verb(*state, "profile hz=99 seconds=1", &got), -EACCES);
}

static void test_names_are_counted_with_and_without_what_the_compiler_adds(void **state)
{
	struct answered got = {0};

	plant(*state, "/proc/kallsyms",
	      "ffffffff81000000 T osq_lock\n"
	      "ffffffff81000100 t osq_unlock.part.0\n"
	      "ffffffff81000200 t rwsem_spin_on_owner.constprop.0\n"
	      "ffffffff81000300 D osq_data\n");
	assert_int_equal(run_verb(*state, "symbols match=osq_*", &got), 0);
	assert_int_equal(number(&got, "functions"), 2);
	assert_int_equal(
		run_verb(*state, "symbols match=nothing,rwsem_spin_on_owner,,osq_lock", &got), 0);
	assert_int_equal(number(&got, "functions"), 2);
	assert_contains(got.ok, "first=osq_lock");
	assert_int_equal(run_verb(*state, "symbols match=osq", &got), 0);
	assert_int_equal(number(&got, "functions"), 0);
	assert_int_equal(run_verb(*state, "symbols match=", &got), -EINVAL);
}

static void test_wrong_words_are_refused(void **state)
{
	static const struct {
		const char *body, *text;
		int r;
	} cases[] = {
		{"profile hz=0", "hz", -ERANGE},
		{"profile hz=5000", "hz", -ERANGE},
		{"profile seconds=3601", "seconds", -ERANGE},
		{"profile event=cache-misses", "not cycles or cpu-clock", -EINVAL},
		{"profile freq=1", "none of: hz", -EINVAL},
	};
	struct answered got = {0};
	struct err e = {0};

	assert_int_equal(profile_prepare(&e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(run_verb(*state, cases[i].body, &got), cases[i].r);
		assert_contains(got.err, cases[i].text);
	}
	assert_int_equal(run_verb(*state, "profile-read from=1", &got), -ERANGE);
	assert_int_equal(run_verb(*state, "profile-read", &got), 0);
	assert_int_equal(number(&got, "bytes"), 0);
	assert_string_equal(strbuf_str(&got.lines), "");
}

static uint64_t profile_bytes(void)
{
	size_t len;

	(void)profile_text(&len);
	return len;
}

static void test_stacks_and_addresses_are_kept_once_and_come_back_with_names(void **state)
{
	const uint64_t chain[] = {0xffffffff81002010, 0xffffffff81001020};
	struct answered got = {0};
	struct err e = {0};

	plant(*state, "/proc/kallsyms",
	      "ffffffff81001000 T caller\nffffffff81002000 t callee\t[m]\n");
	assert_int_equal(profile_prepare(&e), 0);
	profile_begin("cpu-clock", 199, 2, 5000);
	assert_true(profile_add_sample(100, 1, chain, 2));
	assert_true(profile_add_sample(-3, 0, chain, 2));
	assert_true(profile_add_sample(200, 0, chain, 0));
	assert_int_equal(profile_name_addresses(*state, &e), 0);
	assert_int_equal(run_verb(*state, "profile-read", &got), 0);
	assert_string_equal(strbuf_str(&got.lines),
			    "h1,cpu-clock,199,2,5000;k0,0.1;s100,1,0;s-3,0,0;k1,;s200,0,1;"
			    "a1,ffffffff81001020,caller,20,;a0,ffffffff81002010,callee,10,m\n");
	assert_int_equal(number(&got, "next"), number(&got, "bytes"));
	strbuf_release(&got.lines);
}

static void test_what_is_beyond_a_limit_is_refused_and_what_is_known_goes_on(void **state)
{
	uint64_t chain[PROFILE_DEPTH_MAX];
	uint64_t bytes;
	struct err e = {0};

	plant(*state, "/proc/kallsyms", "0000000000000001 T f\n");
	/* addresses */
	assert_int_equal(profile_prepare(&e), 0);
	profile_begin("cpu-clock", 199, 1, 0);
	for (uint64_t i = 0; i < PROFILE_ADDRESSES_MAX; i++) {
		chain[0] = 1 + i * 64;
		assert_true(profile_add_sample(1, 0, chain, 1));
	}
	bytes = profile_bytes();
	chain[0] = 2;
	assert_false(profile_add_sample(1, 0, chain, 1));
	assert_int_equal(profile_bytes(), bytes);
	chain[0] = 1;
	assert_true(profile_add_sample(1, 0, chain, 1));
	/* each of them has room for its name */
	assert_int_equal(profile_name_addresses(*state, &e), 0);
	assert_non_null(strstr(profile_text(&bytes), "\na16383,"));

	/* stacks: pairs of 256 addresses */
	assert_int_equal(profile_prepare(&e), 0);
	profile_begin("cpu-clock", 199, 1, 0);
	for (uint64_t i = 0; i < PROFILE_STACKS_MAX; i++) {
		chain[0] = 1 + i % 256;
		chain[1] = 1 + i / 256;
		assert_true(profile_add_sample(1, 0, chain, 2));
	}
	chain[1] = 256;
	assert_false(profile_add_sample(1, 0, chain, 2));
	chain[1] = 1;
	assert_true(profile_add_sample(1, 0, chain, 2));

	/* frames of all stacks */
	assert_int_equal(profile_prepare(&e), 0);
	profile_begin("cpu-clock", 199, 1, 0);
	for (uint64_t i = 0; i < PROFILE_DEPTH_MAX; i++)
		chain[i] = 1;
	for (uint64_t i = 0; i < PROFILE_FRAMES_MAX / PROFILE_DEPTH_MAX; i++) {
		chain[0] = 1 + i % 128;
		chain[1] = 1 + i / 128;
		assert_true(profile_add_sample(1, 0, chain, PROFILE_DEPTH_MAX));
	}
	chain[2] = 2;
	assert_false(profile_add_sample(1, 0, chain, PROFILE_DEPTH_MAX));

	/* text: the last record that fits is whole */
	assert_int_equal(profile_prepare(&e), 0);
	profile_begin("cpu-clock", 199, 1, 0);
	while (profile_add_sample(123456789, 0, chain, 1))
		bytes = profile_bytes();
	assert_int_equal(profile_bytes(), bytes);
	assert_in_range(bytes, PROFILE_SAMPLES_TEXT_MAX - 20, PROFILE_SAMPLES_TEXT_MAX);
	assert_int_equal(profile_text(&bytes)[bytes - 1], '\n');
	assert_int_equal(profile_name_addresses(*state, &e), 0);
	assert_true(profile_bytes() > bytes);
}

/* A process that does little else than read() until it is killed. */
static pid_t start_reader(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		static char buf[1 << 16];
		int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

		while (read(fd, buf, sizeof(buf)) > 0)
			;
		_exit(1);
	}
	return pid;
}

/* All records of the newest profile, by profile-read. */
static void read_all(struct strbuf *ret)
{
	struct answered got = {0};
	int64_t next = 0;

	do {
		auto_free char *body = xasprintf("profile-read from=%" PRId64, next);

		assert_int_equal(run_verb("", body, &got), 0);
		strbuf_adds(ret, strbuf_str(&got.lines));
		assert_true(number(&got, "next") > next);
		next = number(&got, "next");
	} while (next < number(&got, "bytes"));
	strbuf_release(&got.lines);
	for (size_t i = 0; i < ret->len; i++)
		if (ret->data[i] == ';')
			ret->data[i] = '\n';
}

/* The numbers of the addresses in functions like that, with ' ' around each. */
static void find_addresses(const char *records, const char *function, struct strbuf *ret)
{
	strbuf_adds(ret, " ");
	for (const char *p = records; *p; p = strchr(p, '\n') + 1) {
		auto_free char *line = strndup(p, strcspn(p, "\n"));
		auto_free char *field = xasprintf(",%s,", function);

		if (line[0] == 'a' && strstr(line, field))
			strbuf_addf(ret, "%.*s ", (int)strcspn(line + 1, ","), line + 1);
	}
}

/* How many samples have one of the addresses in their call chain. */
static unsigned count_samples(const char *records, const char *addresses)
{
	auto_free bool *is_meant = xcalloc(PROFILE_STACKS_MAX, sizeof(bool));
	unsigned n = 0;

	for (const char *p = records; *p; p = strchr(p, '\n') + 1) {
		auto_free char *line = strndup(p, strcspn(p, "\n"));
		char *rest = line + 1;
		const char *first = strsep(&rest, ",");

		if (line[0] == 'k') {
			uint32_t stack;

			assert_int_equal(
				parse_u32("stack", first, 0, PROFILE_STACKS_MAX - 1, &stack, NULL),
				0);
			for (char *id = strsep(&rest, "."); id; id = strsep(&rest, ".")) {
				auto_free char *word = xasprintf(" %s ", id);

				is_meant[stack] |= *id && strstr(addresses, word);
			}
		} else if (line[0] == 's') {
			uint32_t stack;

			(void)strsep(&rest, ",");
			assert_int_equal(
				parse_u32("stack", rest, 0, PROFILE_STACKS_MAX - 1, &stack, NULL),
				0);
			n += is_meant[stack];
		}
	}
	return n;
}

static void test_the_sampler_finds_what_this_machine_is_busy_with(void **state)
{
	auto_strbuf struct strbuf records = STRBUF_INIT;
	auto_strbuf struct strbuf addresses = STRBUF_INIT;
	struct answered got = {0};
	struct err e = {0};
	struct rusage usage;
	unsigned n, wanted;
	pid_t pid;
	int r;

	(void)state;
	assert_int_equal(profile_prepare(&e), 0);
	pid = start_reader();
	assert_true(pid > 0);
	r = run_verb("", "profile hz=499 seconds=3", &got);
	(void)kill(pid, SIGKILL);
	(void)wait4(pid, NULL, 0, &usage);
	if (r == -EACCES || r == -EPERM || r == -ENOSYS || r == -ENOENT) {
		print_message("not possible here: %s\n", got.err);
		skip();
	}
	assert_int_equal(r, 0);
	assert_contains(strbuf_str(&got.lines), "sampling=1 event=");
	read_all(&records);
	assert_int_equal(strncmp(strbuf_str(&records), "h1,c", 4), 0);
	find_addresses(strbuf_str(&records), "ksys_read", &addresses);
	if (addresses.len == 1)
		fail_msg("nobody was in ksys_read: %.2000s", strbuf_str(&records));
	n = count_samples(strbuf_str(&records), strbuf_str(&addresses));
	/* half of what the time in the kernel that it got should give */
	wanted = (unsigned)(((double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6) *
			    499 / 2);
	print_message("%u of %" PRId64 " samples are in ksys_read, %u are wanted\n", n,
		      number(&got, "samples"), wanted);
	assert_true(n >= wanted && n > 0);
	assert_true(number(&got, "samples") >= n);
	assert_int_equal(number(&got, "dropped"), 0);
	strbuf_release(&got.lines);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_an_address_belongs_to_the_function_that_begins_before_it, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_random_addresses_are_found_as_by_a_search_through_all, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_hidden_addresses_and_a_kernel_without_names_are_errors, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_names_are_counted_with_and_without_what_the_compiler_adds, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_wrong_words_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_stacks_and_addresses_are_kept_once_and_come_back_with_names, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_beyond_a_limit_is_refused_and_what_is_known_goes_on, setup,
			teardown),
		cmocka_unit_test(test_the_sampler_finds_what_this_machine_is_busy_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
