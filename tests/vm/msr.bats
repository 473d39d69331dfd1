#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pmc_get_msr(3) on a real PMU (arm64): the register it names is the one that counts.

load helpers

setup_file() {
	vm_start --daemon --smp 1
}

setup() {
	vm_require_arch arm64
}

user_access() { vm_sh "echo $1 >/proc/sys/kernel/perf_user_access"; }

# counts SPEC ROUNDS - the register's direct reading advances with the count
counts() {
	run vm pmcx msr "$2" "$1"
	echo "$output"
	status_is 0
	[ "${lines[0]}" = "unattached: EINVAL" ]
	[ "${lines[1]}" = "stopped: EAGAIN" ]
	for i in 2 3; do
		read -r msr raw count <<<"${lines[i]}"
		[ "$raw" -ge $((2 * $2)) ]
		[ "$count" -ge "$raw" ]
		is "$count" "$raw" 3000		# the reads themselves, the first of which install a handler
	done
	[ "${lines[4]}" = "other: EPERM" ]
	[ "${lines[5]}" = "self: EPERM" ]
}

@test "REQ-099 REQ-101 REQ-180: the register counts as pmc_read() does, and the PMC remains its owner's" {
	user_access 1
	counts inst_retired,usr 1000000
	[ "${msr%:}" -lt 6 ]
	first=$raw
	counts inst_retired,usr 2000000
	is "$raw" $((first + 2000000)) 20
	counts cpu_cycles,usr 1000000
	user_access 0
}

@test "REQ-170: ENOSYS if the kernel gives no user access, without side effects" {
	user_access 0
	run vm pmcx msr 1000 inst_retired,usr
	echo "$output"
	status_is 1
	[ "${lines[0]}" = "unattached: EINVAL" ]
	[ "${lines[1]}" = "stopped: EAGAIN" ]
	[[ ${lines[2]} == "running: ENOSYS the kernel does not let programs read this counter; "*perf_user_access* ]]
}

@test "REQ-170: ENOSYS for SOFT, in every state" {
	run vm pmcx msr 1000 PAGE_FAULT.ALL
	echo "$output"
	status_is 1
	[ "${lines[1]}" = "stopped: ENOSYS" ]
	[[ ${lines[2]} == "running: ENOSYS "* ]]
}

@test "REQ-099: the manual's example counts a loop exactly with rdpmc()" {
	user_access 1
	local counts=()

	for rounds in 1000 2000 5000; do
		run vm rdpmc-example $rounds
		echo "$output"
		status_is 0
		counts+=("$output")
	done
	user_access 0
	[ "${counts[0]}" -gt 4000 ]
	is $((counts[2] - counts[1])) $((3 * (counts[1] - counts[0])))
}

# revoked HOW [LAST] - every read while access comes and goes is right, and so is the last: at most the instructions of
# reads, START and STOP lie between.  The signals are the program's own.
revoked() {
	local least most last other signals

	run vm revoke "$1" inst_retired,usr 100000
	echo "$output"
	status_is 0
	read -r least most last other signals <<<"$output"
	[ "$least" -ge 0 ]
	[ "$most" -lt 3000 ]
	[ "$last" -ge 0 ]
	[ "$last" -lt "${2:-3000}" ]
	[ "$other" -ge 0 ]
	[ "$other" -lt 5000 ]
	is "$signals" 5
}

@test "REQ-011: access is revoked and granted while a program reads: every count is right, and the program gets no signal" {
	revoked steps
}

@test "access is revoked and granted while a program reads a group" {
	revoked group 4000	# STOP has two PMCs
}

@test "REQ-011: a program that installs its SIGILL handler after START gets its own signals only" {
	revoked late
}

@test "REQ-011: a read falls back to the kernel when access is revoked, and returns to user space when it is granted" {
	run vm revoke cost inst_retired
	echo "$output"
	status_is 0
	read -r granted revoked again <<<"$output"
	[ $((granted * 8)) -lt "$revoked" ]
	[ $((again * 8)) -lt "$revoked" ]
	user_access 0
}
