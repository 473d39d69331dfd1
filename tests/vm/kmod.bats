#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The module pmcbpf_msr, by the client msrx; it is loaded at the start and end of each test.  QEMU's
# registers do not tick on x86 (0x10 reads 0): what counts is which one, of which CPU, and which bits.

load helpers

setup_file() {
	case ${PMCBPF_VM_KERNEL:-6.1-x86} in
	*-x86) vm_start --module msr ;;
	*) vm_start ;;
	esac
	vm dmesg -c >/dev/null		# messages of the boot are not the module's
	vm_kmod
}

# Registers: `which` differs by CPU and is its number in the low 8 bits, `still` is a constant.
setup() {
	all=0xffffffffffffffff
	case $VM_ARCH in
	amd64) which=0xc0000103 still=0x10 ;;
	*) which=0xc005 still=0xdf00 ;;
	esac
	listed="list $(sorted "$still:$all:0" "$which:0xff:0")"
}

teardown() {
	vm_clean_log
}

# sorted ENTRY... - in the module's order
sorted() {
	for entry; do
		echo "$((${entry%%:*})) $entry"
	done | sort -n | cut -d' ' -f2 | paste -sd' '
}

# client LINE... - the answers are left in lines[]
client() {
	run vm_sh 'printf "%s\n" "$@" | msrx' "$@"
	echo "$output"
	status_is 0
	[[ $output != *"no such command"* ]]
}

# answers TEXT... - from the first line on; "-" is any
answers() {
	local i=0

	for text; do
		[ "$text" = - ] || [ "${lines[i]}" = "$text" ] || {
			echo "answer $i: ${lines[i]}; wanted: $text" >&2
			return 1
		}
		i=$((i + 1))
	done
	[ $i -eq ${#lines[@]} ] || { echo "${#lines[@]} answers, wanted $i" >&2; return 1; }
}

# request DIRECTION NUMBER SIZE - an ioctl's; 1: written, 2: read
request() {
	printf '0x%x' $(($1 << 30 | $3 << 16 | 0x4d << 8 | $2))
}

@test "only root opens the module's device, and one process at a time" {
	run vm stat -c '%a %U' /dev/pmcbpf_msr
	says "600 root"
	client version open version open '! echo open | msrx' close '! echo open | msrx'
	answers "version: EBADF" "open: ok" "version: 0x1" "open: EBUSY" "open: EBUSY" "!: 0" \
		"close: ok" "open: ok" "!: 0"
}

@test "the module refuses users, and root without CAP_SYS_RAWIO" {
	run vm_sh 'echo open | stand -u 1000 -g 1000 msrx'
	says "open: EACCES"
	run vm_sh 'chmod 666 /dev/pmcbpf_msr; echo open | stand -u 1000 -g 1000 msrx; chmod 600 /dev/pmcbpf_msr'
	says "open: EPERM"
	run vm_sh 'echo open | stand -c 1 msrx'
	says "open: EPERM"
	run vm_sh 'echo open | stand -c $((1 << 17)) msrx'
	says "open: ok"
}

@test "the module refuses bad lists, and keeps the good one" {
	client open "read $still 0" "$listed" "read $which 1" \
		"raw 2 1 0" "raw 0 1 0" "raw 1 129 0" "raw 1 4294967295 0" "raw 1 1 1" "raw 1 8 0 1" \
		"raw 1 8 0 $all" "list $which:$all:0 $still:$all:0 $which:$all:0" \
		"list $which:$all:0 $which:$all:0" "read $which 1" "list" "read $which 1"
	answers "open: ok" "read: EPERM" "list: ok" "read: 0x1" \
		"raw: EPROTO" "raw: EPROTO" "raw: EINVAL" "raw: EINVAL" "raw: EINVAL" "raw: EFAULT" \
		"raw: EFAULT" "list: EINVAL" \
		"list: EINVAL" "read: 0x1" "list: ok" "read: EPERM"
}

@test "the module's list has 128 entries on x86, and on arm64 only readable registers" {
	if [ "$VM_ARCH" = amd64 ]; then
		client open "raw 1 128 0"
		answers "open: ok" "raw: ok"
	else
		client open "list 0xdf01:$all:0" "list 0x10:$all:0" "list 0x1df02:$all:0" "list 0xdf02:$all:1"
		answers "open: ok" "list: EINVAL" "list: EINVAL" "list: EINVAL" "list: EINVAL"
	fi
}

@test "the module survives invalid requests" {
	local version list read write row

	version=$(request 2 0x40 4) list=$(request 1 0x41 16) read=$(request 3 0x42 16)
	write=$(request 3 0x43 16) row=$(request 1 0x44 16)
	set --
	for r in "$version" "$list" "$read" "$write" "$row"; do
		for address in 0 1 0xffff888000000000 0xffffffffffffffff 0x7ffffffff000; do
			set -- "$@" "ioctl $r $address"
		done
	done
	client open "$listed" "$@" "read $which 1"
	for i in {2..26}; do
		[ "${lines[i]}" = "ioctl: EFAULT" ]
	done
	[ "${lines[27]}" = "read: 0x1" ]
	client open "ioctl $(request 0 0x45 0) 0" "ioctl $(request 3 0x46 16) 0" "ioctl $(request 3 0x42 24) 0" \
		"ioctl 0 0" "ioctl $all 0" "row a $still 0" "$listed" "row a $still 0" "revoke b"
	answers "open: ok" "ioctl: ENOTTY" "ioctl: ENOTTY" "ioctl: ENOTTY" \
		"ioctl: ENOTTY" "ioctl: ENOTTY" "row: EPERM" "list: ok" "row: ok" "revoke: EBADF"
}

@test "the module reads a register of the requested CPU, and returns the bits of its mask" {
	client open "$listed" "at 0" "read $which 0" "read $which 1" "at 1" "read $which 0" "read $which 1" \
		"row a $which 0" "row b $which 1" "get a" "get b" "at 0" "get a" "get b" "get b 64" "get b 7" \
		"list $which:0xfe:0" "get b" "read $which 1" "list $which:0:0" "get b" "read $which 1" "row c $which 1"
	answers "open: ok" "list: ok" "at: ok" "read: 0x0" "read: 0x1" "at: ok" "read: 0x0" "read: 0x1" \
		"row: ok" "row: ok" "get: 0x0" "get: 0x1" "at: ok" "get: 0x0" "get: 0x1" "get: 0x1" "get: EINVAL" \
		"list: ok" "get: 0x0" "read: 0x0" "list: ok" "get: EPERM" "read: EPERM" "row: EPERM"
}

@test "the module refuses registers that are not listed, and CPUs that do not exist or are offline" {
	local online=/sys/devices/system/cpu/cpu1/online

	client open "$listed" "at 0" "row a $which 1" "read $((still + 1)) 0" "row b $((still + 1)) 0" \
		"write $still 0 0" "read $which 2" "read $which 64" "read $which 4294967295" "row b $which 4294967295" \
		"! echo 0 >$online" "read $which 1" "get a" "row b $which 1" "! echo 1 >$online" "get a" "read $which 1"
	answers "open: ok" "list: ok" "at: ok" "row: ok" "read: EPERM" "row: EPERM" \
		"write: EPERM" "read: ENXIO" "read: ENXIO" "read: ENXIO" "row: ENXIO" \
		"!: 0" "read: ENXIO" "get: ENXIO" "row: ENXIO" "!: 0" "get: 0x1" "read: 0x1"
}

@test "the module writes the bits of a mask and no others, on one CPU" {
	local reg=0x175			# SYSENTER_ESP: only 32-bit programs need it
	local old new

	vm_require_arch amd64
	client open "list $reg:$all:0xffff" "read $reg 1" "read $reg 0" "write $reg 1 0x10000" "write $reg 1 $all"
	answers "open: ok" "list: ok" - - "write: EPERM" "write: EPERM"
	old=${lines[2]#read: } elsewhere=${lines[3]#read: }
	printf -v new '0x%x' $((old & ~0xffff | 0x1234))
	client open "list $reg:$all:0xffff" "write $reg 1 0x1234" "read $reg 1" "other $reg 1" "read $reg 0" \
		"write $reg 2 0x1234" "list $reg:0:0xffff" "read $reg 1" "write $reg 1 $((old & 0xffff))" "other $reg 1"
	answers "open: ok" "list: ok" "write: $(printf '0x%x' $((old & 0xffff)))" "read: $new" "other: $new" \
		"read: $elsewhere" "write: ENXIO" "list: ok" "read: EPERM" "write: 0x1234" "other: $old"
}

# logged: writes of that register in the kernel's log
logged() { vm_sh "dmesg | grep -c 'pmcbpf_msr: register $1 of CPU'" || true; }

@test "the module logs the first write of each listed register, and allow_writes works as msr's" {
	local reg=0x175 param=/sys/module/pmcbpf_msr/parameters/allow_writes before old

	vm_require_arch amd64
	before=$(logged $reg)
	client open "list $reg:$all:0xffff" "read $reg 1" "write $reg 1 0" "write $reg 1 1" "write $reg 1 0"
	old=${lines[3]#write: }
	[ "$(logged $reg)" -eq $((before + 1)) ]
	run vm_sh "dmesg | grep 'pmcbpf_msr: register $reg' | tail -n 1"
	[[ $output =~ "register $reg of CPU 1 was written by msrx (pid: "[0-9]+"), not logged again" ]]
	# As the kernel's msr driver taints it: a processor out of its specification.
	[ $(($(vm cat /proc/sys/kernel/tainted) & 4)) -eq 4 ]
	run vm cat $param
	says default
	client "! echo off >$param" open "list $reg:$all:0xffff" "write $reg 1 1" "read $reg 1" \
		"! echo on >$param" "write $reg 1 0" "! { echo never >$param; } 2>/dev/null" "! echo default >$param"
	answers "!: 0" "open: ok" "list: ok" "write: EPERM" - "!: 0" "write: 0x0" "!: 1" "!: 0"
	[ "$(logged $reg)" -eq $((before + 1)) ]
	client open "list $reg:$all:0xffff" "write $reg 1 $old"
}

@test "registers that a security module refuses to one task remain available to others" {
	client "deny 1000"
	[ "${lines[0]}" = "deny: ok" ] || skip "this kernel has no BPF LSM"
	client open "$listed" "row a $which 1" "kfunc b $which" "deny 1000" "get a" "user 1000" "get a" "read $which 1" \
		"at 0" "at 1" "at 0" "called b 1"
	answers "open: ok" "list: ok" "row: ok" "kfunc: ok" "deny: ok" "get: 0x1" "user: ok" "get: EPERM" "read: EPERM" \
		"at: ok" "at: ok" "at: ok" "called: 0x1"
}

@test "a register that faults is EIO, and the kernel's log stays clean" {
	local pkrs=0x6e1		# faults when its high half is written; QEMU 7.2 permits reading all

	vm_require_arch amd64
	client open "list $pkrs:$all:$all" "write $pkrs 0 0x100000000" "write $pkrs 1 0x100000000" "read $pkrs 0"
	answers "open: ok" "list: ok" "write: EIO" "write: EIO" "read: 0x0"
}

@test "the virtual counter of arm64 ticks through the module" {
	local first second

	vm_require_arch arm64
	client open "list 0xdf00:$all:0 0xdf02:$all:0" "read 0xdf00 0" "row a 0xdf02 0" "get a" "read 0xdf02 0" "get a"
	[[ ${lines[2]} =~ ^read:\ 0x[0-9a-f]+$ && ${lines[2]} != "read: 0x0" ]]
	first=$((${lines[4]#get: })) second=$((${lines[5]#read: }))
	[ "$first" -gt 0 ]
	[ "$second" -gt "$first" ]
	[ $((${lines[6]#get: })) -gt "$second" ]
}

@test "a row can be passed on, ends with the device's owner, and can be revoked by root only" {
	client open "$listed" "row a $which 1" "row b $which 1" "revoke a" "get a" "get b" "row a $which 1" \
		"user 1000" "get a" "revoke a" "get a" "read $which 1" close "get a" "get b" open
	answers "open: ok" "list: ok" "row: ok" "row: ok" "revoke: ok" "get: ENODEV" "get: 0x1" "row: ok" \
		"user: ok" "get: 0x1" "revoke: EPERM" "get: 0x1" "read: 0x1" "close: ok" "get: ENODEV" \
		"get: ENODEV" "open: EACCES"
	client open "$listed" "row a $which 1" close open "$listed" "get a" "read $which 1"
	answers "open: ok" "list: ok" "row: ok" "close: ok" "open: ok" "list: ok" "get: ENODEV" "read: 0x1"
}

@test "a BPF program reads registers of its CPU through the module, within its list" {
	local switch=("at 0" "at 1" "at 0" "at 1") switched=("at: ok" "at: ok" "at: ok" "at: ok")

	run vm grep -c pmcbpf_msr_read /sys/kernel/btf/pmcbpf_msr
	says 1
	client open "$listed" "kfunc a $which" "kfunc b $((still + 1))" "${switch[@]}" "called a 0" "called a 1" \
		"called b 0" "called b 1" "list $which:0xfe:0" "${switch[@]}" "called a 1" close "${switch[@]}" \
		"called a 0" "called a 1"
	answers "open: ok" "list: ok" "kfunc: ok" "kfunc: ok" "${switched[@]}" "called: 0x0" "called: 0x1" \
		"called: $all" "called: $all" "list: ok" "${switched[@]}" "called: 0x0" "close: ok" "${switched[@]}" \
		"called: $all" "called: $all"
}

@test "an address where no perf event is makes a program read nothing, and the kernel complain about nothing" {
	local switch=("at 0" "at 1" "at 0" "at 1") switched=("at: ok" "at: ok" "at: ok" "at: ok") address

	# Of user space, between the halves of the addresses, and of the kernel, where no memory is.
	for address in 0 0x1000 0x7fffffff0000 0x8000000000000000 0xfff0000000000000 0xfffffffffffff000; do
		client "event a $address" "${switch[@]}" "called a 0" "called a 1"
		answers "event: ok" "${switched[@]}" "called: $all" "called: $all"
	done
}

@test "the module stays while its device, a row or a program exists, and can be unloaded after that" {
	client open "$listed" "! rmmod pmcbpf_msr 2>&1" "row a $still 0" close "! rmmod pmcbpf_msr 2>&1" "drop a" \
		"kfunc a $still" "! rmmod pmcbpf_msr 2>&1"
	answers "open: ok" "list: ok" - "!: 1" "row: ok" "close: ok" - "!: 1" "drop: ok" "kfunc: ok" - "!: 1"
	vm_until 60 'rmmod pmcbpf_msr'		# programs are freed some time after their last descriptor
	run vm ls /dev/pmcbpf_msr /sys/kernel/btf/pmcbpf_msr
	status_is 1
	vm_kmod
	client open "$listed" "read $which 1"
	answers "open: ok" "list: ok" "read: 0x1"
}

@test "the kernel names the module's functions by an address inside of them, as /proc/kallsyms does" {
	run vm kallsyms
	echo "${lines[-1]}"
	status_is 0
	[[ ${lines[-1]} =~ \ ([0-9]+)\ of\ modules, ]]
	found=${BASH_REMATCH[1]}
	functions=$(vm_sh 'grep -c " t [^$].*\[pmcbpf_msr\]" /proc/kallsyms')
	[ "$functions" -ge 5 ] && [ "$found" -ge "$functions" ]
	! grep '^missing \[pmcbpf_msr\]' <<<"$output"
}

@test "the files installed for DKMS build the module, by their dkms.conf" {
	local conf kernel_source_dir BUILT_MODULE_NAME MAKE

	[ "$VM_KERNEL" = 6.12-x86 ] || skip "is the same for every kernel: done with 6.12-x86"
	make -s -C "$VM_DIR/../.." install-dkms DESTDIR="$BATS_TEST_TMPDIR"
	kernel_source_dir=$("$VM_DIR/fetch" headers "$VM_KERNEL")
	conf=$(ls "$BATS_TEST_TMPDIR"/usr/src/pmcbpf-msr-*/dkms.conf)
	[[ $(sed -n 's/^PACKAGE_VERSION=//p' "$conf") =~ ^\"[0-9.]+\"$ ]]
	. "$conf"
	unset MAKEFLAGS O
	cd "${conf%/*}"
	${MAKE[0]}
	modinfo -F vermagic "${BUILT_MODULE_NAME[0]}.ko" | grep -qF "$VM_RELEASE "
}

# The last one: a kernel cannot be unlocked.
@test "a kernel that is locked down refuses the module's opener, and earlier rights end" {
	# Before Linux 6.5 no module can refuse a program.
	local refused="event: EACCES"

	[[ $VM_KERNEL != 6.1-* ]] || refused=-
	client open "$listed" "row a $which 1" "kfunc b $which" "get a" "! echo integrity >/sys/kernel/security/lockdown" \
		"get a" version "read $which 1" "write $which 1 0" "row c $which 1" "$listed" \
		"at 0" "at 1" "at 0" "called b 1" close open \
		"! echo confidentiality >/sys/kernel/security/lockdown" "event c 0"
	answers "open: ok" "list: ok" "row: ok" "kfunc: ok" "get: 0x1" "!: 0" \
		"get: EPERM" "version: EPERM" "read: EPERM" "write: EPERM" "row: EPERM" "list: EPERM" \
		"at: ok" "at: ok" "at: ok" "called: $all" "close: ok" "open: EPERM" "!: 0" "$refused"
	run vm_sh "dmesg | grep -o 'pmcbpf_msr.*' | grep -v ' was written by ' | sort | uniq -c | sed 's/^ *//'"
	says "1 pmcbpf_msr: loading out-of-tree module taints kernel.
1 pmcbpf_msr: module verification failed: signature and/or required key missing - tainting kernel
2 pmcbpf_msr: version 1"
}
