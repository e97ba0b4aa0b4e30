/* SPDX-License-Identifier: GPL-2.0-or-later */
/* send.c - HTTP POST with libcurl. */
#include "report/send.h"

#include "report/text.h"

#include <curl/curl.h>
#include <string.h>

#define SAID_MAX 200 /* columns of an answer in an error */

static size_t on_answer(char *bytes, size_t one, size_t n, void *self)
{
	struct strbuf *answer = self;
	size_t room = answer->len < SEND_ANSWER_MAX ? SEND_ANSWER_MAX - answer->len : 0;

	strbuf_add(answer, bytes, n < room ? n : room);
	return one * n;
}

/* A stop signal ends a try. */
static int on_progress(void *self, curl_off_t dl_total, curl_off_t dl, curl_off_t ul_total,
		       curl_off_t ul)
{
	(void)self;
	(void)dl_total;
	(void)dl;
	(void)ul_total;
	(void)ul;
	return waiter_is_stopped();
}

struct request {
	CURL *curl;
	struct curl_slist *headers;
	char said[CURL_ERROR_SIZE];
};

static void request_release(struct request *q)
{
	curl_slist_free_all(q->headers);
	curl_easy_cleanup(q->curl);
}

static bool add_header(struct request *q, const char *text)
{
	struct curl_slist *longer = curl_slist_append(q->headers, text);

	if (longer)
		q->headers = longer;
	return longer != NULL;
}

static int prepare(const struct send_cfg *cfg, const struct strbuf *json, struct strbuf *answer,
		   struct request *q, struct err *e)
{
	auto_free char *bearer =
		cfg->token ? xasprintf("Authorization: Bearer %s", cfg->token) : NULL;
	CURLcode c = CURLE_OK;

	q->curl = curl_easy_init();
	if (!q->curl || !add_header(q, "Content-Type: application/json") ||
	    (bearer && !add_header(q, bearer)))
		return err_set(e, ERR_INTERNAL, ENOMEM, "libcurl: no memory");
#define SET(option, value) \
	if (c == CURLE_OK) \
	c = curl_easy_setopt(q->curl, option, value)
	SET(CURLOPT_URL, cfg->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_HTTPHEADER, q->headers);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)json->len);
	SET(CURLOPT_POSTFIELDS, strbuf_str(json));
	SET(CURLOPT_TIMEOUT_MS, (long)(cfg->timeout_ns / NSEC_PER_MSEC));
	SET(CURLOPT_ERRORBUFFER, q->said);
	SET(CURLOPT_WRITEFUNCTION, on_answer);
	SET(CURLOPT_WRITEDATA, answer);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, on_progress);
	SET(CURLOPT_USERAGENT, "stallrig");
#undef SET
	if (c != CURLE_OK)
		return err_set(e, ERR_CONFIG, EINVAL, "%s: %s", cfg->url, curl_easy_strerror(c));
	return 0;
}

static bool heals(long status)
{
	return status == 408 || status == 429 || status >= 500;
}

/* 0 = taken, 1 = try again (e says why), negative = for good. */
static int try_once(const struct send_cfg *cfg, const struct strbuf *json, struct strbuf *answer,
		    struct err *e)
{
	__attribute__((cleanup(request_release))) struct request q = {0};
	auto_strbuf struct strbuf shown = STRBUF_INIT;
	long status = 0;
	CURLcode c;
	int r;

	strbuf_reset(answer);
	r = prepare(cfg, json, answer, &q, e);
	if (r < 0)
		return r;
	c = curl_easy_perform(q.curl);
	if (waiter_is_stopped())
		return err_set(e, ERR_STOPPED, EINTR, "stopped");
	if (c == CURLE_UNSUPPORTED_PROTOCOL || c == CURLE_URL_MALFORMAT)
		return err_set(e, ERR_CONFIG, EINVAL, "'%s' is no http:// or https:// address",
			       cfg->url);
	if (c != CURLE_OK) {
		(void)err_set(e, ERR_CONFIG, c == CURLE_OPERATION_TIMEDOUT ? ETIMEDOUT : EIO,
			      "%s: %s", cfg->url, *q.said ? q.said : curl_easy_strerror(c));
		return 1;
	}
	(void)curl_easy_getinfo(q.curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300)
		return 0;
	text_add_visible(&shown, strbuf_str(answer), answer->len, SAID_MAX);
	r = err_set(e, ERR_CONFIG, status == 401 || status == 403 ? EACCES : EIO,
		    "%s: status %ld: %s", cfg->url, status, strbuf_str(&shown));
	return heals(status) ? 1 : r;
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
