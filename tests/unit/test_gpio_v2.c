/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: base,gpio-v2 */
/* gpio_v2.c against a library of our own that keeps two chips in memory. */
#include "../../controller/rig/gpio.h"
#include "../stubs/gpiod2/gpiod.h"
#include "unit.h"

#define LINES 4

struct gpiod_line_settings {
	enum gpiod_line_direction direction;
	enum gpiod_line_edge edge;
	enum gpiod_line_bias bias;
	enum gpiod_line_drive drive;
	enum gpiod_line_clock clock;
	enum gpiod_line_value value;
	bool is_active_low;
};

struct gpiod_line_info {
	const char *name, *consumer;
	struct gpiod_line_settings set;
	bool is_high;
	unsigned requests;
};

struct gpiod_chip {
	const char *path, *label;
	struct gpiod_line_info lines[LINES];
	unsigned opens;
};

struct gpiod_chip_info {
	const struct gpiod_chip *chip;
};

struct gpiod_line_config {
	unsigned offset;
	struct gpiod_line_settings settings;
};

struct gpiod_request_config {
	char consumer[32];
};

struct gpiod_line_request {
	struct gpiod_line_info *line;
	unsigned offset;
};

struct gpiod_edge_event {
	enum gpiod_edge_event_type type;
	uint64_t t_ns;
};

struct gpiod_edge_event_buffer {
	struct gpiod_edge_event event;
};

static struct gpiod_chip chips[2];
static struct gpiod_edge_event pending;
static bool has_pending;
static unsigned objects; /* of the library that are not freed yet */

static void *made(size_t size)
{
	objects++;
	return xcalloc(1, size);
}

static void freed(void *p)
{
	objects--;
	free(p);
}

const char *gpiod_api_version(void)
{
	return "2.1";
}

struct gpiod_chip *gpiod_chip_open(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(chips); i++) {
		if (strcmp(chips[i].path, path) == 0) {
			chips[i].opens++;
			return &chips[i];
		}
	}
	errno = ENOENT;
	return NULL;
}

void gpiod_chip_close(struct gpiod_chip *chip)
{
	chip->opens--;
}

const char *gpiod_chip_get_path(struct gpiod_chip *chip)
{
	return chip->path;
}

struct gpiod_chip_info *gpiod_chip_get_info(struct gpiod_chip *chip)
{
	struct gpiod_chip_info *info = made(sizeof(*info));

	info->chip = chip;
	return info;
}

void gpiod_chip_info_free(struct gpiod_chip_info *info)
{
	freed(info);
}

const char *gpiod_chip_info_get_name(struct gpiod_chip_info *info)
{
	return strrchr(info->chip->path, '/') + 1;
}

const char *gpiod_chip_info_get_label(struct gpiod_chip_info *info)
{
	return info->chip->label;
}

size_t gpiod_chip_info_get_num_lines(struct gpiod_chip_info *info)
{
	(void)info;
	return LINES;
}

struct gpiod_line_info *gpiod_chip_get_line_info(struct gpiod_chip *chip, unsigned int offset)
{
	struct gpiod_line_info *info = made(sizeof(*info));

	assert_true(offset < LINES);
	*info = chip->lines[offset];
	return info;
}

void gpiod_line_info_free(struct gpiod_line_info *info)
{
	freed(info);
}

const char *gpiod_line_info_get_name(struct gpiod_line_info *info)
{
	return info->name;
}

const char *gpiod_line_info_get_consumer(struct gpiod_line_info *info)
{
	return info->consumer;
}

enum gpiod_line_direction gpiod_line_info_get_direction(struct gpiod_line_info *info)
{
	return info->set.direction;
}

struct gpiod_line_settings *gpiod_line_settings_new(void)
{
	struct gpiod_line_settings *s = made(sizeof(*s));

	*s = (struct gpiod_line_settings){
		.direction = GPIOD_LINE_DIRECTION_AS_IS,
		.edge = GPIOD_LINE_EDGE_NONE,
		.bias = GPIOD_LINE_BIAS_AS_IS,
		.drive = GPIOD_LINE_DRIVE_PUSH_PULL,
		.clock = GPIOD_LINE_CLOCK_MONOTONIC,
	};
	return s;
}

void gpiod_line_settings_free(struct gpiod_line_settings *settings)
{
	freed(settings);
}

int gpiod_line_settings_set_direction(struct gpiod_line_settings *settings,
				      enum gpiod_line_direction direction)
{
	settings->direction = direction;
	return 0;
}

int gpiod_line_settings_set_edge_detection(struct gpiod_line_settings *settings,
					   enum gpiod_line_edge edge)
{
	settings->edge = edge;
	return 0;
}

int gpiod_line_settings_set_bias(struct gpiod_line_settings *settings, enum gpiod_line_bias bias)
{
	settings->bias = bias;
	return 0;
}

int gpiod_line_settings_set_drive(struct gpiod_line_settings *settings, enum gpiod_line_drive drive)
{
	settings->drive = drive;
	return 0;
}

void gpiod_line_settings_set_active_low(struct gpiod_line_settings *settings, bool active_low)
{
	settings->is_active_low = active_low;
}

int gpiod_line_settings_set_event_clock(struct gpiod_line_settings *settings,
					enum gpiod_line_clock event_clock)
{
	settings->clock = event_clock;
	return 0;
}

int gpiod_line_settings_set_output_value(struct gpiod_line_settings *settings,
					 enum gpiod_line_value value)
{
	settings->value = value;
	return 0;
}

struct gpiod_line_config *gpiod_line_config_new(void)
{
	return made(sizeof(struct gpiod_line_config));
}

void gpiod_line_config_free(struct gpiod_line_config *config)
{
	freed(config);
}

int gpiod_line_config_add_line_settings(struct gpiod_line_config *config,
					const unsigned int *offsets, size_t num_offsets,
					struct gpiod_line_settings *settings)
{
	assert_int_equal(num_offsets, 1);
	config->offset = offsets[0];
	config->settings = *settings;
	return 0;
}

struct gpiod_request_config *gpiod_request_config_new(void)
{
	return made(sizeof(struct gpiod_request_config));
}

void gpiod_request_config_free(struct gpiod_request_config *config)
{
	freed(config);
}

void gpiod_request_config_set_consumer(struct gpiod_request_config *config, const char *consumer)
{
	(void)snprintf(config->consumer, sizeof(config->consumer), "%s", consumer);
}

/* As the kernel: a line that is taken as it is keeps its direction and its level. */
static void apply(struct gpiod_line_info *line, const struct gpiod_line_settings *s)
{
	const enum gpiod_line_direction before = line->set.direction;

	line->set = *s;
	if (s->direction == GPIOD_LINE_DIRECTION_AS_IS)
		line->set.direction = before;
	if (s->direction == GPIOD_LINE_DIRECTION_OUTPUT)
		line->is_high = (s->value == GPIOD_LINE_VALUE_ACTIVE) != s->is_active_low;
}

struct gpiod_line_request *gpiod_chip_request_lines(struct gpiod_chip *chip,
						    struct gpiod_request_config *req_cfg,
						    struct gpiod_line_config *line_cfg)
{
	struct gpiod_line_info *line = &chip->lines[line_cfg->offset];
	struct gpiod_line_request *r;

	assert_string_equal(req_cfg->consumer, "stallrig");
	if (line->consumer) {
		errno = EBUSY;
		return NULL;
	}
	r = made(sizeof(*r));
	r->line = line;
	r->offset = line_cfg->offset;
	line->consumer = "stallrig";
	line->requests++;
	apply(line, &line_cfg->settings);
	return r;
}

void gpiod_line_request_release(struct gpiod_line_request *request)
{
	request->line->consumer = NULL;
	freed(request);
}

enum gpiod_line_value gpiod_line_request_get_value(struct gpiod_line_request *request,
						   unsigned int offset)
{
	assert_int_equal(offset, request->offset);
	return request->line->is_high != request->line->set.is_active_low
		       ? GPIOD_LINE_VALUE_ACTIVE
		       : GPIOD_LINE_VALUE_INACTIVE;
}

int gpiod_line_request_reconfigure_lines(struct gpiod_line_request *request,
					 struct gpiod_line_config *config)
{
	assert_int_equal(config->offset, request->offset);
	apply(request->line, &config->settings);
	return 0;
}

int gpiod_line_request_get_fd(struct gpiod_line_request *request)
{
	(void)request;
	return 77;
}

int gpiod_line_request_wait_edge_events(struct gpiod_line_request *request, int64_t timeout_ns)
{
	(void)request;
	assert_int_equal(timeout_ns, 0);
	return has_pending;
}

int gpiod_line_request_read_edge_events(struct gpiod_line_request *request,
					struct gpiod_edge_event_buffer *buffer, size_t max_events)
{
	(void)request;
	assert_int_equal(max_events, 1);
	buffer->event = pending;
	has_pending = false;
	return 1;
}

struct gpiod_edge_event_buffer *gpiod_edge_event_buffer_new(size_t capacity)
{
	assert_int_equal(capacity, 1);
	return made(sizeof(struct gpiod_edge_event_buffer));
}

void gpiod_edge_event_buffer_free(struct gpiod_edge_event_buffer *buffer)
{
	freed(buffer);
}

struct gpiod_edge_event *gpiod_edge_event_buffer_get_event(struct gpiod_edge_event_buffer *buffer,
							   unsigned long index)
{
	assert_int_equal(index, 0);
	return &buffer->event;
}

enum gpiod_edge_event_type gpiod_edge_event_get_event_type(struct gpiod_edge_event *event)
{
	return event->type;
}

uint64_t gpiod_edge_event_get_timestamp_ns(struct gpiod_edge_event *event)
{
	return event->t_ns;
}

/* ---- */

static int setup(void **state)
{
	(void)state;
	memset(chips, 0, sizeof(chips));
	for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
		for (size_t k = 0; k < LINES; k++)
			chips[i].lines[k].set.direction = GPIOD_LINE_DIRECTION_INPUT;
	chips[0].path = GPIO_DEV_DIR "/gpiochip0";
	chips[0].label = "pinctrl-one";
	chips[0].lines[1].name = "VBUS0";
	chips[0].lines[2].name = "TWICE";
	chips[1].path = GPIO_DEV_DIR "/gpiochip1";
	chips[1].label = "pinctrl-two";
	chips[1].lines[2].name = "TWICE";
	chips[1].lines[3].name = "SENSE0";
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(objects, 0);
	assert_int_equal(chips[0].opens, 0);
	assert_int_equal(chips[1].opens, 0);
	return 0;
}

static void test_a_line_is_found_by_name_chip_and_offset(void **state)
{
	static const struct {
		struct gpio_cfg cfg;
		int chip, line; /* -1 = not found */
		const char *error;
	} cases[] = {
		{{.line = "VBUS0"}, 0, 1, NULL},
		{{.line = "SENSE0"}, 1, 3, NULL},
		{{.chip = "gpiochip1", .line = "TWICE"}, 1, 2, NULL},
		{{.chip = "pinctrl-one", .line = "TWICE"}, 0, 2, NULL},
		{{.chip = GPIO_DEV_DIR "/gpiochip1", .offset = 0}, 1, 0, NULL},
		{{.chip = "gpiochip0", .offset = LINES - 1}, 0, LINES - 1, NULL},
		{{.line = "TWICE"}, -1, -1, "2 gpio lines are named 'TWICE'"},
		{{.line = "NONE"}, -1, -1, "no gpio line is named 'NONE'"},
		{{.chip = "gpiochip0", .line = "SENSE0"}, -1, -1, "named 'SENSE0' on gpiochip0"},
		{{.chip = "gpiochip0", .offset = LINES}, -1, -1, "has no line 4, only 4"},
		{{.chip = "gpiochip9", .offset = 0}, -1, -1, "gpio chip 'gpiochip9'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gpio *g = NULL;
		struct err e = {0};
		int r = gpio_open_output(&cases[i].cfg, &g, &e);

		if (cases[i].error) {
			assert_true(r < 0);
			assert_int_equal(e.kind, ERR_RIG);
			assert_contains(e.text, cases[i].error);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(chips[cases[i].chip].lines[cases[i].line].requests, 1);
		gpio_close(g);
		chips[cases[i].chip].lines[cases[i].line].requests = 0;
	}
}

static void test_an_output_is_taken_as_it_is_and_driven_by_the_first_set(void **state)
{
	const struct gpio_cfg cfg = {.line = "VBUS0",
				     .is_active_low = true,
				     .drive = GPIO_OPEN_DRAIN,
				     .bias = GPIO_BIAS_UP};
	struct gpiod_line_info *line = &chips[0].lines[1];
	struct gpio *g = NULL;
	struct err e = {0};

	(void)state;
	line->is_high = true;
	assert_int_equal(gpio_open_output(&cfg, &g, &e), 0);
	assert_int_equal(line->set.direction, GPIOD_LINE_DIRECTION_INPUT);
	assert_true(line->is_high);
	assert_int_equal(gpio_get(g, &e), -ENODATA);

	assert_int_equal(gpio_set(g, true, &e), 0);
	assert_int_equal(line->set.direction, GPIOD_LINE_DIRECTION_OUTPUT);
	assert_int_equal(line->set.drive, GPIOD_LINE_DRIVE_OPEN_DRAIN);
	assert_int_equal(line->set.bias, GPIOD_LINE_BIAS_PULL_UP);
	assert_false(line->is_high);
	assert_int_equal(gpio_get(g, &e), 1);
	assert_int_equal(gpio_set(g, false, &e), 0);
	assert_true(line->is_high);
	gpio_close(g);
	assert_true(line->is_high);

	/* another process's level is not disturbed by looking */
	assert_int_equal(gpio_open_output(&cfg, &g, &e), 0);
	assert_int_equal(gpio_get(g, &e), 0);
	assert_int_equal(line->set.direction, GPIOD_LINE_DIRECTION_OUTPUT);
	gpio_close(g);
}

static void test_edges_of_an_input_come_with_the_kernels_time(void **state)
{
	const struct gpio_cfg cfg = {.line = "SENSE0", .bias = GPIO_BIAS_DOWN};
	bool is_active = false;
	struct gpio *g = NULL;
	struct err e = {0};
	nsec_t t_ns = 0;

	(void)state;
	assert_int_equal(gpio_open_input(&cfg, &g, &e), 0);
	assert_int_equal(chips[1].lines[3].set.edge, GPIOD_LINE_EDGE_BOTH);
	assert_int_equal(chips[1].lines[3].set.clock, GPIOD_LINE_CLOCK_MONOTONIC);
	assert_int_equal(chips[1].lines[3].set.bias, GPIOD_LINE_BIAS_PULL_DOWN);
	assert_int_equal(gpio_event_fd(g), 77);
	assert_int_equal(gpio_get(g, &e), 0);
	assert_int_equal(gpio_read_event(g, &is_active, &t_ns, &e), 0);

	pending = (struct gpiod_edge_event){GPIOD_EDGE_EVENT_RISING_EDGE, 123456789};
	has_pending = true;
	assert_int_equal(gpio_read_event(g, &is_active, &t_ns, &e), 1);
	assert_true(is_active);
	assert_int_equal(t_ns, 123456789);
	pending.type = GPIOD_EDGE_EVENT_FALLING_EDGE;
	has_pending = true;
	assert_int_equal(gpio_read_event(g, &is_active, &t_ns, &e), 1);
	assert_false(is_active);
	gpio_close(g);
}

static void test_a_line_that_is_held_names_its_holder(void **state)
{
	const struct gpio_cfg cfg = {.line = "VBUS0"};
	struct gpio *g = NULL;
	struct err e = {0};

	(void)state;
	chips[0].lines[1].consumer = "gpioset";
	assert_int_equal(gpio_open_output(&cfg, &g, &e), -EBUSY);
	assert_contains(e.text, "gpio line 'VBUS0'");
	assert_contains(e.text, "held by 'gpioset'");
	gpio_close(NULL);
	assert_string_equal(gpio_api_version(), "2.1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const char *const files[] = {"gpiochip0", "gpiochip1", "other"};
	const struct CMUnitTest tests[] = {
		TEST(test_a_line_is_found_by_name_chip_and_offset),
		TEST(test_an_output_is_taken_as_it_is_and_driven_by_the_first_set),
		TEST(test_edges_of_an_input_come_with_the_kernels_time),
		TEST(test_a_line_that_is_held_names_its_holder),
	};
	struct err e = {0};

	/* the folder that is searched for chips */
	if (dir_make(GPIO_DEV_DIR, &e) < 0)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *path = xasprintf("%s/%s", GPIO_DEV_DIR, files[i]);

		if (file_write_atomic(path, "", 0, &e) < 0)
			return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
