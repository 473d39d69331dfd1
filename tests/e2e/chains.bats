#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# How much of a call chain is in the log: all of it by default, and where callers are missing the log, the
# statistics and the reports say so.

load helpers
load ../logs
export DEEP=$BUILD/tests/deep

SWITCHES=0x2000b CHAIN=0x80 SAMPLES=0x21

setup() { in_tmpdir_with_daemon -o kern.hwpmc.debugflags=sampling=read; }

text() { pmcstat -q -R log >text; }

# cut LENGTHS…: of the samples in leaf, the numbers with and without the mark of a cut chain, and their lengths
cut_of_leaf() {
	pmc filter -j log - | python3 -c '
import json, os, subprocess, sys
for line in subprocess.run(["nm", "-S", os.environ["DEEP"]], capture_output=True, text=True).stdout.splitlines():
    if line.endswith(" leaf"):
        start, size = (int(word, 16) for word in line.split()[:2])
samples = [json.loads(line) for line in sys.stdin if "\"callchain\"" in line]
leaf = [s for s in samples if start <= int(s["pc"][0], 16) < start + size]
for mark in (4, 0):
    of = [len(s["pc"]) for s in leaf if int(s["cpuflags"], 0) & 4 == mark]
    print("cut" if mark else "whole", len(of), min(of, default=0), max(of, default=0))
'
}

# figure: cut call chains, as any privileged user sees them
figure() { pmccontrol -s | awk '/lack callers/ { print $NF }'; }

@test "chains of usual depth are whole by default, and no warning appears" {
	learn deep 1 0 1 0
	before=$(figure)
	pmcstat -n 1 -P PAGE_FAULT.ALL -O log deep 100 0 200 0 2>told
	refute grep -q cut told
	run cut_of_leaf
	[[ ${lines[0]} == 'cut 0 '* ]]
	[[ ${lines[1]} =~ ^whole\ ([0-9]+)\ ([0-9]+)\  ]]
	# leaf, outer 101 times, main.
	[ "${BASH_REMATCH[1]}" -ge 200 ] && [ "${BASH_REMATCH[2]}" -ge 103 ]
	[ "$(figure)" -eq "$before" ]
	pmc report log 2>told >/dev/null
	refute grep -q cut told
	pmcstat -q -R log --folded folded
	refute grep -v '^deep;.*main;outer.*;leaf 2' <(grep ';leaf ' folded)
}

@test "REQ-047: a cut chain is marked in the log, counted, and reported by recorder and report" {
	stop_daemon
	# Rings for so short chains have no room to copy the stacks of samples that come before a table.
	start_daemon -o kern.hwpmc.callchaindepth=8 -o kern.hwpmc.debugflags=sampling=read
	learn deep 1 0 1 0
	before=$(figure)	# of the first recording, too
	pmcstat -n 1 -P PAGE_FAULT.ALL -O log deep 100 0 200 0 2>told
	run cut_of_leaf
	[[ ${lines[0]} =~ ^cut\ ([0-9]+)\ 8\ 8$ ]] && [ "${BASH_REMATCH[1]}" -ge 200 ]
	[ "${lines[1]}" = 'whole 0 0 0' ]
	cut=$(($(figure) - before))
	[ "$cut" -ge 200 ]
	pmc filter -j log - | python3 -c '
import json, sys
assert int(sys.argv[1]) == sum(int(s["cpuflags"], 0) >> 2 & 1
                               for s in map(json.loads, sys.stdin) if s["type"] == "callchain")' "$cut"
	total=$(pmcstat -q -R log | grep -c '^callchain')
	grep -qF "pmcstat: WARNING: the call chains of $cut of the $total samples in \"log\" are cut: their outermost callers are missing. kern.hwpmc.callchaindepth limits them" told
	pmc report log 2>told >/dev/null
	grep -q "the call chains of $cut of the $total samples in \"log\" are cut" told
	# pmc record reports it once, with or without a report afterwards.
	for option in --report --no-report; do
		pmc record $option -o other -e PAGE_FAULT.ALL -c 1 deep 100 0 200 0 >report 2>told
		[ "$(grep -c 'samples in "other" are cut: their' told)" -eq 1 ]
	done
	# The kernel follows frame pointers, and has a limit of its own.
	pmccontrol --tunable kern.hwpmc.unwind=0
	pmcstat -n 1 -P PAGE_FAULT.ALL -O pointers deep 100 0 200 0 2>told
	grep -q 'in "pointers" are cut: .*kern.hwpmc.callchaindepth limits them, and kernel.perf_event_max_stack as it was when pmcbpfd started$' told
	pmccontrol --tunable kern.hwpmc.unwind=1
	cut=$(figure)
	# Without chains none can be cut, whatever the depth.
	pmcstat -N -n 1 -P PAGE_FAULT.ALL -O log deep 100 0 200 0 2>told
	refute grep -q cut told
	[ "$(figure)" -eq "$cut" ]
}

@test "a chain as long as the limit is whole" {
	learn deep 1 0 1 0
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log deep 100 0 200 0
	run cut_of_leaf
	[[ ${lines[1]} =~ ^whole\ [0-9]+\ ([0-9]+)\ ([0-9]+)$ ]] && [ "${BASH_REMATCH[1]}" -eq "${BASH_REMATCH[2]}" ]
	length=${BASH_REMATCH[1]}
	for less in 0 1; do
		pmccontrol --tunable kern.hwpmc.callchaindepth=$((length - less))
		pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log deep 100 0 200 0
		run cut_of_leaf
		[[ ${lines[less]} == *' 0 0 0' ]]
		[[ ${lines[1 - less]} == *" $((length - less)) $((length - less))" ]]
	done
}

# PERF-322
@test "a chain that the kernel's own limit cuts is marked, too, even if the tunable is larger" {
	most=$(cat /proc/sys/kernel/perf_event_max_stack)
	stop_daemon
	start_daemon -o kern.hwpmc.callchaindepth=512 -o kern.hwpmc.debugflags=sampling=read
	learn deep 1 0 1 0
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log deep 600 0 200 0
	run cut_of_leaf
	[ "$most" -gt 512 ] && most=512
	[[ ${lines[0]} =~ ^cut\ ([0-9]+)\ $most\ $most$ ]] && [ "${BASH_REMATCH[1]}" -ge 200 ]
	[[ ${lines[1]} == 'whole 0 '* ]]
}

@test "kern.hwpmc.callchaindepth changes at run time, for later PMCs only" {
	workload w switches=150
	client owner
	expect owner 'log 0' log log
	ask owner caps $SAMPLES alloc 2 15 $SWITCHES any $CHAIN setcount 1 attach "${WORKLOAD[w]}"
	run run_as_nobody pmccontrol --tunable kern.hwpmc.callchaindepth=2
	[ "$status" -eq 71 ]
	pmccontrol --tunable kern.hwpmc.callchaindepth=2
	for bad in 0 513 many; do
		run pmccontrol --tunable kern.hwpmc.callchaindepth=$bad
		[ "$status" -ne 0 ]
	done
	[ "$(pmccontrol --tunable kern.hwpmc.callchaindepth)" = 2 ]
	ask owner start
	work w
	ask owner stop
	expect owner 'endlog 0' endlog
	text
	# The PMC allocated before the change.
	chains s <text | awk 'NF > 2 { long++ } END { exit !(long >= 50) }'
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log deep 100 0 200 0
	text
	chains u <text | refute awk 'NF > 2 { found = 1 } END { exit !found }'
	# The file's value comes back.
	kill -HUP "$DAEMON_PID"
	as_before() { [ "$(pmccontrol --tunable kern.hwpmc.callchaindepth)" = 128 ]; }
	wait_for as_before
}

@test "a log for readers on FreeBSD 6 to 11 has no chain longer than they accept" {
	stop_daemon
	start_daemon -o kern.hwpmc.logversion=3 -o kern.hwpmc.callchaindepth=512 -o kern.hwpmc.debugflags=sampling=read
	learn deep 1 0 1 1
	# The kernel's addresses, then 127 of user code's where the kernel's limit is not higher.
	pmcstat -q -U -n 1 -P CONTEXT_SWITCHES -O log deep 600 0 0 80
	text
	awk '$1 == "callchain" { n[$5]++ } END { for (i in n) if (i + 0 > 128) exit 1; exit !(n[128] >= 50) }' text
	pmc filter -j log - | python3 -c '
import json, sys
chains = [json.loads(line) for line in sys.stdin if "\"callchain\"" in line]
long = [c for c in chains if len(c["pc"]) == 128]
assert len(long) >= 50 and all(int(c["cpuflags"], 0) & 4 for c in long)'
	stop_daemon
	start_daemon -o kern.hwpmc.callchaindepth=512 -o kern.hwpmc.debugflags=sampling=read
	learn deep 1 0 1 1
	pmcstat -q -U -n 1 -P CONTEXT_SWITCHES -O log deep 600 0 0 80
	text
	awk '$1 == "callchain" && $5 > 128 { n++ } END { exit !(n >= 50) }' text
}

@test "a user does not see cut chains of others" {
	pmccontrol --tunable kern.hwpmc.callchaindepth=2
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log deep 100 0 200 0
	[ "$(figure)" -ge 200 ]
	run run_as_nobody pmccontrol -s
	[[ $output == *$'\ncall chains that lack callers:           0\n'* ]]
}

@test "call chains are counted for each PMC, and in sum for its owner" {
	local depth id=()
	workload w switches=150
	client owner
	expect owner 'log 0' log log
	for depth in 128 1; do
		pmccontrol --tunable kern.hwpmc.callchaindepth=$depth
		expect owner 'alloc 0 *' caps $SAMPLES alloc 2 15 $SWITCHES any $CHAIN
		id[depth]=${reply#alloc 0 }
		ask owner setcount 1 attach "${WORKLOAD[w]}" start
	done
	work w
	for depth in 128 1; do ask owner id "${id[depth]}" stop; done
	expect owner 'flushlog 0' flushlog
	expect owner 'losses 0 *' id "${id[128]}" losses
	[[ $reply =~ chains=([0-9]+)\ cut=0$ ]] && whole=${BASH_REMATCH[1]}
	[ "$whole" -ge 50 ]
	expect owner 'losses 0 *' id "${id[1]}" losses
	[[ $reply =~ chains=([0-9]+)\ cut=([0-9]+)$ ]] && cut=${BASH_REMATCH[2]}
	[ "$cut" -ge 50 ] && [ "$cut" -eq "${BASH_REMATCH[1]}" ]
	expect owner "losses 0 chains=$((whole + cut)) cut=$cut" id 0 losses
	expect owner 'losses EINVAL *' id 0x12345 losses
}
