#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat --perf-data: perf reads from the file what is in the log, sample by sample and function by function; files
# that cannot be written, and logs that end in the middle.

load helpers

# A recording of programs that start others, fault pages, and run: ./log, for all tests.
setup_file() {
	bats_require_minimum_version 1.5.0
	need_root
	cd "$BATS_FILE_TMPDIR" || return
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	start_daemon
	# shellcheck disable=SC2016 # the other shell expands it
	pmcstat -q -d -n 1 -P CLOCK.HARD -n 3 -P PAGE_FAULT.ALL -O log \
		bash -c 'for i in 1 2 3; do ls -l /proc >/dev/null; done; "$1" 9 200000000 500 0' bash "$BUILD/tests/deep" 3>&-
	stop_daemon
}

teardown_file() {
	stop_daemon
}

setup() {
	need_root
	cd "$BATS_FILE_TMPDIR" || return
}

need_perf() {
	command -v perf >/dev/null || skip "perf is not there"
}

# shellcheck disable=SC2154 # run sets stderr
# The samples of a text log: process, CPU, side, addresses.
samples_of_log() {
	awk 'function flush() { if (line) print line; line = "" }
		$1 == "callchain" { flush(); line = $2 " " $4 " " $NF; next }
		$1 == "..." { line = line sprintf(" %16s", substr($2, 3)); next }
		{ flush() }
		END { flush() }' | sed 's/  */ /g'
}

# … and of perf's dump; addresses that begin with thirteen f mark the side of the addresses after them.
samples_of_perf() {
	awk 'function flush() { if (line) print line; line = "" }
		/PERF_RECORD_SAMPLE/ {
			flush()
			match($0, /0x[12]\): [0-9]+\//)
			split(substr($0, RSTART, RLENGTH - 1), part, "): ")
			line = part[2] " " $1 " " (part[1] == "0x2" ? "u" : "s")
		}
		/^\.\.\.\.\. / && $3 !~ /^fffffffffffff/ {
			sub(/^0+/, "", $3)
			line = line " " ($3 == "" ? "0" : $3)
		}
		END { flush() }'
}

# PERF-102, PERF-108, PERF-232, PERF-233, PERF-256, PERF-261, PERF-119
@test "perf reads each sample of the log: process, CPU, side and chain" {
	need_perf
	pmcstat -R log >text
	samples_of_log <text >ours
	[ "$(wc -l <ours)" -gt 100 ]
	grep -q ' u ' ours
	grep -q ' s ' ours
	pmcstat -q -R log --perf-data data
	perf script -D -i data 2>/dev/null | samples_of_perf >theirs
	diff ours theirs
}

@test "perf reads the events by name, and the same number of samples of each" {
	need_perf
	pmcstat -q -R log --perf-data data
	pmcstat -q -R log --csv >csv
	for event in CLOCK.HARD PAGE_FAULT.ALL; do
		n=$(awk -F, -v e="$event" '$1 == e { n += $6 } END { print n }' csv)
		[ "$n" -gt 20 ]
		perf report -i data --stdio --no-children -g none 2>/dev/null >listing
		grep -qx "# Samples: $n  *of event '$event'" listing || { grep Samples listing; echo "$n of $event"; false; }
	done
}

# The samples of each object, and of each function of `deep`, one a line.
@test "objects and functions have the same samples as with pmcstat" {
	need_perf
	pmcstat -q -R log --perf-data data
	pmcstat -q -R log --no-inlines --csv | awk -F, 'NR > 1 && $6 > 0 {
		object = $5
		sub(/.*\//, "", object)
		n[object ? object : "[unknown]"] += $6
		if (object == "deep")
			n["deep " $4] += $6
	} END { for (i in n) print n[i], i }' | sort >ours
	grep -q ' deep leaf$' ours
	{
		perf report -i data --stdio --no-children -g none -s dso -F sample,dso -t ';' 2>/dev/null
		perf report -i data --stdio --no-children -g none -s sym -F sample,sym -t ';' --dsos deep 2>/dev/null
	} | awk -F ';' '/^#/ || NF < 2 { next }
		{ gsub(/ /, ""); sub(/^\[\.\]/, "deep ", $2); n[$2] += $1 }
		END { for (i in n) print n[i], i }' | sort >theirs
	# A sample in one of the daemon's BPF programs is the kernel's to perf, or nothing.
	if grep -q ' \[bpf\]$' ours; then
		for list in ours theirs; do
			awk '$2 ~ /^\[(bpf|kernel\.kallsyms|unknown)\]$/ { n += $1; next }
				{ print }
				END { print n, "[kernel]" }' $list >merged
			sort merged >$list
		done
	fi
	diff ours theirs
}

@test "filtered samples are not in the file" {
	need_perf
	pmcstat -q -R log --process deep --event PAGE_FAULT.ALL --perf-data data
	run -0 --separate-stderr perf script -i data -F comm,event
	[ -n "$output" ]
	[ "$(awk 'NF { print $1, $2 }' <<<"$output" | sort -u)" = "deep PAGE_FAULT.ALL:" ]
}

@test "a cut log gives a file of its beginning, and a message" {
	need_perf
	{ head -c "$(($(stat -c %s log) / 2 + 1))" log; printf 'no record of a log follows'; } >damaged
	run --separate-stderr pmcstat -q -R damaged --perf-data data
	status_is 65
	[[ $stderr == *'ERROR: event parsing failed'* ]]
	n=$(pmcstat -R damaged 2>/dev/null | grep -c ^callchain)
	[[ $stderr == *'"data" has the '"$n"' samples before the damage.'* ]]
	[ "$n" -gt 50 ]
	[ "$(perf script -i data -F pid 2>/dev/null | grep -c '[0-9]')" -eq "$n" ]
}

@test "the same file from a pipe" {
	pmcstat -q -R log --perf-data data
	# the pipe is the subject of the test
	# shellcheck disable=SC2002 # a pipe is what is tested
	cat log | pmcstat -q -R - --perf-data piped
	cmp data piped
	pmcstat -q -R log --perf-data /dev/stdout >redirected
	cmp data redirected
}

@test "files that cannot be written: one line and an exit status" {
	# shellcheck disable=SC2016 # the other shell expands it
	run --separate-stderr bash -c 'pmcstat -q -R log --perf-data /dev/stdout | cat; exit "${PIPESTATUS[0]}"'
	status_is 64
	[[ $stderr == *'is a pipe or a terminal'* ]]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	run --separate-stderr pmcstat -q -R log --perf-data /nowhere/data
	status_is 71
	[[ $stderr == *'cannot open "/nowhere/data"'* ]]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	run --separate-stderr pmcstat -q -R log --perf-data /dev/full
	status_is 71
	[[ $stderr == *'/dev/full'* ]]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "a log without PMCs cannot become a perf.data file" {
	printf '' >empty
	run --separate-stderr pmcstat -q -R empty --perf-data data
	status_is 65
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}
