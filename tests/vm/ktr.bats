#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The kernel's trace rings on every kernel: which programs load and attach, in whose words events are, and
# that the rings can be found again where nothing runs any more.

load helpers

setup() {
	[ "$VM_ROLE" = supported ] || skip "pmcbpfd does not run on $VM_KERNEL"
}

# classes BIT...: as a mask in hex
missing_here() {
	# SPL, SPARE4, VOP: no kernel has any
	local mask=$((0x8000 | 0x10000 | 0x80000))
	# TRAP, SUBSYS: arm64 has no tracepoint for faults, ext4 is a module there
	[ "$VM_ARCH" = amd64 ] || mask=$((mask | 0x100 | 0x20))
	# EVH came with Linux 6.5
	[[ $VM_RELEASE != 6.1.* ]] || mask=$((mask | 0x20000))
	# its tlb_flush is gone
	[ "$VM_KERNEL" != new-arm64 ] || mask=$((mask | 0x40))
	printf '%x' $mask
}

@test "KTR-22 KTR-26: the programs of every class load and attach; missing events are known" {
	# The largest size with indices of four digits: on a slow machine most entries are of the guest's clock
	# ticks, and the entries that the tests look for must not be overwritten.
	run vm ktrread ktr.compile=none ktr.size=4194304 ktr.mask=all ktr.compile=all info
	echo "$output"
	vm cat /tmp/pmcbpfd.log
	status_is 0
	[[ $output == *" missing $(missing_here) "* ]]
	run vm cat /tmp/pmcbpfd.log
	[[ $output != *refused* ]]
	[[ $output == *"pmcbpfd: this kernel has no trace points of class "* ]]
}

@test "KTR-04 KTR-73: events of all kinds are in both rings, whole and in order" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'ktrread ktr.compile=all ktr.mask=all,~MALLOC,~UMA,~VM clear
		echo "<1>ktr vm" >/dev/kmsg
		ping -c1 127.0.0.1 >/dev/null
		echo an interrupt >/dev/console
		sh -c "kill -SEGV \$\$" 2>/dev/null
		nc 127.0.0.1 9 </dev/null 2>/dev/null # TCP has timers
		ktrread freeze read thaw >/tmp/trace || { tail -n 3 /tmp/trace; exit 1; }
		cut -d" " -f1 /tmp/trace | sort -u | tr "\n" " "
		cut -d" " -f5 /tmp/trace | sort -u | tr "\n" " "'
	echo "$output"
	[[ $output == "0 1 "* ]]
	[[ $output != *torn* ]]
	for event in console sched_switch sched_wakeup sched_process_fork sched_process_exec \
		sched_process_exit task_newtask sys_enter sys_exit signal_generate signal_deliver \
		irq_handler_entry softirq_entry cpu_idle hrtimer_start timer_start net_dev_queue \
		net_dev_xmit netif_receive_skb fib_table_lookup; do
		[[ " $output " == *" $event "* ]] || { echo "no $event" >&2; return 1; }
	done
	# by name, whatever its name in the kernel
	run vm grep -cE 'net xmit skb=0x[0-9a-f]+ len=98 dev=lo rc=0$' /tmp/trace
	[ "$output" -ge 1 ]
	run vm grep -cE 'signal 11 to tid=[0-9]+ code=-?[0-9]+ res=0$' /tmp/trace
	[ "$output" -ge 1 ]
	run vm grep -cE 'console 1 ktr vm$' /tmp/trace
	[ "$output" -ge 1 ]
	run vm grep -cE 'KTRGRAPH group:"thread", id:"[^"]+ tid [0-9]+", state:"running", attributes: prio:[0-9]+$' /tmp/trace
	[ "$output" -ge 2 ]
}

@test "KTR-01: system calls in the page's format" {
	run vm_sh 'ktrread ktr.mask=SYSC clear; cat /nonexistent 2>/dev/null; ktrread freeze read thaw |
		grep -E "syscall p=0x[0-9a-f]+ (#0x[0-9a-f]+|err=2 ret=fffffffffffffffe)$" | cut -d" " -f7,9 | sort -u'
	[[ $output == *"syscall err=2"* ]]
	[[ $output == *"syscall #0x"* ]]
}

@test "KTR-61: tdump decodes the running system, in the page's form" {
	# The number of later calls, tdump's and others', is unknown: one line of each kind is enough.
	run vm_sh 'ktrread ktr.compile=all ktr.mask=SYSC clear; true; cat /nonexistent 2>/dev/null; tdump -z >/tmp/trace || exit
		head -n 2 /tmp/trace; grep -m 9 " #0x" /tmp/trace; grep -m 9 " err=2 " /tmp/trace; grep frozen /tmp/trace'
	[ "${lines[0]}" = 'C Idx  Delta-T  Trace' ] || { echo "$output" | head -n 5 >&2; return 1; }
	[ "${lines[1]}" = '= ==== ======== =====' ]
	grep -qxE '[01] [ 0-9a-f]{4} [ 0-9a-f]{8} syscall p=0x[0-9a-f]+ #0x[0-9a-f]+' <<<"$output"
	grep -qxE '[01] [ 0-9a-f]{4} [ 0-9a-f]{8} syscall p=0x[0-9a-f]+ err=2 ret=fffffffffffffffe' <<<"$output"
	grep -qE 'tracing frozen by tdump pid=[0-9]+$' <<<"$output"
}

@test "KTR-14: rings too large for the memory: ENOMEM with a remedy, and everything stays as it is" {
	run vm ktrread ktr.size=1073741824
	echo "$output"
	status_is 1
	says 'ktr.size: Cannot allocate memory: no memory for trace rings of 1073741824 bytes on each of 2 CPUs; set ktr.size lower'
	run vm ktrread info
	has ' entries 65536 '
}

@test "KTR-34 KTR-37: triggers: a signal, a tracepoint" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'ktrread ktr.mask=PROC ktr.stop=signal:SEGV; sh -c "kill -SEGV \$\$" 2>/dev/null; ktrread info read | grep -a -e stopped
		ktrread thaw ktr.stop=tp:sched_process_exec; cat /dev/null; ktrread info ktr.stop=none info thaw'
	echo "$output"
	[[ $output =~ frozen\ 1\ [^$'\n']*\ stopped\ \"signal\ 11\ to\ [0-9]+\ \(sh\)\" ]]
	[[ $output =~ tracing\ stopped:\ signal\ 11\ to\ [0-9]+\ \(sh\) ]]
	[[ $output =~ frozen\ 1\ [^$'\n']*\ stopped\ \"tracepoint\ sched_process_exec\" ]]
}

@test "KTR-16: a CPU that goes and comes back continues to write to its ring" {
	run vm_sh 'ktrread ktr.mask=SCHED ktr.stop=panic clear
		echo 0 >/sys/devices/system/cpu/cpu1/online; echo 1 >/sys/devices/system/cpu/cpu1/online
		before=$(ktrread header | sed -n "s/^ring 1 head \([0-9]*\) .*/\1/p")
		taskset 2 true 2>/dev/null || taskset -c 1 true
		after=$(ktrread header | sed -n "s/^ring 1 head \([0-9]*\) .*/\1/p")
		[ "$after" -gt "$before" ] && ktrread freeze read thaw | grep -c torn'
	[ "$output" = 0 ]
}

@test "the kernel has not complained" {
	vm ktrread ktr.compile=none
	vm_clean_log
}

# Which is a complaint, hence the last test.
@test "KTR-37: triggers: an OOM kill" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	VM_TIMEOUT=180 run vm_sh 'ktrread ktr.mask=PROC ktr.compile=PROC ktr.stop=oom
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/small
		echo 16M >/sys/fs/cgroup/small/memory.max
		sh -c "echo \$\$ >/sys/fs/cgroup/small/cgroup.procs; exec dd if=/dev/zero of=/dev/null bs=64M count=1" 2>/dev/null
		rmdir /sys/fs/cgroup/small
		ktrread info read | grep -a -e stopped
		ktrread thaw ktr.stop=panic'
	echo "$output"
	[[ $output =~ frozen\ 1\ [^$'\n']*\ stopped\ \"oom\ kill\ of\ [0-9]+\ \(dd\)\" ]]
	[[ $output =~ tracing\ stopped:\ oom\ kill\ of\ [0-9]+\ \(dd\) ]]
}
