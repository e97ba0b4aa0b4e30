/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deb_version.c - order of Debian versions, and which kernel package belongs to which series. */
#include "kernels/deb_version.h"

#include <stddef.h>
#include <string.h>

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Rank of a byte in a non-digit part: '~' < end or digit < letters < the rest. */
static int rank(int c)
{
	if (c == '~')
		return -1;
	if (c == '\0' || is_digit(c))
		return 0;
	return is_letter(c) ? c : (c & 0xff) + 256;
}

static int cmp_part(const char *a, const char *a_end, const char *b, const char *b_end)
{
	while (a < a_end || b < b_end) {
		int first_difference = 0;

		while ((a < a_end && !is_digit(*a)) || (b < b_end && !is_digit(*b))) {
			int d = rank(a < a_end ? *a : '\0') - rank(b < b_end ? *b : '\0');

			if (d)
				return d;
			a++;
			b++;
		}
		while (a < a_end && *a == '0')
			a++;
		while (b < b_end && *b == '0')
			b++;
		while (a < a_end && is_digit(*a) && b < b_end && is_digit(*b)) {
			if (!first_difference)
				first_difference = *a - *b;
			a++;
			b++;
		}
		if (a < a_end && is_digit(*a))
			return 1;
		if (b < b_end && is_digit(*b))
			return -1;
		if (first_difference)
			return first_difference;
	}
	return 0;
}

struct parts {
	const char *epoch, *epoch_end;
	const char *upstream, *upstream_end;
	const char *revision, *revision_end;
};

static struct parts split(const char *v)
{
	const char *end = v + strlen(v);
	const char *colon = strchr(v, ':');
	const char *dash = strrchr(v, '-');
	struct parts p;

	p.epoch = v;
	p.epoch_end = colon ? colon : v;
	p.upstream = colon ? colon + 1 : v;
	if (dash && dash < p.upstream)
		dash = NULL;
	p.upstream_end = dash ? dash : end;
	p.revision = dash ? dash + 1 : end;
	p.revision_end = end;
	return p;
}

int deb_version_cmp(const char *a, const char *b)
{
	struct parts x = split(a);
	struct parts y = split(b);
	int d;

	d = cmp_part(x.epoch, x.epoch_end, y.epoch, y.epoch_end);
	if (!d)
		d = cmp_part(x.upstream, x.upstream_end, y.upstream, y.upstream_end);
	if (!d)
		d = cmp_part(x.revision, x.revision_end, y.revision, y.revision_end);
	return d;
}

const char *deb_arch_name(const char *arch)
{
	return strcmp(arch, "x86_64") == 0 ? "amd64" : arch;
}

/*
 * "6.1.0-57", "6.12.117+deb12", "6.1.0-0.deb11.5": three numbers, then parts that each start with a
 * digit. With two numbers ("6.12") it is a meta package, any other part is a flavour.
 */
static bool is_plain_release(const char *s, size_t n)
{
	bool is_at_start = true;
	unsigned dots = 0;

	for (size_t i = 0; i < n; i++) {
		dots += s[i] == '.';
		if (is_at_start && !is_digit(s[i]))
			return false;
		is_at_start = s[i] == '-';
		if (!is_at_start && !is_digit(s[i]) && !is_letter(s[i]) && !strchr(".+~", s[i]))
			return false;
	}
	return !is_at_start && dots >= 2;
}

bool deb_kernel_matches(const char *package, const char *spec, const char *deb_arch)
{
	static const char prefix[] = "linux-image-";
	size_t spec_len = strlen(spec);
	size_t arch_len = strlen(deb_arch);
	const char *release = package + sizeof(prefix) - 1;
	size_t len;

	if (strncmp(package, prefix, sizeof(prefix) - 1) != 0)
		return false;
	len = strlen(release);
	if (len < arch_len + 2 || release[len - arch_len - 1] != '-' ||
	    strcmp(release + len - arch_len, deb_arch) != 0)
		return false;
	len -= arch_len + 1;
	if (!is_plain_release(release, len))
		return false;
	if (strcmp(release, spec) == 0)
		return true;
	if (len < spec_len || strncmp(release, spec, spec_len) != 0)
		return false;
	return len == spec_len || release[spec_len] == '.';
}
