/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_main.c - runs a fuzz target without libFuzzer:
 *   fuzz_x [--runs N] [--seed N] FILE_OR_DIRECTORY...
 * Every file once as it is, then N seeded changes of them: bytes lost, doubled, flipped, pieces of
 * two files spliced. The failing input's seed and number are in the last line before the crash.
 */
#include "base/rng.h"
#include "base/strbuf.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#define FILES_MAX 1024
#define INPUT_MAX 16384

static struct strbuf files[FILES_MAX];
static size_t n_files;

static int load_file(const char *path)
{
	auto_file FILE *f = fopen(path, "re");
	char buf[4096];
	size_t n;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	if (n_files == FILES_MAX) {
		fprintf(stderr, "%s: more than %d files\n", path, FILES_MAX);
		return -1;
	}
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&files[n_files], buf, n);
	n_files++;
	return 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int load(const char *path)
{
	struct dirent **names = NULL;
	struct stat st;
	int n;
	int r = 0;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return load_file(path);
	n = scandir(path, &names, NULL, compare_names);
	for (int i = 0; i < n; i++) {
		auto_free char *file = xasprintf("%s/%s", path, names[i]->d_name);

		if (names[i]->d_name[0] != '.' && r == 0)
			r = load_file(file);
		free(names[i]);
	}
	free(names);
	return r;
}

static void change(struct rng *r, struct strbuf *in)
{
	size_t at = in->len ? (size_t)rng_below(r, in->len) : 0;
	size_t n = 1 + (size_t)rng_below(r, 16);

	if (n > in->len - at)
		n = in->len - at;
	switch (rng_below(r, 5)) {
	case 0: /* lost */
		memmove(in->data + at, in->data + at + n, in->len - at - n);
		in->len -= n;
		break;
	case 1: /* one byte is another */
		if (n > 0)
			in->data[at] = (char)rng_u64(r);
		break;
	case 2: { /* doubled */
		auto_strbuf struct strbuf copy = STRBUF_INIT;

		strbuf_add(&copy, in->data + at, in->len - at);
		in->len = at + n;
		strbuf_add(in, copy.data, copy.len);
		break;
	}
	case 3: { /* the end of another file */
		const struct strbuf *other = &files[rng_below(r, n_files)];
		size_t from = other->len ? (size_t)rng_below(r, other->len) : 0;
		size_t take = other->len - from < INPUT_MAX ? other->len - from : INPUT_MAX;

		in->len = at;
		strbuf_add(in, other->data + from, take);
		break;
	}
	default: /* a byte with a meaning */
		if (n > 0)
			in->data[at] = "\n\r\0\033\xff[]:. 0"[rng_below(r, 11)];
		break;
	}
	if (in->len > INPUT_MAX)
		in->len = INPUT_MAX;
}

int main(int argc, char **argv)
{
	uint64_t runs = 0;
	uint64_t seed = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 10);
		else if (load(argv[i]) < 0)
			return 1;
	}
	if (n_files == 0) {
		fprintf(stderr, "usage: %s [--runs N] [--seed N] FILE_OR_DIRECTORY...\n", argv[0]);
		return 1;
	}
	for (size_t i = 0; i < n_files; i++)
		(void)LLVMFuzzerTestOneInput((const uint8_t *)strbuf_str(&files[i]), files[i].len);
	for (uint64_t k = 0; k < runs; k++) {
		auto_strbuf struct strbuf in = STRBUF_INIT;
		const struct strbuf *from;
		struct rng r;

		rng_init(&r, seed * 0x100000001b3u + k);
		from = &files[rng_below(&r, n_files)];
		strbuf_add(&in, from->data, from->len < INPUT_MAX ? from->len : INPUT_MAX);
		for (uint64_t c = 1 + rng_below(&r, 6); c > 0 && in.len > 0; c--)
			change(&r, &in);
		if (k % 1024 == 0 && runs > 100000)
			fprintf(stderr, "seed %" PRIu64 " run %" PRIu64 "\r", seed, k);
		(void)LLVMFuzzerTestOneInput((const uint8_t *)strbuf_str(&in), in.len);
	}
	printf("%zu files and %" PRIu64 " changes of them (seed %" PRIu64 "): ok\n", n_files, runs,
	       seed);
	for (size_t i = 0; i < n_files; i++)
		strbuf_release(&files[i]);
	return 0;
}
