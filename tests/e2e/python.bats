#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Python frames in samples: functions, files and lines of an interpreter as it is, between the native frames that run
# them.  tests/e2e/frames.bats proves the walk itself.  All interpreters of 3.11 to 3.13 on this machine are tested.

load helpers

setup() {
	in_tmpdir_with_daemon -o kern.hwpmc.debugflags=sampling=read
	[ -n "$(interpreters)" ] || skip "no Python 3.11 to 3.13 on this machine"
}

# record MODE [OPTION...] - samples of calls.py, once the daemon knows the interpreter's files
record() {
	[ "$KNOWN" = "$python" ] || learn "$python" "$BATS_TEST_DIRNAME/calls.py" main
	KNOWN=$python
	pmc record "${@:2}" -o log "$python" "$BATS_TEST_DIRNAME/calls.py" "$1"
	pmc report -q --chain-lines chains log
	# For a failure: which files the daemon had read, and how chains look.
	tail -n 5 "$DAEMON_LOG"
	tail -n 2 chains | cut -c 1-600
}

@test "Python: callers through C, generators, methods and threads, with files and lines, from the module to the leaf" {
	for python in $(interpreters); do
		record main
		python3 "$BATS_TEST_DIRNAME/calls_check.py" main <chains
		record thread
		python3 "$BATS_TEST_DIRNAME/calls_check.py" thread <chains
		record fork
		python3 "$BATS_TEST_DIRNAME/calls_check.py" fork <chains
	done
}

@test "Python: where a thread waits" {
	for python in $(interpreters); do
		record waiting --off-cpu
		python3 "$BATS_TEST_DIRNAME/calls_check.py" waiting <chains
	done
}

@test "Python: at each hit of a tracepoint" {
	for python in $(interpreters); do
		record waiting -e syscalls:sys_enter_clock_nanosleep -c 1
		python3 "$BATS_TEST_DIRNAME/calls_check.py" waiting <chains
		[ "$(grep -c '^0x[0-9a-f]* nap (calls.py) ' chains)" -eq 40 ]
	done
}

@test "Python: code objects that come and go keep their own names and lines" {
	for python in $(interpreters); do
		record passing
		python3 "$BATS_TEST_DIRNAME/calls_check.py" passing <chains
	done
}

@test "Python: where the interpreter's memory makes no sense frames are marked as missing, and the chain is whole" {
	for python in $(interpreters); do
		record broken
		python3 "$BATS_TEST_DIRNAME/calls_check.py" broken <chains
	done
}
