/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base */
#include "base/crc32c.h"
#include "base/frame.h"
#include "base/rng.h"
#include "unit.h"

static bool parse(const char *line, struct frame *f)
{
	return frame_parse(line, strlen(line), f);
}

static void test_the_crc_is_crc32c(void **state)
{
	(void)state;

	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
}

static void test_words_are_encoded_so_that_they_stay_one_word(void **state)
{
	static const struct {
		const char *word, *encoded;
	} cases[] = {
		{"plain-word=1,2", "plain-word=1,2"},
		{"", "%"},
		{"a b", "a%20b"},
		{"100%", "100%25"},
		{"tab\tnl\n", "tab%09nl%0A"},
		{"\x7f", "%7F"},
		{"\xc3\xa9", "%C3%A9"},
		{"~!@sr", "~!@sr"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char out[64], back[64];
		size_t n = frame_encode_word(cases[i].word, out, sizeof(out));

		assert_string_equal(out, cases[i].encoded);
		assert_int_equal(n, strlen(out));
		assert_true(frame_decode_word(out, n, back, sizeof(back)));
		assert_string_equal(back, cases[i].word);
	}
}

static void test_a_word_that_does_not_fit_is_refused_at_the_byte(void **state)
{
	char out[8];
	(void)state;

	assert_int_equal(frame_encode_word("1234567", out, sizeof(out)), 7);
	assert_int_equal(frame_encode_word("12345678", out, sizeof(out)), 0);
	assert_int_equal(frame_encode_word("1234 ", out, sizeof(out)), 7);
	assert_int_equal(frame_encode_word("12345 ", out, sizeof(out)), 0);
	assert_int_equal(frame_encode_word("", out, 1), 0);
	assert_true(frame_decode_word("1234567", 7, out, sizeof(out)));
	assert_false(frame_decode_word("12345678", 8, out, sizeof(out)));
}

static void test_words_that_no_encoder_writes_are_refused(void **state)
{
	static const char *const cases[] = {"%0",  "%G0", "%00",  "%2",   "a%",
					    "%2a", "a b", "\x7f", "\xc3", "%%20"};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char out[16];

		if (frame_decode_word(cases[i], strlen(cases[i]), out, sizeof(out)))
			fail_msg("'%s' was decoded to '%s'", cases[i], out);
	}
}

static void test_a_frame_comes_back_as_it_was_built(void **state)
{
	char line[FRAME_MAX + 1];
	struct frame f;
	size_t n;
	(void)state;

	n = frame_build(4294967295u, "dd if=/dev/sda a%20b %", line, sizeof(line));
	assert_int_equal(n, strlen(line));
	assert_int_equal(line[n - 1], '\n');
	assert_int_equal(strncmp(line, "@sr 4294967295 dd if=/dev/sda a%20b % ", 38), 0);

	assert_true(frame_parse(line, n, &f));
	assert_int_equal(f.seq, 4294967295u);
	assert_string_equal(f.verb, "dd");
	assert_int_equal(f.n_words, 3);
	assert_string_equal(f.words[0], "if=/dev/sda");
	assert_string_equal(f.words[1], "a b");
	assert_string_equal(f.words[2], "");
}

static void test_a_known_frame_reads_as_documented(void **state)
{
	struct frame f;
	(void)state;

	assert_true(parse("@sr 1 ok lines=0 version=1 agent=0.1.0 session=s1 12de7652\n", &f));
	assert_string_equal(f.verb, "ok");
	assert_string_equal(f.words[3], "session=s1");
	assert_true(parse("[    1.0] usb 2-1: new device@sr 35 ok lines=0 fae6dbc9\r\n", &f));
	assert_int_equal(f.seq, 35);
}

static void test_text_before_a_frame_does_not_hide_it(void **state)
{
	static const char *const fronts[] = {"[    1.234567] usb 2-1: USB disconnect",
					     "@sr 7 ok lines=0",
					     "@sr ",
					     "@sr @sr @sr ",
					     "\r",
					     "\x01\xff\x80"};
	char frame[128], line[256];
	struct frame f;
	(void)state;

	assert_true(frame_build(9, "ack", frame, sizeof(frame)) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++) {
		(void)snprintf(line, sizeof(line), "%s%s", fronts[i], frame);
		assert_true(parse(line, &f));
		assert_int_equal(f.seq, 9);
		assert_string_equal(f.verb, "ack");
	}
}

/* A frame with a right CRC over any text. */
static void sealed(const char *text, char *out, size_t cap)
{
	(void)snprintf(out, cap, "%s %08x\n", text, crc32c(text, strlen(text)));
}

static void test_what_is_no_frame_is_refused_even_with_a_right_crc(void **state)
{
	static const char *const cases[] = {
		"@sr 0 ack",
		"@sr 4294967296 ack",
		"@sr 01 ack",
		"@sr -1 ack",
		"@sr 1x ack",
		"@sr 1",
		"@sr 1 ",
		"@sr  1 ack",
		"@sr 1 Ack",
		"@sr 1 ack  a",
		"@sr 1 ack ",
		"@sr 1 a=b",
		"@sr 1 ack %zz",
		"@sr 1 ack a\tb",
		"@sr",
		"@sr 1 ack \xe9",
		"@sr 18446744073709551617 ack",
	};
	struct frame f;
	char line[128];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		sealed(cases[i], line, sizeof(line));
		if (parse(line, &f))
			fail_msg("'%s' was taken as a frame", line);
	}
	sealed("@sr 1 ack", line, sizeof(line));
	assert_true(parse(line, &f));
}

static void test_each_changed_byte_is_noticed(void **state)
{
	char line[128];
	struct frame f;
	size_t n;
	(void)state;

	n = frame_build(12, "ok lines=0 bytes=1048576", line, sizeof(line));
	for (size_t i = 0; i + 1 < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			line[i] = (char)(line[i] ^ (1 << bit));
			assert_false(frame_parse(line, n, &f));
			line[i] = (char)(line[i] ^ (1 << bit));
		}
	for (size_t cut = 1; cut < n; cut++)
		assert_false(frame_parse(line, cut - 1, &f));
	assert_true(frame_parse(line, n, &f));
}

static void test_a_line_may_be_frame_max_long_and_no_longer(void **state)
{
	char body[FRAME_MAX], line[2 * FRAME_MAX];
	const size_t around = strlen("@sr 1 ") + strlen(" 12345678\n");
	struct frame f;
	size_t n;
	(void)state;

	memset(body, 'a', sizeof(body));
	body[FRAME_MAX - around] = '\0';
	n = frame_build(1, body, line, sizeof(line));
	assert_int_equal(n, FRAME_MAX);
	assert_true(frame_parse(line, n, &f));
	assert_int_equal(frame_build(1, body, line, FRAME_MAX), 0);
	assert_int_equal(frame_build(1, body, line, FRAME_MAX + 1), FRAME_MAX);

	assert_int_equal(frame_build(10, body, line, sizeof(line)), 0);
	body[FRAME_MAX - around] = 'a';
	body[FRAME_MAX - around + 1] = '\0';
	assert_int_equal(frame_build(1, body, line, sizeof(line)), 0);
	(void)snprintf(line, sizeof(line), "@sr 1 %s", body);
	n = strlen(line);
	(void)snprintf(line + n, sizeof(line) - n, " %08x\n", crc32c(line, n));
	assert_false(parse(line, &f));
}

static void test_a_frame_may_have_words_max_words_and_no_more(void **state)
{
	char body[512] = "verb", line[FRAME_MAX + 1];
	struct frame f;
	(void)state;

	for (size_t i = 0; i < FRAME_WORDS_MAX; i++)
		strcat(body, " w");
	assert_true(frame_build(1, body, line, sizeof(line)) > 0);
	assert_true(parse(line, &f));
	assert_int_equal(f.n_words, FRAME_WORDS_MAX);

	strcat(body, " w");
	assert_true(frame_build(1, body, line, sizeof(line)) > 0);
	assert_false(parse(line, &f));
}

struct seen {
	unsigned n;
	uint32_t seqs[8];
};

static void note(void *self, const struct frame *f)
{
	struct seen *s = self;

	if (s->n < ARRAY_SIZE(s->seqs))
		s->seqs[s->n] = f->seq;
	s->n++;
}

static void test_the_reader_finds_frames_however_the_bytes_are_cut(void **state)
{
	static const char text[] =
		"boot\n@sr 35 ok lines=0 fae6dbc9\nusb@sr 35 ok lines=0 fae6dbc9\n"
		"@sr 35 ok lines=0 fae6dbc8\n@sr 35 ok li";
	(void)state;

	for (size_t step = 1; step < sizeof(text); step++) {
		static struct frame_reader r;
		struct seen s = {0};

		memset(&r, 0, sizeof(r));
		for (size_t at = 0; at < sizeof(text) - 1; at += step) {
			size_t left = sizeof(text) - 1 - at;

			frame_reader_feed(&r, text + at, left < step ? left : step, note, &s);
		}
		assert_int_equal(s.n, 2);
		assert_int_equal(s.seqs[1], 35);
		assert_int_equal(r.n_bad, 1);

		frame_reader_feed(&r, "nes=0 fae6dbc9\n", 15, note, &s);
		assert_int_equal(s.n, 3);
	}
}

static void test_the_reader_forgets_a_half_line_when_it_is_reset(void **state)
{
	static struct frame_reader r;
	struct seen s = {0};
	(void)state;

	frame_reader_feed(&r, "@sr 35 ok li", 12, note, &s);
	frame_reader_reset(&r);
	frame_reader_feed(&r, "nes=0 fae6dbc9\n", 15, note, &s);
	assert_int_equal(s.n, 0);
}

static void test_the_longest_frame_survives_any_text_before_it(void **state)
{
	static struct frame_reader r;
	char body[FRAME_MAX], frame[FRAME_MAX + 1];
	static char text[8 * FRAME_MAX];
	struct seen s = {0};
	size_t n;
	(void)state;

	memset(body, 'a', sizeof(body));
	body[FRAME_MAX - 16] = '\0';
	n = frame_build(3, body, frame, sizeof(frame));
	assert_int_equal(n, FRAME_MAX);
	memset(text, '.', sizeof(text));
	for (size_t before = 0; before + n <= sizeof(text); before += 61) {
		memcpy(text + before, frame, n);
		frame_reader_feed(&r, text, before + n, note, &s);
		memset(text + before, '.', n);
	}
	assert_int_equal(s.n, (sizeof(text) - n) / 61 + 1);
}

static void test_random_bytes_are_never_a_frame_and_never_harm(void **state)
{
	static struct frame_reader r;
	struct seen s = {0};
	struct rng rng;
	(void)state;

	rng_init(&rng, 20260817);
	for (int i = 0; i < 20000; i++) {
		char bytes[64] = "@sr 1 ";
		size_t from = rng_below(&rng, 7);
		size_t n = from + rng_below(&rng, sizeof(bytes) - from);

		for (size_t k = from; k < n; k++)
			bytes[k] = (char)rng_u64(&rng);
		frame_reader_feed(&r, bytes, n, note, &s);
	}
	assert_int_equal(s.n, 0);
	assert_true(r.n_bad > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_crc_is_crc32c),
		cmocka_unit_test(test_words_are_encoded_so_that_they_stay_one_word),
		cmocka_unit_test(test_a_word_that_does_not_fit_is_refused_at_the_byte),
		cmocka_unit_test(test_words_that_no_encoder_writes_are_refused),
		cmocka_unit_test(test_a_frame_comes_back_as_it_was_built),
		cmocka_unit_test(test_a_known_frame_reads_as_documented),
		cmocka_unit_test(test_text_before_a_frame_does_not_hide_it),
		cmocka_unit_test(test_what_is_no_frame_is_refused_even_with_a_right_crc),
		cmocka_unit_test(test_each_changed_byte_is_noticed),
		cmocka_unit_test(test_a_line_may_be_frame_max_long_and_no_longer),
		cmocka_unit_test(test_a_frame_may_have_words_max_words_and_no_more),
		cmocka_unit_test(test_the_reader_finds_frames_however_the_bytes_are_cut),
		cmocka_unit_test(test_the_reader_forgets_a_half_line_when_it_is_reset),
		cmocka_unit_test(test_the_longest_frame_survives_any_text_before_it),
		cmocka_unit_test(test_random_bytes_are_never_a_frame_and_never_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
