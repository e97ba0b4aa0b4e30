#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Parts of the target and the bench die in the middle of a trial.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12
kernel=(--kernel debian:6.12 --append workqueue.cpu_intensive_thresh_us=0)
args=(--rig virtual-x86 --scenario unplug-read "${kernel[@]}")

# start_run: in the background; waits for a line of progress
start_run() {
	rm -f "$work/run.json"
	"$stallrig" run "${args[@]}" --json "$work/run.json" >"$work/out" 2>"$work/err" </dev/null &
	run_pid=$!
	for _ in $(seq 900); do
		grep -q "$1" "$work/err" && return 0
		kill -0 "$run_pid" 2>/dev/null || fail "the run ended before '$1'"
		sleep 0.1
	done
	fail "no '$1' within 90 s"
}

finish_run() {
	local status=0

	wait "$run_pid" || status=$?
	[ "$status" -eq "$1" ] || fail "exit status $status, expected $1"
	n_checks=$((n_checks + 1))
	no_orphans
}

# QEMU is killed
start_run ': listening'
kill -9 "$(qemu_pids)"
finish_run 130
is '.runs[0].verdict == "RIG-FAULT" and (.runs[0].reason | test("^rig.machine-ended"))'

# a second run on the same rig, and then a stop by the user
start_run 'trial 1: '
expect 129 "$stallrig" run "${args[@]}" --no-wait
says "$run_pid"
kill -INT "$run_pid"
finish_run 130

# the controller is killed: no orphan, the lock is free, the store is whole
start_run 'trial 1: reading'
kill -9 "$run_pid"
wait "$run_pid" 2>/dev/null || :
no_orphans
expect 0 "$stallrig" report --last=1

# from here on the first trial decides
scenario=$(changed_scenario plain 's/max_invalid: .*/max_invalid: 0/')

# the agent is killed; init starts it again, but the trial has lost it
mkdir -p "$work/overlay"
cp "$build/stallrig-agent" "$work/overlay/agent.real"
cat >"$work/overlay/agent" <<'EOF'
#!/bin/sh
[ -e /agent.killed ] && exec /agent.real "$@"
/agent.real "$@" &
pid=$!
while ! dmesg | grep -q 'stallrig-mark start-1'; do sleep 0.1; done
: >/agent.killed
kill -9 $pid
wait
EOF
chmod +x "$work/overlay/agent"
overlay
PATH=$work/bin:$PATH run 125 --scenario "$scenario" "${kernel[@]}"
is '.runs[0].verdict == "INCONCLUSIVE" and (.runs[0].reason | startswith("evidence."))'

# the kernel panics between load and cut
cat >"$work/overlay/agent" <<'EOF'
#!/bin/sh
while ! dmesg | grep -q 'stallrig-mark start-1'; do sleep 0.1; done && echo c >/proc/sysrq-trigger &
exec /agent.real "$@"
EOF
overlay
PATH=$work/bin:$PATH run 1 --scenario "$scenario" "${kernel[@]}"
is '.runs[0].verdict == "FAIL" and .runs[0].reason == "crash"'
is '.runs[0].trials[0].crash != null'

# the probe module is not a module
mkdir -p "$work/overlay/probe"
rm "$work/overlay/agent" "$work/overlay/agent.real"
: >"$work/overlay/probe/latency-mon.ko"
overlay
PATH=$work/bin:$PATH run 125 --scenario "$scenario" "${kernel[@]}"
is '.runs[0].verdict == "UNTESTABLE" and (.runs[0].reason | startswith("kernel.no-probe"))'
done_ok
