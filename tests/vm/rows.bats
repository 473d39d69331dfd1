#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Rows that two owners use for different events while their targets create processes on two CPUs: the first one's
# slices are handed over to per-task events, and no counter is left that a mistake could take.

load helpers

setup() {
	vm_require_arch arm64
}

@test "a second owner starts on all rows while the first one's targets create processes: both count, ten times" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh "$VM_AWAIT"'
		owner() { # NAME EVENT
			exec pmcstat -q --csv -C -o /tmp/$1 -d -p cpu_cycles -p $2 -p $2 -p $2 -p $2 -p $2 -p $2 \
				sh -c "n=0; until [ -e /tmp/done ]; do load spins=100000; n=\$((n + 1)); : >/tmp/$1.ready; done
					echo \$n >/tmp/$1.n" 2>/tmp/$1.error
		}
		for round in 1 2 3 4 5 6 7 8 9 10; do
			rm -f /tmp/done /tmp/a* /tmp/b*
			owner a inst_retired & a=$!
			await 10000 "[ -e /tmp/a.ready ] || ! kill -0 $a"
			owner b inst_retired,usr & b=$!
			await 10000 "[ -e /tmp/b.ready ] || ! kill -0 $a || ! kill -0 $b"
			: >/tmp/done
			wait $a; ra=$?
			wait $b; rb=$?
			cat /tmp/a.error /tmp/b.error >&2
			echo "$ra $rb $(cat /tmp/a.n) $(cat /tmp/b.n) $(tail -n 1 /tmp/a) $(tail -n 1 /tmp/b)"
		done'
	echo "$output"
	status_is 0
	[ "${#lines[@]}" -eq 10 ]
	for line in "${lines[@]}"; do
		read -r ra rb na nb a b <<<"$line"
		[ "$ra $rb" = "0 0" ]
		# Lower bounds: QEMU may count the other CPU's instructions as well.
		for count in $(cut -d, -f3- <<<"$a" | tr , ' '); do [ "$count" -ge $((na * 200000)) ]; done
		for count in $(cut -d, -f3- <<<"$b" | tr , ' '); do [ "$count" -ge $((nb * 200000)) ]; done
	done
}

@test "every row is free, and the kernel has not complained" {
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 14 ]'
	vm_clean_log
}
