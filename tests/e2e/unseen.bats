#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Context switches that the kernel does not report.  `unseen` is a process that makes the case.  PAGE_FAULT.ALL
# (0x20004) is counted in slices where only user code's is wanted (caps 0x22), and with a log; PAGE_FAULT.WRITE
# (0x20006) always is.
# shellcheck disable=SC2154 # helpers set reply and count

load helpers

LOST='lost a time slice: this kernel has not reported a context switch of one of the processes*'

setup() {
	in_tmpdir_with_daemon
	mkfifo orders answers
	unseen "$DAEMON_PID" <orders >answers 3>&- &
	TARGET=$!
	exec {ORDERS}>orders {ANSWERS}<answers
	answered ready
}

teardown() {
	rest_all
	exec {ORDERS}>&- {ANSWERS}<&-
	kill -KILL "$TARGET"
	wait "$TARGET" || true
	part_all
	stop_daemon KILL || true
}

answered() {
	local line

	read -r -t "$PATIENCE" -u "$ANSWERS" line && [ "$line" = "$1" ]
}

# unseen_does ORDER...
unseen_does() {
	echo "$*" >&"$ORDERS"
	answered "done"
}

# unless_kernel_hid ANSWER: skips the test if the kernel has hidden a switch, too, while the daemon watched.
unless_kernel_hid() {
	local line

	echo kernel >&"$ORDERS"
	read -r -t "$PATIENCE" -u "$ANSWERS" line && answered "done"
	echo "$line"
	[ "$line" = "kernel 0" ] || unless_hidden "$1"
}

@test "a process that left or came unseen: EBUSY with the reason, until the PMC is written" {
	client a
	ask a caps 0x22
	for order in away home; do
		expect a 'start 0' alloc 3 15 0x20004 any 0 attach "$TARGET" start
		unseen_does "$order" write 10 sleep
		expect a "read EBUSY -- row 0 (SOFT0) $LOST" read
		# It stays so, running or not, for all requests.
		unseen_does sleep
		expect a "read EBUSY -- row 0 (SOFT0) $LOST" read
		expect a 'stop 0' stop
		expect a "read EBUSY -- row 0 (SOFT0) $LOST" read
		# The old value and a new one: neither.
		expect a "rw EBUSY -- row 0 (SOFT0) $LOST" rw 0x30 7
		expect a "read EBUSY -- row 0 (SOFT0) $LOST" read
		expect a 'setcount 0' setcount 7
		expect a 'read 0 7' read
		expect a 'release 0' release
		# The next PMC in its place has lost nothing.
		expect a 'read 0 0' alloc 3 15 0x20004 any 0 read
		expect a 'release 0' release
	done
}

@test "a hidden switch that only the reader finds: the process keeps running while its count is read" {
	client a
	ask a caps 0x22
	for order in away home; do
		expect a 'start 0' alloc 3 15 0x20004 any 0 attach "$TARGET" start
		# It burns CPU time until the next order.
		echo "$order write 10 spin" >&"$ORDERS"
		answered spinning
		expect a "read EBUSY -- row 0 (SOFT0) $LOST" read
		echo >&"$ORDERS"
		answered "done"
		expect a 'release 0' release
	done
}

@test "only the counts of that process's PMCs are lost" {
	workload other pages=100
	client a
	client b
	expect b 'start 0' caps 0x22 alloc 3 15 0x20004 any 0 attach "$TARGET" start
	expect a 'alloc 0 *' caps 0x22 alloc 3 15 0x20004 any 0
	other=${reply#alloc 0 }
	expect a 'start 0' attach "${WORKLOAD[other]}" start
	expect a 'start 0' caps 0x26 alloc 3 15 0x20004 any 0 attach "$TARGET" start
	unseen_does away write 10 sleep
	expect b "read EBUSY -- row 0 (SOFT0) $LOST" read
	# Counts that the kernel keeps by process need no slices.
	expect a 'read 0 *' read
	expect a 'read 0 0' id "$other" read
	rest other
}

@test "page faults are counted for the process that has them, whether or not its switch was seen" {
	client a
	expect a 'start 0' alloc 3 15 0x20006 any 0 attach "$TARGET" start
	unseen_does sleep
	count_of a
	before=$count
	for order in home away; do
		unseen_does "$order" write 500
		count_of a
		echo "$order: $((count - before)) faults"
		((500 <= count - before && count - before <= 510))
		before=$count
	done
}

@test "a source that has not advanced has lost nothing: no loss is reported" {
	client a
	expect a 'start 0' caps 0x22 alloc 3 15 0x20004 any 0 attach "$TARGET" start
	unseen_does write 10 sleep
	count_of a
	before=$count
	for order in away home; do
		unseen_does "$order" sleep
		ask a read
		echo "$order: $reply"
		[ "$reply" = "read 0 $before" ] || unless_kernel_hid "$reply"
		[ "$reply" = "read 0 $before" ]
	done
}

@test "a log records the number of missing slices" {
	client a
	touch log
	expect a 'start 0' log "$PWD/log" alloc 3 15 0x20004 any 12 attach "$TARGET" start
	unseen_does write 100 sleep
	unseen_does away write 10 sleep
	unseen_does home write 10 sleep
	expect a "read EBUSY -- row 0 (SOFT0) $LOST" read
	expect a 'endlog 0' stop endlog
	pmcstat -R log >text
	lost=$(awk '$1 == "drop" { n += $2 } END { print n + 0 }' text)
	echo "$lost slices lost"
	[ "$lost" -ge 2 ]
}

@test "a reader with mapped counts notices: pmcstat's line names the PMC and the reason" {
	timeout "$PATIENCE" pmcstat -w 0.05 -t "$TARGET" -p PAGE_FAULT.ALL,usr -o rows 2>said 3>&- &
	local reader=$! status=0

	wait_for rows_came
	unseen_does away write 10 sleep
	wait $reader || status=$?
	cat said
	[ "$status" -eq 71 ]
	# shellcheck disable=SC2053 # a pattern
	[[ "$(cat said)" == 'pmcstat: ERROR: Cannot read pmc "PAGE_FAULT.ALL": row 0 (SOFT0) '$LOST ]]
}
rows_came() { [ "$(wc -l <rows)" -ge 3 ]; }

@test "the doctor reports a kernel that hides switches" {
	client a
	expect a 'start 0' alloc 3 15 0x20006 any 0 attach "$TARGET" start
	unseen_does away sleep
	run pmccontrol --doctor
	echo "$output" | grep '^limits  context switches: this kernel does not report those of certain tasks: it has hidden [1-9][0-9]* since'
}
