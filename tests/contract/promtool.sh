#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prometheus' own promtool has nothing to say against the text file and against /metrics.
#
# Debian's package is 20 MB and brings a daemon: it is fetched and the program alone taken out of it,
# once for each version, into the cache.
# shellcheck source=../system/lib.sh
. "$(dirname "$0")/../system/lib.sh"

# get_promtool: its path in $promtool
get_promtool() {
	local version tmp

	version=$(apt-cache policy prometheus 2>/dev/null | sed -n 's/^ *Candidate: *//p')
	if [ -z "$version" ] || [ "$version" = "(none)" ]; then
		apt-get update -qq >"$work/err" 2>&1 || fail "apt-get update"
		version=$(apt-cache policy prometheus | sed -n 's/^ *Candidate: *//p')
	fi
	promtool=$cache/promtool/$version
	[ ! -x "$promtool" ] || return 0
	tmp=$work/promtool
	mkdir -p "$tmp" "$cache/promtool"
	# an index that is older than the registry names a version that is no longer there
	(cd "$tmp" && { apt-get download -q prometheus ||
		{ apt-get update -qq && apt-get download -q prometheus; }; }) >"$work/err" 2>&1 ||
		fail "cannot download prometheus"
	dpkg-deb --fsys-tarfile "$tmp"/prometheus_*.deb | tar -xO ./usr/bin/promtool >"$tmp/program"
	chmod +x "$tmp/program"
	mv "$tmp/program" "$promtool.$$"
	mv "$promtool.$$" "$promtool"
}

# expect gives /dev/null to its command: the file comes by a shell of its own
check_metrics() {
	# shellcheck disable=SC2016 # the inner shell expands them
	expect 0 sh -c '"$1" check metrics <"$2"' sh "$promtool" "$1"
	if [ -s "$work/out" ] || [ -s "$work/err" ]; then
		fail "promtool complains about $1"
	fi
}

get_promtool
"$promtool" --version | head -1

# promtool would complain: about what is no metric, and about names against Prometheus' own rules
printf 'stallrig_runs 1\nstallrig_runs{ 2\n' >"$work/broken.prom"
printf '# HELP stallrig_runs Runs.\n# TYPE stallrig_runs counter\nstallrig_runs 1\n' >"$work/names.prom"
for bad in broken names; do
	status=0
	"$promtool" check metrics <"$work/$bad.prom" >"$work/out" 2>"$work/err" || status=$?
	if [ "$status" -eq 0 ] || [ ! -s "$work/err" ]; then
		fail "promtool lets $bad.prom pass"
	fi
	n_checks=$((n_checks + 1))
done

"$build/tests/bench/dashboard_fill" "$work/lab.db" --nights 6 --rigs 3 --kernels 5 --trials 4 --seed 7
expect 0 "$stallrig" report --store "$work/lab.db" --last=1000 --format=openmetrics --output "$work/stallrig.prom"
grep -q '^stallrig_' "$work/stallrig.prom" || fail "no metric in the text file"
check_metrics "$work/stallrig.prom"

serve --store "$work/lab.db"
python3 - "$(cat "$work/url")" >"$work/metrics.prom" <<'END'
import sys
import urllib.request

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
sys.stdout.write(opener.open(sys.argv[1].rstrip("/") + "/metrics", timeout=60).read().decode())
END
kill "$server"
wait "$server" || fail "the server ended with $?"
grep -q '^stallrig_' "$work/metrics.prom" || fail "no metric from the server"
check_metrics "$work/metrics.prom"
done_ok
