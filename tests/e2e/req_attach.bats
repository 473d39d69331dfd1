#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Targets: attaching and detaching, trees of processes, what is checked and in which order.

load helpers

FAULTS=0x20004 TASK_CLOCK=0x2000a TREE=2

teardown() {
	for pid in "${OTHERS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	part_all
	rest_all
	stop_daemon KILL || true
}

# gone_pid: the pid of a process that has ended.
gone_pid() {
	true &
	gone=$!
	wait $gone
}

@test "REQ-038, REQ-039, REQ-040: nothing is counted before ATTACH, nothing after DETACH" {
	client own
	workload w pages=100
	expect own 'read 0 0' alloc 3 15 $FAULTS any 0 read
	work w
	rest w
	expect own 'read 0 0' read
	workload w pages=200
	expect own 'start 0' attach "${WORKLOAD[w]}" start
	work w
	rest w
	expect own "read 0 $minflt" read
	sum=$minflt
	workload w pages=300
	expect own 'start 0' stop attach "${WORKLOAD[w]}" start
	expect own "detach 0" detach "${WORKLOAD[w]}"
	expect own "read 0 $sum" read
	work w
	expect own "read 0 $sum" read
}

@test "REQ-039: one PMC may have any number of targets; DETACH removes one, the others are still counted" {
	client own
	ask own alloc 3 15 $FAULTS any 0
	sum=0
	for n in 1 2 3; do
		workload w$n pages=$((100 * n))
		expect own 'attach 0' attach "${WORKLOAD[w$n]}"
	done
	expect own 'start 0' start
	for n in 1 2; do
		work w$n
		sum=$((sum + minflt))
		expect own "read 0 $sum" read
	done
	expect own 'detach 0' detach "${WORKLOAD[w1]}"
	work w3
	sum=$((sum + minflt))
	expect own "read 0 $sum" read
}

@test "REQ-041: START attaches a never attached PMC to its owner" {
	client own
	expect own 'info 0 SOFT0 * flags=0x0 *' alloc 3 15 $FAULTS any 0 pages 500 info 0 0
	expect own 'read 0 0' read
	expect own 'info 0 SOFT0 * flags=0x50000 *' start info 0 0
	count_of own
	before=$count
	expect own 'pages 500' pages 500
	count_of own
	[ $((count - before)) -ge 500 ]
	[ $((count - before)) -lt 600 ]
	# It has a target, so a second START after STOP adds none.
	expect own 'start 0' stop start
	expect own 'attach EEXIST*' stop attach 0
}

@test "REQ-041: START does not attach a PMC that was attached before" {
	client own
	workload w pages=10
	expect own 'attach 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}"
	expect own 'info 0 SOFT0 * flags=0x40000 *' start info 0 0
	expect own 'pages 500' pages 500
	expect own 'read 0 0' read
}

@test "REQ-182, REQ-040: START after the last target is gone, by DETACH or by its own exit" {
	client own
	workload w pages=10
	expect own 'detach 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}" detach "${WORKLOAD[w]}"
	expect own 'start ESRCH -- all processes this PMC was attached to are gone*' start
	expect own 'start 0' attach "${WORKLOAD[w]}" start
	rest w
	# It stays RUNNING: START changes nothing, STOP does.
	expect own 'start 0' start
	expect own 'start ESRCH*' stop start
	expect own 'start 0' attach 0 start
}

# PERF-153
@test "REQ-050, REQ-051, REQ-093: DESCENDANTS includes the existing tree, and later children" {
	client own
	workload tree pages=100 children=2 forks=2 below=1
	expect own 'start 0' alloc 3 15 $FAULTS any $TREE attach "${WORKLOAD[tree]}" start
	work tree
	[ "$all_minflt" -ge 700 ]
	[ $((all_minflt - minflt)) -ge 600 ]
	count_of own
	# A fork in progress, or the restartable sequence's page after one.
	[ $((count - all_minflt)) -ge -2 ]
	[ $((count - all_minflt)) -le 2 ]
}

@test "REQ-052: without DESCENDANTS children are not measured, whenever they were forked" {
	client own
	workload tree pages=100 children=2 forks=2 below=1
	expect own 'start 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[tree]}" start
	work tree
	[ $((all_minflt - minflt)) -ge 600 ]
	count_of own
	[ $((count - minflt)) -ge -2 ]
	[ $((count - minflt)) -le 2 ]
}

@test "REQ-093, REQ-185: DETACH with DESCENDANTS releases the whole tree" {
	client own
	workload tree pages=100 children=2
	expect own 'start 0' alloc 3 15 $FAULTS any $TREE attach "${WORKLOAD[tree]}" start
	child=$(pgrep -P "${WORKLOAD[tree]}" | head -n 1)
	expect own 'attach EEXIST*' stop attach "$child"
	expect own 'detach 0' detach "${WORKLOAD[tree]}"
	expect own 'detach ESRCH -- no PMC measures process*' detach "$child"
	work tree
	expect own 'read 0 0' read
}

@test "REQ-050, REQ-093: a tree includes grandchildren" {
	local child grandchild
	client own
	bash -c 'bash -c "sleep 600 & wait" & wait' 3>&- & OTHERS+=($!)
	has_child() { pgrep -P "$1"; }
	wait_for has_child "${OTHERS[0]}"
	child=$(pgrep -P "${OTHERS[0]}")
	wait_for has_child "$child"
	grandchild=$(pgrep -P "$child")
	OTHERS+=("$child" "$grandchild")
	ask own alloc 3 15 $FAULTS any $TREE attach "${OTHERS[0]}"
	for pid in "${OTHERS[@]}"; do
		expect own 'attach EEXIST*' attach "$pid"
	done
	expect own 'detach 0' detach "${OTHERS[0]}"
	for pid in "${OTHERS[@]}"; do
		expect own 'detach ESRCH*' detach "$pid"
	done
}

@test "C-19: an ATTACH that fails on a descendant attaches no process" {
	client one
	client two
	workload tree pages=100 children=3
	mapfile -t children < <(pgrep -P "${WORKLOAD[tree]}")
	[ ${#children[@]} -eq 3 ]
	# The second child's row 0 is another owner's, the third has this PMC already.  Both have that row from a time when
	# nothing was measured there.
	expect two 'alloc 0 *' alloc 3 15 $FAULTS any $TREE
	expect one 'attach 0' alloc 3 15 $FAULTS any 0 attach "${children[1]}"
	expect two 'attach 0' attach "${children[2]}"
	expect two "attach EBUSY -- row 0 (SOFT0) measures process ${children[1]}*" \
		attach "${WORKLOAD[tree]}"
	expect two 'detach ESRCH*' detach "${WORKLOAD[tree]}"
	expect two 'detach ESRCH*' detach "${children[0]}"
	expect two 'detach EINVAL*' detach "${children[1]}"
	expect two 'attach EEXIST*' attach "${children[2]}"
	# The attached processes are counted, and no others.
	expect two 'start 0' start
	expect one 'start 0' start
	work tree
	count_of one
	[ "$count" -ge 100 ]
	[ "$count" -le 110 ]
	count_of two
	[ "$count" -ge 100 ]
	[ "$count" -le 110 ]
}

@test "C-19, D7: once the row is free it works, and a descendant that has this PMC is no error" {
	client one
	client two
	workload tree children=3
	mapfile -t children < <(pgrep -P "${WORKLOAD[tree]}")
	expect two 'alloc 0 *' alloc 3 15 $FAULTS any $TREE
	expect one 'attach 0' alloc 3 15 $FAULTS any 0 attach "${children[1]}"
	expect two 'attach 0' attach "${children[2]}"
	expect two 'attach EBUSY*' attach "${WORKLOAD[tree]}"
	expect one 'release 0' release
	expect two 'attach 0' attach "${WORKLOAD[tree]}"
	for pid in "${children[@]}" "${WORKLOAD[tree]}"; do
		expect two 'attach EEXIST*' attach "$pid"
	done
}

@test "REQ-138, REQ-143: a target's row has one PMC: EEXIST for the same, EBUSY for another" {
	client one
	client two
	workload w pages=100
	expect two 'alloc 0 *' alloc 3 15 $TASK_CLOCK any 0
	expect one 'attach 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}"
	expect one 'attach EEXIST -- *already*' attach "${WORKLOAD[w]}"
	expect two 'attach EBUSY -- row 0 (*) measures process *, held by *' attach "${WORKLOAD[w]}"
	expect one 'alloc 0 0xfff30f01' alloc 3 15 $FAULTS any 0 id 0xfff30f00
	expect two 'attach 0' alloc 3 15 $TASK_CLOCK any 0 attach "${WORKLOAD[w]}"
	expect one 'start 0' start
	expect two 'start 0' start
	work w
	expect one "read 0 $minflt" read
	# START's implicit ATTACH obeys the same rule.
	expect two 'alloc 0 0xfff30f02' alloc 3 15 $FAULTS any 0
	expect one 'alloc 0 0xfff30f02' alloc 3 15 $FAULTS any 0
	expect one 'attach 0' attach "${CLIENT[two]}"
	expect two 'start EBUSY -- row 2 (*) measures process *, held by *' start
	expect two 'info 0 SOFT2 * owner=-1 *' info 0 2
}

@test "owners that measure the same process get different rows, and no ordinary user hides one from a privileged owner" {
	client hider run_as_nobody
	client one
	client two
	# On every row that it can have, it measures itself.
	for ((i = 0; i < 15; i++)); do expect hider 'attach 0' alloc 3 15 $FAULTS any 0 attach 0; done
	expect hider 'alloc EINVAL -- no row of class SOFT (16) is left*' alloc 3 15 $FAULTS any 0
	expect one 'attach 0' alloc 3 15 $FAULTS any 0 attach "${CLIENT[hider]}"
	workload w pages=100
	for name in one two; do
		expect $name 'attach 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}"
		expect $name 'start 0' start
	done
	work w
	for name in one two; do expect $name "read 0 $minflt" read; done
	# The tools change rows if they have met meanwhile.
	cd "$BATS_TEST_TMPDIR" || return
	pmcstat -q -C -w 0.1 -o rows.1 -p page_fault.all -t "${CLIENT[one]}" 3>&- &
	tool=$!
	pmcstat -q -C -w 0.1 -o rows.2 -p page_fault.all -t "${CLIENT[one]}" 3>&- &
	other=$!
	wait_for eval '[ -s rows.1 ] && [ -s rows.2 ]'
	kill -INT $tool $other
	wait $tool
	wait $other
}

@test "REQ-163, REQ-184, REQ-185: DETACH has different errors for no process, no PMC there, another PMC there" {
	client one
	client two
	workload w pages=10
	gone_pid
	expect one 'attach 0' alloc 3 15 $FAULTS any 0 attach "${WORKLOAD[w]}"
	ask two alloc 3 15 $FAULTS any 0
	expect two 'detach EINVAL -- this PMC is not attached*' detach "${WORKLOAD[w]}"
	expect two "detach ESRCH -- there is no process $gone" detach $gone
	expect one 'detach 0' detach "${WORKLOAD[w]}"
	expect two 'detach ESRCH -- no PMC measures*' detach "${WORKLOAD[w]}"
}

@test "REQ-183: a thread is not a process" {
	client own
	workload w threads=1
	for task in "/proc/${WORKLOAD[w]}/task"/*; do
		[ "${task##*/}" -eq "${WORKLOAD[w]}" ] || tid=${task##*/}
	done
	expect own 'attach ESRCH*' alloc 3 15 $FAULTS any 0 attach "$tid"
	expect own 'attach 0' attach "${WORKLOAD[w]}"
}

@test "REQ-042: the super-user attaches to processes of other users, and counts them" {
	client own
	run_as_nobody bash -c 'echo $$; while :; do :; done' >"$BATS_TEST_TMPDIR/pid" 3>&- &
	wait_for test -s "$BATS_TEST_TMPDIR/pid"
	OTHERS+=("$(cat "$BATS_TEST_TMPDIR/pid")")
	[ "$(stat -c %u "/proc/${OTHERS[0]}")" -eq 65534 ]
	expect own 'start 0' alloc 3 15 $TASK_CLOCK any 0 attach "${OTHERS[0]}" start
	counted() { count_of own && [ "$count" -ge 5000000 ]; }
	wait_for counted
}

zombie_below() { [[ "$(cat "/proc/$(pgrep -P "$1")/stat" 2>/dev/null)" == *") Z "* ]]; }

@test "REQ-182, REQ-183: a zombie descendant is not a target" {
	client own
	mkfifo "$BATS_TEST_TMPDIR/end"
	# It ends when its parent is a program that collects no child.
	bash -c 'cat "$0" & exec sleep 60' "$BATS_TEST_TMPDIR/end" 3>&- &
	OTHERS+=($!)
	wait_for is_program $! sleep
	: >"$BATS_TEST_TMPDIR/end"
	wait_for zombie_below $!
	expect own 'attach 0' alloc 3 15 $TASK_CLOCK any $TREE attach $!
	kill -KILL $!
	wait_for process_gone $!
	expect own 'start ESRCH -- *' start
}

@test "REQ-050, REQ-143: the owner may be a descendant of its target" {
	client own
	expect own 'attach 0' alloc 3 15 $FAULTS any $TREE attach $BASHPID
	expect own "info 0 SOFT0 enabled THREAD owner=${CLIENT[own]} * flags=0x50002 *" info 0 0
	expect own 'attach EEXIST -- *' attach 0
	expect own 'detach 0' detach $BASHPID
	expect own "info 0 SOFT0 enabled THREAD owner=${CLIENT[own]} * flags=0x40002 *" info 0 0
}
