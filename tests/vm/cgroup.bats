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

@test "a CPU that comes online while a cgroup is counted: refused, what ran there before is in no counter" {
	vm_all_cpus
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && mkdir -p cgroup && mount -t cgroup2 none cgroup || exit
		read -r any _ <cgroup/cgroup.controllers
		echo "+$any" >cgroup/cgroup.subtree_control
		mkdir -p cgroup/a && rm -f rows
		echo 0 >/sys/devices/system/cpu/cpu1/online
		sh -c "echo \$\$ >cgroup/a/cgroup.procs && exec load -w calls=10" >out & w=$!
		until grep -q ready out; do usleep 20000; done
		pmcstat -q --csv -C -w 0.1 -o rows -p $1 -t cgroup:/tmp/cgroup/a 2>said & p=$!
		until [ -s rows ]; do usleep 20000; kill -0 $p || { cat said; exit 1; }; done
		kill -USR1 $w
		until [ "$(grep -c ^all out)" -eq 2 ]; do usleep 20000; done
		until tail -n 1 rows | grep -q ",10$"; do usleep 20000; kill -0 $p || exit; done
		echo 1 >/sys/devices/system/cpu/cpu1/online
		wait $p; echo "status $?"; cat said
		kill $w; wait
		rmdir cgroup/a; umount cgroup' $ENTER
	echo "$output"
	[[ $output == *"status 71"* && $output == *"CPU 1 came online while this PMC counted a cgroup"* ]]
}

# The last one: the controller may stay in this hierarchy.
@test "cgroups of version 1: the perf_event controller's" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && mkdir -p v1 && mount -t cgroup -o perf_event none v1 && mkdir -p v1/a/below v1/b || exit
		for g in a/below b; do
			sh -c "echo \$\$ >v1/$g/cgroup.procs && exec load -w calls=10" >out.${g%/*} & eval "${g%/*}=$!"
			until grep -q ready out.${g%/*}; do usleep 20000; done
		done
		rm -f rows
		pmcstat -q --csv -C -w 0.1 -o rows -p $1 --for-each-cgroup "a,a/below,/" & p=$!
		until [ "$(wc -l <rows)" -ge 4 ]; do usleep 20000; kill -0 $p || exit; done
		kill -USR1 $a $b
		until [ "$(cat out.a out.b | grep -c ^all)" -eq 4 ]; do usleep 20000; done
		kill -INT $p; wait $p
		kill $a $b; wait
		tail -n 3 rows | cut -d, -f2-
		rmdir v1/a/below v1/a v1/b; umount v1' $ENTER
	echo "$output"
	status_is 0
	[[ $output == *"/,20
a,10
a/below,10"* ]]
}

@test "every row is free, and the kernel has not complained" {
	run vm_sh 'pmccontrol -l | grep -c " ENABLED .*\(THREAD\|STANDALONE\) *$"'
	[ "${lines[0]}" = 0 ]
	vm_clean_log
}
