#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# pmcbpfd's life: start, socket, second daemon, signals, death, service manager.

load helpers

setup() { need_root; }

teardown() {
	stop_daemon KILL || true
	for pid in "${OTHERS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
}

@test "--help and --version work without root, and the help is complete" {
	run pmcbpfd --help
	[ "$status" -eq 0 ]
	[ "$output" = "$(pmcbpfd -h)" ]
	for option in --foreground --socket --config --option --test --help --version; do
		grep -q -- "$option" <<<"$output"
	done
	run run_as_nobody pmcbpfd --version
	[ "$status" -eq 0 ]
	[[ "$output" =~ ^pmcbpfd\ [0-9]+\.[0-9]+ ]]
}

@test "a bad option or argument is an error with a hint" {
	run pmcbpfd --nonsense
	[ "$status" -eq 1 ]
	grep -q -- '--help' <<<"$output"
	run pmcbpfd --forground
	[ "$status" -eq 1 ]
	[[ $output == *'pmcbpfd --help lists the options (did you mean "--foreground"?)' ]]
	run pmcbpfd surplus
	[ "$status" -eq 1 ]
	grep -q '"surplus"' <<<"$output"
	run pmcbpfd -f --client-fd=77
	[ "$status" -eq 1 ]
	grep -q -- '--client-fd=77' <<<"$output"
}

@test "without root it prints what it needs" {
	run run_as_nobody pmcbpfd -f -s "$BATS_TEST_TMPDIR/s"
	[ "$status" -eq 1 ]
	grep -q 'must be started as root' <<<"$output"
}

@test "REQ-131: it logs every class with count and capabilities at the start" {
	start_daemon
	grep -q '^hwpmc: SOFT/16/64/0x67<INT,USR,SYS,REA,WRI>' "$DAEMON_LOG"
	[ "$(uname -m)" != x86_64 ] || grep -q ' TSC/1/64/0x20<REA>' "$DAEMON_LOG"
}

@test "the socket is open to all users, and its directory is created" {
	open_tmpdir
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/new/pmc.sock
	# Under a restrictive umask.
	umask 077
	pmcbpfd -f -s "$PMCBPF_SOCKET" 3>&- & DAEMON_PID=$!
	wait_for daemon_answers
	[ "$(stat -c %a "$PMCBPF_SOCKET")" = 666 ]
	[ "$(stat -c %a "$BATS_TEST_TMPDIR/new")" = 755 ]
	run run_as_nobody wireclient hello cpuinfo
	[ "$status" -eq 0 ]
	grep -q '^cpuinfo 0 ncpu=' <<<"$output"
}

@test "a second daemon is refused and the first continues" {
	start_daemon
	run pmcbpfd -f -s "$PMCBPF_SOCKET"
	[ "$status" -eq 1 ]
	grep -q 'already running' <<<"$output"
	daemon_answers
	stop_daemon
	[ ! -e "$PMCBPF_SOCKET" ]
}

@test "of daemons that start together one wins" {
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	OTHERS=()
	for i in 1 2 3 4; do
		pmcbpfd -f -s "$PMCBPF_SOCKET" >"$BATS_TEST_TMPDIR/log.$i" 2>&1 3>&- &
		OTHERS+=($!)
	done
	wait_for daemon_answers
	three_refused() { [ "$(cat "$BATS_TEST_TMPDIR"/log.* | grep -c 'already running')" -eq 3 ]; }
	wait_for three_refused
	daemon_answers
}

@test "a file in place of the socket stays" {
	echo precious >"$BATS_TEST_TMPDIR/file"
	run pmcbpfd -f -s "$BATS_TEST_TMPDIR/file"
	[ "$status" -eq 1 ]
	grep -q 'is no socket' <<<"$output"
	[ "$(cat "$BATS_TEST_TMPDIR/file")" = precious ]
}

@test "SIGTERM: exit 0, no socket, no programs, clients see the end" {
	start_daemon
	mapfile -t programs < <(daemon_ids prog)
	[ ${#programs[@]} -gt 0 ]
	program_loaded "${programs[0]}"
	wireclient hello death >"$BATS_TEST_TMPDIR/out" 3>&- & client=$!
	wait_for grep -q '^hello 0' "$BATS_TEST_TMPDIR/out"
	stop_daemon
	wait "$client"
	grep -q '^death 0x40000000' "$BATS_TEST_TMPDIR/out"
	[ ! -e "$PMCBPF_SOCKET" ]
	wait_for programs_gone "${programs[@]}"
}

@test "SIGKILL: the kernel marks the page, nothing is left behind, the socket is reusable" {
	start_daemon
	mapfile -t programs < <(daemon_ids prog)
	[ ${#programs[@]} -gt 0 ]
	wireclient hello alloc 3 15 0x20004 any 0 start death >"$BATS_TEST_TMPDIR/out" 3>&- & client=$!
	wait_for grep -q '^start 0' "$BATS_TEST_TMPDIR/out"
	stop_daemon KILL || [ $? -eq 137 ]
	wait "$client"
	grep -q '^death 0x40000000' "$BATS_TEST_TMPDIR/out"
	[ -S "$PMCBPF_SOCKET" ]
	wait_for programs_gone "${programs[@]}"
	start_daemon
	daemon_answers
	rows_free
}

@test "without -f it returns when it is ready, and reports a failure" {
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	pmcbpfd -s "$PMCBPF_SOCKET" 3>&-
	daemon_answers
	DAEMON_PID=
	# Its helpers have the same command line, and are younger.
	OTHERS=("$(pgrep -o -f "pmcbpfd -s $PMCBPF_SOCKET")")
	run pmcbpfd -s "$PMCBPF_SOCKET"
	[ "$status" -eq 1 ]
	grep -q 'already running' <<<"$output"
	[ "$(readlink "/proc/${OTHERS[0]}/cwd")" = / ]
	[ "$(readlink "/proc/${OTHERS[0]}/fd/2")" = /dev/null ]
	kill "${OTHERS[0]}"
	wait_for process_gone "${OTHERS[0]}"
	[ ! -e "$PMCBPF_SOCKET" ]
}

@test "SIGHUP: the daemon looks for hardware again" {
	start_daemon
	kill -HUP "$DAEMON_PID"
	announced_twice() { [ "$(grep -c '^hwpmc: SOFT' "$DAEMON_LOG")" -eq 2 ]; }
	wait_for announced_twice
	daemon_answers
}

@test "signals during the start: SIGHUP is harmless, SIGTERM leaves nothing behind" {
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	local signal
	for signal in HUP TERM; do
		pmcbpfd -f -s "$PMCBPF_SOCKET" >>"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
		DAEMON_PID=$!
		# The socket is made first; loading the programs takes longer.
		wait_for test -S "$PMCBPF_SOCKET"
		kill -"$signal" "$DAEMON_PID"
		if [ "$signal" = HUP ]; then
			wait_for daemon_answers
			stop_daemon
		else
			wait "$DAEMON_PID"
			DAEMON_PID=
		fi
		[ ! -e "$PMCBPF_SOCKET" ]
	done
}

@test "the service manager receives READY and STOPPING" {
	wireclient notified "$BATS_TEST_TMPDIR/notify" 2 >"$BATS_TEST_TMPDIR/heard" 3>&- & OTHERS=($!)
	wait_for grep -q listening "$BATS_TEST_TMPDIR/heard"
	NOTIFY_SOCKET=$BATS_TEST_TMPDIR/notify start_daemon
	wait_for grep -q '^notified READY=1' "$BATS_TEST_TMPDIR/heard"
	stop_daemon
	wait_for grep -q '^notified STOPPING=1' "$BATS_TEST_TMPDIR/heard"
}

@test "socket activation: it serves the socket it receives, and leaves the file alone" {
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/given.sock
	wireclient activate "$PMCBPF_SOCKET" "$BUILD/sbin/pmcbpfd" -f 3>&- & DAEMON_PID=$!
	wait_for daemon_answers
	stop_daemon
	[ -S "$PMCBPF_SOCKET" ]
}

@test "a private daemon serves one client, creates no socket, and ends with it" {
	run wireclient private "$BUILD/sbin/pmcbpfd" hello alloc 3 15 0x20004 any 0 start read leave
	[ "$status" -eq 0 ]
	grep -q '^read 0 ' <<<"$output"
	grep -q '^leave 0$' <<<"$output"
	refute grep -q '^hwpmc:' <<<"$output"
}

@test "-t: nothing is missing on this machine" {
	run pmcbpfd -t
	[ "$status" -eq 0 ]
	grep -q 'nothing is missing' <<<"$output"
}
