#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/bench/bisect in pieces: a run that was cut short and went on, and runs that are merged, give
# the numbers of one whole run.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

seed=11
echo "seed $seed"
bench=("$top/tests/bench/bisect" --seed "$seed" --max-commits 128)
# all but the CPU times
numbers() {
	/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
del d["pick"]
print(json.dumps(d, indent=1, sort_keys=True))' "$1"
}
is_whole() {
	diff <(numbers "$work/whole.json") <(numbers "$1") || fail "$1 has other numbers than the whole run"
	n_checks=$((n_checks + 1))
}

expect 0 "${bench[@]}" --histories 24 --keep "$work/whole" --json "$work/whole.json"
[ "$(numbers "$work/whole.json" | grep -c standard_error_percent)" -gt 20 ] || fail "no numbers"

# killed in the middle of a line
head -c "$(($(wc -c <"$work/whole") / 2))" "$work/whole" >"$work/cut"
[ "$(tail -c 1 "$work/cut")" ] || truncate -s -1 "$work/cut"
expect 0 "${bench[@]}" --histories 24 --jobs 2 --keep "$work/cut" --json "$work/cut.json"
says "histories are there already"
is_whole "$work/cut.json"
cmp <(sort "$work/whole") <(sort "$work/cut") || fail "the lines of the run that went on are others"

expect 0 "${bench[@]}" --histories 7 --keep "$work/a"
expect 0 "${bench[@]}" --first 7 --histories 17 --keep "$work/b"
expect 0 "${bench[@]}" --from "$work/b" --from "$work/a" --json "$work/merged.json"
is_whole "$work/merged.json"

# what does not belong together
expect 1 "${bench[@]}" --from "$work/a" --from "$work/a"
says "$work/a: history 0 is in another file too"
expect 1 "${bench[@]}" --from "$work/cut" --from "$work/b"
says "is in another file too"
expect 1 "${bench[@]}" --seed 12 --from "$work/a"
says "$work/a:1: "
echo "2 lines" >>"$work/a"
expect 1 "${bench[@]}" --from "$work/a"
says "not a line of bisect_sim: '2 lines'"

done_ok
