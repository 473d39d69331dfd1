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
		mode=(-o counts -p)
		# The length of a wait is known at its end: it can be sampled only.
		[ "$event" != OFFCPU_TIME ] || mode=(-O log -P)
		pmcstat "${mode[@]}" "$event" true || { echo "$event" >&2; false; }
	done < <(sed -n '/^SOFT$/,/^[A-Z]*$/s/^\t//p' list)
}

@test "-s: text, JSON and OpenMetrics have the same figures" {
	client owner
	for form in '' --json --openmetrics; do
		# shellcheck disable=SC2086 # an option or none
		pmccontrol -s $form >"figures$form"
	done
	# With Debian's python3, whose package this is.
	/usr/bin/python3 - <<-'end'
		import json
		from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

		figures = json.load(open("figures--json"))
		series = {s.name: s.value for f in parse(open("figures--openmetrics").read()) for s in f.samples if not s.labels}
		reasons = [s for f in parse(open("figures--openmetrics").read()) for s in f.samples if s.labels]
		text = [line.rsplit(" ", 1) for line in open("figures").read().splitlines() if not line.startswith("cut:")]
		figures.pop("cuts")
		# Each program asks, and so adds to the calls.
		moves = {"syscalls", "syscall_errors"}
		assert [k for k in figures] == [k[len("pmcbpf_"):-len("_total")] for k in series], series
		assert all(series[f"pmcbpf_{k}_total"] == v for k, v in figures.items() if k not in moves)
		assert [int(v) for _, v in text if "system calls" not in _] == [v for k, v in figures.items() if k not in moves]
		assert {s.name for s in reasons} == {"pmcbpf_cuts_total"} and any(s.labels["reason"] == "table" for s in reasons)
	end
	run -64 pmccontrol -l --openmetrics
	[ "$output" = 'pmccontrol: option --openmetrics is used only with -s, and without --json' ]
	run -64 pmccontrol -s --json --openmetrics
}
