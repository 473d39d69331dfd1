#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Hits of probes against what the workload did, on every kernel: processes, trees, CPUs, moves between CPUs, CPUs that go
# and come, returns that the kernel gives up.  progs/load.c calls load_call() and load_descend().

load helpers

CALL=uprobe:/usr/bin/load:load_call RETURN=uretprobe:/usr/bin/load:load_call

# shellcheck disable=SC2154 # run_counts sets counts
counts_are() {
	[ "${counts[*]}" = "$*" ] || { echo "counted ${counts[*]}, not $*" >&2; return 1; }
}

@test "PERF-331: a process, its threads and its children: calls and returns" {
	run_counts -p $CALL -p $RETURN load calls=1000
	counts_are 1000 1000
	run_counts -p $CALL -d -p $CALL -p $RETURN load calls=100 late=2 forks=2 below=2
	counts_are 300 900 900
}

# offset SYMBOL - of the workload, in its file
offset() {
	local program=${PMCBPF_VM_OVERLAY:-$VM_OUT/vm/overlay}/$VM_ARCH/usr/bin/load text at
	read -r text at < <(readelf -SW "$program" | awk '{ sub(/^ *\[ *[0-9]+\] */, "") } $1 == ".text" { print $3, $4 }')
	printf '0x%x\n' $(($(address "$1") - 0x$text + 0x$at))
}

@test "nothing is counted before START and ATTACH, nothing after STOP and DETACH" {
	counts_between_start_and_stop calls=10 caps 0x20 tracepoint probe:load_call \
		probe 1 /usr/bin/load "$(offset load_call)" alloc 3 67 0 any 0
}

@test "USDT: all places of a probe count, and a semaphore is raised while it is counted" {
	guest_cc -O1 -static -o "$BATS_TEST_TMPDIR/usdt" "$VM_DIR/../e2e/usdt.c"
	vm_put "$BATS_TEST_TMPDIR/usdt" /tmp/usdt
	run_counts -p usdt:/tmp/usdt:demo:plain /tmp/usdt 100 0
	counts_are 150
	run_counts -d -p usdt:/tmp/usdt:demo:plain -p usdt:/tmp/usdt:demo:guarded sh -c '/tmp/usdt 100 100 && /tmp/usdt 10 10'
	counts_are 165 110
	# When nobody counts, it is 0 again, as soon as the kernel has removed the probe.
	vm_until 60 '/tmp/usdt 100 0'
}

@test "moves between CPUs lose nothing" {
	run_counts -p $CALL -p $RETURN -p CPU_MIGRATIONS load moves=200
	[ "${counts[0]} ${counts[1]}" = "200 200" ]
	[ "${counts[2]}" -ge 200 ]
}

@test "an exec, a copy of the program, and a library's function" {
	run vm_sh 'cp /usr/bin/load /tmp/copy'
	status_is 0
	run_counts -p $CALL -p uprobe:/tmp/copy:load_call sh -c 'load calls=10; exec /tmp/copy calls=30'
	counts_are 0 30
	run_counts -d -p $CALL -p uprobe:/tmp/copy:load_call sh -c 'load calls=10; exec /tmp/copy calls=30'
	counts_are 10 30
}

@test "a CPU's calls, and those of a CPU that goes and comes" {
	run vm_sh "pmcstat -q --csv -C -c 1 -s $CALL -s $RETURN taskset 2 load calls=100 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,100,100 ]]
	run vm_sh "pmcstat -q --csv -C -p $CALL -d -p $CALL sh -c 'load calls=10
		echo 0 >/sys/devices/system/cpu/cpu1/online && load calls=10 && echo 1 >/sys/devices/system/cpu/cpu1/online &&
		taskset 2 load calls=10; true' 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,0,30 ]]
}

@test "returns of calls that are nested too deeply are an error" {
	run_counts -p uprobe:/usr/bin/load:load_descend -p uretprobe:/usr/bin/load:load_descend load depth=64
	counts_are 64 64
	run vm pmcstat -p uretprobe:/usr/bin/load:load_descend load depth=65
	[[ $status -ne 0 && $output == *"inside more than 64 calls with probes of their returns"* ]]
}

@test "an instruction that takes no probe is refused at once" {
	run vm pmcstat -p $CALL+1 true
	[[ $status -ne 0 && $output == *"only the beginning of a function"* || $output == *"instructions begin at multiples of 4"* ]]
	run vm pmcstat -q -p uprobe:/usr/bin/load:load_descend+4 load depth=9
	echo "$output"
	[[ $output == *"only the beginning of a function"* || $output == *" 9 "* ]]
}

@test "PERF-332: kprobes and kretprobes: a process, its children, a CPU" {
	call=__x64_sys_sched_get_priority_max
	[ "$VM_ARCH" = amd64 ] || call=__arm64_sys_sched_get_priority_max
	run_counts -p kprobe:$call -p kretprobe:$call -d -p kprobe:$call,os load calls=300 late=2 forks=2
	counts_are 900 900 1500
	run_counts -p kprobe:$call -p kretprobe:$call -p syscalls:sys_enter_sched_get_priority_max load moves=100
	counts_are 100 100 100
	run vm_sh "pmcstat -q --csv -C -c 1 -s kprobe:$call -s kretprobe:$call taskset 2 load calls=100 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,100,100 ]]
	# A counter that a kprobe has had counts a tracepoint of its own next, and the other way round.
	run_counts -p sched:sched_process_exit -p kprobe:$call load calls=5
	counts_are 1 5
	run_counts -p kprobe:$call -p sched:sched_process_exit load calls=5
	counts_are 5 1
}

@test "kprobes that cannot be are refused, with the nearest name" {
	run vm pmcstat -p kprobe:vfs_raed true
	echo "$output"
	[[ $status -ne 0 && $output == *'the kernel has no function "vfs_raed" (did you mean "vfs_read"?)'* ]]
	run vm_sh "awk '\$2 ~ /[tT]/ { n[\$3]++ } END { for (f in n) if (n[f] > 1 && f !~ /[^a-z_]/) { print f; exit } }' /proc/kallsyms"
	twice=$output
	run vm pmcstat -p "kprobe:$twice" true
	echo "$output"
	[[ $status -ne 0 && $output == *"the kernel has "*" functions \"$twice\", and a probe cannot choose among them"* ]]
	run vm pmcstat -p kprobe:kprobe_dispatcher true
	echo "$output"
	[[ $status -ne 0 && $output == *"the kernel refuses the probe: "* ]]
	run vm pmcstat -p kprobe:vfs_read+0x100000 true
	echo "$output"
	[[ $status -ne 0 && $output == *"vfs_read+0x100000: the function has "*" bytes"* ]]
	run vm pmcstat -q -p kprobe:vfs_read+4 true
	echo "$output"
	[[ $status -eq 0 || $output == *"the kernel refuses the probe: "* ]]
}

@test "after a daemon that was killed, the next one counts exactly" {
	vm_daemon_stop KILL
	vm_daemon
	run_counts -p $CALL load calls=77
	counts_are 77
}

@test "the kernel has not complained" {
	vm_clean_log
}
