#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Groups of hardware events on a real PMU (arm64: six counters for any event, one for cycles).  The guest has one CPU,
# where one instruction takes one cycle.

load helpers

setup_file() {
	vm_start --daemon --smp 1
}

setup() { vm_require_arch arm64; }

# all_free [N] - waits until the daemon has seen the last client's end; of 7 rows
all_free() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8 *ENABLED *FREE")" -eq "$1" ]' "${1:-7}"
}

# rows_equal COLUMN... - in each row of run_counts these columns are the same
rows_equal() {
	awk -F, -v columns="$*" 'BEGIN { n = split(columns, c, " ") }
		/^[0-9]/ { rows++; for (i = 2; i <= n; i++) if ($c[i] != $c[1]) exit 1 }
		END { if (rows < 3) exit 1 }' <<<"$output"
}

# rows_in_step COLUMN COLUMN - the two differ by the same number in each row, which is less than an interrupt takes: one
# may come between the two readings at the exec, and none may between those at a context switch
rows_in_step() {
	awk -F, -v a="$1" -v b="$2" '/^[0-9]/ {
			if (!rows++) first = $b - $a
			if ($b - $a != first || first < -100000 || first > 100000) exit 1
		}
		END { if (rows < 3) exit 1 }' <<<"$output"
}

# PERF-373
@test "PERF-024: a group of all seven rows: equal events are equal in each row, and one instruction takes one cycle" {
	six=inst_retired,inst_retired,inst_retired,inst_retired,inst_retired,inst_retired
	run_counts -w 0.01 -p "{$six,cpu_cycles}" load spins=20000000
	rows_equal 2 3 4 5 6 7
	rows_in_step 2 8
	# The guest's cycle counter does not stop with an idle CPU, which is not in user mode.
	usr=inst_retired,usr,inst_retired,usr,inst_retired,usr,cpu_cycles,usr
	run_counts -c 0 -w 0.01 -s "{inst_retired,inst_retired,inst_retired,$usr}" load spins=20000000
	rows_equal 2 3 4
	rows_equal 5 6 7 8
	all_free
}

@test "PERF-023: a group that does not fit: the member and the holder are named, and nothing is held" {
	run vm pmcstat -p "{$(printf 'inst_retired,%.0s' {1..7})cpu_cycles}" load spins=1
	status_is 71
	has '"inst_retired", member 7 of a group: '
	all_free
	vm_sh 'pmcstat -q -s inst_retired -s inst_retired -s inst_retired -s inst_retired -s inst_retired sleep 1000 >/dev/null 2>&1 &'
	all_free 2
	run vm pmcstat -p "{cpu_cycles,inst_retired,inst_retired}" load spins=1
	status_is 71
	has '"inst_retired", member 3 of a group: '
	has '(pmcstat)'
	vm_sh 'kill $(pidof pmcstat)'
	all_free
}

@test "a switch between processes of which one has one PMC more: what both have goes on, and counts exactly" {
	run_counts -w 0.01 -d -p syscalls:sys_enter_sched_get_priority_max -p inst_retired,usr -d -p inst_retired,usr \
		load calls=2000 spins=5000000 forks=3
	[ "${counts[0]}" -eq 8000 ]
	# Two for each round of the four processes, or of the first, and what the calls and the forks take.
	is "${counts[1]}" 40400000 400000
	is "${counts[2]}" 10200000 200000
	all_free
}

# self_group [OPTION...] EVENT... - nothing that it reads of itself is wrong.  The first event counts in user mode alone:
# in the kernel the program may meet work of others, in interrupts.
self_group() {
	run vm groupself "$@"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "PERF-373: a program that counts itself reads its group without the daemon, by registers and by the kernel" {
	for access in 0 1; do
		vm_sh "echo $access >/proc/sys/kernel/perf_user_access"
		self_group -d "$(vm_sh "pidof pmcbpfd | tr ' ' '\n' | sort -n | head -n 1")" inst_retired,usr cpu_cycles inst_retired inst_retired
	done
	vm_sh "echo 0 >/proc/sys/kernel/perf_user_access"
	all_free
}

@test "a group that counts itself beside other PMCs on its rows, and beside software events, by the daemon" {
	self_group inst_retired,usr PAGE_FAULT.ALL inst_retired,usr
	vm_sh 'pmcstat -q -p inst_retired -p inst_retired -p inst_retired sleep 1000 >/dev/null 2>&1 &'
	all_free 4
	self_group inst_retired,usr cpu_cycles inst_retired inst_retired
	vm_sh 'kill $(pidof pmcstat)'
	all_free
}

@test "two programs count themselves by groups of six at once; a group of another process finds no row" {
	six=("inst_retired,usr" inst_retired "cpu_cycles,usr" cpu_cycles "inst_retired,os" "cpu_cycles,os")
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/end /tmp/one; mkfifo /tmp/end; groupself -w "$@" </tmp/end >/tmp/one 2>&1 & exec 3>/tmp/end
		until [ -s /tmp/one ]; do usleep 20000; done; cat /tmp/one; groupself "$@"
		pmcstat -p "{inst_retired,cpu_cycles}" load spins=1 2>&1; exec 3>&-; wait; cat /tmp/one' "${six[@]}" >"$BATS_TEST_TMPDIR/out" 2>&1 || true
	cat "$BATS_TEST_TMPDIR/out"
	[ "$(grep -c . "$BATS_TEST_TMPDIR/out")" -eq 3 ]
	grep -q "counts several events, so that a group there counts its own process only" "$BATS_TEST_TMPDIR/out"
	all_free
}

@test "the kernel has not complained" {
	vm_clean_log
}
