#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Messages name what is in the way, and what would work.
# shellcheck disable=SC2154 # bats sets status, output and stderr

load helpers

setup() { in_tmpdir_with_daemon; }
teardown() { stop_daemon; }

# says PATTERN COMMAND...: the command fails, and its last line matches.
says() {
	local pattern=$1
	shift
	run --separate-stderr "$@"
	# shellcheck disable=SC2053 # a pattern
	[ "$status" -ne 0 ] && [[ ${stderr##*$'\n'} == $pattern ]] ||
		{ printf '%s: exit %s: %s\n' "$*" "$status" "$stderr" >&2; return 1; }
}

# near WRONG RIGHT: of an event.
near() { says "*\"$1\" (did you mean \"$2\"?)*pmccontrol -L*" pmcstat -p "$1" true; }

@test "a mistyped event: the nearest name is suggested, and missing counters are not blamed" {
	near task_clok TASK_CLOCK
	near page-fault-al PAGE_FAULT.ALL
	near context-swiches CONTEXT_SWITCHES
	near TCS TSC
	says '*no SOFT event "CLOCK.HRAD" (did you mean "CLOCK.HARD"?)*' pmcstat -p SOFT-CLOCK.HRAD true
	run pmcstat -p task_clok true
	[[ $output != *"no hardware counters"* ]]
	run pmcstat -p nosuch true
	[[ $output != *"did you mean"* ]]
}

@test "probes of kinds that no class counts are no PMC events" {
	for event in fentry:vfs_read rawtracepoint:sys_enter; do
		says "*\"$event\" is a probe's name: probes are not PMCs here, except for tracepoints*" pmcstat -p $event true
	done
	run pmcstat -p sched:sched_switch true
	[[ $output != *"hardware counters"* ]]
}

@test "a mistyped tunable" {
	says '*no tunable is called "kern.hwpmc.nsample" (did you mean "kern.hwpmc.nsamples"?); pmcbpf.conf(5)*' \
		pmccontrol --tunable kern.hwpmc.nsample
	says '*no tunable is called "kern.hwpmc.nbufers" (did you mean "kern.hwpmc.nbuffers"?)*' \
		pmccontrol --tunable kern.hwpmc.nbufers=1
}

@test "a file or folder in place of the socket is reported as such" {
	echo plain >plain
	PMCBPF_SOCKET=$PWD/plain says "*$PWD/plain is a file, not the socket of pmcbpfd: set PMCBPF_SOCKET to its socket, or unset it*" \
		pmcstat -p clock.hard true
	PMCBPF_SOCKET=$PWD says "*$PWD is a folder, not the socket of pmcbpfd: *" pmcstat -p clock.hard true
	PMCBPF_SOCKET=/etc/passwd says "*/etc/passwd is a file, not the socket of pmcbpfd: *" \
		run_as_nobody pmcstat -p clock.hard true
	PMCBPF_SOCKET=$PWD/nowhere says "*no pmcbpfd answers at $PWD/nowhere: *" pmcstat -p clock.hard true
}
