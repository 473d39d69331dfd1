#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A connection is one program's: what a process that has become another one says on it is not heard,
# and nobody speaks with rights that came after connect().

load helpers

setup() {
	need_root
	open_tmpdir
	[[ ,$(findmnt -no OPTIONS -T "$BATS_TEST_TMPDIR"), != *,nosuid,* ]] || skip "$BATS_TEST_TMPDIR is nosuid"
	RAW=$(public_build)/tests/wireclient
	PLAIN=$BATS_TEST_TMPDIR/cat
	SETID=$BATS_TEST_TMPDIR/cat-setid
	cp /bin/cat "$PLAIN"
	cp /bin/cat "$SETID"
	chmod 4755 "$SETID"
	JOBS=()
}

teardown() {
	kill "${JOBS[@]}" 2>/dev/null || true
	part_all
	stop_daemon KILL || true
}

# syspmcs_are VALUE: of security.bsd.unprivileged_syspmcs.
syspmcs_are() { [[ "$(pmccontrol --tunable security.bsd.unprivileged_syspmcs)" == *"$1"* ]]; }

# with_capability CAPABILITY: makes $FILECAP, a cat that has it.
with_capability() {
	command -v setcap >/dev/null || skip "no setcap here"
	FILECAP=$BATS_TEST_TMPDIR/cat-$1
	cp /bin/cat "$FILECAP"
	setcap "$1+ep" "$FILECAP" || skip "this file system knows no file capabilities"
}

# A request that a set-id program copies to its standard output, its caller's connection.
bequeathed() {
	run timeout $PATIENCE "${nobody[@]}" "$RAW" "$@"
	grep -q '^bequeath' <<<"$output"
	grep -q '^listen closed' <<<"$output"
	syspmcs_are 0
}

@test "a connection that a set-id program inherits is closed before its first request" {
	start_daemon
	syspmcs_are 0
	bequeathed hello bequeath "$SETID"
	# Not refused: the request is never read.
	refute grep -q '^listen E' <<<"$output"
}

@test "… and so is one that a program with file capabilities inherits" {
	start_daemon
	for capability in cap_perfmon cap_sys_admin; do
		with_capability $capability
		bequeathed hello bequeath "$FILECAP"
		refute grep -q '^listen E' <<<"$output"
	done
}

# runs_as PID FILE: the exec is complete, credentials included.
runs_as() { [ "$(readlink "/proc/$1/exe")" = "$2" ] && asleep "$1"; }

# bequeathed_before_accept PROGRAM [COMMAND...]: stops the daemon between connect() and accept(), while the process
# becomes another program; COMMAND runs the client.
bequeathed_before_accept() {
	local out=$1.out pid

	: >"$out"
	suspend_daemon
	"${@:2}" "${nobody[@]}" "$RAW" connect bequeath "$1" >"$out" 3>&- &
	JOBS+=($!)
	wait_for grep -q '^bequeath' "$out"
	pid=$(sed -n 's/^bequeath //p' "$out")
	wait_for runs_as "$pid" "$1"
	resume_daemon
	wait_for grep -q '^listen closed' "$out"
	wait_for process_gone "$pid"
	grep -q "^listen EPERM -- process $pid has ids or capabilities that it did not have when .*connect again" "$out"
	syspmcs_are 0
}

@test "an exec between connect() and accept() gives no rights: the credentials of connect() count" {
	start_daemon
	bequeathed_before_accept "$SETID"
	for capability in cap_perfmon cap_sys_admin; do
		with_capability $capability
		bequeathed_before_accept "$FILECAP"
	done
}

@test "an ordinary exec between connect() and accept() does no harm" {
	start_daemon
	: >"$BATS_TEST_TMPDIR/out"
	suspend_daemon
	"${nobody[@]}" "$RAW" connect bequeath "$PLAIN" >"$BATS_TEST_TMPDIR/out" 3>&- &
	JOBS+=($!)
	wait_for grep -q '^bequeath' "$BATS_TEST_TMPDIR/out"
	wait_for runs_as "$(sed -n 's/^bequeath //p' "$BATS_TEST_TMPDIR/out")" "$PLAIN"
	resume_daemon
	# The replies to HELLO, and to a request that takes a privilege.
	wait_for grep -q '^listen EPERM -- changing tunables takes' "$BATS_TEST_TMPDIR/out"
	grep -q '^listen 0' "$BATS_TEST_TMPDIR/out"
	syspmcs_are 0
}

@test "an ordinary exec ends all connections of the process, with and without PMCs" {
	start_daemon
	for words in "" "many 3" "alloc 3 15 0x20004 any 0 start many 2"; do
		: >"$BATS_TEST_TMPDIR/out"
		# shellcheck disable=SC2086 # words
		"$RAW" hello $words again 1 >"$BATS_TEST_TMPDIR/out" 3>&- &
		pid=$!
		JOBS+=("$pid")
		wait_for grep -q '^hold' "$BATS_TEST_TMPDIR/out"
		grep -q '^listen closed' "$BATS_TEST_TMPDIR/out"
		# It still runs, and has the descriptors.
		wait_for daemon_idle
		refute process_gone $pid
		kill $pid
		rows_free
	done
}

@test "a private daemon ends with the exec of its client" {
	: >"$BATS_TEST_TMPDIR/out"
	"$RAW" private "$(command -v pmcbpfd)" hello again 1 >"$BATS_TEST_TMPDIR/out" 3>&- &
	JOBS+=($!)
	wait_for grep -q '^hold' "$BATS_TEST_TMPDIR/out"
	grep -q '^listen closed' "$BATS_TEST_TMPDIR/out"
}

# The ring of notes has room for 10,922 of them.
@test "execs are noticed even if their notes found no room in the ring" {
	start_daemon
	client flood
	client quiet
	JOBS+=("${CLIENT_JOB[@]}")
	suspend_daemon
	for order in "flood 11000" "quiet 1"; do
		# shellcheck disable=SC2086 # words
		set -- $order
		printf 'again %d\n' "$2" >&"${CLIENT_IN[$1]}"
		wait_for_line "$1" again
	done
	resume_daemon
	wait_for_line flood "listen closed"
	wait_for_line quiet "listen closed"
	wait_for daemon_idle
	for name in flood quiet; do
		kill "${CLIENT_JOB[$name]}"
		wait_for process_gone "${CLIENT_JOB[$name]}"
	done
}

# wait_for_line CLIENT LINE - as long as the client works, which takes 11,000 execs what the machine leaves for them
wait_for_line() {
	local before=none spent line
	until read -r -t $PATIENCE -u "${CLIENT_OUT[$1]}" line; do
		spent=$(awk '{ print $14 + $15 }' "/proc/${CLIENT_JOB[$1]}/stat")
		[ "$spent" != "$before" ] || { echo "$1: no $2" >&2; return 1; }
		before=$spent
	done
	[ "$line" = "$2" ] || { echo "$1: $line, not $2" >&2; return 1; }
}

# Their sockets are in other network namespaces than the daemon's.
@test "clients of other network namespaces have the credentials of their connect() as well" {
	start_daemon
	unshare -n true || skip "no network namespaces here"
	run unshare -n "$RAW" hello settunable security.bsd.unprivileged_syspmcs 0
	grep -q '^settunable 0' <<<"$output"
	bequeathed_before_accept "$SETID" unshare -n
}

# As with sudo: the set-id program itself sends nothing.
@test "a client that a set-id program has started as root has root's rights" {
	start_daemon
	cp /usr/bin/env "$BATS_TEST_TMPDIR/env-setid"
	chmod 4755 "$BATS_TEST_TMPDIR/env-setid"
	run "${nobody[@]}" "$BATS_TEST_TMPDIR/env-setid" PMCBPF_SOCKET="$PMCBPF_SOCKET" \
		setpriv --reuid 0 --regid 0 --clear-groups "$RAW" hello alloc 1 15 0x2000b 0 0 \
		settunable security.bsd.unprivileged_syspmcs 1
	grep -q '^alloc 0' <<<"$output"
	grep -q '^settunable 0' <<<"$output"
	syspmcs_are 1
	# And a client that is itself set-id.
	cp "$RAW" "$BATS_TEST_TMPDIR/raw-setid"
	chmod 4755 "$BATS_TEST_TMPDIR/raw-setid"
	run "${nobody[@]}" "$BATS_TEST_TMPDIR/raw-setid" hello settunable security.bsd.unprivileged_syspmcs 0
	grep -q '^settunable 0' <<<"$output"
	syspmcs_are 0
}
