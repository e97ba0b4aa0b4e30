#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A night over a watched folder and over branches of a real repository: a kernel that is still being
# copied when the night begins is run once it is whole, a branch is built at its tip once, one that
# does not build is UNTESTABLE, and the next night has nothing left to do.
#
# Each "kernel" is Debian's own with a usbcore of its own, which is a matter of seconds.
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test
export GIT_COMMITTER_EMAIL=test@example.org GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export STALLRIG_RIGS=$work/rigs STALLRIG_PLANS=$work/plans STALLRIG_SCENARIOS=$work/scenarios
repo=$work/linux
drop=$work/drop
mkdir "$STALLRIG_RIGS" "$STALLRIG_PLANS" "$STALLRIG_SCENARIOS" "$drop"

need_kernel debian:6.12
kernel=$(cat "$work/out")
"$stallrig" kernel show "$kernel" --json >"$work/kernel.json"
dir=$(jq -r .dir "$work/kernel.json")
headers=$(realpath "$dir/headers")

# the store of this test is its own; what the host has fetched stays where it is
export STALLRIG_CACHE=$work/cache
mkdir "$STALLRIG_CACHE"

# a busy host shall not decide: what is tested is which kernels are run
changed_scenario short 's/noise_max_ms: .*/noise_max_ms: 5000/' 's/stall_tolerance_ms: .*/stall_tolerance_ms: 1000/' \
	's/^  max_ms: 50$/  max_ms: 5000/' 's/attribution_ms: .*/attribution_ms: 10000/' \
	's/max_invalid: .*/max_invalid: 30/' >/dev/null
mv "$work/short.yaml" "$STALLRIG_SCENARIOS/"
sed -e 's/^    size_mib: .*/    size_mib: 48/' -e 's/^    file_mib: .*/    file_mib: 32/' \
	"$top/fixtures/rigs/virtual-x86.yaml" >"$STALLRIG_RIGS/virtual-x86.yaml"

# modules FOLDER: what the virtual rig needs of the kernel's modules, into FOLDER/modules
modules() {
	mkdir -p "$1"
	rsync -a --include=/modules/kernel/drivers/{char,scsi,usb,virtio}/ --exclude=/modules/kernel/{net,sound} \
		'--exclude=/modules/kernel/drivers/*/' "$dir/modules" "$1"
	ln -s "$headers" "$1/modules/build"
}

# the command that the plan has: counts, and fails where the commit says so
git init -q -b main "$repo"
cp "$dir/config" "$repo/config"
echo good >"$repo/state"
modules "$work/parts"
cat >"$work/build" <<END
set -e
echo "\$STALLRIG_NAME" >>"$work/built"
grep -qx good state || { echo "state: error: \$(cat state)"; exit 2; }
cp -a "$work/parts/modules" "\$STALLRIG_OUT/"
cp "$dir/image" "\$STALLRIG_OUT/bzImage"
cp config "\$STALLRIG_OUT/config"
END
git -C "$repo" add -A && git -C "$repo" commit -qm "a kernel"
git -C "$repo" checkout -q -b broken
echo "expected ';'" >"$repo/state"
git -C "$repo" commit -qam "one that does not build"
git -C "$repo" checkout -q main

cat >"$STALLRIG_PLANS/p.yaml" <<END
name: p
rigs: [virtual-x86]
scenarios: [short]
trials: 1
settle_seconds: 5
new_only: true
kernels:
  - {folder: $drop}
  - {git: $repo, branch: broken, command: bash $work/build}
  - {git: $repo, branch: main, command: bash $work/build}
END

# what there is to come is named before anything is built
expect 0 "$stallrig" nightly p --dry-run
prints "main-$(git -C "$repo" rev-parse --short=12 main)-"
prints "broken-$(git -C "$repo" rev-parse --short=12 broken)-"
prints "2 runs"
[ ! -e "$work/built" ] || fail "a dry run builds"

# a copy that begins before the night and ends within it
cp "$dir/config" "$work/parts/config"
mkdir "$drop/from-outside"
cp "$dir/image" "$drop/from-outside/bzImage"
{
	for part in config modules; do
		sleep 3
		cp -a "$work/parts/$part" "$drop/from-outside/"
	done
} &
copy=$!
expect 0 "$stallrig" nightly p --dry-run
prints "may still be being written"
status=0
"$stallrig" nightly p --json "$work/run.json" >"$work/out" 2>"$work/err" </dev/null || status=$?
wait "$copy"
[ "$status" = 125 ] || fail "exit status $status, expected 125"
is '[.runs[].verdict] | sort == ["PASS", "PASS", "UNTESTABLE"]'
is '[.runs[] | select(.kernel | startswith("broken-")) | .reason] == ["kernel.no-build"]'
is '[.runs[] | select(.kernel == "from-outside") | .valid] == [1]'
is '[.runs[] | select(.kernel | startswith("main-")) | .valid] == [1]'
[ "$(diff -rq "$work/parts/modules/kernel" "$STALLRIG_CACHE/kernels/from-outside/modules/kernel")" = "" ] ||
	fail "the dropped kernel is not whole"
! grep -q 'left out: .*from-outside' "$work/out" || fail "the dropped kernel is said to be left out"
[ "$(sort -u "$work/built" | wc -l) $(wc -l <"$work/built")" = "2 2" ] || fail "not each tip was built once"
n_checks=$((n_checks + 3))

# the log of what does not build is there, and its reason is in the report
id=$(jq -r '.runs[] | select(.verdict == "UNTESTABLE") | .kernel' "$work/run.json")
expect 0 "$stallrig" kernel show "$id"
prints "state: error: expected ';'"
log=$(grep -o '/[^ ]*\.log' "$work/out")
grep -q "expected ';'" "$log" || fail "no log"

# nothing new: no boot, no build; what cannot be built is said again
expect 125 "$stallrig" nightly p --json "$work/run.json"
is '[.runs[].verdict] == ["UNTESTABLE"]'
[ "$(wc -l <"$work/built")" = 2 ] || fail "a tip was built again"

# the branch is mended: its new tip is what is planned
git -C "$repo" checkout -q broken
echo good >"$repo/state"
git -C "$repo" commit -qam "mended"
expect 0 "$stallrig" nightly p --dry-run
prints "broken-$(git -C "$repo" rev-parse --short=12 broken)-"
prints "1 run,"
no_orphans
done_ok
