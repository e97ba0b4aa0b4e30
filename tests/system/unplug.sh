#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# By lot one cell of tests/bench/unplug-matrix with two sticks, a hub or pages that are not written
# yet, and one negative control. With STALLRIG_LONG=1 all cells of two kernels.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

seed=${UNPLUG_SEED:-$(date +%s)}
echo "UNPLUG_SEED=$seed"

# half of what the rig has on its stick is far over the limit, too
small_rig 320 256
need_kernel debian:6.1
expect 0 "$top/tests/bench/unplug-matrix" --rig "$work/virtual-x86.yaml" --kernel debian:6.1 --trials 1 --short --seed "$seed" \
	--json "$work/cells.json"
no_orphans
cat "$work/out"
jq -e '[.[] | .verdict] == ["FAIL", "PASS"] and all(.[]; .valid == 1)' "$work/cells.json" >/dev/null ||
	fail "not the two cells"
n_checks=$((n_checks + 1))

if [ -n "${STALLRIG_LONG:-}" ]; then
	need_kernel debian:6.12
	expect 0 "$top/tests/bench/unplug-matrix"
	cat "$work/out"
fi
done_ok
