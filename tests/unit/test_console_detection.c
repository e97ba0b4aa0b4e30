/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: console,base */
/* test_console_detection.c - fixtures/recordings/detection.txt: every case is found as its class.
 */
#include "console_util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CASES_MIN       60
#define CASES_CLASS_MIN 3

struct detection_case {
	char class_name[32];
	char note[128];
	struct strbuf text;
};

static struct events es;
static struct detection_case cases[128];
static size_t n_cases;

static int read_cases(void **state)
{
	auto_file FILE *f = fopen(STALLRIG_SOURCE_DIR "/fixtures/recordings/detection.txt", "re");
	char line[1024];

	(void)state;
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		size_t len = strcspn(line, "\n");

		line[len] = '\0';
		if (strncmp(line, "== ", 3) == 0) {
			char *bar = strstr(line, " | ");

			if (!bar || n_cases == ARRAY_SIZE(cases))
				return -1;
			*bar = '\0';
			(void)snprintf(cases[n_cases].class_name, sizeof(cases[n_cases].class_name),
				       "%s", line + 3);
			(void)snprintf(cases[n_cases].note, sizeof(cases[n_cases].note), "%s",
				       bar + 3);
			n_cases++;
		} else if (n_cases > 0) {
			strbuf_addf(&cases[n_cases - 1].text, "%s\r\n", line);
		}
	}
	return 0;
}

static int free_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_cases; i++)
		strbuf_release(&cases[i].text);
	strbuf_release(&es.digest);
	return 0;
}

static void test_there_are_enough_cases_of_every_incident_class(void **state)
{
	(void)state;
	assert_true(n_cases >= CASES_MIN);
	for (int cls = CONSOLE_BOOT + 1; cls < CONSOLE_CLASS_MAX; cls++) {
		size_t n = 0;

		for (size_t i = 0; i < n_cases; i++)
			n += strcmp(cases[i].class_name,
				    console_class_name((enum console_class)cls)) == 0;
		if (cls != CONSOLE_USB_NEW && n < CASES_CLASS_MIN)
			fail_msg("%s: %zu cases", console_class_name((enum console_class)cls), n);
	}
}

static void test_every_case_is_found_as_its_class_and_as_nothing_worse(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_cases; i++) {
		enum console_class cls;

		assert_true(console_class_parse(cases[i].class_name, &cls));
		(void)events_of(&es, cases[i].text.data, cases[i].text.len, 0);
		if (events_count(&es, cls) != 1)
			fail_msg("%s, %s: %zu of them\n%s", cases[i].class_name, cases[i].note,
				 events_count(&es, cls), strbuf_str(&es.digest));
		for (size_t k = 0; k < es.n; k++) {
			const struct console_event *ev = &es.rows[k].ev;

			if (ev->is_suspect || (!ev->is_detail && ev->cls != cls &&
					       console_class_severity(ev->cls) >= CONSOLE_STALL))
				fail_msg("%s, %s: also\n%s", cases[i].class_name, cases[i].note,
					 strbuf_str(&es.digest));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_are_enough_cases_of_every_incident_class),
		cmocka_unit_test(test_every_case_is_found_as_its_class_and_as_nothing_worse),
	};

	return cmocka_run_group_tests(tests, read_cases, free_cases);
}
