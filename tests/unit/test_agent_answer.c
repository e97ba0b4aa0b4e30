/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
#include "agent_unit.h"

static void test_a_line_of_any_length_comes_whole(void **state)
{
	struct answered got = {0};
	struct answer a = {.sink = answered_sink, .self = &got};
	char text[9000];
	(void)state;

	for (size_t n = 0; n < sizeof(text) - 1; n += 1 + n / 7) {
		for (size_t i = 0; i < n; i++)
			text[i] = (i * 7 + n) % 5 ? 'a' : ' ';
		text[n] = '\0';
		strbuf_reset(&got.lines);
		answer_line(&a, text);
		assert_int_equal(got.lines.len, n + 1);
		assert_memory_equal(strbuf_str(&got.lines), text, n);
	}
	strbuf_release(&got.lines);
}

static void test_a_text_is_cut_at_its_line_ends(void **state)
{
	static const struct {
		const char *text, *lines;
	} cases[] = {{"", ""}, {"a", "a\n"}, {"a\n", "a\n"}, {"a\n\nb", "a\n\nb\n"}, {"\n", "\n"}};
	struct answered got = {0};
	struct answer a = {.sink = answered_sink, .self = &got};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strbuf_reset(&got.lines);
		answer_text(&a, cases[i].text);
		assert_string_equal(strbuf_str(&got.lines), cases[i].lines);
	}
	strbuf_release(&got.lines);
}

static void test_words_stay_one_word_each(void **state)
{
	struct answered got = {0};
	struct answer a = {.sink = answered_sink, .self = &got};
	struct err e = {0};
	(void)state;

	answer_word(&a, "version", "%s", "#1 SMP");
	answer_word(&a, "empty", "%s", "");
	answer_pairs(&a, "running=0 word last_cpu=1\nx=%\n");
	answer_encoded(&a, "");
	answer_encoded(&a, "raw=a%20b c=d");
	answer_end(&a, 0, &e);
	assert_string_equal(got.ok,
			    "version=#1%20SMP empty= running=0 last_cpu=1 x=%25 raw=a%20b c=d");
}

static void test_words_that_do_not_fit_make_an_error_and_no_half_answer(void **state)
{
	struct answered got = {0};
	struct answer a = {.sink = answered_sink, .self = &got};
	struct err e = {0};
	(void)state;

	for (int i = 0; i < 400; i++)
		answer_word(&a, "key", "%d", i);
	answer_end(&a, 0, &e);
	assert_string_equal(got.err, "EMSGSIZE the answer does not fit into one frame");
	assert_string_equal(got.ok, "");
}

static void test_a_long_error_is_cut_to_a_frame(void **state)
{
	struct answered got = {0};
	struct answer a = {.sink = answered_sink, .self = &got};
	struct err e = {.kind = ERR_TARGET, .code = ENODEV};
	(void)state;

	memset(e.text, ' ', sizeof(e.text) - 1);
	answer_end(&a, -ENODEV, &e);
	assert_int_equal(strncmp(got.err, "ENODEV    ", 10), 0);
	assert_true(strlen(got.err) > 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_of_any_length_comes_whole),
		cmocka_unit_test(test_a_text_is_cut_at_its_line_ends),
		cmocka_unit_test(test_words_stay_one_word_each),
		cmocka_unit_test(test_words_that_do_not_fit_make_an_error_and_no_half_answer),
		cmocka_unit_test(test_a_long_error_is_cut_to_a_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
