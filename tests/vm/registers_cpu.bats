#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Registers of CPUs through the module.  QEMU keeps what is written to the address registers of machine checks
# that there have not been, so the counts are what the test writes there.

load helpers

setup_file() {
	case ${PMCBPF_VM_KERNEL:-6.1-x86} in
	6.12-x86) vm_start --module msr ;;
	*) return 0 ;;
	esac
	write_list
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'msr=/sys/module/msr/parameters/allow_writes
		[ ! -e $msr ] || echo on >$msr'
	vm_kmod
	vm_daemon -o msr.list=/tmp/msr.list
}

# write_list LINE... - appends these to the lines that most tests use
write_list() {
	vm_sh 'printf "%s\n" "0x402 0xffffffffffffffff 0 x86 any WIDE test" \
		"0x406 0xffff 0 x86 any NARROW test" "0x40a 0xffff 0xff00 x86 admin CONTROL test" \
		"0x10 0xffffffffffffffff 0 x86 any TSC test" "0xe8 0xffffffffffffffff 0 x86 any APERF test" \
		"0xc0010299 0x1fffff 0 x86 any - test" "0xc001029b 0xffffffff 0 x86 any ENERGY.PKG test" \
		"0x34 0xffffffff 0 x86 any SMI test" "$@" >/tmp/msr.list' "$@"
}

setup() {
	[ -n "${VM_ID:-}" ] || skip "once is enough, on 6.12-x86"
	vm regs 0:0x402:0 0:0x406:0 0:0x40a:0 1:0x402:0 1:0x406:0 1:0x40a:0
}

teardown() {
	[ -z "${VM_ID:-}" ] || vm_clean_log
}

# answers TEXT... - the answers, except "ok", of a client to the lines of standard input; their ends may be patterns
answers() {
	local i=0 text

	run vm_sh 'printf "%s" "$1" | pmci | grep -v ": ok$"' "$(cat)
"
	echo "$output"
	[[ $output != *"!:"* && $output != *"no such command"* ]]
	[ "${#lines[@]}" -eq $# ]
	for text; do
		# shellcheck disable=SC2053 # a pattern
		[[ ${lines[i]} == $text ]] || { echo "answer $i: ${lines[i]}; wanted: $text" >&2; return 1; }
		i=$((i + 1))
	done
}

@test "the rows: their readers, registers without a reader, and the doctor" {
	run vm pmc list-events -u MSR
	status_is 0
	has $'MSR-WIDE:\tfor CPUs: module; for processes: module'
	has $'MSR-CONTROL:\tfor CPUs: module; for processes: module; needs CAP_PERFMON'
	# One of QEMU's registers reads 0 this way, but perf executes the instruction.
	has $'MSR-TSC:\tfor CPUs: perf; for processes: perf'
	[[ $output != *APERF* && $output != *ENERGY* ]]
	run vm pmccontrol --doctor
	status_is 0
	has $'\nok      module pmcbpf_msr: reads the 8 registers of /tmp/msr.list, for processes too'
	has "this CPU lacks 2 of them"
	has "it taints the kernel"
	run vm pmccontrol -l
	has " MSR-WIDE "
}

# As README shows it.
@test "pmcstat -w: the time stamp counter and the SMIs of a CPU" {
	run vm pmcstat -c 0 -w 1 -l 2 -s MSR-TSC -s MSR-SMI
	echo "$output"
	status_is 0
	grep -qE '^# +s/00/MSR-TSC +s/00/MSR-SMI *$' <<<"$output"
	[ "$(grep -cE '^ +[1-9][0-9]+ +0 *$' <<<"$output")" -eq 2 ]
}

@test "a CPU's register counts the differences of the values written to it" {
	answers 'read: 1000' 'read: 0' 'read: 18446744073709551566' 'read: 5' 'read: 32' 'read: 34' 'read: 65569' <<-'END'
		! regs 1:0x402:100 0:0x402:7 1:0x406:0xfff0
		alloc a sc 1 MSR-WIDE
		alloc b sc 0 MSR-0x402
		alloc c sc 1 MSR.narrow
		start a
		start b
		start c
		! regs 1:0x402:1100
		read a
		read b
		! regs 1:0x402:50
		read a
		stop a
		! regs 1:0x402:70 0:0x402:9
		write a 5
		read a
		! regs 1:0x406:0x10
		read c
		! regs 1:0x406:0x12
		read c
		! regs 1:0x406:0x11
		read c
	END
}

@test "a wide register is read without the daemon, a narrow one through it; and not after the PMC has stopped" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'printf "%s\n" "alloc a sc 1 MSR-WIDE" "start a" "! kill -STOP \$(pidof pmcbpfd)" \
		"! regs 1:0x402:77" "read a" "! kill -CONT \$(pidof pmcbpfd)" "read a" "stop a" "! regs 1:0x402:99" \
		"read a" | pmci | grep -v ": ok$"'
	says $'read: 77\nread: 77\nread: 77'
}

@test "select= writes the permitted bits while the PMC runs, and restores them" {
	answers 'read: 0' "read: $((0x10000 - 0x2200))" 'read: 65536' \
		'alloc: EBUSY select: register 0x40a of CPU 1 is written by a PMC held by this process*' \
		'alloc: EPERM select: /tmp/msr.list lets 0xff00 of register 0x40a be written, not 0x1*' \
		'alloc: EPERM select: /tmp/msr.list does not let register 0x402 be written*' "read: $((0x20000 - 0x2200))" \
		'read: 131072' <<-'END'
		! regs 1:0x40a:0x3434 0:0x40a:0x3434
		alloc a sc 1 MSR-WIDE,select=0x40a:0x1200
		alloc b sc 1 MSR-CONTROL
		start b
		read b
		start a
		read b
		stop a
		read b
		alloc c sc 1 MSR-NARROW,select=0x40a:0
		alloc c sc 0 MSR-NARROW,select=0x40a:1
		alloc c sc 0 MSR-NARROW,select=0x402:1
		start a
		read b
		release a
		read b
	END
}

@test "registers that are not on the list; a new list at SIGHUP, unless PMCs are on rows" {
	answers 'alloc: EPERM register 0x40e is not on the list /tmp/msr.list; *' <<-'END'
		alloc a sc 1 MSR-0x40e
	END
	write_list '0x40e 0xff 0 x86 any NEW test'
	# shellcheck disable=SC2016 # the guest's shell expands it
	answers 'read: 3' <<-'END'
		alloc a sc 1 MSR-WIDE
		start a
		! kill -HUP $(pidof pmcbpfd)
		! until grep -q "registers are in use: their lists stay" /tmp/pmcbpfd.log; do usleep 20000; done
		! regs 1:0x402:3
		read a
	END
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	vm_until 60 'pmc list-events MSR | grep MSR-NEW'
	answers 'read: 4' <<-'END'
		! regs 1:0x40e:0x20
		alloc a sc 1 MSR-NEW
		start a
		! regs 1:0x40e:0x24
		read a
	END
}

@test "a CPU that goes offline and comes back" {
	answers 'read: 10' 'read: ENXIO *offline*' 'alloc: ENXIO *offline*' 'read: 10' 'read: 15' \
		'read: EBUSY CPU 1 was offline meanwhile, *' 'read: 7' <<-'END'
		alloc a sc 1 MSR-WIDE
		alloc b sc 1 MSR-NARROW
		start a
		start b
		! regs 1:0x402:10
		read a
		! echo 0 >/sys/devices/system/cpu/cpu1/online
		read a
		alloc c sc 1 MSR-CONTROL
		! echo 1 >/sys/devices/system/cpu/cpu1/online
		read a
		! regs 1:0x402:15
		read a
		read b
		release b
		alloc b sc 1 MSR-NARROW
		! regs 1:0x406:0
		start b
		! regs 1:0x406:7
		read b
	END
}

@test "the module stays while a daemon uses it, and serves the next one after a kill" {
	run vm rmmod pmcbpf_msr
	[ "$status" -ne 0 ]
	vm_daemon_stop KILL
	vm_until 60 'rmmod pmcbpf_msr'
	vm_daemon -o msr.list=/tmp/msr.list
	run vm pmcstat -c 1 -s MSR-0x402 true
	has "no reader for register 0x402: the module pmcbpf_msr is not loaded"
	vm_kmod
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	vm_until 60 'pmc list-events MSR | grep MSR-WIDE'
	answers 'read: 6' <<-'END'
		alloc a sc 1 MSR-WIDE
		start a
		! regs 1:0x402:6
		read a
	END
}
