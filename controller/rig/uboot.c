/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uboot.c - catching U-Boot, typing commands that arrive whole, reading their exit status. */
#include "uboot.h"

#include "base/log.h"

#include <inttypes.h>
#include <string.h>

#define KEY_NS    (100 * NSEC_PER_MSEC)
#define PROMPT_NS (3 * NSEC_PER_SEC)
#define ECHO_NS   (2 * NSEC_PER_SEC)
#define GO_NS     (60 * NSEC_PER_SEC) /* unpacking and moving the images */
#define CTRL_C    "\x03"
#define BANNER    "\nU-Boot "
/* of so many keys one is ^C: it gives a new prompt where noise has eaten the first */
#define CTRL_C_EVERY 20
#define CLEAR_TRIES  4
#define STATUS_TRIES 3
#define SLOW_US      500 /* pacing once characters got lost */
/* U-Boot's smallest line buffer (CONFIG_SYS_CBSIZE) is 256 */
#define VALUE_PART 120

static nsec_t sooner(const struct uboot_shell *u, nsec_t duration_ns, nsec_t deadline_ns)
{
	nsec_t at_ns = waiter_now(u->w) + duration_ns;

	return at_ns < deadline_ns ? at_ns : deadline_ns;
}

/* The prompt as it stands at the start of a line. Caller frees. */
static char *prompt_text(const struct uboot_shell *u)
{
	return xasprintf("\n%s", u->cfg->prompt);
}

/* Empties the line: ^C gives a new prompt whatever stood there. */
static int clear_line(struct uboot_shell *u, nsec_t deadline_ns, struct err *e)
{
	auto_free char *prompt = prompt_text(u);
	const char *const texts[] = {prompt};
	int r;

	port_forget_out(u->port);
	talk_forget(u->talk);
	r = talk_send(u->talk, CTRL_C, e);
	if (r < 0)
		return r;
	return talk_expect(u->talk, texts, 1, sooner(u, PROMPT_NS, deadline_ns), NULL, e);
}

/* clear_line() over a noisy line. */
static int settle_line(struct uboot_shell *u, nsec_t deadline_ns, struct err *e)
{
	int r = 0;

	for (unsigned i = 0; i < CLEAR_TRIES; i++) {
		r = clear_line(u, deadline_ns, e);
		if (r != -ETIMEDOUT || waiter_now(u->w) >= deadline_ns)
			break;
	}
	return r == -ETIMEDOUT ? err_reason(e, "no-loader") : r;
}

static int looped(const struct uboot_shell *u, struct err *e)
{
	(void)err_set(e, ERR_RIG, ELOOP,
		      "the boot loader resets again and again: its banner came %u times and no "
		      "prompt '%s'",
		      UBOOT_BANNERS_MAX, u->cfg->prompt);
	return err_reason(e, "loader-loop");
}

int uboot_catch(struct uboot_shell *u, nsec_t deadline_ns, struct err *e)
{
	auto_free char *prompt = prompt_text(u);
	enum { PROMPT, LINUX, STARTING, BEGINS, AUTOBOOT };
	const char *const texts[] = {prompt, "Linux version ", "Starting kernel", BANNER,
				     u->cfg->autoboot};
	const uint64_t bytes = port_stats(u->port)->bytes;
	unsigned n_banners = 0, n_keys = 0;
	bool sends_keys = u->may_be_there;

	for (;;) {
		int r;

		r = talk_expect(u->talk, texts, ARRAY_SIZE(texts), sooner(u, KEY_NS, deadline_ns),
				NULL, e);
		if (r == PROMPT)
			break;
		if (r == LINUX || r == STARTING) {
			(void)err_set(e, ERR_RIG, ECANCELED,
				      "autoboot was not stopped: a kernel was started before the "
				      "prompt '%s' came",
				      u->cfg->prompt);
			return err_reason(e, "autoboot-missed");
		}
		if (r == BEGINS && ++n_banners == UBOOT_BANNERS_MAX)
			return looped(u, e);
		if (r == BEGINS || r == AUTOBOOT)
			sends_keys = true;
		if (r < 0 && r != -ETIMEDOUT && r != -EPIPE)
			return r;
		if (waiter_now(u->w) >= deadline_ns) {
			if (port_stats(u->port)->bytes == bytes) {
				(void)err_set(e, ERR_RIG, ENODATA,
					      "not one byte came from the console");
				return err_reason(e, "no-console");
			}
			(void)err_reason(e, "no-loader");
			return err_wrap(e, "no boot loader");
		}
		err_clear(e);
		/* a bootdelay of 0 wants the key before the text; nothing is typed at what is not
		   U-Boot */
		if (sends_keys && port_is_connected(u->port, NULL)) {
			r = talk_send(u->talk, ++n_keys % CTRL_C_EVERY ? u->cfg->stop_key : CTRL_C,
				      e);
			if (r < 0)
				return r;
		}
	}
	return settle_line(u, deadline_ns, e);
}

/* Of what a command printed, the line that says why it failed: the last one with "error" in it, or
   the last one. */
static void telling_line(const char *text, char *ret, size_t cap)
{
	const char *hit = NULL;

	for (const char *p = text; (p = strstr(p, "rror")); p++)
		hit = p;
	if (hit) {
		auto_free char *head = strndup(text, (size_t)(hit - text) + strcspn(hit, "\n"));

		talk_last_line(head, ret, cap);
	} else {
		talk_last_line(text, ret, cap);
	}
}

/* Types a line until it stands there as it should; does not enter it. */
static int type_line(struct uboot_shell *u, const char *line, nsec_t deadline_ns, struct err *e)
{
	int r = 0;

	if (u->cfg->is_mute)
		return talk_send(u->talk, line, e);
	for (unsigned i = 0; i < UBOOT_TYPE_TRIES; i++) {
		nsec_t takes_ns = (nsec_t)strlen(line) * (u->tx_byte_us + 200) * NSEC_PER_USEC;

		r = talk_type(u->talk, line, sooner(u, ECHO_NS + 2 * takes_ns, deadline_ns), e);
		if (r != -EIO || waiter_now(u->w) >= deadline_ns)
			return r < 0 ? r : 0;
		log_debug(LOG_RIG, "uboot: %s", e->text);
		if (u->tx_byte_us < SLOW_US << (UBOOT_TYPE_TRIES - 1))
			u->tx_byte_us = u->tx_byte_us < SLOW_US ? SLOW_US : u->tx_byte_us * 2;
		port_set_pacing(u->port, u->tx_byte_us);
		if (clear_line(u, deadline_ns, NULL) == -EINTR)
			return err_set(e, ERR_STOPPED, EINTR, "stopped by a signal");
	}
	(void)err_reason(e, "loader-deaf");
	return err_wrap(e, "U-Boot does not get what is typed, tried %u times", UBOOT_TYPE_TRIES);
}

/* A line that was typed. The return may get lost, too: then nothing at all comes. */
static int enter(struct uboot_shell *u, nsec_t deadline_ns, struct err *e)
{
	int r;

	r = talk_send(u->talk, "\r", e);
	if (r < 0 || u->cfg->is_mute)
		return r;
	r = talk_hear(u->talk, sooner(u, ECHO_NS, deadline_ns), e);
	return r == 0 ? talk_send(u->talk, "\r", e) : r;
}

static int hung(struct uboot_shell *u, nsec_t since_ns, struct err *e)
{
	char last[160];

	talk_last_line(talk_text(u->talk), last, sizeof(last));
	(void)err_set(e, ERR_RIG, ETIMEDOUT,
		      "nothing for %" PRId64 " ms, no '%s'; the last line is '%s'",
		      (waiter_now(u->w) - since_ns) / NSEC_PER_MSEC, u->cfg->prompt, last);
	return err_reason(e, "loader-hang");
}

/* The end of command n: what it printed goes to out, then there is a prompt. */
static int await_end(struct uboot_shell *u, unsigned n, nsec_t deadline_ns, struct strbuf *out,
		     struct err *e)
{
	auto_free char *prompt = prompt_text(u);
	const char *const texts[] = {prompt, BANNER};
	const nsec_t since_ns = waiter_now(u->w);

	for (;;) {
		unsigned status;
		size_t at;
		int r;

		r = talk_expect(u->talk, texts, ARRAY_SIZE(texts),
				sooner(u, PROMPT_NS, deadline_ns), out, e);
		if (r == 1) {
			(void)err_set(e, ERR_RIG, ELOOP, "the boot loader began anew");
			return err_reason(e, "loader-loop");
		}
		if (r == -EPIPE && waiter_now(u->w) < deadline_ns)
			continue; /* an adapter may come back */
		if (r != -ETIMEDOUT)
			return r;
		if (talk_find_status(talk_text(u->talk), n, &status, &at)) {
			/* it has ended, and noise has eaten the prompt */
			strbuf_reset(out);
			strbuf_adds(out, talk_text(u->talk));
			return settle_line(u, deadline_ns, e);
		}
		if (waiter_now(u->w) >= deadline_ns)
			return hung(u, since_ns, e);
	}
}

int uboot_command(struct uboot_shell *u, const char *command, nsec_t deadline_ns,
		  unsigned *ret_status, struct strbuf *ret_output, struct err *e)
{
	const unsigned n = ++u->n_commands;
	auto_free char *line = xasprintf("%s; sr=$?; echo sr-$sr-%u", command, n);
	auto_free char *again = xasprintf("echo sr-$sr-%u", n);
	auto_strbuf struct strbuf first = STRBUF_INIT, out = STRBUF_INIT;
	char last[160];
	size_t at = 0;
	int r;

	/* noise may have eaten the status: it is asked for again, the command is not repeated */
	for (unsigned i = 0; i < STATUS_TRIES; i++) {
		struct strbuf *to = i ? &out : &first;

		r = type_line(u, i ? again : line, deadline_ns, e);
		if (r == 0)
			r = enter(u, deadline_ns, e);
		if (r >= 0)
			r = await_end(u, n, deadline_ns, to, e);
		if (r < 0)
			return err_wrap(e, "U-Boot: '%s'", command);
		if (!talk_find_status(strbuf_str(to), n, ret_status, &at))
			continue;
		if (ret_output) {
			strbuf_reset(ret_output);
			strbuf_add(ret_output, strbuf_str(&first), i ? first.len : at);
		}
		return 0;
	}
	talk_last_line(strbuf_str(&out), last, sizeof(last));
	(void)err_set(e, ERR_RIG, EPROTO,
		      "U-Boot: '%s': no exit status came back, only '%s' (CONFIG_HUSH_PARSER "
		      "is needed)",
		      command, last);
	return err_reason(e, "loader-deaf");
}

int uboot_do(struct uboot_shell *u, const char *command, nsec_t deadline_ns, struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	unsigned status = 0;
	char last[160];
	int r;

	r = uboot_command(u, command, deadline_ns, &status, &out, e);
	if (r < 0 || status == 0)
		return r;
	telling_line(strbuf_str(&out), last, sizeof(last));
	(void)err_set(e, ERR_RIG, EREMOTEIO, "U-Boot: '%s' ended with status %u: '%s'", command,
		      status, last);
	return err_reason(e, "loader-command");
}

int uboot_set(struct uboot_shell *u, const char *name, const char *value, nsec_t deadline_ns,
	      struct err *e)
{
	auto_free char *first = xasprintf("setenv %s", name);
	size_t len = strlen(value);
	int r;

	/* between single quotes everything is itself but the quote */
	if (strpbrk(value, "'\n\r\t"))
		return err_set(e, ERR_RIG, EINVAL, "U-Boot: %s: '%s': a quote cannot be passed on",
			       name, value);
	r = uboot_do(u, first, deadline_ns, e);
	for (size_t at = 0; r == 0 && at < len; at += VALUE_PART) {
		int n = (int)(len - at < VALUE_PART ? len - at : VALUE_PART);
		auto_free char *command =
			at ? xasprintf("setenv %s \"${%s}\"'%.*s'", name, name, n, value + at)
			   : xasprintf("setenv %s '%.*s'", name, n, value);

		r = uboot_do(u, command, deadline_ns, e);
	}
	return r;
}

int uboot_fetch(struct uboot_shell *u, const char *addr, const char *file, uint64_t bytes,
		nsec_t deadline_ns, struct err *e)
{
	static const char done[] = "Bytes transferred = ";
	auto_free char *command = xasprintf("%s %s %s", u->cfg->fetch, addr, file);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	unsigned status = 0;
	char number[24] = "";
	char last[160];
	const char *p;
	int r;

	r = uboot_command(u, command, deadline_ns, &status, &out, e);
	if (r < 0)
		return r;
	p = strstr(strbuf_str(&out), done);
	if (status != 0 || !p) {
		telling_line(strbuf_str(&out), last, sizeof(last));
		(void)err_set(e, ERR_RIG, EREMOTEIO, "U-Boot: '%s' ended with status %u: '%s'",
			      command, status, last);
		return err_reason(e, "no-file");
	}
	p += strlen(done);
	(void)snprintf(number, sizeof(number), "%" PRIu64, bytes);
	if (strspn(p, "0123456789") == strlen(number) && strncmp(p, number, strlen(number)) == 0)
		return 0;
	(void)err_set(e, ERR_RIG, EREMOTEIO,
		      "U-Boot: '%s' got %.*s bytes, the file has %" PRIu64
		      ": does the server serve another folder?",
		      command, (int)strspn(p, "0123456789"), p, bytes);
	return err_reason(e, "no-file");
}

/* What U-Boot says of an image that it does not take. */
static bool is_about_image(const char *text)
{
	static const char *const complaints[] = {
		"Bad Linux ARM64 Image magic", "Bad Linux ARM zImage magic",
		"Image lacks image_size",      "Wrong Image Format",
		"Bad FIT kernel image format", "Bad Data Hash",
	};

	for (size_t i = 0; i < ARRAY_SIZE(complaints); i++)
		if (strstr(text, complaints[i]))
			return true;
	return false;
}

int uboot_go(struct uboot_shell *u, const char *command, nsec_t deadline_ns, struct err *e)
{
	auto_free char *prompt = prompt_text(u);
	/* noise may have eaten the first */
	const char *const texts[] = {"Starting kernel", "Linux version ", prompt, BANNER};
	enum { STARTING, LINUX, PROMPT, BEGINS };
	const nsec_t since_ns = waiter_now(u->w);
	auto_strbuf struct strbuf out = STRBUF_INIT;
	bool is_image;
	char last[160];
	int r;

	r = type_line(u, command, deadline_ns, e);
	if (r == 0)
		r = enter(u, deadline_ns, e);
	if (r >= 0)
		r = talk_expect(u->talk, texts, ARRAY_SIZE(texts), sooner(u, GO_NS, deadline_ns),
				&out, e);
	if (r == -ETIMEDOUT)
		r = hung(u, since_ns, e);
	if (r == BEGINS) {
		(void)err_set(e, ERR_RIG, ELOOP, "the boot loader began anew");
		r = err_reason(e, "loader-loop");
	}
	if (r < 0)
		return err_wrap(e, "U-Boot: '%s'", command);
	if (r == STARTING || r == LINUX)
		return 0;
	is_image = is_about_image(strbuf_str(&out));
	telling_line(strbuf_str(&out), last, sizeof(last));
	(void)err_set(e, is_image ? ERR_KERNEL : ERR_RIG, is_image ? ENOEXEC : EREMOTEIO,
		      "U-Boot: '%s': '%s'", command, last);
	return err_reason(e, is_image ? "bad-image" : "loader-command");
}
