#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Execs of targets on every kernel: what is counted goes on, and a set-id program is counted for the
# super-user only.  On arm64 with its counters, where one CPU makes counts exact.

load helpers

setup_file() {
	vm_start --daemon --smp 1
	# `load` for the user, and a copy with another user's id.
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'echo 0 >/proc/sys/kernel/randomize_va_space
		cp "$(command -v load)" /setid; cp /setid /plain
		chown 65533 /setid; chmod 4755 /setid; chmod 755 /plain'
}

setup() {
	digit=16	# instructions to read one more digit of its argument
}

# life PMCLIFE-ARGUMENT...: sets lost, values[] and signals[].
life() {
	run vm pmclife "$@"
	echo "$*: $output"
	status_is 0
	lost=$(sed -n 's/^lost //p' <<<"$output")
	mapfile -t values < <(sed -n 's/^value \([0-9]*\) .*/\1/p' <<<"$output")
	mapfile -t signals < <(sed -n 's/^value .* //p' <<<"$output")
}

# more USER PROGRAM WORK SPEC...: the growth of each count with ten times the work, in grown[].
more() {
	local user=$1 program=$2 work=$3 few=()

	shift 3
	life -u "$user" "$@" -- "$program" "${work}000"
	few=("${values[@]}")
	life -u "$user" "$@" -- "$program" "${work/=1/=10}000"
	grown=()
	for i in "${!values[@]}"; do
		grown+=($((values[i] - few[i])))
	done
}

@test "§3.3, C-14, REQ-064: counting continues over an exec; the target's end is signalled, and so is each read after it" {
	more 65534 /plain pages=1 PAGE_FAULT.ALL TASK_CLOCK
	is "${grown[0]}" 9000 10
	# Before its exec the process does next to nothing.
	[ "${values[1]}" -gt 4000000 ]
	[ "$lost" -ge 1 ]
	is "${signals[0]}" 1
	is "${signals[1]}" 1
}

@test "§3.3 step 4: a set-id program's events are hidden from its user" {
	more 65534 /setid pages=1 PAGE_FAULT.ALL CONTEXT_SWITCHES.VOLUNTARY
	[ "${values[0]}" -gt 0 ]
	is "${grown[0]}" 0 3
	[ "$lost" -ge 1 ]
}

@test "§3.3 step 4: the super-user sees them" {
	more 0 /setid pages=1 PAGE_FAULT.ALL
	is "${grown[0]}" 9000 10
}

@test "§3.3: hardware counts continue over an exec, exactly" {
	vm_require_arch arm64
	more 65534 /plain spins=1 inst_retired,usr inst_retired,usr
	is "${grown[0]}" 18000 $digit
	is "${grown[1]}" 18000 $digit
}

@test "§3.3 step 4: a user's hardware PMC counts not one instruction of a set-id program" {
	vm_require_arch arm64
	more 65534 /setid spins=1000 inst_retired,usr inst_retired
	[ "${values[1]}" -gt 0 ]
	is "${grown[0]}" 0
	# In the kernel, give or take a tick's work before the exec; the program's would be 18 million.
	is "${grown[1]}" 0 5000000
	more 0 /setid spins=1 inst_retired,usr
	is "${grown[0]}" 18000 $digit
}

# shared USER...: the same with per-task events, on a row that another owner uses for another event.
shared() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/hold /tmp/held; mkfifo /tmp/hold; sleep 1000 3>/tmp/hold & echo $! >/tmp/holding
		pmcx hold 7 cpu_cycles inst_retired </tmp/hold >/tmp/held & until grep -qs held /tmp/held; do usleep 10000; done'
	"$@"
	# shellcheck disable=SC2016
	vm_sh 'kill $(cat /tmp/holding)'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 7 ]'
}

@test "§3.3 step 4, reference trap 11: per-task events, which the kernel drops at a set-id exec" {
	vm_require_arch arm64
	shared more 65534 /setid spins=1 inst_retired,usr
	[ "${values[0]}" -gt 0 ]
	is "${grown[0]}" 0
	# The super-user's are reopened; events in between are missed.
	shared more 0 /setid spins=10000 inst_retired,usr
	[ "${grown[0]}" -gt 90000000 ]
	[ "${grown[0]}" -lt 200100000 ]
	shared more 65534 /plain spins=1 inst_retired,usr
	is "${grown[0]}" 18000 $digit
}

@test "the kernel has not complained" {
	vm_clean_log
}
