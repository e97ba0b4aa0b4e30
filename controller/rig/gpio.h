/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpio.h - single GPIO lines, the same over both interfaces of libgpiod: gpio_v1.c (1.6) and
 * gpio_v2.c (2.x), of which the build takes one. Private to the rig room.
 *
 * Values are logical: "active" is what the line stands for, whatever its level. A line belongs to
 * this process until gpio_close(); what its level is afterwards depends on the GPIO controller.
 */
#pragma once

#include "base/waiter.h"

enum gpio_drive { GPIO_PUSH_PULL, GPIO_OPEN_DRAIN, GPIO_OPEN_SOURCE };
enum gpio_bias { GPIO_BIAS_AS_IS, GPIO_BIAS_OFF, GPIO_BIAS_UP, GPIO_BIAS_DOWN };

struct gpio_cfg {
	const char *chip; /* path, name ("gpiochip0") or label; NULL = search all for the name */
	const char *line; /* its name; NULL = by offset, which needs a chip */
	unsigned offset;
	bool is_active_low;
	enum gpio_drive drive; /* of an output */
	enum gpio_bias bias;
};

struct gpio;

/* "1.6.3": of the library that is linked. */
const char *gpio_api_version(void);

/*
 * Takes a line as it is: neither its direction nor its level changes before the first gpio_set().
 * ERR_RIG: no such chip (-ENOENT) or line (-ENOENT), a name that stands for several lines
 * (-ENOTUNIQ), held by another process or driver (-EBUSY, with the holder's name), not permitted
 * (-EACCES).
 */
int gpio_open_output(const struct gpio_cfg *cfg, struct gpio **ret, struct err *e) must_check;
/* Takes a line as an input whose edges are events. Errors as above. */
int gpio_open_input(const struct gpio_cfg *cfg, struct gpio **ret, struct err *e) must_check;
/* Accepts NULL. */
void gpio_close(struct gpio *g);

/* Makes the line an output, with this value from the beginning. */
int gpio_set(struct gpio *g, bool is_active, struct err *e) must_check;
/* 1 active, 0 not; -ENODATA for an output that nobody has set since the machine started. */
int gpio_get(struct gpio *g, struct err *e) must_check;

/* Readable when an edge of an input has come; belongs to the line. */
int gpio_event_fd(const struct gpio *g);
/*
 * Takes the oldest edge: 1, or 0 if there is none (does not block). *ret_t_ns is the kernel's time
 * of it, CLOCK_MONOTONIC (Linux 5.7 and later).
 */
int gpio_read_event(struct gpio *g, bool *ret_is_active, nsec_t *ret_t_ns,
		    struct err *e) must_check;
