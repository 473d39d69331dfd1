#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# PMCs of cgroups (PMC_F_CGROUP): counts equal what the processes in the cgroup and below did while they were in it, and
# what is refused.

load helpers

CLASS=65 READ=0x20 CGROUP=0x4000
ENTER=syscalls:sys_enter_sched_get_priority_max

setup() {
	need_calls
	TOP=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$TOP" ] || skip "no hierarchy of cgroups, version 2, is mounted"
	cd "$BATS_TEST_TMPDIR" || return
	GROUP=$TOP/pmcbpf-test.$$
	mkdir "$GROUP" "$GROUP/a" "$GROUP/a/below" "$GROUP/b" || skip "no cgroup can be made in $TOP"
	start_daemon
}

teardown() {
	local name

	for name in "${!WORKLOAD[@]}"; do rest "$name"; done
	stop_daemon || true
	is_empty() { ! [ -d "$1" ] || grep -q '^populated 0' "$1/cgroup.events"; }
	wait_for is_empty "$GROUP"
	[ ! -d "$GROUP" ] || find "$GROUP" -depth -type d -exec rmdir {} +
}

# moves NAME FOLDER: a workload goes into this cgroup
moves() { echo "${WORKLOAD[$1]}" >"$GROUP/$2/cgroup.procs"; }

# counts_calls NAME FOLDER: the client counts $ENTER in a cgroup
counts_calls() {
	client "$1"
	expect "$1" 'alloc 0 *' caps $READ tracepoint $ENTER alloc 3 $CLASS 0 any $CGROUP
	expect "$1" 'attachcgroup 0' attachcgroup "$GROUP/$2"
}

# works FOLDER CALLS: a new process there makes so many calls
works() {
	workload "w$2" calls="$2"
	moves "w$2" "$1"
	work "w$2"
}

@test "PERF-031: every process in the cgroup and below, and no other; two owners" {
	counts_calls first a
	counts_calls second a
	counts_calls inner a/below
	works a 1
	for name in first second inner; do expect $name 'start 0' start; done
	works a 10
	works a/below 100
	works b 1000
	expect first 'read 0 110' read
	expect second 'read 0 110' read
	expect inner 'read 0 100' read
	expect second 'stop 0' stop
	works a 20
	expect first 'read 0 130' read
	expect second 'read 0 110' read
	expect second 'start 0' start
	works a/below 200
	expect second 'read 0 310' read
	expect inner 'read 0 300' read
}

@test "children and threads that begin in the cgroup count; all CPUs" {
	counts_calls own a
	workload w threads=2 forks=2 below=1 calls=10 moves=3
	moves w a
	expect own 'start 0' start
	work w
	# Three threads, of the four others one each; each of the moves makes one call more.
	processes=7
	expect own "read 0 $((processes * (10 + 3)))" read
}

@test "a process that has left the cgroup counts no more" {
	counts_calls own a
	expect own 'start 0' start
	workload left calls=10
	workload entered calls=20
	moves left a
	moves entered b
	moves left b
	moves entered a/below
	work left
	expect own 'read 0 0' read
	work entered
	expect own 'read 0 20' read
}

@test "CPU time: a process that is moved while it runs all the time" {
	taskset -c 0 sh -c 'while :; do :; done' 3>&- &
	WORKLOAD[spinner]=$!
	clocks=(0x20009 0x2000a)
	for i in 0 1; do
		client clock$i
		expect clock$i 'alloc 0 *' caps $READ alloc 3 15 ${clocks[i]} any $CGROUP
		expect clock$i 'attachcgroup 0' attachcgroup "$GROUP/a"
		expect clock$i 'start 0' start
	done
	ticks() { cut -d' ' -f14 "/proc/${WORKLOAD[spinner]}/stat"; }
	ran() { [ "$(ticks)" -ge $((begin + 20)) ]; }
	spins() { begin=$(ticks); wait_for ran; }
	spins
	for i in 0 1; do expect clock$i 'read 0 0' read; done
	moves spinner a
	spins
	moves spinner b
	# Of 20 ticks of 10 ms, the first may have begun before the move.
	for i in 0 1; do
		count_of clock$i
		[ "$count" -ge 180000000 ]
		inside[i]=$count
	done
	spins
	for i in 0 1; do expect clock$i "read 0 ${inside[i]}" read; done
}

@test "pmcstat counts a cgroup: calls and page faults; a command ends it" {
	workload w calls=10 pages=100
	moves w a
	pmcstat -q --csv -C -w 0.1 -o rows -t "cgroup:$GROUP/a" -p $ENTER -p PAGE_FAULT.ALL -p CONTEXT_SWITCHES 3>&- &
	pid=$!
	has_rows() { [ "$(wc -l <rows)" -ge 2 ]; }
	wait_for has_rows
	work w
	kill -INT $pid
	wait $pid
	IFS=, read -r _ calls faults switches < <(tail -n 1 rows)
	[ "$calls" -eq 10 ]
	[ "$faults" -ge 100 ]
	[ "$switches" -ge 1 ]
	run pmcstat -q --csv -C -o again -t "cgroup:$GROUP/a" -p $ENTER "$BUILD/tests/load" calls=7
	status_is 0
	tail -n 1 again | grep -q ',0$'
}

# minor_faults PID: by the kernel's own count
minor_faults() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f8; }

@test "every page fault in a cgroup is a sample, and none of other processes" {
	workload inside pages=200
	workload beside pages=200
	moves inside a/below
	moves beside b
	client own
	expect own 'log 0' log log
	expect own 'attachcgroup 0' caps 0x23 alloc 2 15 0x20007 any $CGROUP setcount 1 attachcgroup "$GROUP/a"
	expect own 'start 0' start
	faults=$(minor_faults "${WORKLOAD[inside]}")
	work inside
	work beside
	faults=$(($(minor_faults "${WORKLOAD[inside]}") - faults))
	expect own 'endlog 0' stop endlog
	[ "$faults" -ge 200 ]
	pmc filter -j log - | sed -n '/"type":"callchain"/s/.*"pid":"\([0-9]*\)".*/\1/p' >pids
	[ "$(wc -l <pids)" -eq "$faults" ]
	[ "$(sort -u pids)" = "${WORKLOAD[inside]}" ]
}

# sampled LOG: "PMC PROCESS NUMBER" of the samples in the log, PMCs numbered in the order of their allocation
sampled() {
	pmcstat -q -R "$1" | awk '$1 ~ /^allocate/ { id[$2] = ++n }
		$1 == "callchain" { has[id[$3] " " $2]++ } END { for (i in has) print i, has[i] }' | sort
}

@test "every nth hit in a cgroup is a sample, of system calls and of probes, and none of other processes" {
	local call=uprobe:$BUILD/tests/load:load_call

	workload deep calls=100
	workload above calls=100
	workload beside calls=100
	moves deep a/below
	moves above a
	moves beside b
	mkfifo end
	pmcstat -q -n 1 -P "$ENTER" -n 4 -P "$call" -n 7 -P "$ENTER,filter=policy == 1" -O log -t "cgroup:$GROUP/a" sh -c ': >started; read -r line <end' 3>&- &
	tool=$!
	wait_for test -e started
	for name in deep above beside; do work $name; done
	echo >end
	wait $tool
	sampled log >samples
	cat samples
	[ "$(awk '$1 == 1 { print $3 }' samples | xargs)" = "100 100" ]
	[ "$(awk '$1 == 2 { n += $3 } END { print n }' samples)" -eq 50 ]
	[ "$(awk '$1 == 3 { n += $3 } END { print n }' samples)" -eq 14 ]
	refute grep " ${WORKLOAD[beside]} " samples
	# The next one is another user's, or waits.
	nine=()
	for _ in 1 2 3 4 5 6 7 8 9; do nine+=(-P "$ENTER"); done
	run pmcstat -q -n 1 "${nine[@]}" -O nine.log -t "cgroup:$GROUP/a" true
	[[ $status -ne 0 && $output == *"8 PMCs sample the hits of row "*"in cgroups, 8 of them this user's"*"stop some"* ]]
	pmcstat -q -n 1 "${nine[@]:2}" -O nine.log -t "cgroup:$GROUP/a" true
}

# reader NAME FOLDER FD: a program in the cgroup waits for lines, which come from the descriptor
reader() {
	mkfifo "$1.lines"
	dash -c 'while read -r line; do : >"$line"; done' <"$1.lines" 3>&- &
	WORKLOAD[$1]=$!
	eval "exec $3>$1.lines"
	moves "$1" "$2"
	wait_for asleep "${WORKLOAD[$1]}"
}

# reads NAME LINE FD: it waits no more, and then again
reads() {
	echo "$1.$2" >&"$3"
	wait_for test -e "$1.$2"
	wait_for asleep "${WORKLOAD[$1]}"
}

# samples_waits NAME FLAGS: the client logs the waits that its PMC samples
samples_waits() {
	client "$1"
	expect "$1" 'log 0' log "$1.log"
	expect "$1" 'setcount 0' caps 0x21 alloc 2 15 0x20012 any "$2" setcount 1
}

@test "waits in a cgroup are those that its processes' own PMCs have, until a process leaves it; none of other processes" {
	pmccontrol -L | grep -q OFFCPU_TIME || skip "this kernel lets no program run behind a switch"
	workload still
	moves still a
	reader moved a/below 7
	reader beside b 8
	samples_waits every 0x80
	expect every 'start 0' attach "${WORKLOAD[moved]}" start
	samples_waits own $CGROUP
	before=$(date +%s%N)
	expect own 'start 0' attachcgroup "$GROUP/a" start
	for i in {1..10}; do
		reads moved "$i" 7
		reads beside "$i" 8
	done
	moves moved b
	for i in {11..15}; do reads moved "$i" 7; done
	expect own 'stop 0' stop
	after=$(date +%s%N)
	expect every 'endlog 0' stop endlog
	expect own 'endlog 0' endlog
	for name in every own; do pmc filter -j $name.log $name.json; done
	! grep -q '"type":"waits".*"unknown":"[1-9]' every.json own.json || skip "the kernel hid a context switch"
	python3 - "${WORKLOAD[still]}" "${WORKLOAD[moved]}" $((after - before)) <<-'end'
		import json, sys
		still, moved, ns = sys.argv[1:]
		def waits(path):
		    log = [json.loads(line) for line in open(path, encoding="utf-8")]
		    found = {}
		    for i, r in enumerate(log):
		        if r["type"] == "callchain":
		            found.setdefault(r["pid"], []).append((int(r["tsc"]), int(log[i - 1]["values"]["period"])))
		    return {pid: sorted(rows) for pid, rows in found.items()}
		def later(rows):
		    # The first wait began before both PMCs; a wait may be two samples of one time.
		    return [ns for time, ns in rows if time > rows[0][0]]
		own, every = waits("own.json"), waits("every.json")
		assert set(own) == {still, moved}, own
		inside, always = later(own[moved]), later(every[moved])
		assert len(inside) >= 9 and inside == always[:len(inside)], (own, every)
		assert len(always) >= len(inside) + 5, (own, every)
		assert len(own[still]) == 1 and 0 < own[still][0][1] <= int(ns), (own, ns)
	end
}

@test "waits in a cgroup: of the PMCs that run at once a user has his share, and a removed cgroup has none" {
	pmccontrol -L | grep -q OFFCPU_TIME || skip "this kernel lets no program run behind a switch"
	many=()
	for _ in {1..17}; do many+=(-P OFFCPU_TIME); done
	run pmcstat -q "${many[@]}" -O many.log -t "cgroup:$GROUP/a" true
	[[ $status -ne 0 && $output == *"16 PMCs sample waits in cgroups, 16 of them this user's"*"stop some"* ]]
	pmcstat -q "${many[@]:2}" -O many.log -t "cgroup:$GROUP/a" true
	samples_waits own $CGROUP
	expect own 'attachcgroup 0' attachcgroup "$GROUP/b"
	rmdir "$GROUP/b"
	expect own 'start ENOENT *has been removed*' start
}

# stores OPTION...: pmcstat of cgroup a, while three processes store 100 words each, one of them outside
stores() {
	for name in deep above beside; do workload $name stores=100; done
	moves deep a/below
	moves above a
	moves beside b
	rm -f started
	pmcstat -q "$@" -t "cgroup:$GROUP/a" sh -c ': >started; read -r line <end' 3>&- &
	tool=$!
	wait_for test -e started
	for name in deep above beside; do
		work $name
		rest $name
	done
	echo >end
	wait $tool
}

@test "accesses to an address count, and are samples, of every process in the cgroup" {
	need_breakpoints
	local word

	word=breakpoint:0x$(nm "$BUILD/tests/load" | awk '$3 == "load_word" { print $1 }'):w

	mkfifo end
	stores --csv -C -o rows -p "$word" -p "$word"
	unless_hidden "$(<rows)"
	[[ "$(tail -n 1 rows)" == *,200,200 ]]
	stores -n 10 -P "$word" -O log
	sampled log >samples
	cat samples
	[ "$(awk '{ n += $3 } END { print n }' samples)" -eq 20 ]
	refute grep " ${WORKLOAD[beside]} " samples
}

@test "pmc record -p cgroup: names programs and functions of processes in it" {
	dash -c 'while :; do :; done' 3>&- &
	WORKLOAD[spinner]=$!
	moves spinner a/below
	dash -c 'while :; do :; done' 3>&- &
	WORKLOAD[beside]=$!
	pmc record -F 1000 --no-report -o log -p "cgroup:$GROUP/a" -l 1
	kill -KILL "${WORKLOAD[@]}"
	pmc report --folded - log >folded
	grep -q '^dash;' folded
	refute grep -v '^dash;' folded
	pmc filter -j log - | grep '"type":"callchain"' >samples
	grep -q "\"pid\":\"${WORKLOAD[spinner]}\"" samples
	refute grep -v "\"pid\":\"${WORKLOAD[spinner]}\"" samples
}

@test "a cgroup that is removed keeps its counts, and cannot be started again" {
	counts_calls own b
	workload w calls=10
	moves w b
	expect own 'start 0' start
	work w
	rest w
	wait_for grep -q '^populated 0' "$GROUP/b/cgroup.events"
	rmdir "$GROUP/b"
	expect own 'read 0 10' read
	expect own 'stop 0' stop
	expect own 'read 0 10' read
	expect own 'start ENOENT *the cgroup has been removed*' start
	expect own 'release 0' release
}

# rows_of OPTION...: pmcstat --for-each-cgroup of $ENTER, until `work` is done; the last rows, in $output
rows_of() {
	rm -f rows
	pmcstat -q --csv -C -w 0.1 -o rows "$@" 3>&- &
	pid=$!
	has_rows() { [ -s rows ]; }
	wait_for has_rows
	work w
	kill -INT $pid
	wait $pid
	output=$(tail -n "$(awk -F, 'NR > 1 && !n[$2]++' rows | wc -l)" rows | cut -d, -f2-)
}

@test "pmcstat --for-each-cgroup: a row for each of the names, and of the cgroups that match" {
	name=${GROUP#"$TOP/"}
	workload w calls=10
	moves w a/below
	rows_of -p $ENTER -p CONTEXT_SWITCHES --for-each-cgroup "$name/b,/$name/a/below"
	[ "$(head -n 1 rows)" = "time,cgroup,p/$ENTER,p/CONTEXT_SWITCHES" ]
	[[ $output =~ ^"$name/a/below,10,"[1-9][0-9]*$'\n'"$name/b,0,0"$ ]]
	rest w
	workload w calls=20
	moves w a
	rows_of -p $ENTER --for-each-cgroup "^$name/a,$name/a/below,$name/b\$"
	[ "$output" = "$name/a,20
$name/a/below,0
$name/b,0" ]
	run pmcstat -q -w 5 --json -p $ENTER --for-each-cgroup "$name/[ab]\$" load calls=7
	status_is 0
	[[ ${lines[0]} == *'"cgroup":"'"$name"'/a","counters":[{"name":"'$ENTER'"'*'"value":0}]}' && ${#lines[@]} -eq 2 ]]
	run pmcstat -q -p $ENTER -p CONTEXT_SWITCHES --for-each-cgroup "$name/a" true
	[[ ${lines[0]} == *" p/CONTEXT_SWITCHES CGROUP" && ${lines[1]} == *" $name/a" ]]
}

@test "fifty cgroups, each with two PMCs, half of them one below the other" {
	name=${GROUP#"$TOP/"}
	path=$GROUP/b
	for i in $(seq 25); do
		mkdir "$GROUP/a/$i" "$path/$i"
		path=$path/$i
	done
	workload w calls=10
	echo "${WORKLOAD[w]}" >"$path/cgroup.procs"
	rows_of -p $ENTER -p PAGE_FAULT.ALL --for-each-cgroup "^$name/[ab]/"
	[ "$(grep -c "^$name/a/[a-z0-9]*,0," <<<"$output")" -eq 26 ]
	[ "$(grep -c "^$name/b/[0-9/]*,10," <<<"$output")" -eq 25 ]
}

@test "pmcstat --for-each-cgroup refuses what does not go with it, and names of nothing" {
	name=${GROUP#"$TOP/"}
	for options in "-d -p $ENTER" "-p $ENTER -s CPU_CLOCK" "-P CPU_CLOCK" "-p $ENTER -t $$" "--per-thread -p $ENTER" \
		"--from-fork -p $ENTER" "-p {$ENTER,PAGE_FAULT.ALL}"; do
		# shellcheck disable=SC2086 # words
		run pmcstat $options --for-each-cgroup "$name" true
		status_is 64
		[[ $output == *"-for-each-cgroup"* ]]
	done
	run pmcstat -p $ENTER --for-each-cgroup "$name/a,$name/none" true
	status_is 65
	[[ $output == *"No cgroup in $TOP is \"$name/none\"."* ]]
	run pmcstat -p $ENTER --for-each-cgroup "$name/x*y" true
	status_is 65
	[[ $output == *"No cgroup in $TOP matches \"$name/x*y\"."* ]]
	run pmcstat -p $ENTER --for-each-cgroup "[" true
	status_is 65
	[[ $output == *"Failed to compile regex"* ]]
	run pmcstat -p $ENTER --for-each-cgroup , true
	status_is 64
}

# PERF-339
@test "what is no cgroup, and what cgroups do not count, is refused" {
	client own
	expect own 'alloc 0 *' caps $READ tracepoint $ENTER alloc 3 $CLASS 0 any $CGROUP
	expect own 'start ESRCH *name it by pmc_attach_cgroup()*' start
	expect own 'attachcgroup EBADF *no descriptor*' attachcgroup none
	expect own "attachcgroup EBADF *not that of a cgroup's folder*" attachcgroup /tmp
	expect own "attachcgroup EBADF *not that of a cgroup's folder*" attachcgroup "$GROUP/a/cgroup.procs"
	expect own 'attach EINVAL *counts a cgroup*' attach 0
	expect own 'attachcgroup 0' attachcgroup "$GROUP/a"
	expect own 'attachcgroup EBUSY *a cgroup already*' attachcgroup "$GROUP/b"
	expect own 'release 0' release
	expect own 'alloc 0 *' caps $READ tracepoint $ENTER alloc 3 $CLASS 0 any 0
	expect own 'attachcgroup EINVAL *PMC_F_CGROUP*' attachcgroup "$GROUP/a"
	expect own 'alloc EINVAL *PMC_F_CGROUP: *' caps $READ tracepoint $ENTER alloc 3 $CLASS 0 any 0xc000
	expect own 'alloc EINVAL *process-scope PMCs only*' caps $READ tracepoint $ENTER alloc 1 $CLASS 0 0 $CGROUP
	run pmcstat -t "cgroup:$GROUP/none" -p $ENTER
	status_is 65
	[[ $output == *"Cannot open the cgroup \"$GROUP/none\""* ]]
	run pmcstat -d -t "cgroup:$GROUP/a" -p $ENTER
	status_is 64
	[[ $output == *"are for processes, not for -t cgroup:"* ]]
	expect own 'alloc EINVAL *only the owner*not those of a cgroup*' caps 0x23 alloc 2 15 0x20007 any 0x5000
}

# Where perf counts for cgroups; tests/vm/cgroup.bats has kernels on which the daemon's own programs do.
@test "what perf does not count for a cgroup, or not exactly, is refused" {
	client own
	expect own 'alloc EOPNOTSUPP *nanoseconds*' caps $READ tracepoint sched:sched_stat_runtime alloc 3 $CLASS 0 any $CGROUP
	run pmcstat -t "cgroup:$GROUP/a" -p CPU_MIGRATIONS
	[ "$status" -ne 0 ]
	[[ $output == *"cannot be counted for a cgroup"* ]]
}

@test "a user who may not count CPUs may not count cgroups" {
	run run_as_nobody wireclient hello caps $READ tracepoint $ENTER alloc 3 $CLASS 0 any $CGROUP
	[[ $output == *"alloc EPERM"* ]]
}
