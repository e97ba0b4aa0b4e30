#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# judge on logs as people have them: what they say, and what cannot be said from them.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

logs=$top/fixtures/recordings

prints() {
	grep -qF -- "$1" "$work/out" || fail "stdout does not say: $1"
	n_checks=$((n_checks + 1))
}

# a delay of 6782 ms after a disconnect
expect 1 "$stallrig" judge "$logs/unplug-delay-classic.log"
prints "FAIL  over-limit: 1 of 3 delays over 50 ms, worst 6782 ms"
expect 1 "$stallrig" judge --json - "$logs/unplug-delay-classic.log"
prints '"worst_ms":6782.0'

# a disk that became slow has no line in the kernel's log: that is not a pass
expect 125 "$stallrig" judge "$logs/iops-collapse.log"
prints "INCONCLUSIVE  evidence.probe-running"
prints "a slow device has no line at all"

# a lockup of 72 s with its dump
expect 1 "$stallrig" judge "$logs/workqueue-lockup-5.10.log"
prints "FAIL  workqueue-lockup"
prints "worst 72 s"
prints "psi_avgs_work of events, 15 waiting behind it"

# an RCU stall's length comes behind its head, in jiffies, and in seconds where the boot said HZ
expect 1 "$stallrig" judge "$logs/rcu-stall.log"
prints "FAIL  rcu-stall: rcu_sched, for 5252 jiffies"
prints "worst 5252 jiffies"
expect 1 "$stallrig" judge --json - "$logs/boot-sysrq-6.12.log"
prints '"worst_s":422,"worst_jiffies":105749'

# a table of perf is no console log
cat >"$work/perf.txt" <<'END'
# Overhead  Command          Shared Object      Symbol
# ........  ...............  .................  .............................
    18.20%  kworker/0:1-eve  [kernel.kallsyms]  [k] invalidate_mapping_pages
     9.71%  kworker/0:1-eve  [kernel.kallsyms]  [k] release_pages
END
expect 129 "$stallrig" judge "$work/perf.txt"
says "perf.txt: not a console log: no kernel message in 4 lines"

# nothing, noise, a folder, several files, the standard input
: >"$work/empty"
expect 125 "$stallrig" judge "$work/empty"
prints "the log is empty"
expect 129 timeout 60 "$stallrig" judge /dev/urandom
says "/dev/urandom: not a console log"
mkdir "$work/dir"
cp "$logs/unplug-delay-classic.log" "$work/dir/a.log"
gzip -c "$logs/workqueue-lockup-5.10.log" >"$work/dir/b.gz"
zstd -qc "$logs/hung-task.log" >"$work/dir/c.zst"
xz -c "$logs/rcu-stall.log" >"$work/dir/d.xz"
expect 1 "$stallrig" judge "$work/dir"
prints "dir/a.log"
prints "dir/b.gz"
prints "dir/c.zst"
prints "dir/d.xz"
status=0
"$stallrig" judge --quiet <"$logs/unplug-delay-classic.log" >"$work/out" || status=$?
[ "$status" -eq 1 ] || fail "standard input: status $status"
[ ! -s "$work/out" ] || fail "--quiet prints"

# waivers: the lockup is known, so nothing condemns this log
cat >"$work/waivers.yaml" <<'END'
waivers:
  - class: workqueue-lockup
    match: "cpus=2 *"
    reason: known since the board came
END
expect 125 "$stallrig" judge --waivers "$work/waivers.yaml" "$logs/workqueue-lockup-5.10.log"
prints "waived: known since the board came"
sed -i 's/workqueue-lockup/workqueue-lookup/' "$work/waivers.yaml"
expect 129 "$stallrig" judge --waivers "$work/waivers.yaml" "$logs/hung-task.log"
says "waivers.yaml:2:12: waivers[0].class: 'workqueue-lookup'"

# the rate of the line
expect 1 "$stallrig" judge --baud 115200 "$logs/unplug-delay-classic.log"
prints "% busy"
expect 129 "$stallrig" judge --baud 10 "$logs/unplug-delay-classic.log"
says "--baud"

# a file that grows: each event as it comes, the verdict at the end
: >"$work/grows"
"$stallrig" judge --follow "$work/grows" >"$work/followed" 2>&1 &
follower=$!
await() {
	local i

	for ((i = 0; i < 300; i++)); do
		grep -q "$1" "$work/followed" && return 0
		sleep 0.1
	done
	fail "--follow did not print $1"
}
printf '[    1.000000] usb 2-1: USB disc' >>"$work/grows"
printf 'onnect, device number 2\n' >>"$work/grows"
await usb-disconnect
printf '[    2.000000] DELAY: 640\n' >>"$work/grows"
await "DELAY: 640"
kill -INT "$follower"
status=0
wait "$follower" || status=$?
grep -q "FAIL  over-limit" "$work/followed" || fail "--follow: no verdict at its end ($status)"
n_checks=$((n_checks + 3))

done_ok
