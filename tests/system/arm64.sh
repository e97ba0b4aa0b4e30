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

# a kernel for the wrong machine is refused before anything starts
name=$(jq -r '.runs[0].kernel' "$work/run.json")
expect 129 "$stallrig" run --rig virtual-x86 --scenario unplug-read --kernel "$name"
says "is for arm64"
done_ok
