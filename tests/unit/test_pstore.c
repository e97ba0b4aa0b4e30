/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: report */
/* The list of a run's pstore records, and how reports show it. */
#include "base/base64.h"
#include "report/pstore_text.h"
#include "report/report.h"
#include "sample_run.h"
#include "unit.h"

static void add(struct pstore *p, const char *name, unsigned boot, unsigned in, int64_t bytes,
		int64_t kept)
{
	struct pstore_record *rec = pstore_add(p);

	rec->name = xstrdup(name);
	rec->file = xasprintf("boot-%u/pstore-%s%s.raw", boot ? boot : in, boot ? "" : "earlier-",
			      name);
	sha256_bytes(name, strlen(name), rec->sha256);
	rec->bytes = bytes;
	rec->kept_bytes = kept;
	rec->boot = boot;
	rec->collected_in = in;
}

static void test_a_list_comes_back_as_it_was_written(void **state)
{
	char *dir = unit_tmpdir();
	auto_pstore struct pstore p = {0};
	auto_pstore struct pstore back = {0};
	auto_pstore struct pstore none = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(pstore_read(dir, &none, &e), 0);
	assert_int_equal(none.n + none.n_notes, 0);
	add(&p, "dmesg-erst-1", 0, 1, 100, 100);
	add(&p, "dmesg-erst-2", 1, 2, 70000, 65536);
	pstore_add_note(&p, "no room");
	pstore_add_note(&p, "no room");
	pstore_add_note(&p, "not UTF-8: \xff");
	assert_int_equal(pstore_write(dir, &p, &e), 0);

	if (pstore_read(dir, &back, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(back.n, 2);
	for (size_t i = 0; i < back.n; i++) {
		assert_string_equal(back.records[i].name, p.records[i].name);
		assert_string_equal(back.records[i].file, p.records[i].file);
		assert_string_equal(back.records[i].sha256, p.records[i].sha256);
		assert_int_equal(back.records[i].bytes, p.records[i].bytes);
		assert_int_equal(back.records[i].kept_bytes, p.records[i].kept_bytes);
		assert_int_equal(back.records[i].boot, p.records[i].boot);
		assert_int_equal(back.records[i].collected_in, p.records[i].collected_in);
	}
	assert_int_equal(back.n_notes, 2);
	assert_string_equal(back.notes[0], "no room");
	unit_rmdir(dir);
}

static void test_a_damaged_list_is_named(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"{", "pstore.json:1:1: "},
		{"{\"records\": [{}]}", "pstore.json: record 1 is none"},
		{"{\"records\": [{\"name\": \"a\", \"file\": \"f\", \"sha256\": \"0\", \"bytes\": 1,"
		 " \"kept_bytes\": 1, \"boot\": 0, \"collected_in\": 1}]}",
		 "record 1 is none"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *dir = unit_tmpdir();
		struct pstore p = {0};
		struct err e = {0};

		unit_write(dir, "pstore.json", cases[i].text);
		assert_true(pstore_read(dir, &p, &e) < 0);
		assert_int_equal(e.kind, ERR_STORE);
		assert_contains(e.text, cases[i].want);
		unit_rmdir(dir);
	}
}

static void test_what_fits_is_limited_in_number_and_bytes(void **state)
{
	int64_t bytes[PSTORE_RECORDS_MAX + 1] = {0};

	(void)state;
	assert_int_equal(pstore_fitting(bytes, 0), 0);
	assert_int_equal(pstore_fitting(bytes, PSTORE_RECORDS_MAX), PSTORE_RECORDS_MAX);
	assert_int_equal(pstore_fitting(bytes, PSTORE_RECORDS_MAX + 1), PSTORE_RECORDS_MAX);
	/* sixteen of 64 KiB are 1 MiB; of a longer one no more than that comes */
	for (size_t i = 0; i < 16; i++)
		bytes[i] = i ? PSTORE_RECORD_MAX : INT64_MAX;
	assert_int_equal(pstore_fitting(bytes, 17), 17);
	bytes[16] = 1;
	assert_int_equal(pstore_fitting(bytes, 17), 16);
}

static void test_base64_is_read_whole_or_not_at_all(void **state)
{
	static const char *const bad[] = {"QQ", "QQ=", "Q*==", "QQ==QQ=="};
	auto_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	assert_true(strbuf_add_from_base64(&sb, ""));
	assert_true(strbuf_add_from_base64(&sb, "QQ=="));
	assert_true(strbuf_add_from_base64(&sb, "AEJD"));
	assert_int_equal(sb.len, 4);
	assert_memory_equal(strbuf_str(&sb), "A\0BC", 4);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(strbuf_add_from_base64(&sb, bad[i]));
}

static void test_reports_name_the_boot_that_left_them(void **state)
{
	char *dir = unit_tmpdir();
	auto_run struct run *r = sample_run("debian 6.12 amd64", "virtual-x86", "virtual");
	auto_free char *boot_1 = xasprintf("%s/boot-1", dir);
	auto_free char *boot_2 = xasprintf("%s/boot-2", dir);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	auto_pstore struct pstore p = {0};
	struct trial *t = sample_add_trial(r, 1, 100);
	struct err e = {0};

	(void)state;
	sample_add_boot(r, boot_1);
	sample_add_boot(r, boot_2)->number = 2;
	run_judge(r);
	report_json(&out, &r, 1);
	assert_null(strstr(strbuf_str(&out), "pstore"));

	add(&p, "dmesg-erst-1", 0, 1, 100, 100);
	add(&p, "dmesg-erst-2", 1, 2, 70000, 65536);
	add(&p, "dmesg-erst-3", 1, 2, 300, 300);
	pstore_add_note(&p, "boot 2: <b>");
	assert_int_equal(pstore_write(dir, &p, &e), 0);

	strbuf_reset(&out);
	pstore_text_add_counts(&out, &p);
	assert_string_equal(strbuf_str(&out), "1 record of an earlier boot, 2 of boot 1");
	strbuf_reset(&out);
	report_json(&out, &r, 1);
	assert_contains(strbuf_str(&out),
			"\"bytes\":100,\"of_earlier_boot\":true,\"collected_in\":1},{");
	assert_contains(strbuf_str(&out),
			"\"bytes\":70000,\"kept_bytes\":65536,\"collected_in\":2},{");
	assert_contains(strbuf_str(&out), "\"pstore_notes\":[\"boot 2: <b>\"]");
	strbuf_reset(&out);
	report_html(&out, &r, 1, "x");
	assert_contains(strbuf_str(&out),
			"<dt>pstore<dd><code>1 record of an earlier boot, 2 of boot 1</code>");
	assert_contains(strbuf_str(&out),
			"<dt>pstore<dd><code>boot-1/pstore-dmesg-erst-2.raw, 65536 bytes of 70000"
			"</code>");
	assert_contains(strbuf_str(&out), "boot 2: &lt;b&gt;");
	strbuf_reset(&out);
	report_trial(&out, r, t, false);
	assert_contains(strbuf_str(&out),
			"Kernel records (pstore) of the boot\n"
			"  boot-1/pstore-earlier-dmesg-erst-1.raw, 100 bytes, of an earlier boot, "
			"found in boot 1\n"
			"  boot-1/pstore-dmesg-erst-2.raw, 65536 bytes of 70000\n");

	unit_write(dir, "pstore.json", "{");
	strbuf_reset(&out);
	report_trial(&out, r, t, false);
	assert_contains(strbuf_str(&out), "cannot be shown: ");
	strbuf_reset(&out);
	report_json(&out, &r, 1);
	assert_contains(strbuf_str(&out), "\"pstore_error\":");
	unit_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_list_comes_back_as_it_was_written),
		cmocka_unit_test(test_a_damaged_list_is_named),
		cmocka_unit_test(test_what_fits_is_limited_in_number_and_bytes),
		cmocka_unit_test(test_base64_is_read_whole_or_not_at_all),
		cmocka_unit_test(test_reports_name_the_boot_that_left_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
