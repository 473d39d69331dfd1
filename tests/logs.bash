# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What tests of this kernel and of the guests' read from the text of a log on standard input.

# chains SIDE - the frames of each sample of side u or s, one sample on a line
chains() {
	awk -v side="$1" '$1 == "callchain" { if (line) print line; line = ""; on = $NF == side; next }
		$1 == "..." { if (on) line = line " " $2; next }
		{ if (line) print line; line = ""; on = 0 }
		END { if (line) print line }'
}

# inside ADDRESS NAME - the address is in that function of the program $DEEP
declare -gA RANGE
inside() {
	local at size

	[ -n "${RANGE[$2]:-}" ] || RANGE[$2]=$(readelf -sW "$DEEP" | awk -v name="$2" '$8 == name { print $2, $3 }')
	read -r at size <<<"${RANGE[$2]}"
	((16#$at <= $1 && $1 < 16#$at + size))
}

# unmapped - what tests/vm/progs/unmaps.c did, in pages from where it mapped its program: +N mapped
# there, N-M unmapped
unmapped() {
	local tag pid start end base=0 of=0 n=0 said=()

	while read -r tag pid start end; do
		if [[ $tag == map-in && $end == *unmaps* ]]; then
			of=$pid
			# The first is the program itself.
			[ $((++n)) -ne 2 ] || base=$start
			[ $n -lt 2 ] || said+=("+$(((start - base) / 4096))")
		elif [[ $tag == map-out && $pid == "$of" ]]; then
			said+=("$(((start - base) / 4096))-$(((end - base) / 4096))")
		fi
	done
	echo "${said[*]}"
}
# From page 2 on there was a hole, so that the last call is logged whole from there.
# shellcheck disable=SC2034 # the tests use it
UNMAPPED="+0 2-4 0-1 5-6 +5 1-2 2-8"
