#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The examples of README.md, as they are printed there.  `make run` and `make check` are demo.bats' and this run's.

load helpers

setup() {
	bats_require_minimum_version 1.5.0
	README=$(realpath "$BATS_TEST_DIRNAME/../../README.md")
	ROOT=$(dirname "$README")
	unset MAKEFLAGS MFLAGS MAKELEVEL
}

teardown() {
	if [ -n "${CHILD:-}" ]; then
		kill "$CHILD" 2>/dev/null || true
		wait "$CHILD" || true
	fi
	stop_daemon || true
}

# commands: the command lines of the page, without prompt and remark.
commands() { sed -nE 's/^    [#$] ([a-z][^/].*)/\1/p' "$README" | sed -E 's/ {2,}# .*//'; }

# example BEGIN: the command that begins with BEGIN.
example() { commands | grep -m 1 -F -- "$1" || { echo "README.md has no example $1" >&2; return 1; }; }

# runs BEGIN: runs that example, with its output in $output.
runs() {
	local command
	command=$(example "$1")
	run timeout 120 bash -c "$command"
	[ "$status" -eq 0 ] || { echo "$command: exit $status: $output" >&2; return 1; }
}

# has TEXT...: the output has a line with each TEXT.
has() {
	local text
	for text; do
		grep -qE -- "$text" <<<"$output" || { echo "no $text in: $output" >&2; return 1; }
	done
}

# A folder in which make compiles and runs a program that takes a while.
some_build() {
	in_tmpdir_with_daemon
	cat >prog.c <<-'END'
	#include <time.h>
	int main(void)
	{
		volatile long n = 0;

		while (clock() < CLOCKS_PER_SEC / 4)
			for (int i = 0; i < 100000; i++)
				n += i;
		return 0;
	}
	END
	printf 'all: prog\n\t./prog\nprog: prog.c\n\tcc -g -O1 -fno-omit-frame-pointer -o prog prog.c\n' >Makefile
}

# block WORD: the page's C code from the line with WORD on.
block() { awk -v word="$1" 'index($0, word) { on = 1 } on && /^([^ ]|    [#$] )/ { exit } on { print substr($0, 5) }' "$README"; }

@test "pmcstat: counts of a command and of CPUs" {
	some_build
	runs 'pmcstat -d -p CLOCK.HARD'
	has '^# +p/CLOCK.HARD +p/PAGE_FAULT.ALL +p/CONTEXT_SWITCHES *$' '^ +[0-9]+ +[0-9]+ +[0-9]+ *$'
	runs 'pmcstat -w 1 -l 3'
	has '^# +s/00/CPU_CLOCK'
	[ "$(grep -cE '^[ 0-9]+$' <<<"$output")" -eq 3 ]
}

@test "pmcstat: a log of a build" {
	some_build
	runs 'pmcstat -d -E -n 1'
	runs 'pmcstat -R log'
	has '^initlog ' '^fork ' '^exec .*/bin/' '^callchain ' '^\.\.\. ' '^exitval '
}

@test "where the time goes: a recording and its reports" {
	some_build
	runs 'pmc record make'
	runs 'pmc report --flamegraph'
	grep -q '<svg' make.svg
	runs 'pmcstat -R pmc.log -G'
	has '^@ '
	runs 'pmcannotate pmc.log'
	has 'Profile trace for function: main'
	run timeout -s INT 5 bash -c "exec $(example 'pmcstat -T')"
	has '^PMC: \[CLOCK.HARD\] Samples: '
}

@test "trace rings of a program" {
	in_tmpdir_with_daemon
	{ block '#define KTR' | grep '^#'; echo '#include <unistd.h>'
		echo 'int main(void) { int dev = 0x1703; const char *name = "lpd"; char c;'
		block '#define KTR' | grep -v '^#'; echo 'return read(0, &c, 1) < 0; }'; } >prog.c
	cc -I"$ROOT/lib/include" -o prog prog.c -L"$BUILD/lib" -lktr
	mkfifo letters
	exec {hold}<>letters
	./prog <letters 3>&- &
	CHILD=$!
	wait_for asleep "$CHILD"
	# Other programs of that name may run.
	pidof() { command pidof "$@" | tr ' ' '\n' | grep -x "$CHILD"; }
	export -f pidof
	export CHILD
	runs 'tdump -p'
	has '^C +Idx +Delta-T +Trace' 'open\(dev=1703\) by lpd$'
}

@test "trace rings of the kernel" {
	in_tmpdir_with_daemon
	runs 'ktrctl compile'
	runs 'ls / | wc'
	# On a busy machine the entries of ls have made room for newer ones.
	has '^C +Idx +Delta-T +Trace' ' syscall p=0x[0-9a-f]+ #0x'
}

@test "tracepoints, with a filter" {
	in_tmpdir_with_daemon
	runs 'pmcstat -d -p kmem:kmalloc' || unless_hidden "$output"
	has '^# +p/kmem:kmalloc p/syscalls:sys_enter_openat p/syscalls:sys_enter_write *$' \
		'^ +[1-9][0-9]+ +[1-9][0-9]+ +[1-9][0-9]* *$'
}

@test "functions of the C library" {
	[ "$(uname -m)" = x86_64 ] && [ -r /sys/bus/event_source/devices/uprobe/type ] ||
		skip "this is no x86-64 machine with uprobes"
	in_tmpdir_with_daemon
	runs 'pmcstat -d -p uprobe:/lib' || unless_hidden "$output"
	has '^# +p/uprobe:/lib/x86_64-linux-gnu/libc.so.6:malloc p/uretprobe:/lib/x86_64-linux-gnu/libc.so.6:free *$' \
		'^ +[1-9][0-9]+ +[1-9][0-9]+ *$'
}

@test "registers" {
	in_tmpdir_with_daemon
	pmccontrol -L | grep -q 'MSR-SMI' || skip "this machine has no register SMI that anything reads"
	runs 'pmcstat -c 0 -w 1 -l 2 -s MSR-TSC'
	has '^# +s/00/MSR-TSC +s/00/MSR-SMI *$' '^ +[1-9][0-9]+ +[0-9]+ *$'
}

@test "pctrd without hardware counters" {
	in_tmpdir_with_daemon
	export PCTR_DEVICE=$PWD/run/pctr
	# shellcheck disable=SC2046 # words
	$(example 'pctrd -o') -f -d "$PWD/run" --no-node 3>&- &
	CHILD=$!
	wait_for pctr
	runs 'pctr -s 0'
	runs 'taskset -c 0'
	runs 'pctr -C 0'
	has '^ ctr0 = +[1-9][0-9]* +\[---u c0 00 ' '^ ctr1 = +[1-9][0-9]* +\[--ku 76 00' '^  tsc = +[1-9]'
}

@test "counting from C" {
	in_tmpdir_with_daemon
	{ echo '#include <err.h>'; block '#include <pmc.h>' | grep '^#'
		echo 'static void work(void) { for (volatile int i = 0; i < 1000; i++); } int main(void) {'
		block '#include <pmc.h>' | grep -v '^#'; echo 'return after < before; }'; } >prog.c
	cc -I"$ROOT/lib/include" -o prog prog.c -L"$BUILD/lib" -lpmc-compat
	./prog
}

@test "every example of the page runs in these tests" {
	while read -r command; do
		while read -r begin; do
			[[ $command != "$begin"* ]] || continue 2
		done < <(sed -nE "s/.*(runs|example) '([^']+)'.*/\2/p" "$BATS_TEST_FILENAME"
			echo pmcbpfd; echo 'sudo make'
			# tests/package installs the packages, and counts with them.
			echo 'make deb'; echo 'apt install'; echo 'pmcstat -p PAGE_FAULT.ALL ls')
		echo "not run: $command" >&2
		return 1
	done < <(commands)
}
