#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# make run, the first command of the README.

load helpers

setup() {
	need_root
	ROOT=$BATS_TEST_DIRNAME/../..
}

# sums COLUMNS - the sums over all rows of the output's table that has so many columns, one on each line
sums() {
	awk -v n="$1" '/^#/ || NF != n || /[^0-9 ]/ { next }
		{ for (i = 1; i <= n; i++) sum[i] += $i }
		END { for (i = 1; i <= n; i++) print sum[i] }' <<<"$output"
}

@test "make run counts a compile by process and by CPU, on any machine" {
	run make -s -C "$ROOT" O="$(realpath --relative-to="$ROOT" "$BUILD")" run
	status_is 0
	[[ $output == *"== pmcbpfd is ready"*"== process scope"*"== system scope"*"Try: "* ]]
	if [[ $output == *"(no hardware events: "* ]]; then
		columns=3
	else
		columns=5
	fi
	mapfile -t counts < <(sums $columns)
	[ "${#counts[@]}" -eq $columns ]
	for count in "${counts[@]}"; do [ "$count" -gt 0 ]; done
	# Milliseconds of a compile of some thirty files, and its page faults.
	[ "${counts[0]}" -ge 500 ]
	[ "${counts[1]}" -ge 10000 ]
}
