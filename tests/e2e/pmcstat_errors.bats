# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat with the real daemon, or without one, when things go wrong: one line, the documented exit code.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon; }

# fails CODE PATTERN COMMAND...: fails with that exit code and one matching line.
fails() {
	gives_like "$@"
	[ ${#lines[@]} -eq 1 ]
}

# PERF-352
@test "unknown events and bad specifiers: the word and a remedy are named" {
	fails 71 '*process-mode pmc with specification "nosuch": *nosuch*pmccontrol -L*Invalid argument*' \
		pmcstat -p nosuch true
	fails 71 '*system-mode pmc with specification "SOFT-NOSUCH": *NOSUCH*' pmcstat -s SOFT-NOSUCH
	fails 71 '*with specification "CPU_CLOCK": *4094*' pmcstat -c 4094 -s CPU_CLOCK
	for spec in tsc,x ''; do
		fails 71 "*with specification \"$spec\": *" pmcstat -s "$spec"
	done
	fails 71 '*with specification "tsc": *' pmcstat -p tsc true
	fails 71 '*with specification "[?]x": *' pmcstat -p $'\nx' true
	fails 71 '*: *' pmcstat -p "$(printf 'x%.0s' {1..3000})" true
}

# PERF-019, PERF-363
@test "processes that do not exist" {
	fails 65 '*No processes were attached to. There is no process 2147483647' pmcstat -p TASK_CLOCK -t 2147483647
	python3 -c 'import threading, time
t = threading.Thread(target=time.sleep, args=(100,), daemon=True); t.start(); print(t.native_id, flush=True); t.join()' \
		>tid 3>&- & victim=$!
	wait_for test -s tid
	tid=$(<tid)
	fails 65 "*No processes were attached to. $tid is a thread of process $victim: name the process, or tid:$tid to count the thread alone" \
		pmcstat -p TASK_CLOCK -t "$tid"
	kill $victim
	sleep 100 3>&- & victim=$!
	run pmcstat -l 0.05 -p TASK_CLOCK -t 2147483647 -t $victim
	kill $victim
	[ "$status" -eq 0 ]	# one that is gone among others does not matter
}

# PERF-334, PERF-335, PERF-336
@test "other users' processes and whole CPUs need privilege" {
	sleep 100 3>&- & victim=$!
	wait_for is_program $victim sleep
	fails 71 '*Operation not permitted*' run_as_nobody pmcstat -l 0.05 -p TASK_CLOCK -t '^sleep$'
	fails 71 "*cannot attach pmc \"TASK_CLOCK\" to process $victim: *Operation not permitted*" \
		run_as_nobody pmcstat -l 0.05 -p TASK_CLOCK -t $victim
	kill $victim
	fails 71 '*system-mode pmc with specification "CPU_CLOCK": *Operation not permitted*' \
		run_as_nobody pmcstat -l 0.05 -s CPU_CLOCK
}

# PERF-314, PERF-318, PERF-319, PERF-337
@test "any user may measure his own processes" {
	run -0 run_as_nobody pmcstat --csv -d -p TASK_CLOCK sh -c '/bin/true; :'
	[[ ${lines[1]} =~ ,[1-9][0-9]*$ ]]
	# PERF-321: no user maps a ring, so that none needs locked memory.
	run -0 run_as_nobody bash -c 'ulimit -l 0 && pmcstat -q -n 1 -P PAGE_FAULT.ALL -O /dev/null true'
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
