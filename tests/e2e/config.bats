#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tunables: the file, -o, hwpmc's words, and what they change.

load helpers

setup() {
	need_root
	CONF=$BATS_TEST_TMPDIR/pmcbpf.conf
}

teardown() {
	stop_daemon KILL || true
}

@test "a bad line is an error that names file, line and remedy" {
	printf '# fine\nkern.hwpmc.nbuffers="64"\nkern.hwpmc.nsamples="many"\n' >"$CONF"
	run pmcbpfd -f -c "$CONF" -s "$BATS_TEST_TMPDIR/s"
	[ "$status" -eq 1 ]
	[ "$output" = "pmcbpfd: $CONF:3: kern.hwpmc.nsamples takes a number, not \"many\"" ]
	echo 'kern.hwpmc.nbufers="1"' >"$CONF"
	run pmcbpfd -t -c "$CONF"
	[ "$status" -eq 1 ]
	grep -q "$CONF:1: no tunable is called" <<<"$output"
}

@test "a file that was named must be there; the default one need not" {
	run pmcbpfd -f -c "$BATS_TEST_TMPDIR/absent" -s "$BATS_TEST_TMPDIR/s"
	[ "$status" -eq 1 ]
	grep -q "$BATS_TEST_TMPDIR/absent" <<<"$output"
	[ -e /etc/pmcbpf/pmcbpf.conf ] || start_daemon
}

@test "REQ-127..130: out of range: hwpmc's words, and it starts" {
	start_daemon -o kern.hwpmc.hashsize=0 -o kern.hwpmc.logbuffersize=-1 \
		-o kern.hwpmc.nbuffers=0 -o kern.hwpmc.nsamples=70000
	grep -qx 'hwpmc: tunable hashsize=0 must be greater than zero.' "$DAEMON_LOG"
	grep -qx 'hwpmc: tunable logbuffersize=-1 must be greater than zero.' "$DAEMON_LOG"
	grep -qx 'hwpmc: tunable nlogbuffers=0 must be greater than zero.' "$DAEMON_LOG"
	grep -qx 'hwpmc: tunable nsamples=70000 out of range.' "$DAEMON_LOG"
}

@test "-o has the last word over the file" {
	echo 'kern.hwpmc.hashsize="-1"' >"$CONF"
	start_daemon -o kern.hwpmc.hashsize=8 -c "$CONF"
	refute grep -q 'tunable hashsize' "$DAEMON_LOG"
}

@test "-o without a value, or of an unknown name, is refused" {
	run pmcbpfd -f -o kern.hwpmc.nsamples -s "$BATS_TEST_TMPDIR/s"
	[ "$status" -eq 1 ]
	grep -q -- '-o takes NAME=VALUE' <<<"$output"
	run pmcbpfd -f -o kern.hwpmc.x=1 -s "$BATS_TEST_TMPDIR/s"
	[ "$status" -eq 1 ]
	grep -q 'pmcbpf.conf(5)' <<<"$output"
}

@test "REQ-109, REQ-110, REQ-115: unprivileged_syspmcs opens system counting" {
	start_daemon
	run run_as_nobody wireclient hello alloc 1 15 0x2000b 0 0
	grep -q '^alloc EPERM -- .*unprivileged_syspmcs' <<<"$output"
	stop_daemon
	start_daemon -o security.bsd.unprivileged_syspmcs=1
	run run_as_nobody wireclient hello alloc 1 15 0x2000b 0 0 start read
	grep -q '^alloc 0 ' <<<"$output"
	grep -q '^read 0 ' <<<"$output"
}

@test "REQ-109, REQ-114: SIGHUP changes the security tunables, and only with a good file" {
	echo 'security.bsd.unprivileged_syspmcs="0"' >"$CONF"
	start_daemon -c "$CONF"
	nobody_may() { run_as_nobody wireclient hello alloc 1 15 0x2000b 0 0 | grep -q '^alloc 0 '; }
	refute nobody_may
	echo 'security.bsd.unprivileged_syspmcs="1"' >"$CONF"
	kill -HUP "$DAEMON_PID"
	wait_for nobody_may
	echo 'nonsense' >"$CONF"
	kill -HUP "$DAEMON_PID"
	wait_for grep -q "$CONF:1: .*the tunables stay as they were" "$DAEMON_LOG"
	nobody_may
}

@test "REQ-111, REQ-112, REQ-117: unprivileged_proc_debug=0 bars others, not oneself" {
	start_daemon -o security.bsd.unprivileged_proc_debug=0
	run_as_nobody bash -c 'sleep 60 3>&- & pid=$!; wireclient hello alloc 3 15 0x20004 any 0 \
		attach $pid attach 0 start; kill $pid' >"$BATS_TEST_TMPDIR/out"
	grep -q '^attach EPERM -- .*unprivileged_proc_debug' "$BATS_TEST_TMPDIR/out"
	grep -q '^attach 0$' "$BATS_TEST_TMPDIR/out"
	grep -q '^start 0' "$BATS_TEST_TMPDIR/out"
}
