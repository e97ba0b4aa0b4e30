/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_unit.h - run one verb of the target agent in this process and look at its answer. */
#pragma once

#include "agent.h"
#include "base/parse.h"
#include "unit.h"

#include <sys/stat.h>

/* What a verb answered: lines decoded, ok words encoded, "ENAME text" decoded. */
struct answered {
	struct strbuf lines;
	char ok[FRAME_MAX];
	char err[FRAME_MAX];
	unsigned n_ends;
};

static inline void answered_sink(void *self, enum answer_kind kind, const char *body)
{
	struct answered *got = self;
	char text[FRAME_MAX];
	size_t n;

	/* each piece must make a frame */
	assert_true(strlen(body) + 32 <= FRAME_MAX);
	switch (kind) {
	case ANSWER_DATA:
	case ANSWER_PART:
		assert_true(frame_decode_word(body, strlen(body), text, sizeof(text)));
		strbuf_adds(&got->lines, text);
		if (kind == ANSWER_DATA)
			strbuf_adds(&got->lines, "\n");
		return;
	case ANSWER_OK:
		(void)snprintf(got->ok, sizeof(got->ok), "%s", body);
		break;
	case ANSWER_ERR:
		n = strcspn(body, " ");
		assert_true(
			frame_decode_word(body + n + 1, strlen(body + n + 1), text, sizeof(text)));
		(void)snprintf(got->err, sizeof(got->err), "%.*s %s", (int)n, body, text);
		break;
	}
	got->n_ends++;
}

/* Runs "verb word…" (encoded words) below root; returns the verb's result. */
static inline int run_verb(const char *root, const char *body, struct answered *got)
{
	struct answer a = {.sink = answered_sink, .self = got};
	char line[FRAME_MAX + 1];
	struct err e = {0};
	struct frame f;
	struct request rq = {.frame = &f, .root = root, .answer = &a};
	const struct verb *v;
	size_t n;
	int r;

	strbuf_reset(&got->lines);
	got->ok[0] = got->err[0] = '\0';
	got->n_ends = 0;
	n = frame_build(1, body, line, sizeof(line));
	assert_true(n > 0);
	assert_true(frame_parse(line, n, &f));
	v = verb_find(f.verb);
	assert_non_null(v);
	r = verb_check(v, &f, &e);
	if (r == 0)
		r = v->run(&rq, &e);
	answer_end(&a, r, &e);
	assert_int_equal(got->n_ends, 1);
	return r;
}

/* A number of the final ok. */
static inline int64_t number(const struct answered *got, const char *key)
{
	int64_t v = -1;

	if (!parse_pair_i64(got->ok, key, &v))
		fail_msg("no %s= in '%s'", key, got->ok);
	return v;
}

/* A file below root with the folders that it needs. */
static inline void plant_bytes(const char *root, const char *path, const void *bytes, size_t n)
{
	auto_free char *full = xasprintf("%s%s", root, path);
	auto_free char *dir = xstrdup(full);
	struct err e = {0};

	*strrchr(dir, '/') = '\0';
	assert_int_equal(dir_make(dir, &e), 0);
	assert_int_equal(file_write_atomic(full, bytes, n, &e), 0);
}

static inline void plant(const char *root, const char *path, const char *text)
{
	plant_bytes(root, path, text, strlen(text));
}

static inline void plant_link(const char *root, const char *path, const char *to)
{
	auto_free char *full = xasprintf("%s%s", root, path);
	auto_free char *target = xasprintf("%s%s", root, to);
	auto_free char *dir = xstrdup(full);
	struct err e = {0};

	*strrchr(dir, '/') = '\0';
	assert_int_equal(dir_make(dir, &e), 0);
	assert_int_equal(symlink(target, full), 0);
}

/* The content of a planted file. Caller frees. */
static inline char *harvest(const char *root, const char *path)
{
	auto_free char *full = xasprintf("%s%s", root, path);
	auto_strbuf struct strbuf sb = STRBUF_INIT;
	struct err e = {0};

	assert_int_equal(file_read(full, 1 << 20, &sb, &e), 0);
	return strbuf_take(&sb);
}
