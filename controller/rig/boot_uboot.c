/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot_uboot.c - a target that is booted by U-Boot: catch it, fetch kernel, initramfs and device
 * tree over the network, start, and watch how far the kernel comes.
 *
 * The environment is set for this boot only, nothing is ever saved on the board. The board is QEMU
 * (boot.uboot.firmware) or a real one. Where it stopped decides whose fault it was: up to "Starting
 * kernel" it is the bench's (unless U-Boot refuses the image), from there on the kernel's.
 */
#include "boot.h"

#include "base/child.h"
#include "base/fdio.h"
#include "base/log.h"
#include "lab_command.h"
#include "power.h"
#include "uboot.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define FETCH_TRIES 2
#define MKIMAGE_NS  (120 * NSEC_PER_SEC)
#define RESET_NS    (120 * NSEC_PER_SEC)

/* A file that the boot loader fetches. */
struct served {
	char *name; /* as the server knows it */
	uint64_t bytes;
};

struct uboot {
	struct waiter *w;
	const struct rig_cfg *rig;
	const struct uboot_cfg *cfg;
	struct boot_cfg boot; /* valid until the end of run() */
	char *folder;
	struct served kernel, initrd, dtb;
	char *dtb_path;
	void *qemu;                 /* NULL = a board … */
	struct stick_switch *power; /* … with this, not owned */
	struct port *port;          /* from run() on */
	struct kernel_watch watch;
};

/* --- files that are fetched ---------------------------------------------------------------- */

/* Copies a file into the server's folder; it appears there complete or not at all. */
static int serve_file(struct uboot *b, const char *from, const char *name, struct served *ret,
		      struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", b->folder, name);
	auto_free char *tmp = xasprintf("%s.tmp", path);
	struct stat st;
	int r;

	r = file_copy(from, tmp, e);
	if (r < 0)
		return err_rekind(e, ERR_RIG);
	if (stat(tmp, &st) < 0 || rename(tmp, path) < 0) {
		r = err_errno(e, ERR_RIG, errno, "%s", path);
		(void)unlink(tmp);
		return r;
	}
	free(ret->name);
	ret->name = b->cfg->prefix ? xasprintf("%s/%s", b->cfg->prefix, name) : xstrdup(name);
	ret->bytes = (uint64_t)st.st_size;
	return 0;
}

/* An absolute path, or a device tree that came with the kernel build. */
static int find_dtb(struct uboot *b, struct err *e)
{
	if (!b->cfg->dtb)
		return 0;
	b->dtb_path = *b->cfg->dtb == '/'
			      ? xstrdup(b->cfg->dtb)
			      : xasprintf("%s/dtbs/%s", b->boot.build->dir, b->cfg->dtb);
	if (access(b->dtb_path, R_OK) < 0)
		return err_errno(e, *b->cfg->dtb == '/' ? ERR_RIG : ERR_KERNEL, errno,
				 "device tree %s", b->dtb_path);
	return 0;
}

static void add_fit_image(struct strbuf *s, const char *node, const char *path, const char *type,
			  const char *rest)
{
	strbuf_addf(s,
		    "\t\t%s {\n\t\t\tdata = /incbin/(\"%s\");\n\t\t\ttype = \"%s\";\n"
		    "\t\t\tarch = \"arm64\";\n\t\t\tcompression = \"none\";\n%s"
		    "\t\t\thash { algo = \"crc32\"; };\n\t\t};\n",
		    node, path, type, rest);
}

/* The image tree source of a FIT with kernel and, if they are there, initramfs and device tree. */
static char *fit_source(const struct uboot *b, const char *load, const char *kernel)
{
	static const char linux_os[] = "\t\t\tos = \"linux\";\n";
	auto_free char *where =
		xasprintf("%s\t\t\tload = <%s>;\n\t\t\tentry = <%s>;\n", linux_os, load, load);
	auto_strbuf struct strbuf s = STRBUF_INIT;

	strbuf_adds(&s, "/dts-v1/;\n/ {\n\tdescription = \"stallrig\";\n\t#address-cells = <1>;\n"
			"\timages {\n");
	add_fit_image(&s, "kernel", kernel, "kernel", where);
	if (b->boot.initrd)
		add_fit_image(&s, "ramdisk", b->boot.initrd, "ramdisk", linux_os);
	if (b->dtb_path)
		add_fit_image(&s, "fdt", b->dtb_path, "flat_dt", "");
	strbuf_addf(&s,
		    "\t};\n\tconfigurations {\n\t\tdefault = \"conf\";\n"
		    "\t\tconf { kernel = \"kernel\";%s%s };\n\t};\n};\n",
		    b->boot.initrd ? " ramdisk = \"ramdisk\";" : "",
		    b->dtb_path ? " fdt = \"fdt\";" : "");
	return strbuf_take(&s);
}

static int make_fit(struct uboot *b, struct err *e)
{
	auto_free char *its = xasprintf("%s/fit.its", b->boot.run_dir);
	auto_free char *itb = xasprintf("%s/fit.itb", b->boot.run_dir);
	auto_free char *source = fit_source(b, b->cfg->kernel_addr, b->boot.kernel);
	const char *const argv[] = {"mkimage", "-f", its, itb, NULL};
	const struct child_cfg child = {.argv = argv, .stdin_fd = -1, .dies_with_parent = true};
	int r;

	r = file_write_atomic(its, source, strlen(source), e);
	if (r == 0)
		r = child_run(b->w, &child, MKIMAGE_NS, NULL, e);
	if (r == -ENOENT)
		return err_wrap(e, "the Debian package u-boot-tools is needed");
	if (r < 0)
		return err_rekind(e, ERR_RIG);
	r = serve_file(b, itb, "fit.itb", &b->kernel, e);
	(void)unlink(itb);
	return r;
}

static int deploy(struct uboot *b, struct err *e)
{
	int r;

	r = find_dtb(b, e);
	if (r == 0)
		r = dir_make(b->folder, e);
	if (r < 0)
		return r;
	if (strcmp(b->cfg->image, "fit") == 0)
		return make_fit(b, e);
	r = serve_file(b, b->boot.kernel, "Image", &b->kernel, e);
	if (r == 0 && b->boot.initrd)
		r = serve_file(b, b->boot.initrd, "initrd", &b->initrd, e);
	if (r == 0 && b->dtb_path)
		r = serve_file(b, b->dtb_path, "board.dtb", &b->dtb, e);
	return r;
}

/* --- from power-on to user space ----------------------------------------------------------- */

static int uboot_check(struct waiter *w, const struct rig_cfg *cfg, struct err *e)
{
	const struct uboot_cfg *u = cfg->boot.uboot;

	if (u->firmware && access(u->firmware, R_OK) < 0)
		return err_errno(e, ERR_RIG, errno,
				 "%s (Debian package u-boot-qemu): boot.uboot.firmware",
				 u->firmware);
	return u->firmware ? boot_qemu_ops.check(w, cfg, e) : 0;
}

static void uboot_close(void *self)
{
	struct uboot *b = self;

	kernel_watch_end(&b->watch);
	if (b->qemu)
		boot_qemu_ops.close(b->qemu);
	free(b->folder);
	free(b->kernel.name);
	free(b->initrd.name);
	free(b->dtb.name);
	free(b->dtb_path);
	free(b);
}

static int uboot_start(struct waiter *w, const struct boot_cfg *cfg, void **ret_self, struct err *e)
{
	struct uboot *b = xcalloc(1, sizeof(*b));
	struct boot_cfg qemu = *cfg;
	int r;

	b->w = w;
	b->rig = cfg->rig;
	b->cfg = cfg->rig->boot.uboot;
	b->boot = *cfg;
	b->power = cfg->power;
	if (b->cfg->folder) {
		b->folder = xstrdup(b->cfg->folder);
	} else {
		auto_free char *state = path_state("tftp");

		b->folder = xasprintf("%s/%s", state, cfg->rig->name);
	}
	r = deploy(b, e);
	if (r == 0 && b->cfg->firmware) {
		qemu.firmware = b->cfg->firmware;
		qemu.net_folder = b->folder;
		r = boot_qemu_ops.start(w, &qemu, &b->qemu, e);
	}
	if (r < 0) {
		uboot_close(b);
		return r;
	}
	*ret_self = b;
	return 0;
}

static int power_on(struct uboot *b, nsec_t deadline_ns, struct err *e)
{
	if (b->qemu)
		return boot_qemu_ops.run(b->qemu, b->port, deadline_ns, e);
	/* without a command the kernel that crashed or the agent does it */
	if (b->boot.is_warm)
		return lab_command_run(b->w, "boot.uboot.reset", b->cfg->reset, b->cfg->reset_count,
				       NULL, RESET_NS, e);
	return switch_set(b->power, SWITCH_ON, waiter_now(b->w) + POWER_NS, NULL, e);
}

/* A lost packet or two is no reason to cut the power. */
static int fetch(struct uboot_shell *u, const char *addr, const struct served *file,
		 nsec_t deadline_ns, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < FETCH_TRIES; i++) {
		r = uboot_fetch(u, addr, file->name, file->bytes, deadline_ns, e);
		if (r != -EREMOTEIO)
			break;
		log_debug(LOG_RIG, "%s", e->text);
	}
	return r;
}

/* Everything up to "Starting kernel". */
static int load_and_go(struct uboot *b, struct uboot_shell *u, nsec_t deadline_ns, struct err *e)
{
	const struct uboot_cfg *cfg = b->cfg;
	const bool is_fit = strcmp(cfg->image, "fit") == 0;
	auto_free char *go = NULL;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < cfg->commands_count; i++)
		r = uboot_do(u, cfg->commands[i], deadline_ns, e);
	if (r == 0)
		r = uboot_set(u, "bootargs", b->boot.command_line, deadline_ns, e);
	if (r == 0)
		/* a FIT says itself where its kernel goes, which must not be where it lies */
		r = fetch(u, is_fit ? cfg->initrd_addr : cfg->kernel_addr, &b->kernel, deadline_ns,
			  e);
	if (r == 0 && !is_fit && b->boot.initrd)
		r = fetch(u, cfg->initrd_addr, &b->initrd, deadline_ns, e);
	if (r == 0 && !is_fit && b->dtb_path)
		r = fetch(u, cfg->dtb_addr, &b->dtb, deadline_ns, e);
	if (r < 0)
		return r;
	if (!is_fit && !b->boot.initrd)
		go = xasprintf("%s %s - %s", cfg->image, cfg->kernel_addr, cfg->dtb_addr);
	else if (!is_fit)
		go = xasprintf("%s %s %s:0x%" PRIx64 " %s", cfg->image, cfg->kernel_addr,
			       cfg->initrd_addr, b->initrd.bytes, cfg->dtb_addr);
	else if (b->dtb_path)
		go = xasprintf("bootm %s#conf", cfg->initrd_addr);
	else if (!b->boot.initrd)
		go = xasprintf("bootm %s:kernel - %s", cfg->initrd_addr, cfg->dtb_addr);
	else
		go = xasprintf("bootm %s:kernel %s:ramdisk %s", cfg->initrd_addr, cfg->initrd_addr,
			       cfg->dtb_addr);
	return uboot_go(u, go, deadline_ns, e);
}

/* Only QEMU can tell that it is over. */
static bool has_ended(void *self)
{
	const struct uboot *b = self;

	return b->qemu && boot_qemu_ops.state(b->qemu, NULL) != BOOT_RUNS;
}

static int run_loader(struct uboot *b, struct uboot_shell *u, nsec_t deadline_ns, struct err *e)
{
	nsec_t catch_ns = waiter_now(b->w) + (nsec_t)b->cfg->catch_s * NSEC_PER_SEC;
	int r;

	r = uboot_catch(u, catch_ns < deadline_ns ? catch_ns : deadline_ns, e);
	if (r == 0)
		r = load_and_go(b, u, deadline_ns, e);
	/* noise may have eaten the words */
	if (r == 0)
		kernel_watch_started(&b->watch);
	return r;
}

static int uboot_run(void *self, struct port *port, nsec_t deadline_ns, struct err *e)
{
	struct uboot *b = self;
	struct uboot_shell u = {.w = b->w, .port = port, .cfg = b->cfg};
	int r;

	u.tx_byte_us = b->rig->console.tx_byte_us;
	u.may_be_there = b->boot.is_warm;
	b->watch.begins_with = "Starting kernel";
	b->watch.loader = "U-Boot ";
	b->watch.prompt = b->rig->login ? b->rig->login->login_prompt : NULL;
	b->watch.ask = b->boot.ask;
	r = kernel_watch_begin(&b->watch, b->w, port, e);
	if (r < 0)
		return r;
	b->port = port;
	r = talk_open(b->w, port, &u.talk, e);
	if (r < 0)
		return r;
	r = power_on(b, deadline_ns, e);
	if (r == 0)
		r = run_loader(b, &u, deadline_ns, e);
	talk_close(u.talk);
	port_set_pacing(port, b->rig->console.tx_byte_us);
	if (r < 0)
		return r;
	r = kernel_watch_await(&b->watch, b->boot.build, has_ended, b, deadline_ns, e);
	return r < 0 && b->power ? power_blame(b->power, e) : r;
}

static int uboot_console_fd(void *self)
{
	struct uboot *b = self;

	return b->qemu ? boot_qemu_ops.console_fd(b->qemu) : -1;
}

static int uboot_link_fd(void *self)
{
	struct uboot *b = self;

	return b->qemu ? boot_qemu_ops.link_fd(b->qemu) : -1;
}

static bool uboot_make_switch(void *self, const struct switch_ops **ret_ops, void **ret_self)
{
	struct uboot *b = self;

	return b->qemu && boot_qemu_ops.make_switch(b->qemu, ret_ops, ret_self);
}

static pid_t uboot_process(void *self)
{
	const struct uboot *b = self;

	return b->qemu ? boot_qemu_ops.process(b->qemu) : 0;
}

/* --- end ----------------------------------------------------------------------------------- */

static enum boot_state uboot_state(void *self, char **ret_how)
{
	struct uboot *b = self;

	if (kernel_watch_has_ended(&b->watch, ret_how))
		return BOOT_ENDED_BY_TARGET;
	return b->qemu ? boot_qemu_ops.state(b->qemu, ret_how) : BOOT_RUNS;
}

static void uboot_stop(void *self)
{
	struct uboot *b = self;

	if (b->qemu)
		boot_qemu_ops.stop(b->qemu);
	power_cut(b->w, b->power);
}

const struct boot_ops boot_uboot_ops = {
	.driver = "uboot",
	.awaits_user_space = true,
	.check = uboot_check,
	.start = uboot_start,
	.run = uboot_run,
	.console_fd = uboot_console_fd,
	.link_fd = uboot_link_fd,
	.make_switch = uboot_make_switch,
	.process = uboot_process,
	.state = uboot_state,
	.stop = uboot_stop,
	.close = uboot_close,
};
