#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The rules of perf_event_open(2) that no user sees: how pmcbpfd and the library make each of their calls.
# shellcheck disable=SC2154 # bats sets status, output and stderr

load helpers

# One daemon, traced, and PMCs of each class and mode.
setup_file() {
	need_calls
	command -v strace >/dev/null || skip "strace is not installed: packaging/deps test"
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	cd "$BATS_FILE_TMPDIR" || return
	# A process of the kernel's list, so that its pid is the daemon's.
	pmcbpfd() { exec strace -D -f -q -v -s 4096 -e signal=none -y -e trace=perf_event_open,ioctl,mmap,prctl -o calls pmcbpfd "$@"; }
	start_daemon
	unset -f pmcbpfd
	pmcstat -q -o rows -p PAGE_FAULT.ALL -p CPU_CLOCK -p CONTEXT_SWITCHES -p "syscalls:sys_enter_getpid,filter=__syscall_nr > 0" \
		-c 0 -s PAGE_FAULT.ALL -s CPU_CLOCK -s TSC true
	! have_breakpoints || pmcstat -q -o rows -p breakpoint:0x404028/4:w true
	pmcstat -q -O log -n 100 -P PAGE_FAULT.ALL -n 1000000 -d -S CPU_CLOCK -P CPU_CLOCK true
	signalled page-faults 10 29 handle start pages=100 stop
	stop_daemon
	# A call may end in a later line than it begins.
	sed -n 's/.*perf_event_open\(( *\| resumed>\){/perf_event_open({/p' calls >opens
	[ "$(wc -l <opens)" -ge 20 ]
	grep -q 'sample_period=100,' opens
}

setup() { cd "$BATS_FILE_TMPDIR" || return; }
teardown() { :; }

# For the daemon of a setup_file that has failed.
teardown_file() { stop_daemon KILL || true; }

# all PATTERN: each call matches
all() { refute grep -vE -- "$1" opens; }
# none PATTERN: no call does
none() { refute grep -E -- "$1" opens; }

@test "PERF-028, PERF-029, PERF-030, PERF-032: each descriptor is closed at an exec from its birth on, and no call has another flag" {
	all ', PERF_FLAG_FD_CLOEXEC\) = '
}

@test "PERF-020, PERF-022: each event is a group of its own, and its own leader" {
	all ', -1, PERF_FLAG_FD_CLOEXEC\) = '
}

@test "PERF-041, PERF-042, PERF-043, PERF-044, PERF-045, PERF-046, PERF-181, PERF-333: one size, of all fields that are known, which the kernel takes; the rest is 0" {
	[ "$(grep -oE '[{ ]size=[^,]*' opens | sort -u | wc -l)" -eq 1 ]
	all 'size=PERF_ATTR_SIZE_VER[3-9],'
	none '__reserved|= -1 E2BIG'
}

@test "PERF-017, PERF-338, PERF-340, PERF-343, PERF-344, PERF-345: no call is wrong by its form" {
	none '\}, -1, -1, -1'
	none '= -1 (EBADF|EFAULT|EPERM)'
	# The registers of breakpoints are found by calls until one fails.
	refute grep -vE 'type=PERF_TYPE_BREAKPOINT.*= -1 (ENOSPC|EINVAL)' <(grep -E '= -1 ' opens)
}

@test "PERF-100, PERF-371: without freq= a period is fixed, and no sample asks for it" {
	all 'freq=0,'
	none 'PERF_SAMPLE_PERIOD'
	all 'precise_ip=0 '
}

@test "PERF-048: the number of an event has no type in it" {
	refute grep -E 'PERF_TYPE_(HARDWARE|SOFTWARE|HW_CACHE).*config=0x[0-9a-f]{9}' opens
}

@test "PERF-139, PERF-140, PERF-141, PERF-142, PERF-144, PERF-145, PERF-146, PERF-154, PERF-166, PERF-248: values are read one by one, without statistics of children" {
	all 'read_format=0,'
	all 'inherit_stat=0,'
}

@test "PERF-167: the events of a command begin at its exec" {
	grep -q 'sample_period=100,.*enable_on_exec=1,' opens
}

@test "PERF-182: the events of a program that has signals end at its exec" {
	[ "$(grep -c 'remove_on_exec=1,' opens)" -eq 1 ]
	grep -q 'sample_period=10,.*remove_on_exec=1,' opens
}

@test "PERF-156, PERF-346: a PMC's event keeps its counter, and shuts out no other" {
	refute grep -vE 'pinned=1,' <(grep 'sample_period=[1-9]' opens)
	all 'exclusive=0,'
}

@test "PERF-155, PERF-169, PERF-175, PERF-176, PERF-183, PERF-184, PERF-185, PERF-202, PERF-203, PERF-250: records of processes: each with its identity, and a wake by bytes" {
	refute grep -vE 'PERF_COUNT_SW_DUMMY.*watermark=1,.*sample_id_all=1,.*wakeup_watermark=[1-9]' <(grep 'mmap=1,' opens)
	[ "$(grep -c 'mmap=1,' opens)" -eq "$(getconf _NPROCESSORS_ONLN)" ]
	refute grep -E 'inherit=1,|sample_type=([^P]|PERF_SAMPLE_TIME[^,])' <(grep 'mmap=1,' opens)
}

@test "PERF-107, PERF-110, PERF-117, PERF-205, PERF-259, PERF-260: samples come from a program, and need neither a ring nor perf's ids" {
	refute grep -E 'watermark=[1-9]|sample_type=[^0]' <(grep 'sample_period=[1-9]' opens)
}

@test "PERF-168, PERF-241, PERF-243, PERF-244, PERF-247, PERF-251: one event for each CPU brings mappings, names, forks and exits" {
	refute grep -vE 'mmap=1, comm=1,.*task=1,.*mmap2=1, comm_exec=1, use_clockid=1,.*clockid=CLOCK_MONOTONIC' <(grep 'mmap=1,' opens)
}

@test "PERF-237, PERF-253: no record of data, namespaces, kernel symbols, programs, cgroups or patched code" {
	none '(mmap_data|namespaces|ksymbol|bpf_event|cgroup|text_poke|write_backward|context_switch)=1'
}

@test "PERF-204, PERF-225, PERF-227, PERF-228: rings are shared and written to: the kernel overwrites nothing that was not read" {
	# The page alone gives the width of a counter.
	grep 'mmap(.*perf_event' calls | grep -v "mmap(NULL, $(getconf PAGESIZE)," >rings
	[ "$(wc -l <rings)" -eq "$(getconf _NPROCESSORS_ONLN)" ]
	refute grep -v 'PROT_READ|PROT_WRITE, MAP_SHARED, ' rings
	for bytes in $(sed 's/.*mmap(NULL, \([0-9]*\),.*/\1/' rings); do
		pages=$((bytes / $(getconf PAGESIZE) - 1))
		((pages > 0 && (pages & (pages - 1)) == 0))
	done
}

@test "PERF-305, PERF-307, PERF-308, PERF-309, PERF-310, PERF-311, PERF-370: no call redirects records, acts on groups, or asks for ids" {
	refute grep -E 'PERF_EVENT_IOC_(SET_OUTPUT|REFRESH|ID|PAUSE_OUTPUT|QUERY_BPF)|PERF_IOC_FLAG_GROUP|ENOTTY' <(grep 'ioctl(.*perf_event' calls)
	refute grep -E 'PR_TASK_PERF_EVENTS' calls
}
