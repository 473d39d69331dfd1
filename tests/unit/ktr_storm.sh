#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Many threads, signals and changes of the CPU at once, with rseq, without, and as on machines that libktr
# has no assembly for: tests/ktr/storm.c.

set -u

out=${O:-build}
unset KTR_SIZE KTR_ENTRIES KTR_MASK KTR_CLOCK KTR_FORK KTR_FREEZE_ON KTR_VERBOSE KTR_CPUMASK KTR_FILE
n=0 failed=0

# all NAME WHAT : it passes all ways
all()
{
	local way rseq storm output

	for way in rseq atomic portable; do
		rseq=1 storm=$out/tests/ktr/storm
		case $way in
		atomic) rseq=0 ;;
		portable) storm=$storm-portable ;;
		esac
		n=$((n + 1))
		output=$(GLIBC_TUNABLES=glibc.pthread.rseq=$rseq timeout 600 "$storm" "$2" 2>&1)
		if [ "$output" = "${way/portable/atomic}" ]; then
			echo "ok $n - $1, $way"
		else
			echo "not ok $n - $1, $way"
			printf '# %s\n' "${output//$'\n'/$'\n# '}"
			failed=1
		fi
	done
}

# KTR-41, KTR-73: 8 threads that are moved and interrupted: each entry once, whole, in order.
test_nothing_is_lost()
{
	all "nothing is lost, torn or out of order" lost
}

# KTR-07: rings that are overwritten at full speed show a reader nothing torn, and nothing twice.
test_readers()
{
	all "a reader gets whole entries only" reader
}

# KTR-F01: rings are replaced under writers, which switch to the new ones.
test_resizing()
{
	all "rings of another size under writers" resize
}

test_nothing_is_lost
test_readers
test_resizing
echo "1..$n"
exit $failed
