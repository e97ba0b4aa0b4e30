/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console_log.c - what a bare console log says, and the verdict that follows from that alone. */
#include "report/console_log.h"

#include "console_log_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* A disconnect is stamped when hub_event begins to handle it; the probe may be due just before. */
#define BEFORE_DISCONNECT_US 30000

struct console_log *console_log_new(const struct console_log_cfg *cfg)
{
	struct console_log *log = xcalloc(1, sizeof(*log));

	log->cfg = *cfg;
	log->worst_us = -1;
	log->last_disconnect_us = CONSOLE_UNKNOWN;
	console_incidents_init(&log->incidents);
	return log;
}

void console_log_free(struct console_log *log)
{
	if (!log)
		return;
	console_parser_free(log->parser);
	for (size_t i = 0; i < log->n_files; i++)
		util_free(log->files[i].name);
	util_free(log->files);
	util_free(log->delays);
	util_free(log);
}

int64_t log_delay_us(const struct console_event *ev)
{
	if (ev->u.delay.us != CONSOLE_UNKNOWN)
		return ev->u.delay.us;
	/* the historic module prints negative numbers when its clock goes wrong */
	if (ev->u.delay.ms < 0 || ev->u.delay.ms > INT64_MAX / 1000)
		return ev->u.delay.ms < 0 ? -1 : INT64_MAX;
	return ev->u.delay.ms * 1000;
}

/* When the delayed work was due, on the printk clock. */
static int64_t due_us(const struct console_event *ev, int64_t delay_us)
{
	if (ev->u.delay.due_ns != CONSOLE_UNKNOWN)
		return ev->u.delay.due_ns / 1000;
	if (ev->t_kernel_us == CONSOLE_UNKNOWN || delay_us < 0)
		return CONSOLE_UNKNOWN;
	return ev->t_kernel_us - delay_us;
}

static bool is_after_disconnect(const struct console_log *log, int64_t due)
{
	if (log->last_disconnect_us == CONSOLE_UNKNOWN || due == CONSOLE_UNKNOWN)
		return false;
	return due >= log->last_disconnect_us - BEFORE_DISCONNECT_US &&
	       due <= log->last_disconnect_us + log->cfg.attribution_us;
}

static bool is_judged_probe(const struct console_log *log, const char *probe)
{
	if (!*probe)
		return true;
	for (size_t i = 0; i < log->cfg.n_probes; i++)
		if (strcmp(log->cfg.probes[i], probe) == 0)
			return true;
	return false;
}

static void take_delay(struct console_log *log, const struct console_event *ev)
{
	int64_t us = log_delay_us(ev);
	struct log_delay *row;
	bool is_own = log->has_marks;
	int64_t due = due_us(ev, us);
	double load_pct = -1;
	bool is_printing = false;
	bool counts = !ev->is_suspect && us >= 0 && is_judged_probe(log, ev->u.delay.probe) &&
		      (!is_own || is_after_disconnect(log, due));

	if (ev->is_suspect)
		log->suspect_delays++;
	else
		log->clean_delays++;
	if (log->cfg.baud > 0 && due >= 0 && us > 0 && us < INT64_MAX / 4 / 1000 &&
	    due < INT64_MAX / 4 / 1000) {
		load_pct = console_load_pct(&log->load, due * 1000, (due + us) * 1000);
		is_printing = console_load_explains(&log->load, due * 1000, us * 1000);
	}
	if (counts) {
		log->counted++;
		if (us > log->cfg.limit_us)
			++*(is_printing ? &log->printing : &log->over);
		if (us > log->worst_us)
			log->worst_us = us;
	}
	if (log->n_delays == CONSOLE_LOG_DELAYS_MAX) {
		log->delays_dropped++;
		return;
	}
	if (!log->delays)
		log->delays = xcalloc(CONSOLE_LOG_DELAYS_MAX, sizeof(*log->delays));
	row = &log->delays[log->n_delays++];
	*row = (struct log_delay){
		.us = us,
		.ms = ev->u.delay.ms,
		.t_kernel_us = ev->t_kernel_us,
		.cpu = ev->u.delay.cpu,
		.is_suspect = ev->is_suspect,
		.counts = counts,
		.boot = log->boots_before + ev->boot,
		.load_pct = load_pct,
		.is_printing = is_printing,
	};
	(void)snprintf(row->probe, sizeof(row->probe), "%s", ev->u.delay.probe);
}

static void take_boot(struct console_log *log, const struct console_event *ev)
{
	struct log_boot *row;

	log->last_disconnect_us = CONSOLE_UNKNOWN;
	if (log->n_boots == CONSOLE_LOG_BOOTS_MAX) {
		log->boots_dropped++;
		return;
	}
	row = &log->boots[log->n_boots++];
	row->offset = ev->offset;
	row->boot = log->boots_before + ev->boot;
	(void)snprintf(row->release, sizeof(row->release), "%s", ev->u.boot.release);
	(void)snprintf(row->banner, sizeof(row->banner), "%.*s",
		       ev->text_len < INT32_MAX ? (int)ev->text_len : INT32_MAX, ev->text);
}

static void on_event(void *self, const struct console_event *ev)
{
	struct console_log *log = self;
	struct console_event moved = *ev;

	log->events++;
	if (ev->cls == CONSOLE_DELAY)
		take_delay(log, ev);
	else if (ev->cls == CONSOLE_BOOT)
		take_boot(log, ev);
	else if (ev->cls == CONSOLE_MARK && !ev->is_suspect)
		log->has_marks = true;
	else if (ev->cls == CONSOLE_USB_DISCONNECT && !ev->is_suspect) {
		log->disconnects++;
		log->last_disconnect_us = ev->t_kernel_us;
	}
	moved.boot += log->boots_before;
	if (moved.boot > log->last_boot)
		log->last_boot = moved.boot;
	console_incidents_add(&log->incidents, &moved);
	if (log->cfg.on_event && ev->cls != CONSOLE_MARK && ev->cls != CONSOLE_USB_NEW &&
	    !ev->is_detail)
		log->cfg.on_event(log->cfg.self, &moved);
}

static void on_dump(void *self, const struct wqdump *dump, unsigned boot)
{
	struct console_log *log = self;

	(void)boot;
	log->dumps++;
	for (size_t i = 0; i < dump->n_works; i++) {
		const struct wqdump_work *w = &dump->works[i];
		const struct wqdump_pwq *pwq;
		bool is_known = false;

		if (w->kind != WQDUMP_IN_FLIGHT || w->pwq >= dump->n_pwqs)
			continue;
		pwq = &dump->pwqs[w->pwq];
		for (size_t k = 0; k < log->n_works && !is_known; k++)
			is_known = strcmp(log->works[k].func, w->func) == 0 &&
				   strcmp(log->works[k].wq, pwq->wq) == 0;
		if (is_known || log->n_works == CONSOLE_LOG_WORKS_MAX)
			continue;
		memcpy(log->works[log->n_works].func, w->func, sizeof(w->func));
		memcpy(log->works[log->n_works].wq, pwq->wq, sizeof(pwq->wq));
		log->works[log->n_works].pending = pwq->pending + pwq->inactive;
		log->n_works++;
	}
}

void console_log_begin_file(struct console_log *log, const char *name)
{
	console_parser_free(log->parser);
	log->boots_before = log->n_files > 0 ? log->last_boot + 1 : 0;
	log->last_boot = log->boots_before;
	log->files = xrealloc(log->files, log->n_files + 1, sizeof(*log->files));
	log->files[log->n_files++] = (struct log_file){xstrdup(name), log->boots_before};
	log->parser = console_parser_new(on_event, log);
	console_parser_on_dump(log->parser, on_dump, log);
	if (log->cfg.baud > 0) {
		console_load_init(&log->load, log->cfg.baud);
		console_parser_use_load(log->parser, &log->load);
	}
	log->last_disconnect_us = CONSOLE_UNKNOWN;
}

const struct log_file *log_file_of(const struct console_log *log, unsigned boot)
{
	size_t i = log->n_files;

	while (i > 1 && log->files[i - 1].first_boot > boot)
		i--;
	return i > 0 ? &log->files[i - 1] : NULL;
}

static const char *release_of(const struct console_log *log, unsigned boot)
{
	for (size_t i = 0; i < log->n_boots; i++)
		if (log->boots[i].boot == boot && log->boots[i].release[0])
			return log->boots[i].release;
	return NULL;
}

const struct console_waiver *log_waiver_of(const struct console_log *log,
					   const struct console_incident *in)
{
	return console_waiver_find(log->cfg.waivers, log->cfg.n_waivers, in,
				   release_of(log, in->boot));
}

void console_log_feed(struct console_log *log, const void *bytes, size_t n, int64_t t_host_ns)
{
	console_parser_feed(log->parser, bytes, n, t_host_ns);
}

void console_log_idle(struct console_log *log)
{
	console_parser_idle(log->parser);
}

const struct console_integrity *console_log_integrity(const struct console_log *log)
{
	return console_parser_integrity(log->parser);
}

bool console_log_has_kernel_text(const struct console_log *log)
{
	return log->events > 0 || log->sum.records > 0 ||
	       (log->parser && console_parser_integrity(log->parser)->records > 0);
}

/* All counters of struct console_integrity are uint64_t. */
static void add_integrity(struct console_integrity *sum, const struct console_integrity *more)
{
	uint64_t a[sizeof(*sum) / sizeof(uint64_t)];
	uint64_t b[ARRAY_SIZE(a)];

	_Static_assert(sizeof(*sum) % sizeof(uint64_t) == 0, "only counters");
	memcpy(a, sum, sizeof(a));
	memcpy(b, more, sizeof(b));
	for (size_t i = 0; i < ARRAY_SIZE(a); i++)
		a[i] += b[i];
	memcpy(sum, a, sizeof(a));
}

void console_log_end_file(struct console_log *log)
{
	console_parser_finish(log->parser);
	add_integrity(&log->sum, console_parser_integrity(log->parser));
	console_parser_free(log->parser);
	log->parser = NULL;
}

struct console_integrity log_sum(const struct console_log *log)
{
	struct console_integrity sum = log->sum;

	if (log->parser)
		add_integrity(&sum, console_parser_integrity(log->parser));
	return sum;
}

/* The worst incident that is neither suspect nor waived; the first of them if several are as bad.
 */
static const struct console_incident *worst_incident(const struct console_log *log)
{
	const struct console_incident *worst = NULL;

	for (size_t i = 0; i < log->incidents.n; i++) {
		const struct console_incident *in = &log->incidents.rows[i];

		if (in->count && !log_waiver_of(log, in) &&
		    (!worst ||
		     console_class_severity(in->cls) > console_class_severity(worst->cls)))
			worst = in;
	}
	return worst;
}

static uint64_t suspect_incidents(const struct console_log *log)
{
	uint64_t n = 0;

	for (size_t i = 0; i < log->incidents.n; i++)
		if (console_class_severity(log->incidents.rows[i].cls) >= CONSOLE_STALL)
			n += log->incidents.rows[i].suspects;
	return n;
}

static void set_verdict(struct console_log_verdict *v, enum verdict verdict, const char *reason,
			const char *fmt, ...) printf_like(4, 5);
static void set_verdict(struct console_log_verdict *v, enum verdict verdict, const char *reason,
			const char *fmt, ...)
{
	va_list ap;

	v->verdict = verdict;
	(void)snprintf(v->reason, sizeof(v->reason), "%s", reason);
	va_start(ap, fmt);
	(void)vsnprintf(v->strength, sizeof(v->strength), fmt, ap);
	va_end(ap);
}

static const char *title_of(const struct console_incident *in)
{
	return in->title[0] ? in->title : in->text;
}

void console_log_judge(const struct console_log *log, struct console_log_verdict *ret)
{
	const struct console_incident *in = worst_incident(log);
	enum console_severity severity = in ? console_class_severity(in->cls) : CONSOLE_INFO;
	struct console_integrity sum = log_sum(log);
	uint64_t lost = sum.dropped_messages + sum.overruns + sum.kmsg_seq_gaps +
			sum.delay_seq_gaps + sum.truncated_lines;
	uint64_t damaged = sum.suspect_lines + sum.broken_stamps + sum.unclassified_dumps +
			   sum.garbage_bytes + suspect_incidents(log);

	if (severity >= CONSOLE_FATAL)
		set_verdict(ret, VERDICT_FAIL, "crash", "%s: %s%s%s", console_class_name(in->cls),
			    title_of(in), in->place[0] ? " in " : "", in->place);
	else if (log->over)
		set_verdict(ret, VERDICT_FAIL, "over-limit",
			    "%" PRIu64 " of %" PRIu64 " delays over %" PRId64 " ms, worst %" PRId64
			    " ms",
			    log->over, log->counted, log->cfg.limit_us / 1000,
			    log->worst_us / 1000);
	else if (severity >= CONSOLE_STALL && in->worst_s != CONSOLE_UNKNOWN)
		set_verdict(ret, VERDICT_FAIL, console_class_name(in->cls), "%s, for %" PRId64 " s",
			    title_of(in), in->worst_s);
	else if (severity >= CONSOLE_STALL && in->worst_jiffies != CONSOLE_UNKNOWN)
		set_verdict(ret, VERDICT_FAIL, console_class_name(in->cls),
			    "%s, for %" PRId64 " jiffies", title_of(in), in->worst_jiffies);
	else if (severity >= CONSOLE_STALL)
		set_verdict(ret, VERDICT_FAIL, console_class_name(in->cls), "%s", title_of(in));
	else if (log->printing)
		set_verdict(ret, VERDICT_INCONCLUSIVE, "evidence.probes-agree",
			    "%" PRIu64 " delays over %" PRId64 " ms, but sending at %" PRId64
			    " baud may have made them: the line was busy for half of each",
			    log->printing, log->cfg.limit_us / 1000, log->cfg.baud);
	else if (sum.bytes == 0)
		set_verdict(ret, VERDICT_INCONCLUSIVE, "evidence.console-audible",
			    "the log is empty");
	else if (lost + damaged)
		set_verdict(ret, VERDICT_INCONCLUSIVE, "evidence.console-intact",
			    "no stall was read, but %" PRIu64
			    " messages or lines were lost and %" PRIu64 " pieces are damaged",
			    lost, damaged);
	else if (log->clean_delays == 0)
		set_verdict(ret, VERDICT_INCONCLUSIVE, "evidence.probe-running",
			    "no latency-mon line: the log does not tell a quiet kernel from one "
			    "without a probe; a slow device has no line at all");
	else if (log->disconnects == 0)
		set_verdict(ret, VERDICT_INCONCLUSIVE, "evidence.cut-seen",
			    "no delay over %" PRId64 " ms, but nothing was unplugged",
			    log->cfg.limit_us / 1000);
	else
		set_verdict(ret, VERDICT_INCONCLUSIVE, "evidence.cache-loaded",
			    "no delay over %" PRId64
			    " ms; a log alone does not say what was cached and cut",
			    log->cfg.limit_us / 1000);
}
