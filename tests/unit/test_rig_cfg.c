/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctest: rig */
#include "base/fdio.h"
#include "rig/rig.h"
#include "unit.h"

#include <glob.h>

/* One line each, so that a case can replace one. */
static const char *const good[] = {
	"name: r1",
	"class: virtual",
	"arch: x86_64",
	"boot:",
	"  driver: qemu",
	"  machine: q35",
	"  cpu: max",
	"  cpus: 2",
	"  memory_mib: 512",
	"  append: quiet",
	"  timeout_s: 60",
	"  modules: [sd_mod, usb-storage delay_use=0]",
	"console: {driver: socket, device: ttyS0, baud: 0}",
	"link: {driver: virtio-serial}",
	"sticks:",
	"  - name: stick0",
	"    serial: S1",
	"    usb_path: 2-1",
	"    filesystem: ext4",
	"    size_mib: 64",
	"    file: data.bin",
	"    file_mib: 40",
	"    content_sha256: ''",
	"    switch: {driver: qmp, port: 1, min_off_ms: 2, settle_ms: 3, max_cycles: 4}",
};

#define SWITCH(text) "    switch: {min_off_ms: 0, settle_ms: 0, " text "}"
#define AT           "sticks[0].switch"
#define HTTP(text)   SWITCH("driver: http, url: 'http://u:secret@p/', protocol: " text)

/* The good file with one line replaced: that which starts like `instead` up to the colon. */
static int load_with(const char *instead, struct rig_cfg **ret, struct err *e)
{
	auto_strbuf struct strbuf text = STRBUF_INIT;
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/r1.yaml", dir);
	size_t n = instead ? strcspn(instead, ":") : 0;
	bool is_replaced = !instead;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		bool is_it = n && strncmp(good[i], instead, n + 1) == 0;

		is_replaced |= is_it;
		strbuf_addf(&text, "%s\n", is_it ? instead : good[i]);
	}
	assert_true(is_replaced);
	unit_write(dir, "r1.yaml", strbuf_str(&text));
	*e = (struct err){0};
	r = rig_cfg_load(path, ret, e);
	unit_rmdir(dir);
	return r;
}

static void test_every_key_reaches_its_member(void **state)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct err e;

	(void)state;
	assert_int_equal(load_with(NULL, &cfg, &e), 0);

	assert_contains(cfg->path, "r1.yaml");
	assert_string_equal(cfg->name, "r1");
	assert_string_equal(cfg->rig_class, "virtual");
	assert_string_equal(cfg->arch, "x86_64");
	assert_string_equal(cfg->boot.driver, "qemu");
	assert_string_equal(cfg->boot.machine, "q35");
	assert_string_equal(cfg->boot.cpu, "max");
	assert_int_equal(cfg->boot.cpus, 2);
	assert_int_equal(cfg->boot.memory_mib, 512);
	assert_string_equal(cfg->boot.append, "quiet");
	assert_int_equal(cfg->boot.timeout_s, 60);
	assert_int_equal(cfg->boot.modules_count, 2);
	assert_string_equal(cfg->boot.modules[1], "usb-storage delay_use=0");
	assert_string_equal(cfg->console.driver, "socket");
	assert_string_equal(cfg->console.device, "ttyS0");
	assert_int_equal(cfg->console.baud, 0);
	assert_string_equal(cfg->link.driver, "virtio-serial");
	assert_string_equal(cfg->stick_switch.name, "stick0");
	assert_string_equal(cfg->stick_switch.driver, "qmp");
	assert_int_equal(cfg->stick_switch.port, 1);
	assert_int_equal(cfg->stick_switch.min_off_ms, 2);
	assert_int_equal(cfg->stick_switch.settle_ms, 3);
	assert_int_equal(cfg->stick_switch.max_cycles, 4);
	assert_string_equal(cfg->stick.serial, "S1");
	assert_string_equal(cfg->stick.usb_path, "2-1");
	assert_string_equal(cfg->stick.filesystem, "ext4");
	assert_int_equal(cfg->stick.size_mib, 64);
	assert_string_equal(cfg->stick.file, "data.bin");
	assert_int_equal(cfg->stick.file_mib, 40);
	assert_string_equal(cfg->stick.content_sha256, "");
}

static void test_wrong_values_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *line;
		const char *want;
	} cases[] = {
		{"name: ../x", "r1.yaml:1:7: name: '../x': only letters"},
		{"class: real", "r1.yaml:2:8: class: 'real': must be 'virtual' or 'board'"},
		{"arch: riscv", "r1.yaml:3:7: arch: 'riscv': must be 'x86_64' or 'arm64'"},
		{"arch: x86_64\ntags: [fast, 'a b']", "tags[1]: 'a b': only letters"},
		{"arch: x86_64\ntags: []", "tags"},
		{"  driver: bochs", "r1.yaml:5:11: boot.driver: 'bochs': must be 'qemu'"},
		{"  machine: q35 -S", "boot.machine: 'q35 -S': not a machine type"},
		{"  cpu: a b", "r1.yaml:7:8: boot.cpu: 'a b': not a CPU model"},
		{"  cpus: 0", "r1.yaml:8:9: boot.cpus: '0': outside 1..64"},
		{"  cpus: 65", "r1.yaml:8:9: boot.cpus: '65': outside 1..64"},
		{"  cpus: 2x", "r1.yaml:8:9: boot.cpus: '2x': not a whole number"},
		{"  cpus: 2.5", "r1.yaml:8:9: boot.cpus: '2.5': not a whole number"},
		{"  cpus: 08", "r1.yaml:8:9: boot.cpus: '08': not a whole number"},
		{"    switch: {driver: qmp, port: 1, min_off_ms: 2s, settle_ms: 0}",
		 "sticks[0].switch.min_off_ms: '2s': not a whole number"},
		{"  cpus: many", "r1.yaml:8:9: boot.cpus: 'many': not a whole number"},
		{"  memory_mib: 127", "boot.memory_mib: '127': outside 128..65536"},
		{"  memory_mib: 65537", "boot.memory_mib: '65537': outside"},
		{"  append: \"a\\nb\"", "r1.yaml:10:11: boot.append: 'a\nb': must be one line"},
		{"  timeout_s: 0", "boot.timeout_s: '0': outside 1..3600"},
		{"  timeout_s: 60\n  pstore: true",
		 "r1.yaml:12:11: boot.pstore: 'true': must be 'nvram' or 'ram'"},
		{"  timeout_s: 60\n  pstore: ram",
		 "r1.yaml:12:11: boot.pstore: 'ram': the RAM of a target in QEMU goes with each "
		 "boot: must be 'nvram'"},
		{"  timeout_s: 3601", "boot.timeout_s: '3601': outside"},
		{"  modules: [a/b]", "r1.yaml:12:13: boot.modules[0]: 'a/b': not a module name"},
		{"console: {driver: socket, device: ttyS0, baud: 4000001}",
		 "console.baud: '4000001': outside"},
		{"console: {driver: tty, device: ttyS0}",
		 "console.driver: 'tty': must be 'socket' or 'serial'"},
		{"console: {driver: serial, device: ttyS0}",
		 "console: the console of a target in QEMU is a socket without address"},
		{"console: {driver: socket, device: ttyS0, flow: dtr}",
		 "console.flow: 'dtr': must be 'none' or 'rtscts' or 'xonxoff'"},
		{"console: {driver: socket, device: ttyS0, tx_byte_us: 100001}",
		 "console.tx_byte_us: '100001': outside 0..100000"},
		{"console: {driver: socket, device: a b}", "console.device: 'a b': only letters"},
		{"link: {driver: smoke}",
		 "link.driver: 'smoke': must be 'virtio-serial' or 'console'"},
		{"  - name: a,b", "sticks[0].name: 'a,b': only letters"},
		{"    serial: 'x y'", "sticks[0].serial: 'x y': only letters"},
		{"    usb_path: 2/1", "sticks[0].usb_path: '2/1': only letters"},
		{"    filesystem: ntfs",
		 "sticks[0].filesystem: 'ntfs': must be 'ext4' or 'vfat' or "
		 "'exfat'"},
		{"    size_mib: 15", "sticks[0].size_mib: '15': outside 16..65536"},
		{"    size_mib: 51", "sticks[0].size_mib: '51': a file of 40 MiB needs a stick of"},
		{"    file: a/b", "sticks[0].file: 'a/b': only letters"},
		{"    file_mib: 0", "sticks[0].file_mib: '0': outside 1..65536"},
		{"    content_sha256: abc", "sticks[0].content_sha256: 'abc': must be 64"},
		{"    switch: {driver: relay, port: 1, min_off_ms: 0, settle_ms: 0}",
		 "sticks[0].switch.driver: 'relay': must be 'qmp'"},
		{"    switch: {driver: qmp, port: 16, min_off_ms: 0, settle_ms: 0}",
		 "sticks[0].switch.port: '16': outside 1..15"},
		{"    switch: {driver: qmp, port: 1, min_off_ms: 60001, settle_ms: 0}",
		 "sticks[0].switch.min_off_ms: '60001': outside"},
		{"    switch: {driver: qmp, port: 1, min_off_ms: 0}",
		 "sticks[0].switch: the key 'settle_ms' is missing"},
		{"    switch: {driver: qmp, prt: 1}", "sticks[0].switch.prt: unknown key"},
		{SWITCH("driver: qmp"), AT ": the driver 'qmp' needs the key 'port'"},
		{SWITCH("driver: qmp, port: 1, cut_hub: true"),
		 AT ".cut_hub: 'true': there is no hub without hub_port"},
		{SWITCH("driver: qmp, port: 1, hub_port: 9"), AT ".hub_port: '9': outside 1..8"},
		{SWITCH("driver: target-port, port: 1, hub_port: 1"),
		 AT ".hub_port: '1': the driver 'target-port' has no such key"},
		{SWITCH("driver: qmp, port: 1, hub: 1-1"),
		 AT ".hub: '1-1': the driver 'qmp' has no such key"},
		{SWITCH("driver: gpio"), AT ": the driver 'gpio' needs the key 'vbus'"},
		{SWITCH("driver: gpio, vbus: {}"), AT ".vbus: either 'line' or 'offset'"},
		{SWITCH("driver: gpio, vbus: {line: A, offset: 1}"), AT ".vbus: either 'line'"},
		{SWITCH("driver: gpio, vbus: {offset: 1}"), AT ".vbus: an offset needs a 'chip'"},
		{SWITCH("driver: gpio, vbus: {line: A, channel: 1}"),
		 AT ".vbus.channel: '1': the driver 'gpio' has no such key"},
		{SWITCH("driver: gpio, vbus: {line: A, drive: hard}"),
		 AT ".vbus.drive: 'hard': must be 'push-pull' or 'open-drain' or 'open-source'"},
		{SWITCH("driver: gpio, vbus: {line: A, bias: left}"), AT ".vbus.bias: 'left'"},
		{SWITCH("driver: gpio, vbus: {line: A}, sense: {line: B, drive: push-pull}"),
		 AT ".sense.drive: 'push-pull': an input is not driven"},
		{SWITCH("driver: gpio, vbus: {line: A}, safe_state: floating"),
		 AT ".safe_state: 'floating': must be 'off' or 'on'"},
		{SWITCH("driver: gpio, vbus: {line: A}, discharge_ms: 5"),
		 AT ".discharge_ms: '5': there is no line 'discharge'"},
		{SWITCH("driver: gpio, vbus: {line: A}, discharge: {line: B}"),
		 AT ": 'discharge' without 'sense' needs 'discharge_ms'"},
		{SWITCH("driver: gpio, vbus: {line: A}, sense_timeout_ms: 5"),
		 AT ".sense_timeout_ms: '5': there is no line 'sense'"},
		{SWITCH("driver: gpio, vbus: {line: A}, lead_ms: 251"),
		 AT ".lead_ms: '251': outside 0..250"},
		{SWITCH("driver: gpio, vbus: {line: A, colour: 1}"),
		 AT ".vbus.colour: unknown key"},
		{SWITCH("driver: usb-hub, port: 1"),
		 AT ": the driver 'usb-hub' needs the key 'hub'"},
		{SWITCH("driver: usb-hub, hub: 1-1, port: 256"), AT ".port: '256': outside 1..255"},
		{SWITCH("driver: hid-relay, vbus: {line: A}"),
		 AT ".vbus.line: 'A': the driver 'hid-relay' has no such key"},
		{SWITCH("driver: hid-relay, vbus: {active_low: true}"),
		 AT ".vbus: the key 'channel' is missing"},
		{SWITCH("driver: hid-relay, vbus: {channel: 9}"),
		 AT ".vbus.channel: '9': outside 1..8"},
		{SWITCH("driver: hid-relay, vbus: {channel: 1}, data: {channel: 1}"),
		 AT ".data: 'vbus' has this relay already"},
		{SWITCH("driver: exec, turn_on: [a]"),
		 AT ": the driver 'exec' needs the key 'turn_off'"},
		{SWITCH("driver: exec, turn_on: [], turn_off: [a]"),
		 AT ".turn_on: too few entries"},
		{SWITCH("driver: exec, turn_on: [a], turn_off: [a], timeout_ms: 60001"),
		 AT ".timeout_ms: '60001': outside 1..60000"},
		{SWITCH("driver: http, url: http://p/"),
		 AT ": the driver 'http' needs the key 'protocol'"},
		{SWITCH("driver: http, url: http://p/, protocol: snmp"),
		 AT ".protocol: 'snmp': must be 'pdudaemon' or 'rest' or 'output'"},
		{SWITCH("driver: http, url: ftp://u:secret@p/, protocol: rest"),
		 AT ": 'url' is no http:// or https:// address with a host"},
		{SWITCH("driver: http, url: 'http://', protocol: rest"),
		 AT ": 'url' is no http:// or https:// address with a host"},
		{HTTP("pdudaemon, pdu: a"), AT ": the protocol 'pdudaemon' needs the key 'outlet'"},
		{HTTP("pdudaemon, pdu: a, outlet: 1, on_body: x"),
		 AT ": the protocol 'pdudaemon' has no key 'on_body'"},
		{SWITCH("driver: http, url: 'http://p/?a', protocol: pdudaemon, pdu: a, outlet: 1"),
		 AT ": 'url' is the address of a service and has no '?' or '#'"},
		{HTTP("rest, pdu: a"), AT ": the protocol 'rest' has no key 'pdu'"},
		{HTTP("output"), AT ": on and off are told apart by 'off_url', or by"},
		{HTTP("output, on_body: a"), AT ": on and off are told apart by 'off_url', or by"},
		{HTTP("output, off_url: x"),
		 AT ": 'off_url' is no http:// or https:// address with a host"},
		{HTTP("output, method: DELETE, on_body: a, off_body: b"),
		 AT ".method: 'DELETE': must be 'PUT' or 'POST' or 'GET'"},
		{HTTP("output, method: GET, on_body: a, off_body: b"),
		 AT ": the method GET sends no body"},
		{HTTP("output, on_body: a, off_body: b, on_match: a"),
		 AT ": to ask for the state 'on_match' and 'off_match' are needed"},
		{HTTP("output, on_body: a, off_body: b, status_url: 'http://p/s'"),
		 AT ": to ask for the state 'on_match' and 'off_match' are needed"},
		{HTTP("output, on_body: a, off_body: b, on_match: a, off_match: '('"),
		 AT ".off_match: '(': no extended regular expression: "},
		{HTTP("rest, token_file: a"), AT ".token_file: 'a': must be an absolute path"},
		{SWITCH("driver: target-port"), AT ".port: a target in QEMU needs this key"},
		{SWITCH("driver: target-port, port: 16"), AT ".port: '16': outside 1..15"},
		{SWITCH("driver: target-port, port: 1, safe_state: on"),
		 AT ".safe_state: 'on': the driver 'target-port' has no such key"},
		{SWITCH("driver: qmp, port: 1, safe_state: on"),
		 AT ".safe_state: 'on': the driver 'qmp' has no such key"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig_cfg *cfg = NULL;
		struct err e;

		if (load_with(cases[i].line, &cfg, &e) != -EINVAL)
			fail_msg("accepted: %s", cases[i].line);
		assert_null(cfg);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].want);
		assert_null(strstr(e.text, "secret"));
	}
}

#define HUB(text) SWITCH("driver: qmp, port: 1" text)

/* Of a second stick: a line of it and what is said of it. */
static void test_a_second_stick_is_as_the_first_but_for_its_place(void **state)
{
	static const char *const second[] = {
		"  - name: stick1",
		"    serial: S2",
		"    usb_path: 1-1.3",
		"    filesystem: ext4",
		"    size_mib: 64",
		"    file: data.bin",
		"    file_mib: 40",
		"    switch: {driver: qmp, port: 1, hub_port: 3, min_off_ms: 0, settle_ms: 0}",
	};
	static const struct {
		const char *first, *line; /* the switch of the first; a line of the second */
		const char *want;         /* NULL = accepted */
		bool is_cut_too;
	} cases[] = {
		{HUB(", hub_port: 2"), "    serial: S2", NULL, false},
		{HUB(", hub_port: 2, cut_hub: true"), "    serial: S2", NULL, true},
		{HUB(", hub_port: 2, cut_hub: true"), HUB(""), "a hub is plugged in there", false},
		{HUB(", hub_port: 8"), SWITCH("driver: qmp, port: 15"), NULL, false},
		{HUB(""), SWITCH("driver: qmp, port: 2"), NULL, false},
		{HUB(""), HUB(""), "sticks[1].switch.port: '1': that is the first stick's", false},
		{HUB(""), "    serial: S2", "there is no hub but that of the first stick", false},
		{HUB(", hub_port: 2"), HUB(", hub_port: 2"), "that is the first stick's", false},
		{HUB(", hub_port: 2"), HUB(", hub_port: 9"), "hub_port: '9': outside 1..8", false},
		{HUB(", hub_port: 2"), SWITCH("driver: qmp, port: 2, hub_port: 3"),
		 "there is no hub but", false},
		{HUB(", hub_port: 2"), HUB(", hub_port: 3, cut_hub: true"),
		 "only the first stick is cut", false},
		{HUB(", cut_hub: true"), "    serial: S2", "there is no hub", false},
		{HUB(", hub_port: 2"), "    serial: S1", "sticks[1].serial: 'S1'", false},
		{HUB(", hub_port: 2"), "    filesystem: vfat", "has the content of the first",
		 false},
		{HUB(", hub_port: 2"), "    file_mib: 41", "has the content of the first", false},
		{HUB(", hub_port: 2"), "    size_mib: 65", "has the content of the first", false},
		{HUB(", hub_port: 2"), "    file: x", "has the content of the first", false},
		{HUB(", hub_port: 2"), "  - name: a/b", "sticks[1].name: 'a/b': only letters",
		 false},
		{HUB(", hub_port: 2"), SWITCH("driver: target-port, port: 2"),
		 "there can be two sticks", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const size_t n = strcspn(cases[i].line, ":");
		auto_strbuf struct strbuf both = STRBUF_INIT;
		auto_rig_cfg struct rig_cfg *cfg = NULL;
		struct err e;
		int r;

		strbuf_adds(&both, cases[i].first);
		for (size_t k = 0; k < ARRAY_SIZE(second); k++)
			strbuf_addf(&both, "\n%s",
				    strncmp(second[k], cases[i].line, n + 1) == 0 ? cases[i].line
										  : second[k]);
		r = load_with(strbuf_str(&both), &cfg, &e);
		if (!cases[i].want) {
			if (r < 0)
				fail_msg("case %zu: %s", i, e.text);
			assert_string_equal(cfg->neighbour->serial, "S2");
			assert_string_equal(cfg->neighbour->sw.name, "stick1");
			assert_int_equal(rig_cuts_neighbour(cfg), cases[i].is_cut_too);
			continue;
		}
		if (r == 0)
			fail_msg("case %zu was accepted", i);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].want);
	}
}

static void test_values_at_the_limits_are_accepted(void **state)
{
	static const char *const lines[] = {
		"  cpus: 1",
		"  cpus: 64",
		"  memory_mib: 128",
		"  memory_mib: 65536",
		"  timeout_s: 3600",
		"  modules: []",
		"    size_mib: 52",
		"console: {driver: socket, device: ttyS0, baud: 4000000}",
		"console: {driver: socket, device: ttyS0}",
		"    switch: {driver: qmp, port: 15, min_off_ms: 60000, settle_ms: 60000}",
		SWITCH("driver: gpio, vbus: {line: A}"),
		SWITCH("driver: gpio, chip: gpiochip0, vbus: {offset: 0}, lead_ms: 250"),
		SWITCH("driver: usb-hub, hub: usb1, port: 255, twin_hub: usb2"),
		SWITCH("driver: hid-relay, vbus: {channel: 8}, data: {channel: 1}"),
		SWITCH("driver: exec, turn_on: [a], turn_off: [a, b], timeout_ms: 60000"),
		HTTP("pdudaemon, pdu: a, outlet: 1, timeout_ms: 60000"),
		HTTP("rest, token_file: /a"),
		HTTP("output, off_url: 'http://p/off?x=1', method: GET"),
		SWITCH("driver: target-port, port: 15"),
		SWITCH("driver: qmp, port: 15, hub_port: 8, cut_hub: true"),
		"    filesystem: exfat",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct rig_cfg *cfg = NULL;
		struct err e;

		if (load_with(lines[i], &cfg, &e) != 0)
			fail_msg("%s: %s", lines[i], e.text);
		rig_cfg_free(cfg);
	}
}

static void test_every_key_of_a_switch_reaches_its_member(void **state)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	const struct switch_cfg *sw;
	struct switch_limits limits;
	struct err e;

	(void)state;
	assert_int_equal(
		load_with(SWITCH("driver: gpio, chip: c0, safe_state: 'on', max_cycles: 9,"
				 " vbus: {line: VBUS, active_low: true, drive: open-drain},"
				 " data: {chip: c1, offset: 3, bias: up}, discharge: {line: D},"
				 " sense: {line: S, bias: down}, over_current: {line: OC},"
				 " lead_ms: 4, discharge_ms: 50, sense_timeout_ms: 300"),
			  &cfg, &e),
		0);
	sw = &cfg->stick_switch;
	assert_string_equal(sw->chip, "c0");
	assert_string_equal(sw->vbus->line, "VBUS");
	assert_true(sw->vbus->is_active_low);
	assert_string_equal(sw->vbus->drive, "open-drain");
	assert_string_equal(sw->data->chip, "c1");
	assert_int_equal(*sw->data->offset, 3);
	assert_string_equal(sw->data->bias, "up");
	assert_string_equal(sw->sense->bias, "down");
	assert_string_equal(sw->over_current->line, "OC");
	assert_int_equal(sw->lead_ms, 4);
	assert_int_equal(sw->discharge_ms, 50);
	assert_int_equal(sw->sense_timeout_ms, 300);
	switch_cfg_limits(sw, &limits);
	assert_int_equal(limits.safe, SWITCH_ON);
	assert_int_equal(limits.max_cycles, 9);
	assert_true(switch_cfg_is_standalone(sw));

	rig_cfg_free(take(cfg));
	assert_int_equal(load_with(SWITCH("driver: exec, turn_on: [on, '1'], turn_off: [off],"
					  " status: [s]"),
				   &cfg, &e),
			 0);
	sw = &cfg->stick_switch;
	assert_int_equal(sw->turn_on_count, 2);
	assert_string_equal(sw->turn_on[1], "1");
	assert_string_equal(sw->turn_off[0], "off");
	assert_string_equal(sw->status[0], "s");
	assert_int_equal(sw->timeout_ms, 10000);
	switch_cfg_limits(sw, &limits);
	assert_int_equal(limits.safe, SWITCH_OFF);

	rig_cfg_free(take(cfg));
	if (load_with(HTTP("output, off_url: 'http://p/o', status_url: 'http://p/s', method: POST,"
			   " on_body: p, off_body: q, on_match: r, off_match: s"),
		      &cfg, &e) < 0)
		fail_msg("%s", e.text);
	sw = &cfg->stick_switch;
	assert_string_equal(sw->protocol, "output");
	assert_string_equal(sw->url, "http://u:secret@p/");
	assert_string_equal(sw->off_url, "http://p/o");
	assert_string_equal(sw->status_url, "http://p/s");
	assert_string_equal(sw->method, "POST");
	assert_string_equal(sw->on_body, "p");
	assert_string_equal(sw->off_body, "q");
	assert_string_equal(sw->on_match, "r");
	assert_string_equal(sw->off_match, "s");

	rig_cfg_free(take(cfg));
	assert_int_equal(load_with(HTTP("pdudaemon, pdu: a, outlet: 1, token_file: /t"), &cfg, &e),
			 0);
	sw = &cfg->stick_switch;
	assert_string_equal(sw->pdu, "a");
	assert_string_equal(sw->outlet, "1");
	assert_string_equal(sw->token_file, "/t");
	assert_int_equal(sw->timeout_ms, 10000);
}

static void test_records_are_kept_where_a_target_can_keep_them(void **state)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct err e;

	(void)state;
	assert_int_equal(load_with(NULL, &cfg, &e), 0);
	assert_null(cfg->boot.pstore);
	assert_false(rig_loses_records(cfg));
	rig_cfg_free(take(cfg));
	if (load_with("  timeout_s: 60\n  pstore: nvram", &cfg, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(cfg->boot.pstore, "nvram");
	assert_false(rig_loses_records(cfg));
	rig_cfg_free(take(cfg));
}

/* A board: the good file with another boot and console, and one line of boot.uboot replaced. */
/* boot: the driver and, on further lines, its key. */
static int load_board_by(const char *boot, const char *console, const char *link,
			 struct rig_cfg **ret, struct err *e)
{
	static const char *const lines[] = {"name: b1",        "class: board", "arch: arm64",
					    "boot:",           "  cpus: 8",    "  append: ''",
					    "  timeout_s: 60", "  modules: []"};
	auto_strbuf struct strbuf text = STRBUF_INIT;
	char *dir = unit_tmpdir();
	auto_free char *path = xasprintf("%s/b1.yaml", dir);
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		strbuf_addf(&text, "%s\n", lines[i]);
	strbuf_addf(&text, "  driver: %s\n%s\n", boot, console);
	strbuf_addf(&text, "%s\n", link);
	for (size_t i = 14; i < ARRAY_SIZE(good) - 2; i++)
		strbuf_addf(&text, "%s\n", good[i]);
	if (!strstr(console, "#unhashed"))
		strbuf_addf(&text, "    content_sha256: \"%064d\"\n", 7);
	strbuf_addf(&text, "%s\n", SWITCH("driver: exec, turn_on: [a], turn_off: [b]"));
	unit_write(dir, "b1.yaml", strbuf_str(&text));
	*e = (struct err){0};
	r = rig_cfg_load(path, ret, e);
	unit_rmdir(dir);
	return r;
}

static int load_board(const char *uboot, const char *console, const char *link,
		      struct rig_cfg **ret, struct err *e)
{
	auto_free char *boot = uboot ? xasprintf("uboot\n  uboot: %s", uboot) : xstrdup("uboot");

	return load_board_by(boot, console, link, ret, e);
}

#define SERIAL "console: {driver: serial, address: '/dev/ttyUSB0', device: ttySC0, baud: 115200}"
#define POWER                                                                             \
	"power: {driver: exec, turn_on: [p, up], turn_off: [p, down], min_off_ms: 2000, " \
	"settle_ms: 0}\n"
#define LOGIN(keys) INBAND "\nlogin: {" keys "}"
#define INBAND      POWER "link: {driver: console}"

static void test_what_a_board_does_not_say_has_its_usual_value(void **state)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct err e;

	(void)state;
	if (load_board("{folder: /srv/tftp, dtb: renesas/x.dtb}", SERIAL, INBAND, &cfg, &e) < 0)
		fail_msg("%s", e.text);
	assert_false(rig_is_qemu(cfg));
	assert_int_equal(cfg->boot.attempts, 1);
	assert_string_equal(cfg->console.address, "/dev/ttyUSB0");
	assert_string_equal(cfg->console.flow, "none");
	assert_string_equal(cfg->boot.uboot->prompt, "=> ");
	assert_string_equal(cfg->boot.uboot->autoboot, "stop autoboot");
	assert_string_equal(cfg->boot.uboot->fetch, "tftpboot");
	assert_string_equal(cfg->boot.uboot->image, "booti");
	assert_string_equal(cfg->boot.uboot->dtb_addr, "${fdt_addr_r}");
	assert_int_equal(cfg->boot.uboot->catch_s, 60);
	assert_false(cfg->boot.uboot->is_mute);
	assert_string_equal(cfg->power->name, "power");
	assert_string_equal(cfg->power->turn_on[1], "up");
	assert_int_equal(cfg->power->min_off_ms, 2000);
}

static void test_a_board_that_is_reset_keeps_its_ram(void **state)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct err e;

	(void)state;
	if (load_board("{folder: /srv, reset: [press, '7']}\n  pstore: ram", SERIAL, INBAND, &cfg,
		       &e) < 0)
		fail_msg("%s", e.text);
	assert_true(rig_loses_records(cfg));
	assert_int_equal(cfg->boot.uboot->reset_count, 2);
	assert_string_equal(cfg->boot.uboot->reset[1], "7");
}

static void test_wrong_boards_are_refused(void **state)
{
	static const struct {
		const char *uboot, *console, *link, *want;
	} cases[] = {
		{NULL, SERIAL, INBAND, "boot.uboot: driver 'uboot' needs this key"},
		{"{prompt: '# '}", SERIAL, INBAND,
		 "boot.uboot.folder: a board needs the folder of the server"},
		{"{folder: srv}", SERIAL, INBAND, "boot.uboot.folder: 'srv': must begin with /"},
		{"{folder: /srv, kernel_addr: 48080000}", SERIAL, INBAND,
		 "boot.uboot.kernel_addr: '48080000': must be 0x… or ${variable}"},
		{"{folder: /srv, dtb_addr: '${a b}'}", SERIAL, INBAND, "must be 0x…"},
		{"{folder: /srv, prefix: 'a b'}", SERIAL, INBAND, "only letters, digits and /"},
		{"{folder: /srv, image: zip}", SERIAL, INBAND, "must be 'booti', 'bootz' or 'fit'"},
		{"{folder: /srv, fetch: nfs}", SERIAL, INBAND, "must be 'tftpboot' or 'wget'"},
		{"{folder: /srv, catch_s: 601}", SERIAL, INBAND, "outside 1..600"},
		{"{folder: /srv, commands: [\"a\\nb\"]}", SERIAL, INBAND,
		 "boot.uboot.commands[0]: 'a\nb': must be one line of ASCII"},
		{"{folder: /srv}", "console: {driver: serial, device: ttySC0, baud: 9600}", INBAND,
		 "console.address: a board needs this key"},
		{"{folder: /srv}", "console: {driver: serial, address: /dev/x, device: ttySC0}",
		 INBAND, "console.baud: a serial line needs its rate"},
		{"{folder: /srv}", SERIAL, "link: {driver: console}",
		 "power: a board needs a switch for its power"},
		{"{folder: /srv}", SERIAL, POWER "link: {driver: virtio-serial}",
		 "link.driver: 'virtio-serial': only a target in QEMU has that"},
		{"{folder: /srv}", SERIAL " #unhashed", INBAND,
		 "sticks[0].content_sha256: a real stick needs the SHA-256 of its file"},
		{"{folder: /srv}\n  machine: virt", SERIAL, INBAND,
		 "boot.machine: 'virt': only a target in QEMU has this key"},
		{"{folder: /srv}\n  initrd: /x", SERIAL, INBAND,
		 "boot.initrd: '/x': only a target with the key 'login'"},
		{"{folder: /srv}\n  initrd: x", SERIAL, LOGIN(""),
		 "boot.initrd: 'x': must begin with /"},
		{"{folder: /srv}", SERIAL, LOGIN("user: \"a\\nb\""),
		 "login.user: 'a\nb': must be one line of ASCII"},
		{"{folder: /srv}", SERIAL, LOGIN("password: x"), "login.password: unknown key"},
		{"{folder: /srv}", SERIAL, LOGIN("password_file: x"),
		 "login.password_file: 'x': must be an absolute path"},
		{"{folder: /srv}", SERIAL, LOGIN("password_env: a-b"),
		 "login.password_env: 'a-b': must be the name of an environment variable"},
		{"{folder: /srv}", SERIAL, LOGIN("password_file: /x, password_env: X"),
		 "login.password_env: 'X': there is a 'password_file' already"},
		{"{folder: /srv}", SERIAL, LOGIN("folder: /"),
		 "login.folder: '/': must be an absolute path"},
		{"{folder: /srv}", SERIAL, LOGIN("folder: '/a b'"), "login.folder: '/a b'"},
		{"{folder: /srv}", SERIAL, LOGIN("timeout_s: 601"),
		 "login.timeout_s: '601': outside 1..600"},
		{"{folder: /srv}", SERIAL, LOGIN("upload_timeout_s: 7201"), "outside 1..7200"},
		{"{folder: /srv}", SERIAL, LOGIN("upload_max_kib: 65537"), "outside 1..65536"},
		{"{firmware: /x}", "console: {driver: socket, device: ttyAMA0}", INBAND,
		 "boot.machine: a target in QEMU needs this key"},
		{"{folder: /srv, reset: [r]}", SERIAL, INBAND,
		 "boot.uboot.reset: only a board with 'pstore: ram' is reset"},
		{"{folder: /srv, reset: [r]}\n  pstore: nvram", SERIAL, INBAND,
		 "boot.uboot.reset: only a board with 'pstore: ram' is reset"},
		{"{folder: /srv, reset: []}\n  pstore: ram", SERIAL, INBAND,
		 "boot.uboot.reset: too few entries"},
		{"{firmware: /x}\n  machine: virt\n  cpu: max\n  memory_mib: 512\n  pstore: nvram",
		 "console: {driver: socket, device: ttyAMA0}", "link: {driver: console}",
		 "boot.pstore: 'nvram': in QEMU only a target of arch 'x86_64' with driver 'qemu' "
		 "has it"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig_cfg *cfg = NULL;
		struct err e;

		if (load_board(cases[i].uboot, cases[i].console, cases[i].link, &cfg, &e) !=
		    -EINVAL)
			fail_msg("accepted: case %zu", i);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_contains(e.text, cases[i].want);
	}
}

static void test_a_login_has_usual_values(void **state)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	struct err e;

	(void)state;
	if (load_board("{folder: /srv}", SERIAL, LOGIN("password_env: PW, shell_prompt: '$ '"),
		       &cfg, &e) != 0)
		fail_msg("%s", e.text);
	assert_string_equal(cfg->login->user, "root");
	assert_string_equal(cfg->login->password_env, "PW");
	assert_null(cfg->login->password_file);
	assert_string_equal(cfg->login->login_prompt, "login: ");
	assert_string_equal(cfg->login->password_prompt, "assword: ");
	assert_string_equal(cfg->login->shell_prompt, "$ ");
	assert_string_equal(cfg->login->folder, "/tmp/stallrig");
	assert_int_equal(cfg->login->timeout_s, 60);
	assert_int_equal(cfg->login->upload_timeout_s, 900);
	assert_int_equal(cfg->login->upload_max_kib, 16384);
	assert_null(cfg->boot.initrd);
}

static void test_a_lab_that_boots_by_its_own_commands(void **state)
{
	static const struct {
		const char *boot, *link, *want; /* want "" = accepted */
	} cases[] = {
		{"exec: {deploy: [d, '1'], timeout_s: 3600}", INBAND, ""},
		{"exec: {reset: [r], power_off: [p]}", "link: {driver: console}", ""},
		{"exec: {reset: [r]}", "link: {driver: console}",
		 "boot.exec: a board without the key 'power' needs 'reset' and 'power_off'"},
		{"exec: {timeout_s: 3601}", INBAND, "boot.exec.timeout_s: '3601': outside 1..3600"},
		{"exec: {deploy: []}", INBAND, "boot.exec.deploy: too few entries"},
		{"exec: {deploi: [a]}", INBAND, "boot.exec.deploi: unknown key"},
		{"attempts: 2", INBAND, "boot.exec: driver 'exec' needs this key"},
		{"exec: {deploy: [d], reset: [r]}\n  pstore: ram", INBAND, ""},
		{"exec: {deploy: [d]}\n  pstore: nvram", INBAND, ""},
		{"exec: {deploy: [d]}\n  pstore: ram", INBAND,
		 "boot.pstore: 'ram': 'ram' needs the command boot.exec.reset"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_rig_cfg struct rig_cfg *cfg = NULL;
		auto_free char *boot = xasprintf("exec\n  %s", cases[i].boot);
		struct err e;
		int r = load_board_by(boot, SERIAL, cases[i].link, &cfg, &e);

		if (*cases[i].want) {
			assert_int_equal(r, -EINVAL);
			assert_contains(e.text, cases[i].want);
		} else if (r != 0) {
			fail_msg("%s: %s", cases[i].boot, e.text);
		}
	}
}

#define ENTRY                                                                                   \
	"{name: x, serial: S2, usb_path: 2-2, filesystem: ext4, size_mib: 64, file: data.bin, " \
	"file_mib: 40, switch: {driver: qmp, port: 2, min_off_ms: 0, settle_ms: 0}}"

static void test_a_third_stick_is_refused(void **state)
{
	struct rig_cfg *cfg = NULL;
	struct err e;

	(void)state;
	assert_int_equal(
		load_with("    switch: {driver: qmp, port: 1, min_off_ms: 0, settle_ms: 0}\n"
			  "  - " ENTRY "\n  - " ENTRY,
			  &cfg, &e),
		-EINVAL);
	assert_contains(e.text, "sticks: too many entries");
}

static void test_an_unknown_name_lists_the_names_there_are(void **state)
{
	struct rig_cfg *cfg = NULL;
	char *dir = unit_tmpdir();
	struct err e = {0};

	(void)state;
	unit_write(dir, "beta.yaml", "");
	unit_write(dir, "alpha.yaml", "");
	unit_write(dir, "notes.txt", "");
	unit_write(dir, ".hidden.yaml", "");
	assert_int_equal(setenv("STALLRIG_RIGS", dir, 1), 0);

	assert_int_equal(rig_cfg_load("gamma", &cfg, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.text, "there is no rig 'gamma'");
	assert_contains(e.text, ": alpha, beta");
	assert_null(strstr(e.text, "hidden"));

	assert_int_equal(rig_cfg_load("", &cfg, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(rig_cfg_load("./no/such.yaml", &cfg, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_contains(e.text, "./no/such.yaml");

	assert_int_equal(unsetenv("STALLRIG_RIGS"), 0);
	unit_rmdir(dir);
}

static void test_the_rigs_that_come_with_the_project_load(void **state)
{
	glob_t files;

	(void)state;
	assert_int_equal(glob(STALLRIG_SOURCE_DIR "/fixtures/rigs/*.yaml", 0, NULL, &files), 0);
	assert_true(files.gl_pathc >= 6);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		auto_rig_cfg struct rig_cfg *cfg = NULL;
		auto_free char *name = xstrdup(strrchr(files.gl_pathv[i], '/') + 1);
		struct err e = {0};

		*strrchr(name, '.') = '\0';
		if (rig_cfg_load(name, &cfg, &e) != 0)
			fail_msg("%s", e.text);
		assert_string_equal(cfg->name, name);
		/* what wears out has a budget, and a board can be ended */
		if (strcmp(cfg->rig_class, "board") == 0) {
			assert_true(cfg->stick_switch.max_cycles > 0);
			assert_non_null(cfg->power);
			assert_true(cfg->boot.attempts > 1);
		}
	}
	globfree(&files);
}

/* The Pi's rig file and the table of its header pins are one wiring. */
static void test_the_wires_of_the_pi_are_those_of_the_document(void **state)
{
	auto_rig_cfg struct rig_cfg *cfg = NULL;
	auto_strbuf struct strbuf page = STRBUF_INIT;
	const char *table;
	struct err e = {0};

	(void)state;
	assert_int_equal(file_read(STALLRIG_SOURCE_DIR "/docs/wiring.md", 1 << 20, &page, &e), 0);
	assert_int_equal(rig_cfg_load("pi4-host", &cfg, &e), 0);
	table = strstr(strbuf_str(&page), "\n## A Raspberry Pi 4");
	assert_non_null(table);

	const struct {
		const char *signal;
		const struct switch_line_cfg *line;
	} wires[] = {
		{"vbus (EN)", cfg->stick_switch.vbus},
		{"data (/OE)", cfg->stick_switch.data},
		{"discharge", cfg->stick_switch.discharge},
		{"sense", cfg->stick_switch.sense},
		{"over_current (/OC)", cfg->stick_switch.over_current},
		{"power of the board (relay board)", cfg->power->vbus},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
		auto_free char *begin = xasprintf("\n| %s | ", wires[i].signal);
		auto_free char *end = xasprintf(" | %s |\n", wires[i].line->line);
		const char *row = strstr(table, begin);
		const char *hit = row ? strstr(row, end) : NULL;

		if (!hit || memchr(row + 1, '\n', (size_t)(hit - row - 1)))
			fail_msg("docs/wiring.md: no row of '%s' with line %s", wires[i].signal,
				 wires[i].line->line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_reaches_its_member),
		cmocka_unit_test(test_wrong_values_are_refused_with_their_place),
		cmocka_unit_test(test_a_second_stick_is_as_the_first_but_for_its_place),
		cmocka_unit_test(test_values_at_the_limits_are_accepted),
		cmocka_unit_test(test_every_key_of_a_switch_reaches_its_member),
		cmocka_unit_test(test_what_a_board_does_not_say_has_its_usual_value),
		cmocka_unit_test(test_records_are_kept_where_a_target_can_keep_them),
		cmocka_unit_test(test_a_board_that_is_reset_keeps_its_ram),
		cmocka_unit_test(test_wrong_boards_are_refused),
		cmocka_unit_test(test_a_third_stick_is_refused),
		cmocka_unit_test(test_a_login_has_usual_values),
		cmocka_unit_test(test_a_lab_that_boots_by_its_own_commands),
		cmocka_unit_test(test_an_unknown_name_lists_the_names_there_are),
		cmocka_unit_test(test_the_rigs_that_come_with_the_project_load),
		cmocka_unit_test(test_the_wires_of_the_pi_are_those_of_the_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
