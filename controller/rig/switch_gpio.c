/* SPDX-License-Identifier: GPL-2.0-or-later */
/* switch_gpio.c - a load switch, and maybe a data switch, on GPIO lines. */
#include "gpio.h"
#include "lines.h"
#include "switch_driver.h"

#include <string.h>

struct switch_gpio {
	struct gpio *out[LINE_ROLE_MAX]; /* NULL = not there */
	struct gpio *sense, *over_current;
	struct waiter *w;
	bool is_vbus_there; /* by the sense line */
	nsec_t sensed_ns;
	bool had_over_current;
	void *lines; /* what this is part of */
};

static int gpio_lines_set(void *self, enum line_role role, bool is_active, struct err *e)
{
	struct switch_gpio *s = self;

	return gpio_set(s->out[role], is_active, e);
}

static enum switch_state gpio_lines_get(void *self, enum line_role role)
{
	struct switch_gpio *s = self;
	struct err ignored;
	int v = gpio_get(s->out[role], &ignored);

	return v < 0 ? SWITCH_UNKNOWN : v ? SWITCH_ON : SWITCH_OFF;
}

/* Edges come with the kernel's time; the level is asked too, in case one was lost. */
static int take_sense(struct switch_gpio *s, struct err *e)
{
	bool is_active;
	nsec_t t_ns;
	int r;

	while ((r = gpio_read_event(s->sense, &is_active, &t_ns, e)) > 0) {
		s->is_vbus_there = is_active;
		s->sensed_ns = t_ns;
	}
	if (r == 0)
		r = gpio_get(s->sense, e);
	if (r < 0)
		return r;
	if (s->is_vbus_there != (r != 0)) {
		s->is_vbus_there = r != 0;
		s->sensed_ns = waiter_now(s->w);
	}
	return 0;
}

static int on_sense(void *self, short revents, struct err *e)
{
	(void)revents;
	return take_sense(self, e);
}

static int on_over_current(void *self, short revents, struct err *e)
{
	struct switch_gpio *s = self;
	bool is_active;
	nsec_t t_ns;
	int r;

	(void)revents;
	while ((r = gpio_read_event(s->over_current, &is_active, &t_ns, e)) > 0) {
		if (!is_active)
			continue;
		s->had_over_current = true;
		lines_trip(s->lines);
	}
	return r;
}

static enum switch_state gpio_lines_sense(void *self)
{
	struct switch_gpio *s = self;
	struct err ignored = {0};

	if (take_sense(s, &ignored) < 0)
		return SWITCH_UNKNOWN;
	return s->is_vbus_there ? SWITCH_ON : SWITCH_OFF;
}

static nsec_t gpio_lines_sensed_ns(void *self)
{
	return ((struct switch_gpio *)self)->sensed_ns;
}

static bool gpio_lines_is_over_current(void *self)
{
	struct switch_gpio *s = self;
	bool had = s->had_over_current;
	struct err ignored = {0};

	s->had_over_current = false;
	return had || (s->over_current && gpio_get(s->over_current, &ignored) > 0);
}

static void gpio_lines_close(void *self)
{
	struct switch_gpio *s = self;

	if (s->sense)
		waiter_remove(s->w, gpio_event_fd(s->sense));
	if (s->over_current)
		waiter_remove(s->w, gpio_event_fd(s->over_current));
	for (size_t i = 0; i < LINE_ROLE_MAX; i++)
		gpio_close(s->out[i]);
	gpio_close(s->sense);
	gpio_close(s->over_current);
	free(s);
}

static const struct line_ops gpio_lines = {
	.driver = "gpio",
	.caps = SWITCH_CAN_READBACK | SWITCH_IS_TIMED,
	.set = gpio_lines_set,
	.get = gpio_lines_get,
	.is_over_current = gpio_lines_is_over_current,
	.close = gpio_lines_close,
};

static const struct line_ops gpio_lines_with_sense = {
	.driver = "gpio",
	.caps = SWITCH_CAN_READBACK | SWITCH_IS_TIMED | SWITCH_CAN_SENSE,
	.set = gpio_lines_set,
	.get = gpio_lines_get,
	.sense = gpio_lines_sense,
	.sensed_ns = gpio_lines_sensed_ns,
	.is_over_current = gpio_lines_is_over_current,
	.close = gpio_lines_close,
};

static enum gpio_drive drive_of(const char *name)
{
	if (name && strcmp(name, "open-drain") == 0)
		return GPIO_OPEN_DRAIN;
	return name && strcmp(name, "open-source") == 0 ? GPIO_OPEN_SOURCE : GPIO_PUSH_PULL;
}

static enum gpio_bias bias_of(const char *name)
{
	static const char *const names[] = {
		[GPIO_BIAS_OFF] = "off", [GPIO_BIAS_UP] = "up", [GPIO_BIAS_DOWN] = "down"};

	for (unsigned i = GPIO_BIAS_OFF; name && i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum gpio_bias)i;
	return GPIO_BIAS_AS_IS;
}

/* A line that is not described is not there: no error. */
static int open_line(const struct switch_cfg *cfg, const struct switch_line_cfg *line,
		     bool is_output, struct gpio **ret, struct err *e)
{
	struct gpio_cfg c;

	if (!line)
		return 0;
	c = (struct gpio_cfg){
		.chip = line->chip ? line->chip : cfg->chip,
		.line = line->line,
		.offset = line->offset ? *line->offset : 0,
		.is_active_low = line->is_active_low,
		.drive = drive_of(line->drive),
		.bias = bias_of(line->bias),
	};
	return is_output ? gpio_open_output(&c, ret, e) : gpio_open_input(&c, ret, e);
}

static int watch(struct switch_gpio *s, struct gpio *g,
		 int (*ready)(void *self, short revents, struct err *e), struct err *e)
{
	const struct waiter_source source = {
		.fd = g ? gpio_event_fd(g) : -1, .events = POLLIN, .ready = ready, .self = s};

	return g ? waiter_add(s->w, &source, e) : 0;
}

int switch_gpio_open(const struct switch_cfg *cfg, struct waiter *w,
		     const struct switch_ops **ret_ops, void **ret_self, struct err *e)
{
	struct switch_gpio *s = xcalloc(1, sizeof(*s));
	bool has[LINE_ROLE_MAX];
	int r;

	s->w = w;
	r = open_line(cfg, cfg->vbus, true, &s->out[LINE_VBUS], e);
	if (r == 0)
		r = open_line(cfg, cfg->data, true, &s->out[LINE_DATA], e);
	if (r == 0)
		r = open_line(cfg, cfg->discharge, true, &s->out[LINE_DISCHARGE], e);
	if (r == 0)
		r = open_line(cfg, cfg->sense, false, &s->sense, e);
	if (r == 0)
		r = open_line(cfg, cfg->over_current, false, &s->over_current, e);
	if (r == 0)
		r = watch(s, s->sense, on_sense, e);
	if (r == 0)
		r = watch(s, s->over_current, on_over_current, e);
	if (r < 0) {
		gpio_lines_close(s);
		return r;
	}
	for (size_t i = 0; i < LINE_ROLE_MAX; i++)
		has[i] = s->out[i] != NULL;
	lines_new(s->sense ? &gpio_lines_with_sense : &gpio_lines, s, has, cfg, w, ret_ops,
		  &s->lines);
	*ret_self = s->lines;
	return 0;
}
