/* SPDX-License-Identifier: GPL-2.0-or-later */
/* send.c - a report is posted, and tried again. */
#include "report/send.h"

#include "base/http_ask.h"

/* 0 = taken, 1 = try again (e says why), negative = for good. */
static int try_once(const struct send_cfg *cfg, const struct strbuf *json, struct strbuf *answer,
		    struct err *e)
{
	auto_free char *bearer = cfg->token ? xasprintf("Bearer %s", cfg->token) : NULL;
	const struct http_ask q = {
		.method = "POST",
		.url = cfg->url,
		.authorization = bearer,
		.type = "application/json",
		.body = strbuf_str(json),
		.body_bytes = json->len,
		.until_ns = waiter_now(cfg->w) + cfg->timeout_ns,
		.answer_max = SEND_ANSWER_MAX,
		.w = cfg->w,
	};
	unsigned status = 0;
	int r;

	strbuf_reset(answer);
	r = http_ask(&q, answer, &status, e);
	if (r == -ETIMEDOUT || r == -EIO)
		return 1;
	if (r < 0)
		return r;
	if (http_is_success(status))
		return 0;
	r = http_refused(cfg->url, status, answer, e);
	return http_may_heal(status) ? 1 : r;
}

int send_json(const struct send_cfg *cfg, const struct strbuf *json, struct strbuf *ret_answer,
	      struct err *e)
{
	nsec_t pause_ns = cfg->pause_ns;

	for (unsigned i = 1;; i++) {
		int r = try_once(cfg, json, ret_answer, e);

		if (r <= 0)
			return r;
		if (i >= cfg->tries)
			return err_wrap(e, "tried %u times", i);
		if (cfg->failed)
			cfg->failed(cfg->self, e->text);
		err_clear(e);
		r = waiter_sleep(cfg->w, pause_ns, e);
		if (r < 0)
			return r;
		pause_ns *= 2;
	}
}
