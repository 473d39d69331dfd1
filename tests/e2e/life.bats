#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What happens to PMCs when processes exec and exit, and the signals that tell their owners.
# PAGE_FAULT.ALL (0x20004) is the kernel's own figure, PAGE_FAULT.WRITE (0x20006) a sliced counter.

load helpers

setup() {
	need_root
	tree=2			# PMC_F_DESCENDANTS
	# A second owner's PMC on the same process needs another row: this takes the first.
	other="alloc 3 15 0x2000b any 0"
	start_daemon
}

teardown() {
	rest_all
	kill "${CLIENT[@]}" 2>/dev/null || true
	[ -z "${TARGET:-}" ] || kill -KILL "$TARGET" 2>/dev/null || true
	stop_daemon KILL || true
}

# --- signals ------------------------------------------------------------------------------------

@test "C-14, REQ-064, §3.7: a target's exit is reported once for each PMC, and at each read after that" {
	sleep 60 3>&- &
	TARGET=$!
	client a
	ask a catch IO alloc 3 15 0x20004 any 0 attach $TARGET start read came IO
	[ "$reply" = "came IO 0" ]
	kill "$TARGET"
	expect a "await IO 1" await IO
	# The value can be read nevertheless.
	expect a "came IO 1" read came IO
	grep -q '^read 0 [0-9]' <<<"$answer"
	expect a "came IO 1" stop came IO rw 0x20 0 came IO
	part a
}

@test "REQ-064: no exit is reported for a process-scope PMC that never had a target, or for system scope" {
	client a
	expect a "came IO 1" catch IO alloc 3 15 0x20004 any 0 read came IO
	expect a "came IO 1" write 5 came IO
	expect a "came IO 0" start read came IO
	expect a "came IO 0" alloc 1 15 0x20004 0 0 start read came IO
	part a
}

@test "C-14, §3.7: SIGIO for detaching the last target, or releasing an attached PMC, precedes the reply" {
	sleep 60 3>&- &
	TARGET=$!
	client a
	expect a "came IO 0" catch IO alloc 3 15 0x20004 any 0 attach $TARGET attach 0 start detach 0 came IO
	expect a "came IO 1" detach $TARGET came IO
	expect a "came IO 0" release came IO
	expect a "came IO 1" alloc 3 15 0x20004 any 0 attach $TARGET release came IO
	part a
}

@test "C-14: the last of several targets, and of a tree" {
	bash -c 'sleep 61 & sleep 61 & wait' 3>&- &
	TARGET=$!
	two_asleep() { mapfile -t children < <(pgrep -P "$TARGET" -x sleep) && [ ${#children[@]} -eq 2 ]; }
	wait_for two_asleep
	client a
	ask a catch IO alloc 3 15 0x20004 any $tree attach $TARGET start
	kill -KILL "$TARGET"
	sleep 0.3
	expect a "came IO 0" came IO
	kill -KILL "${children[@]}"
	expect a "await IO 1" await IO
	part a
}

@test "C-14: two PMCs of two owners on one process: each owner receives the signal" {
	sleep 60 3>&- &
	TARGET=$!
	client a
	client b
	ask a catch IO alloc 3 15 0x20004 any 0 attach $TARGET start
	ask b $other catch IO alloc 3 15 0x20009 any 0 attach $TARGET
	kill "$TARGET"
	expect a "await IO 1" await IO
	expect b "await IO 1" await IO
	part_all
}

@test "REQ-064: an owner that blocks the signal gets it, one that ignores it or would die of it does not" {
	client a
	expect a "came IO 1" block IO alloc 3 15 0x20004 any 0 read came IO
	expect a "came IO 0" ignore IO read catch IO came IO
	# A thread that does not block it would take it, and end the process.
	expect a "read 0 *" forget IO expose IO read
	process_gone "${CLIENT[a]}" && return 1
	client b
	expect b "read 0 *" alloc 3 15 0x20004 any 0 read
	expect b "hello EPROTO*" hello
	part_all
}

@test "REQ-065: owners of PMCs receive a signal at the daemon's end, once the PMCs are gone" {
	client holder
	client blocker
	client guest
	client naive
	ask holder catch BUS alloc 3 15 0x20004 any 0 alloc 1 15 0x20004 0 0
	ask blocker block BUS alloc 3 15 0x20004 any 0 start
	ask guest catch BUS
	ask naive alloc 3 15 0x20004 any 0 start
	stop_daemon
	expect holder "await BUS 1" await BUS
	expect blocker "await BUS 1" await BUS
	sleep 0.2
	expect guest "came BUS 0" came BUS
	expect holder "came BUS 0" came BUS
	process_gone "${CLIENT[naive]}" && return 1
	part_all
}

# --- owners -------------------------------------------------------------------------------------

@test "C-12, §3.3: an owner that execs owns nothing, even with an inherited connection" {
	sleep 60 3>&- &
	TARGET=$!
	client a
	ask a alloc 3 15 0x20004 any 0 attach $TARGET start alloc 1 15 0x20004 0 0 start
	[[ "$(wireclient hello rows 0)" == *"SOFT0/"*"SOFT1/"* ]]
	expect a "inherited *" become
	# True already for the new program's first request.
	expect a "read closed" read
	rows_free
	# And it may start again.
	client b
	expect b "inherited *" become
	expect b "hello 0 *" connect hello
	expect b "read 0 0" alloc 3 15 0x20004 any 0 read
	part b
}

@test "C-12, §3.5: an owner that is killed while its PMCs count others" {
	sleep 60 3>&- &
	TARGET=$!
	client a
	ask a alloc 3 15 0x20004 any 0 attach $TARGET start alloc 3 15 0x20006 any $tree attach $TARGET start
	kill -KILL "${CLIENT[a]}"
	wait_for rows_free
	client b
	expect b "start 0" alloc 3 15 0x20004 any 0 attach $TARGET start
	ask b alloc 3 15 0x20006 any $tree attach $TARGET start
	part b
}

# --- targets ------------------------------------------------------------------------------------

@test "§3.3: counting continues over an exec" {
	waits_to_become -- "$BUILD/tests/load" -w pages=1000
	client a
	client b
	ask a catch IO alloc 3 15 0x20004 any 0 attach $TARGET start
	ask b $other alloc 3 15 0x20006 any $tree attach $TARGET start
	go
	count_of a
	local before=$count
	count_of b
	local written=$count
	[ "$before" -gt 0 ]
	work_of_target
	count_of a
	[ $((count - before)) -eq "$minflt" ]
	count_of b
	echo "written $((count - written)), all $minflt"
	[ $((count - written)) -ge $((minflt - 50)) ]
	[ $((count - written)) -le "$minflt" ]
	expect a "came IO 0" came IO
	part_all
}

@test "§3.3 step 4, C-14: a set-id program is not counted for an owner that may not debug it" {
	set_id_load
	waits_to_become "${nobody[@]}" -- "$SETID" -w pages=1000
	client a run_as_nobody
	client b run_as_nobody
	client root
	expect a "start 0" catch IO alloc 3 15 0x20004 any 0 attach $TARGET start
	expect b "start 0" catch IO $other alloc 3 15 0x20006 any $tree attach $TARGET start
	expect root "start 0" catch IO $other $other alloc 3 15 0x20007 any 0 attach $TARGET start
	go
	expect a "await IO 1" await IO
	expect b "await IO 1" await IO
	count_of a
	local before=$count
	count_of b
	local written=$count
	work_of_target
	# The counts up to the exec are kept, without a single event after it.
	count_of a
	[ "$count" -eq "$before" ]
	count_of b
	[ "$count" -eq "$written" ]
	expect a "detach *" detach $TARGET
	[[ $reply == "detach EINVAL"* ]]
	expect root "came IO 0" came IO
	expect root "detach 0" detach $TARGET
	part_all
}

@test "§3.3 step 4: the super-user's counts continue over a set-id exec" {
	set_id_load
	waits_to_become "${nobody[@]}" -- "$SETID" -w pages=1000
	client root
	client nobody run_as_nobody
	ask root alloc 3 15 0x20004 any 0 attach $TARGET start
	ask nobody $other alloc 3 15 0x20006 any $tree attach $TARGET start
	go
	count_of root
	local before=$count
	work_of_target
	count_of root
	[ $((count - before)) -eq "$minflt" ]
	part_all
}

@test "§3.3 step 4: a program that its user may not read is treated as set-id" {
	open_tmpdir
	cp "$BUILD/tests/load" "$BATS_TEST_TMPDIR/load-secret"
	chmod 711 "$BATS_TEST_TMPDIR/load-secret"
	waits_to_become "${nobody[@]}" -- "$BATS_TEST_TMPDIR/load-secret" -w pages=1000
	client a run_as_nobody
	ask a catch IO alloc 3 15 0x20004 any 0 attach $TARGET start
	go
	expect a "await IO 1" await IO
	count_of a
	local before=$count
	work_of_target
	count_of a
	[ "$count" -eq "$before" ]
	part a
}

# No security module labels processes, which would let an exec change a label without any id.
no_labels() { refute cat /proc/self/attr/current 2>/dev/null; }

@test "§3.3 step 4: a set-id program that keeps its ids, because it is traced, is an ordinary one" {
	command -v strace >/dev/null || skip "strace is not installed"
	no_labels || skip "a security module labels processes"
	set_id_load
	for ids in 65533:65534,4755 65534:65533,2755; do
		chown "${ids%,*}" "$SETID"
		chmod "${ids#*,}" "$SETID"
		waits_to_become "${nobody[@]}" -- strace -D -o /dev/null "$SETID" -w pages=1000
		client a run_as_nobody
		ask a catch IO alloc 3 15 0x20004 any 0 attach $TARGET start
		go
		expect a "came IO 0" came IO
		count_of a
		local before=$count
		work_of_target
		count_of a
		[ $((count - before)) -eq "$minflt" ]
		part a
		kill "$TARGET"
		wait_for process_gone "$TARGET"
		TARGET=
	done
}

@test "§3.3: the count includes the old image up to the set-id exec" {
	set_id_load
	waits_to_become "${nobody[@]}" -- "$SETID" -w pages=10
	client nobody run_as_nobody
	client root
	expect nobody "start 0" alloc 3 15 0x20004 any 0 attach $TARGET start
	expect root "start 0" $other alloc 3 15 0x20007 any 0 attach $TARGET start
	go
	count_of nobody
	local kept=$count
	count_of root
	# bash has some faults before exec; the new image has some at its start, which only root counts.
	[ "$kept" -gt 0 ]
	echo "kept $kept, all $count"
	[ "$kept" -lt "$count" ]
	part_all
}

@test "§3.5: while a process exits, a read has its time up to then, and after a stop no more is added" {
	local gate before=0 until=0 stat=()
	client a
	mkfifo "$BATS_TEST_TMPDIR/gate" "$BATS_TEST_TMPDIR/said"
	unshare -m "$BUILD/tests/hungexit" "$BATS_TEST_TMPDIR" <"$BATS_TEST_TMPDIR/gate" \
		>"$BATS_TEST_TMPDIR/said" 3>&- &
	local server=$!
	exec {gate}>"$BATS_TEST_TMPDIR/gate"
	read -r -t $PATIENCE TARGET <"$BATS_TEST_TMPDIR/said"
	wait_for asleep "$TARGET"
	expect a 'start 0' alloc 3 15 0x2000a any 0 attach "$TARGET" start
	read -r before _ <"/proc/$TARGET/schedstat"
	kill -USR1 "$TARGET"
	# PF_EXITING, and it waits.
	hangs() { read -r -a stat <"/proc/$TARGET/stat" && ((stat[8] & 4)) && [[ ${stat[2]} == [SD] ]]; }
	wait_for hangs
	count_of a
	running=$count
	expect a 'stop 0' stop
	read -r until _ <"/proc/$TARGET/schedstat"
	count_of a
	[ "$count" -eq $((until - before)) ]
	[ "$running" -eq "$count" ]
	exec {gate}>&-
	wait "$server"
	wait_for process_gone "$TARGET"
	expect a "read 0 $count" read
}

@test "a count does not go back while another thread stops and starts its PMC" {
	cd "$BATS_TEST_TMPDIR" || return
	libpmc_program <<-'C'
		#define _GNU_SOURCE
		#include <pmc.h>
		#include <pthread.h>
		#include <signal.h>
		#include <stdio.h>

		#define CHECK(call) do { if ((call) != 0) { fprintf(stderr, #call ": %s\n", pmc_errstr()); return 1; } } while (0)

		static pmc_id_t id;
		static volatile int done, back;

		static void *reads(void *arg)
		{
			pmc_value_t v, last = 0;

			(void)arg;
			while (!done && pmc_read(id, &v) == 0) {
				back += v < last;
				last = v;
			}
			return NULL;
		}

		int main(void)
		{
			pthread_t reader[3];

			signal(SIGIO, SIG_IGN);
			CHECK(pmc_init());
			CHECK(pmc_allocate("TASK_CLOCK", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0));
			CHECK(pmc_start(id));
			for (int i = 0; i < 3; i++)
				pthread_create(&reader[i], NULL, reads, NULL);
			for (int i = 0; i < 1000; i++) {
				CHECK(pmc_stop(id));
				CHECK(pmc_start(id));
			}
			done = 1;
			for (int i = 0; i < 3; i++)
				pthread_join(reader[i], NULL);
			printf("%d\n", back);
			return 0;
		}
	C
	run timeout 120 ./prog
	status_is 0
	[ "$output" = 0 ]
}
