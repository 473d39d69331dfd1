#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# One daemon for each socket: nobody else can hold a lock that keeps it from starting, and nothing of a daemon that
# was killed does.

load helpers

setup() {
	need_root
	open_tmpdir
	DIR=$BATS_TEST_TMPDIR/run
	mkdir -m 755 "$DIR"
	export PMCBPF_SOCKET=$DIR/pmc.sock
	LOCK=$PMCBPF_SOCKET.lock
}

teardown() {
	stop_daemon KILL || true
	for pid in "${OTHERS[@]}"; do
		# The program that holds a lock.
		pkill -KILL -P "$pid" || true
		kill -KILL "$pid" 2>/dev/null || true
	done
}

# On that socket, without waiting for it.
begin_daemon() {
	pmcbpfd -f -s "$PMCBPF_SOCKET" >>"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
	DAEMON_PID=$!
}

locked_or_ended() { [ -s "$LOCK" ] || process_gone "$DAEMON_PID"; }
daemon_has_not_ended() { ! process_gone "$DAEMON_PID" || { cat "$BATS_TEST_TMPDIR/log" >&2; return 1; }; }
answers_or_ends() { daemon_answers || process_gone "$DAEMON_PID"; }

@test "a lock on the socket's folder does not prevent a start" {
	run_as_nobody flock "$DIR" sh -c 'echo held; exec sleep infinity' >"$BATS_TEST_TMPDIR/held" 3>&- &
	OTHERS=($!)
	wait_for grep -q held "$BATS_TEST_TMPDIR/held"
	begin_daemon
	wait_for daemon_answers
}

@test "the lock is readable by root only, names its holder, and ends with it" {
	begin_daemon
	wait_for daemon_answers
	[ "$(stat -c '%a %u' "$LOCK")" = "600 0" ]
	[ "$(cat "$LOCK")" = "$DAEMON_PID" ]
	run ! run_as_nobody flock -n "$LOCK" true
	run -1 pmcbpfd -f -s "$PMCBPF_SOCKET"
	[[ "$output" == *"already running: process $DAEMON_PID holds $LOCK; stop it, or choose another socket with -s" ]]
	daemon_answers
	stop_daemon
	[ -z "$(ls -A "$DIR")" ]
}

@test "after kill -9 of a daemon the next one starts at once" {
	for _ in 1 2 3; do
		begin_daemon
		wait_for daemon_answers
		first=$DAEMON_PID
		kill -KILL "$first"
		begin_daemon
		wait_for answers_or_ends
		daemon_has_not_ended
		daemon_answers
		kill -KILL "$DAEMON_PID"
		wait "$DAEMON_PID" "$first" || true
	done
	refute grep -q 'already running' "$BATS_TEST_TMPDIR/log"
}

# outlived N: N connections wait at a socket that is no longer its daemon's, where one may.
outlived() {
	# As at the end of a process: the lock is free, the socket still exists.
	python3 - "$PMCBPF_SOCKET" "$1" >"$BATS_TEST_TMPDIR/kept" 3>&- <<-'END' &
		import os, socket, sys, time
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.bind(sys.argv[1])
		keeper = os.fork()
		if keeper == 0:
		    while True:
		        time.sleep(60)
		s.listen(0)
		for i in range(int(sys.argv[2])):
		    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])
		print(keeper, flush=True)
		os.kill(os.getpid(), 9)
	END
	wait $! || true
	read -r keeper <"$BATS_TEST_TMPDIR/kept"
	OTHERS=("$keeper")
	begin_daemon
	wait_for locked_or_ended
	daemon_has_not_ended
	kill "$keeper"
	wait_for answers_or_ends
	daemon_answers
	stop_daemon
}

@test "a socket that outlives its daemon's lock is waited for, whatever waits there" {
	outlived 0
	outlived 1
}

# refused TEXT: the daemon does not start, and reports TEXT about the lock's file.
refused() {
	run -1 timeout $PATIENCE pmcbpfd -f -s "$PMCBPF_SOCKET"
	[[ "$output" == *"$LOCK is in the way: $1"* ]] || { echo "$output" >&2; return 1; }
	[ ! -e "$PMCBPF_SOCKET" ]
}

@test "in another user's folder none of his files is followed, written or waited for" {
	chown 65534 "$DIR"
	echo precious >"$BATS_TEST_TMPDIR/precious"
	chmod 600 "$BATS_TEST_TMPDIR/precious"
	run_as_nobody ln -s "$BATS_TEST_TMPDIR/precious" "$LOCK"
	refused "it is no plain file"
	run_as_nobody ln -sf "$BATS_TEST_TMPDIR/new" "$LOCK"
	refused "it is no plain file"
	[ ! -e "$BATS_TEST_TMPDIR/new" ]
	rm "$LOCK"
	run_as_nobody mkfifo "$LOCK"
	refused "it is no plain file"
	rm "$LOCK"
	run_as_nobody mkdir "$LOCK"
	refused "it is no plain file"
	rmdir "$LOCK"
	install -m 644 /dev/null "$LOCK"
	refused "with mode 644 others can lock it"
	rm "$LOCK"
	run_as_nobody sh -c "umask 077; : >'$LOCK'"
	refused "it belongs to user 65534"
	rm "$LOCK"
	# With fs.protected_hardlinks=0 another user can do this.
	ln "$BATS_TEST_TMPDIR/precious" "$LOCK"
	refused "the file has another name"
	[ "$(cat "$BATS_TEST_TMPDIR/precious")" = precious ]
}

@test "pctrd has such a lock, too" {
	LOCK=$DIR/pctr.sock.lock
	start_daemon
	begin_pctrd() {
		pctrd -f -d "$DIR" --no-node >>"$BATS_TEST_TMPDIR/pctrd" 2>&1 3>&- &
		OTHERS=($!)
		wait_for test -S "$DIR/pctr.sock"
	}
	begin_pctrd
	[ "$(stat -c '%a %u' "$LOCK")" = "600 0" ]
	run -1 pctrd -f -d "$DIR" --no-node
	[[ "$output" == *"already running: process ${OTHERS[0]} holds $LOCK"* ]]
	[ -e "$DIR/pctr" ]
	kill "${OTHERS[0]}"
	wait "${OTHERS[0]}"
	[ -z "$(ls -A "$DIR")" ]
	ln -s "$BATS_TEST_TMPDIR/new" "$LOCK"
	run -1 pctrd -f -d "$DIR" --no-node
	[[ "$output" == *"$LOCK is in the way"* ]]
	[ ! -e "$BATS_TEST_TMPDIR/new" ]
}
