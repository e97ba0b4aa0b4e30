/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classify.c - what records mean: boots, own lines, the catalogue, and the context that decides how
 * a line is to be understood. Context lasts for a number of records, never for a time.
 */
#include "console/catalog.h"
#include "own.h"
#include "pattern.h"
#include "state.h"

#include <assert.h>
#include <string.h>

#define TITLE_MAX 128

/* Of CONFIG_HZ, over all architectures. */
#define HZ_MIN 24
#define HZ_MAX 1200

/* Clocks of CPUs differ and printk defers: only larger steps back are a new boot. */
#define CLOCK_BACK_US ((int64_t)5000000)
/* A banner comes at time 0; later it is a quotation. */
#define BANNER_TIME_MAX_US ((int64_t)1000000)

/* In records: how far behind its cause something may come. */
#define CRASH_RECORDS  80
#define DUMP_RECORDS   400
#define CUT_RECORDS    12
#define REPLAY_RECORDS 8
#define WQDUMP_RECORDS 40

const char *const classify_anchors[] = {
	"Linux version ", "Booting Linux", "------------[ cut", "cut here ]---",
	"---[ end trace", "Call Trace:",   "Call trace:",       "Showing b",
	"sysrq: ",        "SysRq : ",      "bootconsole",       "] enabled",
	"dmesg",          "Backtrace: ",   "jiffies: mask: ",   NULL};

/* ---- context ---- */

static uint64_t in_records(const struct console_parser *p, uint64_t n)
{
	return p->integrity.records + n;
}

static bool is_now_before(const struct console_parser *p, uint64_t until)
{
	return p->integrity.records < until;
}

void classify_count_record(struct console_parser *p)
{
	p->integrity.records++;
	if (p->cut_until > 0 && !is_now_before(p, p->cut_until)) {
		p->integrity.unclassified_dumps++;
		p->cut_until = 0;
	}
}

static bool is_in_crash(const struct console_parser *p)
{
	return p->crash == CRASH_HEAD && is_now_before(p, p->crash_until);
}

/* ---- events ---- */

static bool has_prefix(const char *text, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);

	return len >= n && memcmp(text, prefix, n) == 0;
}

static bool contains(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what)) != NULL;
}

static uint64_t hash_of(const struct console_event *ev)
{
	uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)ev->t_kernel_us ^ (uint64_t)ev->cls << 56;

	for (size_t i = 0; i < ev->text_len; i++)
		h = (h ^ (unsigned char)ev->text[i]) * 0x100000001b3u;
	return h;
}

/* True for a record that was there before it is replayed. */
static bool is_repeated(struct console_parser *p, const struct console_event *ev)
{
	uint64_t h;

	if (ev->t_kernel_us == CONSOLE_UNKNOWN)
		return false;
	h = hash_of(ev);
	if (p->replay_until_us != CONSOLE_UNKNOWN && ev->t_kernel_us <= p->replay_until_us) {
		size_t n = p->n_seen < SEEN_MAX ? p->n_seen : SEEN_MAX;

		for (size_t i = 0; i < n; i++) {
			if (p->seen[i] == h)
				return true;
		}
	}
	p->seen[p->n_seen++ % SEEN_MAX] = h;
	return false;
}

static bool was_reported(struct console_parser *p, const struct line *line,
			 const struct segment *seg, enum console_class cls)
{
	for (size_t i = 0; i < p->n_reported; i++) {
		if (p->reported[i].at == seg->at && p->reported[i].cls == cls)
			return true;
	}
	if (line->flags & LINE_PEEK) {
		if (p->n_reported == REPORTED_MAX)
			return true;
		p->reported[p->n_reported].at = seg->at;
		p->reported[p->n_reported].cls = cls;
		p->n_reported++;
	}
	return false;
}

static void emit(struct console_parser *p, const struct line *line, const struct segment *seg,
		 struct console_event *ev)
{
	if ((line->flags & LINE_PEEK) && console_class_severity(ev->cls) < CONSOLE_STALL)
		return;
	if (was_reported(p, line, seg, ev->cls))
		return;
	ev->offset = line->offset;
	ev->end = line->end;
	ev->t_host_ns = p->t_host_ns;
	ev->t_kernel_us = seg->env.t_us;
	ev->boot = p->boot;
	ev->text = seg->text;
	ev->text_len = seg->len;
	if (!ev->title)
		ev->title = "";
	if (is_repeated(p, ev))
		return;
	p->fn(p->self, ev);
}

/* ---- boots ---- */

static void end_wqdump(struct console_parser *p)
{
	if (p->wqdump_left > 0 && p->dump_fn)
		p->dump_fn(p->dump_self, p->wqdump, p->boot);
	p->wqdump_left = 0;
}

static void start_boot(struct console_parser *p)
{
	end_wqdump(p);
	p->boot++;
	if (p->clock)
		console_clock_init(p->clock, p->clock->transport_ns);
	if (p->load)
		console_load_init(p->load, p->load->baud);
	p->has_banner = false;
	p->has_booting = false;
	p->is_reboot_told = false;
	p->has_stamps = false;
	p->max_us = CONSOLE_UNKNOWN;
	p->is_back_pending = false;
	p->kmsg_seq = CONSOLE_UNKNOWN;
	p->delay_seq = CONSOLE_UNKNOWN;
	p->hz = 0;
	p->replay_hint_until = 0;
	p->replay_until_us = CONSOLE_UNKNOWN;
	p->crash = CRASH_NONE;
	p->dump_until = 0;
	p->cut_until = 0;
}

static void start_replay(struct console_parser *p, int64_t t_us)
{
	if (p->replay_until_us == CONSOLE_UNKNOWN || p->max_us > p->replay_until_us)
		p->replay_until_us = p->max_us;
	p->max_us = t_us;
	p->is_back_pending = false;
	p->replay_hint_until = 0;
}

static void tell_reboot(struct console_parser *p, const struct line *line,
			const struct segment *seg, const char *title)
{
	struct console_event ev = {.cls = CONSOLE_REBOOT, .title = title};

	ev.u.stall.seconds = CONSOLE_UNKNOWN;
	ev.u.stall.jiffies = CONSOLE_UNKNOWN;
	ev.u.stall.cpu = -1;
	p->is_reboot_told = true;
	emit(p, line, seg, &ev);
}

void classify_time_forward(struct console_parser *p, const struct envelope *env)
{
	p->max_us = env->t_us;
	p->is_back_pending = false;
	if (p->clock && env->is_canonical && p->replay_until_us == CONSOLE_UNKNOWN)
		console_clock_add_quickly(p->clock, env->t_us, p->t_host_ns);
}

/* Only stamps at a line's beginning count: a number inside a message may look like one. */
void classify_time(struct console_parser *p, const struct line *line, const struct segment *seg)
{
	const struct envelope *env = &seg->env;

	p->has_stamps = true;
	if (p->max_us == CONSOLE_UNKNOWN || env->t_us >= p->max_us) {
		if (p->replay_until_us != CONSOLE_UNKNOWN && env->t_us > p->replay_until_us)
			p->replay_until_us = CONSOLE_UNKNOWN;
		classify_time_forward(p, env);
		return;
	}
	if (!env->is_canonical || env->t_us >= p->max_us - CLOCK_BACK_US) {
		p->is_back_pending = false;
		return;
	}
	if (is_now_before(p, p->replay_hint_until)) {
		start_replay(p, env->t_us);
		return;
	}
	/* one stamp may have lost a digit, two in a row have not */
	if (!p->is_back_pending) {
		p->is_back_pending = true;
		return;
	}
	if (!p->is_reboot_told)
		tell_reboot(p, line, seg, "clock went back");
	start_boot(p);
	p->max_us = env->t_us;
	p->has_stamps = true;
}

static bool classify_boot(struct console_parser *p, const struct line *line,
			  const struct segment *seg)
{
	static const char version[] = "Linux version ";
	struct console_event ev = {.cls = CONSOLE_BOOT};
	bool is_banner = has_prefix(seg->text, seg->len, version);
	bool is_stamped = seg->env.t_us != CONSOLE_UNKNOWN;
	bool is_same_boot;

	if (!is_banner && !has_prefix(seg->text, seg->len, "Booting Linux on physical CPU"))
		return false;
	if (is_stamped ? seg->env.t_us > BANNER_TIME_MAX_US : p->has_stamps && p->has_banner)
		return true;
	if (is_banner) {
		const char *release = seg->text + sizeof(version) - 1;
		size_t len = seg->len - (sizeof(version) - 1);
		const char *space = memchr(release, ' ', len);

		if (!space || !contains(space, seg->len - (size_t)(space - seg->text), "#"))
			return true;
		len = (size_t)(space - release);
		if (len < sizeof(ev.u.boot.release)) {
			memcpy(ev.u.boot.release, release, len);
			ev.u.boot.release[len] = '\0';
			ev.title = ev.u.boot.release;
		}
	}
	if (is_now_before(p, p->replay_hint_until) && is_stamped && p->boot > 0)
		start_replay(p, seg->env.t_us);
	if (p->replay_until_us == CONSOLE_UNKNOWN) {
		is_same_boot = is_banner && p->has_booting && !p->has_banner;
		if (!is_same_boot) {
			bool has_run = p->boot > 0 || p->has_stamps;

			if (has_run && !p->is_reboot_told &&
			    (p->has_banner || p->max_us > BANNER_TIME_MAX_US))
				tell_reboot(p, line, seg, "without a word");
			start_boot(p);
		}
		p->has_booting |= !is_banner;
		p->has_banner |= is_banner;
		p->has_stamps |= is_stamped;
		if (is_stamped)
			p->max_us = seg->env.t_us;
	}
	emit(p, line, seg, &ev);
	return true;
}

/* ---- own lines ---- */

static void note_delay_seq(struct console_parser *p, int64_t seq)
{
	int64_t expected;

	if (seq == CONSOLE_UNKNOWN || seq == p->delay_seq)
		return;
	/* smaller: the probe was loaded again and counts from 1 */
	if (p->delay_seq == CONSOLE_UNKNOWN)
		expected = p->boot > 0 ? 1 : seq;
	else
		expected = seq > p->delay_seq ? p->delay_seq + 1 : 1;
	if (seq > expected)
		p->integrity.delay_seq_gaps += (uint64_t)(seq - expected);
	p->delay_seq = seq;
}

static bool classify_own(struct console_parser *p, const struct line *line,
			 const struct segment *seg)
{
	struct console_event ev = {.cls = CONSOLE_DELAY};
	enum own_result r = own_delay(seg->text, seg->len, seg->is_ended, &ev);
	bool is_mark;

	if (r == OWN_NO) {
		ev.cls = CONSOLE_MARK;
		r = own_mark(seg->text, seg->len, &ev);
	}
	if (r == OWN_NO) {
		if (!own_has_trace(seg->text, seg->len, &is_mark))
			return false;
		ev = (struct console_event){.cls = is_mark ? CONSOLE_MARK : CONSOLE_DELAY};
		if (!is_mark)
			(void)own_delay("", 0, false, &ev);
		r = OWN_SUSPECT;
	}
	/* garbage or a broken stamp may have taken digits with it; a CRC would have noticed */
	if (r == OWN_GOOD && ev.cls == CONSOLE_DELAY && !ev.u.delay.has_crc &&
	    ((line->flags & LINE_DIRTY) || seg->env.kind == ENVELOPE_BROKEN))
		r = OWN_SUSPECT;
	if (line->flags & LINE_PEEK)
		return true;
	ev.is_suspect = r == OWN_SUSPECT;
	if (ev.is_suspect)
		p->integrity.suspect_lines++;
	else if (ev.cls == CONSOLE_DELAY)
		note_delay_seq(p, ev.u.delay.seq);
	if (ev.cls == CONSOLE_DELAY)
		ev.title = ev.u.delay.probe;
	else
		ev.title = ev.u.mark.nonce;
	emit(p, line, seg, &ev);
	return true;
}

/* ---- rules ---- */

/* Copies what a report can show and cuts offsets in functions, which differ in every build. */
static void make_title(const struct pattern_fields *f, enum console_class cls, char ret[TITLE_MAX])
{
	const char *s = f->title ? f->title : f->port;
	size_t len = f->title ? f->title_len : f->port_len;
	const char *plus;
	size_t n = 0;

	ret[0] = '\0';
	if (!s) {
		if (f->cpu >= 0)
			(void)snprintf(ret, TITLE_MAX, "CPU#%lld", (long long)f->cpu);
		return;
	}
	plus = memmem(s, len, "+0x", 3);
	if (plus)
		len = (size_t)(plus - s);
	while (len > 0 && *s == ' ') {
		s++;
		len--;
	}
	while (len > 0 && s[len - 1] == ' ')
		len--;
	for (size_t i = 0; i < len && n < TITLE_MAX - 1; i++) {
		/* "file:line at function" of 6.19 is "file:line function" of before */
		if (cls == CONSOLE_WARNING && has_prefix(s + i, len - i, " at ")) {
			i += 2;
			continue;
		}
		ret[n++] = s[i];
	}
	ret[n] = '\0';
}

static void copy_field(char *ret, size_t cap, const char *s, size_t len)
{
	if (len >= cap)
		len = cap - 1;
	memcpy(ret, s, len);
	ret[len] = '\0';
}

/* "usb2-port1" is port 2-1, "1-1-port3" is 1-1.3. */
static void fill_port(const struct pattern_fields *f, struct console_event *ev)
{
	const char *s = f->port ? f->port : f->title;
	size_t len = f->port ? f->port_len : f->title_len;
	const char *word = s ? memmem(s, len, "-port", 5) : NULL;

	ev->u.usb.devnum = f->devnum >= 0 && f->devnum < INT32_MAX ? (int)f->devnum : -1;
	ev->u.usb.port[0] = '\0';
	if (f->port) {
		copy_field(ev->u.usb.port, sizeof(ev->u.usb.port), s, len);
	} else if (word) {
		bool is_root = has_prefix(s, len, "usb");
		const char *hub = is_root ? s + 3 : s;
		int hub_len = (int)(word - hub);
		int rest = (int)(len - (size_t)(word - s) - 5);

		if (hub_len > 0 && rest > 0 && hub_len + rest + 1 < (int)sizeof(ev->u.usb.port))
			(void)snprintf(ev->u.usb.port, sizeof(ev->u.usb.port), "%.*s%c%.*s",
				       hub_len, hub, is_root ? '-' : '.', rest, word + 5);
	}
}

static bool is_usb(enum console_class cls)
{
	return cls >= CONSOLE_USB_DISCONNECT && cls <= CONSOLE_USB_OVER_CURRENT;
}

static void fill_fields(const struct console_parser *p, const struct pattern_fields *f,
			struct console_event *ev)
{
	switch (ev->cls) {
	case CONSOLE_USB_DISCONNECT:
	case CONSOLE_USB_NEW:
	case CONSOLE_USB_ENUMERATION:
	case CONSOLE_USB_OVER_CURRENT:
		fill_port(f, ev);
		return;
	case CONSOLE_PRINTK_DROPPED:
	case CONSOLE_INPUT_OVERRUN:
		ev->u.lost.count = f->count >= 0 ? f->count : 1;
		return;
	case CONSOLE_DELAY:
	case CONSOLE_MARK:
	case CONSOLE_BOOT:
	case CONSOLE_WORKQUEUE_LOCKUP:
	case CONSOLE_WORKQUEUE_HOG:
	case CONSOLE_SOFT_LOCKUP:
	case CONSOLE_HARD_LOCKUP:
	case CONSOLE_RCU_STALL:
	case CONSOLE_HUNG_TASK:
	case CONSOLE_RT_THROTTLED:
	case CONSOLE_WARNING:
	case CONSOLE_BUG:
	case CONSOLE_OOPS:
	case CONSOLE_PANIC:
	case CONSOLE_SANITIZER:
	case CONSOLE_LOCKDEP:
	case CONSOLE_IO_ERROR:
	case CONSOLE_FS_ERROR:
	case CONSOLE_REBOOT:
	case CONSOLE_CLOCK_UNSTABLE:
	case CONSOLE_CLASS_MAX:
		break;
	}
	ev->u.stall.seconds = f->seconds;
	ev->u.stall.jiffies = f->jiffies >= 0 ? f->jiffies : CONSOLE_UNKNOWN;
	if (ev->u.stall.jiffies != CONSOLE_UNKNOWN && p->hz > 0)
		ev->u.stall.seconds = ev->u.stall.jiffies / p->hz;
	ev->u.stall.cpu = f->cpu >= 0 && f->cpu < INT32_MAX ? (int)f->cpu : -1;
}

#define RULES_MAX 256

/* By a text's first byte: which rules may match it; bit i % 64 of word i / 64 is for rule i. */
static uint64_t rules_by_byte[256][RULES_MAX / 64];

void classify_init(void)
{
	assert(console_rule_count() <= RULES_MAX);
	for (size_t i = 0; i < console_rule_count(); i++) {
		unsigned char first = (unsigned char)console_rule(i)->pattern[0];

		for (size_t c = 0; c < ARRAY_SIZE(rules_by_byte); c++) {
			if (first == '%' || first == c)
				rules_by_byte[c][i / 64] |= UINT64_C(1) << (i % 64);
		}
	}
}

static bool rule_matches(const struct console_rule *rule, const char *text, size_t len,
			 bool has_envelope, struct pattern_fields *ret)
{
	if (((rule->flags & CONSOLE_RULE_STAMPED) && !has_envelope) ||
	    ((rule->flags & CONSOLE_RULE_BARE) && has_envelope))
		return false;
	return pattern_match(rule->pattern, text, len, ret);
}

static const struct console_rule *find_rule(const struct segment *seg, struct pattern_fields *ret)
{
	/* what stands before the same message in some versions */
	static const char *const prefixes[] = {"watchdog: ", "NMI watchdog: ", "rcu: ", ""};
	bool has_envelope = seg->env.kind != ENVELOPE_NONE;

	for (size_t k = 0; k < ARRAY_SIZE(prefixes); k++) {
		const char *text = seg->text;
		size_t len = seg->len;

		if (!has_prefix(text, len, prefixes[k]))
			continue;
		text += strlen(prefixes[k]);
		len -= strlen(prefixes[k]);
		if (len == 0)
			continue;
		for (size_t w = 0; w < RULES_MAX / 64; w++) {
			uint64_t left = rules_by_byte[(unsigned char)text[0]][w];

			for (; left; left &= left - 1) {
				size_t i = w * 64 + (size_t)__builtin_ctzll(left);

				if (rule_matches(console_rule(i), text, len, has_envelope, ret))
					return console_rule(i);
			}
		}
	}
	return NULL;
}

/* What a rule's line means for the lines behind it. Returns false if it gives no event. */
static bool follow_crash(struct console_parser *p, const struct console_rule *rule,
			 struct console_event *ev)
{
	ev->is_detail = (rule->flags & CONSOLE_RULE_DETAIL) != 0;
	if (rule->flags & CONSOLE_RULE_CRASH) {
		if (!is_in_crash(p))
			return false;
		p->crash = CRASH_PLACE_KNOWN;
		return true;
	}
	if (!(rule->flags & CONSOLE_RULE_NO_DUMP)) {
		p->dump_until = in_records(p, DUMP_RECORDS);
		p->cut_until = 0;
	}
	if (rule->cls == CONSOLE_OOPS && is_in_crash(p))
		ev->is_detail = true;
	if (ev->is_detail)
		ev->title = ""; /* only a place is a title that says more */
	if (rule->cls == CONSOLE_OOPS || (rule->cls == CONSOLE_BUG && !ev->is_detail)) {
		p->crash = CRASH_HEAD;
		p->crash_until = in_records(p, CRASH_RECORDS);
	}
	return true;
}

static bool count_integrity(struct console_parser *p, const struct console_rule *rule,
			    const struct console_event *ev)
{
	uint64_t n = ev->u.lost.count > 0 ? (uint64_t)ev->u.lost.count : 0;

	if (rule->cls == CONSOLE_INPUT_OVERRUN)
		p->integrity.overruns += n;
	else if (rule->cls != CONSOLE_PRINTK_DROPPED)
		return true;
	else if (rule->flags & CONSOLE_RULE_COUNTED)
		p->integrity.suppressed += n;
	else
		p->integrity.dropped_messages += n;
	return !(rule->flags & CONSOLE_RULE_COUNTED);
}

static bool classify_traces(struct console_parser *p, const struct line *line,
			    const struct segment *seg)
{
	for (size_t i = 0; i < console_trace_count(); i++) {
		const struct console_trace *trace = console_trace(i);
		struct console_event ev = {.cls = trace->cls, .is_suspect = true};

		if (!contains(seg->text, seg->len, trace->text))
			continue;
		if (line->flags & LINE_PEEK)
			return true;
		ev.u.stall.seconds = CONSOLE_UNKNOWN;
		ev.u.stall.jiffies = CONSOLE_UNKNOWN;
		ev.u.stall.cpu = -1;
		p->dump_until = in_records(p, DUMP_RECORDS);
		emit(p, line, seg, &ev);
		return true;
	}
	return false;
}

static bool classify_rules(struct console_parser *p, const struct line *line,
			   const struct segment *seg)
{
	struct pattern_fields f;
	struct console_event ev = {0};
	char title[TITLE_MAX];
	const struct console_rule *rule = find_rule(seg, &f);

	if (!rule)
		return false;
	ev.cls = rule->cls;
	ev.title = title;
	make_title(&f, rule->cls, title);
	fill_fields(p, &f, &ev);
	if (is_usb(rule->cls) && ev.u.usb.port[0] != '\0')
		(void)snprintf(title, sizeof(title), "%s", ev.u.usb.port);
	/* half a line of a dying kernel is enough, and it comes again in whole if it goes on */
	if (line->flags & LINE_PEEK) {
		if (!(rule->flags & (CONSOLE_RULE_DETAIL | CONSOLE_RULE_CRASH)) &&
		    !(rule->cls == CONSOLE_OOPS && is_in_crash(p)))
			emit(p, line, seg, &ev);
		return true;
	}
	if (rule->cls == CONSOLE_REBOOT) {
		/* firmware says many things, and is no reboot before a kernel ran */
		if ((rule->flags & CONSOLE_RULE_BARE) &&
		    (p->is_reboot_told || (p->boot == 0 && !p->has_stamps)))
			return true;
		p->is_reboot_told = true;
	}
	if (!count_integrity(p, rule, &ev) || !follow_crash(p, rule, &ev))
		return true;
	emit(p, line, seg, &ev);
	/* behind a harmless beginning may stand the rest of a line that lost its own */
	if ((line->groups & GROUP_TRACE) && console_class_severity(rule->cls) < CONSOLE_STALL)
		(void)classify_traces(p, line, seg);
	return true;
}

/* ---- what is no event ---- */

static bool is_call_trace(const char *text, size_t len)
{
	while (len > 0 && *text == ' ') {
		text++;
		len--;
	}
	return has_prefix(text, len, "Call Trace:") || has_prefix(text, len, "Call trace:") ||
	       has_prefix(text, len, "Backtrace: ");
}

/*
 * The kernel's clock source of jiffies tells the length of one: its max_idle_ns is 2^32 - 1 of
 * them, less 11 % for adjustment, halved to be safe (clocks_calc_max_nsecs() since 4.1). That of
 * refined-jiffies is the same but for some parts in 10000.
 */
static void note_hz(struct console_parser *p, const char *text, size_t len)
{
	struct pattern_fields f;
	double hz;

	if (!pattern_match("clocksource%*jiffies: mask: 0xffffffff %* max_idle_ns: %n ns", text,
			   len, &f) ||
	    f.count <= 0)
		return;
	hz = 4294967295.0 * 0.445 * 1e9 / (double)f.count;
	/* what kernels can be built with; a number that lost digits is far from any */
	if (hz > HZ_MIN - 0.5 && hz < HZ_MAX + 0.5)
		p->hz = (int64_t)(hz + 0.5);
}

/* Lines that are no event but say how others must be understood. */
static void note_context(struct console_parser *p, const struct segment *seg)
{
	const char *text = seg->text;
	size_t len = seg->len;

	if (has_prefix(text, len, "------------[ cut here ]---")) {
		p->cut_until = in_records(p, CUT_RECORDS);
	} else if (has_prefix(text, len, "---[ end trace") || is_call_trace(text, len)) {
		if (!is_now_before(p, p->dump_until))
			p->integrity.unclassified_dumps++;
		p->dump_until = in_records(p, DUMP_RECORDS);
	} else if (has_prefix(text, len, "sysrq: ") || has_prefix(text, len, "SysRq : ") ||
		   has_prefix(text, len, "Showing b")) {
		p->dump_until = in_records(p, DUMP_RECORDS);
	} else if (has_prefix(text, len, "clocksource")) {
		note_hz(p, text, len);
	} else if (seg->env.kind == ENVELOPE_NONE) {
		if (contains(text, len, "dmesg"))
			p->replay_hint_until = in_records(p, REPLAY_RECORDS);
	} else if (contains(text, len, "bootconsole [") || contains(text, len, "] enabled")) {
		p->replay_hint_until = in_records(p, REPLAY_RECORDS);
	}
}

bool classify_segment(struct console_parser *p, const struct line *line, const struct segment *seg)
{
	bool is_peek = line->flags & LINE_PEEK;

	if ((line->groups & GROUP_OWN) && classify_own(p, line, seg))
		return true;
	if (!is_peek && (line->groups & GROUP_CONTEXT) && classify_boot(p, line, seg))
		return true;
	if ((line->groups & GROUP_RULE) && classify_rules(p, line, seg))
		return true;
	if ((line->groups & GROUP_TRACE) && classify_traces(p, line, seg))
		return true;
	if (!is_peek && (line->groups & GROUP_CONTEXT))
		note_context(p, seg);
	return false;
}

void classify_kmsg_seq(struct console_parser *p, int64_t seq)
{
	if (p->kmsg_seq != CONSOLE_UNKNOWN && seq > p->kmsg_seq + 1)
		p->integrity.kmsg_seq_gaps += (uint64_t)(seq - p->kmsg_seq - 1);
	p->kmsg_seq = seq;
}

void classify_wqdump(struct console_parser *p, const struct segment *seg)
{
	if (wqdump_is_head(seg->text, seg->len)) {
		end_wqdump(p);
		if (!p->wqdump)
			p->wqdump = xcalloc(1, sizeof(*p->wqdump));
		wqdump_init(p->wqdump);
		p->wqdump_left = WQDUMP_RECORDS;
	} else if (p->wqdump_left > 0) {
		if (wqdump_line(p->wqdump, seg->text, seg->len))
			p->wqdump_left = WQDUMP_RECORDS;
		else if (p->wqdump_left == 1)
			end_wqdump(p);
		else
			p->wqdump_left--;
	}
}

void classify_finish(struct console_parser *p)
{
	end_wqdump(p);
	p->integrity.unclassified_dumps += p->cut_until > 0;
	p->cut_until = 0;
}
