#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# PID namespaces, of the daemon and of its clients: one numbering in each log, that of its reader.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	unshare --pid --fork --mount-proc true || skip "no PID namespaces here"
	cat >./program <<-'END'
		#!/bin/sh
		(:); (:); /bin/true
		sh -c '/bin/true; :'
		i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done
	END
	chmod +x program
}

teardown() {
	[ -z "${OUTER:-}" ] || kill -KILL "$OUTER" 2>/dev/null || true
	stop_daemon KILL || true
}

# within <SCRIPT: runs it in a PID namespace with a daemon of its own, which ends with it.
within() {
	cat >"$BATS_TEST_TMPDIR/script"
	# shellcheck disable=SC2016 # the other shell expands it
	unshare --pid --fork --kill-child --mount-proc bash -euo pipefail -c '
		source "$1/helpers.bash"
		trap "stop_daemon KILL || true" EXIT
		start_daemon
		source "$2"' within "$BATS_TEST_DIRNAME" "$BATS_TEST_TMPDIR/script" 3>&-
}

@test "counts equal perf's there, for the command and its descendants" {
	within <<-'END'
		fromexec -d PAGE_FAULT.ALL 1 2 - CONTEXT_SWITCHES 1 3 - -- ./program >counts
	END
	# An exec of a process that is already counted has a fault that no perf event has: three of them.  And perf's events
	# end before a process's last switches.
	awk '$1 ~ /FAULT/ && $2 != $3 + 3 || $1 ~ /SWITCHES/ && $2 < $3 || !$3 { bad = 1 } END { exit bad || NR != 2 }' counts ||
		{ cat counts >&2; false; }
}

@test "a process's CPU time is up to date between its switches" {
	within <<-'END'
		pmcstat -o rows --csv -w 1000 -d -p TASK_CLOCK python3 -c '
		import resource, threading, time
		def spin():
		    until = time.thread_time() + 0.1
		    while time.thread_time() < until:
		        pass
		threads = [threading.Thread(target=spin) for _ in range(3)]
		for t in threads: t.start()
		for t in threads: t.join()
		own, before = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
		print(int(sum(r.ru_utime + r.ru_stime for r in (own, before)) * 1e9))' >told
	END
	counted=$(awk -F, 'END { print $2 }' rows)
	[ "$counted" -ge 300000000 ] && [ "$counted" -le $(($(cat told) + 200000000)) ] || { cat rows told >&2; false; }
}

@test "attaching uses the pids of the namespace" {
	within <<-'END'
		waits_to_become -- "$BUILD/tests/load" -w pages=300
		go
		client own
		expect own 'start 0' alloc 3 15 0x20004 any 0 attach "$TARGET" start
		work_of_target
		expect own "read 0 $minflt" read
		expect own 'detach 0' detach "$TARGET"
		kill -KILL "$TARGET"
		part_all
	END
}

@test "a log uses one namespace's pids: for processes, their slices, and their ends" {
	within <<-'END'
		pmcstat -d -E -W -O log -p PAGE_FAULT.ALL ./program
		pmcstat -R log >text
		pmcstat -d -O log -n 1 -P PAGE_FAULT.ALL ./program
		pmcstat -R log >samples
	END
	# Pids begin at 1 there. Each process that ends was attached or forked in the log.
	for log in text samples; do
		awk '$1 == "attach" { known[$3] = 1 } $1 == "fork" { if (!known[$2]) bad++; known[$3] = 1; forks++ }
			$1 ~ /^(exec|cswval|exitval)$/ && !known[$1 == "exec" ? $3 : $3] { bad++ }
			$1 == "callchain" { chains++; if (!known[$2]) bad++ }
			$1 == "exitval" { exits++ }
			END { exit bad || forks < 5 || !(chains || exits >= 6) }' $log || { head -50 $log >&2; false; }
	done
}

@test "samples of all CPUs: processes by their pids there, all others as [outside]" {
	sh -c 'while :; do :; done' 3>&- &
	OUTER=$!
	within <<-'END'
		pmc record --no-report -a -o log ./program
		pmcstat -R log >text
		pmc report log >report.text 2>&1
	END
	awk '$1 == "callchain" { n[$2]++ } $1 == "thr-create" { known[$3] = 1 } $1 == "proccreate" { known[$2] = 1; if ($2 == -2) named++ }
		$1 == "fork" { known[$3] = 1 }
		$1 ~ /^(map-in|map-out|exit)$/ { if ($2 == 0) bad++ }
		END { for (pid in n) if (pid != 0 && !known[pid]) { print pid " is not known"; bad++ }
			if (!n[-2]) { print "nothing outside"; bad++ }
			exit bad || named != 1 }' text
	grep -F '[outside]' report.text
}

@test "a single thread is sampled by the kernel there; programs, which do not know its number, measure none" {
	within <<-'END'
		load -w pages=20 >out & w=$!
		wait_for grep -q ready out
		pmcstat -q -n 1 -P PAGE_FAULT.MINOR -O log -t "tid:$w" & stat=$!
		attached() { pmcstat -q -R log 2>/dev/null | grep -q "^attach"; }
		wait_for attached
		kill -USR1 $w
		wait_for worked out
		kill $w
		wait $stat
		for event in "-p CPU_MIGRATIONS" "-p sched:sched_wakeup" "-P OFFCPU_TIME"; do
			# shellcheck disable=SC2086 # two words
			! pmcstat $event -t "tid:$$" 2>>refused || exit
		done
	END
	[ "$(pmcstat -q -R log | grep -c '^callchain')" -ge 20 ]
	[ "$(grep -c 'runs in a PID namespace, where it is not measured for single threads: measure the process' refused)" -eq 3 ]
}

@test "a process in a nested namespace has its pid in this one" {
	within <<-'END'
		pmcstat -d -E -O log -p PAGE_FAULT.ALL unshare --pid --fork --mount-proc sh -c 'echo $$ >inner; ./program'
		pmcstat -R log >text
	END
	[ "$(cat inner)" -eq 1 ]
	awk '$1 == "attach" { known[$3] = 1 } $1 == "fork" { if (!known[$2] || $3 < 3) bad++; known[$3] = 1 }
		$1 == "exitval" { exits++; if (!known[$3]) bad++ } END { exit bad || exits < 7 }' text || { head -50 text >&2; false; }
}

@test "a /proc of another namespace is refused" {
	run unshare --pid --fork --kill-child pmcbpfd -f -s "$BATS_TEST_TMPDIR/pmc.sock"
	[ "$status" -ne 0 ]
	[[ $output == *"/proc is of another PID namespace"*"unshare --mount-proc"* ]]
}

# below <SCRIPT: runs it in a PID namespace below the daemon's.
below() {
	cat >"$BATS_TEST_TMPDIR/script"
	unshare --pid --fork --kill-child --mount-proc bash -euo pipefail "$BATS_TEST_TMPDIR/script" 3>&-
}

@test "a log of a client in a nested namespace has its pids, also of processes that end at once" {
	start_daemon
	below <<-'END'
		pmcstat -d -E -W -O log -p PAGE_FAULT.ALL ./program
		pmcstat -d -O samples -n 1 -P PAGE_FAULT.ALL ./program
		echo $$ >own
	END
	stop_daemon
	[ "$(cat own)" -eq 1 ]
	for log in log samples; do
		pmcstat -R $log >text
		awk '$1 == "attach" { known[$3] = 1 } $1 == "fork" { if (!known[$2] || $3 > 100) bad++; known[$3] = 1; forks++ }
			$1 ~ /^(exec|cswval|exitval)$/ && !known[$3] { bad++ }
			$1 == "callchain" { chains++; if (!known[$2]) bad++ }
			$1 == "exitval" { exits++ }
			END { exit bad || forks < 5 || !(chains || exits >= 6) }' text || { head -50 text >&2; false; }
	done
}

@test "… of all CPUs: the host's processes are [outside], and their forks and execs are not recorded" {
	start_daemon
	sh -c 'while :; do /bin/true; done' 3>&- &
	OUTER=$!
	below <<-'END'
		pmc record --no-report -a -o log ./program
	END
	stop_daemon
	pmcstat -R log >text
	awk '$1 == "callchain" { n[$2]++ } $1 == "proccreate" { known[$2] = 1; if ($2 == -2) named++ }
		$1 == "fork" { known[$3] = 1; if ($3 > 100 || $2 < 1) bad++ }
		$1 ~ /^(map-in|map-out|exit)$/ && $2 != -1 && !known[$2] { bad++ }
		END { for (pid in n) if (pid != 0 && !known[pid]) { print pid " is not known"; bad++ }
			exit bad || named != 1 || !n[-2] }' text || { grep -vF ... text | head -50 >&2; false; }
}

@test "an unprivileged container's logs contain no pid of the host's" {
	open_tmpdir
	chmod 777 .
	start_daemon
	b=$(public_build)
	below_user=("${nobody[@]}" unshare --user --map-root-user --pid --fork --mount-proc)
	"${below_user[@]}" true || skip "no user namespaces here"
	PATH="$b/bin:$PATH" LD_LIBRARY_PATH="$b/lib" "${below_user[@]}" pmcstat -d -E -O log -p PAGE_FAULT.ALL ./program 3>&-
	stop_daemon
	pmcstat -R log >text
	awk '$1 == "attach" && $3 > 100 || $1 == "fork" && ($2 > 100 || $3 > 100) || $1 == "exitval" && $3 > 100 { bad++ }
		$1 == "exitval" { exits++ } END { exit bad || exits < 6 }' text || { head -50 text >&2; false; }
}
