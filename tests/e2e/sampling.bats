#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Samples of software events: how many, where, by which way they got there; and slices and exits of
# counting PMCs in the same logs.  The machine may be busy: bounds are stated where time plays a part.

load helpers
load ../logs
DEEP=$BUILD/tests/deep

TSC=0x10000 CLOCK=0x20000 LOCK=0x20003 FAULTS=0x20004 CPU_CLOCK=0x20009 SWITCHES=0x2000b
TREE=2 PROCCSW=4 PROCEXIT=8 CHAIN=0x80 BOTH=0x180
SAMPLES=0x21

setup() { in_tmpdir_with_daemon "${ROOM[@]}"; }

# The log's lines, in ./text.
text() { pmcstat -q -R log >text; }

lines_of() { grep -c "^$1 " text || true; }

# of TAG FIELD: the sum of that field over lines with that tag.
of() { awk -v tag="$1" -v f="$2" '$1 == tag { sum += $f } END { printf "%.0f\n", sum }' text; }

# between LOW VALUE HIGH
between() {
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ] || { echo "$2 is not in $1 ... $3" >&2; return 1; }
}

# --- the number of samples ----------------------------------------------------------------------

# PERF-008, PERF-095, PERF-096, PERF-249
@test "REQ-012, REQ-020, REQ-022, REQ-023, REQ-014: one sample for every period of faults" {
	pmcstat -q -E -n 10 -P PAGE_FAULT.ALL -n 1 -P PAGE_FAULT.MINOR -p PAGE_FAULT.ALL -O log \
		load pages=3000
	text
	count=$(of exitval 4)
	lost_slices text
	[ "$lost" -eq 0 ] || skip "the kernel hid a context switch of what is counted"
	[ "$count" -ge 3000 ]
	grep '^callchain .* 0xfff20f00 ' text >tenth
	grep '^callchain .* 0xfff20f01 ' text >each
	# The command's start is in both counts or in neither, give or take a few faults.
	between $((count / 10 - 5)) "$(wc -l <tenth)" $((count / 10 + 5))
	between $((count - 50)) "$(wc -l <each)" $((count + 50))
}

# PERF-061
@test "REQ-012: clocks sample at their rates, each switch is a sample" {
	# While a hypervisor has the CPU there are no samples, and CPU time only if it does not report stolen time:
	# no run has less CPU time than the work takes, and none more samples than it lasted.
	ms=999999 took=() ticks=() clock=()
	for run in 0 1 2; do
		pmcstat -q -E -n 5 -P CLOCK.HARD -n 1000000 -P CPU_CLOCK -p TASK_CLOCK -O log load spins=400000000
		took[run]=$(pmcstat -q -R log --json | python3 -c 'import json, sys
print(int(json.load(sys.stdin)["seconds"] * 1000))')
		text
		this=$(($(of exitval 4) / 1000000))
		[ $this -ge $ms ] || ms=$this
		ticks[run]=$(grep -c '^callchain.* 0xfff20f00 ' text)
		clock[run]=$(grep -c '^callchain.* 0xfff20f01 ' text)
		echo "$this of ${took[run]} ms, ${ticks[run]}, ${clock[run]}"
	done
	# The kernel skips samples on a busy machine, and adds none.
	for run in 0 1 2; do
		between $((ms * 4 / 10 / 5 - 2)) "${ticks[run]}" $((took[run] * 11 / 10 / 5 + 2))
		between $((ms * 4 / 10 - 2)) "${clock[run]}" $((took[run] * 11 / 10 + 2))
		between $((clock[run] / 10 - 2)) "${ticks[run]}" $((clock[run] * 2 / 5 + 2))
	done
	pmcstat -q -E -n 1 -P CONTEXT_SWITCHES -p CONTEXT_SWITCHES.VOLUNTARY -p CONTEXT_SWITCHES -O log load switches=500
	text
	voluntary=$(awk '$1 == "exitval" && $2 == "0xfff30f01" { print $4 }' text)
	all=$(awk '$1 == "exitval" && $2 == "0xfff30f02" { print $4 }' text)
	# A sleep that ends before the CPU was given away is no switch; switches of the command's start are in one
	# or both. A slice ends with one switch.
	lost_slices text
	between $((490 - lost)) "$voluntary" 600
	# The last switch of an ended process is not in the kernel's event.
	between $((voluntary - lost - 1)) "$all" 1000000
	between $((all - 10)) "$(lines_of callchain)" $((all + lost + 10))
}

@test "REQ-021: only the target is sampled" {
	workload a && workload b pages=2000
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 1 attach "${WORKLOAD[a]}"
	expect owner 'start 0' start
	work b
	expect owner 'endlog 0' endlog
	text
	[ "$(lines_of callchain)" -eq 0 ]
}

# PERF-304
@test "REQ-022, REQ-029: the latest period counts, and can be set while the PMC is stopped" {
	workload w pages=1000 && workload again pages=1000
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 1000000
	# Including the period of an existing target.
	ask owner attach "${WORKLOAD[w]}" setcount 100 attach "${WORKLOAD[again]}"
	expect owner 'start 0' start
	expect owner 'setcount EBUSY*' setcount 10
	work w
	ask owner stop
	expect owner 'flushlog 0' flushlog
	text
	between 9 "$(lines_of callchain)" 11
	ask owner setcount 10
	# STOP and START keep the period.
	ask owner start stop start stop
	expect owner 'start 0' start
	work again
	ask owner stop
	expect owner 'endlog 0' endlog
	text
	between 99 "$(grep -c "^callchain ${WORKLOAD[again]} " text)" 102
}

@test "a stopped PMC writes nothing; earlier samples are in the log" {
	workload w pages=500 && workload again pages=500
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 1 attach "${WORKLOAD[w]}"
	ask owner attach "${WORKLOAD[again]}" start
	work w
	expect owner 'stop 0' stop
	expect owner 'flushlog 0' flushlog
	text
	sampled=$(lines_of callchain)
	# shellcheck disable=SC2154 # of work
	between "$minflt" "$sampled" $((minflt + 20))
	work again
	expect owner 'endlog 0' endlog
	text
	[ "$(lines_of callchain)" -eq "$sampled" ]
}

@test "C-16: samples, sweeps and buffers change the driver's statistics" {
	workload w pages=2000
	client owner
	expect owner 'figures 0 processed=0 full=0 requests=0 failed=0 sweeps=0' figures
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 1 attach "${WORKLOAD[w]}" start
	work w
	ask owner stop
	expect owner 'endlog 0' endlog
	expect owner 'figures 0 *' figures
	[[ $reply =~ processed=([0-9]+)\ full=([0-9]+)\ requests=([0-9]+)\ failed=([0-9]+)\ sweeps=([0-9]+) ]]
	text
	[ "${BASH_REMATCH[1]}" -eq "$(lines_of callchain)" ]
	[ "${BASH_REMATCH[2]}" -eq 0 ]
	[ "${BASH_REMATCH[3]}" -ge $(($(stat -c %s log) / 262144 + 1)) ]
	[ "${BASH_REMATCH[4]}" -eq 0 ]
	[ "${BASH_REMATCH[5]}" -ge 1 ]
}

@test "a return address of 0 ends the chain, and is not in it" {
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log nocaller 200
	text
	# All of the loop's samples have one address, and only that.
	awk '$1 != "..." { if (n == 1) alone[pc]++; n = 0 } $1 == "..." { n++; pc = $2 } $1 == "..." && $2 ~ /^0x0*$/ { zero++ }
		END { for (pc in alone) if (alone[pc] >= 200) found = 1; exit !found || zero }' text || { tail -20 text; false; }
	refute grep -q '^\.\.\. *0x0*123450$' text
}

@test "a kernel address behind a program's address ends the chain, and is not in it" {
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log nocaller 200 0xffffffff81234560
	text
	awk '$1 != "..." { if (n == 1) alone[pc]++; n = 0 } $1 == "..." { n++; pc = $2 }
		END { for (pc in alone) if (alone[pc] >= 200) found = 1; exit !found }' text || { tail -20 text; false; }
	refute grep -q '^\.\.\. *0x0*\(123450\|ffffffff81234560\)$' text
	# A program's address is a frame if it is code; a walk along frame pointers alone takes it as it is.
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log nocaller 200 0x123460
	text
	refute grep -q '^\.\.\. *0x0*123460$' text
	[ "$(pmc filter -j log - | grep -c '"end":"unmapped"')" -ge 200 ]
	pmccontrol --tunable kern.hwpmc.unwind=0
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log nocaller 200 0x123460
	text
	[ "$(grep -c '^\.\.\. *0x0*123460$' text)" -ge 200 ]
}

@test "C-16: a full ring: every sample is in the log, or counted as lost and marked" {
	# Rings of the usual size.
	stop_daemon
	start_daemon "${ROOM[@]:0:2}"
	workload w pages=60000 && workload again pages=20
	one_cpu w again				# each CPU has a ring
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $FAULTS any 0 setcount 1 attach "${WORKLOAD[w]}"
	ask owner attach "${WORKLOAD[again]}" start
	suspend_daemon				# nothing reads the ring
	work w
	resume_daemon
	expect owner 'flushlog 0' flushlog
	work again
	expect owner 'stop 0' stop
	expect owner 'endlog 0' endlog
	text
	expect owner 'figures 0 *' figures
	[[ $reply =~ processed=([0-9]+)\ full=([0-9]+) ]]
	echo "$reply, $(lines_of callchain) in the log"
	[ "${BASH_REMATCH[1]}" -ge 60000 ]
	[ "${BASH_REMATCH[2]}" -ge 1000 ]
	[ $(($(lines_of callchain) + BASH_REMATCH[2])) -eq "${BASH_REMATCH[1]}" ]
	# After earlier records and before later ones, with the number of samples; a report has it too.  What the processes of
	# the whole machine do meanwhile finds no room, either: marks without a number.
	grep '^drop' text
	awk '$1 == "drop" && $2 > 0' text >marks
	[ "$(wc -l <marks)" -eq 1 ]
	[ "$(awk '{ print $2 }' marks)" = "${BASH_REMATCH[2]}" ]
	pmc report log 2>told >/dev/null
	grep -q "lacks at least ${BASH_REMATCH[2]} records .*, at $(grep -c "^drop" text) places\?$" told
	awk -v w="${WORKLOAD[w]}" '$1 == "drop" && $2 > 0 { gap = 1 } $1 == "callchain" && gap && $2 == w { exit 1 }' text
	[ "$(awk '$1 == "drop" && $2 > 0 { gap = 1 } $1 == "callchain" && gap' text | wc -l)" -ge 20 ]
}

# --- addresses ----------------------------------------------------------------------------------

# PERF-255
@test "REQ-013, REQ-046, REQ-047: the sampled address first, then its callers, 8 in all with the defaults of 2012" {
	stop_daemon
	start_daemon -o kern.hwpmc.callchaindepth=8 -o kern.hwpmc.logbuffersize=4 -o kern.hwpmc.nbuffers=64
	pmcstat -q -n 1 -P CLOCK.HARD -O log deep 20 300000000 0 0
	text
	chains u <text >frames
	n=0
	while read -r -a pc; do
		inside "${pc[0]}" leaf || continue	# functions of the loader and the C library
		n=$((n + 1))
		[ ${#pc[@]} -eq 8 ]
		for at in "${pc[@]:1}"; do inside "$at" outer; done
	done <frames
	[ "$n" -ge 10 ]
}

# PERF-101
@test "REQ-048: without PMC_F_CALLCHAIN a sample has one address" {
	pmcstat -q -N -n 1 -P CLOCK.HARD -O log deep 20 300000000 0 0
	text
	[ "$(lines_of callchain)" -ge 10 ]
	[ "$(lines_of '\.\.\.')" -eq "$(lines_of callchain)" ]
	chains u <text | head -n 400 | { while read -r pc; do ! inside "$pc" leaf || n=$((n + 1)); done; [ "$n" -ge 10 ]; }
}

@test "REQ-047: kern.hwpmc.callchaindepth limits chains, from one upwards" {
	for depth in 1 3 40; do
		stop_daemon
		start_daemon -o kern.hwpmc.callchaindepth=$depth
		pmcstat -q -n 1 -P CLOCK.HARD -O log deep 20 150000000 0 0
		text
		chains u <text >frames
		longest=$(awk '{ if (NF > max) max = NF } END { print max }' frames)
		# leaf, outer 21 times, main; functions below have frames or not, and the loader's may be more.
		if [ $depth -lt 23 ]; then
			[ "$longest" -eq $depth ]
		else
			between 23 "$longest" $depth
		fi
	done
}

@test "kernel and user side: each sample has the interrupted one" {
	pmcstat -q -n 1 -P CLOCK.HARD -P PAGE_FAULT.ALL -P CONTEXT_SWITCHES -O log deep 3 50000000 100 80
	text
	grep -q '^callchain .* 0xfff20f00 .* u$' text
	# User code's faults are its own, a switch is the kernel's, which may hide it from tracers.
	[ "$(grep -c '^callchain .* 0xfff20f01 .* u$' text)" -ge 100 ]
	[ "$(grep -c '^callchain .* 0xfff20f02 .* s$' text)" -ge 50 ]
	refute grep '^callchain .* 0xfff20f02 .* u$' text
	# The address determines the side.
	chains s <text | refute grep -q '0x[0-7f]\{1,12\}\( \|$\)'
	chains s <text >kernel && chains u <text >user
	refute awk '{ for (i = 1; i <= NF; i++) if (length($i) != 18 || $i !~ /^0xffff/) found = 1 }
		END { exit !found }' kernel
	refute grep 0xffff user
}

# PERF-179, PERF-180
@test "PMC_F_USERCALLCHAIN: the kernel's addresses, then the addresses of the user code below" {
	workload w switches=150
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $SWITCHES any $BOTH setcount 1 attach "${WORKLOAD[w]}" start
	work w
	ask owner stop
	expect owner 'endlog 0' endlog
	text
	chains s <text >both
	[ "$(wc -l <both)" -ge 100 ]
	# Kernel addresses up to the first user address, and none after it.
	awk '$1 !~ /^0xffff/ { exit 1 }
		{ side = 0; for (i = 1; i <= NF; i++) { if ($i !~ /^0xffff/) side = 1; else if (side) exit 1 } }
		side { n++ } END { if (n < 100) exit 1 }' both
}

# --- processes ----------------------------------------------------------------------------------

@test "every thread is sampled, later threads too; children only with DESCENDANTS" {
	for flags in 0 $TREE; do
		rm -f log
		workload w threads=2 late=2 children=1 forks=1 pages=200
		client owner
		expect owner 'log 0' log log
		ask owner caps $SAMPLES alloc 2 15 $FAULTS any $flags setcount 1 attach "${WORKLOAD[w]}" start
		work w
		ask owner stop
		expect owner 'endlog 0' endlog
		part owner
		text
		awk '$1 == "callchain" { n[$2]++ } END { for (pid in n) print pid, n[pid] }' text >pids
		own=$(awk -v pid="${WORKLOAD[w]}" '$1 == pid { print $2 }' pids)
		# Five threads with 200 pages each.
		# shellcheck disable=SC2154 # of work
		between $((minflt - 5)) "$own" $((minflt + 50))
		[ "$own" -ge 1000 ]
		if [ $flags = 0 ]; then
			[ "$(wc -l <pids)" -eq 1 ]
		else
			[ "$(wc -l <pids)" -eq 3 ]
			refute awk '$2 < 200 { found = 1 } END { exit !found }' pids
		fi
		rest w
	done
}

# PERF-163
@test "mappings are logged once each, whichever PMCs of a process sample or count" {
	for pmcs in '-n 1 -P CLOCK.HARD' '-E -n 1 -P CLOCK.HARD -p PAGE_FAULT.ALL' \
		'-E -p PAGE_FAULT.ALL -n 1 -P CLOCK.HARD' '-n 1 -P CLOCK.HARD -P PAGE_FAULT.ALL'; do
		# shellcheck disable=SC2086 # words
		pmcstat -q $pmcs -O log load pages=10
		text
		[ "$(grep -c '^map-in .*/load"$' text)" -eq 1 ] || { echo "$pmcs" >&2; cat text >&2; false; }
	done
}

@test "REQ-028, REQ-029, REQ-030: system scope samples the CPU it was allocated on" {
	taskset -c 0 load spins=60000000000 3>&- & hog=$!
	WORKLOAD[hog]=$hog
	wait_for is_program $hog load
	pmcstat -q -c 0 -n 1 -S CLOCK.HARD -l 2 -O log 2>/dev/null
	rest hog
	text
	[ "$(lines_of callchain)" -ge 20 ]
	[ "$(awk '$1 == "callchain" { print $4 }' text | sort -u)" = 0 ]
	awk -v pid=$hog '$1 == "callchain" && $2 == pid && $NF == "u"' text | grep -q .
	# The log has the mappings of all processes, and the processes that existed.
	grep -q "^map-in    $DAEMON_PID .*/pmcbpfd\"$" text
	grep -q "^map-in    -1 0xffff" text
	grep -q "^proccreate $DAEMON_PID " text
}

@test "without a row, PMCs that sample or log are refused like others" {
	local row="no row of class SOFT"
	client owner
	for ((i = 0; i < 16; i++)); do
		expect owner "alloc 0 0x*" alloc 3 15 "$FAULTS" any 0
	done
	expect owner "alloc EINVAL -- $row*" alloc 3 15 "$FAULTS" any $PROCEXIT
	expect owner "alloc EINVAL -- $row*" alloc 3 15 "$FAULTS" any $PROCCSW
	expect owner "alloc EINVAL -- $row*" caps $SAMPLES alloc 2 15 "$FAULTS" any 0
	expect owner "release 0" release
}

@test "REQ-015: all four modes at once, in one log" {
	workload w pages=100
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 0 15 $CLOCK 0 0 setcount 1
	expect owner 'start 0' start
	ask owner alloc 2 15 $FAULTS any 0 setcount 1 attach "${WORKLOAD[w]}"
	expect owner 'start 0' start
	ask owner alloc 1 15 $SWITCHES 0 0
	expect owner 'start 0' start
	ask owner alloc 3 15 $FAULTS any $PROCEXIT attach "${WORKLOAD[w]}"
	expect owner 'start 0' start
	work w
	count_of owner
	[ "$count" -ge 100 ]
	rest w
	wait_for rows_of_exit owner
	expect owner 'endlog 0' endlog
	text
	[ "$(awk '$1 == "allocatedyn" { print $2 }' text | sort -u | wc -l)" -eq 4 ]
	[ "$(grep -c '^callchain .* 0xfff20f01 ' text)" -ge 100 ]
	[ "$(lines_of exitval)" -eq 1 ]
	between "$count" "$(of exitval 4)" $((count + 20))
}

rows_of_exit() {
	ask "$1" flushlog
	text && grep -q '^exitval' text
}

# --- limits -------------------------------------------------------------------------------------

# PERF-099
@test "the longest period: a PMC with it starts, and never samples" {
	local event
	workload w pages=1000
	client owner
	expect owner 'log 0' log log
	for event in $FAULTS $CPU_CLOCK $CLOCK; do
		expect owner 'start 0' caps $SAMPLES alloc 2 15 $event any 0 setcount 0xffffffffffffffff attach "${WORKLOAD[w]}" start
		expect owner 'start 0' caps $SAMPLES alloc 0 15 $event 0 0 setcount 0xffffffffffffffff start
	done
	work w
	expect owner 'endlog 0' endlog
	text
	[ "$(lines_of callchain)" -eq 0 ]
}

@test "a period of 0 is EINVAL; events that cannot interrupt are EOPNOTSUPP" {
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $CLOCK any 0
	expect owner 'start EINVAL -- a sampling PMC needs a period*' start
	expect owner 'start EINVAL*' setcount 0 start
	expect owner 'start 0' setcount 1 start
	ask owner alloc 0 15 $CLOCK 0 0
	expect owner 'start EINVAL -- a sampling PMC needs a period*' start
	for mode in 0 2; do
		cpu=any; [ $mode = 2 ] || cpu=0
		expect owner 'alloc EOPNOTSUPP -- class TSC cannot sample*' caps 0x20 alloc $mode 0 $TSC $cpu 0
		expect owner 'alloc EOPNOTSUPP -- LOCK.FAILED can be counted, not sampled' caps $SAMPLES alloc $mode 15 $LOCK $cpu 0
		expect owner 'alloc EOPNOTSUPP -- PAGE_FAULT.READ can be counted*' alloc $mode 15 0x20005 $cpu 0
	done
	expect owner 'rw EINVAL -- a sampling PMC has no count' rw 0x20 0
}

# --- slices and exits -----------------------------------------------------------------------------

# PERF-252
@test "REQ-056, REQ-058, REQ-059, REQ-060: slices and exits of every process of a tree, and their sums" {
	run pmcstat -q -d -E -W -p PAGE_FAULT.ALL -p TASK_CLOCK -O log load children=2 forks=2 below=1 pages=300 switches=40
	unless_hidden "$output"
	[ "$status" -eq 0 ]
	text
	lost_slices text
	# The command, two children, two forks and a child of each.
	[ "$(lines_of exitval)" -eq 14 ]
	[ "$(awk '$1 == "exitval" { print $3 }' text | sort -u | wc -l)" -eq 7 ]
	[ "$(lines_of fork)" -ge 6 ]
	awk '$1 == "cswval" { n[$2 $3]++; slices[$2 $3] += $4 }
		$1 == "exitval" { if (slices[$2 $3] != $4 || n[$2 $3] < 20) { print "differs: " $0; bad++ } }
		END { exit bad > 0 }' text
	# A lost slice belongs to one process.
	awk -v lost="$lost" '$1 == "exitval" && $2 == "0xfff30f00" && $4 < 300 { bad++ } END { exit bad > lost }' text
}

@test "REQ-058, REQ-059: a process's count at its exit equals the kernel's figure" {
	workload w pages=777
	client owner
	expect owner 'log 0' log log
	ask owner caps 0x20 alloc 3 15 $FAULTS any $PROCEXIT attach "${WORKLOAD[w]}"
	expect owner 'start 0' start
	work w
	count_of owner
	# shellcheck disable=SC2154 # of work
	between "$minflt" "$count" $((minflt + 20))
	rest w
	wait_for rows_of_exit owner
	expect owner 'read 0 *' read
	[ "${reply#read 0 }" -eq "$(of exitval 4)" ]
	grep -q "^exitval   0xfff30f00 ${WORKLOAD[w]:-[0-9]*} " text
	[ "$(lines_of cswval)" -eq 0 ]			# not requested
}
