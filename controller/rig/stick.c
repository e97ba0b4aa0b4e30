/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stick.c - makes stick images without root and without loop devices. */
#include "stick.h"

#include "base/child.h"
#include "base/rng.h"
#include "exfat.h"
#include "lock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Part of the cache key: change it with anything that changes the image's bytes. */
#define STICK_FORMAT "v1"

#define CONTENT_SEED 0x7374616c6c726967u
/* times, identifiers and hash seeds inside the image are constants, so that it can be repeated */
#define FAKE_TIME "1600000000"
#define EXT4_UUID "53744c6c-7269-4700-8000-000000000001"
#define VFAT_ID   "53744c6c"
#define EXFAT_ID  "0x53744c6c"
#define LABEL     "STALLRIG"
#define EXT4_EXTENDED \
	"hash_seed=53744c6c-7269-4700-8000-000000000002,lazy_itable_init=0,nodiscard,root_owner=0:0"

#define TOOL_TIMEOUT_NS (600 * NSEC_PER_SEC)
#define OTHER_MAKES_NS  (900 * NSEC_PER_SEC)

struct stick_fs {
	const char *name;
	const char *package;
	/* Each runs in the folder that holds "stick.img" and "content"; NULL ends a list. "@"
	   stands for the file's name on the stick, also inside a word. */
	const char *make[20];
	const char *tune[10]; /* after that; empty = nothing */
	const char *put[10];  /* empty, and then `get` as well = exFAT, by exfat.h */
	const char *get[10];  /* writes "copy" */
};

static const struct stick_fs filesystems[] = {
	{
		.name = "ext4",
		.package = "e2fsprogs",
		.make = {"mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-O",
			 "^has_journal,^resize_inode", "-U", EXT4_UUID, "-L", LABEL, "-E",
			 EXT4_EXTENDED, "stick.img"},
		/* mkfs.ext4 -d would keep the source's change time, which cannot be set */
		.put = {"debugfs", "-w", "-R", "write content @", "stick.img"},
		.get = {"debugfs", "-R", "dump @ copy", "stick.img"},
	},
	{
		.name = "vfat",
		.package = "dosfstools",
		.make = {"mkfs.vfat", "--invariant", "-n", LABEL, "-i", VFAT_ID, "stick.img"},
		.put = {"mcopy", "-m", "-i", "stick.img", "content", "::@"},
		.get = {"mcopy", "-i", "stick.img", "::@", "copy"},
	},
	{
		.name = "exfat",
		.package = "exfatprogs",
		.make = {"mkfs.exfat", "-L", LABEL, "stick.img"},
		.tune = {"tune.exfat", "-I", EXFAT_ID, "stick.img"},
	},
};

static const struct stick_fs *find_fs(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(filesystems); i++)
		if (strcmp(filesystems[i].name, name) == 0)
			return &filesystems[i];
	return NULL;
}

/* Runs one of the lists above in dir. */
static int run_tool(struct waiter *w, const char *dir, const char *const *list, const char *file,
		    const char *package, struct err *e)
{
	const char *path_var = getenv("PATH");
	/* mkfs lies in a folder that is not in the PATH of every user */
	auto_free char *path = xasprintf("PATH=%s:/usr/sbin:/sbin", path_var ? path_var : "/bin");
	const char *const env[] = {path, "E2FSPROGS_FAKE_TIME=" FAKE_TIME,
				   "SOURCE_DATE_EPOCH=" FAKE_TIME, "TZ=UTC", NULL};
	char *words[24] = {NULL};
	const struct child_cfg cfg = {
		.argv = (const char *const *)words,
		.cwd = dir,
		.env = env,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
		.dies_with_parent = true,
	};
	int r;

	for (size_t i = 0; list[i]; i++) {
		const char *at = strchr(list[i], '@');

		words[i] = at ? xasprintf("%.*s%s%s", (int)(at - list[i]), list[i], file, at + 1)
			      : xstrdup(list[i]);
	}
	r = child_run(w, &cfg, TOOL_TIMEOUT_NS, NULL, e);
	for (size_t i = 0; words[i]; i++)
		free(words[i]);
	if (r == -ENOENT)
		return err_wrap(e, "stick image needs the Debian package %s", package);
	return r;
}

/* Bytes that neither compress nor leave holes. */
static int write_content(const char *path, unsigned mib, struct err *e)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	const struct timespec times[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
	auto_free uint64_t *chunk = xcalloc(1u << 20, 1);
	struct rng rng;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	rng_init(&rng, CONTENT_SEED);
	for (unsigned m = 0; m < mib; m++) {
		int r;

		for (size_t i = 0; i < (1u << 20) / sizeof(*chunk); i++)
			chunk[i] = htole64(rng_u64(&rng));
		r = fd_write_all(fd, chunk, 1u << 20);
		if (r < 0)
			return err_errno(e, ERR_INTERNAL, -r, "%s", path);
	}
	if (futimens(fd, times) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	return 0;
}

int stick_make_blank(const char *path, unsigned mib, struct err *e)
{
	auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || ftruncate(fd, (off_t)mib << 20) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	return 0;
}

static int put_file(const char *dir, const struct stick_fs *fs, const char *file, struct waiter *w,
		    struct err *e)
{
	auto_free char *image = xasprintf("%s/stick.img", dir);
	auto_free char *content = xasprintf("%s/content", dir);

	if (!fs->put[0])
		return exfat_put(image, file, content, e);
	return run_tool(w, dir, fs->put, file,
			strcmp(fs->put[0], "mcopy") == 0 ? "mtools" : fs->package, e);
}

static int get_file(const char *dir, const struct stick_fs *fs, const char *file, struct waiter *w,
		    struct err *e)
{
	auto_free char *image = xasprintf("%s/stick.img", dir);
	auto_free char *copy = xasprintf("%s/copy", dir);

	return fs->get[0] ? run_tool(w, dir, fs->get, file, fs->package, e)
			  : exfat_get(image, file, copy, e);
}

static int need_fs(const struct rig_cfg *cfg, const struct stick_fs **ret, struct err *e)
{
	*ret = find_fs(cfg->stick.filesystem);
	return *ret ? 0
		    : err_set(e, ERR_CONFIG, EINVAL, "%s: file system '%s' is not known", cfg->path,
			      cfg->stick.filesystem);
}

int stick_read_back(const char *dir, const struct rig_cfg *cfg, struct waiter *w,
		    char ret_sha256[SHA256_HEX_SIZE], struct err *e)
{
	auto_free char *copy = xasprintf("%s/copy", dir);
	const struct stick_fs *fs;
	int r;

	r = need_fs(cfg, &fs, e);
	if (r == 0)
		r = get_file(dir, fs, cfg->stick.file, w, e);
	/* these programs do not fail reliably: what counts is what can be read */
	if (r == 0)
		r = sha256_file(copy, ret_sha256, e);
	(void)unlink(copy);
	return r < 0 ? err_wrap(e, "reading '%s' from the stick", cfg->stick.file) : 0;
}

int stick_content_sha256(const char *dir, const struct rig_cfg *cfg,
			 char ret_sha256[SHA256_HEX_SIZE], struct err *e)
{
	auto_free char *content = xasprintf("%s/content", dir);
	int r;

	r = write_content(content, cfg->stick.file_mib, e);
	if (r == 0)
		r = sha256_file(content, ret_sha256, e);
	return r;
}

int stick_fill(const char *dir, const struct rig_cfg *cfg, struct waiter *w,
	       char ret_sha256[SHA256_HEX_SIZE], struct err *e)
{
	auto_free char *content = xasprintf("%s/content", dir);
	const struct stick_fs *fs;
	char want[SHA256_HEX_SIZE];
	char got[SHA256_HEX_SIZE];
	int r;

	r = need_fs(cfg, &fs, e);
	if (r == 0)
		r = stick_content_sha256(dir, cfg, want, e);
	if (r == 0)
		r = run_tool(w, dir, fs->make, cfg->stick.file, fs->package, e);
	if (r == 0 && fs->tune[0])
		r = run_tool(w, dir, fs->tune, cfg->stick.file, fs->package, e);
	if (r == 0)
		r = put_file(dir, fs, cfg->stick.file, w, e);
	if (r == 0)
		r = stick_read_back(dir, cfg, w, got, e);
	if (r < 0)
		return r;
	if (strcmp(want, got) != 0)
		return err_set(e, ERR_INTERNAL, EIO,
			       "'%s' on the stick differs from what was written (disk full?)",
			       cfg->stick.file);
	(void)unlink(content);
	memcpy(ret_sha256, got, sizeof(got));
	return 0;
}

/* Makes stick.img and sha256 in dir. */
static int make_in(const char *dir, const struct rig_cfg *cfg, struct waiter *w, struct err *e)
{
	auto_free char *image = xasprintf("%s/stick.img", dir);
	auto_free char *sum = xasprintf("%s/sha256", dir);
	char got[SHA256_HEX_SIZE];
	int r;

	r = stick_make_blank(image, cfg->stick.size_mib, e);
	if (r == 0)
		r = stick_fill(dir, cfg, w, got, e);
	return r < 0 ? r : file_write_atomic(sum, got, strlen(got), e);
}

/* True if dir holds a whole image; its checksum goes to ret. */
static bool is_complete(const char *dir, const struct rig_cfg *cfg, char *ret)
{
	auto_free char *image = xasprintf("%s/stick.img", dir);
	auto_free char *sum = xasprintf("%s/sha256", dir);
	auto_strbuf struct strbuf text = STRBUF_INIT;
	struct stat st;

	if (stat(image, &st) < 0 || st.st_size != (off_t)cfg->stick.size_mib << 20)
		return false;
	if (file_read(sum, SHA256_HEX_SIZE, &text, NULL) < 0 || text.len != SHA256_HEX_SIZE - 1)
		return false;
	memcpy(ret, strbuf_str(&text), SHA256_HEX_SIZE);
	return true;
}

static int make_at(const char *dir, const struct rig_cfg *cfg, struct waiter *w, struct err *e)
{
	auto_free char *tmp = xasprintf("%s.tmp", dir);
	int r;

	/* what a killed process left */
	r = dir_remove(tmp, e);
	if (r == 0)
		r = dir_remove(dir, e);
	if (r == 0)
		r = dir_make(tmp, e);
	if (r == 0)
		r = make_in(tmp, cfg, w, e);
	if (r == 0 && rename(tmp, dir) < 0)
		r = err_errno(e, ERR_INTERNAL, errno, "%s", dir);
	if (r < 0)
		(void)!dir_remove(tmp, NULL);
	return r;
}

int stick_ensure(const struct rig_cfg *cfg, struct waiter *w, struct stick_image *ret,
		 struct err *e)
{
	auto_free char *cache = path_cache("sticks");
	auto_free char *dir =
		xasprintf("%s/%s-%s-%um-%s-%um", cache, STICK_FORMAT, cfg->stick.filesystem,
			  cfg->stick.size_mib, cfg->stick.file, cfg->stick.file_mib);
	auto_free char *lock_path = xasprintf("%s.lock", dir);
	auto_lock struct rig_lock *lock = NULL;
	char sum[SHA256_HEX_SIZE];
	int r = 0;

	if (!is_complete(dir, cfg, sum)) {
		r = lock_take(lock_path, "stick image", w, OTHER_MAKES_NS, &lock, e);
		if (r < 0)
			return r;
		/* another process may have made it meanwhile */
		if (!is_complete(dir, cfg, sum)) {
			r = make_at(dir, cfg, w, e);
			if (r < 0)
				return err_wrap(e, "stick image");
		}
		if (!is_complete(dir, cfg, sum))
			return err_set(e, ERR_INTERNAL, EIO, "stick image %s is not complete", dir);
	}
	if (*cfg->stick.content_sha256 && strcmp(cfg->stick.content_sha256, sum) != 0)
		return err_set(e, ERR_CONFIG, EINVAL,
			       "%s: content_sha256: '%s': the file on the stick has %s", cfg->path,
			       cfg->stick.content_sha256, sum);
	ret->path = xasprintf("%s/stick.img", dir);
	memcpy(ret->sha256, sum, sizeof(sum));
	return 0;
}

void stick_image_release(struct stick_image *image)
{
	util_free(image->path);
	image->path = NULL;
}
