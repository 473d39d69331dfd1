#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Traced programs on this kernel and this architecture: the rings, assembly's trace points, the clock.

load helpers

setup_file() {
	vm_start
}

# KTR-18, KTR-41: each architecture has its counter, and rseq.
@test "rings have the architecture's clock and its writers" {
	clock=tsc
	[ "$VM_ARCH" != arm64 ] || clock=cntvct
	run vm env EARLY=2 ktr-show thread 3
	status_is 0
	[[ ${lines[0]} == "entries=1024 clock=$clock rseq=1 "*" lost=0" ]]
	[ "${lines[*]:1}" = "1001 1002 101 500 another thread 1 2 3" ]
}

# KTR-79: children, whichever way they are made.
@test "children continue in the same rings" {
	for how in fork clone; do
		run vm ktr-show $how
		[ "${lines[*]:1}" = "101 600 another thread 601" ]
		run vm env KTR_FORK=new ktr-show $how
		[[ "${lines[*]}" == entries*" 600 of 1 regions entries"*" 101 601" ]]
	done
}

# KTR-42, KTR-54, KTR-55, KTR-56, KTR-57, KTR-58, KTR-60: the page's assembly, on this architecture.
@test "trace points of assembly" {
	expected="10 asm_points.S: AP_STARTED, unit id=%x: 42
1 asm_points.S: none: 0
10 asm_points.S: in data %d: 2
1 asm_points.S: by %fs %d: 3
1 asm_points.S: in data %d: 4"
	run vm taskset 1 ktr-asm
	says "$expected"
	run vm env GLIBC_TUNABLES=glibc.pthread.rseq=0 taskset 1 ktr-asm
	says "$expected"
}

# KTR-04, KTR-41, KTR-73: threads that are moved and interrupted.
@test "no entry is lost, torn or out of order" {
	# Only a little: moving and interrupting threads takes an emulated machine long.
	for what in "lost 500" "reader 10000" "resize 40"; do
		# shellcheck disable=SC2086 # are words
		VM_TIMEOUT=300 run vm ktr-storm $what
		says rseq
		# shellcheck disable=SC2086 # are words
		VM_TIMEOUT=300 run vm env GLIBC_TUNABLES=glibc.pthread.rseq=0 ktr-storm $what
		says atomic
	done
}

# KTR-19: the kernel's time as of the last tick.
@test "the coarse clock" {
	run vm env KTR_CLOCK=coarse taskset 1 ktr-show 3
	[[ ${lines[0]} == "entries=1024 clock=coarse rseq=0 "*" lost=0" ]]
	[ "${lines[*]:1}" = "101 1 2 3" ]
}

@test "the kernel has not complained" {
	vm_clean_log
}
