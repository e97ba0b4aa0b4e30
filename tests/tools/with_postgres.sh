#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# with_postgres.sh COMMAND...: runs the command beside a PostgreSQL of its own on loopback, which ends
# with it. The command gets STALLRIG_TEST_POSTGRES, the location of an empty database, and
# STALLRIG_TEST_POSTGRES_PID, the file whose first line is the server's process id; a server that
# was ended is started again. PG_OPTIONS may hold lines for postgresql.conf.
set -euo pipefail

self=$(realpath "$0")
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
[ -x "$bin/postgres" ] || {
	echo "with_postgres: no server in /usr/lib/postgresql: hil/setup installs it" >&2
	exit 1
}

# the server refuses to run as root
as_user=()
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

if [ "$1" = --serve ]; then
	while [ ! -e "$2/stop" ]; do
		"${as_user[@]}" setpriv --pdeathsig QUIT "$bin/postgres" -D "$2/data" \
			>>"$2/log" 2>&1 || true
		sleep 0.1
	done
	exit
fi

dir=$(mktemp -d /tmp/stallrig-postgres-XXXXXX)
serve=
# shellcheck disable=SC2317 # called by the trap
finish() {
	local pid=

	touch "$dir/stop"
	[ ! -e "$dir/data/postmaster.pid" ] || pid=$(head -1 "$dir/data/postmaster.pid")
	# the file stays behind when a server was killed
	[ "$(cat "/proc/${pid:-0}/comm" 2>/dev/null)" != postgres ] || kill -INT "$pid" || true
	[ -z "$serve" ] || wait "$serve" || true
	rm -rf "$dir"
}
trap finish EXIT

mkdir "$dir/data"
[ ${#as_user[@]} -eq 0 ] || chown 65534:65534 "$dir" "$dir/data"
cd "$dir"
"${as_user[@]}" "$bin/initdb" -D "$dir/data" -U stallrig -A trust -E UTF8 --locale=C.UTF-8 \
	--no-sync >"$dir/log" 2>&1 || {
	cat "$dir/log" >&2
	exit 1
}
# a port that nobody listens on: the kernel names one
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
fsync = off
shared_buffers = 32MB
${PG_OPTIONS:-}
CONF
setpriv --pdeathsig KILL "$self" --serve "$dir" 2>/dev/null &
serve=$!
cd "$OLDPWD"
url=postgres://stallrig@127.0.0.1:$port
for _ in $(seq 600); do
	"$bin/psql" -qXc 'CREATE DATABASE test' "$url/postgres" >/dev/null 2>&1 && break
	sleep 0.1
done
"$bin/psql" -qXAtc 'SELECT 1' "$url/test" >/dev/null || {
	cat "$dir/log" >&2
	exit 1
}
export STALLRIG_TEST_POSTGRES=$url/test
export STALLRIG_TEST_POSTGRES_PID=$dir/data/postmaster.pid
status=0
"$@" || status=$?
exit "$status"
