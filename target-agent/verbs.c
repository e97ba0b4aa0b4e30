/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verbs.c - the table of verbs and the check of their words. */
#include "agent.h"
#include "base/parse.h"

#include <string.h>

/* hello, ping, abort, load, load-lines, kill-load, profile-state, profile-stop, poweroff and reboot
   belong to core.c. */
static const struct verb verbs[] = {
	{"cache", "path", 1, 1, false, verb_cache},
	{"cat", "path", 1, 1, false, verb_cat},
	{"clock", NULL, 0, 0, true, verb_clock},
	{"dd", "if of bs count skip seek iflag oflag conv bg", 1, 10, false, verb_dd},
	{"dds", "jobs seconds once if of bs count skip seek iflag oflag conv bg", 2, 13, false,
	 verb_dds},
	{"dmesg", "since_us", 0, 1, false, verb_dmesg},
	{"dmesg-level", NULL, 0, 1, true, verb_dmesg_level},
	{"drop-caches", NULL, 0, 0, false, verb_drop_caches},
	{"hold", "path bg", 2, 2, false, verb_hold},
	{"info", NULL, 0, 0, false, verb_info},
	{"irq", "match", 1, 1, false, verb_irq},
	{"load-module", NULL, 1, FRAME_WORDS_MAX, false, verb_load_module},
	{"mark", NULL, 1, 1, true, verb_mark},
	{"mount", "dev dir fs opts", 3, 4, false, verb_mount},
	{"pin-irq", "match cpu", 2, 2, false, verb_pin_irq},
	{"probe-control", NULL, 1, FRAME_WORDS_MAX, false, verb_probe_control},
	{"probe-read", "section", 0, 1, false, verb_probe_read},
	{"probe-samples", "probe", 1, 1, false, verb_probe_samples},
	{"profile", "hz seconds event bg", 0, 4, false, verb_profile},
	{"profile-read", "from", 0, 1, true, verb_profile_read},
	{"pstore", NULL, 0, 0, false, verb_pstore},
	{"pstore-read", "name", 1, 1, false, verb_pstore_read},
	{"pstore-remove", "name", 1, 1, false, verb_pstore_remove},
	{"random", "path op jobs seconds block_kib seed direct program bg", 2, 9, false,
	 verb_random},
	{"sh", "command bg", 1, 2, false, verb_sh},
	{"sha256", "path", 1, 1, false, verb_sha256},
	{"stall", "cpu pool us mode count gap_us", 2, 6, false, verb_stall},
	{"stick", "serial", 1, 1, false, verb_stick},
	{"symbols", "match", 1, 1, false, verb_symbols},
	{"umount", "dir flags", 1, 2, false, verb_umount},
	{"unload", NULL, 1, 1, false, verb_unload},
	{"usb-port", "path state", 1, 2, false, verb_usb_port},
	{"walk", "dir jobs seconds bg", 1, 4, false, verb_walk},
	{"write", "path text", 2, 2, false, verb_write},
};

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static bool is_listed(const char *keys, const char *key, size_t n)
{
	while (*keys) {
		size_t len = strcspn(keys, " ");

		if (len == n && memcmp(keys, key, n) == 0)
			return true;
		keys += len;
		keys += strspn(keys, " ");
	}
	return false;
}

int verb_check(const struct verb *v, const struct frame *f, struct err *e)
{
	if (f->n_words < v->min_words || f->n_words > v->max_words)
		return err_set(e, ERR_TARGET, EINVAL, "%s: takes %zu to %zu words, not %zu",
			       v->name, v->min_words, v->max_words, f->n_words);
	if (!v->keys)
		return 0;

	for (size_t i = 0; i < f->n_words; i++) {
		size_t n = strcspn(f->words[i], "=");

		if (f->words[i][n] != '=' || !is_listed(v->keys, f->words[i], n))
			return err_set(e, ERR_TARGET, EINVAL, "%s: '%.64s' is none of: %s", v->name,
				       f->words[i], v->keys);
		for (size_t k = 0; k < i; k++)
			if (strncmp(f->words[k], f->words[i], n + 1) == 0)
				return err_set(e, ERR_TARGET, EINVAL, "%s: '%.*s=' stands twice",
					       v->name, (int)n, f->words[i]);
	}
	return 0;
}

const char *request_get(const struct request *rq, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i < rq->frame->n_words; i++) {
		const char *word = rq->frame->words[i];

		if (strncmp(word, key, n) == 0 && word[n] == '=')
			return word + n + 1;
	}
	return NULL;
}

int request_need(const struct request *rq, const char *key, const char **ret, struct err *e)
{
	const char *value = request_get(rq, key);

	if (!value || !*value)
		return err_set(e, ERR_TARGET, EINVAL, "%s: '%s=' is missing", rq->frame->verb, key);
	*ret = value;
	return 0;
}

int request_u64(const struct request *rq, const char *key, uint64_t min, uint64_t max,
		uint64_t absent, uint64_t *ret, struct err *e)
{
	const char *value = request_get(rq, key);
	int r;

	if (!value) {
		*ret = absent;
		return 0;
	}
	r = parse_u64(key, value, min, max, ret, e);
	if (r < 0)
		return err_wrap(e, "%s", rq->frame->verb);
	return 0;
}
