# shellcheck shell=dash disable=SC2154,SC2086
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest: holds pools for known times while latency-mon and the classic monitor watch,
# and prints what was true and what latency-mon says. /requests, a line for each stall:
# "cpu pool us gap_us period_us", in order of the period. Read by tests/bench/latency-mon.
# Before each stall it says what time it is here, so that the host can tell what it did meanwhile.
insmod /classic_mon.ko quiet=1
insmod /wq-stall.ko
insmod /latency-mon.ko console=off

# Of all events of the probe that the stall overlaps the longest; times in CLOCK_MONOTONIC.
cat >/tmp/match.awk <<'AWK'
function get(key,  i, p) {
	for (i = 1; i <= NF; i++) {
		p = index($i, "=")
		if (substr($i, 1, p - 1) == key)
			return substr($i, p + 1)
	}
}
# What substr() returns is text: without + 0, "9..." is not less than "10..." and an event is lost
# whenever the clock gains a digit.
function number(key) { return get(key) + 0 }
FILENAME ~ /wq_stall/ {
	start = number("last_start_mono_ns"); end = number("last_end_mono_ns")
	cpu = get("last_cpu")
	stall = "R req=" request " cpu=" cpu " start=" get("last_start_mono_ns") " end=" get("last_end_mono_ns")
	next
}
FILENAME ~ /state/ {
	if (FNR == 1)
		print stall " events=" get("events")
	next
}
$1 == "cpu=" cpu {
	due = number("due_mono_ns"); us = number("us")
	if (due < end && due + us * 1000 > start && us > most[$2]) {
		most[$2] = us
		text[$2] = "E " $2 " due=" get("due_mono_ns") " us=" us " irq=" get("irq_us") " sched=" get("sched_us") \
			" wq=" get("wq_us") " held=" get("held_us") " func=" get("func")
	}
}
END { for (p in text) print text[p] }
AWK

mark() {
	{ read -r _ && read -r _ && read -r _ _ now_ns _; } </proc/timer_list
	echo "### mark $now_ns"
}

period=10000
i=0
while read -r cpu pool us gap_us new_period_us; do
	if [ $new_period_us != $period ]; then
		control period_us=$new_period_us
		period=$new_period_us
		usleep 30000
	fi
	threshold=$((us / 4))
	# lower, the host's own delays would fill the rings
	[ $us -gt 5000 ] || threshold=$((us / 2))
	control threshold_us=$threshold
	usleep $gap_us
	mark
	control reset
	inject cpu=$cpu pool=$pool us=$us
	# the sample runs after the stall has ended, on a busy host much later
	[ $pool = highpri ] || pool=normal
	tries=0
	while field "$s" last_cpu && probe_value $v $pool pending_us && [ $v -ge $threshold ] &&
		[ $tries -lt 100 ]; do
		usleep 10000
		tries=$((tries + 1))
	done
	# Two rings of 64 must do until they are read: no event of what comes after the stall.
	control threshold_us=60000000
	awk -v request=$i -f /tmp/match.awk $stall/state $lm/state $lm/events $lm/worst
	i=$((i + 1))
done </requests
echo '### classic'
cat /sys/kernel/debug/classic_mon
echo '### end'
rmmod latency_mon
rmmod classic_mon
rmmod wq_stall
ok 'measured'
