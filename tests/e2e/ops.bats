#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Operations against the real kernel: owners, targets, permissions, clients that die.

load helpers

setup() {
	need_root
	start_daemon
}

teardown() {
	[ -z "${TARGET:-}" ] || kill -KILL "$TARGET" 2>/dev/null || true
	stop_daemon KILL || true
}

@test "REQ-017, REQ-018, REQ-037: a process counts its own faults, from a preset, stop and go" {
	# Of a process that runs, CPU time is as old as its last switch or tick; faults are not.
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

@test "C-2, C-3, REQ-139: states" {
	run wireclient hello alloc 3 15 0x20004 any 0 stop start start write 1 stop stop write 2 read
	grep -q '^stop EINVAL -- .*never started' <<<"$output"
	[ "$(grep -c '^start 0' <<<"$output")" -eq 2 ]
	grep -q '^write EBUSY' <<<"$output"
	[ "$(grep -c '^stop 0' <<<"$output")" -eq 2 ]
	grep -q '^read 0 2$' <<<"$output"
}

@test "REQ-045, REQ-145, REQ-181: handles" {
	run wireclient hello start alloc 3 15 0x20004 any 0 id 0x12345678 start id 0xfff30f00 release start
	[ "$(grep -c '^start ESRCH' <<<"$output")" -eq 2 ]
	[ "$(grep -c '^start EINVAL' <<<"$output")" -eq 1 ]
}

@test "REQ-061, REQ-062: a PMC that logs does not start without a log" {
	run wireclient hello alloc 3 15 0x20004 any 4 start alloc 3 15 0x20004 any 8 start
	[ "$(grep -c '^start EBADRQC -- .*none is configured' <<<"$output")" -eq 2 ]
}

@test "sampling what cannot interrupt is refused, with a reason" {
	run wireclient hello alloc 2 15 0x20005 any 0 alloc 0 15 0x20005 0 0
	[ "$(grep -c '^alloc EOPNOTSUPP -- .*can be counted, not sampled' <<<"$output")" -eq 2 ]
	[ "$(uname -m)" = x86_64 ] || return 0
	run wireclient hello alloc 0 0 0x1000 0 0
	[[ $output == *'alloc EOPNOTSUPP -- '*'use a counting mode'* ]]
}

@test "C-11: the TSC" {
	[ "$(uname -m)" = x86_64 ] || skip "an x86 counter"
	# Its capability is READ alone, which the client asks for everywhere.
	run wireclient hello alloc 1 0 0x1000 0 0 start read read alloc 1 0 0x1000 0 0 alloc 3 0 0x1000 any 0
	mapfile -t values < <(sed -n 's/^read 0 //p' <<<"$output")
	[ "${values[1]}" -gt "${values[0]}" ]
	[ "$(grep -c '^alloc EINVAL' <<<"$output")" -eq 2 ]
}

@test "REQ-183, REQ-161: targets that are not there" {
	run wireclient hello alloc 3 15 0x20004 any 0 attach 4194304 attach -1 detach 0
	grep -q '^attach ESRCH -- there is no process' <<<"$output"
	grep -q '^attach EINVAL' <<<"$output"
	grep -q '^detach ESRCH' <<<"$output"
}

@test "REQ-043, REQ-179: an unprivileged client attaches to its own, not to others'" {
	sleep 60 3>&- & TARGET=$!
	run run_as_nobody wireclient hello alloc 3 15 0x20004 any 0 attach "$TARGET"
	grep -q "^attach EPERM -- process $TARGET belongs to another user" <<<"$output"
	# It is another program once it runs sleep: not in the middle of the attach.
	run run_as_nobody bash -c 'sleep 60 3>&- & until grep -qx sleep /proc/$!/comm; do :; done; wireclient hello alloc 3 15 0x20004 any 0 attach $! \
		attach $! start read detach $!; kill $!'
	grep -q '^attach 0$' <<<"$output"
	grep -q '^attach EEXIST' <<<"$output"
	grep -q '^read 0 ' <<<"$output"
	grep -q '^detach 0$' <<<"$output"
}

@test "REQ-031, REQ-115: system scope needs privilege" {
	run run_as_nobody wireclient hello alloc 1 15 0x2000b 0 0
	grep -q '^alloc EPERM' <<<"$output"
	run wireclient hello alloc 1 15 0x2000b 0 0 start read
	grep -q '^read 0 ' <<<"$output"
}

@test "REQ-178, C-20: root in a user namespace is no super-user" {
	unshare --user --map-root-user true 2>/dev/null || skip "no user namespaces here"
	run unshare --user --map-root-user wireclient hello alloc 1 15 0x2000b 0 0 alloc 3 15 0x20004 any 0
	grep -q '^alloc EPERM -- .*container' <<<"$output"
	grep -q '^alloc 0' <<<"$output"
}

@test "D13: a container's pid numbers are its own" {
	unshare --pid --fork --mount-proc true 2>/dev/null || skip "no pid namespaces here"
	run unshare --pid --fork --mount-proc bash -c 'sleep 60 3>&- & wireclient hello \
		alloc 3 15 0x20004 any 0 attach $! start read rows 0; kill $!'
	grep -q '^attach 0$' <<<"$output"
	grep -Eq '^rows 0 SOFT0/THREAD/[0-9]{1,2}/PAGE_FAULT.ALL' <<<"$output"
}

@test "C-12: a client that is killed leaves nothing" {
	wireclient hello alloc 3 15 0x20004 any 0 start alloc 1 15 0x2000b 0 0 start hold \
		>"$BATS_TEST_TMPDIR/out" 3>&- & TARGET=$!
	wait_for grep -q '^hold' "$BATS_TEST_TMPDIR/out"
	run wireclient hello rows 0
	grep -q "SOFT0/THREAD/$TARGET/PAGE_FAULT.ALL SOFT1/STANDALONE/$TARGET/CONTEXT_SWITCHES" <<<"$output"
	kill -KILL "$TARGET"
	wait_for rows_free
}

@test "C-12: a client that becomes another program owns nothing any more" {
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

@test "REQ-034: 200 clients that come, count and die at random leave every row FREE" {
	wait_for daemon_idle
	before=$(daemon_fds)
	run timeout 600 wireclient connect crowd 200 "$RANDOM" hello rows 0
	[ "$status" -eq 0 ]
	grep -q '^crowd 200 of 200' <<<"$output"
	wait_for rows_free
	wait_for fds_are "$before"
	refute process_gone "$DAEMON_PID"
}
