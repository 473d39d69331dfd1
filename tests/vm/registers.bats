#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Registers of processes: programs read them through the module at every switch.  In QEMU no register
# counts but the ones that a test writes itself; on arm64 there is the virtual counter.

load helpers

setup_file() {
	case ${PMCBPF_VM_KERNEL:-6.1-x86} in
	6.1-x86 | 6.12-x86) vm_start --module msr ;;
	6.1-arm64 | 6.12-arm64) vm_start --smp 1 ;;
	*) return 0 ;;
	esac
	# 0x402 is the address of a machine check, of which there has been none: QEMU keeps any value written.
	vm_sh 'echo 0 >/proc/sys/kernel/randomize_va_space
		printf "%s\n" "0x402 0xffffffffffffffff 0 x86 any WIDE test" \
			"0x406 0xffff 0 x86 any NARROW test" "0xc0000103 0xffffffff 0 x86 any CPU test" \
			"0xdf02 0xffffffffffffffff 0 arm64 any CNTVCT test" >/tmp/msr.list
		msr=/sys/module/msr/parameters/allow_writes
		[ ! -e $msr ] || echo on >$msr'
	late_module
}

# late_module - starts the daemon, loads the module and restarts the daemon: earlier refusals go to files
late_module() {
	case $VM_ARCH in amd64) event=MSR-0x402 ;; *) event=MSR-0xdf02 ;; esac
	vm_daemon -o msr.list=/tmp/msr.list
	vm pmcstat -p $event true >"$BATS_FILE_TMPDIR/absent" 2>&1 || true
	vm_kmod
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'kill -HUP $(pidof pmcbpfd)'
	# shellcheck disable=SC2016
	vm_until 60 'pmcstat -s $1 -c 0 true' $event
	vm pmcstat -p $event true >"$BATS_FILE_TMPDIR/late" 2>&1 || true
	vm_daemon_stop
	vm_daemon -o msr.list=/tmp/msr.list
}

setup() {
	[ -n "${VM_ID:-}" ] || skip "there is no module for $PMCBPF_VM_KERNEL"
}

teardown() {
	[ -z "${VM_ID:-}" ] || vm_clean_log
}

# counts "VALUE..." OPTION... - pmcstat's final values of its PMCs
counts() {
	local wanted=$1

	shift
	run vm pmcstat -q --csv -C "$@"
	echo "$output"
	status_is 0
	[ "$(tail -n 1 <<<"$output" | cut -d, -f2- | tr , ' ')" = "$wanted" ]
}

# set_all VALUE - both registers on both CPUs, while nothing is measured
set_all() {
	vm regs "0:0x402:$1" "0:0x406:$1" "1:0x402:$1" "1:0x406:$1"
}

@test "without the module processes have no registers; a module loaded later is used after a restart" {
	run cat "$BATS_FILE_TMPDIR/absent"
	has "pmcstat: ERROR: Cannot allocate process-mode pmc"
	[ "$VM_ARCH" != amd64 ] || has "the module pmcbpf_msr is not loaded"
	run cat "$BATS_FILE_TMPDIR/late"
	has "pmcstat: ERROR: Cannot allocate process-mode pmc"
	has "was not loaded when pmcbpfd started"
	run vm rmmod pmcbpf_msr
	[ "$status" -ne 0 ]
}

@test "a process's registers count only while it runs, modulo their width, on every CPU" {
	vm_require_arch amd64
	set_all 0xfff0
	counts "1007 65570 0" -p MSR-WIDE -p MSR-NARROW -p MSR-CPU regs \
		0:0x402:0xfff1 0:0x406:5 1:0x402:0x103d8 1:0x406:2 0:0x402:0xfff7 0:0x406:0xffff 1 0:0x406:0
}

@test "descendants count if requested, whatever other processes write to the registers" {
	vm_require_arch amd64
	set_all 0
	counts 111 -d -p MSR-WIDE regs 0:0x402:1 +0:0x402:11 +1:0x402:100
	set_all 0
	counts 101 -p MSR-WIDE regs 0:0x402:1 +1:0x402:10 1:0x402:110 +0:0x402:20
	set_all 0
	counts 0 -d -p MSR-WIDE sh -c 'for i in 1 2 3 4 5 6 7 8; do regs 0 1 0; done'
	counts 0 -d -p MSR-CPU sh -c 'for i in 1 2 3 4 5 6 7 8; do regs 0 1 0; done'
}

@test "slices and processes in logs add up to the count" {
	vm_require_arch amd64
	set_all 0
	run vm_sh 'pmcstat -q -d -E -W -p MSR-WIDE -O /tmp/log regs 0:0x402:1 +0:0x402:11 1:0x402:100 0:0x402:20
		pmcstat -R /tmp/log'
	echo "$output"
	status_is 0
	[ "$(awk '$1 == "exitval" { n += $NF } END { print n }' <<<"$output")" = 120 ]
	[ "$(awk '$1 == "cswval" { n += $NF } END { print n }' <<<"$output")" = 120 ]
}

# Two targets, which move between the CPUs, and the PMCs of two owners, whose row has one source.  b always runs,
# and is read while it does.
@test "targets on two CPUs have their own counts, read while they run, stopped, set" {
	vm_require_arch amd64
	set_all 0
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && mkfifo to0 from0 to1 from1 to2 from2
		exec 3<>to0 4<>from0 5<>to1 6<>from1 7<>to2 8<>from2
		regs - <to0 >from0 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- & a=$!
		regs busy <to1 >from1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- & b=$!
		pmci <to2 >from2 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- & c=$!
		echo "echo \$1 >&3; read x <&4" >a
		echo "echo \$1 >&5; read x <&6" >b
		echo "echo \$* >&7; read x <&8; echo \$x" >c
		printf "%s\n" "alloc a tc 0 MSR-WIDE" "attach a $a" "! sh c alloc b tc 0 MSR-WIDE" "! sh c attach b $b" \
			"! sh a 0:0x402:100" "! sh b 1:0x402:200" "start a" "! sh c start b" \
			"! sh a 0:0x402:1100" "read a" "! sh c read b" \
			"! sh b 1:0x402:250" "read a" "! sh c read b" \
			"! regs 0:0x402:2000 1:0x402:2000" "read a" "! sh c read b" \
			"! sh a 1:0x402:2001" "read a" "! sh c read b" \
			"! sh b 0:0x402:2007" "read a" "! sh c read b" \
			"stop a" "! sh a 1:0x402:9999" "read a" "write a 5" \
			"start a" "! sh a 1:0x402:10000" "read a" \
			"! sh c stop b" "! sh b 0:0x402:2008" "! sh c read b" "read a" |
			pmci | grep -v ": ok$"
		kill $a $b $c'
	echo "$output"
	status_is 0
	says "$(printf 'read: %s\n' 1000 0 1000 50 1000 50 1001 50 1001 57 1001 6 57 6)"
}

@test "a process's virtual counter ticks once in 16 instructions, to the slice" {
	vm_require_arch arm64
	for spins in 1000 1000000; do
		run vm pmcstat -q --csv -C -p MSR-CNTVCT -p inst_retired load spins=$spins
		echo "$output"
		status_is 0
		IFS=, read -r _ ticks instructions <<<"$(tail -n 1 <<<"$output")"
		[ "$instructions" -ge $((2 * spins)) ]
		# Up to 30 are between the two at each end of a slice, of which there are a few.
		is $((16 * ticks)) "$instructions" 500
	done
}

# instructions ROUNDS - the user instructions of a process, of which each round is two; in $count
instructions() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	VM_TIMEOUT=900 run vm_sh 'pmcstat -q --csv -C -o /tmp/rows -p inst_retired,usr load spins=$1 >/dev/null &&
		tail -n 1 /tmp/rows' "$1"
	status_is 0
	count=${output#*,}
}

@test "hardware counters that programs read through the module: exact, also beyond their width" {
	vm_require_arch arm64
	run vm pmccontrol --doctor
	echo "$output"
	has "for processes too, and hardware counters at context switches"
	instructions 0001000000
	few=$count
	instructions 0001000000
	[ "$count" -eq "$few" ]
	# The kernel starts a counter of 32 bits at 2^31.
	instructions 1200000000
	is "$count" $((few + 2 * 1199000000)) 1	# strtoul() looks twice at a leading zero
}

@test "hardware counters that programs read through the module: others take counters and give them back meanwhile" {
	vm_require_arch arm64
	instructions 0200000000
	few=$count
	# shellcheck disable=SC2016
	run vm_sh 'hog 3 >/tmp/hog & hog=$!
		until grep -q ready /tmp/hog; do usleep 10000; done
		pmcstat -q --csv -C -o /tmp/rows -p inst_retired,usr load spins=0200000000 >/dev/null & counts=$!
		for n in 1 2 3 4 5 6; do
			kill $hog; wait $hog
			hog 3 >/tmp/hog & hog=$!
			until grep -q ready /tmp/hog || ! kill -0 $counts; do usleep 10000; done
		done
		wait $counts; kill $hog; tail -n 1 /tmp/rows'
	echo "$output"
	[ "${lines[-1]#*,}" -eq "$few" ]
}

# woken COMMAND... - the user instructions of a process from one sleep to the next; the command runs before START
woken() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh "$VM_AWAIT; $VM_ASLEEP"'
		cd /tmp && rm -f load to from && mkfifo to from
		load -w spins=0001000000 >load & load=$!
		await 10000 grep -q ready load "&&" asleep $load
		exec 3<>to 4<>from
		pmci <to >from 3>&- 4>&- & pmci=$!
		say() { echo "$*" >&3; read -r answer <&4; echo "${answer#read: }"; }
		say alloc a tc 0 inst_retired,usr; say alloc b tc 0 cpu_cycles,usr
		"$@" || exit
		say attach a $load; say attach b $load
		say start a; say start b
		kill -USR1 $load
		await 10000 [ '"'"'$(wc -l <load)'"'"' -gt 1 ] "&&" asleep $load
		say read a
		counters
		kill $load $pmci' "$@"
	echo "$output"
	status_is 0
}

@test "a hardware counter is read through the module only after it has agreed with the kernel" {
	vm_require_arch arm64
	woken true
	agreed=${lines[6]}
	[ "${lines[*]:7}" = "used used" ]
	run vm pmccontrol --doctor
	[[ $output != *disagreed* ]]
	# As if the module had read another counter.
	woken counters mix
	[ "${lines[*]:7}" = used ]
	is "${lines[6]}" "$agreed" 200	# the figures that it prints differ in length
	run vm pmccontrol --doctor
	echo "$output"
	has "hardware counters at context switches (1 disagreed with the kernel's values, and are read by the kernel)"
}
