/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_nightly_expand.c - what a plan comes to: rigs, and kernels in a watched folder. */
/* ctest: lab */
#include "kernels_unit.h"
#include "lab/nightly.h"
#include "unit.h"

#include <utime.h>

#define SETTLE_S 3600 /* far from what this test takes */

static struct plan *plan;

static int set_up(void **state)
{
	auto_free char *rigs = NULL;
	auto_free char *path = NULL;
	auto_free char *text = NULL;
	struct err e = {0};

	if (ku_set_up(state) < 0)
		return -1;
	rigs = ku_path("rigs");
	setenv("STALLRIG_RIGS", rigs, 1);
	ku_puts("drop/.keep", "");
	{
		auto_strbuf struct strbuf rig = STRBUF_INIT;

		if (file_read(STALLRIG_SOURCE_DIR "/fixtures/rigs/virtual-x86.yaml", 1u << 16, &rig,
			      &e) < 0)
			fail_msg("%s", e.text);
		ku_puts("rigs/virtual-x86.yaml", strbuf_str(&rig));
	}
	text = xasprintf("name: p\nrigs: [virtual-x86]\nscenarios: [unplug-read]\n"
			 "kernels: [{folder: %s/drop}]\nsettle_seconds: %d\n",
			 ku_dir, SETTLE_S);
	ku_puts("p.yaml", text);
	path = ku_path("p.yaml");
	if (plan_load(path, &plan, &e) < 0)
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down(void **state)
{
	plan_free(plan);
	return ku_tear_down(state);
}

/* Everything below drop/NAME was written so long ago; times of change cannot be set. */
static void make_old(const char *name)
{
	auto_free char *text = xasprintf("find drop/%s -exec touch -d '3 hours ago' {} +", name);
	const char *const argv[] = {"sh", "-ec", text, NULL};

	free(ku_run(argv));
}

/* What there is of the build of that name; NULL = nothing. The list is the caller's. */
static const struct nightly_item *look(enum nightly_look how, const char *kernel,
				       struct nightly_list *ret)
{
	struct err e = {0};

	if (nightly_expand(plan, &ku_ctx, NULL, how, ret, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < ret->n; i++)
		if (strcmp(ret->items[i].kernel, kernel) == 0)
			return &ret->items[i];
	return NULL;
}

static bool is_in_store(const char *name)
{
	auto_free char *sub = xasprintf("store/%s/kernel.json", name);
	auto_free char *path = ku_path(sub);

	return access(path, F_OK) == 0;
}

static void test_what_is_being_written_is_left_until_it_is_whole(void **state)
{
	auto_nightly_list struct nightly_list first = {0}, dry = {0}, then = {0};
	const struct nightly_item *it;

	(void)state;
	ku_put_kernel("drop/half", "6.1.0-half");
	it = look(NIGHTLY_ALL, "half", &first);
	assert_non_null(it);
	assert_true(it->is_settling);
	assert_contains(it->left_out, "may still be being written");
	assert_false(is_in_store("half"));

	/* old contents, but copied just now (cp -a, rsync -a): the times of change tell */
	make_old("half");
	it = look(NIGHTLY_DRY, "half", &dry);
	assert_true(it->is_settling);

	plan->settle_s = 0;
	it = look(NIGHTLY_ALL, "half", &then);
	plan->settle_s = SETTLE_S;
	assert_null(it->left_out);
	assert_true(is_in_store("half"));
}

/* A package is one file: put together under another name and renamed, it is as old as it is. */
static void test_what_was_renamed_into_the_folder_is_taken_at_once(void **state)
{
	auto_nightly_list struct nightly_list dry = {0}, all = {0};
	auto_free char *hidden = ku_path("drop/.linux-image-6.1.0-deb.deb.part");
	auto_free char *name = ku_path("drop/linux-image-6.1.0-deb.deb");

	(void)state;
	ku_put_kernel("deb", "6.1.0-deb");
	ku_make_deb("deb", "drop/.linux-image-6.1.0-deb.deb.part", "linux-image-6.1.0-deb", "6.1-1",
		    "amd64", "");
	assert_null(look(NIGHTLY_DRY, "linux-image-6.1.0-deb", &dry));
	assert_int_equal(utime(hidden, &(struct utimbuf){1, 1}), 0);
	assert_int_equal(rename(hidden, name), 0);
	assert_null(look(NIGHTLY_ALL, "linux-image-6.1.0-deb", &all)->left_out);
	assert_true(is_in_store("linux-image-6.1.0-deb"));
}

static void test_a_dropped_kernel_that_changed_is_not_taken_for_the_old_one(void **state)
{
	auto_nightly_list struct nightly_list first = {0}, same = {0}, changed = {0}, removed = {0};
	struct err e = {0};

	(void)state;
	plan->settle_s = 0;
	ku_put_kernel("drop/main", "6.1.0-a");
	assert_null(look(NIGHTLY_ALL, "main", &first)->left_out);
	assert_null(look(NIGHTLY_ALL, "main", &same)->left_out);

	ku_puts("drop/main/boot/config-6.1.0-a", "CONFIG_HZ=100\nCONFIG_PREEMPT_NONE=y\n");
	assert_contains(look(NIGHTLY_ALL, "main", &changed)->left_out,
			"is not what it was when it became build 'main'");
	assert_int_equal(kernel_remove(&ku_ctx, "main", &e), 0);
	assert_null(look(NIGHTLY_ALL, "main", &removed)->left_out);
	plan->settle_s = SETTLE_S;
}

static void test_what_is_no_kernel_says_why(void **state)
{
	auto_nightly_list struct nightly_list l = {0};

	(void)state;
	ku_puts("drop/bad name/readme", "");
	plan->settle_s = 0;
	assert_contains(look(NIGHTLY_ALL, "bad_name", &l)->left_out, "no kernel image in it");
	plan->settle_s = SETTLE_S;
}

/* What a plan with these rigs comes to: rigs of its runs, one a word; or its error. */
static char *rigs_of(const char *rigs, struct err *e)
{
	auto_free char *text = xasprintf("name: p\nrigs: [%s]\nscenarios: [unplug-read]\n"
					 "kernels: [{debian: 'debian:6.12'}]\n",
					 rigs);
	auto_free char *path = ku_path("rigs.plan.yaml");
	auto_nightly_list struct nightly_list l = {0};
	auto_strbuf struct strbuf found = STRBUF_INIT;
	auto_plan struct plan *p = NULL;

	ku_puts("rigs.plan.yaml", text);
	if (plan_load(path, &p, e) < 0)
		fail_msg("%s", e->text);
	if (nightly_expand(p, &ku_ctx, NULL, NIGHTLY_DRY, &l, e) < 0)
		return NULL;
	for (size_t i = 0; i < l.n; i++)
		strbuf_addf(&found, "%s%s", i ? " " : "", l.items[i].rig);
	return strbuf_take(&found);
}

static void test_rigs_are_chosen_by_name_class_and_tag(void **state)
{
	static const struct {
		const char *rigs, *found;
	} cases[] = {
		{"'tag:fast'", "one two"},
		{"'tag:lab.2'", "two"},
		{"two, 'tag:fast'", "two one"},
		{"'tag:fast', 'class:virtual'", "one two three virtual-x86"},
	};
	auto_strbuf struct strbuf rig = STRBUF_INIT;
	const char *const tags[] = {"tags: [fast]", "tags: [lab.2, fast]", ""};
	const char *const names[] = {"one", "two", "three"};
	auto_free char *other = NULL;
	struct err e = {0};

	(void)state;
	assert_int_equal(file_read(STALLRIG_SOURCE_DIR "/fixtures/rigs/virtual-x86.yaml", 1u << 16,
				   &rig, &e),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = strstr(strbuf_str(&rig), "\nname: virtual-x86\n");
		auto_free char *file = xasprintf("rigs/%s.yaml", names[i]);
		auto_free char *text = xasprintf(
			"%.*s\nname: %s\n%s\n%s", (int)(at - strbuf_str(&rig)), strbuf_str(&rig),
			names[i], tags[i], at + strlen("\nname: virtual-x86\n"));

		ku_puts(file, text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *found = rigs_of(cases[i].rigs, &e);

		if (!found)
			fail_msg("%s: %s", cases[i].rigs, e.text);
		assert_string_equal(found, cases[i].found);
	}
	other = rigs_of("'tag:slow'", &e);
	assert_null(other);
	ku_expect_error(&e, ERR_CONFIG, "there is no rig of tag 'slow'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_being_written_is_left_until_it_is_whole),
		cmocka_unit_test(test_what_was_renamed_into_the_folder_is_taken_at_once),
		cmocka_unit_test(test_a_dropped_kernel_that_changed_is_not_taken_for_the_old_one),
		cmocka_unit_test(test_what_is_no_kernel_says_why),
		cmocka_unit_test(test_rigs_are_chosen_by_name_class_and_tag),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
