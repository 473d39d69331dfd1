#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Class BREAKPOINT: counts equal what a program did, in every scope and life, and what is refused.  `load` stores to,
# loads from and calls what breakpoints watch; it has fixed addresses, `load_pie` others each time.

load helpers

CLASS=66 READ=0x20 READ_USR=0x22
W=2

setup() {
	need_root
	WORD=$(address load_word) NEIGHBOUR=$(address load_neighbour) TICK=$(address load_tick)
	cd "$BATS_TEST_TMPDIR" || return
	start_daemon
	need_breakpoints
	REGISTERS=$(pmccontrol -l | sed '/^#CPU 1/,$d' | grep -c BREAKPOINT)
}

registers_are() { [ "$(pmccontrol -l | sed '/^#CPU 1/,$d' | grep -c BREAKPOINT)" -eq "$1" ]; }

# address SYMBOL [PROGRAM]
address() { echo "0x$(nm "$BUILD/tests/${2:-load}" | awk -v name="$1" '$3 == name { print $1 }')"; }

# counts OPTION... -- COMMAND...: pmcstat's last line, its counts in $counts
counts() {
	run pmcstat -q -o rows "$@"
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
	read -r -a counts <<<"$(tail -n 1 rows)"
}

counts_are() {
	[ "${counts[*]}" = "$*" ] || { echo "counted ${counts[*]}, not $*" >&2; return 1; }
}

# takes NAME MODE CPU [FLAGS [ADDRESS LENGTH TYPE]]: the client has a PMC, of stores to load_word by programs
takes() {
	expect "$1" 'alloc 0 *' caps $READ_USR breakpoint "${5:-$WORD}" "${6:-4}" "${7:-$W}" alloc "$2" $CLASS 0 "$3" "${4:-0}"
}

# refuses SPEC PATTERN [OPTION]...: pmcstat fails with such a message
refuses() {
	run pmcstat "${@:3}" "-${SCOPE:-p}" "$1" load
	# shellcheck disable=SC2053 # a pattern
	[[ $status -ne 0 && $output == $2 ]] || { echo "$1: $output" >&2; return 1; }
}

@test "PERF-038, PERF-123, PERF-124, PERF-125, PERF-127, PERF-128, PERF-131, PERF-135: stores, accesses and executions of a command" {
	for load in load load_pie; do
		counts -p breakpoint:load_word:w -p mem:load_word/4:rw -p breakpoint:load_tick:x -p BREAKPOINT-load_tick \
			$load stores=1000 loads=500 ticks=70
		counts_are 1000 1500 70 70
	done
	counts -p "breakpoint:$WORD/4:w,usr" -p "mem:$TICK:x" load stores=100 ticks=30
	counts_are 100 30
	counts -p breakpoint:load_word -p breakpoint:load_tick load
	counts_are 0 0
}

@test "PERF-129, PERF-130, PERF-132: bytes, half words and long words, beside neighbours that do not count" {
	counts -p breakpoint:load_word/1:w -p breakpoint:load_word+2/2:w -p breakpoint:load_neighbour/8:w \
		-p breakpoint:load_neighbour:w load stores=10 kernel_stores=5
	# The kernel writes the first byte only; a variable's own length is the default.
	counts_are 15 10 10 10
}

@test "usr counts the program's accesses, os the kernel's on its behalf" {
	counts -p breakpoint:load_word:w -p breakpoint:load_word:w,usr -p breakpoint:load_word:w,os load stores=7 kernel_stores=5
	counts_are 12 7 5
	# As perf's users type it.
	counts -p mem:load_word:w:u -p mem:load_word/4:w:k -p mem:load_word:w:uk -p "mem:$TICK:x:u" load stores=7 kernel_stores=5 ticks=3
	counts_are 7 5 12 3
	# A function is executed, with modifiers and without.
	counts -p breakpoint:load_tick:u -p mem:load_tick:uk -p breakpoint:load_tick+0:u -p breakpoint:load_tick/8:u load ticks=3
	counts_are 3 3 3 3
	for spec in breakpoint:load_tick,os breakpoint:load_tick:k; do
		refuses "$spec" '*/8:x: the kernel executes no code of programs: os would count nothing*'
	done
}

@test "threads, children and their children count, with -d only" {
	counts -p breakpoint:load_word:w -d -p breakpoint:load_word:w -p breakpoint:load_tick load_pie stores=100 ticks=10 \
		late=2 forks=2 below=2
	# The process and its two threads; each of two children and their two children.
	counts_are 300 900 90
}

@test "a process that moves from CPU to CPU loses no access" {
	[ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
	counts -p breakpoint:load_word:w -p CPU_MIGRATIONS load_pie moves=500
	[ "${counts[0]}" -eq 500 ]
	[ "${counts[1]}" -ge 500 ]
}

@test "an address is one of all programs that the target executes afterwards" {
	client own
	takes own 3 any
	waits_to_become -- "$BUILD/tests/load" -w stores=20
	expect own 'attachexec 0' attachexec "$TARGET"
	expect own 'start 0' start
	go
	work_of_target
	expect own 'read 0 20' read
}

@test "nothing is counted before START and ATTACH, nothing after STOP and DETACH" {
	client own
	takes own 3 any
	for n in {0..5}; do
		workload w$n stores=10
		[ "$n" -eq 0 ] || expect own 'attach 0' attach "${WORKLOAD[w$n]}"
	done
	work w1
	expect own 'start 0' start
	work w0
	expect own 'read 0 0' read
	work w2
	expect own 'read 0 10' read
	expect own 'stop 0' stop
	work w3
	expect own 'read 0 10' read
	expect own 'start 0' start
	work w4
	expect own 'read 0 20' read
	expect own 'detach 0' detach "${WORKLOAD[w5]}"
	work w5
	expect own 'read 0 20' read
	expect own 'write 0' stop write 5
	expect own 'read 0 5' read
}

@test "two owners of one event share a register; each counts from its own start" {
	client one
	client two
	# All other registers are taken, so that these two share the last one.
	for ((n = 1; n < REGISTERS; n++)); do takes one 3 any 0 $((n * 4096)); done
	takes one 3 any
	takes two 3 any
	for n in {1..4}; do
		workload w$n stores=10
		# A process is the target of one PMC on a row.
		[ $((n % 2)) -eq 1 ] && name=one || name=two
		expect $name 'attach 0' attach "${WORKLOAD[w$n]}"
	done
	expect two 'attach EBUSY*measures process *' attach "${WORKLOAD[w1]}"
	expect one 'start 0' start
	work w1
	work w2
	expect two 'start 0' start
	work w3
	work w4
	expect one 'read 0 20' read
	expect two 'read 0 10' read
}

@test "PERF-137: the breakpoint that is one too many: refused, with its holder; it fits after a release" {
	client one
	client two
	for ((n = 1; n <= REGISTERS; n++)); do takes one 3 any 0 $((n * 4096)); done
	expect one "alloc EINVAL*held by this process*release one of yours*" breakpoint 0x100000 4 $W alloc 3 $CLASS 0 any 0
	expect two "alloc EINVAL*counting another address, held by pid ${CLIENT[one]} (wireclient)*" \
		caps $READ breakpoint 0x100000 4 $W alloc 3 $CLASS 0 any 0
	expect two "alloc EINVAL*counting for processes, held by pid ${CLIENT[one]} (wireclient)*" alloc 1 $CLASS 0 0 0
	takes two 3 any 0 4096
	expect one 'release 0' release
	# The kernel gives the register back a moment later, for which the daemon waits.
	takes two 3 any 0 0x100000
	part one
	part two
	wait_for rows_free
	client three
	for ((n = 1; n <= REGISTERS; n++)); do takes three 1 0 0 $((n * 4096)); done
	expect three 'alloc EINVAL*' breakpoint 0x100000 4 $W alloc 1 $CLASS 0 0 0
}

@test "PERF-354: others hold the registers: that is the reason" {
	mkfifo hold
	exec {hold}<>hold
	# perf_event_open(2) on CPU 0, once for each register.
	python3 -c "
import ctypes, os, platform, struct, sys
call = {'x86_64': 298, 'aarch64': 241}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
for n in range($REGISTERS):
    attr = struct.pack('IIQQQQQIIQQ', 5, 72, 0, 0, 0, 0, 0, 0, $W, 4096 * (n + 1), 4)
    if libc.syscall(call, attr, -1, 0, -1, 0) < 0: sys.exit(os.strerror(ctypes.get_errno()))
print('ready', flush=True)
sys.stdin.readline()" <hold >others 3>&- &
	TARGET=$!
	wait_for grep -q ready others
	refuses "breakpoint:$WORD:w" '*CPU 0 cannot count this event: others hold the breakpoint registers: a debugger, or perf*'
	SCOPE=s refuses "breakpoint:$WORD:w" '*others hold the breakpoint registers*' -c 0
	# On SIGHUP the daemon looks again.
	kill -HUP "$DAEMON_PID"
	wait_for registers_are 0
	refuses "breakpoint:$WORD:w" '*this machine has no counters of class BREAKPOINT*'
	echo >&"$hold"
	wait $TARGET
	kill -HUP "$DAEMON_PID"
	wait_for registers_are "$REGISTERS"
	counts -p breakpoint:load_word:w load stores=3
	counts_are 3
}

@test "a CPU's accesses: those of the processes on it" {
	client own
	# No other test that may run now stores there.
	takes own 1 0 0 "$NEIGHBOUR" 8
	expect own 'start 0' start
	taskset 1 load stores=300
	expect own 'read 0 300' read
	[ "$(nproc)" -eq 1 ] || taskset 2 load stores=300
	expect own 'stop 0' stop
	expect own 'read 0 300' read
	taskset 1 load stores=300
	expect own 'read 0 300' read
}

@test "after a daemon that was killed the next one has all registers and counts exactly" {
	client own
	for ((n = 0; n < REGISTERS; n++)); do takes own 3 any 0 $((WORD + 4096 * n)); done
	expect own 'start 0' start
	stop_daemon KILL || true
	start_daemon
	[ "$(pmccontrol -l | sed '/^#CPU 1/,$d' | grep -c BREAKPOINT)" -eq "$REGISTERS" ]
	counts -p breakpoint:load_word:w load_pie stores=123
	counts_are 123
}

@test "the logs of slices and exits add up to the accesses" {
	run pmcstat -q -E -W -d -p breakpoint:load_word:w -o log -O recorded load_pie stores=40 forks=2
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
	pmcstat -R recorded -o text
	lost_slices text
	for record in exitval cswval; do
		awk -v record=$record '$1 == record { n += $NF } END { print n + 0 }' text
	done >sums
	[ "$lost" -gt 0 ] || [ "$(cat sums)" = $'120\n120' ] || { cat sums text >&2; return 1; }
}

@test "a running process: symbols of its program and of its libraries, where they are" {
	"$BUILD/tests/load_pie" -w stores=10 calls=6 >one.out 3>&- &
	one=$!
	"$BUILD/tests/load_pie" -w stores=10 >two.out 3>&- &
	two=$!
	WORKLOAD[one]=$one WORKLOAD[two]=$two
	for name in one two; do
		wait_for grep -q ready $name.out
		wait_for asleep ${!name}
	done
	if [ "$(grep -m 1 load_pie /proc/$one/maps | cut -d - -f 1)" != "$(grep -m 1 load_pie /proc/$two/maps | cut -d - -f 1)" ]; then
		run pmcstat -p breakpoint:load_word:w -t $one -t $two
		[[ $status -ne 0 && $output == *"\"breakpoint:load_word:w\" has address 0x"*" in process $two and others elsewhere"* ]]
	fi
	pmcstat -q -C -w 0.1 -o rows -p breakpoint:load_word:w -p breakpoint:sched_get_priority_max -t $one 2>tool.err 3>&- &
	tool=$!
	# The first row comes after the start.
	wait_for eval "[ -s rows ] || process_gone $tool"
	kill -USR1 $one
	wait_for worked one.out
	kill -USR1 $one
	wait $one
	wait $tool || unless_hidden "$(<tool.err)"
	kill $two
	read -r -a counts <<<"$(tail -n 1 rows)"
	counts_are 10 6
}

@test "a symbol of a single thread's process; a cgroup has none" {
	local top

	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$top" ] || skip "no hierarchy of cgroups, version 2, is mounted"
	workload one stores=30
	pmcstat -q --csv -C -w 0.1 -o rows -p breakpoint:load_word:w -p breakpoint:load_tick -t "tid:${WORKLOAD[one]}" 3>&- &
	tool=$!
	wait_for eval "[ -s rows ] || process_gone $tool"
	work one
	rest one
	wait $tool
	[[ "$(tail -n 1 rows)" == *,30,0 ]]
	for how in "-p breakpoint:load_word:w -t cgroup:$top" "-P breakpoint:load_word:w -O log -t cgroup:$top" "-p breakpoint:load_word:w --for-each-cgroup /"; do
		# shellcheck disable=SC2086 # options
		run pmcstat $how true
		[[ $status -eq 64 && $output == *"a cgroup has processes of many programs: write the address"* ]]
	done
}

@test "a symbol that there is not: the nearest name; stripped programs, variables of threads" {
	refuses breakpoint:load_wrod:w "*load has no symbol \"load_wrod\" (did you mean \"load_word\"?)*"
	refuses breakpoint:printf_:w '*has no symbol "printf_"*no other file that the process has mapped so far*'
	printf '%s\n' '__thread int each; int twice(void); static int both; int *p = &both; int main(void) { return each + *p + twice(); }' >a.c
	printf '%s\n' 'static int both; int *q = &both; int twice(void) { return *q; }' >b.c
	cc -o prog a.c b.c
	run pmcstat -p breakpoint:each ./prog
	[[ $status -ne 0 && $output == *'"each" is a variable of each thread, without one address'* ]]
	run pmcstat -p breakpoint:both ./prog
	[[ $status -ne 0 && $output == *'has 2 symbols "both": write the address of one'* ]]
	strip prog
	run pmcstat -p breakpoint:both ./prog
	[[ $status -ne 0 && $output == *"/prog is stripped, so that \"both\" is not to be found: write its address"* ]]
	# The command has not run: nothing of it is left.
	[ -z "$(jobs -p -r | grep -v "^$DAEMON_PID$")" ]
	run pmcstat --from-fork -p breakpoint:load_word load
	[[ $status -ne 0 && $output == *"--from-fork: a symbol has an address after the exec only"* ]]
	run pmcstat --from-exec -p breakpoint:load_word -t $$
	[[ $status -ne 0 && $output == *"--from-exec: the exec changes the address of a symbol"* ]]
	run pmcstat -p breakpoint:load_word ./nosuch
	[[ $status -ne 0 && $output == *'execvp "./nosuch" failed'* ]]
}

@test "pmc stat counts at symbols, too; the command's exit status is its own" {
	run pmc stat -j breakpoint:load_tick,breakpoint:load_word load_pie ticks=9 stores=4
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
	[[ $output == *" 9  breakpoint:load_tick"*" 4  breakpoint:load_word"* ]]
	printf '%s\n' 'int main(void) { return 3; }' >a.c
	cc -o prog a.c
	run pmcstat -q -p breakpoint:main ./prog
	[ "$status" -eq 3 ] || unless_hidden "$output"
	status_is 3
	[[ $output == *" 1 "* ]]
}

@test "the examples of pmc.breakpoint(3)" {
	mapfile -t examples < <(sed -n 's/^\.Dl //p' "$BATS_TEST_DIRNAME/../../man/pmc.breakpoint.3")
	[ ${#examples[@]} -eq 4 ]
	cat >prog.c <<-END
		#include <stdlib.h>
		#include <unistd.h>
		int errors;
		void *volatile last;
		__attribute__((noinline)) void retry(void) { errors++; }
		int main(int argc, char **argv)
		{
			char c;
			for (int i = 0; i < 5; i++) retry();
			if (argc > 1 && write(1, "ready", 5) == 5 && read(0, &c, 1) == 1)
				for (int i = 0; i < 3; i++) last = malloc(10);
			return 0;
		}
	END
	cc -fno-builtin -o prog prog.c
	for n in 0 2; do
		run bash -c "exec ${examples[n]}"
		[ "$status" -eq 0 ] || unless_hidden "$output"
		status_is 0
		[ $n -eq 2 ] || [[ ${lines[-1]} =~ ^\ +5\ +5\ *$ ]]
	done
	run bash -c "exec ${examples[3]}"
	[[ $status -eq 0 && $output == *'5 samples in "pmc.log"'* ]]
	mkfifo stdin
	exec {GO}<>stdin
	./prog wait <stdin >out 3>&- &
	TARGET=$!
	wait_for grep -q ready out
	wait_for asleep $TARGET
	pidof() { echo $TARGET; }
	export TARGET
	export -f pidof
	bash -c "exec ${examples[1]}" >rows 2>&1 3>&- &
	wait_for grep -q breakpoint:malloc rows
	echo >&"$GO"
	wait $TARGET
	wait $! || unless_hidden "$(<rows)"
	[ "$(awk '/^ / { n += $1 } END { print n }' rows)" -eq 3 ]
}

@test "PERF-121, PERF-122, PERF-126, PERF-133, PERF-134: what is no breakpoint of this CPU is refused, with the reason" {
	refuses breakpoint:0x1000: '*the second ":" is followed by the kind of access: r, w, rw or x*'
	refuses breakpoint:0x1000:rx '*counts executions, or reads and writes, not both: use two*'
	refuses breakpoint:0x1000:ww '*is no breakpoint: write ADDRESS\[/LENGTH]\[:r|w|rw|x], as breakpoint:0x404028/4:w*'
	refuses breakpoint:0x1000:q '*is no breakpoint: write ADDRESS*'
	refuses breakpoint:0x1000x '*is no breakpoint: write ADDRESS*'
	refuses breakpoint:/4:w '*is no breakpoint: write ADDRESS*'
	refuses breakpoint:0x11112222333344445:w '*an address has at most 64 bits*'
	refuses breakpoint:0x1000/0 '*followed by the number of bytes, mostly 1, 2, 4 or 8*'
	refuses breakpoint:0x1000/long '*followed by the number of bytes*'
	refuses breakpoint:0x1000+x '*a number follows the "+"*'
	refuses mem:0x1000:w:h '*perf'"'"'s modifier h has no meaning here*'
	refuses mem:0x1000:w:q '*"0x1000:w:q" is no breakpoint: write ADDRESS*'
	refuses breakpoint:0x1000,freq=3 '*freq is for samples, and this PMC counts*'
	refuses breakpoint:0x1000,edge=3 '*"edge" is no qualifier of a breakpoint: there are usr and os*'
	refuses breakpoint:0x1000,usr=3 '*usr takes no value: "3"*'
	refuses breakpoint:0x1000/16 '*this CPU watches * bytes at once, not 16*'
	refuses breakpoint:0x1006/4 '*4*divide*'
	refuses breakpoint:0x1000:x,os '*the kernel executes no code of programs: os would count nothing*'
	refuses breakpoint:0x1000/2:x '*executions are counted with length 8*'
	refuses breakpoint:0x4000000000000000 '*neither programs nor the kernel have that address*'
	refuses breakpoint:0xfffffffffffffffe '*the bytes go beyond the last address*'
	refuses breakpoint:0xffffffff80000000,usr '*programs do not come to an address of the kernel: usr would count nothing*'
	if [ "$(uname -m)" = x86_64 ]; then
		refuses breakpoint:0x1000/3 '*this CPU watches 1, 2, 4 or 8 bytes at once, not 3*'
		refuses breakpoint:0x1000:r '*this CPU counts no reads alone: use rw, or subtract the writes (w)*'
	fi
	SCOPE=s refuses breakpoint:load_word '*"load_word" is a symbol, which has an address in a process only*or kernel:load_word for the kernel*'
}

@test "PERF-138: addresses of the kernel, by symbol; which it admits, it decides" {
	refuses breakpoint:kernel:schedule_timeou '*the kernel has no symbol "schedule_timeou" (did you mean "schedule_timeout"?)*'
	if [ "$(uname -m)" = aarch64 ]; then
		refuses breakpoint:kernel:schedule_timeout '*reported twice: count kprobe:FUNCTION*'
		return
	fi
	# Where no instruction of the kernel may be interrupted, the reason says so.
	run pmcstat -q -p breakpoint:kernel:schedule_timeout load
	[ "$status" -eq 0 ] || unless_hidden "$output"
	[[ $status -eq 0 || $output == *"the kernel admits no breakpoint at 0xffff"*"CONFIG_KPROBES"* ]]
	# Read-only data of the kernel: nothing writes it.
	read -r address _ < <(grep ' __start_rodata$' /proc/kallsyms)
	counts -p "breakpoint:0x$address:w" -p "breakpoint:0x$address/8:w,os" load
	counts_are 0 0
	client own
	takes own 1 0 0 $WORD
	expect own 'alloc 0 *' caps $READ breakpoint "0x$address" 4 $W alloc 1 $CLASS 0 0 0
}

@test "a hostile client: lengths and types that no library sends" {
	client bad
	ask bad caps $READ
	for words in '0x1000 4 0' '0x1000 4 5' '0x1000 4 7' '0x1000 4 0x100000002' '0x1000 0 2'; do
		# shellcheck disable=SC2086 # words
		expect bad 'alloc EINVAL*a breakpoint has a length, and r, w, rw or x*' breakpoint $words alloc 3 $CLASS 0 any 0
	done
	expect bad 'alloc EINVAL*bytes at once, not 4294967296*' breakpoint 0x1000 0x100000000 2 alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*the bytes go beyond the last address*' breakpoint 0x1000 0xffffffffffffffff 2 alloc 3 $CLASS 0 any 0
	expect bad 'alloc EOPNOTSUPP*class BREAKPOINT lacks the capabilities*' breakpoint 0x1000 4 2 caps 0x100020 alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*filter: class BREAKPOINT has events without fields*' caps $READ filter policy alloc 3 $CLASS 0 any 0
}

@test "PERF-361: unprivileged owners count their own processes, by events that no other process meets" {
	run run_as_nobody pmcstat -q -d -p breakpoint:load_word:w -p breakpoint:load_tick load_pie stores=50 ticks=5 late=1 forks=2
	[[ $status -eq 0 && $output == *" 200 "*" 20 "* ]]
	run run_as_nobody pmcstat -p breakpoint:0xffffffff80000000:w load
	[[ $status -ne 0 && $output == *"interrupts all processes, or the kernel: it needs CAP_PERFMON or a rule with breakpoints=\"any\""* ]]
	run run_as_nobody pmcstat -p breakpoint:kernel:schedule_timeout load
	[[ $status -ne 0 && ($output == *"the address of kernel:schedule_timeout is hidden from this process"* ||
		$output == *"it needs CAP_PERFMON"*) ]]
	run run_as_nobody pmcstat -E -p breakpoint:load_word:w -O /dev/null load
	[[ $status -ne 0 && $output == *"without time slices that could be logged"* ]]
	run run_as_nobody pmcstat -p "breakpoint:$WORD" -t $$ -w 1
	[[ $status -ne 0 && $output == *"another user"* || $output == *"ermit"* ]]
	stop_daemon
	start_daemon -o security.bsd.unprivileged_syspmcs=1
	run run_as_nobody pmcstat -c 0 -s "breakpoint:$WORD" -w 1 -l 1
	[[ $status -ne 0 && $output == *"interrupts all processes"* ]]
}

@test "a set-id program is out of sight of its unprivileged owner, and in sight of others" {
	set_id_load
	client root
	client user setpriv --reuid 65534 --regid 65534 --clear-groups
	for name in user root; do takes $name 3 any; done
	waits_to_become "${nobody[@]}" -- "$SETID" -w stores=10
	for name in user root; do
		expect $name 'attachexec 0' attachexec "$TARGET"
		expect $name 'start 0' start
	done
	go
	work_of_target
	expect user 'read 0 0' read
	expect root 'read 0 10' read
	kill -KILL "$TARGET"
	part user
	stop_daemon
	start_daemon
	client user setpriv --reuid 65534 --regid 65534 --clear-groups
	takes user 3 any
	waits_to_become "${nobody[@]}" -- "$(public_build)/tests/load" -w stores=10
	expect user 'attachexec 0' attachexec "$TARGET"
	expect user 'start 0' start
	go
	work_of_target
	expect user 'read 0 10' read
}

@test "privileged and other owners together: a register has one use, and both count exactly" {
	# Of two registers that meet one access it reports the first.
	! grep -q 'QEMU TCG' /proc/cpuinfo || skip "an emulated CPU"
	client root
	client user setpriv --reuid 65534 --regid 65534 --clear-groups
	takes user 3 any
	# The same address, but all CPUs: another register.
	takes root 3 any
	[ "$(pmccontrol -l | grep -c 'BREAKPOINT[01] .*THREAD')" -ge 2 ]
	"${nobody[@]}" "$(public_build)/tests/load" -w stores=10 >theirs.out 3>&- &
	TARGET=$! OUT=theirs.out
	wait_for grep -q ready theirs.out
	wait_for asleep $TARGET
	expect user 'attach 0' attach $TARGET
	expect root 'attach 0' attach $TARGET
	expect user 'start 0' start
	expect root 'start 0' start
	work_of_target
	expect user 'read 0 10' read
	expect root 'read 0 10' read
	# A register of per-task events has room for others' of another address.
	for ((n = 2; n < REGISTERS; n++)); do takes root 3 any 0 $((n * 4096)); done
	takes root 3 any 0 "$NEIGHBOUR" 8
	workload w stores=6
	expect root 'attach 0' attach "${WORKLOAD[w]}"
	expect root 'start 0' start
	work w
	expect root 'read 0 6' read
}

@test "a site's rule gives breakpoints, or takes them away" {
	for rule in 'user="nobody" breakpoints="any"' 'user="nobody" breakpoints="none"' 'user="nobody" events="~BREAKPOINT"'; do
		mkdir -p policy.d
		echo "$rule" >policy.d/site.conf
		stop_daemon
		start_daemon -o policy.dir="$PWD/policy.d"
		case $rule in
		*any*)
			read -r address _ < <(grep ' __start_rodata$' /proc/kallsyms)
			run run_as_nobody pmcstat -q -p "breakpoint:0x$address:w" load
			[ "$status" -eq 0 ] || unless_hidden "$output"
			status_is 0 ;;
		*none*)
			run run_as_nobody pmcstat -p breakpoint:load_word load
			[[ $status -ne 0 && $output == *"you may not count breakpoints"*"breakpoints=\"none\" ("*"/site.conf:1)"* ]] ;;
		*)
			run run_as_nobody pmcstat -p breakpoint:load_word load
			[[ $status -ne 0 && $output == *"is not among the events that you may count"* ]] ;;
		esac
	done
}

@test "lists and rows: the class, its form of an event, the event of a PMC and its owner" {
	pmccontrol -L | sed -n '/^BREAKPOINT$/,/^[A-Z]/p' | grep -qx '	breakpoint:ADDRESS'
	client own
	takes own 3 any
	pmccontrol -l --json | grep -q "\"event\":\"breakpoint:$(printf '0x%x' "$WORD")/4:w\""
}

@test "each thread that is created while a PMC starts counts once" {
	run run_as_nobody newthreads store 3
	echo "$output"
	status_is 0
	[ -z "$output" ]
}

# makes_threads PAUSE: newthreads is $target from here to threads_end; 1,500 threads are its most
makes_threads() {
	mkfifo in
	newthreads -w "$1" <in >made 3>&- &
	target=$!
	exec 4>in
	NEW=$(address new_word newthreads)
}

# threads_end: each has stored once
threads_end() {
	exec 4>&-
	wait $target
}

# all_sampled LOG: one store of each thread
all_sampled() {
	pmc filter -j "$1" - | grep '"type":"callchain"' >samples
	[ "$(grep -c "\"pid\":\"$target\"" samples)" -eq "$(<made)" ]
}

@test "each thread that is created while pmcstat attaches is sampled once" {
	mkfifo end
	makes_threads 300
	pmcstat -n 1 -P "breakpoint:$NEW:w" -t $target -O log sh -c ':>started; read -r line <end' 3>&- 4>&- &
	wait_for test -e started
	threads_end
	echo >end
	wait $!
	all_sampled log
}

@test "a thread that is created between the opening of an event and its program is sampled" {
	threads_more_than() { [ "$(ls "/proc/$target/task" | wc -l)" -gt "$1" ]; }
	stop_daemon
	mkfifo late
	LD_PRELOAD=$BUILD/tests/late.so ASAN_OPTIONS=verify_asan_link_order=0 LATE=$PWD/late LATE_THREAD=$PWD/thread \
		start_daemon
	client own
	makes_threads 20000
	wait_for threads_more_than 1
	takes own 2 any 0 "$NEW" 8
	expect own 'setcount 0' setcount 1
	expect own 'log 0' log own.log
	expect own 'attach 0' attach "$target"
	ls -U "/proc/$target/task" | sed -n 2p >thread	# it creates the others
	expect own 'start 0' start 4>&- &	# it opens the events anew
	read -r line <late || true	# the daemon waits from here on
	wait_for threads_more_than "$(ls "/proc/$target/task" | wc -l)"
	: >late
	wait $!
	threads_end
	expect own 'endlog 0' stop endlog
	all_sampled own.log
}
