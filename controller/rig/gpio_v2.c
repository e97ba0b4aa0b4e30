/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpio_v2.c - GPIO lines with libgpiod 2.x. */
#include "gpio.h"

#include <dirent.h>
#include <gpiod.h>
#include <string.h>

#define CONSUMER "stallrig"
#define EVENTS   1 /* read at once */

#ifndef GPIO_DEV_DIR
#define GPIO_DEV_DIR "/dev"
#endif

struct gpio {
	struct gpiod_chip *chip;
	struct gpiod_line_request *request;
	struct gpiod_edge_event_buffer *events; /* of an input */
	unsigned offset;
	struct gpio_cfg cfg; /* its texts are not valid any more */
	char *what;
	bool is_output;
};

const char *gpio_api_version(void)
{
	return gpiod_api_version();
}

void gpio_close(struct gpio *g)
{
	int saved = errno;

	if (!g)
		return;
	if (g->events)
		gpiod_edge_event_buffer_free(g->events);
	if (g->request)
		gpiod_line_request_release(g->request);
	if (g->chip)
		gpiod_chip_close(g->chip);
	free(g->what);
	free(g);
	errno = saved;
}

/* ---- finding; the library finds a name on one chip only, and the first one ---- */

static bool info_is(struct gpiod_chip *chip, const char *name, const char *label)
{
	struct gpiod_chip_info *info = gpiod_chip_get_info(chip);
	bool is_it = false;

	if (!info)
		return false;
	if (name)
		is_it |= strcmp(gpiod_chip_info_get_name(info), name) == 0;
	if (label)
		is_it |= strcmp(gpiod_chip_info_get_label(info), label) == 0;
	gpiod_chip_info_free(info);
	return is_it;
}

static size_t count_lines(struct gpiod_chip *chip)
{
	struct gpiod_chip_info *info = gpiod_chip_get_info(chip);
	size_t n = info ? gpiod_chip_info_get_num_lines(info) : 0;

	if (info)
		gpiod_chip_info_free(info);
	return n;
}

static int find_on_chip(struct gpiod_chip *chip, const char *name, unsigned *ret_offset)
{
	const size_t n_lines = count_lines(chip);
	int n = 0;

	for (unsigned i = 0; i < n_lines; i++) {
		struct gpiod_line_info *info = gpiod_chip_get_line_info(chip, i);
		const char *its = info ? gpiod_line_info_get_name(info) : NULL;

		if (!info)
			return -errno;
		if (its && strcmp(its, name) == 0) {
			*ret_offset = i;
			n++;
		}
		gpiod_line_info_free(info);
	}
	return n;
}

/* Calls fn for every chip until it returns true; that chip stays open and is returned. */
static struct gpiod_chip *each_chip(bool (*fn)(struct gpiod_chip *chip, void *arg), void *arg,
				    int *ret_errno)
{
	struct gpiod_chip *kept = NULL;
	DIR *d = opendir(GPIO_DEV_DIR);
	struct dirent *entry;

	*ret_errno = d ? 0 : errno;
	while (d && !kept && (entry = readdir(d)) != NULL) {
		auto_free char *path = NULL;
		struct gpiod_chip *chip;

		if (strncmp(entry->d_name, "gpiochip", 8) != 0)
			continue;
		path = xasprintf("%s/%s", GPIO_DEV_DIR, entry->d_name);
		chip = gpiod_chip_open(path);
		if (!chip) {
			*ret_errno = errno;
			continue;
		}
		if (fn(chip, arg))
			kept = chip;
		else
			gpiod_chip_close(chip);
	}
	if (d)
		closedir(d);
	return kept;
}

static bool is_chip(struct gpiod_chip *chip, void *arg)
{
	return info_is(chip, arg, arg);
}

static struct gpiod_chip *open_chip(const char *descr, int *ret_errno)
{
	struct gpiod_chip *chip;
	char name[256];

	if (strchr(descr, '/')) {
		chip = gpiod_chip_open(descr);
		*ret_errno = chip ? 0 : errno;
		return chip;
	}
	(void)snprintf(name, sizeof(name), "%s", descr);
	chip = each_chip(is_chip, name, ret_errno);
	if (!chip && !*ret_errno)
		*ret_errno = ENOENT;
	return chip;
}

struct name_search {
	const char *name;
	unsigned offset;
	int n;
	char *chip; /* its path, owned */
};

static bool search_name(struct gpiod_chip *chip, void *arg)
{
	struct name_search *s = arg;
	int n = find_on_chip(chip, s->name, &s->offset);

	if (n > 0) {
		s->n += n;
		free(s->chip);
		s->chip = xstrdup(gpiod_chip_get_path(chip));
	}
	return false; /* all chips: a second line of that name must not stay unseen */
}

static int find_on_all(const char *name, struct gpiod_chip **ret_chip, unsigned *ret_offset)
{
	struct name_search s = {.name = name};
	int code;

	(void)each_chip(search_name, &s, &code);
	if (s.n == 1) {
		*ret_offset = s.offset;
		*ret_chip = gpiod_chip_open(s.chip);
		if (!*ret_chip)
			s.n = -errno;
	} else if (s.n == 0 && code && code != ENOENT) {
		s.n = -code;
	}
	free(s.chip);
	return s.n;
}

static int find_line(const struct gpio_cfg *cfg, struct gpio *g, struct err *e)
{
	int n = 1;
	int code;

	g->offset = cfg->offset;
	if (cfg->chip) {
		g->chip = open_chip(cfg->chip, &code);
		if (!g->chip)
			return err_errno(e, ERR_RIG, code, "gpio chip '%s'", cfg->chip);
		if (cfg->line)
			n = find_on_chip(g->chip, cfg->line, &g->offset);
		else if (g->offset >= count_lines(g->chip))
			return err_set(e, ERR_RIG, ENOENT,
				       "gpio chip '%s' has no line %u, only %zu", cfg->chip,
				       g->offset, count_lines(g->chip));
	} else {
		n = find_on_all(cfg->line, &g->chip, &g->offset);
	}
	if (n < 0)
		return err_errno(e, ERR_RIG, -n, "looking for the gpio line '%s'", cfg->line);
	if (n == 0)
		return err_set(e, ERR_RIG, ENOENT, "no gpio line is named '%s'%s%s", cfg->line,
			       cfg->chip ? " on " : "", cfg->chip ? cfg->chip : "");
	if (n > 1)
		return err_set(e, ERR_RIG, ENOTUNIQ, "%d gpio lines are named '%s'", n, cfg->line);
	g->what = cfg->line ? xasprintf("gpio line '%s' (%s line %u)", cfg->line,
					gpiod_chip_get_path(g->chip), g->offset)
			    : xasprintf("gpio line %u of %s", g->offset,
					gpiod_chip_get_path(g->chip));
	return 0;
}

/* ---- settings ---- */

enum use { USE_AS_IS, USE_INPUT, USE_OUTPUT };

static struct gpiod_line_settings *settings_of(const struct gpio_cfg *cfg, enum use use,
					       bool is_active)
{
	static const enum gpiod_line_drive drives[] = {
		[GPIO_PUSH_PULL] = GPIOD_LINE_DRIVE_PUSH_PULL,
		[GPIO_OPEN_DRAIN] = GPIOD_LINE_DRIVE_OPEN_DRAIN,
		[GPIO_OPEN_SOURCE] = GPIOD_LINE_DRIVE_OPEN_SOURCE,
	};
	static const enum gpiod_line_bias biases[] = {
		[GPIO_BIAS_AS_IS] = GPIOD_LINE_BIAS_AS_IS,
		[GPIO_BIAS_OFF] = GPIOD_LINE_BIAS_DISABLED,
		[GPIO_BIAS_UP] = GPIOD_LINE_BIAS_PULL_UP,
		[GPIO_BIAS_DOWN] = GPIOD_LINE_BIAS_PULL_DOWN,
	};
	struct gpiod_line_settings *s = gpiod_line_settings_new();
	int r = 0;

	if (!s)
		return NULL;
	gpiod_line_settings_set_active_low(s, cfg->is_active_low);
	if (use == USE_INPUT) {
		r |= gpiod_line_settings_set_direction(s, GPIOD_LINE_DIRECTION_INPUT);
		r |= gpiod_line_settings_set_edge_detection(s, GPIOD_LINE_EDGE_BOTH);
		r |= gpiod_line_settings_set_event_clock(s, GPIOD_LINE_CLOCK_MONOTONIC);
	}
	if (use == USE_OUTPUT) {
		r |= gpiod_line_settings_set_direction(s, GPIOD_LINE_DIRECTION_OUTPUT);
		r |= gpiod_line_settings_set_drive(s, drives[cfg->drive]);
		r |= gpiod_line_settings_set_output_value(s, is_active ? GPIOD_LINE_VALUE_ACTIVE
								       : GPIOD_LINE_VALUE_INACTIVE);
	}
	if (use != USE_AS_IS)
		r |= gpiod_line_settings_set_bias(s, biases[cfg->bias]);
	if (r) {
		gpiod_line_settings_free(s);
		return NULL;
	}
	return s;
}

static struct gpiod_line_config *config_of(const struct gpio *g, enum use use, bool is_active)
{
	struct gpiod_line_settings *s = settings_of(&g->cfg, use, is_active);
	struct gpiod_line_config *c = s ? gpiod_line_config_new() : NULL;

	if (c && gpiod_line_config_add_line_settings(c, &g->offset, 1, s) < 0) {
		gpiod_line_config_free(c);
		c = NULL;
	}
	if (s)
		gpiod_line_settings_free(s);
	return c;
}

/* ---- */

static int busy(struct gpio *g, struct err *e)
{
	struct gpiod_line_info *info = gpiod_chip_get_line_info(g->chip, g->offset);
	const char *holder = info ? gpiod_line_info_get_consumer(info) : NULL;

	(void)err_errno(e, ERR_RIG, EBUSY, "%s, held by '%s'", g->what,
			holder ? holder : "the kernel");
	if (info)
		gpiod_line_info_free(info);
	return -EBUSY;
}

static int request(struct gpio *g, enum use use, struct err *e)
{
	struct gpiod_line_info *info = gpiod_chip_get_line_info(g->chip, g->offset);
	struct gpiod_line_config *config = config_of(g, use, false);
	struct gpiod_request_config *who = gpiod_request_config_new();
	int code = 0;

	if (info) {
		g->is_output = gpiod_line_info_get_direction(info) == GPIOD_LINE_DIRECTION_OUTPUT;
		gpiod_line_info_free(info);
	}
	if (config && who) {
		gpiod_request_config_set_consumer(who, CONSUMER);
		g->request = gpiod_chip_request_lines(g->chip, who, config);
		code = g->request ? 0 : errno;
	} else {
		code = ENOMEM;
	}
	if (config)
		gpiod_line_config_free(config);
	if (who)
		gpiod_request_config_free(who);
	if (code == EBUSY)
		return busy(g, e);
	return code ? err_errno(e, ERR_RIG, code, "%s", g->what) : 0;
}

static int open_line(const struct gpio_cfg *cfg, enum use use, struct gpio **ret, struct err *e)
{
	struct gpio *g = xcalloc(1, sizeof(*g));
	int r;

	g->cfg = *cfg;
	r = find_line(cfg, g, e);
	g->cfg.chip = g->cfg.line = NULL;
	if (r == 0)
		r = request(g, use, e);
	if (r == 0 && use == USE_INPUT) {
		g->is_output = false;
		g->events = gpiod_edge_event_buffer_new(EVENTS);
		if (!g->events)
			r = err_errno(e, ERR_RIG, ENOMEM, "%s", g->what);
	}
	if (r < 0) {
		gpio_close(g);
		return r;
	}
	*ret = g;
	return 0;
}

int gpio_open_output(const struct gpio_cfg *cfg, struct gpio **ret, struct err *e)
{
	return open_line(cfg, USE_AS_IS, ret, e);
}

int gpio_open_input(const struct gpio_cfg *cfg, struct gpio **ret, struct err *e)
{
	return open_line(cfg, USE_INPUT, ret, e);
}

int gpio_set(struct gpio *g, bool is_active, struct err *e)
{
	struct gpiod_line_config *config = config_of(g, USE_OUTPUT, is_active);
	int r;

	if (!config)
		return err_errno(e, ERR_RIG, ENOMEM, "%s", g->what);
	r = gpiod_line_request_reconfigure_lines(g->request, config);
	if (r < 0)
		r = err_errno(e, ERR_RIG, errno, "%s", g->what);
	gpiod_line_config_free(config);
	if (r == 0)
		g->is_output = true;
	return r;
}

int gpio_get(struct gpio *g, struct err *e)
{
	enum gpiod_line_value v;

	if (!g->events && !g->is_output)
		return err_set(e, ERR_RIG, ENODATA, "%s is not an output yet", g->what);
	v = gpiod_line_request_get_value(g->request, g->offset);
	if (v == GPIOD_LINE_VALUE_ERROR)
		return err_errno(e, ERR_RIG, errno, "%s", g->what);
	return v == GPIOD_LINE_VALUE_ACTIVE;
}

int gpio_event_fd(const struct gpio *g)
{
	return g->events ? gpiod_line_request_get_fd(g->request) : -1;
}

int gpio_read_event(struct gpio *g, bool *ret_is_active, nsec_t *ret_t_ns, struct err *e)
{
	struct gpiod_edge_event *event;
	int r;

	r = gpiod_line_request_wait_edge_events(g->request, 0);
	if (r > 0)
		r = gpiod_line_request_read_edge_events(g->request, g->events, EVENTS);
	if (r < 0)
		return err_errno(e, ERR_RIG, errno, "%s", g->what);
	if (r == 0)
		return 0;
	event = gpiod_edge_event_buffer_get_event(g->events, 0);
	*ret_is_active = gpiod_edge_event_get_event_type(event) == GPIOD_EDGE_EVENT_RISING_EDGE;
	*ret_t_ns = (nsec_t)gpiod_edge_event_get_timestamp_ns(event);
	return 1;
}
