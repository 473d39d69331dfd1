#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# CPUs that go offline and come back under PMCs.  CPU 1 is online at the start and end of each test.

load helpers

setup() {
	online=/sys/devices/system/cpu/cpu1/online
	off="! echo 0 >$online"
	on="! echo 1 >$online"
	vm_all_cpus
}

teardown() {
	vm_all_cpus
	vm_clean_log
}

# client LINE... - a client that performs these lines; the answers are in lines[]
client() {
	run vm_sh 'printf "%s\n" "$@" | pmci' "$@"
	echo "$output"
	status_is 0
	lines_ok
}

# lines_ok - any output of a client's shell commands is a failure of the test itself
lines_ok() {
	[[ $output != *"!:"* && $output != *"no such command"* ]]
}

# line N TEXT - answer N is exactly that
line() {
	[ "${lines[$1]}" = "$2" ] || { echo "answer $1: ${lines[$1]}; wanted: $2" >&2; return 1; }
}

# refused N COMMAND - answer N is the command's refusal because the CPU is offline
refused() {
	[[ ${lines[$1]} =~ ^$2:\ ENXIO\ .*CPU\ 1.*offline ]] || { echo "answer $1: ${lines[$1]}" >&2; return 1; }
}

# number N - answer N, which must be a number
number() {
	[[ ${lines[$1]} =~ ^[a-z]+:\ ([0-9]+)( |$) ]] || { echo "answer $1: ${lines[$1]}" >&2; return 1; }
	echo "${BASH_REMATCH[1]}"
}

# grows N M - from answer N to answer M
grows() {
	local a b

	a=$(number "$1")
	b=$(number "$2")
	[ "$a" -lt "$b" ] || { echo "answers $1 and $2: $a, then $b" >&2; return 1; }
}

# no_rows_in_use - every row is free again
no_rows_in_use() {
	vm_until 60 '! pmccontrol -l | grep -E "THREAD|STANDALONE"'
}

# descriptors - the daemon's open descriptors at rest: every thread sleeps without a timeout
descriptors() {
	# Helpers have a thread name of their own.
	vm_until 60 'daemon=$(grep -lx pmcbpfd /proc/[0-9]*/comm | head -n 1 | cut -d/ -f3)
		for task in /proc/$daemon/task/*; do
			grep -q ") S " $task/stat && read -r n a b c time rest <$task/syscall || exit
			case $time in 0x0|0xffffffff*) ;; *) exit 1 ;; esac
		done
		ls /proc/$daemon/fd | wc -l >/tmp/descriptors' || return
	vm cat /tmp/descriptors
}

# --- refusals -----------------------------------------------------------------------------------

# PERF-351
@test "REQ-120, REQ-121, REQ-171, REQ-172, C-5: requests for an offline CPU are refused, and work when it is back" {
	client "$off" "info 1" "alloc a sc 1 CPU_CLOCK" "alloc a sc 1 PAGE_FAULT.READ" "disable 1 1" "enable 1 1" \
		"info 0" "alloc b sc 0 CPU_CLOCK" \
		"$on" "info 1" "alloc a sc 1 CPU_CLOCK" "start a" "disable 1 1" "enable 1 1"
	refused 0 info
	refused 1 alloc
	refused 2 alloc
	refused 3 disable
	refused 4 enable
	for i in 5 6 7 8 9; do
		[[ ${lines[$i]} == *": ok" ]]
	done
	no_rows_in_use
}

@test "REQ-173, REQ-174, REQ-121: START, STOP and reading a PMC of an offline CPU; it continues when the CPU is back" {
	client "alloc a sc 1 CPU_CLOCK" "alloc b sc 1 CPU_CLOCK" "start a" "read a" "read b" \
		"$off" "read a" "read b" "write b 5" "start b" "stop a" "stop a" "start a" \
		"$on" "read a" "start a" "read a" "start b" "read b"
	for i in 0 1 2; do
		[[ ${lines[$i]} == *": ok" ]]
	done
	refused 5 read
	refused 6 read
	refused 7 write
	refused 8 start
	refused 9 stop
	line 10 "stop: ok"	# it is stopped, and stopping it twice works
	refused 11 start
	grows 3 12		# up to the CPU's end
	line 13 "start: ok"
	grows 12 14
	line 15 "start: ok"
	no_rows_in_use
}

@test "REQ-186: a running PMC of the CPU keeps its state and its count, and continues" {
	client "alloc a sc 1 CPU_CLOCK" "alloc h sc 1 CONTEXT_SWITCHES.VOLUNTARY" "start a" "start h" \
		"! usleep 100000" "read a" "read h" \
		"$off" "read a" "read h" "! usleep 300000" \
		"$on" "read a" "read h" "! usleep 100000" "read a" "read h" "stop a" "stop h" "read a" "read h"
	refused 6 read
	refused 7 read
	grows 4 8
	grows 8 10
	grows 10 14
	grows 5 11
	# At most the time online, and not the value of a new event, or garbage.
	[ "$(number 14)" -gt 200000000 ]
	no_rows_in_use
}

@test "REQ-120: the time stamp counter of an offline CPU is not read" {
	vm_require_arch amd64
	client "alloc t sc 1 tsc" "start t" "read t" "$off" "read t" "$on" "read t" "stop t"
	refused 3 read
	grows 2 4
	line 5 "stop: ok"
}

@test "REQ-121: pmcstat -s names the CPU that goes offline, and prints the rest" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'rm -f /tmp/rows; pmcstat --csv -C -w 0.1 -s CPU_CLOCK -o /tmp/rows 2>/tmp/said &
		until [ "$(cat /tmp/rows 2>&1 | grep -c ,)" -ge 3 ]; do usleep 10000; done; echo 0 >$1
		usleep 1500000; kill -INT $!
		wait $!; echo $?; cat /tmp/said; tail -n 1 /tmp/rows; sed -n 3p /tmp/rows' $online
	echo "$output"
	status_is 0
	[ "${lines[0]}" = 0 ]
	[ "${lines[1]}" = 'pmcstat: WARNING: CPU 1 is offline: "CPU_CLOCK" stands still' ]
	IFS=, read -r _ zero one <<<"${lines[2]}"
	IFS=, read -r _ early late <<<"${lines[3]}"
	[ "$zero" -gt $((early + 1000000000)) ]
	[ "$one" -ge "$late" ]
	[ "$one" -lt $((zero - 500000000)) ]
	[ "${#lines[@]}" -eq 4 ]
	no_rows_in_use
}

# --- process scope --------------------------------------------------------------------------------

@test "a group of the CPU stands still with it and goes on, and its equal members stay equal" {
	run vm_sh "pmcstat -q --csv -C -c 1 -w 0.1 -s '{CPU_CLOCK,CONTEXT_SWITCHES,CPU_CLOCK,CONTEXT_SWITCHES.VOLUNTARY}' \
		sh -c 'usleep 200000; echo 0 >$online; usleep 300000; echo 1 >$online; usleep 300000' 2>&1"
	echo "$output"
	status_is 0
	# Some rows are from before, from meanwhile and from after; the count is of the time online.
	awk -F, '/^[0-9]/ { rows++; if ($2 != $4 || $2 < last) exit 1; last = $2 }
		END { if (rows < 5 || last < 200000000) exit 1 }' <<<"$output"
	no_rows_in_use
}

@test "REQ-186: CPU time of a process continues while its CPU goes offline and comes back" {
	[ "$VM_ARCH" = amd64 ] || skip "takes 12 s where instructions are counted; 6.12-x86 proves it"
	client "alloc s tc 0 TASK_CLOCK" "child s" "start s" "! usleep 50000" "read s" "$off" "read s" "$on" \
		"! usleep 50000" "read s" "kill s" "read s" "read s"
	grows 3 4
	grows 4 5
	line 8 "${lines[7]}"
	no_rows_in_use
}

@test "SOFT hooks: a process's events on either CPU are counted exactly" {
	# The load prints the number of fresh pages that it touched.
	vm_sh 'echo 0 >/proc/sys/kernel/randomize_va_space'
	run vm_sh 'pmcstat -q --csv -C -o /tmp/rows -d -p PAGE_FAULT.WRITE load pages=500 forks=4 >/dev/null
		tail -n 1 /tmp/rows | cut -d, -f2; echo 0 >$1
		pmcstat -q --csv -C -o /tmp/rows -d -p PAGE_FAULT.WRITE load pages=500 forks=4 >/dev/null &
		usleep 200000; echo 1 >$1; wait; tail -n 1 /tmp/rows | cut -d, -f2' $online
	echo "$output"
	status_is 0
	[ "${lines[0]}" -gt 2500 ]
	is "${lines[1]}" "${lines[0]}" 40
	no_rows_in_use
}

# --- hardware ------------------------------------------------------------------------------------- A target that
# runs on a CPU before the daemon has seen it come is rightly EBUSY, and reads of the page make no request: before a
# target moves there, the test makes one.

@test "REQ-186: a target spins while its CPU goes and comes ten times: each read is complete, or EBUSY" {
	vm_require_arch arm64
	local before script=("alloc p tc 0 inst_retired,usr" "child p" "start p" "alloc s sc 1 inst_retired" "start s" "read s")

	vm_daemon_stop
	vm_daemon
	client "alloc p tc 0 inst_retired,usr" "start p"	# descriptors that the daemon keeps once it has been busy
	no_rows_in_use
	before=$(descriptors)
	for i in 1 2 3 4 5 6 7 8 9 10; do
		script+=("$off" "atleast p 2" "$on" "atleast p 2" "! usleep 50000" "atleast p 2" "read s")
	done
	client "${script[@]}"
	for i in $(seq 5 $((${#lines[@]} - 1))); do
		[[ ${lines[$i]} =~ ^atleast:\ [0-9]+\ for\ [0-9]+\ rounds$ ||
			${lines[$i]} == "atleast: EBUSY CPU 1 came online and ran "* || ${lines[$i]} =~ ^read:\ [0-9]+$ ]]
	done
	for i in $(seq 5 4 $((${#lines[@]} - 5))); do	# the reads of s
		grows "$i" $((i + 4))
	done
	no_rows_in_use
	[ "$(descriptors)" -le $((before + 2)) ]
}

@test "a target that ran on the CPU before its counter was opened: EBUSY with the reason, and a new PMC counts" {
	vm_require_arch arm64
	client "alloc p tc 0 inst_retired,usr" "child p" "alloc q tc 0 inst_retired,usr" "child q" "start p" "start q" \
		"! kill -STOP \$(pidof pmcbpfd)" "$off" "$on" "pin p 1" "pin q 0" "! usleep 50000" "! kill -CONT \$(pidof pmcbpfd)" \
		"atleast p 2" "atleast q 2" "read p" "stop p" "read p" "release p" \
		"alloc p tc 0 inst_retired,usr" "child p" "start p" "! usleep 50000" "atleast p 2"
	[[ ${lines[8]} == "atleast: EBUSY CPU 1 came online and ran processes of this PMC before "*"release and allocate again" ]]
	[[ ${lines[10]} == "read: EBUSY CPU 1 came online"* ]]
	[[ ${lines[12]} == "read: EBUSY CPU 1 came online"* ]]
	[ "$(number 17)" -gt 0 ]
	no_rows_in_use
}

@test "an unused CPU: no false alarm, however late the daemon is" {
	vm_require_arch arm64
	client "alloc p tc 0 inst_retired,usr" "child p" "pin p 0" "start p" "! kill -STOP \$(pidof pmcbpfd)" "$off" "$on" \
		"! usleep 50000" "! kill -CONT \$(pidof pmcbpfd)" "! pmccontrol -l >/dev/null" "atleast p 2" "pin p 1" \
		"! usleep 50000" "atleast p 2"
	[ "$(number 4)" -gt 0 ]
	[ "$(number 6)" -gt 0 ]
	no_rows_in_use
}

@test "a PMC allocated while the CPU was offline counts there, on every row" {
	vm_require_arch arm64
	client "$off" "alloc p tc 0 inst_retired,usr" "child p" "start p" "! usleep 50000" "atleast p 2" "pin p 0" "$on" \
		"! pmccontrol -l >/dev/null" "atleast p 2" "pin p 1" "! usleep 50000" "atleast p 2"
	[ "$(number 3)" -gt 0 ]
	[ "$(number 7)" -gt 0 ]
	no_rows_in_use
}

# --- the daemon itself ------------------------------------------------------------------------------

@test "REQ-186: a daemon that was started while the CPU was offline serves it once it is online" {
	vm_daemon_stop
	vm_one_cpu
	vm_daemon
	client "info 1" "alloc p tc 0 TASK_CLOCK" "child p" "start p" "$on" "info 1" "alloc a sc 1 CPU_CLOCK" "start a" \
		"! usleep 50000" "read a" "$off" "read a" "$on" "read a"
	refused 0 info
	line 4 "info: ok"
	refused 8 read
	grows 7 9
	no_rows_in_use
	if [ "$VM_ARCH" = arm64 ]; then
		vm_daemon_stop
		vm_one_cpu
		vm_daemon
		client "alloc p tc 0 inst_retired,usr" "child p" "pin p 0" "start p" "$on" "! pmccontrol -l >/dev/null" \
			"pin p 1" "! usleep 50000" "atleast p 2"
		[ "$(number 5)" -gt 0 ]
	fi
}

@test "REQ-054: the kernel profile's clock runs on a CPU that came after its start" {
	[ "$VM_ARCH" = amd64 ] || skip "takes 12 s where instructions are counted; 6.12-x86 proves it"
	local before after
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'held() { kgmon -s | sed -nE "s/^samples: .*, ([0-9]+) in user code, .*/\1/p"; }
		echo 0 >$1; kgmon -b; held; echo 1 >$1; taskset 2 load spins=1000000000; held
		kgmon -h -p 2>&1; ls gmon.out gmon.kernel; kgmon -r; rm gmon.out gmon.kernel' $online
	echo "$output"
	status_is 0
	[ "${lines[0]}" = 'kgmon: kernel profiling is running.' ]
	before=${lines[1]} after=${lines[2]}
	# Nearly all the time of the work, of which the other CPU has none.
	[ "$after" -gt $((before + 1000)) ]
	[[ $output == *' samples of the kernel in gmon.out: gprof gmon.kernel gmon.out'* ]]
	[ "${lines[*]: -1}" = 'kgmon: kernel profiling is off.' ]
}

@test "every context switch is seen here: none is reported as hidden, whatever CPUs and processes do" {
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'pmcstat -q -d -p LOCK.FAILED -p PAGE_FAULT.WRITE -o /dev/null sh -c "
			load children=3 threads=2 forks=3 below=2 late=2 pages=50 switches=50 &
			for i in 1 2 3; do echo 0 >\$0; true; load pages=20 switches=5; echo 1 >\$0; load switches=5; done
			wait" $1 2>&1 && pmccontrol --doctor' $online
	echo "$output"
	status_is 0
	grep -q '^ok      context switches: this kernel has reported every one$' <<<"$output"
}

@test "CPUs that go and come leave no descriptor behind" {
	local before script=("alloc a sc 1 CPU_CLOCK" "start a")

	client "alloc a sc 1 CPU_CLOCK" "start a"
	no_rows_in_use
	before=$(descriptors)
	for i in 1 2 3 4 5 6 7 8 9 10; do
		script+=("$off" "$on" "read a")
	done
	client "${script[@]}"
	for i in 2 3 4 5 6 7 8 9 10; do
		grows "$i" $((i + 1))
	done
	[ "$(descriptors)" -eq "$before" ]
}
