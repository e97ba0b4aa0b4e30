#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where the target's CPUs spend their time: in a load that reads zeros, and from the cut of a stick on.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12

# --- a load: most of it is the filling of the buffer
cat >"$work/reads.yaml" <<'YAML'
name: reads
title: Zeros, read by one and by two processes
kind: load
needs: {kernel_modules: []}
prepare: {console_loglevel: 7}
loads:
  - {name: rd, kind: dd, path: /dev/zero, block_kib: 64, jobs: [1, 2], seconds: 3}
profile:
  hz: 199
  sets:
    - {name: zero, functions: [rep_stos_alternative, read_zero]}
    - {name: reading, functions: ["no_such_*"], releases: ["5.*"]}
    - {name: reading, functions: [ksys_read, vfs_read], releases: ["6.*"]}
probe: {cpus: all, count: [normal], watch: [], period_us: 20000, threshold_us: 400000}
controls: {stall_ms: 500, stall_tolerance_ms: 300, noise_max_ms: 60000}
limit: {max_ms: 30000, tolerated_over_pct: 1, confidence_pct: 95}
limits: [{name: "rd_*_zero_ppm", max: 200000}]
trials: {valid: 1, per_boot: 1, max_invalid: 1}
YAML
expect 0 "$stallrig" scenario explain "$work/reads.yaml"
prints "A profile of all CPUs is taken of each load, at 199 Hz."
run 1 --rig virtual-x86 --scenario "$work/reads.yaml" --kernel debian:6.12
is '.runs[0].verdict == "FAIL"'
id=$(jq -r '.runs[0].trials[-1].id' "$work/run.json")
expect 0 "$stallrig" show "$id"
prints "rd_1_samples"
prints "CPUs at 199 Hz by "
grep -qE 'rd_[12]_zero_ppm +[2-9][0-9]{5}$' "$work/out" || fail "no share of the set"
grep -qE '%.* (rep_stos_alternative|read_zero)$' "$work/out" || fail "not among the first functions"
expect 0 "$stallrig" show "$id" --window rd_2 --folded -
grep -qE '^entry_SYSCALL_64.*;ksys_read;vfs_read;read_zero' "$work/out" || fail "no call chain"
expect 0 "$stallrig" show "$id" --flame "$work/flame.svg"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/flame.svg"
grep -q '<title>ksys_read: ' "$work/flame.svg" || fail "no box of ksys_read"
expect 129 "$stallrig" show "$id" --flame - --window cut
says "none of: rd_1, rd_2"
expect 129 "$stallrig" show "$id" --window rd_1
expect 0 "$stallrig" report --last=1 --html="$work/page.html"
grep -q 'Profile of <code>rd_2</code>' "$work/page.html" || fail "no profile in the page"
# the numbers are part of what is judged again
recording=$(echo "$work"/state/recordings/*)
expect 1 "$stallrig" judge "$recording"

# --- a kernel without a function of the set: its share would be 0 whatever happens
sed -i 's/rep_stos_alternative, read_zero/no_function_like_this/' "$work/reads.yaml"
run 125 --rig virtual-x86 --scenario "$work/reads.yaml" --kernel debian:6.12
is '.runs[0].trials[-1].missing_evidence == "loads-done"'
says "no function of set 'zero'"

# --- a stick: from the cut to the end of the window
# shellcheck disable=SC2016 # an expression of sed
scenario=$(changed_scenario profiled '$a profile: {hz: 199}' \
	's/noise_max_ms: .*/noise_max_ms: 10000/' 's/stall_ms: .*/stall_ms: 500/' \
	's/stall_tolerance_ms: .*/stall_tolerance_ms: 300/')
status=0
"$stallrig" run --rig virtual-x86 --scenario "$scenario" --kernel debian:6.12 --trials 1 \
	--json "$work/run.json" >"$work/out" 2>"$work/err" </dev/null || status=$?
# what the verdict is depends on how busy the host is
case $status in 0 | 1 | 125) ;; *) fail "exit status $status" ;; esac
id=$(jq -r '.runs[0].trials[-1].id' "$work/run.json")
expect "$status" "$stallrig" judge "$work/state/recordings/${id%.*}"
expect 0 "$stallrig" show "$id"
prints "cut_samples"
expect 0 "$stallrig" show "$id" --window cut --folded -
grep -qE 'usb_disconnect|hub_event' "$work/out" || fail "the hub's worker is not in the profile"

no_orphans
done_ok
