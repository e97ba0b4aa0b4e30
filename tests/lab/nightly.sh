#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A plan over two virtual rigs and three kernels, killed with -9 at five random points, ends with
# exactly the trials that were planned; the next night is compared with it and told.
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

seed=${SEED:-$(date +%N | sed 's/^0*//')}
echo "seed $seed"
RANDOM=$((seed % 32768))
export STALLRIG_RIGS=$work/rigs STALLRIG_PLANS=$work/plans
mkdir "$STALLRIG_RIGS" "$STALLRIG_PLANS"
for rig in one two; do
	sed "s/^name: .*/name: $rig/" "$top/fixtures/rigs/virtual-x86.yaml" >"$STALLRIG_RIGS/$rig.yaml"
done
cat >"$work/tell" <<'END'
#!/bin/sh
cat >>"$STALLRIG_STATE/news"
END
chmod +x "$work/tell"
cat >"$STALLRIG_PLANS/p.yaml" <<END
name: p
rigs: [class:virtual]
scenarios: [unplug-read]
kernels:
  - debian: debian:6.1
  - debian: debian:6.12
  - debian: debian:6.12
    append: workqueue.cpu_intensive_thresh_us=0
trials: 1
notify: $work/tell
END
db=$STALLRIG_STATE/results.db

expect 0 "$stallrig" nightly p --dry-run
prints "6 runs"
prints "workqueue.cpu_intensive_thresh_us=0"
[ ! -e "$db" ] || fail "a dry run made a store"

# a mistake in a plan names its place and leaves nothing behind
sed 's/trials: 1/trials: none/' "$STALLRIG_PLANS/p.yaml" >"$STALLRIG_PLANS/wrong.yaml"
expect 129 "$stallrig" nightly wrong
says "wrong.yaml:9:9: trials: 'none'"
[ ! -e "$db" ] || fail "a wrong plan made a store"

# a kernel that cannot be fetched is left out and says so: that night is no PASS
cat >"$STALLRIG_PLANS/none.yaml" <<'END'
name: none
rigs: [one]
scenarios: [unplug-read]
kernels: [{debian: "debian:9.99"}]
END
expect 125 "$stallrig" nightly none --store "$work/none.db"
prints "left out: debian:9.99"

for kill in 1 2 3 4 5; do
	"$stallrig" nightly p >"$work/out" 2>"$work/err" </dev/null &
	pid=$!
	sleep "$((5 + RANDOM % 25))"
	if ! kill -9 "$pid" 2>/dev/null; then
		echo "the night was over before kill $kill"
		break
	fi
	wait "$pid" 2>/dev/null || :
	for _ in $(seq 50); do
		[ -z "$(own_pids stallrig)$(qemu_pids)" ] && break
		sleep 0.2
	done
	[ -z "$(own_pids stallrig)$(qemu_pids)" ] || fail "processes are left after kill $kill"
done

# 6.1 and 6.12 without the threshold stall: the night as a whole FAILs
expect 1 "$stallrig" nightly p --json "$work/night.json"
[ "$(jq '.runs | length' "$work/night.json")" = 6 ] || fail "not six runs"
[ "$(jq '[.runs[].valid] | add' "$work/night.json")" = 6 ] || fail "not six valid trials"
[ "$(jq -r '[.runs[].verdict] | sort | join(" ")' "$work/night.json")" = \
	"FAIL FAIL FAIL FAIL PASS PASS" ] || fail "other verdicts"
valid=$(sqlite3 "$db" "SELECT count(*) FROM trials WHERE is_valid = 1")
[ "$valid" = 6 ] || fail "$valid valid trials in the store, 6 were planned"
[ "$(sqlite3 "$db" "SELECT count(*) FROM runs WHERE ended_wall_ns IS NULL")" = 0 ] ||
	fail "a run that did not end is left"
[ "$(sqlite3 "$db" "SELECT count(*) FROM nights")" = 1 ] || fail "more than one night"
grep -q '"what":"night-ended"' "$STALLRIG_STATE/news" || fail "the end was not told"
n_checks=$((n_checks + 6))

# what was judged is not run again
sed 's/^trials: 1/&\nnew_only: true/; s/^name: p/name: p/' "$STALLRIG_PLANS/p.yaml" >"$work/p.yaml"
mv "$work/p.yaml" "$STALLRIG_PLANS/p.yaml"
expect 0 "$stallrig" nightly p --dry-run
prints "0 runs"
prints "was judged on an earlier night"

done_ok
