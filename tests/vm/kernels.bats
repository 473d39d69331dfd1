#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The daemon on every kernel of the matrix: what it needs is there, its programs load and attach; where it
# cannot work it says so.

load helpers

supported() {
	[ "$VM_ROLE" = supported ] || skip "pmcbpfd does not run on $VM_KERNEL"
}

refused() {
	[ "$VM_ROLE" = refused ] || skip "pmcbpfd runs on $VM_KERNEL"
}

@test "REQ-189: -t: nothing is missing" {
	supported
	run --separate-stderr vm pmcbpfd -t
	status_is 0
	says "pmcbpfd: nothing is missing"
	[[ -z $stderr || $stderr == *": the module pmcbpf_msr is not loaded"* && $stderr != *$'\n'* ]]
}

# PERF-011, PERF-366, PERF-367, PERF-368, PERF-369, PERF-372
@test "a kernel that is too old is refused by name, by -t and at start" {
	refused
	reason="Linux $VM_RELEASE is older than 6.1"
	run vm pmcbpfd -t
	status_is 1
	has "$reason"
	for line in "${lines[@]}"; do
		[[ $line == "pmcbpfd: "* ]]
	done
	run vm pmcbpfd -f
	status_is 1
	has "$reason"
	[ "${#lines[@]}" -eq 1 ]
	run vm pmcbpfd
	status_is 1
	has "$reason"
	run vm ls /run/pmcbpf/pmc.sock
	[ "$status" -ne 0 ]
}

@test "a client without a daemon prints the reason in one line" {
	refused
	run vm pmcstat -p TASK_CLOCK true
	status_is 69
	[ "${#lines[@]}" -le 2 ]
	has "pmcstat: ERROR: Initialization of the pmc(3) library failed"
}

@test "REQ-131: the classes are announced, without any other message" {
	supported
	run vm cat /tmp/pmcbpfd.log
	[ "${#lines[@]}" -eq 1 ]
	has "hwpmc: SOFT/16/64/0x67<INT,USR,SYS,REA,WRI>"
	case $VM_ARCH in
	amd64) has " TSC/1/64/0x20<REA>" ;;
	arm64) has " ARMV8/7/" ;;
	esac
}

@test "each program has a short way through the verifier: paths of a loop do not multiply" {
	supported
	vm pmcstat -q -P CPU_CLOCK -O /tmp/pmc.log true	# programs that sample are loaded now
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'for p in $(pidof pmcbpfd); do cat /proc/$p/fdinfo/* 2>/dev/null; done | grep ^verified_insns | sort -nrk 2'
	echo "${#lines[@]} programs; the longest: ${lines[0]}"
	[ "${#lines[@]}" -ge 30 ]
	[ "${lines[0]##*$'\t'}" -le 30000 ]
}

@test "pmccontrol -l: every row of every CPU is free" {
	supported
	run vm pmccontrol -l
	status_is 0
	for cpu in 0 1; do
		has "#CPU $cpu:
#N  NAME             CLASS  STATE    ROW-DISP
 0  SOFT0            SOFT   ENABLED  FREE"
	done
	output=$(grep -v -e ' MSR ' -e ' BREAKPOINT ' <<<"$output")	# the machine determines the registers
	rows=41
	[ "$VM_ARCH" = amd64 ] || rows=47
	[ "$(grep -c ' ENABLED  ' <<<"$output")" -eq $((2 * rows)) ]
	[ "$(grep -cE 'ENABLED +(FREE|STANDALONE) *$' <<<"$output")" -eq $((2 * rows)) ]
}

@test "pmccontrol -L: the events of every class" {
	supported
	run vm pmccontrol -L
	status_is 0
	[ "${lines[0]}" = SOFT ]
	for event in CLOCK.HARD PAGE_FAULT.ALL PAGE_FAULT.READ PAGE_FAULT.WRITE CONTEXT_SWITCHES \
		CPU_MIGRATIONS LOCK.FAILED; do
		grep -qx "	$event" <<<"$output"
	done
	if [ "$VM_ARCH" = arm64 ]; then
		grep -qx ARMV8 <<<"$output"
		grep -qx '	inst_retired' <<<"$output"
	fi
}

@test "REQ-010: every software event counts in a process and on a CPU" {
	supported
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'for e in $(pmccontrol -L | sed -n "2,/^[^\t]/{/^\t/p}"); do
			[ $e != OFFCPU_TIME ] || continue	# sampled only: offcpu.bats
			pmcstat -q --csv -C -p $e -c 0 -s $e taskset 1 load switches=5 2>/tmp/p ||
				{ echo "$e:"; cat /tmp/p; exit 1; }
			echo $e $(tail -n 1 /tmp/p | cut -d, -f2,3 | tr , " ")
		done'
	echo "$output"
	status_is 0
	[ "${#lines[@]}" -ge 16 ]
	# load must have a count, and so must the CPU that it was bound to
	for event in PAGE_FAULT.ALL PAGE_FAULT.MINOR PAGE_FAULT.READ PAGE_FAULT.WRITE TASK_CLOCK CPU_CLOCK; do
		[[ $output =~ (^|$'\n')$event\ ([0-9]+)\ ([0-9]+) ]]
		[ "${BASH_REMATCH[2]}" -gt 0 ]
	done
	for event in CONTEXT_SWITCHES CONTEXT_SWITCHES.VOLUNTARY CPU_CLOCK; do
		[[ $output =~ (^|$'\n')$event\ ([0-9]+)\ ([0-9]+) ]]
		[ "${BASH_REMATCH[3]}" -gt 0 ]
	done
}

# Those that only /proc/kallsyms has are code that ftrace and BPF make, and ends of sections, where no function is.
@test "the kernel names each function by an address inside of it, as /proc/kallsyms does" {
	supported
	run vm kallsyms
	echo "$output" | tail -n 20
	status_is 0
	[[ ${lines[-1]} =~ ^([0-9]+)\ functions,\ [0-9]+\ of\ modules,\ ([0-9]+)\ of\ BPF ]]
	[ "${BASH_REMATCH[1]}" -ge 20000 ]
	[ "${BASH_REMATCH[2]}" -ge 30 ]
	! grep -E '^(missing|alias)' <<<"$output" |
		grep -vE '^missing (bpf_dispatcher_|bpf__|_[a-z_]*text$|\[__builtin__)|^alias [a-z_]*_end: '
}

# Of a program without frame pointers, which signs return addresses on arm64, and whose leaves have theirs in a register
# there.
@test "call chains by call frame information: no frame differs from libdwfl's on the same registers and stack" {
	supported
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh "$VM_AWAIT; $VM_FILES_ARE_READ"'status=0
		pid=$(pidof pmcbpfd | tr " " "\n" | sort -n | head -n 1)
		pmccontrol --tunable kern.hwpmc.debugflags=sampling=read
		pmcstat -q -n 1000000000 -S PAGE_FAULT.ALL -O /tmp/all & stat=$!
		await 20000 "pmccontrol -l | grep -q \"ENABLED.*PAGE_FAULT\""
		unwound vfork
		await 20000 files_are_read
		for shape in leaf signal sized compiled vfork anywhere; do
			truth -d $pid unwound $shape >/tmp/truth 2>/tmp/wrong || { status=1; head -n 6 /tmp/wrong; }
			echo "$shape $(sed -n "s/^kernel: samples/samples/p" /tmp/truth)"
			sed -n "s/^kernel: cut: / /p" /tmp/truth	# for a failure
		done
		kill -INT $stat
		wait $stat
		exit $status'
	echo "$output"
	status_is 0
	[ "$(grep -c samples <<<"$output")" -eq 6 ]
	while IFS=' ,' read -r shape _ samples _ whole _; do
		[ "$samples" -ge 20 ] && [ $((whole * 100)) -ge $((samples * 95)) ]
	done < <(grep samples <<<"$output")
}

@test "the kernel has not complained" {
	vm_clean_log
}
