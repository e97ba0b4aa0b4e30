#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What docs/operating.md says of backup, restore and upgrade, done with its own commands: while something
# writes, with a job that runs, over SQLite and over a real PostgreSQL.
if [ -z "${STALLRIG_TEST_POSTGRES:-}" ]; then
	exec "$(dirname "$0")/../tools/with_postgres.sh" "$0" "$@"
fi
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
export PATH=$bin:$PATH
recording=$top/fixtures/runs/cut-short
docs=$top/docs/operating.md
# shellcheck disable=SC2153 # lib.sh sets it
db=$STALLRIG_STATE/results.db
export STALLRIG_CACHE=$work/cache

# documented COMMAND: the document has this very command, which the test is about to use
documented() {
	grep -qF -- "$1" "$docs" || fail "docs/operating.md does not say: $1"
	n_checks=$((n_checks + 1))
}

# replays N: puts so many jobs into the queue, and does them
replays() {
	for _ in $(seq "$1"); do
		expect 0 "$stallrig" submit --replay "$recording"
	done
	expect 0 "$stallrig" worker --rig virtual-x86 --until-empty
}

# runs: what the store has, as ids and verdicts; $1 more options
runs() {
	"$stallrig" report --last=1000 --json - "$@" | jq -c '[.runs[] | [.id, .verdict, .reason, .valid]] | sort'
}

wait_for_job() {
	for _ in $(seq 300); do
		"$stallrig" queue --all --json "$work/run.json" >/dev/null
		jq -e "any(.jobs[]; $1)" "$work/run.json" >/dev/null && return 0
		sleep 0.1
	done
	fail "no job is: $1"
}

# ---- SQLite

documented "sqlite3 results.db '.timeout 10000' \".backup 'copy.db'\""
replays 3
before=$(runs)
[ "$(jq length <<<"$before")" = 3 ] || fail "not three runs: $before"
# something goes on writing
(
	while [ -d "$work" ] && [ ! -e "$work/stop" ]; do
		"$stallrig" submit --replay "$recording" >/dev/null
		"$stallrig" worker --rig virtual-x86 --until-empty >/dev/null 2>&1
	done
) &
writer=$!
wait_for_job '.job == 5 and .state == "done"'
# often enough to meet a writer that holds the file
for _ in $(seq 20); do
	(cd "$STALLRIG_STATE" && sqlite3 results.db '.timeout 10000' ".backup 'copy.db'") || fail "no backup"
done
touch "$work/stop"
wait "$writer"
copy=$(runs --store "$STALLRIG_STATE/copy.db")
[ "$(sqlite3 "$STALLRIG_STATE/copy.db" "PRAGMA integrity_check")" = ok ] || fail "the copy is broken"
[ "$(jq --argjson some "$before" '$some - . == []' <<<"$copy")" = true ] || fail "the copy lacks runs"
[ "$(sqlite3 "$STALLRIG_STATE/copy.db" 'SELECT count(*) FROM runs WHERE ended_wall_ns IS NOT NULL')" -ge 4 ] ||
	fail "what was written meanwhile is not there"
# restored over a store that is lost, with what the old one left beside it
head -c 100000 /dev/urandom >"$db"
head -c 5000 /dev/urandom >"$db-wal"
touch "$db-shm"
expect 130 "$stallrig" report --last=1 --json -
documented "remove \`-wal\` and \`-shm\` of the old one"
cp "$STALLRIG_STATE/copy.db" "$db"
rm "$db-wal" "$db-shm"
[ "$(runs)" = "$copy" ] || fail "the restored store is another one"
replays 1
[ "$(runs | jq length)" -gt "$(jq length <<<"$copy")" ] || fail "the restored store takes no runs"
n_checks=$((n_checks + 6))

# ---- PostgreSQL, with a job that runs when the dump is made

export STALLRIG_STORE=$STALLRIG_TEST_POSTGRES
server=${STALLRIG_STORE%/*}
replays 2
# the recording of a run that was kept for the other hosts comes with the dump
id=$("$stallrig" report --last --json - | jq -r '.runs[0].id')
mkdir "$work/recordings"
cp -r "$recording" "$work/recordings/$id"
# a replay's recording lies where the run was made
psql -qX "$STALLRIG_STORE" -c "UPDATE stallrig.boots SET recording = '$work/recordings/$id/boot-1'" ||
	fail "no recording"
expect 0 "$stallrig" store keep "$id"
# a worker that is killed with its job in hand
expect 0 "$stallrig" submit --replay "$recording"
job=$(cat "$work/out")
psql -qX "$STALLRIG_STORE" -c "UPDATE stallrig.jobs SET state = 'running', worker = 'gone.1.0', attempts = 1,
	lease_until_wall_ns = 1 WHERE job = $job" || fail "no job to run"
before=$(runs)
documented 'pg_dump --format=custom --schema=stallrig --file=stallrig.dump DATABASE'
pg_dump --format=custom --schema=stallrig --file="$work/stallrig.dump" "$STALLRIG_STORE" || fail "no dump"
psql -qX "$server/postgres" -c 'CREATE DATABASE restored' || fail "no database"
documented 'pg_restore --dbname=DATABASE stallrig.dump'
pg_restore --dbname="$server/restored" "$work/stallrig.dump" || fail "no restore"
export STALLRIG_STORE=$server/restored
[ "$(runs)" = "$before" ] || fail "the restored database has other runs"
rm -rf "$work/recordings"
expect 0 "$stallrig" store fetch "$id"
diff -r "$recording" "$(cat "$work/out")" || fail "the recording is another one"
# the job that ran is taken again, and new ones get new numbers
expect 0 "$stallrig" worker --rig virtual-x86 --until-empty
wait_for_job ".job == $job and .state == \"done\" and .attempts == 2"
replays 1
[ "$(cat "$work/out" && runs | jq length)" = "$(($(jq length <<<"$before") + 2))" ] || fail "not two runs more"
n_checks=$((n_checks + 4))

# ---- upgrade: reading an old store says what is to be done, the first that writes brings it up

# upgrade STORE: of version 1
upgrade() {
	export STALLRIG_STORE=$1
	expect 130 "$stallrig" report --last --json -
	says "schema version 1 is older than"
	expect 0 "$stallrig" worker --rig virtual-x86 --until-empty
	expect 0 "$stallrig" report --last --json "$work/run.json"
	is '.runs | length == 1'
	replays 1
}

sqlite3 "$work/old.db" <"$top/fixtures/stores/v1-sqlite.sql"
upgrade "$work/old.db"
psql -qX "$server/postgres" -c 'CREATE DATABASE old' || fail "no database"
psql -qX -v ON_ERROR_STOP=1 -f "$top/fixtures/stores/v1-postgres.sql" "$server/old" >/dev/null || fail "no old store"
upgrade "$server/old"
done_ok
