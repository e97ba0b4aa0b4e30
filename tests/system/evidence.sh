#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever keeps the rig from judging is named, and never becomes PASS or FAIL. The kernel is one
# that would FAIL if it were judged.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12
kernel=(--kernel debian:6.12 --append workqueue.cpu_intensive_thresh_us=0)
once='s/max_invalid: .*/max_invalid: 0/'

missing() { is ".runs[0].reason == \"evidence.$1\" and .runs[0].trials[0].missing_evidence == \"$1\""; }

scenario=$(changed_scenario wrong-cpu "$once" 's/cpu: 0}/cpu: 1}/' 's/cpus: all/cpus: "0"/')
run 125 --scenario "$scenario" "${kernel[@]}"
missing probe-on-cpu

scenario=$(changed_scenario nothing-cached "$once" 's/^  timeout_s:/  drop_cache: true\n&/')
run 125 --scenario "$scenario" "${kernel[@]}"
missing cache-loaded

# read from the device with nobody holding it: the cache goes with the last close
scenario=$(changed_scenario not-held "$once" 's/mount: ro/mount: none/')
run 125 --scenario "$scenario" "${kernel[@]}"
missing cache-loaded

scenario=$(changed_scenario deaf "$once" 's/console_loglevel: 7/console_loglevel: 1/')
run 130 --scenario "$scenario" "${kernel[@]}"
missing console-audible

scenario=$(changed_scenario plain "$once")
run 130 --scenario "$scenario" "${kernel[@]}" --faults lie=1.0,seed=1
missing cut-applied

run 130 --scenario "$scenario" "${kernel[@]}" --faults fail=1.0,seed=1
missing cut-applied
done_ok
