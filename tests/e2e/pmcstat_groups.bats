#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Groups of events on the command lines of tools: {a,b}.

load helpers

CLOCK=CPU_CLOCK MAX=syscalls:sys_enter_sched_get_priority_max MIN=syscalls:sys_enter_sched_get_priority_min

setup() {
	need_calls
	in_tmpdir_with_daemon
}

teardown() { stop_daemon; }

# grouped ARGUMENT...: pmcstat counts as CSV, in ./counts
grouped() {
	run pmcstat -o counts --csv "$@"
	[ "$status" -eq 0 ] || unless_hidden "$output"
	status_is 0
}

# The values of the columns of the last row, without the time, in $values.
last_row() { IFS=, read -r _ values < <(tail -n 1 counts); }

# PERF-003
@test "the members of a group have columns, and what was typed in them is read like other events" {
	grouped -C -d -p PAGE_FAULT.ALL -p "{$MAX,page-faults,usr,$MAX,filter=common_pid > 0}" -p "{$MAX,page-faults,usr}" \
		"$BUILD/tests/load" forks=3 calls=20
	head -n 1 counts >heads
	[ "$(tr -cd , <heads | wc -c)" -eq 6 ]
	last_row
	[[ $values == *,80,*,80,80,* ]]
}

@test "members of one event have equal counts in each row, with running totals and with increments" {
	grouped -d -w 0.01 -p "{$CLOCK,$MIN,$CLOCK}" -C -p "{$CLOCK,$CLOCK}" "$BUILD/tests/load" forks=4 spins=30000000
	[ "$(wc -l <counts)" -gt 3 ]
	awk -F, 'NR > 1 && ($2 != $4 || $5 != $6) { print; exit 1 }' counts
}

@test "sides behind a group are those of each member" {
	grouped -p "{page-faults,minor-faults}:u" -p page-faults:u "$BUILD/tests/load" pages=500
	last_row
	IFS=, read -r all minor alone <<<"$values"
	[ "$all" -ge 500 ]
	[ "$minor" -ge 500 ]
	[ "$all" -eq "$alone" ]
}

@test "PERF-024: a group of a CPU is read at one instant there: equal members are equal" {
	pmcstat -o counts --csv -C -c 0 -w 0.02 -s "{$CLOCK,$MIN,PAGE_FAULT.READ,$CLOCK,$MIN,PAGE_FAULT.READ,CONTEXT_SWITCHES}" \
		taskset -c 0 sh -c 'for _ in 1 2 3 4 5; do "$1" calls=20 pages=100 spins=30000000; done' - "$BUILD/tests/load"
	[ "$(wc -l <counts)" -gt 3 ]
	awk -F, 'NR > 1 && ($2 != $5 || $3 != $6 || $4 != $7) { print; exit 1 }' counts
	last_row
	IFS=, read -r clock _ faults _ _ _ switches <<<"$values"
	[ "$clock" -gt 0 ]
	[ "$faults" -gt 0 ]
	[ "$switches" -gt 0 ]
	pmcstat -o counts --csv -c 0 -s "{$MAX,$CLOCK,$MAX}" taskset -c 0 "$BUILD/tests/load" calls=20
	last_row
	# Others may make these calls as well.
	IFS=, read -r max _ again <<<"$values"
	[ "$max" -ge 20 ]
	[ "$max" -eq "$again" ]
}

@test "groups of several CPUs: columns of each, or sums" {
	cpus=$(nproc)
	pmcstat -o counts --csv -s "{$MAX,$MAX}" "$BUILD/tests/load" threads=2 forks=2 calls=20
	awk -F, 'NR > 1 { for (i = 2; i <= NF; i += 2) { sum += $i; if ($i != $(i + 1)) exit 1 } print sum }' counts >sum
	[ "$(head -n 1 counts | tr -cd , | wc -c)" -eq $((2 * cpus)) ]
	[ "$(<sum)" -ge 100 ]
	pmcstat -o counts --csv --per-machine -s "{$MAX,$MAX}" "$BUILD/tests/load" threads=2 forks=2 calls=20
	last_row
	[ "${values%,*}" -ge 100 ]
	[ "${values%,*}" = "${values#*,}" ]
	run pmcstat -c 0 -l 0.1 -s "{$CLOCK,TSC}"
	[ "$status" -eq 71 ]
	[[ $output == *'"TSC", member 2 of a group: '*' is read by itself, and a group by one program on its CPU'* ]]
}

# refuses TEXT GROUP [OPTION...]
refuses() {
	run pmcstat "${@:3}" -p "$2" true
	[ "$status" -ne 0 ]
	[[ $output == *"$1"* ]] || { echo "$output; wanted: $1" >&2; return 1; }
}

@test "a group that is none shows the place; a member that cannot be is named" {
	refuses '"{a,,b}": an event is missing at ",b}"' '{a,,b}'
	refuses '"{}": an event is missing at "}"' '{}'
	refuses '"{a,}": an event is missing at "}"' '{a,}'
	refuses '"{a,b": "}" is missing at the end' '{a,b'
	refuses '"{a,{b}}": a group in a group at "{b}}"' '{a,{b}}'
	refuses '"{a,b}x": behind a group there may be :u, :k or both, not this, at "x"' '{a,b}x'
	refuses 'at most 16 members, no more at "q,r}"' '{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r}'
	refuses '"no-such-event", member 2 of a group: ' "{$CLOCK,no-such-event}"
	refuses '"CPU_MIGRATIONS", member 2 of a group: ' "{$CLOCK,CPU_MIGRATIONS}"
	refuses '"breakpoint:main" in a group: a symbol has an address after the exec only' "{$CLOCK,breakpoint:main}"
	refuses 'a group is not logged process by process' "{$CLOCK,$MAX}" -E
	pmccontrol -l >rows
	[ "$(grep -c 'FREE      $' rows)" -eq "$(grep -c '^ ' rows)" ]
}

@test "a group that does not fit: the member is named, and the holder of the rows" {
	client other
	for _ in {1..14}; do expect other 'alloc 0 *' caps 0x20 alloc 1 15 0x20000 0 0; done
	run pmcstat -c 0 -s "{$CLOCK,PAGE_FAULT.READ,CONTEXT_SWITCHES,CPU_MIGRATIONS}" true
	echo "$output"
	[ "$status" -eq 71 ]
	[[ $output == *'"CONTEXT_SWITCHES", member 3 of a group: no row of class SOFT (16) is left for this: 14 in use on CPU 0, held by pid '"${CLIENT[other]} (wireclient)"* ]]
	# The members before it are given back.
	pmcstat -o counts -c 0 -s "{$CLOCK,PAGE_FAULT.READ}" true
	part other
}

@test "a group is counted, not sampled: each tool says so" {
	run pmcstat -P "{$CLOCK,$MAX}" true
	[ "$status" -ne 0 ]
	[[ $output == *'each sampling PMC has a period of its own'* ]]
	run pmc record -e "{$CLOCK,$MAX}" true
	[ "$status" -ne 0 ]
	[[ $output == *'sample its events by several -e, or count it with pmcstat -p'* ]]
	run pmc stat -j "{$CLOCK,$MAX}" true
	[ "$status" -ne 0 ]
	[[ $output == *'pmcstat -p counts groups'* ]]
}
