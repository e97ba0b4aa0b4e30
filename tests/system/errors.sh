#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input: a message that names it, status 129, nothing half done left.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

run_args=(--scenario unplug-read --kernel debian:6.12)

expect 129 "$stallrig"
expect 129 "$stallrig" rnu
says "did you mean"
expect 129 "$stallrig" run --rgi virtual-x86
says "--rig"
expect 129 "$stallrig" run --rig virtual-x86 "${run_args[@]}" --trials 0
says "--trials"
expect 129 "$stallrig" run --rig virtual-x86 "${run_args[@]}" --trials x
says "'x' is not a decimal number"

expect 129 "$stallrig" run --rig virtual-x68 "${run_args[@]}"
says "virtual-x68"
says "virtual-arm64"
expect 129 "$stallrig" run --rig virtual-x86 --scenario unplug-reed --kernel debian:6.12
says "unplug-reed"
expect 129 "$stallrig" run --rig virtual-x86 --scenario unplug-read --kernel debian:9.9
says "debian:9.9"

# YAML: file, line and column
bad() {
	local file

	file=$(changed_scenario bad "$1")
	expect 129 "$stallrig" run --rig virtual-x86 --kernel debian:6.12 --scenario "$file"
	grep -qE "bad\.yaml:[0-9]+:[0-9]+: " "$work/err" || fail "no file:line:column"
	says "$2"
}
bad 's/max_ms: 50/max_sm: 50/' max_sm
bad 's/max_ms: 50/max_ms: soon/' max_ms
bad 's/max_ms: 50/max_ms: 0/' limit.max_ms
sed 's/cpus: 2/cpus: 4096/' "$top/fixtures/rigs/virtual-x86.yaml" >"$work/rig.yaml"
expect 129 "$stallrig" run --rig "$work/rig.yaml" "${run_args[@]}"
grep -qE "rig\.yaml:[0-9]+:[0-9]+: " "$work/err" || fail "rig: no file:line:column"

# a store from a later version
mkdir -p "$STALLRIG_STATE"
expect 129 "$stallrig" report --store "$work/no/such/folder/x.db"
says "x.db"
head -c 5000 /dev/urandom >"$work/noise.db"
expect 130 "$stallrig" report --store "$work/noise.db"
says "noise.db"

# a wrong stick is a bench that is broken, a wrong path is not
sed -e 's/size_mib: .*/size_mib: 48/' -e 's/file_mib: .*/file_mib: 32/' \
	"$top/fixtures/rigs/pi4-host.yaml" >"$work/stick.yaml"
truncate -s 48M "$work/stick"
expect 0 "$stallrig" stick prepare "$work/stick.yaml" --device "$work/stick" --yes
expect 130 "$stallrig" stick verify "$work/stick.yaml" --device "$work/stick"
says "expected 0000"
expect 129 "$stallrig" stick verify "$work/stick.yaml" --device "$work/no-stick"
says "no-stick"

# a program that is missing: named with its package
mkdir -p "$work/path" "$work/cache" "$cache/sticks"
ln -s "$cache/kernels" "$cache/sticks" "$work/cache/"
ln -s /usr/bin/* /usr/sbin/* "$work/path/" 2>/dev/null || :
without() {
	local program=$1

	shift
	rm "$work/path/$program"
	expect 129 env PATH="$work/path" STALLRIG_CACHE="$work/cache" "$stallrig" "$@"
	says "$program"
	ln -s "/usr/bin/$program" "$work/path/"
}
need_kernel debian:6.12
without qemu-system-x86_64 run --rig virtual-x86 "${run_args[@]}"
says "qemu-system-x86"
without busybox run --rig virtual-x86 "${run_args[@]}"
says "busybox-static"
without apt-get kernel fetch debian:6.12

# no verdict was made up on the way
[ -z "$(ls -A "$STALLRIG_STATE/recordings" 2>/dev/null)" ] || fail "recordings were left behind"
[ ! -e "$STALLRIG_STATE/results.db" ] || expect 0 "$stallrig" report --json "$work/report.json"
[ ! -e "$work/report.json" ] || jq -e '.runs == []' "$work/report.json" >/dev/null ||
	fail "runs were left behind"
done_ok
