#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real kernel panics in a trial and its machine ends. What it left in the store of a rig with
# boot.pstore comes in with the next boot. With STALLRIG_LONG=1 also on a board that keeps it in RAM.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12
scenario=$(changed_scenario plain 's/max_invalid: .*/max_invalid: 0/')
small_rig
sed 's/^  timeout_s: /  pstore: nvram\n&/' "$work/virtual-x86.yaml" >"$work/keeps.yaml"
mkdir -p "$work/overlay"
cp "$build/stallrig-agent" "$work/overlay/agent.real"

# run_on RIG: the kernel panics in the first trial
run_on() {
	chmod +x "$work/overlay/agent"
	overlay
	PATH=$work/bin:$PATH run 1 --rig "$1" --scenario "$scenario" --kernel debian:6.12
	is '.runs[0].verdict == "FAIL" and .runs[0].reason == "crash"'
	is '.runs[0].trials | length == 1'
}

# its records must be in these files of boot 1, each with its hash
holds_panic() {
	local dir

	dir=$(dirname "$(jq -r '.runs[0].boots[0].recording' "$work/run.json")")
	jq -r '.runs[0].boots[0].pstore[] | select(.of_earlier_boot | not) | "\(.sha256)  \(.file)"' \
		"$work/run.json" >"$work/sums"
	[ -s "$work/sums" ] || fail "no records of boot 1"
	(cd "$dir" && sha256sum --quiet --check "$work/sums") || fail "other bytes than in the report"
	sed 's/^[^ ]*  //' "$work/sums" | (cd "$dir" &&
		xargs grep -hF 'Kernel panic - not syncing: sysrq triggered crash') >"$work/panic" ||
		fail "the records do not have the panic"
	n_checks=$((n_checks + 2))
}

# without the key nothing is booted for them
cat >"$work/overlay/agent" <<'EOT'
#!/bin/sh
while ! dmesg | grep -q 'stallrig-mark start-1'; do sleep 0.1; done && echo c >/proc/sysrq-trigger &
exec /agent.real "$@"
EOT
run_on "$work/virtual-x86.yaml"
is '.runs[0].boots | length == 1'
grep -q pstore "$work/run.json" && fail "records that nobody asked for"

# the boot that is to bring them in panics, too: the run ends as it was, and says so
cp "$work/overlay/agent" "$work/overlay/agent.once"
cat >"$work/overlay/agent" <<'EOT'
#!/bin/sh
mount -t pstore pstore /sys/fs/pstore
for f in /sys/fs/pstore/*; do [ -e "$f" ] && echo c >/proc/sysrq-trigger; done
exec /agent.once "$@"
EOT
chmod +x "$work/overlay/agent.once"
run_on "$work/keeps.yaml"
is '.runs[0].boots | length == 2 and all(has("pstore") | not)'
is '.runs[0].pstore_notes[0] | startswith("boot 2, which was to bring in the pstore records, did not")'
prints "boot 2, which was to bring in"

# those of that run are somebody else's in the next one, its own are known
cp "$work/overlay/agent.once" "$work/overlay/agent"
run_on "$work/keeps.yaml"
is '.runs[0].boots | length == 2'
is '[.runs[0].boots[0].pstore[] | select(.of_earlier_boot)] | length >= 2 and all(.collected_in == 1)'
is '[.runs[0].boots[0].pstore[] | select(.of_earlier_boot | not)] | all(.collected_in == 2)'
is '.runs[0].pstore_notes == null'
holds_panic
says "of boot 1"
prints "of an earlier boot"
expect 0 "$stallrig" show "$(jq -r '.runs[0].trials[0].id' "$work/run.json")"
prints "boot-1/pstore-dmesg-erst-"
expect 0 "$stallrig" report --last=1 --html="$work/report.html"
grep -q 'boot-1/pstore-dmesg-erst-' "$work/report.html" || fail "the page does not name the records"
expect 1 "$stallrig" judge --json=- "$(dirname "$(jq -r '.runs[0].boots[0].recording' "$work/run.json")")"

# board KIND SHA256: a rig of the board in $work/board, which keeps its records in KIND
board() {
	local me=$top/tests/fixtures/ram_board.py

	cat >"$work/board-$1.yaml" <<EOT
name: ram-board
class: board
arch: x86_64
boot:
  driver: exec
  cpus: 2
  append: "panic=0 loglevel=7 printk.devkmsg=on edd=off no_timer_check memmap=1M\$0x50000000"
  timeout_s: 120
  pstore: $1
  modules: ["ramoops mem_address=0x50000000 mem_size=0x100000 record_size=0x20000", xhci-pci, sd_mod,
            usb-storage delay_use=0, ext4]
  exec: {deploy: [$me, deploy, $work/board], reset: [$me, reset, $work/board]}
console: {driver: socket, address: $work/board/console, device: ttyS0}
link: {driver: console}
power:
  driver: exec
  turn_on: [$me, "on", $work/board]
  turn_off: [$me, "off", $work/board]
  status: [$me, status, $work/board]
  min_off_ms: 100
  settle_ms: 0
sticks:
  - name: stick0
    serial: STALLRIG0001
    usb_path: "2-1"
    filesystem: ext4
    size_mib: 48
    file: data.bin
    file_mib: 32
    content_sha256: "$2"
    switch: {driver: target-port, min_off_ms: 0, settle_ms: 0}
EOT
}

# A reset keeps its RAM, a cut of its power does not.
on_a_board() {
	local server hash

	mkdir "$work/board"
	cp "$work/overlay.cpio" "$work/board/"
	truncate -s 48M "$work/stick"
	board any "$(printf %064d 0)"
	sed -i '/pstore: any/d' "$work/board-any.yaml"
	hash=$("$stallrig" stick prepare "$work/board-any.yaml" --device "$work/stick" --yes 2>"$work/err" |
		grep -o '[0-9a-f]\{64\}') || fail "no stick"
	board ram "$hash"
	board nvram "$hash"
	"$top/tests/fixtures/ram_board.py" serve "$work/board" "$work/stick" &
	server=$!
	while [ ! -S "$work/board/control" ]; do
		kill -0 "$server" || fail "no board"
		sleep 0.1
	done
	for kind in ram nvram; do
		: >"$work/board/log"
		expect 1 "$stallrig" run --rig "$work/board-$kind.yaml" --json "$work/run.json" \
			--scenario "$scenario" --kernel debian:6.12
		is '.runs[0].verdict == "FAIL" and (.runs[0].boots | length) == 2'
		tr '\n' ' ' <"$work/board/log" >"$work/out"
		if [ "$kind" = ram ]; then
			prints "deploy on reset reset off "
			holds_panic
		else
			prints "deploy on reset off deploy on reset off "
			is '.runs[0].boots | all(has("pstore") | not)'
		fi
	done
	"$top/tests/fixtures/ram_board.py" quit "$work/board"
	wait "$server"
}
[ -z "${STALLRIG_LONG:-}" ] || on_a_board
done_ok
