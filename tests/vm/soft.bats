#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Software events in process and system scope against what the kernel itself charges to the workload
# (getrusage, as progs/load.c prints it).

load helpers

setup() {
	# The kernel's charges to a dead thread, until it leaves the CPU.  In an amd64 guest that includes any time
	# that the host steals just then.
	slack=2000000
	[ "$VM_ARCH" != amd64 ] || slack=3000000000
	# After a fork the kernel itself writes to the page of the restartable sequence, when a thread next
	# comes back from a preemption: a fault before the figures or after them.
	rseq=2
}

# measure WORK PMCSTAT-OPTION... - counts exactly the work of a running process (or tree): from its "ready" to its
# figures.  Sets counts[], and the work's minflt, majflt, nvcsw, nivcsw and cpu of the process itself, with its
# descendants as all_minflt and so on, and with the descendants' own figures before their exit as least_minflt and
# so on.  Between figures and sleep at most: head_nivcsw, head_cpu before the work, tail_nivcsw, tail_cpu after it.
# shellcheck disable=SC2034 # the tests use them
measure() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh "$VM_ASLEEP"'
		work=$1; shift
		rm -f /tmp/load /tmp/rows
		load -w $work >/tmp/load & load=$!
		until grep -qs ready /tmp/load && asleep $load; do usleep 5000; done
		pmcstat -q --csv -C -w 0.05 -o /tmp/rows -t $load "$@" & stat=$!
		until [ "$(cat /tmp/rows 2>&1 | grep -c ,)" -ge 2 ]; do
			usleep 5000; kill -0 $stat || { kill $load; exit 1; }
		done
		kill -USR1 $load
		until [ "$(grep -cs ^all /tmp/load)" -eq 2 ] && asleep $load; do usleep 5000; done
		kill -INT $stat
		wait $stat || exit
		kill -USR1 $load
		wait $load || exit
		tail -n 5 /tmp/load
		tail -n 1 /tmp/rows | tr , " "' "$@"
	echo "$output"
	status_is 0
	read -r _ least_minflt least_majflt least_nvcsw least_nivcsw least_cpu <<<"${lines[0]}"
	read -r _ minflt majflt nvcsw nivcsw cpu <<<"${lines[1]}"
	read -r _ all_minflt all_majflt all_nvcsw all_nivcsw all_cpu <<<"${lines[2]}"
	read -r _ _ _ _ head_nivcsw head_cpu <<<"${lines[3]}"
	read -r _ _ _ _ tail_nivcsw tail_cpu <<<"${lines[4]}"
	read -r -a counts <<<"${lines[5]}"
	counts=("${counts[@]:1}")
}

# between LEAST NUMBER MOST
between() {
	(($1 <= $2 && $2 <= $3)) || {
		echo "$2, wanted from $1 to $3" >&2
		return 1
	}
}

# cpu_is COUNT CPU [MORE [HZ]] - CPU time, to which the kernel may add MORE; in units of 1/HZ s.  Each of the
# kernel's figures for ended processes is cut to microseconds.
cpu_is() {
	local hz=${4:-1000000000} least=$(($2 - head_cpu - 20000)) most=$(($2 + tail_cpu + ${3:-0} + 20000))

	between $((least * hz / 1000000000)) "$1" $((most * hz / 1000000000 + 1))
}

# PERF-034, PERF-063, PERF-066, PERF-067
@test "REQ-010: page faults and switches of a process equal the kernel's figures exactly" {
	measure "pages=1000 reads=300 switches=20" -p PAGE_FAULT.ALL -p PAGE_FAULT.MINOR -p PAGE_FAULT.MAJOR \
		-p CONTEXT_SWITCHES.VOLUNTARY -p CONTEXT_SWITCHES.INVOLUNTARY -p CONTEXT_SWITCHES
	[ "$minflt" -ge 1300 ]
	[ "$nvcsw" -ge 20 ]
	is "${counts[0]}" $((minflt + majflt))
	is "${counts[1]}" "$minflt"
	is "${counts[2]}" "$majflt"
	is "${counts[3]}" "$nvcsw"
	# It may be preempted between its figures and its sleep, at both ends.
	between $((nivcsw - head_nivcsw)) "${counts[4]}" $((nivcsw + tail_nivcsw))
	is "${counts[5]}" $((counts[3] + counts[4]))
}

# PERF-062
@test "CPU time of a process equals the kernel's figure" {
	measure "spins=60000000" -p TASK_CLOCK -p CPU_CLOCK -p CLOCK.HARD -p CLOCK.STAT -p CLOCK.PROF
	[ "$cpu" -ge 20000000 ]
	cpu_is "${counts[0]}" "$cpu"
	cpu_is "${counts[1]}" "$cpu"
	cpu_is "${counts[2]}" "$cpu" 0 1000
	cpu_is "${counts[3]}" "$cpu" 0 127
	cpu_is "${counts[4]}" "$cpu" 0 8128
}

@test "REQ-016: existing and later threads are counted" {
	measure "pages=100 switches=5 threads=3 late=4 spins=10000000" -p PAGE_FAULT.ALL \
		-p CONTEXT_SWITCHES.VOLUNTARY -p TASK_CLOCK
	[ "$minflt" -ge 800 ]
	[ "$nvcsw" -ge 20 ]
	is "${counts[0]}" $((minflt + majflt))
	is "${counts[1]}" "$nvcsw"
	# Each of eight threads is counted once; each takes some time to end.
	cpu_is "${counts[2]}" "$cpu" $((slack + cpu / 16))
}

@test "REQ-052: without DESCENDANTS children are not counted" {
	measure "pages=100 children=2 forks=3 below=1" -p PAGE_FAULT.ALL -p TASK_CLOCK
	[ $((all_minflt - minflt)) -ge 800 ]
	is "${counts[0]}" $((minflt + majflt)) $rseq
	cpu_is "${counts[1]}" "$cpu"
}

@test "REQ-051: DESCENDANTS: later children and grandchildren are counted" {
	measure "pages=100 switches=6 forks=3 below=2" -d -p PAGE_FAULT.ALL -p CONTEXT_SWITCHES.VOLUNTARY \
		-p TASK_CLOCK
	[ "$all_minflt" -ge 1000 ]
	is "${counts[0]}" $((all_minflt + all_majflt)) $rseq
	# Our counts end with the exit hook: after the processes' own last figures, and before the kernel's.
	between "$least_nvcsw" "${counts[1]}" "$all_nvcsw"
	cpu_is "${counts[2]}" "$all_cpu" $((slack + all_cpu / 16))
}

@test "the last switch of each process counts, as it does in slices" {
	measure "forks=20" -d -p cs -p '{cs,cs}' -p CONTEXT_SWITCHES.VOLUNTARY -p CONTEXT_SWITCHES.INVOLUNTARY
	[ "${counts[0]}" -ge 20 ]
	[ "${counts[1]}" -eq "${counts[0]}" ]
	[ $((counts[3] + counts[4])) -eq "${counts[0]}" ]
}

@test "REQ-050, REQ-093: DESCENDANTS: existing children are counted from then on" {
	measure "pages=100 switches=6 children=4" -d -p PAGE_FAULT.ALL -p CONTEXT_SWITCHES.VOLUNTARY \
		-p TASK_CLOCK
	[ "$all_minflt" -ge 500 ]
	is "${counts[0]}" $((all_minflt + all_majflt)) $((rseq + 4))
	between "$least_nvcsw" "${counts[1]}" "$all_nvcsw"
	cpu_is "${counts[2]}" "$all_cpu" $((slack + all_cpu / 16))
}

@test "one PMC with and one without DESCENDANTS at once" {
	measure "pages=200 children=2 forks=2" -p PAGE_FAULT.ALL -d -p PAGE_FAULT.ALL
	is "${counts[0]}" $((minflt + majflt)) $rseq
	is "${counts[1]}" $((all_minflt + all_majflt)) $((rseq + 2))
}

@test "REQ-019: the count stays when the last target is gone" {
	run vm pmcx gone 1000 PAGE_FAULT.ALL
	echo "$output"
	status_is 0
	read -r -a v <<<"${lines[-1]}"
	[ "${v[0]}" -ge 1000 ]
	is "${v[1]}" "${v[0]}"
	is "${v[2]}" "${v[0]}"
}

@test "a command is counted from its start to its end, with the processes it starts" {
	run_counts -p PAGE_FAULT.ALL -d -p PAGE_FAULT.ALL load pages=1000 forks=2
	[ "${counts[0]}" -ge 1000 ]
	[ "${counts[0]}" -le 1300 ]
	[ "${counts[1]}" -ge 3000 ]
	[ "${counts[1]}" -le 3600 ]
}

@test "faults are distinguished: reading fresh pages is PAGE_FAULT.READ, writing them PAGE_FAULT.WRITE" {
	measure "pages=500 reads=2000" -p PAGE_FAULT.READ -p PAGE_FAULT.WRITE
	[ "${counts[0]}" -ge 2000 ]
	[ "${counts[0]}" -le 2100 ]
	[ "${counts[1]}" -ge 500 ]
	[ "${counts[1]}" -le 600 ]
}

@test "usr and os count one side: faults of the program, and of the kernel on its behalf" {
	measure "pages=1000 fills=300" -p PAGE_FAULT.ALL,usr -p PAGE_FAULT.ALL,os -p PAGE_FAULT.MINOR,usr \
		-p PAGE_FAULT.ALL,usr,os -p PAGE_FAULT.ALL
	between 1000 "${counts[0]}" 1020
	between 300 "${counts[1]}" 320
	is "${counts[2]}" "${counts[0]}"
	is "${counts[3]}" $((minflt + majflt))
	is "${counts[4]}" $((minflt + majflt))
}

@test "PAGE_FAULT.WRITE follows descendants" {
	measure "pages=500 children=2 forks=2" -p PAGE_FAULT.WRITE -d -p PAGE_FAULT.WRITE
	[ "${counts[0]}" -ge 500 ]
	[ "${counts[0]}" -le 800 ]
	[ "${counts[1]}" -ge 2500 ]
	[ "${counts[1]}" -le 3500 ]
}

@test "LOCK.FAILED: a process that contends for a kernel lock is charged, another is not" {
	measure "locks=60" -p LOCK.FAILED
	[ "${counts[0]}" -gt 0 ]
	measure "spins=1000000" -p LOCK.FAILED
	is "${counts[0]}" 0 2	# the page allocator's and the scheduler's own locks
}

@test "CPU_MIGRATIONS: every change of CPU is counted, as the kernel counts them, for the process and not for another" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh "$VM_ASLEEP"'
		rm -f /tmp/load /tmp/rows
		load -w moves=200 >/tmp/load & load=$!
		until grep -qs ready /tmp/load && asleep $load; do usleep 5000; done
		pmcstat -q --csv -C -w 0.05 -o /tmp/rows -t $load -p CPU_MIGRATIONS & stat=$!
		until [ "$(cat /tmp/rows 2>&1 | grep -c ,)" -ge 2 ]; do usleep 5000; kill -0 $stat || exit; done
		before=$(moved $load)
		kill -USR1 $load
		load moves=100
		until [ "$(grep -cs ^all /tmp/load)" -eq 2 ] && asleep $load; do usleep 5000; done
		kill -INT $stat
		wait $stat || exit
		echo $(($(moved $load) - before))
		tail -n 1 /tmp/rows | cut -d, -f2
		kill $load'
	echo "$output"
	status_is 0
	[ "${lines[-2]}" -ge 200 ]
	[ "${lines[-1]}" -eq "${lines[-2]}" ]
}

@test "REQ-002, REQ-009: system scope counts one CPU: the working one, not the other" {
	run vm_sh 'pmcstat -q --csv -C -c 0 -s PAGE_FAULT.ALL -c 1 -s PAGE_FAULT.ALL -c 0 -s CPU_CLOCK \
		taskset 2 load pages=5000 2>&1 >/dev/null'
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	counts=("${counts[@]:1}")
	[ "${counts[1]}" -ge 5000 ]
	[ "${counts[1]}" -le 7000 ]
	[ "${counts[0]}" -le 2000 ]
	[ "${counts[2]}" -gt 0 ]
}

@test "system scope, switches: together they equal the kernel's context switches" {
	run vm_sh 'pmcstat -q --csv -C -c 1 -s CONTEXT_SWITCHES -s CONTEXT_SWITCHES.VOLUNTARY \
		-s CONTEXT_SWITCHES.INVOLUNTARY taskset 2 load switches=1000 2>&1 >/dev/null'
	echo "$output"
	status_is 0
	IFS=, read -r -a counts <<<"${lines[-1]}"
	counts=("${counts[@]:1}")
	[ "${counts[1]}" -ge 1000 ]
	# three counters, started and read in turn: on a slow machine many events happen in between
	is "${counts[0]}" $((counts[1] + counts[2])) 100
}

@test "every row is free again, and no program is left behind" {
	# The daemon may not yet have seen the last client's end.
	vm_until 60 '[ "$(pmccontrol -l | grep -c "SOFT .*FREE")" -eq 32 ]'
}

@test "the kernel has not complained" {
	vm_clean_log
}
