/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fulltext.c - the two ways to find words. */
#include "fulltext.h"

#include "base/strbuf.h"

#include <ctype.h>

int fulltext_add(struct db *db, int64_t incident_title, const char *cls, const char *title,
		 struct err *e)
{
	auto_query struct query q = {0};
	int r;

	if (db_kind(db) != DB_SQLITE)
		return 0;

	r = query_begin(db, "INSERT INTO incident_words (rowid, class, title) VALUES ($1, $2, $3)",
			&q, e);
	if (r < 0)
		return r;

	put_i64(&q, incident_title);
	put_text(&q, cls);
	put_text(&q, title);
	return query_run(&q, e);
}

const char *fulltext_condition(const struct db *db)
{
	return db_kind(db) == DB_SQLITE ? "incident_title IN (SELECT rowid FROM incident_words"
					  " WHERE incident_words MATCH $1)"
					: "words @@ to_tsquery('simple', $1)";
}

/* Bytes beyond ASCII are letters here. */
static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

char *fulltext_query(const struct db *db, const char *typed)
{
	bool is_sqlite = db_kind(db) == DB_SQLITE;
	auto_strbuf struct strbuf out = STRBUF_INIT;

	for (const char *p = typed; *p;) {
		size_t n = 0;

		while (is_word(p[n]))
			n++;
		if (n == 0) {
			p++;
			continue;
		}
		if (out.len)
			strbuf_adds(&out, is_sqlite ? " AND " : " & ");
		strbuf_adds(&out, is_sqlite ? "\"" : "");
		strbuf_add(&out, p, n);
		strbuf_adds(&out, is_sqlite ? "\"" : "");
		p += n;
	}
	if (out.len == 0)
		return NULL;
	strbuf_adds(&out, is_sqlite ? " *" : ":*");
	return strbuf_take(&out);
}
