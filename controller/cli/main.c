/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - the process around cli_run(): streams, signals, terminal. */
#include "base/service.h"
#include "cli/cmd.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

static unsigned terminal_columns(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

/* NO_COLOR and a dumb terminal want no escape sequences. */
static bool takes_escapes(int fd)
{
	const char *term = getenv("TERM");
	const char *no_colour = getenv("NO_COLOR");

	if (no_colour && *no_colour)
		return false;
	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

/* A command that waits replaces this by waiter_catch_stop_signals(); the others have nothing to
   clean up. */
static void on_stop_signal(int sig)
{
	(void)sig;
	_exit(CLI_EXIT_BROKEN);
}

int main(int argc, char **argv)
{
	auto_waiter struct waiter *w = NULL;
	struct cli cli = {
		.out = stdout,
		.log = stderr,
		.is_out_tty = takes_escapes(STDOUT_FILENO),
		.is_log_tty = takes_escapes(STDERR_FILENO),
		.is_log_journal = service_is_journal(STDERR_FILENO),
		.columns = terminal_columns(STDERR_FILENO),
	};

	/* a reader that goes away must not end a run: its write error is looked at instead */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, on_stop_signal);
	signal(SIGTERM, on_stop_signal);
	w = waiter_new(NULL);
	cli.w = w;
	return cli_run(&cli, argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
}
