#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The dashboard in headless Chromium: pages of a lab's nights, a real virtual trial seen live and then
# as a page, files on a plain web server, accessibility. Screenshots go to the build folder.
#
# WEB_LIVE=0 leaves the virtual trial out, WEB_LIVE=only does nothing else.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/system/lib.sh
. "$here/../system/lib.sh"
# shellcheck source=tests/web/lib.sh
. "$here/lib.sh"

"$build/tests/bench/dashboard_fill" "$work/lab.db" --nights 6 --rigs 3 --kernels 5 --trials 4 --seed 7
# more rigs than a screen has room for
"$build/tests/bench/dashboard_fill" "$work/wide.db" --nights 2 --rigs 20 --kernels 8 --trials 1 --seed 7
# more runs than a site of files has
"$build/tests/bench/dashboard_fill" "$work/many.db" --nights 70 --rigs 2 --kernels 5 --trials 1 --seed 7
# a bench whose switch is a command of the lab: actions are seen in a file
mkdir "$work/rigs"
sed -e 's/^name: .*/name: rcar-m3-1/' -e '/^    switch:/,$d' "$top/fixtures/rigs/rcar-m3-starter-kit.yaml" \
	>"$work/rigs/rcar-m3-1.yaml"
cat >>"$work/rigs/rcar-m3-1.yaml" <<END
    switch:
      driver: exec
      turn_on: [sh, -c, "echo on >>$work/switched"]
      turn_off: [sh, -c, "echo off >>$work/switched"]
      status: [sh, -c, "test \\"\$(tail -n 1 $work/switched)\\" = on"]
      min_off_ms: 0
      settle_ms: 0
END
echo on >"$work/switched"
printf 'a token of this test\n' | tr ' ' - >"$work/token"
chmod 600 "$work/token"
if [ "${WEB_LIVE:-1}" != 0 ]; then
	need_kernel debian:6.12
fi
LIVE=${WEB_LIVE:-1} browse dashboard
no_orphans
