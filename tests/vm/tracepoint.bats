#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Hits of tracepoints against what the workload did, on every kernel: processes, trees, CPUs, moves between CPUs,
# CPUs that go and come, filters, preemption.  progs/load.c and progs/preempt.c make the calls.

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

@test "nothing is counted before START and ATTACH, nothing after STOP and DETACH" {
	counts_between_start_and_stop calls=10 caps 0x20 tracepoint $ENTER alloc 3 65 0 any 0
}

@test "moves between CPUs lose nothing" {
	run_counts -p $ENTER -p CPU_MIGRATIONS load moves=200
	[ "${counts[0]}" -eq 200 ]
	[ "${counts[1]}" -ge 200 ]
}

@test "the tracepoint of switches, and one that has a program of its own" {
	run_counts -p sched:sched_switch -p CONTEXT_SWITCHES -p sched:sched_process_exit -p raw_syscalls:sys_enter \
		-p raw_syscalls:sys_exit load switches=100
	# The last switch is a hit, and in the figure, unless that is read some microseconds after the end;
	# exit_group(2) does not return.
	[ "${counts[0]}" -ge "${counts[1]}" ]
	[ "${counts[0]}" -le $((counts[1] + 1)) ]
	[ "${counts[1]}" -ge 100 ]
	[ "${counts[2]}" -eq 1 ]
	[ "${counts[3]}" -ge $((counts[4])) ] && [ "${counts[3]}" -le $((counts[4] + 1)) ]
}

@test "PERF-024: groups, of processes and of each CPU: equal members are equal in each row, and the calls are the program's" {
	group="$ENTER,CPU_CLOCK,page-faults,$ENTER,CPU_CLOCK,page-faults"
	run_counts -d -w 0.05 -p "{$group}" load calls=100 late=2 forks=2 below=2 spins=2000000
	rows_are_equal
	[ "${counts[0]}" -eq 900 ]
	run_counts -c 1 -w 0.05 -s "{$group}" taskset 2 load calls=100 spins=20000000
	rows_are_equal
	[ "${counts[0]}" -eq 100 ]
}

# rows_are_equal - in each row of run_counts the second half is the first half
rows_are_equal() {
	awk -F, '/^[0-9]/ { rows++; for (i = 2; i < 5; i++) if ($i != $(i + 3)) exit 1 } END { if (!rows) exit 1 }' <<<"$output"
}

@test "calls of a task that preempts another one's call on the same CPU are not skipped" {
	run_counts -p $ENTER -p $EXIT preempt 4000
	counts_are 204000 204000
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

# Here, because another daemon's programs on the same call would take part.
@test "the programs of a log leave a filter's counts of the same call alone" {
	run vm_sh 'pmcstat -q -P CLOCK.HARD -O /tmp/log pmcstat -q --csv -C -p syscalls:sys_enter_munmap \
		-p "syscalls:sys_enter_munmap,filter=len > 0" unmaps 2>&1 >/dev/null'
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	[ "${counts[1]}" -gt 0 ]
	[ "${counts[1]}" -eq "${counts[2]}" ]
}

@test "a CPU that goes and comes keeps the counter, and its hits" {
	run vm_sh "pmcstat -q --csv -C -p $ENTER -d -p $ENTER sh -c 'load calls=10
		echo 0 >/sys/devices/system/cpu/cpu1/online && load calls=10 && echo 1 >/sys/devices/system/cpu/cpu1/online &&
		taskset 2 load calls=10; true' 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,0,30 ]]
}

@test "a counter that another tracepoint had counts anew" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /sys/kernel/tracing/events
		for e in irq/* signal/* sched/* $(ls -d syscalls/sys_e*_s[eycot]* | head -n 60); do
			[ ! -d $e ] || ! case $e in *sched_stat_*) false ;; esac || set -- "$@" -p "$(echo $e | tr / :)"
			[ $# -lt 32 ] || { pmcstat -q "$@" true 2>/dev/null || exit; set --; n=$((n + 16)); }
		done && echo $n'
	status_is 0
	[ "$output" -ge 80 ]
	run_counts -p $ENTER -p $EXIT -p sched:sched_process_exit -p sched:sched_switch load calls=88 switches=3
	[ "${counts[*]:0:3}" = "88 88 1" ]
	[ "${counts[3]}" -ge 4 ]
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
