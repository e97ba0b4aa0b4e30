/* SPDX-License-Identifier: GPL-2.0-or-later */
/* news.c - what changed, for a program of the lab's own. */
#include "lab/news.h"

#include "base/child.h"
#include "base/fdio.h"

#include <jansson.h>

#include <sys/mman.h>

const char *news_kind_name(enum news_kind kind)
{
	static const char *const names[NEWS_KIND_MAX] = {
		[NEWS_NEW_FAIL] = "new-fail",       [NEWS_FIXED] = "fixed",
		[NEWS_REGRESSION] = "regression",   [NEWS_QUARANTINE] = "quarantine",
		[NEWS_NIGHT_ENDED] = "night-ended",
	};

	return kind < NEWS_KIND_MAX ? names[kind] : "night-ended";
}

bool news_of_run(const struct run *previous, const struct run *r,
		 const struct compare_result *change, enum news_kind *ret)
{
	enum verdict now = r->result.verdict;
	enum verdict was = previous ? previous->result.verdict : VERDICT_MAX;

	if (now == VERDICT_FAIL && was != VERDICT_FAIL) {
		*ret = NEWS_NEW_FAIL;
		return true;
	}
	if (now == VERDICT_PASS && was == VERDICT_FAIL) {
		*ret = NEWS_FIXED;
		return true;
	}
	if (change && change->change == COMPARE_REGRESSION) {
		*ret = NEWS_REGRESSION;
		return true;
	}
	return false;
}

static void set(json_t *obj, const char *key, json_t *value)
{
	if (json_object_set_new(obj, key, value) < 0)
		abort(); /* out of memory, as xcalloc() */
}

/* Absent if unknown. Names and labels are ASCII by their own rules; what is not is left out. */
static void set_text(json_t *obj, const char *key, const char *s)
{
	json_t *value = s && *s ? json_string(s) : NULL;

	if (value)
		set(obj, key, value);
}

static void set_ms(json_t *obj, const char *key, int64_t us)
{
	if (us >= 0)
		set(obj, key, json_real((double)us / 1000));
}

void news_since_release(struct news_since *s)
{
	util_free(s->run_id);
	util_free(s->kernel);
	*s = (struct news_since){0};
}

void news_since_words(const struct news_since *s, int64_t now_wall_ns, struct strbuf *out)
{
	char night[11];

	wall_night(s->started_wall_ns, now_wall_ns, night);
	strbuf_addf(out, "at %.1f ms since the night of %s (%s), %.1f ms before",
		    (double)s->after_us / 1000, night, s->kernel, (double)s->before_us / 1000);
}

void news_json(struct strbuf *out, const struct news *n)
{
	json_t *obj = json_object();
	auto_free char *text = NULL;

	set_text(obj, "what", news_kind_name(n->kind));
	set_text(obj, "plan", n->plan);
	set(obj, "night", json_integer((json_int_t)n->night));
	set_text(obj, "rig", n->run ? n->run->rig : n->rig);
	if (n->run) {
		set_text(obj, "scenario", n->run->scenario);
		set_text(obj, "kernel_label", n->run->kernel_label);
		set_text(obj, "run", n->run->id);
		set_text(obj, "verdict", verdict_name(n->run->result.verdict));
		set_ms(obj, "worst_ms", n->run->result.worst_us);
	}
	if (n->previous) {
		set_text(obj, "was_run", n->previous->id);
		set_text(obj, "was_kernel_label", n->previous->kernel_label);
		set_text(obj, "was_verdict", verdict_name(n->previous->result.verdict));
		set_ms(obj, "was_worst_ms", n->previous->result.worst_us);
	}
	if (n->since && n->since->run_id) {
		auto_free char *started = wall_format(n->since->started_wall_ns);

		set_text(obj, "since", started);
		set_text(obj, "since_run", n->since->run_id);
		set_text(obj, "since_kernel", n->since->kernel);
		set_ms(obj, "before_ms", n->since->before_us);
		set_ms(obj, "level_ms", n->since->after_us);
	}
	set_text(obj, "text", n->text);
	text = json_dumps(obj, JSON_REAL_PRECISION(12) | JSON_COMPACT);
	json_decref(obj);
	if (!text)
		abort();
	strbuf_adds(out, text);
	strbuf_adds(out, "\n");
}

int news_tell(struct waiter *w, const char *program, const struct news *n, struct err *e)
{
	const char *argv[] = {program, NULL};
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_fd int fd = memfd_create("stallrig-news", MFD_CLOEXEC);
	struct child_cfg cfg = {.argv = argv, .stdin_fd = fd, .stdout_fd = -1, .stderr_fd = -1};
	int r;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "notify '%s': memfd", program);
	news_json(&text, n);
	r = fd_write_all(fd, text.data, text.len);
	if (r < 0)
		return err_errno(e, ERR_INTERNAL, -r, "notify '%s': memfd", program);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "notify '%s': memfd", program);

	r = child_run(w, &cfg, NEWS_TIMEOUT_NS, NULL, e);
	if (r >= 0 || e->kind == ERR_STOPPED)
		return r;
	err_rekind(e, ERR_CONFIG);
	return err_wrap(e, "notify '%s'", program);
}
