#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Groups of PMCs (pmc_group_allocate()): equal members have equal counts in every reading, all or none are allocated,
# and what is refused.

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

# first NAME [FLAGS]: allocates a group's first member, $first; next_one adds one
first() {
	expect "$1" 'alloc 0 *' caps $READ tracepoint $ENTER group 1 0 alloc 3 $CLASS 0 any "${2:-0}"
	first=${reply##* }
}
next_one() { expect "$1" 'alloc 0 *' group 2 "$first" alloc 3 $CLASS 0 any "${2:-0}"; }

@test "PERF-027: start, stop, attach, detach and release of the first concern all; others refuse" {
	workload w calls=10
	w=${WORKLOAD[w]}
	client own
	first own
	next_one own
	for word in start stop release "attach $w" "detach $w" "readgroup 2"; do
		expect own "${word%% *} EINVAL -- this PMC is a member of the group of $first: name the first*" $word
	done
	expect own 'attach 0' id "$first" attach "$w"
	expect own 'start 0' start
	work w
	expect own 'readgroup 0 10 10' readgroup 2
	expect own 'detach EBUSY*this group is running: stop it*' detach "$w"
	expect own 'stop 0' stop
	expect own 'readgroup 0 10 10' readgroup 2
	expect own 'detach 0' detach "$w"
	# While it is stopped nothing is counted.
	workload v calls=10
	expect own 'attach 0' attach "${WORKLOAD[v]}"
	work v
	expect own 'readgroup 0 10 10' readgroup 2
	expect own 'release 0' release
	expect own 'readgroup ESRCH*owns no PMC*' readgroup 2
}

@test "PERF-023: all or none: a process that has a PMC on the second member's row is not attached to the first" {
	workload w calls=10
	w=${WORKLOAD[w]}
	client other
	client own
	first own
	next_one own
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
	expect own 'readgroup 0 0 0' start readgroup 2
}

@test "a hostile client: places, handles and numbers that cannot be" {
	workload w calls=10
	client own
	client other
	first other
	theirs=$first
	expect own "alloc EINVAL*3 is no place in a group" caps $READ tracepoint $ENTER group 3 0 alloc 3 $CLASS 0 any 0
	expect own "alloc EINVAL*names 0x00000007*" group 0 7 alloc 3 $CLASS 0 any 0
	expect own "alloc ESRCH*" group 2 "$theirs" alloc 3 $CLASS 0 any 0
	expect own "alloc EOPNOTSUPP*a group counts processes*" group 1 0 alloc 1 $CLASS 0 0 0
	expect own "alloc EOPNOTSUPP*members of a group take no flag*" group 1 0 alloc 3 $CLASS 0 any 0x8000
	expect other "alloc EOPNOTSUPP*no time slices*" group 1 0 alloc 3 15 0x2000e any 0
	first own
	expect own "readgroup EINVAL*the group has 1 members, not 4294967295" readgroup 0xffffffff
	expect own "alloc EINVAL*one mode, the same flags*" group 2 "$first" alloc 3 $CLASS 0 any $DESCENDANTS
	for _ in {2..16}; do next_one own; done
	expect own "alloc EINVAL*at most 16 members*" group 2 "$first" alloc 3 $CLASS 0 any 0
	expect own "alloc EINVAL*not the first*" group 2 latest alloc 3 $CLASS 0 any 0
	expect own 'attach 0' id "$first" attach "${WORKLOAD[w]}"
	expect own "alloc EBUSY*the group is complete*" group 2 "$first" alloc 3 $CLASS 0 any 0
	expect own 'start 0' start
	work w
	expect own "readgroup 0$(printf ' 10%.0s' {1..16})" readgroup 16
	# Its end releases all, whether they run or not.
	part own
	expect other 'release 0' id "$theirs" release
}
