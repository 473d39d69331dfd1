#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# CONFIGURELOG, FLUSHLOG, CLOSELOG and WRITELOG: their checks in order, what is in the log and where,
# and readers and disks that do not take it.

load helpers

CLOCK=0x20000 FAULTS=0x20004 SWITCHES=0x2000b
TREE=2 PROCCSW=4 PROCEXIT=8
SAMPLES=0x21			# the capabilities of a sampling PMC

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	MOUNTED=
	start_daemon
	client owner
}

teardown() {
	part_all
	rest_all
	stop_daemon KILL || true
	[ ${#HOLDER[@]} -eq 0 ] || kill "${HOLDER[@]}"
	[ -z "$MOUNTED" ] || wait_for umount "$MOUNTED"	# a file may still be on its way to being closed
	[ -z "${group:-}" ] || rmdir "$group" 2>/dev/null || true
}

# text FILE: the log's lines, in ./text, to the end of what is there.
text() { pmcstat -q -R "$1" >text; }

# tags FILE: the tags of its lines in order, without addresses.
tags() { text "$1" && awk '{ print $1 }' text | tr '\n' ' '; }

# says FILE TAG...: the file has exactly these lines.
says() {
	local got
	got=$(tags "$1")
	[ "$got" = "${*:2} " ] || { printf 'got:    %s\nwanted: %s\n' "$got" "${*:2}" >&2; return 1; }
}

size_is() { [ "$(stat -c %s "$1")" -eq "$2" ]; }
grows() { [ "$(stat -c %s "$1")" -gt "${2:-0}" ]; }

# order NAME WORD...: sends an order without waiting for it.
order() { printf '%s\n' "${*:2}" >&"${CLIENT_IN[$1]}"; }

# hold PIPE: a process keeps it open and never reads; let_go PIPE ends that.
declare -gA HOLDER
hold() {
	[ -p "$1" ] || mkfifo "$1"
	sleep 600 0<>"$1" 3>&- &
	HOLDER[$1]=$!
}
let_go() {
	kill "${HOLDER[$1]}"
	wait "${HOLDER[$1]}" || true
	unset "HOLDER[$1]"
}

# reader PIPE: a process that reads all of it into ./text; READER is its pid.
reader() {
	pmcstat -q -R "$1" >text 3>&- &
	READER=$!
}

closed() { text "$1" && [ "$(tail -n 1 text | tr -d ' ')" = closelog ]; }

# --- the checks ---------------------------------------------------------------------------------

@test "REQ-147, REQ-148, REQ-168: without a log, ending, flushing, closing and writing fail" {
	expect owner 'log EINVAL -- this process has no log*' logfd -1
	expect owner 'log EINVAL*' logfd -5
	expect owner 'flushlog EINVAL -- this process has no log*' flushlog
	expect owner 'closelog EINVAL*' closelog
	expect owner 'writelog EINVAL*' writelog 1 1
	# The same for an owner of a PMC, and for one whose log has ended.
	ask owner alloc 3 15 $FAULTS any 0
	expect owner 'flushlog EINVAL*' flushlog
	expect owner 'log 0' logto write log
	expect owner 'log 0' logfd -1
	expect owner 'log EINVAL*' logfd -1
	expect owner 'flushlog EINVAL*' flushlog
	expect owner 'closelog EINVAL*' closelog
	expect owner 'writelog EINVAL*' writelog 1 1
}

# not_open FILE - the daemon has no descriptor of it
not_open() {
	local fd

	for fd in "/proc/$DAEMON_PID/fd"/*; do
		[ "$(readlink "$fd")" != "$1" ] || return
	done
}

@test "C-8: a log goes to a descriptor open for writing: EBADF for any other" {
	: >file
	mkdir dir
	expect owner 'log EBADF -- the log*is not open*' logfd 999
	expect owner 'log EBADF -- *not open for writing' logto read file
	expect owner 'log EBADF -- *not open for writing' logto path file
	expect owner 'log EBADF -- *not open for writing' logto read dir
	expect owner 'log EBADF -- *file of the kernel' logto write /proc/self/coredump_filter
	expect owner 'log EBADF -- *file of the kernel' logto write /sys/kernel/profiling
	expect owner 'log EBADF -- *to a device*' logto write /dev/zero
	expect owner 'log EBADF -- *to a device*' logto both /dev/zero
	# None of the failures has side effects: the next log works.
	expect owner 'log 0' logto both file
	expect owner 'log 0' logfd -1
	expect owner 'log 0' logto write /dev/null
	expect owner 'log 0' logfd -1
	for i in 1 2 3; do expect owner 'log EBADF*' logto read file; done
	# The daemon disposes of a descriptor after its reply, and of a log's after the log is reported as written.
	wait_for not_open "$PWD/file"
}

@test "REQ-135: one log at a time; a second is EBUSY, whatever its descriptor" {
	: >file
	expect owner 'log 0' logto write log
	expect owner 'log EBUSY -- this process has a log already*' logto write log
	expect owner 'log EBUSY*' logto read file
	expect owner 'log EBUSY*' logfd 999
	# Another process is another owner.
	client other
	expect other 'log 0' logto write other
	expect owner 'log 0' logfd -5			# any negative number ends it
	expect owner 'log 0' logto write log2
	expect other 'log 0' logfd -1
	text log
	text other
}

@test "REQ-061, REQ-062, REQ-141, REQ-142: START without the log that the PMC needs is EDOOFUS" {
	local rows=(
		"caps 0x20 alloc 3 15 $FAULTS any $PROCCSW"
		"caps 0x20 alloc 3 15 $SWITCHES any $PROCEXIT"
		"caps 0x20 alloc 3 15 0x20006 any $((PROCCSW | PROCEXIT | TREE))"
		"caps $SAMPLES alloc 0 15 $CLOCK 0 0 setcount 1"
	)
	workload target
	for row in "${rows[@]}"; do
		ask owner "$row"
		expect owner 'start EBADRQC -- *none is configured' start
		expect owner 'log 0' logto write log
		expect owner 'start 0' start
		# C-17: it does not keep running without a log; START fails again.
		expect owner 'log 0' logfd -1
		expect owner 'start EBADRQC*' start
		expect owner 'stop 0' stop
		ask owner release
	done
	# Sampling others needs a log, sampling oneself does not.
	ask owner caps $SAMPLES alloc 2 15 $CLOCK any 0 setcount 1 attach "${WORKLOAD[target]}"
	expect owner 'start EBADRQC*' start
	ask owner release
	ask owner alloc 2 15 $CLOCK any 0 setcount 1
	expect owner 'start 0' start
}

@test "C-17: only PMCs that need a log stop with it" {
	expect owner 'log 0' logto write log
	ask owner caps 0x20 alloc 3 15 $FAULTS any $PROCEXIT
	expect owner 'start 0' start
	needy=${answer##*$'\n'}
	ask owner alloc 3 15 $SWITCHES any 0
	expect owner 'start 0' start
	expect owner 'log 0' logfd -1
	expect owner 'rw EBUSY*' rw 0x10 7			# the second still runs
	ask owner info 0 0
	expect owner 'rw 0 0' id 0xfff30f00 rw 0x10 7	# the first does not
}

# --- the contents, and when they are written ----------------------------------------------------

@test "C-15, REQ-077, REQ-098: INITIALIZE first, user records in order, CLOSELOG last and once" {
	expect owner 'log 0' logto write log
	expect owner 'writelog 0' writelog 1 3
	expect owner 'writelog 0' writelog 0xffffffff 1
	expect owner 'log 0' logfd -1
	says log initlog userdata userdata userdata userdata closelog
	[ "$(grep -o 'userdata .*' text | tr -s ' ' | tr '\n' ' ')" = \
		"userdata 0x1 userdata 0x2 userdata 0x3 userdata 0xffffffff " ]
	# The same after CLOSELOG, which the end does not repeat.
	expect owner 'log 0' logto write log2
	expect owner 'writelog 0' writelog 1 1
	expect owner 'closelog 0' closelog
	expect owner 'log 0' logfd -1
	says log2 initlog userdata closelog
}

@test "REQ-078, REQ-081, REQ-082: before a flush the file is empty, after it complete" {
	expect owner 'log 0' logto write log
	expect owner 'writelog 0' writelog 1 2
	size_is log 0
	expect owner 'flushlog 0' flushlog
	size_is log $((112 + 2 * 24))
	# A flush without data is no error.
	expect owner 'flushlog 0' flushlog
	# A full buffer is written without a flush.
	expect owner 'writelog 0' writelog 1 11000
	wait_for grows log 4096
	expect owner 'flushlog 0' flushlog
	size_is log $((112 + 11002 * 24))
	text log
	[ "$(grep -c '^userdata' text)" -eq 11002 ]
}

@test "REQ-082: a flush waits for the reader, and only its owner waits" {
	hold pipe
	client other
	expect owner 'log 0' logto write pipe
	expect other 'log 0' logto write log
	# More than a pipe holds, less than all buffers.
	expect owner 'writelog 0' writelog 1 4000
	order owner flushlog
	expect other 'writelog 0' writelog 1 10
	expect other 'flushlog 0' flushlog
	refute read -r -t 0.3 -u "${CLIENT_OUT[owner]}"
	expect other 'log 0' logfd -1
	says log initlog "$(yes userdata | head -n 10 | tr '\n' ' ' | sed 's/ $//')" closelog
	reader pipe
	ask owner stats
	grep -q '^flushlog 0' <<<"$answer" || read -r -t $PATIENCE -u "${CLIENT_OUT[owner]}" answer
	part owner
	let_go pipe
	wait "$READER"
	[ "$(grep -c '^userdata' text)" -eq 4000 ]
}

@test "the file's offset is shared, and O_APPEND is obeyed" {
	printf 'head' >log
	exec {fd}>>log
	client writer env LOGFD="$fd"
	expect writer 'log 0' logfd "$fd"
	expect writer 'writelog 0' writelog 1 1
	expect writer 'flushlog 0' flushlog
	size_is log $((4 + 112 + 24))
	printf 'more' >&"$fd"
	expect writer 'writelog 0' writelog 2 1
	expect writer 'log 0' logfd -1
	size_is log $((4 + 112 + 24 + 4 + 24 + 16))
	[ "$(tail -c +141 log | head -c 4)" = more ]
	# Without O_APPEND the offset of the open file description moves.
	exec {at}<>log2
	client second
	printf 'ab' >&"$at"
	expect second 'log 0' logfd "$at"
	expect second 'log 0' logfd -1
	printf 'cd' >&"$at"
	size_is log2 $((2 + 112 + 16 + 2))
	[ "$(tail -c 2 log2)" = cd ]
}

@test "the log outlives the client's descriptor, and ends with its owner: exit, and SIGKILL" {
	for way in bye kill; do
		client "$way"
		expect "$way" 'log 0' logto write "log.$way"
		ask "$way" caps 0x20 alloc 3 15 $FAULTS any $PROCCSW
		expect "$way" 'start 0' start
		expect "$way" 'writelog 0' writelog 1 10
		size_is "log.$way" 0
		if [ $way = bye ]; then
			part $way
		else
			kill -KILL "${CLIENT[$way]}"
			wait_for process_gone "${CLIENT[$way]}"
		fi
		wait_for grows "log.$way"
		wait_for closed "log.$way"
		[ "$(head -n 1 text | cut -c 1-7)" = initlog ]
		[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
		[ "$(grep -c '^userdata' text)" -eq 10 ]
		# Its slices, including the last one, in which START's reply was sent.
		[ "$(grep -c '^cswval' text)" -ge 1 ]
	done
}

@test "the daemon writes buffered records when it ends" {
	expect owner 'log 0' logto write log
	expect owner 'writelog 0' writelog 1 100
	size_is log 0
	stop_daemon TERM
	text log
	[ "$(grep -c '^userdata' text)" -eq 100 ]
	[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
}

# --- CLOSELOG -----------------------------------------------------------------------------------

@test "CLOSELOG: the reader sees the end, later records are dropped, the log still exists" {
	mkfifo pipe
	reader pipe
	expect owner 'log 0' logto write pipe
	ask owner caps 0x20 alloc 3 15 $FAULTS any $PROCEXIT
	expect owner 'start 0' start
	expect owner 'writelog 0' writelog 1 5
	expect owner 'closelog 0' closelog
	wait "$READER"
	[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
	[ "$(grep -c '^userdata' text)" -eq 5 ]
	expect owner 'writelog ENOMEM -- *being closed*' writelog 6 1
	expect owner 'flushlog 0' flushlog
	expect owner 'log EBUSY*' logto write log
	expect owner 'closelog 0' closelog
	expect owner 'rw EBUSY*' rw 0x10 1			# the PMC runs
	expect owner 'log 0' logfd -1
	expect owner 'log 0' logto write log
	expect owner 'log 0' logfd -1
}

# --- several logs of one owner ------------------------------------------------------------------

@test "a log begins with the earlier allocations and attachments, in order" {
	workload target
	ask owner caps 0x20 alloc 3 15 $FAULTS any $TREE
	ask owner attach "${WORKLOAD[target]}"
	ask owner alloc 3 15 $SWITCHES any $PROCEXIT
	expect owner 'log 0' logto write log
	expect owner 'writelog 0' writelog 1 1
	expect owner 'log 0' logfd -1
	says log initlog allocatedyn allocatedyn attach userdata closelog
	grep -q '^allocatedyn 0xfff30f00 "PAGE_FAULT.ALL" ' text
	grep -q '^allocatedyn 0xfff30f01 "CONTEXT_SWITCHES" ' text
	grep -q "^attach    0xfff30f00 ${WORKLOAD[target]} \".*/load\"$" text
	# Each log is complete in itself, and events while it is open follow.
	expect owner 'log 0' logto write log2
	ask owner attach "${WORKLOAD[target]}"
	ask owner id 0xfff30f00 detach "${WORKLOAD[target]}"
	expect owner 'log 0' logfd -1
	says log2 initlog allocatedyn allocatedyn attach attach detach closelog
	grep -q "^detach    0xfff30f00 ${WORKLOAD[target]}$" text
}

@test "two logs in one file, one after the other, are read as two" {
	: >log
	for i in 1 2; do
		expect owner 'log 0' logto append log
		expect owner 'writelog 0' writelog $i 1
		expect owner 'log 0' logfd -1
	done
	says log initlog userdata closelog initlog userdata closelog
}

@test "kern.hwpmc.logversion=3: a log for FreeBSD 6 to 11, from the next log on" {
	expect owner 'log 0' logto write new
	pmccontrol --tunable kern.hwpmc.logversion=3
	expect owner 'writelog 0' writelog 1 1
	expect owner 'log 0' logfd -1
	size_is new $((112 + 24 + 16))
	ask owner caps 0x20 alloc 3 15 $FAULTS any 0
	expect owner 'log 0' logto write old
	expect owner 'writelog 0' writelog 1 1
	expect owner 'log 0' logfd -1
	size_is old $((20 + 88 + 16 + 12))
	[ "$(od -A n -t x1 -N 4 old | tr -d ' ')" = 140002ee ]
	says old initlog allocatedyn userdata closelog
	grep -q '^initlog   0x3010000 ' text
}

@test "a log has the same CPU type as GETCPUINFO" {
	type=$(pmccontrol -l | sed -n 's/^[0-9]* \([^ ]*\) CPUs present.*/\1/p')
	expect owner 'log 0' logto write new
	expect owner 'log 0' logfd -1
	says new initlog closelog
	grep -q "^initlog .*\"$type\"" text || { echo "not $type: $(head -1 text)"; false; }
}

# --- errors -------------------------------------------------------------------------------------

@test "REQ-079, REQ-080, REQ-083: a full disk ends the logging; every flush returns the error" {
	mkdir small
	mount -t tmpfs -o size=64k tmpfs small
	MOUNTED=small
	ask owner caps 0x20 alloc 3 15 $FAULTS any $PROCEXIT
	expect owner 'log 0' logto write small/log
	expect owner 'start 0' start
	ask owner writelog 1 4000
	expect owner 'flushlog ENOSPC -- writing the log failed: No space left*' flushlog
	expect owner 'flushlog ENOSPC*' flushlog
	expect owner 'writelog ENOMEM*' writelog 1 1
	expect owner 'log EBUSY*' logto write log
	expect owner 'rw EBUSY*' rw 0x10 1			# PMCs continue to run
	wait_for grep -q "the log of process ${CLIENT[owner]} (wireclient) has failed: No space" "$DAEMON_LOG"
	# The file is a valid log, cut short.
	run --separate-stderr pmcstat -R small/log
	[ "$(grep -c '^userdata' <<<"$output")" -gt 2000 ]
	# De-configuration clears the error.
	rm small/log
	expect owner 'log 0' logfd -1
	expect owner 'flushlog EINVAL*' flushlog
	wait_for not_open "$PWD/small/log (deleted)"	# only then there is room again
	expect owner 'log 0' logto write small/log
	expect owner 'flushlog 0' flushlog
	expect owner 'log 0' logfd -1
}

@test "a log to /dev/full is a full disk: ENOSPC when it is written" {
	expect owner 'log 0' logto write /dev/full
	ask owner writelog 1 1
	expect owner 'flushlog ENOSPC -- writing the log failed: No space left*' flushlog
	expect owner 'log 0' logfd -1
	run pmcstat -q -n 1 -P PAGE_FAULT.ALL -O /dev/full load pages=10
	[ "$status" -ne 0 ]
	[[ $output == *'No space left on device'* ]]
}

@test "REQ-080: if the reader leaves, every flush returns EPIPE, and no process dies of SIGPIPE" {
	hold pipe
	expect owner 'log 0' logto write pipe
	let_go pipe
	ask owner writelog 1 1
	expect owner 'flushlog EPIPE -- *Broken pipe*' flushlog
	expect owner 'flushlog EPIPE*' flushlog
	expect owner 'closelog 0' closelog
	expect owner 'log 0' logfd -1
	expect owner 'log 0' logto write log
	expect owner 'log 0' logfd -1
	daemon_answers
}

# --- buffers ------------------------------------------------------------------------------------

@test "C-16: while all buffers are in use, records are lost, counted, and marked in the log" {
	stop_daemon
	start_daemon -o kern.hwpmc.nbuffers=8 -o kern.hwpmc.logbuffersize=4
	client own
	hold pipe
	# It is full, so that the pool's buffers fill up however fast they are written; further records are lost.
	room=$(python3 -c 'import fcntl
p = open("pipe", "r+b", 0)
print(p.write(bytes(fcntl.fcntl(p, 1031, 4096))))')
	expect own 'log 0' logto write pipe
	expect own 'writelog ENOMEM -- *kern.hwpmc.nbuffers=8*' writelog 1 8000
	expect own 'writelog ENOMEM*' writelog 1 1
	expect own 'figures 0 *' figures
	[[ $reply =~ requests=([0-9]+)\ failed=([0-9]+) ]]
	echo "$reply"
	[ "${BASH_REMATCH[1]}" -ge 8 ]
	[ "${BASH_REMATCH[2]}" -ge 2 ]
	head -c "$room" pipe >/dev/null
	reader pipe
	wait_for grep -q userdata text			# visible while the log continues
	expect own 'flushlog 0' flushlog
	expect own 'writelog 0' writelog 0xabcdef 1
	expect own 'log 0' logfd -1
	let_go pipe
	wait "$READER"
	[ "$(grep -c '^drop' text)" -eq 1 ]
	[ "$(grep -A 1 '^drop' text | tail -n 1)" = "userdata  0xabcdef" ]
	[ "$(awk '$1 == "drop" { print $2 }' text)" -eq 2 ]	# one for each failed request
	# In order, with no gap but that one.
	awk '$1 == "userdata" && $2 != "0xabcdef" { if ($2 != sprintf("0x%x", ++n)) exit 1 }' text
}

@test "log buffers take memory when they are used, and return it" {
	stop_daemon
	start_daemon -o kern.hwpmc.nbuffers=1000000		# a quarter of a terabyte
	resident() { awk '/^VmRSS/ { print $2 }' "/proc/$DAEMON_PID/status"; }
	hold pipe
	client own
	expect own 'log 0' logto write pipe
	expect own 'writelog 0' writelog 1 10
	before=$(resident)
	expect own 'writelog 0' writelog 1 350000		# of 24 bytes
	full=$(resident)
	[ $((full - before)) -ge 7000 ] && [ $((full - before)) -le 12000 ]
	kill -KILL "${CLIENT[own]}"
	unset "CLIENT[own]"
	given_back() { [ "$(resident)" -lt $((before + 1000)) ]; }
	wait_for given_back || { echo "$before kB, $full kB, $(resident) kB"; false; }
	let_go pipe
}

@test "a reader that sleeps, or has left, does not affect other logs" {
	hold pipe
	hold gone
	client sleeper && client left
	expect sleeper 'log 0' logto write pipe
	expect left 'log 0' logto write gone
	let_go gone
	ask sleeper writelog 1 4000
	ask left writelog 1 4000
	order sleeper logfd -1				# it waits for a long time
	expect owner 'log 0' logto write log
	for i in 1 2 3 4 5; do
		expect owner 'writelog 0' writelog $((i * 1000)) 1000
		expect owner 'flushlog 0' flushlog
	done
	expect owner 'log 0' logfd -1
	text log
	[ "$(grep -c '^userdata' text)" -eq 5000 ]
	[ "$(grep -c '^drop' text)" -eq 0 ]
	# A waiting client can be killed; its buffers are returned when its reader is gone.
	kill -KILL "${CLIENT[sleeper]}"
	wait_for process_gone "${CLIENT[sleeper]}"
	let_go pipe
	part left
	part owner
	unset "CLIENT[sleeper]"
	wait_for rows_free
}

@test "no buffer for the first record: ENOMEM, and no log" {
	stop_daemon
	start_daemon -o kern.hwpmc.nbuffers=2
	client a && client b && client own
	expect a 'log 0' logto write a
	expect b 'log 0' logto write b
	expect own "log ENOMEM -- 2 of pmcbpfd's 2 log buffers are in use; *kern.hwpmc.nbuffers*" logto write log
	expect own 'flushlog EINVAL*' flushlog
	expect a 'log 0' logfd -1
	expect own 'log 0' logto write log
	expect own 'log 0' logfd -1
	says log initlog closelog
}

# pids_group: a control group, of either version, that can limit threads, in $group and $top.
pids_group() {
	local dir
	for dir in /sys/fs/cgroup /sys/fs/cgroup/pids; do
		group=$dir/pmcbpf-test-$$ top=$dir
		mkdir "$group" 2>/dev/null || continue
		[ -w "$group/pids.max" ] && return 0
		rmdir "$group"
	done
	return 1
}

@test "REQ-134: if no thread for the writer can be made, EAGAIN and no log" {
	pids_group || skip "this machine's control groups cannot limit threads"
	echo "$DAEMON_PID" >"$group/cgroup.procs"
	cat "$group/pids.current" >"$group/pids.max"
	expect owner 'log EAGAIN -- cannot start a thread*' logto write log
	expect owner 'flushlog EINVAL*' flushlog
	echo max >"$group/pids.max"
	expect owner 'log 0' logto write log
	expect owner 'log 0' logfd -1
	echo "$DAEMON_PID" >"$top/cgroup.procs"
	rmdir "$group"
}
