# shellcheck shell=dash disable=SC2154,SC2086,SC2015,SC2166,SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a guest with the kernel's own checks on: loads and unloads in every order and state, then
# CPUs that come and go under load. Lockdep must still be on at the end: it switches itself off at
# the first thing that it finds, and it must have had room.
#
# Load: processes that are born, read what the modules change, and die. With a pause, for on
# this kernel each takes long.
busy() {
	while :; do
		cat /proc/modules /proc/interrupts >/dev/null 2>&1
		usleep 300000
	done
}

busy &
busy_pid=$!
i=0
while [ $i -lt "$cycles" ]; do
	case $((i % 4)) in
	# what the console prints takes the time of many cycles: only what is really long
	0) arguments='threshold_us=200000' ;;
	1) arguments='period_us=1000 threshold_us=100 console=off' ;;
	2) arguments='cpus=1 probes=normal,kthread console=off' ;;
	3) arguments='probes=unbound,highpri threshold_us=20000 console=off' ;;
	esac
	insmod /latency-mon.ko $arguments && insmod /wq-stall.ko || break
	[ $((i % 3)) != 0 ] || echo 'cpu=1 us=5000 count=10 gap_us=1000' >$stall/inject
	[ $((i % 5)) != 0 ] || cat $lm/state $lm/hist $lm/events $lm/worst $lm/snapshot >/dev/null
	[ $((i % 7)) != 0 ] || control reset
	if [ $((i % 2)) = 0 ]; then
		rmmod wq_stall && rmmod latency_mon || break
	else
		rmmod latency_mon && rmmod wq_stall || break
	fi
	i=$((i + 1))
	[ $((i % 50)) != 0 ] || echo "cycle $i, $(cut -d ' ' -f 1 /proc/uptime) s"
done
check "$cycles loads and unloads: $i" [ "$i" = "$cycles" ]

insmod /latency-mon.ko period_us=1000 threshold_us=20000 console=off
insmod /wq-stall.ko
i=0
while [ $i -lt "$rounds" ]; do
	mode=resched
	[ $((i % 2)) = 0 ] || mode=block
	echo "cpu=1 us=20000 mode=$mode count=3 gap_us=4000" >$stall/inject
	[ $((i % 3)) != 0 ] || echo 'cpu=1 us=10000 pool=highpri' >$stall/inject
	[ $((i % 4)) != 0 ] || usleep 30000
	echo 0 >$cpu1 || break
	[ $((i % 5)) != 0 ] || cat $lm/state $lm/snapshot >/dev/null
	echo 1 >$cpu1 || break
	i=$((i + 1))
	[ $((i % 25)) != 0 ] || echo "hot-plug $i, $(cut -d ' ' -f 1 /proc/uptime) s"
done
check "$rounds rounds of hot-plug: $i" [ "$i" = "$rounds" ]
probe_value 1 normal beats && beats=$v
sleep 2
probe_value 1 normal beats && check 'the CPU is still probed' [ "$v" -gt "$beats" ]
# each of these may take minutes on a busy host: where a guest was stopped must be told
now() { echo "$1, $(cut -d ' ' -f 1 /proc/uptime) s"; }
now 'unloading'
rmmod wq_stall
rmmod latency_mon
now 'unloaded'
kill $busy_pid

if grep -q kmemleak=off /proc/cmdline; then
	now 'kmemleak is off'
else
	# it tells of what has been unreferenced for two scans
	echo scan >/sys/kernel/debug/kmemleak
	now 'first scan done'
	sleep 6
	echo scan >/sys/kernel/debug/kmemleak
	now 'second scan done'
	cat /sys/kernel/debug/kmemleak >/tmp/leaks
	check 'kmemleak finds nothing of the modules' [ "$(grep -c 'latency_mon\|wq_stall\|lm_' /tmp/leaks)" = 0 ]
	grep -A 12 'latency_mon\|wq_stall\|lm_' /tmp/leaks | head -n 40
fi
grep -E 'lock-classes|debug_locks|max lock' /proc/lockdep_stats
grep -q 'debug_locks: *1' /proc/lockdep_stats && ok 'lockdep is still on' || failed 'lockdep is still on'
