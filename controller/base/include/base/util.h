/* SPDX-License-Identifier: GPL-2.0-or-later */
/* util.h - attributes, cleanup helpers and small macros that every room uses. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define must_check        __attribute__((warn_unused_result))
#define printf_like(f, a) __attribute__((format(printf, f, a)))

#define ARRAY_SIZE(a)                   (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Yields the value and leaves the variable empty, so that its auto_ cleanup does nothing. */
#define take(p)                             \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

/*
 * DEFINE_AUTO(foo, struct foo *, foo_free) makes `auto_foo struct foo *x = NULL;` call
 * foo_free(x) when x leaves its scope. foo_free() must accept NULL and preserve errno.
 */
#define DEFINE_AUTO(name, type, func)                   \
	static inline void auto_cleanup_##name(type *p) \
	{                                               \
		func(*p);                               \
	}
#define AUTO(name) __attribute__((cleanup(auto_cleanup_##name)))

static inline void util_free(void *p)
{
	int saved = errno;

	free(p);
	errno = saved;
}

static inline void auto_cleanup_mem(void *p)
{
	util_free(*(void **)p);
}
/* its end is a use, whatever clang thinks */
#define auto_free __attribute__((cleanup(auto_cleanup_mem), unused))

static inline void auto_cleanup_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}
#define auto_fd __attribute__((cleanup(auto_cleanup_fd)))

static inline void auto_cleanup_file(FILE **f)
{
	int saved = errno;

	if (*f)
		fclose(*f);
	errno = saved;
}
#define auto_file __attribute__((cleanup(auto_cleanup_file)))

/* Hands an fd over and leaves -1 behind. */
#define take_fd(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

/* malloc family that aborts when memory is out: the process is small, nothing sensible is left. */
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) printf_like(1, 2) __attribute__((malloc, returns_nonnull));
