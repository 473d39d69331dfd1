#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat's logs: written to a file, to standard output and to a port; read again, printed on the
# way, cut short, foreign, and not logs at all.

load helpers

setup() { in_tmpdir_with_daemon "${ROOM[@]}"; }

teardown() { stop_daemon; }

lines_of() { grep -c "^$1 " text || true; }

# between LOW VALUE HIGH
between() {
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ] || { echo "$2 is not in $1 ... $3" >&2; return 1; }
}

# A few files of C and a Makefile, in ./tree.
make_tree() {
	mkdir tree
	for i in 1 2 3 4; do
		printf '#include <stdio.h>\nint f%d(int n)\n{\n\treturn printf("%%d", n) + %d;\n}\n' $i $i >tree/f$i.c
	done
	printf 'int f1(int);\nint main(void)\n{\n\treturn f1(0);\n}\n' >tree/main.c
	printf 'OBJS := f1.o f2.o f3.o f4.o main.o\nprog: $(OBJS)\n\t$(CC) -o $@ $(OBJS)\n' >tree/Makefile
}

@test "-U: a kernel chain continues in its user caller" {
	# sides: the number of chains that change from the kernel to the program.
	sides() {
		pmcstat -q -n 1 "$@" -P PAGE_FAULT.MINOR -O log ls / >/dev/null
		pmcstat -R log | awk '$1 == "callchain" { mixed += kernel && user; kernel = user = 0 }
			$1 == "..." { if ($2 ~ /^0xffff/) kernel = 1; else user = 1 }
			END { print mixed + 0 }'
	}
	between 1 "$(sides -U)" 1000000
	between 0 "$(sides)" 0
	between 0 "$(sides -U -N)" 0
}

@test "a build: every process has its exec and its exit, and the counts are the tree's" {
	make_tree
	cat >run.py <<-'END'
		import resource, subprocess, sys
		subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
		u = resource.getrusage(resource.RUSAGE_CHILDREN)
		s = resource.getrusage(resource.RUSAGE_SELF)
		print(u.ru_nvcsw + u.ru_nivcsw + s.ru_nvcsw + s.ru_nivcsw)
	END
	pmcstat -q -d -E -W -n 1 -P CLOCK.HARD -p CONTEXT_SWITCHES -O log \
		python3 run.py make -s -j2 -C tree >told
	[ -x tree/prog ]
	pmcstat -R log >text
	lost_slices text
	[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
	awk '$1 == "exec" { execs[$3] = 1 }
		$1 == "fork" { forks[$3] = 1 }
		$1 == "exitval" { exits[$3]++ }
		END {
			for (pid in forks) if (exits[pid] != 1) { print pid " has no exit"; bad++ }
			for (pid in execs) if (exits[pid] != 1) { print pid " has exec and no exit"; bad++ }
			for (pid in exits) { n++; if (!(pid in execs)) print pid " has no exec" }
			if (n < 20) { print n " processes"; bad++ }
			exit bad > 0
		}' text
	# make, and cc, cc1 and as for each object.
	[ "$(grep -c '^exec .*/cc1"' text)" -ge 5 ]
	[ "$(grep -c '^exec .*/make"' text)" -ge 1 ]
	# Slices and exits agree with each other, and with the kernel's figures.
	awk '$1 == "cswval" { slices[$3] += $4 } $1 == "exitval" { exits[$3] += $4 }
		END { for (pid in exits) if (exits[pid] != slices[pid]) { print pid, exits[pid], slices[pid]; bad++ }
			exit bad > 0 }' text
	read -r switches <told
	total=$(awk '$1 == "exitval" { sum += $4 } END { print sum }' text)
	processes=$(lines_of exitval)
	echo "$switches of the kernel, $total logged, $processes processes"
	# This kernel hides some switches from tracers; one slice of a process may be lost at either end.
	between $((switches * 8 / 10 - processes)) "$total" $((switches * 12 / 10 + processes + 10))
}

@test "-O FILE, -O - and -O host:port take the same log; an old log is replaced" {
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log true
	pmcstat -q -E -p PAGE_FAULT.ALL -O log true
	pmcstat -R log >text
	[ "$(lines_of exitval)" -eq 1 ]
	[ "$(head -n 1 text | cut -c 1-7)" = initlog ]
	# The log goes to standard output; the command's output goes elsewhere.
	pmcstat -q -E -p PAGE_FAULT.ALL -O - sh -c 'echo nothing >&2' 2>/dev/null | pmcstat -R - >text
	[ "$(lines_of exitval)" -eq 1 ]
	# A process reads at the other end of the port.
	listens() { grep -qi ":$(printf %04X $port) .* 0A " /proc/net/tcp /proc/net/tcp6; }
	listens_or_ends() { listens || process_gone $reader; }
	# A free port; if another process takes it first, the reader reports that and ends.
	for ((try = 0; try < 10; try++)); do
		port=$((20000 + RANDOM % 10000))
		! listens || continue
		pmcstat -R "localhost:$port" >text 3>&- & reader=$!
		wait_for listens_or_ends
		process_gone $reader || break
	done
	pmcstat -q -E -p PAGE_FAULT.ALL -O "localhost:$port" true
	wait $reader
	[ "$(lines_of exitval)" -eq 1 ]
	[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
}

@test "a refused event, command or process does not destroy an old log" {
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log true
	before=$(cksum log)
	run -71 --separate-stderr pmcstat -P NO-SUCH-EVENT -O log true
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	gives 71 'pmcstat: ERROR: execvp "no-such-command" failed: No such file or directory' \
		pmcstat -P PAGE_FAULT.ALL -O log no-such-command
	run -65 pmcstat -P PAGE_FAULT.ALL -O log -t '^no-such-process$'
	for command in ./no-such-command no-such-command; do
		gives 71 "pmc: ERROR: execvp \"$command\" failed: No such file or directory" pmc record -o log $command
	done
	gives_like 71 'pmc: ERROR: Cannot sample "no-such-event": *' pmc record -o log -e no-such-event true
	run -65 pmc record -o log -p no-such-process
	[ "$(cksum log)" = "$before" ]
	pmc record -o log true
	[ "$(cksum log)" != "$before" ]
	# Without -O a separate process waits for the log, and ends if there is none.
	run -71 --separate-stderr pmcstat -P NO-SUCH-EVENT true
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}

# refused STATUS PATTERN COMMAND...: with this exit status and this one line on standard error.
refused() {
	run "-$1" --separate-stderr "${@:3}"
	# shellcheck disable=SC2053 # a pattern
	[[ $stderr == $2 ]] || { echo "${*:3}: $stderr" >&2; return 1; }
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "-O to an unwritable place: one line, 71, and the command never runs" {
	for to in /nonexistent/log . localhost:1 host.invalid:1 /dev/zero; do
		refused 71 'pmcstat: ERROR: Cannot *' pmcstat -E -p PAGE_FAULT.ALL -O "$to" touch ran
		[ ! -e ran ]
	done
	gives_like 71 '*"/nowhere/log"*' pmc record -o /nowhere/log true
}

@test "a full disk: one line, 71, and the command runs to its end" {
	mkdir small
	mount -t tmpfs -o size=16k tmpfs small
	full='pmcstat: ERROR: logging failed: writing the log failed: No space left on device'
	run -71 --separate-stderr pmcstat -q -n 1 -P PAGE_FAULT.ALL -O small/log load pages=3000
	# The daemon closes it when its client has ended.
	wait_for umount small
	[[ $stderr == "$full"* ]]
	run -71 --separate-stderr pmcstat -E -p PAGE_FAULT.ALL -O /dev/full -o rows true
	[[ $stderr == "$full"* ]]
}

@test "without -O the log is printed live, with the same lines as -R of a file" {
	pmcstat -q -n 10 -P PAGE_FAULT.ALL load pages=500 2>text
	[ "$(head -n 1 text | cut -c 1-7)" = initlog ]
	[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
	between 50 "$(lines_of callchain)" 80
	pmcstat -q -E -o text -p PAGE_FAULT.ALL true
	[ "$(lines_of exitval)" -eq 1 ]
	[ "$(lines_of allocatedyn)" -eq 1 ]
}

@test "-n and -N act on the PMCs that follow" {
	pmcstat -q -n 100 -P PAGE_FAULT.ALL -n 1 -N -P PAGE_FAULT.MINOR -O log deep 5 0 1000 0
	pmcstat -R log >text
	few=$(grep -c '^callchain .* 0xfff20f00 ' text) many=$(grep -c '^callchain .* 0xfff20f01 ' text)
	between 10 "$few" 14
	between 1000 "$many" 1300
	# With chains the first has more lines than samples; without, the second has one line each.
	awk '$1 == "callchain" { id = $3; next } $1 == "..." { n[id]++ }
		END { print n["0xfff20f00"], n["0xfff20f01"] }' text >frames
	read -r with without <frames
	[ "$with" -gt "$few" ]
	[ "$without" -eq "$many" ]
	# The flag is in the record of the allocation.
	grep -q '^allocatedyn 0xfff20f00 "PAGE_FAULT.ALL" 0x80$' text
	grep -q '^allocatedyn 0xfff20f01 "PAGE_FAULT.MINOR" 0x0$' text
	# So is the period, the number of events of each sample.
	pmc filter -j log json
	grep '"pmcallocatedyn".*"rate":"100","evname":"PAGE_FAULT.ALL"' json
	grep '"pmcallocatedyn".*"rate":"1","evname":"PAGE_FAULT.MINOR"' json
	pmc report --json=report.json log
	grep -q '"period":100' report.json
}

@test "-t: a running process is sampled, with its mappings" {
	"$BUILD/tests/load" -w pages=300 >load.out 3>&- & target=$!
	wait_for grep -q ready load.out
	# The log is flushed every -w seconds, from the start of the PMCs on.
	pmcstat -q -w 0.05 -n 1 -P PAGE_FAULT.ALL -E -p PAGE_FAULT.ALL -O log -t $target 3>&- & measuring=$!
	wait_for grows log
	kill -USR1 $target
	wait_for worked load.out
	kill -KILL $target
	wait $measuring
	pmcstat -R log >text
	grep -q "^attach .* $target \".*/load\"$" text
	grep -q "^map-in    $target .*/load\"$" text
	[ "$(grep -c "^callchain $target " text)" -ge 300 ]
	[ "$(lines_of exitval)" -eq 1 ]
}

grows() { [ -s "$1" ]; }

@test "kern.hwpmc.logversion=3: the same lines for a log for FreeBSD 6 to 11" {
	pmccontrol --tunable kern.hwpmc.logversion=3
	pmcstat -q -d -E -W -n 1 -P PAGE_FAULT.ALL -p PAGE_FAULT.ALL -O log sh -c 'true; load pages=50; true'
	[ "$(od -A n -t x1 -N 4 log | tr -d ' ')" = 140002ee ]
	pmcstat -R log >text
	[ "$(head -n 1 text | cut -d ' ' -f 1-4)" = "initlog   0x3010000" ]
	for tag in allocatedyn attach fork exec map-in callchain cswval exitval; do
		[ "$(lines_of $tag)" -ge 1 ] || { echo "no $tag" >&2; return 1; }
	done
	[ "$(lines_of exitval)" -eq 2 ]
	lost_slices text
}

# entry_of FILE: its e_entry.
entry_of() { readelf -h "$1" | awk '/Entry point/ { print $NF }'; }
# exec_entry NAME: the entry address in the log.
exec_entry() { awk -v name="/$1\"\$" '$1 == "exec" && $NF ~ name { print $4 }' text; }

@test "kern.hwpmc.logversion=3: an exec's address is its first instruction: in its dynamic linker, if it has one" {
	pmccontrol --tunable kern.hwpmc.logversion=3
	echo 'void _start(void) { __builtin_trap(); }' >fixed.c
	cc -static -nostdlib -no-pie -o fixed fixed.c
	pmcstat -q -d -n 1 -P PAGE_FAULT.ALL -O log sh -c 'load pages=50; ./fixed; true'
	pmcstat -R log >text
	linker=$(readelf -l "$(type -P load)" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	base=$(awk -v name="/$(basename "$(readlink -f "$linker")")\"\$" '
		$1 == "exec" { found = $NF ~ "/load\"$"; pid = $3 }
		$1 == "map-in" && found && $2 == pid && $NF ~ name { print $3; exit }' text)
	[ -n "$base" ]
	[ $((base + $(entry_of "$linker"))) -eq $(($(exec_entry load))) ] || { cat text; false; }
	[ $(($(entry_of fixed))) -eq $(($(exec_entry fixed))) ] || { cat text; false; }
}

@test "lost records are reported once, and not with -q" {
	stop_daemon
	start_daemon -o kern.hwpmc.nbuffers=4 -o kern.hwpmc.logbuffersize=4
	mkfifo pipe
	sleep 600 0<>pipe 3>&- & sleeper=$!
	pmcstat -n 1 -P PAGE_FAULT.ALL -O pipe load pages=20000 2>told 3>&- & measuring=$!
	lost() { [ "$(pmccontrol -s | awk '/fail/ { print $NF }')" -ge 1 ]; }
	wait_for lost
	pmcstat -q -R pipe >text 3>&- & reader=$!
	wait_for test -s text
	kill $sleeper
	wait $measuring
	wait $reader
	grep -qx 'pmcstat: WARNING: at least [0-9]* events* were discarded while running. Please consider tuning the "kern.hwpmc.nbuffers" tunable.' told
	[ "$(lines_of drop)" -ge 1 ]
	[ "$(tail -n 1 text | tr -d ' ')" = closelog ]
}

@test "counts beside samples: rows of the counts, at each interval and at the end; a log that lacks slices says so" {
	pmcstat -q -w 0.2 --csv -n 1 -P PAGE_FAULT.ALL -C -p PAGE_FAULT.ALL -O log -o rows sleep 0.7
	[ "$(head -n 1 rows)" = time,p/PAGE_FAULT.ALL ]
	[ "$(wc -l <rows)" -ge 2 ]
	[ "$(tail -n 1 rows | cut -d, -f2)" -ge 10 ]
	[ "$(pmcstat -R log | grep -c '^callchain')" -ge 10 ]
	# On standard error; counts that are in the log have none unless they are asked for.
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -p PAGE_FAULT.ALL -O log true 2>rows
	[ "$(wc -l <rows)" -eq 2 ]
	pmcstat -q -E -p PAGE_FAULT.ALL -O log true 2>rows
	[ ! -s rows ]
	gives 64 'pmcstat: ERROR: option -o is for rows of counts and for outputs of samples: the log goes to -O.' \
		pmcstat -P CPU_CLOCK -O log -o rows true
	gives 64 'pmcstat: ERROR: options --json and --csv are for rows of counts and, with a file, for samples.' \
		pmcstat --csv -P CPU_CLOCK -O log true
	gives 64 'pmcstat: ERROR: rows of counts and an output of samples for programs would be one text: name a file for that output.' \
		pmcstat -P CPU_CLOCK -p PAGE_FAULT.ALL -O log --folded - true
	# Slices that the kernel hides are no pauses of sampling.
	pmcstat -d --per-thread -p PAGE_FAULT.ALL sh -c 'for i in 1 2 3; do true & done; wait' >rows 2>said || true
	refute grep 'sampling was paused' said
}
