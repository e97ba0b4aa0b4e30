# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every system test needs. Sourced; the caller sets -euo pipefail through it.
#
# A test runs the real program against real QEMU with a state folder of its own; kernels and images
# come from the shared cache, because fetching them anew would say nothing new.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${STALLRIG_BUILD:-$top/build}
stallrig=$build/stallrig
cache=${STALLRIG_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stallrig}
work=$(mktemp -d /tmp/stallrig-system-XXXXXX)
export STALLRIG_STATE=$work/state
# kernels that cannot boot are to be UNTESTABLE here whatever else this host does
export STALLRIG_HOST_LOAD=/dev/null
mkdir -p "$STALLRIG_STATE"
n_checks=0

fail() {
	echo "FAIL: $*" >&2
	for f in "$work"/err "$work"/out; do
		[ -s "$f" ] && { echo "--- $(basename "$f")" >&2; tail -n 40 "$f" >&2; }
	done
	exit 1
}

# own_pids NAME: processes of that name that were started under this test's state folder
own_pids() {
	local pid

	for pid in $(pgrep -x "$1"); do
		tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" |
			grep -qxF "STALLRIG_STATE=$STALLRIG_STATE" && echo "$pid"
	done
	return 0
}

# the kernel keeps 15 bytes of a name
qemu_pids() { own_pids qemu-system-x86 && own_pids qemu-system-aar; }

clean_up() {
	local pid

	for pid in $(qemu_pids) $(own_pids stallrig); do
		kill -9 "$pid" 2>/dev/null || :
	done
	rm -rf "$work"
}
trap clean_up EXIT

# expect STATUS COMMAND…: stdout to $work/out, stderr to $work/err
expect() {
	local wanted=$1 status=0

	shift
	"$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	[ "$status" -eq "$wanted" ] || fail "exit status $status, expected $wanted: $*"
	n_checks=$((n_checks + 1))
}

says() {
	grep -qF -- "$1" "$work/err" || fail "stderr does not say: $1"
	n_checks=$((n_checks + 1))
}

prints() {
	grep -qF -- "$1" "$work/out" || fail "stdout does not say: $1"
	n_checks=$((n_checks + 1))
}

# is JQ-EXPRESSION: true of the JSON in $work/run.json
is() {
	jq -e "$1" "$work/run.json" >/dev/null || {
		jq . "$work/run.json" >&2
		fail "not true: $1"
	}
	n_checks=$((n_checks + 1))
}

no_orphans() {
	for _ in $(seq 50); do
		[ -z "$(qemu_pids)" ] && return 0
		sleep 0.1
	done
	fail "a QEMU is still running: $(qemu_pids)"
}

# run STATUS ARGUMENTS…: one run on the virtual rig, its JSON in $work/run.json
run() {
	local wanted=$1

	shift
	rm -f "$work/run.json"
	expect "$wanted" "$stallrig" run --rig virtual-x86 --json "$work/run.json" "$@"
	no_orphans
}

need_kernel() {
	"$stallrig" kernel fetch "$@" >"$work/out" 2>"$work/err" ||
		fail "cannot fetch $*: $(cat "$work/err")"
}

# source_package VERSION: path of Debian's package of that version's source
source_package() {
	local deb=$cache/downloads/linux-source-6.1_$1_all.deb

	if [ ! -s "$deb" ]; then
		mkdir -p "$work/deb"
		(cd "$work/deb" && { apt-get download -q "linux-source-6.1=$1" ||
			{ apt-get update -qq && apt-get download -q "linux-source-6.1=$1"; }; }) \
			>"$work/err" 2>&1 || fail "cannot download linux-source-6.1=$1"
		mkdir -p "$cache/downloads"
		mv "$work/deb/"*.deb "$deb"
	fi
	echo "$deb"
}

# linux_source FOLDER VERSION [PART…]: Debian's kernel source, or these folders of it
linux_source() {
	local folder=$1 deb

	deb=$(source_package "$2") || exit 1
	shift 2
	mkdir -p "$folder"
	dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/src/linux-source-6.1.tar.xz | xz -dc -T0 |
		tar -x -C "$folder" --strip-components=1 "${@/#/linux-source-6.1/}"
}

# small_rig [STICK FILE]: rig with a small stick, of so many MiB, where the failure does not depend on
# what was read
small_rig() {
	sed -e "s/^    size_mib: .*/    size_mib: ${1:-48}/" -e "s/^    file_mib: .*/    file_mib: ${2:-32}/" \
		"$top/fixtures/rigs/virtual-x86.yaml" >"$work/virtual-x86.yaml"
}

# changed_scenario NAME SED-EXPRESSION…: path of a copy of unplug-read with these changes
changed_scenario() {
	local name=$1 file=$work/$1.yaml args=()

	shift
	for e in "$@"; do
		args+=(-e "$e")
	done
	sed -e "s/^name: .*/name: $name/" "${args[@]}" "$top/hil/scenarios/unplug-read.yaml" >"$file"
	cmp -s "$file" "$top/hil/scenarios/unplug-read.yaml" && fail "scenario $name is unchanged"
	echo "$file"
}

# shim SCRIPT-TEXT: a qemu-system-x86_64 in front of the real one; the text may change "$@"
shim() {
	local real

	real=$(command -v qemu-system-x86_64)
	mkdir -p "$work/bin"
	{
		echo '#!/bin/bash'
		echo "$1"
		echo "exec $real \"\$@\""
	} >"$work/bin/qemu-system-x86_64"
	chmod +x "$work/bin/qemu-system-x86_64"
}

# overlay: makes an initramfs $work/overlay.cpio of $work/overlay that QEMU gets after the real one
overlay() {
	(cd "$work/overlay" && find . | cpio -o -H newc --quiet) >"$work/overlay.cpio"
	# shellcheck disable=SC2016 # the shim expands it
	shim '
args=()
while [ $# -gt 0 ]; do
	if [ "$1" = -initrd ]; then
		cat "$2" "'"$work"'/overlay.cpio" >"'"$work"'/initrd"
		args+=(-initrd "'"$work"'/initrd")
		shift 2
	else
		args+=("$1")
		shift
	fi
done
set -- "${args[@]}"'
}

# serve OPTIONS…: a server in the background, its process in $server, its address in $work/url
serve() {
	"$stallrig" serve --port 0 "$@" >"$work/url" 2>"$work/err" &
	# shellcheck disable=SC2034 # for the caller
	server=$!
	for _ in $(seq 300); do
		[ -s "$work/url" ] && return
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	fail "the server does not start"
}

done_ok() { echo "$n_checks passed, 0 failed"; }
