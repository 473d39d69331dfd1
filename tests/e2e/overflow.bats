#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Signals at overflows: a program that samples itself gets one for each, in the thread that it interrupts, and is
# ended by none.
# shellcheck disable=SC2154 # bats sets status and output

load helpers

setup() { in_tmpdir_with_daemon; }

IO=29 QUEUED=40				# SIGIO; a real-time signal, of which each one is queued

# prints LINE... -- ARG...: signalled prints these lines
prints() {
	local want=()

	while [ "$1" != -- ]; do want+=("$1"); shift; done
	run timeout 60 signalled "${@:2}"
	status_is 0
	[ "$output" = "$(printf '%s\n' "${want[@]}")" ] || { echo "$output" >&2; return 1; }
}

# refused PATTERN ARG...
refused() {
	run timeout 60 signalled "${@:2}"
	# shellcheck disable=SC2053 # a pattern
	[[ $status -eq 2 && $output == $1 ]] || { echo "exit $status: $output" >&2; return 1; }
}

# PERF-291, PERF-296: the signal reports data, without a ring or a wake.
@test "PERF-294, PERF-298: a signal for each overflow: stores and faults of a program" {
	need_breakpoints
	prints "100 100 0 -1" -- word 3 $IO handle start stores=300 stop stores=300 show
	prints "100 100 0 -1" -- word 3 $QUEUED handle limit=0 start stores=300 stop show
	run signalled page-faults 10 $IO handle start pages=1000 stop show
	read -r signals overflows unsent left <<<"$output"
	[ "$overflows" -ge 100 ]
	[ "$overflows" -le 110 ]
	[ "$signals $unsent $left" = "$overflows 0 -1" ]
}

@test "overflows in one system call: real-time signals are queued, of others one is pending" {
	run signalled page-faults 10 $QUEUED handle limit=0 start read=1000 stop show
	read -r signals overflows unsent left <<<"$output"
	[ "$overflows" -ge 100 ]
	[ "$signals $unsent $left" = "$overflows 0 -1" ]
	run signalled page-faults 10 $IO handle start read=1000 stop show
	read -r signals overflows unsent left <<<"$output"
	[ "$signals" -ge 1 ]
	[ "$signals" -lt "$overflows" ]
	[ "$unsent" -eq 0 ]
}

@test "interrupts of a clock: each tick is a signal" {
	run signalled CPU_CLOCK 1000000 $QUEUED handle limit=0 start spin=300 stop show
	read -r signals overflows unsent left <<<"$output"
	[ "$overflows" -ge 250 ]
	[ "$signals $unsent" = "$overflows 0" ]
}

@test "PERF-297, PERF-302: so many overflows, then none, until there are to be more" {
	need_breakpoints
	prints "5 5 0 0" "8 8 0 0" "8 8 0 2" "10 10 0 0" -- word 1 $IO handle limit=5 start stores=100 show \
		limit=3 stores=100 show limit=2 show stores=100 show
	prints "5 5 0 2" "15 15 0 -1" -- word 1 $IO handle limit=4 limit=3 start stores=5 show limit=0 stores=10 show
	refused "limit=*: 1000000001 further overflows are more than*" word 1 $IO handle limit=1000000001
}

@test "PERF-299: the thread that overflows has the signal" {
	run signalled page-faults 10 $QUEUED handle limit=0 start threads=4 pages=500 stop show own
	echo "$output"
	read -r signals overflows unsent left <<<"${lines[0]}"
	[ "$signals $unsent" = "$overflows 0" ]
	# A thread's last period is not full.
	[ "$overflows" -ge 180 ]
	read -r -a own <<<"${lines[1]}"
	[ "${#own[@]}" -eq 4 ]
	for n in "${own[@]}"; do
		[ "$n" -ge 45 ]
		[ "$n" -le 60 ]
	done
}

@test "a signal that would end the program is refused at the start, and not sent afterwards" {
	need_breakpoints
	refused "start: signal 29 would end this process, or is ignored: give it a handler first*" word 1 $IO start
	refused "start: signal 29 would*" word 1 $IO handle default start
	refused "limit=3: signal 40 would*" word 1 $QUEUED limit=3
	# The library blocks signals during its calls.
	prints "30 60 30 -1" "30 60 30 -1" -- word 1 $QUEUED handle limit=0 start stores=30 default stores=30 show show
	prints "30 60 30 -1" -- word 1 $IO handle start stores=30 default stores=30 show
	prints "10 20 10 -1" "15 25 10 -1" -- word 1 $IO handle start stores=10 default stores=10 show \
		handle stores=5 show
}

@test "unprivileged users have signals as well" {
	run run_as_nobody signalled page-faults 10 $IO handle start pages=1000 stop show
	read -r signals overflows unsent left <<<"$output"
	[ "$overflows" -ge 100 ]
	[ "$signals $unsent" = "$overflows 0" ]
}

@test "a program that waits for its signals blocks them" {
	need_breakpoints
	prints "0 10 0 -1" -- word 3 $QUEUED block limit=0 start stores=30 take=10 show
}

@test "a program that the process executes gets no signal of the PMC" {
	for signal in $IO $QUEUED; do
		run signalled page-faults 1 "$signal" handle limit=0 start exec
		status_is 0
		[ -z "$output" ]
	done
}

# PERF-295: counting modes
@test "PERF-295: what has no signals is refused, with the reason" {
	refused "pmc_allocate: PMC_F_SIGNAL: sched:sched_switch has no overflows*" sched:sched_switch 1 $IO
	refused "pmc_allocate: PMC_F_SIGNAL: OFFCPU_TIME has no overflows*" OFFCPU_TIME 1000 $IO
	for signal in 0 9 19 32 33 65 -1; do
		refused "limit=0: no program handles signal *" page-faults 1 "$signal" limit=0
	done
	client owner
	expect owner 'alloc EINVAL -- PMC_F_SIGNAL is for process-scope sampling only' alloc 3 15 0x20004 any 0x1000
	expect owner 'alloc EINVAL -- PMC_F_SIGNAL is for process-scope sampling only' alloc 0 15 0x20004 0 0x1000
	expect owner 'alloc EINVAL -- PMC_F_SIGNAL: only the owner*leave PMC_F_DESCENDANTS out' alloc 2 15 0x20004 any 0x1002
	workload w pages=1
	expect owner 'attach EPERM -- PMC_F_SIGNAL: only the owner*' alloc 2 15 0x20004 any 0x1000 attach "${WORKLOAD[w]}"
}

@test "the example of pmc_set_signal(3)" {
	sed -n '/^\.Bd -literal/,/^\.Ed/{/^\./d;s/\\e/\\/g;p}' "$BATS_TEST_DIRNAME/../../man/pmc_set_signal.3" >prog.c
	"${CC:-gcc}" -Wall -Werror -I"$BATS_TEST_DIRNAME/../../lib/include" -o prog prog.c -L"$BUILD/lib" -lpmc-compat
	LD_LIBRARY_PATH=$BUILD/lib run ./prog
	[[ $status -eq 0 && $output =~ ^[1-9][0-9]+0\ faults$ ]]
}

# PERF-292, PERF-293: programs wait for a log as for any pipe.
@test "samples are in the log as well, and select(2) and epoll(2) wait for it" {
	need_breakpoints
	run signalled word 3 $IO handle log start stores=300 stop wait show
	status_is 0
	[ "$output" = "100 100 0 -1" ]
}
