#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Logs of strangers: what one user's log can take from the others, with whose ids and limits it is
# written, and where it may be.

load helpers

NOBODY=65534 OTHER=65533

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	MOUNTED=
	rm -f holder
}

teardown() {
	local pid
	while read -r pid; do kill "$pid" || true; done <holder 2>/dev/null || true
	part_all
	stop_daemon KILL || true
	[ -z "$MOUNTED" ] || wait_for umount "$MOUNTED"	# a file may still be on its way to being closed
}

# owner UID KIND COMMAND...: runs tests/e2e/logfd.py.
owner() {
	local b
	b=$(public_build)
	PATH="$b/tests:$PATH" exec python3 "$BATS_TEST_DIRNAME/logfd.py" "$@"
}

# user UID COMMAND...: without any privilege.
user() {
	local b
	b=$(public_build)
	PATH="$b/bin:$b/sbin:$b/tests:$PATH" LD_LIBRARY_PATH="$b/lib" \
		exec setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all --bounding-set=-all "${@:2}"
}

# order NAME WORD...: sends an order without waiting for it.
order() { printf '%s\n' "${*:2}" >&"${CLIENT_IN[$1]}"; }

threads() { local t=("/proc/$DAEMON_PID/task"/*); echo ${#t[@]}; }
# rests_with THREADS FDS: the daemon has so many of each, and no more.
rests_with() { [ "$(threads)" -eq "$1" ] && [ "$(daemon_fds)" -eq "$2" ]; }

# die NAME: it is killed.
die() {
	kill -KILL "${CLIENT[$1]}"
	wait_for process_gone "${CLIENT[$1]}"
	unset "CLIENT[$1]" "CLIENT_JOB[$1]"
}

# writer: sets $WRITER to the daemon's thread that has user nobody's ids for files.
writer() {
	local task
	for task in "/proc/$DAEMON_PID/task"/*; do
		grep -q "^Uid:.*	$NOBODY$" "$task/status" && WRITER=${task##*/}
	done
	[ -n "${WRITER:-}" ]
}

in_file() { text "$1" && [ "$(grep -c '^userdata' text)" -eq "$2" ]; }
text() { pmcstat -q -R "$1" >text; }

# --- shares of the buffers ----------------------------------------------------------------------

@test "a pipe without a reader takes its user's share of the log buffers, and no more" {
	start_daemon -o kern.hwpmc.nbuffers=16 -o kern.hwpmc.logbuffersize=4
	client evil owner $NOBODY pipe
	expect evil 'log 0' logfd 9
	expect evil 'writelog ENOMEM -- *user.share=25 percent of kern.hwpmc.nbuffers=16*' writelog 1 8000
	client again owner $NOBODY pipe
	expect again "log ENOMEM -- uid $NOBODY has 4 of pmcbpfd's 16 log buffers*user.share*" logfd 9
	# Another user has an equal share, and root the rest: no record is missing.
	client other owner $OTHER pipe
	expect other 'log 0' logfd 9
	expect other 'writelog 0' writelog 1 600
	client root owner 0 pipe
	expect root 'log 0' logfd 9
	expect root 'writelog 0' writelog 1 1200
}

@test "the same with the default number of buffers for each CPU" {
	local all=$((32 * $(getconf _NPROCESSORS_ONLN)))
	start_daemon
	client evil owner $NOBODY pipe
	expect evil 'log 0' logfd 9
	# Of 24 bytes.
	expect evil "writelog ENOMEM -- *user.share=25 percent of kern.hwpmc.nbuffers=$all*" writelog 1 $((all * 262144 / 24 / 3))
	client again owner $NOBODY pipe
	expect again "log ENOMEM -- uid $NOBODY has $((all / 4)) of pmcbpfd's $all log buffers*user.share*" logfd 9
	client other owner $OTHER pipe
	expect other 'log 0' logfd 9
	expect other 'writelog 0' writelog 1 20000
}

@test "logs to a terminal without a reader, and their owners are gone: all resources come back" {
	start_daemon -o kern.hwpmc.nbuffers=16 -o kern.hwpmc.logbuffersize=4
	wait_for daemon_rests
	threads=$(threads) fds=$(daemon_fds)
	for i in 1 2 3; do
		client "evil$i" owner $NOBODY pty
		expect "evil$i" 'log 0' logfd 9
	done
	expect evil1 'writelog ENOMEM*' writelog 1 8000
	part evil1
	die evil2
	die evil3
	wait_for rests_with "$threads" "$fds"
	grep -q "without an owner abandoned" "$DAEMON_LOG"
	# Its buffers, too.
	client again owner $NOBODY pipe
	expect again 'log 0' logfd 9
	expect again 'writelog 0' writelog 1 600
}

@test "FLUSHLOG, and the end of a log without a reader, make no other client wait" {
	start_daemon
	client evil owner $NOBODY pty
	client other user $OTHER
	: >log && chown $OTHER log
	expect evil 'log 0' logfd 9
	order evil flushlog
	expect other 'log 0' logto write log
	expect other 'writelog 0' writelog 1 10
	expect other 'flushlog 0' flushlog
	die evil
	client again owner $NOBODY pty
	expect again 'log 0' logfd 9
	order again logfd -1
	expect other 'log 0' logfd -1
	in_file log 10
	die again
	stop_daemon
}

@test "a log's socket with SO_LINGER blocks no client, nor the daemon's end" {
	start_daemon
	wait_for daemon_rests
	threads=$(threads) fds=$(daemon_fds)
	client evil owner $NOBODY linger
	expect evil 'log 0' logfd 9
	expect evil 'dropfd 0' dropfd 9
	client other user $OTHER
	expect evil 'closelog 0' closelog
	expect evil 'flushlog 0' flushlog
	expect other 'stats 0 *' stats
	die evil
	expect other 'stats 0 *' stats
	part other
	wait_for rests_with "$threads" "$fds"
	client evil owner $NOBODY linger
	expect evil 'log 0' logfd 9
	expect evil 'dropfd 0' dropfd 9
	kill -TERM "$DAEMON_PID"
	wait_for process_gone "$DAEMON_PID"
	DAEMON_PID=
	die evil
}

# --- the writer's ids ---------------------------------------------------------------------------

@test "a log's writer has its owner's ids for files, no capability, and is out of its owner's reach" {
	start_daemon
	client evil owner $NOBODY pipe
	expect evil 'log 0' logfd 9
	wait_for writer
	caps() { ! grep '^Cap\(Inh\|Prm\|Eff\|Amb\):' "/proc/$DAEMON_PID/task/$WRITER/status" | grep -qv '0000000000000000$'; }
	wait_for caps
	grep -q "^Uid:	0	0	0	$NOBODY$" "/proc/$DAEMON_PID/task/$WRITER/status"
	grep -q "^Gid:	0	0	0	$NOBODY$" "/proc/$DAEMON_PID/task/$WRITER/status"
	grep -q "^Groups:	 *$" "/proc/$DAEMON_PID/task/$WRITER/status"
	# kill(2) also takes a thread's id, and signals the whole process.
	run ! user $NOBODY bash -c "kill -0 $WRITER"
	run ! user $NOBODY bash -c "kill -KILL $WRITER"
	run ! user $NOBODY renice -n 19 -p "$WRITER"
	run ! user $NOBODY taskset -p 1 "$WRITER"
	run ! user $NOBODY chrt -i -p 0 "$WRITER"
	run ! user $NOBODY bash -c "echo 1000 >/proc/$DAEMON_PID/task/$WRITER/oom_score_adj"
	run ! user $NOBODY ls "/proc/$DAEMON_PID/task/$WRITER/fd"
	daemon_answers
	[ "$(cat "/proc/$DAEMON_PID/oom_score_adj")" -eq "$(cat /proc/self/oom_score_adj)" ]
}

@test "writing a log clears a file's set-id bits, as its owner's write does" {
	start_daemon
	client evil user $NOBODY
	: >program && chown $NOBODY:$NOBODY program && chmod 6775 program
	expect evil 'log 0' logto append program
	expect evil 'flushlog 0' flushlog
	[ "$(stat -c '%s %a' program)" = "112 775" ]
}

@test "RLIMIT_FSIZE limits the log: it is written up to the limit, then EFBIG" {
	start_daemon
	client evil prlimit --fsize=1000 setpriv --reuid $NOBODY --regid $NOBODY --clear-groups
	for how in write append; do
		rm -f log && : >log && chown $NOBODY log
		expect evil 'log 0' logto $how log
		expect evil 'writelog 0' writelog 1 37		# 112 + 37 * 24 is the limit
		expect evil 'flushlog 0' flushlog
		expect evil 'writelog 0' writelog 1 1
		expect evil 'flushlog EFBIG -- writing the log failed: File too large*' flushlog
		[ "$(stat -c %s log)" -eq 1000 ]
		expect evil 'log 0' logfd -1
	done
	# One write that the limit cuts, after a part that the owner has skipped.
	rm -f log && : >log && chown $NOBODY log
	exec {fd}>log
	python3 -c 'import os, sys; os.lseek(int(sys.argv[1]), 300, 0)' "$fd"
	client second prlimit --fsize=1000 setpriv --reuid $NOBODY --regid $NOBODY --clear-groups
	expect second 'log 0' logfd "$fd"
	expect second 'writelog 0' writelog 1 100
	expect second 'flushlog EFBIG*' flushlog
	[ "$(stat -c %s log)" -eq 1000 ]
	exec {fd}>&-
}

@test "a log does not use the blocks that a file system reserves for root" {
	command -v mke2fs >/dev/null || skip "no mke2fs"
	start_daemon
	truncate -s 4M disk
	mke2fs -q -F -O ^inline_data,^has_journal -m 50 disk
	mkdir small
	mount -o loop disk small || skip "no loop devices"
	MOUNTED=small
	chmod 777 small
	client evil user $NOBODY
	: >small/log && chown $NOBODY small/log
	run user $NOBODY dd if=/dev/zero of=small/all bs=1024 2>&1
	[[ "$output" == *"No space left"* ]]
	free=$(stat -f -c %f small)
	[ "$free" -gt 0 ]
	expect evil 'log 0' logto write small/log
	expect evil 'flushlog ENOSPC*' flushlog
	[ "$(stat -f -c %f small)" -eq "$free" ]
	# Root's own log may use them.
	client root
	expect root 'log 0' logto write small/roots
	expect root 'flushlog 0' flushlog
	[ "$(stat -f -c %f small)" -lt "$free" ]
	part_all
	stop_daemon
}

@test "the reader of a log's socket sees the ids of the log's owner" {
	start_daemon
	client evil owner $NOBODY unix
	expect evil 'log 0' logfd 9
	expect evil 'flushlog 0' flushlog
	wait_for test -e seen
	[ "$(cat seen)" = "$DAEMON_PID $NOBODY $NOBODY" ]
}

@test "a log of an owner in a user namespace is written with its ids on the host" {
	unshare --user true || skip "no user namespaces"
	start_daemon
	client inner setpriv --reuid $NOBODY --regid $NOBODY --clear-groups unshare --user --map-root-user
	: >program && chown $NOBODY:$NOBODY program && chmod 4755 program
	expect inner 'log 0' logto append program
	expect inner 'flushlog 0' flushlog
	[ "$(stat -c '%s %a' program)" = "112 755" ]
	wait_for writer
}

# --- files and sockets --------------------------------------------------------------------------

@test "a file system that may be remote is refused, and the remedy works" {
	start_daemon
	mkdir lower upper work over
	mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay over || skip "no overlay"
	MOUNTED=over
	client own
	expect own 'log EXDEV -- *file system of type 0x794c7630*pmcstat -O - ... | cat >log' logto write over/log
	expect own 'flushlog EINVAL*' flushlog
	run --separate-stderr pmcstat -q -d -W -p page_fault.all -O over/log true
	refute [ "$status" -eq 0 ]
	[[ "$stderr" == *"pmcstat -O - ... | cat >log"* ]]
	pmcstat -q -d -W -p page_fault.all -O - true | cat >over/log
	text over/log
	grep -q '^cswval' text
	[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
	part own
	stop_daemon
}

@test "sockets other than connections of TCP and AF_UNIX are refused" {
	start_daemon
	for kind in netlink packet datagram; do
		client $kind owner $NOBODY $kind
		expect $kind 'log EBADF -- *connected socket of TCP or AF_UNIX, not to one of family*' logfd 9
		part $kind
	done
}
