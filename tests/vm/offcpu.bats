#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Waits on each kernel: the same checks as on this machine (tests/e2e/offcpu.bats), and no switch is hidden.

load helpers

setup_file() {
	vm_start
	vm_daemon -o kern.hwpmc.offcpurate=1000000
}

setup() {
	# The kernel has to run a program behind a switch.
	vm_sh 'pmccontrol -L | grep -q OFFCPU_TIME' && return
	[ "$VM_KERNEL" = 6.1-arm64 ] || return
	skip "arm64 has no such place before Linux 6.4"
}

# waits CHECK THRESHOLD WORK...
waits() {
	local check=$1 threshold=$2
	shift 2
	vm_sh 'n=$1; shift; rm -f /tmp/log; pmcstat -d -n $n -P OFFCPU_TIME -O /tmp/log waited "$@" >/tmp/figures &&
		pmc filter -j /tmp/log /tmp/log.json' "$threshold" "$@"
	vm_get /tmp/log.json "$BATS_TEST_TMPDIR/log.json"
	vm_get /tmp/figures "$BATS_TEST_TMPDIR/figures"
	python3 "$BATS_TEST_DIRNAME/../e2e/offcpu.py" "$check" "$BATS_TEST_TMPDIR/log.json" "$BATS_TEST_TMPDIR/figures"
}

@test "waits: time on run queues is the scheduler's" {
	waits queue 1 sleep 20 2000000
}

@test "waits: a sleep is sampled with its whole length" {
	waits sleep 1 sleep 20 2000000
}

@test "waits: a wait for another thread's lock is one" {
	waits lock 1 lock 5 2000000
}

@test "waits: of two threads on one CPU, one is off it" {
	waits share 1 share 100
}

@test "waits: each of 2,000 threads has its own" {
	waits crowd 1000000 crowd 2000 500000000
}

@test "waits: the callers in user space are those of the waiting thread" {
	vm_sh 'rm -f /tmp/log; pmc record --off-cpu --no-report -o /tmp/log waited sleep 10 2000000 >/dev/null &&
		pmc report --folded - /tmp/log >/tmp/folded'
	vm_sh 'grep "^waited;.*main;.*sleep_often.*;\[sleep\]_\[k\] [0-9]*$" /tmp/folded || { cat /tmp/folded; exit 1; }'
}
