#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real kernel panics in a trial and its machine ends. What it left in the store of a rig with
# boot.pstore comes in with the next boot.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_kernel debian:6.12
scenario=$(changed_scenario plain 's/max_invalid: .*/max_invalid: 0/')
small_rig
sed 's/^  timeout_s: /  pstore: nvram\n&/' "$work/virtual-x86.yaml" >"$work/keeps.yaml"
mkdir -p "$work/overlay"
cp "$build/stallrig-agent" "$work/overlay/agent.real"

# run_on RIG: the kernel panics in the first trial
run_on() {
	chmod +x "$work/overlay/agent"
	overlay
	PATH=$work/bin:$PATH run 1 --rig "$1" --scenario "$scenario" --kernel debian:6.12
	is '.runs[0].verdict == "FAIL" and .runs[0].reason == "crash"'
	is '.runs[0].trials | length == 1'
}

# its records must be in these files of boot 1, each with its hash
holds_panic() {
	local dir

	dir=$(dirname "$(jq -r '.runs[0].boots[0].recording' "$work/run.json")")
	jq -r '.runs[0].boots[0].pstore[] | select(.of_earlier_boot | not) | "\(.sha256)  \(.file)"' \
		"$work/run.json" >"$work/sums"
	[ -s "$work/sums" ] || fail "no records of boot 1"
	(cd "$dir" && sha256sum --quiet --check "$work/sums") || fail "other bytes than in the report"
	sed 's/^[^ ]*  //' "$work/sums" | (cd "$dir" &&
		xargs grep -hF 'Kernel panic - not syncing: sysrq triggered crash') >"$work/panic" ||
		fail "the records do not have the panic"
	n_checks=$((n_checks + 2))
}

# without the key nothing is booted for them
cat >"$work/overlay/agent" <<'EOT'
#!/bin/sh
while ! dmesg | grep -q 'stallrig-mark start-1'; do sleep 0.1; done && echo c >/proc/sysrq-trigger &
exec /agent.real "$@"
EOT
run_on "$work/virtual-x86.yaml"
is '.runs[0].boots | length == 1'
grep -q pstore "$work/run.json" && fail "records that nobody asked for"

# the boot that is to bring them in panics, too: the run ends as it was, and says so
cp "$work/overlay/agent" "$work/overlay/agent.once"
cat >"$work/overlay/agent" <<'EOT'
#!/bin/sh
mount -t pstore pstore /sys/fs/pstore
for f in /sys/fs/pstore/*; do [ -e "$f" ] && echo c >/proc/sysrq-trigger; done
exec /agent.once "$@"
EOT
chmod +x "$work/overlay/agent.once"
run_on "$work/keeps.yaml"
is '.runs[0].boots | length == 2 and all(has("pstore") | not)'
is '.runs[0].pstore_notes[0] | startswith("boot 2, which was to bring in the pstore records, did not")'
prints "boot 2, which was to bring in"

# those of that run are somebody else's in the next one, its own are known
cp "$work/overlay/agent.once" "$work/overlay/agent"
run_on "$work/keeps.yaml"
is '.runs[0].boots | length == 2'
is '[.runs[0].boots[0].pstore[] | select(.of_earlier_boot)] | length >= 2 and all(.collected_in == 1)'
is '[.runs[0].boots[0].pstore[] | select(.of_earlier_boot | not)] | all(.collected_in == 2)'
is '.runs[0].pstore_notes == null'
holds_panic
says "of boot 1"
prints "of an earlier boot"
expect 0 "$stallrig" show "$(jq -r '.runs[0].trials[0].id' "$work/run.json")"
prints "boot-1/pstore-dmesg-erst-"
expect 0 "$stallrig" report --last=1 --html="$work/report.html"
grep -q 'boot-1/pstore-dmesg-erst-' "$work/report.html" || fail "the page does not name the records"
expect 1 "$stallrig" judge --json=- "$(dirname "$(jq -r '.runs[0].boots[0].recording' "$work/run.json")")"
done_ok
