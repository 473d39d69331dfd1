#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What becomes of logs when processes and owners do something: exec, exit, map, go away.
# PAGE_FAULT.ALL (0x20004) with a log is counted slice by slice, CLOCK.HARD (0x20000) can sample.

load helpers

setup() {
	need_root
	exits=8			# PMC_F_LOG_PROCEXIT
	both=12			# and PMC_F_LOG_PROCCSW
	open_tmpdir
	LOG=$BATS_TEST_TMPDIR/log
	start_daemon
}

teardown() {
	rest_all
	kill "${CLIENT[@]}" 2>/dev/null || true
	[ -z "${TARGET:-}" ] || kill -KILL "$TARGET" 2>/dev/null || true
	stop_daemon KILL || true
}

# lines TAG: the log's lines with that tag.
lines() { pmcstat -R "$LOG" | grep "^$1 "; }
lines_of() { lines "$1" | wc -l; }

# sum_of TAG FIELD: the sum of a field over lines with that tag.
sum_of() { lines "$1" | awk -v f="$2" '{ n += $f } END { print n + 0 }'; }

@test "C-14, §3.7: an owner whose log cannot be written receives one signal" {
	mkfifo "$LOG"
	cat "$LOG" >/dev/null &
	local reader=$!
	client a
	expect a "log 0" catch IO log "$LOG"
	expect a "flushlog 0" flushlog
	kill $reader
	wait $reader || true
	expect a "came IO 0" came IO
	ask a writelog 1 1 flushlog
	[[ $reply == "flushlog EPIPE"* ]]
	expect a "await IO 1" await IO
	ask a flushlog
	[[ $reply == "flushlog EPIPE"* ]]
	expect a "came IO 0" came IO
	grep -q "the log of process ${CLIENT[a]} .* has failed: Broken pipe" "$DAEMON_LOG"
	part a
}

@test "§3.3 step 4: a set-id exec removes targets: PMCDETACH, and the value up to then" {
	set_id_load
	waits_to_become "${nobody[@]}" -- "$SETID" -w pages=1000
	touch "$LOG"
	chmod 666 "$LOG"
	client a run_as_nobody
	expect a "start 0" log "$LOG" alloc 3 15 0x20004 any $both attach $TARGET start
	go
	work_of_target
	kill -KILL "$TARGET"
	wait_for process_gone "$TARGET"
	count_of a
	expect a "endlog 0" stop endlog
	pmcstat -R "$LOG"
	[ "$(lines_of attach)" -eq 1 ]
	[ "$(lines_of detach)" -eq 1 ]
	[ "$(lines_of exitval)" -eq 1 ]
	# All of its count is logged, as slices and as the process's share; nothing of the new image.
	[ "$count" -gt 0 ]
	[ "$(sum_of exitval 4)" -eq "$count" ]
	[ "$(sum_of cswval 4)" -eq "$count" ]
	[ "$(pmcstat -R "$LOG" | sed -n '/^detach /,$p' | wc -l)" -eq 2 ]
	# The exec itself leaves no other record.
	[ "$(pmcstat -R "$LOG" | awk '/^attach / { on = 1; next } on && $1 != "cswval" { print $1 }' | xargs)" = \
		"exitval detach closelog" ]
	part a
}

@test "§3.3 step 4: the super-user's log continues over a set-id exec" {
	set_id_load
	waits_to_become "${nobody[@]}" -- "$SETID" -w pages=1000
	client root
	expect root "start 0" log "$LOG" alloc 3 15 0x20004 any $both attach $TARGET start
	go
	work_of_target
	kill -KILL "$TARGET"
	wait_for process_gone "$TARGET"
	count_of root
	expect root "endlog 0" stop endlog
	[ "$(lines_of detach)" -eq 0 ]
	[ "$(lines_of exec)" -eq 1 ]
	[ "$count" -ge 1000 ]
	[ "$(sum_of exitval 4)" -eq "$count" ]
	[ "$(sum_of cswval 4)" -eq "$count" ]
	part root
}

@test "§3.3 step 4: per-task events that the kernel drops are reopened, and sample as before" {
	set_id_load
	waits_to_become "${nobody[@]}" -- "$SETID" -w spins=200000000
	client root
	expect root "start 0" log "$LOG" alloc 2 15 0x20000 any 0 setcount 1 attach $TARGET start
	go
	expect root "flushlog 0" flushlog
	local before
	before=$(lines_of callchain)
	work_of_target
	expect root "endlog 0" stop endlog
	echo "$before samples before, $(lines_of callchain) in all"
	[ "$(lines_of callchain)" -ge $((before + 5)) ]
	part root
}

@test "a detached process's share is discarded: a later attachment starts at 0" {
	workload w pages=1000
	client a
	expect a "start 0" log "$LOG" alloc 3 15 0x20004 any $exits attach ${WORKLOAD[w]} start
	work w
	expect a "attach 0" stop detach ${WORKLOAD[w]} attach ${WORKLOAD[w]}
	expect a "detach 0" start detach ${WORKLOAD[w]}
	expect a "start 0" stop attach ${WORKLOAD[w]} start
	rest w
	expect a "endlog 0" stop endlog
	pmcstat -R "$LOG"
	[ "$(lines_of attach)" -eq 3 ]
	[ "$(lines_of detach)" -eq 2 ]
	[ "$(lines_of exitval)" -eq 1 ]
	[ "$(sum_of exitval 4)" -lt 100 ]
	part a
}

@test "the last slice before a STOP is in the log" {
	workload w spins=60000000000
	client a
	expect a "start 0" log "$LOG" alloc 3 15 0x2000a any $both attach ${WORKLOAD[w]} start
	kill -USR1 "${WORKLOAD[w]}"
	counts() { count_of a && [ "$count" -gt 0 ]; }
	wait_for counts
	expect a "stop 0" stop
	count_of a
	expect a "endlog 0" endlog
	echo "$count, slices $(sum_of cswval 4)"
	[ "$count" -gt 0 ]
	[ "$(sum_of cswval 4)" -eq "$count" ]
	part a
}

@test "an owner that is killed leaves a complete log" {
	workload w pages=100
	client a
	expect a "start 0" log "$LOG" alloc 3 15 0x20004 any $both attach ${WORKLOAD[w]} start
	work w
	kill -USR1 "${WORKLOAD[w]}"
	# At most as many at once as there are buffers for, however slowly they are written.
	for i in {1..9}; do expect a "flushlog 0" writelog 1 5000 flushlog; done
	expect a "writelog 0" writelog 1 5000
	kill -KILL "${CLIENT[a]}"
	closed() { pmcstat -R "$LOG" | tail -n 1 | grep -q '^closelog'; }
	wait_for closed
	[ "$(lines_of userdata)" -eq 50000 ]
	[ "$(sum_of cswval 4)" -ge 100 ]
}

# Room for all of the test's records if the daemon gets no CPU time: a gap may hide an introduction.
start_roomy_daemon() {
	stop_daemon
	start_daemon "${ROOM[@]}"
}

# PERF-103, PERF-257, PERF-229
@test "order: samples follow the record of their process and mapping, and time never goes back" {
	start_roomy_daemon
	# shellcheck disable=SC2016 # the other shell expands it
	run pmcstat -q -d -n 1 -P CLOCK.PROF -O "$LOG" bash -c \
		'for i in {1..300}; do /bin/true & (: | :); /bin/sh -c :; done; wait'
	[ "$status" -eq 0 ]
	run logcheck "$LOG"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} =~ samples\ ([0-9]+)\ user\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -ge 200 ]
	[ "${BASH_REMATCH[2]}" -ge 20 ]
}

@test "order: system scope, with processes that come and go" {
	start_roomy_daemon
	# Until the load ends.
	touch "$BATS_TEST_TMPDIR/on"
	while [ -e "$BATS_TEST_TMPDIR/on" ]; do /bin/sh -c '/bin/true; :'; done 3>&- &
	local storm=$!
	run pmcstat -q -n 1 -S CLOCK.PROF -l 2 -O "$LOG"
	rm "$BATS_TEST_TMPDIR/on"
	wait $storm
	[ "$status" -eq 0 ]
	run logcheck "$LOG" "$(readlink -f /bin/sh)" "$(readlink -f /bin/true)"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} =~ samples\ ([0-9]+)\ user\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -ge 1000 ]
	[ "${BASH_REMATCH[2]}" -ge 10 ]
}

# introduced PID: the log has the program of that workload.
introduced() { pmcstat -R "$LOG" | grep -q "^\(exec\|map-in\) .*\b$1 .*/load\"$"; }

@test "system scope: a process is introduced that is born while the list of processes is read" {
	client a
	client other
	expect a "setcount 0" log "$LOG" alloc 0 15 0x20000 0 0 setcount 1000
	mapfile -t readers < <(pgrep -P "$(pgrep -P "$DAEMON_PID")")
	kill -STOP "${readers[@]}"
	for reader in "${readers[@]}"; do wait_for is_stopped "$reader"; done
	printf 'start\n' >&"${CLIENT_IN[a]}"
	wait_for receives "${CLIENT[a]}"
	# The request is in progress: others' are answered.  The list ends before the daemon reads it.
	ask other cpuinfo
	suspend_daemon
	kill -CONT "${readers[@]}"
	for reader in "${readers[@]}"; do wait_for asleep "$reader"; done
	workload late spins=1000000
	late=${WORKLOAD[late]}
	resume_daemon
	read -r -t $PATIENCE -u "${CLIENT_OUT[a]}" line
	[[ $line == 'start 0'* ]]
	read -r -t $PATIENCE -u "${CLIENT_OUT[a]}" line
	rest late
	expect a "stop 0" stop
	# Not heard of, and listed at the next start.
	workload later spins=1000000
	later=${WORKLOAD[later]}
	expect a "start 0*" start
	rest later
	expect a "endlog 0" stop endlog
	introduced "$late"
	introduced "$later"
	part other
}

@test "mappings that exist at an attach: the program, libraries, the vdso, unusual names" {
	open_tmpdir
	local odd=$BATS_TEST_TMPDIR/$'new\nline and \\012'

	cp "$BUILD/tests/load" "$odd"
	"$odd" -w spins=1000000 >"$BATS_TEST_TMPDIR/out" 3>&- &
	TARGET=$!
	wait_for grep -q ready "$BATS_TEST_TMPDIR/out"
	client a
	expect a "attach 0" log "$LOG" alloc 2 15 0x20000 any 0 setcount 1 attach $TARGET
	expect a "endlog 0" endlog
	pmcstat -R "$LOG"
	# A line of text shows control characters as question marks.
	lines map-in | grep -q "$TARGET 0x[0-9a-f]* \".*/new?line and "
	lines map-in | grep -q "$TARGET 0x[0-9a-f]* \".*libc.so.6\""
	lines map-in | grep -q "$TARGET 0x[0-9a-f]* \"\[vdso\]\""
	part a
}

@test "build ids: the files' own, of earlier and later mappings; the kernel's" {
	workload w spins=1000000
	client a
	expect a "start 0" log "$LOG" alloc 2 15 0x20000 any 0 setcount 1 attach ${WORKLOAD[w]} start
	pmcstat -q -n 1 -P CLOCK.HARD -O "$LOG.later" load spins=1000000
	expect a "endlog 0" stop endlog
	rest w
	part a
	local file id
	for file in load libc.so.6; do
		id=$(ldd "$BUILD/tests/load" | awk -v f="$file" '$1 == f { print $3 }')
		id=$(readelf -n "${id:-$BUILD/tests/load}" | awk '/Build ID/ { print $3 }')
		for log in "$LOG" "$LOG.later"; do
			pmc filter -j "$log" - | grep map_in | grep -q "/$file\",\"buildid\":\"$id\"}$"
		done
	done
	id=$(od -A n -t x1 -v /sys/kernel/notes | tr -d ' \n')
	pmc filter -j "$LOG" - | grep '"pid":"-1"' | head -n 1 | grep -o '"buildid":"[0-9a-f]*"' >"$LOG.id"
	[[ $id == *$(cut -d '"' -f 4 "$LOG.id")* ]]
	[ "$(wc -c <"$LOG.id")" -eq 53 ]
}

# python3 deep.py FOLDERS LOAD COMMAND...: in so many nested folders with names of 200 letters.
make_deep() {
	cat >deep.py <<-'END'
		import os, shutil, sys
		for i in range(int(sys.argv[1])):
		    os.makedirs("d" * 200, exist_ok=True)
		    os.chdir("d" * 200)
		if not os.path.exists("load"):
		    shutil.copy(sys.argv[2], "load")
		os.execvp(sys.argv[3], sys.argv[3:])
	END
}
at_depth() { python3 deep.py "$1" "$BUILD/tests/load" "${@:2}"; }

@test "paths of more than 1023 bytes are whole in the log, or marked as cut" {
	local version path tag
	cd "$BATS_TEST_TMPDIR" && make_deep && mkfifo work
	path=$(cd "$BATS_TEST_TMPDIR" && pwd -P)$(printf "/%0200d" 0 0 0 0 0 0 0 0 0 0 | tr 0 d)/load
	for version in 10 3; do
		pmccontrol --tunable kern.hwpmc.logversion=$version
		at_depth 10 pmcstat -q -n 1 -P PAGE_FAULT.ALL -O "$LOG" ./load pages=50
		[ $version -eq 10 ] || path=...${path: -1020}
		for tag in exec map-in; do
			lines $tag >text
			grep -qF " \"$path\"" text || { echo "no $tag: $(cut -c 1-99 text)"; return 1; }
		done
		# Files that were mapped before the attachment.
		python3 deep.py 10 "$BUILD/tests/load" ./load -w pages=1 <>work >out 3>&- &
		TARGET=$!
		is_load() { [[ $(readlink "/proc/$TARGET/exe") == */load ]]; }
		wait_for is_load
		pmcstat -q -n 1 -P PAGE_FAULT.ALL -t $TARGET -O "$LOG.$version" 3>&- & measuring=$!
		attached() { [ -n "$(pmcstat -q -R "$LOG.$version" | grep '^attach')" ]; }
		wait_for attached
		kill -KILL $TARGET
		wait $measuring
		pmcstat -q -R "$LOG.$version" | grep '^map-in' | grep -qF " \"$path\""
	done
	TARGET=
	# A path that is too long for the kernel itself.
	pmccontrol --tunable kern.hwpmc.logversion=10
	at_depth 24 pmcstat -q -n 1 -P PAGE_FAULT.ALL -O "$LOG" ./load pages=50
	lines exec | grep -q '"\[path too long\]"'
	lines map-in | grep -q '"\[path too long\]"'
	[ "$(lines_of drop)" -eq 0 ]
}

@test "executable memory that is unmapped, by any means: MAP_OUT precedes the mapping that replaces it" {
	load ../logs
	local version scope

	for version in 10 3; do
		pmccontrol --tunable kern.hwpmc.logversion=$version
		for scope in -P -S; do
			run pmcstat -q -n 1 $scope CLOCK.PROF -O "$LOG" unmaps
			[ "$status" -eq 0 ]
			run unmapped < <(pmcstat -R "$LOG")
			echo "version $version $scope: $output"
			[ "$output" = "$UNMAPPED" ]
		done
	done
}

@test "without tracefs only MAP_OUT is missing, unless the kernel's functions take programs, and the daemon reports that" {
	stop_daemon
	pmcbpfd() {
		# shellcheck disable=SC2016 # the other shell expands it
		exec unshare -m sh -c 'umount -l /sys/kernel/tracing; umount -lq /sys/kernel/debug; exec pmcbpfd "$@"' x "$@"
	}
	start_daemon
	unset -f pmcbpfd
	pmcstat -q -n 1 -P CLOCK.PROF -O "$LOG" unmaps
	[ "$(lines_of map-in)" -ge 3 ]
	if daemon_has_program on_unmap; then
		[ "$(lines_of map-out)" -ge 3 ]
		return
	fi
	[ "$(lines_of map-out)" -eq 0 ]
	grep -q 'logs lack records of unmapped memory: .*; mount tracefs on /sys/kernel/tracing' "$DAEMON_LOG"
}

@test "the kernel is asked for the functions of sampled addresses: a log does not need its table of names" {
	[ "$(cat /proc/sys/kernel/kptr_restrict)" -lt 2 ] || skip "this kernel hides its addresses (kernel.kptr_restrict)"
	stop_daemon
	cd "$BATS_TEST_TMPDIR"
	grep -m 1 -w _stext /proc/kallsyms >table
	pmcbpfd() {
		# shellcheck disable=SC2016 # the other shell expands it
		exec unshare -m sh -c 'mount --bind table /proc/kallsyms && exec pmcbpfd "$@"' x "$@"
	}
	start_daemon
	unset -f pmcbpfd
	pmcstat -q -n 1 -P CONTEXT_SWITCHES -O "$LOG" load switches=300
	unshare -m sh -c 'mount --bind /dev/null /proc/kallsyms && pmcstat report --csv=there log'
	grep -q '^CONTEXT_SWITCHES,load,[0-9]*,schedule,\[kernel.kallsyms\],' there
}

@test "kern.hwpmc.debugflags: messages about logging and sampling" {
	pmccontrol --tunable 'kern.hwpmc.debugflags=logging=* sampling=*'
	client a
	expect a "endlog 0" log "$LOG" alloc 2 15 0x20000 any 0 flushlog endlog
	grep -q "logging=config: pid ${CLIENT[a]}: a log begins: Success" "$DAEMON_LOG"
	grep -q "sampling=allocate: PMC of pid ${CLIENT[a]}: number [0-9]* in records" "$DAEMON_LOG"
	grep -q "logging=flush: pid ${CLIENT[a]}: up to buffer 1" "$DAEMON_LOG"
	grep -q "logging=config: pid ${CLIENT[a]}: its log ends" "$DAEMON_LOG"
	part a
}

@test "a thousand logs leak no memory and no descriptor" {
	local i words=()

	client a
	for i in {1..10}; do words+=(log /dev/null writelog 1 2 endlog); done
	expect a "endlog 0" "${words[@]}" "${words[@]}"
	resident() { awk '/^VmRSS/ { print $2 }' "/proc/$DAEMON_PID/status"; }
	threads() { find "/proc/$DAEMON_PID/task" -mindepth 1 -maxdepth 1 | wc -l; }
	# A log is reported as written before its thread closes the file and ends.
	wait_for daemon_rests
	local before after fds threads
	before=$(resident)
	fds=$(daemon_fds)
	threads=$(threads)
	for i in {1..100}; do expect a "endlog 0" "${words[@]}"; done
	[ "$(grep -c '^endlog 0' <<<"$answer")" -eq 10 ]
	wait_for daemon_rests
	after=$(resident)
	echo "resident: $before kB, $after kB"
	# A timer may have the daemon look into a file at any moment.
	wait_for fds_are "$fds"
	[ $((after - before)) -lt 1000 ]
	[ "$(threads)" -eq "$threads" ]
	part a
}

# PERF-242, PERF-150
@test "a full ring: lost samples are counted, and each gap is marked" {
	stop_daemon
	start_daemon -o kern.hwpmc.nsamples=8
	workload w spins=60000000000000		# it is ended
	client a
	expect a "start 0" log "$LOG" alloc 2 15 0x20009 any 0x180 setcount 25000 attach ${WORKLOAD[w]} start
	kill -USR1 "${WORKLOAD[w]}"
	sampled() { expect a "flushlog 0" flushlog && [ "$(lines_of callchain)" -ge "$1" ]; }
	wait_for sampled 1
	cpu_ticks() { awk '{ print $14 + $15 }' "/proc/${WORKLOAD[w]}/stat"; }
	worked_on() { [ "$(cpu_ticks)" -ge "$ticks" ]; }
	# A sample every 25 us of CPU time, 400 in a clock tick, but none for stolen time.  A ring has room for 11000.
	not_drained() {
		kill -CONT "${WORKLOAD[w]}"
		suspend_daemon
		ticks=$(($(cpu_ticks) + 60))
		wait_for worked_on
		kill -STOP "${WORKLOAD[w]}"
		resume_daemon
		wait_for sampled $(($(lines_of callchain) + 1))
		expect a "counters 0 *" counters
		read -r _ _ _ _ full _ <<<"$reply"
		[ "$full" -ge 100 ]
	}
	local full ticks
	wait_for not_drained
	expect a "stop 0" stop
	expect a "endlog 0" endlog
	echo "$full without room, $(lines_of drop) marks"
	[ "$(lines_of drop)" -ge 1 ]
	# Never two in a row.
	refute grep -q 'drop drop' < <(pmcstat -R "$LOG" | grep -v '^\.' | awk '{ printf "%s ", $1 }')
	part a
}

@test "the ending daemon abandons a reader that does not read, and no other" {
	mkfifo "$BATS_TEST_TMPDIR/stuck"
	sleep 600 <"$BATS_TEST_TMPDIR/stuck" 3>&- &
	TARGET=$!
	client stuck
	client a
	# More than the pipe takes, and no more than there are buffers for.
	expect stuck "writelog 0" log "$BATS_TEST_TMPDIR/stuck" writelog 1 4000
	expect a "flushlog 0" log "$LOG" writelog 1 4000 flushlog
	expect a "writelog 0" writelog 1 1000
	local begun=$EPOCHREALTIME
	stop_daemon
	awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { print b - a; exit b - a > 30 }'
	[ "$(lines_of userdata)" -eq 5000 ]
	pmcstat -R "$LOG" | tail -n 1 | grep -q '^closelog'
}

@test "all log buffers in use: lost records are counted, and one mark stands for the gap" {
	stop_daemon
	start_daemon -o kern.hwpmc.nbuffers=2 -o kern.hwpmc.logbuffersize=4
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	exec {reader}<>"$BATS_TEST_TMPDIR/pipe"
	client a
	expect a "log 0" log "$BATS_TEST_TMPDIR/pipe"
	ask a writelog 1 1000000
	[[ $reply == "writelog ENOMEM"* ]]
	expect a "counters 0 *" counters
	local failed
	read -r _ _ _ _ _ _ _ _ failed _ <<<"$reply"
	echo "$reply: $failed requests failed"
	[ "$failed" -ge 1 ]
	cat <&"$reader" >"$LOG" &
	local cat=$!
	written() { ask a writelog 7 1 && [ "$reply" = "writelog 0" ]; }
	wait_for written
	expect a "endlog 0" endlog
	whole() { pmcstat -R "$LOG" | tail -n 1 | grep -q '^closelog'; }
	wait_for whole
	kill $cat
	exec {reader}<&-
	[ "$(lines_of drop)" -eq 1 ]
	[ "$(pmcstat -R "$LOG" | grep -A 1 '^drop' | tail -n 1)" = "userdata  0x7" ]
	part a
}
