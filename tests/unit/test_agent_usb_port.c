/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
#include "agent_unit.h"

#define ROOT_PORT "/sys/devices/pci/usb2/2-0:1.0/usb2-port1"
#define TWIN_PORT "/sys/devices/pci/usb1/1-0:1.0/usb1-port1"
#define HUB_PORT  "/sys/devices/pci/usb1/1-1/1-1.4/1-1.4:1.0/1-1.4-port2"

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

static void assert_file(const char *root, const char *path, const char *text)
{
	auto_free char *got = harvest(root, path);

	assert_string_equal(got, text);
}

static void test_a_root_hubs_port_is_closed_and_opened_with_its_peer(void **state)
{
	struct answered got = {0};
	char *root = *state;

	plant(root, ROOT_PORT "/disable", "0");
	plant(root, TWIN_PORT "/disable", "0");
	plant_link(root, ROOT_PORT "/peer", TWIN_PORT);
	plant_link(root, "/sys/bus/usb/devices/usb2", "/sys/devices/pci/usb2");

	assert_int_equal(run_verb(root, "usb-port path=2-1", &got), 0);
	assert_string_equal(got.ok, "method=disable state=on");
	assert_int_equal(run_verb(root, "usb-port path=2-1 state=off", &got), 0);
	assert_string_equal(got.ok, "method=disable state=off");
	assert_file(root, ROOT_PORT "/disable", "1");
	assert_file(root, TWIN_PORT "/disable", "1");
	assert_int_equal(run_verb(root, "usb-port path=2-1 state=on", &got), 0);
	assert_string_equal(got.ok, "method=disable state=on");
	assert_file(root, ROOT_PORT "/disable", "0");
	assert_file(root, TWIN_PORT "/disable", "0");
}

static void test_a_port_of_a_hub_behind_hubs_is_found(void **state)
{
	struct answered got = {0};
	char *root = *state;

	plant(root, HUB_PORT "/disable", "0");
	plant_link(root, "/sys/bus/usb/devices/1-1.4", "/sys/devices/pci/usb1/1-1/1-1.4");
	assert_int_equal(run_verb(root, "usb-port path=1-1.4.2 state=off", &got), 0);
	assert_file(root, HUB_PORT "/disable", "1");
}

static void test_an_older_kernel_takes_the_configuration_away(void **state)
{
	struct answered got = {0};
	char *root = *state;

	plant(root, "/sys/devices/pci/usb2/2-1/authorized", "1");
	plant_link(root, "/sys/bus/usb/devices/2-1", "/sys/devices/pci/usb2/2-1");
	assert_int_equal(run_verb(root, "usb-port path=2-1 state=off", &got), 0);
	assert_string_equal(got.ok, "method=authorized state=off");
	assert_file(root, "/sys/devices/pci/usb2/2-1/authorized", "0");
	assert_int_equal(run_verb(root, "usb-port path=2-1 state=on", &got), 0);
	assert_string_equal(got.ok, "method=authorized state=on");
}

static void test_what_is_no_port_is_refused_by_name(void **state)
{
	static const struct {
		const char *body;
		int r;
		const char *text;
	} cases[] = {
		{"usb-port path=../../etc", -EINVAL, "'../../etc' is no place"},
		{"usb-port path=2", -EINVAL, "'2' is no place"},
		{"usb-port path=2-", -EINVAL, "'2-' is no place"},
		{"usb-port path=2-1.", -EINVAL, "'2-1.' is no place"},
		{"usb-port path=2-1/x", -EINVAL, "'2-1/x' is no place"},
		{"usb-port path=1-1.2.3.4.5.6.7.8", -EINVAL, "no place"},
		{"usb-port path=2-1 state=of", -EINVAL, "'of' is not on or off"},
		{"usb-port path=1-1.2.3.4.5.6.7", -ENODEV, "1-1.2.3.4.5.6-port7/disable"},
		{"usb-port path=2-1", -ENODEV, "usb2/2-0:1.0/usb2-port1/disable nor"},
	};
	struct answered got = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(run_verb(*state, cases[i].body, &got), cases[i].r);
		assert_contains(got.err, cases[i].text);
	}
	strbuf_release(&got.lines);
}

#define WITH(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(test_a_root_hubs_port_is_closed_and_opened_with_its_peer),
		WITH(test_a_port_of_a_hub_behind_hubs_is_found),
		WITH(test_an_older_kernel_takes_the_configuration_away),
		WITH(test_what_is_no_port_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
