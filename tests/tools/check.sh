#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Form and spelling: what a reviewer should not have to say. Used as a test and as a git hook.
set -euo pipefail
cd "$(dirname "$0")/../.."

failed=0
files() { git ls-files -co --exclude-standard -- "$@"; }

mapfile -t c_files < <(files 'controller/*.c' 'controller/*.h' 'target-agent/*.c' \
	'target-agent/*.h' 'tests/*.c' 'tests/*.h')
clang-format --dry-run --Werror "${c_files[@]}" || failed=1

mapfile -t scripts < <(files hil/setup hil/demo tests/run .ci/run '*.sh' '*.bash' target-agent/init)
# SC2154, SC1091: lib.sh is sourced by a path that only the run knows
shellcheck -x -e SC2154,SC1091 "${scripts[@]}" || failed=1

# words that belong to kernels and C, not to a dictionary; misspelt on purpose in tests
mapfile -t texts < <(files '*.md' '*.c' '*.h' '*.sh' '*.scd' '*.yaml' | grep -v fixtures/recordings)
codespell -q 3 -L nin,reprot,hungs,te,fo,nd,ned,optin,parms,ser,hsi,acn "${texts[@]}" || failed=1

mapfile -t sources < <(files '*.c' '*.h' '*.sh' '*.yaml' '*.md' '*.cmake' '*.scd' CMakeLists.txt)
# lines that a comment style or an editor would have to argue about
if grep -nE '[ 	]+$' "${sources[@]}"; then
	echo "check: trailing blanks" >&2
	failed=1
fi
if grep -nE '(^|[^:"])//[^/]' "${c_files[@]}" | grep -vE '"[^"]*//|\* .*//'; then
	echo "check: // comments" >&2
	failed=1
fi
exit "$failed"
