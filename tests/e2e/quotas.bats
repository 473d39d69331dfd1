#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What counting takes is charged to users: an ordinary one who takes all there is gets his share, others and root
# count all the same, and what he had comes back when he is gone.

load helpers

FAULTS=0x20004 CPU_CLOCK=0x20009 CGROUP_SWITCHES=0x2000f
TREE=2
SAMPLES=0x21

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	[ -z "${HOARD:-}" ] || kill "$HOARD" 2>/dev/null || true
	part_all
	rest_all
	stop_daemon KILL || true
}

# hoard WHAT...: runs as an ordinary user in the background; his gain is in $hoarded, the refusal in $reply.
hoard() {
	local b to=$BATS_TEST_TMPDIR/hoard.to out=$BATS_TEST_TMPDIR/hoard.out

	b=$(public_build)
	[ "$b" = "$BUILD" ] || cp "$BUILD/tests/hoard" "$b/tests/"
	rm -f "$to"
	mkfifo "$to"
	: >"$out"	# of the hoard before
	PATH="$b/tests:$PATH" LD_LIBRARY_PATH="$b/lib" "${nobody[@]}" --inh-caps=-all --bounding-set=-all \
		--no-new-privs hoard "$@" <"$to" >"$out" 3>&- &
	HOARD=$!
	exec {HOARD_IN}>"$to"
	wait_for grep -q . "$out"
	reply=$(cat "$out")
	echo "hoard $*: $reply"
	hoarded=${reply%% *}
}

# Everything that he had can be allocated again.
let_go() {
	let_go_of_hoard
	wait_for daemon_idle
	wait_for rows_free
}
let_go_of_hoard() {
	kill -KILL "$HOARD"
	exec {HOARD_IN}>&-
	wait "$HOARD" || true
	HOARD=
}

# as_second COMMAND...: another ordinary user.
as_second() {
	local b
	b=$(public_build)
	PATH="$b/tests:$PATH" setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all --bounding-set=-all \
		--no-new-privs "$@"
}

# Except for reads that are refused because the kernel has hidden a context switch, which is no quota.
all_well() {
	refute grep -qvE '^[a-z]+ 0( |$)|^(id|caps) |^read EBUSY -- .* lost a time slice: ' <<<"$1" ||
		{ echo "$1" >&2; return 1; }
}

# Process scope, of each kind that takes a resource.
counts() {
	run "$@" wireclient hello alloc 3 15 $FAULTS any $TREE start read stop release \
		alloc 3 15 $CGROUP_SWITCHES any 0 start read release \
		caps $SAMPLES alloc 2 15 $CPU_CLOCK any 0 attach 0 release
	all_well "$output"
}

# And CPUs, as root.
root_counts() {
	counts env
	run wireclient hello alloc 1 15 $FAULTS 0 0 start read stop release \
		caps $SAMPLES alloc 0 15 $CPU_CLOCK 0 0 release
	all_well "$output"
}

@test "one user's PMCs leave a row to root, in both scopes and on his processes" {
	start_daemon
	hoard rows
	[ "$hoarded" -eq 15 ]
	[[ $reply == *"EINVAL: no row of class SOFT (16)"*"SOFT15 kept for administrators (user.reserve=10 percent)"* ]]
	root_counts
	counts as_second
	# His own PMCs, on his own process: on a row that those cannot have.
	client a "${nobody[@]}"
	local words='' i
	for ((i = 0; i < 15; i++)); do words+=" alloc 3 15 $FAULTS any 0 attach ${CLIENT[a]}"; done
	ask a "$words"
	all_well "$answer"
	words=''
	for ((i = 0; i < 16; i++)); do words+=" alloc 3 15 $FAULTS any 0"; done
	client b
	ask b "$words" attach "${CLIENT[a]}" start read
	expect b 'read 0 *' read
	part b
	part a
	let_go
}

@test "the reserve of rows ends with user.reserve, and share with user.share" {
	start_daemon -o user.reserve=0
	hoard rows
	[ "$hoarded" -eq 16 ]
	let_go
	# Where any user may count CPUs, rows of one user's processes are unusable for that.
	pmccontrol --tunable user.reserve=10
	pmccontrol --tunable security.bsd.unprivileged_syspmcs=1
	hoard rows
	[ "$hoarded" -eq 4 ]
	[[ $reply == *"11 free, but you alone have as many as one user may (user.share=25 percent)"* ]]
	run as_second wireclient hello alloc 1 15 $FAULTS 0 0 start read release
	all_well "$output"
	root_counts
	let_go
}

@test "one user's sampling PMCs are limited to his share" {
	start_daemon
	hoard samplers
	[ "$hoarded" -eq 1024 ]
	[[ $reply == *"EAGAIN: uid 65534 has 1024 of pmcbpfd's 4096 PMCs that sample or log"*"user.share=25"* ]]
	root_counts
	counts as_second
	let_go
	hoard samplers
	[ "$hoarded" -eq 1024 ]
	let_go
}

# The daemon's descriptors, without maps, of which a thread makes spares in its own time.
fds_but_maps() { find "/proc/$DAEMON_PID/fd" -type l ! -lname 'anon_inode:bpf-map' | wc -l; }

@test "sampling PMCs share one program: another one takes no descriptor" {
	start_daemon
	client a
	expect a 'alloc 0 *' caps $SAMPLES alloc 2 15 $CPU_CLOCK any 0
	fds=$(fds_but_maps)
	for _ in 1 2 3 4 5 6 7 8; do expect a 'alloc 0 *' alloc 2 15 $CPU_CLOCK any 0; done
	[ "$(fds_but_maps)" -eq "$fds" ]
	part a
}

@test "one user's sources of software events are limited to his share" {
	start_daemon
	hoard sources
	[ "$hoarded" -ge 1 ] && [ "$hoarded" -le 12 ]
	[[ $reply == *"EAGAIN: uid 65534 has $hoarded of pmcbpfd's "*" sources of software events"*"user.share=25"* ]]
	root_counts
	counts as_second
	let_go
}

@test "one user's PMCs of single threads that programs count are limited to his share" {
	start_daemon
	hoard threads
	[ "$hoarded" -eq 256 ]
	[[ $reply == *"EAGAIN: uid 65534 has 256 of pmcbpfd's 1024 PMCs of single threads that programs count"*"user.share=25"* ]]
	root_counts
	counts as_second
	let_go
	hoard threads
	[ "$hoarded" -eq 256 ]
	let_go
}

@test "one user's combinations of PMCs are limited to his share" {
	start_daemon -o user.share=3
	hoard sets
	[ "$hoarded" -ge 100 ] && [ "$hoarded" -le 122 ]
	[[ $reply == *"EAGAIN: uid 65534 has "*" of pmcbpfd's 4095 combinations of PMCs on a process"*"user.share=3"* ]]
	root_counts
	counts as_second
	# Processes with his PMCs can have root's as well, which are charged to root.
	client a
	expect a 'attach 0*' alloc 3 15 $FAULTS any $TREE attach "$HOARD" detach "$HOARD" attach "$HOARD"
	expect a 'read 0 *' start read
	part a
	let_go
	hoard sets
	[ "$hoarded" -ge 100 ]
	let_go
}

@test "a process of many threads takes descriptors up to the user's share" {
	start_daemon -o user.share=1
	pmcstat -q -P PAGE_FAULT.ALL -O log true	# programs that sample are loaded, and stay
	before=$(daemon_fds)
	hoard events 800
	[[ $reply == "800 EAGAIN: uid 65534 has "*" event descriptors"*"user.share=1"* ]]
	# The refused attach has left none behind.
	[ "$(daemon_fds)" -le $((before + 40)) ]
	root_counts
	counts as_second
	let_go
}

@test "children beyond the share are no targets, which makes only that user's counts incomplete" {
	start_daemon -o user.share=1
	workload tree pages=10
	client a
	expect a 'start 0*' alloc 3 15 $FAULTS any $TREE attach "${WORKLOAD[tree]}" start
	hoard targets 1000
	[[ $reply == "1000 ENOMEM: descendants were lost: uid 65534 measures as many processes as one user may (user.share=1 percent"* ]]
	work tree
	count_of a
	[ "$count" -ge 10 ]
	counts as_second
	root_counts
	part a
	let_go
	# Processes that have ended are no longer charged.
	hoard targets 300
	[[ $reply == "300 0: "* ]]
	let_go
}

@test "counts of logged processes are limited to the user's share, and others' logs are complete" {
	start_daemon -o user.share=1
	client a
	ask a log log caps 0x20 alloc 3 15 $FAULTS any 8 attach "${CLIENT[a]}" start
	hoard shares 600
	[ "$hoarded" -ge 100 ]
	root_counts
	run as_second wireclient hello counters
	[[ ${lines[-1]} =~ ^counters\ 0\ 0\ 0\ 0\  ]]
	let_go_of_hoard
	# Its children have ended, its log is complete: the resources it had are free again.
	wait_for daemon_idle 1
	hoard shares 100
	# The kernel may run out of memory at some point; without giving back the earlier ones all 600 would be
	# missing.
	[ "$hoarded" -lt 300 ]
	let_go_of_hoard
	expect a 'endlog 0*' stop endlog
	pmcstat -q -R log >text
	lost_slices text
	part a
}

@test "an ordinary user's statistics cover his own PMCs, a log's cover that log, root's cover all" {
	start_daemon
	workload w pages=60000
	client owner
	ask owner log log caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 1 attach "${WORKLOAD[w]}" start
	suspend_daemon				# nothing reads the rings
	work w
	resume_daemon
	expect owner 'stop 0' stop
	expect owner 'figures 0 *' figures
	[[ $reply =~ processed=([0-9]+)\ full=([0-9]+) ]]
	[ "${BASH_REMATCH[2]}" -ge 1000 ]
	run run_as_nobody wireclient hello counters
	echo "$output"
	[[ ${lines[-1]} =~ ^counters\ 0\ 0\ 0\ 0\ [0-9]+\ [0-9]+\ 0\ 0\ [0-9]+$ ]]
	# His own are there.
	mkdir his && chown 65534 his
	client his "${nobody[@]}"
	ask his log his/log caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 1 attach 0 start pages 20 stop counters
	[[ $reply =~ ^counters\ 0\ 0\ ([0-9]+)\ 0\  ]]
	[ "${BASH_REMATCH[1]}" -ge 20 ] && [ "${BASH_REMATCH[1]}" -lt 10000 ]
	# Root sees all, except when asking about its own log, as pmcstat does.
	run wireclient hello counters
	[[ ${lines[-1]} =~ ^counters\ 0\ 0\ [0-9]+\ ([0-9]+)\  ]]
	[ "${BASH_REMATCH[1]}" -ge 1000 ]
	run wireclient hello log log3 counters
	[[ ${lines[-1]} =~ ^counters\ 0\ 0\ 0\ 0\ [0-9]+\ [0-9]+\ [0-9]+\ 0\  ]]
	pmcstat -q -v -P PAGE_FAULT.ALL -O log4 true 2>told
	refute grep WARNING told
}
