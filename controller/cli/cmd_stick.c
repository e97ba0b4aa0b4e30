/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_stick.c - the content of a rig's stick, made and checked on this machine. */
#include "cli/common.h"
#include "rig/stick_device.h"

#define OPT_ROW_DEVICE                                                                \
	{                                                                             \
		.name = "device", .letter = 'd', .type = OPT_PATH, .arg = "DEVICE",   \
		.is_required = true, .help = "the whole disk, as /dev/sdb, or a file" \
	}

static const struct opt prepare_options[] = {
	OPT_ROW_DEVICE,
	{.name = "yes",
	 .letter = 'y',
	 .type = OPT_FLAG,
	 .help = "really overwrite DEVICE; without it only what would be done is told"},
	OPT_ROW_END,
};

static const struct opt verify_options[] = {
	OPT_ROW_DEVICE,
	OPT_ROW_END,
};

static int run_prepare(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	const char *device = args_text(a, "device");
	char sha256[SHA256_HEX_SIZE];
	int r;

	waiter_catch_stop_signals();
	r = rig_cfg_load(a->positional[0], &cfg, e);
	if (r < 0)
		return r;
	if (!args_has(a, "yes"))
		return err_set(e, ERR_USAGE, EINVAL,
			       "everything on %s would be replaced by %s with '%s' of %u MiB; "
			       "--yes does it",
			       device, cfg->stick.filesystem, cfg->stick.file, cfg->stick.file_mib);
	r = stick_device_prepare(cfg, cli->w, device, sha256, e);
	if (r < 0)
		return r;
	strbuf_addf(&text, "content_sha256: \"%s\"\n", sha256);
	return cli_write(cli, "-", &text, e);
}

static int run_verify(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	const char *device = args_text(a, "device");
	char sha256[SHA256_HEX_SIZE];
	int r;

	waiter_catch_stop_signals();
	r = rig_cfg_load(a->positional[0], &cfg, e);
	if (r >= 0)
		r = stick_device_verify(cfg, cli->w, device, sha256, e);
	if (r < 0)
		return r;
	strbuf_addf(&text, "%s: '%s' is what rig '%s' expects: %s\n", device, cfg->stick.file,
		    cfg->name, sha256);
	return cli_write(cli, "-", &text, e);
}

#define PLACE                                                      \
	{                                                          \
		.name = "RIG", .type = OPT_RIG, .min = 1, .max = 1 \
	}

const struct cmd cmd_stick_prepare = {
	.name = "stick prepare",
	.summary = "Make a rig's stick: file system and file, read back",
	.details = "DEVICE is a whole disk on this machine (/dev/sdb) whose USB serial number is "
		   "that of the rig's description, or a file. Printed is the line for the rig's "
		   "description. The content is pseudo-random and the same for the same file_mib.",
	.positional = PLACE,
	.options = prepare_options,
	.run = run_prepare,
};

const struct cmd cmd_stick_verify = {
	.name = "stick verify",
	.summary = "Check that a stick is the rig's and has its content",
	.details =
		"It is an error if DEVICE is another stick, or its file is damaged or not there: "
		"what a run would call a RIG-FAULT.",
	.positional = PLACE,
	.options = verify_options,
	.run = run_verify,
};
