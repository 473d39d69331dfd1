#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ktrctl: the rings of this kernel, and of programs that libktr gives theirs.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	local each
	for each in "${TRACED:-}" "${ALQ:-}"; do
		[ -z "$each" ] || { kill -KILL "$each" && wait "$each"; } 2>/dev/null || true
	done
	stop_daemon || true
}

# start_traced [COMMAND...]: $TRACED, a program with trace points, which `letters` triggers.
start_traced() {
	rm -f to from
	mkfifo to from
	"$@" traced <to >from 2>err 3>&- &
	TRACED=$!
	exec {TO}>to {FROM}<from
	letters s
}

# letters TEXT: two entries for each letter; they are written when this returns.
letters() {
	printf %s "$1" >&"$TO"
	read -r -N ${#1} -t $PATIENCE _ <&"$FROM"
}

# written N: the process has written N entries
written() { [ "$(ktrctl -p "$TRACED" list --json | jq_written)" = "$1" ]; }
jq_written() { python3 -c 'import json, sys; print(json.load(sys.stdin)["producers"][0]["written"])'; }

# state WORD: of the kernel's rings
state() { [ "$(ktrctl list | awk '$2 == "kernel" { print $6 }')" = "$1" ]; }

# begun FILE: alq has recorded each ring's position, which completes the beginning of the file.
begun() { [ "$(head -c 7 "$1")" = KTRRGN1 ]; }

# The texts in a file of rings, oldest first, without columns.
texts() { tdump -r -i "$1" | tail -n +3 | sed -E 's/^ *[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ //'; }

# holds FILE N: the file has N entries
holds() { [ "$(tdump -i "$1" | tail -n +3 | wc -l)" -eq "$2" ]; }

@test "KTR-29: -p PID mask selects the classes that a running program traces" {
	start_traced
	run -0 ktrctl -p "$TRACED" mask
	[ "$output" = '~CLK,~SPL' ]
	written 2
	run -0 --separate-stderr ktrctl -p "$TRACED" mask DEV
	[ -z "$output$stderr" ]
	letters abc
	written 5
	ktrctl -p "$TRACED" mask none
	letters abc
	written 5
	ktrctl -p "$TRACED" debug.ktr.mask=0x5
	letters a
	written 7
	run -0 ktrctl list
	grep -qE "^$TRACED +traced +1024 +[0-9]+ +7 on +GEN,DEV$" <<<"$output"
}

@test "KTR-31: a class that a program has not compiled in has no effect, and ktrctl says so" {
	start_traced
	run -0 ktrctl -p "$TRACED" compile
	[ "$output" = GEN,DEV ]
	run -0 --separate-stderr ktrctl -p "$TRACED" mask NET,DEV
	[ "$stderr" = 'ktrctl: NET: not compiled in: no effect' ]
	run -0 ktrctl -p "$TRACED" mask
	[ "$output" = NET,DEV ]
	letters ab
	written 4
}

@test "KTR-33: one ktrctl freezes a program, another one thaws it" {
	start_traced
	ktrctl -p "$TRACED" freeze
	letters abc
	written 2
	run -0 ktrctl -p "$TRACED" list
	[[ ${lines[1]} == *' frozen     ~CLK,~SPL' ]]
	ktrctl -p "$TRACED" thaw
	letters a
	written 4
	run ktrctl -p "$TRACED" thaw
	[ "$status" -eq 65 ]
}

@test "KTR-F04 KTR-F05: a program's CPUs and its verbosity, while it runs" {
	start_traced env KTR_CPUMASK=0xffffffffffffffff
	run -0 ktrctl -p "$TRACED" debug.ktr.cpumask
	[[ $output =~ ^debug\.ktr\.cpumask:' '0(-[0-9]+)?$ ]]
	taskset -cp 0 "$TRACED"
	letters a
	written 4
	ktrctl -p "$TRACED" debug.ktr.cpumask=1023
	letters abc
	written 4
	ktrctl -p "$TRACED" debug.ktr.cpumask=0
	letters a
	written 6
	[ ! -s err ]
	ktrctl -p "$TRACED" debug.ktr.verbose=1
	letters b
	ktrctl -p "$TRACED" debug.ktr.verbose=0
	letters c
	grep -qx 'cpu0 letter b' err
	refute grep -q 'letter c' err
	written 10
	kill "$TRACED"
	# A program that was started without them ignores both, and ktrctl says so.
	start_traced
	run ktrctl -p "$TRACED" debug.ktr.cpumask=0
	[ "$status" -eq 69 ]
	[ "$output" = "ktrctl: process $TRACED was started without KTR_CPUMASK and KTR_VERBOSE: it looks at neither" ]
	run ktrctl -p "$TRACED" debug.ktr.verbose=1
	[ "$status" -eq 69 ]
}

@test "another user's program: the kernel decides, and ktrctl prints the rule" {
	open_tmpdir
	start_traced
	run -77 run_as_nobody ktrctl -p "$TRACED" mask none
	[ "$output" = "ktrctl: process $TRACED is not yours to look at: be its user, or root" ]
	run run_as_nobody ktrctl list
	[ "$status" -eq 0 ]
	refute grep -q "^$TRACED " <<<"$output"
	written 2
}

@test "an unprivileged user controls his own programs, without a daemon" {
	open_tmpdir
	chmod a+w .
	start_traced "${nobody[@]}" env LD_LIBRARY_PATH="$(public_build)/lib"
	run -0 run_as_nobody ktrctl -p "$TRACED" mask DEV
	letters a
	run -0 run_as_nobody ktrctl -p "$TRACED" list
	[[ ${lines[1]} == *' 3 on '*DEV ]]
	run_as_nobody timeout 600 ktrctl -p "$TRACED" alq "$PWD/mine" >said 3>&- &
	ALQ=$!
	wait_for begun mine
	letters xyz
	wait_for holds mine 3
	# It ends with the program.
	kill "$TRACED"
	wait "$ALQ"
	ALQ=
	[ "$(texts mine)" = $'letter x\nletter y\nletter z' ]
}

# KTR-F06: the file outlives the program; the texts come from the executable.
@test "KTR-F06: alq writes a program's trace to a file that tdump reads, longer than its rings" {
	start_traced env KTR_ENTRIES=16
	ktrctl -p "$TRACED" alq file >said 3>&- &
	ALQ=$!
	wait_for begun file
	local total=0 i
	for ((i = 0; i < 20; i++)); do
		letters abcd
		total=$((total + 8))
		wait_for holds file $total
	done
	kill -INT "$ALQ"
	wait "$ALQ"
	ALQ=
	[ "$(cat said)" = 'file: 160 entries, 0 failed (overwritten unseen)' ]
	kill "$TRACED"
	wait "$TRACED" || true
	texts file >all
	[ "$(wc -l <all)" -eq 160 ]
	[ "$(grep -c '^letter d$' all)" -eq 20 ]
	[ "$(grep -c '^after it a text$' all)" -eq 80 ]
}

@test "KTR-F01 KTR-F10: the kernel's rings by FreeBSD's names" {
	start_daemon
	run -0 ktrctl debug.ktr.entries=512
	[ "$output" = 'debug.ktr.entries: 0 -> 0' ] || [ "$output" = 'debug.ktr.entries: 1024 -> 512' ]
	run -0 ktrctl compile GEN,SYSC
	run -0 ktrctl entries
	[ "$output" = 512 ]
	run -0 ktrctl debug.ktr.entries=2048
	[ "$output" = 'debug.ktr.entries: 512 -> 2048' ]
	run -0 ktrctl debug.ktr.compile
	[ "$output" = 'debug.ktr.compile: 0x2001' ]
	run -0 ktrctl debug.ktr.mask=GEN
	[[ $output == *' -> 0x1' ]]
	run -0 ktrctl debug.ktr.version
	[ "$output" = 'debug.ktr.version: 1' ]
	ktrctl mark 'to be forgotten'
	tdump | grep -q 'to be forgotten'
	ktrctl debug.ktr.clear=1
	refute grep -q 'to be forgotten' <(tdump)
}

@test "KTR-F04: the CPUs that the kernel traces on" {
	[ "$(nproc)" -gt 1 ] || skip "one CPU"
	start_daemon
	ktrctl compile SYSC
	run -0 ktrctl debug.ktr.cpumask=1
	# Writers that were active there have finished.
	taskset -c 0 true
	ktrctl debug.ktr.clear=1
	taskset -c 0 true
	taskset -c 1 true
	ktrctl freeze
	run -0 tdump -m SYSC
	grep -q '^1' <<<"$output"
	refute grep -q '^0' <<<"$output"
}

@test "the kernel's rings: listed, masked, frozen, thawed, cleared" {
	start_daemon
	state off
	run -0 ktrctl compile SYSC,GEN
	run -0 --separate-stderr ktrctl mask SYSC,INET
	[ "$stderr" = 'ktrctl: INET: not loaded: no effect' ]
	state on
	ktrctl freeze
	ktrctl freeze
	state frozen
	run --separate-stderr -0 ktrctl mask
	[ "$output" = SYSC,INET ]
	ktrctl thaw
	state frozen
	ktrctl thaw
	state on
	run ktrctl thaw
	[ "$status" -eq 65 ]
	ktrctl mask none
	state off
	run ktrctl stop nonsense
	[ "$status" -eq 65 ]
	ktrctl stop signal:USR2
	run -0 ktrctl stop
	[ "$output" = signal:USR2 ]
}

@test "KTR-F06: alq of the kernel's rings" {
	start_daemon
	ktrctl compile GEN
	ktrctl mark 'made before alq'
	ktrctl alq file >said 3>&- &
	ALQ=$!
	wait_for begun file
	ktrctl mark 'one for the file'
	ktrctl mark 'and another'
	has_both() { texts file >now && grep -q 'one for the file' now && grep -q 'and another' now; }
	wait_for has_both
	kill -TERM "$ALQ"
	wait "$ALQ"
	ALQ=
	has_both
	refute grep -q 'made before alq' now
	grep -qE '^file: [0-9]+ entries, 0 failed' said
}

@test "no privilege, no rings, no daemon: one line each, with a remedy" {
	start_daemon
	run -77 run_as_nobody ktrctl freeze
	run -77 run_as_nobody ktrctl mask all
	run -77 run_as_nobody ktrctl mark x
	[ ${#lines[@]} -eq 1 ]
	run -0 run_as_nobody ktrctl mask
	run -69 ktrctl mark x
	[ ${#lines[@]} -eq 1 ]
	run -69 ktrctl alq file
	[ ${#lines[@]} -eq 1 ]
	stop_daemon
	run -69 ktrctl freeze
	[ ${#lines[@]} -eq 1 ]
	[[ $output == "ktrctl: The kernel's rings are pmcbpfd's: no pmcbpfd answers at $PMCBPF_SOCKET: start it as root"* ]]
	# Nor is a daemon started that would end with ktrctl.
	unset PMCBPF_SOCKET
	if [ ! -S /run/pmcbpf/pmc.sock ]; then
		run -69 ktrctl compile SYSC
	fi
	run -0 ktrctl list
}

@test "KTR-F06: alq ends when the kernel has other rings, or no daemon" {
	start_daemon
	ktrctl compile GEN
	ktrctl alq file 2>said >>said 3>&- &
	ALQ=$!
	wait_for begun file
	ktrctl mark 'the old ones'
	wait_for grep -qa 'the old ones' file
	ktrctl entries 64
	wait "$ALQ"
	grep -q 'the kernel has other rings now' said
	texts file | grep -q 'the old ones'
	ktrctl alq second 2>said >>said 3>&- &
	ALQ=$!
	wait_for begun second
	stop_daemon
	wait "$ALQ"
	ALQ=
	grep -q 'pmcbpfd has ended' said
}

# KTR-F16: as an ordinary user; another user's KTR_FILE is not touched.
@test "KTR-F16: test makes entries in rings of its own, and counts them there" {
	open_tmpdir
	echo mine >file
	export KTR_FILE=$PWD/file KTR_MASK=none KTR_ENTRIES=8
	run -0 run_as_nobody ktrctl test 100000
	[[ $output =~ ^100000' entries in '[0-9.]+' ms: '[0-9.]+' ns each'$ ]]
	[ "$(cat file)" = mine ]
	KTR_SIZE=0 run -69 run_as_nobody ktrctl test
}
