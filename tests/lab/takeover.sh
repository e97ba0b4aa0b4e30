#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A worker that is killed in the middle of a run loses its job to another one, on a real PostgreSQL
# and a real virtual rig; the queue, its rigs and their holders say what goes on.
if [ -z "${STALLRIG_TEST_POSTGRES:-}" ]; then
	exec "$(dirname "$0")/../tools/with_postgres.sh" "$0" "$@"
fi
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"
export STALLRIG_STORE=$STALLRIG_TEST_POSTGRES

# wait_until SECONDS COMMAND…
wait_until() {
	local until=$((SECONDS + $1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.2
	done
}

# job_is NUMBER JQ-EXPRESSION
job_is() {
	# the server may just be away
	"$stallrig" queue --all --json "$work/queue.json" >/dev/null 2>&1 || return 1
	jq -e "any(.jobs[]; .job == $1 and ($2))" "$work/queue.json" >/dev/null
}

need_job() {
	job_is "$@" || {
		jq . "$work/queue.json" >&2
		fail "job $1 is not: $2"
	}
	n_checks=$((n_checks + 1))
}

# start_worker LOG
start_worker() {
	"$stallrig" worker --rig virtual-x86 --lease 5s >"$work/$1" 2>&1 </dev/null &
	worker=$!
}

has_qemu() { [ -n "$(qemu_pids)" ]; }
has_no_qemu() { [ -z "$(qemu_pids)" ]; }

need_kernel debian:6.12

# what is wrong with its words fails at once; what a person holds is left alone
expect 0 "$stallrig" submit --scenario unplug-read --kernel nosuch --rig virtual-x86
expect 0 "$stallrig" lock virtual-x86 --for 1h --why soldering
start_worker first.log
expect 129 "$stallrig" unlock nosuch
sleep 2
need_job 1 '.state == "queued"'
expect 0 "$stallrig" rigs
grep -q 'held .* soldering' "$work/out" || fail "rigs: nobody holds it"
expect 0 "$stallrig" unlock virtual-x86
wait_until 60 job_is 1 '.state == "failed"' || fail "the lock is gone and nothing happens"
need_job 1 '.attempts == 1 and (.error | contains("nosuch"))'

# killed while QEMU runs
expect 0 "$stallrig" submit --scenario unplug-read --kernel debian:6.12 --trials 1
wait_until 300 has_qemu || fail "no QEMU was started"
need_job 2 '.state == "running" and .on_rig == "virtual-x86" and .attempts == 1'
expect 0 "$stallrig" rigs
grep -q 'running .* job 2: unplug-read with debian:6.12' "$work/out" || fail "rigs: not running"
expect 129 "$stallrig" lock virtual-x86 --for 1m
says "is held by"
kill -9 "$worker"
wait "$worker" 2>/dev/null || :
wait_until 20 has_no_qemu || fail "QEMU outlives its worker"
start_worker second.log
wait_until 60 job_is 2 '.state == "running" and .attempts == 2' || fail "nobody took it over"

# the server restarts meanwhile
kill -QUIT "$(head -1 "$STALLRIG_TEST_POSTGRES_PID")"
wait_until 900 job_is 2 '.state == "done"' || {
	cat "$work/second.log" >&2
	fail "it was not done in the end"
}
need_job 2 '.verdict != null and .run != null'
id=$(jq -r '.jobs[] | select(.job == 2) | .run' "$work/queue.json")
expect 0 "$stallrig" report --run "$id" --json "$work/run.json"
is '.runs[0].ended != null'

# cancelled while it runs
# (numbers skip some after a server's crash)
expect 0 "$stallrig" submit --scenario unplug-read --kernel debian:6.12
job=$(grep -oE '[0-9]+' "$work/out" | head -1)
wait_until 300 has_qemu || fail "no QEMU was started"
expect 0 "$stallrig" cancel "$job"
grep -q 'its worker ends it' "$work/out" || fail "cancel says nothing"
wait_until 60 job_is "$job" '.state == "cancelled"' || fail "it was not cancelled"
wait_until 20 has_no_qemu || fail "QEMU outlives its job"

# replays need no rig; SIGTERM ends a worker in order
# shellcheck disable=SC2153 # lib.sh sets it
expect 0 "$stallrig" submit --replay "$STALLRIG_STATE/recordings/$id"
job=$(grep -oE '[0-9]+' "$work/out" | head -1)
wait_until 60 job_is "$job" ".state == \"done\" and .run == \"replay-$job-1\"" || fail "no replay"
kill -TERM "$worker"
wait "$worker" || [ $? -eq 130 ] || fail "the worker's exit status"
expect 0 "$stallrig" rigs
grep -q 'virtual-x86 *free' "$work/out" || fail "rigs: not free in the end"
echo "takeover: $n_checks checks"
