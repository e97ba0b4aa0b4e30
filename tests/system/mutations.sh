#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel is built from source with a failure put in and without it: the first must FAIL, the second
# PASS. Kernels stay in the cache.
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
done_ok
