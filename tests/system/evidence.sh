#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever keeps the rig from judging is named, and never becomes PASS or FAIL. The kernel is one
# that would FAIL if it were judged.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12
kernel=(--kernel debian:6.12 --append workqueue.cpu_intensive_thresh_us=0)
once='s/max_invalid: .*/max_invalid: 0/'

# missing STATUS EVIDENCE ARGUMENTS…: the one trial of the run lacks just this. A busy host may make a
# trial invalid for another reason; then once more. PASS and FAIL are wrong at once.
missing() {
	local wanted=$1 evidence=$2 status

	shift 2
	for _ in 1 2 3; do
		status=0
		rm -f "$work/run.json"
		"$stallrig" run --rig virtual-x86 --json "$work/run.json" "$@" "${kernel[@]}" \
			>"$work/out" 2>"$work/err" </dev/null || status=$?
		no_orphans
		[ "$status" -gt 1 ] || fail "a verdict without $evidence: status $status"
		if [ "$status" -eq "$wanted" ] &&
			jq -e ".runs[0].reason == \"evidence.$evidence\"" "$work/run.json" >/dev/null; then
			is ".runs[0].trials[0].missing_evidence == \"$evidence\""
			return 0
		fi
		echo "once more: $(jq -c '.runs[0] | [.verdict, .reason, .strength]' "$work/run.json")"
	done
	fail "never evidence.$evidence with status $wanted"
}

scenario=$(changed_scenario wrong-cpu "$once" 's/cpu: 0}/cpu: 1}/' 's/cpus: all/cpus: "0"/')
missing 125 probe-on-cpu --scenario "$scenario"

scenario=$(changed_scenario nothing-cached "$once" 's/^  timeout_s:/  drop_cache: true\n&/')
missing 125 cache-loaded --scenario "$scenario"

# read from the device with nobody holding it: the cache goes with the last close
scenario=$(changed_scenario not-held "$once" 's/mount: ro/mount: none/')
missing 125 cache-loaded --scenario "$scenario"

scenario=$(changed_scenario deaf "$once" 's/console_loglevel: 7/console_loglevel: 1/')
missing 130 console-audible --scenario "$scenario"

scenario=$(changed_scenario plain "$once")
missing 130 cut-applied --scenario "$scenario" --faults lie=1.0,seed=1
missing 130 cut-applied --scenario "$scenario" --faults fail=1.0,seed=1
# a console that went silent after the boot is no quiet kernel
missing 130 console-audible --scenario "$scenario" --faults console.stuck=1.0,seed=1

# a bench that does not come up is no kernel's fault
run 130 --scenario "$scenario" "${kernel[@]}" --faults boot.fail=1.0,seed=1
is '.runs[0].verdict == "RIG-FAULT" and .runs[0].reason == "rig.boot" and .runs[0].trials == []'
done_ok
