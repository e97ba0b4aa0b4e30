#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel store: what is fetched or added is whole, or not there.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12
name=$("$stallrig" kernel list --json | jq -r '.kernels[] | select(.release | startswith("6.12")) |
	select(.arch == "x86_64") | .name' | head -n 1)
[ -n "$name" ] || fail "no 6.12 in the store"
deb=$(find "$cache/downloads" -name 'linux-image-6.12*_amd64.deb' | sort | tail -n 1)
[ -n "$deb" ] || fail "no downloaded package"

# from here on a store of its own
export STALLRIG_CACHE=$work/cache
expect 0 "$stallrig" kernel list
nothing_left() {
	find "$STALLRIG_CACHE/kernels" -mindepth 1 -maxdepth 1 ! -name .lock 2>/dev/null | grep -q . &&
		fail "half a build is left: $(ls -A "$STALLRIG_CACHE/kernels")"
	return 0
}

# a package cut short
head -c 1000000 "$deb" >"$work/short.deb"
expect 129 "$stallrig" kernel add "$work/short.deb" --name short
says "short.deb"
nothing_left

# no space while unpacking
mkdir -p "$work/small"
if mount -t tmpfs -o size=20m tmpfs "$work/small" 2>/dev/null; then
	trap 'umount "$work/small"; clean_up' EXIT
	expect 129 env STALLRIG_CACHE="$work/small/cache" "$stallrig" kernel add "$deb" --name big
	grep -qiE 'space' "$work/err" || fail "does not say that there is no space"
	[ -z "$(find "$work/small" -name 'kernel.json')" ] || fail "half a build is left"
fi

# a whole one, as a user would add it
expect 0 "$stallrig" kernel add "$deb" --name mine
expect 0 "$stallrig" kernel list --json
jq -e '.kernels | length == 1 and .[0].name == "mine" and .[0].hz == 250' "$work/out" >/dev/null ||
	fail "kernel list: $(cat "$work/out")"
expect 0 "$stallrig" kernel remove mine
nothing_left
done_ok
