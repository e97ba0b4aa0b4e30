#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A night and a job of the queue with a scenario that limits shares of a baseline: the build that the
# plan names is measured first, with as many trials as a baseline has, and the other is held against it.
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

export STALLRIG_RIGS=$work/rigs STALLRIG_PLANS=$work/plans STALLRIG_SCENARIOS=$work/scenarios
mkdir "$STALLRIG_RIGS" "$STALLRIG_PLANS" "$STALLRIG_SCENARIOS"
small_rig
# kernels that have different clock sources by chance are not compared
sed 's/no_timer_check"/no_timer_check clocksource=hpet"/' "$work/virtual-x86.yaml" >"$STALLRIG_RIGS/virtual-x86.yaml"
grep -q clocksource=hpet "$STALLRIG_RIGS/virtual-x86.yaml" || fail "the rig's command line has changed"
# three values and two have an interval at that confidence, and a busy host makes no 50th of a rate
cat >"$STALLRIG_SCENARIOS/rate.yaml" <<'END'
name: rate
title: Rate of reading zeros against a baseline
kind: load
needs: {kernel_modules: []}
prepare: {console_loglevel: 7}
loads: [{name: rd, kind: dd, path: /dev/zero, block_kib: 64, jobs: [1], seconds: 1}]
probe: {cpus: all, count: [normal], watch: [], period_us: 20000, threshold_us: 600000}
controls: {stall_ms: 1000, stall_tolerance_ms: 600, noise_max_ms: 60000}
limit: {max_ms: 30000, tolerated_over_pct: 1, confidence_pct: 80}
limits: [{name: rd_1_iops, min_baseline_pct: 2}]
trials: {valid: 2, per_boot: 3, max_invalid: 6, baseline: 3}
END
need_kernel debian:6.1
old=$(cat "$work/out")
need_kernel debian:6.12
new=$(cat "$work/out")
plan() {
	printf '%s\n' "name: p" "rigs: [virtual-x86]" "scenarios: [rate]" \
		"kernels: [{build: $new}, {build: $old}]" "$@" >"$STALLRIG_PLANS/p.yaml"
}

# without the name of a build nothing could be judged
plan
expect 129 "$stallrig" nightly p
says "plan 'p': scenario 'rate' limits shares of a baseline's numbers: the plan must name that build"
expect 129 "$stallrig" nightly p --dry-run

# nor is anything judged where there is nothing but the baseline
plan "baseline: $old"
sed -i "s/{build: $new}, //" "$STALLRIG_PLANS/p.yaml"
expect 125 "$stallrig" nightly p --store "$work/alone.db"
no_orphans
prints "no-baseline"

plan "baseline: $old"
expect 0 "$stallrig" nightly p --json "$work/run.json"
no_orphans
is "[.runs[].kernel] == [\"$old\", \"$new\"]"
is '.runs[0] | .reason == "no-baseline" and .valid == 3 and .planned_valid == 3'
is '.runs[1] | .verdict == "PASS" and .reason == "none-over" and .valid == 2'
grep -q "1 measured as a baseline" "$work/out" "$work/err" || fail "the baseline is not said"

# a job of one's own; the recording has the numbers of both
expect 0 "$stallrig" submit --scenario rate --kernel "$new" --rig virtual-x86 --baseline "$old"
expect 0 "$stallrig" submit --scenario rate --kernel "$new" --rig virtual-x86
expect 0 "$stallrig" submit --scenario rate --kernel "$new" --rig virtual-x86 --baseline none-of-these
expect 0 "$stallrig" worker --rig virtual-x86 --until-empty
says "the named baseline has no run with this scenario on this rig"
no_orphans
expect 0 "$stallrig" report --last=3 --json "$work/run.json"
is '[.runs[] | .reason] | sort == ["no-baseline", "no-baseline", "none-over"]'
id=$(jq -r '.runs[] | select(.reason == "none-over") | .id' "$work/run.json")
expect 0 "$stallrig" judge "$STALLRIG_STATE/recordings/$id"
prints "1 number not worse"
expect 129 "$stallrig" submit --scenario rate --kernel "$new" --baseline debian:6.1
says "'debian:6.1' is a series, not a build"
expect 129 "$stallrig" submit --replay "$STALLRIG_STATE/recordings/$id" --baseline "$old"
done_ok
