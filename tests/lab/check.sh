#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A plan over a rig that is broken and one that is not: the broken one is checked, then put into
# quarantine, and the night goes on with the other. Repaired and checked, it is free again.
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

export STALLRIG_RIGS=$work/rigs STALLRIG_PLANS=$work/plans STALLRIG_SCENARIOS=$work/scenarios
mkdir "$STALLRIG_RIGS" "$STALLRIG_PLANS" "$STALLRIG_SCENARIOS"
# a busy host shall not decide: what is tested is the way from a check to its consequences
sed 's/noise_max_ms: .*/noise_max_ms: 5000/; s/stall_tolerance_ms: .*/stall_tolerance_ms: 1000/
	s/^  max_ms: 50$/  max_ms: 5000/; s/attribution_ms: .*/attribution_ms: 10000/' \
	"$top/hil/scenarios/rig-health.yaml" >"$STALLRIG_SCENARIOS/rig-health.yaml"
small='s/size_mib: .*/size_mib: 64/; s/file_mib: .*/file_mib: 32/'
sed "s/^name: .*/name: good/; $small" "$top/fixtures/rigs/virtual-x86.yaml" \
	>"$STALLRIG_RIGS/good.yaml"
# a machine that QEMU does not have: nothing ever boots
sed "s/^name: .*/name: bad/; s/machine: .*/machine: nosuch/; $small" \
	"$top/fixtures/rigs/virtual-x86.yaml" >"$STALLRIG_RIGS/bad.yaml"
cat >"$work/tell" <<'END'
#!/bin/sh
cat >>"$STALLRIG_STATE/news"
END
chmod +x "$work/tell"
cat >"$STALLRIG_PLANS/p.yaml" <<END
name: p
rigs: [bad, good]
scenarios: [rig-health]
kernels: [{debian: debian:6.12}]
retries: 0
notify: $work/tell
END
need_kernel debian:6.12

# rig NAME JQ-EXPRESSION: true of what 'rigs' says of it
rig() {
	"$stallrig" rigs --json "$work/run.json" >/dev/null
	is ".rigs[] | select(.rig == \"$1\") | $2"
}

expect 130 "$stallrig" nightly p
grep -q 'bad is in quarantine: failed its check: boot: ' "$work/err" || fail "no failed check"
jq -se 'any(.[]; .what == "quarantine" and .rig == "bad")' "$STALLRIG_STATE/news" >/dev/null ||
	fail "the quarantine is no news"
rig bad '.state == "quarantine" and .is_check_ok == false and (.check | startswith("boot: "))'
rig good '.state == "free"'
expect 0 "$stallrig" report --rig good --json "$work/run.json"
is '.runs[0].verdict == "PASS"'
n_checks=$((n_checks + 2))

# what somebody else holds is left alone, by hand too
expect 0 "$stallrig" lock good --for 1h --why soldering
sqlite3 "$STALLRIG_STATE/results.db" "UPDATE rig_states SET holder = 'ann@desk' WHERE rig = 'good'"
expect 129 "$stallrig" run --rig good --scenario rig-health --kernel debian:6.12 --no-wait
says "rig 'good' is held by ann@desk"
expect 129 "$stallrig" check good --no-wait
says "rig 'good' is held by ann@desk"

sed -i 's/machine: .*/machine: q35/' "$STALLRIG_RIGS/bad.yaml"
expect 0 "$stallrig" check bad --json "$work/run.json"
prints "bad: healthy"
is '.verdict == "PASS" and all(.checks[]; .state == "ok") and (.checks | length) == 8'
rig bad '.state == "free" and .is_check_ok'
expect 0 "$stallrig" rigs
grep -q 'bad *free *ok 20' "$work/out" || fail "rigs: no last check"

# a rig without a golden kernel cannot be checked
sed -i '/^golden_kernel/d' "$STALLRIG_RIGS/bad.yaml"
expect 129 "$stallrig" check bad
says "has no golden_kernel"
done_ok
