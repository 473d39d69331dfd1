# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat with the real daemon: counts of software events that can be known, by process and by CPU.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon; }

# column NUMBER FILE: that column's sum over all rows of a CSV file; the time is column 1.
column() {
	awk -F, -v c="$1" 'NR > 1 { sum += $c } END { printf "%.0f\n", sum }' "$2"
}

# between LOW VALUE HIGH
between() {
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ] || { echo "$2 is not in $1 ... $3" >&2; return 1; }
}

# with_cpu_time COMMAND...: runs it, then prints the CPU time, in ns, of it and its collected children.
with_cpu_time() {
	python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int((u.ru_utime + u.ru_stime) * 1e9))' "$@"
}

rows_are_free() {
	pmccontrol -l >rows
	[ "$(grep -c 'FREE      $' rows)" -eq "$(grep -c '^ ' rows)" ] || { cat rows >&2; return 1; }
}

@test "the counts of a command agree with the kernel's figures" {
	with_cpu_time pmcstat -o counts --csv -w 1000 -p PAGE_FAULT.ALL -p CONTEXT_SWITCHES.VOLUNTARY -p TASK_CLOCK \
		python3 -c '
import mmap, os, resource, time
began = time.process_time_ns()
before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
m = mmap.mmap(-1, 1000 * mmap.PAGESIZE)
for page in range(1000):
    m[page * mmap.PAGESIZE] = 1
for _ in range(200):
    time.sleep(0.0005)
u = resource.getrusage(resource.RUSAGE_SELF)
print(u.ru_minflt + u.ru_majflt, before, u.ru_nvcsw, time.process_time_ns() - began, flush=True)
os._exit(0)' >told
	{ read -r faults before switches least && read -r most; } <told
	[ "$faults" -ge 1000 ] && [ $((switches - before)) -ge 190 ]
	# The kernel also counts waits before exec; the row also includes switches after the print.
	between $((faults - 100)) "$(column 2 counts)" $((faults + 300))
	between $((switches - before)) "$(column 3 counts)" $((switches + 20))
	# No less than its own, and not more than with pmcstat's; stolen time may be added to either.
	between "$least" "$(column 4 counts)" $((most + 1000000))
}

@test "a row every -w, a last one at the end; deltas add up to the total" {
	# A busy machine skips some rows; rows continue as long as the command runs.
	with_cpu_time pmcstat -w 0.05 -o deltas --csv -p TASK_CLOCK -C -p TASK_CLOCK python3 -c '
import time
began = time.process_time_ns()
while time.process_time() < 0.5 or (len(open("deltas").readlines()) < 6 and time.process_time() < 60):
    pass
print(time.process_time_ns() - began, flush=True)' >told
	{ read -r least && read -r most; } <told
	[ "$(wc -l <deltas)" -ge 7 ]
	sum=$(column 2 deltas)
	total=$(tail -n 1 deltas | cut -d, -f3)
	between $((total - 2000000)) "$sum" $((total + 2000000))
	between "$least" "$total" $((most + 1000000))
}

@test "-l with -t: the process is still running, and its current slice is in the row" {
	sh -c 'while :; do :; done' 3>&- & victim=$!
	run pmcstat -l 1.5 --csv -o counts -p TASK_CLOCK -t $victim
	kill -0 $victim
	read -r ran _ </proc/$victim/schedstat
	kill $victim
	[ "$status" -eq 0 ]
	# It shares the CPU; alone on it, a slice would never end.
	between 1000000 "$(column 2 counts)" "$ran"
}

# Its counters are running; it has not ended a moment later.
measures() { [ -s counts ]; }
still_measures() {
	sleep 0.3
	kill -0 $measuring
}

# outlive PMCSTAT-OPTION...: measures a process that ends before its child $child
outlive() {
	local parent
	rm -f begin child counts
	mkfifo begin
	sh -c 'read -r _ <begin; sleep 600 & echo $! >child' 3>&- & parent=$!
	pmcstat -w 0.05 -o counts "$@" -t $parent 3>&- & measuring=$!
	wait_for measures
	echo >begin
	wait $parent
	child=$(<child)
}

@test "C-14: -t ends with its process; with -d, with its last descendant" {
	outlive -p CONTEXT_SWITCHES
	wait $measuring
	kill "$child"
	# A sliced event next to it, and one that counts the process alone.
	for options in "-d -p CONTEXT_SWITCHES" "-p TASK_CLOCK -d -p PAGE_FAULT.WRITE -p CONTEXT_SWITCHES"; do
		outlive $options
		still_measures
		kill "$child"
		wait $measuring
	done
}

@test "-d -t by name: a match that is another match's descendant is measured once" {
	local a b

	cp "$(command -v bash)" ./pmc-e2e-same
	./pmc-e2e-same -c './pmc-e2e-same -c "echo \$\$ >pid; kill -STOP \$\$; :" & wait' 3>&- & a=$!
	wait_for test -s pid
	b=$(<pid)
	run pmcstat -v -l 0.05 -d -p TASK_CLOCK -t '^pmc-e2e-same$'
	kill -KILL "$b" "$a"
	[ "$status" -eq 0 ]
	[[ $output == *"attached to process $a"* && $output == *"attached to process $b"* ]]
}

@test "system scope: one column for each CPU, with times on the CPU's clock" {
	uptime_ms() { awk '{ printf "%d\n", 1000 * $1 }' /proc/uptime; }	# in hundredths of a second
	began=$(uptime_ms)
	run pmcstat -l 0.3 --csv -o counts -s CPU_CLOCK -c 0 -s tsc
	took=$(($(uptime_ms) + 10 - began))
	[ "$status" -eq 0 ]
	cpus=$(nproc --all)
	[ "$(head -n 1 counts | tr ',' '\n' | wc -l)" -eq $((cpus + 2)) ]
	between 250000000 "$(column 2 counts)" $((took * 1010000))
	[ "$(column $((cpus + 2)) counts)" -gt 1000000 ]
}

@test "C-12 no row leaks: after an end, a failure, and kill -9" {
	pmcstat -o /dev/null -s CPU_CLOCK -p TASK_CLOCK true
	rows_are_free
	run -71 pmcstat -s CPU_CLOCK -p nosuch true
	rows_are_free
	pmcstat -o /dev/null -s CPU_CLOCK -p TASK_CLOCK sleep 100 3>&- & pid=$!
	wait_for bash -c 'pmccontrol -l | grep -q STANDALONE'
	wait_for bash -c 'pgrep -P '$pid' -x sleep >child'
	kill -9 $pid
	wait_for rows_are_free
	kill "$(cat child)"
}

@test "the tool finds its library beside itself in any folder" {
	mkdir -p tree/bin tree/lib
	cp "$BUILD/bin/pmcstat" "$BUILD/bin/pmccontrol" tree/bin
	cp "$BUILD"/lib/libpmc-compat.so.0 tree/lib
	unset LD_LIBRARY_PATH
	run -0 tree/bin/pmcstat -o counts -p TASK_CLOCK true
	run -0 tree/bin/pmccontrol -s
	rm tree/lib/libpmc-compat.so.0
	run -127 tree/bin/pmcstat --version	# it was that copy
}

# Calls of a file that only this test has.
@test "sums of cores, sockets, nodes and the machine: each has the calls of its CPUs" {
	[ -r /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"
	cp "$BUILD/tests/load" prog
	for unit in cpu core socket node machine; do
		pmcstat --csv -o counts -C --per-$unit -s "uprobe:$PWD/prog:load_call" ./prog moves=50 calls=10
		awk -F, 'END { for (i = 2; i <= NF; i++) n += $i; exit n != 60 }' counts || { cat counts >&2; return 1; }
		head -n 1 counts | tr , '\n' | sed -n 's,^s/\([^/]*\)/.*,\1,p' >got
		for topology in $(printf '%s\n' /sys/devices/system/cpu/cpu[0-9]*/topology | sort -V); do
			cpu=${topology%/topology} socket=S$(<"$topology/physical_package_id")
			die=$(cat "$topology/die_id" 2>/dev/null) || true
			case $unit in
			cpu) printf '%02d\n' "${cpu##*cpu}" ;;
			core) echo "$socket${die:+-D$die}-C$(<"$topology/core_id")" ;;
			socket) echo "$socket" ;;
			node) basename "$cpu"/node* | sed s/node/N/ ;;
			machine) echo all ;;
			esac
		done | awk '!seen[$0]++' >want
		cmp want got
	done
	pmcstat --csv -o counts -C --per-machine -s "uprobe:$PWD/prog:load_call" --per-cpu -c 0 -s PAGE_FAULT.ALL true
	head -n 1 counts | grep -qx "time,s/all/uprobe:$PWD/prog:load_call,s/00/PAGE_FAULT.ALL"
}

@test "--per-core and its like belong to counts that follow them" {
	for words in '-p PAGE_FAULT.ALL' '-R log' '-s PAGE_FAULT.ALL --per-core'; do
		# shellcheck disable=SC2086 # words
		run pmcstat --per-socket $words
		[[ $status -eq 64 && $output == *"ERROR: option --per-"*" is for the -s that follow it."* ]]
	done
	run pmcstat --per-core -S CLOCK.HARD true
	[[ $status -eq 64 && $output == *"option --per-core is for counts: write --per-cpu before -S CLOCK.HARD."* ]]
}
