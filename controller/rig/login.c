/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login.c - user, password, proof that it is a shell, and commands with their exit status. */
#include "login.h"

#include "base/fdio.h"
#include "base/log.h"
#include "base/parse.h"

#include <inttypes.h>
#include <string.h>

/* no prompt for so long: what stands there is asked again … */
#define QUIET_NS (5 * NSEC_PER_SEC)
/* … but not while a slow login may still be at work, which would take it for a password */
#define AT_WORK_NS (15 * NSEC_PER_SEC)
/* nothing follows a prompt; and login(1) turns its echo off */
#define AT_END_NS (200 * NSEC_PER_MSEC)
#define LOOP_NS   (1 * NSEC_PER_SEC) /* a loop that is there already says that this is no command */
#define PROOF_NS  (5 * NSEC_PER_SEC)
#define TRIES     3

/* Reads commands without a line editor, its width and its echo. The quotes in @"bad" keep an echo
   of this apart from what it prints. */
#define READ_LOOP                                                         \
	"while read -r s l;do case $(printf %s \"$l\"|sha256sum) in $s*)" \
	"eval \"$l\";;*)echo @\"bad\";;esac;done\r"
#define SUM_DIGITS 16
#define CTRL_C     "\x03"
#define SLOW_US    100 /* pacing once characters got lost */
#define SLOWEST_US 400 /* … and if that does not help */

enum prompt { AT_SHELL, AT_LOGIN, AT_PASSWORD, PANIC, N_PROMPTS };

/* What was done since the login prompt. */
struct round {
	bool is_user_sent, is_password_sent;
	unsigned refused;
	char said[160]; /* the last whole line before the prompt that came */
};

static nsec_t sooner(const struct login *l, nsec_t duration_ns, nsec_t deadline_ns)
{
	nsec_t at_ns = waiter_now(l->w) + duration_ns;

	return at_ns < deadline_ns ? at_ns : deadline_ns;
}

/* A port that is lost takes nothing: what was to be sent is sent when it is back. */
static int send_text(struct login *l, const char *text, struct err *e)
{
	int r = talk_send(l->talk, text, e);

	if (r != -EPIPE)
		return r;
	err_clear(e);
	return 0;
}

static void keep_last_line(struct round *rd, struct strbuf *before)
{
	char *end = before->data ? strrchr(before->data, '\n') : NULL;

	/* a name may stand before the prompt, in the same line */
	if (!end)
		return;
	*end = '\0';
	talk_last_line(before->data, rd->said, sizeof(rd->said));
}

/* "[   12.345678] …": the kernel has no regard for prompts. */
static bool is_kernel_line(const char *text)
{
	if (*text++ != '[')
		return false;
	text += strspn(text, " ");
	return strspn(text, "0123456789") > 0;
}

/*
 * "Last login: …" is no prompt: a prompt is followed by nothing, or by what the kernel says. Nor is
 * one that comes again: what was typed ahead has answered it.
 */
static int is_at_end(struct login *l, const char *prompt, struct err *e)
{
	int r = waiter_sleep(l->w, AT_END_NS, e);
	const char *rest = talk_text(l->talk);

	return r < 0 ? r : !*rest || (is_kernel_line(rest) && !strstr(rest, prompt));
}

static int on_login_prompt(struct login *l, struct round *rd, struct err *e)
{
	auto_free char *line = xasprintf("%s\r", l->cfg->user);
	const bool is_answered = rd->is_user_sent && (rd->is_password_sent || !l->password);

	if (is_answered && ++rd->refused >= LOGIN_TRIES)
		return err_set(e, ERR_RIG, EACCES,
			       "login as '%s' was refused %u times; the console says '%s'",
			       l->cfg->user, rd->refused, rd->said);
	rd->is_user_sent = true;
	rd->is_password_sent = false;
	return send_text(l, line, e);
}

static int on_password_prompt(struct login *l, struct round *rd, struct err *e)
{
	auto_free char *line = NULL;
	int r;

	if (!l->password)
		return err_set(e, ERR_RIG, EACCES,
			       "login as '%s' asks for a password; the rig file has neither "
			       "login.password_file nor login.password_env",
			       l->cfg->user);
	if (rd->is_password_sent)
		return err_set(e, ERR_RIG, EACCES,
			       "login as '%s' asks for another password after the first one: is it "
			       "expired? The console says '%s'",
			       l->cfg->user, rd->said);
	rd->is_password_sent = true;
	line = xasprintf("%s\r", l->password);
	r = send_text(l, line, e);
	explicit_bzero(line, strlen(line));
	return r;
}

static int name_timeout(const struct login *l, const struct round *rd, nsec_t since_ns,
			struct err *e)
{
	const struct login_cfg *c = l->cfg;
	const char *wanted = !rd->is_user_sent                      ? c->login_prompt
			     : l->password && !rd->is_password_sent ? c->password_prompt
								    : c->shell_prompt;
	const char *why = NULL;
	char last[160];

	if (!port_is_connected(l->port, &why))
		return err_set(e, ERR_RIG, EPIPE, "the console is gone: %s", why);
	talk_last_line(talk_text(l->talk), last, sizeof(last));
	return err_set(e, ERR_RIG, ETIMEDOUT,
		       "login as '%s': no '%s' within %" PRId64 " ms; the last line is '%s'",
		       c->user, wanted, (waiter_now(l->w) - since_ns) / NSEC_PER_MSEC,
		       *last ? last : rd->said);
}

/* From whatever stands on the line to a shell's prompt. */
static int reach_shell(struct login *l, nsec_t deadline_ns, struct err *e)
{
	const struct login_cfg *c = l->cfg;
	/* a target without a login has its shell's prompt there: the first of equals counts */
	const char *const texts[N_PROMPTS] = {
		[AT_SHELL] = c->shell_prompt,
		[AT_LOGIN] = c->login_prompt,
		[AT_PASSWORD] = c->password_prompt,
		[PANIC] = "Kernel panic - not syncing",
	};
	auto_strbuf struct strbuf before = STRBUF_INIT;
	const nsec_t since_ns = waiter_now(l->w);
	struct round rd = {0};
	int r;

	r = send_text(l, "\r", e);
	while (r >= 0) {
		const nsec_t quiet_ns = rd.is_user_sent ? AT_WORK_NS : QUIET_NS;
		int at = talk_expect(l->talk, texts, N_PROMPTS, sooner(l, quiet_ns, deadline_ns),
				     &before, e);

		if (at == -ETIMEDOUT || at == -EPIPE) {
			err_clear(e);
			if (waiter_now(l->w) >= deadline_ns)
				return name_timeout(l, &rd, since_ns, e);
			r = send_text(l, "\r", e);
			continue;
		}
		if (at < 0)
			return at;
		keep_last_line(&rd, &before);
		if (at == PANIC)
			return err_set(e, ERR_KERNEL, ECHILD,
				       "the kernel panicked during the login");
		r = is_at_end(l, texts[at], e);
		if (r <= 0)
			continue;
		if (at == AT_SHELL)
			return 0;
		r = at == AT_LOGIN ? on_login_prompt(l, &rd, e) : on_password_prompt(l, &rd, e);
	}
	return r;
}

/* What can count and print is a shell; what only echoes is not. */
static int prove_shell(struct login *l, struct err *e)
{
	char last[160] = "";

	for (unsigned i = 0; i < TRIES; i++) {
		const unsigned n = ++l->n_commands;
		auto_free char *line = xasprintf("echo sr-$((40+2))-%u\r", n);
		auto_free char *answer = xasprintf("sr-42-%u", n);
		const char *const texts[] = {answer};
		int r;

		talk_forget(l->talk);
		r = send_text(l, line, e);
		if (r == 0)
			r = talk_expect(l->talk, texts, 1, waiter_now(l->w) + PROOF_NS, NULL, e);
		if (r == 0 || (r != -ETIMEDOUT && r != -EPIPE))
			return r;
		err_clear(e);
		if (i == 0)
			talk_last_line(talk_text(l->talk), last, sizeof(last));
		/* half a line may stand there */
		r = send_text(l, CTRL_C "\r", e);
		if (r < 0)
			return r;
	}
	return err_set(e, ERR_RIG, ENOEXEC,
		       "login as '%s': what gives the prompt '%s' is no shell: 'echo sr-$((40+2))' "
		       "ended in '%s'",
		       l->cfg->user, l->cfg->shell_prompt, last);
}

/* Characters get lost: from now on they are sent more slowly. */
static void slow_down(struct login *l)
{
	if (l->tx_byte_us < SLOWEST_US)
		l->tx_byte_us = l->tx_byte_us < SLOW_US ? SLOW_US : l->tx_byte_us * 2;
	port_set_pacing(l->port, l->tx_byte_us);
}

/* One try; -EAGAIN (no text) = no answer. */
static int try_command(struct login *l, const char *line, unsigned n, nsec_t until_ns,
		       unsigned *ret_status, struct strbuf *out, struct err *e)
{
	enum { END, BAD, PANICKED };
	auto_free char *end = xasprintf("-%u\n", n);
	auto_strbuf struct strbuf part = STRBUF_INIT;
	const char *const texts[] = {
		[END] = end, [BAD] = "@bad\n", [PANICKED] = "Kernel panic - not syncing"};
	size_t at;
	int r;

	talk_forget(l->talk);
	strbuf_reset(out);
	r = send_text(l, line, e);
	while (r >= 0) {
		r = talk_expect(l->talk, texts, ARRAY_SIZE(texts), until_ns, &part, e);
		if (r == -ETIMEDOUT || r == -EPIPE) {
			err_clear(e);
			return -EAGAIN;
		}
		if (r == BAD) {
			slow_down(l);
			return -EAGAIN;
		}
		if (r < 0)
			return r;
		if (r == PANICKED)
			return err_set(e, ERR_KERNEL, ECHILD,
				       "the kernel panicked after the login");
		strbuf_add(out, strbuf_str(&part), part.len);
		strbuf_adds(out, end);
		if (talk_find_status(strbuf_str(out), n, ret_status, &at)) {
			out->data[at] = '\0';
			out->len = at;
			return 0;
		}
	}
	return r;
}

/* Tries until an answer comes; -EAGAIN (no text) = none came. */
static int repeat_command(struct login *l, const char *command, nsec_t reply_ns,
			  unsigned *ret_status, struct strbuf *out, struct err *e)
{
	const unsigned n = ++l->n_commands;
	auto_free char *body = xasprintf("%s;echo sr-$?-%u", command, n);
	char sha256[SHA256_HEX_SIZE];
	auto_free char *line = NULL;
	int r = -EAGAIN;

	sha256_bytes(body, strlen(body), sha256);
	line = xasprintf("%.*s %s\n", SUM_DIGITS, sha256, body);
	if (strlen(line) > LOGIN_LINE_MAX)
		return err_set(e, ERR_INTERNAL, EMSGSIZE, "the command '%.40s…' is longer than %d",
			       command, LOGIN_LINE_MAX);
	for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++) {
		l->n_repeated += i > 0;
		/* ends half a line; and should the loop have ended, here is a new one: one loop in
		   another does no harm */
		r = i == TRIES - 1 ? send_text(l, "\n" READ_LOOP, e) : 0;
		if (r == 0 && i == TRIES - 1)
			r = waiter_sleep(l->w, LOOP_NS, e);
		if (r == 0)
			r = try_command(l, line, n, waiter_now(l->w) + reply_ns, ret_status, out,
					e);
	}
	return r;
}

int login_do(struct login *l, const char *command, nsec_t reply_ns, struct strbuf *ret_output,
	     struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	unsigned status = 0;
	char last[160];
	int r;

	r = repeat_command(l, command, reply_ns, &status, &out, e);
	if (r == -EAGAIN) {
		talk_last_line(talk_text(l->talk), last, sizeof(last));
		return err_set(e, ERR_RIG, ETIMEDOUT,
			       "the target's shell does not answer to '%.80s', tried %d times; the "
			       "last line is '%s'",
			       command, TRIES, last);
	}
	if (r < 0)
		return r;
	if (status != 0) {
		talk_last_line(strbuf_str(&out), last, sizeof(last));
		return err_set(e, ERR_RIG, EREMOTEIO,
			       "on the target '%.80s' ended with status %u: '%s'", command, status,
			       last);
	}
	if (ret_output) {
		strbuf_reset(ret_output);
		strbuf_add(ret_output, strbuf_str(&out), out.len);
	}
	return 0;
}

/* Leaves the line editor behind. */
static int begin_loop(struct login *l, struct err *e)
{
	int r = -ETIMEDOUT;

	for (unsigned i = 0; i < TRIES && r == -ETIMEDOUT; i++) {
		err_clear(e);
		/* a loop that was typed with a hole in it is still open */
		r = i ? send_text(l, CTRL_C "\r", e) : 0;
		if (r == 0)
			r = waiter_sleep(l->w, AT_END_NS, e);
		if (r == 0)
			r = send_text(l, READ_LOOP, e);
		if (r == 0)
			r = login_do(l, "stty -echo 2>/dev/null", PROOF_NS, NULL, e);
	}
	return r;
}

/* The number in "key=<number>." of what a command printed, unless the kernel printed into it. */
static bool find_number(const char *text, const char *key, uint32_t *ret)
{
	const char *hit = strstr(text, key);
	char number[12];
	size_t digits;

	if (!hit)
		return false;
	hit += strlen(key);
	digits = strspn(hit, "0123456789");
	if (!digits || digits >= sizeof(number) || hit[digits] != '.')
		return false;
	memcpy(number, hit, digits);
	number[digits] = '\0';
	return parse_u32(key, number, 0, UINT32_MAX, ret, NULL) == 0;
}

static int look_around(struct login *l, struct err *e)
{
	auto_strbuf struct strbuf out = STRBUF_INIT;
	bool is_understood = false;
	uint32_t uid = 0;
	uint32_t level = 0;

	for (unsigned i = 0; i < TRIES && !is_understood; i++) {
		int r = login_do(l,
				 "set -- $(cat /proc/sys/kernel/printk)&&"
				 "echo uid=$(id -u). level=$1.",
				 PROOF_NS, &out, e);

		if (r < 0)
			return r;
		is_understood = find_number(strbuf_str(&out), "uid=", &uid) &&
				find_number(strbuf_str(&out), "level=", &level);
	}
	if (!is_understood)
		return err_set(e, ERR_RIG, EPROTO, "the target's shell says '%.80s'",
			       strbuf_str(&out));
	if (uid != 0)
		return err_set(e, ERR_RIG, EACCES,
			       "login: '%s' is user %" PRIu32
			       " on the target; the agent needs root",
			       l->cfg->user, uid);
	l->console_level = level;
	return login_do(l, "echo 1 >/proc/sys/kernel/printk", PROOF_NS, NULL, e);
}

int login_enter(struct login *l, nsec_t deadline_ns, struct err *e)
{
	int r;

	port_set_secret(l->port, l->password);
	r = reach_shell(l, deadline_ns, e);
	port_set_secret(l->port, NULL);
	if (r == 0)
		r = prove_shell(l, e);
	if (r == 0)
		r = begin_loop(l, e);
	if (r == 0)
		r = look_around(l, e);
	log_debug(LOG_RIG, "login as '%s': %s", l->cfg->user, r < 0 && e ? e->text : "a shell");
	return r;
}

int login_exec(struct login *l, const char *command, struct err *e)
{
	auto_free char *body =
		xasprintf("echo %u >/proc/sys/kernel/printk;exec %s", l->console_level, command);
	char sha256[SHA256_HEX_SIZE];
	auto_free char *line = NULL;

	sha256_bytes(body, strlen(body), sha256);
	line = xasprintf("%.*s %s\n", SUM_DIGITS, sha256, body);
	return talk_send(l->talk, line, e);
}
