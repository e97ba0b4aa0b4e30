# shellcheck shell=dash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest: phases of idling without a probe, with the classic monitor and with latency-mon
# at its defaults, in turn. The host takes the times of the virtual CPUs' threads at the marks.
# /phases: "seconds rounds".
read -r seconds rounds </phases
echo 1 >/proc/sys/kernel/sched_schedstats
# a line of the probe in the middle of a number would make it another one
dmesg -n 1

phase() {
	sleep 1
	echo "### begin $1"
	grep '^cpu' /proc/schedstat
	grep 'LOC:' /proc/interrupts
	head -n 1 /proc/uptime
	sleep "$seconds"
	head -n 1 /proc/uptime
	grep 'LOC:' /proc/interrupts
	grep '^cpu' /proc/schedstat
	echo "### end $1"
}

i=0
while [ $i -lt "$rounds" ]; do
	phase none
	insmod /classic_mon.ko quiet=1
	phase classic
	rmmod classic_mon
	insmod /latency-mon.ko
	phase latency-mon
	rmmod latency_mon
	insmod /latency-mon.ko period_us=100000
	phase latency-mon-100ms
	rmmod latency_mon
	i=$((i + 1))
done
ok 'measured'
