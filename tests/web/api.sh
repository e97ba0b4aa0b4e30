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
serve --store "$work/lab.db" --token-file "$work/token" --recordings "$work"
status=0
"$here/api.py" "$(cat "$work/url")" a-token-of-this-test || status=1
kill "$server"
wait "$server" || fail "the server ended with $?"
exit "$status"
