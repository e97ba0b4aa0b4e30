/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb_stick.c - the USB stick: find it, mount it, drop and count what of it is cached. */
#include "agent.h"
#include "base/parse.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

static bool dir_word(const char *dir, const char *name, char *buf, size_t cap)
{
	char path[SYSFILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n > 0 && (size_t)n < sizeof(path) && sysfile_word("", path, buf, cap);
}

/*
 * Climbs from a block device to the USB device that carries it: the first folder above with a
 * devnum. False if there is none, i.e. the disk is not on USB.
 */
static bool usb_device_of(const char *root, const char *disk, char *ret, size_t cap)
{
	char link[SYSFILE_PATH_MAX];
	char real[PATH_MAX];
	char word[16];
	int n = snprintf(link, sizeof(link), "%s/sys/block/%s/device", root, disk);

	if (n < 0 || (size_t)n >= sizeof(link) || !realpath(link, real))
		return false;
	for (char *slash; (slash = strrchr(real, '/')) && slash != real; *slash = '\0') {
		if (!dir_word(real, "devnum", word, sizeof(word)))
			continue;
		n = snprintf(ret, cap, "%s", real);
		return n > 0 && (size_t)n < cap;
	}
	return false;
}

int verb_stick(struct request *rq, struct err *e)
{
	static const char *const copied[][2] = {{"speed", "speed_mbps"},
						{"serial", "serial"},
						{"busnum", "busnum"},
						{"devnum", "devnum"}};
	char dir_path[SYSFILE_PATH_MAX];
	char found_dir[SYSFILE_PATH_MAX] = "";
	char found_disk[64] = "";
	const char *serial = NULL;
	uint64_t sectors;
	char size_path[SYSFILE_PATH_MAX];
	char word[128];
	struct dirent *de;
	DIR *dir;
	int r;

	r = request_need(rq, "serial", &serial, e);
	if (r < 0)
		return r;
	r = sysfile_path(rq->root, "/sys/block", dir_path, e);
	if (r < 0)
		return r;
	dir = opendir(dir_path);
	if (!dir)
		return err_errno(e, ERR_TARGET, errno, "/sys/block");
	while ((de = readdir(dir))) {
		char usb[SYSFILE_PATH_MAX];

		if (de->d_name[0] == '.' || strlen(de->d_name) >= sizeof(found_disk) ||
		    !usb_device_of(rq->root, de->d_name, usb, sizeof(usb)) ||
		    !dir_word(usb, "serial", word, sizeof(word)) || strcmp(word, serial) != 0)
			continue;
		if (*found_disk) {
			r = err_set(e, ERR_TARGET, ENOTUNIQ,
				    "stick: USB serial '%s' belongs to %s and %s", serial,
				    found_disk, de->d_name);
			(void)closedir(dir);
			return r;
		}
		(void)snprintf(found_disk, sizeof(found_disk), "%s", de->d_name);
		(void)snprintf(found_dir, sizeof(found_dir), "%s", usb);
	}
	(void)closedir(dir);
	if (!*found_disk)
		return err_set(e, ERR_TARGET, ENODEV, "stick: no disk with USB serial '%s'",
			       serial);

	answer_word(rq->answer, "dev", "%s", found_disk);
	answer_word(rq->answer, "usb_path", "%s", strrchr(found_dir, '/') + 1);
	for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
		if (dir_word(found_dir, copied[i][0], word, sizeof(word)))
			answer_word(rq->answer, copied[i][1], "%s", word);
	(void)snprintf(size_path, sizeof(size_path), "/sys/block/%s/size", found_disk);
	if (!sysfile_word(rq->root, size_path, word, sizeof(word)) ||
	    parse_u64("size", word, 0, UINT64_MAX / 512, &sectors, NULL) < 0)
		return err_set(e, ERR_TARGET, ENODEV, "stick: %s went away", found_disk);
	answer_word(rq->answer, "size_bytes", "%" PRIu64, sectors * 512);
	return 0;
}

struct mount_flag {
	const char *name;
	unsigned long flag;
};

static const struct mount_flag mount_flags[] = {
	{"ro", MS_RDONLY},       {"rw", 0},
	{"noatime", MS_NOATIME}, {"relatime", MS_RELATIME},
	{"nodev", MS_NODEV},     {"nosuid", MS_NOSUID},
	{"noexec", MS_NOEXEC},   {"sync", MS_SYNCHRONOUS},
	{"dirsync", MS_DIRSYNC}, {"remount", MS_REMOUNT},
};

/* Flags of mount(2); what is none of them goes to the filesystem in data. */
static int split_options(const char *opts, unsigned long *ret_flags, char *data, size_t cap,
			 struct err *e)
{
	size_t len = 0;

	*data = '\0';
	*ret_flags = 0;
	while (*opts) {
		size_t n = strcspn(opts, ",");
		size_t i;

		for (i = 0; i < ARRAY_SIZE(mount_flags); i++)
			if (strlen(mount_flags[i].name) == n &&
			    memcmp(mount_flags[i].name, opts, n) == 0)
				break;
		if (i < ARRAY_SIZE(mount_flags)) {
			*ret_flags |= mount_flags[i].flag;
		} else if (len + n + 2 > cap) {
			return err_set(e, ERR_TARGET, E2BIG, "mount: options longer than %zu bytes",
				       cap - 1);
		} else if (n) {
			if (len)
				data[len++] = ',';
			memcpy(data + len, opts, n);
			len += n;
			data[len] = '\0';
		}
		opts += n;
		opts += *opts == ',';
	}
	return 0;
}

int verb_mount(struct request *rq, struct err *e)
{
	const char *opts = request_get(rq, "opts");
	const char *dev = NULL;
	const char *dir = NULL;
	const char *fs = NULL;
	char path[SYSFILE_PATH_MAX];
	unsigned long flags;
	char data[512];
	int r;

	r = request_need(rq, "dev", &dev, e);
	if (r < 0)
		return r;
	r = request_need(rq, "dir", &dir, e);
	if (r < 0)
		return r;
	r = request_need(rq, "fs", &fs, e);
	if (r < 0)
		return r;
	r = split_options(opts ? opts : "", &flags, data, sizeof(data), e);
	if (r < 0)
		return r;
	/* "sda" is a disk; a path or the name of a source without a device stays as it is */
	(void)snprintf(path, sizeof(path), "/dev/%s", dev);
	if (strchr(dev, '/') || access(path, F_OK) < 0)
		(void)snprintf(path, sizeof(path), "%s", dev);

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_errno(e, ERR_TARGET, errno, "mount: mkdir %s", dir);
	if (mount(path, dir, fs, flags, data) < 0)
		return err_errno(e, ERR_TARGET, errno, "mount: %s on %s as %s, options '%s'", path,
				 dir, fs, opts ? opts : "");
	return 0;
}

/* A device that nobody holds open loses its page cache. Until it is killed: only as a load. */
int verb_hold(struct request *rq, struct err *e)
{
	const char *path = NULL;
	auto_fd int fd = -1;
	int r;

	r = request_need(rq, "path", &path, e);
	if (r < 0)
		return r;
	if (strcmp(request_get(rq, "bg"), "1") != 0)
		return err_set(e, ERR_TARGET, EINVAL, "hold: only with bg=1, it does not end");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, "hold: %s", path);
	answer_linef(rq->answer, "held=1");
	for (;;)
		(void)pause();
}

int verb_umount(struct request *rq, struct err *e)
{
	const char *how = request_get(rq, "flags");
	const char *dir = NULL;
	int flags = 0;
	int r;

	r = request_need(rq, "dir", &dir, e);
	if (r < 0)
		return r;
	if (how && strcmp(how, "lazy") == 0)
		flags = MNT_DETACH;
	else if (how && strcmp(how, "force") == 0)
		flags = MNT_FORCE;
	else if (how)
		return err_set(e, ERR_TARGET, EINVAL, "umount: flags=%s is not lazy or force", how);

	if (umount2(dir, flags) < 0)
		return err_errno(e, ERR_TARGET, errno, "umount: %s", dir);
	return 0;
}

int verb_drop_caches(struct request *rq, struct err *e)
{
	sync();
	return sysfile_write(rq->root, "/proc/sys/vm/drop_caches", "3\n", e);
}

/* Bytes of [0, size) that mincore(2) finds in memory, window by window. */
static int resident_bytes(int fd, const char *path, uint64_t size, uint64_t *ret, struct err *e)
{
	enum { WINDOW_PAGES = 16384 };
	static unsigned char vec[WINDOW_PAGES];
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	*ret = 0;
	for (uint64_t at = 0; at < size; at += page * WINDOW_PAGES) {
		uint64_t left = size - at;
		size_t len = (size_t)(left < page * WINDOW_PAGES ? left : page * WINDOW_PAGES);
		size_t pages = (size_t)((len + page - 1) / page);
		void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)at);

		if (map == MAP_FAILED)
			return err_errno(e, ERR_TARGET, errno, "cache: mmap %s", path);
		if (mincore(map, len, vec) < 0) {
			int code = errno;

			(void)munmap(map, len);
			return err_errno(e, ERR_TARGET, code, "cache: mincore %s", path);
		}
		(void)munmap(map, len);
		for (size_t i = 0; i < pages; i++)
			if (vec[i] & 1)
				*ret += i + 1 < pages ? page : len - (pages - 1) * page;
	}
	return 0;
}

int verb_cache(struct request *rq, struct err *e)
{
	static const char *const keys[][2] = {
		{"Cached:", "cached_kib"}, {"Buffers:", "buffers_kib"}, {"Dirty:", "dirty_kib"}};
	const char *path = NULL;
	uint64_t size, resident;
	char text[4096];
	auto_fd int fd = -1;
	struct stat st;
	int r;

	r = request_need(rq, "path", &path, e);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_errno(e, ERR_TARGET, errno, "cache: %s", path);
	if (fstat(fd, &st) < 0)
		return err_errno(e, ERR_TARGET, errno, "cache: stat %s", path);
	if (S_ISBLK(st.st_mode)) {
		if (ioctl(fd, BLKGETSIZE64, &size) < 0)
			return err_errno(e, ERR_TARGET, errno, "cache: size of %s", path);
	} else if (S_ISREG(st.st_mode)) {
		size = (uint64_t)st.st_size;
	} else {
		return err_set(e, ERR_TARGET, EINVAL, "cache: %s is no file and no block device",
			       path);
	}

	r = resident_bytes(fd, path, size, &resident, e);
	if (r < 0)
		return r;
	answer_word(rq->answer, "resident_bytes", "%" PRIu64, resident);
	answer_word(rq->answer, "size_bytes", "%" PRIu64, size);
	if (!sysfile_word(rq->root, "/proc/meminfo", text, sizeof(text)))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		/* "SwapCached:" must not count as "Cached:" */
		char start[32];
		const char *p;

		(void)snprintf(start, sizeof(start), "\n%s", keys[i][0]);
		p = strstr(text, start);
		if (!p)
			continue;
		p += strlen(start);
		p += strspn(p, " ");
		answer_word(rq->answer, keys[i][1], "%.*s", (int)strspn(p, "0123456789"), p);
	}
	return 0;
}
