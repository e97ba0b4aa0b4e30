#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A virtual machine that is starved by its host says nothing about its kernel: the same boot that comes
# to no end is UNTESTABLE where nobody can say whether the host was busy, and a RIG-FAULT, run again
# later, while the host really is.
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

if ! grep -qs '^some ' /proc/pressure/cpu; then
	echo "left out: this kernel has no pressure stall information (/proc/pressure/cpu)"
	exit 77
fi
need_kernel debian:6.12
# no kernel comes up that soon if it takes a second for each line, on however good a host
sed -e 's/^  timeout_s: .*/  timeout_s: 2/' -e 's/^  append: "/&boot_delay=1000 /' -e 's/^    size_mib: .*/    size_mib: 48/' \
	-e 's/^    file_mib: .*/    file_mib: 32/' "$top/fixtures/rigs/virtual-x86.yaml" >"$work/virtual-x86.yaml"
grep -q 'timeout_s: 2$' "$work/virtual-x86.yaml" || fail "the rig's description has no timeout"
grep -q boot_delay "$work/virtual-x86.yaml" || fail "the rig's description has no command line"

boot() {
	expect "$1" "$stallrig" run --rig "$work/virtual-x86.yaml" --scenario unplug-read --kernel debian:6.12 \
		--trials 1 --json "$work/run.json"
	no_orphans
}

# lib.sh gives no word of the host's load
boot 125
is '.runs[0].verdict == "UNTESTABLE"'

busy=()
# shellcheck disable=SC2317 # called by the trap
end_load() {
	[ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || :
	clean_up
}
trap end_load EXIT
for _ in $(seq $(($(nproc) * 4))); do
	sh -c 'while :; do :; done' &
	busy+=($!)
done

unset STALLRIG_HOST_LOAD
boot 130
is '.runs[0].verdict == "RIG-FAULT"'
grep -q 'host overloaded (in [0-9]* % of this boot a task waited for a processor)' "$work/err" "$work/out" "$work/run.json" ||
	fail "the host is not blamed"

# in the queue it is a try that failed, and not the end of the job
expect 0 "$stallrig" submit --rig "$work/virtual-x86.yaml" --scenario unplug-read --kernel debian:6.12 --trials 1
expect 0 "$stallrig" worker --rig "$work/virtual-x86.yaml" --until-empty
expect 0 "$stallrig" queue --all --json "$work/run.json"
is '.jobs | length == 1'
is '.jobs[0] | .state == "queued" and .attempts == 1 and .verdict == "RIG-FAULT"'
done_ok
