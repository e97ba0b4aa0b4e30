/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http_ask.c - an HTTP client: libcurl's multi interface with the waiter as its event loop. */
#include "base/http_ask.h"

#include "base/fdio.h"

#include <curl/curl.h>
#include <string.h>

struct ask {
	const struct http_ask *q;
	CURL *easy;
	CURLM *multi;
	struct curl_slist *headers;
	struct sock *socks; /* that libcurl waits for */
	struct strbuf *body;
	size_t body_len; /* what the answer has added to it */
	char said[CURL_ERROR_SIZE];
	nsec_t timer_ns; /* libcurl wants to be called then; NSEC_FOREVER = not */
	bool has_news;   /* the timer was set anew */
	int file_error;  /* errno; 0 = none */
	bool is_done;
	CURLcode code;
};

struct sock {
	struct ask *ask;
	struct sock *next;
	int fd;
};

/* ---- libcurl's sockets and time ---- */

static void take_outcome(struct ask *a)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(a->multi, &left)))
		if (m->msg == CURLMSG_DONE) {
			a->is_done = true;
			a->code = m->data.result;
		}
}

static void call_curl(struct ask *a, curl_socket_t fd, int events)
{
	int running;

	(void)curl_multi_socket_action(a->multi, fd, events, &running);
	take_outcome(a);
}

/* The socket's structure may be gone when libcurl returns. */
static int on_ready(void *self, short revents, struct err *e)
{
	const struct sock *s = self;
	int events = 0;

	(void)e;
	if (revents & (POLLIN | POLLHUP))
		events |= CURL_CSELECT_IN;
	if (revents & POLLOUT)
		events |= CURL_CSELECT_OUT;
	if (revents & (POLLERR | POLLNVAL))
		events |= CURL_CSELECT_ERR;
	call_curl(s->ask, s->fd, events);
	return 0;
}

static void forget(struct sock *s)
{
	for (struct sock **at = &s->ask->socks; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	waiter_remove(s->ask->q->w, s->fd);
	free(s);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *self, void *known)
{
	struct ask *a = self;
	struct sock *s = known;
	short events =
		(short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0));
	struct err ignored = {0};

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			forget(s);
		return 0;
	}
	if (s) {
		waiter_set_events(a->q->w, fd, events);
		return 0;
	}
	s = xcalloc(1, sizeof(*s));
	*s = (struct sock){.ask = a, .next = a->socks, .fd = fd};
	a->socks = s;
	(void)curl_multi_assign(a->multi, fd, s);
	/* a waiter that has no room: the deadline ends it */
	return waiter_add(a->q->w,
			  &(struct waiter_source){
				  .fd = fd, .events = events, .ready = on_ready, .self = s},
			  &ignored) < 0
		       ? -1
		       : 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *self)
{
	struct ask *a = self;

	(void)multi;
	a->timer_ns =
		timeout_ms < 0 ? NSEC_FOREVER : waiter_now(a->q->w) + timeout_ms * NSEC_PER_MSEC;
	a->has_news = true;
	return 0;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *self)
{
	struct ask *a = self;
	size_t room = a->q->answer_max - a->body_len;
	size_t used = n < room ? n : room;
	long status = 0;

	(void)curl_easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
	if (a->q->file > 0 && http_is_success((unsigned)status)) {
		a->file_error = used < n ? EFBIG : -fd_write_all(a->q->file, bytes, n);
		if (a->file_error)
			return CURL_WRITEFUNC_ERROR;
	} else {
		strbuf_add(a->body, bytes, used);
	}
	a->body_len += used;
	return one * n;
}

/* ---- one request ---- */

static void ask_release(struct ask *a)
{
	if (a->multi && a->easy)
		(void)curl_multi_remove_handle(a->multi, a->easy);
	curl_easy_cleanup(a->easy);
	(void)curl_multi_cleanup(a->multi);
	while (a->socks)
		forget(a->socks);
	curl_slist_free_all(a->headers);
}

static bool add_header(struct ask *a, const char *name, const char *value)
{
	auto_free char *text = xasprintf("%s: %s", name, value);
	struct curl_slist *longer = curl_slist_append(a->headers, text);

	if (longer)
		a->headers = longer;
	return longer != NULL;
}

static int prepare(struct ask *a, struct err *e)
{
	const struct http_ask *q = a->q;
	CURLcode c = CURLE_OK;

	a->easy = curl_easy_init();
	a->multi = curl_multi_init();
	if (!a->easy || !a->multi || (q->type && !add_header(a, "Content-Type", q->type)) ||
	    (q->authorization && !add_header(a, "Authorization", q->authorization)))
		return err_set(e, ERR_INTERNAL, ENOMEM, "libcurl: no memory");
#define SET(option, value) \
	if (c == CURLE_OK) \
	c = curl_easy_setopt(a->easy, option, value)
	SET(CURLOPT_URL, q->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_NOSIGNAL, 1L);
	if (q->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_bytes);
		SET(CURLOPT_POSTFIELDS, q->body);
	}
	SET(CURLOPT_CUSTOMREQUEST, q->method);
	SET(CURLOPT_HTTPHEADER, a->headers);
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_ERRORBUFFER, a->said);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, a);
	SET(CURLOPT_USERAGENT, "stallrig");
#undef SET
	(void)curl_multi_setopt(a->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)curl_multi_setopt(a->multi, CURLMOPT_SOCKETDATA, a);
	(void)curl_multi_setopt(a->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	(void)curl_multi_setopt(a->multi, CURLMOPT_TIMERDATA, a);
	if (c == CURLE_OK && curl_multi_add_handle(a->multi, a->easy) != CURLM_OK)
		c = CURLE_FAILED_INIT;
	if (c != CURLE_OK)
		return err_set(e, ERR_INTERNAL, EINVAL, "libcurl: %s", curl_easy_strerror(c));
	return 0;
}

static bool has_news(void *arg)
{
	const struct ask *a = arg;

	return a->is_done || a->has_news;
}

static int run(struct ask *a, const char *shown, nsec_t since_ns, struct err *e)
{
	const struct http_ask *q = a->q;

	while (!a->is_done) {
		int r;

		a->has_news = false;
		r = waiter_until(q->w, a->timer_ns < q->until_ns ? a->timer_ns : q->until_ns,
				 has_news, a, e);
		if (r < 0)
			return r;
		if (r == 0 && waiter_now(q->w) >= q->until_ns)
			return err_set(e, ERR_CONFIG, ETIMEDOUT, "%s: no answer within %lld ms",
				       shown,
				       (long long)((q->until_ns - since_ns + NSEC_PER_MSEC / 2) /
						   NSEC_PER_MSEC));
		if (r == 0) {
			a->timer_ns = NSEC_FOREVER;
			call_curl(a, CURL_SOCKET_TIMEOUT, 0);
		}
	}
	return 0;
}

int http_ask(const struct http_ask *q, struct strbuf *ret_body, unsigned *ret_status, struct err *e)
{
	__attribute__((cleanup(ask_release))) struct ask a = {
		.q = q, .body = ret_body, .timer_ns = NSEC_FOREVER};
	auto_free char *shown = http_url_shown(q->url);
	const nsec_t since_ns = waiter_now(q->w);
	long status = 0;
	int r;

	if (!http_is_url(q->url))
		return err_set(e, ERR_CONFIG, EINVAL, "'%s' is no http:// or https:// address",
			       shown);
	r = prepare(&a, e);
	if (r >= 0)
		r = run(&a, shown, since_ns, e);
	if (r < 0)
		return r;
	if (a.file_error == EFBIG)
		return err_set(e, ERR_CONFIG, EFBIG, "%s: more than %zu bytes", shown,
			       q->answer_max);
	if (a.file_error)
		return err_errno(e, ERR_INTERNAL, a.file_error, "%s: keeping what came", shown);
	if (a.code != CURLE_OK)
		return err_set(e, ERR_CONFIG, EIO, "%s: %s", shown,
			       *a.said ? a.said : curl_easy_strerror(a.code));
	(void)curl_easy_getinfo(a.easy, CURLINFO_RESPONSE_CODE, &status);
	*ret_status = (unsigned)status;
	return 0;
}

/* ---- refusals ---- */

void http_add_said(struct strbuf *out, const struct strbuf *body)
{
	for (size_t i = 0; i < body->len; i++) {
		char c = body->data[i];

		if (i == HTTP_SAID_MAX) {
			strbuf_adds(out, "…");
			return;
		}
		strbuf_addf(out, "%c", c >= ' ' && c <= '~' ? c : ' ');
	}
}

int http_refused(const char *url, unsigned status, const struct strbuf *body, struct err *e)
{
	auto_free char *shown = http_url_shown(url);
	auto_strbuf struct strbuf said = STRBUF_INIT;

	http_add_said(&said, body);
	return err_set(e, ERR_CONFIG, status == 401 || status == 403 ? EACCES : EIO,
		       "%s: status %u%s%s", shown, status, said.len ? ": " : "", strbuf_str(&said));
}

/* ---- URLs ---- */

bool http_is_url(const char *url)
{
	CURLU *u = curl_url();
	char *scheme = NULL;
	bool is_one;

	is_one = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
		 curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
		 (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
	curl_free(scheme);
	curl_url_cleanup(u);
	return is_one;
}

char *http_url_shown(const char *url)
{
	const char *at = strstr(url, "://");
	const char *host = at ? at + 3 : url;
	const char *user_end = memrchr(host, '@', strcspn(host, "/?#"));
	const char *shown = user_end ? user_end + 1 : host;

	return xasprintf("%.*s%.*s", (int)(host - url), url, (int)strcspn(shown, "?#"), shown);
}

char *http_escape(const char *text)
{
	char *escaped = curl_easy_escape(NULL, text, 0);
	char *copy = xstrdup(escaped ? escaped : "");

	curl_free(escaped);
	return copy;
}
