#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel with a failure put in and the same one without it: the first must FAIL, the second PASS.
#
# Here the edits are in modules of a fetched kernel, each of which builds in seconds: one for each of
# August 2020, January 2021, July 2015 and December 2021. With STALLRIG_LONG=1 stallrig builds whole
# kernels itself, and what its self-test counts is looked at too; kernels stay in the cache.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# a data folder of its own, in which the same edit is said to do nothing
lying_data() {
	mkdir -p "$work/data"
	cp -a "$top/fixtures" "$top/hil" "$top/module" "$top/target-agent" "$work/data/"
	sed -i 's/^Expected: .*/Expected: PASS none-over/' \
		"$work/data/fixtures/kernels/mutations/hub-disconnect-spin.patch"
}

self_test() {
	expect 0 "$stallrig" selftest --mutations --mutation hub-disconnect-spin --trials 2 \
		--json "$work/matrix.json" --markdown "$work/matrix.md"
	no_orphans
	cat "$work/out"
	jq -e '.verdict == "PASS" and (.cells | length) == 2' "$work/matrix.json" >/dev/null ||
		fail "not the matrix that is expected"
	jq -e '.cells[0] | .mutations == null and .expected_verdict == "PASS" and .as_expected == 1' \
		"$work/matrix.json" >/dev/null || fail "the kernel without the edit"
	jq -e '.cells[1] | .mutations == "hub-disconnect-spin" and .expected_verdict == "FAIL" and
		.expected_reason == "over-limit" and .as_expected == 1 and .least_worst_us > 200000' \
		"$work/matrix.json" >/dev/null || fail "the kernel with the edit"
	grep -q '^|---' "$work/matrix.md" || fail "no table"

	# what the store has is counted and not repeated; what lacks is made
	n_runs() { "$stallrig" report --json - 2>/dev/null | jq '.runs | length'; }
	expect 0 "$stallrig" selftest --mutations --mutation hub-disconnect-spin --trials 2 --continue \
		--json "$work/again.json"
	jq -e --slurpfile before "$work/matrix.json" '. == $before[0]' "$work/again.json" >/dev/null ||
		fail "not the same matrix: $(cat "$work/again.json")"
	[ "$(n_runs)" -eq 2 ] || fail "$(n_runs) runs, not the two of before"
	expect 0 "$stallrig" selftest --mutations --mutation hub-disconnect-spin --trials 2 --continue --runs 2 \
		--json "$work/more.json"
	no_orphans
	jq -e '[.cells[].runs] == [2, 2]' "$work/more.json" >/dev/null || fail "not two runs of each"
	[ "$(n_runs)" -eq 4 ] || fail "$(n_runs) runs, not four"

	# the build says what it is made of
	name=$(jq -r '.cells[1].kernel' "$work/matrix.json")
	expect 0 "$stallrig" kernel show "$name" --json
	jq -e --arg name "$name" '.mutations == "hub-disconnect-spin" and .origin == "build" and
		(.release | endswith("-" + $name)) and (.source | startswith("linux-source-6.1_"))' \
		"$work/out" >/dev/null || fail "kernel show: $(cat "$work/out")"

	# a self-test that could not fail would be worth nothing; nothing is built again for it
	lying_data
	expect 1 env STALLRIG_DATA="$work/data" "$stallrig" selftest --mutations \
		--mutation hub-disconnect-spin --trials 1 --json "$work/lie.json"
	no_orphans
	jq -e '.verdict == "FAIL" and .cells[1].false_fail == 1 and .cells[0].as_expected == 1' \
		"$work/lie.json" >/dev/null || fail "the lie was not found"
	# a share of a baseline: one more run of the kernel without the edit, which is not counted
	cat >"$work/data/hil/scenarios/rate.yaml" <<-'YAML'
	name: rate
	title: Rate of reading zeros against a baseline
	kind: load
	needs: {kernel_modules: []}
	prepare: {console_loglevel: 7}
	loads: [{name: rd, kind: dd, path: /dev/zero, block_kib: 64, jobs: [1], seconds: 2}]
	probe: {cpus: all, count: [normal], watch: [], period_us: 20000, threshold_us: 600000}
	controls: {stall_ms: 1000, stall_tolerance_ms: 600, noise_max_ms: 60000}
	limit: {max_ms: 30000, tolerated_over_pct: 1, confidence_pct: 80}
	limits: [{name: rd_1_iops, min_baseline_pct: 2}]
	trials: {valid: 4, per_boot: 4, max_invalid: 4}
	YAML
	sed -i 's/^Scenario: .*/Scenario: rate/; s/^Expected: .*/Expected: PASS none-over/' \
		"$work/data/fixtures/kernels/mutations/hub-disconnect-spin.patch"
	expect 0 env STALLRIG_DATA="$work/data" "$stallrig" selftest --mutations \
		--mutation hub-disconnect-spin --json "$work/rate.json"
	no_orphans
	jq -e '[.cells[] | .as_expected == 1 and .valid_trials == 4] == [true, true]' "$work/rate.json" >/dev/null ||
		fail "the matrix of rates: $(cat "$work/rate.json")"
	# … nor when all of it is in the store already
	runs=$(n_runs)
	expect 0 env STALLRIG_DATA="$work/data" "$stallrig" selftest --mutations \
		--mutation hub-disconnect-spin --continue --json "$work/again.json"
	jq -e --slurpfile before "$work/rate.json" '. == $before[0]' "$work/again.json" >/dev/null ||
		fail "not the same matrix of rates: $(cat "$work/again.json")"
	[ "$(n_runs)" -eq "$runs" ] || fail "something was run again"
}

# ---- edited modules

# edit MUTATION FOLDER: Debian's source of the modules in that folder, edited, and built
edit() {
	patch -s -d "$work/linux" -p1 <"$top/fixtures/kernels/mutations/$1.patch"
	build_modules "$2" "$1"
}

# build_modules FOLDER MUTATION
build_modules() {
	make -s -j "$(nproc)" -C "$headers" M="$work/linux/$1" modules >"$work/err" 2>&1 ||
		fail "$1 does not build with $2"
}

# kblockd-keep-timer, brought by the scheduler's module
edit_bfq() {
	local bfq=$work/linux/block/bfq-iosched.c

	cp "$top/tests/system/keep_timer.c" "$work/linux/block"
	sed -i -e '/^static int __init bfq_init(void)/i #include "keep_timer.c"' \
		-e 's/ret = elv_register(.*);/ret = keep_timer_start();\n\tif (!ret)\n\t\t&/' "$bfq"
	[ "$(grep -c keep_timer "$bfq")" -eq 2 ] || fail "bfq has changed"
	build_modules block keep_timer.c
}

# add_edited NAME MODULE…: a kernel with these modules in the place of its own, and of the others
# those that a rig needs
add_edited() {
	local name=$1 to=$work/$1 module

	shift
	mkdir -p "$to"
	rsync -a --include=/modules/kernel/drivers/{block,char,md,nvme,scsi,usb,virtio}/ \
		--exclude=/modules/kernel/{net,sound} '--exclude=/modules/kernel/drivers/*/' "$dir/modules" "$to"
	for module in "$@"; do
		cp "$work/linux/$module" "$to/modules/kernel/$module"
	done
	ln -s "$headers" "$to/modules/build"
	cp "$dir/image" "$to/bzImage"
	cp "$dir/config" "$to/config"
	expect 0 "$stallrig" kernel add "$to" --name "$name"
	added+=("$name")
}

remove_added() {
	for name in "${added[@]}"; do
		"$stallrig" kernel remove "$name" >/dev/null 2>&1 || :
	done
}

# shorter NAME SCENARIO LINES SED-ARGUMENT…: a copy $work/NAME.yaml in which LINES lines differ
shorter() {
	local name=$1 from=$top/hil/scenarios/$2.yaml lines=$3

	shift 3
	sed -e "s/^name: .*/name: $name/" "$@" "$from" >"$work/$name.yaml"
	[ "$(diff "$from" "$work/$name.yaml" | grep -c '^[<]')" -eq "$lines" ] ||
		fail "$from has changed: $(diff "$from" "$work/$name.yaml")"
}

shorter_scenarios() {
	# the failure lasts as long as the disk stalls, or half as long
	shorter short-lockup workqueue-lockup 4 -e 's/jobs: \[64\], seconds: 24/jobs: [64], seconds: 14/' \
		-e 's/after_ms: 4000, for_ms: 10000/after_ms: 2000, for_ms: 7000/' \
		-e 's/  max_ms: 4000/  max_ms: 2400/'
	# one trial says nothing of a ratio, but all of a share
	shorter short-contention lock-contention 4 -e 's/jobs: \[1, 50\], seconds: 8/jobs: [50], seconds: 4/' \
		-e '/# far below/d' -e '/name: dd_50_iops/d'
	# the failure is there with two readers of any disk, and far larger than what a busy host does
	shorter short-iops iops-floor 11 -e '/{name: \(nvme\|crypt\|walk\|trim\),/d' \
		-e '/- \(mkfs\|mount\|for d in .(seq\)/d' -e 's/jobs: \[1, 2, 4, 8\]/jobs: [2]/' \
		-e '/calibrate_delay_direct/d' -e 's/  baseline: 32/  baseline: 12/'
}

# gives STATUS KERNEL SCENARIO OPTION…
gives() {
	local status=$1 kernel=$2 scenario=$3

	shift 3
	expect "$status" "$stallrig" run --rig "$work/virtual-x86.yaml" --kernel "$kernel" \
		--scenario "$scenario" --json "$work/run.json" "$@"
	no_orphans
}

# passes KERNEL SCENARIO, fails KERNEL SCENARIO: one trial
passes() {
	gives 0 "$@" --trials 1
	is '.runs[0] | .verdict == "PASS" and .reason == "none-over"'
	say_run
}

fails() {
	gives 1 "$@" --trials 1
	is '.runs[0] | .verdict == "FAIL" and .reason == "over-limit"'
	say_run
}

# The baseline has as many trials as the scenario says; the other run ends when there is no doubt left.
iops_fall() {
	gives 1 "$2" "$work/short-iops.yaml" --baseline "$1"
	is '.runs | length == 2 and .[0].valid == 12 and .[0].reason == "no-baseline"'
	is '.runs[1] | .verdict == "FAIL" and .reason == "outside-baseline" and .valid < 24 and (.boots | length) > 1'
	jq -r '.runs[1] | "\(.kernel), \(.scenario): \(.verdict), \(.strength)"' "$work/run.json"
	echo "after $SECONDS s"
}

# Nothing at all runs on that CPU. That it is not the host's doing is told by the host, and if it was
# busy itself that must be what is said.
hog_is_told() {
	local status=0

	"$stallrig" run --rig "$work/virtual-x86.yaml" --trials 1 --kernel "test-hog-$$" \
		--scenario unplug-unmounted --json "$work/run.json" >"$work/out" 2>"$work/err" </dev/null || status=$?
	no_orphans
	if [ "$status" -eq 125 ]; then
		is '.runs[0].reason == "evidence.controls-quiet"'
		says "us at most, which may be why"
		echo "the host was too busy to tell that the kernel held a CPU"
		return
	fi
	[ "$status" -eq 1 ] || fail "exit status $status of a kernel that holds a CPU"
	is '.runs[0] | .verdict == "FAIL" and .reason == "over-limit"'
	say_run
}

say_run() {
	jq -r '.runs[0] | "\(.kernel), \(.scenario): \(.verdict), \(.worst_ms) ms"' "$work/run.json"
	echo "after $SECONDS s"
}

edited_modules() {
	local usb=drivers/usb/core bcache=drivers/md/bcache ext4=fs/ext4 kernel dir headers

	need_kernel debian:6.1
	kernel=$(cat "$work/out")
	"$stallrig" kernel show "$kernel" --json >"$work/kernel.json"
	dir=$(jq -r .dir "$work/kernel.json")
	headers=$(realpath "$dir/headers")
	linux_source "$work/linux" "$(jq -r .package_version "$work/kernel.json")" $usb $bcache $ext4 block
	cp -a "$work/linux/$usb" "$work/usb"
	trap 'remove_added; clean_up' EXIT

	edit hub-disconnect-hog $usb
	add_edited "test-hog-$$" $usb/usbcore.ko
	cp "$work/usb/hub.c" "$work/linux/$usb/"
	edit hub-disconnect-spin $usb
	edit bcache-journal-poll $bcache
	edit ext4-dio-read-exclusive $ext4
	edit_bfq
	add_edited "test-edited-$$" $usb/usbcore.ko $bcache/bcache.ko $ext4/ext4.ko block/bfq.ko
	small_rig
	shorter_scenarios

	passes "$kernel" unplug-unmounted
	fails "test-edited-$$" unplug-unmounted
	hog_is_told
	passes "$kernel" "$work/short-lockup.yaml"
	fails "test-edited-$$" "$work/short-lockup.yaml"
	passes "$kernel" "$work/short-contention.yaml"
	fails "test-edited-$$" "$work/short-contention.yaml"
	iops_fall "$kernel" "test-edited-$$"
}

added=()
edited_modules
[ -z "${STALLRIG_LONG:-}" ] || self_test
done_ok
