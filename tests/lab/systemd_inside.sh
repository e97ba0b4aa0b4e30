#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Inside the container of systemd.py, as root under systemd: each check says "ok: …" or "FAILED: …".
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

ok() { echo "ok: $*"; }

fail() {
	echo "FAILED: $*"
	systemctl status --no-pager -l 'stallrig-*' 2>&1 | tail -n 40
	journalctl --no-pager -n 40 -u 'stallrig-*' 2>&1
	exit 1
}

# check WHAT COMMAND…
check() {
	local what=$1

	shift
	"$@" || fail "$what: $*"
	ok "$what"
}

# until_true WHAT COMMAND…: within two minutes
until_true() {
	local what=$1

	shift
	for _ in $(seq 240); do
		"$@" && ok "$what" && return
		sleep 0.5
	done
	fail "$what: $*"
}

# property UNIT NAME
property() { systemctl show -p "$2" --value "$1"; }
has() { [ "$(property "$1" "$2")" = "$3" ]; }
differs() { [ -n "$(property "$1" "$2")" ] && [ "$(property "$1" "$2")" != "$3" ]; }

# as_user COMMAND…: as the services are run
as_user() {
	(cd / && setpriv --reuid=stallrig --regid=stallrig --init-groups env STALLRIG_STATE=/var/lib/stallrig \
		STALLRIG_CACHE=/var/cache/stallrig STALLRIG_PLANS=/test/plans "$@")
}

# report JQ-EXPRESSION: true of the runs in the store
report() { as_user stallrig report --last=100 --json - 2>/dev/null | jq -e "$1" >/dev/null; }
queue() { as_user stallrig queue --all --json - 2>/dev/null | jq -e "$1" >/dev/null; }
logged() { journalctl --no-pager -o cat -u "$1" | grep -q "$2"; }

check "the user comes with the units" systemd-sysusers
systemctl daemon-reload
check "systemd has nothing to say against the installed units" systemd-analyze verify --man=no \
	/usr/local/lib/systemd/system/stallrig-*

# ---- a worker: ready, busy, hung, back

mkdir -p /run/systemd/system/stallrig-worker@.service.d
printf '[Service]\nWatchdogSec=4\nRestartSec=1\n' >/run/systemd/system/stallrig-worker@.service.d/soon.conf
systemctl daemon-reload
worker=stallrig-worker@virtual-x86.service
check "a start waits until the worker takes jobs" systemctl start "$worker"
check "it runs" has "$worker" ActiveState active
check "it is no root" [ "$(stat -c %U "/proc/$(property "$worker" MainPID)")" = stallrig ]
check "its state says what it does" differs "$worker" StatusText ""
check "a job for it" as_user stallrig submit --replay /test/run
until_true "it does the job" queue '.jobs | length == 1 and .[0].state == "done"'
until_true "its state tells of it" logged "$worker" "job 1: replay"
first=$(property "$worker" MainPID)
sleep 5
check "it lives on although nothing is to be done" has "$worker" MainPID "$first"
kill -STOP "$first"
until_true "one that hangs is killed" logged "$worker" "Watchdog timeout"
until_true "and comes back" differs "$worker" MainPID "$first"
until_true "as a worker that is ready" has "$worker" ActiveState active
check "another job" as_user stallrig submit --replay /test/run
until_true "which is done" queue '[.jobs[] | select(.state == "done")] | length == 2'
check "a stop is no failure" systemctl stop "$worker"
check "not even in its state" has "$worker" Result success
check "a worker for no rig does not start" bash -c '! systemctl start stallrig-worker@nosuch.service'
check "and says so as an error" bash -c \
	'journalctl --no-pager -o cat -p err -u stallrig-worker@nosuch.service | grep -q "^stallrig: .*nosuch"'
systemctl stop stallrig-worker@nosuch.service

# ---- a night: begun by what is dropped, then by its timer

night=stallrig-nightly@p.service
check "the folder is watched" systemctl start stallrig-nightly@p.path
check "nothing runs yet" has "$night" ExecMainStartTimestampMonotonic 0
install -d -o stallrig -g stallrig /var/lib/stallrig/drop/p/fresh
install -o stallrig -g stallrig -m 644 /test/kernel/config /var/lib/stallrig/drop/p/fresh/config
install -o stallrig -g stallrig -m 644 /test/kernel/image /var/lib/stallrig/drop/p/fresh/bzImage
until_true "a dropped kernel begins a night" differs "$night" ExecMainStartTimestampMonotonic 0
# it has no headers and so no probe: a run without a boot
until_true "which runs the kernel" report '[.runs[] | select(.kernel == "fresh")] | length == 1'
check "with its verdict" report '[.runs[] | select(.kernel == "fresh")][0].verdict == "UNTESTABLE"'
until_true "and ends" has "$night" ActiveState inactive
check "a night with a kernel that cannot be judged is no failure" has "$night" Result success
check "125 it was" has "$night" ExecMainStatus 125
check "the journal has the news" logged "$night" "night-ended: 1 UNTESTABLE"
systemctl stop stallrig-nightly@p.path

before=$(property "$night" ExecMainStartTimestampMonotonic)
mkdir -p /run/systemd/system/stallrig-nightly@.timer.d
printf '[Timer]\nOnActiveSec=1s\nAccuracySec=1s\nRandomizedDelaySec=0\n' \
	>/run/systemd/system/stallrig-nightly@.timer.d/soon.conf
systemctl daemon-reload
check "a timer" systemctl start stallrig-nightly@p.timer
check "with a next time" differs stallrig-nightly@p.timer NextElapseUSecRealtime ""
until_true "begins the next night" differs "$night" ExecMainStartTimestampMonotonic "$before"
until_true "which ends" has "$night" ActiveState inactive
check "and is a night of its own" [ "$(sqlite3 /var/lib/stallrig/results.db 'SELECT count(*) FROM nights')" = 2 ]

# ---- the pages

serve=stallrig-serve.service
check "a start waits until the pages are there" systemctl start "$serve"
check "they are" bash -c 'curl -sf --noproxy "*" http://127.0.0.1:8087/ | grep -q stallrig'
check "a stop is no failure" systemctl stop "$serve"
check "not even in its state" has "$serve" Result success
echo "### end of test"
