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
		__attribute__((noinline)) static int work(void) { hot(); return sum == 1; }
		int main(void) { return work(); }
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

@test "without -O and -R: sampling, with a report at the end" {
	make_hot
	TMPDIR=$PWD pmcstat -q -P clock.hard -G graph ./hot
	[[ $(head -1 graph) == "@ CLOCK.HARD ["*" samples]" ]]
	grep -q '^[0-9.]*%  \[[0-9]*\] *hot @ .*/hot$' graph
	[ -z "$(ls pmcstat.* 2>/dev/null)" ]
	# … and with -O the log is kept.
	pmcstat -q -P clock.hard -O kept --folded folded ./hot
	[ "$(awk '{ n += $NF } END { print n }' folded)" -eq "$(pmcstat -R kept | grep -c ^callchain)" ]
	grep -q 'main;work;hot [0-9]*$' folded
	gives_like 64 '*"/dev/null" is not a file*' pmcstat -P clock.hard -O /dev/null -G x true
}

# samples_at FROM TO: the number of the log's samples at offsets of ./hot from FROM up to TO, exclusive, and of all
# such samples.  Libraries and the kernel are at the top of their halves.
samples_at() {
	pmcstat -R log | awk -v from="$1" -v to="$2" '
		$1 == "callchain" { all++; first = 1; next }
		first && $1 == "..." { at = substr($2, length($2) - 2); n += $2 !~ /^0x(7|ffff)/ && at >= from && at < to; first = 0 }
		END { print n + 0, all + 0 }'
}

@test "pmcannotate: the samples of a recorded function are the log's, its lines' and its instructions' sums as well" {
	local first next n all sum
	make_hot
	pmcstat -q -P clock.hard -O log ./hot
	pmcannotate log ./hot >text
	[[ $(head -n 1 text) =~ ^'Profile trace for function: hot() ['([0-9.]+)'%]'$ ]]
	share=${BASH_REMATCH[1]}
	[ "${share%.*}" -ge 80 ]
	# The lines that were executed, of the source; their sums, and those of instructions, are the function's.
	grep -q $'^[0-9.]*%\t| sum += i;$' text
	grep -q $'^[0-9.]*%\t| for (unsigned long i = 0; i < 200000000; i++)$' text
	for what in '\| *[0-9a-f]+:\t' '\| [^ ]'; do
		sum=$(awk -F'[%\t]' -v what="$what" '/^Profile/ { next } $0 ~ what && $1 != "" { n += $1 } END { print n }' text)
		awk -v a="$sum" -v b="$share" 'BEGIN { exit a - b > 0.2 || b - a > 0.2 }'
	done
	# And they equal the log's samples, counted separately.
	first=$(nm hot | awk '$3 == "hot" { print $1 }') next=$(nm hot | awk '$3 == "work" { print $1 }')
	read -r n all < <(samples_at "${first: -3}" "${next: -3}")
	awk -v a="$share" -v n="$n" -v all="$all" 'BEGIN { b = 100 * n / all; exit a - b > 0.1 || b - a > 0.1 }'
	# The page has the same.
	pmcannotate --html page log ./hot
	grep -q "^<h2 id=f0>hot \[$share%\]</h2>$" page
	grep -qE 'hot\.c:5">5<td class=t>.*sum \+= i;' page
}
