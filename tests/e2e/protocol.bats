#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Messages that no library sends: each gets its error, nothing leaks, nobody else waits.

load helpers

setup() {
	need_root
	start_daemon
	# 57434d50 version 1 …, in this machine's byte order
	MAGIC=504d4357
}

@test "REQ-132: bad magic, bad version, short header: EPROTO and the end of the connection" {
	run wireclient send 0000000001000200000000000000000000000000000000000000 op 2 0
	grep -q '^send EPROTO -- not a message of libpmc-compat' <<<"$output"
	grep -q '^op closed' <<<"$output"
	run wireclient send "${MAGIC}630002000000000000000000000000000000000000000000" op 2 0
	grep -q '^send EPROTO -- wire version 99' <<<"$output"
	grep -q '^op closed' <<<"$output"
	run wireclient send "${MAGIC}" op 2 0
	grep -q '^send EPROTO -- a message of 4 bytes' <<<"$output"
	grep -q '^op closed' <<<"$output"
}

@test "an empty message is not the end of the connection" {
	run wireclient send "" op 2 0
	grep -q '^send EPROTO' <<<"$output"
}

@test "a length that differs from the message's: EPROTO" {
	run wireclient send "${MAGIC}0100020000000000000000000500000000000000"
	grep -q '^send EPROTO' <<<"$output"
	run wireclient send "${MAGIC}010002000000000000000000ffffffff00000000"
	grep -q '^send EPROTO' <<<"$output"
	# So is a request that bears an error, and every part of a header.
	run wireclient send "${MAGIC}0100020000000000000000000000000001000000"
	grep -q '^send EPROTO' <<<"$output"
	local header=${MAGIC}0100020000000000000000000000000000000000
	for ((n = 2; n < ${#header}; n += 2)); do
		run wireclient send "${header:0:n}"
		grep -q '^send EPROTO' <<<"$output"
	done
}

@test "an oversized message: EPROTO, and no part of it is processed" {
	run wireclient hello op 2 1500 op 2 0
	grep -q '^op EPROTO -- .*at most 1024 bytes' <<<"$output"
	grep -q '^op closed' <<<"$output"
}

@test "HELLO comes first, and once" {
	run wireclient cpuinfo hello hello cpuinfo
	grep -q '^cpuinfo EPROTO -- .*HELLO' <<<"$output"
	grep -q '^hello EPROTO' <<<"$output"
	grep -q '^cpuinfo 0' <<<"$output"
}

@test "unknown operations: EINVAL, counted" {
	run wireclient hello stats op 99 0 op 65535 8 op 64000 0 stats
	[ "$(grep -c '^op EINVAL' <<<"$output")" -eq 3 ]
	grep -q '^stats 0 calls=5 errors=3$' <<<"$output"
}

@test "unexpected descriptors are refused and closed" {
	wait_for daemon_idle
	before=$(daemon_fds)
	run wireclient hello fds 1 cpuinfo fds 3 op 8 8 fds 253 cpuinfo fds 1 send 00 
	[ "$(grep -c EPROTO <<<"$output")" -eq 4 ]
	wait_for fds_are "$before"
}

@test "a hundred hostile connections leave no descriptor behind" {
	wait_for daemon_idle
	before=$(daemon_fds)
	for i in $(seq 100); do
		wireclient fds $((i % 250)) send "${MAGIC}0100" >/dev/null
	done
	wait_for fds_are "$before"
}

@test "a client that reads no replies delays no other client" {
	wireclient hello flood hold >"$BATS_TEST_TMPDIR/stuck" 3>&- & stuck=$!
	wait_for grep -q '^hold' "$BATS_TEST_TMPDIR/stuck"
	[ "$(sed -n 's/^flood //p' "$BATS_TEST_TMPDIR/stuck")" -gt 10 ]
	run timeout $PATIENCE wireclient hello alloc 3 15 0x20004 any 0 start read release
	[ "$status" -eq 0 ]
	grep -q '^release 0' <<<"$output"
	kill "$stuck"
}

@test "it receives all of them once it reads" {
	run wireclient hello flood drain cpuinfo
	sent=$(sed -n 's/^flood //p' <<<"$output")
	[ "$sent" -gt 10 ]
	grep -q "^drain $sent$" <<<"$output"
}

@test "an inherited connection does not serve the child" {
	run wireclient hello fork cpuinfo
	grep -q '^cpuinfo EPERM -- .*others make their own' <<<"$output"
}

@test "connections are limited per user, with a one-line reason; other users still connect" {
	run run_as_nobody bash -c 'ulimit -n 2048 2>/dev/null || ulimit -n $(ulimit -Hn); \
		[ $(ulimit -n) -ge 1100 ] || { echo too few; exit; }; wireclient hello many 1100'
	[ "$output" != "too few" ] || skip "the hard limit of open files is below 1100"
	# The number depends on the hard limit of the daemon's open files.
	[[ $output =~ many\ ([0-9]+)\ --\ uid\ 65534\ has\ ([0-9]+)\ of\ pmcbpfd.s\ ([0-9]+)\ connections,\ and ]]
	((BASH_REMATCH[1] + 1 == BASH_REMATCH[2] && BASH_REMATCH[2] == BASH_REMATCH[3] / 4))
	[[ $output == *"(user.share=25 percent)"* ]]
	daemon_answers
	wait_for rows_free
}
