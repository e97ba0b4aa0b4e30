/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot_qemu.c - a target in QEMU.
 *
 * QMP, console and agent link are socket pairs that QEMU inherits: nothing lies in the file system,
 * nobody else can connect, and an end of QEMU is an end of file here. The kernel kills QEMU with
 * this process (dies_with_parent), however that one ends.
 */
#include "base/child.h"
#include "base/fdio.h"
#include "base/log.h"
#include "boot.h"
#include "kernel_watch.h"
#include "qmp.h"
#include "switch_qmp.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define START_NS       (30 * NSEC_PER_SEC)
#define QUIT_NS        (5 * NSEC_PER_SEC)
#define LOG_MAX        (1u << 20) /* bytes of qemu.log that are looked at */
#define WORDS_MAX      400        /* … and quoted in an error */
#define STICK_NODE     "stick"
#define NEIGHBOUR_NODE "neighbour"
#define HUB_ID         "hub"
/* ports of the emulated xHCI controller, on its USB 2 and on its SuperSpeed side each */
#define XHCI_PORTS "15"
#define AGENT_PORT "org.stallrig.agent"
/* of the ERST: 31 records of 8 KiB; a panic takes two or three, and the oops before it as many */
#define ERST_BYTES "0x40000"

enum { FD_QMP, FD_CONSOLE, FD_LINK, FD_MAX };

struct qemu {
	struct waiter *w;
	struct child *child;
	struct qmp *qmp;
	int fds[FD_MAX];
	char *log_path;
	const struct rig_cfg *rig;
	char *stick_copy;  /* a stick that is written to is one; NULL = none */
	char *erst_path;   /* of a store that outlasts it; NULL = none */
	char **disk_paths; /* of images that go with the machine; owned */
	unsigned n_disks;
	bool has_ended;
	int status;
	const struct kernel_build *build; /* until the end of run() */
	struct kernel_watch watch;        /* of a target with a login */
};

struct qemu_arch {
	const char *arch; /* as in rig.yaml */
	const char *program;
	const char *package;
};

static const struct qemu_arch archs[] = {
	{"x86_64", "qemu-system-x86_64", "qemu-system-x86"},
	{"arm64", "qemu-system-aarch64", "qemu-system-arm"},
};

static const struct qemu_arch *find_arch(const char *arch)
{
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
		if (strcmp(archs[i].arch, arch) == 0)
			return &archs[i];
	return NULL;
}

#define VERSION_NS (30 * NSEC_PER_SEC)

static int qemu_check(struct waiter *w, const struct rig_cfg *cfg, struct err *e)
{
	const struct qemu_arch *arch = find_arch(cfg->arch);
	int r;

	if (!arch)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: arch '%s': no QEMU is known for it",
			       cfg->path, cfg->arch);
	const char *const argv[] = {arch->program, "--version", NULL};
	const struct child_cfg child = {.argv = argv, .stdin_fd = -1, .dies_with_parent = true};

	r = child_run(w, &child, VERSION_NS, NULL, e);
	if (r == -ENOENT)
		return err_wrap(e, "the Debian package %s is needed", arch->package);
	return r < 0 ? err_rekind(e, ERR_RIG) : 0;
}

/* --- command line ------------------------------------------------------------------------- */

struct args {
	char **v; /* NULL-terminated, owned */
	size_t n;
};

static void add(struct args *a, char *word)
{
	a->v = xrealloc(a->v, a->n + 2, sizeof(*a->v));
	a->v[a->n++] = word;
	a->v[a->n] = NULL;
}

static void add_pair(struct args *a, const char *option, char *value)
{
	add(a, xstrdup(option));
	add(a, value);
}

static void args_release(struct args *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
}

/* JSON, because a path may hold commas. -drive would vanish with the first unplug. */
static char *blockdev(const char *name, const char *path, bool is_read_only)
{
	json_t *node = json_pack("{s:s, s:s, s:b, s:{s:s, s:s, s:b}}", "driver", "raw", "node-name",
				 name, "read-only", is_read_only, "file", "driver", "file",
				 "filename", path, "read-only", is_read_only);
	char *text = json_dumps(node, JSON_COMPACT);

	json_decref(node);
	return text ? text : xstrdup("{}");
}

static void add_machine(struct args *a, const struct boot_cfg *cfg)
{
	const struct rig_cfg *rig = cfg->rig;

	add(a, xstrdup("-nodefaults"));
	add(a, xstrdup("-no-user-config"));
	/* a boot loader gets its board back after a reset, as on a bench */
	if (!cfg->firmware)
		add(a, xstrdup("-no-reboot"));
	add(a, xstrdup("-S"));
	add_pair(a, "-display", xstrdup("none"));
	add_pair(a, "-name", xasprintf("stallrig-%s", rig->name));
	add_pair(a, "-accel", xstrdup("tcg,thread=multi"));
	add_pair(a, "-M", xstrdup(rig->boot.machine));
	add_pair(a, "-cpu", xstrdup(rig->boot.cpu));
	add_pair(a, "-smp", xasprintf("%u", rig->boot.cpus));
	add_pair(a, "-m", xasprintf("%uM", rig->boot.memory_mib));
	if (cfg->firmware) {
		add_pair(a, "-bios", xstrdup(cfg->firmware));
		return;
	}
	add_pair(a, "-kernel", xstrdup(cfg->kernel));
	if (cfg->initrd)
		add_pair(a, "-initrd", xstrdup(cfg->initrd));
	add_pair(a, "-append", xstrdup(cfg->command_line));
}

/* A value of an option: a comma in it is written twice. Caller frees. */
static char *quote_value(const char *text)
{
	auto_strbuf struct strbuf s = STRBUF_INIT;

	for (const char *p = text; *p; p++)
		strbuf_addf(&s, *p == ',' ? ",%c" : "%c", *p);
	return strbuf_take(&s);
}

/* A network that holds nothing but a TFTP server. */
static void add_net(struct args *a, const char *folder)
{
	auto_free char *tftp = quote_value(folder);

	add_pair(a, "-netdev", xasprintf("user,id=net0,restrict=on,tftp=%s", tftp));
	add_pair(a, "-device", xstrdup("virtio-net-pci,netdev=net0,romfile="));
}

/* Disks are never unplugged, so the short form of -drive does, and has a name to throttle it by. */
static void add_disk(struct args *a, const struct rig_disk *disk, const char *path)
{
	auto_free char *file = quote_value(path);
	const char *device = strcmp(disk->driver, "nvme") == 0 ? "nvme" : "virtio-blk-pci";

	add_pair(a, "-drive",
		 xasprintf("if=none,id=disk-%s,format=raw,cache=unsafe,file=%s", disk->name, file));
	add_pair(a, "-device",
		 xasprintf("%s,drive=disk-%s,serial=%s", device, disk->name, disk->name));
}

/* ACPI's store for error records, which is where an x86 server keeps what its kernel dies of. */
static void add_erst(struct args *a, const char *path)
{
	auto_free char *file = quote_value(path);

	add_pair(a, "-object",
		 xasprintf("memory-backend-file,id=erst,mem-path=%s,size=" ERST_BYTES ",share=on",
			   file));
	add_pair(a, "-device", xstrdup("acpi-erst,memdev=erst"));
}

static void add_devices(struct args *a, const struct boot_cfg *cfg, const struct qemu *q,
			const int *fds)
{
	add_pair(a, "-chardev", xasprintf("socket,id=qmp,fd=%d", fds[FD_QMP]));
	add_pair(a, "-mon", xstrdup("chardev=qmp,mode=control"));
	add_pair(a, "-chardev", xasprintf("socket,id=console,fd=%d", fds[FD_CONSOLE]));
	add_pair(a, "-serial", xstrdup("chardev:console"));
	if (strcmp(cfg->rig->link.driver, "virtio-serial") == 0) {
		add_pair(a, "-chardev", xasprintf("socket,id=agent,fd=%d", fds[FD_LINK]));
		add_pair(a, "-device", xstrdup("virtio-serial-pci,id=vser"));
		add_pair(a, "-device",
			 xstrdup("virtserialport,bus=vser.0,chardev=agent,name=" AGENT_PORT));
	}
	if (cfg->net_folder)
		add_net(a, cfg->net_folder);
	add_pair(a, "-device", xstrdup("qemu-xhci,id=xhci,p2=" XHCI_PORTS ",p3=" XHCI_PORTS));
	add_pair(a, "-blockdev",
		 blockdev(STICK_NODE, q->stick_copy ? q->stick_copy : cfg->stick, !q->stick_copy));
	if (cfg->rig->neighbour)
		add_pair(a, "-blockdev", blockdev(NEIGHBOUR_NODE, cfg->stick, true));
	for (unsigned i = 0; i < q->n_disks; i++)
		add_disk(a, &cfg->disks[i], q->disk_paths[i]);
	/* behind all that was there before: the others stay where they are on the bus */
	if (q->erst_path)
		add_erst(a, q->erst_path);
}

/* --- start -------------------------------------------------------------------------------- */

static int open_log(const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	return fd;
}

/* ours: non-blocking, closed on exec; theirs: blocking, inherited. */
static int make_pair(int *ret_ours, int *ret_theirs, struct err *e)
{
	int p[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "socketpair");
	(void)fcntl(p[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(p[1], F_SETFD, 0);
	*ret_ours = p[0];
	*ret_theirs = p[1];
	return 0;
}

static int on_child_end(void *self, short revents, struct err *e)
{
	struct qemu *q = self;

	(void)revents;
	(void)e;
	/* a pidfd stays readable for ever: one report is enough */
	waiter_remove(q->w, child_pidfd(q->child));
	return 0;
}

/* Empty images: what an earlier boot wrote must not be there. */
static int make_disks(struct qemu *q, const struct boot_cfg *cfg, struct err *e)
{
	q->disk_paths = xcalloc(cfg->n_disks + 1, sizeof(*q->disk_paths));
	for (; q->n_disks < cfg->n_disks; q->n_disks++) {
		const struct rig_disk *disk = &cfg->disks[q->n_disks];
		char *path = xasprintf("%s/%s.disk", cfg->run_dir, disk->name);
		auto_fd int fd = -1;

		q->disk_paths[q->n_disks] = path;
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0 || ftruncate(fd, (off_t)disk->size_mib << 20) < 0) {
			int code = errno;

			(void)unlink(path);
			free(path);
			return err_errno(e, ERR_RIG, code, "disk image %s/%s.disk", cfg->run_dir,
					 disk->name);
		}
	}
	return 0;
}

/* What the target writes goes with the machine: the next boot finds the stick as it was made. */
static int copy_stick(struct qemu *q, const struct boot_cfg *cfg, struct err *e)
{
	char *path;
	int r;

	if (!cfg->is_stick_writable)
		return 0;
	path = xasprintf("%s/stick.disk", cfg->run_dir);
	r = file_copy(cfg->stick, path, e);
	if (r < 0) {
		(void)unlink(path);
		free(path);
		return err_rekind(e, ERR_RIG);
	}
	q->stick_copy = path;
	return 0;
}

/* <state>/pstore/<rig>.erst: QEMU makes the file if it is not there. */
static int find_erst(struct qemu *q, struct err *e)
{
	auto_free char *dir = path_state("pstore");
	int r;

	if (!q->rig->boot.pstore)
		return 0;
	r = dir_make(dir, e);
	if (r < 0)
		return err_rekind(e, ERR_RIG);
	q->erst_path = xasprintf("%s/%s.erst", dir, q->rig->name);
	return 0;
}

static int start_child(struct qemu *q, const struct boot_cfg *cfg, const struct qemu_arch *arch,
		       const int *theirs, struct err *e)
{
	struct waiter_source end = {.events = POLLIN, .ready = on_child_end, .self = q};
	struct args args = {0};
	auto_fd int log_fd = -1;
	int r;

	log_fd = open_log(q->log_path, e);
	if (log_fd < 0)
		return log_fd;
	add(&args, xstrdup(arch->program));
	add_machine(&args, cfg);
	add_devices(&args, cfg, q, theirs);
	for (size_t i = 0; i < args.n; i++)
		log_debug(LOG_RIG, "qemu[%zu]: %s", i, args.v[i]);
	const struct child_cfg child = {
		.argv = (const char *const *)args.v,
		.stdin_fd = -1,
		.stdout_fd = log_fd,
		.stderr_fd = log_fd,
		.dies_with_parent = true,
	};

	r = child_start(&child, &q->child, e);
	args_release(&args);
	if (r < 0)
		return r;
	end.fd = child_pidfd(q->child);
	return waiter_add(q->w, &end, e);
}

/* The last lines that QEMU wrote to its log, as one; "" if none. Caller frees. */
static char *last_words(const struct qemu *q)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	const char *start;

	if (file_read(q->log_path, LOG_MAX, &text, NULL) < 0 || !text.len)
		return xstrdup("");
	while (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	start = text.len > WORDS_MAX ? text.data + text.len - WORDS_MAX : text.data;
	for (char *p = text.data; *p; p++)
		if (*p == '\n')
			*p = ';';
	return xstrdup(start);
}

static bool child_ended(void *self)
{
	struct qemu *q = self;

	if (!q->has_ended && child_has_ended(q->child, &q->status)) {
		q->has_ended = true;
		/* its last event says why */
		if (q->qmp)
			qmp_drain(q->qmp);
	}
	return q->has_ended;
}

static void qemu_close(void *self)
{
	struct qemu *q = self;

	kernel_watch_end(&q->watch);
	qmp_close(q->qmp);
	if (q->child)
		waiter_remove(q->w, child_pidfd(q->child));
	child_free(q->child);
	for (int i = 0; i < FD_MAX; i++)
		if (q->fds[i] >= 0)
			close(q->fds[i]);
	for (unsigned i = 0; i < q->n_disks; i++) {
		(void)unlink(q->disk_paths[i]);
		free(q->disk_paths[i]);
	}
	free(q->disk_paths);
	if (q->stick_copy)
		(void)unlink(q->stick_copy);
	free(q->stick_copy);
	free(q->erst_path);
	free(q->log_path);
	free(q);
}

/* QEMU has hung up during the start: the reason stands in its log. */
static int died_at_start(struct qemu *q, const struct rig_cfg *rig, struct err *e)
{
	auto_free char *how = NULL;
	auto_free char *words = NULL;

	if (waiter_until(q->w, waiter_now(q->w) + QUIT_NS, child_ended, q, NULL) != 1)
		return -EPIPE; /* e keeps what QMP had to say */
	how = child_status_text(q->status);
	words = last_words(q);
	return err_set(e, ERR_RIG, ECHILD,
		       "QEMU did not start with machine '%s', cpu '%s': %s: %s (%s)",
		       rig->boot.machine, rig->boot.cpu, how, words, q->log_path);
}

static int qemu_start(struct waiter *w, const struct boot_cfg *cfg, void **ret_self, struct err *e)
{
	const struct qemu_arch *arch = find_arch(cfg->rig->arch);
	struct qemu *q;
	int theirs[FD_MAX] = {-1, -1, -1};
	int r = 0;

	if (!arch)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: no QEMU is known for arch '%s'",
			       cfg->rig->path, cfg->rig->arch);
	q = xcalloc(1, sizeof(*q));
	q->w = w;
	q->rig = cfg->rig;
	q->build = cfg->build;
	q->log_path = xasprintf("%s/qemu.log", cfg->run_dir);
	for (int i = 0; i < FD_MAX; i++)
		q->fds[i] = -1;
	for (int i = 0; i < FD_MAX && r == 0; i++)
		r = make_pair(&q->fds[i], &theirs[i], e);
	if (r == 0)
		r = make_disks(q, cfg, e);
	if (r == 0)
		r = copy_stick(q, cfg, e);
	if (r == 0)
		r = find_erst(q, e);
	if (r == 0)
		r = start_child(q, cfg, arch, theirs, e);
	for (int i = 0; i < FD_MAX; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	if (r == 0) {
		r = qmp_open(w, q->fds[FD_QMP], waiter_now(w) + START_NS, &q->qmp, e);
		if (r == -EPIPE)
			r = died_at_start(q, cfg->rig, e);
	}
	if (r < 0) {
		qemu_close(q);
		return r;
	}
	*ret_self = q;
	return 0;
}

static int qemu_console_fd(void *self)
{
	return ((struct qemu *)self)->fds[FD_CONSOLE];
}

static int qemu_link_fd(void *self)
{
	return ((struct qemu *)self)->fds[FD_LINK];
}

/* "1", or "1.2" behind a hub. */
static void port_text(const struct switch_cfg *sw, char ret[24])
{
	if (sw->hub_port)
		(void)snprintf(ret, 24, "%u.%u", sw->port, sw->hub_port);
	else
		(void)snprintf(ret, 24, "%u", sw->port);
}

static bool qemu_make_switch(void *self, const struct switch_ops **ret_ops, void **ret_self)
{
	struct qemu *q = self;
	const struct switch_cfg *sw = &q->rig->stick_switch;
	const struct rig_neighbour *nb = q->rig->neighbour;
	struct switch_qmp_device stick = {.id = sw->name,
					  .driver = "usb-storage",
					  .bus = "xhci.0",
					  .node = STICK_NODE,
					  .serial = q->rig->stick.serial};
	struct switch_qmp_cfg cfg = {0};
	char hub_port[24], port[24], neighbour_port[24];

	(void)snprintf(hub_port, sizeof(hub_port), "%u", sw->port);
	port_text(sw, port);
	stick.port = port;
	if (sw->hub_port)
		cfg.devices[cfg.n++] = (struct switch_qmp_device){
			.id = HUB_ID, .driver = "usb-hub", .bus = stick.bus, .port = hub_port};
	cfg.cut = sw->hub_port && !sw->is_hub_cut ? cfg.n : 0;
	cfg.devices[cfg.n++] = stick;
	if (nb) {
		port_text(&nb->sw, neighbour_port);
		stick.id = nb->sw.name;
		stick.port = neighbour_port;
		stick.node = NEIGHBOUR_NODE;
		stick.serial = nb->serial;
		cfg.devices[cfg.n++] = stick;
	}
	*ret_ops = &switch_qmp_ops;
	*ret_self = switch_qmp_new(q->qmp, &cfg, q->w);
	return true;
}

static int qemu_throttle(void *self, const char *disk, unsigned write_iops, struct err *e)
{
	struct qemu *q = self;
	auto_free char *id = xasprintf("disk-%s", disk);
	json_t *args =
		json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "device", id, "bps", 0, "bps_rd",
			  0, "bps_wr", 0, "iops", 0, "iops_rd", 0, "iops_wr", (int)write_iops);

	return qmp_execute(q->qmp, waiter_now(q->w) + START_NS, "block_set_io_throttle", args, NULL,
			   e);
}

static pid_t qemu_process(void *self)
{
	return child_pid(((const struct qemu *)self)->child);
}

/* --- end ---------------------------------------------------------------------------------- */

/* "guest-reset", "guest-shutdown", "host-qmp-quit", …, or NULL if QEMU did not say. */
static const char *shutdown_reason(const struct qemu *q)
{
	const struct qmp_event *ev = qmp_find_event(q->qmp, 0, "SHUTDOWN", NULL);

	return ev ? json_string_value(json_object_get(ev->data, "reason")) : NULL;
}

static enum boot_state qemu_state(void *self, char **ret_how)
{
	struct qemu *q = self;
	auto_free char *status = NULL;
	auto_free char *words = NULL;
	const char *reason;
	char *how;
	bool is_by_target = false;

	if (!child_ended(q))
		return BOOT_RUNS;
	reason = shutdown_reason(q);
	status = child_status_text(q->status);
	if (reason && WIFEXITED(q->status)) {
		is_by_target = strncmp(reason, "guest-", 6) == 0;
		if (strcmp(reason, "guest-reset") == 0)
			how = xstrdup(
				"the target's kernel reset the machine (a panic or a reboot)");
		else if (strcmp(reason, "guest-shutdown") == 0)
			how = xstrdup("the target powered off");
		else
			how = xasprintf("QEMU was ended (%s)", reason);
	} else {
		words = last_words(q);
		how = xasprintf("QEMU ended by itself: %s%s%s", status, *words ? ": " : "", words);
	}
	if (ret_how)
		*ret_how = how;
	else
		free(how);
	return is_by_target ? BOOT_ENDED_BY_TARGET : BOOT_ENDED;
}

/* Up to the login; a kernel that ended the machine before it is to blame for that. */
static int await_login(struct qemu *q, nsec_t deadline_ns, struct err *e)
{
	auto_free char *how = NULL;
	int r;

	r = kernel_watch_await(&q->watch, q->build, child_ended, q, deadline_ns, e);
	if (r == -ECHILD && e->kind == ERR_RIG)
		(void)err_set(e, qemu_state(q, &how) == BOOT_ENDED_BY_TARGET ? ERR_KERNEL : ERR_RIG,
			      ECHILD, "%s before its login", how ? how : "the machine ended");
	return r;
}

static int qemu_run(void *self, struct port *port, nsec_t deadline_ns, struct err *e)
{
	struct qemu *q = self;
	const bool has_login = q->rig->login && strcmp(q->rig->boot.driver, "qemu") == 0;
	int r = 0;

	if (has_login) {
		q->watch.prompt = q->rig->login->login_prompt;
		r = kernel_watch_begin(&q->watch, q->w, port, e);
	}
	if (r == 0)
		r = qmp_execute(q->qmp, waiter_now(q->w) + START_NS, "cont", NULL, NULL, e);
	if (r == 0 && has_login)
		r = await_login(q, deadline_ns, e);
	return r;
}

static void qemu_stop(void *self)
{
	struct qemu *q = self;
	const nsec_t deadline_ns = waiter_now(q->w) + QUIT_NS;
	struct err ignored = {0};

	if (child_ended(q))
		return;
	if (qmp_execute(q->qmp, deadline_ns, "quit", NULL, NULL, &ignored) < 0 ||
	    waiter_until(q->w, deadline_ns, child_ended, q, &ignored) != 1) {
		log_debug(LOG_RIG, "QEMU is killed: %s", ignored.text);
		child_kill(q->child, SIGKILL);
		q->status = child_stop(q->child, q->w, 0);
	}
	(void)child_ended(q);
}

const struct boot_ops boot_qemu_ops = {
	.check = qemu_check,
	.driver = "qemu",
	.start = qemu_start,
	.run = qemu_run,
	.console_fd = qemu_console_fd,
	.link_fd = qemu_link_fd,
	.make_switch = qemu_make_switch,
	.throttle = qemu_throttle,
	.process = qemu_process,
	.state = qemu_state,
	.stop = qemu_stop,
	.close = qemu_close,
};
