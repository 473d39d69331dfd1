#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# REQ-103: kern.hwpmc.debugflags turns the daemon's messages about its doings on and off.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon || true; }

debug() { pmccontrol --tunable "kern.hwpmc.debugflags=$1"; }

# told WORD [PATTERN]: there is such a message, of that group and flag
told() { grep -qE "^pmcbpfd: $1: .*${2-}" "$DAEMON_LOG"; }

# groups_told: the groups that have messages, in one line
groups_told() { sed -nE 's/^pmcbpfd: ([a-z]+)=[a-z]+: .*/\1/p' "$DAEMON_LOG" | sort -u | tr '\n' ' '; }

work() {
	pmcstat -q -o counts -d -p PAGE_FAULT.ALL -p LOCK.FAILED bash -c true
	pmcstat -q -o counts -c 0 -s CPU_CLOCK -l 0.02
}

@test "REQ-103: off by default: no message" {
	work
	[ -z "$(groups_told)" ]
}

@test "REQ-103: everything on: every group that can have messages has some" {
	debug '*=*'
	work
	[ "$(groups_told)" = 'cpu csw md module owner pmc process ' ]
	told cpu=select 'CPU 0 for PMC 0x'
	told csw=hook 'attach on_switch'
	told csw=swo 'CPU 0'
	told md=allocate 'row [0-9]+ PMC 0x'
	told md=start
	told md=stop
	told md=release
	told module=syscall 'pid [0-9]+ operation 7: Success$'
	told owner=allocate 'uid 0$'
	told owner=remove '\(pmcstat\)$'
	told pmc=allocaterow 'Success$'
	told pmc=allocate 'event PAGE_FAULT.ALL$'
	told pmc=attach 'to process [0-9]+$'
	told pmc=start
	told pmc=release
	told process=attach
	told process=linktarget 'Success$'
}

@test "REQ-103: one flag of one group and nothing else; then none" {
	debug 'pmc=start'
	work
	[ "$(groups_told)" = 'pmc ' ]
	[ "$(grep -c '^pmcbpfd: [a-z]*=[a-z]*: ' "$DAEMON_LOG")" -eq 3 ]
	[ "$(grep -cE '^pmcbpfd: pmc=start: pid [0-9]+ PMC 0x[0-9a-f]{8} row [0-9]+$' "$DAEMON_LOG")" -eq 3 ]
	debug ''
	: >"$DAEMON_LOG"
	work
	[ -z "$(groups_told)" ]
}

@test "REQ-103: a refused request is logged with its reason" {
	debug 'module=syscall'
	run wireclient hello alloc 3 15 0x20ffe any 0
	told module=syscall 'operation 7: Invalid argument: this kernel has no software event 0x20ffe'
}

@test "REQ-103: an owner that exits while a child holds its connection" {
	debug 'process=exit'
	# Not with `run`, which would also wait for the child that has its output.
	wireclient hello alloc 3 15 0x20004 any 0 spawn >"$BATS_TEST_TMPDIR/out" 3>&-
	child=$(sed -n 's/^spawn //p' "$BATS_TEST_TMPDIR/out")
	wait_for told process=exit 'owner [0-9]+$'
	kill "$child"
}

@test "REQ-103: an owner that executes another program" {
	debug 'process=exec'
	# A client that closes its connection at exec may have disconnected before it is another program.
	client a
	expect a "inherited *" alloc 3 15 0x20004 any 0 start become
	wait_for told process=exec "owner ${CLIENT[a]}$"
	part a
}

@test "REQ-103: an invalid word: EINVAL names it, the old value stays" {
	debug 'pmc=start,stop'
	run debug 'pmc=start frob=find'
	[ "$status" -eq 65 ]
	[[ $output == 'pmccontrol: Cannot set kern.hwpmc.debugflags: "frob" is no group of debug messages; groups are * cpu csw logging md module owner pmc process sampling [Invalid argument]' ]]
	run debug 'pmc=strat'
	[[ $output == *'"strat" is no flag of debug messages; flags are * allocate '* ]]
	run debug 'pmc'
	[[ $output == *'"pmc" is without flags; write pmc=flag,flag or pmc=* '* ]]
	[ "$(pmccontrol --tunable kern.hwpmc.debugflags)" = 'pmc=start,stop' ]
	work
	told pmc=stop
	[ "$(groups_told)" = 'pmc ' ]
}

@test "REQ-103: from the start, in the file and by -o" {
	stop_daemon
	: >"$DAEMON_LOG"
	echo 'kern.hwpmc.debugflags="module=* owner=allocate"' >conf
	start_daemon -c "$PWD/conf"
	told module=init '[0-9]+ CPUs, [0-9]+ classes, [0-9]+ rows$'
	told owner=allocate
	kill -HUP "$DAEMON_PID"
	wait_for told module=init 'looking for counters'
	stop_daemon
	told module=exit
	: >"$DAEMON_LOG"
	start_daemon -c "$PWD/conf" -o kern.hwpmc.debugflags=pmc=find
	[ -z "$(groups_told)" ]
	stop_daemon
	run pmcbpfd -f -s "$PWD/s" -o kern.hwpmc.debugflags=pmc=nonsense
	[ "$status" -eq 1 ]
	[[ $output == 'pmcbpfd: "nonsense" is no flag '* ]]
}
