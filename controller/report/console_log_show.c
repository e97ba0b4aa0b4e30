/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_log_show.c - a judged console log as text and JSON. */
#include "console_log_priv.h"
#include "report/json_put.h"
#include "report/text.h"

#include <jansson.h>

#include <inttypes.h>
#include <string.h>

#define DELAYS_SHOWN 12

static void add_visible(struct strbuf *out, const char *s)
{
	text_add_visible(out, s, strlen(s), 0);
}

static void add_stamp(struct strbuf *out, int64_t t_us)
{
	if (t_us != CONSOLE_UNKNOWN)
		strbuf_addf(out, "  at [%.6f]", (double)t_us / 1e6);
}

static void add_integrity_text(struct strbuf *out, const struct console_integrity *in)
{
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = {
		{"messages dropped by printk", in->dropped_messages},
		{"callbacks suppressed", in->suppressed},
		{"input overruns", in->overruns},
		{"suspect lines", in->suspect_lines},
		{"delay lines missing by number", in->delay_seq_gaps},
		{"records missing by number", in->kmsg_seq_gaps},
		{"broken time stamps", in->broken_stamps},
		{"dumps without a first line", in->unclassified_dumps},
		{"lines cut at the limit", in->truncated_lines},
		{"garbage bytes", in->garbage_bytes},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].n)
			strbuf_addf(out, "  %-30s %" PRIu64 "\n", rows[i].name, rows[i].n);
}

static void add_file(struct strbuf *out, const struct console_log *log, unsigned boot)
{
	if (log->n_files < 2)
		return;
	strbuf_adds(out, "  in ");
	add_visible(out, log_file_of(log, boot)->name);
}

static void add_delays_text(struct strbuf *out, const struct console_log *log)
{
	size_t shown = 0;

	if (!log->n_delays)
		return;
	strbuf_addf(out, "\nDelays (%" PRIu64 ")\n", log->n_delays + log->delays_dropped);
	for (size_t i = 0; i < log->n_delays && shown < DELAYS_SHOWN; i++, shown++) {
		const struct log_delay *d = &log->delays[i];
		auto_strbuf struct strbuf ms = STRBUF_INIT;

		if (d->us < 0)
			strbuf_addf(&ms, "%" PRId64 " ms", d->ms);
		else
			text_add_ms(&ms, d->us);
		strbuf_adds(out, "  ");
		text_add_padded(out, strbuf_str(&ms), 10, true);
		if (d->cpu >= 0)
			strbuf_addf(out, "  CPU%d", d->cpu);
		if (d->probe[0]) {
			strbuf_adds(out, "  ");
			add_visible(out, d->probe);
		}
		add_stamp(out, d->t_kernel_us);
		if (d->load_pct >= 0)
			strbuf_addf(out, "  line %.0f %% busy", d->load_pct);
		add_file(out, log, d->boot);
		strbuf_addf(out, "%s%s\n", d->is_printing ? "  printing may have made it" : "",
			    d->is_suspect ? "  damaged, does not count"
			    : d->counts   ? ""
					  : "  a control, does not count");
	}
	if (log->n_delays + log->delays_dropped > shown)
		strbuf_addf(out, "  … %" PRIu64 " more\n",
			    log->n_delays + log->delays_dropped - shown);
}

static void add_incidents_text(struct strbuf *out, const struct console_log *log)
{
	if (log->incidents.n)
		strbuf_adds(out, "\nIncidents\n");
	for (size_t i = 0; i < log->incidents.n; i++) {
		const struct console_incident *in = &log->incidents.rows[i];
		const struct console_waiver *waiver = log_waiver_of(log, in);

		strbuf_addf(out, "  %-18s ", console_class_name(in->cls));
		text_add_visible(out, in->title[0] ? in->title : in->text,
				 strlen(in->title[0] ? in->title : in->text), 100);
		if (in->place[0]) {
			strbuf_adds(out, " in ");
			add_visible(out, in->place);
		}
		if (in->count > 1)
			strbuf_addf(out, "  %" PRIu64 " times", in->count);
		if (!in->count)
			strbuf_adds(out, "  damaged");
		if (in->worst_s != CONSOLE_UNKNOWN)
			strbuf_addf(out, "  worst %" PRId64 " s", in->worst_s);
		else if (in->worst_jiffies != CONSOLE_UNKNOWN)
			strbuf_addf(out, "  worst %" PRId64 " jiffies", in->worst_jiffies);
		add_stamp(out, in->t_first_us);
		if (log->n_boots > 1)
			strbuf_addf(out, "  boot %u",
				    in->boot - log_file_of(log, in->boot)->first_boot);
		add_file(out, log, in->boot);
		strbuf_adds(out, "\n");
		if (waiver) {
			strbuf_adds(out, "    waived: ");
			add_visible(out, waiver->reason);
			strbuf_adds(out, "\n");
		}
	}
	if (log->incidents.overflow)
		strbuf_addf(out, "  … and %" PRIu64 " events of further incidents\n",
			    log->incidents.overflow);
	if (log->n_works)
		strbuf_adds(out, "\nIn flight in workqueue dumps\n");
	for (size_t i = 0; i < log->n_works; i++) {
		strbuf_adds(out, "  ");
		add_visible(out, log->works[i].func);
		strbuf_adds(out, " of ");
		add_visible(out, log->works[i].wq);
		strbuf_addf(out, ", %" PRId64 " waiting behind it\n", log->works[i].pending);
	}
}

void console_log_text(struct strbuf *out, const struct console_log *log, bool has_colour)
{
	struct console_integrity sum = log_sum(log);
	struct console_log_verdict v;

	console_log_judge(log, &v);
	strbuf_addf(out, "%s%s%s  ",
		    has_colour ? v.verdict == VERDICT_FAIL ? "\033[1;31m" : "\033[33m" : "",
		    verdict_name(v.verdict), has_colour ? "\033[0m" : "");
	add_visible(out, v.reason);
	strbuf_adds(out, ": ");
	add_visible(out, v.strength);
	strbuf_addf(out,
		    "\n\n  %" PRIu64 " bytes, %" PRIu64 " lines, %" PRIu64
		    " kernel records, %" PRIu64 " boots, %" PRIu64 " disconnects\n",
		    sum.bytes, sum.lines, sum.records, log->n_boots + log->boots_dropped,
		    log->disconnects);
	add_integrity_text(out, &sum);
	add_delays_text(out, log);
	add_incidents_text(out, log);
}

/* ---- JSON ---- */

static void set_stamp(json_t *obj, const char *key, int64_t t_us)
{
	if (t_us != CONSOLE_UNKNOWN)
		set(obj, key, json_real((double)t_us / 1e6));
}

static void set_delay(json_t *obj, int64_t us, int64_t ms, int64_t t_kernel_us, int cpu,
		      const char *probe, bool is_suspect)
{
	set(obj, "ms", us >= 0 ? json_real((double)us / 1000.0) : json_real((double)ms));
	set_stamp(obj, "t_kernel_s", t_kernel_us);
	if (cpu >= 0)
		set(obj, "cpu", json_integer(cpu));
	set_text(obj, "probe", probe);
	set(obj, "suspect", json_boolean(is_suspect));
}

/* The boots of each file are counted for themselves. */
static void set_place(json_t *obj, const struct console_log *log, unsigned boot)
{
	const struct log_file *file = log_file_of(log, boot);

	set_count(obj, "boot", boot - file->first_boot);
	set_text(obj, "file", file->name);
}

static json_t *delays_value(const struct console_log *log)
{
	json_t *array = json_array();

	for (size_t i = 0; i < log->n_delays; i++) {
		const struct log_delay *d = &log->delays[i];
		json_t *obj = json_object();

		set_delay(obj, d->us, d->ms, d->t_kernel_us, d->cpu, d->probe, d->is_suspect);
		set(obj, "counts", json_boolean(d->counts));
		if (d->load_pct >= 0) {
			set(obj, "console_load_pct", json_real(d->load_pct));
			set(obj, "printing_explains", json_boolean(d->is_printing));
		}
		set_place(obj, log, d->boot);
		append(array, obj);
	}
	return array;
}

static json_t *incidents_value(const struct console_log *log)
{
	json_t *array = json_array();

	for (size_t i = 0; i < log->incidents.n; i++) {
		const struct console_incident *in = &log->incidents.rows[i];
		const struct console_waiver *waiver = log_waiver_of(log, in);
		json_t *obj = json_object();

		set_text(obj, "class", console_class_name(in->cls));
		set_text(obj, "title", in->title[0] ? in->title : in->text);
		set_count(obj, "count", in->count);
		if (in->suspects)
			set_count(obj, "suspects", in->suspects);
		set_stamp(obj, "t_first_s", in->t_first_us);
		if (in->worst_s != CONSOLE_UNKNOWN)
			set(obj, "worst_s", json_integer(in->worst_s));
		if (in->worst_jiffies != CONSOLE_UNKNOWN)
			set(obj, "worst_jiffies", json_integer(in->worst_jiffies));
		set_text(obj, "place", in->place);
		set_text(obj, "text", in->text);
		set_place(obj, log, in->boot);
		set_count(obj, "offset", in->first_offset);
		if (waiver)
			set_text(obj, "waived", waiver->reason);
		append(array, obj);
	}
	return array;
}

static json_t *integrity_value(const struct console_integrity *in)
{
	json_t *obj = json_object();

	set_count(obj, "dropped_messages", in->dropped_messages);
	set_count(obj, "suspect_lines", in->suspect_lines);
	set_count(obj, "overruns", in->overruns);
	set_count(obj, "suppressed", in->suppressed);
	set_count(obj, "delay_seq_gaps", in->delay_seq_gaps);
	set_count(obj, "kmsg_seq_gaps", in->kmsg_seq_gaps);
	set_count(obj, "broken_stamps", in->broken_stamps);
	set_count(obj, "unclassified_dumps", in->unclassified_dumps);
	set_count(obj, "truncated_lines", in->truncated_lines);
	set_count(obj, "garbage_bytes", in->garbage_bytes);
	set_count(obj, "bytes", in->bytes);
	set_count(obj, "lines", in->lines);
	set_count(obj, "records", in->records);
	return obj;
}

static void dump(struct strbuf *out, json_t *value)
{
	add_json_line(out, value, JSON_REAL_PRECISION(12) | JSON_COMPACT);
}

void console_log_json(struct strbuf *out, const struct console_log *log)
{
	struct console_integrity sum = log_sum(log);
	struct console_log_verdict v;
	json_t *root = json_object();
	json_t *boots = json_array();
	json_t *works = json_array();

	console_log_judge(log, &v);
	set_text(root, "verdict", verdict_name(v.verdict));
	set_text(root, "reason", v.reason);
	set_text(root, "strength", v.strength);
	set(root, "limit_ms", json_real((double)log->cfg.limit_us / 1000.0));
	if (log->worst_us >= 0)
		set(root, "worst_ms", json_real((double)log->worst_us / 1000.0));
	set_count(root, "over", log->over);
	if (log->cfg.baud > 0) {
		set(root, "baud", json_integer(log->cfg.baud));
		set_count(root, "over_while_printing", log->printing);
	}
	set_count(root, "disconnects", log->disconnects);
	for (size_t i = 0; i < log->n_boots; i++) {
		json_t *obj = json_object();

		set_text(obj, "banner", log->boots[i].banner);
		set_place(obj, log, log->boots[i].boot);
		set_count(obj, "start_offset", log->boots[i].offset);
		append(boots, obj);
	}
	for (size_t i = 0; i < log->n_works; i++) {
		json_t *obj = json_object();

		set_text(obj, "func", log->works[i].func);
		set_text(obj, "workqueue", log->works[i].wq);
		set(obj, "pending", json_integer(log->works[i].pending));
		append(works, obj);
	}
	set(root, "boots", boots);
	set(root, "delays", delays_value(log));
	if (log->delays_dropped)
		set_count(root, "delays_dropped", log->delays_dropped);
	set(root, "incidents", incidents_value(log));
	if (log->incidents.overflow)
		set_count(root, "incident_events_dropped", log->incidents.overflow);
	set(root, "in_flight", works);
	set(root, "integrity", integrity_value(&sum));
	dump(out, root);
}

/* ---- one event ---- */

void console_event_text(struct strbuf *out, const struct console_event *ev)
{
	strbuf_addf(out, "%-18s ",
		    ev->cls == CONSOLE_BOOT    ? "boot"
		    : ev->cls == CONSOLE_DELAY ? "delay"
					       : console_class_name(ev->cls));
	text_add_visible(out, ev->text, ev->text_len, 120);
	add_stamp(out, ev->t_kernel_us);
	strbuf_adds(out, ev->is_suspect ? "  damaged\n" : "\n");
}

void console_event_json(struct strbuf *out, const struct console_event *ev)
{
	json_t *obj = json_object();

	set_text(obj, "event", console_class_name(ev->cls));
	if (ev->cls == CONSOLE_DELAY)
		set_delay(obj, log_delay_us(ev), ev->u.delay.ms, ev->t_kernel_us, ev->u.delay.cpu,
			  ev->u.delay.probe, ev->is_suspect);
	else {
		set_stamp(obj, "t_kernel_s", ev->t_kernel_us);
		set_text(obj, "title", ev->title);
		set(obj, "suspect", json_boolean(ev->is_suspect));
	}
	set_text_n(obj, "text", ev->text, ev->text_len);
	set_count(obj, "boot", ev->boot);
	set_count(obj, "offset", ev->offset);
	dump(out, obj);
}
