#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Operations on the real kernel: the table of answers, tests/ops.tsv; owners, permissions, clients that die.

load helpers

# answers GROUP...: every operation of these groups is answered as in the table, and leaves no row in use.
answers() {
	local group
	for group; do
		PATH=$(public_build)/tests:$PATH "$BATS_TEST_DIRNAME/../ops" "$BATS_TEST_DIRNAME/../ops.tsv" "$group"
	done
	wait_for rows_free
}

# PERF-004, PERF-013, PERF-015, PERF-018, PERF-342
@test "REQ-153, REQ-154, REQ-155, REQ-156, REQ-157, REQ-175, REQ-115, REQ-120, REQ-123, REQ-158: PMCALLOCATE's checks" {
	answers alloc caps
}

# PERF-360
@test "REQ-049, REQ-053, REQ-055, REQ-057, REQ-063, REQ-157: flags, and PMCs of one side only" {
	answers flags sides
}

# PERF-358
@test "REQ-176, REQ-187, REQ-096: counters that cannot interrupt cannot sample; the rules of sampling PMCs" {
	answers sampling
}

# PERF-149
@test "C-2, C-3, C-6, C-7, REQ-004, REQ-045, REQ-145, REQ-161, REQ-162, REQ-164, REQ-181: handles" {
	answers handle
}

@test "C-1, C-2, C-3, REQ-037, REQ-041, REQ-095, REQ-097, REQ-139, REQ-140, REQ-143, REQ-182: states" {
	answers state
}

@test "REQ-061, REQ-062, REQ-141, REQ-142: START without the log that the PMC needs" {
	answers log
}

@test "C-1, C-6, REQ-043, REQ-159, REQ-160, REQ-161, REQ-179, REQ-183, REQ-184, REQ-185: ATTACH's and DETACH's checks" {
	answers attach detach
}

@test "C-4, REQ-090, REQ-149, REQ-150, REQ-151, REQ-136: PMCADMIN's checks" {
	answers admin
}

@test "C-11: the TSC" {
	[ "$(uname -m)" = x86_64 ] || skip "an x86 counter"
	answers tsc
}

@test "REQ-144, REQ-087, C-18, REQ-114: messages, and permission for tunables" {
	answers message tunable
}

@test "REQ-179: permission is checked before the row's holder" {
	sleep 60 3>&- & TARGET=$!
	client own
	client user run_as_nobody
	expect own 'attach 0' alloc 3 15 0x20004 any 0 attach $TARGET
	expect user 'attach EPERM*' alloc 3 15 0x20004 any 0 attach $TARGET
}

@test "REQ-091, REQ-007: the configuration equals the request" {
	client root
	expect root 'alloc 0 0xfff30f00' alloc 3 15 0x20004 any 2
	expect root "info 0 SOFT0 enabled THREAD owner=${CLIENT[root]} mode=3 event=0x20004 flags=0x2 reload=0 PAGE_FAULT.ALL" \
		info 0 0
	expect root 'alloc 0 0x00010f01' alloc 1 15 0x2000b 0 0
	expect root "info 0 SOFT1 enabled STANDALONE owner=${CLIENT[root]} mode=1 event=0x2000b flags=0x0 reload=0 CONTEXT_SWITCHES" \
		info 0 1
	expect root 'read 0 0' read
}

# PERF-329
@test "REQ-123: a PMU with a list of CPUs counts for a whole package, and not for processes" {
	local pmu
	for pmu in /sys/bus/event_source/devices/*/cpumask; do
		[ -e "$pmu" ] || continue
		pmu=$(basename "$(dirname "$pmu")")
		run pmcstat -p "$pmu/config=1/" true
		[ "$status" -eq 71 ]
		grep -qE "Cannot allocate process-mode pmc .*(PMU $pmu counts for CPUs, not for processes|no PMU \"$pmu\")" \
			<<<"$output"
	done
}

# PERF-012
@test "REQ-017, REQ-018, REQ-037: a process counts its own faults, from a preset, with stops" {
	# A running process's CPU time is as old as its last switch or tick; faults are exact.
	run wireclient hello alloc 3 15 0x20004 any 0 read write 1000 read start pages 20 read \
		stop pages 20 read start pages 20 read
	[ "$status" -eq 0 ]
	mapfile -t values < <(sed -n 's/^read 0 //p' <<<"$output")
	[ "${values[0]}" -eq 0 ]
	[ "${values[1]}" -eq 1000 ]
	[ "${values[2]}" -ge 1020 ]
	[ "${values[3]}" -ge "${values[2]}" ]
	[ "${values[3]}" -lt $((values[2] + 20)) ]
	[ "${values[4]}" -ge $((values[3] + 20)) ]
}

@test "REQ-043, REQ-179: an unprivileged client attaches to its own processes" {
	# Waits until it is `sleep`, so that no exec happens during the attach.
	run run_as_nobody bash -c 'sleep 60 3>&- & until grep -qx sleep /proc/$!/comm; do :; done; wireclient hello alloc 3 15 0x20004 any 0 attach $! \
		attach $! start read detach $!; kill $!'
	grep -q '^attach 0$' <<<"$output"
	grep -q '^attach EEXIST' <<<"$output"
	grep -q '^read 0 ' <<<"$output"
	grep -q '^detach 0$' <<<"$output"
}

@test "C-12: a killed client leaves nothing behind" {
	wireclient hello alloc 3 15 0x20004 any 0 start alloc 1 15 0x2000b 0 0 start hold \
		>"$BATS_TEST_TMPDIR/out" 3>&- & TARGET=$!
	wait_for grep -q '^hold' "$BATS_TEST_TMPDIR/out"
	run wireclient hello rows 0
	grep -q "SOFT0/THREAD/$TARGET/PAGE_FAULT.ALL SOFT1/STANDALONE/$TARGET/CONTEXT_SWITCHES" <<<"$output"
	kill -KILL "$TARGET"
	wait_for rows_free
}

@test "C-12: a client that execs another program owns nothing any more" {
	wireclient hello alloc 3 15 0x20004 any 0 start exec >"$BATS_TEST_TMPDIR/out" 3>&- & TARGET=$!
	wait_for grep -q '^exec' "$BATS_TEST_TMPDIR/out"
	wait_for rows_free
	kill -0 "$TARGET"
}

@test "its inherited connection in a living child does not keep them" {
	wireclient hello alloc 3 15 0x20004 any 0 start hold >"$BATS_TEST_TMPDIR/out" 3>&- & TARGET=$!
	wait_for grep -q '^hold' "$BATS_TEST_TMPDIR/out"
	kill -KILL "$TARGET"
	wait_for rows_free
	bash -c 'exec wireclient hello alloc 3 15 0x20004 any 0 start spawn' \
		>"$BATS_TEST_TMPDIR/out2" 3>&-
	TARGET=$(sed -n 's/^spawn //p' "$BATS_TEST_TMPDIR/out2")
	kill -0 "$TARGET"
	wait_for rows_free
}

@test "REQ-034: 200 clients that connect, count and die at random leave every row FREE" {
	wait_for daemon_idle
	before=$(daemon_fds)
	run timeout 600 wireclient connect crowd 200 "$RANDOM" hello rows 0
	[ "$status" -eq 0 ]
	grep -q '^crowd 200 of 200' <<<"$output"
	wait_for rows_free
	wait_for fds_are "$before"
	refute process_gone "$DAEMON_PID"
}
