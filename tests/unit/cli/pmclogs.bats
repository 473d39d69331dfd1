# SPDX-License-Identifier: BSD-2-Clause
#
# pmc filter and pmc summary, on a log made of bytes: mklog.py.

load helpers

refute() { ! "$@" || { echo "unexpected success: $*" >&2; return 1; }; }
pmc() { fake pmc "$@"; }

setup_file() {
	export MKLOG=$BATS_TEST_DIRNAME/mklog.py
}

# samples OPTION...: "PID PMC CPU" of the samples that filter keeps, one word each
samples() {
	python3 "$MKLOG" >log
	pmc filter "$@" log out
	fake pmcstat -R out | awk '$1 == "callchain" { printf "%s%s.%s.%s", n++ ? " " : "", $2, substr($3, length($3)), $4 }'
}

# left EXPECTED OPTION...
left() {
	local wanted=$1
	shift
	gives 0 "$wanted" samples "$@"
}

all='10.0.0 10.0.0 10.0.0 11.1.1 20.1.1 20.1.1 20.2.1 30.2.0 30.2.0'

@test "summary: an event's samples times its period, by process, in descending order" {
	python3 "$MKLOG" >log
	gives 0 $'event-0x1000001:\n\talpha: 4000\n\tbeta: 2000\nCLOCK.PROF:\n\tpid 30: 2\n\tbeta: 1' pmc summary log
	run pmc summary -k 1 - <log
	says $'event-0x1000001:\n\talpha: 4000\nCLOCK.PROF:\n\tpid 30: 2'
	run pmc summary --full log
	says $'idx: 1 name: event-0x1000001 rate: 1000\nalpha: 4\nbeta: 2\nidx: 2 name: CLOCK.PROF rate: 0\npid 30: 2\nbeta: 1'
	gives 64 'pmc: ERROR: 0 not usable value' pmc summary -k 0 log
}

@test "missing records are counted: summary, report, -j and the text" {
	python3 "$MKLOG" >log
	head -c -16 log >gaps				# without CLOSELOG
	for lost in 830 0 1; do
		perl -e 'print pack("VVQQ", 0xee020018, 0, 1000, $ARGV[0])' "$lost" >>gaps
	done
	tail -c 16 log >>gaps
	run pmc summary gaps
	[[ $output == *'WARNING: "gaps" lacks at least 831 records (samples, or what processes did), at 3 places'* ]]
	run pmc report gaps
	[[ $output == *'WARNING: "gaps" lacks at least 831 records '*' at 3 places'* ]]
	[[ $output == *'# gaps: 3, with at least 831 records'* ]]
	[ "$(pmc filter -j gaps - | grep -o '"lost":"[0-9]*"' | tr '\n' ' ')" = '"lost":"830" "lost":"0" "lost":"1" ' ]
	[ "$(fake pmcstat -R gaps | grep '^drop' | tr -s ' ' | tr '\n' .)" = 'drop 830.drop .drop 1.' ]
	# As FreeBSD writes it.
	head -c -16 log >gaps
	perl -e 'print pack("VVQ", 0xee020010, 0, 1000)' >>gaps
	tail -c 16 log >>gaps
	run pmc summary gaps
	[[ $output == *'lacks records (samples, or what processes did) at 1 place; it does not say how many'* ]]
}

@test "summary: a log without its end is reported" {
	python3 "$MKLOG" | head -c -16 >open
	run -0 --separate-stderr pmc summary -k 1 open
	says $'event-0x1000001:\n\talpha: 4000\nCLOCK.PROF:\n\tpid 30: 2'
	[ "$stderr" = 'pmc: WARNING: "open" has no end: this summary is partial, it shows what was recorded before' ]
}

@test "filter without lists copies every byte" {
	left "$all"
	cmp log out
	pmc filter - - <log | cat >piped
	cmp log piped
}

@test "filter: what has come is written before it waits for more; a log is not written to a terminal" {
	local slow
	python3 "$MKLOG" >log
	pmc filter -j log wanted
	[ -s wanted ]
	mkfifo slow
	pmc filter -j - - <slow >got 3>&- & pid=$!
	exec {slow}>slow
	cat log >&"$slow"
	wait_for cmp -s wanted got
	exec {slow}>&-
	wait $pid
	cmp wanted got
	run python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' \
		"$BUILD/bin/pmc" filter log -
	status_is 64
	[[ $output == *"a log is not for a terminal; name a file, or use -j"* ]]
}

@test "filter: lists of numbers and events drop, -x keeps; lists of names keep, -x drops" {
	left '20.1.1 20.1.1 20.2.1 30.2.0 30.2.0' -p 10,11
	left '10.0.0 10.0.0 10.0.0 11.1.1' -x -p 10,11
	left '10.0.0 10.0.0 10.0.0 11.1.1 20.1.1 20.1.1' -e clock.prof
	left '20.2.1 30.2.0 30.2.0' -x -e CLOCK.PROF
	left '10.0.0 10.0.0 10.0.0 11.1.1' -P lph
	left '20.1.1 20.1.1 20.2.1 30.2.0 30.2.0' -x -P lph
	left '20.1.1 20.1.1' -x -t 21
	left '20.1.1 20.1.1' -T work
	left '10.0.0 10.0.0 10.0.0 30.2.0 30.2.0' -c 1
}

@test "filter: --keep and --drop work for every list" {
	left '20.1.1 20.1.1' --keep -p 20 -e 0x001f2001 -c 1
	left '20.2.1' --keep -P beta -e CLOCK.PROF
	left '11.1.1' --drop -P beta -c 0 -p 30
	gives_like 64 '*mutually exclusive.*' pmc filter --keep -x -p 1 log out
}

@test "filter: an event that is not in the log is named, and nothing is written" {
	python3 "$MKLOG" >log
	for e in NOSUCH clock.prof,NOSUCH 0x77 -x; do
		[ "$e" != -x ] || e='NOSUCH -x'
		gives_like 64 'pmc: ERROR: "log" has no event "*' pmc filter -e $e log out
		[ ! -e out ]
	done
	[[ $output == *'"NOSUCH"; pmc summary shows the events of its samples' ]]
	for out in - /dev/stdout; do
		run -64 --separate-stderr pmc filter -e NOSUCH log "$out"
		[ -z "$output" ]
		[[ $stderr == *'has no event "NOSUCH"'* ]]
		pmc filter -e CLOCK.PROF log "$out" | cat >piped
		pmc filter -e CLOCK.PROF log out
		cmp piped out
		rm out
	done
}

@test "filter -T: names change; a program's first thread has the program's name" {
	python3 - "$(dirname "$MKLOG")" >log <<-'END'
		import struct, sys
		sys.path.insert(0, sys.argv[1])
		from logrecord import initialize, record
		def thread(tid, name):
		    return record(18, struct.pack("<iiII20s", tid, 10, 0, 0, name))
		def sample(tid):
		    return record(16, struct.pack("<IIIIQ", 10, tid, 0x000f2000, 1, 0x401000))
		out = initialize() + record(17, struct.pack("<IIII64s", 0x000f2000, 0, 0x80, 0, b"CLOCK.PROF"))
		out += thread(10, b"first") + thread(11, b"first") + sample(10) + sample(11)
		out += thread(11, b"second") + sample(11)
		out += record(9, struct.pack("<iIQQ", 10, 0x000f2000, 0, 0) + b"/usr/bin/alpha\0") + sample(10)
		sys.stdout.buffer.write(out + record(1, b""))
	END
	for wanted in first:2 second:1 alpha:1; do
		[ "$(pmc filter --keep -T ${wanted%:*} -j log - | grep -c '"callchain"')" -eq ${wanted#*:} ]
	done
}

@test "filter -j: an object on each line, all values strings" {
	python3 "$MKLOG" >log
	pmc filter -j --keep -p 11 log out
	python3 -c '
import json
rows = [json.loads(line) for line in open("out")]
assert [r["type"] for r in rows] == ["initialize", "pmcallocate", "pmcallocate", "pmcallocatedyn",
	"procexec", "proc_create", "thr_create", "procfork", "callchain", "closelog"], rows
assert rows[-2] == {"type": "callchain", "tsc": "1000", "pmcid": "0x001f2001", "pid": "11",
	"tid": "11", "cpuflags": "0x00010001",
	"pc": ["0x0000000000401000", "0x0000000000402000"]}, rows[-2]'
}

@test "a sample keeps its values where the name of a kernel function comes between them" {
	PYTHONPATH=$BATS_TEST_DIRNAME python3 -c '
import struct, sys
from logrecord import initialize, record
def values(period):
    return record(0x41, struct.pack("<IIQ", 0x1000, 1, period))
name = record(14, struct.pack("<iIQ", -1, 0, 0xffffffff81000000) + b"[kernel.kallsyms]f\0")
sample = record(16, struct.pack("<IIIIQ", 7, 7, 0x1000, 1, 0x401000))
sys.stdout.buffer.write(initialize() + values(40) + name + sample + values(50) + sample + record(1, b""))' >log
	fake pmcstat -R log >expected
	grep -A 1 ^values expected | grep -q ^map
	pmc filter log out
	fake pmcstat -R out >got
	[ "$(grep -c ^values got)" -eq 2 ]
	diff <(sort expected) <(sort got)
}

@test "a cut log: records before the damage are delivered, exit 65" {
	python3 "$MKLOG" >log
	size=$(stat -c %s log)
	head -c $((size - 20)) log >short
	gives_like 65 'pmc: ERROR: "short", record *: the log ends in the middle of a record' pmc filter short out
	cmp -n $((size - 64)) out log
	[ "$(stat -c %s out)" -eq $((size - 64)) ]
	run -65 pmc summary short
	[[ $output == *$'CLOCK.PROF:\n'* ]]
	gives_like 65 '*this is no log*' pmc summary "$MKLOG"
}

@test "inputs and outputs that cannot be used" {
	python3 "$MKLOG" >log
	gives_like 71 '*"/nowhere"*' pmc filter /nowhere out
	run -71 pmc filter log /nowhere/out
	gives_like 71 '*cannot write to "/dev/full": No space left on device' pmc filter log /dev/full
	gives 64 'pmc: ERROR: x not usable value' pmc filter -p 1,x log out
	gives 64 'pmc: ERROR: -p takes at most 64 items' pmc filter -p "$(seq -s, 65)" log out
	run -64 pmc filter log
}

# values_log: samples of two PMCs with a period of their own and a waker, PMC 1's first; each sample's process is its PMC's number.
values_log() {
	PYTHONPATH=$BATS_TEST_DIRNAME python3 -c '
import struct, sys
from logrecord import initialize, record
def pmc(n, name, rate):
    return record(17, struct.pack("<IIII64sQ", n, 0, 0x80, 0, name, rate))
def values(n, period):
    return record(0x41, struct.pack("<IIQ", n, 1, period))
def waker(n):
    return record(0x43, struct.pack("<IIIII20s", 0, 0, n, 1 << 16 | 1, 2, b""))
def sample(n):
    return record(16, struct.pack("<IIIIQ", n, n, n, 1, 0x401000))
sys.stdout.buffer.write(initialize() + pmc(1, b"STEERED", 0) + pmc(2, b"PLAIN", 10) +
	values(1, 4000) + waker(1) + sample(1) + sample(2) + record(1, b""))'
}

@test "filter: the values and the waker of a dropped sample go with it" {
	values_log >log
	fake pmcstat -R log | grep -cE '^(values|waker)' >n
	[ "$(<n)" -eq 2 ]
	pmc filter --keep -e PLAIN log out
	refute grep -E '^(values|waker)' <(fake pmcstat -R out)
	gives 0 $'PLAIN:\n\tpid 2: 10' pmc summary out
	pmc filter --drop -e PLAIN log out
	[ "$(fake pmcstat -R out | grep -cE '^(values|waker)')" -eq 2 ]
}

@test "summary: a period counts for a sample of its own PMC only" {
	values_log >log
	gives 0 $'STEERED:\n\tpid 1: 4000\nPLAIN:\n\tpid 2: 10' pmc summary log
	pmc filter --keep -e PLAIN log kept
	PYTHONPATH=$BATS_TEST_DIRNAME python3 -c '
import struct, sys
from logrecord import record
log = open("kept", "rb").read()
at = log.rindex(struct.pack("<IIII", 2, 2, 2, 1)) - 16	# the sample
sys.stdout.buffer.write(log[:at] + record(0x41, struct.pack("<IIQ", 1, 1, 4000)) + log[at:])' >stray
	gives 0 $'PLAIN:\n\tpid 2: 10' pmc summary stray
}
