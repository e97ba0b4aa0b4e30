/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bring_in.c - login, upload, start of the agent, modules. */
#include "bring_in.h"

#include "base/frame.h"
#include "base/log.h"
#include "upload.h"

#include <string.h>

#define REPLY_NS  (5 * NSEC_PER_SEC)
#define MODULE_NS (30 * NSEC_PER_SEC)

/* What is called by its name: the agent, and the probe modules in a folder of their own. */
static int name_files(struct login *l, const struct target_files *files, struct err *e)
{
	const char *folder = l->cfg->folder;
	int r = 0;

	for (size_t i = 0; r == 0 && i < files->n; i++) {
		const struct target_file *f = &files->v[i];
		auto_free char *command =
			i == 0 ? xasprintf("ln -sf %s %s/%s", f->sha256, folder, f->name)
			       : xasprintf("mkdir -p %s/probe&&ln -sf ../%s %s/probe/%s", folder,
					   f->sha256, folder, f->name);

		if (!f->module)
			r = login_do(l, command, REPLY_NS, NULL, e);
	}
	return r;
}

static int come_in(const struct bring_in *b, struct login *l, struct err *e)
{
	const struct login_cfg *cfg = b->rig->login;
	struct upload u = {
		.login = l, .baud = b->rig->console.baud, .tell = b->tell, .self = b->self};
	auto_free char *agent = xasprintf("%s/agent", cfg->folder);
	auto_free char *try_it = xasprintf("%s -V", agent);
	auto_free char *start = xasprintf("%s -l /dev/%s", agent, b->rig->console.device);
	int r;

	r = login_enter(l, waiter_now(b->w) + (nsec_t)cfg->timeout_s * NSEC_PER_SEC, e);
	if (r == 0)
		r = upload_files(&u, b->files, e);
	if (r == 0)
		r = name_files(l, b->files, e);
	if (r == 0)
		r = login_do(l, try_it, REPLY_NS, NULL, e);
	if (r == 0)
		r = login_exec(l, start, e);
	log_debug(LOG_RIG, "upload: %llu bytes of commands, %u of them sent again",
		  (unsigned long long)u.sent_bytes, l->n_repeated);
	return r;
}

int bring_in_agent(const struct bring_in *b, struct err *e)
{
	struct login l = {.w = b->w, .port = b->port, .cfg = b->rig->login};
	auto_free char *password = NULL;
	int r;

	r = login_cfg_password(b->rig->login, &password, e);
	if (r < 0)
		return r;
	l.password = password;
	l.tx_byte_us = b->rig->console.tx_byte_us;
	r = talk_open(b->w, b->port, &l.talk, e);
	if (r == 0)
		r = come_in(b, &l, e);
	talk_close(l.talk);
	port_set_pacing(b->port, b->rig->console.tx_byte_us);
	if (password)
		explicit_bzero(password, strlen(password));
	return r;
}

/* As the init of the product's own image does: what a built-in module does not have is left out. */
static int set_params(struct link *link, const struct target_file *f, struct err *e)
{
	auto_free char *copy = xstrdup(f->params);
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, " "))) {
		char *value = strchr(word, '=');
		char text[256];
		int r;

		if (!value || !frame_encode_word(value + 1, text, sizeof(text)))
			continue;
		*value = '\0';
		r = link_call(link, MODULE_NS, NULL, e,
			      "write path=/sys/module/%s/parameters/%s text=%s", f->module, word,
			      text);
		if (r < 0 && e->kind != ERR_TARGET)
			return r;
		if (r < 0)
			log_debug(LOG_RIG, "module %s: %s", f->module, e->text);
		err_clear(e);
	}
	return 0;
}

int bring_in_modules(const struct bring_in *b, struct link *link, struct err *e)
{
	const char *folder = b->rig->login->folder;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->files->n; i++) {
		const struct target_file *f = &b->files->v[i];

		if (!f->module)
			continue;
		if (!f->packed.len) {
			r = set_params(link, f, e);
			continue;
		}
		r = link_call(link, MODULE_NS, NULL, e, "load-module %s/%s%s%s", folder, f->sha256,
			      *f->params ? " " : "", f->params);
		if (r == -EEXIST) {
			err_clear(e);
			r = 0;
		}
		if (r < 0 && e->kind == ERR_TARGET && r != -ETIMEDOUT && r != -EPIPE)
			return err_set(e, ERR_KERNEL, e->code, "module %s: %.200s", f->module,
				       e->text);
	}
	return r;
}
