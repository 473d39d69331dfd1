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

# start_alq FILE [OPTION]...: in the background, what it says in ./said.
start_alq() {
	ktrctl "${@:2}" alq "$1" >said 2>&1 3>&- &
	ALQ=$!
	wait_for begun "$1"
}

# end_alq COMMAND...: and it ends by that.
end_alq() {
	"$@"
	wait "$ALQ"
	ALQ=
}

# The texts in a file of rings, oldest first, without columns.
texts() { tdump -r -i "$1" | tail -n +3 | sed -E 's/^ *[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ //'; }

# holds FILE N: the file has N entries
holds() { [ "$(tdump -i "$1" | tail -n +3 | wc -l)" -eq "$2" ]; }

@test "KTR-29 KTR-31 KTR-33: -p PID: what a running program traces is picked, has no effect, is frozen and thawed" {
	start_traced
	gives 0 '~CLK,~SPL' ktrctl -p "$TRACED" mask
	gives 0 GEN,DEV ktrctl -p "$TRACED" compile
	written 2
	gives 0 '' ktrctl -p "$TRACED" mask DEV
	letters abc
	written 5
	ktrctl -p "$TRACED" mask none
	letters abc
	written 5
	run -0 --separate-stderr ktrctl -p "$TRACED" mask NET,DEV
	[ "$stderr" = 'ktrctl: NET: not compiled in: no effect' ]
	gives 0 NET,DEV ktrctl -p "$TRACED" mask
	letters ab
	written 7
	ktrctl -p "$TRACED" debug.ktr.mask=0x5
	letters a
	written 9
	run -0 ktrctl list
	grep -qE "^$TRACED +traced +1024 +[0-9]+ +9 on +GEN,DEV$" <<<"$output"
	ktrctl -p "$TRACED" freeze
	letters abc
	written 9
	run -0 ktrctl -p "$TRACED" list
	[[ ${lines[1]} == *' frozen     GEN,DEV' ]]
	ktrctl -p "$TRACED" thaw
	letters a
	written 11
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
	for name in cpumask=0 verbose=1; do
		gives 69 "ktrctl: process $TRACED was started without KTR_CPUMASK and KTR_VERBOSE: it looks at neither" \
			ktrctl -p "$TRACED" debug.ktr.$name
	done
}

@test "another user's program: the kernel decides, and ktrctl prints the rule" {
	open_tmpdir
	start_traced
	run -77 run_as_nobody ktrctl -p "$TRACED" mask none
	[ "$output" = "ktrctl: process $TRACED is not yours to look at: be its user, or root" ]
	run -0 run_as_nobody ktrctl list
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
	end_alq kill "$TRACED"
	[ "$(texts mine)" = $'letter x\nletter y\nletter z' ]
}

# KTR-F06: the file outlives the program; the texts come from the executable.
@test "KTR-F06: alq writes a program's trace to a file that tdump reads, longer than its rings" {
	start_traced env KTR_ENTRIES=16
	start_alq file -p "$TRACED"
	local total=0 i
	for ((i = 0; i < 20; i++)); do
		letters abcd
		total=$((total + 8))
		wait_for holds file $total
	done
	end_alq kill -INT "$ALQ"
	[ "$(cat said)" = 'file: 160 entries, 0 failed (overwritten unseen)' ]
	kill "$TRACED"
	wait "$TRACED" || true
	texts file >all
	[ "$(wc -l <all)" -eq 160 ]
	[ "$(grep -c '^letter d$' all)" -eq 20 ]
	[ "$(grep -c '^after it a text$' all)" -eq 80 ]
}

@test "the kernel's rings: listed, masked, frozen, thawed" {
	start_daemon
	state off
	run -0 ktrctl compile SYSC,GEN
	while IFS='|' read -r word words; do
		ktrctl $words
		state "$word"
	done <<-'LIST'
	on|mask SYSC
	frozen|freeze
	frozen|freeze
	frozen|thaw
	on|thaw
	off|mask none
	LIST
	run -65 ktrctl thaw
	ktrctl stop signal:USR2
	gives 0 signal:USR2 ktrctl stop
}

@test "KTR-F06: alq of the kernel's rings, which ends when there are other rings, or no daemon" {
	start_daemon
	ktrctl compile GEN
	ktrctl mark 'made before alq'
	start_alq file
	ktrctl mark 'one for the file'
	ktrctl mark 'and another'
	has_both() { texts file >now && grep -q 'one for the file' now && grep -q 'and another' now; }
	wait_for has_both
	end_alq kill -TERM "$ALQ"
	has_both
	refute grep -q 'made before alq' now
	grep -qE '^file: [0-9]+ entries, 0 failed' said
	start_alq other
	ktrctl mark 'the old ones'
	wait_for grep -qa 'the old ones' other
	end_alq ktrctl entries 64
	grep -q 'the kernel has other rings now' said
	texts other | grep -q 'the old ones'
	start_alq second
	end_alq stop_daemon
	grep -q 'pmcbpfd has ended' said
}

@test "no privilege, no rings, no daemon: one line each, with a remedy" {
	start_daemon
	for words in freeze 'mask all' 'mark x'; do
		run -77 run_as_nobody ktrctl $words
		[ ${#lines[@]} -eq 1 ]
	done
	run -0 run_as_nobody ktrctl mask
	for words in 'mark x' 'alq file'; do
		run -69 ktrctl $words
		[ ${#lines[@]} -eq 1 ]
	done
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

# KTR-F16: as an ordinary user; another user's KTR_FILE is not touched.
@test "KTR-F16: test makes entries in rings of its own" {
	open_tmpdir
	echo mine >file
	export KTR_FILE=$PWD/file KTR_MASK=none KTR_ENTRIES=8
	gives_like 0 '100000 entries in *' run_as_nobody ktrctl test 100000
	[ "$(cat file)" = mine ]
}
