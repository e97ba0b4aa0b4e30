/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The historic way to see a late workqueue, for comparison with latency-mon: delayed work every
 * 100 ms, here on each CPU, that compares its own start with the previous one. What is over 9 ms is
 * printed and, so that a measurement need not read the console, kept: debugfs classic_mon, a line
 * for each, with the time of the start in CLOCK_MONOTONIC.
 */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>

#define PERIOD_MS 100
#define LIMIT_MS  9
#define KEPT      65536u

static bool quiet;
module_param(quiet, bool, 0444);

struct monitor {
	struct delayed_work dwork;
	ktime_t previous;
	unsigned int cpu;
};

struct late {
	unsigned int cpu;
	u64 run_ns;
	s64 ms;
};

static struct dentry *file;
static DEFINE_PER_CPU(struct monitor, monitors);
static DEFINE_MUTEX(kept_lock);
static struct late kept[KEPT];
static unsigned int n_kept;
static unsigned int n_lost;

static void again(struct monitor *mon)
{
	schedule_delayed_work_on((int)mon->cpu, &mon->dwork, msecs_to_jiffies(PERIOD_MS));
}

static void classic_work(struct work_struct *work)
{
	struct monitor *mon = container_of(to_delayed_work(work), struct monitor, dwork);
	ktime_t now = ktime_get();
	s64 late_ms = ktime_ms_delta(now, mon->previous) - PERIOD_MS;

	mon->previous = now;
	if (late_ms > LIMIT_MS) {
		if (!quiet)
			printk(KERN_CRIT "DELAY: %lld\n", late_ms);

		mutex_lock(&kept_lock);
		if (n_kept < KEPT)
			kept[n_kept++] = (struct late){mon->cpu, ktime_to_ns(now), late_ms};
		else
			n_lost++;
		mutex_unlock(&kept_lock);
	}

	again(mon);
}

static int classic_show(struct seq_file *m, void *data)
{
	unsigned int i;

	mutex_lock(&kept_lock);
	seq_printf(m, "lost=%u\n", n_lost);
	for (i = 0; i < n_kept; i++)
		seq_printf(m, "cpu=%u run_mono_ns=%llu ms=%lld\n", kept[i].cpu, kept[i].run_ns,
			   kept[i].ms);
	mutex_unlock(&kept_lock);
	return 0;
}

static int classic_open(struct inode *inode, struct file *f)
{
	return single_open(f, classic_show, NULL);
}

static const struct file_operations classic_fops = {
	.owner = THIS_MODULE,
	.open = classic_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init classic_init(void)
{
	unsigned int cpu;

	file = debugfs_create_file("classic_mon", 0444, NULL, NULL, &classic_fops);
	for_each_possible_cpu(cpu)
	{
		struct monitor *mon = per_cpu_ptr(&monitors, cpu);

		mon->cpu = cpu;
		mon->previous = ktime_get();
		INIT_DELAYED_WORK(&mon->dwork, classic_work);
		if (cpu_online(cpu))
			again(mon);
	}

	return 0;
}

static void __exit classic_exit(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) cancel_delayed_work_sync(&per_cpu_ptr(&monitors, cpu)->dwork);
	debugfs_remove(file);
}

module_init(classic_init);
module_exit(classic_exit);

MODULE_LICENSE("GPL v2");
MODULE_DESCRIPTION("Difference monitor, for comparison");
