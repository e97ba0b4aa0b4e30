/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_irq.c - interrupts by a text in /proc/interrupts: their counts and their CPU. */
#include "agent.h"
#include "base/parse.h"

#include <inttypes.h>
#include <string.h>

#define IRQS_MAX 32
#define CPUS_MAX 256
#define FILE_MAX ((size_t)256 << 10)

struct irq_line {
	uint32_t irq;
	uint64_t counts[CPUS_MAX];
	size_t n_counts;
	const char *rest; /* chip, trigger and names; in the text that was parsed */
};

/* False for lines that are no numbered interrupt ("NMI:"). Cuts the line at its end. */
static bool parse_line(char *line, struct irq_line *ret)
{
	char *p = line + strspn(line, " ");
	char *colon = strchr(p, ':');

	if (!colon)
		return false;
	*colon = '\0';
	if (parse_u32("irq", p, 0, UINT32_MAX, &ret->irq, NULL) < 0)
		return false;
	p = colon + 1;
	ret->n_counts = 0;
	for (;;) {
		char digits[24];
		size_t n;

		p += strspn(p, " ");
		n = strspn(p, "0123456789");
		/* the controller's name may begin with a digit: a count ends at a blank */
		if (!n || (p[n] != ' ' && p[n]) || ret->n_counts == CPUS_MAX)
			break;
		(void)snprintf(digits, sizeof(digits), "%.*s", (int)n, p);
		if (parse_u64("count", digits, 0, UINT64_MAX, &ret->counts[ret->n_counts], NULL) <
		    0)
			return false;
		ret->n_counts++;
		p += n;
	}
	ret->rest = p;
	return true;
}

/* "CPU0  CPU1": as many columns of counts has each line. */
static size_t count_columns(const char *header)
{
	size_t n = 0;

	while ((header = strstr(header, "CPU"))) {
		n++;
		header += 3;
	}
	return n;
}

struct irq_table {
	char text[FILE_MAX];
	char *next;
	size_t n_cpus;
	const char *match;
};

static int table_open(struct request *rq, struct irq_table *t, struct err *e)
{
	char *end;
	ssize_t n;
	int r;

	r = request_need(rq, "match", &t->match, e);
	if (r < 0)
		return r;
	n = sysfile_read(rq->root, "/proc/interrupts", t->text, sizeof(t->text), NULL, e);
	if (n < 0)
		return (int)n;
	end = strchr(t->text, '\n');
	if (!end)
		return err_set(e, ERR_TARGET, EBADMSG, "/proc/interrupts: no header line");
	*end = '\0';
	t->n_cpus = count_columns(t->text);
	if (t->n_cpus == 0 || t->n_cpus > CPUS_MAX)
		return err_set(e, ERR_TARGET, EBADMSG, "/proc/interrupts: %zu CPU columns",
			       t->n_cpus);
	t->next = end + 1;
	return 0;
}

/* The next numbered interrupt whose description contains the text. */
static bool table_next(struct irq_table *t, struct irq_line *ret)
{
	while (*t->next) {
		char *line = t->next;
		size_t n = strcspn(line, "\n");

		t->next = line + n + (line[n] == '\n');
		line[n] = '\0';
		if (parse_line(line, ret) && ret->n_counts >= t->n_cpus &&
		    strstr(ret->rest, t->match))
			return true;
	}
	return false;
}

static int nothing_matches(const struct irq_table *t, struct err *e)
{
	return err_set(e, ERR_TARGET, ENOENT, "/proc/interrupts: no interrupt with '%s'", t->match);
}

static void add_number(char *list, size_t cap, uint64_t v)
{
	size_t n = strlen(list);

	(void)snprintf(list + n, cap - n, "%s%" PRIu64, n ? "," : "", v);
}

int verb_irq(struct request *rq, struct err *e)
{
	static struct irq_table t;
	uint64_t sums[CPUS_MAX] = {0};
	char irqs[IRQS_MAX * 12] = "";
	char list[ANSWER_BODY_MAX / 2];
	struct irq_line line;
	size_t n = 0;
	int r;

	r = table_open(rq, &t, e);
	if (r < 0)
		return r;
	while (n < IRQS_MAX && table_next(&t, &line)) {
		*list = '\0';
		for (size_t i = 0; i < t.n_cpus; i++) {
			add_number(list, sizeof(list), line.counts[i]);
			sums[i] += line.counts[i];
		}
		answer_linef(rq->answer, "irq=%" PRIu32 " counts=%s %s", line.irq, list, line.rest);
		add_number(irqs, sizeof(irqs), line.irq);
		n++;
	}
	if (!n)
		return nothing_matches(&t, e);
	*list = '\0';
	for (size_t i = 0; i < t.n_cpus; i++)
		add_number(list, sizeof(list), sums[i]);
	answer_word(rq->answer, "irqs", "%s", irqs);
	answer_word(rq->answer, "cpu_counts", "%s", list);
	return 0;
}

int verb_pin_irq(struct request *rq, struct err *e)
{
	static struct irq_table t;
	char irqs[IRQS_MAX * 12] = "";
	char want[24];
	uint64_t cpu, n_pending = 0;
	struct irq_line line;
	size_t n = 0;
	int r;

	r = table_open(rq, &t, e);
	if (r < 0)
		return r;
	r = request_u64(rq, "cpu", 0, CPUS_MAX - 1, 0, &cpu, e);
	if (r < 0)
		return r;
	(void)snprintf(want, sizeof(want), "%" PRIu64, cpu);
	while (n < IRQS_MAX && table_next(&t, &line)) {
		char path[SYSFILE_PATH_MAX];
		char is[64];

		(void)snprintf(path, sizeof(path), "/proc/irq/%" PRIu32 "/smp_affinity_list",
			       line.irq);
		r = sysfile_write(rq->root, path, want, e);
		if (r < 0)
			return r;
		if (!sysfile_word(rq->root, path, is, sizeof(is)) || strcmp(is, want) != 0)
			return err_set(e, ERR_TARGET, EIO, "%s: is '%s' after writing %s", path, is,
				       want);
		/* some interrupts move only when they fire next: until then the effective CPU is
		   the old one */
		(void)snprintf(path, sizeof(path), "/proc/irq/%" PRIu32 "/effective_affinity_list",
			       line.irq);
		if (sysfile_word(rq->root, path, is, sizeof(is)) && strcmp(is, want) != 0)
			n_pending++;
		add_number(irqs, sizeof(irqs), line.irq);
		n++;
	}
	if (!n)
		return nothing_matches(&t, e);
	answer_word(rq->answer, "irqs", "%s", irqs);
	answer_word(rq->answer, "cpu", "%s", want);
	answer_word(rq->answer, "pending", "%" PRIu64, n_pending);
	return 0;
}
