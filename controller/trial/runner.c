/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner.c - executes a scenario: runs, boots and the bookkeeping of trials. */
#include "base/fdio.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/rng.h"
#include "facts.h"
#include "runner_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define CRASH_GRACE_NS (2 * NSEC_PER_SEC) /* the rest of a crash report may still be coming */

/* ---- console ---- */

static void on_event(void *self, const struct console_event *ev)
{
	struct runner *rn = self;

	event_log_add(&rn->log, ev);
}

/* Every byte is on disk before it is interpreted. */
static void on_console(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	struct runner *rn = self;

	if (!rn->rec || rn->console_err.kind != ERR_NONE)
		return;
	if (recording_add(rn->rec, bytes, n, t_host_ns, &rn->console_err) < 0)
		return;
	machine_watch_feed(&rn->machine, bytes, n);
	rn->log.bytes = (int64_t)recording_bytes(rn->rec);
	console_parser_feed(rn->parser, bytes, n, t_host_ns);
}

void runner_phase(struct runner *rn, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_debug(LOG_TRIAL, "%s", text);
	if (rn->cfg->hooks && rn->cfg->hooks->phase)
		rn->cfg->hooks->phase(rn->cfg->self, rn->run, text);
}

bool runner_has_crash(const struct runner *rn)
{
	return event_log_find_crash(&rn->log, 0) != NULL;
}

/* ---- a trial ---- */

/* A crash report may still be coming in. */
static int hear_out_crash(struct runner *rn, struct err *e)
{
	return runner_has_crash(rn) ? waiter_sleep(rn->w, CRASH_GRACE_NS, e) : 0;
}

/* A machine that ended without a crash report is the rig's fault and ends the run. */
static void note_machine_end(struct runner *rn)
{
	auto_free char *how = NULL;

	if (rn->trial->is_crash || rn->run->rig_fault || rig_is_running(rn->rig, &how))
		return;
	rn->run->rig_fault = xasprintf("machine-ended: the target machine ended by itself: %s",
				       how ? how : "no reason given");
}

static void make_nonce(struct runner *rn, const char *what, char ret[33])
{
	(void)snprintf(ret, 33, "%s-%u-%08x", what, rn->trial->number,
		       (unsigned)(rng_u64(&rn->rng) & 0xffffffffu));
}

static int store_trial(struct runner *rn, struct err *e)
{
	struct run *run = rn->run;

	run->trials = xrealloc(run->trials, run->n_trials + 1, sizeof(*run->trials));
	run->trials[run->n_trials++] = rn->trial;
	run_judge(run);
	if (rn->cfg->hooks && rn->cfg->hooks->trial)
		return rn->cfg->hooks->trial(rn->cfg->self, run, rn->trial, e);
	return 0;
}

static int write_run(const struct runner *rn, struct err *e)
{
	const struct facts_setup setup = {
		.usb_path = rn->cfg->rig->stick.usb_path,
		.console_baud = rn->cfg->rig->console.baud,
		.waivers_path = rn->cfg->waivers_path,
	};

	return facts_write_run(rn->dir, rn->run, rn->sc, &setup, e);
}

/* One unplug. *ret_is_boot_usable: the target is as it was before, the next trial may follow. */
static int run_trial(struct runner *rn, unsigned unplug, bool *ret_is_boot_usable, struct err *e)
{
	int r;

	rn->trial = trial_new();
	rn->trial->number =
		rn->run->n_trials ? rn->run->trials[rn->run->n_trials - 1]->number + 1 : 1;
	rn->trial->boot = rn->boot->number;
	rn->trial->unplug = unplug;
	rn->trial->started_wall_ns = wall_now();
	rn->trial->console_from = recording_bytes(rn->rec);
	memset(&rn->obs, 0, sizeof(rn->obs));
	rn->obs.scenario = rn->sc;
	rn->obs.log = &rn->log;
	rn->obs.log_from = rn->log.n;
	rn->obs.log_armed = rn->log.n;
	rn->obs.usb_path = rn->cfg->rig->stick.usb_path;
	rn->obs.build.release = rn->cfg->kernel->release;
	rn->obs.build.version = rn->cfg->kernel->version;
	rn->obs.build.banner = rn->boot->banner;
	rn->obs.build.agent_release = rn->agent_release;
	rn->obs.build.agent_version = rn->agent_version;
	rn->worst_func[0] = '\0';
	strbuf_reset(&rn->samples);
	make_nonce(rn, "start", rn->mark_start);
	make_nonce(rn, "end", rn->mark_end);

	r = steps_run(rn, ret_is_boot_usable, e);
	if (r >= 0)
		r = hear_out_crash(rn, e);
	if (r < 0) {
		trial_free(take(rn->trial));
		return r;
	}
	rn->obs.log_end = rn->log.n;
	rn->obs.machine_broken = rn->machine.found;
	evidence_judge(rn->trial, &rn->obs);
	note_machine_end(rn);
	rn->trial->console_to = recording_bytes(rn->rec);
	r = facts_write_trial(rn->dir, rn->trial, &rn->obs, recording_t0_ns(rn->rec), e);
	if (r >= 0)
		r = store_trial(rn, e);
	else
		trial_free(rn->trial);
	if (r >= 0)
		r = write_run(rn, e);
	rn->trial = NULL;
	util_free(take(rn->environment_now));
	strbuf_release(&rn->samples);
	util_free(take(rn->numbers));
	return r;
}

void runner_add_number(struct runner *rn, const char *name, int64_t value)
{
	struct observation *o = &rn->obs;

	if (o->n_numbers >= TRIAL_LIST_MAX)
		return;
	rn->numbers = xrealloc(rn->numbers, o->n_numbers + 1, sizeof(*rn->numbers));
	(void)snprintf(rn->numbers[o->n_numbers].name, sizeof(rn->numbers->name), "%s", name);
	rn->numbers[o->n_numbers++].value = value;
	o->numbers = rn->numbers;
}

/* ---- a boot ---- */

static void boot_forget(struct runner *rn)
{
	recording_close(take(rn->rec));
	console_parser_free(take(rn->parser));
	event_log_release(&rn->log);
	util_free(rn->environment);
	rn->environment = NULL;
}

static const char *banner_of(const struct runner *rn)
{
	const struct seen_event *ev = event_log_find_banner(&rn->log);

	return ev ? ev->text : "";
}

static int hook_boot(struct runner *rn, struct err *e)
{
	if (rn->cfg->hooks && rn->cfg->hooks->boot)
		return rn->cfg->hooks->boot(rn->cfg->self, rn->run, rn->boot, e);
	return 0;
}

/* Module words that the console format, the agent and the scenario agree on. */
static int load_probe(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf probes = STRBUF_INIT;
	auto_strbuf struct strbuf words = STRBUF_INIT;
	auto_free char *dir = rig_probe_dir(rn->rig);
	int r;

	for (unsigned i = 0; i < rn->sc->probe.count_count; i++)
		strbuf_addf(&probes, "%s%s", probes.len ? "," : "", rn->sc->probe.count[i]);
	for (unsigned i = 0; i < rn->sc->probe.watch_count; i++)
		strbuf_addf(&probes, ",%s", rn->sc->probe.watch[i]);
	strbuf_addf(&words, "period_us=%u threshold_us=%u probes=%s", rn->sc->probe.period_us,
		    rn->sc->probe.threshold_us, strbuf_str(&probes));
	if (strcmp(rn->sc->probe.cpus, "all") != 0)
		strbuf_addf(&words, " cpus=%s", rn->sc->probe.cpus);
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "load-module %s/latency-mon.ko %s", dir,
		      strbuf_str(&words));
	if (r < 0)
		return r;
	return link_call(rig_link(rn->rig), CALL_NS, NULL, e, "load-module %s/wq-stall.ko", dir);
}

/* Brings the booted target into the scenario's state and reads its environment. */
static int prepare_target(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf stick = STRBUF_INIT;
	auto_strbuf struct strbuf info = STRBUF_INIT;
	char match[64];
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, &info, e, "info");
	if (r < 0)
		return r;
	if (!reply_text(strbuf_str(&info), "release", rn->agent_release,
			sizeof(rn->agent_release)) ||
	    !reply_text(strbuf_str(&info), "version", rn->agent_version, sizeof(rn->agent_version)))
		return err_set(e, ERR_TARGET, EPROTO,
			       "agent: reply to 'info' has no 'release=' and 'version='");
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "dmesg-level %u",
		      rn->sc->prepare.console_loglevel);
	if (r < 0)
		return r;
	if (scenario_is_load(rn->sc))
		return runner_read_environment(rn, &rn->environment, e);
	(void)frame_encode_word(rn->sc->prepare.irq.match, match, sizeof(match));
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "pin-irq match=%s cpu=%u", match,
		      rn->sc->prepare.irq.cpu);
	if (r < 0)
		return r;
	r = runner_await_stick(rn, waiter_now(rn->w) + STICK_NS, &stick, e);
	if (r < 0)
		return r;
	return runner_read_environment(rn, &rn->environment, e);
}

/* <state>/consoles/<rig> leads to the boot that is recorded now, for `stallrig console`. */
static void publish_recording(const struct runner *rn)
{
	auto_free char *dir = path_state("consoles");
	auto_free char *link = xasprintf("%s/%s", dir, rn->cfg->rig->name);
	auto_free char *tmp = xasprintf("%s.tmp", link);
	struct err ignored = {0};

	/* nobody may be able to watch, which is no reason not to run */
	if (dir_make(dir, &ignored) < 0)
		return;
	(void)unlink(tmp);
	if (symlink(rn->boot->recording, tmp) < 0 || rename(tmp, link) < 0)
		log_debug(LOG_TRIAL, "%s: %s", link, strerrordesc_np(errno));
}

/* What is worn out by earlier runs, too, counts against the switch's budget. */
static int set_wear(struct runner *rn, struct err *e)
{
	struct switch_wear wear = {0};
	int r;

	if (!rn->cfg->hooks || !rn->cfg->hooks->wear)
		return 0;
	r = rn->cfg->hooks->wear(rn->cfg->self, &wear, e);
	if (r >= 0)
		rig_set_wear(rn->rig, &wear);
	return r;
}

/* A boot that was cut off may have left a folder and no row: its recording stays as it is. */
static unsigned next_boot_number(const struct runner *rn)
{
	const struct run *run = rn->run;
	unsigned number = run->n_boots ? run->boots[run->n_boots - 1].number + 1 : 1;

	for (;; number++) {
		auto_free char *dir = xasprintf("%s/boot-%u", rn->dir, number);

		if (access(dir, F_OK) < 0)
			return number;
	}
}

static int boot_start(struct runner *rn, struct err *e)
{
	struct run *run = rn->run;
	nsec_t t0 = waiter_now(rn->w);
	unsigned number = next_boot_number(rn);
	int r;

	runner_phase(rn, "boot %u: starting %s%s", number, run->kernel_label,
		     rn->is_collecting ? " for the pstore records" : "");
	run->boots = xrealloc(run->boots, run->n_boots + 1, sizeof(*run->boots));
	rn->boot = &run->boots[run->n_boots++];
	memset(rn->boot, 0, sizeof(*rn->boot));
	rn->boot->number = number;
	rn->boot->boot_ms = -1;
	rn->boot->banner = xstrdup("");
	rn->boot->environment = xstrdup("");
	rn->boot->recording = xasprintf("%s/boot-%u", rn->dir, number);
	r = recording_create(rn->boot->recording, t0, &rn->rec, e);
	if (r < 0)
		return r;
	publish_recording(rn);
	event_log_init(&rn->log, rn->cfg->rig->console.baud);
	if (rn->cfg->waivers)
		rn->log.waivers = waivers_list(rn->cfg->waivers, &rn->log.n_waivers);
	rn->log.release = rn->cfg->kernel->release;
	rn->parser = console_parser_new(on_event, rn);
	console_parser_use_load(rn->parser, rn->log.load);
	machine_watch_init(&rn->machine, rn->sc->invalid_if, rn->sc->invalid_if_count);
	rn->is_crashed = false;
	rn->is_set_up = false;
	rn->is_profile_checked = false;
	rn->is_profiling = false;

	r = rig_boot(rn->rig, rn->cfg->kernel, rn->cfg->append, e);
	util_free(rn->boot->banner);
	rn->boot->banner = xstrdup(banner_of(rn));
	if (r < 0)
		return r;
	rn->boot->boot_ms = (waiter_now(rn->w) - t0) / NSEC_PER_MSEC;
	return 0;
}

/* Between two boots the machine is down, unless records in its RAM are to be read in the next one.
 */
static void leave_target(struct runner *rn)
{
	struct err ignored = {0};

	if (rn->is_crashed && !rn->is_collecting && rig_loses_records(rn->cfg->rig))
		rig_keep_power(rn->rig);
	/* a stop shows in the next wait */
	else if (rig_shutdown(rn->rig, &ignored) < 0)
		log_debug(LOG_TRIAL, "shutdown: %s", ignored.text);
}

static int boot_end(struct runner *rn, struct err *e)
{
	if (rn->is_crashed) {
		rn->n_crashed++;
		rn->crashed_boot = rn->boot->number;
	}
	if (rn->rec)
		leave_target(rn);
	if (rn->rec) {
		rn->log.bytes = EVENT_LOG_ENDED;
		console_parser_finish(rn->parser);
		rn->boot->console_bytes = recording_bytes(rn->rec);
	}
	boot_forget(rn);
	return hook_boot(rn, e);
}

/*
 * A boot that failed says something about the kernel, the rig or this program. The rig may allow
 * some to fail in a row: the kernel is to blame only if it was each time.
 */
static int note_boot_error(struct runner *rn, struct err *e)
{
	const struct seen_event *crash = event_log_find_crash(&rn->log, 0);
	const unsigned attempts = rn->cfg->rig->boot.attempts;
	const bool is_starved = e->kind == ERR_RIG && e->code == EAGAIN; /* see rig_boot() */
	/* of a mere reset the boot driver knows better what it was */
	const bool is_crash = crash && !(e->reason && crash->ev.cls == CONSOLE_REBOOT);
	const bool is_kernel = !is_starved && (is_crash || e->kind == ERR_KERNEL);
	auto_free char *times = NULL;
	auto_free char *what = NULL;

	if (!is_kernel && e->kind != ERR_RIG && e->kind != ERR_TARGET)
		return -e->code;
	rn->is_crashed |= is_kernel || e->kind == ERR_TARGET;
	if (is_crash && !is_starved)
		what = xasprintf("crash-at-boot: %s: %s", console_class_name(crash->ev.cls),
				 crash->title);
	else
		what = xasprintf("%s: %s",
				 e->reason   ? e->reason
				 : is_kernel ? "no-boot"
					     : "boot",
				 e->text);
	err_clear(e);
	rn->failed_boots++;
	rn->is_rig_suspect |= !is_kernel;
	if (rn->failed_boots < attempts) {
		runner_phase(rn, "boot %u failed, %u of %u: %s", rn->boot->number, rn->failed_boots,
			     attempts, what);
		return 0;
	}
	if (rn->failed_boots > 1)
		times = xasprintf(" (%u boots in a row failed, this was the last%s)",
				  rn->failed_boots,
				  is_kernel && rn->is_rig_suspect
					  ? ", another one failed because of the bench"
					  : "");
	if (rn->is_rig_suspect)
		rn->run->rig_fault = xasprintf("%s%s", what, times ? times : "");
	else
		rn->run->untestable = xasprintf("%s%s", what, times ? times : "");
	return 0;
}

/* The agent's own no is the kernel's: it does not take the module. No answer is a boot that failed.
 */
static int note_probe_error(struct runner *rn, struct err *e)
{
	bool is_answer = e->kind == ERR_TARGET && e->code != ETIMEDOUT && e->code != EPIPE;

	if (!is_answer || runner_has_crash(rn))
		return note_boot_error(rn, e);
	rn->run->untestable = xasprintf("no-probe: %s", e->text);
	err_clear(e);
	return 0;
}

static bool is_decided(const struct runner *rn)
{
	const struct judge_result *res = &rn->run->result;

	return rn->run->rig_fault || rn->run->untestable || res->crashes > 0 ||
	       res->valid >= rn->run->planned_valid || res->invalid > rn->sc->trials.max_invalid ||
	       run_is_surely_outside(rn->run);
}

static int run_boot(struct runner *rn, unsigned per_boot, struct err *e)
{
	bool is_usable = true;
	int r;

	r = set_wear(rn, e);
	if (r < 0)
		return r;
	r = boot_start(rn, e);
	if (r < 0) {
		if (rn->console_err.kind != ERR_NONE)
			*e = rn->console_err;
		return note_boot_error(rn, e);
	}
	r = collect_records(rn, e);
	if (r < 0)
		return r;
	r = prepare_target(rn, e);
	if (r < 0)
		return note_boot_error(rn, e);
	util_free(rn->boot->environment);
	rn->boot->environment = xstrdup(rn->environment);
	r = hook_boot(rn, e);
	if (r < 0)
		return r;
	r = load_probe(rn, e);
	if (r < 0)
		return note_probe_error(rn, e);
	rn->failed_boots = 0;
	rn->is_rig_suspect = false;
	for (unsigned unplug = 1; unplug <= per_boot && is_usable && !is_decided(rn); unplug++) {
		r = run_trial(rn, unplug, &is_usable, e);
		if (r < 0)
			return r;
	}
	rn->is_crashed |= runner_has_crash(rn) || !rig_is_running(rn->rig, NULL);
	return 0;
}

/*
 * Whether the next boot is for nothing but what the last one has left: what is in RAM would go with
 * the power, with which the next boot for trials begins; else only if there is none.
 */
static bool needs_collecting(const struct runner *rn)
{
	const struct rig_cfg *rig = rn->cfg->rig;

	return rig->boot.pstore && rn->is_crashed && (rig_loses_records(rig) || is_decided(rn));
}

/* A boot that no trial is made in and no verdict hangs on. */
static int run_collecting_boot(struct runner *rn, struct err *e)
{
	struct err end_err = {0};
	auto_free char *note = NULL;
	int r, end;

	rn->is_collecting = true;
	r = boot_start(rn, e);
	if (r >= 0) {
		r = collect_records(rn, e);
	} else if (rn->console_err.kind != ERR_NONE) {
		*e = rn->console_err;
	} else if (e->kind == ERR_KERNEL || e->kind == ERR_RIG || e->kind == ERR_TARGET) {
		note = xasprintf("boot %u, which was to bring in the pstore records, did not come "
				 "up: %s",
				 rn->boot->number, e->text);
		err_clear(e);
		r = collect_note(rn, note, e);
	}
	end = boot_end(rn, &end_err);
	if (r >= 0 && end < 0) {
		*e = end_err;
		r = end;
	}
	rn->is_collecting = false;
	return r;
}

/* ---- a run ---- */

static char *make_label(const struct runner_cfg *cfg)
{
	const struct kernel_build *k = cfg->kernel;
	const char *append = cfg->append && *cfg->append ? cfg->append : "";

	return xasprintf("%s%s%s", k->name, *append ? " " : "", append);
}

static struct run *make_run(struct runner *rn)
{
	const struct runner_cfg *cfg = rn->cfg;
	const struct kernel_build *k = cfg->kernel;
	struct run *run = xcalloc(1, sizeof(*run));
	auto_free char *when = NULL;

	run->started_wall_ns = wall_now();
	rng_init(&rn->rng, (uint64_t)run->started_wall_ns ^ ((uint64_t)getpid() << 48));
	when = wall_format(run->started_wall_ns);
	run->id = xasprintf("%.4s%.2s%.2s-%.2s%.2s%.2s-%04x", when, when + 5, when + 8, when + 11,
			    when + 14, when + 17, (unsigned)(rng_u64(&rn->rng) & 0xffff));
	run->rig = xstrdup(cfg->rig->name);
	/* a soft unplug takes another way through the kernel: never compared with a real one */
	run->rig_class = xasprintf("%s%s", cfg->rig->rig_class,
				   switch_cfg_is_soft(&cfg->rig->stick_switch) ? "-soft" : "");
	run->arch = xstrdup(cfg->rig->arch);
	run->kernel = xstrdup(k->name);
	run->kernel_label = make_label(cfg);
	run->kernel_release = xstrdup(k->release);
	run->kernel_version = xstrdup(k->version);
	run->kernel_config_sha256 = xstrdup(k->config_sha256);
	run->kernel_image_sha256 = xstrdup(k->image_sha256);
	run->append = xstrdup(cfg->append ? cfg->append : "");
	run->scenario = xstrdup(rn->sc->name);
	run->scenario_sha256 = xstrdup(rn->sc->sha256);
	run->limit_us = (int64_t)rn->sc->limit.max_ms * 1000;
	run->planned_valid = cfg->trials ? cfg->trials : rn->sc->trials.valid;
	run->tolerated_over = rn->sc->limit.tolerated_over_pct / 100.0;
	run->confidence = rn->sc->limit.confidence_pct / 100.0;
	if (cfg->baseline)
		run_set_baseline(run, cfg->baseline);
	return run;
}

static int hook_run(struct runner *rn, struct err *e)
{
	int r;

	r = write_run(rn, e);
	if (r < 0)
		return r;
	if (rn->cfg->hooks && rn->cfg->hooks->run)
		return rn->cfg->hooks->run(rn->cfg->self, rn->run, e);
	return 0;
}

static int check_cfg(const struct runner_cfg *cfg, struct err *e)
{
	if (strcmp(cfg->kernel->arch, cfg->rig->arch) != 0)
		return err_set(e, ERR_USAGE, EINVAL, "kernel '%s' is for %s, rig '%s' is %s",
			       cfg->kernel->name, cfg->kernel->arch, cfg->rig->name,
			       cfg->rig->arch);
	if (cfg->scenario->prepare.irq.cpu >= cfg->rig->boot.cpus)
		return err_set(e, ERR_CONFIG, EINVAL,
			       "scenario '%s': prepare.irq.cpu: CPU%u, rig '%s' has %u CPUs",
			       cfg->scenario->name, cfg->scenario->prepare.irq.cpu, cfg->rig->name,
			       cfg->rig->boot.cpus);
	return 0;
}

/* What a run goes on with must be what it began with. */
static int check_resume(const struct runner_cfg *cfg, struct err *e)
{
	const struct run *run = cfg->resume;
	const struct {
		const char *what, *was, *is;
	} facts[] = {
		{"rig", run->rig, cfg->rig->name},
		{"scenario's hash", run->scenario_sha256, cfg->scenario->sha256},
		{"kernel's image hash", run->kernel_image_sha256, cfg->kernel->image_sha256},
		{"kernel's config hash", run->kernel_config_sha256, cfg->kernel->config_sha256},
		{"command line", run->append, cfg->append ? cfg->append : ""},
	};

	if (run->ended_wall_ns)
		return err_set(e, ERR_USAGE, EINVAL, "run '%s' has ended", run->id);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (strcmp(facts[i].was, facts[i].is) != 0)
			return err_set(e, ERR_USAGE, EINVAL,
				       "run '%s' cannot go on: %s was '%s', is '%s'", run->id,
				       facts[i].what, facts[i].was, facts[i].is);
	return 0;
}

/* The run of this invocation: a new one, or one that did not end. */
static struct run *begin_run(struct runner *rn)
{
	struct run *run = rn->cfg->resume;

	if (!run)
		return make_run(rn);
	/* the store has the run without it */
	if (rn->cfg->baseline)
		run_set_baseline(run, rn->cfg->baseline);
	rng_init(&rn->rng, (uint64_t)wall_now() ^ ((uint64_t)getpid() << 48));
	return run;
}

static void on_progress(void *self, const char *text)
{
	struct runner *rn = self;

	runner_phase(rn, "boot %u: %s", rn->boot->number, text);
}

/* Makes the run and takes the rig. */
static int open_rig(struct runner *rn, struct err *e)
{
	const struct runner_cfg *cfg = rn->cfg;
	struct rig_faults faults = {0};
	auto_free char *base = NULL;
	int r;

	if (cfg->faults) {
		r = rig_faults_parse(cfg->faults, &faults, e);
		if (r < 0)
			return r;
	}
	rn->run = begin_run(rn);
	scenario_set_limits(rn->sc, rn->run);
	base = cfg->recordings_dir ? xstrdup(cfg->recordings_dir) : path_state("recordings");
	rn->dir = xasprintf("%s/%s", base, rn->run->id);
	r = rig_open(cfg->rig, cfg->w, rn->dir, cfg->lock_wait_ns, on_console, rn, &rn->rig, e);
	if (r < 0)
		return r;
	rig_set_progress(rn->rig, on_progress, rn);
	if (cfg->faults)
		rig_set_faults(rn->rig, &faults);
	return 0;
}

/* Boots until the verdict is certain. */
static int run_boots(struct runner *rn, struct err *e)
{
	unsigned per_boot = rn->cfg->per_boot ? rn->cfg->per_boot : rn->sc->trials.per_boot;
	int r = 0;

	while (r >= 0 && !is_decided(rn)) {
		struct err end_err = {0};
		int end;

		r = run_boot(rn, per_boot, e);
		end = boot_end(rn, &end_err);
		if (r >= 0 && end < 0) {
			*e = end_err;
			r = end;
		}
		run_judge(rn->run);
		if (r >= 0 && needs_collecting(rn))
			r = run_collecting_boot(rn, e);
	}
	return r;
}

/*
 * What can fail before power is switched on: a kernel without its probe or its modules is
 * untestable, which is a result; a missing program is an error and leaves no run behind.
 */
static int prepare(struct runner *rn, struct err *e)
{
	const struct runner_cfg *cfg = rn->cfg;
	int r;

	if (*cfg->kernel->no_build) {
		rn->run->untestable = xasprintf("no-build: %s", cfg->kernel->no_build);
		return 0;
	}
	runner_phase(rn, "preparing %s", cfg->kernel->name);
	rig_need_programs(rn->rig, rn->sc->needs.programs, rn->sc->needs.programs_count);
	if (rn->sc->load.neighbour && !cfg->rig->neighbour)
		return err_set(
			e, ERR_CONFIG, ENODEV,
			"scenario '%s' wants a second stick (load.neighbour), %s has one stick",
			rn->sc->name, cfg->rig->path);
	r = rn->sc->load.dirty_mib ? rig_need_writable_stick(rn->rig, e) : 0;
	if (r < 0)
		return r;
	r = rig_need_disks(rn->rig, rn->sc->needs.disks, rn->sc->needs.disks_count, e);
	if (r < 0)
		return r;
	rig_need_modules(rn->rig, rn->sc->needs.kernel_modules, rn->sc->needs.kernel_modules_count);
	r = kernel_probe_ensure(cfg->kernels, cfg->kernel, e);
	if (r >= 0)
		r = rig_prepare(rn->rig, cfg->kernel, e);
	if (r >= 0 || e->kind != ERR_KERNEL)
		return r;
	rn->run->untestable = xasprintf("not-prepared: %s", e->text);
	err_clear(e);
	return 0;
}

/* From the first row in the store to the last one. */
static int execute(struct runner *rn, struct err *e)
{
	struct err late = {0};
	int r;

	run_judge(rn->run);
	r = hook_run(rn, e);
	if (r >= 0)
		r = run_boots(rn, e);
	run_judge(rn->run);
	rn->run->ended_wall_ns = wall_now();
	if (hook_run(rn, &late) < 0 && r >= 0) {
		*e = late;
		r = -late.code;
	}
	return r;
}

int runner_run(const struct runner_cfg *cfg, struct run **ret, struct err *e)
{
	struct runner rn = {.cfg = cfg, .sc = cfg->scenario, .w = cfg->w};
	int r;

	r = check_cfg(cfg, e);
	if (r >= 0 && cfg->resume)
		r = check_resume(cfg, e);
	if (r < 0)
		return r;
	r = open_rig(&rn, e);
	if (r >= 0)
		r = prepare(&rn, e);
	if (r < 0) {
		rig_close(rn.rig);
		/* nothing was recorded yet */
		if (rn.dir)
			(void)rmdir(rn.dir);
		if (rn.run != cfg->resume)
			run_free(rn.run);
		free(rn.dir);
		return r;
	}

	r = execute(&rn, e);
	rig_close(rn.rig);
	strbuf_release(&rn.load_words);
	strbuf_release(&rn.profile_windows);
	util_free(rn.numbers);
	free(rn.dir);
	*ret = rn.run;
	return r < 0 ? r : 0;
}
