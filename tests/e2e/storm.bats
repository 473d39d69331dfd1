#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Logs while thousands of processes come and go: nothing is lost, and the sums are right.

load helpers

setup() {
	need_root
	TREE=2 PROCCSW=4 PROCEXIT=8
	open_tmpdir
	LOG=$BATS_TEST_TMPDIR/log
	TEXT=$BATS_TEST_TMPDIR/text
	start_daemon "${ROOM[@]}"
}

# storm EVENT FLAGS: 3,660 descendants in less than two seconds; $TEXT is the log, $count the PMC's, or empty if the
# kernel hid a switch of its: such a storm has many, and the count is refused then.
storm() {
	workload tree forks=60 below=60 pages=3
	client a
	expect a "start 0" log "$LOG" alloc 3 15 "$1" any "$2" attach "${WORKLOAD[tree]}" start
	first=${WORKLOAD[tree]}
	work tree
	rest tree
	wait_for all_told
	ask a read
	count=${reply#read 0 }
	[[ $reply == "read 0 "* ]] || { [[ $reply == "read EBUSY -- "*"lost a time slice: "* ]] && count=; }
	expect a "endlog 0" stop endlog
	part a
	pmcstat -R "$LOG" >"$TEXT"
	# The log is complete: each process has one exit, and the exits add up to the count.
	awk '$1 == "exitval" { if (gone[$3]++) twice++; value += $4 }
		END { print length(gone), twice + 0, value + 0 }' "$TEXT" >"$TEXT.sums"
	echo "$(cat "$TEXT.sums"), the PMC says ${count:-that it lost a slice}"
	read -r gone twice value <"$TEXT.sums"
	lost_slices "$TEXT"
	[ "$gone" -eq 3661 ]
	[ "$twice" -eq 0 ]
	if [ -n "$count" ]; then
		[ "$lost" -eq 0 ]
		[ "$value" -eq "$count" ]
	else
		[ "$lost" -gt 0 ]
	fi
}

# all_told: the first process's exit, the last of all records, has been written.
all_told() {
	ask a flushlog
	pmcstat -R "$LOG" 2>/dev/null | grep -q "^exitval .* $first "
}

@test "REQ-058, REQ-059: a fork storm loses no PROCEXIT record, and they add up to the PMC's count" {
	storm 0x20004 $((TREE | PROCEXIT))
	[ -z "$count" ] || [ "$count" -ge $((3660 * 3)) ]
}

@test "REQ-058, REQ-059: the same with a record for every slice: the slices add up to the count as well" {
	storm 0x20004 $((TREE | PROCEXIT | PROCCSW))
	# Each process with a slice has an exit, which is the sum of its slices.
	awk '$1 == "cswval" { slices[$3] += $4 }
		$1 == "exitval" { ends[$3] = $4 }
		END {
			for (pid in slices)
				if (!(pid in ends) || slices[pid] != ends[pid]) {
					print pid, slices[pid], ends[pid]
					bad = 1
				}
			exit bad
		}' "$TEXT"
}

@test "REQ-058, REQ-059: context switches of a fork storm, to the last one" {
	storm 0x2000b $((TREE | PROCEXIT))
	[ -z "$count" ] || [ "$count" -ge 3661 ]
}
