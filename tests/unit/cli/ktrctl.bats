# SPDX-License-Identifier: BSD-2-Clause
#
# ktrctl over a library whose rings are known, and over the regions of processes that libktr has not made.

load helpers

ktrctl() { fake ktrctl "$@"; }
of_target() { ktrctl -p "$target" "$@"; }

# wrong STATUS MESSAGE WORD...
wrong() {
	run "-$1" ktrctl "${@:3}"
	[ "${lines[0]}" = "ktrctl: $2" ] || { echo "got: $output" >&2; false; }
	[ ! -s calls ]
}

# region [FIELD=VALUE]...: a process with a region, which `ask` talks to; $target.
region() {
	mkfifo to from
	python3 "$BATS_TEST_DIRNAME/region.py" "$@" <to >from 3>&- &
	target=$!
	exec {TO}>to {FROM}<from
	read -r -t 60 line <&"$FROM"
	[ "$line" = ready ]
}

# ask COMMAND...: the process's answer, in $line.
ask() {
	echo "$*" >&"$TO"
	read -r -t 60 line <&"$FROM"
}

# answers VALUE COMMAND
answers() {
	ask "$2"
	[ "$line" = "$1" ] || { echo "$2 is $line, not $1" >&2; return 1; }
}

teardown() {
	local each
	for each in "${target:-}" "${pid:-}"; do
		[ -z "$each" ] || { kill -KILL "$each" && wait "$each"; } 2>/dev/null || true
	done
}

@test "wrong command lines: a line with the word and a correction" {
	wrong 65 '"" names no class; "none" is all classes off' mask ''
	wrong_all <<-'LIST'
	64|"frob" is no command: "ktrctl --help" lists them|frob
	64|mask takes one argument: "ktrctl mask [CLASSES]"|mask A B
	64|mark takes one argument: "ktrctl mark TEXT"|mark
	64|freeze takes no argument: "ktrctl freeze"|freeze now
	65|"x" is no process id|-p x
	65|"0" is no process id|-p 0 mask
	65|"-1" is no process id|-p -1 mask
	65|"4294967296" is no process id|-p 4294967296 mask
	65|"0" is no time in seconds|-l 0 alq f
	65|"63" is no size from 64 bytes to 1 TB|alq f --max 63
	65|"x" is no size from 64 bytes to 1 TB|alq f --max=x
	64|option -p is not used with clear|-p 1 clear
	64|option -p is not used with mark|mark -p 1 text
	64|option -p is not used with stop|stop -p 1
	64|option --json is used only with list and classes|--json mask
	64|options -l and --max are used only with alq|-l 1 mask
	65|"FROB" is no class: "ktrctl classes" lists them|mask SCHED,FROB
	65|"0x1ffffffff" is no class: "ktrctl classes" lists them|compile 0x1ffffffff
	65|"3" is no power of two from 1 to 16777216|entries 3
	65|"0" is no power of two from 1 to 16777216|entries 0
	65|"33554432" is no power of two from 1 to 16777216|entries 33554432
	65|"frob" is not known: "ktrctl debug.ktr" lists all|debug.ktr.frob
	65|"" is not known: "ktrctl debug.ktr" lists all|debug.ktr.=1
	64|"x" is one word too many: debug.ktr.NAME=VALUE|debug.ktr.mask x
	65|debug.ktr.version is read-only: it is the version of the rings' layout|debug.ktr.version=3
	65|debug.ktr.compile is read-only: "ktrctl compile CLASSES" loads the kernel's classes|debug.ktr.compile=1
	65|"0" is no number of entries|test 0
	LIST
	run -64 ktrctl --frob
	[ "${lines[1]}" = 'Usage: ktrctl [-p PID] [--json] [COMMAND]; ktrctl --help lists the commands' ]
}

@test "KTR-21: classes: 32, each with its bit" {
	run -0 ktrctl classes
	[ ${#lines[@]} -eq 32 ]
	[[ ${lines[0]} == 'GEN         0x00000001  '* ]]
	[[ ${lines[13]} == 'SYSC        0x00002000  '* ]]
	[[ ${lines[31]} == 'PTRACE      0x80000000  '* ]]
	run ktrctl --json classes
	json_is '[c["bit"] for c in x["classes"]] == [1 << i for i in range(32)]'
	json_is 'x["classes"][29]["name"] == "SCHED" and all(c["meaning"] for c in x["classes"])'
}

@test "what the daemon is asked: tunables for mask, classes and entries; freeze, thaw, clear and mark" {
	run -0 --separate-stderr ktrctl mask
	[ "$output" = SYSC ]
	gives 0 GEN,SYSC ktrctl compile
	gives 0 1024 ktrctl entries
	[ ! -s calls ]
	gives 0 '' ktrctl mask KTR_SYSC,gen
	run -0 ktrctl compile '~SPL,~CLK'
	run -0 ktrctl entries 4096
	FAKEPMC_TUNABLE=oom,panic gives 0 oom,panic ktrctl stop
	run -0 ktrctl stop signal:SEGV
	[ "$(cat calls)" = 'set ktr.mask to GEN,SYSC
set ktr.compile to ~CLK,~SPL
set ktr.size to 262144
get ktr.stop
set ktr.stop to signal:SEGV' ]
	: >calls
	for word in freeze thaw clear; do
		gives 0 '' ktrctl $word
	done
	run --separate-stderr ktrctl mark 'here we are'
	[ -z "$stderr" ]
	run --separate-stderr ktrctl mark 'a text of more than thirty-one bytes'
	[ "$stderr" = 'ktrctl: "a text of more than thirty-one bytes" is cut to 31 bytes' ]
	run ktrctl mark -- -p
	[ "$(cut -d' ' -f1-3 calls)" = 'ktr 0 -
ktr 1 -
ktr 2 -
ktr 3 here
ktr 3 a
ktr 3 -p' ]
}

@test "KTR-31: a class that is not loaded has no effect, and one line reports that" {
	run -0 --separate-stderr ktrctl mask SYSC,SCHED,INET
	[ "$stderr" = 'ktrctl: INET,SCHED: not loaded: no effect' ]
	grep -qx 'set ktr.mask to SYSC,INET,SCHED' calls
	run --separate-stderr ktrctl mask all
	[ -z "$stderr" ]
	run --separate-stderr ktrctl compile SPL,GEN
	[ "$stderr" = 'ktrctl: SPL: not loaded: this kernel has no events of them' ]
}

@test "frozen rings: the mask to be restored, and the trigger" {
	export FAKEPMC_KTR=1
	run -0 --separate-stderr ktrctl mask
	[ "$output" = SYSC ]
	[ "$stderr" = "ktrctl: the kernel's rings are frozen: nothing is traced until \"ktrctl thaw\"" ]
	run --separate-stderr ktrctl mask GEN
	[ "$stderr" = "ktrctl: the kernel's rings are frozen: this holds after \"ktrctl thaw\"" ]
	FAKEPMC_TUNABLE=signal:SEGV run --separate-stderr ktrctl stop
	[ "$output" = signal:SEGV ]
	[ "$stderr" = 'ktrctl: frozen by signal 11 to 77 (oops): "ktrctl thaw" goes on' ]
	run ktrctl list
	[[ $output == *'frozen     SYSC; by signal 11 to 77 (oops)'* ]]
	gives 0 'debug.ktr.mask: 0x0' ktrctl debug.ktr.mask
}

@test "a daemon that refuses, or does not run: one line, and the kind of failure in the exit status" {
	while IFS='|' read -r fail code text words; do
		FAKEPMC_FAIL=$fail gives_like "$code" "ktrctl: $text: because the test wants it [[]*]" ktrctl $words
	done <<-'LIST'
	init:1:2|69|The kernel's rings are pmcbpfd's|mask
	set:1:1|77|Cannot set ktr.mask to "GEN"|mask GEN
	set:1:22|65|Cannot set ktr.stop to "x"|stop x
	ktr_control:1:1|77|Cannot freeze the kernel's rings|freeze
	ktr_control:1:6|69|Cannot mark the kernel's rings|mark x
	ktr_control:1:22|65|Cannot thaw the kernel's rings|thaw
	ktr_info:1:5|71|Cannot read the state of the kernel's rings|mask
	ktr_open:1:1|77|Cannot open the kernel's rings|alq f
	ktr_open:1:6|69|Cannot open the kernel's rings|alq f
	LIST
	[ ! -e f ]
}

# KTR-F10: debug.ktr.NAME of FreeBSD.  KTR-F01: entries.
@test "KTR-F01 KTR-F10: sysctl's names and form" {
	FAKEPMC_TUNABLE=0-1 gives 0 'debug.ktr.clear: 0
debug.ktr.compile: 0x2001
debug.ktr.cpumask: 0-1
debug.ktr.entries: 1024
debug.ktr.mask: 0x2000
debug.ktr.verbose: 0
debug.ktr.version: 1' ktrctl debug.ktr
	: >calls
	gives_like 0 'debug.ktr.entries: 1024 -> *' ktrctl debug.ktr.entries=2048
	run ktrctl debug.ktr.mask=0x2001
	[[ $output == 'debug.ktr.mask: 0x2000 -> '* ]]
	gives 0 'debug.ktr.clear: 0 -> 0' ktrctl debug.ktr.clear=1
	run ktrctl debug.ktr.clear=0
	[ "$(cat calls)" = 'set ktr.size to 131072
set ktr.mask to GEN,SYSC
ktr 2 -' ]
	run -64 ktrctl debug.ktr.verbose=1
	says 'ktrctl: debug.ktr.verbose is a program'\''s (-p PID): "tdump -l" prints the kernel'\''s entries'
	run -65 ktrctl debug.ktr.entries=5
}

@test "KTR-F04: debug.ktr.cpumask: the kernel's is a tunable, a process's is in its region" {
	FAKEPMC_TUNABLE=0-1 run -0 ktrctl debug.ktr.cpumask=1
	grep -qx 'set ktr.cpumask to 1' calls
	region
	gives 0 'debug.ktr.cpumask: 0-1' of_target debug.ktr.cpumask
	gives 0 'debug.ktr.cpumask: 0-1 -> 0,4-6' of_target debug.ktr.cpumask=0,4-6
	answers 0x71 cpumask
	gives 65 'ktrctl: "x" is no list of CPUs: 0-3,5' of_target debug.ktr.cpumask=x
	run -65 of_target debug.ktr.cpumask=1024
	answers 0x71 cpumask
}

@test "list: the kernel, and the processes with regions, in files of any name" {
	region
	ask write 0 3
	ask write 1 20
	begins 0 'PID     NAME             ENTRIES CPUS        WRITTEN STATE      MASK' ktrctl
	[ "${lines[1]}" = '-       kernel              1024    2     5000000000 on         SYSC' ]
	grep -qx "$(printf '%-7d' "$target") python3 *8 *2 *23 on *GEN,SYSC" <<<"$output"
	run -0 of_target list --json
	python3 -c 'import json, sys
[p] = json.load(sys.stdin)["producers"]
assert p["pid"] == int(sys.argv[1]), p
assert p["written"] == 23 and p["entries"] == 8 and p["cpus"] == 2, p
assert p["state"] == "on" and p["mask"] == "GEN,SYSC" and p["compiled"] == "~SPL", p' "$target" <<<"$output"
	source "$BUILD/completions/pmcbpf.bash"
	complete_line ktrctl -p ''
	[[ " ${COMPREPLY[*]} " == *" $target "* ]]
	FAKEPMC_FAIL=init:1:2 run -0 ktrctl list
	[[ ${lines[1]} == '-       kernel '*' no pmcbpfd -' ]]
	teardown
	rm to from
	region file="$BATS_TEST_TMPDIR/rings"
	gives 0 8 of_target entries
}

@test "KTR-29 KTR-31: -p PID mask is the variable of a process; a class that is not compiled in has no effect" {
	region
	gives 0 GEN,SYSC of_target mask
	gives 0 '' of_target mask DEV,CT1
	answers 0x1000004 mask
	gives 0 'debug.ktr.mask: 0x1000004 -> 0x0' ktrctl debug.ktr.mask=none -p "$target"
	answers 0x0 mask
	run ktrctl list -p "$target"
	[[ ${lines[1]} == *' off        none' ]]
	[ ! -s calls ]
	teardown
	rm to from
	region compile=0x5
	run -0 --separate-stderr of_target mask DEV,SPL
	[ "$stderr" = 'ktrctl: SPL: not compiled in: no effect' ]
	answers 0x8004 mask
	run --separate-stderr of_target mask all
	[ -z "$stderr" ]
	answers 0xffffffff mask
	gives 0 GEN,DEV of_target compile
}

@test "KTR-33: freezing from outside, and thawing by another ktrctl" {
	region
	gives 0 '' of_target freeze
	answers 0x0 mask
	answers 0x2001 saved_mask
	run of_target list
	[[ ${lines[1]} == *' frozen     GEN,SYSC' ]]
	gives 0 "ktrctl: process $target traces nothing already" of_target freeze
	answers 0x2001 saved_mask
	run --separate-stderr of_target mask
	[ "$output" = GEN,SYSC ]
	[[ $stderr == "ktrctl: process $target is frozen: nothing is traced until"* ]]
	gives 0 "ktrctl: process $target is frozen: this holds after \"ktrctl -p $target thaw\"" of_target mask DEV
	answers 0x0 mask
	run -65 of_target mask none
	gives 0 '' of_target thaw
	answers 0x4 mask
	answers 0x0 saved_mask
	run -65 of_target thaw
	says "ktrctl: process $target is not frozen: \"ktrctl -p $target mask CLASSES\" sets what it traces"
}

@test "debug.ktr.verbose, and settings that only a program can change" {
	region
	gives 0 'debug.ktr.verbose: 0 -> 2' of_target debug.ktr.verbose=2
	answers 0x2 verbose
	run -65 of_target debug.ktr.verbose=3
	run -64 of_target debug.ktr.clear=1
	gives 64 "ktrctl: a program's rings are its own: start it with KTR_ENTRIES=16" of_target debug.ktr.entries=16
	run -64 of_target compile DEV
	answers 0x2 verbose
}

@test "processes without rings, and missing processes" {
	run -69 ktrctl -p $$ mask
	says "ktrctl: process $$ has no trace rings: it must be built with -DKTR and -lktr, and started without KTR_SIZE=0"
	region
	kill -KILL "$target"
	wait "$target" || true
	gives 65 "ktrctl: there is no process $target: \"ktrctl list\" shows those that trace" of_target freeze
	run -65 of_target alq out
	[ ! -e out ]
}

@test "KTR-80: hostile headers are refused, and listed as unsound" {
	while IFS='|' read -r why fields; do
		region $fields
		gives 65 "ktrctl: the trace rings of process $target are unsound: $why" of_target mask
		run -0 ktrctl
		grep -q "^$target .*unsound" <<<"$output"
		run -65 of_target alq out
		[ ! -e out ]
		teardown
		rm to from
	done <<-'LIST'
	it does not begin as a region does|magic=KTRRGN2
	ktr version mismatch|version=2
	its entries are not of 64 bytes|entsize=32
	its number of entries is no power of two, or too large|entries=12
	its number of entries is no power of two, or too large|entries=0x2000000
	its number of rings is not possible|ncpu=1025
	its rings are not where they should be|stride=64
	its rings are not where they should be|hdrsize=4097
	it is shorter than its rings|entries=1024 size=8192
	LIST
}

@test "KTR-80: a mask at an invalid address is not written" {
	for address in 0 0x1000 0xffffffffff600000 1; do
		region mask_address=$address
		run -65 of_target mask GEN
		says "ktrctl: process $target has no variable where its ktr_mask should be: nothing was changed"
		run -65 of_target freeze
		answers 0x0 saved_mask
		teardown
		rm to from
	done
}

drained() { python3 "$BATS_TEST_DIRNAME/readregion.py" "$1"; }

file_has() { [ "$(drained out 2>/dev/null | tail -n 2)" = "$1" ]; }

# KTR-F06: entries written while alq runs, and no earlier ones; tracing continues.
@test "KTR-F06: alq records entries until it is stopped" {
	region
	ask write 0 3
	background ktrctl -p "$target" alq out >said
	wait_for file_has $'0 0\n0 0'
	ask write 0 2
	wait_for file_has $'2 0 3 4\n0 0'
	ask write 0 5
	ask write 1 1
	wait_for file_has $'7 0 3 4 5 6 7 8 9\n1 0 0'
	kill -INT "$pid"
	wait "$pid"
	[ "$(cat said)" = 'out: 8 entries, 0 failed (overwritten unseen)' ]
	[ "$(drained out)" = $'entries 8\n7 0 3 4 5 6 7 8 9\n1 0 0' ]
	[ "$(stat -c %a out)" = 600 ]
	# The mappings, by which formats are found, follow the rings.
	[[ $(tail -c +8193 out | head -n 1) =~ ^[0-9a-f]+-[0-9a-f]+' '[-rwxps]+' '.*/python3 ]]
	answers 0x2001 mask
}

@test "KTR-F06: alq counts entries that were overwritten before they were read" {
	region entries=8
	background ktrctl -p "$target" alq out >said
	wait_for file_has $'0 0\n0 0'
	kill -STOP "$pid"
	wait_for grep -q '^State:.T' "/proc/$pid/status"
	ask write 1 20
	kill -CONT "$pid"
	wait_for file_has $'0 0\n7 13 13 14 15 16 17 18 19'
	ask clear
	ask write 1 2
	wait_for file_has $'0 0\n9 13 13 14 15 16 17 18 19 0 1'
	kill -TERM "$pid"
	wait "$pid"
	[ "$(cat said)" = 'out: 9 entries, 13 failed (overwritten unseen)' ]
	[ "$(drained out | head -n 1)" = 'entries 16' ]
}

@test "KTR-F06: alq ends with --max, with -l, and with the process" {
	region
	background ktrctl -p "$target" alq out --max 256 >said 2>&1
	wait_for file_has $'0 0\n0 0'
	ask write 0 3
	ask write 1 3
	wait "$pid"
	[ "$(cat said)" = 'ktrctl: out has as many entries as --max allows
out: 4 entries, 0 failed (overwritten unseen)' ]
	gives 0 'out: 0 entries, 0 failed (overwritten unseen)' of_target alq out -l 0.01
	[ "$(drained out)" = $'entries 1\n0 0\n0 0' ]
	rm out
	background ktrctl -p "$target" alq out >said 2>&1
	wait_for file_has $'0 0\n0 0'
	ask write 1 3
	wait_for file_has $'0 0\n3 0 3 4 5'
	ask end || true
	wait "$pid"
	tail -n 1 said | grep -qx 'out: 3 entries, 0 failed (overwritten unseen)'
	[ "$(drained out)" = $'entries 4\n0 0\n3 0 3 4 5' ]
}

@test "KTR-F06: alq of the kernel's rings" {
	region file=rings
	FAKEPMC_RINGS=rings background ktrctl alq out >said
	wait_for file_has $'0 0\n0 0'
	ask write 0 3
	wait_for file_has $'3 0 0 1 2\n0 0'
	kill -TERM "$pid"
	wait "$pid"
	[ "$(cat said)" = 'out: 3 entries, 0 failed (overwritten unseen)' ]
	# The daemon has other rings by now, or has ended.
	FAKEPMC_RINGS=rings FAKEPMC_RINGS_WRITTEN=7 run -0 ktrctl alq out
	[ "${lines[0]}" = 'ktrctl: the kernel has other rings now: "ktrctl alq" would open those' ]
	FAKEPMC_RINGS=rings FAKEPMC_FAIL=ktr_info:1:38 run -0 ktrctl alq out
	[ "${lines[0]}" = 'ktrctl: pmcbpfd has ended: because the test wants it' ]
	# A copy for unprivileged users does not continue.
	teardown
	rm to from rings
	region file=rings flags=5
	FAKEPMC_RINGS=rings run -77 ktrctl alq none
	[ ! -e none ]
}

@test "alq writes to files only, and names the obstacle" {
	region
	mkfifo fifo
	ln -s elsewhere link
	run -73 of_target alq fifo
	run -73 of_target alq link
	[ ! -e elsewhere ]
	gives 73 'ktrctl: /dev/null is not a file: alq writes here and there in it' of_target alq /dev/null
	gives 73 'ktrctl: no/such: No such file or directory' of_target alq no/such
	run -71 bash -c "ulimit -f 1; trap '' XFSZ; '$BUILD/bin/ktrctl' -p $target alq out -l 0.01"
	says 'ktrctl: out: File too large'
}

# KTR-F16: the entries are made, and counted in the rings themselves.
@test "KTR-F16: test makes entries of its own" {
	# The address sanitizer opens libraries under its own name, not the tool's.
	[ -z "$(sanitizer)" ] || export LD_LIBRARY_PATH=$BUILD/lib
	run -0 ktrctl test 5000
	[[ $output =~ ^5000' entries in '[0-9.]+' ms: '[0-9.]+' ns each'$ ]]
	gives_like 0 '1000000 entries in *' ktrctl test
	KTR_MASK=none gives_like 0 '10 entries in *' ktrctl test 10
	KTR_SIZE=0 run -69 ktrctl test
}

@test "KTR-F06: alq ends when the process has other memory" {
	region
	background ktrctl -p "$target" alq out >said 2>&1
	wait_for file_has $'0 0\n0 0'
	ask write 0 1
	wait_for file_has $'1 0 0\n0 0'
	ask exec
	wait "$pid"
	[ "$(cat said)" = "ktrctl: process $target has other rings now, or none; its last entries may not be there
out: 1 entries, 0 failed (overwritten unseen)" ]
	[ "$(drained out)" = $'entries 2\n1 0 0\n0 0' ]
	grep -qa python3 out
}
