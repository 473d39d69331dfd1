# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat with the real daemon, or without one, when things go wrong: one line, the documented exit code.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon; }

# fails CODE PATTERN COMMAND...: fails with that exit code and one matching line.
fails() {
	local code=$1 pattern=$2
	shift 2
	run "$@"
	# shellcheck disable=SC2053 # a pattern
	[ "$status" -eq "$code" ] && [ ${#lines[@]} -eq 1 ] && [[ $output == $pattern ]] ||
		{ printf 'exit %s: %s\n' "$status" "$output" >&2; return 1; }
}

@test "unknown events and bad specifiers: the word and a remedy are named" {
	fails 71 '*process-mode pmc with specification "nosuch": *nosuch*pmccontrol -L*Invalid argument*' \
		pmcstat -p nosuch true
	sleep 100 3>&- & victim=$!
	wait_for is_program $victim sleep
	fails 71 '*Operation not permitted*' run_as_nobody pmcstat -l 0.05 -p TASK_CLOCK -t '^sleep$'
	kill $victim
	fails 71 '*system-mode pmc with specification "SOFT-NOSUCH": *NOSUCH*' pmcstat -s SOFT-NOSUCH
	fails 71 '*with specification "tsc,x": *' pmcstat -s tsc,x
	fails 71 '*with specification "": *' pmcstat -s ''
	fails 71 '*with specification "tsc": *' pmcstat -p tsc true
	fails 71 '*with specification "?x": *' pmcstat -p $'\nx' true
	fails 71 '*: *' pmcstat -p "$(printf 'x%.0s' {1..3000})" true
}

@test "a CPU that does not exist" {
	fails 71 '*with specification "CPU_CLOCK": *4094*' pmcstat -c 4094 -s CPU_CLOCK
	fails 64 '*Illegal CPU specification "4095".' pmcstat -c 4095 -s CPU_CLOCK
	fails 64 '*Illegal CPU specification "zero".' pmcstat -c zero -s CPU_CLOCK
}

@test "processes that do not exist" {
	fails 65 '*No processes were attached to. There is no process 2147483647' pmcstat -p TASK_CLOCK -t 2147483647
	fails 65 '*No matching target processes. No process has a name * that matches "no such process"' pmcstat -p TASK_CLOCK -t 'no such process'
	fails 64 '*Illegal process id*' pmcstat -p TASK_CLOCK -t 0
	python3 -c 'import threading, time
t = threading.Thread(target=time.sleep, args=(100,), daemon=True); t.start(); print(t.native_id, flush=True); t.join()' \
		>tid 3>&- & victim=$!
	wait_for test -s tid
	tid=$(<tid)
	fails 65 "*No processes were attached to. $tid is a thread of process $victim: name the process" \
		pmcstat -p TASK_CLOCK -t "$tid"
	kill $victim
	sleep 100 3>&- & victim=$!
	run pmcstat -l 0.05 -p TASK_CLOCK -t 2147483647 -t $victim
	kill $victim
	[ "$status" -eq 0 ]	# one that is gone among others does not matter
}

@test "a command that cannot run" {
	fails 71 'pmcstat: ERROR: execvp "./nosuch" failed: No such file or directory' \
		pmcstat -p TASK_CLOCK ./nosuch
	fails 71 'pmcstat: ERROR: execvp "/" failed: Permission denied' pmcstat -p TASK_CLOCK /
}

@test "other users' processes and whole CPUs need privilege" {
	sleep 100 3>&- & victim=$!
	run run_as_nobody pmcstat -l 0.05 -p TASK_CLOCK -t $victim
	kill $victim
	[ "$status" -eq 71 ]
	[[ $output == *"cannot attach pmc \"TASK_CLOCK\" to process $victim: "*"Operation not permitted"* ]]
	fails 71 '*system-mode pmc with specification "CPU_CLOCK": *Operation not permitted*' \
		run_as_nobody pmcstat -l 0.05 -s CPU_CLOCK
}

@test "any user may measure his own processes" {
	run run_as_nobody pmcstat --csv -d -p TASK_CLOCK sh -c '/bin/true; :'
	[ "$status" -eq 0 ]
	[[ ${lines[1]} =~ ,[1-9][0-9]*$ ]]
	# shellcheck disable=SC2016 # the other shell expands it
	run run_as_nobody bash -c 'sleep 100 3>&- & until grep -qx sleep /proc/$!/comm; do :; done
		pmcstat -l 0.1 -p PAGE_FAULT.ALL -t $!; status=$?; kill $!; exit $status'
	[ "$status" -eq 0 ]
}

@test "no daemon, no root: how to start the daemon, exit 69" {
	stop_daemon
	fails 69 '*Initialization of the pmc(3) library failed: *pmcbpfd*' \
		run_as_nobody pmcstat -p TASK_CLOCK true
}

@test "the daemon dies during a measurement: one line, exit 71, the command runs to its end" {
	pmcstat -w 0.05 -o counts -p TASK_CLOCK -c 0 -s CPU_CLOCK \
		sh -c 'while [ ! -e gone ]; do sleep 0.02; done; sleep 0.3; touch ran' 2>err 3>&- &
	pid=$!
	wait_for test -s counts
	stop_daemon
	touch gone
	code=0
	wait $pid || code=$?
	[ $code -eq 71 ]
	[ -e ran ]
	[ "$(wc -l <err)" -eq 1 ]
	[[ $(cat err) == 'pmcstat: ERROR: Cannot read pmc "'*'": '* ]]
}

@test "a full disk: one line, exit 71, the command runs to its end" {
	fails 71 'pmcstat: ERROR: cannot write to "/dev/full": No space left on device' \
		pmcstat -w 0.05 -o /dev/full -p TASK_CLOCK sh -c 'sleep 0.2; touch ran'
	[ -e ran ]
}
