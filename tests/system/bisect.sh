#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real bisects on the virtual rig: a repository of kernel source whose one guilty commit makes the
# unplug stall come and go must be named, although the bisect is killed in the middle.
#
# Here usbcore alone is in the repository and each commit costs the build of one module for a fetched
# kernel. With STALLRIG_LONG=1 the repository is the whole kernel, built by stallrig itself with the
# virtual rig's small config, has 40 commits and more, and plain git bisect run tries the same.
# A browser looks on from the kill to the end (tests/web/bisect.mjs); screenshots go to the build folder.
# BISECT_SEED chooses where the guilty commit and the others stand.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/web/lib.sh
. "$top/tests/web/lib.sh"

seed=${BISECT_SEED:-$(date +%s)}
long=${STALLRIG_LONG:+1}
repo=$work/linux
echo "seed $seed"
RANDOM=$((seed % 32768))

export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test
export GIT_COMMITTER_EMAIL=test@example.org GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

in_repo() { git -C "$repo" "$@"; }

# ---- the source that the repository begins with

# unpack_source VERSION [FOLDER]: all of it, or one folder of it, into the repository
unpack_source() {
	linux_source "$repo" "$@"
	rm -f "$repo/.gitignore" # the package's ignores all of the source
}

# ---- commits

commit() {
	in_repo add -A
	in_repo commit -qm "$1"
}

# append FILE TEXT: C text at the end of a source file
append() { printf '%s\n' "$2" >>"$repo/$1"; }

hub=drivers/usb/core/hub.c
harmless=(drivers/usb/core/urb.c drivers/usb/core/config.c drivers/usb/core/message.c
	drivers/usb/core/quirks.c drivers/usb/core/generic.c drivers/usb/core/notify.c)
[ -z "$long" ] || harmless+=(drivers/usb/storage/usb.c drivers/scsi/sd.c fs/ext4/super.c block/blk-core.c
	lib/string.c drivers/usb/host/xhci-ring.c)
n_edits=0

# an edit that changes the object file and nothing that it does
edit_harmless() {
	local file=${harmless[RANDOM % ${#harmless[@]}]}

	n_edits=$((n_edits + 1))
	append "$file" "static const char note_${n_edits}[] __attribute__((used)) = \"edit $n_edits\";"
	commit "${file%.c}: note $n_edits"
}

# Busy for 300 ms in three of four disconnects, in the short form in seven of eight, which takes fewer
# trials. hub_event() runs on a bound workqueue, so the CPU's worker pool waits with it; all else can run.
edit_guilty() {
	local out_of=${long:+4}

	sed -i '/^void usb_disconnect(struct usb_device \*\*pdev)/,/^}/{
		s/^\thub_disconnect_children(udev);/\thub_settle();\n&/
	}' "$repo/$hub"
	sed -i '0,/^static void hub_disconnect_children/s//static void hub_settle(void)\
{\
	for (int i = get_random_u32() % '"${out_of:-8}"' ? 300 : 0; i > 0; i--) {\
		mdelay(1);\
		cond_resched();\
	}\
}\
\
&/' "$repo/$hub"
	[ "$(grep -c hub_settle "$repo/$hub")" -eq 2 ] || fail "the guilty edit does not fit"
	commit "usb: hub: let the ports settle before a disconnect"
}

edit_no_build() {
	append drivers/usb/core/file.c "static int spoilt(void) { return no_such_thing; }"
	commit "usb: file: a helper for later"
}

mend_no_build() {
	sed -i '$d' "$repo/drivers/usb/core/file.c"
	commit "usb: file: drop the helper"
}

edit_no_boot() {
	sed -i 's/^static int __init usb_init(void)$/static int usb_started = -1;\n\n&/' \
		"$repo/drivers/usb/core/usb.c"
	sed -i '/^static int __init usb_init(void)$/,/^}/s/^\tif (usb_disabled/\tBUG_ON(usb_started < 0);\n&/' \
		"$repo/drivers/usb/core/usb.c"
	grep -q 'BUG_ON(usb_started' "$repo/drivers/usb/core/usb.c" || fail "the edit that does not boot does not fit"
	commit "usb: check that it was started"
}

mend_no_boot() {
	in_repo show "$1~1:drivers/usb/core/usb.c" >"$repo/drivers/usb/core/usb.c"
	commit "usb: it is started here"
}

# a side branch of N commits, merged
edit_merge() {
	in_repo checkout -q -b topic
	for _ in $(seq "$1"); do edit_harmless; done
	in_repo checkout -q main
	edit_harmless
	in_repo merge -q --no-ff -X theirs -m "Merge branch 'topic'" topic >"$work/out" 2>&1 ||
		fail "merge: $(cat "$work/out")"
	in_repo branch -q -D topic
}

# make_history N: N harmless commits in a row and, between them, the others
make_history() {
	local n=$1 broken unbootable

	guilty_at=$((2 + RANDOM % (n - 3)))
	broken=$((1 + RANDOM % (n - 1)))
	unbootable=$((1 + RANDOM % (n - 1)))
	commit "the kernel as it is"
	in_repo tag good
	for i in $(seq "$n"); do
		edit_harmless
		if [ "$i" -eq "$guilty_at" ]; then
			edit_guilty
			in_repo tag guilty
		fi
		if [ "$i" -eq "$broken" ]; then
			edit_no_build
			edit_harmless # does not build either
			mend_no_build
		fi
		if [ "$i" -eq "$unbootable" ]; then
			edit_no_boot
			mend_no_boot "$(in_repo rev-parse HEAD)"
		fi
		[ "$i" -ne $((n / 2)) ] || edit_merge 3
	done
	in_repo tag bad
}

# ---- the bisect

# bisect_json: what is known, to $work/run.json
bisect_json() { "$stallrig" bisect status --json >"$work/run.json"; }

# Kills the bisect once N trials are in its journal, in the middle of whatever it does.
kill_after_trials() {
	local pid=$1 n=$2 journal=$STALLRIG_STATE/bisect/main/journal.jsonl

	while kill -0 "$pid" 2>/dev/null; do
		[ "$(grep -c '"kind": *"trial"' "$journal" 2>/dev/null || :)" -ge "$n" ] 2>/dev/null && break
		sleep 0.5
	done
	sleep $((1 + RANDOM % 10))
	kill -9 "$pid" 2>/dev/null || fail "the bisect had ended before it could be killed"
	wait "$pid" 2>/dev/null || :
}

names_the_guilty() {
	local sha

	sha=$(in_repo rev-parse guilty)
	bisect_json
	is ".state == \"done\" and .culprit == \"$sha\""
	is '.confirmation.confirmed and .confirmation.sides[0].over > 0 and .confirmation.sides[1].over == 0'
	expect 0 "$stallrig" bisect result
	prints "$sha"
	prints "usb: hub: let the ports settle before a disconnect"
	prints "$hub"
	cat "$work/out"
}

bisect() {
	local pid browser

	"$stallrig" bisect start --repo "$repo" --good good --bad bad --rig "$work/virtual-x86.yaml" \
		--scenario unplug-unmounted --path drivers/usb/core "$@" >"$work/out" 2>"$work/err" </dev/null &
	pid=$!
	kill_after_trials "$pid" 6
	bisect_json
	cp "$work/run.json" "$work/before.json"
	no_orphans
	CULPRIT=$(in_repo rev-parse guilty) browse bisect >"$work/browser" 2>&1 &
	browser=$!
	until [ -e "$work/watched" ]; do
		kill -0 "$browser" 2>/dev/null || fail "browser: $(cat "$work/browser")"
		sleep 0.2
	done
	expect 0 "$stallrig" bisect resume
	wait "$browser" || fail "browser: $(cat "$work/browser")"
	cat "$work/browser"
	no_orphans
	cp "$work/out" "$work/resumed"
	names_the_guilty
	jq -e --slurpfile before "$work/before.json" '.trials >= $before[0].trials and
		.builds >= $before[0].builds' "$work/run.json" >/dev/null ||
		fail "what was seen before the kill is gone"
	jq -r '"\(.commits) commits, \(.builds) builds, \(.boots) boots, \(.trials) trials, probability \(.probability)"' \
		"$work/run.json"
}

# What is left out of the fetched kernel's modules is large and not needed.
one_module() {
	local kernel dir headers

	need_kernel debian:6.1
	kernel=$(cat "$work/out")
	"$stallrig" kernel show "$kernel" --json >"$work/kernel.json"
	dir=$(jq -r .dir "$work/kernel.json")
	headers=$(realpath "$dir/headers")
	unpack_source "$(jq -r .package_version "$work/kernel.json")" drivers/usb/core
	git init -q -b main "$repo"
	make_history 9
	cat >"$work/build" <<-EOF
		set -e
		make -s -C "$headers" M="\$PWD/drivers/usb/core" modules
		rsync -a --include=/modules/kernel/drivers/{char,scsi,usb,virtio}/ --exclude=/modules/kernel/{net,sound} \\
			'--exclude=/modules/kernel/drivers/*/' "$dir/modules" "\$STALLRIG_OUT"
		ln -s "$headers" "\$STALLRIG_OUT/modules/build"
		cp drivers/usb/core/usbcore.ko "\$STALLRIG_OUT/modules/kernel/drivers/usb/core/"
		cp "$dir/image" "\$STALLRIG_OUT/bzImage"
		cp "$dir/config" "\$STALLRIG_OUT/config"
	EOF
	bisect --probability 95 --ends 3 --confirm 2 --cost cold=20,warm=10,boot=12,trial=6 --build "bash $work/build"
}

# The same with git's own bisect, one trial a commit: it believes each, and three of four stalls are
# not enough for it for long. Until it names somebody else, at most five times.
plain_git_is_wrong() {
	local sha found

	sha=$(in_repo rev-parse guilty)
	for attempt in 1 2 3 4 5; do
		in_repo bisect start bad good >/dev/null
		(cd "$repo" && git bisect run "$stallrig" bisect step --rig "$work/virtual-x86.yaml" \
			--scenario unplug-unmounted --trials 1) >"$work/out" 2>"$work/err" </dev/null || :
		no_orphans
		found=$(in_repo rev-parse refs/bisect/bad)
		in_repo bisect reset >/dev/null 2>&1
		echo "git bisect run, attempt $attempt: $(in_repo log -1 --format=%s "$found")"
		n_checks=$((n_checks + 1))
		[ "$found" = "$sha" ] || return 0
	done
	fail "git bisect run was right each time"
}

whole_kernels() {
	need_kernel debian:6.1
	unpack_source "$("$stallrig" kernel show "$(cat "$work/out")" --json | jq -r .package_version)"
	git init -q -b main "$repo"
	make_history 32
	[ "$(in_repo rev-list --count good..bad)" -ge 40 ] || fail "fewer than 40 commits"
	bisect --config virtual --cost cold=300,warm=30,boot=12,trial=6
	plain_git_is_wrong
}

small_rig
if [ -n "$long" ]; then
	whole_kernels
else
	one_module
fi
done_ok
