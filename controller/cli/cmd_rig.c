/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_rig.c - the rigs that are described, and what is in a description. */
#include "cli/common.h"
#include "report/json.h"
#include "report/json_put.h"
#include "report/text.h"
#include "rig/names.h"
#include "rig/rig.h"
#include "store/queue.h"

static const struct opt list_options[] = {
	OPT_ROW_NAMES,
	OPT_ROW_END,
};

static void add_rig_row(struct strbuf *out, const char *name, const char *rig_class,
			const char *arch, const char *machine)
{
	text_add_padded(out, name, 24, false);
	text_add_padded(out, rig_class, 10, false);
	text_add_padded(out, arch, 10, false);
	strbuf_addf(out, "%s\n", machine);
}

static int run_list(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_name_list struct name_list names = {0};
	struct err first = {0};
	int r;

	r = names_list(&names_of_rigs, &names, e);
	if (r < 0)
		return r;
	if (!args_has(a, "names"))
		add_rig_row(&text, "name", "class", "arch", "machine");
	for (size_t i = 0; i < names.n; i++) {
		auto_rig_cfg struct rig_cfg *cfg = NULL;
		struct err broken = {0};

		if (args_has(a, "names")) {
			strbuf_addf(&text, "%s\n", names.names[i]);
			continue;
		}
		if (rig_cfg_load(names.names[i], &cfg, &broken) < 0) {
			if (!first.code)
				first = broken;
			continue;
		}
		add_rig_row(&text, cfg->name, cfg->rig_class, cfg->arch,
			    cfg->boot.machine ? cfg->boot.machine : cfg->boot.driver);
	}
	r = cli_write(cli, "-", &text, e);
	if (r >= 0 && first.code) { /* the others are listed all the same */
		*e = first;
		return -first.code;
	}
	return r;
}

const struct cmd cmd_rig_list = {
	.name = "rig list",
	.summary = "List the rigs that are described",
	.options = list_options,
	.run = run_list,
};

static int run_show(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf modules = STRBUF_INIT;
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	int r;

	r = rig_cfg_load(a->positional[0], &cfg, e);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < cfg->boot.modules_count; i++)
		strbuf_addf(&modules, "%s%s", i ? ", " : "", cfg->boot.modules[i]);
	fact_add(&text, "name", "%s", cfg->name);
	fact_add(&text, "file", "%s", cfg->path);
	fact_add(&text, "class", "%s", cfg->rig_class);
	fact_add(&text, "arch", "%s", cfg->arch);
	fact_add(&text, "golden kernel", "%s", cfg->golden_kernel);
	if (rig_is_qemu(cfg))
		fact_add(&text, "boot",
			 "%s, machine %s, cpu %s, %u CPUs, %u MiB, answer within %u s",
			 cfg->boot.driver, cfg->boot.machine, cfg->boot.cpu, cfg->boot.cpus,
			 cfg->boot.memory_mib, cfg->boot.timeout_s);
	else
		fact_add(&text, "boot", "%s, %u CPUs, answer within %u s", cfg->boot.driver,
			 cfg->boot.cpus, cfg->boot.timeout_s);
	if (cfg->boot.attempts > 1)
		fact_add(&text, "attempts", "%u boots in a row may fail", cfg->boot.attempts);
	if (cfg->boot.pstore)
		fact_add(&text, "pstore", "in %s", cfg->boot.pstore);
	fact_add(&text, "command line", "%s", cfg->boot.append);
	fact_add(&text, "modules", "%s", strbuf_str(&modules));
	if (cfg->console.address)
		fact_add(&text, "console port", "%s", cfg->console.address);
	if (cfg->console.baud)
		fact_add(&text, "console", "%s, %s, %u baud", cfg->console.driver,
			 cfg->console.device, cfg->console.baud);
	else
		fact_add(&text, "console", "%s, %s, no line rate", cfg->console.driver,
			 cfg->console.device);
	fact_add(&text, "agent link", "%s", cfg->link.driver);
	if (cfg->login)
		fact_add(&text, "login", "as %s%s, files in %s, at most %u KiB in %u s",
			 cfg->login->user,
			 cfg->login->password_file || cfg->login->password_env ? " with a password"
									       : "",
			 cfg->login->folder, cfg->login->upload_max_kib,
			 cfg->login->upload_timeout_s);
	fact_add(&text, "stick", "%s, %s, %u MiB %s with %s of %u MiB", cfg->stick.serial,
		 cfg->stick.usb_path, cfg->stick.size_mib, cfg->stick.filesystem, cfg->stick.file,
		 cfg->stick.file_mib);
	fact_add(&text, "switch", "%s, %s, off for at least %u ms, settles in %u ms",
		 cfg->stick_switch.name, cfg->stick_switch.driver, cfg->stick_switch.min_off_ms,
		 cfg->stick_switch.settle_ms);
	if (cfg->stick_switch.max_cycles)
		fact_add(&text, "switch cycles", "at most %u", cfg->stick_switch.max_cycles);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_rig_show = {
	.name = "rig show",
	.summary = "Check the description of a rig and show what it says",
	.positional = {.name = "RIG", .type = OPT_RIG, .min = 1, .max = 1},
	.run = run_show,
};

static const struct opt wear_options[] = {
	{.name = "json", .type = OPT_FLAG, .help = "one JSON object"},
	{.name = "replaced",
	 .type = OPT_TEXT,
	 .arg = "PART",
	 .help = "this part of RIG was replaced by a new one: count it from 0 again"},
	OPT_ROW_STORE,
	OPT_ROW_END,
};

static void add_wear_json(struct strbuf *out, const struct store_wear *wear, size_t n)
{
	json_t *top = json_object();
	json_t *parts = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *part = json_object();

		set_text(part, "rig", wear[i].rig);
		set_text(part, "kind", wear[i].kind);
		set_text(part, "part", wear[i].part);
		set_count(part, "cycles", (size_t)wear[i].cycles);
		set_wall(part, "first", wear[i].first_wall_ns);
		set_wall(part, "last", wear[i].last_wall_ns);
		append(parts, part);
	}
	set(top, "wear", parts);
	report_add_value(out, top);
	strbuf_adds(out, "\n");
}

static void add_wear_row(struct strbuf *out, const char *rig, const char *kind, const char *part,
			 const char *cycles, const char *last)
{
	text_add_padded(out, rig, 24, false);
	text_add_padded(out, kind, 8, false);
	text_add_padded(out, part, 24, false);
	text_add_padded(out, cycles, 10, true);
	strbuf_addf(out, "  %s\n", last);
}

static void add_wear_table(struct strbuf *out, const struct store_wear *wear, size_t n)
{
	if (n == 0) {
		strbuf_adds(out, "nothing has worn out yet\n");
		return;
	}
	add_wear_row(out, "rig", "kind", "part", "cycles", "last");
	for (size_t i = 0; i < n; i++) {
		auto_free char *cycles = xasprintf("%lld", (long long)wear[i].cycles);
		auto_free char *last = wall_format(wear[i].last_wall_ns);

		add_wear_row(out, wear[i].rig, wear[i].kind, wear[i].part, cycles, last);
	}
}

static int run_wear(struct cli *cli, const struct args *a, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	auto_store struct store *store = NULL;
	const char *replaced = args_text(a, "replaced");
	struct store_wear *wear = NULL;
	size_t n = 0;
	int r;

	if (replaced && !a->n_positional)
		return err_set(e, ERR_USAGE, EINVAL, "'rig wear': --replaced needs a RIG");
	r = cli_store_open(a, replaced ? STORE_WRITE : STORE_READ, &store, e);
	if (r >= 0 && replaced)
		r = store_wear_forget(store, a->positional[0], replaced, e);
	if (r >= 0)
		r = store_wear(store, a->n_positional ? a->positional[0] : NULL, &wear, &n, e);
	if (r < 0)
		return r;
	if (args_has(a, "json"))
		add_wear_json(&text, wear, n);
	else
		add_wear_table(&text, wear, n);
	store_wear_free(wear, n);
	return cli_write(cli, "-", &text, e);
}

const struct cmd cmd_rig_wear = {
	.name = "rig wear",
	.summary = "Show how often switches and sticks of the rigs were cut",
	.details =
		"Counted are the cuts of trials by switches that cut something: contacts and "
		"plugs wear out, whether a trial is valid or not. Emulated and soft unplugs do "
		"not count, nor what is switched by hand. A rig whose switch or stick has come "
		"to max_cycles of its description makes no more runs. RIG is the name of a rig as it stands in its description.",
	.positional = {.name = "RIG", .type = OPT_TEXT, .min = 0, .max = 1},
	.options = wear_options,
	.run = run_wear,
};
