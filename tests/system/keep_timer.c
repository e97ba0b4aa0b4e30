/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep_timer.c - what the mutation kblockd-keep-timer does, brought by a module.
 *
 * Included by bfq-iosched.c. kblockd_mod_delayed_work_on() is in the kernel's image, so a probe at
 * its entry takes its place where the mutation differs: asked for at once while its timer runs, a
 * work item stays as it is. x86_64 only; the module is never unloaded.
 */
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/workqueue.h>

void keep_timer_return(void);
asm(".pushsection .text\n"
    "keep_timer_return:\n"
    "	" ASM_RET ".popsection\n");

/* (cpu, dwork, delay) in di, si, dx */
static int keep_timer_entry(struct kprobe *p, struct pt_regs *regs)
{
	if (regs->dx || !delayed_work_pending((struct delayed_work *)regs->si))
		return 0;
	regs->ax = false;
	regs->ip = (unsigned long)keep_timer_return;
	return 1;
}

static struct kprobe keep_timer_probe = {
	.symbol_name = "kblockd_mod_delayed_work_on",
	.pre_handler = keep_timer_entry,
};

static int keep_timer_start(void)
{
	return register_kprobe(&keep_timer_probe);
}
