/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - descriptions in YAML files by their names. */
#include "rig/names.h"

#include "base/fdio.h"
#include "base/parse.h"

#include <dirent.h>
#include <string.h>

const struct name_kind names_of_rigs = {
	.what = "rig", .env = "STALLRIG_RIGS", .sub = "fixtures/rigs"};
const struct name_kind names_of_scenarios = {
	.what = "scenario", .env = "STALLRIG_SCENARIOS", .sub = "hil/scenarios"};
const struct name_kind names_of_plans = {
	.what = "plan", .env = "STALLRIG_PLANS", .sub = "hil/plans"};

static char *kind_dir(const struct name_kind *kind)
{
	const char *own = getenv(kind->env);

	return own && *own ? xstrdup(own) : path_data(kind->sub);
}

static int is_yaml(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".yaml") == 0;
}

int names_list(const struct name_kind *kind, struct name_list *ret, struct err *e)
{
	auto_free char *dir = kind_dir(kind);
	struct dirent **rows = NULL;
	int n = scandir(dir, &rows, is_yaml, alphasort);

	if (n < 0)
		return err_errno(e, ERR_CONFIG, errno, "%s", dir);
	ret->names = xcalloc((size_t)n, sizeof(*ret->names));
	ret->n = (size_t)n;
	for (int i = 0; i < n; i++) {
		ret->names[i] =
			xasprintf("%.*s", (int)strlen(rows[i]->d_name) - 5, rows[i]->d_name);
		free(rows[i]);
	}
	free(rows);
	return 0;
}

void name_list_release(struct name_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		util_free(l->names[i]);
	util_free(l->names);
	l->names = NULL;
	l->n = 0;
}

static int no_such_name(const struct name_kind *kind, const char *name, const char *dir,
			struct err *e)
{
	auto_strbuf struct strbuf known = STRBUF_INIT;
	auto_name_list struct name_list list = {0};

	/* a folder that cannot be read has no names to offer */
	if (names_list(kind, &list, NULL) < 0)
		list.n = 0;
	for (size_t i = 0; i < list.n; i++)
		strbuf_addf(&known, "%s%s", i ? ", " : "", list.names[i]);
	return err_set(e, ERR_USAGE, ENOENT, "there is no %s '%s'; %ss in %s: %s", kind->what, name,
		       kind->what, dir, known.len ? strbuf_str(&known) : "none");
}

static bool ends_in_yaml(const char *name)
{
	const size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".yaml") == 0;
}

int names_find(const struct name_kind *kind, const char *name_or_path, char **ret, struct err *e)
{
	auto_free char *dir = kind_dir(kind);
	auto_free char *path = NULL;

	if (strchr(name_or_path, '/')) {
		if (access(name_or_path, F_OK) < 0)
			return err_errno(e, ERR_USAGE, errno, "%s '%s'", kind->what, name_or_path);
		*ret = xstrdup(name_or_path);
		return 0;
	}
	/* a file here, as a shell completes it */
	if (ends_in_yaml(name_or_path) && access(name_or_path, F_OK) == 0) {
		*ret = xstrdup(name_or_path);
		return 0;
	}
	path = xasprintf("%s/%s.yaml", dir, name_or_path);
	if (!parse_is_name(name_or_path) || access(path, F_OK) < 0)
		return no_such_name(kind, name_or_path, dir, e);
	*ret = take(path);
	return 0;
}
