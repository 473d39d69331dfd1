#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Logs that depend on settings of the machine, which these tests change: this file runs alone.

load helpers
load secrets

teardown() {
	local name
	for name in "${!SYSCTL[@]}"; do echo "${SYSCTL[$name]}" >"/proc/sys/$name"; done
	end_secrets
}

# set_to NAME VALUE: changes a kernel setting for the duration of the test.
declare -gA SYSCTL
set_to() {
	[ -n "${SYSCTL[$1]:-}" ] || SYSCTL[$1]=$(<"/proc/sys/$1")
	echo "$2" >"/proc/sys/$1" || skip "/proc/sys/$1 cannot be set here"
}

@test "set-id programs whose events the kernel keeps: no sample of theirs either" {
	set_to fs/suid_dumpable 1
	secrets
	# At the same addresses in every process.
	secret deep-setid deep
	cat >open/spin <<-'END'
		cd open
		./deep-setid 3 1 500 50
		vexec ./deep-setid 3 1 500 50
		./dash-setid -p -c '../deep 3 1 500 50; :'
	END
	cp "$BUILD/tests/deep" deep
	as_user pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -n 1 -P CONTEXT_SWITCHES -O open/log dash open/spin
	pmcstat -q -R open/log >text
	refute grep deep text
	refute grep '^\.\.\. *0x4[0-9a-f]\{5\}$' text
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log dash open/spin
	pmcstat -q -R log >text
	grep -q '^\.\.\. *0x4[0-9a-f]\{5\}$' text
}

@test "kernel addresses: a user's log has addresses and names where perf and /proc/kallsyms show them to all" {
	local version
	for version in 10 3; do
		pmccontrol --tunable kern.hwpmc.logversion=$version
		set_to kernel/perf_event_paranoid 1
		set_to kernel/kptr_restrict 0
		in_kernel as_user
		names_kernel
		set_to kernel/kptr_restrict 1
		in_kernel as_user
		hides_kernel
		set_to kernel/kptr_restrict 2
		in_kernel as_user
		hides_kernel
		set_to kernel/perf_event_paranoid 2
		in_kernel as_user
		hides_kernel
		set_to kernel/kptr_restrict 0
		in_kernel as_user
		hides_kernel
	done
}

@test "kernel addresses: one capability shows them, another one names them, kptr_restrict=2 hides the names from all" {
	with_caps -all,+cap_38 true || skip "this kernel has no CAP_PERFMON"
	set_to kernel/perf_event_paranoid 2
	set_to kernel/kptr_restrict 1
	in_kernel with_caps -all,+cap_38
	shows_kernel
	in_kernel with_caps -all,+cap_38,+syslog
	names_kernel
	in_kernel with_caps -all,+syslog
	hides_kernel
	in_kernel env
	names_kernel
	set_to kernel/kptr_restrict 2
	in_kernel with_caps -all,+cap_38,+syslog
	shows_kernel
	in_kernel env
	shows_kernel
}

@test "kernel addresses: the settings at the PMC's allocation apply" {
	set_to kernel/perf_event_paranoid 1
	set_to kernel/kptr_restrict 0
	touch open/log open/next
	chmod 666 open/log open/next
	waits_to_become "${nobody[@]}" -- "$B/tests/load" -w switches=300
	go
	client a run_as_nobody
	expect a "alloc 0 *" alloc 2 15 0x2000b any 0
	set_to kernel/perf_event_paranoid 2
	expect a "start 0" setcount 1 log "$PWD/open/log" attach "$TARGET" start
	work_of_target
	expect a "endlog 0" stop endlog
	kill -KILL "$TARGET"
	pmcstat -q -R open/log >text
	names_kernel
	# The next one is another PMC.
	waits_to_become "${nobody[@]}" -- "$B/tests/load" -w switches=300
	go
	expect a "start 0" alloc 2 15 0x2000b any 0 setcount 1 log "$PWD/open/next" attach "$TARGET" start
	work_of_target
	expect a "endlog 0" stop endlog
	kill -KILL "$TARGET"
	mv open/next log
	pmcstat -q -R log >text
	hides_kernel
	part a
}

@test "kernel addresses: callers in user space stay, and so does the number of samples" {
	set_to kernel/perf_event_paranoid 2
	as_user pmcstat -q -E -n 1 -U -P CONTEXT_SWITCHES -p CONTEXT_SWITCHES -O open/log \
		deep 3 1 1 220
	mv open/log log
	pmcstat -q -R log >text
	refute python3 "$BATS_TEST_DIRNAME/leaks.py" log
	# Each nap is one switch, unless its timer is over first; switches of the process's end are in neither or both.
	# A slice that the log lacks, because this kernel hid a switch, takes its switches out of the count, but not out
	# of the samples.
	local count samples lost
	count=$(awk '$1 == "exitval" { print $4 }' text)
	samples=$(grep -c "^\.\.\. *$HIDDEN\$" text)
	echo "$count switches, $samples samples"
	lost_slices text
	[ "$lost" -gt 0 ] || [ "$count" -ge 200 ]
	[ "$lost" -gt 0 ] || [ "$samples" -le $((count + 5)) ]
	[ "$samples" -ge $((count - 5)) ]
	[ "$samples" -ge 200 ]
	# leaf and outer: the kernel's address is before them.
	[ "$(grep -A 3 "^\.\.\. *$HIDDEN\$" text | grep -c '^\.\.\. *0x40[0-9a-f]\{4\}$')" -ge 200 ]
}

@test "kernel addresses: nor are they shown with one PC per sample, or by any event that can be sampled" {
	set_to kernel/perf_event_paranoid 2
	as_user pmcstat -q -N -n 1 -P CONTEXT_SWITCHES -n 1 -P PAGE_FAULT.ALL -n 20000 -P CPU_CLOCK -n 20000 -P TASK_CLOCK \
		-n 1 -P CPU_MIGRATIONS -O open/log load switches=300 reads=300 pages=300 spins=10000000
	mv open/log log
	pmcstat -q -R log >text
	hides_kernel
}

@test "kernel addresses: a jump to a guessed kernel address does not reveal the name of the function there" {
	set_to kernel/perf_event_paranoid 2
	local at
	at=$(awk '$3 == "schedule" { print $1 }' /proc/kallsyms)
	as_user pmcstat -q -n 1 -P PAGE_FAULT.ALL -O open/log vexec --jump "$at" || true
	mv open/log log
	pmcstat -q -R log >text
	grep -q "$HIDDEN" text
	hides_kernel
}

@test "reports of a log without kernel addresses call all of it [kernel]" {
	set_to kernel/perf_event_paranoid 2
	as_user pmcstat -q -n 1 -U -P CONTEXT_SWITCHES -O open/log deep 3 1 1 200
	pmc report --csv=csv open/log
	grep -q '^CONTEXT_SWITCHES,deep,[0-9]*,\[kernel\],\[kernel\],' csv
	pmcstat -R open/log -G - >graph
	grep -q '\[kernel\] @ \[kernel\]' graph
	pmc report --folded=folded open/log
	grep -q 'deep;.*;main;outer;.*;\[kernel\]_\[k\] [0-9]*$' folded
	# No table of names is read, whichever is given.
	pmc report -k /boot --csv=same open/log
	cmp csv same
	run pmcannotate open/log "$BUILD/tests/deep"
	[[ $output == *'most lie in "[kernel]"'* ]]
}

# PERF-245, PERF-246
@test "sampling that the kernel pauses is counted, reported, and marked" {
	set_to kernel/perf_event_max_sample_rate 500
	run pmcstat -n 1 -P CLOCK.PROF -O log load spins=1000000000
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output =~ sampling\ was\ paused\ at\ least\ ([0-9]+)\ times.*perf_event_max_sample_rate ]]
	[ "${BASH_REMATCH[1]}" -ge 5 ]
	[ "$(pmcstat -R log | grep -c '^drop ')" -ge 1 ]
	grep -q 'the kernel pauses PMC 0x[0-9a-f]* of process .* kernel.perf_event_max_sample_rate=500 ' "$DAEMON_LOG"
}
