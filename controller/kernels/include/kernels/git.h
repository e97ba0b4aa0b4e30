/* SPDX-License-Identifier: GPL-2.0-or-later */
/* git.h - what git is asked, as a program: a broken repository or network is its own message. */
#pragma once

#include "base/strbuf.h"
#include "base/waiter.h"

/* Runs git in the folder; its stdout to ret_out (may be NULL). */
int git_run(struct waiter *w, const char *dir, const char *const *args, struct strbuf *ret_out,
	    struct err *e) must_check;
/* git_run() of a command whose exit status is an answer: as child_ask(). */
int git_ask(struct waiter *w, const char *dir, const char *const *args, struct strbuf *ret_out,
	    struct err *e) must_check;
/* Full name of a commit. ERR_USAGE if there is none. Caller frees. */
int git_commit_of(struct waiter *w, const char *repo, const char *rev, char **ret,
		  struct err *e) must_check;
/* 1 if a is an ancestor of b or b itself, else 0. */
int git_is_ancestor(struct waiter *w, const char *repo, const char *a, const char *b,
		    struct err *e) must_check;
/* The tree becomes that of the commit and nothing else; what a build left (.obj-*) stays. */
int git_check_out(struct waiter *w, const char *tree, const char *commit, struct err *e) must_check;
