#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tunables: the file, -o, hwpmc's words, and what they change.

load helpers

setup() {
	need_root
	CONF=$BATS_TEST_TMPDIR/pmcbpf.conf
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

@test "a named file must exist; the default one need not" {
	run pmcbpfd -f -c "$BATS_TEST_TMPDIR/absent" -s "$BATS_TEST_TMPDIR/s"
	[ "$status" -eq 1 ]
	grep -q "$BATS_TEST_TMPDIR/absent" <<<"$output"
	[ -e /etc/pmcbpf/pmcbpf.conf ] || start_daemon
}

# out_of_range NAME VALUE DEFAULT MESSAGE: the daemon prints hwpmc's message and uses the default
out_of_range() {
	start_daemon -o "kern.hwpmc.$1=$2"
	[ "$(grep -c '^hwpmc: tunable' "$DAEMON_LOG")" -eq 1 ]
	grep -qxF "hwpmc: $4" "$DAEMON_LOG"
	[ "$(pmccontrol --tunable "kern.hwpmc.$1")" = "$3" ]
	stop_daemon
	: >"$DAEMON_LOG"
}

@test "REQ-127: hashsize out of range" {
	out_of_range hashsize 0 16 'tunable hashsize=0 must be greater than zero.'
	out_of_range hashsize -3 16 'tunable hashsize=-3 must be greater than zero.'
}

@test "REQ-128: logbuffersize out of range" {
	out_of_range logbuffersize 0 256 'tunable logbuffersize=0 must be greater than zero.'
	out_of_range logbuffersize -1 256 'tunable logbuffersize=-1 must be greater than zero.'
}

@test "REQ-129: nbuffers out of range; the message calls it nlogbuffers" {
	out_of_range nbuffers 0 $((32 * $(getconf _NPROCESSORS_ONLN))) 'tunable nlogbuffers=0 must be greater than zero.'
	out_of_range nbuffers -9 $((32 * $(getconf _NPROCESSORS_ONLN))) 'tunable nlogbuffers=-9 must be greater than zero.'
	out_of_range nbuffers_pcpu 0 32 'tunable nbuffers_pcpu=0 must be greater than zero.'
}

@test "REQ-130: nsamples out of range" {
	out_of_range nsamples 0 512 'tunable nsamples=0 out of range.'
	out_of_range nsamples 65536 512 'tunable nsamples=65536 out of range.'
	start_daemon -o kern.hwpmc.nsamples=65535
	refute grep -q '^hwpmc: tunable' "$DAEMON_LOG"
}

@test "-o overrides the file" {
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

@test "REQ-109, REQ-114: SIGHUP changes the security tunables, if the file is valid" {
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

@test "REQ-111, REQ-112, REQ-117: unprivileged_proc_debug=0 forbids other processes, not one's own" {
	start_daemon -o security.bsd.unprivileged_proc_debug=0
	run_as_nobody bash -c 'read -r pid < <(exec sh -c "echo \$\$; kill -STOP \$\$" 3>&-); wireclient hello alloc 3 15 0x20004 any 0 \
		attach $pid attach 0 start; kill -KILL $pid' >"$BATS_TEST_TMPDIR/out"
	grep -q '^attach EPERM -- .*unprivileged_proc_debug' "$BATS_TEST_TMPDIR/out"
	grep -q '^attach 0$' "$BATS_TEST_TMPDIR/out"
	grep -q '^start 0' "$BATS_TEST_TMPDIR/out"
}
