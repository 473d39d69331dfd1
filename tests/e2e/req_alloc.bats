#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# PMCALLOCATE: its checks in hwpmc's order, its flags, and START's checks.

load helpers

FAULTS=0x20004
CALLCHAIN=0x80 KGMON=0x40 PROCCSW=4 PROCEXIT=8 TREE=2

setup() {
	need_root
	start_daemon
	client root
}

teardown() {
	part_all
	rest_all
	stop_daemon KILL || true
}

# Every line has all the faults of the lines below it: the one that is checked first wins.
@test "REQ-153, REQ-154, REQ-155, REQ-156, REQ-157, REQ-175, REQ-152, REQ-115: the checks, in order" {
	local bad=0x40000000
	client user run_as_nobody
	expect user 'alloc EINVAL -- no mode 4; *' caps 0x8a6 alloc 4 99 0x20fff 9999 $bad
	expect user 'alloc EINVAL -- no CPU 9999*' alloc 3 99 0x20fff 9999 $bad
	expect user 'alloc EINVAL -- no CPU 9999*' alloc 1 99 0x20fff 9999 $bad
	expect user 'alloc EINVAL -- process-scope PMCs take no CPU*' alloc 3 99 0x20fff 0 $bad
	expect user 'alloc EINVAL -- a system-scope PMC counts on one CPU*' alloc 1 99 0x20fff any $bad
	expect user 'alloc EPERM -- *' alloc 1 99 0x20fff 0 $bad
	expect user 'alloc EINVAL -- unknown flags 0x40000000; *' alloc 3 99 0x20fff any $bad
	expect root 'alloc EINVAL -- unknown flags 0x40000000; *' caps 0x8a6 alloc 1 99 0x20fff 0 $bad
	expect root 'alloc EINVAL -- *for process-scope PMCs only' alloc 1 99 0x20fff 0 $PROCCSW
	expect user 'alloc EINVAL -- *no counters of class ? (99)*' alloc 3 99 0x20fff any 0
	expect user 'alloc EOPNOTSUPP -- class SOFT lacks the capabilities 0x880*' alloc 3 15 0x20fff any 0
	expect user 'alloc EINVAL -- *no software event 0x20fff*' caps 0x26 alloc 3 15 0x20fff any 0
	expect user 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	expect root 'rows 0 SOFT0/THREAD/*' rows 0			# the others left nothing
	expect user 'release 0' release
	expect root 'rows 0' rows 0
}

@test "REQ-120: CPUs that do not exist, whoever asks for them" {
	expect root 'alloc EINVAL*' alloc 1 15 $FAULTS 4096 0
	expect root 'info EINVAL -- no CPU 4096*' info 4096 0
	expect root 'admin EINVAL*' admin 4096 0 0
}

@test "REQ-091, REQ-007: what was asked for is what is configured" {
	expect root 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any $TREE
	expect root "info 0 SOFT0 enabled THREAD owner=${CLIENT[root]} mode=3 event=0x20004 flags=0x2 reload=0 PAGE_FAULT.ALL" \
		info 0 0
	expect root 'alloc 0 0x00010f01' alloc 1 15 0x2000b 0 0
	expect root "info 0 SOFT1 enabled STANDALONE owner=${CLIENT[root]} mode=1 event=0x2000b flags=0x0 reload=0 CONTEXT_SWITCHES" \
		info 0 1
	expect root 'read 0 0' read
}

@test "REQ-049, REQ-055, REQ-057: DESCENDANTS, PROCCSW and PROCEXIT are for process scope" {
	for flag in $TREE $PROCCSW $PROCEXIT $((PROCCSW | PROCEXIT)) $((TREE | CALLCHAIN)); do
		expect root 'alloc EINVAL -- *for process-scope PMCs only' alloc 1 15 $FAULTS 0 $flag
		expect root 'alloc 0 *' alloc 3 15 $FAULTS any $flag
		expect root 'release 0' release
	done
	expect root 'alloc 0 *' alloc 1 15 $FAULTS 0 $CALLCHAIN		# no effect, no error
}

@test "REQ-053: KGMON is for system-scope sampling" {
	expect root 'alloc EINVAL -- PMC_F_KGMON*' alloc 1 15 $FAULTS 0 $KGMON
	expect root 'alloc EINVAL -- PMC_F_KGMON*' alloc 2 15 $FAULTS any $KGMON
	expect root 'alloc EINVAL -- PMC_F_KGMON*' alloc 3 15 $FAULTS any $KGMON
}

@test "REQ-063, REQ-157: flags that are no flags of an allocation" {
	# FORCE, NEWVALUE, OLDVALUE, the state bits that GETPMCINFO shows, and bits without a name
	for flag in 0x1 0x10 0x20 0x10000 0x20000 0x40000 0x80000000; do
		expect root "alloc EINVAL -- unknown flags $flag; *" alloc 3 15 $FAULTS any $flag
		expect root "alloc EINVAL -- unknown flags $flag; *" alloc 1 15 $FAULTS 0 $flag
	done
	expect root 'rows 0' rows 0
}

@test "REQ-175: each capability that a class lacks" {
	# SOFT: USER, SYSTEM, READ, WRITE; the TSC: READ
	for bit in 3 4 7 8 9 10 11; do
		expect root 'alloc EOPNOTSUPP*' caps $((1 << bit | 0x20)) alloc 3 15 $FAULTS any 0
	done
	for bit in 1 2 5 6; do
		expect root 'alloc 0 *' caps $((1 << bit)) alloc 3 15 $FAULTS any 0
	done
	[ "$(uname -m)" = x86_64 ] || return 0
	for bit in 1 2 6; do
		expect root 'alloc EOPNOTSUPP*' caps $((1 << bit | 0x20)) alloc 1 0 0x1000 0 0
	done
}

@test "REQ-176, REQ-187: counters that cannot interrupt cannot sample" {
	[ "$(uname -m)" = x86_64 ] || skip "the TSC, an x86 counter, is the one without an interrupt"
	expect root 'alloc EOPNOTSUPP*' alloc 2 0 0x1000 any 0
	expect root 'alloc EOPNOTSUPP*' alloc 0 0 0x1000 0 0
	expect root 'rows 0' rows 0
}

@test "REQ-123, REQ-158: counters that are not of a process are refused for one" {
	local pmu
	expect root 'alloc EINVAL -- *no counters of class * (8)*' alloc 3 8 0 any 0
	expect root 'alloc EINVAL -- *no counters of class * (9)*' alloc 3 9 0 any 0
	# A PMU with a list of CPUs counts for all of a package.
	for pmu in /sys/bus/event_source/devices/*/cpumask; do
		[ -e "$pmu" ] || continue
		pmu=$(basename "$(dirname "$pmu")")
		run pmcstat -p "$pmu/config=1/" true
		[ "$status" -eq 71 ]
		grep -q "Cannot allocate process-mode pmc .*no PMU \"$pmu\".*\[Invalid argument\]" <<<"$output"
	done
}

@test "REQ-061, REQ-062, REQ-141: START without the log that the PMC needs, before all that follows" {
	local flag
	workload w pages=10
	for flag in $PROCCSW $PROCEXIT $((PROCCSW | PROCEXIT | TREE)); do
		expect root 'start EBADRQC -- *none is configured' alloc 3 15 $FAULTS any $flag start
		expect root 'stop EINVAL -- *never started' stop	# it is as before
		expect root 'info 0 SOFT0 * flags=0x2000[48e] *' info 0 0
		# The log is missed before the targets are.
		expect root 'start EBADRQC*' attach "${WORKLOAD[w]}" detach "${WORKLOAD[w]}" start
		expect root 'release 0' release
	done
}

# Each line has two faults.
@test "C-2, C-3, REQ-182: START's and STOP's checks, in order" {
	expect root 'start ESRCH*' id 0x12345678 start
	expect root 'stop ESRCH*' stop
	expect root 'start EINVAL -- *0x12345678' alloc 3 15 $FAULTS any 0 id 0x12345678 start
	expect root 'stop EINVAL -- *0x12345678' stop
	expect root 'stop EINVAL -- *never started' id 0xfff30f00 stop
	expect root 'start 0' start
	expect root 'start 0' detach 0 start		# running without targets: nothing to do
	expect root 'stop 0' stop
	expect root 'stop 0' stop
	expect root 'start ESRCH*' start
}
