#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What cmake --install puts somewhere works from there, with its own data and agent.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

unset STALLRIG_DATA STALLRIG_RIGS STALLRIG_SCENARIOS
cmake --install "$build" --prefix "$work/usr" >/dev/null
installed=$work/usr/bin/stallrig
share=$work/usr/share/stallrig

need_kernel debian:6.1
kernel=$(cat "$work/out")

sed 's/^name: .*/name: only-here/' "$top/hil/scenarios/unplug-read.yaml" >"$share/hil/scenarios/only-here.yaml"
expect 0 "$installed" scenario check only-here
expect 129 "$stallrig" scenario check only-here

status=0
"$installed" run --rig virtual-x86 --scenario only-here --kernel "$kernel" --trials 1 --json "$work/run.json" \
	>"$work/out" 2>"$work/err" </dev/null || status=$?
no_orphans
# a busy host may keep it from a verdict; a trial there was
[ "$status" -le 1 ] || [ "$status" -eq 125 ] || fail "exit status $status"
is '.runs[0] | .scenario == "only-here" and (.trials | length) >= 1'

mkdir "$work/elsewhere"
mv "$work/usr/libexec/stallrig/stallrig-agent" "$work/elsewhere/"
echo 'no program' >"$work/usr/libexec/stallrig/stallrig-agent"
expect 129 "$installed" run --rig virtual-x86 --scenario only-here --kernel "$kernel" --trials 1
no_orphans
says "libexec/stallrig/stallrig-agent"
done_ok
