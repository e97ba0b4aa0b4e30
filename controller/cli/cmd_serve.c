/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_serve.c - the lab's dashboard over HTTP. */
#include "base/access.h"
#include "base/service.h"
#include "cli/common.h"
#include "dashboard/dashboard.h"

static const struct opt options[] = {
	{.name = "listen",
	 .letter = 'l',
	 .type = OPT_TEXT,
	 .arg = "ADDRESS",
	 .absent = "127.0.0.1",
	 .help = "address to listen on, IPv4 or IPv6; one that is not loopback needs --token-file"},
	{.name = "port",
	 .letter = 'p',
	 .type = OPT_COUNT,
	 .arg = "PORT",
	 .min = 0,
	 .max = 65535,
	 .absent = "8087",
	 .help = "port, 0 takes any that is free"},
	{.name = "token-file",
	 .type = OPT_PATH,
	 .arg = "FILE",
	 .help = "file with the secret that clients must show: at least 16 printable characters, "
		 "readable by its owner only; allows actions (lock, cancel, switch)"},
	{.name = "host",
	 .type = OPT_TEXT,
	 .arg = "NAME",
	 .is_list = true,
	 .help = "a further name by which browsers may call the server, as behind a reverse proxy"},
	{.name = "recordings",
	 .type = OPT_DIR,
	 .arg = "DIR",
	 .absent = "recordings in the state folder",
	 .help = "where runs that go on write their consoles"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static void log_action(void *self, const char *line)
{
	const struct cli *cli = self;

	fprintf(cli->log, "stallrig: action: %s\n", line);
	(void)fflush(cli->log);
}

static int run_serve(struct cli *cli, const struct args *a, struct err *e)
{
	const struct opt_value *hosts = args_list(a, "host");
	const char *host_list[OPT_LIST_MAX + 1] = {NULL};
	auto_store struct store *st = NULL;
	auto_dashboard struct dashboard *d = NULL;
	auto_free char *token = NULL;
	auto_free char *url = NULL;
	struct dashboard_cfg cfg = {
		.address = args_text(a, "listen"),
		.port = (uint16_t)args_count(a, "port", DASHBOARD_PORT),
		.hosts = host_list,
		.recordings_dir = args_text(a, "recordings"),
		.program = "/proc/self/exe",
		.store_location = cli_store_location(a),
		.log = log_action,
		.log_self = cli,
		.w = cli->w,
	};
	int r;

	waiter_catch_stop_signals();
	r = service_begin(cli->w, e);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < hosts->n; i++)
		host_list[i] = hosts->texts[i];
	if (args_has(a, "token-file")) {
		r = access_read_token(args_text(a, "token-file"), &token, e);
		if (r < 0)
			return r;
	}
	cfg.token = token;
	r = cli_store_open(a, STORE_READ, &st, e);
	if (r < 0)
		return r;
	cfg.store = st;
	r = dashboard_open(&cfg, &d, e);
	if (r < 0)
		return r;
	url = dashboard_url(d);
	fprintf(cli->out, "%s\n", url);
	(void)fflush(cli->out);
	service_ready();
	service_status(url);
	r = dashboard_serve(d, NSEC_FOREVER, e);
	service_stopping();
	if (r < 0 && e->kind == ERR_STOPPED) {
		waiter_clear_stop();
		err_clear(e);
		return 0;
	}
	return r;
}

const struct cmd cmd_serve = {
	.name = "serve",
	.summary = "Show the store as web pages: what got worse, where and since when",
	.details =
		"Prints its URL and serves until it is stopped. The store is opened read-only. "
		"With a token, rigs can be locked and switched and jobs be cancelled, each as a "
		"command of this program; who did what, and who tried, is said on standard error. "
		"Rigs can be switched by labgrid and by what speaks pdudaemon's HTTP, too. "
		"Pages work without JavaScript; the API below /api/v1 is described in "
		"docs/openapi.json, limits and reverse proxies in docs/dashboard.md.",
	.options = options,
	.run = run_serve,
};
