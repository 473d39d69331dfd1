# SPDX-License-Identifier: BSD-2-Clause
#
# pmc(8) with the real daemon: counts of a command, and a recorded log that filter, summary and
# pmcstat -R read alike.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() { stop_daemon; }

@test "stat: a software event agrees with the kernel's own figures" {
	pmc stat -j PAGE_FAULT.ALL python3 -c '
import mmap
m = mmap.mmap(-1, 1000 * mmap.PAGESIZE)
for page in range(1000):
    m[page * mmap.PAGESIZE] = 1' 2>counts
	kernel=$(awk '/  page faults/ { print $1 }' counts)
	ours=$(awk '/  PAGE_FAULT.ALL/ { print $1 }' counts)
	[ "$kernel" -ge 1000 ] && [ "$ours" -ge 1000 ] && [ "$ours" -le "$kernel" ]
	[ $((kernel - ours)) -le 300 ]
}

@test "list-events lists what pmccontrol lists" {
	pmc list-events | sort >ours
	pmccontrol -L | grep '^	' | sort >theirs
	cmp ours theirs
}

# says STATUS TEXT COMMAND...: this status, and this one line on standard error.
says() {
	run "-$1" --separate-stderr "${@:3}"
	[ -z "$output" ]
	[ "$stderr" = "$2" ] || { echo "$stderr" >&2; return 1; }
}

@test "list-events: what matches no event that has a description" {
	gives_like 64 'pmcstat: ERROR: no event or class of this machine matches "NOPE"; *' pmcstat -u NOPE
	# Only hardware events and registers have descriptions; without both there is none.
	pmccontrol -L | grep '^	' >names
	run pmc list-events -u "$(sed -n '$s/^	//p' names)"
	[ "$status" -ne 69 ] || skip "this machine has neither hardware counters nor registers"
	for option in -u -U -f; do
		says 64 'pmc: ERROR: no event or class of this machine matches "NOPE"; "pmc list-events" lists the events, "pmccontrol -L" by class' \
			pmc list-events $option NOPE
		says 64 'pmc: ERROR: no event that matches "page_fault.all" has a description: only the hardware'"'s have one; "'"pmc list-events page_fault.all" lists the names' \
			pmc list-events $option page_fault.all
	done
	! grep -q MSR- names || run -0 pmc list-events -u msr-
}

@test "filter and summary agree with the recording" {
	script='i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
	cp "$(command -v dash)" first; cp first second
	pmcstat -q -O log -d -n 1 -P CLOCK.HARD ./first -c "./second -c '$script'; $script"
	total=$(pmcstat -R log | grep -c '^callchain')
	[ "$total" -ge 20 ]
	pmc filter --keep -P second log kept
	pmc filter --drop -P second log dropped
	kept=$(pmcstat -R kept | grep -c '^callchain')
	dropped=$(pmcstat -R dropped | grep -c '^callchain')
	[ "$kept" -ge 5 ] && [ "$dropped" -ge 5 ]
	[ $((kept + dropped)) -eq "$total" ]
	[ "$(pmc summary kept)" = "CLOCK.HARD:"$'\n\t'"second: $kept" ]
	[ "$(pmc summary -k 9 log | awk '/^\t/ { sum += $2 } END { print sum }')" -eq "$total" ]
}
