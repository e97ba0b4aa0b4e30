/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot_exec.c - a target that a lab's own commands boot: deploy puts the kernel where the board
 * will find it, reset starts the board (or its power does), the console tells the rest.
 *
 * What the commands are told stands in their environment; see stallrig-rig(5). Up to the kernel's
 * banner a boot that fails is the bench's doing, from there on the kernel's.
 */
#include "base/log.h"
#include "boot.h"
#include "lab_command.h"
#include "power.h"

#include <string.h>

#define ENV_MAX 16

struct hooks {
	struct waiter *w;
	const struct rig_cfg *rig;
	const struct hook_cfg *cfg;
	const struct kernel_build *build; /* valid until the end of run(), and so ask */
	struct user_space_ask ask;
	char *env[ENV_MAX];         /* "NAME=value", owned; the last one is NULL */
	struct stick_switch *power; /* not owned; NULL = the commands do that too */
	bool is_on;                 /* it was switched on, or reset has begun */
	struct kernel_watch watch;
};

static int run_hook(struct hooks *h, const char *key, char *const *words, unsigned n,
		    nsec_t deadline_ns, struct err *e)
{
	auto_free char *key_path = xasprintf("boot.exec.%s", key);
	auto_free char *name = xasprintf("STALLRIG_HOOK=%s", key);
	const char *env[ENV_MAX + 1] = {name};
	nsec_t timeout_ns = (nsec_t)h->cfg->timeout_s * NSEC_PER_SEC;

	if (!n)
		return 0;
	for (unsigned i = 0; h->env[i]; i++)
		env[i + 1] = h->env[i];
	if (deadline_ns - waiter_now(h->w) < timeout_ns)
		timeout_ns = deadline_ns - waiter_now(h->w);
	log_debug(LOG_RIG, "%s: %s", key_path, words[0]);
	return lab_command_run(h->w, key_path, words, n, env, timeout_ns, e);
}

static void make_env(struct hooks *h, const struct boot_cfg *cfg)
{
	const struct kernel_build *k = cfg->build;
	unsigned n = 0;

	h->env[n++] = xasprintf("STALLRIG_RIG=%s", cfg->rig->name);
	h->env[n++] = xasprintf("STALLRIG_ARCH=%s", cfg->rig->arch);
	h->env[n++] = xasprintf("STALLRIG_KERNEL=%s", k->name);
	h->env[n++] = xasprintf("STALLRIG_RELEASE=%s", k->release);
	h->env[n++] = xasprintf("STALLRIG_IMAGE=%s", cfg->kernel);
	h->env[n++] = xasprintf("STALLRIG_INITRD=%s", cfg->initrd ? cfg->initrd : "");
	h->env[n++] = xasprintf("STALLRIG_MODULES=%s/modules", k->dir);
	h->env[n++] = xasprintf("STALLRIG_DTBS=%s/dtbs", k->dir);
	h->env[n++] = xasprintf("STALLRIG_COMMAND_LINE=%s", cfg->command_line);
	h->env[n++] = xasprintf("STALLRIG_RUN_DIR=%s", cfg->run_dir);
}

static void exec_close(void *self)
{
	struct hooks *h = self;

	kernel_watch_end(&h->watch);
	for (unsigned i = 0; i < ENV_MAX; i++)
		free(h->env[i]);
	free(h);
}

static int exec_start(struct waiter *w, const struct boot_cfg *cfg, void **ret_self, struct err *e)
{
	struct hooks *h = xcalloc(1, sizeof(*h));
	int r = 0;

	h->w = w;
	h->rig = cfg->rig;
	h->cfg = cfg->rig->boot.exec;
	h->build = cfg->build;
	h->power = cfg->power;
	h->is_on = cfg->is_warm;
	h->ask = cfg->ask;
	make_env(h, cfg);
	/* where it belongs the kernel lies already, and a board that is on may not let go of it */
	if (!cfg->is_warm)
		r = run_hook(h, "deploy", h->cfg->deploy, h->cfg->deploy_count, NSEC_FOREVER, e);
	if (r < 0) {
		exec_close(h);
		return r;
	}
	*ret_self = h;
	return 0;
}

static int exec_run(void *self, struct port *port, nsec_t deadline_ns, struct err *e)
{
	struct hooks *h = self;
	int r;

	h->watch.prompt = h->rig->login ? h->rig->login->login_prompt : NULL;
	h->watch.ask = h->ask;
	r = kernel_watch_begin(&h->watch, h->w, port, e);
	if (r < 0)
		return r;
	h->is_on = true;
	if (h->power)
		r = switch_set(h->power, SWITCH_ON, waiter_now(h->w) + POWER_NS, NULL, e);
	if (r == 0)
		r = run_hook(h, "reset", h->cfg->reset, h->cfg->reset_count, deadline_ns, e);
	if (r < 0)
		return r;
	/* the last words of the kernel that the reset has ended */
	if (!h->watch.has_banner)
		h->watch.is_panicked = false;
	r = kernel_watch_await(&h->watch, h->build, NULL, NULL, deadline_ns, e);
	return r < 0 && h->power ? power_blame(h->power, e) : r;
}

static enum boot_state exec_state(void *self, char **ret_how)
{
	struct hooks *h = self;

	return kernel_watch_has_ended(&h->watch, ret_how) ? BOOT_ENDED_BY_TARGET : BOOT_RUNS;
}

static void exec_stop(void *self)
{
	struct hooks *h = self;
	struct err ignored = {0};

	if (!h->is_on)
		return;
	h->is_on = false;
	if (run_hook(h, "power_off", h->cfg->power_off, h->cfg->power_off_count, NSEC_FOREVER,
		     &ignored) < 0)
		log_debug(LOG_RIG, "%s", ignored.text);
	power_cut(h->w, h->power);
}

const struct boot_ops boot_exec_ops = {
	.driver = "exec",
	.awaits_user_space = true,
	.start = exec_start,
	.run = exec_run,
	.state = exec_state,
	.stop = exec_stop,
	.close = exec_close,
};
