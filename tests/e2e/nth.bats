#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The nth bpf(2), perf_event_open(2) or allocation fails, for every n: the daemon refuses with a reason or goes on
# without, and gives everything back.

load helpers

setup() {
	need_root
	[[ $(ldd "$BUILD/sbin/pmcbpfd") != *libasan* ]] || skip "a sanitizer has an allocator of its own"
	open_tmpdir
	export NTH=$BATS_TEST_TMPDIR/nth
	nth "$NTH"
	sleep 600 3>&- &
	TARGET=$!
}

# start_failing: a daemon with the library that makes its nth call fail.
start_failing() { LD_PRELOAD=$BUILD/tests/nth.so start_daemon; }

# life_of_pmcs: a PMC of each mode, from allocation to release; the replies are in $answers.
life_of_pmcs() {
	answers=$(wireclient hello \
		alloc 3 15 0x20004 any 0x8e attach "$TARGET" log "$BATS_TEST_TMPDIR/log" start read stop write 5 release \
		alloc 1 15 0x20004 0 0 start read stop alloc 0 15 0x2000b 0 0 setcount 1000 start rows 0 \
		alloc 2 15 0x20000 any 0 setcount 100 start pages 50 flushlog endlog release)
}

# every_error_has_a_reason: except the connection's end, which follows an error.
every_error_has_a_reason() {
	awk '$2 == "0" || $1 == "pages" { next }
		$2 ~ /^E[A-Z]+$/ && $3 == "--" && NF > 3 { bad++; next }
		$2 == "closed" && bad { next }
		{ print "no reason: " $0; wrong++ }
		END { exit wrong > 0 }' <<<"$answers"
}

# walk KIND LAST: n from 1 to LAST, then in growing steps, until no call fails any more.
walk() {
	local kind=$1 last=$2 n=1 failed=1 refused=0

	while [ "$failed" -gt 0 ]; do
		nth "$NTH" "$kind" $n
		life_of_pmcs
		read -r _ failed _ < <(nth "$NTH")
		every_error_has_a_reason || { echo "$kind $n: $answers"; return 1; }
		[[ $answers != *ENOMEM* ]] || refused=$((refused + 1))
		wait_for rows_free
		life_of_pmcs
		! grep -E '^[a-z]+ (E|closed)' <<<"$answers" || { echo "after $kind $n" >&2; return 1; }
		n=$((n + 1 + (n > last ? n / 8 : 0)))
	done
	echo "$kind: to $n, $refused refused"
	[ $refused -ge 3 ]
}

# held: descriptors and blocks of memory, at rest
held() {
	wait_for rows_free
	wait_for daemon_idle
	fds=$(daemon_fds)
	read -r _ _ blocks < <(nth "$NTH")
}

@test "any failing call in the life of a PMC: a reason is given, and rows, descriptors and memory return" {
	local most=0 before

	start_failing
	for _ in {1..9}; do
		life_of_pmcs
		held
		[ "$fds" -le "$most" ] || most=$fds
	done
	before=$blocks
	most=$((most + 8))	# the number of spare maps varies
	for kind in "bpf 999" "perf 999" "memory 64"; do
		# shellcheck disable=SC2086 # two words
		walk $kind
		held
		echo "$fds descriptors, at most $most before; $blocks blocks, $before before"
		[ "$fds" -le "$most" ]
		[ "$blocks" -le $((before + 16)) ]
	done
	refute process_gone "$DAEMON_PID"
	stop_daemon
}

# starts_or_says_why: it serves, or ends and prints a reason.
starts_or_says_why() {
	: >"$BATS_TEST_TMPDIR/pmcbpfd.log"
	if start_failing 2>/dev/null; then
		life_of_pmcs
		nth "$NTH" >"$BATS_TEST_TMPDIR/calls"
		! grep -E '^[a-z]+ (E[A-Z]+$|closed)' <<<"$answers" || return 1
		stop_daemon
	else
		nth "$NTH" >"$BATS_TEST_TMPDIR/calls"
		! stop_daemon || { echo "exit 0, but it does not serve" >&2; return 1; }
		grep -q '^pmcbpfd: ..*' "$DAEMON_LOG"
	fi
	read -r _ failed _ <"$BATS_TEST_TMPDIR/calls"
}

@test "any failing call at the start: the daemon prints a reason, or serves without the feature" {
	for kind in bpf perf memory; do
		n=1 failed=1
		while [ "$failed" -gt 0 ]; do
			nth "$NTH" $kind $n
			starts_or_says_why || { echo "$kind $n: $(cat "$DAEMON_LOG")"; return 1; }
			n=$((n + 1 + n / 2))
		done
	done
}

@test "whatever bpf(2) fails while a PMC counts: the count is exact, or refused" {
	local n=1 failed=1 refused=0 count

	start_failing
	while [ "$failed" -gt 0 ]; do
		nth "$NTH" bpf $n
		answers=$(wireclient hello alloc 3 15 0x20004 any 0 write 1000 start pages 20 stop read release)
		read -r _ failed _ < <(nth "$NTH")
		every_error_has_a_reason
		count=$(sed -n 's/^read 0 //p' <<<"$answers")
		if ! grep -qE '^[a-z]+ E' <<<"$answers"; then
			# The client itself has one or two faults besides its pages.
			[ "$count" -ge 1020 ] && [ "$count" -lt 1030 ] || { echo "bpf $n: $answers" >&2; return 1; }
		else
			refused=$((refused + 1))
		fi
		wait_for rows_free
		n=$((n + 1))
	done
	echo "to $n, $refused refused"
	[ $refused -ge 3 ]
	stop_daemon
}
