/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c - command line of stallrig-agent. */
#include "agent.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <time.h>

#define EXIT_BAD_USAGE 129

static const char usage[] =
	"usage: stallrig-agent -l LINK [-r ROOT]\n"
	"\n"
	"Serves the requests of a stallrig controller on this machine.\n"
	"\n"
	"  -l LINK  where the controller is: a path (a virtio port or a tty), stdio, or fd:N\n"
	"  -r ROOT  look for /proc, /sys and /dev below ROOT, and never power off (for tests)\n"
	"  -V       print the version\n"
	"  -h       print this text\n";

/* Dirty pages of a stick that is gone may never be written: the sync gets two seconds. */
static void sync_for_a_while(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		sync();
		_exit(0);
	}
	for (int i = 0; pid > 0 && i < 200; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		sleep_ms(10);
	}
}

/* An init may start the agent without standard streams: no other file may take their numbers. */
static void hold_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
}

static void power_for_real(const char *how)
{
	sync_for_a_while();
	if (reboot(strcmp(how, "reboot") == 0 ? RB_AUTOBOOT : RB_POWER_OFF) < 0)
		(void)fprintf(stderr, "stallrig-agent: %s: %s\n", how, strerrordesc_np(errno));
}

static void power_not(const char *how)
{
	(void)fprintf(stderr, "stallrig-agent: no %s below another root\n", how);
}

int main(int argc, char **argv)
{
	static struct agent ag;
	const char *link_name = NULL;
	const char *root = "";
	struct err e = {0};
	int opt;
	int r;

	hold_standard_streams();
	while ((opt = getopt(argc, argv, "l:r:Vh")) != -1) {
		switch (opt) {
		case 'l':
			link_name = optarg;
			break;
		case 'r':
			root = optarg;
			break;
		case 'V':
			(void)puts("stallrig-agent " STALLRIG_VERSION);
			return 0;
		case 'h':
			(void)fputs(usage, stdout);
			return 0;
		default:
			(void)fputs(usage, stderr);
			return EXIT_BAD_USAGE;
		}
	}
	if (!link_name || optind < argc) {
		(void)fputs(usage, stderr);
		return EXIT_BAD_USAGE;
	}

	/* what a killed worker leaves behind comes to the agent, which reaps it */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	r = agent_init(&ag, link_name, root, *root ? power_not : power_for_real, &e);
	if (r == 0)
		r = agent_run(&ag, &e);
	agent_release(&ag);
	if (r < 0) {
		(void)fprintf(stderr, "stallrig-agent: %s\n", e.text);
		return e.kind == ERR_USAGE ? EXIT_BAD_USAGE : 1;
	}
	return 0;
}
