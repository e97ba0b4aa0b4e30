/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_run.c - a run: its verdict and its trials; lists of runs; its recordings. */
#include "base/parse.h"
#include "pages.h"
#include "report/export.h"
#include "report/json.h"
#include "report/json_put.h"
#include "report/run_text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define RUNS_BY_DEFAULT 100
#define RUNS_MAX        10000

static void add_bar(struct strbuf *out, const struct run *r, const struct trial *t)
{
	strbuf_adds(out, "<td class=barcell aria-hidden=true><svg class=bar>");
	if (t->worst_us >= 0)
		strbuf_addf(out, "<rect y=4 height=10 width=\"%.2f%%\" class=%s />",
			    html_log_pct(t->worst_us),
			    !t->is_valid                ? "void"
			    : t->worst_us > r->limit_us ? "over"
							: "under");
	strbuf_addf(out, "<line x1=\"%.2f%%\" x2=\"%.2f%%\" y1=0 y2=18 class=limit /></svg>",
		    html_log_pct(r->limit_us), html_log_pct(r->limit_us));
}

static void add_trial_row(struct strbuf *out, const struct request *rq, const struct run *r,
			  const struct trial *t)
{
	auto_strbuf struct strbuf words = STRBUF_INIT;
	auto_strbuf struct strbuf id = STRBUF_INIT;
	auto_free char *number = xasprintf("trial %u", t->number);
	unsigned ok = 0, needed = 0;

	for (enum evidence_id ev = 0; ev < EVIDENCE_MAX; ev++) {
		ok += t->evidence[ev].state == EVIDENCE_OK;
		needed += t->evidence[ev].state != EVIDENCE_NOT_NEEDED;
	}
	run_text_add_trial_id(&id, r, t);
	run_text_add_trial(&words, r, t);
	strbuf_adds(out, "<tr><th scope=row>");
	html_link(out, rq, "trials/", strbuf_str(&id), number);
	strbuf_addf(out, "<td class=num data-k=boot>%u<td class=num data-k=worst>", t->boot);
	html_ms(out, t->worst_us);
	add_bar(out, r, t);
	strbuf_adds(out, "<td data-k=where>");
	if (t->worst_us >= 0 && t->worst_cpu >= 0)
		strbuf_addf(out, "CPU%d ", t->worst_cpu);
	if (t->worst_us >= 0)
		html_text(out, t->worst_probe);
	if (t->worst_func[0]) {
		strbuf_adds(out, " <code>");
		html_text(out, t->worst_func);
		strbuf_adds(out, "</code>");
	}
	strbuf_adds(out, "<td data-k=outcome>");
	html_text(out, strbuf_str(&words));
	strbuf_addf(out, "<td class=num data-k=evidence>%u/%u\n", ok, needed);
}

static void add_facts(struct strbuf *out, const struct request *rq, const struct run *r)
{
	strbuf_adds(out, "<dl class=facts><dt>kernel<dd>");
	html_link(out, rq, "kernels/", r->kernel, r->kernel);
	html_fact(out, "release", r->kernel_release);
	html_fact(out, "version", r->kernel_version);
	html_fact(out, "command line", r->append);
	strbuf_adds(out, "<dt>rig<dd>");
	html_link(out, rq, "rigs/", r->rig, r->rig);
	strbuf_adds(out, " (");
	html_text(out, r->rig_class);
	strbuf_adds(out, ", ");
	html_text(out, r->arch);
	strbuf_adds(out, ")<dt>scenario<dd>");
	html_text(out, r->scenario);
	strbuf_adds(out, ", limit ");
	html_ms(out, r->limit_us);
	strbuf_adds(out, "<dt>started<dd>");
	html_time(out, r->started_wall_ns);
	strbuf_adds(out, "<dt>ended<dd>");
	html_time(out, r->ended_wall_ns);
	html_fact(out, "rig fault", r->rig_fault);
	html_fact(out, "untestable", r->untestable);
	strbuf_adds(out, "</dl>\n");
}

static void add_run_links(struct strbuf *out, const struct request *rq, const struct run *r)
{
	strbuf_adds(out, "<p class=links>");
	if (!r->ended_wall_ns && !rq->is_static)
		html_link(out, rq, "live/", r->id, "watch live");
	strbuf_adds(out, " <a href=\"");
	page_url(out, rq, "trends/", r->rig_class, "/", r->scenario, "/", r->rig, NULL);
	strbuf_adds(out, "\">trend of this rig</a> <a href=\"");
	page_url(out, rq, "compare/", r->id, NULL);
	strbuf_adds(out, "\">compare</a> <a href=\"");
	page_api_url(out, rq, "runs/", r->id, NULL);
	strbuf_adds(out, "\" download>JSON</a>");
	if (!rq->is_static) {
		strbuf_adds(out, " <a href=\"");
		page_api_url(out, rq, "runs/", r->id, NULL);
		strbuf_adds(out, "?format=csv\" download>CSV</a>");
	}
	strbuf_adds(out, "\n");
}

static void add_run(struct strbuf *out, const struct request *rq, const struct run *r)
{
	auto_strbuf struct strbuf outcome = STRBUF_INIT;
	auto_free char *name = view_kernel_name(r);

	run_text_add_outcome(&outcome, r);
	strbuf_adds(out, "<h1>");
	html_text(out, name);
	strbuf_adds(out, " <span class=dim>on ");
	html_text(out, r->rig);
	strbuf_adds(out, "</span></h1>\n<p class=lead>");
	html_verdict(out, r->result.verdict);
	strbuf_adds(out, " ");
	html_text(out, strbuf_str(&outcome));
	strbuf_adds(out, "\n");
	add_run_links(out, rq, r);
	strbuf_adds(out, "<section class=card><h2>Trials</h2>\n");
	if (r->n_trials) {
		strbuf_adds(out,
			    "<table class=\"rows trials\"><thead><tr><th scope=col>trial"
			    "<th scope=col class=num>boot<th scope=col class=num>worst"
			    "<th scope=col class=barcell><span class=axis>0.1 ms … 10 s, line: "
			    "limit</span><th scope=col>where<th scope=col>outcome"
			    "<th scope=col class=num>evidence</thead><tbody>\n");
		for (size_t i = 0; i < r->n_trials; i++)
			add_trial_row(out, rq, r, r->trials[i]);
		strbuf_adds(out, "</tbody></table>");
	} else {
		strbuf_adds(out, "<p>No trial was made.");
	}
	strbuf_adds(out, "</section>\n<section class=card><h2>What was tested</h2>\n");
	add_facts(out, rq, r);
	strbuf_adds(out, "</section>\n");
}

int page_run(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run struct run *run = NULL;
	auto_free char *title = NULL;
	auto_free char *name = NULL;
	int r;

	r = data_run(s, rq->parts[0], &run, e);
	if (r < 0)
		return r;
	name = view_kernel_name(run);
	title = xasprintf("%s on %s", name, run->rig);
	page_begin(&rp->body, rq, NAV_NONE, title, false);
	add_run(&rp->body, rq, run);
	page_end(&rp->body, rq);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* ?format=: the formats of `stallrig report`. */
static int export_runs(const struct request *rq, const char *name, struct run *const *runs,
		       size_t n, struct reply *rp, struct err *e)
{
	const char *format = request_arg(rq, "format");
	const struct export_options options = {0};
	const struct export_format *f = export_find(format);

	if (!f || f->write == export_kcidb)
		return err_set(e, ERR_USAGE, EINVAL, "there is no format '%s' here", format);
	rp->type = f->write == export_csv ? "text/csv; charset=utf-8; header=present"
					  : "text/plain; charset=utf-8";
	rp->file_name = xasprintf("%s.%s", name, f->name);
	return f->write(&rp->body, runs, n, &options, e);
}

int api_run(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	auto_run struct run *run = NULL;
	int r;

	r = data_run(s, rq->parts[0], &run, e);
	if (r < 0)
		return r;
	if (request_arg(rq, "format"))
		return export_runs(rq, run->id, &run, 1, rp, e);
	reply_json(rp, report_whole_run_value(run));
	rp->fresh_ns = FRESH_NS;
	return 0;
}

int api_runs(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	struct data_filter f = {
		.scenario = request_arg(rq, "scenario"),
		.rig = request_arg(rq, "rig"),
		.rig_class = request_arg(rq, "class"),
		.kernel = request_arg(rq, "kernel"),
	};
	const char *last = request_arg(rq, "last");
	auto_run_list struct run_list runs = {0};
	json_t *root;
	json_t *array;
	int r;

	f.last = RUNS_BY_DEFAULT;
	if (last) {
		r = parse_u32("last", last, 1, RUNS_MAX, &f.last, e);
		if (r < 0)
			return r;
	}
	r = data_runs(s, &f, &runs, e);
	if (r < 0)
		return r;
	if (request_arg(rq, "format"))
		return export_runs(rq, "runs", runs.runs, runs.n, rp, e);
	root = json_object();
	array = json_array();
	for (size_t i = 0; i < runs.n; i++)
		append(array, report_run_value(runs.runs[i]));
	set(root, "runs", array);
	reply_json(rp, root);
	rp->fresh_ns = FRESH_NS;
	return 0;
}

/* A recording belongs to the store's row; only two names are files of it. */
int api_recording(struct site *s, const struct request *rq, struct reply *rp, struct err *e)
{
	static const char *const names[] = {"console.raw", "console.timing"};
	auto_run struct run *run = NULL;
	auto_free char *path = NULL;
	const struct trial_boot *boot;
	auto_fd int fd = -1;
	struct stat st;
	uint32_t number;
	size_t i = 0;
	int r;

	r = data_run(s, rq->parts[0], &run, e);
	if (r < 0)
		return r;
	r = parse_u32("boot", rq->parts[1], 0, UINT32_MAX, &number, e);
	if (r < 0)
		return r;
	while (i < ARRAY_SIZE(names) && strcmp(rq->parts[2], names[i]) != 0)
		i++;
	boot = run_text_boot(run, number);
	if (i == ARRAY_SIZE(names) || !boot)
		return err_set(e, ERR_USAGE, ENOENT, "run '%s' has no such recording", run->id);
	path = xasprintf("%s/%s", text_or_empty(boot->recording), names[i]);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, ENOENT,
			       "the recording of run '%s' is not here any more", run->id);
	rp->type = "application/octet-stream";
	rp->fd_bytes = (uint64_t)st.st_size;
	rp->fd = take_fd(fd);
	rp->file_name = xasprintf("%s-boot-%u-%s", run->id, number, names[i]);
	return 0;
}
