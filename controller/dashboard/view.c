/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - what runs say side by side. */
#include "view.h"

#include "base/waiter.h"
#include "report/text.h"

#include <string.h>

void run_list_release(struct run_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		run_free(l->runs[i]);
	util_free(l->runs);
	*l = (struct run_list){0};
}

/* ---- names ---- */

/* The package's version that Debian's kernels carry in their version line. */
static const char *package_version(const struct run *r, size_t *ret_len)
{
	static const char mark[] = "Debian ";
	const char *p = r->kernel_version ? strstr(r->kernel_version, mark) : NULL;

	if (!p)
		return NULL;
	p += sizeof(mark) - 1;
	*ret_len = strcspn(p, " ");
	return *ret_len ? p : NULL;
}

char *view_kernel_version(const struct run *r)
{
	size_t len;
	const char *version = package_version(r, &len);

	if (version)
		return xasprintf("%.*s", (int)len, version);
	return xstrdup(r->kernel_release && *r->kernel_release ? r->kernel_release
							       : text_or_empty(r->kernel));
}

char *view_kernel_name(const struct run *r)
{
	char *version = view_kernel_version(r);
	char *name;

	if (!r->append || !*r->append)
		return version;
	name = xasprintf("%s %s", version, r->append);
	free(version);
	return name;
}

char *view_trend_name(const struct run *r)
{
	return xasprintf("%s/%s/%s", text_or_empty(r->rig_class), text_or_empty(r->scenario),
			 text_or_empty(r->rig));
}

static bool is_same_text(const char *a, const char *b)
{
	return strcmp(text_or_empty(a), text_or_empty(b)) == 0;
}

static bool is_same_subject(const struct run *a, const struct run *b)
{
	return a->limit_us == b->limit_us && is_same_text(a->scenario, b->scenario) &&
	       is_same_text(a->rig_class, b->rig_class);
}

bool view_is_same_kernel_series(const struct run *a, const struct run *b)
{
	const char *ra = text_or_empty(a->kernel_release);
	const char *rb = text_or_empty(b->kernel_release);
	size_t na = release_series_length(ra);

	return is_same_text(a->append, b->append) && na == release_series_length(rb) &&
	       strncmp(ra, rb, na) == 0 && strcmp(release_flavour(ra), release_flavour(rb)) == 0;
}

bool view_is_same_series(const struct run *a, const struct run *b)
{
	return is_same_subject(a, b) && is_same_text(a->rig, b->rig) &&
	       view_is_same_kernel_series(a, b);
}

bool view_is_same_kernel(const struct run *a, const struct run *b)
{
	return is_same_text(a->kernel, b->kernel) && is_same_text(a->append, b->append) &&
	       is_same_text(a->kernel_version, b->kernel_version) &&
	       is_same_text(a->kernel_image_sha256, b->kernel_image_sha256);
}

/* ---- changes ---- */

static bool is_judged(const struct run *r)
{
	return r->ended_wall_ns &&
	       (r->result.verdict == VERDICT_PASS || r->result.verdict == VERDICT_FAIL);
}

/* series: indexes of the judged runs of one series, newest first. */
static bool change_of(struct run *const *runs, const size_t *series, size_t n, struct change *ret)
{
	enum verdict v = runs[series[0]]->result.verdict;
	size_t i = 0;

	while (i + 1 < n && runs[series[i + 1]]->result.verdict == v)
		i++;
	*ret = (struct change){
		.now = runs[series[0]],
		.since = runs[series[i]],
		.was = i + 1 < n ? runs[series[i + 1]] : NULL,
	};
	ret->kind = v == VERDICT_PASS ? CHANGE_BETTER : ret->was ? CHANGE_WORSE : CHANGE_BAD;
	return v == VERDICT_FAIL || ret->was;
}

static int by_kind_and_time(const void *a, const void *b)
{
	const struct change *ca = a, *cb = b;

	if (ca->kind != cb->kind)
		return ca->kind < cb->kind ? -1 : 1;
	return (ca->since->started_wall_ns < cb->since->started_wall_ns) -
	       (ca->since->started_wall_ns > cb->since->started_wall_ns);
}

void view_changes(const struct run_list *runs, struct change_list *ret)
{
	auto_free bool *is_done = xcalloc(runs->n + 1, sizeof(*is_done));
	auto_free size_t *series = xcalloc(runs->n + 1, sizeof(*series));

	*ret = (struct change_list){0};
	for (size_t i = 0; i < runs->n; i++) {
		struct change c;
		size_t n = 0;

		if (is_done[i] || !is_judged(runs->runs[i]))
			continue;
		for (size_t k = i; k < runs->n; k++)
			if (!is_done[k] && is_judged(runs->runs[k]) &&
			    view_is_same_series(runs->runs[i], runs->runs[k])) {
				is_done[k] = true;
				series[n++] = k;
			}
		if (!change_of(runs->runs, series, n, &c))
			continue;
		ret->changes = xrealloc(ret->changes, ret->n + 1, sizeof(*ret->changes));
		ret->changes[ret->n++] = c;
	}
	if (ret->n)
		qsort(ret->changes, ret->n, sizeof(*ret->changes), by_kind_and_time);
}

/* ---- the matrix ---- */

static struct matrix *find_matrix(struct matrix_list *l, const struct run *r)
{
	for (size_t i = 0; i < l->n; i++)
		if (is_same_subject(l->matrices[i].of, r))
			return &l->matrices[i];
	l->matrices = xrealloc(l->matrices, l->n + 1, sizeof(*l->matrices));
	l->matrices[l->n] = (struct matrix){.of = r};
	return &l->matrices[l->n++];
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_names(struct matrix *m, const struct run *r)
{
	size_t i = 0;

	while (i < m->n_rows && !view_is_same_kernel(m->rows[i], r))
		i++;
	if (i == m->n_rows) {
		m->rows = xrealloc(m->rows, m->n_rows + 1, sizeof(*m->rows));
		m->rows[m->n_rows++] = r;
	}
	for (i = 0; i < m->n_cols; i++)
		if (strcmp(m->cols[i], text_or_empty(r->rig)) == 0)
			return;
	m->cols = xrealloc(m->cols, m->n_cols + 1, sizeof(*m->cols));
	m->cols[m->n_cols++] = text_or_empty(r->rig);
}

/* Moves the newest build of each series to the front. */
static void order_rows(struct matrix *m)
{
	auto_free const struct run **older = xcalloc(m->n_rows, sizeof(*older));
	size_t n_older = 0;

	for (size_t i = 0; i < m->n_rows; i++) {
		const struct run *r = m->rows[i];
		size_t k = 0;

		while (k < m->n_newest && !view_is_same_kernel_series(m->rows[k], r))
			k++;
		if (k < m->n_newest)
			older[n_older++] = r;
		else
			m->rows[m->n_newest++] = r;
	}
	for (size_t i = 0; i < n_older; i++)
		m->rows[m->n_newest + i] = older[i];
}

static void fill_cell(struct matrix *m, const struct run *r)
{
	size_t row = 0;
	size_t col = 0;

	while (!view_is_same_kernel(m->rows[row], r))
		row++;
	while (strcmp(m->cols[col], text_or_empty(r->rig)) != 0)
		col++;
	if (!m->cells[row * m->n_cols + col])
		m->cells[row * m->n_cols + col] = r;
}

void view_matrices(const struct run_list *runs, struct matrix_list *ret)
{
	*ret = (struct matrix_list){0};
	for (size_t i = 0; i < runs->n; i++)
		if (runs->runs[i]->ended_wall_ns)
			add_names(find_matrix(ret, runs->runs[i]), runs->runs[i]);
	for (size_t i = 0; i < ret->n; i++) {
		struct matrix *m = &ret->matrices[i];

		qsort(m->cols, m->n_cols, sizeof(*m->cols), by_name);
		order_rows(m);
		m->cells = xcalloc(m->n_rows * m->n_cols, sizeof(*m->cells));
	}
	for (size_t i = 0; i < runs->n; i++)
		if (runs->runs[i]->ended_wall_ns)
			fill_cell(find_matrix(ret, runs->runs[i]), runs->runs[i]);
}

void matrix_list_release(struct matrix_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		util_free(l->matrices[i].rows);
		util_free(l->matrices[i].cols);
		util_free(l->matrices[i].cells);
	}
	util_free(l->matrices);
	*l = (struct matrix_list){0};
}
