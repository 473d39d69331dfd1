#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Reports of real recordings: from a log, and at the end of the measurement itself.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon; }

# A program that spends nearly all its time in hot(), which work() calls.
make_hot() {
	cat >hot.c <<-'END'
		static volatile unsigned long sum;
		__attribute__((noinline)) static void hot(void)
		{
			for (unsigned long i = 0; i < 200000000; i++)
				sum += i;
		}
		__attribute__((noinline)) static int work(void)
		{
			hot();
			return sum == 1;
		}
		int main(void)
		{
			return work();
		}
	END
	gcc -g -O0 -o hot hot.c
}

# share FUNCTION COLUMN: of a report on standard input, in whole percent.
share() { awk -v name="$1" -v column="$2" '$4 == name { print int($column) }'; }

@test "a program's log: its hot function, its source lines" {
	make_hot
	pmcstat -P clock.hard -O log ./hot
	pmcstat report -q log >report
	[ "$(share hot 1 <report)" -ge 80 ]
	[ "$(share main 2 <report)" -ge 80 ]
	[ "$(share work 2 <report)" -ge 80 ]
	pmcstat -q -R log -a lines
	grep -q '^0x[0-9a-f]* hot .*hot.c:[56]$' lines
}

@test "without -O and -R: sampled, and reported at the end" {
	make_hot
	TMPDIR=$PWD pmcstat -q -P clock.hard -G graph ./hot
	[[ $(head -1 graph) == "@ CLOCK.HARD ["*" samples]" ]]
	grep -q '^[0-9.]*%  \[[0-9]*\] *hot @ .*/hot$' graph
	[ -z "$(ls pmcstat.* 2>/dev/null)" ]
	# … and with -O the log stays.
	pmcstat -q -P clock.hard -O kept --folded folded ./hot
	[ "$(awk '{ n += $NF } END { print n }' folded)" -eq "$(pmcstat -R kept | grep -c ^callchain)" ]
	grep -q 'main;work;hot [0-9]*$' folded
	run --separate-stderr pmcstat -P clock.hard -O /dev/null -G x true
	[ "$status" -eq 64 ]
	# shellcheck disable=SC2154 # set by run
	[[ $stderr == *'"/dev/null" is not a file'* ]]
}
