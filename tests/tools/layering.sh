#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Includes run only in the direction of the design: a room uses rooms above it in this list. Each
# third-party header belongs to the rooms named here.
set -euo pipefail
cd "$(dirname "$0")/../../controller"

declare -A uses=(
	[base]="" [console]="base" [judge]="base" [kernels]="base"
	[rig]="base kernels console"
	[trial]="base console judge kernels rig"
	[store]="base judge trial"
	[bisect]="base judge kernels rig trial store"
	[lab]="base judge kernels rig trial store"
	[report]="base console judge trial store"
	[dashboard]="base console judge trial store report"
	[cli]="base console judge kernels rig trial store report dashboard lab bisect"
)
declare -A owner=(
	[nettle/]="base" [sqlite3.h]="store" [libpq-fe.h]="store" [jansson.h]="rig kernels trial bisect report dashboard cli lab"
	[microhttpd.h]="dashboard" [curl/]="base"
	[cyaml/]="rig trial lab" [yaml.h]="rig" [zlib.h]="kernels"
	[libusb.h]="rig" [gpiod.h]="rig" [libserialport.h]="rig"
)

failed=0
complain() {
	echo "layering: $1" >&2
	failed=1
}

for dir in */; do
	room=${dir%/}
	[ -n "${uses[$room]+x}" ] || complain "room '$room' is not in the list"
	while IFS=: read -r file line text; do
		used=$(sed -E 's/.*#include "([a-z]+)\/.*/\1/' <<<"$text")
		[ "$used" = "$room" ] && continue
		[ -d "$used" ] || continue
		case " ${uses[$room]} " in
		*" $used "*) ;;
		*) complain "controller/$file:$line: $room must not include $used" ;;
		esac
	done < <(grep -rnE '#include "[a-z]+/' "$room" --include=*.c --include=*.h)
	for header in "${!owner[@]}"; do
		case " ${owner[$header]} " in
		*" $room "*) continue ;;
		esac
		if grep -rnE "#include <$header" "$room" --include=*.c --include=*.h; then
			complain "$room must not include <$header"
		fi
	done
done
[ "$failed" -eq 0 ] && echo "layering: the includes follow the design"
exit "$failed"
