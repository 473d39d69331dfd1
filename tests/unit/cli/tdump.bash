# SPDX-License-Identifier: BSD-2-Clause
#
# tdump and ktrdump over files that ktrfile.py has made, and processes with such files for rings.
# shellcheck disable=SC2154 # bats sets what it has run

load helpers

tdump() { "$BUILD/bin/tdump" "$@"; }
ktrdump() { "$BUILD/bin/ktrdump" "$@"; }
ktrfile() { python3 "$BATS_TEST_DIRNAME/ktrfile.py" "$@"; }

# lines_are: the output is exactly these lines.
lines_are() { says "$(cat)"; }

# prints COMMAND...: status 0, and exactly the lines that follow.
prints() {
	run -0 "$@"
	lines_are
}

# header FILE FIELD=VALUE...: fields of the head of a file of rings.
header() {
	python3 - "$@" <<-'END'
	import struct, sys
	fields = {"hdrsize": (12, "I"), "entsize": (16, "I"), "entries": (20, "I"), "ncpu": (24, "I"), "stride": (32, "Q"),
		  "clock": (44, "I"), "formats": (72, "I")}
	data = bytearray(open(sys.argv[1], "rb").read())
	for word in sys.argv[2:]:
	    name, value = word.split("=")
	    struct.pack_into("=" + fields[name][1], data, fields[name][0], int(value))
	open(sys.argv[1], "wb").write(data)
	END
}

# The page's trace points.
page_formats() {
	cat <<-'END'
	format 1 0x2000 0 sys_enter syscall p=0x%x #0x%x
	format 2 0x2000 0x550 sys_exit syscall p=0x%x err=%d ret=%x
	format 3 0x2000 0 run syscall: run user p=0x%x
	format 4 0x2000 0 kernel syscall: re-entering kernel
	format 5 0x8000 0 done splx done ../../i386/isa/com.c:%d cpl=%x
	format 6 0x8000 0 splx splx ../../i386/isa/com.c:%d cpl=%x -> %x
	format 7 0x8000 0 spltty spltty ../../i386/isa/com.c:%d %x | %x
	format 8 0x1 0 kdebug disable tracing for kdebug
	format 9 0x1 0 delay delaying debugger entry %dms
	format 10 0x1 0 entry kdebug: entry
	END
}

# The page's samples, which it prints at column 5, with its tabs.
page_tabs() { sed 's/^/     /' | expand | cut -c 6-; }
page_tdump() {
	page_tabs <<'END'
C Idx Delta-T  Trace
= === ======== =====
0 360	 ff syscall: run user p=0xf07e5600
0 35f	 7e syscall p=0xf07e5600 err=0 ret=f017542c
0 35e	11c syscall p=0xf07e5600 #0xc7
0 35d	209 syscall: re-entering kernel
0 35c	3eb syscall: run user p=0xf07e5600
0 35b	13f syscall p=0xf07e5600 err=0 ret=2a
0 35a	477 splx done ../../i386/isa/com.c:2097 cpl=7fffa7a0
0 359	 b5 splx ../../i386/isa/com.c:2097 cpl=7fffb7ba -> 7fffa7a0
0 358	1a2 spltty ../../i386/isa/com.c:2048 7fffa7a0 | 7fffb7ba
END
}
page_debugger() {
	page_tabs <<'END'
Newest entry at clock 311a5899992c
0 398	  0: disable tracing for kdebug
0 397   b638dd: delaying debugger entry 100ms
0 396	f0e: kdebug: entry
0 395	 d3: splx done ../../i386/isa/com.c:2212 cpl=7ffffffa
0 394	 79: splx ../../i386/isa/com.c:2212 cpl=ffffffff -> 7ffffffa
END
}

# page_program SAMPLE: the real program's rings are in ./SAMPLE, its entries on CPU 0.
page_program() {
	KTR_FILE=$PWD/$1 taskset -c 0 "$BUILD/tests/ktr/page" "$1"
}

# page_clock FILE NEWEST DELTA...: sets the times in a program's rings, the only part that depends on the machine:
# CPU 0's newest entry to NEWEST, each earlier one DELTA before.
page_clock() {
	python3 - "$@" <<-'END'
	import struct, sys
	deltas = [int(delta, 16) for delta in sys.argv[3:]]
	with open(sys.argv[1], "r+b") as rings:
	    ring, _, entries = struct.unpack("12xIII", rings.read(24))
	    rings.seek(ring)
	    head, = struct.unpack("Q", rings.read(8))
	    assert head <= entries, "the ring was overwritten"
	    stamp = int(sys.argv[2], 16)
	    for number in range(head - 1, -1, -1):
	        rings.seek(ring + 64 + 64 * number)
	        rings.write(struct.pack("Q", stamp))
	        stamp -= deltas.pop(0) if deltas else 1
	END
}

# some_file [FIELD=VALUE]...: two CPUs' rings of 16 entries.
some_file() {
	ktrfile some entries=16 ncpu=2 mono0=1000 clock0=1000 "$@" <<-'END'
	format 1 0x2000 0 sys_enter syscall p=0x%x #0x%x
	format 2 0x1000 0xb5b fork fork %s %d %s
	format 3 0x2000 0x550 sys_exit syscall p=0x%x err=%d ret=%x
	entry 0 1000000 11 1 0xf07e5600 0xc7
	text 1 1000500 12 2 parent - \x05 child -
	entry 0 1002000 11 3 0xf07e5600 0 42
	entry 1 1002000 12 1 0xf07e5700 0x1
	END
}

# refused STATUS TEXT ARGUMENT...: prints the reason in one line, and the file.
refused() {
	run --separate-stderr tdump "${@:3}"
	status_is "$1"
	[ -z "$output" ] || [ "$1" = 71 ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "tdump: ERROR: "*"$2"* ]] || { echo "$stderr" >&2; return 1; }
}

# live FILE: a process that has these bytes as its rings; its pid is LIVE.
live() {
	mkfifo live.in
	python3 "$BATS_TEST_DIRNAME/ktrlive.py" "$1" <live.in >live.out 3>&- &
	LIVE=$!
	exec {LIVE_IN}>live.in
	wait_for grep -q ready live.out
}

end_live() {
	exec {LIVE_IN}>&-
	wait $LIVE
	rm live.in live.out
}
