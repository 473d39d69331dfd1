#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Python's frames, by the product's walk over a running interpreter: each function, file and line is the one that Python
# itself reports, each call of the interpreter's loop is one native frame of libdwfl's walk, and a program in the kernel
# finds the same frames.  All interpreters of 3.11 to 3.13 on this machine are tested.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
}
teardown() {
	[ -z "$PYTHON" ] || kill -KILL "$PYTHON" 2>/dev/null || true
	[ -z "$STANDING" ] || kill -KILL "$STANDING" 2>/dev/null || true
}

# frames_agree PYTHON [fork]
frames_agree() {
	mkfifo hold
	rm -f expected		# of the interpreter before
	"$1" "$BATS_TEST_DIRNAME/frames.py" "${@:2}" <hold >expected 3>&- &
	PYTHON=$!
	exec 5>hold
	wait_for grep -aq ^P expected
	STANDING=$(sed -n 's/^P //p' expected)
	wait_for is_stopped "$STANDING"
	run --separate-stderr "$BUILD/tests/frames" "$STANDING" expected
	status_is 0
	diff -a <(grep -a '^[TF]' expected) <(grep -a '^[TF]' <<<"$output") >&2
	[ "$(grep -ac '^L' <<<"$output")" -gt "${LOOPS:-0}" ]
	exec 5>&-
	wait $PYTHON
	PYTHON=''
	STANDING=''
	rm hold
}

need_interpreters() {
	[ -n "$(interpreters)" ] || skip "no Python 3.11 to 3.13 on this machine"
}

@test "frames: functions, generators, coroutines, callbacks through C, methods, modules, and names and lines of all forms" {
	need_interpreters
	for python in $(interpreters); do
		LOOPS=60 frames_agree "$python"
	done
}

@test "frames: of a child after fork(2), whose thread has another number" {
	need_interpreters
	for python in $(interpreters); do
		frames_agree "$python" fork
	done
}
