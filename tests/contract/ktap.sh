#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's own parser of KTAP (tools/testing/kunit of Debian's kernel source) reads of the export what
# stallrig says of its runs itself.
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

version=$(apt-cache policy linux-source-6.1 | sed -n 's/^ *Candidate: *//p')
kunit=$cache/kunit/$version
if [ ! -e "$kunit/kunit_parser.py" ]; then
	deb=$(source_package "$version") || exit 1
	mkdir -p "$work/kunit" "$cache/kunit"
	dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/src/linux-source-6.1.tar.xz | xz -dc -T0 |
		tar -x -C "$work/kunit" --strip-components=4 --wildcards 'linux-source-6.1/tools/testing/kunit/*.py'
	rm -rf "$kunit.$$"
	mv "$work/kunit" "$kunit.$$"
	mv -T "$kunit.$$" "$kunit" || [ -e "$kunit/kunit_parser.py" ] || fail "no parser"
fi

"$build/tests/bench/dashboard_fill" "$work/lab.db" --nights 6 --rigs 3 --kernels 5 --trials 4 --seed 7 >/dev/null
expect 0 "$stallrig" report --store "$work/lab.db" --last=1000 --format=ktap --output="$work/runs.ktap" \
	--json="$work/runs.json"
# the parser also prints what it reads, for a person
python3 - "$kunit" "$work/runs.ktap" "$work/runs.json" >"$work/out" <<'END' || fail "the parser disagrees"
import json
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import kunit_parser

status = kunit_parser.TestStatus


def parse(lines):
    return kunit_parser.parse_run_tests(kunit_parser.extract_tap_lines(lines))


def complaints(test):
    return test.counts.errors + sum(complaints(t) for t in test.subtests)


with open(sys.argv[2], encoding="utf-8") as f:
    lines = f.read().split("\n")
with open(sys.argv[3], encoding="utf-8") as f:
    runs = json.load(f)["runs"]
# the parser would complain: a result is missing, a plan is wrong
n_lost = next(i for i, line in enumerate(lines) if line.startswith("  ok"))
assert complaints(parse(lines[:n_lost] + lines[n_lost + 1:])) > 0
root = parse(lines)
assert complaints(root) == 0, root
assert len(root.subtests) == len(runs) > 10, (len(root.subtests), len(runs))
seen = set()
for test, run in zip(root.subtests, runs):
    seen.add(run["verdict"])
    assert test.name.split()[:2] == [run["scenario"], run["rig"]], (test.name, run)
    wanted = status.SUCCESS if run["verdict"] == "PASS" else status.FAILURE
    assert test.status == wanted, (test.name, test.status, run["verdict"])
    assert len(test.subtests) == len(run["trials"])
    for of_test, trial in zip(test.subtests, run["trials"]):
        if not trial["valid"] and not trial.get("crash"):
            assert of_test.status == status.SKIPPED, (of_test.name, trial)
assert {"PASS", "FAIL", "INCONCLUSIVE"} <= seen, seen
print(f"{len(runs)} runs, {sum(len(r['trials']) for r in runs)} trials: the kernel's parser agrees")
END
tail -n 1 "$work/out"
n_checks=$((n_checks + 1))
done_ok
