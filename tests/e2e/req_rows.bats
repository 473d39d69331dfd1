#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Rows: dispositions after each step, who may have what, administration of slots.

load helpers

FAULTS=0x20004 CPU_CLOCK=0x20009
DISABLED=0 FREE=1

setup() {
	need_root
	start_daemon
	client root
	mapfile -t CPUS < <(lscpu -p=CPU --online | grep -v '^#')
}

# row DISPOSITION [CPU] [enabled|disabled]: checks GETPMCINFO's row 0.
row() {
	expect root "info 0 SOFT0 ${3:-*} $1 *" info "${2:-0}" 0
}

@test "REQ-066, REQ-067, REQ-073, REQ-074: process scope reserves a row on all CPUs, until its last user is gone" {
	client a
	client b
	row FREE
	expect a 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	for cpu in "${CPUS[@]}"; do
		row THREAD "$cpu"
	done
	expect b 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	expect a 'release 0' release
	row THREAD
	expect b 'start 0' start
	part b
	free() { row FREE; }
	wait_for free
	for cpu in "${CPUS[@]}"; do
		row FREE "$cpu"
	done
}

@test "REQ-068, REQ-069: a FREE row serves either scope, a THREAD row process scope only" {
	client a
	client b
	for ((i = 0; i < 16; i++)); do
		expect a 'alloc 0 *' alloc 3 15 $FAULTS any 0
	done
	expect root 'alloc EINVAL -- no row of class SOFT*counting for processes, held by *' alloc 1 15 $FAULTS 0 0
	expect b 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	expect a 'release 0' id 0xfff30f09 release
	expect root 'alloc 0 0x00010f09' alloc 1 15 $FAULTS 0 0
	expect root 'release 0' release
	expect a 'alloc 0 0xfff30f09' alloc 3 15 $FAULTS any 0
}

@test "REQ-070, REQ-071, REQ-072, REQ-074: a row in system-scope use" {
	[ ${#CPUS[@]} -ge 2 ] || skip "one CPU"
	client a
	for ((i = 0; i < 16; i++)); do
		expect root 'alloc 0 *' alloc 1 15 $FAULTS 0 0
	done
	for cpu in "${CPUS[@]}"; do
		row STANDALONE "$cpu"
	done
	expect a 'alloc EINVAL -- no row of class SOFT*counting for whole CPUs, held by *' alloc 3 15 $FAULTS any 0
	expect a 'alloc EINVAL -- *in use on CPU 0, held by *' alloc 1 15 $FAULTS 0 0
	# The same row on another CPU is unused, and can count.
	expect a 'start 0' alloc 1 15 $CPU_CLOCK "${CPUS[1]}" 0 start
	counted() { count_of a && [ "$count" -gt 0 ]; }
	wait_for counted
	expect root 'release 0' id 0x00010f00 release
	row STANDALONE
	expect a 'release 0' release
	row FREE
	expect a 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	row THREAD
}

@test "REQ-070, REQ-071, REQ-072, REQ-074, REQ-089: a disabled slot" {
	[ ${#CPUS[@]} -ge 2 ] || skip "one CPU"
	client a
	expect root 'admin 0' admin 0 0 $DISABLED
	row STANDALONE 0 disabled
	row STANDALONE "${CPUS[1]}" enabled
	expect a 'alloc 0 0xfff30f01' alloc 3 15 $FAULTS any 0	# process scope takes another row
	expect a 'alloc 0 0x00010f02' alloc 1 15 $FAULTS 0 0	# and so does a PMC of the disabled CPU
	expect a 'alloc 0 *0f00' alloc 1 15 $FAULTS "${CPUS[1]}" 0
	expect root 'admin 0' admin 0 0 $FREE
	row STANDALONE 0 enabled
	expect a 'release 0' release
	row FREE 0 enabled
	expect a 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
}

@test "REQ-071: all slots of a CPU disabled: process-scope PMCs are refused, with the reason" {
	local row words=''
	for row in {0..15}; do words+=" admin 0 $row $DISABLED"; done
	# shellcheck disable=SC2086 # words
	expect root 'admin 0' $words
	expect root 'alloc EINVAL -- no row of class SOFT (16) *disabled on some CPU (pmccontrol -e enables)*' alloc 3 15 $FAULTS any 0
}

@test "C-13, REQ-089: enabling or disabling twice equals once" {
	for ((i = 0; i < 3; i++)); do
		expect root 'admin 0' admin 0 0 $FREE
		row FREE 0 enabled
	done
	for ((i = 0; i < 3; i++)); do
		expect root 'admin 0' admin 0 0 $DISABLED
		row STANDALONE 0 disabled
	done
	expect root 'admin 0' admin 0 0 $FREE
	row FREE 0 enabled
}

@test "REQ-136: a row of process-scope PMCs cannot be disabled" {
	client a
	expect a 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	expect root 'admin EBUSY*' admin 0 0 $DISABLED
	row THREAD 0 enabled
	expect root 'admin 0' admin 0 0 $FREE			# enabled it is
	expect a 'release 0' release
	expect root 'admin 0' admin 0 0 $DISABLED
	row STANDALONE 0 disabled
}

@test "REQ-137: a slot of a system-scope PMC can neither be disabled nor enabled; the next CPU's can" {
	[ ${#CPUS[@]} -ge 2 ] || skip "one CPU"
	client a
	expect a 'alloc 0 0x00010f00' alloc 1 15 $FAULTS 0 0
	expect root 'admin EBUSY*' admin 0 0 $DISABLED
	expect root 'admin EBUSY*' admin 0 0 $FREE
	row STANDALONE 0 enabled
	expect root 'admin 0' admin "${CPUS[1]}" 0 $DISABLED
	row STANDALONE "${CPUS[1]}" disabled
	expect a 'release 0' release
	row STANDALONE 0 enabled
	expect root 'admin 0' admin "${CPUS[1]}" 0 $FREE
	row FREE
}

@test "C-9: a row has one process-scope PMC of an owner, and one system-scope PMC of an owner and CPU" {
	client a
	expect a 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	expect a 'alloc 0 0xfff30f01' alloc 3 15 $FAULTS any 0
	expect a 'alloc 0 0x00010f02' alloc 1 15 $FAULTS 0 0
	expect a 'alloc 0 0x00010f03' alloc 1 15 $FAULTS 0 0
}

@test "C-10: a row on which the owner itself is measured is not given to it" {
	client a
	client b
	expect a 'attach 0' alloc 3 15 $FAULTS any 0 attach "${CLIENT[b]}"
	expect b 'alloc 0 0xfff30f01' alloc 3 15 $FAULTS any 0
	expect a 'detach 0' detach "${CLIENT[b]}"
	expect b 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
}

@test "C-11: the TSC is shared, SC only, and read-only" {
	[ "$(uname -m)" = x86_64 ] || skip "an x86 counter"
	local tsc='0 0x1000'
	client a
	client b
	# shellcheck disable=SC2086 # words
	{
	expect a 'alloc 0 *' alloc 1 $tsc 0 0
	expect b 'alloc 0 *' alloc 1 $tsc 0 0
	expect b 'alloc EINVAL*' alloc 1 $tsc 0 0		# once for each process and CPU
	expect b 'alloc EINVAL*' alloc 3 $tsc any 0		# not in process scope
	expect b 'alloc EOPNOTSUPP*' caps 0x30 alloc 1 $tsc 0 0	# also with USER
	}
	expect root 'info 0 TSC * STANDALONE *' info 0 16
	expect a 'read 0 *' read
	first=${reply#read 0 }
	# It continues, whatever is requested of it.
	for word in 'write 5' 'setcount 5' start stop; do
		# shellcheck disable=SC2086 # words
		expect a "${word% *} 0" $word
		expect a 'read 0 *' read
		[ "${reply#read 0 }" -gt "$first" ]
		first=${reply#read 0 }
	done
	expect a 'release 0' release
	expect root 'info 0 TSC * STANDALONE *' info 0 16
	expect b 'release 0' release
	expect root 'info 0 TSC * FREE *' info 0 16
}
