/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpio_v1.c - GPIO lines with libgpiod 1.6. */
#include "gpio.h"

#include <gpiod.h>
#include <poll.h>
#include <string.h>

#define CONSUMER "stallrig"

struct gpio {
	struct gpiod_chip *chip;
	struct gpiod_line *line; /* belongs to the chip */
	char *what;              /* for errors: "gpio line 'VBUS0' (gpiochip0 line 5)" */
	int flags;
	bool is_output; /* gpio_set() has made it one, or somebody before us */
};

const char *gpio_api_version(void)
{
	return gpiod_version_string();
}

void gpio_close(struct gpio *g)
{
	int saved = errno;

	if (!g)
		return;
	if (g->chip)
		gpiod_chip_close(g->chip); /* releases the line */
	free(g->what);
	free(g);
	errno = saved;
}

/* Looks for the name on one chip: the number of lines that have it, -errno if it cannot be read. */
static int find_on_chip(struct gpiod_chip *chip, const char *name, unsigned *ret_offset)
{
	int n = 0;

	for (unsigned i = 0; i < gpiod_chip_num_lines(chip); i++) {
		struct gpiod_line *line = gpiod_chip_get_line(chip, i);
		const char *its = line ? gpiod_line_name(line) : NULL;

		if (!line)
			return -errno;
		if (its && strcmp(its, name) == 0) {
			*ret_offset = i;
			n++;
		}
	}
	return n;
}

static int find_on_all(const char *name, struct gpiod_chip **ret_chip, unsigned *ret_offset)
{
	struct gpiod_chip_iter *iter = gpiod_chip_iter_new();
	struct gpiod_chip *found = NULL;
	struct gpiod_chip *chip;
	int n = 0;

	/* without permission for a chip the iterator stops with an error */
	if (!iter)
		return errno == ENOENT ? 0 : -errno;
	while ((chip = gpiod_chip_iter_next_noclose(iter)) != NULL) {
		int here = find_on_chip(chip, name, ret_offset);

		if (here > 0) {
			n += here;
			if (found)
				gpiod_chip_close(found);
			found = chip;
		} else {
			gpiod_chip_close(chip);
		}
	}
	gpiod_chip_iter_free_noclose(iter);
	*ret_chip = found;
	return n;
}

static int find_line(const struct gpio_cfg *cfg, struct gpio *g, struct err *e)
{
	unsigned offset = cfg->offset;
	int n = 1;

	if (cfg->chip) {
		g->chip = gpiod_chip_open_lookup(cfg->chip);
		if (!g->chip)
			return err_errno(e, ERR_RIG, errno, "gpio chip '%s'", cfg->chip);
		if (cfg->line)
			n = find_on_chip(g->chip, cfg->line, &offset);
		else if (offset >= gpiod_chip_num_lines(g->chip))
			return err_set(e, ERR_RIG, ENOENT, "gpio chip '%s' has no line %u, only %u",
				       cfg->chip, offset, gpiod_chip_num_lines(g->chip));
	} else {
		n = find_on_all(cfg->line, &g->chip, &offset);
	}
	if (n < 0)
		return err_errno(e, ERR_RIG, -n, "looking for the gpio line '%s'", cfg->line);
	if (n == 0)
		return err_set(e, ERR_RIG, ENOENT, "no gpio line is named '%s'%s%s", cfg->line,
			       cfg->chip ? " on " : "", cfg->chip ? cfg->chip : "");
	if (n > 1)
		return err_set(e, ERR_RIG, ENOTUNIQ, "%d gpio lines are named '%s'", n, cfg->line);
	g->line = gpiod_chip_get_line(g->chip, offset);
	if (!g->line)
		return err_errno(e, ERR_RIG, errno, "gpio line %u of %s", offset,
				 gpiod_chip_name(g->chip));
	g->what = cfg->line ? xasprintf("gpio line '%s' (%s line %u)", cfg->line,
					gpiod_chip_name(g->chip), offset)
			    : xasprintf("gpio line %u of %s", offset, gpiod_chip_name(g->chip));
	return 0;
}

static int open_line(const struct gpio_cfg *cfg, int request, int flags, struct gpio **ret,
		     struct err *e)
{
	const struct gpiod_line_request_config config = {
		.consumer = CONSUMER, .request_type = request, .flags = flags};
	struct gpio *g = xcalloc(1, sizeof(*g));
	int r;

	r = find_line(cfg, g, e);
	if (r == 0) {
		g->is_output = gpiod_line_direction(g->line) == GPIOD_LINE_DIRECTION_OUTPUT;
		if (gpiod_line_request(g->line, &config, 0) < 0) {
			const char *holder = gpiod_line_consumer(g->line);
			int code = errno;

			r = err_errno(e, ERR_RIG, code, "%s%s%s%s", g->what,
				      code == EBUSY ? ", held by '" : "",
				      code == EBUSY ? (holder ? holder : "the kernel") : "",
				      code == EBUSY ? "'" : "");
		}
	}
	if (r < 0) {
		gpio_close(g);
		return r;
	}
	*ret = g;
	return 0;
}

static int flags_of(const struct gpio_cfg *cfg)
{
	static const int drives[] = {
		[GPIO_PUSH_PULL] = 0,
		[GPIO_OPEN_DRAIN] = GPIOD_LINE_REQUEST_FLAG_OPEN_DRAIN,
		[GPIO_OPEN_SOURCE] = GPIOD_LINE_REQUEST_FLAG_OPEN_SOURCE,
	};
	static const int biases[] = {
		[GPIO_BIAS_AS_IS] = 0,
		[GPIO_BIAS_OFF] = GPIOD_LINE_REQUEST_FLAG_BIAS_DISABLE,
		[GPIO_BIAS_UP] = GPIOD_LINE_REQUEST_FLAG_BIAS_PULL_UP,
		[GPIO_BIAS_DOWN] = GPIOD_LINE_REQUEST_FLAG_BIAS_PULL_DOWN,
	};

	return drives[cfg->drive] | biases[cfg->bias] |
	       (cfg->is_active_low ? GPIOD_LINE_REQUEST_FLAG_ACTIVE_LOW : 0);
}

int gpio_open_output(const struct gpio_cfg *cfg, struct gpio **ret, struct err *e)
{
	int r;

	/* the kernel allows drive and bias only together with a direction: they come with the
	   first value */
	r = open_line(cfg, GPIOD_LINE_REQUEST_DIRECTION_AS_IS,
		      cfg->is_active_low ? GPIOD_LINE_REQUEST_FLAG_ACTIVE_LOW : 0, ret, e);
	if (r == 0)
		(*ret)->flags = flags_of(cfg);
	return r;
}

int gpio_open_input(const struct gpio_cfg *cfg, struct gpio **ret, struct err *e)
{
	struct gpio_cfg input = *cfg;
	int r;

	input.drive = GPIO_PUSH_PULL;
	r = open_line(&input, GPIOD_LINE_REQUEST_EVENT_BOTH_EDGES, flags_of(&input), ret, e);
	if (r == 0)
		(*ret)->is_output = false;
	return r;
}

int gpio_set(struct gpio *g, bool is_active, struct err *e)
{
	/* not set_value(): a handle that was taken as it is has no direction yet */
	if (gpiod_line_set_config(g->line, GPIOD_LINE_REQUEST_DIRECTION_OUTPUT, g->flags,
				  is_active) < 0)
		return err_errno(e, ERR_RIG, errno, "%s", g->what);
	g->is_output = true;
	return 0;
}

int gpio_get(struct gpio *g, struct err *e)
{
	int v;

	if (gpiod_line_event_get_fd(g->line) < 0 && !g->is_output)
		return err_set(e, ERR_RIG, ENODATA, "%s is not an output yet", g->what);
	v = gpiod_line_get_value(g->line);
	return v < 0 ? err_errno(e, ERR_RIG, errno, "%s", g->what) : v;
}

int gpio_event_fd(const struct gpio *g)
{
	return gpiod_line_event_get_fd(g->line);
}

int gpio_read_event(struct gpio *g, bool *ret_is_active, nsec_t *ret_t_ns, struct err *e)
{
	struct pollfd p = {.fd = gpio_event_fd(g), .events = POLLIN};
	struct gpiod_line_event event;

	if (poll(&p, 1, 0) <= 0)
		return 0;
	if (gpiod_line_event_read(g->line, &event) < 0)
		return err_errno(e, ERR_RIG, errno, "%s", g->what);
	*ret_is_active = event.event_type == GPIOD_LINE_EVENT_RISING_EDGE;
	*ret_t_ns = (nsec_t)event.ts.tv_sec * NSEC_PER_SEC + event.ts.tv_nsec;
	return 1;
}
