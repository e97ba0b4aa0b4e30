#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A target that is booted as a board is: U-Boot, TFTP, one serial line for all. How a boot can stop
# is in tests/unit/test_boot_uboot.c; here is what a run makes of it.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

kernel=debian:6.1
if ! "$stallrig" kernel fetch debian:6.1 --arch arm64 >"$work/out" 2>"$work/err"; then
	need_kernel debian:6.12 --arch arm64
	kernel=debian:6.12
fi
# a kernel that panics at each boot: as often as the rig allows, each time recorded, and its own fault
expect 125 "$stallrig" run --rig virtual-uboot --scenario unplug-read --kernel $kernel \
	--append "init=/nothing rdinit=/nothing root=/dev/nothing" --json "$work/run.json"
no_orphans
is '.runs[0].verdict == "UNTESTABLE" and (.runs[0].untestable | test("crash-at-boot.*2 boots in a row"))'
recording=$(sed -n 's/^recordings *//p' "$work/out")
for n in 1 2; do
	grep -qa 'Starting kernel' "$recording/boot-$n/console.raw" ||
		fail "boot $n has no boot loader on its console"
	grep -qa 'Kernel panic - not syncing' "$recording/boot-$n/console.raw" ||
		fail "boot $n has no panic on its console"
	n_checks=$((n_checks + 2))
done

# a switch at the end of its budget is not even asked: what earlier runs have worn out counts
export STALLRIG_RIGS=$work/rigs
mkdir "$STALLRIG_RIGS"
sed 's/^name: .*/name: worn/; s/size_mib: .*/size_mib: 64/; s/file_mib: .*/file_mib: 32/
	s/driver: qmp/driver: exec/; s/max_cycles: 0/max_cycles: 1500/; /^ *# /d
	s|^      port: 1|      turn_on: ["touch", "'"$work"'/was-on"]\n      turn_off: ["true"]|' \
	"$top/fixtures/rigs/virtual-uboot.yaml" >"$STALLRIG_RIGS/worn.yaml"
wear() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("INSERT INTO wear VALUES (?, ?, ?, ?, 0, 0)", sys.argv[2:])' "$STALLRIG_STATE/results.db" "$@"
}
# refused PART: a run ends before the switch is used
refused() {
	expect 130 "$stallrig" run --rig worn --scenario unplug-read --kernel $kernel --json "$work/run.json"
	is '.runs[0].verdict == "RIG-FAULT" and .runs[0].reason == "rig.boot"'
	jq -r '.runs[0].rig_fault' "$work/run.json" >"$work/out"
	prints "worn out: $1 times, max_cycles is 1500"
	[ ! -e "$work/was-on" ] || fail "a worn switch was used"
}
wear worn switch stick0 1500
wear elsewhere stick STALLRIG0003 1600
refused "stick 'STALLRIG0003' was cut 1600"
expect 0 "$stallrig" rig wear elsewhere --replaced STALLRIG0003
refused "the switch was cut 1500"
expect 129 "$stallrig" rig wear elsewhere --replaced STALLRIG0003
says "'STALLRIG0003' is no part of it that was ever cut"

done_ok
