# SPDX-License-Identifier: BSD-2-Clause
#
# pmccontrol with the real daemon.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon; }

@test "-l: every row of every CPU" {
	cpus=$(getconf _NPROCESSORS_ONLN)
	run -0 pmccontrol -l
	[[ ${lines[0]} =~ ^$(nproc --all)\ [A-Z0-9_]+\ CPUs\ present,\ with\ ([0-9]+)\ PMCs\ per\ CPU$ ]]
	[ "$(grep -c '^ ' <<<"$output")" -eq $((BASH_REMATCH[1] * cpus)) ]
	[ "$(grep -c ' SOFT  ' <<<"$output")" -eq $((16 * cpus)) ]
	[ "$(grep -c '^ [0-9]*  *TSC  ' <<<"$output")" -eq "$cpus" ]
}

@test "-l names the owner of a row and its event, to everybody" {
	pmcstat -o counts -w 100 -c 0 -s CPU_CLOCK 3>&- & pid=$!
	wait_for bash -c 'pmccontrol -l | grep -q STANDALONE'
	wait_for takes_int $pid
	run -0 run_as_nobody pmccontrol -l
	[[ $output =~ SOFT\ +ENABLED\ +STANDALONE\ \(pid\ $pid\)\ CPU_CLOCK\ +$'\n' ]]
	kill -INT $pid
	wait $pid
	[ "$(wc -l <counts)" -eq 2 ]
	run pmccontrol -l
	[[ $output != *STANDALONE* ]]
	run -0 run_as_nobody pmccontrol -s
	gives_like 71 '*Disable of PMC 1 on CPU 0 failed: *Operation not permitted*' run_as_nobody pmccontrol -d 1
}

@test "-L: classes and events that can be allocated" {
	pmccontrol -L >list
	[ "$(head -n 1 list)" = SOFT ]
	grep -qx $'\tPAGE_FAULT.ALL' list
	[ "$(sed -n '/^TSC$/,/^[A-Z]/p' list | grep -c '^	')" -eq 1 ]
	while read -r event; do
		mode=(-p)
		# The length of a wait is known at its end: it can be sampled only.
		[ "$event" != OFFCPU_TIME ] || mode=(-O log -P)
		pmcstat -o counts "${mode[@]}" "$event" true || { echo "$event" >&2; false; }
	done < <(sed -n '/^SOFT$/,/^[A-Z]*$/s/^\t//p' list)
}
