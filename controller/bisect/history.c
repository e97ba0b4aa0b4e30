/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history.c - commits out of git log, their weights, and back from a file. */
#include "bisect/history.h"

#include "base/fdio.h"
#include "kernels/git.h"

#include <ctype.h>
#include <string.h>

#define HISTORY_MARK '\001'

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct history_commit *c = &h->v[i];

		free(c->sha);
		free(c->subject);
		for (unsigned k = 0; k < c->n_parent_shas; k++)
			free(c->parent_shas[k]);
		free(c->parent_shas);
		free(c->parents);
	}
	free(h->v);
	free(h->good);
	free(h->bad);
	*h = (struct history){0};
}

/* ---- weights ---- */

static bool begins_with(const char *file, const char *dir)
{
	size_t n = strlen(dir);

	while (n && dir[n - 1] == '/')
		n--;
	return strncmp(file, dir, n) == 0 && (file[n] == '/' || file[n] == '\0' || n == 0);
}

static bool is_below(const char *file, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(file, dirs[i]))
			return true;
	return false;
}

struct weigher {
	const char *const *paths;
	size_t n_paths;
	unsigned files, cold;
	bool is_hot;
};

static void weigh_file(struct weigher *w, const char *file)
{
	static const char *const hot[] = {"drivers/usb",
					  "drivers/scsi",
					  "drivers/md",
					  "drivers/base",
					  "drivers/nvme",
					  "block",
					  "fs",
					  "mm",
					  "lib",
					  "kernel/workqueue.c",
					  "kernel/sched",
					  "kernel/time",
					  "kernel/locking",
					  "kernel/rcu",
					  "include/linux"};
	static const char *const cold[] = {"Documentation", "tools",   "samples",
					   "LICENSES",      "CREDITS", "MAINTAINERS"};

	w->files++;
	w->cold += is_below(file, cold, ARRAY_SIZE(cold));
	w->is_hot |= w->n_paths ? is_below(file, w->paths, w->n_paths)
				: is_below(file, hot, ARRAY_SIZE(hot));
}

static double weight_of(const struct weigher *w, unsigned n_parents)
{
	if (w->files == 0)
		return n_parents > 1 ? 0.2 : 1;
	if (w->is_hot)
		return w->n_paths ? 20 : 4;
	return w->cold == w->files ? 0.02 : 1;
}

/* ---- out of git log ---- */

struct by_sha {
	const char *sha;
	uint32_t index;
};

static int cmp_by_sha(const void *a, const void *b)
{
	return strcmp(((const struct by_sha *)a)->sha, ((const struct by_sha *)b)->sha);
}

/* Parents that are candidates, as indexes. */
static void link_parents(struct history *h)
{
	struct by_sha *index = xcalloc(h->n + 1, sizeof(*index));

	for (size_t i = 0; i < h->n; i++)
		index[i] = (struct by_sha){h->v[i].sha, (uint32_t)i};
	qsort(index, h->n, sizeof(*index), cmp_by_sha);
	for (size_t i = 0; i < h->n; i++) {
		struct history_commit *c = &h->v[i];

		c->parents = xcalloc(c->n_parent_shas + 1, sizeof(*c->parents));
		for (unsigned k = 0; k < c->n_parent_shas; k++) {
			const struct by_sha key = {c->parent_shas[k], 0};
			const struct by_sha *found =
				bsearch(&key, index, h->n, sizeof(*index), cmp_by_sha);

			if (found)
				c->parents[c->n_parents++] = found->index;
		}
	}
	free(index);
}

static void add_parent(struct history_commit *c, const char *sha, size_t n)
{
	c->parent_shas = xrealloc(c->parent_shas, c->n_parent_shas + 1, sizeof(char *));
	c->parent_shas[c->n_parent_shas++] = xasprintf("%.*s", (int)n, sha);
}

static struct history_commit *add_commit(struct history *h, const char *sha, size_t n)
{
	struct history_commit *c;

	if ((h->n & (h->n - 1)) == 0)
		h->v = xrealloc(h->v, h->n ? 2 * h->n : 1, sizeof(*h->v));
	c = &h->v[h->n++];
	*c = (struct history_commit){.sha = xasprintf("%.*s", (int)n, sha), .weight = 1};
	return c;
}

/* "SHA\tPARENT PARENT\tWEIGHT\tSUBJECT" */
static int parse_head(struct history *h, const char *line, size_t n, bool has_weight,
		      struct history_commit **ret)
{
	const char *end = line + n;
	const char *parents = memchr(line, '\t', n);
	const char *rest = parents ? memchr(parents + 1, '\t', (size_t)(end - parents - 1)) : NULL;
	struct history_commit *c;
	char *weight_end;

	if (!parents || !rest || h->n == BISECT_COMMITS_MAX)
		return -EINVAL;
	c = add_commit(h, line, (size_t)(parents - line));
	for (const char *p = parents + 1; p < rest;) {
		size_t len = strcspn(p, " \t");

		if (len)
			add_parent(c, p, len);
		p += len + 1;
	}
	rest++;
	if (has_weight) {
		c->weight = strtod(rest, &weight_end);
		if (*weight_end != '\t' || !(c->weight > 0))
			return -EINVAL;
		rest = weight_end + 1;
	}
	c->subject = xasprintf("%.*s", (int)(end > rest ? end - rest : 0), rest);
	*ret = c;
	return 0;
}

static int parse_log(const struct strbuf *text, struct weigher *w, struct history *h, struct err *e)
{
	struct history_commit *c = NULL;
	const char *line = strbuf_str(text);

	while (*line) {
		size_t n = strcspn(line, "\n");

		if (*line == HISTORY_MARK) {
			if (c)
				c->weight = weight_of(w, c->n_parent_shas);
			w->files = 0;
			w->cold = 0;
			w->is_hot = false;
			if (parse_head(h, line + 1, n - 1, false, &c) < 0)
				return err_set(e, ERR_CONFIG, E2BIG,
					       "more than %u commits between the ends, or a line "
					       "of git log that is none",
					       BISECT_COMMITS_MAX);
		} else if (n && c) {
			auto_free char *file = xasprintf("%.*s", (int)n, line);

			weigh_file(w, file);
		}
		line += n + (line[n] == '\n');
	}
	if (c)
		c->weight = weight_of(w, c->n_parent_shas);
	return 0;
}

static int check_ends(struct waiter *w, const char *repo, const struct history *h, struct err *e)
{
	const char *const base_args[] = {"merge-base", h->good, h->bad, NULL};
	auto_strbuf struct strbuf base = STRBUF_INIT;
	struct err ignored = {0};
	int r;

	if (strcmp(h->good, h->bad) == 0)
		return err_set(e, ERR_USAGE, EINVAL, "good and bad are the same commit, %s",
			       h->good);
	r = git_is_ancestor(w, repo, h->good, h->bad, e);
	if (r != 0)
		return r < 0 ? r : 0;
	r = git_run(w, repo, base_args, &base, &ignored);
	return err_set(e, ERR_USAGE, EINVAL, "good %.12s is not an ancestor of bad %.12s%s%.12s%s",
		       h->good, h->bad, r < 0 ? "" : "; they part at ",
		       r < 0 ? "" : strbuf_str(&base),
		       r < 0 ? "" : ": test that, and give it as good or bad");
}

int history_load(struct waiter *w, const char *repo, const char *good, const char *bad,
		 const char *const *paths, size_t n_paths, const char *tmp_dir, struct history *ret,
		 struct err *e)
{
	struct weigher weigher = {.paths = paths, .n_paths = n_paths};
	auto_free char *file = xasprintf("%s/log.tmp", tmp_dir);
	auto_free char *output = xasprintf("--output=%s", file);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct history h = {0};
	int r;

	r = git_commit_of(w, repo, good, &h.good, e);
	if (r >= 0)
		r = git_commit_of(w, repo, bad, &h.bad, e);
	if (r >= 0)
		r = check_ends(w, repo, &h, e);
	if (r >= 0) {
		auto_free char *range = xasprintf("%s..%s", h.good, h.bad);
		const char *const args[] = {
			"log",         "--topo-order", "--reverse",
			"--name-only", "--no-renames", "--format=%x01%H%x09%P%x09%s",
			output,        range,          NULL};

		r = git_run(w, repo, args, NULL, e);
	}
	if (r >= 0)
		r = file_read(file, HISTORY_FILE_MAX, &text, e);
	if (r >= 0)
		r = parse_log(&text, &weigher, &h, e);
	(void)unlink(file);
	if (r < 0) {
		history_release(&h);
		return err_wrap(e, "repository %s", repo);
	}
	link_parents(&h);
	*ret = h;
	return 0;
}

/* ---- file ---- */

int history_save(const struct history *h, const char *path, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%s %s\n", h->good, h->bad);
	for (size_t i = 0; i < h->n; i++) {
		const struct history_commit *c = &h->v[i];

		strbuf_addf(&text, "%s\t", c->sha);
		for (unsigned k = 0; k < c->n_parent_shas; k++)
			strbuf_addf(&text, "%s%s", k ? " " : "", c->parent_shas[k]);
		strbuf_addf(&text, "\t%.17g\t%s\n", c->weight, c->subject);
	}
	return file_write_atomic(path, strbuf_str(&text), text.len, e);
}

int history_read(const char *path, struct history *ret, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct history h = {0};
	const char *line;
	size_t n;
	unsigned number = 1;
	int r;

	r = file_read(path, HISTORY_FILE_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	line = strbuf_str(&text);
	n = strcspn(line, " \n");
	h.good = xasprintf("%.*s", (int)n, line);
	line += n + (line[n] == ' ');
	n = strcspn(line, "\n");
	h.bad = xasprintf("%.*s", (int)n, line);
	for (line += n + (line[n] == '\n'); *line; line += n + (line[n] == '\n')) {
		struct history_commit *c = NULL;

		number++;
		n = strcspn(line, "\n");
		if (parse_head(&h, line, n, true, &c) < 0) {
			history_release(&h);
			return err_set(e, ERR_STORE, EBADMSG, "%s:%u: not a commit", path, number);
		}
	}
	link_parents(&h);
	*ret = h;
	return 0;
}

/* ---- names ---- */

const char *history_sha(const struct history *h, uint32_t commit)
{
	return commit == BISECT_GOOD_END ? h->good : h->v[commit].sha;
}

const char *history_subject(const struct history *h, uint32_t commit)
{
	return commit == BISECT_GOOD_END ? "(the good end)" : h->v[commit].subject;
}

int history_find(const struct history *h, const char *sha, uint32_t *ret, struct err *e)
{
	size_t len = strlen(sha);
	unsigned n = 0;

	if (len < 4)
		return err_set(e, ERR_USAGE, EINVAL, "'%s' is too short for the name of a commit",
			       sha);
	for (size_t i = 0; i < h->n; i++)
		if (strncmp(h->v[i].sha, sha, len) == 0 && n++ == 0)
			*ret = (uint32_t)i;
	if (strncmp(h->good, sha, len) == 0 && n++ == 0)
		*ret = BISECT_GOOD_END;
	if (n == 1)
		return 0;
	return err_set(e, ERR_USAGE, n ? EEXIST : ENOENT,
		       n ? "'%s' is the beginning of %u commits"
			 : "'%s' is not among the commits of this bisect (%u)",
		       sha, n);
}
