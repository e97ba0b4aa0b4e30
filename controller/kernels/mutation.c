/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mutation.c - described source edits: their heads and the files that they touch. */
#include "base/fdio.h"
#include "base/parse.h"
#include "kernels/source.h"

#include <dirent.h>
#include <string.h>

static const char suffix[] = ".patch";

void kernel_mutation_release(struct kernel_mutation *m)
{
	free(m->name);
	free(m->path);
	free(m->title);
	free(m->scenario);
	free(m->expected);
	free(m->unmutated);
	free(m->stands_for);
	free(m->source);
	free(m->configs);
	free(m->base);
	free(m->append);
	*m = (struct kernel_mutation){0};
}

void kernel_mutation_list_release(struct kernel_mutation_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		kernel_mutation_release(&l->v[i]);
	free(l->v);
	*l = (struct kernel_mutation_list){0};
}

/* The text after "Key:", with further lines that begin with a blank; "" if it is not there. */
static char *head_value(const char *text, const char *key)
{
	auto_strbuf struct strbuf value = STRBUF_INIT;
	size_t len = strlen(key);
	bool is_in = false;

	for (const char *line = text; *line && strncmp(line, "--- ", 4) != 0;) {
		size_t n = strcspn(line, "\n");
		const char *from = NULL;

		if (strncmp(line, key, len) == 0 && line[len] == ':') {
			is_in = true;
			from = line + len + 1;
		} else if (is_in && (*line == ' ' || *line == '\t')) {
			from = line;
		} else {
			is_in = false;
		}
		if (from) {
			from += strspn(from, " \t");
			strbuf_addf(&value, "%s%.*s", value.len ? " " : "",
				    (int)(line + n - from > 0 ? line + n - from : 0), from);
		}
		line += n + (line[n] == '\n');
	}
	return strbuf_take(&value);
}

/* A value of the head that has a default. */
static char *head_value_or(const char *text, const char *key, const char *if_absent)
{
	char *value = head_value(text, key);

	if (*value)
		return value;
	free(value);
	return xstrdup(if_absent);
}

static int load(const char *dir, const char *file, struct kernel_mutation *ret, struct err *e)
{
	struct kernel_mutation m = {
		.name = xasprintf("%.*s", (int)(strlen(file) - strlen(suffix)), file),
		.path = xasprintf("%s/%s", dir, file),
	};
	auto_strbuf struct strbuf text = STRBUF_INIT;
	int r;

	r = file_read(m.path, MUTATION_TEXT_MAX, &text, e);
	if (r < 0) {
		kernel_mutation_release(&m);
		return err_rekind(e, ERR_CONFIG);
	}
	m.title = head_value(strbuf_str(&text), "Title");
	m.scenario = head_value(strbuf_str(&text), "Scenario");
	m.expected = head_value(strbuf_str(&text), "Expected");
	m.unmutated = head_value_or(strbuf_str(&text), "Unmutated", "PASS none-over");
	m.stands_for = head_value(strbuf_str(&text), "Stands-for");
	m.source = head_value_or(strbuf_str(&text), "Source", "debian:linux-source-6.1");
	m.configs = head_value(strbuf_str(&text), "Config");
	m.base = head_value(strbuf_str(&text), "Base");
	m.append = head_value(strbuf_str(&text), "Append");
	if (!*m.title || !*m.stands_for) {
		r = err_set(e, ERR_CONFIG, EINVAL, "%s: no '%s:' line before the patch", m.path,
			    *m.title ? "Stands-for" : "Title");
		kernel_mutation_release(&m);
		return r;
	}
	*ret = m;
	return 0;
}

static int is_patch(const struct dirent *ent)
{
	size_t n = strlen(ent->d_name);
	size_t m = strlen(suffix);

	return n > m && strcmp(ent->d_name + n - m, suffix) == 0 && parse_is_name(ent->d_name);
}

int kernel_mutations(struct kernel_mutation_list *ret, struct err *e)
{
	auto_free char *dir = path_data("fixtures/kernels/mutations");
	struct kernel_mutation_list l = {0};
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_patch, alphasort);
	int r = 0;

	if (n < 0)
		return err_errno(e, ERR_CONFIG, errno, "mutations in %s", dir);
	l.v = xcalloc((size_t)n + 1, sizeof(*l.v));
	for (int i = 0; i < n; i++) {
		if (r >= 0)
			r = load(dir, list[i]->d_name, &l.v[l.n], e);
		if (r >= 0)
			l.n++;
		free(list[i]);
	}
	free(list);
	if (r < 0) {
		kernel_mutation_list_release(&l);
		return r;
	}
	*ret = l;
	return 0;
}

int kernel_mutation_find(const char *name, struct kernel_mutation *ret, struct err *e)
{
	auto_strbuf struct strbuf names = STRBUF_INIT;
	struct kernel_mutation_list l = {0};
	bool is_found = false;
	int r;

	r = kernel_mutations(&l, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < l.n; i++) {
		strbuf_addf(&names, "%s%s", i ? ", " : "", l.v[i].name);
		if (is_found || strcmp(l.v[i].name, name) != 0)
			continue;
		*ret = l.v[i];
		l.v[i] = (struct kernel_mutation){0};
		is_found = true;
	}
	kernel_mutation_list_release(&l);
	if (is_found)
		return 0;
	return err_set(e, ERR_USAGE, ENOENT, "mutation '%s' is unknown, there are: %s", name,
		       strbuf_str(&names));
}

static bool is_inside(const char *file)
{
	return *file && *file != '/' && strncmp(file, "../", 3) != 0 && !strstr(file, "/../");
}

int patch_files(const char *path, char *ret[MUTATION_FILES_MAX], size_t *ret_n, struct err *e)
{
	static const char mark[] = "+++ b/";
	auto_strbuf struct strbuf text = STRBUF_INIT;
	size_t n = 0;
	int r;

	r = file_read(path, MUTATION_TEXT_MAX, &text, e);
	if (r < 0)
		return err_rekind(e, ERR_CONFIG);
	for (const char *line = strbuf_str(&text); *line; line += strspn(line, "\n")) {
		size_t len = strcspn(line, "\t\n");
		auto_free char *file = NULL;

		if (strncmp(line, mark, strlen(mark)) == 0) {
			file = xasprintf("%.*s", (int)(len - strlen(mark)), line + strlen(mark));
			if (!is_inside(file))
				r = err_set(e, ERR_CONFIG, EINVAL, "%s: '%s' is not in the tree",
					    path, file);
			else if (n == MUTATION_FILES_MAX)
				r = err_set(e, ERR_CONFIG, E2BIG, "%s: changes more than %d files",
					    path, MUTATION_FILES_MAX);
			else
				ret[n++] = take(file);
			if (r < 0)
				break;
		}
		line += strcspn(line, "\n");
	}
	if (r >= 0 && n == 0)
		r = err_set(e, ERR_CONFIG, EINVAL, "%s: no '+++ b/FILE' line in it", path);
	if (r < 0) {
		while (n)
			free(ret[--n]);
		return r;
	}
	*ret_n = n;
	return 0;
}
