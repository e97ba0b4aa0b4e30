#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A target that unplugs its stick by itself: the trial says that it was a soft unplug, and its result
# belongs to a class of its own.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12
sed -e 's/^name: .*/name: soft/' -e 's/driver: qmp/driver: target-port/' \
	-e 's/size_mib: .*/size_mib: 48/' -e 's/file_mib: .*/file_mib: 16/' \
	"$top/fixtures/rigs/virtual-x86.yaml" >"$work/soft.yaml"

# with two trials: the port must be open again for the second one
scenario=$(changed_scenario twice 's/noise_max_ms: .*/noise_max_ms: 10000/')
status=0
"$stallrig" run --rig "$work/soft.yaml" --scenario "$scenario" --kernel debian:6.12 --trials 2 \
	--json "$work/run.json" >"$work/out" 2>"$work/err" </dev/null || status=$?
no_orphans
# what the verdict is depends on how busy the host is: a rig's fault it never is
case $status in 0 | 1 | 125) ;; *) fail "exit status $status" ;; esac
is '.runs[0].trials | length >= 2'
id=$(jq -r '.runs[0].trials[-1].id' "$work/run.json")
"$stallrig" show "$id" --json >"$work/run.json"
is '[.. | objects | select(.name == "cut-applied")][0] | .state == "ok" and (.detail | test("soft unplug"))'
is '[.. | objects | select(.name == "cut-seen")][0].state == "ok"'
is '[.. | objects | select(.name == "replugged")][0].state == "ok"'
expect 0 "$stallrig" report --last=1 --json="$work/run.json"
is '.runs[0].rig_class == "virtual-soft"'

done_ok
