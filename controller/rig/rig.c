/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig.c - one rig: lock, stick, machine, console, link and switch put together. */
#include "rig/rig.h"

#include "base/fdio.h"
#include "base/log.h"
#include "boot.h"
#include "boot_fault.h"
#include "bring_in.h"
#include "host_load.h"
#include "host_watch.h"
#include "lock.h"
#include "port.h"
#include "port_fault.h"
#include "power.h"
#include "stick.h"
#include "switch_target_port.h"

#include <string.h>

#define POWEROFF_NS  (20 * NSEC_PER_SEC)
#define PLUG_NS      (10 * NSEC_PER_SEC)
#define LAST_GASP_NS (2 * NSEC_PER_SEC)
#define AGENT_NS     (30 * NSEC_PER_SEC) /* from its start by a shell to its answer */
#define REBOOT_NS    NSEC_PER_SEC        /* an agent that lives answers in less */
#define QUIET_NS     (5 * NSEC_PER_SEC)  /* of a booting target, until it is asked */
#define HELLO_NS     (5 * NSEC_PER_SEC)  /* for an answer, however late user space was */

struct rig {
	const struct rig_cfg *cfg; /* not owned */
	struct waiter *w;          /* not owned */
	char *run_dir;
	rig_console_fn fn;
	void *self;
	struct rig_lock *lock;
	struct stick_image stick;
	char *initrd;              /* of the build that was prepared last; NULL = none … */
	struct target_files files; /* … but these go to its user space */
	void (*tell)(void *self, const char *text);
	void *tell_self;
	char *const *modules; /* the scenario's, beyond those of cfg; not owned */
	unsigned n_modules;
	char *const *programs; /* not owned, and so the disks */
	unsigned n_programs;
	const struct rig_disk *disks;
	unsigned n_disks;
	bool is_stick_writable;
	struct switch_wear wear;
	char *worn_stick; /* its name in errors */
	bool has_faults;
	struct rig_faults faults;
	struct switch_fault_state fault_state;
	struct rng console_rng, boot_rng;
	struct port_fault *port_fault;
	struct boot_fault *boot_fault;
	struct stick_switch *power; /* of a board, while it is booted or kept on */
	bool is_kept_on;            /* rig_keep_power() */
	/* of the machine at hand; all NULL while nothing is booted */
	const struct boot_ops *boot;
	void *machine;
	struct port *port;
	struct link *link;
	struct stick_switch *sw;
	struct host_watch *host_watch; /* NULL = not asked for, or the target is no emulator */
};

static const struct boot_ops *const boot_drivers[] = {&boot_qemu_ops, &boot_uboot_ops,
						      &boot_exec_ops};

const struct boot_ops *boot_find(const char *driver)
{
	for (size_t i = 0; i < ARRAY_SIZE(boot_drivers); i++)
		if (strcmp(boot_drivers[i]->driver, driver) == 0)
			return boot_drivers[i];
	return NULL;
}

int rig_open(const struct rig_cfg *cfg, struct waiter *w, const char *run_dir, nsec_t lock_wait_ns,
	     rig_console_fn fn, void *self, struct rig **ret, struct err *e)
{
	struct rig *rig = xcalloc(1, sizeof(*rig));
	int r;

	rig->cfg = cfg;
	rig->w = w;
	rig->run_dir = xstrdup(run_dir);
	rig->fn = fn;
	rig->self = self;
	rig->worn_stick = xasprintf("stick '%s'", cfg->stick.serial);
	r = lock_rig(cfg->name, w, lock_wait_ns, &rig->lock, e);
	if (r == 0)
		r = dir_make(run_dir, e);
	if (r == 0 && !rig_is_qemu(cfg)) {
		/* a stick that one can hold: what must be on it is said in its description */
		memcpy(rig->stick.sha256, cfg->stick.content_sha256, SHA256_HEX_SIZE);
	} else if (r == 0) {
		r = stick_ensure(cfg, w, &rig->stick, e);
		if (r < 0)
			(void)err_wrap(e, "rig '%s'", cfg->name);
	}
	if (r < 0) {
		rig_close(rig);
		return r;
	}
	*ret = rig;
	return 0;
}

static void on_link_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	(void)t_host_ns;
	link_feed(self, bytes, n);
}

/* Forgets the machine, which may still run. */
static void leave_machine(struct rig *rig)
{
	if (rig->port)
		port_drain(rig->port);
	boot_fault_free(take(rig->boot_fault));
	port_fault_free(take(rig->port_fault));
	switch_close(rig->sw);
	if (rig->port && rig->link)
		port_untap(rig->port, on_link_bytes, rig->link);
	link_close(rig->link);
	if (rig->machine)
		rig->boot->close(rig->machine);
	port_close(rig->port);
	rig->sw = NULL;
	rig->link = NULL;
	rig->port = NULL;
	rig->machine = NULL;
	rig->is_kept_on = false;
}

/* Ends whatever runs, without asking the target. Safe to repeat. */
static void end_machine(struct rig *rig)
{
	host_watch_free(take(rig->host_watch));
	if (rig->machine)
		rig->boot->stop(rig->machine);
	leave_machine(rig);
	/* where there was no machine any more to do it */
	power_cut(rig->w, rig->power);
	switch_close(take(rig->power));
}

void rig_close(struct rig *rig)
{
	int saved = errno;

	if (!rig)
		return;
	end_machine(rig);
	lock_release(rig->lock);
	stick_image_release(&rig->stick);
	free(rig->initrd);
	free(rig->worn_stick);
	target_files_release(&rig->files);
	free(rig->run_dir);
	free(rig);
	errno = saved;
}

void rig_set_faults(struct rig *rig, const struct rig_faults *faults)
{
	rig->has_faults = true;
	rig->faults = *faults;
	switch_fault_init(&rig->fault_state, &faults->stick_switch);
	rng_init(&rig->console_rng, faults->console.seed);
	rng_init(&rig->boot_rng, faults->boot.seed);
}

void rig_set_wear(struct rig *rig, const struct switch_wear *wear)
{
	rig->wear = *wear;
}

const struct switch_fault_state *rig_switch_fault_state(const struct rig *rig)
{
	return rig->has_faults ? &rig->fault_state : NULL;
}

static bool has_own_switch(const struct rig *rig)
{
	return switch_cfg_is_standalone(&rig->cfg->stick_switch);
}

static bool machine_switch(const struct rig *rig, const struct switch_ops **ret_ops,
			   void **ret_self)
{
	return rig->boot->make_switch && rig->boot->make_switch(rig->machine, ret_ops, ret_self);
}

/* Where the target is in QEMU, the machine's own switch plugs the stick in, once. */
static void make_soft_switch(struct rig *rig, const struct switch_ops **ret_ops, void **ret_self)
{
	const struct switch_ops *plug_ops = NULL;
	void *plug = NULL;

	if (!machine_switch(rig, &plug_ops, &plug))
		plug_ops = NULL;
	switch_target_port_new(rig->link, rig->cfg->stick.usb_path, plug_ops, plug, rig->w, ret_ops,
			       ret_self);
}

static int make_switch(struct rig *rig, struct err *e)
{
	struct switch_limits limits;
	const struct switch_ops *ops;
	void *self;

	switch_cfg_limits(&rig->cfg->stick_switch, &limits);
	limits.cycles_before = rig->wear.switch_cycles;
	if (rig->wear.stick_cycles > rig->wear.switch_cycles) {
		limits.cycles_before = rig->wear.stick_cycles;
		limits.worn = rig->worn_stick;
	}
	if (has_own_switch(rig)) {
		int r = switch_cfg_open(&rig->cfg->stick_switch, lock_fd(rig->lock), rig->w, &ops,
					&self, e);

		if (r < 0)
			return err_wrap(e, "switch '%s'", rig->cfg->stick_switch.name);
	} else if (switch_cfg_is_soft(&rig->cfg->stick_switch)) {
		make_soft_switch(rig, &ops, &self);
	} else {
		if (!machine_switch(rig, &ops, &self))
			return err_set(e, ERR_CONFIG, ENOTSUP,
				       "%s: a target booted by '%s' has no switch '%s' of its own",
				       rig->cfg->path, rig->cfg->boot.driver,
				       rig->cfg->stick_switch.driver);
	}
	if (rig->has_faults)
		switch_fault_wrap(&ops, &self, &rig->faults.stick_switch, &rig->fault_state,
				  rig->w);
	rig->sw = switch_new(rig->cfg->stick_switch.name, ops, self, &limits, rig->w);
	return 0;
}

/* A switch of its own is there before its target: the stick is unplugged while that boots. */
static int unplug_first(struct rig *rig, struct err *e)
{
	int r;

	if (!has_own_switch(rig))
		return 0;
	r = make_switch(rig, e);
	if (r < 0)
		return r;
	rig->fault_state.is_armed = false;
	return switch_set(rig->sw, SWITCH_OFF, waiter_now(rig->w) + PLUG_NS, NULL, e);
}

static bool machine_ended(void *self)
{
	struct rig *rig = self;

	return rig->boot->state(rig->machine, NULL) != BOOT_RUNS;
}

/* No answer from the agent: whose fault is it? e holds what the link said. */
static int blame(struct rig *rig, struct err *e)
{
	auto_free char *how = NULL;
	struct err link_said = *e;
	enum boot_state state;

	if (e->kind == ERR_STOPPED)
		return -e->code;
	/* the link hangs up a little before the process has ended */
	if (e->code != ETIMEDOUT &&
	    waiter_until(rig->w, waiter_now(rig->w) + LAST_GASP_NS, machine_ended, rig, e) < 0)
		return -e->code;
	state = rig->boot->state(rig->machine, &how);
	if (rig->port)
		port_drain(rig->port);
	if (state == BOOT_ENDED)
		return err_set(e, ERR_RIG, ECHILD, "%s before the agent answered", how);
	if (state == BOOT_ENDED_BY_TARGET)
		return err_set(e, ERR_KERNEL, ECHILD, "%s before the agent answered", how);
	if (link_said.code == ETIMEDOUT && !rig->boot->awaits_user_space && !rig->cfg->login)
		return err_set(e, ERR_KERNEL, ETIMEDOUT,
			       "no answer from the agent within %u s (%llu console bytes came)",
			       rig->cfg->boot.timeout_s,
			       (unsigned long long)port_stats(rig->port)->bytes);
	*e = link_said;
	return -e->code;
}

/* How the agent in the initramfs is told to find its link. Caller frees. */
static char *agent_link(const struct rig_cfg *cfg)
{
	return strcmp(cfg->link.driver, "console") == 0 ? xasprintf("/dev/%s", cfg->console.device)
							: xstrdup("virtio:org.stallrig.agent");
}

static bool send_in_band(void *self, const char *frame, size_t n)
{
	struct rig *rig = self;

	/* what the line has not taken yet must not pile up behind it */
	return port_is_sent(rig->port) && port_write(rig->port, frame, n, NULL) == 0;
}

static int open_port(struct rig *rig, struct err *e)
{
	const struct port_cfg cfg = port_cfg_of(rig->cfg);
	int fd = rig->boot->console_fd ? rig->boot->console_fd(rig->machine) : -1;

	if (fd < 0)
		return port_open(rig->w, &cfg, rig->fn, rig->self, &rig->port, e);
	return port_open_fd(rig->w, fd, rig->fn, rig->self, &rig->port, e);
}

void rig_set_progress(struct rig *rig, void (*fn)(void *self, const char *text), void *self)
{
	rig->tell = fn;
	rig->tell_self = self;
}

char *rig_probe_dir(const struct rig *rig)
{
	return xasprintf("%s/probe", rig->cfg->login ? rig->cfg->login->folder : "");
}

static struct bring_in bring_in_of(const struct rig *rig)
{
	return (struct bring_in){
		.w = rig->w,
		.port = rig->port,
		.rig = rig->cfg,
		.files = &rig->files,
		.tell = rig->tell,
		.self = rig->tell_self,
	};
}

/* The agent's first answer. */
static int meet_agent(struct rig *rig, nsec_t deadline_ns, struct err *e)
{
	const struct bring_in b = bring_in_of(rig);
	const nsec_t least_ns = waiter_now(rig->w) + HELLO_NS;
	int r;

	if (deadline_ns < least_ns)
		deadline_ns = least_ns;
	if (rig->cfg->login) {
		r = bring_in_agent(&b, e);
		if (r < 0)
			return r;
		/* the console's own pace is the limit now, and the agent is there already */
		deadline_ns = waiter_now(rig->w) + AGENT_NS;
	}
	r = link_hello(rig->link, deadline_ns, e);
	if (r < 0)
		return blame(rig, e);
	return rig->cfg->login ? bring_in_modules(&b, rig->link, e) : 0;
}

static int open_link(struct rig *rig, struct err *e)
{
	const struct link_io io = {.send = send_in_band, .self = rig};
	int fd = rig->boot->link_fd ? rig->boot->link_fd(rig->machine) : -1;

	if (strcmp(rig->cfg->link.driver, "console") != 0)
		return link_open(rig->w, fd, &rig->link, e);
	rig->link = link_new_over(rig->w, &io);
	return port_tap(rig->port, on_link_bytes, rig->link, e);
}

/* The agent says that it is there, or a login is given cause to prompt again. */
static int ask_target(void *self, nsec_t until_ns, struct err *e)
{
	struct rig *rig = self;
	struct err why = {0};
	int r;

	if (rig->cfg->login) {
		/* a port that is lost takes nothing */
		(void)!port_write(rig->port, "\r", 1, NULL);
		return 0;
	}
	r = link_hello(rig->link, until_ns, &why);
	if (r < 0 && why.kind == ERR_STOPPED) {
		*e = why;
		return r;
	}
	return r >= 0;
}

static int meet_boot_faults(struct rig *rig, nsec_t deadline_ns, struct err *e)
{
	const struct boot_fault_io io = {
		.w = rig->w, .port = rig->port, .stop = rig->boot->stop, .self = rig->machine};

	return boot_fault_meet(&rig->faults.boot, &rig->boot_rng, &io, deadline_ns,
			       &rig->boot_fault, e);
}

/* On a board each boot begins with the power off, unless it is to keep what is in its RAM. */
static int ready_power(struct rig *rig, struct err *e)
{
	if (!rig->cfg->power || rig->power)
		return 0;
	return power_open(rig->w, rig->cfg, lock_fd(rig->lock), &rig->power, e);
}

static int start(struct rig *rig, const struct kernel_build *k, const char *initrd,
		 const char *append, bool is_warm, struct err *e)
{
	const nsec_t deadline_ns =
		waiter_now(rig->w) + (nsec_t)rig->cfg->boot.timeout_s * NSEC_PER_SEC;
	auto_free char *kernel = xasprintf("%s/image", k->dir);
	auto_free char *command_line =
		xasprintf("console=%s %s%s%s", rig->cfg->console.device, rig->cfg->boot.append,
			  append && *append ? " " : "", append ? append : "");
	struct boot_cfg cfg = {
		.rig = rig->cfg,
		.build = k,
		.kernel = kernel,
		.initrd = initrd,
		.stick = rig->stick.path,
		.is_stick_writable = rig->is_stick_writable,
		.command_line = command_line,
		.ask = {.fn = ask_target, .self = rig, .quiet_ns = QUIET_NS},
		.run_dir = rig->run_dir,
		.is_warm = is_warm,
		.disks = rig->disks,
		.n_disks = rig->n_disks,
	};
	int r;

	r = unplug_first(rig, e);
	if (r == 0)
		r = ready_power(rig, e);
	cfg.power = rig->power;
	if (r == 0)
		r = rig->boot->start(rig->w, &cfg, &rig->machine, e);
	if (r < 0)
		return r;
	r = open_port(rig, e);
	if (r == 0)
		r = open_link(rig, e);
	if (r == 0 && rig->has_faults)
		r = meet_boot_faults(rig, deadline_ns, e);
	if (r == 0)
		r = rig->boot->run(rig->machine, rig->port, deadline_ns, e);
	if (r < 0)
		return r;
	if (!rig->sw)
		r = make_switch(rig, e);
	if (r < 0)
		return r;
	r = meet_agent(rig, deadline_ns, e);
	if (r < 0)
		return r;
	boot_fault_free(take(rig->boot_fault));
	/* faults are for the changes that a trial makes, not for its preparation */
	rig->fault_state.is_armed = false;
	r = switch_set(rig->sw, SWITCH_ON, waiter_now(rig->w) + PLUG_NS, NULL, e);
	rig->fault_state.is_armed = true;
	if (r == 0 && rig->has_faults)
		rig->port_fault =
			port_fault_new(rig->port, &rig->faults.console, &rig->console_rng, rig->w);
	return r;
}

void rig_need_modules(struct rig *rig, char *const *names, unsigned n)
{
	rig->modules = names;
	rig->n_modules = n;
}

void rig_need_programs(struct rig *rig, char *const *names, unsigned n)
{
	rig->programs = names;
	rig->n_programs = n;
}

int rig_need_disks(struct rig *rig, const struct rig_disk *disks, unsigned n, struct err *e)
{
	if (n && !rig_is_qemu(rig->cfg))
		return err_set(e, ERR_CONFIG, ENOTSUP,
			       "%s: only a target in QEMU gets disks such as '%s'", rig->cfg->path,
			       disks[0].name);
	rig->disks = disks;
	rig->n_disks = n;
	return 0;
}

int rig_need_writable_stick(struct rig *rig, struct err *e)
{
	if (!rig_is_qemu(rig->cfg))
		return err_set(e, ERR_CONFIG, ENOTSUP,
			       "%s: only on a target in QEMU the stick may be written to: what a "
			       "real one loses would be missing the next time",
			       rig->cfg->path);
	rig->is_stick_writable = true;
	return 0;
}

int rig_throttle_disk(struct rig *rig, const char *disk, unsigned write_iops, struct err *e)
{
	bool is_there = false;

	for (unsigned i = 0; i < rig->n_disks; i++)
		is_there |= strcmp(rig->disks[i].name, disk) == 0;
	if (!is_there || !rig->machine || !rig->boot->throttle)
		return err_set(e, ERR_CONFIG, ENODEV, "rig '%s' has no disk '%s'", rig->cfg->name,
			       disk);
	return rig->boot->throttle(rig->machine, disk, write_iops, e);
}

/* Module words begin with the name; parameters may follow. */
static bool is_same_module(const char *a, const char *b)
{
	size_t n = strcspn(a, " ");

	return strcspn(b, " ") == n && memcmp(a, b, n) == 0;
}

static void add_module(const char **list, unsigned *n, const char *module)
{
	for (unsigned i = 0; i < *n; i++)
		if (is_same_module(list[i], module))
			return;
	list[(*n)++] = module;
}

/*
 * The rig's modules, then those of the scenario and the stick's file system if they are not among
 * them; NULL-terminated.
 */
static const char **module_list(const struct rig *rig)
{
	const unsigned n_own = rig->cfg->boot.modules_count;
	const char **list = xcalloc(n_own + rig->n_modules + 2, sizeof(*list));
	unsigned n = 0;

	for (; n < n_own; n++)
		list[n] = rig->cfg->boot.modules[n];
	for (unsigned i = 0; i < rig->n_modules; i++)
		add_module(list, &n, rig->modules[i]);
	add_module(list, &n, rig->cfg->stick.filesystem);
	return list;
}

int rig_prepare(struct rig *rig, const struct kernel_build *k, struct err *e)
{
	const struct kernels_ctx kernels = {.w = rig->w};
	const struct rig_cfg *cfg = rig->cfg;
	auto_free const char **modules = module_list(rig);
	auto_free const char **programs = xcalloc(rig->n_programs + 1, sizeof(*programs));
	auto_free char *agent = agent_link(cfg);
	const struct target_image_cfg image = {
		.kernel = k, .modules = modules, .link = agent, .programs = programs};
	auto_free char *initrd = NULL;
	int r;

	for (unsigned i = 0; i < rig->n_programs; i++)
		programs[i] = rig->programs[i];
	if (strcmp(k->arch, cfg->arch) != 0)
		return err_set(e, ERR_USAGE, EINVAL, "kernel '%s' is for %s, rig '%s' is %s",
			       k->name, k->arch, cfg->name, cfg->arch);
	rig->boot = boot_find(cfg->boot.driver);
	if (!rig->boot)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: boot driver '%s' is not known",
			       cfg->path, cfg->boot.driver);
	r = rig->boot->check ? rig->boot->check(rig->w, cfg, e) : 0;
	if (r < 0)
		return err_wrap(e, "rig '%s'", cfg->name);
	target_files_release(&rig->files);
	if (cfg->login) {
		initrd = cfg->boot.initrd ? xstrdup(cfg->boot.initrd) : NULL;
		r = target_files_collect(&kernels, &image, &rig->files, e);
	} else {
		r = target_image_ensure(&kernels, &image, &initrd, e);
	}
	if (r < 0)
		return err_wrap(e, "kernel '%s'", k->name);
	if (cfg->login && initrd && access(initrd, R_OK) < 0)
		return err_errno(e, ERR_CONFIG, errno, "%s: boot.initrd: %s", cfg->path, initrd);
	util_free(rig->initrd);
	rig->initrd = take(initrd);
	return 0;
}

int rig_boot(struct rig *rig, const struct kernel_build *k, const char *append, struct err *e)
{
	const int64_t waited_us = host_load_wait_us();
	const nsec_t t0 = waiter_now(rig->w);
	const bool is_warm = rig->is_kept_on;
	int r;

	if (rig->machine && !is_warm)
		return err_set(e, ERR_INTERNAL, EBUSY, "rig '%s' is booted already",
			       rig->cfg->name);
	r = rig_prepare(rig, k, e);
	if (r < 0)
		return r;
	if (is_warm)
		leave_machine(rig);
	r = start(rig, k, rig->initrd, append, is_warm, e);
	if (r < 0) {
		if (rig_is_qemu(rig->cfg))
			r = host_load_blame(host_load_pct(waited_us, host_load_wait_us(),
							  waiter_now(rig->w) - t0),
					    e);
		(void)err_wrap(e, "rig '%s', kernel '%s'", rig->cfg->name, k->name);
		if (rig->machine && e->kind == ERR_KERNEL && rig_loses_records(rig->cfg))
			rig->is_kept_on = true;
		else
			end_machine(rig);
	}
	return r;
}

void rig_keep_power(struct rig *rig)
{
	const struct uboot_cfg *uboot = rig->cfg->boot.uboot;
	struct err ignored = {0};

	if (!rig->machine || !rig_loses_records(rig->cfg) || rig->is_kept_on)
		return;
	rig->is_kept_on = true;
	/* one reset is enough: a kernel that comes up in between may overwrite what is there */
	if (uboot && !uboot->reset && rig->link && !machine_ended(rig) &&
	    link_call(rig->link, REBOOT_NS, NULL, &ignored, "reboot") < 0)
		log_debug(LOG_RIG, "reboot: %s", ignored.text);
}

int rig_shutdown(struct rig *rig, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	struct err ignored = {0};
	int r;

	if (!rig->machine)
		return 0;
	/* one that was kept on has crashed, or was asked to reboot */
	if (!rig->is_kept_on && !machine_ended(rig)) {
		/* no answer is an answer too: then the machine is ended from outside */
		r = link_call(rig->link, POWEROFF_NS, &reply, &ignored, "poweroff");
		if (r < 0)
			log_debug(LOG_RIG, "poweroff: %s", ignored.text);
		else
			(void)!waiter_until(rig->w, waiter_now(rig->w) + POWEROFF_NS, machine_ended,
					    rig, &ignored);
	}
	end_machine(rig);
	/* only a stop is the caller's business: the target is down in any case */
	if (ignored.kind == ERR_STOPPED) {
		if (e)
			*e = ignored;
		return -ignored.code;
	}
	return 0;
}

struct link *rig_link(struct rig *rig)
{
	return rig->link;
}

struct stick_switch *rig_switch(struct rig *rig)
{
	return rig->sw;
}

bool rig_is_running(struct rig *rig, char **ret_how)
{
	if (!rig->machine) {
		if (ret_how)
			*ret_how = xstrdup("nothing is booted");
		return false;
	}
	if (rig->boot->state(rig->machine, ret_how) == BOOT_RUNS)
		return true;
	port_drain(rig->port);
	return false;
}

int rig_watch_host(struct rig *rig, struct err *e)
{
	pid_t pid = rig->machine && rig->boot->process ? rig->boot->process(rig->machine) : 0;

	host_watch_free(take(rig->host_watch));
	return pid > 0 ? host_watch_start(rig->w, pid, &rig->host_watch, e) : 0;
}

int64_t rig_host_wait_us(struct rig *rig, int64_t stretch_us)
{
	int64_t us = rig->host_watch ? host_watch_worst_us(rig->host_watch, stretch_us) : -1;

	host_watch_free(take(rig->host_watch));
	return us;
}

uint64_t rig_console_losses(const struct rig *rig)
{
	return rig->port ? port_stats(rig->port)->losses : 0;
}

const char *rig_stick_sha256(const struct rig *rig)
{
	return rig->stick.sha256;
}
