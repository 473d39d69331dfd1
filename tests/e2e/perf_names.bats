#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What perf's users type: pmc.perf(3).  Spellings that mean the same count the same; what is declined names its
# reason.  The grammar alone is in tests/unit/lib_perf.c, counts of hardware are in tests/vm/hardware.bats.
# shellcheck disable=SC2154 # bats sets status, output and stderr

load helpers

PAGE=$BATS_TEST_DIRNAME/../../man/pmc.perf.3

setup() { in_tmpdir_with_daemon; }
teardown() { stop_daemon; }

# refused SPEC PATTERN: pmcstat refuses the event, in one line
refused() {
	run --separate-stderr pmcstat -p "$1" true
	# shellcheck disable=SC2053 # a pattern
	[ "$status" -ne 0 ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == $2 ]] ||
		{ printf '%s: exit %s: %s\n' "$1" "$status" "$stderr" >&2; return 1; }
}

no_counters() { ! pmccontrol -L | grep -qE '^(IAP|K8|ARMV8)'; }

# page SENTENCE: the manual page declines it in these words
page() {
	sed -E 's/^\.[A-Z][a-z] //; s/\\&//g' "$PAGE" | tr -s ' \n' ' ' | grep -qF "$1" || { echo "not in the page: $1" >&2; return 1; }
}

# --- what is accepted -------------------------------------------------------------------------

@test "PERF-159, PERF-160: :u and :k count the side that usr and os count, and both are all" {
	run pmcstat -q -o rows -p page-faults:u -p page-faults,usr -p page-faults:k -p page-faults,os \
		-p page-faults:uk -p page-faults -p faults:u load reads=300
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
	read -r -a n <<<"$(tail -n 1 rows)"
	echo "${n[*]}"
	[ "${n[0]}" -gt 0 ]
	[ "${n[0]}" -eq "${n[1]}" ]
	[ "${n[0]}" -eq "${n[6]}" ]
	[ "${n[2]}" -eq "${n[3]}" ]
	[ "${n[4]}" -eq "${n[5]}" ]
	[ "$((n[0] + n[2]))" -le "${n[5]}" ]
}

# PERF-068, PERF-069, PERF-072
@test "perf's names of software events are taken" {
	for event in cpu-clock task-clock page-faults faults context-switches cs cpu-migrations migrations minor-faults \
		major-faults alignment-faults emulation-faults cgroup-switches; do
		run pmcstat -q -o rows -p $event true
		status_is 0
	done
}

# --- what is declined -------------------------------------------------------------------------

@test "PERF-064, PERF-065: what happens in the kernel has no side of user code" {
	for event in context-switches cs cpu-migrations cgroup-switches; do
		refused $event:u "*happens in the kernel: usr would count nothing*"
	done
	run pmcstat -q -o rows -p context-switches:k true
	[ "$status" -eq 0 ] || unless_hidden "$output"
	refused task-clock:u "*keeps the time of TASK_CLOCK without usr and os: leave them out, or sample it*"
	page "Context switches and migrations happen in the kernel, so that :u is refused for them"
}

@test "PERF-161, PERF-162, PERF-177, PERF-178: sides and states that are not separated" {
	refused page-faults:h '*"page-faults:h": perf*s modifier h has no meaning here: counts have a side of user code (usr)*'
	refused page-faults:I "*modifier I *a process is never idle*"
	refused page-faults:G "*modifier G *guests are processes here*"
	refused page-faults:H "*modifier H *the host's and its guests' events are not separated*"
	page "no side of a hypervisor"
	page "A process is never idle"
	page "Guests are processes"
}

@test "PERF-105, PERF-158, PERF-263: no PMC takes a PMU from the others; perf's other modifiers have their reasons, too" {
	refused page-faults:e "*modifier e *never takes all counters of a PMU from the others*"
	refused page-faults:D "*modifier D *every PMC keeps its counter*leave it out*"
	refused page-faults:S "*modifier S *samples have no values of other PMCs*"
	refused page-faults:W "*modifier W *no group has to be split*"
	refused page-faults:b "*modifier b *counted by a BPF program*"
	refused page-faults:R "*modifier R *no weights*"
	page "Samples have no values of other PMCs"
	page "One user's PMC never takes all counters of a PMU from the others"
}

@test "PERF-171, PERF-172, PERF-173, PERF-356: precise samples are declined, in every spelling" {
	for spec in page-faults:p page-faults:pp page-faults:ppp page-faults:P page-faults,precise=2; do
		refused $spec "*precise is for samples, and this PMC counts*"
		run --separate-stderr pmcstat -q -P $spec -O no.log true
		[[ $status -ne 0 && $stderr == *"precise="*": class SOFT has no precise samples, which are those of hardware's counters"* ]]
	done
	refused page-faults:pppp "*perf has p, pp, ppp and P, no more*"
	page "samples where the interrupt comes"
}

@test "PERF-031: no class takes a word that it does not know" {
	refused page-faults,cgroup=/nonexistent "*cgroup takes no value: *pmcstat -t cgroup:PATH*"
	for word in exclusive noidle nopin hv nohost frob; do
		refused page-faults,$word "*\"${word%%=*}\" is no qualifier of a software event: there are usr and os*"
		refused task-clock,os,$word "*\"${word%%=*}\" is no qualifier*"
		refused SOFT-CLOCK.HARD,$word "*\"${word%%=*}\" is no qualifier*"
		if [ -r /sys/kernel/tracing/events/syscalls/sys_enter_getpid/id ]; then
			refused syscalls:sys_enter_getpid,$word \
				"*\"${word%%=*}\" is no qualifier of a tracepoint: there are os and filter=EXPRESSION*"
		fi
	done
	page "A word that a class does not know is refused"
}

# PERF-188, PERF-189, PERF-190, PERF-191, PERF-192, PERF-193, PERF-194, PERF-195, PERF-196, PERF-197, PERF-198, PERF-199
@test "branch records of a machine without them are refused, of any side and kind, and no report has them" {
	for kind in usr os any any-call any-return ind-call abort-tx in-tx no-tx; do
		run --separate-stderr pmcstat -q -P page-faults,branch=$kind -O no.log true
		[[ $status -ne 0 && $stderr == *"branches are recorded by hardware"* ]]
		page $kind
	done
	run pmcstat report --branch log
	[[ $status -eq 64 && $output == *"branch"* ]]
	page "branch=hv is refused"
}

# PERF-174, PERF-234, PERF-235, PERF-236, PERF-238
@test "mappings of data, hypervisors, guests and exact addresses are declined" {
	for word in data hv guest exact; do
		refused page-faults,$word "*\"$word\" is no qualifier*"
	done
	for word in mem txn weight; do
		run pmcstat report --$word log
		[[ $status -eq 64 && $output == *"$word"* ]]
	done
	page "Reports do not use these values: a log has them, as perf's words."
	page "Logs have records of executable mappings only."
}

@test "PERF-051: instructions and cycles are never something else" {
	no_counters || skip "this machine has hardware counters: tests/vm/hardware.bats"
	for event in instructions instructions:u cycles cycles:k; do
		refused $event "*unknown event \"${event%:*}\", and here are no hardware counters (\"pmccontrol --doctor\" says why)*"
	done
	page "cycles is never the time stamp counter"
}

@test "PERF-037, PERF-094: a raw number needs a PMU" {
	no_counters || skip "this machine has hardware counters: tests/vm/hardware.bats"
	refused r1a2 '*"r1a2" is a number of the core*s PMU, and here are no hardware counters*--doctor*'
	refused r1a2:u '*"r1a2" is a number of the core*s PMU*'
	refused cpu/event=0x3c/u '*no PMU "cpu" whose counters pmcbpfd manages*'
}

@test "PERF-036, PERF-060, PERF-092, PERF-348: cache events that the machine lacks are neither listed nor taken" {
	no_counters || skip "this machine has hardware counters: tests/vm/hardware.bats"
	for event in L1-dcache-load-misses LLC-loads dTLB-load-misses branch-misses ref-cycles; do
		refused $event "*unknown event \"$event\"*"
		refute grep -q "$event" <(pmccontrol -L)
	done
	refused cache:L1D.READ.MISS '*unknown event "L1-dcache-load-misses"*'
	refused cache:L1D.LOAD.MISS "*write cache:ID.OP.RESULT with one of L1D, L1I, LL, DTLB, ITLB, BPU, NODE*"
	refused cache:L2.READ.MISS "*write cache:ID.OP.RESULT*"
}

@test "PERF-070, PERF-071, PERF-073: events that count nothing are no events" {
	for event in dummy bpf-output; do
		refused $event "*unknown event \"$event\"*"
	done
	refused soft-99 '*no SOFT event "99"*'
	refused soft-dummy '*no SOFT event "dummy"*pmccontrol -L*'
	page "dummy and bpf-output count nothing"
}

# PERF-114, PERF-201, PERF-275, PERF-355
@test "copies of the stack are declined: logs have call chains" {
	for word in user-stack user-stack=1024; do
		run --separate-stderr pmcstat -q -P "page-faults,$word" -O no.log true
		[[ $status -ne 0 && $stderr == *"\"${word%%=*}\" is no qualifier"* ]]
	done
	page "No sample has a copy of the stack"
}

@test "PERF-226: no log is overwritten" {
	run pmc record --overwrite -o log true
	[[ $status -eq 64 && $output == *overwrite* ]]
	page "A log is never overwritten"
}

# What prctl(2) stops are events that the process itself has opened.
@test "PERF-312, PERF-313: PMCs go on when a process stops its own perf events" {
	pmcstat -q -O log -n 100 -P page-faults python3 -c '
import ctypes, mmap
assert ctypes.CDLL(None).prctl(31, 0, 0, 0, 0) == 0	# PR_TASK_PERF_EVENTS_DISABLE
area = mmap.mmap(-1, 4096 * 4000, flags=mmap.MAP_PRIVATE)
area.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(4000):
	area[4096 * page] = 1'
	[ "$(pmcstat -q -R log | grep -c ^callchain)" -ge 40 ]
	page "stops the events that the process itself has opened"
}

# PERF-320
@test "PERF-098, PERF-341: a rate above the kernel's limit is refused, with the limit" {
	most=$(</proc/sys/kernel/perf_event_max_sample_rate)
	run --separate-stderr pmc record -F $((most + 1)) -e cpu-clock -o log true
	[ "$status" -ne 0 ]
	[[ $stderr == *"-F $((most + 1)): the kernel takes at most $most samples a second (kernel.perf_event_max_sample_rate)"* ]]
	refute test -e log
}
