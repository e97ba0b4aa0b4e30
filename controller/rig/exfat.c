/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exfat.c - one file in the root folder of an exFAT volume, without mounting it. */
#include "exfat.h"

#include "base/fdio.h"

#include <ctype.h>
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRY_SIZE       32
#define NAME_PART        15 /* characters in one entry */
#define NAME_MAX_LEN     255
#define ROOT_MAX         ((size_t)1 << 20) /* bytes of the root folder */
#define CHUNK            ((size_t)1 << 20)
#define CLUSTER_FREE_MIN 2u          /* the first cluster has this number */
#define CLUSTER_MAX      0xfffffff6u /* what is above ends a chain or is bad */
/* 2020-09-13 12:26:40, in UTC: an image is the same each time */
#define TIMESTAMP \
	((((2020u - 1980u) << 25) | (9u << 21) | (13u << 16)) | ((12u << 11) | (26u << 5) | 20u))
#define UTC 0x80

enum {
	TYPE_END = 0x00,
	TYPE_BITMAP = 0x81,
	TYPE_FILE = 0x85,
	TYPE_STREAM = 0xc0,
	TYPE_NAME = 0xc1,
	ATTRIBUTE_ARCHIVE = 0x20,
	STREAM_ALLOCATED = 0x01,
	STREAM_IN_ONE_PIECE = 0x02, /* no chain in the FAT */
};

struct volume {
	const char *path;
	int fd;
	uint32_t cluster_bytes, clusters, root;
	uint64_t fat_at, heap_at; /* bytes */
};

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static void put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static int read_at(const struct volume *v, void *bytes, size_t n, uint64_t at, struct err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(v->fd, (uint8_t *)bytes + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_errno(e, ERR_INTERNAL, got ? errno : EIO,
					 "%s: %zu bytes at %" PRIu64, v->path, n, at);
		done += (size_t)got;
	}
	return 0;
}

static int write_at(const struct volume *v, const void *bytes, size_t n, uint64_t at, struct err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t put =
			pwrite(v->fd, (const uint8_t *)bytes + done, n - done, (off_t)(at + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return err_errno(e, ERR_INTERNAL, put ? errno : EIO,
					 "%s: %zu bytes at %" PRIu64, v->path, n, at);
		done += (size_t)put;
	}
	return 0;
}

static bool is_cluster(const struct volume *v, uint32_t cluster)
{
	return cluster >= CLUSTER_FREE_MIN && cluster - CLUSTER_FREE_MIN < v->clusters;
}

static uint64_t cluster_at(const struct volume *v, uint32_t cluster)
{
	return v->heap_at + (uint64_t)(cluster - CLUSTER_FREE_MIN) * v->cluster_bytes;
}

static int volume_open(const char *path, int flags, struct volume *ret, struct err *e)
{
	auto_fd int fd = open(path, flags | O_CLOEXEC);
	unsigned sector_shift, cluster_shift;
	uint8_t boot[512];
	int r;

	if (fd < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", path);
	*ret = (struct volume){.path = path, .fd = fd};
	r = read_at(ret, boot, sizeof(boot), 0, e);
	if (r < 0)
		return r;
	sector_shift = boot[108];
	cluster_shift = boot[109];
	if (memcmp(boot + 3, "EXFAT   ", 8) != 0 || sector_shift < 9 || sector_shift > 12 ||
	    cluster_shift > 25 - sector_shift)
		return err_set(e, ERR_INTERNAL, EINVAL, "%s holds no exFAT", path);
	ret->cluster_bytes = 1u << (sector_shift + cluster_shift);
	ret->fat_at = (uint64_t)get32(boot + 80) << sector_shift;
	ret->heap_at = (uint64_t)get32(boot + 88) << sector_shift;
	ret->clusters = get32(boot + 92);
	ret->root = get32(boot + 96);
	if (!is_cluster(ret, ret->root))
		return err_set(e, ERR_INTERNAL, EINVAL,
			       "%s: the root folder is at cluster %" PRIu32, path, ret->root);
	ret->fd = take_fd(fd);
	return 0;
}

/* *cluster to the next one of its chain; 0 at the end. */
static int next_in_chain(const struct volume *v, uint32_t *cluster, struct err *e)
{
	uint8_t word[4];
	int r = read_at(v, word, sizeof(word), v->fat_at + (uint64_t)*cluster * 4, e);

	if (r < 0)
		return r;
	*cluster = get32(word);
	if (*cluster > CLUSTER_MAX)
		*cluster = 0;
	else if (!is_cluster(v, *cluster))
		return err_set(e, ERR_INTERNAL, EINVAL, "%s: a chain leads to cluster %" PRIu32,
			       v->path, *cluster);
	return 0;
}

/* The whole root folder. Caller frees. */
static int read_root(const struct volume *v, uint8_t **ret, size_t *ret_n, struct err *e)
{
	auto_free uint8_t *all = NULL;
	size_t n = 0;

	for (uint32_t c = v->root; c;) {
		int r;

		/* a chain that bites its tail ends here, too */
		if (n >= ROOT_MAX)
			return err_set(e, ERR_INTERNAL, EINVAL,
				       "%s: the root folder is larger than %zu bytes", v->path,
				       ROOT_MAX);
		all = xrealloc(all, n + v->cluster_bytes, 1);
		r = read_at(v, all + n, v->cluster_bytes, cluster_at(v, c), e);
		if (r >= 0)
			r = next_in_chain(v, &c, e);
		if (r < 0)
			return r;
		n += v->cluster_bytes;
	}
	*ret = take(all);
	*ret_n = n / ENTRY_SIZE;
	return 0;
}

static uint16_t rotate_add(uint16_t sum, uint8_t byte)
{
	return (uint16_t)((uint16_t)(sum << 15) + (sum >> 1) + byte);
}

/* The entries of a file: itself, its data, its name. */
static bool has_name(const uint8_t *set, size_t n_entries, const char *name)
{
	const size_t len = strlen(name);

	if (n_entries < 2 || set[ENTRY_SIZE] != TYPE_STREAM || set[ENTRY_SIZE + 3] != len ||
	    n_entries < 2 + (len + NAME_PART - 1) / NAME_PART)
		return false;
	for (size_t i = 0; i < len; i++) {
		const uint8_t *part = set + ENTRY_SIZE * (2 + i / NAME_PART);
		const uint16_t c = get16(part + 2 + 2 * (i % NAME_PART));

		/* names that differ in case only are the same name */
		if (part[0] != TYPE_NAME || c > 127 ||
		    toupper((int)c) != toupper((unsigned char)name[i]))
			return false;
	}
	return true;
}

/* The data entry of the file, or NULL. */
static const uint8_t *find_file(const uint8_t *root, size_t n, const char *name)
{
	for (size_t i = 0; i < n && root[i * ENTRY_SIZE] != TYPE_END; i++) {
		const uint8_t *set = root + i * ENTRY_SIZE;

		if (set[0] == TYPE_FILE && i + set[1] < n && has_name(set, set[1] + 1u, name))
			return set + ENTRY_SIZE;
	}
	return NULL;
}

/* ---- writing ---- */

struct bitmap {
	uint8_t *bits; /* one a cluster */
	uint64_t at;
	size_t bytes;
};

static int read_bitmap(const struct volume *v, const uint8_t *root, size_t n, struct bitmap *ret,
		       struct err *e)
{
	for (size_t i = 0; i < n && root[i * ENTRY_SIZE] != TYPE_END; i++) {
		const uint8_t *entry = root + i * ENTRY_SIZE;
		const uint32_t cluster = get32(entry + 20);

		if (entry[0] != TYPE_BITMAP)
			continue;
		ret->bytes = (v->clusters + 7u) / 8;
		if (!is_cluster(v, cluster) || get64(entry + 24) < ret->bytes)
			break;
		/* a new volume has it in one piece */
		ret->at = cluster_at(v, cluster);
		ret->bits = xcalloc(ret->bytes, 1);
		return read_at(v, ret->bits, ret->bytes, ret->at, e);
	}
	return err_set(e, ERR_INTERNAL, EINVAL, "%s: no allocation bitmap", v->path);
}

/* Marks `want` clusters in a row; the first of them, or 0. */
static uint32_t allocate(const struct volume *v, struct bitmap *b, uint64_t want)
{
	uint64_t run = 0;

	for (uint32_t i = 0; i < v->clusters; i++) {
		run = b->bits[i / 8] >> (i % 8) & 1 ? 0 : run + 1;
		if (run < want)
			continue;
		for (uint64_t k = i + 1 - want; k <= i; k++)
			b->bits[k / 8] |= (uint8_t)(1u << (k % 8));
		return (uint32_t)(i + 1 - want) + CLUSTER_FREE_MIN;
	}
	return 0;
}

/* Fills the entries of a file; returns how many. */
static size_t make_entries(uint8_t *set, const char *name, uint32_t cluster, uint64_t size)
{
	const size_t len = strlen(name);
	const size_t n = 2 + (len + NAME_PART - 1) / NAME_PART;
	uint8_t *stream = set + ENTRY_SIZE;
	uint16_t hash = 0, sum = 0;

	memset(set, 0, n * ENTRY_SIZE);
	set[0] = TYPE_FILE;
	set[1] = (uint8_t)(n - 1);
	put16(set + 4, ATTRIBUTE_ARCHIVE);
	for (size_t i = 0; i < 3; i++) {
		put32(set + 8 + 4 * i, TIMESTAMP);
		set[22 + i] = UTC;
	}
	stream[0] = TYPE_STREAM;
	stream[1] = STREAM_ALLOCATED | STREAM_IN_ONE_PIECE;
	stream[3] = (uint8_t)len;
	for (size_t i = 0; i < len; i++) {
		uint8_t *part = set + ENTRY_SIZE * (2 + i / NAME_PART);

		part[0] = TYPE_NAME;
		put16(part + 2 + 2 * (i % NAME_PART), (uint8_t)name[i]);
		/* both bytes of the character in upper case */
		hash = rotate_add(hash, (uint8_t)toupper((unsigned char)name[i]));
		hash = rotate_add(hash, 0);
	}
	put16(stream + 4, hash);
	put64(stream + 8, size);
	put32(stream + 20, cluster);
	put64(stream + 24, size);
	for (size_t i = 0; i < n * ENTRY_SIZE; i++)
		if (i != 2 && i != 3)
			sum = rotate_add(sum, set[i]);
	put16(set + 2, sum);
	return n;
}

static int copy_in(const struct volume *v, int from_fd, const char *from, uint64_t size,
		   uint64_t at, struct err *e)
{
	const struct volume source = {.path = from, .fd = from_fd};
	auto_free uint8_t *chunk = xcalloc(CHUNK, 1);

	for (uint64_t done = 0; done < size;) {
		const size_t n = size - done < CHUNK ? (size_t)(size - done) : CHUNK;
		int r = read_at(&source, chunk, n, done, e);

		if (r >= 0)
			r = write_at(v, chunk, n, at + done, e);
		if (r < 0)
			return r;
		done += n;
	}
	return 0;
}

static int put_in(const struct volume *v, const char *name, const char *from, struct err *e)
{
	uint8_t set[ENTRY_SIZE * (2 + NAME_MAX_LEN / NAME_PART)];
	auto_fd int in = open(from, O_RDONLY | O_CLOEXEC);
	auto_free uint8_t *root = NULL;
	auto_free uint8_t *bits = NULL;
	struct bitmap b = {0};
	size_t n, n_set, at = 0;
	uint32_t cluster;
	struct stat st;
	int r;

	if (in < 0 || fstat(in, &st) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", from);
	if (!*name || strlen(name) > NAME_MAX_LEN || st.st_size <= 0)
		return err_set(e, ERR_INTERNAL, EINVAL, "%s: '%.64s' of %jd bytes", v->path, name,
			       (intmax_t)st.st_size);
	r = read_root(v, &root, &n, e);
	if (r >= 0)
		r = read_bitmap(v, root, n, &b, e);
	bits = b.bits;
	if (r < 0)
		return r;
	if (find_file(root, n, name))
		return err_set(e, ERR_INTERNAL, EEXIST, "%s: there is a '%s'", v->path, name);
	cluster = allocate(v, &b, ((uint64_t)st.st_size + v->cluster_bytes - 1) / v->cluster_bytes);
	n_set = make_entries(set, name, cluster, (uint64_t)st.st_size);
	while (at < n && root[at * ENTRY_SIZE] != TYPE_END)
		at++;
	/* of a new volume the folder is one cluster */
	if (!cluster || (at + n_set) * ENTRY_SIZE > v->cluster_bytes)
		return err_set(e, ERR_INTERNAL, ENOSPC, "%s: no room for '%s' of %jd bytes",
			       v->path, name, (intmax_t)st.st_size);
	r = copy_in(v, in, from, (uint64_t)st.st_size, cluster_at(v, cluster), e);
	if (r >= 0)
		r = write_at(v, b.bits, b.bytes, b.at, e);
	if (r >= 0)
		r = write_at(v, set, n_set * ENTRY_SIZE, cluster_at(v, v->root) + at * ENTRY_SIZE,
			     e);
	if (r >= 0 && fsync(v->fd) < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", v->path);
	return r;
}

int exfat_put(const char *image, const char *name, const char *from, struct err *e)
{
	struct volume v;
	int r = volume_open(image, O_RDWR, &v, e);

	if (r < 0)
		return r;
	r = put_in(&v, name, from, e);
	(void)close(v.fd);
	return r;
}

/* ---- reading ---- */

static int get_from(const struct volume *v, const char *name, const char *to, struct err *e)
{
	auto_fd int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	auto_free uint8_t *chunk = xcalloc(v->cluster_bytes, 1);
	auto_free uint8_t *root = NULL;
	const uint8_t *stream;
	uint64_t left;
	uint32_t cluster;
	size_t n;
	int r;

	if (out < 0)
		return err_errno(e, ERR_INTERNAL, errno, "%s", to);
	r = read_root(v, &root, &n, e);
	if (r < 0)
		return r;
	stream = find_file(root, n, name);
	if (!stream)
		return err_set(e, ERR_INTERNAL, ENOENT, "%s: there is no '%s'", v->path, name);
	cluster = get32(stream + 20);
	left = get64(stream + 24);
	while (left > 0) {
		const size_t part = left < v->cluster_bytes ? (size_t)left : v->cluster_bytes;

		if (!is_cluster(v, cluster))
			return err_set(e, ERR_INTERNAL, EINVAL,
				       "%s: '%s' ends %" PRIu64 " bytes before its size", v->path,
				       name, left);
		r = read_at(v, chunk, part, cluster_at(v, cluster), e);
		if (r < 0)
			return r;
		r = fd_write_all(out, chunk, part);
		if (r < 0)
			return err_errno(e, ERR_INTERNAL, -r, "%s", to);
		left -= part;
		if (stream[1] & STREAM_IN_ONE_PIECE)
			cluster++;
		else if (left && (r = next_in_chain(v, &cluster, e)) < 0)
			return r;
	}
	return 0;
}

int exfat_get(const char *image, const char *name, const char *to, struct err *e)
{
	struct volume v;
	int r = volume_open(image, O_RDONLY, &v, e);

	if (r < 0)
		return r;
	r = get_from(&v, name, to, e);
	(void)close(v.fd);
	return r;
}
