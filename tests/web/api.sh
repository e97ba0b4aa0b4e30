#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every answer of the API is what docs/openapi.json says.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/system/lib.sh
. "$here/../system/lib.sh"

"$build/tests/bench/dashboard_fill" "$work/lab.db" --nights 6 --rigs 3 --kernels 5 --trials 4 --seed 7
"$stallrig" submit --scenario unplug-read --kernel debian:6.12 --store "$work/lab.db" >"$work/out"
echo a-token-of-this-test >"$work/token"
chmod 600 "$work/token"
"$stallrig" serve --port 0 --store "$work/lab.db" --token-file "$work/token" \
	--recordings "$work" >"$work/url" 2>"$work/err" &
server=$!
for _ in $(seq 300); do
	[ -s "$work/url" ] && break
	kill -0 "$server" 2>/dev/null || fail "the server does not start"
	sleep 0.1
done
status=0
"$here/api.py" "$(cat "$work/url")" a-token-of-this-test || status=1
kill "$server"
wait "$server" || fail "the server ended with $?"
exit "$status"
