/* SPDX-License-Identifier: GPL-2.0-or-later */
/* talk.c - sending, waiting for texts, checking echoes. */
#include "talk.h"

#include "base/parse.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum escape { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_CSI };

struct talk {
	struct waiter *w;
	struct port *port;
	struct strbuf text;
	enum escape escape;
};

/* ECMA-48: ESC [ parameters final byte, or ESC and one byte. */
static bool is_kept(struct talk *t, unsigned char c)
{
	if (t->escape == ESCAPE_BEGUN) {
		t->escape = c == '[' ? ESCAPE_CSI : ESCAPE_NONE;
		return false;
	}
	if (t->escape == ESCAPE_CSI) {
		if (c >= 0x40 && c <= 0x7e)
			t->escape = ESCAPE_NONE;
		return false;
	}
	if (c == 0x1b) {
		t->escape = ESCAPE_BEGUN;
		return false;
	}
	return c != '\r' && c != '\0';
}

static void on_bytes(void *self, const void *bytes, size_t n, nsec_t t_host_ns)
{
	const unsigned char *p = bytes;
	struct talk *t = self;

	(void)t_host_ns;
	for (size_t i = 0; i < n; i++)
		if (is_kept(t, p[i]))
			strbuf_add(&t->text, &p[i], 1);
	if (t->text.len > TALK_TEXT_MAX)
		strbuf_consume(&t->text, t->text.len - TALK_TEXT_MAX);
}

int talk_open(struct waiter *w, struct port *p, struct talk **ret, struct err *e)
{
	struct talk *t = xcalloc(1, sizeof(*t));
	int r;

	t->w = w;
	t->port = p;
	r = port_tap(p, on_bytes, t, e);
	if (r < 0) {
		free(t);
		return r;
	}
	/* the first line is a line too */
	strbuf_adds(&t->text, "\n");
	*ret = t;
	return 0;
}

void talk_close(struct talk *t)
{
	if (!t)
		return;
	port_untap(t->port, on_bytes, t);
	strbuf_release(&t->text);
	util_free(t);
}

int talk_send(struct talk *t, const char *text, struct err *e)
{
	return port_write(t->port, text, strlen(text), e);
}

struct search {
	struct talk *t;
	const char *const *texts;
	size_t n;
	size_t index, at; /* what was found */
};

static bool is_found(void *arg)
{
	struct search *s = arg;
	bool is_any = false;

	for (size_t i = 0; i < s->n; i++) {
		const char *text = strbuf_str(&s->t->text);
		const char *hit = strstr(text, s->texts[i]);

		if (!hit || (is_any && (size_t)(hit - text) >= s->at))
			continue;
		s->index = i;
		s->at = (size_t)(hit - text);
		is_any = true;
	}
	return is_any;
}

int talk_expect(struct talk *t, const char *const *texts, size_t n, nsec_t deadline_ns,
		struct strbuf *ret_before, struct err *e)
{
	struct search s = {.t = t, .texts = texts, .n = n};
	const nsec_t start_ns = waiter_now(t->w);
	const char *why = NULL;
	char last[160];
	int r;

	r = waiter_until(t->w, deadline_ns, is_found, &s, e);
	if (r < 0)
		return r;
	if (r == 1) {
		if (ret_before) {
			strbuf_reset(ret_before);
			strbuf_add(ret_before, strbuf_str(&t->text), s.at);
		}
		strbuf_consume(&t->text, s.at + strlen(texts[s.index]));
		return (int)s.index;
	}
	if (!port_is_connected(t->port, &why))
		return err_set(e, ERR_RIG, EPIPE, "the console is gone: %s", why);
	talk_last_line(strbuf_str(&t->text), last, sizeof(last));
	return err_set(e, ERR_RIG, ETIMEDOUT,
		       "no '%s' within %" PRId64 " ms; the last line is '%s'",
		       texts[0] + (*texts[0] == '\n'),
		       (waiter_now(t->w) - start_ns) / NSEC_PER_MSEC, last);
}

static bool has_text(void *arg)
{
	const struct talk *t = arg;

	return t->text.len > 0;
}

int talk_hear(struct talk *t, nsec_t deadline_ns, struct err *e)
{
	return waiter_until(t->w, deadline_ns, has_text, t, e);
}

int talk_type(struct talk *t, const char *text, nsec_t deadline_ns, struct err *e)
{
	const char *const echo[] = {text};
	char last[160];
	int r;

	talk_forget(t);
	r = talk_send(t, text, e);
	if (r < 0)
		return r;
	r = talk_expect(t, echo, 1, deadline_ns, NULL, e);
	if (r != -ETIMEDOUT)
		return r;
	talk_last_line(strbuf_str(&t->text), last, sizeof(last));
	return err_set(e, ERR_RIG, EIO, "'%s' was typed, '%s' came back", text, last);
}

void talk_forget(struct talk *t)
{
	strbuf_reset(&t->text);
}

const char *talk_text(const struct talk *t)
{
	return strbuf_str(&t->text);
}

void talk_last_line(const char *text, char *ret, size_t cap)
{
	const char *end = text + strlen(text);
	size_t n = 0;

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	for (const char *p = end; p > text && p[-1] != '\n'; p--)
		n++;
	text = end - n;
	while (n && isspace((unsigned char)*text)) {
		text++;
		n--;
	}
	if (n >= cap)
		n = cap - 1;
	for (size_t i = 0; i < n; i++)
		ret[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
	ret[n] = '\0';
}

bool talk_find_status(const char *text, unsigned n, unsigned *ret_status, size_t *ret_at)
{
	auto_free char *end = xasprintf("-%u", n);

	for (const char *p = text; (p = strstr(p, "sr-")); p += 3) {
		size_t digits = strspn(p + 3, "0123456789");
		char number[8];
		uint32_t v;

		if (!digits || digits >= sizeof(number) ||
		    strncmp(p + 3 + digits, end, strlen(end)) != 0 ||
		    isdigit((unsigned char)p[3 + digits + strlen(end)]))
			continue;
		memcpy(number, p + 3, digits);
		number[digits] = '\0';
		if (parse_u32("status", number, 0, 255, &v, NULL) < 0)
			continue;
		*ret_status = v;
		*ret_at = (size_t)(p - text);
		return true;
	}
	return false;
}
