/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recordings.c - recordings by hash, in the store or in a shared folder. */
#include "store/recordings.h"

#include "base/fdio.h"
#include "base/parse.h"
#include "store_priv.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

struct file {
	char *path; /* in the run's folder; owned */
	char sha256[SHA256_HEX_SIZE];
	int64_t bytes;
};

struct files {
	struct file *list; /* owned */
	size_t n;
};

static void files_release(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->list[i].path);
	free(take(f->list));
	f->n = 0;
}
#define auto_files __attribute__((cleanup(files_release)))

static struct file *add_file(struct files *f, const char *path)
{
	struct file *ret;

	f->list = xrealloc(f->list, f->n + 1, sizeof(*f->list));
	ret = &f->list[f->n++];
	*ret = (struct file){.path = xstrdup(path)};
	return ret;
}

/* ---- what of a run's folder is kept ---- */

static bool is_kept(const char *name)
{
	static const char *const ends[] = {".json", ".yaml", ".raw", ".timing", ".log", ".txt"};
	size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i]);

		if (n > end && strcmp(name + n - end, ends[i]) == 0)
			return parse_is_name(name);
	}
	return false;
}

static int look_at_file(const char *dir, const char *path, const struct stat *st, struct files *f,
			struct err *e)
{
	auto_free char *whole = xasprintf("%s/%s", dir, path);
	struct file *file;
	int r;

	if (f->n >= RECORDING_FILES_MAX)
		return err_set(e, ERR_STORE, E2BIG, "%s: more than %d files", dir,
			       RECORDING_FILES_MAX);
	if (st->st_size > RECORDING_FILE_MAX)
		return err_set(e, ERR_STORE, EFBIG, "%s: %lld bytes, at most %lld are kept", whole,
			       (long long)st->st_size, RECORDING_FILE_MAX);
	file = add_file(f, path);
	file->bytes = st->st_size;
	r = sha256_file(whole, file->sha256, e);
	return r < 0 ? err_rekind(e, ERR_STORE) : 0;
}

/* Files of dir/sub, and of the folders in dir. sub "" = dir itself. */
static int look_at_folder(const char *dir, const char *sub, struct files *f, struct err *e)
{
	auto_free char *here = *sub ? xasprintf("%s/%s", dir, sub) : xstrdup(dir);
	struct dirent **rows = NULL;
	int n = scandir(here, &rows, NULL, alphasort);
	int r = 0;

	if (n < 0)
		return err_errno(e, ERR_STORE, errno, "%s", here);
	for (int i = 0; i < n; i++) {
		const char *name = rows[i]->d_name;
		auto_free char *path = *sub ? xasprintf("%s/%s", sub, name) : xstrdup(name);
		auto_free char *whole = xasprintf("%s/%s", dir, path);
		struct stat st;

		if (r >= 0 && lstat(whole, &st) == 0) {
			if (S_ISREG(st.st_mode) && is_kept(name))
				r = look_at_file(dir, path, &st, f, e);
			else if (S_ISDIR(st.st_mode) && !*sub && parse_is_name(name))
				r = look_at_folder(dir, name, f, e);
		}
		free(rows[i]);
	}
	free(rows);
	return r;
}

/* ---- bytes ---- */

static char *place_of(const char *folder, const char *sha256)
{
	return xasprintf("%s/%.2s/%s", folder, sha256, sha256);
}

/* The name appears with whole content only; two hosts may do it at once. */
static int put_into_folder(const char *folder, const char *from, const struct file *file,
			   struct err *e)
{
	auto_free char *place = place_of(folder, file->sha256);
	auto_free char *parent = xasprintf("%s/%.2s", folder, file->sha256);
	auto_free char *tmp = xasprintf("%s.%ld.tmp", place, (long)getpid());
	int r;

	if (access(place, F_OK) == 0)
		return 0;
	r = dir_make(parent, e);
	if (r >= 0)
		r = file_copy(from, tmp, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	if (rename(tmp, place) < 0) {
		r = err_errno(e, ERR_STORE, errno, "%s", place);
		(void)unlink(tmp);
		return r;
	}
	return 0;
}

struct content {
	const struct file *file;
	const struct strbuf *bytes;
};

static int insert_content(struct db *db, void *arg, struct err *e)
{
	const struct content *c = arg;
	auto_query struct query q = {0};
	int r;

	r = query_begin(db,
			"INSERT INTO recordings (sha256, bytes, content) VALUES ($1, $2, $3)"
			" ON CONFLICT (sha256) DO NOTHING",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, c->file->sha256);
	put_i64(&q, c->file->bytes);
	put_bytes(&q, strbuf_str(c->bytes), c->bytes->len);
	return query_run(&q, e);
}

static int put_into_store(struct store *st, const char *from, const struct file *file,
			  struct err *e)
{
	auto_strbuf struct strbuf bytes = STRBUF_INIT;
	struct content c = {.file = file, .bytes = &bytes};
	int r;

	r = file_read(from, (size_t)RECORDING_FILE_MAX, &bytes, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	r = db_transact(st->db, DB_CHANGE, insert_content, &c, e);
	return r < 0 ? err_wrap(e, "store '%s': %s", st->location, from) : 0;
}

/* ---- keep ---- */

struct keep {
	const char *run_id;
	const struct files *files;
};

static int insert_files(struct db *db, void *arg, struct err *e)
{
	const struct keep *k = arg;
	auto_query struct query q = {0};
	int64_t run = 0;
	int r;

	r = store_require_run(db, k->run_id, &run, e);
	if (r >= 0)
		r = query_begin(db,
				"INSERT INTO recording_files (run, path, sha256, bytes)"
				" VALUES ($1, $2, $3, $4) ON CONFLICT (run, path) DO UPDATE SET"
				" sha256 = excluded.sha256, bytes = excluded.bytes",
				&q, e);
	for (size_t i = 0; r >= 0 && i < k->files->n; i++) {
		put_i64(&q, run);
		put_text(&q, k->files->list[i].path);
		put_text(&q, k->files->list[i].sha256);
		put_i64(&q, k->files->list[i].bytes);
		r = query_run(&q, e);
	}
	return r;
}

int store_recording_keep(struct store *st, const char *run_id, const char *dir, const char *folder,
			 struct err *e)
{
	auto_files struct files files = {0};
	struct keep k = {.run_id = run_id, .files = &files};
	int r;

	r = look_at_folder(dir, "", &files, e);
	/* the bytes first: a path that is in the store can be fetched */
	for (size_t i = 0; r >= 0 && i < files.n; i++) {
		auto_free char *from = xasprintf("%s/%s", dir, files.list[i].path);

		r = folder ? put_into_folder(folder, from, &files.list[i], e)
			   : put_into_store(st, from, &files.list[i], e);
	}
	if (r < 0)
		return r;
	r = db_transact(st->db, DB_CHANGE, insert_files, &k, e);
	return r < 0 ? err_wrap(e, "store '%s': recording of run '%s'", st->location, run_id) : 0;
}

/* ---- fetch ---- */

struct find {
	const char *run_id;
	struct files files;
};

/* A path that leads out of the folder would be somebody's attempt. */
static bool is_path_inside(const char *path)
{
	auto_free char *copy = xstrdup(path);
	char *slash = strchr(copy, '/');

	if (slash)
		*slash = '\0';
	return parse_is_name(copy) && (!slash || parse_is_name(slash + 1));
}

static int select_files(struct db *db, void *arg, struct err *e)
{
	struct find *f = arg;
	auto_query struct query q = {0};
	int r;

	files_release(&f->files);
	r = query_begin(db,
			"SELECT path, sha256, recording_files.bytes FROM recording_files"
			" JOIN runs ON runs.run = recording_files.run WHERE runs.id = $1"
			" ORDER BY path LIMIT $2",
			&q, e);
	if (r < 0)
		return r;

	put_text(&q, f->run_id);
	put_i64(&q, RECORDING_FILES_MAX);
	while ((r = query_next(&q, e)) > 0) {
		struct file *file = add_file(&f->files, get_text(&q));

		get_chars(&q, file->sha256, sizeof(file->sha256));
		file->bytes = get_i64(&q);
		if (!is_path_inside(file->path) || strlen(file->sha256) != SHA256_HEX_SIZE - 1 ||
		    strspn(file->sha256, "0123456789abcdef") != SHA256_HEX_SIZE - 1)
			return db_damaged("recording_files", e);
	}
	return r;
}

struct get {
	const char *sha256;
	struct strbuf bytes;
	bool is_there;
};

static int select_content(struct db *db, void *arg, struct err *e)
{
	struct get *g = arg;
	auto_query struct query q = {0};
	const void *bytes;
	size_t n = 0;
	int r;

	strbuf_reset(&g->bytes);
	g->is_there = false;
	r = query_begin(db, "SELECT content FROM recordings WHERE sha256 = $1", &q, e);
	if (r < 0)
		return r;

	put_text(&q, g->sha256);

	r = query_next(&q, e);
	if (r <= 0)
		return r;
	bytes = get_bytes(&q, &n);
	if (n)
		strbuf_add(&g->bytes, bytes, n);
	g->is_there = true;
	return 0;
}

static int get_from_store(struct store *st, const struct file *file, const char *to, struct err *e)
{
	struct get g = {.sha256 = file->sha256, .bytes = STRBUF_INIT};
	int r;

	r = db_transact(st->db, DB_SEE, select_content, &g, e);
	if (r < 0)
		r = err_wrap(e, "store '%s': recordings", st->location);
	else if (!g.is_there)
		r = err_set(e, ERR_STORE, ENOENT,
			    "the bytes of '%s' (%s) are neither in store '%s' nor in the shared "
			    "folder",
			    file->path, file->sha256, st->location);
	else
		r = file_write_atomic(to, strbuf_str(&g.bytes), g.bytes.len, e);
	strbuf_release(&g.bytes);
	return r < 0 ? err_rekind(e, ERR_STORE) : 0;
}

static int fetch_file(struct store *st, const struct file *file, const char *folder,
		      const char *dir, struct err *e)
{
	auto_free char *to = xasprintf("%s/%s", dir, file->path);
	auto_free char *parent = xasprintf("%.*s", (int)(strrchr(to, '/') - to), to);
	auto_free char *place = folder ? place_of(folder, file->sha256) : NULL;
	char seen[SHA256_HEX_SIZE] = "";
	int r;

	r = dir_make(parent, e);
	if (r >= 0) {
		if (place && access(place, F_OK) == 0)
			r = file_copy(place, to, e);
		else
			r = get_from_store(st, file, to, e);
	}
	if (r >= 0)
		r = sha256_file(to, seen, e);
	if (r < 0)
		return err_rekind(e, ERR_STORE);
	if (strcmp(seen, file->sha256) != 0) {
		(void)unlink(to);
		return err_set(e, ERR_STORE, EBADMSG, "'%s' has SHA-256 %s, it was kept with %s",
			       file->path, seen, file->sha256);
	}
	return 0;
}

int store_recording_fetch(struct store *st, const char *run_id, const char *folder, const char *dir,
			  struct err *e)
{
	struct find f = {.run_id = run_id};
	int r;

	r = db_transact(st->db, DB_SEE, select_files, &f, e);
	if (r < 0)
		r = err_wrap(e, "store '%s'", st->location);
	else if (f.files.n == 0)
		r = err_set(e, ERR_STORE, ENODATA, "store '%s' has no recording of run '%s'",
			    st->location, run_id);
	for (size_t i = 0; r >= 0 && i < f.files.n; i++)
		r = fetch_file(st, &f.files.list[i], folder, dir, e);
	files_release(&f.files);
	return r < 0 ? err_wrap(e, "recording of run '%s'", run_id) : 0;
}

/* ---- locate ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int store_recording_locate(struct store *st, const char *folder, const char *cache, struct run *r,
			   struct err *e)
{
	auto_free char *dir = xasprintf("%s/%s", cache, r->id);
	bool is_fetched = false;

	for (size_t i = 0; i < r->n_boots; i++) {
		struct trial_boot *b = &r->boots[i];
		auto_free char *here = NULL;
		int res = 0;

		if (!b->recording || !*b->recording || access(b->recording, F_OK) == 0)
			continue;
		here = xasprintf("%s/%s", dir, last_part(b->recording));
		if (!is_fetched && access(here, F_OK) < 0) {
			/* a folder that is there is whole */
			auto_free char *tmp = xasprintf("%s.%ld.tmp", dir, (long)getpid());

			res = store_recording_fetch(st, r->id, folder, tmp, e);
			if (res == -ENODATA) {
				err_clear(e);
				return 0;
			}
			if (res >= 0)
				res = dir_remove(dir, e);
			if (res >= 0 && rename(tmp, dir) < 0)
				res = err_errno(e, ERR_STORE, errno, "%s", dir);
			if (res < 0) {
				struct err ignored = {0};

				(void)!dir_remove(tmp, &ignored);
				return res;
			}
		}
		is_fetched = true;
		if (access(here, F_OK) < 0)
			continue;
		free(b->recording);
		b->recording = take(here);
	}
	return 0;
}
