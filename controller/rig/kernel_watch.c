/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel_watch.c - banner, panic, reset, power-off and user space, line by line. */
#include "kernel_watch.h"

#include "base/log.h"
#include "console/clean.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define LINGER_NS (2 * NSEC_PER_SEC) /* the rest of a crash report */
#define ANSWER_NS (2 * NSEC_PER_SEC) /* of whoever is asked */
#define PATIENCE  4                  /* of quiet times, when it is not quiet */

#define READY "stallrig-init: ready"
#define FRAME "@sr " /* of the agent link, or its echo: not the kernel's words */

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

/* "[   12.345678] ": a bracket of digits that is not quite this has lost some. */
static bool has_broken_stamp(const char *line)
{
	enum { SHORTEST = 8, FRACTION = 6 };
	const size_t n = *line == '[' ? strspn(line + 1, " 0123456789.") : 0;
	const char *end = line + 1 + n;
	const char *dot = n ? memchr(line + 1, '.', n) : NULL;

	if (n < SHORTEST || *end != ']')
		return false;
	return !dot || end - dot - 1 != FRACTION || !isdigit((unsigned char)dot[-1]) ||
	       strspn(dot + 1, "0123456789") != FRACTION || end[1] != ' ';
}

/* Whether the one who is heard is the kernel, or what it has started. */
static bool is_kernel_heard(const struct kernel_watch *wt)
{
	return wt->has_banner || wt->is_in_user_space || (wt->begins_with && wt->is_started);
}

static void watch_user_space(struct kernel_watch *wt, const char *line, nsec_t t_ns)
{
	/* "Run /sbin/init as init process" since 5.x; what was said just before it earlier */
	if (wt->is_in_user_space ||
	    (!strstr(line, " as init process") && !strstr(line, "Freeing unused kernel ")))
		return;
	wt->is_in_user_space = true;
	wt->user_space_ns = t_ns;
}

static void watch_line(struct kernel_watch *wt, const char *line, nsec_t t_ns)
{
	const char *hit;
	bool is_start;

	if (!*line)
		return;
	/* SPL and U-Boot proper both begin like this */
	wt->n_loaders += wt->loader && begins(line, wt->loader);
	/* not a command that is echoed: that stands behind a prompt */
	is_start = wt->begins_with && begins(line, wt->begins_with);
	hit = strstr(line, "Linux version ");
	if (!wt->is_started && (is_start || hit))
		start(wt, t_ns);
	/* the loader's words, also if somebody saw the line before its end */
	if ((!wt->is_started || is_start) && !hit)
		return;
	if (!strstr(line, FRAME)) {
		copy_text(wt->last, sizeof(wt->last), line);
		wt->last_ns = t_ns;
	}
	if (wt->loader && begins(line, wt->loader))
		wt->is_reset = true;
	if (hit)
		watch_banner(wt, hit);
	hit = strstr(line, "Kernel panic - not syncing");
	if (hit && !wt->is_panicked) {
		wt->is_panicked = true;
		copy_text(wt->panic, sizeof(wt->panic), hit);
	}
	watch_user_space(wt, line, t_ns);
	if (!wt->prompt)
		wt->is_ready |= strstr(line, READY) != NULL;
	wt->is_down |= strstr(line, "reboot: Power down") != NULL ||
		       strstr(line, "reboot: System halted") != NULL;
	wt->broken_stamps += is_kernel_heard(wt) && has_broken_stamp(line);
}

/* Whether the line ends with the prompt so far. What only looks like it does no harm: whoever logs
   in looks closer. */
static bool is_at_prompt(const struct kernel_watch *wt)
{
	const size_t n = wt->prompt ? strlen(wt->prompt) : 0;

	return n && wt->is_started && wt->len >= n &&
	       memcmp(wt->line + wt->len - n, wt->prompt, n) == 0;
}

/* What a boot loader or a power-on leaves on the line is not looked at. */
static void look_for_garbage(struct kernel_watch *wt)
{
	char clean[KERNEL_WATCH_LINE_MAX];
	uint64_t garbage;

	(void)clean_text(wt->raw, wt->raw_len, clean, &garbage);
	wt->raw_len = 0;
	if (is_kernel_heard(wt))
		wt->garbage += garbage;
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
		if (p[i] == '\n' || wt->raw_len == sizeof(wt->raw))
			look_for_garbage(wt);
		if (p[i] != '\r' && p[i] != '\n')
			wt->raw[wt->raw_len++] = p[i];
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
	wt->losses_before = port_stats(port)->losses;
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

static uint64_t losses(const struct kernel_watch *wt)
{
	return port_stats(wt->port)->losses - wt->losses_before;
}

static bool is_damaged(const struct kernel_watch *wt)
{
	return wt->garbage || wt->broken_stamps || losses(wt);
}

/* What should have come may have been lost: the kernel is not to blame for that. */
static int name_damage(const struct kernel_watch *wt, int64_t since_ms, struct err *e)
{
	(void)err_set(
		e, ERR_RIG, ETIMEDOUT,
		"the console is damaged, so nobody can tell whether the kernel hangs: %" PRIu64
		" bytes that no text has, %" PRIu64 " broken time stamps, %" PRIu64
		" losses of the port; no user space within %" PRId64 " ms, the last line is '%s'",
		wt->garbage, wt->broken_stamps, losses(wt), since_ms, wt->last);
	return err_reason(e, "console-damaged");
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
	if (is_damaged(wt))
		return name_damage(wt, since_ms, e);
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

static nsec_t later(nsec_t a, nsec_t b)
{
	return a > b ? a : b;
}

static bool can_ask(const struct kernel_watch *wt)
{
	return wt->ask.fn && is_kernel_heard(wt);
}

/* When it is time to ask, or to see whether it is. */
static nsec_t ask_at(const struct kernel_watch *wt)
{
	nsec_t quiet_ns;
	nsec_t at_ns;

	if (!can_ask(wt))
		return wt->ask.fn ? waiter_now(wt->w) + wt->ask.quiet_ns : NSEC_FOREVER;
	quiet_ns = later(wt->last_ns, wt->asked_ns) + wt->ask.quiet_ns;
	at_ns = later(wt->user_space_ns, wt->asked_ns) + PATIENCE * wt->ask.quiet_ns;
	return wt->is_in_user_space && at_ns < quiet_ns ? at_ns : quiet_ns;
}

/* 1 = what is waited for has come. */
static int ask(struct kernel_watch *wt, struct over *over, struct err *e)
{
	const nsec_t until_ns = waiter_now(wt->w) + ANSWER_NS;
	int r = wt->ask.fn(wt->ask.self, until_ns, e);

	if (r > 0)
		log_debug(LOG_RIG, "user space answers, although the console did not say '%s'",
			  wt->prompt ? wt->prompt : READY);
	wt->is_ready |= r > 0;
	/* a login answers on the console */
	if (r == 0)
		r = waiter_until(wt->w, until_ns, is_over, over, e);
	wt->asked_ns = waiter_now(wt->w);
	return r;
}

/* As waiter_until(), but whoever is there is asked meanwhile, or at the deadline at the latest. */
static int watch_and_ask(struct kernel_watch *wt, struct over *over, nsec_t deadline_ns,
			 struct err *e)
{
	int r;

	do {
		const nsec_t at_ns = ask_at(wt);

		r = waiter_until(wt->w, at_ns < deadline_ns ? at_ns : deadline_ns, is_over, over,
				 e);
		/* at the deadline it is time for whoever may be asked at all */
		if (r == 0 && can_ask(wt) &&
		    (waiter_now(wt->w) >= deadline_ns || waiter_now(wt->w) >= ask_at(wt)))
			r = ask(wt, over, e);
	} while (r == 0 && waiter_now(wt->w) < deadline_ns);
	return r;
}

int kernel_watch_await(struct kernel_watch *wt, const struct kernel_build *build,
		       bool (*has_ended)(void *arg), void *arg, nsec_t deadline_ns, struct err *e)
{
	struct over over = {wt, has_ended, arg};
	int64_t since_ms;
	int r;

	r = watch_and_ask(wt, &over, deadline_ns, e);
	if (r < 0)
		return r;
	/* the last words of a machine that has ended */
	port_drain(wt->port);
	look_for_garbage(wt);
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
