/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * console_feed.c - the inner loop of tests/bench/console: one pass of the parser, or of plain
 * memory reading, over a file. Prints one JSON object.
 *   console_feed parse|touch FILE
 */
#include "console/clock.h"
#include "console/incidents.h"
#include "console/wqdump.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define BLOCK (256u << 10)

struct counts {
	uint64_t events;
	uint64_t dumps;
	struct console_incidents incidents;
};

static void on_event(void *self, const struct console_event *ev)
{
	struct counts *c = self;

	c->events++;
	console_incidents_add(&c->incidents, ev);
}

static void on_dump(void *self, const struct wqdump *dump, unsigned boot)
{
	struct counts *c = self;

	(void)dump;
	(void)boot;
	c->dumps++;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* getrusage() would count what was there before exec(). */
static long peak_kib(void)
{
	auto_file FILE *f = fopen("/proc/self/status", "re");
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "VmHWM:", 6) == 0)
			return strtol(line + 6, NULL, 10);
	}
	return -1;
}

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static char block[BLOCK];
	static struct counts counts;
	static struct console_clock clock;
	struct console_parser *p;
	uint64_t bytes = 0;
	uint64_t sum = 0;
	bool is_touch;
	double wall;
	double cpu;
	auto_fd int fd = -1;
	ssize_t n;

	if (argc != 3 || (strcmp(argv[1], "parse") != 0 && strcmp(argv[1], "touch") != 0)) {
		fprintf(stderr, "usage: %s parse|touch FILE\n", argv[0]);
		return 129;
	}
	is_touch = strcmp(argv[1], "touch") == 0;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 130;
	}
	p = console_parser_new(on_event, &counts);
	console_incidents_init(&counts.incidents);
	console_clock_init(&clock, 0);
	console_parser_on_dump(p, on_dump, &counts);
	console_parser_use_clock(p, &clock);
	wall = now_s();
	cpu = cpu_s();
	while ((n = read(fd, block, sizeof(block))) > 0) {
		bytes += (uint64_t)n;
		if (is_touch) {
			for (size_t i = 0; i + 8 <= (size_t)n; i += 8) {
				uint64_t word;

				memcpy(&word, block + i, sizeof(word));
				sum += word;
			}
		} else {
			console_parser_feed(p, block, (size_t)n, (int64_t)(wall * 1e9));
		}
	}
	if (n < 0) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 130;
	}
	console_parser_finish(p);
	wall = now_s() - wall;
	cpu = cpu_s() - cpu;
	printf("{\"bytes\": %" PRIu64 ", \"wall_s\": %.6f, \"cpu_s\": %.6f, \"lines\": %" PRIu64
	       ", \"records\": %" PRIu64 ", \"events\": %" PRIu64
	       ", \"incidents\": %zu, \"dumps\": %" PRIu64 ", \"peak_kib\": %ld, \"sum\": %" PRIu64
	       "}\n",
	       bytes, wall, cpu, console_parser_integrity(p)->lines,
	       console_parser_integrity(p)->records, counts.events, counts.incidents.n,
	       counts.dumps, peak_kib(), sum);
	console_parser_free(p);
	return 0;
}
