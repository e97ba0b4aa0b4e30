#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The R-Car's architecture on a machine of another one.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

if ! "$stallrig" kernel fetch debian:6.1 --arch arm64 >"$work/out" 2>"$work/err"; then
	need_kernel debian:6.12 --arch arm64
	expect 129 "$stallrig" run --rig virtual-x86 --scenario unplug-read \
		--kernel "$("$stallrig" kernel list --json | jq -r '.kernels[] | select(.arch == "arm64") | .name' | head -n 1)"
	echo "the registry has no debian:6.1 for arm64; its verdict is left out" >&2
	done_ok
	exit 0
fi
expect 1 "$stallrig" run --rig virtual-arm64 --scenario unplug-read --kernel debian:6.1 \
	--trials 2 --json "$work/run.json"
no_orphans
is '.runs[0].verdict == "FAIL" and .runs[0].worst_ms > 50'
is '.runs[0].rig == "virtual-arm64"'

# programs of this machine, as its own architecture has them
cat >"$work/programs.yaml" <<'YAML'
name: programs
title: Programs out of the packages of another architecture
kind: load
needs: {kernel_modules: [], programs: [dmsetup, mkfs.ext4, fstrim, make-bcache]}
prepare:
  console_loglevel: 7
  setup:
    - dmsetup --version; test $? -lt 2
    - dd if=/dev/zero of=/tmp/disk bs=1M count=4 && mkfs.ext4 -q /tmp/disk
    - /bin/fstrim --version # busybox has one, too
    - make-bcache --help 2>&1 | grep -q writeback
loads: [{name: rd, kind: dd, path: /dev/zero, block_kib: 64, jobs: [1], seconds: 1}]
probe: {cpus: all, count: [normal], watch: [], period_us: 20000, threshold_us: 600000}
controls: {stall_ms: 1000, stall_tolerance_ms: 600, noise_max_ms: 60000}
limit: {max_ms: 30000, tolerated_over_pct: 1, confidence_pct: 80}
trials: {valid: 1, per_boot: 1, max_invalid: 2}
YAML
expect 0 "$stallrig" run --rig virtual-arm64 --scenario "$work/programs.yaml" --kernel debian:6.1 \
	--json "$work/run.json"
no_orphans
is '.runs[0].valid == 1'

# a kernel for the wrong machine is refused before anything starts
name=$(jq -r '.runs[0].kernel' "$work/run.json")
expect 129 "$stallrig" run --rig virtual-x86 --scenario unplug-read --kernel "$name"
says "is for arm64"
done_ok
