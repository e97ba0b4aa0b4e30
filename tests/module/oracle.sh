# shellcheck shell=dash disable=SC2154,SC2086
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest: bpftrace takes the time from queueing to execution of every work item that
# waits 100 us or more; latency-mon measures its own. Read by tests/bench/latency-mon-oracle.
mount -t tracefs tracefs /sys/kernel/tracing
read -r rounds </rounds
export BPFTRACE_STRLEN=64
insmod /wq-stall.ko
insmod /latency-mon.ko console=off threshold_us=500
bpftrace /oracle.bt >/tmp/oracle 2>/tmp/oracle.err &
pid=$!
i=0
while ! grep -q ready /tmp/oracle; do
	sleep 0.5
	i=$((i + 1))
	if [ $i -gt 240 ] || ! kill -0 $pid; then
		cat /tmp/oracle.err
		failed 'bpftrace starts'
		break
	fi
done
i=0
while [ $i -lt "$rounds" ]; do
	for us in 2000 5000 20000 100000 500000; do
		for pool in normal highpri; do
			control reset
			inject cpu=$((i % 2)) us=$us pool=$pool
			usleep 30000
			cat $lm/events >>/tmp/events
		done
	done
	i=$((i + 1))
done
kill -INT $pid
wait $pid
echo '### events'
grep -v 'probe=kthread' /tmp/events
echo '### oracle'
grep 'lm_probe_work' /tmp/oracle
echo '### end'
ok 'measured'
