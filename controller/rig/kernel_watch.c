/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_watch.c - banner, panic, reset, power-off and user space, line by line. */
#include "kernel_watch.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define LINGER_NS (2 * NSEC_PER_SEC) /* the rest of a crash report */

#define READY "stallrig-init: ready"

static bool begins(const char *line, const char *text)
{
	return strncmp(line, text, strlen(text)) == 0;
}

static void copy_text(char *ret, size_t cap, const char *text)
{
	(void)snprintf(ret, cap, "%s", text);
}

static void watch_banner(struct kernel_watch *wt, const char *hit)
{
	/* where no boot loader shows, a second banner is a second start */
	if (!wt->loader && wt->has_banner && wt->is_in_user_space)
		wt->is_reset = true;
	if (wt->has_banner)
		return;
	wt->has_banner = true;
	copy_text(wt->banner, sizeof(wt->banner), hit);
}

static void start(struct kernel_watch *wt, nsec_t t_ns)
{
	wt->is_started = true;
	wt->started_ns = t_ns;
	wt->last_ns = t_ns;
}

static void watch_line(struct kernel_watch *wt, const char *line, nsec_t t_ns)
{
	const char *hit;

	if (!*line)
		return;
	/* SPL and U-Boot proper both begin like this */
	wt->n_loaders += wt->loader && begins(line, wt->loader);
	hit = strstr(line, "Linux version ");
	if (!wt->is_started) {
		/* not a command that is echoed: that stands behind a prompt */
		if (begins(line, wt->begins_with) || hit)
			start(wt, t_ns);
		if (!hit)
			return;
	}
	copy_text(wt->last, sizeof(wt->last), line);
	wt->last_ns = t_ns;
	if (wt->loader && begins(line, wt->loader))
		wt->is_reset = true;
	if (hit)
		watch_banner(wt, hit);
	hit = strstr(line, "Kernel panic - not syncing");
	if (hit && !wt->is_panicked) {
		wt->is_panicked = true;
		copy_text(wt->panic, sizeof(wt->panic), hit);
	}
	/* "Run /sbin/init as init process" since 5.x; what was said just before it earlier */
	wt->is_in_user_space |= strstr(line, " as init process") != NULL ||
				strstr(line, "Freeing unused kernel ") != NULL;
	if (!wt->prompt)
		wt->is_ready |= strstr(line, READY) != NULL;
	wt->is_down |= strstr(line, "reboot: Power down") != NULL ||
		       strstr(line, "reboot: System halted") != NULL;
}

/* Whether the line ends with the prompt so far. What only looks like it does no harm: whoever logs
   in looks closer. */
static bool is_at_prompt(const struct kernel_watch *wt)
{
	const size_t n = wt->prompt ? strlen(wt->prompt) : 0;

	return n && wt->is_started && wt->len >= n &&
	       memcmp(wt->line + wt->len - n, wt->prompt, n) == 0;
}

static void on_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	struct kernel_watch *wt = self;
	const char *p = bytes;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n' || wt->len == sizeof(wt->line) - 1) {
			wt->line[wt->len] = '\0';
			wt->len = 0;
			watch_line(wt, wt->line, t_host_ns);
		}
		if (isprint((unsigned char)p[i]))
			wt->line[wt->len++] = p[i];
		/* what follows at once may be the kernel's */
		wt->is_ready |= is_at_prompt(wt);
	}
}

int kernel_watch_begin(struct kernel_watch *wt, struct waiter *w, struct port *port, struct err *e)
{
	int r;

	r = port_tap(port, on_bytes, wt, e);
	if (r < 0)
		return r;
	wt->w = w;
	wt->port = port;
	wt->is_started = !wt->begins_with;
	wt->started_ns = waiter_now(w);
	wt->last_ns = wt->started_ns;
	return 0;
}

void kernel_watch_end(struct kernel_watch *wt)
{
	if (wt->port)
		port_untap(take(wt->port), on_bytes, wt);
}

struct over {
	const struct kernel_watch *wt;
	bool (*has_ended)(void *arg);
	void *arg;
};

static bool is_over(void *self)
{
	const struct over *o = self;
	const struct kernel_watch *wt = o->wt;

	return wt->is_ready || wt->is_panicked || wt->is_reset || wt->is_down ||
	       (o->has_ended && o->has_ended(o->arg));
}

static bool is_reset(void *self)
{
	const struct kernel_watch *wt = self;

	return wt->is_reset;
}

/* The kernel that was seen is not the one that was asked for: the bench's fault. */
static int check_banner(const struct kernel_watch *wt, const struct kernel_build *k, struct err *e)
{
	auto_free char *wanted = xasprintf("Linux version %s ", k->release);

	if (!wt->has_banner)
		return 0;
	if (begins(wt->banner, wanted) && strstr(wt->banner, k->version))
		return 0;
	(void)err_set(e, ERR_RIG, ESTALE,
		      "another kernel was booted: asked for '%s %s', the console says '%s'",
		      k->release, k->version, wt->banner);
	return err_reason(e, "wrong-kernel");
}

/* The deadline has come, and neither user space nor an end of the kernel. */
static int name_silence(const struct kernel_watch *wt, int64_t since_ms, struct err *e)
{
	const int64_t silent_ms = (waiter_now(wt->w) - wt->last_ns) / NSEC_PER_MSEC;

	if (wt->prompt && wt->is_in_user_space) {
		(void)err_set(e, ERR_RIG, ETIMEDOUT,
			      "no login: no '%s' within %" PRId64 " ms although the kernel has "
			      "started its first process; the last line is '%s'",
			      wt->prompt, since_ms, wt->last);
		return err_reason(e, "no-login");
	}
	/* without a boot loader that says when it starts the kernel, its banner is the start */
	if (!wt->begins_with && !wt->has_banner && port_stats(wt->port)->bytes == 0) {
		(void)err_set(e, ERR_RIG, ENODATA, "not one byte came from the console");
		return err_reason(e, "no-console");
	}
	if (!wt->begins_with && !wt->has_banner) {
		(void)err_set(e, ERR_RIG, ETIMEDOUT,
			      "no kernel was started within %" PRId64 " ms; the last line is '%s'",
			      since_ms, wt->last);
		return err_reason(e, "no-kernel");
	}
	if (!*wt->last)
		(void)err_set(e, ERR_KERNEL, ETIMEDOUT,
			      "the kernel hangs: not a word in %" PRId64
			      " ms since 'Starting kernel'",
			      since_ms);
	else
		(void)err_set(e, ERR_KERNEL, ETIMEDOUT,
			      "the kernel hangs: no user space within %" PRId64
			      " ms, silent for %" PRId64 " ms after '%s'",
			      since_ms, silent_ms, wt->last);
	return err_reason(e, "kernel-hang");
}

static int name_reset(const struct kernel_watch *wt, int64_t since_ms, struct err *e)
{
	(void)err_set(e, ERR_KERNEL, ECHILD,
		      "the board reset itself %" PRId64 " ms after the kernel was started%s",
		      since_ms, wt->has_banner ? "" : ", without a word from the kernel");
	if (wt->loader)
		(void)err_wrap(e, "%u banners of the boot loader since power-on", wt->n_loaders);
	return err_reason(e, "boot-loop");
}

int kernel_watch_await(struct kernel_watch *wt, const struct kernel_build *build,
		       bool (*has_ended)(void *arg), void *arg, nsec_t deadline_ns, struct err *e)
{
	struct over over = {wt, has_ended, arg};
	int64_t since_ms;
	int r;

	r = waiter_until(wt->w, deadline_ns, is_over, &over, e);
	if (r < 0)
		return r;
	/* the last words of a machine that has ended */
	port_drain(wt->port);
	if (check_banner(wt, build, e) < 0)
		return -e->code;
	if (wt->is_ready)
		return 0;
	since_ms = (waiter_now(wt->w) - wt->started_ns) / NSEC_PER_MSEC;
	if (wt->is_panicked) {
		r = waiter_until(wt->w, waiter_now(wt->w) + LINGER_NS, is_reset, wt, e);
		if (r < 0)
			return r;
		return err_set(e, ERR_KERNEL, ECHILD,
			       "the kernel panicked %" PRId64 " ms after its "
			       "start: '%s'",
			       since_ms, wt->panic);
	}
	if (wt->is_reset)
		return name_reset(wt, since_ms, e);
	if (wt->is_down) {
		(void)err_set(e, ERR_KERNEL, ECHILD,
			      "the kernel powered the board off %" PRId64 " ms after its start",
			      since_ms);
		return err_reason(e, "power-off");
	}
	if (r == 1)
		return err_set(e, ERR_RIG, ECHILD, "the machine ended while the kernel booted");
	return name_silence(wt, since_ms, e);
}

void kernel_watch_started(struct kernel_watch *wt)
{
	if (!wt->is_started)
		start(wt, waiter_now(wt->w));
}

bool kernel_watch_has_ended(const struct kernel_watch *wt, char **ret_how)
{
	if (!wt->is_reset && !wt->is_down)
		return false;
	if (ret_how)
		*ret_how = xstrdup(wt->is_reset ? "the board reset itself: the boot loader came "
						  "again on the console"
						: "the target powered off");
	return true;
}
