/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stick_device.c - makes and checks real sticks. */
#include "rig/stick_device.h"

#include "stick.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define SERIAL_MAX 256

/* The first word of a file; false if there is none. */
static bool read_word(const char *dir, const char *name, char ret[SERIAL_MAX])
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_strbuf struct strbuf text = STRBUF_INIT;

	if (file_read(path, SERIAL_MAX - 1, &text, NULL) < 0)
		return false;
	(void)snprintf(ret, SERIAL_MAX, "%.*s", (int)strcspn(strbuf_str(&text), "\n"),
		       strbuf_str(&text));
	return *ret != '\0';
}

/* Climbs from the disk to the USB device that carries it, as the agent does on the target. */
static bool find_serial(dev_t dev, char ret[SERIAL_MAX])
{
	auto_free char *link = xasprintf("/sys/dev/block/%u:%u", major(dev), minor(dev));
	char dir[PATH_MAX];
	char word[SERIAL_MAX];

	if (!realpath(link, dir))
		return false;
	for (char *slash; (slash = strrchr(dir, '/')) && slash != dir; *slash = '\0')
		if (read_word(dir, "devnum", word))
			return read_word(dir, "serial", ret);
	return false;
}

static bool is_partition(dev_t dev)
{
	auto_free char *path = xasprintf("/sys/dev/block/%u:%u/partition", major(dev), minor(dev));

	return access(path, F_OK) == 0;
}

/* Is it the stick that the rig wants? kind: of the error if not. */
static int check_disk(const struct rig_cfg *cfg, const char *device, const struct stat *st,
		      enum err_kind kind, struct err *e)
{
	char serial[SERIAL_MAX];

	if (is_partition(st->st_rdev))
		return err_set(e, ERR_USAGE, EINVAL,
			       "%s is a partition: the whole disk is needed, as the target sees it",
			       device);
	if (!find_serial(st->st_rdev, serial))
		return err_set(e, ERR_USAGE, ENOTSUP, "%s is not on USB, or has no serial number",
			       device);
	if (strcmp(serial, cfg->stick.serial) != 0)
		return err_set(e, kind, ESTALE,
			       "%s is another stick: its USB serial number is '%s', rig '%s' has "
			       "'%s'",
			       device, serial, cfg->name, cfg->stick.serial);
	return 0;
}

/* Refuses what is not meant; a disk that is mounted or otherwise in use cannot be opened so. */
static int check_target(const struct rig_cfg *cfg, const char *device, struct err *e)
{
	const uint64_t need = (uint64_t)cfg->stick.size_mib << 20;
	auto_fd int fd = -1;
	uint64_t bytes;
	struct stat st;
	int r;

	if (stat(device, &st) < 0 && errno == ENOENT && strncmp(device, "/dev/", 5) != 0)
		return stick_make_blank(device, cfg->stick.size_mib, e);
	if (stat(device, &st) < 0)
		return err_errno(e, ERR_USAGE, errno, "%s", device);
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, ENOTBLK, "%s is neither a disk nor a file", device);
	bytes = (uint64_t)st.st_size;
	if (S_ISBLK(st.st_mode)) {
		r = check_disk(cfg, device, &st, ERR_USAGE, e);
		if (r < 0)
			return r;
		fd = open(device, O_RDWR | O_EXCL | O_CLOEXEC);
		if (fd < 0)
			return err_errno(e, ERR_USAGE, errno, "%s", device);
		if (ioctl(fd, BLKGETSIZE64, &bytes) < 0)
			return err_errno(e, ERR_USAGE, errno, "%s: its size", device);
	}
	if (bytes < need)
		return err_set(e, ERR_USAGE, ENOSPC,
			       "%s has %llu MiB, rig '%s' wants a stick of %u MiB", device,
			       (unsigned long long)(bytes >> 20), cfg->name, cfg->stick.size_mib);
	return 0;
}

/* A folder with stick.img as a link to the device. Caller frees. */
static int open_folder(const char *device, char **ret, struct err *e)
{
	auto_free char *parent = path_state("sticks");
	auto_free char *dir = xasprintf("%s/%ld", parent, (long)getpid());
	auto_free char *link = xasprintf("%s/stick.img", dir);
	char full[PATH_MAX];
	int r;

	if (!realpath(device, full))
		return err_errno(e, ERR_USAGE, errno, "%s", device);
	r = dir_remove(dir, e);
	if (r == 0)
		r = dir_make(dir, e);
	if (r < 0)
		return r;
	if (symlink(full, link) < 0) {
		r = err_errno(e, ERR_INTERNAL, errno, "%s", link);
		(void)!dir_remove(dir, NULL);
		return r;
	}
	*ret = take(dir);
	return 0;
}

/* What is read from now on comes from the stick and not from memory. */
static int settle(const char *device, struct err *e)
{
	auto_fd int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_errno(e, ERR_RIG, errno, "%s", device);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

int stick_device_prepare(const struct rig_cfg *cfg, struct waiter *w, const char *device,
			 char ret_sha256[SHA256_HEX_SIZE], struct err *e)
{
	auto_free char *dir = NULL;
	char written[SHA256_HEX_SIZE], kept[SHA256_HEX_SIZE];
	int r;

	r = check_target(cfg, device, e);
	if (r == 0)
		r = open_folder(device, &dir, e);
	if (r < 0)
		return r;
	r = stick_fill(dir, cfg, w, written, e);
	if (r == 0)
		r = settle(device, e);
	if (r == 0)
		r = stick_read_back(dir, cfg, w, kept, e);
	if (r == 0 && strcmp(written, kept) != 0)
		r = err_set(e, ERR_RIG, EBADMSG, "the stick did not keep '%s': it has %s now",
			    cfg->stick.file, kept);
	(void)!dir_remove(dir, NULL);
	if (r < 0)
		return err_wrap(e, "%s", device);
	memcpy(ret_sha256, kept, sizeof(kept));
	return 0;
}

int stick_device_verify(const struct rig_cfg *cfg, struct waiter *w, const char *device,
			char ret_sha256[SHA256_HEX_SIZE], struct err *e)
{
	auto_free char *dir = NULL;
	char want[SHA256_HEX_SIZE], got[SHA256_HEX_SIZE];
	struct stat st;
	int r = 0;

	if (stat(device, &st) < 0)
		return err_errno(e, ERR_USAGE, errno, "%s", device);
	if (S_ISBLK(st.st_mode))
		r = check_disk(cfg, device, &st, ERR_RIG, e);
	if (r == 0)
		r = open_folder(device, &dir, e);
	if (r < 0)
		return r;
	r = stick_read_back(dir, cfg, w, got, e);
	if (r < 0)
		r = err_rekind(e, ERR_RIG);
	else if (*cfg->stick.content_sha256)
		(void)snprintf(want, sizeof(want), "%s", cfg->stick.content_sha256);
	else
		r = stick_content_sha256(dir, cfg, want, e);
	if (r == 0 && strcmp(want, got) != 0)
		r = err_set(e, ERR_RIG, EBADMSG, "'%s' has SHA-256 %s, expected %s",
			    cfg->stick.file, got, want);
	(void)!dir_remove(dir, NULL);
	if (r < 0)
		return err_wrap(e, "%s", device);
	memcpy(ret_sha256, got, sizeof(got));
	return 0;
}
