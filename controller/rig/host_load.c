/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_load.c - how much of the time tasks of this host waited for a processor. */
#include "host_load.h"

#include "base/fdio.h"
#include "base/parse.h"

#include <string.h>

#define FILE_MAX 4096

int64_t host_load_wait_us(void)
{
	const char *path = getenv("STALLRIG_HOST_LOAD");
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct err ignored = {0};
	int64_t us;

	if (!path || !*path)
		path = "/proc/pressure/cpu";
	if (file_read(path, FILE_MAX, &text, &ignored) < 0)
		return -1;
	/* "some avg10=… avg60=… avg300=… total=US", then a line "full …" */
	if (strncmp(strbuf_str(&text), "some ", 5) != 0)
		return -1;
	text.data[strcspn(text.data, "\n")] = '\0';
	return parse_pair_i64(text.data, "total", &us) && us >= 0 ? us : -1;
}

int host_load_pct(int64_t before_us, int64_t now_us, nsec_t elapsed_ns)
{
	const int64_t elapsed_us = elapsed_ns / NSEC_PER_USEC;
	int64_t waited_us = now_us - before_us;

	if (before_us < 0 || now_us < before_us || elapsed_us <= 0)
		return -1;
	if (waited_us > elapsed_us)
		waited_us = elapsed_us;
	return (int)(waited_us / (elapsed_us / 100 + 1));
}

int host_load_blame(int pct, struct err *e)
{
	auto_free char *said = NULL;

	if (pct < HOST_LOAD_MAX_PCT || (e->kind != ERR_KERNEL && e->kind != ERR_TARGET))
		return -e->code;
	said = xstrdup(e->text);
	return err_set(e, ERR_RIG, EAGAIN,
		       "host overloaded (in %d %% of this boot a task waited for a processor): %s",
		       pct, said);
}
