#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# PMCs of single threads (PMC_F_THREAD): counts equal what the thread did, whatever the others of its process do, and
# what is refused.  `load -w threads=2 calls=N`: each of its three threads makes N calls.

load helpers

CLASS=65 READ=0x20 THREAD=0x8000
ENTER=syscalls:sys_enter_sched_get_priority_max

setup() {
	need_calls
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon
}

# threads_of PID: the threads of the process but its first, in $threads
threads_of() {
	local path

	threads=()
	for path in "/proc/$1/task"/*; do
		[ "${path##*/}" = "$1" ] || threads+=("${path##*/}")
	done
}

# counts_calls NAME: the client has a PMC of $ENTER that counts one thread
counts_calls() { expect "$1" 'alloc 0 *' caps $READ tracepoint $ENTER alloc 3 $CLASS 0 any $THREAD; }

# counts_returns NAME FILE SYMBOL: the client has a PMC that counts a thread's returns from the function
counts_returns() {
	expect "$1" 'alloc 0 *' caps $READ tracepoint returns probe 2 "$2" "$(place "$2" "$3")" alloc 3 67 0 any $THREAD
}

# counts_soft NAME EVENT [FLAGS]
counts_soft() { expect "$1" 'alloc 0 *' caps $READ alloc 3 15 "$2" any "${3:-$THREAD}"; }

# counts_from_now ARGUMENT...: a pmcstat, $pid, that writes sums to `rows`, the first of them already
counts_from_now() {
	pmcstat -q --csv -C -w 0.1 -o rows "$@" 3>&- &
	pid=$!
	wait_for has_rows
}
has_rows() { [ "$(wc -l <rows)" -ge 2 ]; }

# figure PID TID FIELD: a number of /proc/PID/task/TID/stat
figure() { sed 's/.*) //' "/proc/$1/task/$2/stat" | cut -d' ' -f$(($3 - 2)); }

@test "PERF-014: one thread's hits, not its process's; the count stays after its end" {
	workload w threads=2 calls=10
	w=${WORKLOAD[w]}
	threads_of "$w"
	[ ${#threads[@]} -eq 2 ]
	client first
	client second
	client third
	counts_calls first
	# A process has one PMC on a row.
	for _ in 1 2; do counts_calls second; done
	for _ in 1 2 3; do counts_calls third; done
	expect first 'attachthread 0' attachthread "$w" "$w"
	expect second 'attachthread 0' attachthread "$w" "${threads[0]}"
	expect third 'attachthread 0' attachthread "$w" "${threads[1]}"
	for name in first second third; do expect $name 'start 0' start; done
	work w
	for name in first second third; do expect $name 'read 0 10' read; done
	[ ! -e "/proc/$w/task/${threads[0]}" ]
	expect second 'stop 0' stop
	expect second 'read 0 10' read
}

@test "nothing is counted before START, after STOP and DETACH; another thread may follow" {
	client own
	counts_calls own
	for n in 0 1 2 3; do
		workload w$n threads=1 calls=1$n
		w=${WORKLOAD[w$n]}
		threads_of "$w"
		expect own 'attachthread 0' attachthread "$w" "${threads[0]}"
		case $n in
		0) work w0 && expect own 'read 0 0' read ;;
		1 | 2) expect own 'start 0' start && work w$n && expect own 'stop 0' stop ;;
		esac
		expect own 'detach 0' detach "$w"
		[ $n -ne 3 ] || work w3
	done
	expect own 'read 0 23' read
	expect own 'write 0' write 5
	expect own 'read 0 5' read
}

# kind_switches KIND: what the kernel has counted for the first thread of $w
kind_switches() { awk -v kind="$1_ctxt_switches:" '$1 == kind { print $2 }' "/proc/$w/task/$w/status"; }

@test "software events of a thread equal the kernel's own figures of it" {
	workload w threads=1 switches=50 pages=100
	w=${WORKLOAD[w]}
	client faults
	client switches
	client clock
	client waits
	client preempted
	counts_soft faults 0x20007
	for _ in 1 2; do counts_soft switches 0x2000b; done
	for _ in 1 2 3; do counts_soft clock 0x2000a; done
	for _ in 1 2 3 4; do counts_soft waits 0x2000c; done
	for _ in 1 2 3 4 5; do counts_soft preempted 0x2000d; done
	names="faults switches clock waits preempted"
	for name in $names; do expect $name 'attachthread 0' attachthread "$w" "$w"; done
	faults=$(figure "$w" "$w" 10)
	waits=$(kind_switches voluntary)
	preempted=$(kind_switches nonvoluntary)
	for name in $names; do expect $name 'start 0' start; done
	work w
	waits=$(($(kind_switches voluntary) - waits))
	preempted=$(($(kind_switches nonvoluntary) - preempted))
	[ "$waits" -ge 50 ]
	expect switches "read 0 $((waits + preempted))" read
	expect waits "read 0 $waits" read
	expect preempted "read 0 $preempted" read
	faults=$(($(figure "$w" "$w" 10) - faults))
	[ "$faults" -ge 100 ]
	expect faults "read 0 $faults" read
	count_of clock
	[ "$count" -gt 0 ]
}

@test "an exec of the thread is counted, and threads that it makes are not" {
	client own
	counts_calls own
	waits_to_become -- load -w calls=30 late=2
	expect own 'attachthread 0' attachthread "$TARGET" "$TARGET"
	expect own 'start 0' start
	go
	kill -USR1 "$TARGET"
	wait_for worked "$OUT"
	expect own 'read 0 30' read
}

@test "samples of a thread are of its own events" {
	workload w threads=1 pages=200
	w=${WORKLOAD[w]}
	client own
	expect own 'log 0' log log
	expect own 'attachthread 0' caps 0x23 alloc 2 15 0x20007 any $THREAD setcount 1 attachthread "$w" "$w"
	expect own 'start 0' start
	faults=$(figure "$w" "$w" 10)
	work w
	faults=$(($(figure "$w" "$w" 10) - faults))
	expect own 'endlog 0' stop endlog
	[ "$faults" -ge 200 ]
	[ "$(pmcstat -R log | grep -c '^callchain')" -eq "$faults" ]
}

# samples_hits NAME: the client has a PMC that samples each call of a thread
samples_hits() {
	expect "$1" 'setcount 0' caps 0x21 tracepoint $ENTER alloc 2 $CLASS 0 any $THREAD setcount 1
}

# sampled NAME: the threads in its log, each with the number of its samples
sampled() {
	pmc filter -j "$1.log" - | sed -n '/"type":"callchain"/s/.*"tid":"\([0-9]*\)".*/\1/p' | sort | uniq -c | awk '{ print $2, $1 }'
}

@test "samples of a thread's hits are those that it passes" {
	workload w threads=2 calls=10
	w=${WORKLOAD[w]}
	threads_of "$w"
	client first
	client second
	for name in first second second; do samples_hits $name; done	# a process has one PMC on a row
	for name in first second; do expect $name 'log 0' log $name.log; done
	expect first 'attachthread 0' attachthread "$w" "$w"
	expect second 'attachthread 0' attachthread "$w" "${threads[1]}"
	for name in first second; do expect $name 'start 0' start; done
	work w
	for name in first second; do expect $name 'endlog 0' stop endlog; done
	[ "$(sampled first)" = "$w 10" ]
	[ "$(sampled second)" = "${threads[1]} 10" ]
}

# renumbers MODE: the client `own` samples the first thread, $tid, of the program, and `returns` counts its returns
renumbers() {
	client own
	expect own 'log 0' log own.log
	samples_hits own
	client returns
	counts_returns returns "$BUILD/tests/renumbered" renumbered_call
	coproc RENUMBERED { exec renumbered "$1" 10 3>&-; }
	read -r tid <&"${RENUMBERED[0]}"
	for name in own returns; do
		expect $name 'attachthread 0' attachthread "$RENUMBERED_PID" "$tid"
		expect $name 'start 0' start
	done
	echo >&"${RENUMBERED[1]}"
	read -r line <&"${RENUMBERED[0]}"
	[ "$line" = "done" ]
	expect own 'endlog 0' stop endlog
}

@test "a later thread with the number of one that has ended is not measured in its place" {
	renumbers again
	[ "$(sampled own)" = "$tid 10" ]
	expect returns 'read 0 10' read
}

@test "a thread that executes a program, and has its process's number from then on, is measured further" {
	renumbers "exec"
	[ "$(sampled own)" = "$(printf '%s\n' "$tid 10" "$RENUMBERED_PID 10" | sort)" ]
	expect returns 'read 0 20' read
}

@test "a breakpoint of one thread counts and samples its own accesses, not its process's" {
	need_breakpoints
	TICK=breakpoint:0x$(nm "$BUILD/tests/load" | awk '$3 == "load_tick" { print $1 }'):x
	workload w threads=2 ticks=10
	threads_of "${WORKLOAD[w]}"
	counts_from_now -p "$TICK" -t "tid:${threads[1]}"
	work w
	rest w
	wait $pid
	[[ "$(tail -n 1 rows)" == *",10" ]]
	run pmcstat -p breakpoint:0xffffffff81000000:x -t "tid:$$" -w 1 -l 1
	[[ $status -ne 0 && $output == *"a breakpoint in the kernel belongs to no task: count the process"* ]]
	workload w threads=2 ticks=10
	threads_of "${WORKLOAD[w]}"
	pmcstat -q -n 1 -P "$TICK" -O own.log -t "tid:${threads[1]}" 3>&- &
	pid=$!
	log_is_attached() { pmcstat -q -R own.log 2>/dev/null | grep -q '^attach'; }
	wait_for log_is_attached
	work w
	rest w
	wait $pid
	[ "$(sampled own)" = "${threads[1]} 10" ]
}

@test "a probe of one thread counts its own calls and returns, not its process's" {
	local call=uprobe:$BUILD/tests/load:load_call
	local probes=(-p "$call" -p "uretprobe:${call#*:}")

	workload w threads=2 calls=10
	threads_of "${WORKLOAD[w]}"
	counts_from_now "${probes[@]}" -t "tid:${threads[1]}"
	work w
	rest w
	wait $pid
	[[ "$(tail -n 1 rows)" == *",10,10" ]]
	# The program has the file from its exec on only.
	mkfifo go
	rm rows
	sh -c 'read -r line <go; load calls=5; exec load calls=30' 3>&- &
	w=$!
	counts_from_now "${probes[@]}" -t "tid:$w"
	echo >go
	wait $w
	wait $pid
	[[ "$(tail -n 1 rows)" == *",30,30" ]]
}

# measures_parts NAME WORD...: the client `own` has PMCs, allocated by these words, of the process $w and of each of its
# threads; ${IDS[NAME]} is the first one's number, ${IDS[NAME0]} … those of the others
declare -gA IDS
measures_parts() {
	local i of

	of=("$w" "${threads[@]}")
	expect own 'alloc 0 *' "${@:2}" 0
	IDS[$1]=${reply##* }
	expect own 'attach 0' attach "$w"
	for i in "${!of[@]}"; do
		expect own 'alloc 0 *' "${@:2}" $THREAD
		IDS[$1$i]=${reply##* }
		expect own 'attachthread 0' attachthread "$w" "${of[i]}"
	done
	for i in "" "${!of[@]}"; do expect own 'start 0' id "${IDS[$1$i]}" start; done
}

# part_of NAME: its count, in $count
part_of() {
	expect own 'read 0 *' id "${IDS[$1]}" read
	count=${reply#read 0 }
}

# parts_are_whole NAME LEAST: what the threads have counted, at least LEAST each, adds up to what the process has
parts_are_whole() {
	local i sum=0

	for i in 0 1 2; do
		part_of "$1$i"
		echo "$1$i: $count"
		[ "$count" -ge "$2" ]
		sum=$((sum + count))
	done
	part_of "$1"
	[ "$count" -eq "$sum" ] || { echo "$1: $count, of its threads $sum" >&2; return 1; }
}

# moves_of PID: what the kernel has counted for the thread of that number
moves_of() { awk '/^se.nr_migrations/ { print $3 }' "/proc/$1/sched"; }

@test "wake-ups, faults by kind and migrations of the threads add up to those of their process" {
	workload w threads=2 pages=100 moves=10
	w=${WORKLOAD[w]}
	threads_of "$w"
	client own
	measures_parts writes caps $READ alloc 3 15 0x20006 any
	measures_parts moves caps $READ alloc 3 15 0x2000e any
	measures_parts wakes tracepoint sched:sched_wakeup alloc 3 $CLASS 0 any
	measures_parts some filter 'pid>0' alloc 3 $CLASS 0 any
	before=$(moves_of "$w")
	work w
	parts_are_whole writes 100
	parts_are_whole moves 9
	parts_are_whole wakes 0
	parts_are_whole some 0
	part_of moves0
	[ "$count" -eq $(($(moves_of "$w") - before)) ]
}

@test "a hit inside of an exec is the thread's, whose number has changed by then" {
	client own
	expect own 'setcount 0' caps 0x21 tracepoint task:task_rename alloc 2 $CLASS 0 any $THREAD setcount 1
	expect own 'log 0' log own.log
	coproc RENUMBERED { exec renumbered "exec" 1 3>&-; }
	program=$!
	read -r tid <&"${RENUMBERED[0]}"
	expect own 'attachthread 0' attachthread $program "$tid"
	expect own 'start 0' start
	echo >&"${RENUMBERED[1]}"
	read -r line <&"${RENUMBERED[0]}"
	[ "$line" = "done" ]
	expect own 'endlog 0' stop endlog
	[ "$(sampled own)" = "$program 1" ]
}

@test "samples of a thread's migrations are its own" {
	workload w threads=2 moves=10
	w=${WORKLOAD[w]}
	threads_of "$w"
	client own
	expect own 'setcount 0' caps 0x21 alloc 2 15 0x2000e any $THREAD setcount 1
	expect own 'log 0' log own.log
	expect own 'attachthread 0' attachthread "$w" "${threads[1]}"
	expect own 'start 0' start
	work w
	expect own 'endlog 0' stop endlog
	read -r tid samples <<<"$(sampled own)"
	[ "$tid" = "${threads[1]}" ]
	[ "$samples" -ge 9 ]
}

@test "pmcstat -t tid:N counts until the end of the thread or of its process, with its last row" {
	workload w threads=1 calls=10
	w=${WORKLOAD[w]}
	threads_of "$w"
	counts_from_now -p $ENTER -t "tid:${threads[0]}"
	work w
	rest w
	wait $pid
	[[ "$(tail -n 1 rows)" == *",10" ]]
}

@test "pmcstat explains what is no thread, and what a thread does not go with" {
	workload w threads=1 calls=10
	w=${WORKLOAD[w]}
	threads_of "$w"
	run pmcstat -p $ENTER -t "${threads[0]}"
	[[ $status -ne 0 && $output == *"${threads[0]} is a thread of process $w: name the process, or tid:${threads[0]}"* ]]
	run pmcstat -p $ENTER -t tid:x
	[[ $status -eq 64 && $output == *'Illegal thread id "tid:x"'* ]]
	run pmcstat -p $ENTER -t tid:4194399
	[[ $status -ne 0 && $output == *"There is no thread 4194399"* ]]
	for also in "true" "-t $w"; do
		# shellcheck disable=SC2086 # two words
		run pmcstat -p $ENTER -t "tid:$w" $also
		[[ $status -eq 64 && $output == *"counts one thread: no other -t and no command"* ]]
	done
	for option in -d "-O /dev/null -E"; do
		# shellcheck disable=SC2086 # words
		run pmcstat $option -p $ENTER -t "tid:$w"
		[[ $status -eq 64 && $output == *"options -d, -E and -W are for processes"* ]]
	done
}

@test "refused: flags, scopes, processes and threads in each other's place, strangers' threads" {
	workload w threads=1 calls=10
	workload other
	w=${WORKLOAD[w]}
	threads_of "$w"
	client own
	for flags in 0x8002 0x8004 0x8008; do
		expect own 'alloc EINVAL*PMC_F_THREAD: descendants, and records*' caps $READ alloc 3 15 0x20004 any $flags
	done
	expect own 'alloc EINVAL*PMC_F_THREAD is for process-scope PMCs only' caps $READ alloc 1 15 0x20004 0 $THREAD
	counts_soft own 0x20004 0
	expect own 'attachthread EINVAL*counts whole processes*PMC_F_THREAD*' attachthread "$w" "$w"
	counts_soft own 0x20004
	expect own 'start ESRCH*counts one thread*pmc_attach_thread()' start
	expect own 'attach EINVAL*counts one thread*pmc_attach_thread()' attach "$w"
	expect own "attachthread ESRCH*process $w has no thread ${WORKLOAD[other]}" attachthread "$w" "${WORKLOAD[other]}"
	for tid in 0 -1; do expect own "attachthread EINVAL*$tid is no thread id" attachthread "$w" $tid; done
	expect own 'attachthread 0' attachthread "$w" "$w"
	expect own 'attachthread EBUSY*counts a thread already*' attachthread "$w" "${threads[0]}"
	expect own 'start 0' start
	expect own 'attachthread EBUSY*is running*' attachthread "$w" "$w"
	client nobody run_as_nobody
	counts_soft nobody 0x20004
	expect nobody 'attachthread EPERM*' attachthread "$w" "${threads[0]}"
	# A thread that ends between look and attach.
	work w
	counts_soft own 0x20004
	expect own "attachthread ESRCH*process $w has no thread ${threads[0]}" attachthread "$w" "${threads[0]}"
}
