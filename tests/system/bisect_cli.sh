#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The bisect commands around a build command that makes no kernel: what they print, their exit
# status, what they leave behind. No machine is booted.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

export STALLRIG_CACHE=$work/cache
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.org GIT_COMMITTER_NAME=test
export GIT_COMMITTER_EMAIL=test@example.org GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
repo=$work/repo
git init -q -b main "$repo"
for i in 0 1 2 3 4 5; do
	echo "$i" >>"$repo/a"
	git -C "$repo" add a
	git -C "$repo" commit -qm "change $i"
	git -C "$repo" tag "c$i"
done
rig=(--rig virtual-x86 --scenario unplug-read)
start=("$stallrig" bisect start --repo "$repo" --good c0 --bad c5 "${rig[@]}")

# ---- a step for git bisect run: its status is what git wants
step=("$stallrig" bisect step --repo "$repo" "${rig[@]}" --build)
expect 125 "${step[@]}" 'exit 125'
prints "UNTESTABLE: the build command skips it (125)"
expect 125 "${step[@]}" 'echo no such header; exit 2'
prints "UNTESTABLE: the build command failed: no such header"
# 126 and 127 of a command are no "bad"
expect 125 "${step[@]}" 'no-such-command'
expect 129 "${step[@]}" 'exit 130'
says "the build command wants all to stop (status 130)"
# git itself: nothing can be tested, so it names no commit
git -C "$repo" bisect start c5 c0 >/dev/null
status=0
git -C "$repo" bisect run "${step[@]}" 'exit 125' >"$work/out" 2>&1 || status=$?
[ "$status" -ne 0 ] || fail "git bisect run: $(cat "$work/out")"
prints "only 'skip'ped commits left"
git -C "$repo" bisect reset >/dev/null 2>&1

# ---- what is wrong is said before there is a bisect
expect 129 "${start[@]}" --hotfix "c1..c9=$work/fix.patch"
says "hotfix"
expect 129 "${start[@]}" --revert --confirm 0
says "--revert"
expect 129 "${start[@]}" --probability 100
says "50..99.99"
for cost in commit=-1 commit=x boot=0.5 warm=1000001 cold=; do
	expect 129 "${start[@]}" --dry-run --cost "trial=5,$cost"
	says "--cost: $cost is not from "
done
expect 129 "${start[@]}" --dry-run --cost hours=3
says "--cost: 'hours' is not one of cold="
expect 0 "${start[@]}" --dry-run --cost cold=100.5,commit=0.02
prints "a cold build takes 100 s"
expect 129 "$stallrig" bisect status
says "there is no bisect"
expect 0 "${start[@]}" --revert --dry-run
prints "the bad end with the culprit reverted"
expect 129 "$stallrig" bisect status

# ---- an end that does not build stops it; it stays, can be told and removed
expect 130 "${start[@]}" --build 'echo broken; exit 1'
says "the bad end"
says "the build command failed: broken"
says "'bisect resume' goes on"
expect 129 "${start[@]}"
says "there is a bisect"
expect 0 "$stallrig" bisect tell c2 skip
expect 0 "$stallrig" bisect tell c4 bad --certainty 95
expect 129 "$stallrig" bisect tell c4 ugly
says "'ugly' is not good, bad or skip"
expect 129 "$stallrig" bisect tell c9 good
"$stallrig" bisect status --json >"$work/run.json"
is '.untestable | length == 1 and .[0].reason == "skipped by hand"'
is '.candidates[0].subject == "change 1" or .candidates[0].subject == "change 3"
	or .candidates[0].subject == "change 4"'
expect 0 "$stallrig" bisect log --git
prints "git bisect skip $(git -C "$repo" rev-parse c2)"
expect 130 "$stallrig" bisect resume

# the store has it, with what was told
sqlite3 "$STALLRIG_STATE/results.db" \
	"SELECT state || ' ' || n_commits || ' ' || (SELECT count(*) FROM bisect_tests) FROM bisects" \
	>"$work/out"
prints "stopped 5 2"

expect 0 "$stallrig" bisect stop --remove
[ ! -e "$STALLRIG_STATE/bisect/main" ] || fail "it is still there"
[ -z "$(ls "$work/cache/worktrees")" ] || fail "the worktree is still there"
[ "$(git -C "$repo" worktree list | wc -l)" -eq 1 ] || fail "the worktree is still noted"
expect 129 "$stallrig" bisect stop
says "there is no bisect"
done_ok
