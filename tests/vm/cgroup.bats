#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# PMCs of a control group on every kernel: calls, faults and instructions of the processes in it, and of no others.

load helpers

ENTER=syscalls:sys_enter_sched_get_priority_max

# cgroup_counts EVENT... - `load` works in /tmp/cgroup/a/below and beside it, while pmcstat counts a; sets counts[]
# shellcheck disable=SC2154 # bats sets output and lines
cgroup_counts() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && mkdir -p cgroup && { mountpoint -q cgroup || mount -t cgroup2 none cgroup; } || exit
		read -r any _ <cgroup/cgroup.controllers
		echo "+$any" >cgroup/cgroup.subtree_control
		mkdir -p cgroup/a/below && rm -f rows
		pmcstat -q --csv -C -w 0.1 -o rows $1 -t cgroup:/tmp/cgroup/a & p=$!
		until [ "$(wc -l <rows)" -ge 2 ]; do usleep 20000; kill -0 $p || exit; done
		work="load calls=10 spins=1000000 forks=1"
		sh -c "echo \$\$ >cgroup/a/below/cgroup.procs && exec $work" && $work || exit
		kill -INT $p; wait $p
		tail -n 1 rows
		rmdir cgroup/a/below cgroup/a; umount cgroup' "$*"
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	counts=("${counts[@]:1}")
}

@test "PERF-031: calls and CPU time of a cgroup" {
	cgroup_counts -p $ENTER -p TASK_CLOCK -p CONTEXT_SWITCHES
	[ "${counts[0]}" -eq 20 ]
	[ "${counts[1]}" -gt 0 ]
	[ "${counts[2]}" -gt 0 ]
}

@test "instructions of a cgroup" {
	[ "$VM_ARCH" = arm64 ] || skip "guests of this architecture have no counters"
	cgroup_counts -p inst_retired,usr -p inst_retired,usr -p $ENTER
	# Two for each of the rounds, the shell, and the beginning and end of the process and its child.
	[ "${counts[0]}" -ge 4000000 ]
	[ "${counts[0]}" -lt 6000000 ]
	[ "${counts[1]}" -ge 4000000 ]
	[ "${counts[2]}" -eq 20 ]
}

@test "every row is free, and the kernel has not complained" {
	run vm_sh 'pmccontrol -l | grep -c " ENABLED .*\(THREAD\|STANDALONE\) *$"'
	[ "${lines[0]}" = 0 ]
	vm_clean_log
}
