/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dashboard.c - the server as one thing: access, limits, live views, and the loop. */
#include "dashboard/dashboard.h"

#include "action.h"
#include "base/access.h"
#include "base/fdio.h"
#include "cache.h"
#include "http.h"
#include "live.h"
#include "metrics.h"

#include <string.h>

struct dashboard {
	struct waiter *w;
	char *address;    /* owned */
	char *recordings; /* owned */
	struct metrics metrics;
	struct site site;
	struct http *http;
	nsec_t polled_ns;
};

int dashboard_open(const struct dashboard_cfg *cfg, struct dashboard **ret, struct err *e)
{
	auto_dashboard struct dashboard *d = xcalloc(1, sizeof(*d));
	struct http_cfg http = {
		.token = cfg->token,
		.hosts = cfg->hosts,
		.port = cfg->port,
		.site = &d->site,
		.w = cfg->w,
	};
	int r;

	r = cfg->token ? access_check_token(cfg->token, e) : 0;
	if (r < 0)
		return r;
	d->w = cfg->w;
	d->address = xstrdup(cfg->address ? cfg->address : "127.0.0.1");
	d->recordings =
		cfg->recordings_dir ? xstrdup(cfg->recordings_dir) : path_state("recordings");
	d->site = (struct site){.store = cfg->store,
				.recordings_dir = d->recordings,
				.metrics = &d->metrics,
				.live = live_set_new(cfg->store, d->recordings),
				.cache = cache_new(),
				.store_location = cfg->store_location};
	/* also without a token: refused attempts go to the log */
	d->site.actions = action_set_new(cfg->program, cfg->w, cfg->log, cfg->log_self);
	http.address = d->address;
	r = http_open(&http, &d->http, e);
	if (r < 0)
		return r;
	*ret = take(d);
	return 0;
}

void dashboard_close(struct dashboard *d)
{
	int saved = errno;

	if (!d)
		return;
	http_close(d->http);
	live_set_free(d->site.live);
	action_set_free(d->site.actions);
	cache_free(d->site.cache);
	free(d->address);
	free(d->recordings);
	free(d);
	errno = saved;
}

uint16_t dashboard_port(const struct dashboard *d)
{
	return http_port(d->http);
}

char *dashboard_url(const struct dashboard *d)
{
	bool is_v6 = strchr(d->address, ':') != NULL;

	return xasprintf("http://%s%s%s:%u/", is_v6 ? "[" : "", d->address, is_v6 ? "]" : "",
			 dashboard_port(d));
}

int dashboard_serve(struct dashboard *d, nsec_t until_ns, struct err *e)
{
	for (;;) {
		nsec_t now_ns = waiter_now(d->w);
		nsec_t next_ns;
		int r;

		if (live_viewers(d->site.live) && now_ns - d->polled_ns >= LIVE_POLL_NS) {
			d->polled_ns = now_ns;
			live_poll(d->site.live, now_ns);
		}
		next_ns = http_run(d->http);
		if (live_viewers(d->site.live) && d->polled_ns + LIVE_POLL_NS < next_ns)
			next_ns = d->polled_ns + LIVE_POLL_NS;
		if (now_ns >= until_ns)
			return 0;
		/* any news ends the wait: done is asked after each round of the sources */
		r = waiter_until(d->w, next_ns < until_ns ? next_ns : until_ns, http_has_news,
				 d->http, e);
		if (r < 0)
			return r;
	}
}
