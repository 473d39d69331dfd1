#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Groups of PMCs: equal members have equal counts in every reading, a group is one for all calls, and what is refused.

load helpers

READ=0x20 CLASS=65 DESCENDANTS=0x2
CLOCK=CPU_CLOCK FAULTS=PAGE_FAULT.ALL ENTER=syscalls:sys_enter_sched_get_priority_max

setup() {
	need_calls
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon
}

# grouped MEMBER... -- COMMAND...: the counts at the end, in $counts, after many equal readings
grouped() {
	run timeout $PATIENCE "$BUILD/tests/grouped" "$@"
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
	read -ra counts <<<"$output"
}

@test "PERF-024: seven members of one event have one count in each reading, of threads and children, too" {
	for event in $CLOCK $ENTER $FAULTS; do
		grouped $event $event $event $event $event $event $event -- \
			"$BUILD/tests/load" threads=2 forks=3 calls=20 pages=500 spins=2000000
		[ ${#counts[@]} -eq 7 ]
		[ "${counts[0]}" -gt 0 ]
		for count in "${counts[@]}"; do [ "$count" = "${counts[0]}" ]; done
	done
}

@test "PERF-025: members of different kinds; the calls are those that the program made" {
	grouped $ENTER $CLOCK $FAULTS $ENTER CONTEXT_SWITCHES $FAULTS $CLOCK -- \
		"$BUILD/tests/load" threads=2 forks=3 calls=20
	# Six threads.
	[ "${counts[0]}" -eq 120 ]
	[ "${counts[3]}" -eq 120 ]
}

# first NAME [FLAGS]: allocates a group's first member, $first; next_one adds one, and complete makes them a group
first() {
	expect "$1" 'alloc 0 *' caps $READ tracepoint $ENTER group 1 alloc 3 $CLASS 0 any "${2:-0}" member latest
	first=${reply##* }
}
next_one() { expect "$1" 'alloc 0 *' alloc 3 $CLASS 0 any "${2:-0}" member latest; }
complete() { expect "$1" 'commitgroup 0' id "$first" commitgroup all; }

@test "PERF-026, PERF-027: start, stop, attach, detach and release of the first concern all; others refuse" {
	workload w calls=10
	w=${WORKLOAD[w]}
	client own
	first own
	for word in start "attach $w" readgroup; do
		expect own "${word%% *} E* -- this PMC is for a group, which is not complete*" $word
	done
	next_one own
	second=${reply##* }
	complete own
	for word in start stop release "attach $w" "detach $w" readgroup; do
		expect own "${word%% *} ENOTTY -- this PMC is a member of the group of $first: name the first*" id "$second" $word
	done
	expect own 'attach 0' id "$first" attach "$w"
	expect own 'start 0' start
	work w
	expect own 'readgroup 0 10 10' readgroup
	expect own 'detach EBUSY*this group is running: stop it*' detach "$w"
	expect own 'stop 0' stop
	expect own 'readgroup 0 10 10' readgroup
	expect own 'detach 0' detach "$w"
	# While it is stopped nothing is counted.
	workload v calls=10
	expect own 'attach 0' attach "${WORKLOAD[v]}"
	work v
	expect own 'readgroup 0 10 10' readgroup
	expect own 'release 0' release
	expect own 'readgroup ESRCH*owns no PMC*' readgroup
}

@test "PERF-023: all or none: a process that has a PMC on the second member's row is not attached to the first" {
	workload w calls=10
	w=${WORKLOAD[w]}
	client other
	client own
	first own
	next_one own
	complete own
	# This one is on the second row alone.
	expect other 'alloc 0 *' caps $READ tracepoint $ENTER alloc 3 $CLASS 0 any 0
	below=${reply##* }
	expect other 'alloc 0 *' alloc 3 $CLASS 0 any 0
	expect other 'attach 0' attach "$w"
	expect own "attach EBUSY -- member 2 ($ENTER): *held by pid ${CLIENT[other]} (wireclient)*" \
		id "$first" attach "$w"
	# The first member has left it again.
	expect other 'attach 0' id "$below" attach "$w"
	expect other 'detach 0' detach "$w"
	work w
	expect own 'readgroup 0 0 0' start readgroup
}

@test "a hostile client: members, handles and numbers that cannot be" {
	workload w calls=10
	client own
	client other
	first other
	theirs=$first
	expect own "alloc EINVAL*1 or 0, not 3" caps $READ tracepoint $ENTER group 3 alloc 3 $CLASS 0 any 0
	expect own "alloc EOPNOTSUPP*a group counts: each sampling PMC*" caps 0x21 group 1 alloc 2 15 0x20000 any 0
	expect own "alloc EOPNOTSUPP*no single thread*" caps $READ alloc 3 $CLASS 0 any 0x8000
	expect other "alloc EOPNOTSUPP*no time slices*" alloc 3 15 0x2000e any 0
	expect own "commitgroup EINVAL*1 to 16 members, not 0" commitgroup 0
	expect own "commitgroup EINVAL*1 to 16 members, not 4294967295" commitgroup 0xffffffff
	expect own "commitgroup ESRCH*owns no PMC*" member "$theirs" commitgroup all
	expect own 'alloc 0 *' group 0 alloc 3 $CLASS 0 any 0
	expect own "commitgroup EINVAL*was not allocated for a group*" member latest commitgroup all
	expect own 'release 0' release
	first own
	expect own "commitgroup EINVAL*in the group twice*" member latest commitgroup all
	expect own 'alloc 0 *' alloc 1 $CLASS 0 0 0
	expect own "commitgroup EINVAL*one mode*" member "$first" member latest commitgroup all
	expect own 'release 0' release
	expect own "commitgroup EINVAL*no PMC with the handle 0x12345678" member "$first" member 0x12345678 commitgroup all
	expect own 'alloc 0 *' alloc 3 $CLASS 0 any $DESCENDANTS
	expect own "commitgroup EINVAL*PMC_F_DESCENDANTS of a group is a flag of its first*" \
		member "$first" member latest commitgroup all
	expect own 'release 0' release member "$first"
	for _ in {2..16}; do next_one own; done
	complete own
	expect own "commitgroup EBUSY*in a group that is complete" member "$first" commitgroup all
	expect own 'attach 0' id "$first" attach "${WORKLOAD[w]}"
	expect own 'start 0' start
	work w
	expect own "readgroup 0$(printf ' 10%.0s' {1..16})" readgroup
	# Its end releases all, whether they run or not.
	part own
	expect other 'release 0' id "$theirs" release
}

@test "PERF-021, PERF-143: the leader of a group may be its last member, and is read first; the library's rules" {
	run timeout $PATIENCE "$BUILD/tests/groupcalls"
	status_is 0
}
