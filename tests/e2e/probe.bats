#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Class PROBE: counts equal what a program knows of itself, in every scope and life, and what is refused.
# `load calls=N` calls its function load_call() N times; moves=N as well, each time on another CPU.

load helpers

CLASS=67 READ=0x20 UPROBE=1 URETPROBE=2
TREE=2

setup() {
	need_root
	[ -r /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"
	cd "$BATS_TEST_TMPDIR" || return
	PROGRAM=$BUILD/tests/load
	CALL=uprobe:$PROGRAM:load_call RETURN=uretprobe:$PROGRAM:load_call
	start_daemon
}

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

# takes NAME MODE CPU [FLAGS [KIND [FILE SYMBOL]]]: the client has a PMC of that place
takes() {
	local file=${6:-$PROGRAM}
	expect "$1" 'alloc 0 *' caps $READ tracepoint "probe:${7:-load_call}" probe "${5:-$UPROBE}" "$file" \
		"$(place "$file" "${7:-load_call}")" alloc "$2" $CLASS 0 "$3" "${4:-0}"
}

# refused SPEC PATTERN: pmcstat's message
refused() {
	run pmcstat -p "$1" true
	# shellcheck disable=SC2053 # a pattern
	[[ $status -ne 0 && $output == $2 ]] || { echo "$1: $output" >&2; return 1; }
}

@test "PERF-331: a command's calls are counted exactly, at their beginning and their end" {
	counts -p "$CALL" -p "$RETURN" -p "$CALL,usr" load calls=1000
	counts_are 1000 1000 1000
	counts -p "$CALL" load calls=0
	counts_are 0
}

@test "threads, children and their children count, with -d only" {
	counts -p "$CALL" -d -p "$CALL" -p "$RETURN" load calls=100 late=2 forks=2 below=2
	# The process and its two threads; each of two children and their two children.
	counts_are 300 900 900
}

@test "an exec ends nothing: the calls after it are the same process's, whatever the program is called" {
	cp "$PROGRAM" other
	ln other another
	counts -p uprobe:other:load_call -p "$CALL" sh -c 'exec ./another calls=30'
	counts_are 30 0
}

@test "a process that moves from CPU to CPU loses no call" {
	[ "$(nproc)" -gt 1 ] || skip "this machine has one CPU"
	counts -p "$CALL" -p "$RETURN" -p SOFT-CPU_MIGRATIONS load moves=500
	[ "${counts[0]} ${counts[1]}" = "500 500" ]
	[ "${counts[2]}" -ge 500 ]
}

@test "a shared object's function: as many calls as a library counts that is loaded before it" {
	cat >count.c <<-'EOF'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static unsigned long n;
		void *malloc(size_t size)
		{
			static void *(*next)(size_t);
			if (!next)
				next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
			n++;
			return next(size);
		}
		__attribute__((destructor)) static void print(void)
		{
			char text[32];
			int len = snprintf(text, sizeof(text), "%lu\n", n);
			if (write(open("mallocs", O_WRONLY | O_CREAT | O_TRUNC, 0600), text, (size_t)len) != len)
				abort();
		}
	EOF
	cat >some.c <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			if (argc > 1)
				execve(argv[0], (char *[]){ argv[0], NULL }, (char *[]){ argv[1], NULL });
			for (int i = 1; i < 1000; i++)
				free(malloc((size_t)i * 100));
			return fclose(fopen("/dev/null", "w"));
		}
	EOF
	gcc -shared -fPIC -O1 -o count.so count.c -ldl
	gcc -O0 -fno-builtin -o some some.c
	libc=$(ldd some | awk '$1 == "libc.so.6" { print $3 }')
	counts -p "uprobe:$libc:malloc" -p "uretprobe:$libc:malloc" -p uprobe:count.so:malloc -p uprobe:count.so:print \
		./some LD_PRELOAD="$PWD/count.so"
	mallocs=$(cat mallocs)
	[ "$mallocs" -ge 1000 ]
	counts_are "$mallocs" "$mallocs" "$mallocs" 1
}

@test "nothing is counted before START and ATTACH, nothing after STOP and DETACH" {
	client own
	takes own 3 any
	for n in {0..5}; do
		workload w$n calls=10
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

@test "two owners count one probe of one process, each from its own start" {
	client one
	client two
	takes one 3 any
	# A process has one PMC on a row, so the second owner's must be on another one.
	takes two 3 any
	takes two 3 any
	for n in 1 2; do
		workload w$n calls=10
		expect one 'attach 0' attach "${WORKLOAD[w$n]}"
		expect two 'attach 0' attach "${WORKLOAD[w$n]}"
	done
	expect one 'start 0' start
	work w1
	expect two 'start 0' start
	work w2
	expect one 'read 0 20' read
	expect two 'read 0 10' read
	expect one 'release 0' stop release
	expect two 'read 0 10' read
}

@test "a process that ends keeps its calls, and those of its children" {
	client own
	takes own 3 any $TREE $URETPROBE
	workload w calls=50 forks=3
	expect own 'start 0' attach "${WORKLOAD[w]}" start
	work w
	rest w
	expect own 'read 0 200' read
}

@test "a CPU's calls: those of the processes on it" {
	client own
	takes own 1 0
	expect own 'start 0' start
	taskset 1 load calls=300
	expect own 'read 0 300' read
	[ "$(nproc)" -eq 1 ] || taskset 2 load calls=300
	expect own 'stop 0' stop
	count_of own
	[ "$(nproc)" -eq 1 ] || [ "$count" -eq 300 ]
	taskset 1 load calls=300
	expect own "read 0 $count" read
}

@test "a file that is replaced or deleted: its processes count, those of the new file do not" {
	cp "$PROGRAM" prog
	client own
	takes own 3 any 0 $UPROBE prog
	takes own 3 any $TREE $UPROBE prog
	./prog -w calls=10 >old.out 3>&- &
	old=$!
	wait_for grep -q ready old.out
	expect own 'start 0' attach "$old" start
	cp "$PROGRAM" new
	mv new prog
	kill -USR1 "$old"
	wait_for worked old.out
	wait_for asleep "$old"
	expect own 'read 0 10' read
	kill -KILL "$old"
	wait "$old" || true
	counts -p uprobe:prog:load_call ./prog calls=7
	counts_are 7
	rm prog
	expect own 'read 0 10' read
	expect own 'release 0' release
}

@test "returns of calls that are nested too deeply are an error, and none is left out in silence" {
	counts -p "uprobe:$PROGRAM:load_descend" -p "uretprobe:$PROGRAM:load_descend" load depth=60
	counts_are 60 60
	run pmcstat -p "uretprobe:$PROGRAM:load_descend" load depth=100
	[[ $status -ne 0 && $output == *"inside more than 64 calls with probes of their returns"*"count the calls with uprobe:"* ]]
	counts -p "uprobe:$PROGRAM:load_descend" load depth=100
	counts_are 100
	# Another process's depth is not this one's.
	client own
	takes own 3 any 0 $URETPROBE "$PROGRAM" load_descend
	workload w depth=20
	expect own 'start 0' attach "${WORKLOAD[w]}" start
	"$PROGRAM" depth=100
	work w
	expect own 'read 0 20' read
	# A CPU may have any process.
	takes own 1 0 0 $URETPROBE "$PROGRAM" load_descend
	expect own 'start 0' start
	taskset 1 load depth=64
	expect own 'read 0 64' read
	"$PROGRAM" depth=65
	expect own 'read EBUSY*inside more than 64 calls*' read
}

@test "after a daemon that was killed the next one counts exactly, and nothing of the first remains" {
	client own
	takes own 3 any
	expect own 'start 0' start
	stop_daemon KILL || true
	start_daemon
	counts -p "$CALL" load calls=123
	counts_are 123
}

@test "the logs of slices and exits add up to the calls" {
	run pmcstat -q -E -W -d -p "$CALL" -o log -O recorded load calls=40 forks=2
	[ "$status" -eq 0 ] || unless_hidden "$output"
	pmcstat -R recorded -o text
	lost_slices text
	grep -q 'uprobe:load:load_call' text
	for record in exitval cswval; do
		awk -v record=$record '$1 == record { n += $NF } END { print n + 0 }' text
	done >sums
	[ "$lost" -gt 0 ] || [ "$(cat sums)" = $'120\n120' ] || { cat sums text >&2; return 1; }
}

@test "what is no place for a probe is refused, with the reason" {
	libc=$(ldd /bin/bash | awk '$1 == "libc.so.6" { print $3 }')
	refused "uprobe:$PROGRAM:load_cal" "*$PROGRAM has no function \"load_cal\" (did you mean \"load_call\"?)*"
	version=$(nm -D "$libc" | awk '$3 ~ /^malloc@@/ { sub(/.*@@/, "", $3); print $3 }')
	refused "uprobe:$libc:malloc@@GLIBC_0.1" "*has no function \"malloc@@GLIBC_0.1\", but malloc@@$version*"
	counts -p "uprobe:$libc:malloc" -p "uprobe:$libc:malloc@@$version" true
	[ "${counts[0]}" -eq "${counts[1]}" ]
	refused "uprobe:$libc:mallok" '*has no function "mallok" (did you mean "malloc"?); it is stripped*'
	refused "uprobe:$libc:memcpy" '*"memcpy" is an IFUNC*name the chosen function*'
	refused "uprobe:$libc:environ" '*"environ" in */libc.so.6 is no function*'
	refused "uprobe:$PROGRAM:malloc" '*has no function "malloc"*'
	refused "uprobe:nosuch:main" '*nosuch: No such file or directory*'
	for modified in "$CALL" "usdt:$PROGRAM:demo:plain"; do
		refused "$modified:u" '*have no meaning for a probe, which is a place in user code: leave ":u" out*'
	done
	refused "uprobe:/dev/null:main" '*/dev/null is no regular file*'
	refused "uprobe:/etc/passwd:main" '*/etc/passwd is no program or shared object: it is not an ELF file*'
	refused "uprobe:main" '*no place of a uprobe is named: write uprobe:PATH:FUNCTION, as uprobe:*malloc*'
	refused "uprobe:$PROGRAM:" '*write uprobe:PATH:FUNCTION*'
	refused "uprobe:$PROGRAM:0x3" '*has no function at 0x3*nm(1)*'
	refused "uprobe:$PROGRAM:load_call+x" '*"+x": an offset is a number of bytes*'
	refused "uretprobe:$PROGRAM:load_call+4" '*it takes no offset*'
	[ "$(uname -m)" != x86_64 ] ||
		refused "uprobe:$PROGRAM:load_call+1" '*only the beginning of a function can be counted*'
	refused "$CALL,os" '*is a place in user code: os would count nothing*'
	refused "$CALL,freq=5" '*freq is for samples, and this PMC counts*'
	refused "$CALL,edge=5" '*"edge" is no qualifier of uprobe:*: there is usr*'
	refused "usdt:$PROGRAM:a" '*no place of a usdt is named: write usdt:PATH:PROVIDER:NAME*'
	refused "usdt:$PROGRAM:a:b" '*declares no probes (USDT)*'
	refused PROBE-main '*"main" is no probe: write uprobe:PATH:FUNCTION*'
}

has_rows() { [ "$(wc -l <rows)" -ge 2 ]; }

@test "USDT: all places of a probe count, and a semaphore is raised while it is counted" {
	gcc -O1 -o usdt "$BATS_TEST_DIRNAME/usdt.c"
	./usdt 100 0
	counts -p usdt:usdt:demo:plain ./usdt 100 0
	counts_are 150
	counts -d -p usdt:usdt:demo:plain -p usdt:usdt:demo:guarded sh -c './usdt 100 100 && ./usdt 10 10'
	counts_are 165 110
	# When nobody counts, it is 0 again, as soon as the kernel has removed the probe.
	wait_for ./usdt 100 0
	# Each place has its own.
	counts -p usdt:usdt:demo:mixed ./usdt 100 0
	counts_are 300
	# In a single thread, too, which has the program from its exec on.
	mkfifo go
	rm rows
	sh -c 'read -r line <go; exec ./usdt 100 100' 3>&- &
	thread=$!
	pmcstat -q --csv -C -w 0.1 -o rows -p usdt:usdt:demo:plain -p usdt:usdt:demo:guarded -p usdt:usdt:demo:mixed -t "tid:$thread" 3>&- &
	tool=$!
	wait_for has_rows
	echo >go
	wait $thread
	wait $tool
	[[ "$(tail -n 1 rows)" == *,150,100,300 ]]
	refused usdt:usdt:demo:plan '*has no probe "demo:plan" (did you mean "demo:plain"?)*readelf -n*'
	# A prelinked file, and one whose note lies.
	cp usdt bad
	printf '\377\377\377\177' | dd of=bad bs=1 conv=notrunc status=none \
		seek=$(($(grep -abo stapsdt bad | head -n 1 | cut -d: -f1) + 12))
	refused usdt:bad:demo:plain '*bad is damaged: a place of demo:plain is outside*'
}

@test "PERF-332: kprobes, which this kernel lacks, are refused with that reason" {
	[ ! -e /sys/bus/event_source/devices/kprobe ] || skip "this kernel has kprobes: tests/vm/probe.bats"
	refused kprobe:vfs_read '*kprobe:vfs_read: this kernel has no kprobes; it takes CONFIG_KPROBE_EVENTS*'
	refused kretprobe:vfs_read '*this kernel has no kprobes*'
	refused kprobe:vfs_read,usr '*is a place in the kernel: usr would count nothing*'
	refused kretprobe:vfs_read+4 '*kretprobe counts returns of a function: it takes no offset*'
	refused kprobe:a:b '*no place of a kprobe is named: write kprobe:FUNCTION*'
	run run_as_nobody pmcstat -p kprobe:vfs_read true
	[[ $status -ne 0 && $output == *"is a place in the kernel: it needs CAP_PERFMON, or a rule with probes=\"any\""* ]]
}

@test "a function with several addresses is refused, and each of them can be counted" {
	printf 'static __attribute__((noinline)) int f(int i) { __asm__ volatile(""); return i + %d; }\nint %s(int i) { return f(i); }\n' 1 a >a.c
	printf 'static __attribute__((noinline)) int f(int i) { __asm__ volatile(""); return i + %d; }\nint %s(int i) { return f(i); }\n' 2 b >b.c
	printf 'int a(int), b(int); int main(void) { return a(0) + b(0) + b(0) - 5; }\n' >main.c
	gcc -O1 -fno-optimize-sibling-calls -o many main.c a.c b.c
	refused uprobe:many:f '*many has 2 functions "f": write the address of one instead of the name: 0x*, 0x*'
	mapfile -t at < <(nm many | awk '$3 == "f" { print "0x" $1 }')
	counts -p "uprobe:many:${at[0]}" -p "uprobe:many:${at[1]}" ./many
	[ $((counts[0] + counts[1])) -eq 3 ]
	strip many
	refused uprobe:many:main '*it is stripped*'
	refused uprobe:many:0x1 '*has no function at 0x1; *readelf --debug-dump=frames*'
	counts -p "uprobe:many:${at[0]}" -p "uprobe:many:${at[1]}" ./many
	[ $((counts[0] + counts[1])) -eq 3 ]
}

@test "paths with colons, commas and blanks" {
	mkdir 'a:b, c=d'
	cp "$PROGRAM" 'a:b, c=d/prog'
	counts -p 'uprobe:a:b, c=d/prog:load_call' -p 'uprobe:a:b, c=d/prog:load_call,usr' 'a:b, c=d/prog' calls=3
	counts_are 3 3
}

@test "damaged files: every table that lies is refused" {
	cp "$PROGRAM" bad
	size=$(stat -c %s bad)
	damage() { cp "$PROGRAM" bad && printf "$2" | dd of=bad bs=1 seek="$1" conv=notrunc status=none; }
	damage 32 '\377\377\377\377\377\377\377\177'	# e_phoff
	refused uprobe:bad:load_call '*bad is damaged*'
	damage 40 '\377\377\377\377\377\377\377\177'	# e_shoff
	refused uprobe:bad:load_call '*bad is damaged*'
	damage 54 '\1\0'				# e_phentsize
	refused uprobe:bad:load_call '*bad is damaged*'
	damage 18 '\1\0'				# e_machine
	refused uprobe:bad:load_call '*another architecture*'
	damage 4 '\1'					# 32 bits
	refused uprobe:bad:load_call '*of 32 bits*'
	for at in 100 1000 $((size / 2)); do
		head -c "$at" "$PROGRAM" >bad
		refused uprobe:bad:load_call '*bad *'
	done
}

@test "a hostile client: places outside of files, files that are none, numbers of nothing" {
	client bad
	at=$(place "$PROGRAM" load_call)
	expect bad 'alloc EINVAL*is behind the file*s end*' tracepoint x probe 1 "$PROGRAM" 0x7fffffffffff alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*is behind the file*s end*' probe 1 "$PROGRAM" 0xffffffffffffffff alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*no kind of probe has the number 77*' probe 77 "$PROGRAM" "$at" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EFAULT*the request has no file*' probe 1 - "$at" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*a probe is in a regular file*' probe 1 /dev/null "$at" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*a probe is in a regular file*' probe 1 / "$at" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EXDEV*is on a file system of type*' probe 1 /proc/self/status "$at" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*class SOFT has no events in files*' probe 1 "$PROGRAM" "$at" alloc 3 15 0x20004 any 0
	expect bad 'alloc EINVAL*printable*' tracepoint "$(printf 'a\033b')" probe 1 "$PROGRAM" "$at" alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*is a place in user code: os would count nothing*' tracepoint x caps 0x24 alloc 3 $CLASS 0 any 0
	expect bad 'alloc EOPNOTSUPP*lacks the capabilities*' caps 0x28 alloc 3 $CLASS 0 any 0
	expect bad 'alloc 0 *' caps $READ alloc 3 $CLASS 0 any 0
	expect bad 'alloc EINVAL*a place in a file has no filter*' filter x alloc 3 $CLASS 0 any 0
}

@test "an unprivileged user counts no probe, unless a rule gives it, for files of its own or for all" {
	open_tmpdir
	mkdir -m 777 theirs
	cp "$PROGRAM" theirs/own
	cp "$PROGRAM" theirs/alien
	chown 65534 theirs/own
	refused_them() {
		run run_as_nobody pmcstat -p "$1" true
		# shellcheck disable=SC2053 # a pattern
		[[ $status -ne 0 && $output == $2 ]] || { echo "$1: $output" >&2; return 1; }
	}
	refused_them uprobe:theirs/own:load_call '*a probe stops every process that runs the file: it needs CAP_PERFMON, or a rule with probes="own"*'
	for rule in own any none; do
		mkdir -p policy.d
		echo "user=\"nobody\" probes=\"$rule\"" >policy.d/site.conf
		stop_daemon
		start_daemon -o policy.dir="$PWD/policy.d"
		case $rule in
		own)
			refused_them uprobe:theirs/alien:load_call '*the file is another user*s*probes="own" (*/site.conf:1)*' ;;
		none)
			refused_them uprobe:theirs/own:load_call '*you may not count probes*probes="none" (*/site.conf:1)*'
			continue ;;
		any)
			run run_as_nobody pmcstat -q -p uprobe:theirs/alien:load_call theirs/alien calls=10
			[ "$status" -eq 0 ] || unless_hidden "$output"
			[[ $status -eq 0 && $output == *" 10 "* ]] ;;
		esac
		run run_as_nobody pmcstat -q -p uprobe:theirs/own:load_call theirs/own calls=11
		[ "$status" -eq 0 ] || unless_hidden "$output"
		[[ $status -eq 0 && $output == *" 11 "* ]]
	done
	echo 'user="nobody" events="PROBE:uretprobe" probes="any"' >policy.d/site.conf
	stop_daemon
	start_daemon -o policy.dir="$PWD/policy.d"
	refused_them uprobe:theirs/own:load_call '*PROBE:uprobe is not among the events that you may count*'
	run run_as_nobody pmcstat -q -p uretprobe:theirs/own:load_call true
	status_is 0
	# A file that the user cannot read has no places for it.
	chmod 711 theirs/alien
	refused_them uprobe:theirs/alien:load_call '*theirs/alien: Permission denied*'
}

@test "64 probes at once: the next one is refused, and the refusal names a holder" {
	for i in {0..64}; do printf '__attribute__((noinline)) int f%d(void) { return %d; }\n' "$i" "$i"; done >many.c
	echo 'int main(void) { return f0(); }' >>many.c
	gcc -O0 -o many many.c
	for n in {0..7}; do
		client "c$n"
		for i in {0..7}; do
			takes "c$n" 3 any 0 $UPROBE many "f$((8 * n + i))"
		done
		# Its eight rows.
		expect "c$n" 'alloc EINVAL*' alloc 3 $CLASS 0 any 0
	done
	client last
	expect last 'alloc EINVAL*64 tracepoints and probes are counted at once*one is process *' \
		caps $READ tracepoint x probe $UPROBE many "$(place many f64)" alloc 3 $CLASS 0 any 0
	takes last 3 any 0 $UPROBE many f63
	part c0
	wait_for expect last 'alloc 0 *' probe $UPROBE many "$(place many f64)" alloc 3 $CLASS 0 any 0
}

@test "rows: the event of a PMC, its owner, and its class" {
	client own
	takes own 3 any
	expect own 'info 0 PROBE0 *' info 0 33
	pmccontrol -l | grep -q "PROBE0 .*probe:load_call"
	pmccontrol -L | grep -q '^PROBE'
}
