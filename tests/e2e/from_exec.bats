#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Counts that begin at an exec: as many as the kernel's own events that wait for it.
# shellcheck disable=SC2154 # the helpers set minflt and count

load helpers

PAGE_FAULT=0x20004 TREE=2

setup() {
	in_tmpdir_with_daemon
	# Page faults, switches, children with and without an exec.
	cat >./program <<-'END'
		#!/bin/sh
		(:); (:); /bin/true
		sh -c '/bin/true; :'
		i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done
	END
	chmod +x program
}

# Each with perf's type, number and side.
EVENTS=(PAGE_FAULT.ALL 1 2 - PAGE_FAULT.MINOR 1 5 - CONTEXT_SWITCHES 1 3 -)
SIDES=('PAGE_FAULT.ALL,usr' 1 2 u 'PAGE_FAULT.ALL,os' 1 2 k)

# same_counts [EXECS]: each line's two counts are equal, and not all are 0. For each exec of a process that is
# already counted the kernel's figure also has the fault of its arguments, which no perf event has; and perf's events end
# before a process's last switches, which the count has (tests/vm/soft.bats compares these).
same_counts() {
	awk -v execs="${1:-0}" '/PAGE_FAULT/ { bad += $2 != $3 + execs } /SWITCHES/ { bad += $2 < $3 } { some += $2 }
		END { exit bad || !some }' counts || { cat counts >&2; false; }
}

@test "a command is counted from its exec on: the count equals perf's" {
	fromexec "${EVENTS[@]}" -- ./program >counts
	same_counts
}

@test "… and so are descendants that were forked before, each from its own exec on" {
	fromexec -d "${EVENTS[@]}" -- ./program >counts
	same_counts 3
}

@test "a stop and a start before the exec change nothing" {
	fromexec -d -r "${EVENTS[@]}" -- ./program >counts
	same_counts 3
}

@test "slices begin there as well: counts never exceed perf's" {
	# The process has had 2000 faults before. A kernel may hide a slice from tracers.
	fromexec -d "${SIDES[@]}" -- ./program >counts 2>said || { unless_hidden "$(<said)"; cat said; return 1; }
	awk '$2 > $3 { bad = 1 } END { exit bad || NR != 2 }' counts || { cat counts >&2; false; }
}

@test "a failed exec does not begin counting" {
	fromexec -f "${EVENTS[@]}" "${SIDES[@]}" -- ./program >counts
	awk '$2 || $3 { bad = 1 } END { exit bad || NR != 5 }' counts || { cat counts >&2; false; }
	run pmcstat -o counts --csv -p PAGE_FAULT.ALL ./nonesuch
	status_is 71
	[[ $output == *'execvp "./nonesuch" failed: No such file or directory'* ]]
}

@test "a target waits whether the PMC runs or not, and is not limited to its owner" {
	client own
	waits_to_become -- "$BUILD/tests/load" -w pages=300
	expect own 'attachexec 0' alloc 3 15 $PAGE_FAULT any 0 attachexec "$TARGET"
	# It is a target already; another PMC of the same row cannot have it.
	expect own 'attachexec EEXIST*' attachexec "$TARGET"
	expect own 'attach EEXIST*' attach "$TARGET"
	# The exec comes before the start.
	go
	expect own 'start 0' start
	expect own 'read 0 0' read
	work_of_target
	expect own "read 0 $minflt" read
	expect own 'detach 0' detach "$TARGET"
	expect own "read 0 $minflt" read
	# An owner that has executed a program has no PMC any more.
	expect own 'attachexec EINVAL -- an exec takes all PMCs*' release alloc 3 15 $PAGE_FAULT any 0 attachexec 0
	expect own 'attachexec 0' release alloc 3 15 $PAGE_FAULT any $TREE attachexec 0
}

@test "a target that is detached before its exec, or exits, leaves nothing behind" {
	client own
	waits_to_become -- "$BUILD/tests/load" -w pages=300
	expect own 'start 0' alloc 3 15 $PAGE_FAULT any 0 attachexec "$TARGET" start
	expect own 'detach 0' detach "$TARGET"
	go
	work_of_target
	expect own 'read 0 0' read
	kill -KILL "$TARGET"
	waits_to_become -- "$BUILD/tests/load" -w pages=300
	expect own 'start 0' stop attachexec "$TARGET" start
	kill -KILL "$TARGET"
	wait_for process_gone "$TARGET"
	expect own 'read 0 0' read
}

@test "a set-id program is not counted for an owner who may not follow it" {
	set_id_load
	client own run_as_nobody
	waits_to_become "${nobody[@]}" -- "$SETID" -w pages=300
	expect own 'start 0' alloc 3 15 $PAGE_FAULT any 0 attachexec "$TARGET" start
	go
	count_of own
	before=$count
	# At most the kernel's own work for the new image.
	[ "$before" -le 10 ]
	work_of_target
	expect own "read 0 $before" read
}

@test "samples begin at the exec, whose record comes first" {
	for from in '' --from-fork; do
		# shellcheck disable=SC2086 # none, or one
		pmcstat $from -O log -n 1 -P PAGE_FAULT.ALL /bin/true
		pmcstat -R log >text
		awk '$1 == "exec" { execs++ } $1 == "callchain" && !execs { early++ } $1 == "callchain" && execs { late++ }
			END { print early + 0, (late > 20) + 0, execs }' text >"order$from"
	done
	[ "$(cat order)" = '0 1 1' ]
	[[ "$(cat order--from-fork)" =~ ^[1-9][0-9]*' 1 1'$ ]]
}

# Without address randomisation a program has the same faults each time, except that on a busy machine the kernel
# raises one once more now and then: the least of three runs.
faults_of() {
	for _ in 1 2 3; do "faults_by_$1"; done | sort -n | head -n 1 >"$1$from"
}
# shellcheck disable=SC2086 # $from is nothing, or one word
faults_by_counts() {
	setarch -R pmcstat -o rows --csv $from -p PAGE_FAULT.ALL /bin/true
	awk -F, 'END { print $2 }' rows
}
# shellcheck disable=SC2086
faults_by_stat() {
	setarch -R pmc stat $from -j PAGE_FAULT.ALL /bin/true 2>&1 | awk '/PAGE_FAULT.ALL/ { print $1 }'
}
# shellcheck disable=SC2086
faults_by_record() {
	setarch -R pmc record --no-report -o log $from -c 1 -e PAGE_FAULT.ALL /bin/true
	pmcstat -R log | grep -c '^callchain'
}

@test "pmcstat, pmc stat and pmc record count a command from its exec on, and --from-fork reverts that" {
	for from in --from-exec '' --from-fork; do
		faults_of counts
		faults_of stat
		faults_of record
	done
	for tool in counts stat record; do
		[ "$(cat $tool--from-exec)" -eq "$(cat $tool)" ]
		[ "$(cat $tool)" -gt 20 ]
		[ "$(cat $tool--from-fork)" -gt "$(cat $tool)" ]
	done
	[ "$(cat stat)" -eq "$(cat counts)" ]
}

@test "--from-exec: a process of -t is counted from its next exec on" {
	waits_to_become -- "$BUILD/tests/load" -w pages=300
	pmcstat -o counts --csv -w 0.5 --from-exec -t "$TARGET" -p PAGE_FAULT.ALL 3>&- &
	tool=$!
	wait_for grep -q 'PAGE_FAULT' counts
	go
	work_of_target
	kill -KILL "$TARGET"
	wait "$tool"
	counted=$(awk -F, 'NR > 1 { sum += $2 } END { print sum }' counts)
	# The shell has had thousands before its exec; `load` begins with about a hundred.
	[ "$counted" -ge "$minflt" ] && [ "$counted" -le $((minflt + 300)) ] || { cat counts; echo "$minflt"; false; } >&2
}
