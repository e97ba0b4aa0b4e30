/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: agent */
#include "agent_unit.h"

static const char interrupts[] =
	"           CPU0       CPU1       \n"
	"  0:         42          0   IO-APIC   2-edge      timer\n"
	" 24:        100          7   PCI-MSIX-0000:00:03.0   0-edge      xhci_hcd\n"
	" 25:          0         11   PCI-MSIX-0000:00:03.0   1-edge      xhci_hcd\n"
	" 26:          5          6   1 edge      odd\n"
	"NMI:          1          2   Non-maskable interrupts xhci_hcd\n"
	"ERR:          0\n";

static int setup(void **state)
{
	*state = unit_tmpdir();
	plant(*state, "/proc/interrupts", interrupts);
	return 0;
}

static int teardown(void **state)
{
	unit_rmdir(*state);
	return 0;
}

static void test_irq_counts_each_match_and_their_sum(void **state)
{
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "irq match=xhci", &got), 0);
	assert_string_equal(strbuf_str(&got.lines),
			    "irq=24 counts=100,7 PCI-MSIX-0000:00:03.0   0-edge      xhci_hcd\n"
			    "irq=25 counts=0,11 PCI-MSIX-0000:00:03.0   1-edge      xhci_hcd\n");
	assert_string_equal(got.ok, "irqs=24,25 cpu_counts=100,18");
	strbuf_release(&got.lines);
}

static void test_irq_names_a_text_that_matches_nothing(void **state)
{
	static const char *const bodies[] = {"irq match=ehci", "irq match=Non-maskable",
					     "pin-irq match=ehci cpu=0"};
	struct answered got = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		assert_int_equal(run_verb(*state, bodies[i], &got), -ENOENT);
		assert_contains(got.err, "ENOENT /proc/interrupts: no interrupt with '");
	}
}

static void test_irq_refuses_a_table_without_cpus(void **state)
{
	static const char *const tables[] = {"", "no newline", "\n 1: 5 x\n"};
	struct answered got = {0};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		plant(*state, "/proc/interrupts", tables[i]);
		assert_int_equal(run_verb(*state, "irq match=x", &got), -EBADMSG);
	}
}

static void test_irq_reads_this_machines_table(void **state)
{
	struct answered got = {0};
	(void)state;

	assert_int_equal(run_verb("", "irq match=-", &got), 0);
	assert_contains(strbuf_str(&got.lines), "irq=");
	strbuf_release(&got.lines);
}

static void test_pin_irq_moves_each_match_and_reads_back(void **state)
{
	auto_free char *first = NULL;
	auto_free char *second = NULL;
	struct answered got = {0};

	plant(*state, "/proc/irq/24/smp_affinity_list", "0-1\n");
	plant(*state, "/proc/irq/25/smp_affinity_list", "0-1\n");
	plant(*state, "/proc/irq/24/effective_affinity_list", "1\n");
	plant(*state, "/proc/irq/25/effective_affinity_list", "0\n");
	assert_int_equal(run_verb(*state, "pin-irq match=xhci_hcd cpu=1", &got), 0);
	assert_string_equal(got.ok, "irqs=24,25 cpu=1 pending=1");
	first = harvest(*state, "/proc/irq/24/smp_affinity_list");
	second = harvest(*state, "/proc/irq/25/smp_affinity_list");
	assert_string_equal(first, "1");
	assert_string_equal(second, "1");
}

static void test_pin_irq_reports_a_kernel_that_refuses(void **state)
{
	struct answered got = {0};

	assert_int_equal(run_verb(*state, "pin-irq match=xhci cpu=0", &got), -ENOENT);
	assert_contains(got.err, "/proc/irq/24/smp_affinity_list");
	assert_int_equal(run_verb(*state, "pin-irq match=xhci cpu=256", &got), -ERANGE);
	assert_int_equal(run_verb(*state, "pin-irq match=xhci cpu=", &got), -EINVAL);
	/* a CPU that this machine does not have */
	assert_true(run_verb("", "pin-irq match=- cpu=255", &got) < 0);
	assert_contains(got.err, "/smp_affinity_list: write '255'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROOTED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		ROOTED(test_irq_counts_each_match_and_their_sum),
		ROOTED(test_irq_names_a_text_that_matches_nothing),
		ROOTED(test_irq_refuses_a_table_without_cpus),
		cmocka_unit_test(test_irq_reads_this_machines_table),
		ROOTED(test_pin_irq_moves_each_match_and_reads_back),
		ROOTED(test_pin_irq_reports_a_kernel_that_refuses),
	};

	UNIT_NEEDS_ROOT();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
