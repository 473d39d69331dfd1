#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# /dev/pctr of pctrd, which the kernel's CUSE makes, under a program that knows nothing of it (tests/pctr/prog.c).
# amd64 guests have no counters: software events stand in for them; arm64 ones have, and count exactly.

load helpers

setup_file() {
	if [[ ${PMCBPF_VM_KERNEL:-} == *arm64 ]]; then
		vm_start --daemon --module cuse --smp 1
	else
		vm_start --daemon --module cuse
	fi
}

setup() {
	# Functions: user and kernel, user, kernel; enabled.
	if [ "$VM_ARCH" = arm64 ]; then
		both=0x430008 user=0x410008 kernel=0x420008
		mode=
	else
		both=0x430076 user=0x410076 kernel=0x420076
		mode="-o pctr.soft=1"
	fi
}

teardown() {
	vm_sh 'killall pctrd 2>/dev/null; true'
	vm_until 60 '! pidof pctrd'
	vm_clean_log
}

# serve [OPTION...] - starts pctrd and waits for the device
# shellcheck disable=SC2120 # not all pass options
serve() {
	local pid

	pid=$(vm_spawn /tmp/pctrd.log pctrd -f "$@")
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_until 60 'grep -q "^pctrd: serving" /tmp/pctrd.log || ! kill -0 $1' "$pid"
	vm grep -q "^pctrd: /dev/pctr is a device (CUSE)" /tmp/pctrd.log || { vm cat /tmp/pctrd.log; return 1; }
}

# prog WORD... - runs tests/pctr/prog.c, with its answers in lines[]
prog() {
	run vm pctr-prog "$@"
	echo "$output"
	status_is 0
}

# answers LINE... - were exactly these
answers() {
	says "$(printf '%s\n' "$@")"
}

@test "PCTR-01, PCTR-52: a device that any user reads and root sets" {
	# shellcheck disable=SC2086 # words
	serve $mode
	run vm_sh 'stat -c "%F %a %u %g" /dev/pctr; cat /sys/class/cuse/pctr/dev; stat -c "%t %T" /dev/pctr'
	[ "${lines[0]}" = "character special file 644 0 0" ]
	is "${lines[1]%:*}" "0x${lines[2]% *}"
	is "${lines[1]#*:}" "0x${lines[2]#* }"
	run vm su -s /bin/sh alice -c 'pctr-prog rdonly read set 0 0 wronly'
	[[ ${lines[0]} =~ ^00000000\ 00000000\ 00000000\ 00000000\ [0-9]+\ 0\ 0\ 0\ 0$ ]]
	[ "${lines[1]}" = EPERM ]
	[ "${lines[2]}" = EACCES ]
	# It is removed with its server.
	vm_sh 'kill $(pidof pctrd)'
	vm_until 60 '! pidof pctrd && ! [ -e /dev/pctr ] && ! [ -e /run/pmcbpf/pctr ] && ! [ -e /run/pmcbpf/pctr.sock ]'
}

@test "PCTR-39, PCTR-42, PCTR-43: without counters: refusals, and their errors" {
	vm_require_arch amd64
	serve
	for open in rdonly wronly rdwr; do
		prog $open read set 0 $both set 3 0 set 0 0x80000 set 4 $both request 0x6300 0 request 0x5401 0
		[[ ${lines[0]} =~ ^00000000\ 00000000\ 00000000\ 00000000\ [1-9][0-9]*\ 0\ 0\ 0\ 0$ ]]
		answers "${lines[0]}" ENODEV ENODEV ENODEV EINVAL EINVAL ENOTTY
	done
}

@test "PCTR-11, PCTR-14, PCTR-40, PCTR-41, PCTR-42: with counters" {
	# shellcheck disable=SC2086 # words
	serve $mode
	prog rdonly set 3 $both set 3 0x80000 set 4 0 rdwr set 3 0x200000 set 3 0x100000 set 3 0x80000 set 3 $both \
		wronly set 3 0 bad 0 bad 3 bad -1
	answers EPERM EPERM EINVAL EINVAL EINVAL EINVAL ok ok EFAULT EFAULT EFAULT
	prog rdonly read wronly read
	[[ ${lines[0]} == "00000000 00000000 00000000 00000000 "* && ${lines[1]} == "00000000 00000000 "* ]]
}

@test "PCTR-04, PCTR-06, PCTR-08, PCTR-12, PCTR-53: request numbers of Linux and of OpenBSD, the device and libpctr" {
	# shellcheck disable=SC2086 # words
	serve $mode
	prog request 0x80046308 $both request 0x40046309 $user request 0x40386301 0 read
	fn="00${both#0x} 00${user#0x} 00000000 00000000"
	[[ ${lines[2]} == "$fn "* && ${lines[3]} == "$fn "* ]]
	run vm_sh 'PCTR_DEVICE=/run/pmcbpf/pctr LD_PRELOAD=libpctr.so.0 pctr-prog rdonly read set 0 0 rdwr set 2 "$1" set 3 0x80000
		pctr-prog read' $both
	echo "$output"
	[[ ${lines[0]} == "$fn "* ]]
	[ "${lines[1]} ${lines[2]} ${lines[3]}" = "EPERM ok EINVAL" ]
	[[ ${lines[4]} == "00${both#0x} 00${user#0x} 00${both#0x} 00000000 "* ]]
}

@test "PCTR-09, PCTR-44, PCTR-45, PCTR-46, PCTR-47: settings are system-wide, values are the caller's CPU's" {
	vm_require_arch amd64
	serve -o pctr.soft=1
	# Page faults of any process: twenty thousand of them on CPU 0.  Each answer comes from another process.
	prog set 0 0x4300c0
	for cpu in 0 1; do
		prog cpu $cpu read
		read -r -a values <<<"${lines[1]}"
		before[cpu]=${values[5]}
	done
	vm taskset 1 load pages=20000
	for cpu in 0 1; do
		prog cpu $cpu rdonly read
		read -r -a values <<<"${lines[1]}"
		[ "${values[0]}" = 004300c0 ]
		after[cpu]=${values[5]}
	done
	[ $((after[0] - before[0])) -ge 20000 ]
	[ $((after[1] - before[1])) -lt 10000 ]
	# The same function again begins at 0; function 0 is off.
	prog cpu 0 set 0 0x4300c0 read set 0 0 read
	read -r -a values <<<"${lines[2]}"
	[ "${values[5]}" -lt 20000 ]
	[[ ${lines[4]} == "00000000 "*" 0 0 0 0" ]]
}

@test "PCTR-44: a CPU that was offline has the setting when it comes back" {
	vm_require_arch amd64
	serve -o pctr.soft=1
	vm_one_cpu
	prog set 1 $both
	answers ok
	vm_all_cpus
	# The CPU counts from the first reading on, or for up to a second already.
	prog cpu 1 read loop 1000000 read
	read -r -a values <<<"${lines[1]}"
	read -r -a later <<<"${lines[2]}"
	[ "${later[6]}" -gt "${values[6]}" ]
}

@test "PCTR-44: pmcbpfd ends and is back: the functions are the same, the counters start at 0" {
	# CPU 0 counts far more before than after.
	if [ "$VM_ARCH" = arm64 ]; then
		work=spins=100000000
	else
		both=0x4300c0 work=pages=20000
	fi
	# shellcheck disable=SC2086 # words
	serve $mode
	prog set 0 $both
	vm taskset 1 load $work
	prog cpu 0 read
	read -r -a before <<<"${lines[1]}"
	[ "${before[5]}" -ge 20000 ]
	vm_daemon_stop KILL
	prog cpu 0 read set 1 $both
	[[ ${lines[1]} == "00${both#0x} 00000000 "*" 0 0 0 0" ]]
	[ "${lines[2]}" = ENXIO ]
	vm_daemon
	prog cpu 0 read
	read -r -a after <<<"${lines[1]}"
	[ "${after[0]}" = "00${both#0x}" ]
	[ "${after[5]}" -lt "${before[5]}" ]
	vm taskset 1 load $work
	prog cpu 0 read
	read -r -a later <<<"${lines[1]}"
	[ $((later[5] - after[5])) -ge 20000 ]
	vm grep -q "pmcbpfd is back" /tmp/pctrd.log
}

@test "a killed pctrd can be started again, and only one runs at a time" {
	# shellcheck disable=SC2086 # words
	serve $mode
	prog set 0 $both
	run vm pctrd -f
	status_is 1
	has "already running"
	vm_sh 'pctr-prog loop 1 read & killall -9 pctrd; wait'
	vm_until 60 '! pidof pctrd && ! [ -e /dev/pctr ]'
	# Its counters were released.
	vm_until 60 '! pmccontrol -l | grep -q STANDALONE'
	# shellcheck disable=SC2086 # words
	serve $mode
	prog read
	[[ ${lines[0]} == "00000000 "*" 0 0 0 0" ]]
}

@test "a foreign file at /dev/pctr stays, and is reported" {
	vm_sh 'echo mine >/dev/pctr'
	vm_spawn /tmp/pctrd.log pctrd -f >/dev/null
	vm_until 60 'grep -q "^pctrd: serving" /tmp/pctrd.log'
	run vm cat /tmp/pctrd.log
	has "/dev/pctr is not pctrd's and stays as it is"
	vm_sh 'killall pctrd'
	vm_until 60 '! pidof pctrd'
	run vm cat /dev/pctr
	says mine
	vm rm /dev/pctr
}

@test "callers that are killed, many at a time, and poll, read and write" {
	# shellcheck disable=SC2086 # words
	serve $mode
	vm_sh ': >/tmp/runs
		for i in 1 2 3 4; do
			(while :; do pctr-prog read read read; echo >>/tmp/runs; done) >/dev/null 2>&1 &
			loops="$loops $!"
		done
		until [ $(wc -l </tmp/runs) -ge 40 ]; do killall -9 pctr-prog; usleep 30000; done 2>/dev/null
		kill -9 $loops; killall -9 pctr-prog 2>/dev/null; wait; true'
	run vm_sh 'head -c 1 /dev/pctr; echo x >/dev/pctr'
	has "No such device"
	prog set 0 $both read
	[ "${lines[0]}" = ok ]
}

# PCTR-04, PCTR-10, PCTR-16, PCTR-19: the tool's library leaves a real device to the kernel.
@test "pctr(1) over the device" {
	# shellcheck disable=SC2086 # words
	serve $mode
	run -0 vm pctr -s 0 -f ${both: -2} -k
	run -0 vm pctr
	[[ $output == *" ctr0 = "*"  [--k- ${both: -2} 00 "*"  tsc = "* ]]
	run -0 vm pctr -T
	[[ $output == "rdtsc() "*" ns"*"PCIOCRD "*" ns"*"rdpmc(0) "*" ns"* ]]
	run -0 vm pctr -s 0
	run -0 vm pctr -C 0
	[[ $output == " ctr0 =                0  [---- 00 00 "* ]]
}

# --- counts -------------------------------------------------------------------------------------------------------

@test "PCTR-22, PCTR-23, PCTR-55: a loop of ten million rounds, in user mode and in the kernel" {
	vm_require_arch arm64
	serve
	prog set 0 $user set 1 0x410011 set 2 $both set 3 $kernel delta 0 10000000 delta 0 20000000 delta 1 10000000 \
		delta 2 10000000 delta 3 10000000
	counts=("${lines[@]:4}")
	# Above the loop's two instructions a round there are only pctrd's and pmcbpfd's own, at both ends.
	is "${counts[0]}" 20025000 25000
	is $((counts[1] - counts[0])) 20000000 10000
	# An instruction is a cycle here.
	is "${counts[2]}" "${counts[0]}" 10000
	[ "${counts[3]}" -ge "${counts[0]}" ]
	# The kernel's: a hundred thousand, and its deferred work: half a million has been seen.
	[ "${counts[3]}" -lt 25000000 ]
	[ "${counts[4]}" -gt 1000 ]
	[ "${counts[4]}" -lt 5000000 ]
	# Neither edge nor threshold there.
	prog set 0 0x01430008 set 0 0x470008 set 0 0xc30008
	answers EINVAL EINVAL EINVAL
}

@test "PCTR-51: a counter that another user holds" {
	vm_require_arch arm64
	serve
	prog set 0 $user
	vm_spawn /tmp/hog hog 5 >/dev/null
	vm_until 60 'grep -q ready /tmp/hog'
	prog set 1 $user read set 0 0x430008 set 0 0
	[ "${lines[0]}" = EBUSY ]
	[[ ${lines[1]} == "00${user#0x} 00000000 "* ]]
	[ "${lines[2]} ${lines[3]}" = "ok ok" ]
	run vm cat /tmp/pctrd.log
	has "config=0x8/,usr on CPU 0: "
	vm_sh 'killall hog'
	vm_until 60 '! pidof hog'
	prog set 1 $user
	answers ok
}
