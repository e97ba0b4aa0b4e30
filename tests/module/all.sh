# shellcheck shell=dash disable=SC2154,SC2086,SC2015,SC2166,SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest, sourced by init: every probe, parameter, error and read-out of latency-mon and
# wq-stall. What the console and the snapshot hold is checked outside, by check_log.py.
#
# A busy host delays everything here: what must be long is asked for as at least, what must be short
# with a wide margin.
old=0
case $(uname -r) in
[45].* | 6.[0-4].*) old=1 ;;
esac
taskset -p 1 $$ >/dev/null

# --- parameters that are wrong

refused() {
	said=$1
	shift
	if insmod /latency-mon.ko "$@" 2>/dev/null; then
		rmmod latency_mon
		failed "latency-mon $* is refused"
	else
		check "latency-mon $* is refused by name" last_message "$said"
	fi
}
refused 'period_us=0: is not in 1000..10000000' period_us=0
refused 'period_us=999: is not in 1000..10000000' period_us=999
refused 'period_us=10000001: is not in' period_us=10000001
refused "\`-5' invalid for parameter" period_us=-5
refused "\`abc' invalid for parameter" threshold_us=abc
refused 'threshold_us=99: is not in 100..60000000' threshold_us=99
refused 'threshold_us=60000001: is not in' threshold_us=60000001
refused 'cpus=7: is no list of CPUs below 2' cpus=7
refused 'cpus=x: is no list of CPUs' cpus=x
refused 'cpus=: is no list of CPUs' cpus=
refused "probes=normal,foo: 'foo' is none of normal, highpri, unbound, bh, kthread" probes=normal,foo
refused 'probes=normal,normal: normal is named twice' probes=normal,normal
refused "probes=: '' is none of" probes=
refused 'console=loud: is none of extended, classic, off' console=loud
refused 'console=x: is none of extended' format=x
refused 'console=off and format=classic contradict each other' console=off format=classic
[ $old = 0 ] || refused 'this kernel has no BH workqueues' probes=bh
check 'a refused load leaves no files' [ ! -e $lm ]

# --- parameters at their limits

insmod /latency-mon.ko period_us=1000 threshold_us=60000000 cpus=1 probes=highpri format=classic
header_value period_us && check 'period_us=1000 is accepted' [ "$v" = 1000 ]
header_value threshold_us && check 'threshold_us=60000000 is accepted' [ "$v" = 60000000 ]
header_value console && check 'format= is console=' [ "$v" = classic ]
check 'cpus=1 probes=highpri is one probe' [ "$(grep -c '^cpu=1 probe=highpri ' $lm/state):$(wc -l <$lm/state)" = 1:2 ]
check 'parameters can be read back' [ "$(cat /sys/module/latency_mon/parameters/cpus)" = 1 ]
rmmod latency_mon
insmod /latency-mon.ko period_us=10000000 threshold_us=100 console=off format=off cpus=0-1
header_value period_us && check 'period_us=10000000 is accepted' [ "$v" = 10000000 ]
header_value threshold_us && check 'threshold_us=100 is accepted' [ "$v" = 100 ]
rmmod latency_mon

# --- modprobe, defaults, heartbeat

modprobe latency-mon
check 'modprobe latency-mon finds the module' [ -d /sys/module/latency_mon ]
grep -q '^latency_mon version=1 period_us=10000 threshold_us=9000 hz=250 console=extended ' $lm/state &&
	ok 'the defaults are the documented ones' || failed 'the defaults are the documented ones'
check 'the holder is known' grep -q ' holder=1$' $lm/state
check 'default: four probes on two CPUs' [ "$(grep -c '^cpu=[01] probe=\(normal\|highpri\|unbound\|kthread\) ' $lm/state)" = 8 ]
control console=off
# beat PROBE: of CPU 1, from one read of state: sets $clock and $beats
beat() {
	cat $lm/state >/tmp/state
	while read -r l; do
		case $l in
		'latency_mon '*) field "$l" clock_ns && clock=$v ;;
		"cpu=1 probe=$1 "*)
			field "$l" beats && beats=$v
			field "$l" missed && beats=$((beats + v))
			;;
		esac
	done </tmp/state
}
# beats_hold PROBE PERIOD_NS LIMIT: of some seconds at least one in which the host ran the CPU
beats_hold() {
	for _ in 1 2 3 4 5; do
		beat $1 && clock_0=$clock beats_0=$beats
		sleep 1
		beat $1
		off=$((beats - beats_0 - (clock - clock_0) / $2))
		[ "${off#-}" -gt $3 ] || break
	done
	check "$1: each period is a beat or missed, off by $off" [ "${off#-}" -le $3 ]
}
for p in normal highpri unbound kthread; do
	beats_hold $p 10000000 12
done
modprobe -r latency-mon
check 'modprobe -r unloads it' [ ! -d /sys/module/latency_mon ]

# --- wq-stall: what it refuses

insmod /wq-stall.ko max_us=99 2>/dev/null && failed 'wq-stall max_us=99 is refused'
check 'wq-stall max_us=99 is refused by name' last_message 'max_us=99: is not in 100..60000000'
insmod /wq-stall.ko max_us=60000001 2>/dev/null && failed 'wq-stall max_us=60000001 is refused'
modprobe wq-stall
no_inject() {
	if echo "$2" 2>/dev/null >$stall/inject; then
		failed "inject '$2' is refused"
	else
		check "inject '$2' is refused by name" last_message "inject: $1"
	fi
}
no_inject 'cpu=9: is no number in 0..1' 'cpu=9 us=1000'
no_inject 'us=99: is no number in 100..2000000' 'cpu=0 us=99'
no_inject 'us=2000001: is no number in' 'cpu=0 us=2000001'
no_inject 'us=-1: is no number' 'cpu=0 us=-1'
no_inject 'cpu= and us= must be given' 'cpu=0'
no_inject 'cpu= and us= must be given' 'us=1000'
no_inject 'cpu= and us= must be given' ''
no_inject 'pool=x: no such pool' 'cpu=0 us=1000 pool=x'
no_inject 'mode=x: no such mode' 'cpu=0 us=1000 mode=x'
no_inject 'foo= is none of' 'cpu=0 us=1000 foo=1'
no_inject 'us= is given twice' 'cpu=0 us=1000 us=1000'
no_inject 'count=0: is no number in 1..1000' 'cpu=0 us=1000 count=0'
no_inject 'count=1001: is no number in' 'cpu=0 us=1000 count=1001'
no_inject 'gap_us=10000001: is no number in 0..10000000' 'cpu=0 us=1000 gap_us=10000001'
no_inject "'bla' is not key=value" 'cpu=0 us=1000 bla'
if [ $old = 1 ]; then
	no_inject 'pool=bh: this kernel has no BH workqueues' 'cpu=0 us=1000 pool=bh'
else
	no_inject 'mode=sleep: pool=bh allows block, spin and irqoff' 'cpu=0 us=1000 pool=bh mode=sleep'
	no_inject 'mode=resched: pool=bh allows' 'cpu=0 us=1000 mode=resched pool=bh'
fi
no_inject 'us=1000001: mode=irqoff allows at most 1000000' 'cpu=0 us=1000001 mode=irqoff'
no_inject 'a request has less than 160 characters' "cpu=0 us=1000$(printf '%150s' '')"
echo "cpu=0 us=1000$(printf '%145s' '')" >$stall/inject && ok 'a request of 159 characters is taken' ||
	failed 'a request of 159 characters is taken'
echo 0 >$cpu1
no_inject 'CPU 1 is offline' 'cpu=1 us=1000'
echo 1 >$cpu1
i=0
while [ $i -lt 64 ] && echo 'cpu=1 us=100 count=2 gap_us=10000000' >$stall/inject; do i=$((i + 1)); done
check '64 requests may be under way' [ $i = 64 ]
no_inject '64 requests have not ended yet' 'cpu=1 us=100'
rmmod wq_stall
check 'unloading ends what is under way' [ ! -d /sys/module/wq_stall ]

# --- each probe sees a stall of its own pool, and its parts

probes=normal,highpri,unbound,kthread
[ $old = 1 ] || probes=$probes,bh
insmod /latency-mon.ko probes=$probes threshold_us=60000 console=off
insmod /wq-stall.ko max_us=6000000
[ $old = 1 ] || check 'bh is a probe' grep -q 'probe=bh' $lm/state

# A sample may run a while after its stall, and an event is read only once it has ended.
at_least() {
	tries=0
	while longest "$2" "$3" && field "$line" "$4" && [ "${v:-0}" -lt "$5" ] && [ $tries -lt 40 ]; do
		usleep 50000
		tries=$((tries + 1))
	done
	check "$1: cpu=$2 probe=$3 $4=$v of $5 at least" [ "${v:-0}" -ge "$5" ]
}
# held_by FUNCTION CPU PROBE: sets $line to the probe's longest event with that holder, empty if
# there is none. The longest of all may be a moment in which the host did not run the CPU.
held_by() {
	line=
	while read -r l; do
		case $l in
		"cpu=$2 probe=$3 "*" func=$1 "*)
			line=$l
			break
			;;
		esac
	done <$lm/worst
}
# holder_is WHAT CPU PROBE US: stall_work is the holder of such a delay of the probe, and nothing
# that only slept is that of a longer one
holder_is() {
	tries=0
	while held_by stall_work $2 $3 && field "$line" us && [ "${v:-0}" -lt $4 ] && [ $tries -lt 40 ]; do
		usleep 50000
		tries=$((tries + 1))
	done
	stalled=$line us=${v:-0}
	held_by sleep_work $2 $3
	field "$line" us
	check "$1: cpu=$2 probe=$3 was held by stall_work for $us, by sleep_work for ${v:-0}" \
		[ $us -ge $4 -a "${v:-0}" -lt $us ]
	line=$stalled
}
# quiet WHAT CPU PROBE REQUEST…: the probe sees less than 300 ms of the stall, in one of some: what
# it sees may be the host
quiet() {
	what="$1: cpu=$2 probe=$3" c=$2 p=$3
	shift 3
	for _ in 1 2 3 4 5; do
		control reset
		inject "$@"
		probe_value $c $p max_us
		[ "${v:-999999999}" -ge 300000 ] || break
	done
	check "$what max_us=$v below 300000" [ "${v:-999999999}" -lt 300000 ]
}
pools='normal highpri'
[ $old = 1 ] || pools="$pools bh"
for c in 0 1; do
	for p in $pools; do
		control reset
		inject cpu=$c us=200000 pool=$p
		# softirqs run while a worker keeps threads off the CPU; not the other way round
		for q in normal highpri kthread; do
			at_least "block in $p" $c $q us 185000
		done
		[ $p != bh ] || at_least 'block in bh' $c bh wq_us 185000
		holder_is "block in $p" $c $p 185000
		field "$line" mod && check "the holder's module is wq_stall: $v" [ "$v" = wq_stall ]
		field "$line" held_us && check "held_us=$v is the stall" [ "$v" -ge 185000 ]
		field "$line" held_pid && held=$v && field "$line" pid &&
			[ $p = bh ] || check "worker $v is not holder $held" [ "$v" -gt 0 -a "$held" -gt 0 ]
		field "$line" cut && check 'cut=0' [ "$v" = 0 ]
		field "$line" run_cpu && check "run_cpu=$v" [ "$v" = $c ]
	done
	# A sample that became due just before the stall, as the CPU woke up for it, waits for the
	# worker and not for interrupts: some probe must show the interrupts, in one of some stalls.
	best=0
	for _ in 1 2 3 4 5 6; do
		control reset
		inject cpu=$c us=300000 mode=irqoff
		for q in $(echo $probes | tr , ' '); do
			[ $q = unbound ] || at_least 'interrupts off' $c $q us 285000
			field "$line" irq_us
			[ $q = unbound ] || [ "${v:-0}" -le $best ] || best=$v
		done
		[ $best -lt 285000 ] || break
	done
	check "interrupts off: irq_us=$best of cpu=$c" [ $best -ge 285000 ]
	quiet 'a sleeping worker delays nobody' $c normal cpu=$c us=400000 mode=sleep
	[ $old = 1 ] || quiet 'a worker without preemption leaves softirqs alone' $c bh cpu=$c us=400000
done

# The holder is what ran, not what was ready and waited for the CPU like the sample itself: an item
# that slept and woke up under the stall began before it, and ends after it.
for c in 0 1; do
	for p in normal highpri; do
		for q in normal highpri; do
			control reset
			echo cpu=$c us=50000 pool=$q mode=sleep >$stall/inject
			inject cpu=$c us=300000 pool=$p
			for probe in normal highpri kthread; do
				holder_is "block in $p, a sleeper of $q is ready" $c $probe 285000
			done
		done
	done
done

# something that is no work item takes the CPU for TICKS of 10 ms from what kworkers share it
take_cpu() {
	nice -n -20 taskset 2 sh -c "read -r up x </proc/uptime
		end=\$((\${up%.*}\${up#*.} + $1))
		while read -r up x </proc/uptime && [ \${up%.*}\${up#*.} -lt \$end ]; do :; done"
}
thresh=/sys/module/workqueue/parameters/cpu_intensive_thresh_us
[ ! -e $thresh ] || echo 0 >$thresh
control reset
echo cpu=1 us=500000 mode=resched >$stall/inject
usleep 50000
take_cpu 40
wait_stalls
holder_is 'a hog that a thread displaces' 1 normal 400000
field "$line" held_us
check "it held its pool for the whole time: held_us=$v" [ "${v:-0}" -ge 400000 ]
[ ! -e $thresh ] || echo 10000 >$thresh
# a busy host may let the sleep end before the events are read: then it was ready, and counts
for _ in 1 2 3 4 5; do
	control reset
	echo cpu=1 us=1500000 mode=sleep >$stall/inject
	usleep 50000
	take_cpu 30
	cat $lm/events >/tmp/events
	field "$(cat $stall/state)" running && running=$v
	wait_stalls
	[ "$running" = 0 ] || break
done
check "what sleeps holds nothing, it slept: $running" [ "$running:$(grep -c sleep_work /tmp/events)" = 1:0 ]

# What is explained is the stall: the due time minus its true start, and how long it was held from
# then on. In the median, as the host may stop a CPU between the two ends of each.
cat >/tmp/explained.awk <<'AWK'
function number(key,  i, p) {
	for (i = 1; i <= NF; i++) {
		p = index($i, "=")
		if (substr($i, 1, p - 1) == key)
			return substr($i, p + 1) + 0
	}
}
FILENAME ~ /wq_stall/ { start = number("last_start_mono_ns"); end = number("last_end_mono_ns"); next }
$1 == "cpu=" cpu && $2 == "probe=" pool && / func=stall_work / && !found {
	phase = number("due_mono_ns") - start
	off = (phase > 0 ? phase : 0) / 1000 + number("held_us") - (end - start) / 1000
	found = 1
}
END { print found ? int(off < 0 ? -off : off) : "none" }
AWK
for p in normal highpri; do
	for i in 0 1 2 3 4 5 6 7 8; do
		control reset
		inject cpu=$((i % 2)) us=$((70000 + i * 1000)) pool=$p
		at_least 'a stall leaves an event' $((i % 2)) $p us 60000
		awk -v cpu=$((i % 2)) -v pool=$p -f /tmp/explained.awk $stall/state $lm/worst
	done >/tmp/explained
	grep '^FAILED' /tmp/explained
	grep -v : /tmp/explained | sort -n | head -n 5 | tail -n 1 >/tmp/median
	read -r v </tmp/median
	check "$p: phase + held is the stall, off by $v us in the median" [ "$v" -le 4000 ]
done

# A reset loses nothing of a stall that is under way.
for i in 1 2 3 4 5 6; do
	c=$((i % 2))
	echo cpu=$c us=300000 >$stall/inject
	usleep $((i * 20000))
	control reset
	field "$(cat $stall/state)" running
	wait_stalls
	[ "$v" = 0 ] || at_least 'reset during a stall' $c normal us 285000
done

# hogs that offer the CPU: the pool waits, the CPU does not, unless the kernel displaces them
if [ -e $thresh ]; then
	quiet 'CPU_INTENSIVE displaces a hog' 1 normal cpu=1 us=500000 mode=resched
	echo 0 >$thresh
fi
quiet 'a hog leaves the CPU to others' 1 kthread cpu=1 us=500000 mode=resched
at_least 'a hog holds its pool' 1 normal wq_us 400000
[ ! -e $thresh ] || echo 10000 >$thresh

control reset
echo 'cpu=1 us=300000 count=5 gap_us=4000' >$stall/inject
inject cpu=0 us=300000 count=5 gap_us=4000
sleep 0.2
probe_value 0 unbound max_us && longest_us=$v
probe_value 1 unbound max_us
check "unbound work waits if all CPUs are held: $longest_us, $v us" [ "$longest_us" -ge 100000 -o "$v" -ge 100000 ]
control reset
inject cpu=0 us=200000 pool=unbound
field "$(cat $stall/state)" last_cpu && at_least 'block in unbound' "$v" normal us 185000

# --- read-out

control reset
inject cpu=1 us=150000 count=3
echo '### read-out'
cat $lm/events
echo '### worst'
cat $lm/worst
echo '### hist'
cat $lm/hist
echo '### state'
cat $lm/state
echo '### end'
rmmod latency_mon
insmod /latency-mon.ko probes=$probes threshold_us=60000 console=off
inject cpu=1 us=150000 count=3
# the rings must be the same in both forms
control threshold_us=60000000
echo '### before'
cat $lm/state
cat $lm/snapshot >/tmp/snapshot
echo '### after'
cat $lm/state
echo '### text'
cat $lm/events
echo '### snapshot'
gzip </tmp/snapshot | base64
echo '### end'

# --- control

no_control() {
	if echo "$2" 2>/dev/null >$lm/control; then
		failed "control '$2' is refused"
	else
		check "control '$2' is refused by name" last_message "$1"
	fi
}
no_control "control: 'foo' is none of reset, threshold_us=N" foo
no_control "control: '' is none of" ''
no_control "control: 'reset' is none of" reset=1
no_control 'threshold_us=99: is not in' threshold_us=99
no_control 'threshold_us=abc: is no number of microseconds' threshold_us=abc
no_control 'period_us=: is no number' period_us=
no_control 'period_us=999: is not in' period_us=999
no_control 'console=x: is none of' console=x
no_control 'a command has less than 64 characters' "reset$(printf '%60s' '')"
control "reset$(printf '%57s' '')" && ok 'a command of 63 characters is taken' ||
	failed 'a command of 63 characters is taken'
control threshold_us=123456
header_value threshold_us && check 'control sets threshold_us' [ "$v" = 123456 ]
control period_us=50000
header_value period_us && check 'control sets period_us' [ "$v" = 50000 ]
sleep 0.1
beats_hold normal 50000000 5
beat normal && beats_0=$beats
control threshold_us=60000000
control reset
beat normal
check 'reset leaves the heartbeat' [ "$beats" -ge "$beats_0" ]
header_value events && check 'reset leaves no event' [ "$v" = 0 -a ! -s $lm/events -a ! -s $lm/worst ]
control threshold_us=123456
inject cpu=1 us=250000
probe_value 1 normal over && check "over=$v counts the event" [ "$v" -ge 1 ]
header_value seq && check 'console=off prints nothing' [ "$v" = 0 ]
control period_us=1000

# the rings at their limit, and no event is lost without being counted
control threshold_us=100
control console=extended
sleep 1
control console=off
control threshold_us=60000000
sum=0
while read -r l; do
	field "$l" over && [ -n "$v" ] && sum=$((sum + v))
done <$lm/state
header_value events && events=$v
field "$line" lost
check "$sum over = $events events + $v lost" [ "$sum" = $((events + v)) ]
check "the rings hold 64 of $events" [ "$(wc -l <$lm/events):$(wc -l <$lm/worst)" = 64:64 ]
rmmod latency_mon

# --- stalls that have not ended

echo '### live begins'
insmod /latency-mon.ko threshold_us=60000
# On a busy host the stall may be over before it is looked at twice.
for _ in 1 2 3 4 5; do
	echo cpu=1 us=4000000 >$stall/inject
	sleep 1
	probe_value 1 normal pending_us && pending=$v
	dmesg | tail -n 40 >/tmp/tail
	sleep 0.5
	probe_value 1 normal pending_us && later=$v
	field "$(cat $stall/state)" running && running=$v
	wait_stalls
	[ "$running" = 0 ] || break
done
check 'a live line comes during the stall' grep -q 'cpu=1 probe=normal .* live=1' /tmp/tail
check "pending_us grows during the stall: $pending, $later" [ "$later" -gt "$pending" -a "$pending" -gt 0 ]
check 'it had not ended yet' [ "$running" = 1 ]
sleep 0.3
header_value seq
echo '### live ends'
control reset
echo cpu=1 us=1000000 mode=irqoff >$stall/inject
sleep 0.6
dmesg | tail -n 20 >/tmp/tail
field "$(cat $stall/state)" running && running=$v
if [ "$running" = 1 ]; then
	check 'the neighbour tells of a CPU without interrupts' grep -q 'cpu=1 probe=normal .* live=1' /tmp/tail
else
	ok 'the host was too slow to look while interrupts were off'
fi
sleep 1

# --- classic

control console=classic
echo 0 >/sys/module/printk/parameters/time
control threshold_us=200000
control reset
echo '### classic begins'
inject cpu=1 us=400000
sleep 0.5
header_value seq && seq=$v
control console=off
echo "### classic ends, seq=$seq"
echo 1 >/sys/module/printk/parameters/time
rmmod latency_mon

# --- hot-plug

echo 0 >$cpu1
insmod /latency-mon.ko probes=$probes threshold_us=60000 console=off
probe_value 1 normal online && check 'loaded with CPU 1 offline' [ "$v" = 0 ]
probe_value 1 normal beats && check 'an offline CPU has no beats' [ "$v" = 0 ]
echo 1 >$cpu1
sleep 1
for p in $(echo $probes | tr , ' '); do
	probe_value 1 $p beats && check "$p of a CPU that came up beats: $v" [ "$v" -gt 3 ]
done
probe_value 1 normal online && check 'it is online' [ "$v" = 1 ]
inject cpu=1 us=200000
at_least 'after coming up' 1 normal us 185000
# resched: going down needs the CPU. The hog keeps the pool, and going down withdraws the sample.
[ ! -e $thresh ] || echo 0 >$thresh
control reset
echo cpu=1 us=1500000 mode=resched >$stall/inject
sleep 0.3
echo 0 >$cpu1
check 'a sample of a CPU that goes down ends as an event' grep -q '^cpu=1 probe=normal .* pid=0 .* cut=1' $lm/events
probe_value 1 normal pending_us && check 'nothing of it is pending' [ "$v" = 0 ]
echo 1 >$cpu1
[ ! -e $thresh ] || echo 10000 >$thresh
wait_stalls
field "$(cat $stall/state)" strayed && strayed=$v
for p in $pools; do
	# many, so that some are left however long a busy host takes to get here
	echo "cpu=1 us=10000 count=300 gap_us=10000 pool=$p" >$stall/inject
	sleep 0.2
	echo 0 >$cpu1
	wait_stalls
	field "$(cat $stall/state)" strayed
	check "$p: work of a CPU that went down stalls no other: $v" [ "$v" -gt "$strayed" ]
	strayed=$v
	echo 1 >$cpu1
done
i=0
while [ $i -lt 5 ]; do
	echo 'cpu=1 us=30000 mode=resched count=3' >$stall/inject
	echo 0 >$cpu1
	echo 1 >$cpu1
	i=$((i + 1))
done
probe_value 1 normal beats && beats=$v
sleep 0.5
probe_value 1 normal beats && check 'it beats after five rounds of hot-plug' [ "$v" -gt "$beats" ]

# Unloading waits for no stall: the sample that waits ends as an event, and its line is printed.
[ ! -e $thresh ] || echo 0 >$thresh
for _ in 1 2 3 4 5; do
	control console=extended
	echo 'unload under a stall' >/dev/kmsg
	echo cpu=1 us=3000000 mode=resched >$stall/inject
	sleep 0.5
	rmmod latency_mon
	field "$(cat $stall/state)" running && running=$v
	dmesg | awk '/unload under a stall/ { text = ""; next } { text = text $0 "\n" } END { print text }' >/tmp/tail
	wait_stalls
	[ "$running" = 0 ] || break
	insmod /latency-mon.ko threshold_us=60000 console=off
done
check "the module is unloaded while a stall lasts: running=$running" [ "$running" = 1 ]
check 'a sample that waits at unload is told' grep -q 'cpu=1 probe=normal .* live=0' /tmp/tail
[ ! -e $thresh ] || echo 10000 >$thresh
rmmod wq_stall

# --- load and unload

i=0
while [ $i -lt 50 ]; do
	insmod /latency-mon.ko threshold_us=60000 console=off period_us=1000 && insmod /wq-stall.ko || break
	[ $((i % 5)) != 0 ] || echo 'cpu=1 us=20000 count=10' >$stall/inject
	if [ $((i % 2)) = 0 ]; then rmmod wq_stall && rmmod latency_mon || break; else rmmod latency_mon && rmmod wq_stall || break; fi
	i=$((i + 1))
done
check '50 loads and unloads' [ $i = 50 ]
check 'nothing is left of them' [ "$(n_threads 'latency_[mr]'):$(ls -d $lm $stall 2>/dev/null)" = 0: ]
