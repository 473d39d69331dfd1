#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Breakpoints against what the workload did, on every kernel and architecture: programs and the kernel, processes, trees,
# CPUs, moves between CPUs, CPUs that go and come; what the CPU lacks.  progs/load.c stores, loads and calls.

load helpers

# shellcheck disable=SC2154 # run_counts sets counts
counts_are() {
	[ "${counts[*]}" = "$*" ] || { echo "counted ${counts[*]}, not $*" >&2; return 1; }
}

# refused TEXT PMCSTAT-ARGUMENT...
refused() {
	run vm pmcstat "${@:2}" load
	echo "$output"
	[[ $status -ne 0 && $output == *"$1"* ]]
}

# The call that `load calls=N` makes.
kernel_function() {
	case $VM_ARCH in
	amd64) echo __x64_sys_sched_get_priority_max ;;
	arm64) echo __arm64_sys_sched_get_priority_max ;;
	esac
}

@test "PERF-123, PERF-124, PERF-125, PERF-129, PERF-132: stores, accesses, executions, bytes and long words" {
	run_counts -p breakpoint:load_word:w -p breakpoint:load_tick load stores=1000 loads=500 ticks=70
	counts_are 1000 70
	run_counts -p breakpoint:load_word load stores=1000 loads=500
	counts_are 1500
	run_counts -p breakpoint:load_neighbour:w load stores=100
	counts_are 100
	run_counts -p mem:load_word+2/2:w,usr load stores=100 kernel_stores=5
	counts_are 100
}

@test "the kernel's accesses to a program's memory, where the CPU shows them" {
	if [ "$VM_ARCH" = amd64 ]; then
		# One after the other: of the registers that an access meets, QEMU reports one only.
		for each in load_word:w=105 load_word/1:w,os=5 load_word+2/2:w=100 load_word:w,usr=100; do
			run_counts -p "breakpoint:${each%=*}" load stores=100 kernel_stores=5
			counts_are "${each#*=}"
		done
		return
	fi
	run_counts -p breakpoint:load_word:w load stores=100 kernel_stores=5
	counts_are 100
	# While the kernel is watched, too.
	vm_spawn /tmp/out pmcstat -q -n 1 -S "breakpoint:kernel:$(kernel_function)" -O /tmp/log sleep 1000 >/dev/null
	vm_until 60 'pmccontrol -l | grep -q "BREAKPOINT.*STANDALONE" && pidof sleep'
	run_counts -p breakpoint:load_word:w load stores=100 kernel_stores=5 calls=3
	vm killall sleep
	counts_are 100
	refused "this CPU does not watch the kernel's accesses to a program's memory: leave os out" -p breakpoint:load_word:w,os
	refused 'watches memory less than 256 bytes from 0x' -p breakpoint:load_word:w -p breakpoint:load_neighbour:w
	refused 'watches memory less than 256 bytes from 0x' -p breakpoint:load_word:w -d -p breakpoint:load_word:w
}

@test "PERF-122, PERF-133, PERF-134, PERF-364: what depends on the CPU" {
	if [ "$VM_ARCH" = amd64 ]; then
		refused 'this CPU counts no reads alone: use rw, or subtract the writes (w)' -p breakpoint:load_word:r
		refused 'this CPU watches 1, 2, 4 or 8 bytes at once, not 3' -p breakpoint:load_word/3:w
		refused 'executions are counted with length 8' -p breakpoint:load_tick/4:x
		refused '4 does not divide the address: use a shorter length' -p breakpoint:load_word+2/4:w
		return
	fi
	run_counts -p breakpoint:load_word:r -p breakpoint:load_tick/4:x load stores=100 loads=50 ticks=7
	counts_are 50 7
	run_counts -p breakpoint:load_word/3:w load stores=100 loads=50
	counts_are 100
	refused 'on both sides of an address that 8 divides' -p breakpoint:load_neighbour+6/4:w
	refused 'instructions have addresses that 4 divides' -p breakpoint:load_tick+2:x
}

@test "threads and children, with -d only" {
	run_counts -p breakpoint:load_word:w -d -p breakpoint:load_tick load stores=100 ticks=10 late=2 forks=2 below=2
	counts_are 300 90
	run_counts -p breakpoint:load_tick -d -p breakpoint:load_word:w load stores=100 ticks=10 late=2 forks=2 below=2
	counts_are 30 900
}

@test "unprivileged owners: the same counts, by events of their own threads" {
	run vm_sh 'su nobody -s /bin/sh -c "pmcstat -q --csv -C -d -p breakpoint:load_word:w -p breakpoint:load_tick \
		load stores=100 ticks=10 late=2 forks=2 below=2" 2>&1 >/dev/null'
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,900,90 ]]
	run vm_sh 'su nobody -s /bin/sh -c "pmcstat -p breakpoint:0xffff800000000000:w load" 2>&1'
	[[ $output == *"it needs CAP_PERFMON or a rule with breakpoints=\"any\""* ]]
}

@test "moves between CPUs lose nothing" {
	run_counts -p breakpoint:load_word:w -p CPU_MIGRATIONS load moves=200
	[ "${counts[0]}" -eq 200 ]
	[ "${counts[1]}" -ge 200 ]
}

@test "PERF-138: functions of the kernel, for a process and for a CPU" {
	if [ "$VM_ARCH" = arm64 ]; then
		refused 'that an interrupt comes before is reported twice: count kprobe:FUNCTION[+OFFSET]' \
			-p "breakpoint:kernel:$(kernel_function)"
		refused 'is reported twice: sample the CPUs (pmcstat -S)' -c 1 -s breakpoint:kernel:jiffies:w
		vm_sh "pmcstat -q -c 1 -n 1 -S breakpoint:kernel:$(kernel_function) -O /tmp/log taskset 2 load calls=100"
		samples=$(vm_sh 'pmcstat -R /tmp/log | grep -c ^callchain')
		echo "$samples samples of 100 calls"
		((100 <= samples && samples <= 110))
		return
	fi
	run_counts -p "breakpoint:kernel:$(kernel_function)" -d -p "breakpoint:kernel:$(kernel_function):x,os" load calls=300 forks=1
	counts_are 300 600
	run vm_sh "pmcstat -q --csv -C -c 1 -s breakpoint:kernel:$(kernel_function) taskset 2 load calls=100 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,100 ]]
}

@test "a CPU that goes and comes watches again" {
	# The targets stay on the other CPU until the daemon, which looks before it answers, has seen that.
	case $VM_ARCH in
	amd64) function=kernel:$(kernel_function) work=calls=10 ;;
	arm64) function=$(address load_tick):x,usr work=ticks=10 ;;
	esac
	run vm_sh "taskset 1 pmcstat -q --csv -C -d -p breakpoint:$function sh -c 'load $work
		echo 0 >/sys/devices/system/cpu/cpu1/online && load $work && echo 1 >/sys/devices/system/cpu/cpu1/online &&
		pmccontrol -l >/dev/null && taskset 2 load $work; true' 2>&1 >/dev/null"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == *,30 ]]
}

@test "PERF-137, PERF-354: all registers, and no more" {
	rows=$(vm pmccontrol -l | sed '/^#CPU 1/,$d' | grep -c BREAKPOINT)
	if [ "$VM_ARCH" = amd64 ]; then [ "$rows" -eq 4 ]; else [ "$rows" -ge 6 ]; fi
	data='-p breakpoint:0x1000:w -p breakpoint:0x2000:w -p breakpoint:0x3000:w'
	# shellcheck disable=SC2086 # words
	run_counts $data -p breakpoint:load_word:w load stores=9
	counts_are 0 0 0 9
	if [ "$VM_ARCH" = arm64 ]; then
		# Instructions have registers of their own.
		# shellcheck disable=SC2086 # words
		run_counts $data -p breakpoint:load_word:w -p breakpoint:load_tick load stores=9 ticks=8
		counts_are 0 0 0 9 8
	fi
	more=()
	for n in {1..17}; do more+=(-p "breakpoint:0x${n}000:w"); done
	run vm pmcstat "${more[@]}" load
	[[ $output == *"no row of class BREAKPOINT"*"held by this process"*"release one of yours first"* ]]
}

@test "after a daemon that was killed, the next one has all registers and counts exactly" {
	rows=$(vm pmccontrol -l | grep -c BREAKPOINT)
	vm_spawn /tmp/out pmcstat -q -o /tmp/rows -w 100 -p breakpoint:0x1000 -p breakpoint:0x2000 -p breakpoint:0x3000 sleep 1000 >/dev/null
	vm_until 60 'pmccontrol -l | grep -q "BREAKPOINT2.*THREAD" && pidof sleep'
	vm_daemon_stop KILL
	vm killall sleep
	vm_daemon
	[ "$(vm pmccontrol -l | grep -c BREAKPOINT)" -eq "$rows" ]
	run_counts -p breakpoint:load_word:w load stores=77
	counts_are 77
}

@test "the logs of slices and exits add up to the accesses" {
	one_of_each
	vm pmcstat -q -E -W -d -p breakpoint:load_word:w -o /dev/null -O /tmp/log load stores=40 forks=2
	run vm pmcstat -q -R /tmp/log
	for record in exitval cswval; do
		[ "$(awk -v record=$record '$1 == record { n += $NF } END { print n + 0 }' <<<"$output")" -eq 120 ] ||
			{ echo "$output" >&2; return 1; }
	done
}

@test "PERF-136: samples are where the function is called; with the address that was written; at a steered rate" {
	one_of_each
	vm pmcstat -q -n 1 -P breakpoint:load_tick:x -O /tmp/log load ticks=7
	run vm pmcstat -q -R /tmp/log -G -
	echo "$output"
	[[ $status -eq 0 && $output == *"100.0%  [7]"*load_tick* ]]
	vm pmcstat -q -P breakpoint:load_word:w,period=1,addr -O /tmp/log load stores=50
	run vm pmcstat -q -R /tmp/log
	[ "$(grep -c '^callchain' <<<"$output")" -eq 50 ]
	[ "$(grep -c "^values .* addr=$(printf '0x%x' "$(address load_word)")$" <<<"$output")" -eq 50 ] || { grep values <<<"$output" >&2; return 1; }
	vm pmcstat -q -P breakpoint:load_word:w,freq=100 -O /tmp/log load stores=20000
	run vm pmcstat -q -R /tmp/log
	n=$(grep -c '^values .* period=' <<<"$output")
	[[ $n -ge 1 && $n -le 2000 ]]
}

# shellcheck disable=SC2016 # the guest's shell expands it
@test "running processes of two owners: one register, and each counts its own" {
	one_of_each
	data=$(vm pmccontrol -l | sed '/^#CPU 1/,$d' | grep -c BREAKPOINT)
	[ "$VM_ARCH" = amd64 ] || data=4
	others=()
	for ((n = 1; n < data; n++)); do others+=(-p "breakpoint:0x${n}000:w"); done
	vm_spawn /tmp/others pmcstat -q -o /tmp/others.rows -w 100 "${others[@]}" sleep 1000 >/dev/null
	vm_until 60 "pmccontrol -l | grep -q 'BREAKPOINT$((data - 2)) .*THREAD' && pidof sleep"
	run vm_sh "$VM_AWAIT"'
		cd /tmp; rm -f rows.* out.*
		for n in 1 2; do
			load -w stores=1$n >out.$n & eval load$n=$!
			await 20000 grep -q ready out.$n
			eval pmcstat -q -C -o rows.$n -w 0.1 -p breakpoint:load_word:w -t \$load$n "&" tool$n=\$!
			await 20000 "[ -s rows.$n ] || ! kill -0 \$tool$n"
		done
		kill -USR1 $load1 $load2
		for n in 1 2; do await 20000 "grep -q tail out.$n || { kill -USR1 \$load$n; false; }"; done
		wait $tool1 $tool2
		tail -qn 1 rows.1 rows.2'
	echo "$output"
	vm killall sleep
	status_is 0
	[ "$(tail -n 2 <<<"$output" | tr -d ' ')" = $'11\n12' ]
}

@test "symbols: of pmc stat, and the nearest name" {
	one_of_each
	run vm pmc stat -j breakpoint:load_tick,breakpoint:load_word:w load ticks=9 stores=4
	echo "$output"
	[[ $status -eq 0 && $output == *" 9  breakpoint:load_tick"*" 4  breakpoint:load_word:w"* ]]
	refused 'load has no symbol "load_wrod" (did you mean "load_word"?)' -p breakpoint:load_wrod:w
}

@test "an address is one of all programs that the target executes; lists have the class and the event" {
	one_of_each
	at=$(address load_word)
	# The shell has memory of its own there, and the exec clears the program's.
	guest_cc -pie -o "$BATS_TEST_TMPDIR/become" -xc - <<<'#include <unistd.h>
		int main(int n, char **v) { return n < 2 || execvp(v[1], v + 1); }'
	vm_put "$BATS_TEST_TMPDIR/become" /tmp/become
	run_counts -p "breakpoint:$at:w,usr" /tmp/become load stores=20
	counts_are 20
	run vm pmccontrol -L
	grep -qx '	breakpoint:ADDRESS' <<<"$output"
	run vm pmcstat -q -o /tmp/rows -p "breakpoint:$at:w,usr" pmccontrol -l --json
	grep -q "\"event\":\"breakpoint:$(printf '0x%x' "$at")/4:w\"" <<<"$output"
}

@test "nothing is counted before START and ATTACH, nothing after STOP and DETACH" {
	one_of_each
	counts_between_start_and_stop stores=10 caps 0x22 breakpoint "$(address load_word)" 4 2 alloc 3 66 0 any 0
}

@test "stripped programs, variables of threads, and symbols that a program has twice" {
	one_of_each
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' '__thread int each; int twice(void); static int both; int *p = &both; int main(void) { return each + *p + twice(); }' >a.c
	printf '%s\n' 'static int both; int *q = &both; int twice(void) { return *q; }' >b.c
	guest_cc -o prog a.c b.c
	guest_cc -s -o stripped a.c b.c
	vm_put prog /tmp/prog
	vm_put stripped /tmp/stripped
	run vm pmcstat -p breakpoint:each /tmp/prog
	[[ $status -ne 0 && $output == *'"each" is a variable of each thread, without one address'* ]]
	run vm pmcstat -p breakpoint:both /tmp/prog
	[[ $status -ne 0 && $output == *'has 2 symbols "both": write the address of one'* ]]
	run vm pmcstat -p breakpoint:both /tmp/stripped
	[[ $status -ne 0 && $output == *'/stripped is stripped, so that "both" is not to be found: write its address'* ]]
}

@test "a program that is at another address each time, and the library that it calls" {
	one_of_each
	guest_cc -O2 -pie -pthread -o "$BATS_TEST_TMPDIR/load_pie" "$BATS_TEST_DIRNAME/progs/load.c"
	vm_put "$BATS_TEST_TMPDIR/load_pie" /tmp/load_pie
	run vm_sh "$VM_AWAIT"'
		cd /tmp; rm -f rows out.*
		for n in 1 2; do
			./load_pie -w stores=10 calls=6 >out.$n & eval load$n=$!
			await 20000 grep -q ready out.$n
		done
		pmcstat -p breakpoint:load_word:w -t $load1 -t $load2 2>&1 && exit 99
		pmcstat -q -C -o rows -w 0.1 -p breakpoint:load_word:w -p breakpoint:sched_get_priority_max -t $load1 & tool=$!
		await 20000 "[ -s rows ] || ! kill -0 $tool"
		kill -USR1 $load1
		await 20000 "[ \$(grep -c ^all out.1) -eq 2 ]"
		kill -USR1 $load1
		wait $tool
		kill $load2
		tail -n 1 rows'
	echo "$output"
	status_is 0
	[[ $output == *'"breakpoint:load_word:w" has address 0x'*' and others elsewhere'* ]]
	read -r -a counts <<<"${lines[-1]}"
	counts_are 10 6
}

@test "the examples of pmc.breakpoint(3)" {
	one_of_each
	mapfile -t examples < <(sed -n 's/^\.Dl //p' "$BATS_TEST_DIRNAME/../../man/pmc.breakpoint.3")
	[ ${#examples[@]} -eq 4 ]
	cd "$BATS_TEST_TMPDIR"
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
	guest_cc -fno-builtin -o prog prog.c
	vm_put prog /tmp/prog
	for n in 0 2; do
		run vm_sh "cd /tmp; ${examples[n]}"
		status_is 0
		[ $n -eq 2 ] || [[ ${lines[-1]} =~ ^\ +5\ +5\ *$ ]]
	done
	run vm_sh "cd /tmp; ${examples[3]}"
	[[ $status -eq 0 && $output == *'5 samples in "pmc.log"'* ]]
	run vm_sh "$VM_AWAIT"'
		cd /tmp; rm -f stdin out; mkfifo stdin
		./prog wait <stdin >out & target=$!
		exec 5>stdin
		await 20000 grep -q ready out
		'"${examples[1]}"' >rows 2>&1 & tool=$!
		await 20000 grep -q breakpoint:malloc rows
		echo >&5
		wait $target $tool
		cat rows'
	echo "$output"
	status_is 0
	[ "$(awk '/^ / { n += $1 } END { print n }' <<<"$output")" -eq 3 ]
}

# hostile TEXT ADDRESS LENGTH TYPE: refused with that text
hostile() {
	run vm_sh 'PMCBPF_SOCKET=/run/pmcbpf/pmc.sock wireclient hello caps 0x20 breakpoint "$@" alloc 3 66 0 any 0' "${@:2}"
	[[ ${lines[-1]} == 'alloc EINVAL'*"$1"* ]] || { echo "$*: $output" >&2; return 1; }
}

@test "a hostile client: lengths and types that no library sends" {
	one_of_each
	for words in '0x1000 4 0' '0x1000 4 5' '0x1000 4 7' '0x1000 4 0x100000002' '0x1000 0 2'; do
		# shellcheck disable=SC2086 # words
		hostile 'a breakpoint has a length, and r, w, rw or x' $words
	done
	hostile 'bytes at once, not 4294967296' 0x1000 0x100000000 2
	hostile 'the bytes go beyond the last address' 0x1000 0xffffffffffffffff 2
}

@test "a set-id program is out of sight of its unprivileged owner, and in sight of others" {
	one_of_each
	vm_sh 'cp /usr/bin/load /tmp/setid; chown 0:0 /tmp/setid; chmod 4755 /tmp/setid; cp /usr/bin/load /tmp/plain; chmod 755 /tmp/plain'
	at=$(address load_word)
	for program in setid plain; do
		run vm_sh "su nobody -s /bin/sh -c 'pmcstat -q --csv -C -p breakpoint:$at:w,usr /tmp/$program stores=10' 2>&1 >/dev/null"
		echo "$program: $output"
		if [ $program = setid ]; then [[ ${lines[-1]} == *,0 ]]; else [[ ${lines[-1]} == *,10 ]]; fi
	done
	run_counts -p "breakpoint:$at:w,usr" /tmp/setid stores=10
	counts_are 10
}

# The last one: afterwards the daemon has another policy.
@test "a site's rule gives breakpoints, or takes them away" {
	one_of_each
	vm_sh 'mkdir -p /tmp/policy.d'
	for rule in 'user="nobody" breakpoints="any"' 'user="nobody" breakpoints="none"' 'user="nobody" events="~BREAKPOINT"'; do
		vm_daemon_stop
		vm_sh 'echo "$1" >/tmp/policy.d/site.conf' "$rule"
		vm_daemon -o policy.dir=/tmp/policy.d
		at=load_word
		[[ $rule != *any* ]] || at=0x$(vm_sh 'awk "\$3 == \"__start_rodata\" { print \$1 }" /proc/kallsyms')
		run vm_sh "su nobody -s /bin/sh -c 'pmcstat -q --csv -C -p breakpoint:$at:w load' 2>&1"
		echo "$rule: $output"
		case $rule in
		*any*) status_is 0 && [[ ${lines[-1]} == *,0 ]] ;;
		*none*) has 'you may not count breakpoints' && has 'breakpoints="none" (' && has '/site.conf:1)' ;;
		*) has 'is not among the events that you may count' ;;
		esac
	done
}

@test "the kernel has not complained" {
	vm_clean_log
}
