#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Hardware rows on a real PMU (arm64: six counters for any event, one for cycles).  The guest has one CPU,
# where one instruction is one instruction: counts are compared exactly.

load helpers

setup_file() {
	vm_start --daemon --smp 1
	# The stack's address changes the number of instructions that a program needs to start.
	vm_sh 'echo 0 >/proc/sys/kernel/randomize_va_space'
}

setup() {
	vm_require_arch arm64
	pmu=$(vm_sh 'basename /sys/bus/event_source/devices/armv8*')
	six="-p inst_retired -p inst_retired -p inst_retired -p inst_retired -p inst_retired -p inst_retired"
	all="-p cpu_cycles $six"
}

# counts_of PMCSTAT-ARGUMENT... - counts a command with no other output; sets counts[]
counts_of() {
	run vm_sh 'pmcstat -q --csv -C -o /tmp/rows "$@" >/dev/null && cat /tmp/rows' "$@"
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	counts=("${counts[@]:1}")
}

# rows DISPOSITION - the number of hardware rows with it
rows() {
	vm_sh 'pmccontrol -l | grep -c "ARMV8 *ENABLED *$1"' "$1" || true
}

# all_free [N] - waits until the daemon has seen the last client's end; of 7 rows
all_free() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8 *ENABLED *FREE")" -eq "$1" ]' "${1:-7}"
}

# hog_gone: its counters are released before it is collected
hog_gone() {
	vm_sh 'kill -9 $(pidof hog)'
	vm_until 60 '! pidof hog'
}

# --- rows -------------------------------------------------------------------------------------

@test "REQ-085: the PMU is a class of seven rows" {
	run vm pmccontrol -l
	status_is 0
	for row in 0 1 2 3 4 5 6; do
		grep -qE "^ [0-9]+ +ARMV8-$row +ARMV8 +ENABLED +FREE" <<<"$output"
	done
	[[ $output != *ARMV8-7* ]]
}

@test "a command's instructions are counted from its exec on, or from the fork with --from-fork" {
	counts_of -p inst_retired,usr load spins=1000
	from_exec=${counts[0]}
	[ "$from_exec" -ge 2000 ]
	counts_of --from-fork -p inst_retired,usr load spins=1000
	[ "${counts[0]}" -gt $((from_exec + 100)) ]
	all_free
}

@test "seven PMCs on a command all count at once" {
	# shellcheck disable=SC2086 # words
	counts_of $all load spins=1000000
	[ "${#counts[@]}" -eq 7 ]
	for count in "${counts[@]}"; do
		[ "$count" -gt 2000000 ]
		[ "$count" -lt 4000000 ]
	done
	all_free
}

@test "REQ-032, REQ-152: the eighth is refused in one line, and all rows are free again" {
	# shellcheck disable=SC2086 # words
	run vm pmcstat $all -p inst_retired true
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	has 'pmcstat: ERROR: Cannot allocate process-mode pmc with specification "inst_retired": no row of class ARMV8 (7) is left'
	has "[Invalid argument]"
	all_free
}

# PERF-147, PERF-349, PERF-353
@test "an event for which no counter is left is refused: the seventh counts only cycles" {
	# shellcheck disable=SC2086 # words
	run vm pmcstat $six -p inst_retired true
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	has "[Invalid argument]"
	all_free
}

@test "a client with seven PMCs on itself gets EINVAL for the eighth, and loses none" {
	run vm_sh 'rm -f /tmp/held; mkfifo /tmp/hold; pmcx hold 8 cpu_cycles inst_retired </tmp/hold >/tmp/held & exec 3>/tmp/hold
		until grep -qs held /tmp/held; do usleep 10000; done
		pmccontrol -l | grep -c "ARMV8-.*THREAD"; exec 3>&-; wait; cat /tmp/held; rm /tmp/hold'
	status_is 0
	[ "${lines[0]}" = 7 ]
	[[ ${lines[1]} == "7 held, then: EINVAL "* ]]
	[ "${#lines[@]}" -eq 2 ]
	all_free
}

@test "a seventh PMC that does not fit takes no counter from the six running ones" {
	run vm_sh 'echo | pmcx hold 7 inst_retired inst_retired'
	status_is 0
	[[ ${lines[0]} == "6 held, then: EINVAL "* ]]
	[ "${#lines[@]}" -eq 1 ]
	all_free
}

@test "C-12, REQ-074: rows of a killed client are free" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/held; mkfifo /tmp/hold; sleep 1000 3>/tmp/hold & pmcx hold 7 cpu_cycles inst_retired </tmp/hold >/tmp/held & echo $! >/tmp/holder
		until grep -qs held /tmp/held; do usleep 10000; done'
	is "$(rows FREE)" 0
	vm_sh 'kill -9 $(cat /tmp/holder); killall sleep; rm /tmp/hold'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 7 ]'
	# shellcheck disable=SC2086 # words
	counts_of $all true
}

@test "the daemon is killed under clients: they report that, and a new one finds seven rows" {
	vm_once
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'pmcx climb 1000000 inst_retired,usr >/tmp/climb 2>&1 & echo $! >/tmp/climber
		until pmccontrol -l | grep -q "ARMV8-.*THREAD"; do usleep 10000; done'
	vm_daemon_stop KILL
	vm_until 60 'grep -q "^read: ENOSYS " /tmp/climb'
	vm_sh 'killall pmcx || true'
	vm_daemon
	all_free
	# shellcheck disable=SC2086 # words
	counts_of $all true
	[ "${counts[6]}" -gt 0 ]
}

# --- exact counts --------------------------------------------------------------------------------

@test "REQ-010: a command: the same count twice, and N more rounds are 2N more instructions" {
	counts_of -p inst_retired,usr load spins=1000000
	first=${counts[0]}
	counts_of -p inst_retired,usr load spins=1000000
	is "${counts[0]}" "$first"
	counts_of -p inst_retired,usr load spins=2000000
	is "${counts[0]}" $((first + 2000000))
}

@test "four PMCs count the same" {
	counts_of -p inst_retired,usr load spins=1000000
	first=${counts[0]}
	counts_of -p inst_retired,usr -p inst_retired,usr -p inst_retired,usr -p inst_retired,usr load spins=2000000
	[ "${#counts[@]}" -eq 4 ]
	for count in "${counts[@]}"; do
		is "$count" $((first + 2000000))
	done
}

@test "REQ-008, REQ-016: while another process competes for the CPU" {
	counts_of -p inst_retired,usr load spins=1000000
	first=${counts[0]}
	rival=$(vm_spawn /dev/null sh -c 'while :; do :; done')
	counts_of -p inst_retired,usr load spins=9000000
	vm kill "$rival"
	is "${counts[0]}" $((first + 16000000)) 60	# it may not yet be asleep at the start
}

@test "while another measured process competes for the CPU" {
	counts_of -p inst_retired,usr load spins=1000000
	first=${counts[0]}
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'for i in 1 2 3; do pmcstat -q --csv -C -o /tmp/rows.$i -p inst_retired,usr load spins=9000000 >/dev/null &
		done; wait'
	for i in 1 2 3; do
		count=$(vm tail -n 1 /tmp/rows.$i)
		is "${count#*,}" $((first + 16000000)) 60	# it may not yet be asleep at the start
	done
}

@test "REQ-016: threads: the sum over all of them" {
	counts_of -p inst_retired,usr load threads=3 late=2 spins=1000000
	first=${counts[0]}
	counts_of -p inst_retired,usr load threads=3 late=2 spins=3000000
	# the C library's path may differ when threads meet
	is "${counts[0]}" $((first + 6 * 4000000)) 1000
	[ "${counts[0]}" -gt 36000000 ]
}

@test "REQ-051, REQ-052: DESCENDANTS: the whole tree, children alone without it" {
	counts_of -p inst_retired,usr -d -p inst_retired,usr load forks=3 below=1 spins=1000000
	self=${counts[0]}
	tree=${counts[1]}
	counts_of -p inst_retired,usr -d -p inst_retired,usr load forks=3 below=1 spins=3000000
	is "${counts[0]}" $((self + 4000000))
	is "${counts[1]}" $((tree + 7 * 4000000)) 1000
}

@test "REQ-039, REQ-050: a running process and its children: attached with -t" {
	for n in 1000000 3000000; do
		# shellcheck disable=SC2016 # the guest's shell expands it
		run vm_sh 'rm -f /tmp/load /tmp/rows; load -w children=2 forks=1 spins=$1 >/tmp/load & load=$!
			until grep -qs ready /tmp/load && grep -q ") S" /proc/$load/stat; do usleep 5000; done
			pmcstat -q --csv -C -w 0.05 -o /tmp/rows -t $load -d -p inst_retired,usr & stat=$!
			until [ "$(cat /tmp/rows 2>&1 | grep -c ,)" -ge 2 ]; do usleep 5000; done
			kill -USR1 $load
			until [ "$(grep -c ^all /tmp/load)" -eq 2 ]; do usleep 5000; done
			kill -USR1 $load
			wait $load; wait $stat; tail -n 1 /tmp/rows' "$n"
		echo "$output"
		status_is 0
		eval "count_$n=${lines[-1]#*,}"
	done
	# shellcheck disable=SC2154 # set by eval
	is $((count_3000000 - count_1000000)) 16000000 1000
}

# PERF-005, PERF-006, PERF-151, PERF-152, PERF-300, PERF-301
@test "REQ-035, REQ-036, REQ-037: STOP freezes the count exactly, START goes on, exit keeps it" {
	run vm pmcx steps 1000000 inst_retired,usr
	echo "$output"
	status_is 0
	read -r -a v <<<"$output"
	step=$((v[1] - v[0]))
	[ "$step" -gt 2000000 ]
	[ "$step" -lt 2001000 ]
	# It may not yet be asleep when its step is seen: before STOP, after START, and at the ends of a step.
	is "${v[2]}" "${v[1]}" 60	# stopped
	is "${v[3]}" "${v[2]}"		# a step while stopped
	is "${v[4]}" "${v[3]}" 60	# started again
	is $((v[5] - v[4])) "$step" 60
	[ $((v[6] - v[5])) -lt 10000 ]	# its exit
	is "${v[7]}" "${v[6]}"
	run vm pmcx steps 2000000 inst_retired,usr
	read -r -a w <<<"$output"
	is $((w[1] - w[0])) $((step + 2000000)) 60
	is $((w[5] - w[4])) $((step + 2000000)) 60
}

@test "REQ-019: reads of a running process never fall" {
	run vm pmcx climb 200 inst_retired,usr
	echo "$output"
	status_is 0
	read -r rose fell <<<"$output"
	is "$fell" 0
	[ "$rose" -ge 100 ]
}

@test "REQ-009, REQ-024, REQ-025: system scope counts everything that runs on the CPU" {
	counts_of -c 0 -s inst_retired,usr load spins=20000000
	[ "${counts[0]}" -gt 40000000 ]
	[ "${counts[0]}" -lt 60000000 ]
}

# --- oneself --------------------------------------------------------------------------------------

# self SPEC HOW [d] - sets v[]: two reads in a row, twice, then steps of one, one, two and three times N
self() {
	run vm pmcx self 1000000 "$@"
	echo "$output"
	status_is 0
	read -r -a v <<<"${lines[-1]}"
	[ "${#v[@]}" -eq 6 ]
}

# self_exact COUNT [TOLERANCE] - N more rounds are 2N more instructions.  The reads are the program's own
# instructions, too, and after a recent system call a read first checks the event's page, once or twice (58
# instructions each).
self_exact() {
	local of_a_read=150

	is "${v[1]}" "${v[0]}" "${2:-$of_a_read}"
	is $((v[4] - v[3])) "$1" "${2:-$of_a_read}"
	is $((v[5] - v[4])) "$1" "${2:-$of_a_read}"
}

@test "REQ-041: oneself: exact" {
	self inst_retired,usr spin
	self_exact 2000000
	is $((v[3] - v[2])) 0 150
	[ "${v[2]}" -ge 2000000 ]
}

@test "oneself with two threads: both are counted" {
	self inst_retired,usr threads
	self_exact 4000000 1000		# by the C library, when threads meet
}

@test "oneself with a child in between: without DESCENDANTS it is not counted, with DESCENDANTS it is" {
	self inst_retired,usr fork
	self_exact 0
	self inst_retired,usr fork d
	self_exact 2000000
}

@test "REQ-011: oneself, read from user space: the same counts, without a system call for a read" {
	vm_sh 'echo 0 >/proc/sys/kernel/perf_user_access'
	self inst_retired spin
	dear=${v[1]}
	vm_sh 'echo 1 >/proc/sys/kernel/perf_user_access'
	# A read may be retried, and its way determines where it reads the counter; the first read makes a system
	# call.
	self inst_retired,usr spin
	self_exact 2000000 1000
	self inst_retired,usr threads
	self_exact 4000000 1000
	self inst_retired,usr fork
	self_exact 0 1000
	self inst_retired,usr fork d
	self_exact 2000000 1000
	cheap=$dear
	for _ in 1 2 3; do		# a tick may fall into a read
		self inst_retired spin
		[ "${v[1]}" -gt "$cheap" ] || cheap=${v[1]}
	done
	vm_sh 'echo 0 >/proc/sys/kernel/perf_user_access'
	[ $((cheap * 4)) -lt "$dear" ]
}

# --- two owners, one row ----------------------------------------------------------------------------

# other_rows_taken COMMAND... - runs it in the guest while one row is left
other_rows_taken() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/fill.*; mkfifo /tmp/fill.in
		pmcx fill 5 0 inst_retired </tmp/fill.in >/tmp/fill.5 & exec 3>/tmp/fill.in
		until grep -qs ready /tmp/fill.5; do usleep 5000; done
		pmcx fill 1 0 cpu_cycles </tmp/fill.in >/tmp/fill.1 3>&- &
		until grep -qs ready /tmp/fill.1; do usleep 5000; done
		"$@" 3>&-; status=$?
		exec 3>&-; wait; exit $status' "$@"
}

# shared HOW - two owners count their own processes with different events on one row
shared() {
	local event

	for event in inst_retired cpu_cycles; do
		# shellcheck disable=SC2086 # words
		run other_rows_taken pmcx two 1000000 inst_retired,usr $event $1
		echo "$output"
		status_is 0
		[[ ${lines[-2]}/${lines[-1]} =~ row\ ([0-9]+):.*row\ ([0-9]+): ]]
		is "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
		[[ $output =~ A\ row\ [0-9]+:\ ([0-9]+)\ ([0-9]+) ]]
		one=${BASH_REMATCH[2]}
		# shellcheck disable=SC2086 # words
		run other_rows_taken pmcx two 2000000 $event inst_retired,usr $1
		echo "$output"
		status_is 0
		[[ $output =~ B\ row\ [0-9]+:\ ([0-9]+)\ ([0-9]+) ]]
		# A step's end may be seen before the process is asleep again.
		is "${BASH_REMATCH[2]}" $((one + 2000000)) 60
		# both rings, or cycles: at least the instructions of the loop
		[[ $output =~ A\ row\ [0-9]+:\ ([0-9]+)\ ([0-9]+) ]]
		[ "${BASH_REMATCH[2]}" -gt 4000000 ]
	done
	all_free
}

@test "REQ-034: two owners with different events on one row: both exact" {
	shared ""
}

@test "two owners with different events on one row: the second starts while the first runs" {
	shared running
}

@test "two owners with the same event on one row: both exact" {
	run other_rows_taken pmcx two 1000000 inst_retired,usr inst_retired,usr running
	echo "$output"
	status_is 0
	[[ $output =~ A\ row\ ([0-9]+):\ [0-9]+\ ([0-9]+) ]]
	row=${BASH_REMATCH[1]} count=${BASH_REMATCH[2]}
	[[ $output =~ B\ row\ ([0-9]+):\ [0-9]+\ ([0-9]+) ]]
	is "${BASH_REMATCH[1]}" "$row"
	is "${BASH_REMATCH[2]}" "$count" 60
}

# --- other users of the PMU ---------------------------------------------------------------------------

@test "counters held by other users are not rows" {
	vm_once
	vm_daemon_stop
	vm_spawn /tmp/hog hog 2 >/dev/null
	vm_until 60 'grep -q ready /tmp/hog'
	vm_daemon
	is "$(rows FREE)" 5
	run vm pmcstat -q -p inst_retired -p inst_retired -p inst_retired -p inst_retired -p inst_retired true
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	all_free 5
	counts_of -p cpu_cycles -p inst_retired -p inst_retired -p inst_retired -p inst_retired true
	hog_gone
	vm_daemon_stop
	vm_daemon
	all_free
}

@test "SIGHUP finds rows that have become free" {
	vm_once
	vm_daemon_stop
	vm_spawn /tmp/hog hog 3 >/dev/null
	vm_until 60 'grep -q ready /tmp/hog'
	vm_daemon
	is "$(rows FREE)" 4
	hog_gone
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 7 ]'
}

# lost HOW-IT-IS-READ... - a PMC that loses its counter while it runs
lost() {
	vm_spawn /tmp/hog hog 6 later >/dev/null
	vm_until 60 'grep -q ready /tmp/hog'
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh '"$@" >/tmp/lost 2>&1 & pid=$!
		until pmccontrol -l | grep -qE "ARMV8-.*(THREAD|STANDALONE)"; do usleep 10000; done
		until [ -s /tmp/lost ]; do usleep 10000; done
		kill -USR1 $(pidof hog); until grep -q taken /tmp/hog; do usleep 10000; done
		wait $pid; s=$?; cat /tmp/lost; exit $s' "$@"
	echo "$output"
	hog_gone
	all_free
}

# PERF-157, PERF-365
@test "a lost counter is an error, not a guess: a command" {
	lost pmcstat -q --csv -C -w 0.05 -p inst_retired,usr load spins=400000000
	status_is 71
	[[ ${lines[-1]} == "pmcstat: ERROR: Cannot read pmc "*"Device or resource busy"* ]]
}

@test "a lost counter is an error, not a guess: a CPU" {
	lost pmcstat -q --csv -C -w 0.05 -c 0 -s inst_retired -l 20
	status_is 71
	[[ ${lines[-1]} == "pmcstat: ERROR: Cannot read pmc "*"Device or resource busy"* ]]
}

# lost_briefly LOADS -d|"" WORK... - two owners share rows, so that their events are per-task; all counters are in
# use when another user takes two of them on every CPU, for some 20 ms, while LOADS processes work.  Both owners
# must notice, although nothing was read meanwhile.
lost_briefly() {
	vm_spawn /tmp/hog hog 2 later >/dev/null
	vm_until 60 'grep -q ready /tmp/hog'
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh "$VM_AWAIT"'
		loads=$1 descendants=$2; shift 2
		owner() { # NAME EVENT ARGUMENT...
			name=$1 event=$2; shift 2
			rm -f /tmp/$name.load
			pmcstat -q --csv -C -w 1000 -o /tmp/$name $descendants -p cpu_cycles -p $event -p $event -p $event \
				-p $event -p $event -p $event "$@" >/tmp/$name.load 2>/tmp/$name.error &
			await 5000 "grep -qs ready /tmp/$name.load || ! kill -0 $!"
			kill -0 $! || exit
		}
		owner a inst_retired "$@"; a=$!
		owner b inst_retired,usr "$@"; b=$!
		pids=$(pidof load)
		kill -USR1 $pids
		await 1000 "[ \$(pidof load | wc -w) -ge $loads ]"
		usleep 50000
		kill -USR1 $(pidof hog); await 1000 grep -q taken /tmp/hog
		usleep 20000
		kill -9 $(pidof hog)
		await 10000 "[ \$(cat /tmp/a.load /tmp/b.load | grep -c ^all) -eq 2 ]"
		kill -USR1 $pids
		wait $a; ra=$?; wait $b; rb=$?; echo $ra $rb; tail -n 1 /tmp/a /tmp/b; cat /tmp/a.error /tmp/b.error' "$@"
	echo "$output"
	vm_until 60 '! pidof hog'
	all_free
	[ "${lines[0]}" = "71 71" ]
	[ "$(grep -c "Cannot read pmc .* lost its counter to another user of the PMU" <<<"$output")" -eq 2 ]
}

@test "a briefly lost counter is an error at the end: a process" {
	lost_briefly 2 "" load -w spins=100000000
}

@test "a briefly lost counter is an error at the end: a child that inherited it" {
	lost_briefly 4 -d load -w spins=100000000 forks=1
}

@test "a briefly lost counter while sampling: a warning, a mark in the log, a line of the daemon" {
	vm_spawn /tmp/hog hog 7 later >/dev/null
	vm_until 60 'grep -q ready /tmp/hog'
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'rm -f /tmp/log /tmp/load
		pmcstat -n 100000 -P inst_retired -O /tmp/log load -w spins=100000000 >/tmp/load 2>/tmp/error & pid=$!
		until grep -qs ready /tmp/load; do usleep 5000; kill -0 $pid || exit; done
		kill -USR1 $(pidof load)
		usleep 50000
		kill -USR1 $(pidof hog); until grep -q taken /tmp/hog; do usleep 1000; done
		usleep 20000
		kill -9 $(pidof hog)
		until [ "$(grep -c ^all /tmp/load)" -eq 2 ]; do usleep 10000; done
		kill -USR1 $(pidof load)
		wait $pid; echo $?; cat /tmp/error; pmcstat -R /tmp/log | grep -c "^drop"'
	echo "$output"
	vm_until 60 '! pidof hog'
	all_free
	[ "${lines[0]}" = 0 ]
	[[ $output =~ WARNING:\ sampling\ was\ paused\ at\ least\ [1-9][0-9]*\ time ]]
	[ "${lines[-1]}" -ge 1 ]
	vm grep -c "has not sampled all the time: another user of the PMU" /tmp/pmcbpfd.log
}

# --- names ----------------------------------------------------------------------------------------------

# PERF-039, PERF-047, PERF-049, PERF-093, PERF-324, PERF-326, PERF-327
@test "names of events: the PMU's, with the class, as an alias, and raw" {
	vm_once
	counts_of -p inst_retired,usr true
	want=${counts[0]}
	for spec in ARMV8-inst_retired,usr armv8-INST.RETIRED,usr instructions,usr "$pmu/event=0x8/,usr" \
		"$pmu/event=8/,usr"; do
		counts_of -p "$spec" true
		is "${counts[0]}" "$want" 50
	done
	counts_of -p "$pmu/event=0x8/" true
	[ "${counts[0]}" -gt "$want" ]
	counts_of -p "$pmu/event=0x8/,usr,os" true
	[ "${counts[0]}" -gt "$want" ]
	counts_of -p cpu_cycles,os true
	[ "${counts[0]}" -gt 0 ]
}

@test "PERF-033, PERF-037, PERF-050, PERF-051, PERF-159, PERF-160: perf's names and numbers count what the PMU's count" {
	counts_of -p inst_retired,usr -p ARMV8-instructions:u -p r8:u -p "$pmu/event=0x8/u" -p instructions:u load spins=1000
	[ "${counts[0]}" -ge 2000 ]
	for count in "${counts[@]}"; do
		[ "$count" -eq "${counts[0]}" ]
	done
	counts_of -p ARMV8-cycles:k -p cycles:u -p ARMV8-instructions load spins=1000
	[ "${counts[0]}" -gt 0 ]
	[ "${counts[1]}" -gt 0 ]
	[ "${counts[2]}" -gt 2000 ]
	run vm_sh 'pmcstat -q -n 1000 -P ARMV8-instructions:u -O /tmp/log load spins=100000 && pmcstat -q -R /tmp/log | grep -c ^callchain'
	status_is 0
	[ "$output" -ge 1 ]
	all_free
}

@test "PERF-036, PERF-040, PERF-057, PERF-058, PERF-060, PERF-092: of perf's events those are there that the PMU has" {
	listed=$(vm pmccontrol -L)
	grep -qx $'\tinstructions' <<<"$listed"
	# What an emulated PMU has differs between kernels, but what is listed counts, and nothing else does.
	for event in stalled-cycles-frontend stalled-cycles-backend cache-misses ref-cycles bus-cycles L1-dcache-load-misses \
		LLC-loads node-prefetch-misses; do
		if grep -qx $'\t'"$event" <<<"$listed"; then
			counts_of -p $event true
		else
			unknown $event "an event \"$event\""
		fi
	done
	[[ $listed != *L1-dcache* ]]
	unknown cache:L1D.READ.MISS 'an event "L1-dcache-load-misses"'
	unknown cache:L3.READ.MISS "write cache:ID.OP.RESULT"
	unknown ARMV8-instructions,edge '"edge" is no qualifier of an event that the kernel encodes'
	unknown instructions:p "precise is for samples, and this PMC counts: use a sampling mode"
	unknown instructions:G "guests are processes here"
	all_free
}

# unknown SPEC WORDS - refused with EINVAL and one line that names it
unknown() {
	run vm pmcstat -p "$1" true
	status_is 71
	[ "${#lines[@]}" -eq 1 ]
	has "pmcstat: ERROR: Cannot allocate process-mode pmc with specification \"$1\": "
	has "$2"
	has "[Invalid argument]"
}

# PERF-347
@test "unknown names: one line with the reason" {
	vm_once
	unknown nothing 'an event "nothing"; "pmccontrol -L" lists'
	unknown ARMV8-nothing 'an event "nothing"; "pmccontrol -L" lists'
	unknown inst_retired,frob 'unknown qualifier "frob"'
	unknown nopmu/event=0x8/ 'no PMU "nopmu"'
	unknown "$pmu/frob=1/" 'has no field "frob"'
	unknown "$pmu/event=0x1ffff/" "has 16 bits"
	all_free
}

@test "every row is free, and the kernel has not complained" {
	all_free
	vm_clean_log
}
