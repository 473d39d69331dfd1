# SPDX-License-Identifier: BSD-2-Clause
#
# pmc record: one command from a workload to its report.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() {
	rest_all
	stop_daemon
}

script='i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'

samples() { pmcstat -R "${1:-pmc.log}" | grep -c '^callchain'; }

# on_terminal COMMAND...: its standard output and error are a terminal, whose contents go to the file `shown`.
on_terminal() {
	python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@" >shown </dev/null
}

@test "a command and its descendants, with call chains, into pmc.log, and a line with the number of samples" {
	run -0 pmc record sh -c "sh -c '$script'; $script"
	n=$(samples)
	[ "$n" -ge 20 ]
	[[ $output =~ ^'pmc: '$n' samples in "pmc.log" ('[0-9.]+' kB); pmc report shows them'$ ]]
	# Two processes of it, and caller frames.
	[ "$(pmcstat -R pmc.log | awk '$1 == "callchain" { print $2 }' | sort -u | wc -l)" -ge 2 ]
	pmcstat -R pmc.log >text
	grep -q '^allocate' text
	[ "$(grep -c '^\.\.\.' text)" -gt "$n" ]
}

@test "-N omits call chains, -g includes them, -o names the log, -e and -c choose the samples" {
	gives_like 0 '* samples in "here.log" *' pmc record -N -e PAGE_FAULT.ALL -c 1 -o here.log sh -c "$script"
	pmcstat -R here.log >text
	grep -q '^allocate.*PAGE_FAULT.ALL' text
	[ "$(grep -c '^\.\.\.' text)" -eq "$(grep -c '^callchain' text)" ]
	pmc record -N -g -e CPU_CLOCK -o chains.log sh -c "$script"
	pmcstat -R chains.log >text
	[ "$(grep -c '^\.\.\.' text)" -gt "$(grep -c '^callchain' text)" ]
}

@test "-F: eight times as many; the period of events other than clocks is steered" {
	# Equal work, not equal CPU time, which may include stolen time; a busy machine's clock skips ticks.
	pmc record -e CPU_CLOCK -F 500 -o slow.log load spins=1500000000
	pmc record -e CPU_CLOCK -F 4000 -o fast.log load spins=1500000000
	slow=$(samples slow.log)
	[ "$slow" -ge 50 ] && [ "$(samples fast.log)" -ge $((3 * slow)) ]
	gives 64 'pmc: ERROR: "CLOCK.HARD" is sampled at most 1000 times a second' pmc record -e CLOCK.HARD -F 2000 true
	# A clock's own rate, whatever its name's spelling.
	for event in CLOCK.STAT 'soft clock-stat'; do
		pmc record -e "$event" -F 127 -o ticks.log true
		pmc filter -j ticks.log - | grep -q '"rate":"1"'
	done
	pmc record -e CLOCK.PROF -F 127 -o ticks.log true
	pmc filter -j ticks.log - | grep -q '"rate":"64"'
	gives 64 'pmc: ERROR: "CLOCK.STAT" is sampled at most 127 times a second' pmc record -e CLOCK.STAT -F 128 true
	pmcstat -q -P 'cpu clock' -O blank.log true
	pmc filter -j blank.log - | grep -q '"rate":"1000000"'
	most=$(</proc/sys/kernel/perf_event_max_sample_rate)
	gives_like 64 "pmc: ERROR: -F $((most + 1)): the kernel takes at most $most samples a second*" \
		pmc record -e CPU_CLOCK -F $((most + 1)) -o much.log true
	gives_like 71 '*CPU_CLOCK is sampled every 10000 ns at most: 9999 is too short a period*' \
		pmc record -e CPU_CLOCK -c 9999 -o much.log true
	# The period of other events is steered.
	pmc record -e PAGE_FAULT.ALL -F 100 -o faults.log load pages=5000
	pmcstat -q -R faults.log >text
	grep -q '^values    0xfff20f00 period=[1-9]' text
	n=$(grep -c '^callchain' text)
	[ "$n" -ge 1 ] && [ "$n" -le 1000 ]
}

@test "-p: a running process, until it ends; -a: all CPUs while a command runs" {
	workload one spins=100000000
	pmc record -p "${WORKLOAD[one]}" -e CPU_CLOCK -c 100000 2>told 3>&- &
	recorder=$!
	wait_for grep -q . /proc/$recorder/comm
	wait_for attached
	work one
	rest one
	wait $recorder
	[ "$(samples)" -ge 5 ]
	grep -q 'samples in "pmc.log"' told
	pmc record -a -o all.log sh -c "$script"
	[ "$(samples all.log)" -ge 10 ]
	[ "$(pmcstat -R all.log | grep -c '^allocate')" -eq "$(getconf _NPROCESSORS_ONLN)" ]
}

attached() { pmcstat -R pmc.log 2>/dev/null | grep -q '^attach'; }

@test "on a terminal the report follows, through the pager; --no-report and --report override that" {
	PAGER='sed s/^/paged:/' on_terminal pmc record -e CPU_CLOCK sh -c "$script"
	grep -q '^paged:.*CPU_CLOCK' shown
	refute grep -q 'pmc report' shown
	on_terminal pmc record --no-report sh -c "$script"
	grep -q 'samples in "pmc.log" .* pmc report shows them' shown
	run -0 --separate-stderr pmc record --report -e CPU_CLOCK -o a.log sh -c "$script"
	[[ $output == *CPU_CLOCK* ]]
	[[ $stderr != *'pmc report'* ]]
}

@test "warnings follow the pager; Ctrl-C is for the pager, and leaving it early is no error" {
	cp "$(command -v dash)" stripped
	pmc record --no-report -o page.log ./stripped -c "$script" 2>/dev/null
	pmc report page.log >/dev/null 2>warnings
	grep -q '^pmc: WARNING' warnings
	PAGER='sed s/^/paged:/' on_terminal pmc report page.log
	grep -q '^paged:.*CPU_CLOCK' shown
	tail -n "$(wc -l <warnings)" shown | tr -d '\r' | diff warnings -
	refute grep '^paged:.*WARNING' shown
	# So does a log's damage, which is found before the pager starts.
	head -c -3 page.log >damaged.log
	PAGER='sed s/^/paged:/' run -65 on_terminal pmc report damaged.log
	grep -q '^paged:.*CPU_CLOCK' shown
	grep -q 'event parsing failed' shown
	refute grep -q ^paged: < <(sed '1,/event parsing failed/d' shown)
	PAGER='kill -INT $PPID; sed s/^/paged:/' on_terminal pmc report page.log
	grep -q '^paged:CONVERSION STATISTICS' shown
	# A terminal may have shown the progress of reading, in front of the first line.
	PAGER='head -n 1 | sed s/^/paged:/' on_terminal pmc report page.log
	[ "$(grep -o paged: shown | wc -l)" -eq 1 ]
}

@test "Ctrl-C ends the command and the recording, and the partial result is reported" {
	# A terminal's ^C goes to the process group, and background processes of a shell ignore it.
	setsid env --default-signal=INT pmc record -o stopped.log \
		sh -c 'trap "echo ended >ended; exit 3" INT; echo up >up; while :; do :; done' 2>told 3>&- &
	recorder=$!
	wait_for test -s up
	kill -INT -- -$recorder
	wait $recorder
	wait_for test -s ended
	grep -q '^pmc: [0-9]* samples in "stopped.log" ' told
	pmcstat -R stopped.log | grep -q '^closelog'
}

@test "the command's status is passed on" {
	run -7 pmc record sh -c 'exit 7'
	run -139 pmc record sh -c 'kill -SEGV $$'
	run -7 pmc record --exit-status sh -c 'exit 7'
}

@test "options that exclude each other" {
	gives_like 64 '*pmc: ERROR: a command, -p or -a is needed' pmc record
	run -64 pmc record -a -p 1 true
	run -64 pmc record -l never -a
	run -65 pmc record -p '(' true
	[ ! -e pmc.log ]
}

@test "a FIFO that nobody reads: a signal ends the wait, and the command is not run" {
	mkfifo fifo
	waits_for_reader() { find "/proc/$pid/fd" -lname '*/fifo' | grep -q .; }
	for command in 'pmc record --no-report -o' 'pmcstat -P CPU_CLOCK -O'; do
		for signal in INT TERM; do
			$command fifo touch ran >said 2>&1 3>&- & pid=$!
			wait_for waits_for_reader
			kill -$signal $pid
			status=0
			wait $pid || status=$?
			status_is 71
			[[ $(<said) == *'ERROR: nobody reads "fifo", so nothing was recorded, and the command was not run' ]]
			[ ! -e ran ]
		done
		# With a reader all is as usual.
		$command fifo touch ran 3>&- & pid=$!
		wait_for waits_for_reader
		cat fifo >got
		wait $pid
		[ -e ran ]
		pmcstat -R got | grep -q '^closelog'
		rm ran
	done
}
