#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Traced programs where root is needed to set the scene: more rights than the caller's, other users.

setup() {
	bats_require_minimum_version 1.5.0
	SHOW=$BUILD/tests/ktr/show-static
}

teardown() {
	umount "$BATS_TEST_TMPDIR/small" 2>/dev/null || true
}

# KTR-14: a full disk is noticed before there are entries to write to it: no SIGBUS.
@test "no room for KTR_FILE" {
	command -v strace >/dev/null || skip "strace is not installed"
	mkdir "$BATS_TEST_TMPDIR/small"
	mount -t tmpfs -o size=64k none "$BATS_TEST_TMPDIR/small"
	export KTR_FILE=$BATS_TEST_TMPDIR/small/file
	run -0 --separate-stderr "$SHOW" 2000
	[ "$stderr" = "ktr: KTR_FILE=$KTR_FILE: No space left on device; not tracing" ]
	[ ! -e "$KTR_FILE" ]
	# The same on file systems that cannot reserve blocks.
	run -0 --separate-stderr strace -o /dev/null -e trace=fallocate -e inject=fallocate:error=EOPNOTSUPP "$SHOW" 2000
	[ "$stderr" = "ktr: KTR_FILE=$KTR_FILE: No space left on device; not tracing" ]
	[ ! -e "$KTR_FILE" ]
	mount -o remount,size=4m "$BATS_TEST_TMPDIR/small"
	run -0 strace -o /dev/null -e trace=fallocate -e inject=fallocate:error=EOPNOTSUPP "$SHOW" 3
	[[ $output == *$'\n1\n2\n3' ]]
}

# KTR-80: a program with more rights than its caller ignores the environment.
@test "set-id programs ignore the environment" {
	cp "$SHOW" "$BATS_TEST_TMPDIR/show"
	chmod 755 "$BATS_TEST_TMPDIR"
	chown nobody "$BATS_TEST_TMPDIR/show"
	run env KTR_SIZE=128 KTR_CLOCK=coarse "$BATS_TEST_TMPDIR/show"
	[[ ${lines[0]} == "entries=2 clock=coarse "* ]]
	chmod 4755 "$BATS_TEST_TMPDIR/show"
	run env KTR_SIZE=128 KTR_CLOCK=coarse KTR_VERBOSE=1 KTR_FILE="$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/show"
	[ "$status" -eq 0 ]
	[[ $output != *"constructor 101"* ]]
	[ ! -e "$BATS_TEST_TMPDIR/file" ]
	[[ ${lines[0]} == none* ]]	# the rings do not have KTR_FILE's name
	run env KTR_SIZE=128 KTR_CLOCK=coarse "$BATS_TEST_TMPDIR/show"
	[[ ${lines[0]} == "entries=1024 "* && ${lines[0]} != *coarse* ]]
}

# KTR-80: another user sees neither the rings of a process nor their file.
@test "rings are closed to other users" {
	chmod 755 "$BATS_TEST_TMPDIR"
	KTR_FILE=$BATS_TEST_TMPDIR/file "$SHOW" 1 >/dev/null
	run setpriv --reuid nobody --clear-groups cat "$BATS_TEST_TMPDIR/file"
	[ "$status" -ne 0 ]
	run setpriv --reuid nobody --clear-groups env KTR_FILE="$BATS_TEST_TMPDIR/file" "$SHOW" 1
	[[ $output == *"Permission denied; not tracing"* ]]
	run -0 "$SHOW" -f "$BATS_TEST_TMPDIR/file"
	[[ $output == *$'\n1\n'* ]]
}
