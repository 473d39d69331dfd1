#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Unwinding by compiled call frame information: registers and stacks of running programs, sampled by the kernel, are
# walked by the product's tables and walker, by its program in the kernel with a daemon's tables, and by libdwfl.  No
# frame may differ.

load helpers

# A PMC of all CPUs needs the mappings of all processes.
setup() {
	in_tmpdir_with_daemon -o kern.hwpmc.debugflags='sampling=read,init'
	client all
	expect all 'log 0' log log
	expect all 'start 0' alloc 0 15 0x20004 0 0x80 setcount 1000000000 start
}

export -f files_are_read daemon_answers asleep
export DAEMON_LOG

# learn_unwound PROGRAM: as learn, of a program that is there until then
learn_unwound() {
	"$1" asleep 3>&- &
	TARGET=$!
	wait_for is_program $TARGET "${1##*/}"
	wait_for asleep $TARGET
	wait_for files_are_read
	kill $TARGET
	wait $TARGET || true
	TARGET=
}

# walk COMMAND...: compares all samples of both walks
walk() {
	local numbers='samples ([0-9]+), whole ([0-9]+), equal ([0-9]+), shorter [0-9]+, longer ([0-9]+), wrong 0, signal ([0-9]+)'

	run truth -d "$DAEMON_PID" "$@"
	status_is 0
	[[ $output =~ (^|$'\n')$numbers ]]
	samples=${BASH_REMATCH[2]} whole=${BASH_REMATCH[3]} longer=${BASH_REMATCH[5]} signal=${BASH_REMATCH[6]}
	[[ $output =~ 'kernel: '$numbers ]]
	in_kernel=${BASH_REMATCH[1]} whole_in_kernel=${BASH_REMATCH[2]} equal_in_kernel=${BASH_REMATCH[3]}
	[ "$samples" -ge 20 ]
	[ "$longer" -eq 0 ]
	[ $((in_kernel * 100)) -ge $((samples * 95)) ]
}

most_are_whole_in_kernel() { [ $((whole_in_kernel * 100)) -ge $((in_kernel * 95)) ] || { echo "$output" >&2; return 1; }; }
most_are_whole() {
	[ $((whole * 100)) -ge $((samples * 95)) ] || { echo "$output" >&2; return 1; }
	most_are_whole_in_kernel
}

@test "unwind: recursion, frames without a fixed size, aligned frames, callbacks, leaves, threads, system calls, vfork" {
	learn_unwound unwound
	for shape in deep sized aligned callback leaf threads calls vfork; do
		walk unwound $shape
		most_are_whole
	done
}

@test "unwind: any instruction of small functions, their prologues, epilogues and PLT entries" {
	learn_unwound unwound
	walk unwound anywhere
	most_are_whole
}

@test "unwind: PLT entries that the linker lld has written, which have no information" {
	learn_unwound unwound-lld
	walk unwound-lld linked
	most_are_whole
	# libdwfl guesses there.
	[[ $output =~ equal\ ([0-9]+) ]]
	[ $whole -gt "${BASH_REMATCH[1]}" ]
	[ $whole_in_kernel -gt $equal_in_kernel ]
}

@test "unwind: through the C library's .init section, where libdwfl has no information" {
	learn_unwound unwound
	walk unwound init
	most_are_whole
	[[ $output =~ equal\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -lt $samples ]
}

@test "unwind: through a signal handler's frame into the code that was interrupted, on any stack" {
	learn_unwound unwound
	walk unwound signal
	most_are_whole
	[ $((signal * 100)) -ge $((samples * 90)) ]
	walk unwound near
	most_are_whole
	[ "$signal" -ge 20 ]
	# On a stack of its own the sample's copy ends with that stack: a cut, and no guess.  The kernel has both.
	walk unwound fault
	[ "$signal" -ge 20 ]
	[ $((whole + signal)) -ge $((samples * 95 / 100)) ]
	[[ $output == *'cut: stack '* ]]
	most_are_whole_in_kernel
}

@test "unwind: a static program and a static PIE" {
	for program in unwound-static unwound-static-pie; do
		learn_unwound $program
		for shape in deep aligned anywhere; do
			walk $program $shape
			most_are_whole
		done
	done
}

@test "unwind: libraries that follow each other at the same place, and code without a file" {
	learn unwound libraries "$BUILD"/tests/unwound-{100,3000}.so
	walk unwound libraries "$BUILD"/tests/unwound-{100,3000}.so
	most_are_whole
	walk unwound compiled
	most_are_whole_in_kernel
	[ $((equal_in_kernel * 100)) -ge $((in_kernel * 95)) ]
}

@test "unwind: a program whose file is gone, and one in a mount namespace of its own" {
	cp "$BUILD/tests/unwound" copy
	learn_unwound ./copy
	walk ./copy deleted
	most_are_whole
	mkdir hidden
	cat >unseen <<-'end'
		mount -t tmpfs none hidden && cp "$BUILD/tests/unwound" hidden/copy || exit
		hidden/copy asleep & copy=$!
		until [ "$(readlink /proc/$copy/exe)" != "$(readlink /proc/$$/exe)" ] && asleep $copy && files_are_read; do sleep 0.05; done
		kill $copy
		exec truth "$1" "$2" "$PWD/hidden/copy" "$3"
	end
	truth() { command unshare -m bash unseen "$@"; }
	walk deep
	most_are_whole
}

@test "unwind: programs of the system, as they are" {
	head -c 9000000 /dev/urandom >random
	base64 -w 20 random | head -n 500000 >lines
	for i in $(seq 300); do echo "int f$i(int a) { for (int i = 0; i < a; i++) a ^= i * $i; return a; }"; done >made.c
	python=$(python3 -c 'import sys; print(sys.executable)')
	json='import json; len(json.dumps([str(i) for i in range(400000)]))'
	for command in 'xz -9 -k -c random' 'sort --parallel=3 lines' "$(gcc -print-prog-name=cc1) -quiet -O2 -o /dev/null made.c"; do
		# shellcheck disable=SC2086 # words
		learn $command
		# shellcheck disable=SC2086
		walk $command
		most_are_whole
	done
	learn "$python" -S -c "$json"
	walk "$python" -S -c "$json"
	most_are_whole
}

@test "unwind: node: code of its compilers has no call frame information" {
	command -v node >/dev/null || skip "node is not installed"
	js='let a = []; for (let i = 0; i < 300000; i++) a.push({ k: String(i * 7 % 1000) }); a.sort((x, y) => x.k < y.k ? -1 : 1); JSON.stringify(a)'
	learn node -e "$js"
	walk node -e "$js"
	most_are_whole_in_kernel
}

@test "unwind: an address outside of code is no frame" {
	learn_unwound unwound
	pmc record -o log unwound lost
	pmc report --folded folded log
	grep -q '^unwound;\[cut: address outside of code\];lost;deep;deep;deep;deep;spin [0-9]*$' folded
	refute grep 'outside of code\];[^l]' folded
}
