#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat --per-thread and PMC_F_LOG_THREXIT: each thread's count is what it did, whether it has ended or not.

load helpers

ENTER=syscalls:sys_enter_sched_get_priority_max
THREXIT=0x2000

setup() {
	need_calls
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon "${ROOM[@]}"
	# Its argument: so many threads, which make three calls each and sleep.
	cat >many.py <<-'END'
		import ctypes, sys, threading, time
		libc = ctypes.CDLL(None)
		n = int(sys.argv[1])
		gate = threading.Barrier(n + 1)
		def work():
		    for _ in range(3):
		        libc.sched_get_priority_max(1)
		    gate.wait()
		    time.sleep(1000)
		threading.stack_size(65536)
		for _ in range(n):
		    threading.Thread(target=work, daemon=True).start()
		gate.wait()
	END
}

# rows_of OPTION...: the rows of a measurement, in `rows`; without the header
rows_of() {
	run pmcstat -q --per-thread --csv -o rows "$@"
	[ "$status" -eq 0 ] || unless_hidden "$output"
	sed -i 1d rows
}

# counts: the pmcstat $pid has started its PMCs: it waits in poll(2), or ppoll(2)
counts() {
	local number=73
	[ "$(uname -m)" != x86_64 ] || number=7
	asleep "$pid" && [ "$(cut -d ' ' -f 1 "/proc/$pid/syscall")" = $number ]
}

# sum FIELD: of all rows
sum() { awk -F, -v field="$1" '{ n += $field } END { print n + 0 }' rows; }

@test "PERF-014: threads that have ended and threads that have not, of a process and of its children" {
	rows_of -d -p $ENTER -p CONTEXT_SWITCHES load threads=3 forks=2 below=1 calls=10
	# The first thread and three more; two children with one child each.
	[ "$(wc -l <rows)" -eq 8 ]
	[ "$(cut -d, -f4 rows | sort -u)" = 10 ]
	[ "$(cut -d, -f1 rows | sort -u | wc -l)" -eq 5 ]
	[ "$(cut -d, -f3 rows | sort -u)" = load ]
	workload w threads=3 calls=10
	pmcstat -q --per-thread --csv -o rows -p $ENTER -t "${WORKLOAD[w]}" 3>&- &
	pid=$!
	wait_for counts
	work w
	kill -INT $pid
	wait $pid
	[ "$(sed 1d rows | cut -d, -f1,4 | sort -u)" = "${WORKLOAD[w]},10" ]
	[ "$(sed 1d rows | wc -l)" -eq 4 ]
	grep -q "^${WORKLOAD[w]},${WORKLOAD[w]},load,10" rows
}

@test "more threads than are recorded at once; names, also of a thread that never gave its CPU up" {
	rows_of -p $ENTER python3 many.py 600
	[ "$(wc -l <rows)" -eq 601 ]
	[ "$(cut -d, -f4 rows | grep -cx 3)" -eq 600 ]
	cat >names.py <<-'END'
		import ctypes, threading
		libc = ctypes.CDLL(None)
		def work(n):
		    libc.prctl(15, b"worker,%d" % n)
		    for _ in range(10 + n):
		        libc.sched_get_priority_max(1)
		for n in range(3):
		    t = threading.Thread(target=work, args=(n,))
		    t.start()
		    t.join()
		libc.prctl(15, b"first\nthread")
	END
	rows_of -p $ENTER python3 names.py
	for n in 0 1 2; do grep -q ",\"worker,$n\",1$n\$" rows; done
	run pmcstat -q --per-thread -p $ENTER python3 names.py
	status_is 0
	[[ $output == *" NAME"* && $output == *" first?thread"* ]]
	run pmcstat -q --per-thread --json -p $ENTER python3 names.py
	[[ $output == *'"name":"worker,2","counters":[{"name":"'$ENTER'"'*'"value":12}]}'* ]]
}

@test "an exec goes on under the process's number, whichever thread executes" {
	cat >execs.py <<-'END'
		import ctypes, os, threading
		libc = ctypes.CDLL(None)
		for _ in range(10):
		    libc.sched_get_priority_max(1)
		def execute():
		    for _ in range(20):
		        libc.sched_get_priority_max(1)
		    os.execvp("load", ["load", "calls=30"])
		threading.Thread(target=execute).start()
	END
	rows_of -p $ENTER -p PAGE_FAULT.ALL python3 execs.py
	# The first thread may be recorded before the other one takes its number, or together with it.
	cat rows
	[ "$(sum 4)" -eq 60 ]
	grep -q ',load,[34]0,' rows
	[ "$(grep -c ',python3,20,' rows)" -eq 1 ]
}

@test "without room for its records a count fails" {
	stop_daemon
	start_daemon -o kern.hwpmc.nsamples=1	# 512 KB: 8192 threads
	cat >ends.py <<-'END'
		import signal, threading
		signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
		print("ready", flush=True)
		signal.sigwait([signal.SIGUSR1])
		for _ in range(144):
		    threads = [threading.Thread() for _ in range(60)]
		    for t in threads: t.start()
		    for t in threads: t.join()
		print("ended", flush=True)
		signal.pause()
	END
	taskset -c 0 python3 ends.py >ready 3>&- &
	WORKLOAD[w]=$!
	wait_for grep -q ready ready
	pmcstat -q --per-thread -p $ENTER -t "${WORKLOAD[w]}" 2>said 3>&- &
	pid=$!
	wait_for counts
	suspend_daemon				# nothing reads the rings
	kill -USR1 "${WORKLOAD[w]}"
	wait_for grep -q ended ready
	resume_daemon
	kill -INT $pid
	ended=0
	wait $pid || ended=$?
	tail -n 2 said
	[ "$ended" -eq 70 ] || unless_hidden "$(<said)"
	grep -q 'records are missing' said
}

# PERF-339
@test "what is counted without threads is refused" {
	for options in "-s CPU_CLOCK" "-P CPU_CLOCK" "-C -p $ENTER" "-w 1 -p $ENTER" "-p {$ENTER,PAGE_FAULT.ALL}" "-E -p $ENTER"; do
		# shellcheck disable=SC2086 # words
		run pmcstat --per-thread $options true
		status_is 64
		[[ $output == *"per-thread"* ]]
	done
	run pmcstat --per-thread -p $ENTER -t tid:$$
	status_is 64
	[[ $output == *"--per-thread is for processes, not for -t tid:"* ]]
	run pmcstat --per-thread -p CPU_MIGRATIONS true
	[[ $status -ne 0 && $output == *"CPU_MIGRATIONS has no time slices that could be logged"* ]]
	client own
	expect own 'alloc EINVAL*process-scope PMCs only' caps 0x20 alloc 1 15 0x20004 0 $THREXIT
	expect own 'alloc EINVAL*PMC_F_LOG_THREXIT is for counts*' caps 0x20 alloc 2 15 0x20007 any $THREXIT
	expect own 'alloc 0 *' caps 0x20 alloc 3 15 0x20004 any $THREXIT
	expect own 'start EBADRQC*PMC_F_LOG_THREXIT*none is configured' start
	stop_daemon
	start_daemon -o kern.hwpmc.logversion=3
	run pmcstat --per-thread -p $ENTER true
	[[ $status -ne 0 && $output == *"have no records of threads"* ]]
}
