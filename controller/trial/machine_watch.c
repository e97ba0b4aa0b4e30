/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_watch.c - texts on the console that say that the machine is broken. */
#include "machine_watch.h"

#include <string.h>

void machine_watch_init(struct machine_watch *m, char *const *texts, unsigned n_texts)
{
	memset(m, 0, sizeof(*m));
	m->texts = texts;
	m->n_texts = n_texts;
}

static void look(struct machine_watch *m)
{
	m->line[m->len] = '\0';
	m->len = 0;
	for (unsigned i = 0; i < m->n_texts && !m->found[0]; i++)
		if (strstr(m->line, m->texts[i]))
			(void)snprintf(m->found, sizeof(m->found), "%.150s", m->line);
}

void machine_watch_feed(struct machine_watch *m, const void *bytes, size_t n)
{
	const char *p = bytes;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\n' || p[i] == '\r')
			look(m);
		else if (m->len < sizeof(m->line) - 1)
			/* it ends in a JSON file, and nothing that is looked for has other bytes */
			m->line[m->len++] = (p[i] >= ' ' && p[i] <= '~') ? p[i] : '?';
	}
}
