#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The model: owners and handles, what process scope and system scope count, from where, and when.

load helpers

TASK_CLOCK=0x2000a CPU_CLOCK=0x20009 FAULTS=0x20004

teardown() {
	[ -z "${TARGET:-}" ] || kill -KILL "$TARGET" 2>/dev/null || true
	part_all
	rest_all
	stop_daemon KILL || true
}

# rises NAME MORE: waits until the count of its latest PMC has grown by MORE.
reached() { count_of "$1" && [ "$count" -ge "$2" ]; }
rises() {
	count_of "$1"
	wait_for reached "$1" $((count + $2))
}

# passes NS: waits until so much time has passed on CPU 0, by a system-scope PMC.
passes() {
	[ -n "${CLIENT[watch]:-}" ] || {
		client watch
		expect watch 'start 0' alloc 1 15 $CPU_CLOCK 0 0 start
	}
	rises watch "$1"
}

@test "REQ-001, REQ-076: requests are served on the well-known socket, for any user" {
	[ -S "$PMCBPF_SOCKET" ]
	run_as_nobody wireclient hello cpuinfo | grep -q '^cpuinfo 0 ncpu='
	# hwpmc's numbers of requests without arguments, compared with invalid numbers.
	run wireclient hello op 2 0 op 3 0 op 5 8 op 18 8 op 1000 0
	[ "$(grep -c '^op EINVAL -- pmcbpfd .* has no operation' <<<"$output")" -eq 1 ]
	[ "$(grep -c '^op 0$' <<<"$output")" -eq 3 ]
}

@test "REQ-003, REQ-004, REQ-006: the handle alone identifies a PMC, and to its owner only" {
	client one
	client two
	ask one alloc 3 15 $FAULTS any 0
	[[ $reply == "alloc 0 "* ]]
	id=${reply#alloc 0 }
	ask one alloc 3 15 $TASK_CLOCK any 0
	other=${reply#alloc 0 }
	[ "$id" != "$other" ]
	expect one 'write 0' id "$id" write 1000
	expect one 'read 0 0' id "$other" read
	expect one 'read 0 1000' id "$id" read
	expect two 'read ESRCH*' id "$id" read
	expect two 'release ESRCH*' release
	expect one "info 0 SOFT0 * owner=${CLIENT[one]} *" info 0 0
	expect two 'alloc 0 *' alloc 3 15 $CPU_CLOCK any 0
	# The same number is another PMC for another owner.
	expect two 'read 0 0' id "$id" read
	expect one 'read 0 1000' read
}

# PERF-016
@test "REQ-002, REQ-007, REQ-009, REQ-024, REQ-026: a system-scope PMC counts its CPU, whatever runs there" {
	mapfile -t cpus < <(lscpu -p=CPU --online | grep -v '^#')
	[ ${#cpus[@]} -ge 2 ] || skip "one CPU"
	local far=${cpus[1]}
	client here
	client there
	expect here 'read 0 0' alloc 1 15 $FAULTS 0 0 read
	expect there 'read 0 0' alloc 1 15 $FAULTS "$far" 0 read
	taskset -p -c 0 "$DAEMON_PID" >/dev/null
	workload near pages=5000
	taskset -a -p -c 0 "${WORKLOAD[near]}" >/dev/null
	workload far pages=5000
	taskset -a -p -c "$far" "${WORKLOAD[far]}" >/dev/null
	expect here 'start 0' start
	expect there 'start 0' start
	count_of here
	before=$count
	work near
	count_of here
	[ $((count - before)) -ge 5000 ]
	count_of there
	before=$count
	work far
	count_of there
	[ $((count - before)) -ge 5000 ]
}

@test "REQ-008, REQ-016, REQ-092: a sleeping target counts nothing, a running one does" {
	client own
	sleep 600 3>&- & TARGET=$!
	wait_for is_program $TARGET sleep
	wait_for asleep $TARGET
	expect own 'start 0' alloc 3 15 $TASK_CLOCK any 0 attach $TARGET start
	count_of own
	resting=$count
	passes 20000000
	count_of own
	[ "$count" -eq "$resting" ]
	kill -KILL $TARGET

	bash -c 'while :; do :; done' 3>&- & TARGET=$!
	expect own 'start 0' alloc 3 15 $TASK_CLOCK any 0 attach $TARGET start
	rises own 5000000
	kill -STOP $TARGET
	# As for sleeping processes: in this state it may still be leaving the CPU.
	stopped() { [[ $(<"/proc/$TARGET/stat") == *") T "* && $(<"/proc/$TARGET/syscall") != running ]]; }
	wait_for stopped
	count_of own
	resting=$count
	passes 20000000
	count_of own
	[ "$count" -eq "$resting" ]
	kill -CONT $TARGET
	rises own 5000000
}

# PERF-148
@test "REQ-016, REQ-010: all of its threads count, to the event" {
	client own
	workload many pages=500 threads=3 late=2
	expect own 'start 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[many]}" start
	work many
	[ "$minflt" -ge 3000 ]
	count_of own
	[ "$count" -eq "$minflt" ]
}

@test "REQ-035, REQ-036, REQ-037, REQ-017, REQ-019: between START and STOP, repeatedly; read in any state" {
	client own
	workload w1 pages=100
	expect own 'read 0 0' alloc 3 15 $FAULTS any 0 read attach "${WORKLOAD[w1]}" read
	work w1
	expect own 'read 0 0' read
	sum=0
	for round in 1 2 3; do
		rest w1
		workload w1 pages=$((100 * round))
		expect own 'start 0' attach "${WORKLOAD[w1]}" start
		work w1
		sum=$((sum + minflt))
		expect own "read 0 $sum" read
		expect own "read 0 $sum" stop read
		# Not while it is stopped.
		workload "idle$round" pages=50
		expect own "attach 0" attach "${WORKLOAD[idle$round]}"
		work "idle$round"
		expect own "read 0 $sum" read
		expect own "detach 0" detach "${WORKLOAD[idle$round]}"
	done
	rest w1
	expect own "read 0 $sum" read
}

@test "REQ-025, REQ-036, REQ-037: a system-scope count can be read at any time, rests while stopped, continues" {
	client own
	expect own 'start 0' alloc 1 15 $CPU_CLOCK 0 0 start
	rises own 2000000
	count_of own
	first=$count
	rises own 2000000
	expect own 'stop 0' stop
	count_of own
	stopped=$count
	[ "$stopped" -gt "$first" ]
	passes 50000000
	expect own "read 0 $stopped" read
	# The count excludes the time in between, by the clock of the same CPU.
	count_of watch
	began=$count
	expect own 'start 0' start
	rises own 2000000
	more=$((count - stopped))
	count_of watch
	[ "$more" -le $((count - began)) ]
}

# PERF-303
@test "REQ-018, REQ-027, REQ-097, REQ-140: SETCOUNT presets either scope, but not while it runs" {
	client own
	workload w pages=300
	expect own 'read 0 5000' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}" setcount 5000 read
	expect own 'start 0' start
	expect own 'setcount EBUSY -- *running*' setcount 1
	work w
	expect own "read 0 $((5000 + minflt))" read
	expect own 'read 0 7' stop setcount 7 read
	expect own 'read 0 0' setcount 0 read

	expect own 'read 0 1000000000000' alloc 1 15 $CPU_CLOCK 0 0 setcount 1000000000000 read
	expect own 'start 0' start
	expect own 'setcount EBUSY*' setcount 1
	rises own 1000000
	[ "$count" -gt 1000000000000 ]
	[ "$count" -lt 1100000000000 ]
}

@test "REQ-095, REQ-139, C-7: RW reads, writes, or swaps; invalid flags are reported first" {
	client own
	expect own 'rw EINVAL -- illegal flags 0x0*' id 0x12345678 rw 0 5
	expect own 'rw EINVAL -- illegal flags 0x31*' rw 0x31 5
	expect own 'rw ESRCH*' rw 0x30 5
	expect own 'rw 0 0' alloc 3 15 $FAULTS any 0 rw 0x30 77
	expect own 'rw 0 77' rw 0x30 78
	expect own 'rw 0 0' rw 0x10 79
	expect own 'rw 0 79' rw 0x20 1234
	expect own 'rw 0 79' rw 0x20 0
	expect own 'rw 0 18446744073709551615' rw 0x10 18446744073709551615 rw 0x20 0
	expect own 'rw EBUSY*' write 0 start rw 0x30 5
	expect own 'rw EBUSY*' rw 0x10 5
	expect own 'rw 0 *' rw 0x20 5
	expect own 'rw EINVAL -- illegal flags*' rw 0x2 5
}

@test "REQ-033: one process has PMCs of both scopes at once, each with its own count" {
	client own
	workload w pages=2000
	taskset -a -p -c 0 "${WORKLOAD[w]}" >/dev/null
	ask own alloc 1 15 $FAULTS 0 0 start
	ask own alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}" start
	expect own 'rows 0 SOFT0/STANDALONE/*/PAGE_FAULT.ALL SOFT1/THREAD/*/PAGE_FAULT.ALL' rows 0
	work w
	expect own "read 0 $minflt" id 0xfff30f01 read
	expect own 'read 0 *' id 0x00010f00 read
	[ "${reply#read 0 }" -ge "$minflt" ]
}

@test "REQ-034: owners measure the same process at the same time, each exactly" {
	workload w pages=700
	for name in a b c; do
		client $name
		# Each needs another row for this target.
		for ((i = 0; i < ${#CLIENT[@]} - 1; i++)); do
			ask $name alloc 3 15 $TASK_CLOCK any 0
		done
		expect $name 'start 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}" start
	done
	work w
	for name in a b c; do
		expect $name "read 0 $minflt" read
	done
}

@test "REQ-032, REQ-152, C-9: as many PMCs as there are rows, then EINVAL; another owner has as many" {
	client one
	client two
	for ((i = 0; i < 16; i++)); do
		expect one "alloc 0 0xfff30f0$(printf %x $i)" alloc 3 15 $FAULTS any 0
	done
	expect one 'alloc EINVAL -- no row of class SOFT (16) is left for this: 16 held by this process; release one*' alloc 3 15 $FAULTS any 0
	for ((i = 0; i < 16; i++)); do
		expect two "alloc 0 0xfff30f0$(printf %x $i)" alloc 3 15 $FAULTS any 0
	done
	# A released one can be allocated again.
	expect one 'alloc 0 0xfff30f05' id 0xfff30f05 release alloc 3 15 $FAULTS any 0
}

@test "REQ-044, REQ-045, REQ-094, REQ-145, REQ-181: RELEASE in any state frees row and target, and ends the handle" {
	client own
	client other
	workload w pages=10
	for state in '' 'start' 'start stop'; do
		# shellcheck disable=SC2086 # words
		expect own '* 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}" $state
		expect own 'release 0' release
		expect own 'read ESRCH*' read
		expect own 'release ESRCH*' release
		expect own 'rows 0' rows 0
		# It is no longer measured: the row of this target is free for another owner.
		expect other 'attach 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}"
		expect other 'release 0' release
	done
	expect own 'alloc 0 0xfff30f01' alloc 3 15 $FAULTS any 0 alloc 3 15 $FAULTS any 0
	expect own 'release 0' release
	for word in start stop read release 'write 1' 'setcount 1' 'attach 0' 'detach 0'; do
		# shellcheck disable=SC2086 # words
		expect own "${word% *} EINVAL*" $word
	done
}

@test "migrations are read without the daemon, of oneself and of a child, and are as many as the kernel counts" {
	run moves "$DAEMON_PID"
	echo "$output"
	[ "$status" -eq 0 ]
	for i in 0 1; do
		read -r _ counted kernel <<<"${lines[i]}"
		[ "$counted" -ge 99 ]
		[ "$counted" -eq "$kernel" ]
	done
	[ "${#lines[@]}" -eq 2 ]
}
