/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.c - what is done in one trial: the tables unplug_steps and load_steps, in order.
 *
 * A step returns STEP_GO to go on, STEP_OVER when the trial can no longer become valid (the
 * evidence says why), or a negative error. An error of the target or the rig is the missing
 * evidence of the step that met it.
 */
#include "base/frame.h"
#include "base/log.h"
#include "base/parse.h"
#include "runner_priv.h"

#include <inttypes.h>
#include <string.h>

#define MARK_NS    (3 * NSEC_PER_SEC) /* from mark to its line on the console */
#define LINE_NS    (2 * NSEC_PER_SEC) /* from the injected stall to its DELAY line */
#define POLL_NS    (100 * NSEC_PER_MSEC)
#define SAMPLES_NS (30 * NSEC_PER_SEC) /* at most 2,048 buckets of a probe, over a serial line */
#define MOUNT_DIR  "/mnt/stick"
/* … of the rig's second stick */
#define NEIGHBOUR_DIR "/mnt/neighbour"

/* ---- words of the agent's replies ---- */

/* Value of key=, percent-decoded. */
bool reply_text(const char *reply, const char *key, char *ret, size_t cap)
{
	char word[1024];

	return parse_pair(reply, key, word, sizeof(word)) &&
	       frame_decode_word(word, strlen(word), ret, cap);
}

static int reply_number(const char *verb, const char *reply, const char *key, int64_t *ret,
			struct err *e)
{
	if (!parse_pair_i64(reply, key, ret))
		return err_set(e, ERR_TARGET, EPROTO, "agent: reply to '%s' has no number '%s='",
			       verb, key);
	return 0;
}

struct wait_mark {
	const struct runner *rn;
	size_t from;
	const char *nonce;
};

static bool mark_is_there(void *arg)
{
	const struct wait_mark *wm = arg;

	return event_log_find_mark(&wm->rn->log, wm->from, wm->nonce) || runner_has_crash(wm->rn);
}

/* Writes a marker into the kernel log and waits for it on the console. 0 also if it did not come:
   the evidence says so. */
static int send_mark(struct runner *rn, const char *nonce, struct err *e)
{
	struct wait_mark wm = {.rn = rn, .from = rn->log.n, .nonce = nonce};
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "mark %s", nonce);
	if (r < 0)
		return r;
	r = waiter_until(rn->w, waiter_now(rn->w) + MARK_NS, mark_is_there, &wm, e);
	return r < 0 ? r : 0;
}

/* ---- facts from the target ---- */

static int read_probe(struct runner *rn, struct probe_state *ret, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e, "probe-read section=state");
	if (r < 0)
		return r;
	return probe_state_parse(strbuf_str(&reply), ret, e);
}

static int read_irq(struct runner *rn, struct irq_counts *ret, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	char counts[2048];
	char word[64];
	char *p = counts;
	int r;

	(void)frame_encode_word(rn->sc->prepare.irq.match, word, sizeof(word));
	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e, "irq match=%s", word);
	if (r < 0)
		return r;
	if (!reply_text(strbuf_str(&reply), "cpu_counts", counts, sizeof(counts)))
		return err_set(e, ERR_TARGET, EPROTO, "agent: reply to 'irq' has no 'cpu_counts='");
	ret->n_cpus = 0;
	while (*p && ret->n_cpus < OBSERVATION_CPUS_MAX) {
		char *comma = strchrnul(p, ',');
		bool is_last = *comma == '\0';

		*comma = '\0';
		r = parse_i64("irq count", p, 0, INT64_MAX, &ret->per_cpu[ret->n_cpus++], e);
		if (r < 0)
			return err_rekind(e, ERR_TARGET);
		p = is_last ? comma : comma + 1;
	}
	return 0;
}

/* A stick's words ("dev= usb_path= speed_mbps= serial= size_bytes="). */
static int find_stick_of(struct runner *rn, const char *serial, struct strbuf *ret, struct err *e)
{
	char word[256];

	(void)frame_encode_word(serial, word, sizeof(word));
	return link_call(rig_link(rn->rig), CALL_NS, ret, e, "stick serial=%s", word);
}

static int find_stick(struct runner *rn, struct strbuf *ret, struct err *e)
{
	return find_stick_of(rn, rn->cfg->rig->stick.serial, ret, e);
}

static int await_stick_of(struct runner *rn, const char *serial, nsec_t deadline_ns,
			  struct strbuf *ret, struct err *e)
{
	for (;;) {
		int r = find_stick_of(rn, serial, ret, e);

		if (r != -ENODEV || waiter_now(rn->w) >= deadline_ns)
			return r;
		err_clear(e);
		strbuf_reset(ret);
		r = waiter_sleep(rn->w, POLL_NS, e);
		if (r < 0)
			return r;
	}
}

static void add_word(struct strbuf *sb, const char *reply, const char *key)
{
	char value[256];

	if (parse_pair(reply, key, value, sizeof(value)))
		strbuf_addf(sb, "%s%s=%s", sb->len ? " " : "", key, value);
}

int runner_await_stick(struct runner *rn, nsec_t deadline_ns, struct strbuf *ret, struct err *e)
{
	return await_stick_of(rn, rn->cfg->rig->stick.serial, deadline_ns, ret, e);
}

/* What must not change while trials of one boot are compared. */
int runner_read_environment(struct runner *rn, char **ret, struct err *e)
{
	static const char *const info_keys[] = {"hz", "preempt", "cpus", "cpu_intensive_thresh_us",
						"clocksource"};
	static const char *const stick_keys[] = {"serial", "usb_path", "speed_mbps", "size_bytes"};
	auto_strbuf struct strbuf info = STRBUF_INIT;
	auto_strbuf struct strbuf stick = STRBUF_INIT;
	auto_strbuf struct strbuf env = STRBUF_INIT;
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, &info, e, "info");
	if (r < 0)
		return r;
	r = scenario_is_load(rn->sc) ? 0 : find_stick(rn, &stick, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(info_keys); i++)
		add_word(&env, strbuf_str(&info), info_keys[i]);
	for (size_t i = 0; i < ARRAY_SIZE(stick_keys); i++)
		add_word(&env, strbuf_str(&stick), stick_keys[i]);
	*ret = strbuf_take(&env);
	return 0;
}

/* ---- the steps of a trial ---- */

static int step_look(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	struct observation *o = &rn->obs;
	int r;

	if (!evidence_reach(o, OBSERVED_BUILD))
		return STEP_OVER;
	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e, "dmesg-level");
	if (r < 0)
		return r;
	r = reply_number("dmesg-level", strbuf_str(&reply), "console", &o->console_loglevel, e);
	if (r < 0)
		return r;
	r = send_mark(rn, rn->mark_start, e);
	if (r < 0)
		return r;
	o->mark_start = rn->mark_start;
	return evidence_reach(o, OBSERVED_MARK) ? STEP_GO : STEP_OVER;
}

static bool control_is_heard(void *arg)
{
	struct runner *rn = arg;

	rn->obs.control.log_to = rn->log.n;
	return evidence_control_is_heard(&rn->obs) || runner_has_crash(rn);
}

/* Injects a stall of known length and looks whether probe, console and parser show it. */
static int step_control(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	struct observation *o = &rn->obs;
	int64_t start_ns;
	int64_t end_ns;
	int r;

	r = read_probe(rn, &o->control.state, e);
	if (r < 0)
		return r;
	o->control.cpu = (int)rn->sc->prepare.irq.cpu;
	if (!evidence_reach(o, OBSERVED_COVERAGE))
		return STEP_OVER;

	runner_phase(rn, "trial %u: positive control", rn->trial->number);
	o->control.log_from = rn->log.n;
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "probe-control reset");
	if (r < 0)
		return r;
	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e,
		      "stall cpu=%u pool=normal us=%u mode=block count=1", rn->sc->prepare.irq.cpu,
		      rn->sc->controls.stall_ms * 1000);
	if (r < 0)
		return r;
	r = reply_number("stall", strbuf_str(&reply), "last_start_mono_ns", &start_ns, e);
	if (r < 0)
		return r;
	r = reply_number("stall", strbuf_str(&reply), "last_end_mono_ns", &end_ns, e);
	if (r < 0)
		return r;
	r = read_probe(rn, &o->control.state, e);
	if (r < 0)
		return r;
	r = waiter_until(rn->w, waiter_now(rn->w) + LINE_NS, control_is_heard, rn, e);
	if (r < 0)
		return r;

	o->control.actual_us = (end_ns - start_ns) / 1000;
	return evidence_reach(o, OBSERVED_CONTROL) ? STEP_GO : STEP_OVER;
}

static int check_content(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	const char *expected = rig_stick_sha256(rn->rig);
	char seen[SHA256_HEX_SIZE] = "";
	int r;

	if (rn->is_content_checked)
		return 0;
	runner_phase(rn, "trial %u: checking the stick's content", rn->trial->number);
	r = link_call(rig_link(rn->rig), rn->sc->load.timeout_s * NSEC_PER_SEC, &reply, e,
		      "sha256 path=%s", rn->file_path);
	if (r < 0)
		return r;
	(void)reply_text(strbuf_str(&reply), "sha256", seen, sizeof(seen));
	if (strcmp(seen, expected) != 0) {
		rn->run->rig_fault =
			xasprintf("stick-content: '%s' on stick %s has SHA-256 %s, expected %s",
				  rn->file_path, rn->cfg->rig->stick.serial, seen, expected);
		return err_set(e, ERR_RIG, EINVAL, "%s", rn->run->rig_fault);
	}
	rn->is_content_checked = true;
	return 0;
}

/* What the load that runs beside the commands says about itself. */
static int read_load(struct runner *rn, struct strbuf *ret, struct err *e)
{
	strbuf_reset(ret);
	return link_call(rig_link(rn->rig), CALL_NS, ret, e, "load");
}

/*
 * Waits until the load beside the commands says `word`, e.g. "held=1", or has ended. 0 also if it
 * did neither in time.
 */
static int await_load(struct runner *rn, const char *word, struct strbuf *ret, struct err *e)
{
	nsec_t until_ns = waiter_now(rn->w) + STICK_NS;
	int r;

	for (;;) {
		r = read_load(rn, ret, e);
		if (r < 0 || (word && strstr(strbuf_str(ret), word)) ||
		    !strstr(strbuf_str(ret), "state=running") || waiter_now(rn->w) >= until_ns)
			return r;
		r = waiter_sleep(rn->w, POLL_NS, e);
		if (r < 0)
			return r;
	}
}

static int end_load(struct runner *rn, struct err *e)
{
	return link_call(rig_link(rn->rig), CALL_NS, NULL, e, "kill-load");
}

/* Without a holder the device's page cache goes away at its last close. */
static int hold_device(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "hold path=%s bg=1", rn->device);
	if (r >= 0)
		r = await_load(rn, "held=1", &reply, e);
	if (r >= 0 && !strstr(strbuf_str(&reply), "held=1"))
		return err_set(e, ERR_TARGET, EIO, "agent: %s is not held: %s", rn->device,
			       strbuf_str(&reply));
	return r;
}

/* The lines "bytes=N elapsed_ms=N" of dd's reply, the last of which is its end. */
static void note_progress(struct runner *rn, const char *reply)
{
	auto_free char *copy = xstrdup(reply);
	char *rest = copy;
	const char *line;
	size_t len = 0;

	rn->load_progress[0] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		auto_free char *word = NULL;
		int64_t bytes, ms;

		if (!parse_pair_i64(line, "bytes", &bytes) ||
		    !parse_pair_i64(line, "elapsed_ms", &ms))
			continue;
		word = xasprintf("%s%" PRId64 ":%" PRId64, len ? " " : "", ms, bytes);
		if (len + strlen(word) >= sizeof(rn->load_progress))
			break;
		memcpy(rn->load_progress + len, word, strlen(word) + 1);
		len += strlen(word);
	}
	rn->obs.load_progress = rn->load_progress;
}

/* The device of the stick with this serial number, "/dev/sda". */
static int find_device(struct runner *rn, const char *serial, char *ret, size_t cap, struct err *e)
{
	auto_strbuf struct strbuf stick = STRBUF_INIT;
	char dev[32];
	int r = await_stick_of(rn, serial, waiter_now(rn->w) + STICK_NS, &stick, e);

	if (r < 0)
		return r;
	if (!reply_text(strbuf_str(&stick), "dev", dev, sizeof(dev)))
		return err_set(e, ERR_TARGET, EPROTO, "agent: reply to 'stick' has no 'dev='");
	(void)snprintf(ret, cap, "/dev/%s", dev);
	return 0;
}

/* The second stick, too: mounted and read, and it stays. */
static int load_neighbour(struct runner *rn, struct err *e)
{
	const struct rig_cfg *rig = rn->cfg->rig;
	char device[64];
	int r;

	if (!rn->sc->load.neighbour)
		return 0;
	runner_phase(rn, "trial %u: reading %u MiB from the second stick", rn->trial->number,
		     rig->stick.file_mib);
	r = find_device(rn, rig->neighbour->serial, device, sizeof(device), e);
	if (r >= 0)
		r = link_call(rig_link(rn->rig), CALL_NS, NULL, e,
			      "mount dev=%s dir=" NEIGHBOUR_DIR " fs=%s opts=ro", device,
			      rig->stick.filesystem);
	if (r >= 0)
		r = link_call(rig_link(rn->rig), rn->sc->load.timeout_s * NSEC_PER_SEC, NULL, e,
			      "dd if=" NEIGHBOUR_DIR "/%s of=/dev/null bs=%uk", rig->stick.file,
			      rn->sc->load.block_kib);
	return r;
}

/*
 * Writes into the page cache of the stick. The kernel is told to leave it there: by itself it
 * would begin to write back at once or after seconds.
 */
static int load_dirty(struct runner *rn, struct err *e)
{
	static const char keep[] = "cd /proc/sys/vm && echo 90 > dirty_ratio && "
				   "echo 80 > dirty_background_ratio && "
				   "echo 0 > dirty_writeback_centisecs";
	char word[512];
	int r;

	if (!rn->sc->load.dirty_mib)
		return 0;
	runner_phase(rn, "trial %u: writing %u MiB", rn->trial->number, rn->sc->load.dirty_mib);
	(void)frame_encode_word(keep, word, sizeof(word));
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "sh command=%s", word);
	if (r < 0)
		return r;
	return link_call(rig_link(rn->rig), rn->sc->load.timeout_s * NSEC_PER_SEC, NULL, e,
			 "dd if=/dev/zero of=" MOUNT_DIR "/dirty.bin bs=1024k count=%u",
			 rn->sc->load.dirty_mib);
}

static int step_load(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	const struct rig_cfg *rig = rn->cfg->rig;
	bool is_mounted = strcmp(rn->sc->prepare.mount, "none") != 0;
	nsec_t t_start = waiter_now(rn->w);
	int r;

	runner_phase(rn, "trial %u: reading %u MiB from the stick", rn->trial->number,
		     rig->stick.file_mib);
	r = find_device(rn, rig->stick.serial, rn->device, sizeof(rn->device), e);
	if (r < 0)
		return r;
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "drop-caches");
	if (r < 0)
		return r;
	if (is_mounted) {
		r = link_call(rig_link(rn->rig), CALL_NS, NULL, e,
			      "mount dev=%s dir=" MOUNT_DIR " fs=%s opts=%s", rn->device,
			      rig->stick.filesystem, rn->sc->prepare.mount);
		if (r < 0)
			return r;
		(void)snprintf(rn->file_path, sizeof(rn->file_path), MOUNT_DIR "/%s",
			       rig->stick.file);
	} else {
		(void)snprintf(rn->file_path, sizeof(rn->file_path), "%s", rn->device);
	}
	if (rn->sc->prepare.hold) {
		r = hold_device(rn, e);
		if (r < 0)
			return r;
	}
	rn->obs.load_started_ns = waiter_now(rn->w);
	r = link_call(rig_link(rn->rig), rn->sc->load.timeout_s * NSEC_PER_SEC, &reply, e,
		      "dd if=%s of=/dev/null bs=%uk count=%u", rn->file_path,
		      rn->sc->load.block_kib, rig->stick.file_mib * 1024 / rn->sc->load.block_kib);
	if (r < 0)
		return r;
	rn->obs.load_ms = (waiter_now(rn->w) - t_start) / NSEC_PER_MSEC;
	note_progress(rn, strbuf_str(&reply));
	if (is_mounted) {
		r = check_content(rn, e);
		if (r < 0)
			return r;
	}
	r = load_neighbour(rn, e);
	if (r >= 0)
		r = load_dirty(rn, e);
	if (r >= 0 && rn->sc->load.drop_cache)
		r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "drop-caches");
	return r < 0 ? r : STEP_GO;
}

/* Is enough of the file in the page cache? */
static int step_cache(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	struct observation *o = &rn->obs;
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e, "cache path=%s", rn->file_path);
	if (r < 0)
		return r;
	r = reply_number("cache", strbuf_str(&reply), "resident_bytes", &o->cached_bytes, e);
	if (r < 0)
		return r;
	o->file_bytes = (int64_t)rn->cfg->rig->stick.file_mib << 20;
	if (rn->sc->load.dirty_mib) {
		r = reply_number("cache", strbuf_str(&reply), "dirty_kib", &o->dirty_kib, e);
		if (r < 0)
			return r;
	}
	if (rn->sc->load.neighbour) {
		strbuf_reset(&reply);
		r = link_call(rig_link(rn->rig), CALL_NS, &reply, e,
			      "cache path=" NEIGHBOUR_DIR "/%s", rn->cfg->rig->stick.file);
		if (r >= 0)
			r = reply_number("cache", strbuf_str(&reply), "resident_bytes",
					 &o->neighbour_bytes, e);
		if (r < 0)
			return r;
	}
	return evidence_reach(o, OBSERVED_CACHE) ? STEP_GO : STEP_OVER;
}

/* The last look before the cut: the probe is reset, everything that is compared later is read. */
static int step_arm(struct runner *rn, struct err *e)
{
	struct observation *o = &rn->obs;
	int r;

	r = scenario_is_load(rn->sc) ? 0 : profiling_begin(rn, e);
	if (r < 0)
		return r;
	o->log_armed = rn->log.n;
	r = rig_watch_host(rn->rig, e);
	if (r < 0)
		return r;
	r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "probe-control reset");
	if (r < 0)
		return r;
	r = scenario_is_load(rn->sc) ? 0 : read_irq(rn, &o->irq_before, e);
	if (r < 0)
		return r;
	r = read_probe(rn, &o->before, e);
	if (r < 0)
		return r;
	o->integrity_before = *console_parser_integrity(rn->parser);
	o->console_losses_before = (int64_t)rig_console_losses(rn->rig);
	return scenario_is_load(rn->sc) ? STEP_GO : profiling_open(rn, e);
}

static bool disconnect_is_there(void *arg)
{
	const struct runner *rn = arg;

	return event_log_find_disconnect(&rn->log, rn->obs.log_armed,
					 rn->cfg->rig->stick.usb_path) ||
	       runner_has_crash(rn);
}

/* What is to go on, or to have ended, when the stick goes away. */
static int prepare_cut(struct runner *rn, struct err *e)
{
	int r;

	if (rn->sc->stimulus.unmount_first) {
		r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "umount dir=" MOUNT_DIR);
		if (r < 0)
			return r;
	}
	if (rn->sc->load.keep_reading)
		return link_call(rig_link(rn->rig), CALL_NS, NULL, e,
				 "dd if=%s of=/dev/null bs=%uk iflag=direct bg=1", rn->device,
				 rn->sc->load.block_kib);
	return 0;
}

static int step_cut(struct runner *rn, struct err *e)
{
	struct stick_switch *sw = rig_switch(rn->rig);
	struct observation *o = &rn->obs;
	struct switch_change change = {0};
	nsec_t deadline_ns;
	int r;

	runner_phase(rn, "trial %u: cut", rn->trial->number);
	r = prepare_cut(rn, e);
	if (r < 0)
		return r;
	deadline_ns = waiter_now(rn->w) + rn->sc->stimulus.apply_timeout_ms * NSEC_PER_MSEC;
	r = switch_set(sw, SWITCH_OFF, deadline_ns, &change, e);
	if (r < 0)
		return r;
	o->cut_asked_ns = change.asked_ns;
	o->cut_applied_ns = change.applied_ns;
	o->is_cut_blind = !(switch_driver(sw)->caps & SWITCH_CAN_SENSE);
	o->is_cut_sensed = !o->is_cut_blind && switch_sense(sw) == SWITCH_OFF;
	o->is_cut_soft = switch_driver(sw)->caps & SWITCH_IS_SOFT;
	if (!evidence_reach(o, OBSERVED_CUT))
		return STEP_OVER;

	deadline_ns = o->cut_asked_ns + rn->sc->stimulus.seen_timeout_ms * NSEC_PER_MSEC;
	r = waiter_until(rn->w, deadline_ns, disconnect_is_there, rn, e);
	if (r < 0)
		return r;
	return evidence_reach(o, OBSERVED_DISCONNECT) ? STEP_GO : STEP_OVER;
}

static bool crash_is_there(void *arg)
{
	return runner_has_crash(arg);
}

static bool is_anything_pending(const struct runner *rn, const struct probe_state *st)
{
	int64_t threshold_us = st->threshold_us;

	for (size_t i = 0; i < st->n_rows; i++)
		if (scenario_counts_probe(rn->sc, st->rows[i].probe) &&
		    st->rows[i].pending_us >= threshold_us)
			return true;
	return false;
}

static bool console_is_complete(void *arg)
{
	struct observation *o = arg;

	o->log_window = o->log->n;
	return evidence_console_is_complete(o);
}

/* Behind all else of the window: a thread that waited at the reading has run again by now. */
static void note_host_wait(struct runner *rn)
{
	struct observation *o = &rn->obs;
	int64_t us = rig_host_wait_us(rn->rig, evidence_longest_us(o));

	o->is_host_wait_known = us >= 0;
	o->host_wait_us = us >= 0 ? us : 0;
}

/* Listens for the scenario's window, and on while a stall has not ended, up to max_ms. */
static int step_listen(struct runner *rn, struct err *e)
{
	struct observation *o = &rn->obs;
	nsec_t from_ns = waiter_now(rn->w);
	nsec_t until_ns = from_ns + rn->sc->window.min_ms * NSEC_PER_MSEC;
	nsec_t max_ns = from_ns + rn->sc->window.max_ms * NSEC_PER_MSEC;
	int r;

	runner_phase(rn, "trial %u: listening", rn->trial->number);
	for (;;) {
		r = waiter_until(rn->w, until_ns, crash_is_there, rn, e);
		if (r < 0)
			return r;
		if (r > 0)
			return STEP_OVER;
		r = read_probe(rn, &o->after, e);
		if (r < 0)
			return r;
		until_ns = waiter_now(rn->w) + POLL_NS;
		if (!is_anything_pending(rn, &o->after) || until_ns > max_ns)
			break;
	}
	/* the marker comes behind every line that was printed before: the console is complete */
	r = send_mark(rn, rn->mark_end, e);
	if (r < 0)
		return r;
	o->mark_end = rn->mark_end;
	r = read_probe(rn, &o->after, e);
	if (r < 0)
		return r;
	o->end_ns = waiter_now(rn->w);
	r = waiter_until(rn->w, o->end_ns + LINE_NS, console_is_complete, o, e);
	if (r < 0)
		return r;
	r = scenario_is_load(rn->sc) ? 0 : read_irq(rn, &o->irq_after, e);
	if (r < 0)
		return r;
	o->integrity_after = *console_parser_integrity(rn->parser);
	o->console_losses_after = (int64_t)rig_console_losses(rn->rig);
	note_host_wait(rn);
	(void)evidence_reach(o, OBSERVED_WINDOW);
	return STEP_GO;
}

/* From the cut to the end of the window. */
static int step_profile(struct runner *rn, struct err *e)
{
	int r = profiling_close(rn, "cut", e);

	return r < 0 ? r : profiling_end(rn, e);
}

/* Who held the pool during the worst delay, if the probe could see it. */
static int step_attribute(struct runner *rn, struct err *e)
{
	const int64_t worst_us = evidence_worst_us(&rn->obs);
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	const char *p;
	int r;

	r = link_call(rig_link(rn->rig), CALL_NS, &reply, e, "probe-read section=events");
	if (r < 0)
		return r;
	rn->obs.worst_func = rn->worst_func;
	p = strbuf_str(&reply);
	while (*p) {
		size_t n = strcspn(p, "\n");
		auto_free char *line = strndup(p, n);
		char func[64];
		int64_t us;

		if (line && parse_pair_i64(line, "us", &us) && us == worst_us &&
		    parse_pair(line, "func", func, sizeof(func)) && strcmp(func, "-") != 0)
			memcpy(rn->worst_func, func, sizeof(func));
		p += n;
		p += *p == '\n';
	}
	return STEP_GO;
}

static int keep_samples(struct runner *rn, struct err *e)
{
	int r = probe_samples_parse(strbuf_str(&rn->samples), rn->trial, e);

	if (r >= 0)
		rn->obs.samples = strbuf_str(&rn->samples);
	return r < 0 ? r : STEP_GO;
}

/* Every sample of the judged probes in the window. */
static int step_samples(struct runner *rn, struct err *e)
{
	const struct scenario *sc = rn->sc;

	for (size_t i = 0; i < sc->probe.count_count; i++) {
		auto_strbuf struct strbuf reply = STRBUF_INIT;
		int r = link_call(rig_link(rn->rig), SAMPLES_NS, &reply, e,
				  "probe-samples probe=%s", sc->probe.count[i]);

		if (r < 0)
			return r;
		strbuf_addf(&rn->samples, "%s\n", strbuf_str(&reply));
	}
	return keep_samples(rn, e);
}

/* The reader must have been in the middle of its work when the stick went away. */
static int step_reader(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf reply = STRBUF_INIT;
	int64_t status = 0;
	int r;

	if (rn->sc->prepare.hold)
		return end_load(rn, e);
	if (!rn->sc->load.keep_reading)
		return STEP_GO;
	r = await_load(rn, NULL, &reply, e);
	if (r < 0)
		return r;
	/* a dd that met no error has read to the end of the stick, which was still there */
	if (strstr(strbuf_str(&reply), "state=ended") &&
	    parse_pair_i64(strbuf_str(&reply), "exit", &status) && status == 0)
		return err_set(e, ERR_TARGET, EALREADY,
			       "the reader had read the whole stick before it was cut: %s",
			       strbuf_str(&reply));
	return end_load(rn, e);
}

/* The second stick must not have gone away with the first, unless the hub of both was cut. */
static int leave_neighbour(struct runner *rn, struct err *e)
{
	const struct rig_cfg *rig = rn->cfg->rig;
	auto_strbuf struct strbuf stick = STRBUF_INIT;
	int r = 0;

	if (!rn->sc->load.neighbour)
		return 0;
	if (!rig_cuts_neighbour(rig))
		r = find_stick_of(rn, rig->neighbour->serial, &stick, e);
	if (r < 0)
		return err_wrap(e, "the second stick went away with the first");
	return link_call(rig_link(rn->rig), CALL_NS, NULL, e, "umount dir=" NEIGHBOUR_DIR);
}

static int step_replug(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf stick = STRBUF_INIT;
	nsec_t t_start = waiter_now(rn->w);
	nsec_t deadline_ns = t_start + STICK_NS;
	int r;

	runner_phase(rn, "trial %u: plugging in again", rn->trial->number);
	r = leave_neighbour(rn, e);
	if (r < 0)
		return r;
	if (strcmp(rn->sc->prepare.mount, "none") != 0 && !rn->sc->stimulus.unmount_first) {
		r = link_call(rig_link(rn->rig), CALL_NS, NULL, e, "umount dir=" MOUNT_DIR);
		if (r < 0)
			return r;
	}
	r = switch_set(rig_switch(rn->rig), SWITCH_ON, deadline_ns, NULL, e);
	if (r < 0)
		return r;
	r = runner_await_stick(rn, deadline_ns, &stick, e);
	if (r < 0)
		return r;
	if (!reply_text(strbuf_str(&stick), "usb_path", rn->replug_path, sizeof(rn->replug_path)))
		rn->replug_path[0] = '\0';
	rn->obs.replug_path = rn->replug_path;
	rn->obs.replug_ms = (waiter_now(rn->w) - t_start) / NSEC_PER_MSEC;
	(void)evidence_reach(&rn->obs, OBSERVED_REPLUG);
	return STEP_GO;
}

static int step_compare(struct runner *rn, struct err *e)
{
	int r;

	r = runner_read_environment(rn, &rn->environment_now, e);
	if (r < 0)
		return r;
	rn->obs.environment_before = rn->environment;
	rn->obs.environment_after = rn->environment_now;
	(void)evidence_reach(&rn->obs, OBSERVED_ENVIRONMENT);
	return STEP_GO;
}

static const struct step {
	const char *name;
	int (*run)(struct runner *rn, struct err *e);
	enum evidence_id evidence; /* what is missing if the step meets an error */
} unplug_steps[] = {
	{"look", step_look, EVIDENCE_CONSOLE_AUDIBLE},
	{"load", step_load, EVIDENCE_CACHE_LOADED},
	{"control", step_control, EVIDENCE_CONTROL_POSITIVE},
	{"cache", step_cache, EVIDENCE_CACHE_LOADED},
	{"arm", step_arm, EVIDENCE_PROBE_RUNNING},
	{"cut", step_cut, EVIDENCE_CUT_APPLIED},
	{"listen", step_listen, EVIDENCE_WINDOW_COVERED},
	{"profile", step_profile, EVIDENCE_WINDOW_COVERED},
	{"attribute", step_attribute, EVIDENCE_PROBES_AGREE},
	{"samples", step_samples, EVIDENCE_PROBES_AGREE},
	{"reader", step_reader, EVIDENCE_CACHE_LOADED},
	{"replug", step_replug, EVIDENCE_REPLUGGED},
	{"compare", step_compare, EVIDENCE_ENVIRONMENT_SAME},
};

static const struct step load_steps[] = {
	{"look", step_look, EVIDENCE_CONSOLE_AUDIBLE},
	{"control", step_control, EVIDENCE_CONTROL_POSITIVE},
	{"set up", step_set_up, EVIDENCE_LOADS_DONE},
	{"arm", step_arm, EVIDENCE_PROBE_RUNNING},
	{"loads", step_loads, EVIDENCE_LOADS_DONE},
	{"listen", step_listen, EVIDENCE_WINDOW_COVERED},
	{"attribute", step_attribute, EVIDENCE_PROBES_AGREE},
	{"samples", step_samples, EVIDENCE_PROBES_AGREE},
	{"compare", step_compare, EVIDENCE_ENVIRONMENT_SAME},
};

/* True for errors that say something about the target or the rig, not about this program. */
static bool is_trial_error(const struct err *e)
{
	return e->kind == ERR_TARGET || e->kind == ERR_RIG || e->kind == ERR_KERNEL;
}

/* After a trial that ended early: plugged in and unmounted, as the next one wants it. */
static int recover(struct runner *rn, struct err *e)
{
	auto_strbuf struct strbuf stick = STRBUF_INIT;
	nsec_t deadline_ns = waiter_now(rn->w) + STICK_NS;
	int r;

	profiling_drop(rn);
	if (rn->sc->prepare.hold || rn->sc->load.keep_reading) {
		r = end_load(rn, e);
		if (r < 0)
			return r;
	}
	/* not mounted is fine */
	if (link_call(rig_link(rn->rig), CALL_NS, NULL, e, "umount dir=" MOUNT_DIR) < 0)
		err_clear(e);
	if (rn->sc->load.neighbour &&
	    link_call(rig_link(rn->rig), CALL_NS, NULL, e, "umount dir=" NEIGHBOUR_DIR) < 0)
		err_clear(e);
	r = switch_set(rig_switch(rn->rig), SWITCH_ON, deadline_ns, NULL, e);
	if (r < 0)
		return r;
	return runner_await_stick(rn, deadline_ns, &stick, e);
}

/* Runs the steps up to the first that ends the trial; its return value, or STEP_GO. */
static int run_steps(struct runner *rn, struct err *e)
{
	const bool is_load = scenario_is_load(rn->sc);
	const struct step *steps = is_load ? load_steps : unplug_steps;
	const size_t n = is_load ? ARRAY_SIZE(load_steps) : ARRAY_SIZE(unplug_steps);

	for (size_t i = 0; i < n; i++) {
		int r = steps[i].run(rn, e);

		if (r < 0 && is_trial_error(e)) {
			log_debug(LOG_TRIAL, "step %s: %s", steps[i].name, e->text);
			rn->obs.failed = steps[i].evidence;
			rn->obs.failed_why = rn->failed_why;
			(void)snprintf(rn->failed_why, sizeof(rn->failed_why), "%s", e->text);
		}
		if (r != STEP_GO || runner_has_crash(rn))
			return r;
	}
	return STEP_GO;
}

int steps_run(struct runner *rn, bool *ret_is_boot_usable, struct err *e)
{
	int r;

	*ret_is_boot_usable = false;
	r = run_steps(rn, e);
	if (r == STEP_OVER && !runner_has_crash(rn) && !scenario_is_load(rn->sc))
		r = recover(rn, e);
	if (rn->console_err.kind != ERR_NONE) {
		*e = rn->console_err;
		return -e->code;
	}
	if (r < 0 && !is_trial_error(e))
		return r;
	/* it does not answer any more */
	rn->is_crashed |= r < 0 && e->kind == ERR_TARGET && (r == -ETIMEDOUT || r == -EPIPE);
	*ret_is_boot_usable = r >= 0 && !runner_has_crash(rn);
	err_clear(e);
	return 0;
}
