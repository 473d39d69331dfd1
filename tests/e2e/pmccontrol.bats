# SPDX-License-Identifier: BSD-2-Clause
#
# pmccontrol with the real daemon.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon; }

# state CPU ROW: ENABLED or DISABLED
state() {
	pmccontrol -l --json | python3 -c '
import json, sys
cpu, row = map(int, sys.argv[1:])
print(next("ENABLED" if r["enabled"] else "DISABLED" for c in json.load(sys.stdin)["cpus"]
           if c["cpu"] == cpu for r in c["rows"] if r["row"] == row))' "$1" "$2"
}

@test "-l: every row of every CPU" {
	cpus=$(getconf _NPROCESSORS_ONLN)
	run -0 pmccontrol -l
	[[ ${lines[0]} =~ ^$(nproc --all)\ [A-Z0-9_]+\ CPUs\ present,\ with\ ([0-9]+)\ PMCs\ per\ CPU$ ]]
	[ "$(grep -c '^ ' <<<"$output")" -eq $((BASH_REMATCH[1] * cpus)) ]
	[ "$(grep -c ' SOFT  ' <<<"$output")" -eq $((16 * cpus)) ]
	[ "$(grep -c '^ [0-9]*  *TSC  ' <<<"$output")" -eq "$cpus" ]
}

@test "REQ-137 -l names the owner of a row and its event; a row in use cannot be disabled: the reason, exit 71" {
	pmcstat -o counts -w 100 -c 0 -s CPU_CLOCK 3>&- & pid=$!
	wait_for bash -c 'pmccontrol -l | grep -q STANDALONE'
	wait_for takes_int $pid
	run pmccontrol -l
	[[ $output =~ SOFT\ +ENABLED\ +STANDALONE\ \(pid\ $pid\)\ CPU_CLOCK\ +$'\n' ]]
	row=$(pmccontrol -l | awk '/STANDALONE/ { print $1; exit }')
	run pmccontrol -c 0 -d "$row"
	kill -INT $pid
	[ "$status ${#lines[@]}" = "71 1" ]
	[[ $output == "pmccontrol: Disable of PMC $row on CPU 0 failed: "*"Device or resource busy"* ]]
	wait $pid
	[ "$(wc -l <counts)" -eq 2 ]
	run pmccontrol -l
	[[ $output != *STANDALONE* ]]
}

@test "-L: classes and events that can be allocated" {
	pmccontrol -L >list
	[ "$(head -n 1 list)" = SOFT ]
	grep -qx $'\tPAGE_FAULT.ALL' list
	[ "$(sed -n '/^TSC$/,/^[A-Z]/p' list | grep -c '^	')" -eq 1 ]
	while read -r event; do
		pmcstat -o counts -p "$event" true || { echo "$event" >&2; false; }
	done < <(sed -n '/^SOFT$/,/^[A-Z]*$/s/^\t//p' list)
}

@test "-s: requests are counted, and failures" {
	figure() { pmccontrol -s --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
	calls=$(figure syscalls) errors=$(figure syscall_errors)
	run -71 pmcstat -c 4094 -s CPU_CLOCK
	[ "$(figure syscalls)" -gt "$calls" ]
	[ "$(figure syscall_errors)" -gt "$errors" ]
}

@test "REQ-089 C-13 -d and -e: a disabled row is not given out, and comes back" {
	run -0 pmccontrol -c 0 -d 3
	[ "$(state 0 3) $(state 0 4)" = "DISABLED ENABLED" ]
	run -0 pmccontrol -c 0 -d 3	# again: nothing to do
	run -0 pmccontrol -e 3
	[ "$(state 0 3)" = ENABLED ]
}

@test "REQ-090 REQ-177 administration is root's; looking is everybody's" {
	gives_like 71 '*Disable of PMC 1 on CPU 0 failed: *Operation not permitted*' run_as_nobody pmccontrol -d 1
	[ "$(state 0 1)" = ENABLED ]
	run -0 run_as_nobody pmccontrol -l
	run -0 run_as_nobody pmccontrol -s
}
