// SPDX-License-Identifier: GPL-2.0
/* latency-mon: parameters, start and end of the module. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "lm.h"

#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

struct lm lm;

static unsigned int period_us = 10000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "sampling period, 1000..10000000 (default 10000)");

static unsigned int threshold_us = 9000;
module_param(threshold_us, uint, 0444);
MODULE_PARM_DESC(threshold_us, "delays from this on are events, 100..60000000 (default 9000)");

static char *cpus;
module_param(cpus, charp, 0444);
MODULE_PARM_DESC(cpus, "list of CPUs to probe, as in 0,2-3 (default all)");

static char *probes;
module_param(probes, charp, 0444);
MODULE_PARM_DESC(probes, "list of normal,highpri,unbound,bh,kthread (default all but bh)");

static char *console;
module_param(console, charp, 0444);
MODULE_PARM_DESC(console, "extended, classic or off (default extended)");

static char *format;
module_param(format, charp, 0444);
MODULE_PARM_DESC(format, "another name of console=");

static const char *const kind_names[LM_KINDS] = {
	[LM_NORMAL] = "normal", [LM_HIGHPRI] = "highpri", [LM_UNBOUND] = "unbound",
	[LM_BH] = "bh",		[LM_KTHREAD] = "kthread",
};

static const char *const console_names[] = {
	[LM_CONSOLE_OFF] = "off",
	[LM_CONSOLE_CLASSIC] = "classic",
	[LM_CONSOLE_EXTENDED] = "extended",
};

const char *lm_kind_name(enum lm_kind kind)
{
	return kind_names[kind];
}

const char *lm_console_name(enum lm_console mode)
{
	return console_names[mode];
}

int lm_console_parse(const char *text, enum lm_console *ret_console)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(console_names); i++) {
		if (strcmp(text, console_names[i]))
			continue;

		*ret_console = i;
		return 0;
	}

	pr_err("console=%s: is none of extended, classic, off\n", text);
	return -EINVAL;
}

int lm_set_period_us(u32 us)
{
	if (us < LM_PERIOD_MIN_US || us > LM_PERIOD_MAX_US) {
		pr_err("period_us=%u: is not in %u..%u\n", us, LM_PERIOD_MIN_US, LM_PERIOD_MAX_US);
		return -EINVAL;
	}

	WRITE_ONCE(lm.period_us, us);
	return 0;
}

int lm_set_threshold_us(u32 us)
{
	if (us < LM_THRESHOLD_MIN_US || us > LM_THRESHOLD_MAX_US) {
		pr_err("threshold_us=%u: is not in %u..%u\n", us, LM_THRESHOLD_MIN_US,
		       LM_THRESHOLD_MAX_US);
		return -EINVAL;
	}

	WRITE_ONCE(lm.threshold_us, us);
	return 0;
}

static int set_console(void)
{
	enum lm_console mode = LM_CONSOLE_EXTENDED;
	enum lm_console alias;
	int r;

	if (console) {
		r = lm_console_parse(console, &mode);
		if (r < 0)
			return r;
	}

	if (format) {
		r = lm_console_parse(format, &alias);
		if (r < 0)
			return r;

		if (console && alias != mode) {
			pr_err("console=%s and format=%s contradict each other\n", console, format);
			return -EINVAL;
		}

		mode = alias;
	}

	lm.console = mode;
	return 0;
}

static int set_cpus(void)
{
	unsigned int cpu;
	int r;

	if (!cpus) {
		cpumask_copy(&lm.cpus, cpu_possible_mask);
		return 0;
	}

	r = cpulist_parse(cpus, &lm.cpus);
	if (r < 0 || cpumask_empty(&lm.cpus)) {
		pr_err("cpus=%s: is no list of CPUs below %u\n", cpus, nr_cpu_ids);
		return -EINVAL;
	}

	for_each_cpu(cpu, &lm.cpus) {
		if (!cpu_possible(cpu)) {
			pr_err("cpus=%s: this machine has no CPU %u\n", cpus, cpu);
			return -EINVAL;
		}
	}

	return 0;
}

static int add_probe(const char *name)
{
	unsigned int kind;

	for (kind = 0; kind < LM_KINDS; kind++) {
		if (strcmp(name, kind_names[kind]))
			continue;

#ifndef LM_HAVE_SYSTEM_BH_WQ
		if (kind == LM_BH) {
			pr_err("probes=%s: this kernel has no BH workqueues\n", probes);
			return -EINVAL;
		}
#endif
		if (lm.kinds & BIT(kind)) {
			pr_err("probes=%s: %s is named twice\n", probes, name);
			return -EINVAL;
		}

		lm.kinds |= BIT(kind);
		return 0;
	}

	pr_err("probes=%s: '%s' is none of normal, highpri, unbound, bh, kthread\n", probes, name);
	return -EINVAL;
}

static int set_probes(void)
{
	char *text;
	char *rest;
	char *name;
	int r = 0;

	if (!probes) {
		lm.kinds = BIT(LM_NORMAL) | BIT(LM_HIGHPRI) | BIT(LM_UNBOUND) | BIT(LM_KTHREAD);
		return 0;
	}

	text = kstrdup(probes, GFP_KERNEL);
	if (!text)
		return -ENOMEM;

	rest = text;
	while (!r && (name = strsep(&rest, ",")))
		r = add_probe(name);

	kfree(text);
	return r;
}

static int __init lm_init(void)
{
	int r;

	r = lm_set_period_us(period_us);
	if (r < 0)
		return r;

	r = lm_set_threshold_us(threshold_us);
	if (r < 0)
		return r;

	r = set_console();
	if (r < 0)
		return r;

	r = set_cpus();
	if (r < 0)
		return r;

	r = set_probes();
	if (r < 0)
		return r;

	r = lm_probes_alloc();
	if (r < 0)
		goto free_probes;

	r = lm_report_open();
	if (r < 0)
		goto free_probes;

	r = lm_probes_start();
	if (r < 0)
		goto close_report;

	lm_debugfs_open();
	pr_info("period_us=%u threshold_us=%u cpus=%*pbl console=%s holder=%s\n", lm.period_us,
		lm.threshold_us, cpumask_pr_args(&lm.cpus), lm_console_name(lm.console),
		lm_holders_available() ? "yes" : "no");
	return 0;

close_report:
	lm_report_close();
free_probes:
	lm_probes_free();
	return r;
}

static void __exit lm_exit(void)
{
	lm_debugfs_close();
	lm_probes_stop();
	(void)lm_report_sync();
	lm_report_close();
	lm_probes_free();
}

module_init(lm_init);
module_exit(lm_exit);

MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("Workqueue latency probe");
