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

@test "-l: every row of every CPU, in the historic form" {
	cpus=$(getconf _NPROCESSORS_ONLN)
	run pmccontrol -l
	[ "$status" -eq 0 ]
	[[ ${lines[0]} =~ ^$(nproc --all)\ [A-Z0-9_]+\ CPUs\ present,\ with\ ([0-9]+)\ PMCs\ per\ CPU$ ]]
	rows=${BASH_REMATCH[1]}
	[ "${lines[1]}" = "#CPU 0:" ]
	[ "${lines[2]}" = "#N  NAME             CLASS  STATE    ROW-DISP" ]
	[ "${lines[3]}" = " 0  SOFT0            SOFT   ENABLED  FREE      " ]
	[ "$(grep -c '^ ' <<<"$output")" -eq $((rows * cpus)) ]
	[ "$(grep -c ' SOFT  ' <<<"$output")" -eq $((16 * cpus)) ]
	[ "$(grep -c '^ [0-9]*  *TSC  ' <<<"$output")" -eq "$cpus" ]
}

@test "-l names the owner of a row and its event" {
	pmcstat -o counts -w 100 -c 0 -s CPU_CLOCK 3>&- & pid=$!
	wait_for bash -c 'pmccontrol -l | grep -q STANDALONE'
	wait_for takes_int $pid
	run pmccontrol -l
	[[ $output =~ SOFT\ +ENABLED\ +STANDALONE\ \(pid\ $pid\)\ CPU_CLOCK\ +$'\n' ]]
	kill -INT $pid
	wait $pid
	run pmccontrol -l
	[[ $output != *STANDALONE* ]]
}

@test "-L: classes and events that can be allocated" {
	run pmccontrol -L
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = SOFT ]
	grep -qx $'\tPAGE_FAULT.ALL' <<<"$output"
	grep -qx TSC <<<"$output"
	pmccontrol -L >list
	while read -r event; do
		pmcstat -o counts -p "$event" true || { echo "$event" >&2; false; }
	done < <(sed -n '/^SOFT$/,/^[A-Z]*$/s/^\t//p' list)
	run pmccontrol -L --json
	python3 -c 'import json, sys
classes = {c["class"]: c["events"] for c in json.load(sys.stdin)["classes"]}
assert "CPU_CLOCK" in classes["SOFT"] and len(classes["TSC"]) == 1' <<<"$output"
}

@test "-s: requests are counted, and failures" {
	figure() { pmccontrol -s --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
	calls=$(figure syscalls) errors=$(figure syscall_errors)
	run pmcstat -c 4094 -s CPU_CLOCK
	[ "$status" -eq 71 ]
	[ "$(figure syscalls)" -gt "$calls" ]
	[ "$(figure syscall_errors)" -gt "$errors" ]
	run pmccontrol -s
	[ ${#lines[@]} -eq 9 ]
}

@test "REQ-089 C-13 -d and -e: a disabled row is not allocated, and an enabled one is" {
	run pmccontrol -c 0 -d 3
	[ "$status" -eq 0 ]
	[ "$(state 0 3)" = DISABLED ]
	[ "$(state 0 4)" = ENABLED ]
	run pmccontrol -c 0 -d 3
	[ "$status" -eq 0 ]	# a second time: no change
	run pmccontrol -e 3
	[ "$status" -eq 0 ]
	[ "$(state 0 3)" = ENABLED ]
}

@test "REQ-137 a row in use cannot be disabled: the reason, exit 71" {
	pmcstat -o counts -w 100 -c 0 -s CPU_CLOCK 3>&- & pid=$!
	wait_for bash -c 'pmccontrol -l | grep -q STANDALONE'
	wait_for takes_int $pid
	row=$(pmccontrol -l | awk '/STANDALONE/ { print $1; exit }')
	run pmccontrol -c 0 -d "$row"
	kill -INT $pid
	[ "$status" -eq 71 ]
	[ ${#lines[@]} -eq 1 ]
	[[ $output == "pmccontrol: Disable of PMC $row on CPU 0 failed: "*"Device or resource busy"* ]]
}

@test "ids beyond the machine's: 65" {
	run pmccontrol -c 4000 -d 1
	[ "$status" -eq 65 ]
	[ "$output" = 'pmccontrol: CPU id too large: "4000"' ]
	run pmccontrol -e 4000
	[ "$status" -eq 65 ]
	[ "$output" = 'pmccontrol: PMC id too large: "4000"' ]
}

@test "REQ-090 REQ-177 administration is for root, listing for any user" {
	run run_as_nobody pmccontrol -d 1
	[ "$status" -eq 71 ]
	[[ $output == *"Disable of PMC 1 on CPU 0 failed: "*"Operation not permitted"* ]]
	[ "$(state 0 1)" = ENABLED ]
	run run_as_nobody pmccontrol -l
	[ "$status" -eq 0 ]
	run run_as_nobody pmccontrol -s
	[ "$status" -eq 0 ]
}

@test "no daemon, no root: how to start the daemon, exit 69" {
	stop_daemon
	run run_as_nobody pmccontrol -l
	[ "$status" -eq 69 ]
	[ ${#lines[@]} -eq 1 ]
	[[ $output == 'pmccontrol: Initialization of the pmc(3) library failed: '*pmcbpfd* ]]
}
