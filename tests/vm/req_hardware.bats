#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the conformance list says of hardware counters, on a PMU whose counters have 32 bits (arm64; six of
# any event, one of cycles).  The guest has one CPU: counts are exact.

load helpers

setup_file() {
	vm_start --daemon --smp 1
	vm_sh 'echo 0 >/proc/sys/kernel/randomize_va_space'
}

setup() {
	vm_require_arch arm64
}

# rows DISPOSITION - the number of hardware rows with it
rows() {
	vm_sh 'pmccontrol -l | grep -c "ARMV8 *[A-Z]* *$1"' "$1" || true
}

# numbers - the output of `run`, in v[]; a round of its steps is two instructions
numbers() {
	echo "$output"
	status_is 0
	read -r -a v <<<"${lines[-1]}"
}

@test "REQ-124, REQ-125: a count continues beyond 2^31 and 2^32, to the instruction" {
	run vm_sh 'pmcstat -q --csv -C -o /tmp/rows -p inst_retired,usr load spins=0001000000 >/dev/null
		tail -n 1 /tmp/rows'
	few=${output#*,}
	VM_TIMEOUT=900 run vm_sh 'pmcstat -q --csv -C -o /tmp/rows -p inst_retired,usr load spins=2200000000 \
		>/dev/null && tail -n 1 /tmp/rows'
	status_is 0
	is "${output#*,}" $((few + 2 * 2199000000)) 1	# strtoul() looks twice at a leading zero
	[ "${output#*,}" -gt $((1 << 32)) ]
}

# The kernel starts a register of 32 bits at 2^31: it wraps within the last step, 8 of 260 million from the first.
@test "REQ-125, REQ-126, REQ-011: read from user space, steps are exact on both sides of the wrap" {
	vm_sh 'echo 1 >/proc/sys/kernel/perf_user_access'
	VM_TIMEOUT=900 run vm pmcx self 130000000 inst_retired,usr spin
	numbers
	for step in 2 3; do
		is "${v[step]}" 260000000 2000
	done
	is "${v[4]}" 520000000 2000
	is "${v[5]}" 780000000 2000
}

@test "REQ-018, REQ-095, REQ-097, REQ-124: presets wider than the register, by SETCOUNT and by RW" {
	run vm pmcx preset 1000000 inst_retired,usr 0
	numbers
	is "${v[0]}" 0
	step=${v[1]}
	[ "$step" -gt 2000000 ]
	[ "$step" -lt 2001000 ]
	for value in 0x7fffffff 0xffffff00 0x123456789abcdef; do
		run vm pmcx preset 1000000 inst_retired,usr $value
		numbers
		is "${v[0]}" $((value))
		is $((v[1] - v[0])) "$step" 60
		is "${v[2]}" $((value))
		is $((v[3] - v[2])) "$step" 60
	done
}

@test "REQ-067, REQ-072, REQ-136, REQ-074: hardware rows are reserved, refused, and released" {
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 7 ]'	# the daemon may not have seen the last client's end
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/held; mkfifo /tmp/hold; pmcx hold 7 cpu_cycles inst_retired </tmp/hold >/tmp/held &
		exec 3>/tmp/hold; until grep -qs held /tmp/held; do usleep 10000; done
		sleep 1000 3>/tmp/hold & echo $! >/tmp/holder'
	is "$(rows THREAD)" 7
	# system scope finds none
	run vm pmcstat -c 0 -s inst_retired -l 1
	status_is 71
	has "[Invalid argument]"
	# nor can a row be disabled
	row=$(vm_sh 'pmccontrol -l | sed -nE "s/^ ([0-9]+) +ARMV8-3 .*/\1/p"')
	run vm pmccontrol -c 0 -d "$row"
	status_is 71
	has "[Device or resource busy]"
	vm_sh 'kill $(cat /tmp/holder); rm /tmp/hold'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 7 ]'
	# a disabled slot cannot be used: six are left
	vm pmccontrol -c 0 -d "$row"
	is "$(rows STANDALONE)" 1
	six="-p inst_retired -p inst_retired -p inst_retired -p inst_retired -p inst_retired"
	# shellcheck disable=SC2086 # words
	run vm pmcstat -q -p cpu_cycles $six -p inst_retired true
	status_is 71
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 6 ]'
	# shellcheck disable=SC2086 # words
	run vm pmcstat -q -p cpu_cycles $six true
	status_is 0
	vm pmccontrol -c 0 -e "$row"
	is "$(rows FREE)" 7
}

@test "REQ-068, REQ-069, REQ-070, REQ-072: system scope on every row, and process scope finds none" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'rm -f /tmp/filled; mkfifo /tmp/fill; pmcx fill 6 0 inst_retired </tmp/fill >/tmp/filled &
		exec 3>/tmp/fill; until grep -qs ready /tmp/filled; do usleep 10000; done
		sleep 1000 3>/tmp/fill & echo $! >/tmp/holder'
	is "$(rows STANDALONE)" 6
	run vm pmcstat -q -p inst_retired true
	status_is 71
	has "[Invalid argument]"
	vm_sh 'kill $(cat /tmp/holder); rm /tmp/fill'
	vm_until 60 '[ "$(pmccontrol -l | grep -c "ARMV8-.*FREE")" -eq 7 ]'
	run vm pmcstat -q -p inst_retired true
	status_is 0
}

@test "the kernel has not complained" {
	vm_clean_log
}
