#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Known good and known bad kernels get the verdict that they deserve.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# same_again STATUS: the last run, judged again from its recording, has the same result
same_again() {
	local id

	id=$(jq -r '.runs[0].trials[0].id' "$work/run.json")
	expect "$1" "$stallrig" judge "$STALLRIG_STATE/recordings/${id%.*}" --json "$work/again.json"
	jq -S . "$work/run.json" >"$work/run.sorted"
	jq -S . "$work/again.json" >"$work/again.sorted"
	diff "$work/run.sorted" "$work/again.sorted" >"$work/err" || fail "judged again it differs"
}

need_kernel debian:6.12
if "$stallrig" kernel fetch debian:6.1 >/dev/null 2>&1; then
	run 1 --scenario unplug-read --kernel debian:6.1 --trials 4
	is '.runs[0].verdict == "FAIL" and .runs[0].reason == "over-limit"'
	is '.runs[0].valid >= 2 and .runs[0].over == .runs[0].valid and .runs[0].worst_ms > 50'
	is '[.runs[0].trials[] | select(.valid)] | length >= 2'
	# the trial page names what held the pool, and every number leads to recorded bytes
	trial=$(jq -r '.runs[0].trials[0].id' "$work/run.json")
	expect 0 "$stallrig" show "$trial"
	grep -q 'USB disconnect' "$work/out" || fail "show: no disconnect"
	grep -q 'control-positive' "$work/out" || fail "show: no evidence"
	grep -q 'DELAY:' "$work/out" || fail "show: no DELAY line"
	grep -q 'hub_event' "$work/out" || fail "show: does not name hub_event"
	same_again 1
	# one boot's console alone condemns it too
	recording=$(find "$STALLRIG_STATE/recordings" -name console.raw | sort | head -n 1)
	expect 1 "$stallrig" judge --scenario unplug-read "$(dirname "$recording")"
else
	echo "the registry has no debian:6.1; its rows are left out" >&2
fi

run 0 --scenario unplug-read --kernel debian:6.12
is '.runs[0].verdict == "PASS" and .runs[0].valid == 8 and .runs[0].over == 0'
is '.runs[0].strength | test("^0 of 8 \\([2-9] boots\\) over 50 ms")'
is '.runs[0].worst_ms < 50'
same_again 0
# the same recording without its last trial passes no more
id=$(jq -r '.runs[0].trials[0].id' "$work/run.json")
cp -r "$STALLRIG_STATE/recordings/${id%.*}" "$work/short"
rm "$(printf '%s\n' "$work"/short/trial-*.json | sort -V | tail -n 1)"
expect 130 "$stallrig" judge "$work/short"
says "is missing, the run has"

run 1 --scenario unplug-read --kernel debian:6.12 --append workqueue.cpu_intensive_thresh_us=0 \
	--trials 2
is '.runs[0].verdict == "FAIL" and .runs[0].over == 2'

expect 0 "$stallrig" report --last=2 --json "$work/report.json" --html "$work/report.html"
grep -q 'PASS' "$work/out" || fail "report: no PASS"
jq -e '.runs | length == 2' "$work/report.json" >/dev/null || fail "report: not two runs"
grep -q '<svg' "$work/report.html" || fail "report: no plot"
done_ok
