#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Waits: samples of OFFCPU_TIME, compared with the kernel's figures and with what a program asked for.

load helpers

setup() { in_tmpdir_with_daemon "${ROOM[@]}" -o kern.hwpmc.offcpurate=1000000; }

need_waits() {
	pmccontrol -L | grep -q OFFCPU_TIME || skip "this kernel lets no program run behind a switch"
}

# waits CHECK THRESHOLD WORK...: samples the program, and compares.
waits() {
	local check=$1 threshold=$2 status=0
	shift 2
	need_waits
	pmcstat -d -n "$threshold" -P OFFCPU_TIME -O log waited "$@" >figures
	pmc filter -j log log.json
	python3 "$BATS_TEST_DIRNAME/offcpu.py" "$check" log.json figures || status=$?
	[ $status -ne 75 ] || skip "the kernel hid a context switch"
	return $status
}

@test "time on run queues is the scheduler's, to the nanosecond" {
	waits queue 1 sleep 20 2000000
}

@test "a sleep is sampled with its whole length" {
	waits sleep 1 sleep 20 2000000
}

@test "a wait for another thread's lock is one" {
	waits lock 1 lock 10 2000000
}

@test "of two threads on one CPU, one is off it" {
	waits share 1 share 100
}

@test "each of 2,000 threads has its own waits" {
	waits crowd 1000000 crowd 2000 500000000
}

@test "waits below the threshold are counted, with their time" {
	waits short 1000000000000 sleep 20 1000000
	pmc report log >report 2>&1
	grep -q '^ #waits/short  *[1-9]' report
	grep -q '^ #waits/short-ns  *[1-9]' report
}

@test "waits beyond the rate are counted, with their time" {
	stop_daemon
	start_daemon "${ROOM[@]}" -o kern.hwpmc.offcpurate=1
	waits dropped 1 sleep 50 1000000
	pmc report log 2>&1 | grep -q 'WARNING: "log" lacks [0-9]* waits (0.[0-9]* s)'
}

@test "the rate of a PMC begins anew with each start: what ran at its place before takes nothing of it" {
	need_waits
	stop_daemon
	start_daemon "${ROOM[@]}" -o kern.hwpmc.offcpurate=1
	mkfifo orders
	# At each stop it runs, so that no wait is open.
	cat >turns <<-'end'
		n=0
		while read -r line; do
			n=$((n + 1))
			: >ended.$n
			until [ -e next.$n ]; do :; done
		done
	end
	taskset -c 0 dash turns <orders 3>&- &
	TARGET=$!
	exec {ORDERS}>orders
	client owner
	expect owner 'log 0' log log
	ask owner caps 0x21 alloc 2 15 0x20012 any 0x80 setcount 1 attach $TARGET
	for i in {1..10}; do
		wait_for asleep $TARGET
		expect owner 'start 0' start
		echo >&"$ORDERS"
		wait_for test -e ended.$i
		expect owner 'stop 0' stop
		: >next.$i
	done
	exec {ORDERS}>&-
	expect owner 'endlog 0' endlog
	# Beside other programs it is preempted as well.
	pmcstat -R log >text
	sleeps=$(awk '/^map-in .*\[sleep\]/ { print $3 }' text)
	[ "$(grep -c "^\.\.\.  *$sleeps$" text)" -ge 10 ]
}

@test "samples and short waits add up to the same time, whatever the threshold" {
	need_waits
	pmcstat -n 1 -P OFFCPU_TIME -n 3000000 -P OFFCPU_TIME -O log waited sleep 20 2000000 >figures
	pmc filter -j log log.json
	python3 "$BATS_TEST_DIRNAME/offcpu.py" equal log.json figures || status=$?
	[ "${status:-0}" -ne 75 ] || skip "the kernel hid a context switch"
	[ "${status:-0}" -eq 0 ]
}

@test "the chain is the one of the waiting thread, its innermost frame the reason" {
	need_waits
	pmc record --off-cpu --no-report -o log waited sleep 10 2000000 >/dev/null
	pmc report --folded folded log
	grep -q '^waited;.*main;.*sleep_often.*;.*nanosleep.*;\[sleep\]_\[k\] [0-9]*$' folded
	pmc report log | grep -q '^OFFCPU_TIME: [0-9]* ns$'
}

@test "the callers of a program's wait are there where the kernel's addresses are hidden" {
	need_waits
	chmod 777 .
	run_as_nobody pmc record --off-cpu --no-report -o log waited sleep 10 2000000 >/dev/null
	pmc report --folded folded log
	grep -q '^waited;.*main;.*sleep_often.*;\[sleep\]_\[k\] [0-9]*$' folded
}

@test "--wall: time on and off the CPUs on one scale" {
	need_waits
	pmc record --wall --no-report -o log waited share 100 >figures
	pmc report --wall --folded folded log
	# The CPU time of both threads, in periods of 1 ms, and what one of them waited meanwhile.
	on=$(grep -v ';\[[a-z ]*\]_\[k\] [0-9]*$' folded | awk '{ n += $NF } END { printf "%d", n }')
	off=$(grep ';\[\(preempted\|run queue\)\]_\[k\] [0-9]*$' folded | awk '{ n += $NF } END { printf "%d", n }')
	[ "$on" -gt 0 ] && [ "$off" -gt 0 ]
	[ $((on % 1000000)) -eq 0 ]
	pmc report --wall log | grep -q '^WALL_TIME: [0-9]* ns$'
	run -64 pmc record --wall -e CPU_CLOCK true
	run -64 pmc record --off-cpu -F 100 true
}

@test "a CPU's PMC samples the waits that end there" {
	need_waits
	pmcstat -c 0 -n 1000000 -S OFFCPU_TIME -O log taskset -c 0 waited sleep 5 2000000 >figures
	pmc filter -j log log.json
	grep -q "\"tid\":\"$(cut -d ' ' -f 1 figures)\"" log.json
	refute grep '"type":"callchain".*"cpuflags":"0x1' log.json
}

# samples_waits NAME FLAGS: the client logs the waits that its PMC will sample
samples_waits() {
	expect "$1" 'log 0' log "$1.log"
	expect "$1" 'setcount 0' caps 0x21 alloc 2 15 0x20012 any "$2" setcount 1
}

# begin_waits MODE: `renumbered` has a thread, $tid; a PMC of `every` samples the waits of the process, one of `own` is
# attached to the thread
begin_waits() {
	need_waits
	client every
	client own
	samples_waits every 0x80
	expect own 'alloc 0 *' caps 0x21 alloc 2 15 0x20012 any 0x8080	# the row that the process has for the other PMC
	samples_waits own 0x8080
	coproc RENUMBERED { exec renumbered "$1" 10 3>&-; }
	program=$!
	read -r tid <&"${RENUMBERED[0]}"
	expect every 'start 0' attach $program start
	expect own 'attachthread 0' attachthread $program "$tid"
}

# finish_waits NAME...: their logs
finish_waits() {
	for name; do
		expect "$name" 'endlog 0' stop endlog
		pmc filter -j "$name.log" "$name.json"
		! grep -q '"type":"waits".*"unknown":"[1-9]' "$name.json" || skip "the kernel hid a context switch"
	done
}

# thread_waits MODE: the thread's waits are the process's, from its PMC's first to its last.  $own is their number, $later
# that of the process's with the thread's number that came after.
thread_waits() {
	begin_waits "$1"
	expect own 'start 0' start
	echo >&"${RENUMBERED[1]}"
	read -r line <&"${RENUMBERED[0]}"
	[ "$line" = "done" ]
	finish_waits own every
	python3 - "$tid" $program >numbers <<-'end'
		import json, sys
		thread, process = sys.argv[1:]
		def waits(path):
		    log = [json.loads(line) for line in open(path, encoding="utf-8")]
		    execs = [int(r["tsc"]) for r in log if r["type"] == "procexec"] or [1 << 64]
		    # In the order of time.  By the process's number: its first thread until the exec, then this one.
		    found = [(int(r["tsc"]), int(log[i - 1]["values"]["period"]), r["tid"] == thread)
		             for i, r in enumerate(log) if r["type"] == "callchain" and r["tid"] in (thread, process)]
		    return [(time, ns, its or time > execs[0]) for time, ns, its in sorted(found)]
		own = waits("own.json")
		# A wait is one sample, or one for each of its parts.
		own = [ns for time, ns, _ in own if own[0][0] < time < own[-1][0]]
		every = [(ns, its) for _, ns, its in waits("every.json")]
		lengths = [ns for ns, _ in every]
		first, last = lengths.index(own[0]), lengths.index(own[-1])
		left = list(own)
		for ns, its in every[first:last + 1]:
		    if left and ns == left[0]:
		        left.pop(0)
		    else:
		        assert not its, (ns, own, every)
		assert not left, (left, own, every)
		print(len(own), sum(its for _, its in every[last + 1:]))
	end
	read -r own later <numbers
	echo "$own $later"
}

@test "waits of a single thread are its own, and not of a later one with its number" {
	thread_waits again
	[ "$own" -ge 8 ]
	[ "$later" -ge 10 ]
}

@test "waits of a single thread that executes a program are sampled further" {
	thread_waits "exec"
	[ "$own" -ge 18 ]
}

@test "a PMC that starts when its thread has ended samples no waits of another one with its number" {
	begin_waits again
	echo >&"${RENUMBERED[1]}"
	read -r line <&"${RENUMBERED[0]}"
	[ "$line" = "done" ]
	expect own 'start 0' start
	echo >&"${RENUMBERED[1]}"
	wait $program
	finish_waits own every
	grep -q "\"type\":\"callchain\".*\"tid\":\"$tid\"" every.json
	refute grep '"type":"callchain"' own.json
}

@test "what cannot be counted, and a side of it, are refused" {
	need_waits
	run pmcstat -p OFFCPU_TIME true
	[[ $output == *"OFFCPU_TIME can be sampled, not counted: how long a thread has waited is known when it runs again, not at a reading"* ]]
	run pmcstat -P OFFCPU_TIME,usr true
	[[ $output == *"OFFCPU_TIME happens in the kernel: usr would count nothing"* ]]
}

# states ENTRIES THREADS: the maps have states of threads; those of all threads that have waited
states() {
	bpftool map dump id "$1" | grep -q '"task": [1-9]' || bpftool map dump id "$2" | grep -q '"switches"'
}
no_states() { run ! states "$@"; }

@test "when no PMC samples waits any more, nothing of any thread stays in the kernel" {
	need_waits
	maps=("$(daemon_map offcpu_entries)" "$(daemon_map offcpu_threads)")
	pmcstat -q -c 0 -n 1000000000000 -S OFFCPU_TIME -O log 3>&- &
	waits=$!
	wait_for states "${maps[@]}"
	kill -INT $waits
	wait $waits
	wait_for no_states "${maps[@]}"
}

@test "a wait that has not ended when its PMC stops is a sample of the time up to the stop" {
	need_waits
	sleep 1000 3>&- &
	TARGET=$!
	wait_for is_program $TARGET sleep
	wait_for asleep $TARGET
	client owner
	expect owner 'log 0' log log
	before=$(date +%s%N)
	ask owner caps 0x21 alloc 2 15 0x20012 any 0x80 setcount 1 attach $TARGET start
	expect owner 'stop 0' stop
	after=$(date +%s%N)
	expect owner 'endlog 0' endlog
	pmc filter -j log log.json
	python3 - $TARGET $((after - before)) <<-'end'
		import json, sys
		log = [json.loads(line) for line in open("log.json")]
		at = [i for i, r in enumerate(log) if r["type"] == "callchain" and r["tid"] == sys.argv[1]]
		ns = [int(log[i - 1]["values"]["period"]) for i in at]
		sys.exit(not (len(ns) == 1 and 0 < ns[0] <= int(sys.argv[2])))
	end
}

@test "wakers are refused where there are none, and by a kernel whose programs cannot see that they are in an interrupt" {
	need_waits
	run pmc record --wakers true
	[[ $status -eq 64 && $output == *"option --wakers is for waits: give --off-cpu or --wall"* ]]
	run pmcstat -P OFFCPU_TIME,wakers=1 true
	[[ $output == *'wakers takes no value: "1"'* ]]
	run pmcstat -P CPU_CLOCK,wakers true
	[[ $output == *"PMC_F_WAKERS: CPU_CLOCK has no waits that something ends; it is for OFFCPU_TIME"* ]]
	run pmcstat -p PAGE_FAULT.ALL,wakers true
	[[ $output == *"wakers is for samples, and this PMC counts"* ]]
	run pmc record --off-cpu --wakers -o log waited sleep 5 2000000
	# tests/vm/wakers.bats compares wakers on kernels of all kinds.
	if [ "$(uname -m)" = x86_64 ] && ! grep -qE ' (__preempt_count|pcpu_hot)$' /proc/kallsyms; then
		[[ $status -ne 0 && $output == *"it takes one with CONFIG_KALLSYMS_ALL"* && ! -e log ]]
	else
		[ "$status" -eq 0 ]
		pmcstat -R log | grep -q '^waker .* interrupt$'
	fi
}
