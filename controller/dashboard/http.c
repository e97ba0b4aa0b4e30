/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * http.c - libmicrohttpd without threads: its epoll descriptor is one source of the waiter.
 *
 * A connection has a deadline at any time: for the request to be there in whole, for the answer to
 * be taken. libmicrohttpd's own time-out is one of silence, which a client that sends a byte now
 * and then never meets.
 */
#include "http.h"

#include "action.h"
#include "assets.h"
#include "base/access.h"
#include "dashboard/dashboard.h"
#include "live.h"
#include "metrics.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SWEEP_NS       NSEC_PER_SEC
#define FILES_RESERVED 64 /* descriptors for the store, recordings and the rest of the process */

struct conn {
	struct http *http;
	struct conn *prev, *next;
	int fd;
	nsec_t deadline_ns; /* NSEC_FOREVER for live views */
	/* of the request that is going on */
	bool is_known;   /* its head was seen */
	bool is_refused; /* the body is too large */
	nsec_t begun_ns;
	struct strbuf body;
	struct MHD_Connection *mc; /* while it is parked for the action */
	struct action *action;     /* NULL = none was asked for, or its outcome was taken */
};

struct http {
	struct MHD_Daemon *daemon;
	struct waiter *w;
	struct site *site;
	struct access access;
	char *address; /* owned */
	uint16_t port;
	int epoll_fd;
	bool has_news;
	nsec_t swept_ns;
	struct conn *conns;
};

/* ---- connections and their deadlines ---- */

static void conn_wait_for_request(struct conn *c)
{
	c->deadline_ns = waiter_now(c->http->w) + DASHBOARD_REQUEST_S * NSEC_PER_SEC;
	c->is_known = false;
	c->is_refused = false;
	strbuf_release(&c->body);
	if (c->action)
		action_forget(take(c->action));
}

static void on_connection(void *self, struct MHD_Connection *mc, void **ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http *h = self;
	struct conn *c = *ctx;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		c = xcalloc(1, sizeof(*c));
		c->http = h;
		c->fd = MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		c->next = h->conns;
		if (c->next)
			c->next->prev = c;
		h->conns = c;
		conn_wait_for_request(c);
		*ctx = c;
		h->site->metrics->connections++;
		return;
	}
	if (c->prev)
		c->prev->next = c->next;
	else
		h->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	strbuf_release(&c->body);
	if (c->action)
		action_forget(c->action);
	free(c);
	*ctx = NULL;
	h->site->metrics->connections--;
}

static struct conn *conn_of(struct MHD_Connection *mc)
{
	return MHD_get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void on_completed(void *self, struct MHD_Connection *mc, void **ctx,
			 enum MHD_RequestTerminationCode how)
{
	struct conn *c = conn_of(mc);

	(void)self;
	(void)how;
	*ctx = NULL;
	if (c)
		conn_wait_for_request(c);
}

/* The socket is shut; libmicrohttpd sees that as an end by the client and tidies up. */
static void sweep(struct http *h, nsec_t now_ns)
{
	for (struct conn *c = h->conns; c; c = c->next) {
		if (c->deadline_ns > now_ns)
			continue;
		(void)shutdown(c->fd, SHUT_RDWR);
		c->deadline_ns = NSEC_FOREVER;
		h->site->metrics->cut_off++;
	}
	if (h->site->actions)
		action_sweep(h->site->actions, now_ns);
	h->swept_ns = now_ns;
}

/* ---- answers ---- */

/* An answer that is sent as it comes. */
struct stream {
	struct live_viewer *viewer;
};

static ssize_t stream_read(void *self, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = self;
	ssize_t n = live_viewer_read(s->viewer, buf, max);

	(void)pos;
	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return n;
}

static void stream_free(void *self)
{
	struct stream *s = self;

	live_viewer_close(s->viewer);
	free(s);
}

static void park(void *connection)
{
	MHD_suspend_connection(connection);
}

static void wake(void *connection)
{
	MHD_resume_connection(connection);
}

static struct MHD_Response *stream_response(struct MHD_Connection *mc, struct live *live)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->viewer = live_viewer_open(live, park, wake, mc);
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 8192, stream_read, s,
						 stream_free);
}

static void put_header(struct MHD_Response *r, const char *name, const char *value)
{
	/* what is not a valid field is not sent: nothing here comes from a client unchecked */
	(void)MHD_add_response_header(r, name, value);
}

/* No script but the server's own file, no foreign frame, form or resource. */
#define CONTENT_POLICY                                                                    \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

static void put_headers(struct MHD_Response *r, const struct reply *rp)
{
	put_header(r, "Content-Type", rp->type);
	put_header(r, "Content-Security-Policy", CONTENT_POLICY);
	put_header(r, "X-Content-Type-Options", "nosniff");
	put_header(r, "Referrer-Policy", "same-origin");
	put_header(r, "Cross-Origin-Opener-Policy", "same-origin");
	put_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	put_header(r, "Cache-Control",
		   rp->is_immutable ? "public, max-age=31536000, immutable" : "no-cache");
	if (rp->etag)
		put_header(r, "ETag", rp->etag);
	if (rp->location)
		put_header(r, "Location", rp->location);
	if (rp->file_name) {
		auto_free char *value = xasprintf("attachment; filename=\"%s\"", rp->file_name);

		put_header(r, "Content-Disposition", value);
	}
}

static const char *header(struct MHD_Connection *mc, const char *name)
{
	return MHD_lookup_connection_value(mc, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_reply(struct conn *c, struct MHD_Connection *mc, struct reply *rp)
{
	struct metrics *m = c->http->site->metrics;
	const char *known = header(mc, "If-None-Match");
	nsec_t now_ns = waiter_now(c->http->w);
	struct MHD_Response *r;
	enum MHD_Result res;

	if (rp->status == 200 && rp->etag && known && strcmp(known, rp->etag) == 0) {
		rp->status = 304;
		strbuf_reset(&rp->body);
	}
	c->deadline_ns = now_ns + DASHBOARD_ANSWER_S * NSEC_PER_SEC;
	if (rp->live) {
		c->deadline_ns = NSEC_FOREVER;
		r = stream_response(mc, rp->live);
	} else if (rp->fd >= 0) {
		c->deadline_ns = now_ns + DASHBOARD_DOWNLOAD_S * NSEC_PER_SEC;
		r = MHD_create_response_from_fd64(rp->fd_bytes, take_fd(rp->fd));
	} else {
		size_t n = rp->body.len;

		r = MHD_create_response_from_buffer(n, strbuf_take(&rp->body),
						    MHD_RESPMEM_MUST_FREE);
	}
	if (!r)
		return MHD_NO;
	put_headers(r, rp);
	metrics_count(m, rp->status, now_ns - c->begun_ns);
	res = MHD_queue_response(mc, rp->status, r);
	MHD_destroy_response(r);
	return res;
}

static enum MHD_Result send_text(struct conn *c, struct MHD_Connection *mc, unsigned status,
				 const char *text)
{
	struct reply rp = REPLY_INIT;
	enum MHD_Result res;

	rp.status = status;
	rp.type = "text/plain; charset=utf-8";
	strbuf_adds(&rp.body, text);
	res = send_reply(c, mc, &rp);
	reply_release(&rp);
	return res;
}

/* ---- requests ---- */

static enum MHD_Result add_arg(void *self, enum MHD_ValueKind kind, const char *key,
			       const char *value)
{
	struct request *rq = self;

	(void)kind;
	if (rq->n_args < REQUEST_ARGS_MAX && key && value) {
		rq->args[rq->n_args].key = key;
		rq->args[rq->n_args++].value = value;
	}
	return MHD_YES;
}

/* The body is a form: "key=value&key=value", percent-encoded. Changes text, which rq points into.
 */
static void add_form(struct request *rq, char *text)
{
	for (char *pair = strsep(&text, "&"); pair; pair = strsep(&text, "&")) {
		char *value = strchr(pair, '=');

		if (!value || rq->n_args == REQUEST_ARGS_MAX)
			continue;
		*value++ = '\0';
		for (char *p = value; *p; p++)
			if (*p == '+')
				*p = ' ';
		(void)MHD_http_unescape(value);
		rq->args[rq->n_args].key = pair;
		rq->args[rq->n_args++].value = value;
	}
}

static enum MHD_Result redirect(struct conn *c, struct MHD_Connection *mc, const char *location,
				const char *cookie)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result res;

	if (!r)
		return MHD_NO;
	put_header(r, "Location", location);
	if (cookie)
		put_header(r, "Set-Cookie", cookie);
	metrics_count(c->http->site->metrics, 303, waiter_now(c->http->w) - c->begun_ns);
	res = MHD_queue_response(mc, 303, r);
	MHD_destroy_response(r);
	return res;
}

static enum MHD_Result send_login(struct conn *c, struct MHD_Connection *mc, unsigned status)
{
	struct request rq = {.method = "GET", .path = "/login"};
	struct reply rp = REPLY_INIT;
	enum MHD_Result res;

	site_answer(c->http->site, &rq, &rp);
	rp.status = status;
	res = send_reply(c, mc, &rp);
	reply_release(&rp);
	return res;
}

static const char *client_address(struct MHD_Connection *mc, char *ret, socklen_t cap)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mc, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	(void)snprintf(ret, cap, "?");
	if (info && info->client_addr)
		(void)getnameinfo(info->client_addr,
				  info->client_addr->sa_family == AF_INET
					  ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6),
				  ret, cap, NULL, 0, NI_NUMERICHOST);
	return ret;
}

static enum MHD_Result log_in(struct conn *c, struct MHD_Connection *mc, const struct request *rq)
{
	struct http *h = c->http;
	auto_free char *cookie = NULL;

	if (!access_is_token(&h->access, request_arg(rq, "token"))) {
		action_refused(h->site->actions, "login", rq->address, "a wrong token");
		return send_login(c, mc, 403);
	}
	cookie = xasprintf(ACCESS_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000",
			   c->http->access.cookie);
	return redirect(c, mc, ".", cookie);
}

/* ---- actions ---- */

static void on_action_end(void *connection)
{
	struct conn *c = connection;

	c->http->has_news = true;
	MHD_resume_connection(c->mc);
}

/* The connection is parked until there is an outcome; then libmicrohttpd asks for it again. */
static enum MHD_Result start_action(struct conn *c, struct MHD_Connection *mc,
				    const struct request *rq, struct reply *rp)
{
	struct err e = {0};

	if (action_start(c->http->site->actions, take(rp->order), rq->address, on_action_end, c,
			 &c->action, &e) < 0) {
		action_refused(c->http->site->actions, rq->path, rq->address, e.text);
		site_answer_error(rq, &e, rp);
		return send_reply(c, mc, rp);
	}
	c->mc = mc;
	c->deadline_ns = NSEC_FOREVER; /* the action has one */
	MHD_suspend_connection(mc);
	return MHD_YES;
}

static enum MHD_Result refuse_action(struct conn *c, struct MHD_Connection *mc,
				     const struct request *rq, const struct access_words *words)
{
	const struct access *a = &c->http->access;
	const char *why = access_refusal(a, words);
	bool is_known = !a->token || access_may_read(a, words);
	struct reply rp = REPLY_INIT;
	enum MHD_Result res;

	action_refused(c->http->site->actions, rq->path, rq->address, why);
	site_answer_refusal(rq, is_known ? 403 : 401, why, &rp);
	res = send_reply(c, mc, &rp);
	reply_release(&rp);
	return res;
}

static enum MHD_Result send_outcome(struct conn *c, struct MHD_Connection *mc, const char *method,
				    const char *url)
{
	struct request rq = {.method = method, .path = url};
	auto_strbuf struct strbuf said = STRBUF_INIT;
	auto_free char *back = NULL;
	struct reply rp = REPLY_INIT;
	enum MHD_Result res;
	struct err e = {0};
	int r;

	r = action_take(take(c->action), &said, &back, &e);
	if (r >= 0 && !request_is_api(&rq))
		return redirect(c, mc, back, NULL);
	if (r >= 0) {
		site_answer_done(&rq, strbuf_str(&said), &rp);
	} else {
		site_answer_error(&rq, &e, &rp);
	}
	res = send_reply(c, mc, &rp);
	reply_release(&rp);
	return res;
}

static enum MHD_Result answer(struct conn *c, struct MHD_Connection *mc, const char *method,
			      const char *url)
{
	struct http *h = c->http;
	char address[INET6_ADDRSTRLEN + 20];
	bool is_post = strcmp(method, "POST") == 0;
	bool is_put = strcmp(method, "PUT") == 0;
	char user[ACTION_WHO_MAX + 2]; /* a name that is too long is refused, not cut */
	auto_free char *form = xstrdup(strbuf_str(&c->body));
	struct access_words words = {
		.host = header(mc, "Host"),
		.authorization = header(mc, "Authorization"),
		.cookie = MHD_lookup_connection_value(mc, MHD_COOKIE_KIND, ACCESS_COOKIE),
		.origin = header(mc, "Origin"),
		.fetch_site = header(mc, "Sec-Fetch-Site"),
	};
	struct request rq = {
		.method = method,
		.path = url,
		.has_actions = h->access.token != NULL,
		.csrf = h->access.token ? h->access.csrf : NULL,
		.address = client_address(mc, address, sizeof(address)),
		.body = is_put ? form : NULL,
	};
	struct reply rp = REPLY_INIT;
	enum MHD_Result res;
	bool is_act = request_is_act(&rq);

	if (!is_post && !is_put && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_text(c, mc, 405, "only GET, HEAD, POST and PUT\n");
	/* with a token no other name can do harm: its cookie stays with the name it was made for */
	if (!h->access.token && !access_is_own_host(&h->access, words.host))
		return send_text(c, mc, 421, "not a name of this server, see --host\n");
	if (is_post)
		add_form(&rq, form);
	if (is_post && h->access.token && strcmp(url, "/login") == 0)
		return log_in(c, mc, &rq);
	if (access_user(&h->access, &words, user, sizeof(user)) && *user)
		rq.user = user;
	if (is_act) {
		words.csrf = is_post ? request_arg(&rq, "csrf") : NULL;
		if (!access_may_act(&h->access, &words))
			return refuse_action(c, mc, &rq, &words);
	}
	if (!access_may_read(&h->access, &words) && strncmp(url, "/assets/", 8) != 0) {
		if (request_is_api(&rq) || strcmp(url, "/metrics") == 0)
			return send_text(c, mc, 401, "this needs Authorization: Bearer TOKEN\n");
		return send_login(c, mc, 401);
	}
	if (!is_post)
		(void)MHD_get_connection_values(mc, MHD_GET_ARGUMENT_KIND, add_arg, &rq);
	site_answer(h->site, &rq, &rp);
	if (is_act && rp.status >= 400)
		action_refused(h->site->actions, url, rq.address, rp.error);
	if (rp.order && rp.status < 400)
		res = start_action(c, mc, &rq, &rp);
	else if (rp.live && live_is_full(h->site->live))
		res = send_text(c, mc, 503, "too many live views\n");
	else
		res = send_reply(c, mc, &rp);
	reply_release(&rp);
	return res;
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *mc, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_n, void **ctx)
{
	struct http *h = self;
	struct conn *c = conn_of(mc);

	(void)version;
	(void)ctx;
	if (!c)
		return MHD_NO;
	if (!c->is_known) {
		c->is_known = true;
		c->begun_ns = waiter_now(h->w);
		if (strlen(url) > DASHBOARD_URL_BYTES_MAX)
			return send_text(c, mc, 414, "the URL is too long\n");
		return MHD_YES;
	}
	if (*upload_n) {
		if (c->body.len + *upload_n > DASHBOARD_BODY_BYTES_MAX)
			c->is_refused = true;
		else
			strbuf_add(&c->body, upload, *upload_n);
		*upload_n = 0;
		return MHD_YES;
	}
	if (c->is_refused)
		return send_text(c, mc, 413, "the body is too large\n");
	if (c->action)
		return send_outcome(c, mc, method, url);
	return answer(c, mc, method, url);
}

/* ---- the daemon ---- */

/* Enough descriptors for all connections, as far as the system lets. */
static unsigned connections_max(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return 256;
	if (lim.rlim_cur < DASHBOARD_CONNECTIONS_MAX + FILES_RESERVED) {
		lim.rlim_cur = DASHBOARD_CONNECTIONS_MAX + FILES_RESERVED;
		if (lim.rlim_cur > lim.rlim_max)
			lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
		(void)getrlimit(RLIMIT_NOFILE, &lim);
	}
	if (lim.rlim_cur >= DASHBOARD_CONNECTIONS_MAX + FILES_RESERVED)
		return DASHBOARD_CONNECTIONS_MAX;
	return lim.rlim_cur > 2 * FILES_RESERVED ? (unsigned)lim.rlim_cur - FILES_RESERVED
						 : FILES_RESERVED;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int read_address(const char *text, uint16_t port, union address *ret, bool *ret_is_loopback,
			struct err *e)
{
	*ret = (union address){0};
	if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons(port);
		*ret_is_loopback = (ntohl(ret->v4.sin_addr.s_addr) >> 24) == 127;
		return 0;
	}
	if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1) {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons(port);
		*ret_is_loopback = IN6_IS_ADDR_LOOPBACK(&ret->v6.sin6_addr);
		return 0;
	}
	return err_set(e, ERR_USAGE, EINVAL, "'%s' is no IPv4 or IPv6 address to listen on", text);
}

static int listen_at(const union address *a, const char *text, uint16_t port, int *ret,
		     struct err *e)
{
	socklen_t n = a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
	int family = a->any.sa_family;
	auto_fd int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &a->any, n) < 0 || listen(fd, 1024) < 0)
		return err_errno(e, ERR_USAGE, errno, "cannot listen on %s port %u", text, port);
	*ret = take_fd(fd);
	return 0;
}

static uint16_t port_of(int fd)
{
	union address a;
	socklen_t n = sizeof(a);

	if (getsockname(fd, &a.any, &n) < 0)
		return 0;
	return ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
}

static int on_news(void *self, short revents, struct err *e)
{
	struct http *h = self;

	(void)revents;
	(void)e;
	h->has_news = true;
	return 0;
}

bool http_has_news(void *http)
{
	const struct http *h = http;

	return h->has_news;
}

static int start(struct http *h, int listen_fd, struct err *e)
{
	const union MHD_DaemonInfo *info;

	h->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h,
		MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		connections_max(), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)DASHBOARD_ANSWER_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)DASHBOARD_HEAD_BYTES_MAX,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
	if (!h->daemon)
		return err_set(e, ERR_INTERNAL, ENOMEM, "libmicrohttpd does not start");
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || info->epoll_fd < 0)
		return err_set(e, ERR_INTERNAL, ENOTSUP, "libmicrohttpd was built without epoll");
	h->epoll_fd = info->epoll_fd;
	return waiter_add(h->w,
			  &(struct waiter_source){
				  .fd = h->epoll_fd, .events = POLLIN, .ready = on_news, .self = h},
			  e);
}

int http_open(const struct http_cfg *cfg, struct http **ret, struct err *e)
{
	bool is_loopback = false;
	union address address;
	struct http *h;
	int fd = -1;
	int r;

	r = read_address(cfg->address, cfg->port, &address, &is_loopback, e);
	if (r < 0)
		return r;
	if (!is_loopback && !cfg->token)
		return err_set(e, ERR_USAGE, EACCES,
			       "%s is no loopback address: others could look in; give --token-file",
			       cfg->address);
	r = listen_at(&address, cfg->address, cfg->port, &fd, e);
	if (r < 0)
		return r;

	h = xcalloc(1, sizeof(*h));
	h->w = cfg->w;
	h->site = cfg->site;
	h->address = xstrdup(cfg->address);
	h->port = port_of(fd);
	h->epoll_fd = -1;
	access_init(&h->access, cfg->token, h->address, cfg->hosts);
	r = start(h, fd, e);
	if (r < 0) {
		if (!h->daemon)
			close(fd);
		http_close(h);
		return r;
	}
	*ret = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	if (h->epoll_fd >= 0)
		waiter_remove(h->w, h->epoll_fd);
	if (h->daemon) {
		/* it must not be stopped while connections are parked */
		live_end(h->site->live);
		if (h->site->actions)
			action_end_all(h->site->actions);
		(void)MHD_run(h->daemon);
		MHD_stop_daemon(h->daemon);
	}
	free(h->address);
	free(h);
}

uint16_t http_port(const struct http *h)
{
	return h->port;
}

nsec_t http_run(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG left_ms;
	nsec_t now_ns;
	nsec_t until_ns;

	h->has_news = false;
	(void)MHD_run(h->daemon);
	now_ns = waiter_now(h->w);
	if (now_ns - h->swept_ns >= SWEEP_NS)
		sweep(h, now_ns);
	until_ns = h->swept_ns + SWEEP_NS;
	if (MHD_get_timeout(h->daemon, &left_ms) == MHD_YES &&
	    left_ms < (unsigned long long)(SWEEP_NS / NSEC_PER_MSEC)) {
		nsec_t wanted_ns = now_ns + (nsec_t)left_ms * NSEC_PER_MSEC;

		until_ns = wanted_ns < until_ns ? wanted_ns : until_ns;
	}
	return until_ns;
}
