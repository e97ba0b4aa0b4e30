/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe_state.c - reads latency-mon's "state" and samples. */
#include "trial/probe_state.h"

#include "base/parse.h"

#include <string.h>

struct field {
	const char *key;
	int64_t *value;
};

static int read_fields(const char *line, const struct field *fields, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (!parse_pair_i64(line, fields[i].key, fields[i].value))
			return err_set(e, ERR_TARGET, EPROTO,
				       "latency-mon state: no number '%s=' in line '%s'",
				       fields[i].key, line);
	return 0;
}

static int read_head(const char *line, struct probe_state *st, struct err *e)
{
	const struct field fields[] = {
		{"version", &st->version},
		{"period_us", &st->period_us},
		{"threshold_us", &st->threshold_us},
		{"hz", &st->hz},
		{"seq", &st->seq},
		{"events", &st->events},
		{"clock_ns", &st->clock_ns},
	};
	int r;

	r = read_fields(line, fields, ARRAY_SIZE(fields), e);
	if (r < 0)
		return r;
	if (st->version != 1)
		return err_set(e, ERR_TARGET, EPROTO,
			       "latency-mon state: version %lld, this program knows version 1",
			       (long long)st->version);
	return 0;
}

static int read_row(const char *line, struct probe_state *st, struct err *e)
{
	struct probe_row *row = &st->rows[st->n_rows];
	int64_t cpu;
	const struct field fields[] = {
		{"cpu", &cpu},
		{"beats", &row->beats},
		{"missed", &row->missed},
		{"over", &row->over},
		{"max_us", &row->max_us},
		{"max_due_ns", &row->max_due_ns},
		{"pending_us", &row->pending_us},
		{"self", &row->self},
	};
	int r;

	if (st->n_rows == PROBE_ROWS_MAX)
		return err_set(e, ERR_TARGET, EPROTO, "latency-mon state: more than %d probes",
			       PROBE_ROWS_MAX);
	r = read_fields(line, fields, ARRAY_SIZE(fields), e);
	if (r < 0)
		return r;
	if (!parse_pair(line, "probe", row->probe, sizeof(row->probe)))
		return err_set(e, ERR_TARGET, EPROTO, "latency-mon state: no 'probe=' in line '%s'",
			       line);
	row->cpu = (int)cpu;
	st->n_rows++;
	return 0;
}

int probe_state_parse(const char *text, struct probe_state *ret, struct err *e)
{
	bool has_head = false;
	const char *p = text;

	memset(ret, 0, sizeof(*ret));
	while (*p) {
		size_t n = strcspn(p, "\n");
		auto_free char *line = strndup(p, n);
		int r = 0;

		p += n;
		p += *p == '\n';
		if (!line)
			return err_set(e, ERR_INTERNAL, ENOMEM, "out of memory");
		if (strncmp(line, "latency_mon ", 12) == 0) {
			r = read_head(line, ret, e);
			has_head = true;
		} else if (strncmp(line, "cpu=", 4) == 0) {
			r = read_row(line, ret, e);
		}
		if (r < 0)
			return r;
	}
	if (!has_head)
		return err_set(e, ERR_TARGET, EPROTO,
			       "latency-mon state: no line 'latency_mon version=…'");
	return 0;
}

/* "1,2,3" into b. */
static bool read_bucket(char *record, struct trial_bucket *b)
{
	int64_t *const numbers[] = {&b->low_ns, &b->end_ns, &b->count};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char *number = strsep(&record, ",");

		if (!number || parse_i64("", number, 0, INT64_MAX, numbers[i], NULL) < 0)
			return false;
	}
	return !record;
}

static int add_samples(char *line, struct trial *t, struct err *e)
{
	const char *probe = strsep(&line, ";");

	for (char *record; (record = strsep(&line, ";")) != NULL;) {
		auto_free char *was = xstrdup(record);
		struct trial_bucket b;

		if (!read_bucket(record, &b) || !trial_add_samples(t, probe, &b))
			return err_set(e, ERR_TARGET, EPROTO,
				       "samples of probe '%.32s': '%.64s' is no bucket", probe,
				       was);
	}
	return 0;
}

int probe_samples_parse(const char *text, struct trial *t, struct err *e)
{
	auto_free char *copy = xstrdup(text);
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		int r = strchr(line, ';') ? add_samples(line, t, e) : 0;

		if (r < 0) {
			trial_clear_samples(t);
			return r;
		}
	}
	return 0;
}

const struct probe_row *probe_state_find(const struct probe_state *st, int cpu, const char *probe)
{
	for (size_t i = 0; i < st->n_rows; i++)
		if (st->rows[i].cpu == cpu && strcmp(st->rows[i].probe, probe) == 0)
			return &st->rows[i];
	return NULL;
}
