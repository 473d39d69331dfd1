#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Class TRACEPOINT: counts equal what a program knows of itself, in every scope and life, and what is refused.
# `load calls=N` makes N calls of sched_get_priority_max(2), which no other program of these tests makes.

load helpers

CLASS=65 READ=0x20
ENTER=syscalls:sys_enter_sched_get_priority_max EXIT=syscalls:sys_exit_sched_get_priority_max
TREE=2

setup() {
	need_calls
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon
}

# counts OPTION... -- COMMAND...: pmcstat's last line, its counts in $counts
counts() {
	run pmcstat -q -o rows "$@"
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
	read -r -a counts <<<"$(tail -n 1 rows)"
}

counts_are() {
	[ "${counts[*]}" = "$*" ] || { echo "counted ${counts[*]}, not $*" >&2; return 1; }
}

# takes NAME MODE CPU [FLAGS]: the client has a PMC of tracepoint $ENTER
takes() { expect "$1" 'alloc 0 *' caps $READ tracepoint "${5:-$ENTER}" alloc "$2" $CLASS 0 "$3" "${4:-0}"; }

# switches PID: the context switches of a process that sleeps
switches() { awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$1/status"; }

@test "PERF-035, PERF-074, PERF-075: a command's hits are counted exactly, at the beginning and the end of a call" {
	counts -p $ENTER -p "tracepoint:$EXIT" -p "TRACEPOINT-$ENTER,os" load calls=1000
	counts_are 1000 1000 1000
	counts -p $ENTER load calls=0
	counts_are 0
}

@test "threads, children and their children count, with -d only" {
	counts -p $ENTER -d -p $ENTER load calls=100 late=2 forks=2 below=2
	# The process and its two threads; each of two children and their two children.
	counts_are 300 900
}

@test "an exec ends nothing: the calls before it and after it are the same process's" {
	counts -p $ENTER python3 -c "
import os
for i in range(70): os.sched_get_priority_max(os.SCHED_OTHER)
os.execvp('load', ['load', 'calls=30'])"
	counts_are 100
}

@test "a process that moves from CPU to CPU loses no hit" {
	[ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
	counts -p $ENTER -p $EXIT -p SOFT-CPU_MIGRATIONS load moves=500
	[ "${counts[0]} ${counts[1]}" = "500 500" ]
	[ "${counts[2]}" -ge 500 ]
}

@test "nothing is counted before START and ATTACH, nothing after STOP and DETACH" {
	client own
	takes own 3 any
	for n in {0..5}; do
		workload w$n calls=10
		[ "$n" -eq 0 ] || expect own 'attach 0' attach "${WORKLOAD[w$n]}"
	done
	work w1
	expect own 'start 0' start
	work w0
	expect own 'read 0 0' read
	work w2
	expect own 'read 0 10' read
	expect own 'stop 0' stop
	work w3
	expect own 'read 0 10' read
	expect own 'start 0' start
	work w4
	expect own 'read 0 20' read
	expect own 'detach 0' detach "${WORKLOAD[w5]}"
	work w5
	expect own 'read 0 20' read
	expect own 'write 0' stop write 5
	expect own 'read 0 5' read
}

@test "two owners count one tracepoint of one process, each from its own start" {
	client one
	client two
	takes one 3 any
	# A process has one PMC on a row, so the second owner's must be on another one.
	takes two 3 any
	takes two 3 any
	for n in 1 2; do
		workload w$n calls=10
		expect one 'attach 0' attach "${WORKLOAD[w$n]}"
		expect two 'attach 0' attach "${WORKLOAD[w$n]}"
	done
	expect one 'start 0' start
	work w1
	expect two 'start 0' start
	work w2
	expect one 'read 0 20' read
	expect two 'read 0 10' read
	expect one 'release 0' stop release
	expect two 'read 0 10' read
}

@test "an owner counts itself, and a process that ends keeps its hits" {
	client own
	takes own 3 any 0 raw_syscalls:sys_enter
	expect own 'start 0' start
	count_of own
	first=$count
	count_of own
	# Each order is read, answered and written.
	[ "$count" -gt "$first" ]
	expect own 'release 0' stop release
	takes own 3 any $TREE
	workload w calls=50 forks=3
	expect own 'start 0' attach "${WORKLOAD[w]}" start
	work w
	rest w
	expect own 'read 0 200' read
}

@test "a CPU's hits: those of the processes on it" {
	client own
	takes own 1 0
	expect own 'start 0' start
	taskset 1 load calls=300
	expect own 'read 0 300' read
	[ "$(nproc)" -eq 1 ] || taskset 2 load calls=300
	expect own 'stop 0' stop
	count_of own
	[ "$(nproc)" -eq 1 ] || [ "$count" -eq 300 ]
	taskset 1 load calls=300
	expect own "read 0 $count" read
}

@test "the tracepoint of context switches counts those of the process that leaves the CPU" {
	client own
	takes own 3 any 0 sched:sched_switch
	workload w switches=200
	before=$(switches "${WORKLOAD[w]}")
	expect own 'start 0' attach "${WORKLOAD[w]}" start
	work w
	after=$(switches "${WORKLOAD[w]}")
	[ $((after - before)) -ge 200 ]
	expect own "read 0 $((after - before))" read
}

# PERF-306
@test "a filter counts the hits that it admits, for processes, trees and CPUs" {
	counts -p "$ENTER,filter=policy == 1" -p $ENTER load calls=1000
	counts_are 500 1000
	counts -d -p "$ENTER,filter=policy == 1 || policy == 2" load calls=100 forks=2
	counts_are 150
	# The filter is the rest of the specifier, with its commas.
	counts -p "$ENTER,os,filter=policy == 1 && comm != \"a,b=c\"" load calls=100
	counts_are 50
	client own
	expect own 'alloc 0 *' caps $READ tracepoint $ENTER filter policy+==+1 alloc 1 $CLASS 0 0 0
	expect own 'start 0' start
	taskset 1 load calls=200
	expect own 'read 0 100' read
}

@test "after a daemon that was killed the next one counts exactly, and nothing of the first remains" {
	client own
	takes own 3 any
	expect own 'start 0' start
	mapfile -t programs < <(daemon_ids prog)
	program_loaded "${programs[-1]}"
	stop_daemon KILL || true
	wait_for programs_gone "${programs[@]}"
	start_daemon
	counts -p $ENTER -p sched:sched_process_exit load calls=123
	counts_are 123 1
}

@test "the logs of slices and exits add up to the hits" {
	run pmcstat -q -E -W -d -p $ENTER -o log -O recorded load calls=40 forks=2
	[ "$status" -eq 0 ] || unless_hidden "$output"
	pmcstat -R recorded -o text
	lost_slices text
	for record in exitval cswval; do
		awk -v record=$record '$1 == record { n += $NF } END { print n + 0 }' text
	done >sums
	[ "$lost" -gt 0 ] || [ "$(cat sums)" = $'120\n120' ] || { cat sums text >&2; return 1; }
}

@test "PERF-077: what is no tracepoint is refused, with the nearest name" {
	for spec in "syscalls:sys_enter_opena:*no tracepoint \"syscalls:sys_enter_opena\" (did you mean \"syscalls:sys_enter_open\"*" \
		"nosuch:event:*no tracepoint \"nosuch:event\"*pmc list-events*" \
		"SYSCALLS:sys_enter_openat:*(did you mean \"syscalls:sys_enter_openat\"?)*" \
		"sched:sched_switc*:*(did you mean \"sched:sched_switch\"?)*" \
		"tracepoint:syscalls:*is no tracepoint's name: write SYSTEM:NAME*" \
		"$ENTER,usr:*is a place in the kernel: usr would count nothing*" \
		"tracepoint:$ENTER:u:*perf's modifiers have no meaning for a tracepoint*" \
		"$ENTER,freq=5:*freq is for samples, and this PMC counts*" \
		"$ENTER,edge=5:*\"edge\" is no qualifier of a tracepoint: there are os and filter=*" \
		"$ENTER,filter=:*filter takes an expression*"; do
		run pmcstat -p "${spec%%:\**}" true
		# shellcheck disable=SC2053 # a pattern
		[[ $status -ne 0 && $output == ${spec#"${spec%%:\**}":} ]] || { echo "$spec: $output" >&2; return 1; }
	done
}

@test "PERF-078, PERF-362: entries of the function tracer are refused" {
	run pmcstat -p ftrace:function true
	[[ $status -ne 0 && $output == *"ftrace:function is an entry of the function tracer"*"trace-cmd(1)"* ]]
}

@test "a filter that the kernel refuses: the place and the kernel's words; nothing of tracefs changes" {
	run pmcstat -p "$ENTER,filter=policy == 1 && bogus == 3" true
	[[ $status -ne 0 && $output == *"at character 16, \"bogus == 3\": Field not found"* ]]
	# The kernel accepts this one, which no call would pass.
	run pmcstat -p 'syscalls:sys_enter_openat,filter=filename ~ "/etc/*"' true
	[[ $status -ne 0 && $output == *'character 12: the field points to a text of the program: write .ustring'* ]]
	run pmcstat -p "$ENTER,filter=policy==1&&bogus==3" true
	[[ $status -ne 0 && $output == *"at character 12, \"bogus==3\": Field not found"* ]]
	run pmcstat -p "$ENTER,filter=policy == " true
	[[ $status -ne 0 && $output == *"refuses the filter of $ENTER at character "* ]]
	for filter in 'policy=1' 'policy ==1)' '(policy == 1' 'policy == 1 policy == 2' "policy == 'a" '"policy"'; do
		run pmcstat -p "$ENTER,filter=$filter" true
		[[ $status -ne 0 && $output == *"refuses the filter of $ENTER"*'[Invalid argument]' ]]
	done
	[[ $output == *"a condition of it does not begin with a field"* ]]
	run pmcstat -p "$ENTER,filter=policy=1" true
	[[ $output == *"at character 7, \"=1\": Invalid operator"* ]]
	run pmcstat -p "sched:sched_switch,filter=prev_prio > 1" true
	[[ $status -ne 0 && $output == *"no filter can run before it"* ]]
	run pmcstat -p "sched:sched_stat_runtime,filter=runtime > 1" true
	[[ $status -ne 0 && $output == *"perf counts nanoseconds of sched:sched_stat_runtime"* ]]
	helpers=$(cat "/proc/$(cat "/proc/$DAEMON_PID/task/$DAEMON_PID/children" | tr -d ' ')/task/"*/children)
	[ -n "$helpers" ]
	for pid in $helpers; do refute test -e "/sys/kernel/tracing/instances/pmcbpfd-$pid"; done
	[ "$(cat /sys/kernel/tracing/events/syscalls/sys_enter_sched_get_priority_max/filter)" = none ]
}

@test "a refused filter holds up no other client: a helper asks the kernel for the reason" {
	# The C library has one of the two.
	events=(syscalls:sys_enter_mkdirat)
	[ ! -d /sys/kernel/tracing/events/syscalls/sys_enter_mkdir ] || events+=(syscalls:sys_enter_mkdir)
	# shellcheck disable=SC2046 # words
	pmcstat -q --csv -C -w 0.1 -o rows $(printf -- '-p %s ' "${events[@]}") -d $(printf -- '-p %s ' "${events[@]}") \
		-t "$DAEMON_PID" 2>said 3>&- &
	CHILD=$!
	has_rows() { [ "$(wc -l <rows)" -ge 2 ] || process_gone $CHILD; }
	wait_for has_rows
	unless_hidden "$(<said)"
	run pmcstat -p "$ENTER,filter=bogus == 3" true
	[[ $output == *"at character 1, \"bogus == 3\": Field not found"* ]]
	kill -INT $CHILD
	wait $CHILD || { unless_hidden "$(<said)"; cat said; return 1; }
	tail -n 1 rows | awk -F, '{ for (i = 2; i <= NF; i++) n[i - 2 < (NF - 1) / 2] += $i } END { exit n[1] != 0 || n[0] != 1 }'
}

@test "a hostile client: names that lead elsewhere, fields without an end, filters of other classes" {
	client bad
	for name in ../../etc:passwd a:../../../b a/b:c :x x: x "$(printf 'a%.0s' {1..40}):$(printf 'b%.0s' {1..40})"; do
		expect bad "alloc EINVAL*is no tracepoint's name: write SYSTEM:NAME*" \
			caps $READ tracepoint "$name" alloc 3 $CLASS 0 any 0
	done
	expect bad 'alloc EINVAL*filter: it has at most 511 characters*' \
		tracepoint $ENTER filter "$(printf 'x%.0s' {1..600})" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*filter: class SOFT has events without fields*' filter policy alloc 3 15 0x20004 any 0
	expect bad 'alloc EINVAL*filter: character 7 is a control character*' \
		filter "$(printf 'policy\001')" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EOPNOTSUPP*class TRACEPOINT lacks the capabilities*' filter none caps 0x22 alloc 3 $CLASS 0 any 0
}

@test "unprivileged owners count the calls of their own processes, and only a rule widens that" {
	run run_as_nobody pmcstat -q -p $ENTER -p raw_syscalls:sys_exit load calls=77
	[ "$status" -eq 0 ] || unless_hidden "$output"
	[[ $status -eq 0 && $output == *" 77 "* ]]
	run run_as_nobody pmcstat -p kmem:kmalloc true
	[[ $status -ne 0 && $output == *"kmem:kmalloc shows the kernel's work: it needs CAP_PERFMON or a rule with tracepoints=\"any\""* ]]
	run run_as_nobody pmcstat -p nosuch:event true
	[[ $status -ne 0 && $output == *"this kernel has no tracepoint \"nosuch:event\""* ]]
	run run_as_nobody pmcstat -p sched:sched_swtch true
	[[ $status -ne 0 && $output == *"(did you mean \"sched:sched_switch\"?)"* ]]
	run run_as_nobody pmcstat -p "$ENTER,filter=policy == 1" true
	[[ $status -ne 0 && $output == *"the kernel runs a filter for the hits of all processes"* ]]
	run run_as_nobody pmcstat -p $ENTER -t $$ -w 1
	[[ $status -ne 0 && $output == *"another user"* || $output == *"ermit"* ]]
}

@test "a site's rule gives tracepoints, or takes them away" {
	for rule in 'user="nobody" tracepoints="any"' 'user="nobody" tracepoints="none"' 'user="nobody" events="TRACEPOINT:raw_*"'; do
		mkdir -p policy.d
		echo "$rule" >policy.d/site.conf
		stop_daemon
		start_daemon -o policy.dir="$PWD/policy.d"
		case $rule in
		*any*)
			run run_as_nobody pmcstat -q -p "$ENTER,filter=policy == 1" -p sched:sched_process_exit load calls=10
			[ "$status" -eq 0 ] || unless_hidden "$output"
			status_is 0 ;;
		*none*)
			run run_as_nobody pmcstat -p $ENTER true
			[[ $status -ne 0 && $output == *"you may not count tracepoints"*"tracepoints=\"none\" ("*"/site.conf:1)"* ]] ;;
		*)
			run run_as_nobody pmcstat -p $ENTER true
			[[ $status -ne 0 && $output == *"is not among the events that you may count"* ]]
			run run_as_nobody pmcstat -q -p raw_syscalls:sys_enter true
			status_is 0 ;;
		esac
	done
}

@test "64 tracepoints at once: the next one is refused, and the refusal names a holder" {
	mapfile -t names < <(pmc list-events sys_enter_ | head -n 65)
	[ ${#names[@]} -eq 65 ]
	for n in {0..3}; do
		client "c$n"
		for name in "${names[@]:$((16 * n)):16}"; do
			expect "c$n" 'alloc 0 *' caps $READ tracepoint "${name#$'\t'}" alloc 3 $CLASS 0 any 0
		done
		expect "c$n" 'alloc EINVAL*' tracepoint "${names[0]#$'\t'}" alloc 3 $CLASS 0 any 0
	done
	client last
	expect last 'alloc EINVAL*64 tracepoints and probes are counted at once*one is process *' \
		caps $READ tracepoint "${names[64]#$'\t'}" alloc 3 $CLASS 0 any 0
	expect last 'alloc 0 *' tracepoint "${names[63]#$'\t'}" alloc 3 $CLASS 0 any 0
	part c0
	wait_for expect last 'alloc 0 *' tracepoint "${names[64]#$'\t'}" alloc 3 $CLASS 0 any 0
}

@test "lists: all that the kernel has, by class, for every user" {
	# Two entries of the function tracer's system may be listed there.
	grep -cv '^ftrace:' /sys/kernel/tracing/available_events >want
	pmccontrol -L >all
	[ "$(sed -n '/^TRACEPOINT/,/^[A-Z]/p' all | grep -c ':')" -eq "$(<want)" ]
	run_as_nobody pmc list-events >theirs
	[ "$(grep -v 'breakpoint:' theirs | grep -c ':')" -eq "$(<want)" ]
	[ "$(pmc list-events sys_enter_sched_get_priority_max)" = $'\t'$ENTER ]
	pmc list-events -u sched:sched_switch | grep -qx 'sched:sched_switch:	needs CAP_PERFMON'
	pmc list-events -u sys_enter_getppid | grep -qx 'syscalls:sys_enter_getppid:	of one.s own processes'
}

@test "rows: the event of a PMC, its owner, and its class" {
	client own
	takes own 3 any 0 $ENTER
	expect own 'info 0 TRACEPOINT0 *' info 0 17
	pmccontrol -l | grep -q "TRACEPOINT0 .*$ENTER"
}

# Those that count processes come last, because the kernel may hide a switch of these.
@test "the examples of pmc.tracepoint(3)" {
	local n
	mapfile -t examples < <(sed -n '/^\.Dl /{s///;s/\\(dq/"/g;p}' "$BATS_TEST_DIRNAME/../../man/pmc.tracepoint.3")
	[ ${#examples[@]} -eq 7 ]
	printf 'all:\n\t@cat Makefile | wc -l\n' >Makefile
	run bash -c "${examples[3]}"
	status_is 0
	grep -q '^values .* raw={filename="[^"]*/make" pid=' <<<"$output"
	for n in 1 2 4; do
		run bash -c "exec ${examples[n]} >/dev/null"
		status_is 0
		grep -q 'samples in "pmc.log"' <<<"$output"
	done
	bash -c "exec ${examples[5]}" >rows 2>&1 3>&- &
	wait_for grep -q '^ *[0-9]' rows
	kill -INT $!
	wait $! || { cat rows; return 1; }
	grep -q 'sched:sched_switch' rows
	for n in 0 6; do
		run bash -c "exec ${examples[n]} >/dev/null"
		[ "$status" -eq 0 ] || unless_hidden "$output"
		status_is 0
	done
}
