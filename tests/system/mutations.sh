#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel is built from source with a failure put in and without it: the first must FAIL, the second
# PASS. Kernels stay in the cache.
[ -n "${STALLRIG_LONG:-}" ] || {
	echo "left out: a kernel from source takes many minutes; STALLRIG_LONG=1 runs it"
	exit 77
}
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# a data folder of its own, in which the same edit is said to do nothing
lying_data() {
	mkdir -p "$work/data"
	cp -a "$top/fixtures" "$top/hil" "$top/module" "$top/target-agent" "$work/data/"
	sed -i 's/^Expected: .*/Expected: PASS none-over/' \
		"$work/data/fixtures/kernels/mutations/hub-disconnect-spin.patch"
}

expect 0 "$stallrig" selftest --mutations --mutation hub-disconnect-spin --trials 2 \
	--json "$work/matrix.json" --markdown "$work/matrix.md"
no_orphans
cat "$work/out"
jq -e '.verdict == "PASS" and (.cells | length) == 2' "$work/matrix.json" >/dev/null ||
	fail "not the matrix that is expected"
jq -e '.cells[0] | .mutations == null and .expected_verdict == "PASS" and .as_expected == 1' \
	"$work/matrix.json" >/dev/null || fail "the kernel without the edit"
jq -e '.cells[1] | .mutations == "hub-disconnect-spin" and .expected_verdict == "FAIL" and
	.expected_reason == "over-limit" and .as_expected == 1 and .least_worst_us > 200000' \
	"$work/matrix.json" >/dev/null || fail "the kernel with the edit"
grep -q '^|---' "$work/matrix.md" || fail "no table"

# the build says what it is made of
name=$(jq -r '.cells[1].kernel' "$work/matrix.json")
expect 0 "$stallrig" kernel show "$name" --json
jq -e --arg name "$name" '.mutations == "hub-disconnect-spin" and .origin == "build" and
	(.release | endswith("-" + $name)) and (.source | startswith("linux-source-6.1_"))' \
	"$work/out" >/dev/null || fail "kernel show: $(cat "$work/out")"

# a self-test that could not fail would be worth nothing; nothing is built again for it
lying_data
expect 1 env STALLRIG_DATA="$work/data" "$stallrig" selftest --mutations \
	--mutation hub-disconnect-spin --trials 1 --json "$work/lie.json"
no_orphans
jq -e '.verdict == "FAIL" and .cells[1].false_fail == 1 and .cells[0].as_expected == 1' \
	"$work/lie.json" >/dev/null || fail "the lie was not found"
# a share of a baseline: one more run of the kernel without the edit, which is not counted
cat >"$work/data/hil/scenarios/rate.yaml" <<'YAML'
name: rate
title: Rate of reading zeros against a baseline
kind: load
needs: {kernel_modules: []}
prepare: {console_loglevel: 7}
loads: [{name: rd, kind: dd, path: /dev/zero, block_kib: 64, jobs: [1], seconds: 2}]
probe: {cpus: all, count: [normal], watch: [], period_us: 20000, threshold_us: 600000}
controls: {stall_ms: 1000, stall_tolerance_ms: 600, noise_max_ms: 60000}
limit: {max_ms: 30000, tolerated_over_pct: 1, confidence_pct: 80}
limits: [{name: rd_1_iops, min_baseline_pct: 2}]
trials: {valid: 4, per_boot: 4, max_invalid: 4}
YAML
sed -i 's/^Scenario: .*/Scenario: rate/; s/^Expected: .*/Expected: PASS none-over/' \
	"$work/data/fixtures/kernels/mutations/hub-disconnect-spin.patch"
expect 0 env STALLRIG_DATA="$work/data" "$stallrig" selftest --mutations \
	--mutation hub-disconnect-spin --json "$work/rate.json"
no_orphans
jq -e '[.cells[] | .as_expected == 1 and .valid_trials == 4] == [true, true]' "$work/rate.json" >/dev/null ||
	fail "the matrix of rates: $(cat "$work/rate.json")"

done_ok
