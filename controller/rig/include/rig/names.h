/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.h - descriptions in YAML files by their names: rigs, scenarios, plans. */
#pragma once

#include "base/err.h"

/* Where the descriptions of one kind of thing lie. */
struct name_kind {
	const char *what; /* "rig", "scenario": for messages */
	const char *env;  /* variable that names another folder, as "STALLRIG_RIGS" */
	const char *sub;  /* folder below path_data("") */
};

extern const struct name_kind names_of_rigs, names_of_scenarios, names_of_plans;

/* Names without ".yaml", sorted. */
struct name_list {
	char **names; /* owned */
	size_t n;
};

/* ERR_CONFIG names the folder that cannot be read. */
int names_list(const struct name_kind *kind, struct name_list *ret, struct err *e) must_check;
void name_list_release(struct name_list *l);

static inline void auto_cleanup_name_list(struct name_list *l)
{
	name_list_release(l);
}
#define auto_name_list __attribute__((cleanup(auto_cleanup_name_list)))

/*
 * The file of a name, or the path itself if it has a '/'. ERR_USAGE: there is no such file; for a
 * name with the names that there are. *ret: caller frees.
 */
int names_find(const struct name_kind *kind, const char *name_or_path, char **ret,
	       struct err *e) must_check;
