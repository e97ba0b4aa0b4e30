/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rig.h - one target with its fixtures: description (rig.yaml), lock, boot, console, agent link
 * and switch.
 */
#pragma once

#include "kernels/kernels.h"
#include "rig/faults.h"
#include "rig/hook_cfg.h"
#include "rig/link.h"
#include "rig/login_cfg.h"
#include "rig/switch_cfg.h"
#include "rig/uboot_cfg.h"

/* A second stick with the same content, which is plugged into a target in QEMU and never cut alone.
 */
struct rig_neighbour {
	char *serial;
	char *usb_path;
	struct switch_cfg sw; /* name and ports; the rest is not used */
};

/* What is described in fixtures/rigs/NAME.yaml; see stallrig-rig(5). */
struct rig_cfg {
	char *path; /* of the YAML file */
	char *name;
	char *arch;      /* "x86_64", "arm64" */
	char *rig_class; /* "virtual" or "board": results of different classes are never compared */
	char *golden_kernel; /* known to pass here, for `stallrig check`; "" = none */
	char **tags;         /* words by which plans choose rigs */
	unsigned tags_count;
	struct {
		char *driver;      /* "qemu", "uboot", "exec" */
		unsigned attempts; /* boots in a row that may fail before the run ends */
		char *machine; /* -M, e.g. "q35", "virt"; NULL = not QEMU, and so the next two */
		char *cpu;     /* -cpu */
		unsigned memory_mib; /* -m */
		unsigned cpus;       /* of the target; QEMU: -smp */
		char *append;        /* kernel command line, without the scenario's additions */
		char *pstore;        /* where a crashed kernel's records are kept: "nvram", "ram"
					(gone with the power); NULL = nowhere */
		unsigned timeout_s;  /* from start to the agent's answer, or to a login prompt */
		char *initrd; /* a user space of the lab's own that boots to a login; NULL = with a
				 login: the target's root file system, else the product's */
		char **modules; /* loaded by the initramfs in this order */
		unsigned modules_count;
		struct uboot_cfg *uboot; /* NULL unless driver is "uboot" */
		struct hook_cfg *exec;   /* NULL unless driver is "exec" */
	} boot;
	struct {
		char *driver;        /* "socket", "serial" */
		char *address;       /* see port.h; NULL = QEMU's own */
		char *device;        /* name in console=, e.g. "ttyS0" */
		unsigned baud;       /* 0 = no line rate (virtual) */
		char *flow;          /* serial: "none", "rtscts", "xonxoff" */
		unsigned tx_byte_us; /* at least this long from byte to byte that is sent */
	} console;
	struct {
		char *driver; /* "virtio-serial", "console" */
	} link;
	struct login_cfg *login;  /* NULL = the agent is in the initramfs that is made here */
	struct switch_cfg *power; /* of a board; NULL in QEMU */
	struct switch_cfg stick_switch;
	struct {
		char *serial;         /* USB serial number that the target must see */
		char *usb_path;       /* "2-1": the port as the kernel names it */
		char *filesystem;     /* "ext4", "vfat", "exfat" */
		unsigned size_mib;    /* of the stick */
		unsigned file_mib;    /* of the file that is read */
		char *file;           /* its name on the stick */
		char *content_sha256; /* expected, "" = computed when the image is made */
	} stick;
	struct rig_neighbour *neighbour; /* the second of `sticks`; NULL = none */
};

/*
 * Loads "virtual-x86" (path_data("fixtures/rigs/virtual-x86.yaml"), or $STALLRIG_RIGS) or a path to
 * a YAML file. ERR_CONFIG with file:line:column for what is wrong in it; ERR_USAGE for a name that
 * does not exist, with the names that do.
 */
int rig_cfg_load(const char *name_or_path, struct rig_cfg **ret, struct err *e) must_check;
void rig_cfg_free(struct rig_cfg *cfg);
DEFINE_AUTO(rig_cfg, struct rig_cfg *, rig_cfg_free)
#define auto_rig_cfg AUTO(rig_cfg)

/* Whether the target is a QEMU that this program starts. */
bool rig_is_qemu(const struct rig_cfg *cfg);

/* Whether what a crashed kernel left in its persistent store goes with the power. */
bool rig_loses_records(const struct rig_cfg *cfg);

/* Whether the second stick is behind the hub that is cut. */
bool rig_cuts_neighbour(const struct rig_cfg *cfg);

struct rig;

/* Every console byte, as it came. */
typedef void (*rig_console_fn)(void *self, const void *bytes, size_t n, nsec_t t_host_ns);

/*
 * Takes the rig's lock (flock in path_state("locks"); lock_wait_ns 0 = do not wait:
 * ERR_USAGE/-EBUSY with the pid and command of who holds it) and makes the stick image if need be
 * (seconds, once). cfg must live longer. fn is called from inside waits; it must not wait itself.
 */
int rig_open(const struct rig_cfg *cfg, struct waiter *w, const char *run_dir, nsec_t lock_wait_ns,
	     rig_console_fn fn, void *self, struct rig **ret, struct err *e) must_check;
/* Ends the target (kill if it must be), leaves switches in their safe state, unlocks. NULL is fine.
 */
void rig_close(struct rig *rig);

/*
 * From the next boot on, the rig misbehaves by chance (see faults.h): for tests and
 * `run --faults`. *faults is copied.
 */
void rig_set_faults(struct rig *rig, const struct rig_faults *faults);
/* What the switch met so far; NULL without faults. Belongs to the rig. */
const struct switch_fault_state *rig_switch_fault_state(const struct rig *rig);

/* What counts against max_cycles from the next boot on. Without it, only the cuts of one boot do.
 */
void rig_set_wear(struct rig *rig, const struct switch_wear *wear);

/* A disk of a virtual target: empty at each boot. */
struct rig_disk {
	char *name;   /* of the disk; its serial number on the target */
	char *driver; /* "nvme" or "virtio-blk" */
	unsigned size_mib;
};

/*
 * What the target has beyond its description: disks, and programs of this machine in its initramfs
 * (see target_image_cfg). All must outlive the rig. ERR_CONFIG if the rig cannot have them: only a
 * target in QEMU gets disks, only one whose initramfs is made here gets programs.
 */
int rig_need_disks(struct rig *rig, const struct rig_disk *disks, unsigned n,
		   struct err *e) must_check;
void rig_need_programs(struct rig *rig, char *const *names, unsigned n);
/*
 * From now on the disk completes no more than write_iops writes in a second; 0 = as many as it can.
 * Nothing on the target takes part in that. ERR_CONFIG if there is no such disk.
 */
int rig_throttle_disk(struct rig *rig, const char *disk, unsigned write_iops,
		      struct err *e) must_check;

/*
 * From the next boot on the stick can be written to. In QEMU what is written is gone with the boot.
 * ERR_CONFIG for another target: what it writes would stay.
 */
int rig_need_writable_stick(struct rig *rig, struct err *e) must_check;

/* One short line for a person while a boot takes its time: what goes over the console. */
void rig_set_progress(struct rig *rig, void (*fn)(void *self, const char *text), void *self);

/* The folder with the probe modules on the target. Caller frees. */
char *rig_probe_dir(const struct rig *rig);

/* Kernel modules that the target loads beyond cfg->boot.modules; names must outlive the rig. */
void rig_need_modules(struct rig *rig, char *const *names, unsigned n);

/*
 * What can be known before power is switched on: the build is for this arch, the boot method's
 * programs are installed (else ERR_RIG/-ENOENT naming program and package), the build has what the
 * rig needs (else ERR_KERNEL). Makes the initramfs if need be; rig_boot() does it by itself too.
 */
int rig_prepare(struct rig *rig, const struct kernel_build *k, struct err *e) must_check;

/*
 * Boots the kernel build with cfg->boot.append + append and waits until the agent answers.
 * ERR_RIG: QEMU missing or ended by itself, or (-EAGAIN) an emulated target did not come up on a
 * host that had too few processors free to tell why; ERR_KERNEL: no answer within boot.timeout_s
 * although the machine runs, or the kernel reset or powered off the machine before that; ERR_USAGE:
 * the build is for another arch. The stick is plugged in afterwards. On failure nothing is left
 * booted, unless the kernel failed and rig_loses_records(): then as after rig_keep_power().
 */
int rig_boot(struct rig *rig, const struct kernel_build *k, const char *append,
	     struct err *e) must_check;
/*
 * Asks the agent to power off, waits up to 20 s, then ends the machine from outside, which is no
 * error. Only a stop signal is one (ERR_STOPPED); the machine is down then too.
 */
int rig_shutdown(struct rig *rig, struct err *e) must_check;
/*
 * Instead of rig_shutdown(), of a target that crashed and rig_loses_records(): its power stays on,
 * and the next rig_boot() begins with a reset where it would begin with the power off. If no
 * command of the lab does that, the agent, should it be alive, is asked to reboot, which takes up
 * to a second. rig_shutdown() and rig_close() cut the power. Does nothing with another target.
 */
void rig_keep_power(struct rig *rig);

/* NULL while nothing is booted. */
struct link *rig_link(struct rig *rig);
/* NULL while nothing is booted. */
struct stick_switch *rig_switch(struct rig *rig);
/* False once the machine has ended; how it ended goes to ret_how (may be NULL; caller frees). */
bool rig_is_running(struct rig *rig, char **ret_how);
/*
 * How often the other end of the console went away since this boot began: bytes may be missing
 * there. 0 while nothing is booted.
 */
uint64_t rig_console_losses(const struct rig *rig);
/*
 * From now on to rig_host_wait_us() it is noted for how long this host keeps an emulated target
 * waiting for a processor, all its threads together. Does nothing if the target is a machine of its
 * own. -ENOSPC (ERR_INTERNAL) without room for a timer.
 */
int rig_watch_host(struct rig *rig, struct err *e) must_check;
/*
 * The most of it that fell into any stretch_us of that time, as an upper bound: what took so long
 * on the target would have taken at most so much less. Ends the watch. -1 if it is not known.
 */
int64_t rig_host_wait_us(struct rig *rig, int64_t stretch_us);
/* Of the file on the stick, lower-case hex. Belongs to the rig. */
const char *rig_stick_sha256(const struct rig *rig);
