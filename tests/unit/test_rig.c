/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
/* What a rig does before anything is booted; booting real kernels is the system tests' part. */
#include "rig/rig.h"
#include "unit.h"

static const char yaml[] =
	"name: r1\n"
	"class: virtual\n"
	"arch: arm64\n"
	"boot: {driver: qemu, machine: virt, cpu: cortex-a57, cpus: 1, memory_mib: 128,\n"
	"       append: '', timeout_s: 5, modules: []}\n"
	"console: {driver: socket, device: ttyAMA0}\n"
	"link: {driver: virtio-serial}\n"
	"sticks:\n"
	"  - {name: stick0, serial: S1, usb_path: 2-1, filesystem: ext4, size_mib: 16, file: f,\n"
	"     file_mib: 1, switch: {driver: qmp, port: 1, min_off_ms: 0, settle_ms: 0}}\n";

struct fixture {
	char *dir;
	struct rig_cfg *cfg;
	struct waiter *w;
	struct rig *rig;
};

static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)self;
	(void)bytes;
	(void)n;
	(void)t_host_ns;
	fail_msg("console bytes although nothing was booted");
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	auto_free char *path = NULL;
	auto_free char *run_dir = NULL;
	struct err e = {0};

	f->dir = unit_tmpdir();
	f->w = waiter_new(NULL);
	path = xasprintf("%s/r1.yaml", f->dir);
	run_dir = xasprintf("%s/runs/1", f->dir);
	unit_write(f->dir, "r1.yaml", yaml);
	assert_int_equal(setenv("STALLRIG_CACHE", f->dir, 1), 0);
	assert_int_equal(setenv("STALLRIG_STATE", f->dir, 1), 0);
	if (rig_cfg_load(path, &f->cfg, &e) < 0 ||
	    rig_open(f->cfg, f->w, run_dir, 0, on_console, NULL, &f->rig, &e) < 0)
		fail_msg("%s", e.text);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rig_close(f->rig);
	rig_cfg_free(f->cfg);
	waiter_free(f->w);
	unit_rmdir(f->dir);
	free(f);
	return 0;
}

static void test_an_open_rig_has_a_stick_and_nothing_booted(void **state)
{
	struct fixture *f = *state;
	auto_free char *how = NULL;
	struct err e = {0};

	assert_int_equal(strlen(rig_stick_sha256(f->rig)), 64);
	assert_null(rig_link(f->rig));
	assert_null(rig_switch(f->rig));
	assert_null(rig_switch_fault_state(f->rig));
	assert_false(rig_is_running(f->rig, &how));
	assert_string_equal(how, "nothing is booted");
	assert_int_equal(rig_shutdown(f->rig, &e), 0);
}

static void test_the_second_user_of_a_rig_is_told_who_has_it(void **state)
{
	struct fixture *f = *state;
	auto_free char *pid = xasprintf("rig 'r1' is in use by pid %ld", (long)getpid());
	struct rig *second = NULL;
	struct err e = {0};

	assert_int_equal(rig_open(f->cfg, f->w, f->dir, 0, on_console, NULL, &second, &e), -EBUSY);
	assert_null(second);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.text, pid);

	rig_close(f->rig);
	f->rig = NULL;
	assert_int_equal(rig_open(f->cfg, f->w, f->dir, 0, on_console, NULL, &f->rig, &e), 0);
}

static void test_a_kernel_of_another_arch_is_not_booted(void **state)
{
	struct fixture *f = *state;
	struct kernel_build k = {0};
	struct err e = {0};

	k.name = xstrdup("k1");
	k.arch = xstrdup("x86_64");
	k.dir = xstrdup("/nonexistent");
	assert_int_equal(rig_boot(f->rig, &k, "", &e), -EINVAL);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_string_equal(e.text, "kernel 'k1' is for x86_64, rig 'r1' is arm64");
	assert_false(rig_is_running(f->rig, NULL));
	free(k.name);
	free(k.arch);
	free(k.dir);
}

static void test_faults_are_kept_for_the_boots_to_come(void **state)
{
	struct fixture *f = *state;
	struct rig_faults faults;
	struct err e = {0};

	assert_int_equal(rig_faults_parse("lie=1,seed=7", &faults, &e), 0);
	rig_set_faults(f->rig, &faults);
	assert_non_null(rig_switch_fault_state(f->rig));
	assert_int_equal(rig_switch_fault_state(f->rig)->sets, 0);
}

static void test_closing_takes_null(void **state)
{
	(void)state;
	rig_close(NULL);
	rig_cfg_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_open_rig_has_a_stick_and_nothing_booted),
		TEST(test_the_second_user_of_a_rig_is_told_who_has_it),
		TEST(test_a_kernel_of_another_arch_is_not_booted),
		TEST(test_faults_are_kept_for_the_boots_to_come),
		cmocka_unit_test(test_closing_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
