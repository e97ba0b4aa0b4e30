/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalog.c - the table of kernel messages, and what a class is called and means. */
#include "console/catalog.h"

#include <string.h>

#define STAMPED CONSOLE_RULE_STAMPED
#define BARE    CONSOLE_RULE_BARE
#define DETAIL  CONSOLE_RULE_DETAIL
#define CRASH   (CONSOLE_RULE_DETAIL | CONSOLE_RULE_CRASH)
#define COUNTED CONSOLE_RULE_COUNTED
#define NO_DUMP CONSOLE_RULE_NO_DUMP

static const struct {
	const char *name;
	enum console_severity severity;
} classes[CONSOLE_CLASS_MAX] = {
	[CONSOLE_DELAY] = {"delay", CONSOLE_INFO},
	[CONSOLE_MARK] = {"mark", CONSOLE_INFO},
	[CONSOLE_BOOT] = {"boot", CONSOLE_INFO},
	[CONSOLE_WORKQUEUE_LOCKUP] = {"workqueue-lockup", CONSOLE_STALL},
	[CONSOLE_WORKQUEUE_HOG] = {"workqueue-hog", CONSOLE_INFO},
	[CONSOLE_SOFT_LOCKUP] = {"soft-lockup", CONSOLE_FATAL},
	[CONSOLE_HARD_LOCKUP] = {"hard-lockup", CONSOLE_FATAL},
	[CONSOLE_RCU_STALL] = {"rcu-stall", CONSOLE_STALL},
	[CONSOLE_HUNG_TASK] = {"hung-task", CONSOLE_STALL},
	[CONSOLE_RT_THROTTLED] = {"rt-throttled", CONSOLE_INFO},
	[CONSOLE_WARNING] = {"warning", CONSOLE_FATAL},
	[CONSOLE_BUG] = {"bug", CONSOLE_FATAL},
	[CONSOLE_OOPS] = {"oops", CONSOLE_FATAL},
	[CONSOLE_PANIC] = {"panic", CONSOLE_FATAL},
	[CONSOLE_SANITIZER] = {"sanitizer", CONSOLE_FATAL},
	[CONSOLE_LOCKDEP] = {"lockdep", CONSOLE_FATAL},
	[CONSOLE_USB_DISCONNECT] = {"usb-disconnect", CONSOLE_EXPECTED},
	[CONSOLE_USB_NEW] = {"usb-new", CONSOLE_INFO},
	[CONSOLE_USB_ENUMERATION] = {"usb-enumeration", CONSOLE_EXPECTED},
	[CONSOLE_USB_OVER_CURRENT] = {"usb-over-current", CONSOLE_EXPECTED},
	[CONSOLE_IO_ERROR] = {"io-error", CONSOLE_EXPECTED},
	[CONSOLE_FS_ERROR] = {"fs-error", CONSOLE_EXPECTED},
	[CONSOLE_PRINTK_DROPPED] = {"printk-dropped", CONSOLE_INTEGRITY},
	[CONSOLE_INPUT_OVERRUN] = {"input-overrun", CONSOLE_INTEGRITY},
	[CONSOLE_REBOOT] = {"reboot", CONSOLE_INFO},
	[CONSOLE_CLOCK_UNSTABLE] = {"clock-unstable", CONSOLE_INTEGRITY},
};

/* Special rules stand before general ones: the first that matches counts. */
static const struct console_rule rules[] = {
	/* lockups */
	{CONSOLE_WORKQUEUE_LOCKUP, 0, "BUG: workqueue lockup - pool %T stuck for %ss!",
	 "lockup - pool", "4.5+",
	 "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 72s!"},
	{CONSOLE_WORKQUEUE_HOG, NO_DUMP, "workqueue: %T hogged CPU for >%dus %n times",
	 "hogged CPU for", "6.5+",
	 "workqueue: hub_event [usbcore] hogged CPU for >10000us 4 times, consider switching to "
	 "WQ_UNBOUND"},
	{CONSOLE_SOFT_LOCKUP, 0, "BUG: soft lockup - CPU#%c stuck for %ss! [%T:%d]",
	 "lockup - CPU#", "2.6+", "BUG: soft lockup - CPU#3 stuck for 22s! [kworker/3:1:88]"},
	{CONSOLE_SOFT_LOCKUP, 0, "BUG: soft lockup detected on CPU#%c!", "soft lockup detected",
	 "< 2.6.26", "BUG: soft lockup detected on CPU#0!"},
	{CONSOLE_HARD_LOCKUP, 0, "Watchdog detected hard LOCKUP on cpu %c", "hard LOCKUP", "all",
	 "Watchdog detected hard LOCKUP on cpu 1"},
	{CONSOLE_HARD_LOCKUP, 0, "CPU %c self-detected hard LOCKUP @ %T", "hard LOCKUP",
	 "powerpc 4.13+", "CPU 5 self-detected hard LOCKUP @ plpar_hcall_norets+0x1c/0x28"},
	{CONSOLE_HARD_LOCKUP, 0, "CPU %c detected hard LOCKUP on other CPUs", "hard LOCKUP",
	 "powerpc 4.13+", "CPU 2 detected hard LOCKUP on other CPUs 5"},
	/* RCU */
	{CONSOLE_RCU_STALL, 0, "INFO: %T self-detected stall on CPU%*(t=%j jiffies",
	 "detected stall", "< 4.x",
	 "INFO: rcu_sched self-detected stall on CPU { 3}  (t=6000 jiffies g=4294967200 "
	 "c=4294967199 q=21)"},
	{CONSOLE_RCU_STALL, 0, "INFO: %T self-detected stall on CPU", "detected stall", "all",
	 "INFO: rcu_preempt self-detected stall on CPU"},
	{CONSOLE_RCU_STALL, 0, "INFO: %T detected stalls on %* t=%j jiffies", "detected stall",
	 "< 4.x",
	 "INFO: rcu_sched detected stalls on CPUs/tasks: { 1} (detected by 0, t=5252 jiffies, "
	 "g=180145, c=180144, q=3621)"},
	{CONSOLE_RCU_STALL, 0, "INFO: %T detected stalls on ", "detected stall", "all",
	 "INFO: rcu_sched detected stalls on CPUs/tasks:"},
	{CONSOLE_RCU_STALL, 0, "INFO: %T detected expedited stalls on %*} %j jiffies s: ",
	 "detected expedited stall", "4.x+",
	 "INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-.... } 26 jiffies s: "
	 "5 root: 0x2/."},
	{CONSOLE_RCU_STALL, 0, "INFO: %T detected expedited stalls on ", "detected expedited stall",
	 "4.x+ (cut off)", "INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-...."},
	{CONSOLE_RCU_STALL, 0, "INFO: %T detected stall on CPU %c (t=%j jiffies", "detected stall",
	 "< 3.3", "INFO: rcu_sched_state detected stall on CPU 0 (t=15000 jiffies)"},
	{CONSOLE_RCU_STALL, 0, "INFO: %T detected stall on CPU %c", "detected stall",
	 "< 3.3 (cut off)", "INFO: rcu_sched_state detected stall on CPU 0 (t="},
	/*
	 * The length comes behind the list of CPUs. It explains no dump, which the head does, and
	 * must begin the text: what stands in front of it may be left of a damaged head.
	 */
	{CONSOLE_RCU_STALL, DETAIL | NO_DUMP, "\t(t=%j jiffies ", " jiffies ", "4.18+",
	 "\t(t=5250 jiffies g=1301 q=27 ncpus=4)"},
	{CONSOLE_RCU_STALL, DETAIL | NO_DUMP, "\t (t=%j jiffies ", " jiffies ", "3.x-4.x",
	 "\t (t=5250 jiffies g=1301 c=1300 q=27)"},
	{CONSOLE_RCU_STALL, DETAIL | NO_DUMP, "\t(detected by %c, t=%j jiffies,", " jiffies,",
	 "3.x+", "\t(detected by 2, t=5252 jiffies, g=180145, q=3621 ncpus=4)"},
	{CONSOLE_RCU_STALL, 0, "%T kthread starved for %j jiffies!", "kthread starved for", "3.18+",
	 "rcu_preempt kthread starved for 5250 jiffies! g1301 f0x0 RCU_GP_WAIT_FQS(5) ->state=0x402 "
	 "->cpu=0"},
	{CONSOLE_RCU_STALL, 0, "%T kthread timer wakeup didn't happen for %j jiffies!",
	 "kthread timer wakeup", "5.11+",
	 "rcu_sched kthread timer wakeup didn't happen for 254299 jiffies! g8370033 f0x2 "
	 "RCU_GP_WAIT_FQS(5) ->state=0x200"},
	/* hung tasks */
	{CONSOLE_HUNG_TASK, 0, "INFO: task %T:%d blocked for more than %s seconds",
	 "blocked for more than", "2.6+",
	 "INFO: task kworker/1:0:19 blocked for more than 120 seconds."},
	{CONSOLE_HUNG_TASK, 0, "INFO: task %T:%d blocked in I/O wait for more than %s seconds",
	 "blocked in I/O wait", "6.18+",
	 "INFO: task dd:412 blocked in I/O wait for more than 120 seconds."},
	{CONSOLE_HUNG_TASK, DETAIL, "INFO: task %T:%d is blocked on a ", "is blocked on a ",
	 "6.15+",
	 "INFO: task umount:731 is blocked on a mutex likely owned by task kworker/0:2:67."},
	{CONSOLE_RT_THROTTLED, NO_DUMP, "sched: RT throttling activated", "RT throttling activated",
	 "all", "sched: RT throttling activated"},
	{CONSOLE_RT_THROTTLED, NO_DUMP, "[sched_delayed] sched: RT throttling activated",
	 "RT throttling activated", "3.x-4.x", "[sched_delayed] sched: RT throttling activated"},
	{CONSOLE_RT_THROTTLED, NO_DUMP, "sched: DL replenish lagged too much",
	 "DL replenish lagged", "3.14+", "sched: DL replenish lagged too much"},
	/* lockdep */
	{CONSOLE_LOCKDEP, 0, "WARNING: possible %T detected", "WARNING:", "4.13+",
	 "WARNING: possible circular locking dependency detected"},
	{CONSOLE_LOCKDEP, 0, "WARNING: %T lock order detected", "WARNING:", "4.13+",
	 "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected"},
	{CONSOLE_LOCKDEP, 0, "WARNING: inconsistent lock state", "WARNING:", "4.13+",
	 "WARNING: inconsistent lock state"},
	{CONSOLE_LOCKDEP, 0, "WARNING: suspicious RCU usage", "WARNING:", "4.13+",
	 "WARNING: suspicious RCU usage"},
	{CONSOLE_LOCKDEP, 0, "WARNING: bad unlock balance detected!", "WARNING:", "4.13+",
	 "WARNING: bad unlock balance detected!"},
	{CONSOLE_LOCKDEP, 0, "WARNING: held lock freed!", "WARNING:", "4.13+",
	 "WARNING: held lock freed!"},
	{CONSOLE_LOCKDEP, 0, "WARNING: lock held when returning to user space!",
	 "WARNING:", "4.13+", "WARNING: lock held when returning to user space!"},
	{CONSOLE_LOCKDEP, 0, "WARNING: %T still has locks held!", "WARNING:", "4.13+",
	 "WARNING: modprobe/155 still has locks held!"},
	{CONSOLE_LOCKDEP, 0, "WARNING: Nested lock was not taken", "WARNING:", "4.13+",
	 "WARNING: Nested lock was not taken"},
	{CONSOLE_LOCKDEP, 0, "[ INFO: %T ]", "[ INFO:", "< 4.13",
	 "[ INFO: possible recursive locking detected ]"},
	{CONSOLE_LOCKDEP, 0, "[ BUG: %T ]", "[ BUG:", "all", "[ BUG: Invalid wait context ]"},
	{CONSOLE_LOCKDEP, 0, "BUG: MAX_LOCK%T too low!", "BUG: ", "all",
	 "BUG: MAX_LOCKDEP_CHAINS too low!"},
	{CONSOLE_LOCKDEP, 0, "INFO: trying to register non-static key.", "register non-static key",
	 "all", "INFO: trying to register non-static key."},
	/* sanitizers */
	{CONSOLE_SANITIZER, 0, "BUG: KASAN: %T", "BUG: ", "4.0+",
	 "BUG: KASAN: slab-use-after-free in hub_event+0x1a2/0x2c0"},
	{CONSOLE_SANITIZER, 0, "BUG: KFENCE: %T", "BUG: ", "5.12+",
	 "BUG: KFENCE: out-of-bounds read in test_out_of_bounds_read+0xa6/0x234"},
	{CONSOLE_SANITIZER, 0, "BUG: KMSAN: %T", "BUG: ", "6.1+",
	 "BUG: KMSAN: uninit-value in usb_submit_urb+0x12/0x400"},
	{CONSOLE_SANITIZER, 0, "BUG: KCSAN: %T", "BUG: ", "5.8+",
	 "BUG: KCSAN: data-race in __hrtimer_run_queues / hrtimer_active"},
	{CONSOLE_SANITIZER, 0, "UBSAN: %T", "UBSAN: ", "4.5+",
	 "UBSAN: shift-out-of-bounds in drivers/usb/core/hub.c:412:18"},
	{CONSOLE_SANITIZER, NO_DUMP, "kmemleak: %n new suspected memory leaks",
	 "new suspected memory", "2.6.31+",
	 "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)"},
	{CONSOLE_SANITIZER, 0, "KASAN: %T in range", "KASAN: ", "4.0+",
	 "KASAN: null-ptr-deref in range [0x0000000000000010-0x0000000000000017]"},
	/* crashes */
	{CONSOLE_OOPS, 0, "BUG: kernel %T, address: %x", "BUG: ", "5.1+ x86",
	 "BUG: kernel NULL pointer dereference, address: 0000000000000010"},
	{CONSOLE_OOPS, 0, "BUG: unable to handle %T at %x", "BUG: ", "< 5.1 x86",
	 "BUG: unable to handle kernel NULL pointer dereference at 0000000000000008"},
	{CONSOLE_OOPS, 0, "BUG: unable to handle %T", "BUG: ", "all",
	 "BUG: unable to handle page fault for address: ffffc90000a3f000"},
	{CONSOLE_OOPS, 0, "Unable to handle kernel %T at virtual address %x",
	 "Unable to handle kernel", "arm, arm64, riscv",
	 "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000028"},
	{CONSOLE_OOPS, 0, "Internal error: %T [#%d]", "Internal error:", "arm, arm64",
	 "Internal error: Oops: 0000000096000004 [#1] PREEMPT SMP"},
	{CONSOLE_OOPS, 0, "Oops: %T [#%d]", "Oops: ", "all", "Oops: 0002 [#1] PREEMPT SMP PTI"},
	{CONSOLE_OOPS, 0, "Oops [#%d]", "Oops [#", "riscv", "Oops [#1]"},
	{CONSOLE_OOPS, 0, "general protection fault", "general protection", "x86",
	 "general protection fault, probably for non-canonical address 0xdead000000000110: 0000 [#1] "
	 "SMP"},
	{CONSOLE_OOPS, 0, "invalid opcode: %x [#%d]", "invalid opcode:", "x86",
	 "invalid opcode: 0000 [#1] SMP"},
	{CONSOLE_OOPS, 0, "divide error: %x [#%d]", "divide error:", "x86",
	 "divide error: 0000 [#1] SMP"},
	{CONSOLE_OOPS, 0, "stack segment: %x [#%d]", "stack segment:", "x86",
	 "stack segment: 0000 [#1] SMP"},
	{CONSOLE_OOPS, 0, "double fault: %x [#%d]", "double fault", "x86",
	 "double fault: 0000 [#1] SMP"},
	{CONSOLE_OOPS, 0, "traps: PANIC: double fault", "double fault", "x86",
	 "traps: PANIC: double fault, error_code: 0x0"},
	{CONSOLE_OOPS, 0, "SError Interrupt on CPU%c", "SError Interrupt", "arm64",
	 "SError Interrupt on CPU2, code 0x00000000bf000002 -- SError"},
	{CONSOLE_OOPS, 0, "Unhandled fault: %T at %x", "Unhandled fault:", "arm",
	 "Unhandled fault: imprecise external abort (0x1406) at 0x00000000"},
	{CONSOLE_OOPS, 0, "Bad mode in %T handler detected", "Bad mode in ", "arm64 < 5.14",
	 "Bad mode in Error handler detected on CPU1, code 0xbf000000 -- SError"},
	{CONSOLE_OOPS, 0, "Insufficient stack space to handle exception!",
	 "Insufficient stack space", "arm64", "Insufficient stack space to handle exception!"},
	{CONSOLE_OOPS, CRASH, "RIP: %x:%T+0x", "RIP: ", "4.8+ x86",
	 "RIP: 0010:usb_disconnect+0x2b/0x2c0"},
	{CONSOLE_OOPS, CRASH, "RIP: %x:[<%x>]  [<%x>] %T+0x", "RIP: ", "< 4.8 x86",
	 "RIP: 0010:[<ffffffff814c1d2b>]  [<ffffffff814c1d2b>] usb_disconnect+0x2b/0x2c0"},
	{CONSOLE_OOPS, CRASH, "pc : %T+0x", "pc : ", "arm64", "pc : usb_disconnect+0x38/0x220"},
	{CONSOLE_OOPS, CRASH, "PC is at %T+0x", "PC is at ", "arm",
	 "PC is at usb_disconnect+0x38/0x220"},
	{CONSOLE_OOPS, CRASH, "epc : %T+0x", "epc : ", "riscv", "epc : usb_disconnect+0x38/0x220"},
	{CONSOLE_PANIC, 0, "Kernel panic - not syncing: %T", "Kernel panic", "all",
	 "Kernel panic - not syncing: Fatal exception in interrupt"},
	{CONSOLE_PANIC, 0, "Kernel panic - not syncing:%$", "Kernel panic", "all",
	 "Kernel panic - not syncing:"},
	{CONSOLE_PANIC, DETAIL, "---[ end Kernel panic", "end Kernel panic", "3.15+",
	 "---[ end Kernel panic - not syncing: Fatal exception in interrupt ]---"},
	/* bugs */
	{CONSOLE_BUG, 0, "kernel BUG at %T!", "kernel BUG at", "all",
	 "kernel BUG at fs/ext4/inode.c:2746!"},
	{CONSOLE_BUG, 0, "BUG: scheduling while atomic: %T/%d/%x", "BUG: ", "all",
	 "BUG: scheduling while atomic: kworker/0:1/14/0x00000002"},
	{CONSOLE_BUG, 0, "BUG: sleeping function called from invalid context at %T", "BUG: ", "all",
	 "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580"},
	{CONSOLE_BUG, 0, "BUG: workqueue leaked %T: %*[%d]", "BUG: ", "6.9+",
	 "BUG: workqueue leaked atomic, lock or RCU: kworker/5:3[78]"},
	{CONSOLE_BUG, 0, "BUG: workqueue leaked %T:", "BUG: ", "< 6.9",
	 "BUG: workqueue leaked lock or atomic: kworker/5:3/0x00000001/78"},
	{CONSOLE_BUG, 0, "BUG: Bad page state in process %T  pfn:%x", "BUG: ", "all",
	 "BUG: Bad page state in process dd  pfn:1a2b3"},
	{CONSOLE_BUG, STAMPED, "BUG: %T", "BUG: ", "all",
	 "BUG: spinlock lockup suspected on CPU#0, "
	 "dd/1"},
	/* warnings */
	{CONSOLE_WARNING, 0, "WARNING: CPU: %c PID: %d at %T", "WARNING:", "3.12-6.18",
	 "WARNING: CPU: 1 PID: 311 at drivers/usb/core/urb.c:505 usb_submit_urb+0x5a1/0x5c0 "
	 "[usbcore]"},
	{CONSOLE_WARNING, 0, "WARNING: %T, CPU#%c: %*/%d", "WARNING:", "6.19+",
	 "WARNING: drivers/usb/core/urb.c:505 at usb_submit_urb+0x5a1/0x5c0, CPU#1: kworker/1:2/311"},
	{CONSOLE_WARNING, 0, "WARNING: at %T()", "WARNING:", "< 3.12",
	 "WARNING: at drivers/usb/core/urb.c:327 usb_submit_urb+0x120/0x240()"},
	{CONSOLE_WARNING, STAMPED, "WARNING: %T", "WARNING:", "all",
	 "WARNING: stack recursion on stack type 4"},
	/* USB */
	{CONSOLE_USB_DISCONNECT, NO_DUMP, "usb %p: USB disconnect, device number %u",
	 "USB disconnect,", "2.6.38+", "usb 2-1: USB disconnect, device number 2"},
	{CONSOLE_USB_DISCONNECT, NO_DUMP, "usb %p: USB disconnect, address %u", "USB disconnect,",
	 "< 2.6.38", "usb 1-1: USB disconnect, address 3"},
	{CONSOLE_USB_NEW, NO_DUMP, "usb %p: new %* USB device number %u using ",
	 "USB device number", "2.6.38+",
	 "usb 2-1: new SuperSpeed Plus Gen 2x1 USB device number 3 using xhci_hcd"},
	{CONSOLE_USB_NEW, NO_DUMP, "usb %p: new %* USB device using %*address %u",
	 "USB device using", "< 2.6.38",
	 "usb 1-1: new high speed USB device using ehci_hcd and address 5"},
	{CONSOLE_USB_NEW, NO_DUMP, "usb %p: new %* USB device using ", "USB device using", "< 3.9",
	 "usb 2-1: new SuperSpeed USB device using xhci_hcd"},
	/* error handling takes the device through its enumeration again */
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %p: reset %* USB device number %u using ",
	 "USB device number", "3.9+",
	 "usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %p: reset %* USB device using ", "USB device using",
	 "< 3.9", "usb 1-1: reset high speed USB device using ehci_hcd and address 4"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %p: device descriptor read/%*, error %d",
	 "device descriptor read", "all", "usb 1-1: device descriptor read/64, error -71"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %p: device not accepting address %u, error %d",
	 "device not accepting", "all", "usb 1-1: device not accepting address 83, error -71"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %p: device not responding to setup address",
	 "device not responding", "all", "usb 2-1: device not responding to setup address."},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %p: unable to read config index",
	 "unable to read config", "all",
	 "usb 1-1: unable to read config index 0 descriptor/start: -71"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %p: can't set config", "can't set config", "all",
	 "usb 1-1: can't set config #1, error -110"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %T: unable to enumerate USB device",
	 "unable to enumerate", "3.9+", "usb usb2-port1: unable to enumerate USB device"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "hub %T: unable to enumerate USB device on port %d",
	 "unable to enumerate", "< 3.9", "hub 2-0:1.0: unable to enumerate USB device on port 1"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %T: attempt power cycle", "attempt power cycle",
	 "4.9+", "usb 1-1-port3: attempt power cycle"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %T: Cannot enable. Maybe the USB cable is bad?",
	 "Cannot enable.", "3.9+", "usb usb1-port2: Cannot enable. Maybe the USB cable is bad?"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "usb %T: connect-debounce failed", "connect-debounce",
	 "3.9+", "usb usb2-port1: connect-debounce failed"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "hub %T: connect-debounce failed, port %d disabled",
	 "connect-debounce", "< 3.9", "hub 1-0:1.0: connect-debounce failed, port 2 disabled"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP, "xhci_hcd %T: HC died; cleaning up", "HC died;", "3.x+",
	 "xhci_hcd 0000:00:04.0: HC died; cleaning up"},
	{CONSOLE_USB_ENUMERATION, NO_DUMP,
	 "xhci%*hcd %T: xHCI host not responding to stop endpoint", "host not responding", "all",
	 "xhci_hcd 0000:00:04.0: xHCI host not responding to stop endpoint command."},
	{CONSOLE_USB_ENUMERATION, NO_DUMP,
	 "xhci%*hcd %T: Timeout while waiting for setup device command", "Timeout while waiting",
	 "3.x+", "xhci-hcd ee000000.usb: Timeout while waiting for setup device command"},
	{CONSOLE_USB_OVER_CURRENT, NO_DUMP, "usb %T: over-current ", "over-current", "3.9+",
	 "usb usb1-port1: over-current condition"},
	{CONSOLE_USB_OVER_CURRENT, NO_DUMP, "hub %T: over-current ", "over-current", "all",
	 "hub 1-0:1.0: over-current condition on port 1"},
	/* block layer */
	{CONSOLE_IO_ERROR, NO_DUMP, "blk_update_request: %* error, dev %T, sector %d",
	 "error, dev ", "< 4.13, 5.3-5.15",
	 "blk_update_request: I/O error, dev sda, sector 67696 op 0x0:(READ) flags "
	 "0x80700 phys_seg 8 prio class 0"},
	{CONSOLE_IO_ERROR, NO_DUMP, "print_req_error: %* error, dev %T, sector %d", "error, dev ",
	 "4.13-5.2", "print_req_error: I/O error, dev sda, sector 67696"},
	{CONSOLE_IO_ERROR, NO_DUMP, "end_request: %* error, dev %T, sector %d", "error, dev ",
	 "< 3.18", "end_request: I/O error, dev sda, sector 67696"},
	{CONSOLE_IO_ERROR, NO_DUMP, "%* error, dev %T, sector %d op ", "error, dev ", "5.16+",
	 "device offline error, dev sda, sector 67696 op 0x0:(READ) flags 0x80700 phys_seg 8 prio "
	 "class 2"},
	{CONSOLE_IO_ERROR, NO_DUMP, "Buffer I/O error on dev %T, logical block", "Buffer I/O error",
	 "3.18+", "Buffer I/O error on dev sda1, logical block 8458, async page read"},
	{CONSOLE_IO_ERROR, NO_DUMP, "Buffer I/O error on device %T, logical block",
	 "Buffer I/O error", "< 3.18", "Buffer I/O error on device sda1, logical block 8458"},
	{CONSOLE_IO_ERROR, NO_DUMP, "lost page write due to I/O error on %T", "lost page write",
	 "< 4.x", "lost page write due to I/O error on sda1"},
	{CONSOLE_IO_ERROR, NO_DUMP,
	 "sd %*: [%T] Synchronize Cache(%d) failed: Result: ", "Synchronize Cache(", "4.x+",
	 "sd 2:0:0:0: [sda] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT "
	 "driverbyte=DRIVER_OK"},
	{CONSOLE_IO_ERROR, NO_DUMP,
	 "sd %*: [%T] Read Capacity(%d) failed: Result: ", "Read Capacity(", "all",
	 "sd 2:0:0:0: [sda] Read Capacity(10) failed: Result: hostbyte=DID_ERROR "
	 "driverbyte=DRIVER_OK"},
	{CONSOLE_IO_ERROR, NO_DUMP, "sd %*: [%T] %* FAILED Result: ", "FAILED Result:", "3.18+",
	 "sd 2:0:0:0: [sda] tag#0 FAILED Result: hostbyte=DID_ERROR driverbyte=DRIVER_OK "
	 "cmd_age=30s"},
	{CONSOLE_IO_ERROR, NO_DUMP, "sd %T: rejecting I/O to ", "rejecting I/O to", "all",
	 "sd 1:0:0:0: rejecting I/O to offline device"},
	{CONSOLE_IO_ERROR, NO_DUMP, "sd %*: [%T] Sense Key : Medium Error", "Sense Key : Medium",
	 "all", "sd 1:0:0:0: [sda] Sense Key : Medium Error [current]"},
	{CONSOLE_IO_ERROR, NO_DUMP, "nvme %T: I/O %* timeout, ", " timeout, ", "4.x+",
	 "nvme nvme0: I/O 12 QID 1 timeout, aborting"},
	/* file systems */
	{CONSOLE_FS_ERROR, 0, "EXT4-fs error (device %T):", "EXT4-fs ", "all",
	 "EXT4-fs error (device sda1): __ext4_find_entry:1663: inode #2: comm ls: reading directory "
	 "lblock 0"},
	{CONSOLE_FS_ERROR, NO_DUMP, "EXT4-fs warning (device %T):", "EXT4-fs ", "all",
	 "EXT4-fs warning (device sda1): ext4_end_bio:343: I/O error 10 writing to inode 12"},
	{CONSOLE_FS_ERROR, NO_DUMP, "EXT4-fs (%T): Remounting filesystem read-only", "EXT4-fs ",
	 "all", "EXT4-fs (sda1): Remounting filesystem read-only"},
	{CONSOLE_FS_ERROR, NO_DUMP, "EXT4-fs (%T): previous I/O error to superblock", "EXT4-fs ",
	 "all", "EXT4-fs (sda1): previous I/O error to superblock detected"},
	{CONSOLE_FS_ERROR, NO_DUMP, "EXT4-fs (%T): I/O error while writing superblock", "EXT4-fs ",
	 "all", "EXT4-fs (sda1): I/O error while writing superblock"},
	{CONSOLE_FS_ERROR, NO_DUMP, "EXT4-fs (%T): unable to read superblock", "EXT4-fs ", "all",
	 "EXT4-fs (sda1): unable to read superblock"},
	{CONSOLE_FS_ERROR, NO_DUMP, "EXT4-fs (%T): shut down requested", "EXT4-fs ", "6.7+",
	 "EXT4-fs (sda1): shut down requested (2)"},
	{CONSOLE_FS_ERROR, 0, "EXT3-fs error (device %T):", "EXT3-fs error", "< 4.3",
	 "EXT3-fs error (device sda1): ext3_find_entry: reading directory #2 offset 0"},
	{CONSOLE_FS_ERROR, NO_DUMP, "Aborting journal on device %T.", "Aborting journal", "all",
	 "Aborting journal on device sda1-8."},
	{CONSOLE_FS_ERROR, NO_DUMP,
	 "JBD2: Error %d detected when updating journal superblock for %T.", "updating journal",
	 "all", "JBD2: Error -5 detected when updating journal superblock for sda1-8."},
	{CONSOLE_FS_ERROR, NO_DUMP, "JBD2: I/O error when updating journal superblock for %T.",
	 "updating journal", "6.x+",
	 "JBD2: I/O error when updating journal superblock for sda1-8."},
	{CONSOLE_FS_ERROR, NO_DUMP, "FAT-fs (%T): Directory bread(block %d) failed", "FAT-fs (",
	 "all", "FAT-fs (sda1): Directory bread(block 32) failed"},
	{CONSOLE_FS_ERROR, NO_DUMP, "FAT-fs (%T): error, ", "FAT-fs (", "all",
	 "FAT-fs (sda1): error, fat_get_cluster: invalid cluster chain (i_pos 0)"},
	{CONSOLE_FS_ERROR, NO_DUMP, "FAT-fs (%T): FAT read failed", "FAT-fs (", "all",
	 "FAT-fs (sda1): FAT read failed (blocknr 2096)"},
	{CONSOLE_FS_ERROR, NO_DUMP, "FAT-fs (%T): unable to read ", "FAT-fs (", "all",
	 "FAT-fs (sda1): unable to read boot sector to mark fs as dirty"},
	{CONSOLE_FS_ERROR, NO_DUMP, "FAT-fs (%T): Filesystem has been set read-only", "FAT-fs (",
	 "all", "FAT-fs (sda1): Filesystem has been set read-only"},
	{CONSOLE_FS_ERROR, NO_DUMP, "FAT-fs (%T): Volume was not properly unmounted", "FAT-fs (",
	 "3.11+",
	 "FAT-fs (sda1): Volume was not properly unmounted. Some data may be corrupt. Please "
	 "run fsck."},
	{CONSOLE_FS_ERROR, NO_DUMP, "exFAT-fs (%T): error, ", "exFAT-fs (", "5.7+",
	 "exFAT-fs (sda1): error, failed to bmap (inode : 00000000 iblock : 0, err : -5)"},
	{CONSOLE_FS_ERROR, NO_DUMP, "XFS (%T): metadata I/O error", "XFS (", "all",
	 "XFS (sda1): metadata I/O error in \"xfs_trans_read_buf_map\" at daddr 0x80 len 32 error 5"},
	{CONSOLE_FS_ERROR, NO_DUMP, "XFS (%T): log I/O error", "XFS (", "all",
	 "XFS (sda1): log I/O error -5"},
	{CONSOLE_FS_ERROR, 0, "XFS (%T): %*hutting down filesystem", "XFS (", "all",
	 "XFS (sda1): Filesystem has been shut down due to log error (0x2): shutting down filesystem"},
	{CONSOLE_FS_ERROR, 0, "XFS (%T): Log I/O Error ", "XFS (", "5.15+",
	 "XFS (sda1): Log I/O Error (0x2) detected at xlog_ioend_work+0x8c/0xa0 [xfs].  Shutting down "
	 "filesystem."},
	{CONSOLE_FS_ERROR, NO_DUMP, "BTRFS error (device %T", "BTRFS error", "all",
	 "BTRFS error (device sda1): bdev /dev/sda1 errs: wr 1, rd 0, flush 0, corrupt 0, gen 0"},
	{CONSOLE_FS_ERROR, 0, "BTRFS: error (device %T", "BTRFS: error", "all",
	 "BTRFS: error (device sda1) in btrfs_commit_transaction:2377: errno=-5 IO failure"},
	{CONSOLE_FS_ERROR, NO_DUMP, "F2FS-fs (%T): ", "F2FS-fs (", "all",
	 "F2FS-fs (sda1): Remounting filesystem read-only"},
	/* the log itself */
	{CONSOLE_PRINTK_DROPPED, NO_DUMP, "** %n printk messages dropped **",
	 "printk messages dropped", "all", "** 1160 printk messages dropped **"},
	{CONSOLE_PRINTK_DROPPED, NO_DUMP, "** replaying previous printk message **",
	 "replaying previous printk", "6.11+", "** replaying previous printk message **"},
	{CONSOLE_PRINTK_DROPPED, NO_DUMP, "printk: %n messages suppressed.", "messages suppressed.",
	 "< 2.6.3x", "printk: 12 messages suppressed."},
	{CONSOLE_PRINTK_DROPPED, NO_DUMP, "%* Missed %n kernel messages", "Missed ", "journald",
	 "systemd-journald[301]: Missed 12 kernel messages"},
	{CONSOLE_PRINTK_DROPPED, COUNTED | NO_DUMP, "%T: %n callbacks suppressed",
	 "callbacks suppressed", "2.6.3x+", "blk_update_request: 19 callbacks suppressed"},
	{CONSOLE_INPUT_OVERRUN, NO_DUMP, "%T: %n input overrun(s)", "input overrun(s)", "all",
	 "ttyS ttyS0: 1 input overrun(s)"},
	{CONSOLE_CLOCK_UNSTABLE, NO_DUMP,
	 "clocksource: timekeeping watchdog on CPU%c: Marking clocksource '%T' as unstable",
	 "Marking clocksource", "4.x+",
	 "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the "
	 "skew is too large:"},
	{CONSOLE_CLOCK_UNSTABLE, NO_DUMP,
	 "clocksource: timekeeping watchdog: Marking clocksource '%T' "
	 "as unstable",
	 "Marking clocksource", "4.x",
	 "clocksource: timekeeping watchdog: Marking clocksource 'tsc' as unstable because the skew is "
	 "too large:"},
	{CONSOLE_CLOCK_UNSTABLE, NO_DUMP, "Clocksource %T unstable (delta = %d ns)", "Clocksource ",
	 "< 4.2", "Clocksource tsc unstable (delta = 4398046511103 ns)"},
	{CONSOLE_CLOCK_UNSTABLE, NO_DUMP, "tsc: Marking TSC unstable due to %T",
	 "Marking TSC unstable", "4.x+", "tsc: Marking TSC unstable due to clocksource watchdog"},
	/* the end of a boot */
	{CONSOLE_REBOOT, NO_DUMP, "reboot: %T", "reboot: ", "3.11+", "reboot: Restarting system"},
	{CONSOLE_REBOOT, STAMPED | NO_DUMP, "Restarting system", "Restarting system", "< 3.11",
	 "Restarting system."},
	{CONSOLE_REBOOT, NO_DUMP, "Rebooting in %n seconds", "Rebooting in ", "all",
	 "Rebooting in 5 seconds.."},
	{CONSOLE_REBOOT, NO_DUMP, "sysrq: Resetting", "sysrq: Resetting", "4.11+",
	 "sysrq: Resetting"},
	{CONSOLE_REBOOT, NO_DUMP, "SysRq : Resetting", "SysRq : Resetting", "< 4.11",
	 "SysRq : Resetting"},
	{CONSOLE_REBOOT, BARE | NO_DUMP, "U-Boot SPL %d", "U-Boot ", "firmware",
	 "U-Boot SPL 2023.01 (Jan 09 2023 - 16:07:33 +0000)"},
	{CONSOLE_REBOOT, BARE | NO_DUMP, "U-Boot %d", "U-Boot ", "firmware",
	 "U-Boot 2023.01 (Jan 09 2023 - 16:07:33 +0000)"},
	{CONSOLE_REBOOT, BARE | NO_DUMP, "NOTICE:  BL2: %T", "NOTICE:  BL", "firmware",
	 "NOTICE:  BL2: R-Car Gen3 Initial Program Loader(CA57)"},
	{CONSOLE_REBOOT, BARE | NO_DUMP, "NOTICE:  BL1: %T", "NOTICE:  BL", "firmware",
	 "NOTICE:  BL1: v2.5(release):v2.5"},
	{CONSOLE_REBOOT, BARE | NO_DUMP, "SeaBIOS (version ", "SeaBIOS (version", "firmware",
	 "SeaBIOS (version 1.16.2-debian-1.16.2-1)"},
	{CONSOLE_REBOOT, BARE | NO_DUMP, "OpenSBI v%d", "OpenSBI v", "firmware", "OpenSBI v1.1"},
	{CONSOLE_REBOOT, BARE | NO_DUMP, "coreboot-%T", "coreboot-", "firmware",
	 "coreboot-v1.9308_26_0.0.22-18310-gbd1d7ca Tue Jan 24 bootblock starting..."},
};

/* As special as possible: each of them is in no message of a healthy kernel. */
static const struct console_trace traces[] = {
	{CONSOLE_WORKQUEUE_LOCKUP, "lockup - pool"},
	{CONSOLE_WORKQUEUE_LOCKUP, "workqueue lockup"},
	{CONSOLE_SOFT_LOCKUP, "lockup - CPU#"},
	{CONSOLE_SOFT_LOCKUP, "BUG: soft"},
	{CONSOLE_WORKQUEUE_LOCKUP, "stuck for "},
	{CONSOLE_SOFT_LOCKUP, "soft lockup"},
	{CONSOLE_HARD_LOCKUP, "hard LOCKUP"},
	{CONSOLE_HARD_LOCKUP, "KUP on cpu"},
	{CONSOLE_HARD_LOCKUP, "dog detected hard"},
	{CONSOLE_HARD_LOCKUP, "Watchdog det"},
	{CONSOLE_RCU_STALL, "detected stall"},
	{CONSOLE_RCU_STALL, "INFO: rcu"},
	{CONSOLE_RCU_STALL, "stall on CPU"},
	{CONSOLE_RCU_STALL, "stalls on CPUs"},
	{CONSOLE_HUNG_TASK, "blocked for more than"},
	{CONSOLE_HUNG_TASK, "INFO: task "},
	{CONSOLE_PANIC, "Kernel panic"},
	{CONSOLE_PANIC, "syncing:"},
	{CONSOLE_OOPS, "Unable to handle kernel"},
	{CONSOLE_OOPS, "at virtual address"},
	{CONSOLE_OOPS, "Internal error: Oops"},
	{CONSOLE_OOPS, "kernel NULL pointer"},
	{CONSOLE_OOPS, "unable to handle page fault"},
	{CONSOLE_BUG, "kernel BUG at"},
	{CONSOLE_WARNING, "WARNING: CPU:"},
	{CONSOLE_SANITIZER, "BUG: KASAN"},
	{CONSOLE_SANITIZER, "BUG: KFENCE"},
	{CONSOLE_LOCKDEP, "locking dependency detected"},
};

const char *console_class_name(enum console_class cls)
{
	return (unsigned)cls < CONSOLE_CLASS_MAX ? classes[cls].name : "unknown";
}

bool console_class_parse(const char *name, enum console_class *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strcmp(classes[i].name, name) == 0) {
			*ret = (enum console_class)i;
			return true;
		}
	}
	return false;
}

enum console_severity console_class_severity(enum console_class cls)
{
	return (unsigned)cls < CONSOLE_CLASS_MAX ? classes[cls].severity : CONSOLE_INFO;
}

size_t console_rule_count(void)
{
	return ARRAY_SIZE(rules);
}

const struct console_rule *console_rule(size_t i)
{
	return &rules[i];
}

size_t console_trace_count(void)
{
	return ARRAY_SIZE(traces);
}

const struct console_trace *console_trace(size_t i)
{
	return &traces[i];
}
