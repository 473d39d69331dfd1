# SPDX-License-Identifier: BSD-2-Clause
#
# Unwinding by compiled call frame information: registers and stacks of running programs, sampled by the kernel, are
# walked by the product's tables and walker and by libdwfl.  No frame may differ.  No daemon takes part.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() { :; }

# walk COMMAND...: prints the comparison of all samples; most chains are whole.
walk() {
	run truth "$@"
	status_is 0
	[[ $output =~ 'samples '([0-9]+)', whole '([0-9]+)', equal '([0-9]+)', shorter '([0-9]+)', longer '([0-9]+)\
', wrong 0, signal '([0-9]+)', frames '([0-9]+) ]]
	samples=${BASH_REMATCH[1]} whole=${BASH_REMATCH[2]} longer=${BASH_REMATCH[5]} signal=${BASH_REMATCH[6]}
	[ "$samples" -ge 20 ]
	[ "$longer" -eq 0 ]
}

most_are_whole() { [ $((whole * 100)) -ge $((samples * 95)) ] || { echo "$output" >&2; return 1; }; }

@test "unwind: recursion, frames without a fixed size, aligned frames, callbacks, threads, system calls" {
	for shape in deep sized aligned callback threads calls; do
		walk unwound $shape
		most_are_whole
	done
}

@test "unwind: any instruction of small functions, their prologues, epilogues and PLT entries" {
	walk unwound anywhere
	most_are_whole
}

@test "unwind: through a signal handler's frame into the code that was interrupted" {
	walk unwound signal
	most_are_whole
	[ $((signal * 100)) -ge $((samples * 90)) ]
	# On a stack of its own the sample's copy ends with that stack: a cut, and no guess.
	walk unwound fault
	[ "$signal" -ge 20 ]
	[ $((whole + signal)) -ge $((samples * 95 / 100)) ]
	[[ $output == *'cut: stack '* ]]
}

@test "unwind: a static program and a static PIE" {
	for shape in deep aligned anywhere; do
		walk unwound-static $shape
		most_are_whole
		walk unwound-static-pie $shape
		most_are_whole
	done
}

@test "unwind: programs of the system, as they are" {
	head -c 9000000 /dev/urandom >random
	base64 -w 20 random | head -n 500000 >lines
	walk xz -9 -k -c random
	most_are_whole
	walk sort --parallel=3 lines
	most_are_whole
	walk python3 -c 'import json; len(json.dumps([str(i) for i in range(400000)]))'
	most_are_whole
}
