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

done_ok
