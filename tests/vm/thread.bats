#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# PMCs of single threads on every kernel: hits of tracepoints, software events and instructions of one of three threads
# that do the same.

load helpers

ENTER=syscalls:sys_enter_sched_get_priority_max

# thread_counts EVENT... - the first new thread of `load -w threads=2 calls=10 spins=1000000`, from before its work to
# the end of the process; sets counts[]
# shellcheck disable=SC2154 # bats sets output and lines
thread_counts() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && rm -f out rows
		load -w threads=2 calls=10 spins=1000000 >out & w=$!
		until grep -q ready out; do usleep 20000; done
		for t in /proc/$w/task/*; do t=${t##*/}; [ $t = $w ] || break; done
		pmcstat -q --csv -C -w 0.1 -o rows $1 -t tid:$t & p=$!
		until [ "$(wc -l <rows)" -ge 2 ]; do usleep 20000; done
		kill -USR1 $w
		until [ "$(grep -c ^least out)" -eq 2 ]; do usleep 20000; done
		kill $w; wait $p && tail -n 1 rows' "$*"
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	counts=("${counts[@]:1}")
}

@test "PERF-014: a thread's system calls and CPU time" {
	thread_counts -p $ENTER -p TASK_CLOCK
	[ "${counts[0]}" -eq 10 ]
	[ "${counts[1]}" -gt 0 ]
}

@test "a thread's calls of functions and its returns, in the program and in the kernel" {
	call=__x64_sys_sched_get_priority_max
	[ "$VM_ARCH" = amd64 ] || call=__arm64_sys_sched_get_priority_max
	thread_counts -p uprobe:/usr/bin/load:load_call -p uretprobe:/usr/bin/load:load_call -p kprobe:$call \
		-p kretprobe:$call -p $ENTER
	[ "${counts[*]}" = "10 10 10 10 10" ]
}

@test "a thread's instructions, beside those of its process" {
	[ "$VM_ARCH" = arm64 ] || skip "guests of this architecture have no counters"
	thread_counts -p inst_retired,usr -p $ENTER
	# Two for each round, and the thread's beginning and end; its process has three times as many.
	[ "${counts[0]}" -ge 2000000 ]
	[ "${counts[0]}" -lt 2100000 ]
	[ "${counts[1]}" -eq 10 ]
}

@test "each thread that is created while a PMC starts counts once" {
	run vm_sh 'su nobody -s /bin/sh -c "newthreads store 3"'
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "each thread that is created while a PMC starts has its instructions counted once, read with and without the kernel" {
	[ "$VM_ARCH" = arm64 ] || skip "guests of this architecture have no counters"
	for access in 0 1; do
		vm_sh "echo $access >/proc/sys/kernel/perf_user_access"
		run vm newthreads inst_retired,usr 2
		echo "$output"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
	done
	vm_sh "echo 0 >/proc/sys/kernel/perf_user_access"
}

@test "a thread in place of a process is refused" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && rm -f rows out
		load -w threads=1 >out & w=$!
		until grep -q ready out; do usleep 20000; done
		pmcstat -t $(ls /proc/$w/task | grep -vx $w) -p PAGE_FAULT.ALL 2>&1; kill $w'
	echo "$output"
	[[ $output == *"is a thread of process "*": name the process, or tid:"* ]]
}

# rows_of OPTION... - pmcstat --per-thread; the rows without their header, in lines[]
rows_of() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'cd /tmp && rm -f rows && pmcstat -q --per-thread --csv -o rows "$@" && sed 1d rows' "$@"
	echo "$output"
	status_is 0
}

# each_is FIELD TEXT - in every row
each_is() { [ "$(cut -d, -f"$1" <<<"$output" | sort -u)" = "$2" ]; }

@test "a row for each thread, of a process and its children, with the calls that it made" {
	rows_of -d -p $ENTER -p CONTEXT_SWITCHES load threads=3 forks=2 below=1 calls=10
	[ ${#lines[@]} -eq 8 ]
	each_is 3 load
	each_is 4 10
	[ "$(cut -d, -f1 <<<"$output" | sort -u | wc -l)" -eq 5 ]
}

@test "a row for each thread, with its instructions" {
	[ "$VM_ARCH" = arm64 ] || skip "guests of this architecture have no counters"
	rows_of -p inst_retired,usr load threads=3 spins=1000000
	[ ${#lines[@]} -eq 4 ]
	# Two for each round, and a thread's beginning and end; of the first one the program's.
	for line in "${lines[@]}"; do
		IFS=, read -r pid tid _ count <<<"$line"
		[ "$count" -ge 2000000 ]
		[ "$tid" = "$pid" ] || [ "$count" -lt 2100000 ]
	done
}

@test "the kernel has not complained" {
	vm_clean_log
}
