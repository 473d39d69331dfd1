# SPDX-License-Identifier: BSD-2-Clause
#
# What tdump and ktrdump print of files that ktrfile.py has made.

load tdump

# KTR-01 KTR-64 KTR-65 KTR-66 KTR-67 KTR-68 KTR-69 KTR-70: byte for byte, of the page's trace points, compiled, run and
# decoded; of its clock there are its readings. The newest line of tdump's sample is one that the page has cut off.
@test "the page's samples, from a real program" {
	taskset -c 0 true || skip "this process may not use CPU 0"
	page_program tdump
	page_clock tdump 1000000 ff 7e 11c 209 3eb 13f 477 b5 1a2
	tdump -i tdump >got
	diff <(page_tdump) <(sed 3d got | head -n 11)
	[ "$(sed -n 3p got)" = '0 361        0 newer' ]
	page_program debugger
	page_clock debugger 311a5899992c b638dd f0e d3 79
	tdump -K -i debugger >got
	diff <(page_debugger) <(head -n 6 got)
}

# KTR-69 KTR-74
@test "rings are merged by time, newest first; -r oldest first, -s ring after ring; classes, CPUs and threads are chosen" {
	some_file
	prints tdump -i some <<-'END'
	C Idx Delta-T  Trace
	= === ======== =====
	1   1        0 syscall p=0xf07e5700 #0x1
	0   1        0 syscall p=0xf07e5600 err=0 ret=2a
	1   0      5dc fork parent 5 child
	0   0      1f4 syscall p=0xf07e5600 #0xc7
	END
	prints tdump -r -i some <<-'END'
	C Idx Delta-T  Trace
	= === ======== =====
	0   0      1f4 syscall p=0xf07e5600 #0xc7
	1   0      5dc fork parent 5 child
	0   1        0 syscall p=0xf07e5600 err=0 ret=2a
	1   1        0 syscall p=0xf07e5700 #0x1
	END
	prints tdump -q -s -i some <<-'END'
	0   1        0 syscall p=0xf07e5600 err=0 ret=2a
	0   0      7d0 syscall p=0xf07e5600 #0xc7
	1   1        0 syscall p=0xf07e5700 #0x1
	1   0      5dc fork parent 5 child
	END
	some_file
	prints tdump -q -m SYSC -i some <<-'END'
	1   1        0 syscall p=0xf07e5700 #0x1
	0   1        0 syscall p=0xf07e5600 err=0 ret=2a
	0   0      7d0 syscall p=0xf07e5600 #0xc7
	END
	prints tdump -q -m ~SYSC -i some <<<'1   0        0 fork parent 5 child'
	prints tdump -q -T 12 -i some <<-'END'
	1   1        0 syscall p=0xf07e5700 #0x1
	1   0      5dc fork parent 5 child
	END
	gives 0 '' tdump -q -C 0,2-7 -T 12 -i some
	run -64 tdump -m nonsense -i some
	says 'tdump: ERROR: -m: "nonsense" is neither a class nor a number; classes are GEN, DEV, SYSC, …: tdump(8)'
}

@test "time stamps: -a, -t, -d, -c, and seconds of a coarse clock" {
	some_file
	prints tdump -q -a -C 0 -i some <<-'END'
	0   1 00000000000f4a10 syscall p=0xf07e5600 err=0 ret=2a
	0   0 00000000000f4240 syscall p=0xf07e5600 #0xc7
	END
	begins 0 'C Idx Time Stamp       Trace' tdump -a -i some
	[ "${lines[1]}" = '= === ================ =====' ]
	prints tdump -q -t -d -C 0 -i some <<-'END'
	0   1        0          1002000 syscall p=0xf07e5600 err=0 ret=2a
	0   0     2000          1000000 syscall p=0xf07e5600 #0xc7
	END
	prints tdump -q -a -c 1000 -C 0 -i some <<-'END'
	0   1         0.001002 syscall p=0xf07e5600 err=0 ret=2a
	0   0         0.001000 syscall p=0xf07e5600 #0xc7
	END
	# KTR-19
	printf '%s\n' "format 1 1 0 x x" "entry 0 $((7 << 32 | 999999)) 1 1" "entry 0 $((8 << 32 | 3)) 1 1" |
		ktrfile coarse clock=3
	prints tdump -q -i coarse <<-'END'
	0   1 0.000000 x
	0   0 0.000004 x
	END
	begins 0 '0   1         8.000003 x' tdump -q -a -i coarse
}

@test "-v: all of an entry; ages from the newest, in both directions" {
	some_file
	run tdump -v -C 0 -i some
	sed 's/^+/\t/' <<-'END' >wanted
	C Idx Time Stamp       Delta-T  Age      Trace
	= === ================ ======== ======== =====
	0   1 00000000000f4a10        0        0
	+syscall p=0xf07e5600 err=0 ret=2a
	+00000000f07e5600 0000000000000000 000000000000002a 000000000000dead 000000000000dead
	0   0 00000000000f4240      7d0      7d0
	+syscall p=0xf07e5600 #0xc7
	+00000000f07e5600 00000000000000c7 000000000000dead 000000000000dead 000000000000dead
	END
	says "$(cat wanted)"
	begins 0 '0   0 00000000000f4240      7d0      7d0' tdump -q -r -v -C 0 -i some
}

# KTR-F07 KTR-F08 KTR-F14: FreeBSD's columns.
@test "ktrdump: its columns, oldest first from a file, newest first else" {
	some_file
	ktrdump -c -t -f -H -i some >got
	cat >wanted <<-'END'
	index  cpu timestamp        file and line                            tid                trace
	------ --- ---------------- ---------------------------------------- ------------------ ----- 
	     0   0          1000000 sys_enter                                0xb                syscall p=0xf07e5600 #0xc7
	     0   1          1000500 fork                                     0xc                fork parent 5 child
	     1   0          1002000 sys_exit                                 0xb                syscall p=0xf07e5600 err=0 ret=2a
	     1   1          1002000 sys_enter                                0xc                syscall p=0xf07e5700 #0x1
	END
	diff wanted got
	prints ktrdump -q -t -r -i some <<-'END'
	     0                0 syscall p=0xf07e5600 #0xc7
	     0              500 fork parent 5 child
	     1             1500 syscall p=0xf07e5600 err=0 ret=2a
	     1                0 syscall p=0xf07e5700 #0x1
	END
	gives 0 '' ktrdump -q -i some -o text
	[ "$(head -n 1 text)" = '     0 syscall p=0xf07e5600 #0xc7' ]
	some_file image=0
	begins 0 '     1 syscall p=0xf07e5700 #0x1' ktrdump -q -M some
	run -0 ktrdump -q -m some -e none
}

# KTR-F09
@test "-o: the output goes to a file, in every form" {
	local form
	some_file
	for form in -a -K --json --chrome; do
		tdump $form -i some >wanted
		run -0 tdump $form -i some -o text
		[ -z "$output" ]
		[ -s wanted ]
		diff wanted text
	done
	rm text
	(umask 027; tdump -i some -o text)
	[ "$(stat -c %a text)" = 640 ]
}

@test "ktrdump: FreeBSD's errors, exit 1" {
	printf '%s\n' 'format 1 1 0 many %d %d %d %d %d %d' 'entry 0 1 1 1 1 2 3 4 5' | ktrfile many
	run -1 --separate-stderr ktrdump -i many
	[ "$stderr" = 'ktrdump: too many parameters' ]
	prints tdump -q -i many <<<'0   0        0 1 2 3 4 5 %d'
	some_file version=2
	gives 1 'ktrdump: ERROR: "some": unsound rings: ktr version mismatch' ktrdump -i some
	run -1 ktrdump -i nothing
	run -1 --separate-stderr ktrdump --nonsense
}

# KTR-F13: schedgraph.py's input, each field at its place, and newest first.
@test "ktrdump -ct: lines for schedgraph.py" {
	ktrfile sched ncpu=2 image=0 <<-'END'
	format 1 0x20000000 0x55b sched_switch KTRGRAPH group:"thread", id:"%s tid %d", state:"running", attributes: prio:%d
	text 0 1000 5 1 make - \x07 \x78
	text 1 2000 6 1 cc1 - \x08 \x78
	END
	ktrdump -q -c -t -M sched >got
	python3 - got <<-'END'
	import re, sys
	quoted = r'"([^"]*)"'
	comma = "(?:" + quoted + "|([^,]+))"
	line = re.compile(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+KTRGRAPH group:" + quoted + ", id:" + quoted +
			  ", ([^:]+):" + comma + ", attributes: (.*)")
	found = [line.match(text).groups() for text in open(sys.argv[1])]
	assert [f[1:] for f in found] == [
		("1", "2000", "thread", "cc1 tid 8", "state", "running", None, "prio:120"),
		("0", "1000", "thread", "make tid 7", "state", "running", None, "prio:120")], found
	END
}

# KTR-65 KTR-66: columns grow.
@test "wider columns of many CPUs and long rings; a clock that goes back: one warning" {
	printf '%s\n' 'format 1 1 0 x text' 'entry 16 5 1 1' 'entry 2 4 1 1' |
		ktrfile wide ncpu=17 entries=8192
	prints tdump -i wide <<-'END'
	C  Idx  Delta-T  Trace
	== ==== ======== =====
	10    0        0 text
	 2    0        1 text
	END
	# KTR-75
	printf '%s\n' 'format 1 1 0 x text' 'entry 0 1000000000 1 1' 'entry 0 5 1 1' 'entry 0 10 1 1' |
		ktrfile back
	run -0 --separate-stderr tdump -q -i back
	[ "${#lines[@]}" -eq 3 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == 'tdump: the clock went back by 0x3b9ac9fb '*'-s shows each CPU by itself' ]]
	run -0 --separate-stderr tdump -q -s -i back
}

@test "parsers accept JSON and Chrome's trace" {
	some_file
	tdump --json -i some | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert len(rows) == 4 and rows[2] == {"cpu": 1, "index": 0, "time": 1000500, "delta": 1500, "tid": 12,
	"kernel": True, "corrupt": False, "class": "PROC", "event": "fork", "format": "fork %s %d %s",
	"text": "fork parent 5 child", "words": rows[2]["words"]}, rows[2]'
	ktrfile sched ncpu=2 <<-'END'
	format 1 0x20000000 0x55b sched_switch KTRGRAPH group:"thread", id:"%s tid %d", state:"running", attributes: prio:%d
	format 2 0x2000 0 sys_enter syscall p=0x%x #0x%x
	format 3 0x2000 0 sys_exit syscall p=0x%x err=%d ret=%x
	format 4 1 0 mark mark "%x"
	entry 0 500 7 3 1 0 0
	text 0 1000 7 1 ma'ke - \x07 \x78
	entry 0 1500 7 2 1 5
	entry 0 2000 7 4 9
	entry 0 2500 7 3 1 0 0
	text 0 3000 7 1 cc1 - \x08 \x78
	entry 1 3500 0 4 9
	END
	tdump --chrome -i sched >chrome
	python3 - <<-'END'
	import json
	events = [e for e in json.load(open("chrome"))["traceEvents"] if e["ph"] != "M"]
	short = [(e["ph"], e["ts"], e["pid"], e["tid"], e["name"], e.get("dur")) for e in events]
	assert short == [
		("i", 0.5, 1, 7, "syscall p=0x1 err=0 ret=0", None),
		("B", 1.5, 1, 7, "syscall p=0x1 #0x5", None),
		("i", 2.0, 1, 7, 'mark "9"', None),
		("E", 2.5, 1, 7, "syscall p=0x1 err=0 ret=0", None),
		("X", 1.0, 0, 0, "ma'ke tid 7", 2.0),
		("i", 3.5, 0, 1, 'mark "9"', None),
		("X", 3.0, 0, 0, "cc1 tid 8", 0.5)], short
	END
}

@test "colours and a pager, for a terminal only" {
	some_file
	run tdump -q --color=always -T 11 -C 0 -i some
	[ "${lines[0]}" = $'\x1b[32m0   1        0 \x1b[0msyscall p=0xf07e5600 err=0 ret=2a' ]
	tdump --color=auto -i some >plain
	[[ $(<plain) != *$'\x1b'* ]]
	run -64 tdump --color=red -i some
	cat >terminal.py <<-'END'
	import os, pty, sys
	pty.spawn(sys.argv[1:])
	END
	export TERM=xterm
	PAGER="sed 's/^/paged /'" run python3 terminal.py "$BUILD/bin/tdump" -q -C 0 -i some
	[[ ${lines[0]} == paged\ *$'\x1b[32m'* ]]
	PAGER='' NO_COLOR=1 run python3 terminal.py "$BUILD/bin/tdump" -q -C 0 -i some
	[ "${lines[0]%$'\r'}" = '0   1        0 syscall p=0xf07e5600 err=0 ret=2a' ]
	# Leaving the pager early is no error.
	PAGER='head -n 1' run -0 python3 terminal.py "$BUILD/bin/tdump" -q -C 0 -i some
}

@test "--chrome with a clock of unknown frequency needs -c" {
	printf '%s\n' 'entry 0 2000 1 0x1000 1' | ktrfile clock
	gives_like 65 '*how fast its clock goes is not known; -c tells, in clocks a microsecond' tdump --chrome -i clock
	tdump --chrome -c 1000 -i clock 2>/dev/null | python3 -c 'import json, sys; json.load(sys.stdin)'
}
