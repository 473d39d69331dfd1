#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# tdump(8) on real rings: of processes, alive and dead, and of the kernel.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	unset KTR_FILE KTR_SIZE KTR_MASK KTR_CLOCK
	gdbfile=$(realpath "$BATS_TEST_DIRNAME/../../share/pmcbpf/ktr-gdb.py")
}

teardown() {
	end_dumped
	stop_daemon || true
}

# start_dumped [COMMAND...]: it runs and waits for letters; its pid is DUMPED.
start_dumped() {
	rm -f letters
	mkfifo letters
	exec {LETTERS}<>letters
	[ $# -gt 0 ] || set -- "$BUILD/tests/dumped"
	"$@" <letters >dots 3>&- &
	DUMPED=$!
	wait_for asleep $DUMPED
}

end_dumped() {
	[ -z "${DUMPED:-}" ] || kill -KILL "$DUMPED" 2>/dev/null || true
	[ -z "${DUMPED:-}" ] || wait "$DUMPED" 2>/dev/null || true
	DUMPED=
}

dots_are() { [ "$(wc -c <dots)" -eq "$1" ]; }

# letter L: sends it, and waits until it has been obeyed.
letter() {
	local dots
	dots=$(wc -c <dots)
	printf %s "$1" >&"$LETTERS"
	wait_for dots_are $((dots + 1))
}

# The entries of one letter e, newest first.
each_kind() {
	cat <<-'END'
	no parameters
	1 2 3 4 5
	a format that is no literal: 77
	ffffffff ffffffffffffffff
	a literal, of the heap\x1b, (null)
	lpopen(dev=1f)
	END
}

# The texts of tdump's rows.
texts() { sed -E 's/^[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ //'; }

# shows_each_kind [COMMAND...]: tdump, by that, shows what the letter has left.
shows_each_kind() {
	"$@" tdump -q -p "$DUMPED" | texts >got
	each_kind | diff - got
}

# KTR-01 KTR-52 KTR-61 KTR-76: with strings in the program's file, and in its memory.
@test "a live process" {
	start_dumped
	letter e
	shows_each_kind
	run tdump -q -f -H -m DEV -p "$DUMPED"
	[[ $output == *'tests/e2e/dumped.c:'*" $(printf 0x%x "$DUMPED") "*' lpopen(dev=1f)' ]]
	[[ $output != *../* ]]
}

@test "stripped, deleted, replaced on disk, and static: the process's own mappings are used, not the path" {
	cp "$BUILD/tests/dumped" program
	strip program
	start_dumped ./program
	letter e
	shows_each_kind
	rm program
	shows_each_kind
	cp /bin/true program
	shows_each_kind
	# Unprivileged users have no /proc/PID/map_files: from memory.
	end_dumped
	cp "$BUILD/tests/dumped" program
	open_tmpdir
	chmod a+rx program
	mkdir -p lib
	cp "$BUILD/lib/libktr.so.0" lib
	chmod -R a+rX lib
	LD_LIBRARY_PATH=$PWD/lib start_dumped "${nobody[@]}" ./program
	wait_for is_program "$DUMPED" program
	wait_for asleep "$DUMPED"
	letter e
	rm program
	shows_each_kind run_as_nobody
}

# KTR-80
@test "another user's process" {
	start_dumped
	run -77 --separate-stderr run_as_nobody tdump -p "$DUMPED"
	[ "$stderr" = "tdump: ERROR: process $DUMPED: reading its memory takes its user, or root: Permission denied" ]
}

# KTR-62: the same before and after the process's end; data that the core lacks comes from the files.
@test "a core: of gcore, with its executable, without it, and with a wrong one" {
	command -v gcore >/dev/null || skip "gdb is not installed"
	cp "$BUILD/tests/dumped" program
	start_dumped ./program
	letter e
	tdump -a -f -H -p "$DUMPED" >alive
	gcore -o core "$DUMPED" >/dev/null 2>&1
	end_dumped
	mv core.* core
	tdump -a -f -H -M core | diff alive -
	mv program elsewhere
	run -0 --separate-stderr tdump -q -M core
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "tdump: $PWD/program: No such file or directory: addresses are printed; -N names the executable" ]]
	[[ ${lines[0]} == *' [0x'*'] 0x'* ]]
	tdump -a -f -H -M core -N elsewhere | diff alive -
	# The right name, the wrong file.
	cp "$BUILD/tests/traced" program
	run -0 --separate-stderr tdump -q -M core
	[[ $stderr == "tdump: $PWD/program is not the file that ran (build id "*', that had '*'): addresses are printed' ]]
	[[ ${lines[0]} == *' [0x'*'] 0x'* ]]
	run -0 tdump -M core -N core
	head -c 3000 core >short
	run -65 tdump -M short
}

@test "a core that the kernel wrote" {
	local pattern
	pattern=$(</proc/sys/kernel/core_pattern)
	[[ $pattern != '|'* && $pattern != */* ]] || skip "cores go elsewhere here: $pattern"
	ulimit -c unlimited 2>/dev/null || skip "no cores here: the hard limit is $(ulimit -H -c)"
	start_dumped
	letter e
	tdump -a -f -H -p "$DUMPED" >alive
	printf a >&"$LETTERS"
	wait "$DUMPED" || true
	DUMPED=
	run tdump -a -f -H -M core*
	[ "$output" = "$(<alive)" ]
}

@test "a KTR_FILE, and a file of --save, when the program is gone" {
	cp "$BUILD/tests/dumped" program
	KTR_FILE=$PWD/region start_dumped ./program
	letter e
	tdump -a -f -H -p "$DUMPED" >alive
	tdump -p "$DUMPED" --save saved
	exec {LETTERS}>&-
	end_dumped
	tdump -a -f -H -i saved | diff alive -
	# Strings of the executable are found; those of the heap are gone.
	tdump -q -m ~NET -i region | texts >got
	each_kind | grep -v heap | diff - <(grep -v -e '^\[' -e corrupt got)
	rm program
	tdump -a -f -H -i saved | diff alive -
	run -0 --separate-stderr tdump -q -i region
	[[ $stderr == *'No such file'* ]]
	[[ ${lines[0]} == *' [0x'*'] 0x'* ]]
	cp "$BUILD/tests/dumped" elsewhere
	tdump -q -m DEV -N elsewhere -i region | grep -q 'lpopen(dev=1f)'
}

# KTR-10, KTR-F02: CTR6's second entry joins the first one's line; an entry that only looks like one does not.
@test "six parameters are one line, in either direction" {
	start_dumped
	# Both entries are in one ring.
	taskset -cp 0 "$DUMPED"
	letter 6
	printf '%s\n' '12345 six' '... and 7' '1 2 three 4 5 -6' >wanted
	tdump -q -p "$DUMPED" | texts | diff wanted -
	tdump -q -r -p "$DUMPED" | texts | tac | diff wanted -
	tdump -q -s -p "$DUMPED" | texts | diff wanted -
	tdump -q -m DEV -p "$DUMPED" | texts | diff <(tail -n 1 wanted) -
	ktrdump -q -p "$DUMPED" | sed -E 's/^ *[0-9]+ //' | diff wanted -
	tdump --json -m DEV -p "$DUMPED" | grep -q '"text":"1 2 three 4 5 -6".*,5,18446744073709551610\]'
	tdump --save saved -p "$DUMPED"
	tdump -q -i saved | texts | diff wanted -
	# A ring of one entry has only the second one.
	end_dumped
	KTR_SIZE=64 start_dumped
	taskset -cp 0 "$DUMPED"
	letter 6
	[ "$(tdump -q -p "$DUMPED" | texts | grep -c .)" -eq 1 ]
	tdump -q -p "$DUMPED" | texts | grep -qE '^\.\.\. and [0-9a-f]+$'
}

# No half-written entry is shown, however fast the writers are.
@test "rings that are being written" {
	local i some=0
	KTR_SIZE=65536 start_dumped
	letter m
	for ((i = 0; i < 20 || some == 0 && i < 2000; i++)); do
		tdump -q -p "$DUMPED" >got
		# Nothing is left if the whole ring was overwritten meanwhile.
		[ ! -s got ] || some=$((some + 1))
		refute grep -q corrupt got
		texts <got | awk '$1 != $3 { print; bad = 1 } END { exit bad }'
		tdump -q -r -p "$DUMPED" | texts | awk '$1 != $3 { print; bad = 1 } END { exit bad }'
	done
	[ "$some" -gt 0 ]
}

# Entries read before its end are printed.
@test "a process that ends while it is read" {
	local reader status=0
	KTR_SIZE=16777216 start_dumped
	letter f
	[ "$(tdump -q -p "$DUMPED" | wc -l)" -eq 100000 ]
	mkfifo slow
	tdump -q -p "$DUMPED" >slow 2>dead.err 3>&- &
	reader=$!
	exec {SLOW}<slow
	# It has filled the pipe, and waits.
	head -c 100 <&"$SLOW" >dead.out
	wait_for asleep "$reader"
	kill -KILL "$DUMPED"
	wait_for process_gone_or_zombie "$DUMPED"
	cat <&"$SLOW" >>dead.out
	wait "$reader" || status=$?
	[ "$status" -eq 69 ]
	[ "$(<dead.err)" = "tdump: ERROR: process $DUMPED has gone while it was read" ]
	[ "$(wc -l <dead.out)" -gt 1000 ]
}

process_gone_or_zombie() { [[ ! -e /proc/$1 || "$(cat "/proc/$1/stat" 2>/dev/null)" == *") Z "* ]]; }

followed() { grep -q -- "$1" follow.out; }

@test "-l: what comes, until the process is gone, and what it missed" {
	start_dumped
	# A ring is in order; of two that are read in turn the second may be ahead.
	taskset -cp 0 "$DUMPED"
	letter e
	tdump -q -l -p "$DUMPED" >follow.out 2>follow.err 3>&- &
	local follower=$! status=0
	wait_for followed 'no parameters'
	letter e
	wait_for eval '[ "$(grep -c "no parameters" follow.out)" -eq 2 ]'
	texts <follow.out | tac | head -n 6 >got
	each_kind | diff - got
	kill -KILL "$DUMPED"
	wait "$follower" || status=$?
	[ "$status" -eq 69 ]
	[ "$(<follow.err)" = "tdump: ERROR: process $DUMPED has gone while it was read" ]
	end_dumped
	KTR_SIZE=64 start_dumped
	letter m
	tdump -q -l -p "$DUMPED" >follow.out 2>follow.err 3>&- &
	follower=$!
	wait_for grep -q '[0-9]* entries were overwritten before they were read' follow.err
	kill -TERM "$follower"
	wait "$follower"
}

# KTR-34 KTR-70 KTR-71 KTR-72 KTR-F11: the page's debugger form in gdb; tracing is off until the process continues.
@test "gdb: ktr t and ktr show" {
	command -v gdb >/dev/null || skip "gdb is not installed"
	start_dumped
	letter e
	tdump -q -K -p "$DUMPED" >before
	gdb -q -nx -batch -p "$DUMPED" -ex "source $gdbfile" -ex 'ktr t' -ex 'print ktr_mask' -ex 'ktr t 2' \
		-ex 'ktr show /v' -ex 'ktr show /V' -ex 'ktr t x' -ex 'ktr show /q' >gdb.out 2>gdb.err || true
	sed -n '/^Newest entry at clock/,$p' gdb.out | sed '/^\$1 = 0/q' >first
	head -n 1 first | grep -qE '^Newest entry at clock [0-9a-f]+$'
	sed -n 2p first | grep -qE '^[0-9a-f]+ +[0-9a-f]+ +0: disable tracing for kdebug$'
	# Below it are the lines of tdump -K, except for the time since.
	sed '1,3d; $d' first | diff <(sed 1,2d before) -
	[ "$(grep -c 'disable tracing for kdebug$' gdb.out)" -eq 4 ]
	grep -qE '^[0-9]+ \(tid=[0-9]+, cpu=[0-9]+\) [0-9]+ .*tests/e2e/dumped.c\.[0-9]+: lpopen\(dev=1f\)$' gdb.out
	grep -qE '^[0-9]+ \(tid=[0-9]+, cpu=[0-9]+\) -[0-9]+ lpopen\(dev=1f\)$' gdb.out
	grep -q 'ktr t: "x" is not a number of entries' gdb.err
	grep -q 'ktr show: takes /v and /V' gdb.err
	# gdb has detached: the program traces again, and tdump shows the debugger's entry, too.
	letter e
	tdump -q -p "$DUMPED" | texts >got
	each_kind | diff - <(head -n 6 got)
	[ "$(sed -n 7p got)" = 'disable tracing for kdebug' ]
	# By hand, too.
	run gdb -q -nx -batch -p "$DUMPED" -ex 'print/x ktr_mask' -ex 'info proc mappings'
	[[ $output == *'$1 = 0xffff77ff'*'/memfd:ktr'* ]]
}

# KTR-61 KTR-71: and a shell pipeline's calls and switches.
@test "the kernel's rings: calls, switches, frozen, as a trace for viewers" {
	start_daemon
	gives_like 69 '*ktrctl compile SCHED,SYSC*' tdump
	stop_daemon
	# Long enough for the entries of the whole machine, and frozen at once.
	start_daemon -o ktr.compile=SCHED,SYSC,PROC -o ktr.size=16777216
	wait_for tdump -q
	bash -c 'echo | cat | wc -c' >/dev/null 3>&- &
	local shell=$!
	wait $shell
	tdump -z --save rings
	tdump -i rings >got
	head -n 2 got | diff - <(printf '%s\n' 'C Idx   Delta-T  Trace' '= ===== ======== =====')
	grep -q ' tracing frozen by tdump pid=[0-9]*$' got
	tdump -q -m SCHED -i rings >switches
	grep -qE "KTRGRAPH group:\"thread\", id:\"bash tid $shell\", state:\"running\"" switches
	tdump --chrome -i rings >chrome
	python3 - "$shell" <<-'END'
	import json, sys
	events = json.load(open("chrome"))["traceEvents"]
	mine = [e for e in events if e["pid"] == 1 and e["tid"] == int(sys.argv[1])]
	assert any(e["ph"] == "B" for e in mine) and any(e["ph"] == "E" for e in mine)
	assert any(e["ph"] == "X" and e["name"] == "bash tid " + sys.argv[1] and e["dur"] > 0 for e in events)
	END
	# KTR-80: for privileged users only.
	run --separate-stderr run_as_nobody tdump
	[ "$status" -ne 0 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "tdump: ERROR: no trace of the kernel: the kernel's trace rings need CAP_PERFMON"* ]]
	# Without a daemon root finds the pinned rings, if they are this daemon's.
	if grep -qsx "map_id:[[:space:]]$(bpftool -j map show pinned /sys/fs/bpf/pmcbpf/ktr 2>/dev/null | grep -o '"id":[0-9]*' | head -n 1 | cut -d: -f2)" "/proc/$DAEMON_PID/fdinfo"/*; then
		PMCBPF_SOCKET=$PWD/nobody tdump -q >left
		grep -q 'syscall p=' left
	fi
}

# KTR-01 KTR-61: the parent of each process, its calls, and its switches.
@test "a shell pipeline's processes, calls and switches" {
	local shell child programs=
	start_daemon -o ktr.size=16777216
	ktrctl compile SCHED,SYSC,PROC
	sh -c 'ls / | sort | wc -l' >count 3>&- &
	shell=$!
	wait $shell
	# A dead process may have its last switch still to come on another CPU: once another one runs there it has
	# happened.
	for cpu in $(lscpu -p=CPU --online | grep -v '^#'); do
		taskset -c "$cpu" true || true
	done
	ktrctl freeze
	[ "$(<count)" -eq "$(ls / | wc -l)" ]
	tdump -q -r -m PROC | texts >processes
	tdump -q -r -m SCHED | texts >switches
	sed -n "s/^fork parent=$shell child=//p" processes >children
	[ "$(wc -l <children)" -eq 3 ]
	while read -r child; do
		programs+="$(sed -n "s/^exec pid=$child //p" processes) "
		grep -q "^exit tid=$child code=0 " processes
		grep -qE "\"[a-z]+ tid $child\", state:\"running\"" switches
		# The last switch is away from it.
		grep -E "\"[a-z]+ tid $child\", state:" switches | tail -n 1 >last
		refute grep -q '"running"' last
		# As many returns as calls, except exit_group; execve is among them.
		tdump -q -r -m SYSC -T "$child" | texts >calls
		grep -qE '^syscall p=0x[0-9a-f]+ #0x(3b|dd)$' calls
		tail -n 1 calls | grep -qE '#0x(e7|5e)$'
		refute grep -qvE '^syscall p=0x[0-9a-f]+ (#0x[0-9a-f]+|err=[0-9]+ ret=[0-9a-f]+)$' calls
		[ "$(cut -d' ' -f2 calls | sort -u | wc -l)" -eq 1 ]
	done <children
	[ "$programs" = 'ls sort wc ' ]
	# wc has read its input and printed the count.
	grep -qE "^syscall p=0x[0-9a-f]+ err=0 ret=$(printf '%x' "$(wc -c <count)")\$" calls
}

# KTR-74: the counter's time is converted to the kernel's, so that a call lies between the entries around it.
@test "-k: a process and the kernel on one clock" {
	start_daemon -o ktr.compile=SYSC -o ktr.size=16777216
	wait_for tdump -q
	start_dumped
	letter e
	letter e
	tdump -q -r -k -z -T "$DUMPED" -p "$DUMPED" | texts >got
	# It reads the second letter, traces, and writes the dot: its entries lie between those two calls.
	sed -n '/lpopen/=' got | tail -n 1 >line
	head -n $(($(<line) - 1)) got | tail -n 1 | grep -qE '^syscall p=0x[0-9a-f]+ err=0 ret=1$'
	tail -n +"$(<line)" got | head -n 6 | diff <(each_kind | tac) -
	tail -n +$(($(<line) + 6)) got | head -n 1 | grep -qE '^syscall p=0x[0-9a-f]+ #0x(1|40)$'
}
