#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Connections that are refused, that say nothing, and that are too many.

load helpers

setup() {
	need_root
	open_tmpdir
	RAW=$(public_build)/tests/wireclient
	JOBS=()
}

teardown() {
	kill "${JOBS[@]}" 2>/dev/null || true
	part_all
	stop_daemon KILL || true
}

# crowd UID WORD...: a process of that user that performs the words and stays; its output is in
# $BATS_TEST_TMPDIR/UID.
crowd() {
	: >"$BATS_TEST_TMPDIR/$1"
	setpriv --reuid "$1" --regid "$1" --clear-groups bash -c 'ulimit -n 2048 && exec "$@"' crowd \
		"$RAW" hello "${@:2}" hold >"$BATS_TEST_TMPDIR/$1" 3>&- &
	JOBS+=($!)
	wait_for grep -q '^hold' "$BATS_TEST_TMPDIR/$1"
}

# Uses up the share of user 65534, some 40 connections; FULL is the reply to the next one.
with_full_share() {
	start_daemon -o user.share=1
	crowd 65534 many 200
	FULL=$(sed -n 's/^many [0-9]* -- //p' "$BATS_TEST_TMPDIR/65534")
	[[ $FULL == "uid 65534 has "*" connections, and "*" is the most for one user (user.share=1 percent)"* ]]
}

@test "a refused connection receives its reply before any request, and is closed" {
	with_full_share
	before=$(daemon_fds)
	run run_as_nobody timeout $PATIENCE wireclient connect listen
	[ "$output" = "listen EAGAIN -- $FULL"$'\n'"listen closed" ]
	# Processes that keep their ends leave nothing in the daemon.
	crowd 65534 mute 200
	run run_as_nobody timeout $PATIENCE wireclient connect listen
	grep -q '^listen EAGAIN' <<<"$output"
	wait_for fds_are "$before"
}

@test "the library reports the reason, whether the refusal or its greeting comes first" {
	with_full_share
	run run_as_nobody pmccontrol -l
	[ "$status" -ne 0 ]
	[[ $output == *"$FULL"* ]]
	# The greeting waits unread while the connection is refused.
	suspend_daemon
	LD_LIBRARY_PATH=$(public_build)/lib "${nobody[@]}" "$(public_build)/bin/pmccontrol" -l \
		>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	pid=$!
	JOBS+=("$pid")
	wait_for receives $pid
	resume_daemon
	refute wait $pid
	grep -qF "$FULL" "$BATS_TEST_TMPDIR/out"
}

@test "a refused connection receives its reply while a flush waits" {
	with_full_share
	cd "$BATS_TEST_TMPDIR"
	mkfifo pipe
	exec {hold}<>pipe
	client owner
	expect owner 'log 0' logto write pipe
	expect owner 'writelog 0' writelog 1 4000
	# Nothing comes between the flush and the refusal.
	suspend_daemon
	printf 'flushlog\n' >&"${CLIENT_IN[owner]}"
	wait_for receives "${CLIENT_JOB[owner]}"
	"${nobody[@]}" "$RAW" hello >out 3>&- &
	pid=$!
	JOBS+=("$pid")
	wait_for receives $pid
	resume_daemon
	wait_for process_gone $pid
	grep -qxF "hello EAGAIN -- $FULL" out
	# The flush still waits.
	refute read -r -t 0.1 -u "${CLIENT_OUT[owner]}"
	cat <&"$hold" >/dev/null 3>&- & JOBS+=($!)
	read -r -t $PATIENCE -u "${CLIENT_OUT[owner]}" line
	[ "$line" = "flushlog 0" ]
	read -r -t $PATIENCE -u "${CLIENT_OUT[owner]}" line
	exec {hold}>&-
}

@test "of two simultaneous requests of a process the second waits for the first" {
	start_daemon
	client owner
	expect owner 'alloc 0 *' alloc 2 15 0x20000 any 0
	# The target's mappings are read for the log; the daemon serves others meanwhile.
	expect owner 'hello 0*' setcount 1 log "$BATS_TEST_TMPDIR/log" other
	for ((i = 0; i < 20; i++)); do
		# Until the daemon sleeps, the connection it has just served may come before the one that asks first.
		wait_for daemon_rests
		suspend_daemon
		ask owner other unheard attach 0 other unheard release
		resume_daemon
		expect owner 'heard 0' other heard
		expect owner 'heard 0' other heard
		expect owner 'setcount 0' alloc 2 15 0x20000 any 0 setcount 1
	done
	part owner
}

@test "an owner that execs can connect at once, before the end of its PMCs is complete" {
	start_daemon
	client owner
	expect owner 'start 0' alloc 3 15 0x20004 any 0 start
	# The exec, the end of the old connection and the new one fall into one turn of the daemon.
	suspend_daemon
	expect owner 'inherited *' become
	printf 'connect hello\n' >&"${CLIENT_IN[owner]}"
	wait_for receives "${CLIENT[owner]}"
	resume_daemon
	read -r -t $PATIENCE -u "${CLIENT_OUT[owner]}" line
	[[ $line == "hello 0"* ]]
	read -r -t $PATIENCE -u "${CLIENT_OUT[owner]}" line
	[ "$line" = . ]
	expect owner 'read 0 0' alloc 3 15 0x20004 any 0 read
	part owner
	wait_for rows_free
}

@test "… and while its last request is still in progress" {
	start_daemon
	client owner
	client other
	expect owner 'log 0' alloc 2 15 0x20000 any 0 log "$BATS_TEST_TMPDIR/log"
	# Nothing reads the mappings that the log needs, until these processes continue.
	mapfile -t readers < <(pgrep -P "$(pgrep -P "$DAEMON_PID")")
	kill -STOP "${readers[@]}"
	for reader in "${readers[@]}"; do wait_for is_stopped "$reader"; done
	ask owner unheard attach 0
	# It is in progress when two later requests have been answered.
	ask other cpuinfo cpuinfo
	expect owner 'inherited *' become
	expect owner 'hello 0*' connect hello
	expect owner 'read 0 0' alloc 3 15 0x20004 any 0 read
	kill -CONT "${readers[@]}"
	part owner
	wait_for rows_free
}

@test "a killed process's row can be allocated while its last request is still in progress" {
	start_daemon
	client owner
	client other
	client third
	expect owner 'alloc 0 *' alloc 2 15 0x20000 any 0
	row=$((${reply#alloc 0 } & 0xff))
	expect owner 'log 0' log "$BATS_TEST_TMPDIR/log"
	mapfile -t readers < <(pgrep -P "$(pgrep -P "$DAEMON_PID")")
	kill -STOP "${readers[@]}"
	for reader in "${readers[@]}"; do wait_for is_stopped "$reader"; done
	ask owner unheard attach 0
	ask other cpuinfo cpuinfo
	expect other 'admin EBUSY *' admin 0 $row 0
	kill -KILL "${CLIENT[owner]}"
	wait_for process_gone "${CLIENT_JOB[owner]}"
	printf 'admin 0 %u 0\n' $row >&"${CLIENT_IN[other]}"
	wait_for receives "${CLIENT[other]}"
	# A client that does not need the row is answered meanwhile.
	ask third cpuinfo
	receives "${CLIENT[other]}"
	kill -CONT "${readers[@]}"
	read -r -t $PATIENCE -u "${CLIENT_OUT[other]}" line
	[ "$line" = 'admin 0' ]
	read -r -t $PATIENCE -u "${CLIENT_OUT[other]}" line
	[ "$line" = . ]
}

@test "the daemon does not wait for a client without HELLO; after HELLO a client may stay silent" {
	start_daemon -o user.greeting=1
	client idle
	run timeout $PATIENCE wireclient connect listen
	grep -q '^listen ETIMEDOUT -- nothing was said for 1 s (user.greeting); connect again' <<<"$output"
	[ "$(tail -n 1 <<<"$output")" = "listen closed" ]
	# Neither other messages nor unread replies count as a greeting.
	run timeout $PATIENCE wireclient connect cpuinfo listen
	grep -q '^cpuinfo EPROTO' <<<"$output"
	grep -q '^listen ETIMEDOUT' <<<"$output"
	crowd 65534 mute 100
	# The idle one and the first of the crowd.
	wait_for sockets_are 3
	expect idle 'cpuinfo 0 *' cpuinfo
	part idle
}

# sockets_are N: the listening socket and the connections.
sockets_are() { [ "$(grep -c " $PMCBPF_SOCKET\$" /proc/net/unix)" -eq "$1" ]; }

# The daemon accepts 64 connections a round, and the greeting is behind more than that.
@test "a HELLO sent in time counts, however late the daemon reads it" {
	start_daemon -o user.greeting=3600
	client admin
	client crowd
	expect crowd 'chorus 100' chorus 100
	mkfifo "$BATS_TEST_TMPDIR/to"
	wireclient connect orders <"$BATS_TEST_TMPDIR/to" >"$BATS_TEST_TMPDIR/out" 3>&- &
	pid=$!
	JOBS+=("$pid")
	exec {to}>"$BATS_TEST_TMPDIR/to"
	wait_for sockets_are 104
	suspend_daemon
	printf 'settunable user.greeting 1\n' >&"${CLIENT_IN[admin]}"
	wait_for receives "${CLIENT_JOB[admin]}"
	ask crowd sing
	echo hello cpuinfo >&"$to"
	wait_for receives $pid
	# The second has ended, for the daemon too.
	sleep 1.1
	resume_daemon
	wait_for grep -q '^\.' "$BATS_TEST_TMPDIR/out"
	exec {to}>&-
	grep -q '^hello 0' "$BATS_TEST_TMPDIR/out"
	grep -q '^cpuinfo 0' "$BATS_TEST_TMPDIR/out"
	read -r -t $PATIENCE -u "${CLIENT_OUT[admin]}" line
	[ "$line" = "settunable 0" ]
	read -r -t $PATIENCE -u "${CLIENT_OUT[admin]}" line
}

@test "root connects, counts, lists and disables while other users hold everything they can" {
	start_daemon -o user.greeting=3600
	for uid in 2001 2002 2003 2004 2005; do
		crowd $uid many 2000
		crowd 65534 mute 400
	done
	grep -q '^many .* -- uid 2001 has .* connections, and .* (user.share=25 percent)' "$BATS_TEST_TMPDIR/2001"
	# The fifth is refused because of the reserve, not of its share.
	grep -q '^many 0 -- .* in use, and the rest is kept for administrators (user.reserve=10 percent)' \
		"$BATS_TEST_TMPDIR/2005" || grep -q '^hello EAGAIN -- .* (user.reserve=10 percent)' "$BATS_TEST_TMPDIR/2005"
	for _ in 1 2 3; do
		run wireclient hello alloc 1 15 0x2000b 0 0 start read release rows 0 admin 0 0 0 admin 0 0 1
		[ "$(grep -cE '^(hello|alloc|start|read|release|rows) 0' <<<"$output")" -eq 6 ]
		[ "$(grep -c '^admin 0' <<<"$output")" -eq 2 ]
	done
	run pmccontrol -l
	[ "$status" -eq 0 ]
}

@test "a program's name cannot send control characters to a terminal or fake a line of the daemon's messages" {
	start_daemon -o 'kern.hwpmc.debugflags=owner=*'
	run wireclient connect named $'\e[31mx\r\npmcbpfd\xc2\x9b'
	grep -q '^named 0' <<<"$output"
	wait_for grep -q '(?\[31mx??pmcbpfd?)' "$DAEMON_LOG"
	refute grep -q $'[\e\r\x9b]' "$DAEMON_LOG"
}
