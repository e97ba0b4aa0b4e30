# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What tests with a browser need. Sourced after tests/system/lib.sh.

# shellcheck disable=SC2154 # $build, $work and $stallrig are of tests/system/lib.sh
web=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# browse_modules: path of a folder with what package-lock.json names; packages are kept outside the
# checkout, by what they are
browse_modules() {
	local modules

	command -v chromium >/dev/null || fail "chromium is missing, hil/setup installs it"
	command -v npm >/dev/null || fail "npm is missing, hil/setup installs it"
	modules=${XDG_CACHE_HOME:-$HOME/.cache}/stallrig/web-$(sha256sum <"$web/package-lock.json" | cut -c1-16)
	if [ ! -d "$modules/node_modules/axe-core" ]; then
		mkdir -p "$modules.tmp.$$"
		cp "$web/package.json" "$web/package-lock.json" "$modules.tmp.$$"
		(cd "$modules.tmp.$$" && npm ci --ignore-scripts --no-audit --no-fund --silent) ||
			fail "npm cannot install what tests/web/package-lock.json names"
		mv -T "$modules.tmp.$$" "$modules" 2>/dev/null || rm -rf "$modules.tmp.$$"
	fi
	echo "$modules/node_modules"
}

# browse NAME: runs NAME.mjs over what is in $work; screenshots go to the folder web of the build
browse() {
	local modules

	modules=$(browse_modules) || exit 1
	mkdir -p "$build/web"
	cp "$web/browser.mjs" "$web/$1.mjs" "$work/"
	ln -sfn "$modules" "$work/node_modules"
	STALLRIG=$stallrig WORK=$work OUT=$build/web node "$work/$1.mjs"
}
