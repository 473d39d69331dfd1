#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Samples of hits: of breakpoints.  A program that knows its own hits gets one sample for each period of them, at the
# place of the hit.

load helpers
load ../logs

setup() { in_tmpdir_with_daemon "${ROOM[@]}"; }

# samples OPTION... -- COMMAND...: pmcstat writes ./log, and the log's lines are in ./text.
samples() {
	run pmcstat -q -O log "$@"
	status_is 0
	pmcstat -q -R log >text
}

# samples_are N...: the PMCs have so many samples, in the order of their allocation.
samples_are() {
	local has

	has=$(awk '$1 ~ /^allocate/ { id[++n] = $2 } $1 == "callchain" { has[$3]++ }
		END { for (i = 1; i <= n; i++) printf "%d ", has[id[i]] + 0 }' text)
	[ "${has% }" = "$*" ] || { echo "samples: $has, not $*" >&2; return 1; }
}

# inside_load FUNCTION [PROGRAM]: each sampled address in ./text is in that function.
inside_load() {
	local at size

	read -r at size < <(nm -S "${2:-$BUILD/tests/load}" | awk -v name="$1" '$4 == name { print $1, $2 }')
	awk '$1 == "..." && first { print $2 } { first = $1 == "callchain" }' text | sort -u >sampled
	[ -s sampled ]
	while read -r pc; do
		((16#$at <= pc && pc <= 16#$at + 16#$size)) || { echo "$pc is not in $1" >&2; return 1; }
	done <sampled
}

refuses() {
	run "${@:2}"
	# shellcheck disable=SC2053 # a pattern
	[[ $status -ne 0 && $output == $1 ]] || { echo "$output" >&2; return 1; }
}

# --- breakpoints ---------------------------------------------------------------------------------

need_breakpoints() { pmccontrol -l | grep BREAKPOINT >/dev/null || skip "this kernel has no breakpoints"; }

@test "PERF-136: every nth access is a sample, for each PMC by its own period" {
	need_breakpoints
	for load in load load_pie; do
		samples -n 10 -P breakpoint:load_word:w -n 1 -P breakpoint:load_tick:x -n 7 -P breakpoint:load_word:rw \
			$load stores=1000 loads=50 ticks=70
		samples_are 100 70 150
	done
	samples -n 1000 -P breakpoint:load_word:w load stores=999
	samples_are 0
}

@test "the sampled address is the function's, which a report names" {
	need_breakpoints
	samples -n 5 -P breakpoint:load_tick:x load ticks=100
	samples_are 20
	inside_load load_tick
	pmc record -e breakpoint:load_tick -c 10 -o other --no-report load ticks=100
	run pmcstat -R other -G -
	[[ $status -eq 0 && $output == *load_tick* ]]
}

@test "usr and os choose samples of the program and of the kernel; all threads and children are sampled" {
	need_breakpoints
	samples -n 1 -P breakpoint:load_word:w,usr -P breakpoint:load_word:w,os load stores=7 kernel_stores=5
	samples_are 7 5
	# The process and its two threads; each of two children and their two children.
	samples -n 1 -P breakpoint:load_word:w -d -P breakpoint:load_word:w load_pie stores=100 late=2 forks=2 below=2
	samples_are 300 900
}

@test "PERF-138: CPUs are sampled for privileged owners, other owners' processes for themselves, the kernel on CPUs" {
	need_breakpoints
	local word run=(run_as_nobody pmcstat -q)

	word=0x$(nm "$BUILD/tests/load" | awk '$3 == "load_word" { print $1 }')
	samples -c '*' -n 10 -S "breakpoint:$word:w" taskset -c 0 load stores=200
	samples_are 20 0
	chmod a+rwx .
	run "${run[@]}" -n 1 -O theirs -P breakpoint:load_word:w,usr -P breakpoint:load_word:w,os load stores=7 kernel_stores=5
	status_is 0
	pmcstat -q -R theirs >text
	samples_are 7 5
	# The kernel's side has no address but the one that stands for all.
	refute grep -E '^\.\.\. +0xffff' text
	refuses '*system-scope sampling needs CAP_PERFMON*' "${run[@]}" -c 0 -n 1 -O theirs -S "breakpoint:$word:w" load
	refuses '*a breakpoint in the kernel belongs to no task*pmcstat -S*' \
		pmcstat -q -n 1 -O none -P breakpoint:kernel:schedule_timeout load
}
