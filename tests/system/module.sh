#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# latency-mon and wq-stall in a guest of their own, on a kernel whose workers may hold a CPU and on
# one that displaces them. The checks: tests/module/all.sh (inside), check_log.py (outside).
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

read -ra kernels <<<"${STALLRIG_KERNELS:-debian:6.12 debian:6.1}"
for kernel in "${kernels[@]}"; do
	if ! "$stallrig" kernel fetch "$kernel" >"$work/out" 2>"$work/err"; then
		[ "$kernel" != debian:6.1 ] || {
			echo "the registry has no debian:6.1; it is left out" >&2
			continue
		}
		fail "cannot fetch $kernel: $(cat "$work/err")"
	fi
	log=$work/$kernel.log
	expect 0 python3 "$top/tests/module/guest.py" --kernel "$kernel" --log "$log" \
		--test "$top/tests/module/all.sh" --timeout 430
	cat "$work/out"
	n_checks=$((n_checks + $(grep -c '^ok: ' "$log")))
	expect 0 python3 "$top/tests/module/check_log.py" "$log"
	echo "$kernel: outside: $(cat "$work/out")"
	read -r n _ <"$work/out"
	n_checks=$((n_checks + n))
done
no_orphans
done_ok
