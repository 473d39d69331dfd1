#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Hits of tracepoints against what the workload did, on every kernel: processes, trees, CPUs, moves between CPUs,
# CPUs that go and come, filters.  progs/load.c makes the calls.

load helpers

ENTER=syscalls:sys_enter_sched_get_priority_max EXIT=syscalls:sys_exit_sched_get_priority_max

# shellcheck disable=SC2154 # run_counts sets counts
counts_are() {
	[ "${counts[*]}" = "$*" ] || { echo "counted ${counts[*]}, not $*" >&2; return 1; }
}

@test "PERF-035, PERF-075: a process, its threads and its children, at both ends of a call" {
	run_counts -p $ENTER -p $EXIT load calls=1000
	counts_are 1000 1000
	run_counts -p $ENTER -d -p $ENTER load calls=100 late=2 forks=2 below=2
	counts_are 300 900
}

@test "moves between CPUs lose nothing" {
	run_counts -p $ENTER -p CPU_MIGRATIONS load moves=200
	[ "${counts[0]}" -eq 200 ]
	[ "${counts[1]}" -ge 200 ]
}

@test "the tracepoint of switches, and one that has a program of its own" {
	run_counts -p sched:sched_switch -p CONTEXT_SWITCHES -p sched:sched_process_exit -p raw_syscalls:sys_enter \
		-p raw_syscalls:sys_exit load switches=100
	# The last switch is a hit, and comes after the kernel's last figure; exit_group(2) does not return.
	[ "${counts[0]}" -eq $((counts[1] + 1)) ]
	[ "${counts[1]}" -ge 100 ]
	[ "${counts[2]}" -eq 1 ]
	[ "${counts[3]}" -ge $((counts[4])) ] && [ "${counts[3]}" -le $((counts[4] + 1)) ]
}

@test "a filter admits every second call, in process scope and on a CPU" {
	run_counts -p "$ENTER,filter=policy == 1" -p $ENTER load calls=1000
	counts_are 500 1000
	run vm_sh "pmcstat -q --csv -C -c 1 -s '$ENTER,filter=policy == 1' -s $ENTER taskset 2 load calls=100 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,50,100 ]]
	run vm pmcstat -p "$ENTER,filter=bogus == 1" true
	[[ $output == *'at character 1, "bogus == 1": Field not found'* ]]
}

@test "a CPU that goes and comes keeps the counter, and its hits" {
	run vm_sh "pmcstat -q --csv -C -p $ENTER -d -p $ENTER sh -c 'load calls=10
		echo 0 >/sys/devices/system/cpu/cpu1/online && load calls=10 && echo 1 >/sys/devices/system/cpu/cpu1/online &&
		taskset 2 load calls=10; true' 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,0,30 ]]
}

@test "after a daemon that was killed, the next one counts exactly" {
	vm_daemon_stop KILL
	vm_daemon
	run_counts -p $ENTER load calls=77
	counts_are 77
}

@test "the kernel has not complained" {
	vm_clean_log
}
