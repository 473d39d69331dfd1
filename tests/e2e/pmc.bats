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

@test "list-events: what matches no event, and what is described elsewhere" {
	gives_like 64 'pmcstat: ERROR: no event or class of this machine matches "NOPE"; *' pmcstat -u NOPE
	pmccontrol -L | grep '^	' >names
	for option in -u -U -f; do
		says 64 'pmc: ERROR: no event or class of this machine matches "NOPE"; "pmc list-events" lists the events, "pmccontrol -L" by class' \
			pmc list-events $option NOPE
	done
	# Each name that is listed is described, too, and perf's spelling finds as many.
	run -0 pmc list-events -u page_fault
	[ "$(pmc list-events page_fault | wc -l)" -eq "${#lines[@]}" ]
	[[ $output == *$'PAGE_FAULT.MINOR:\tsee pmc.soft(3)'* ]]
	[ "$(pmc list-events page-faults)" = "$(pmc list-events page_fault)" ]
	run -0 pmc list-events -f page_fault.all
	[[ $output == $'name: PAGE_FAULT.ALL\n\tdesc: see pmc.soft(3)' ]]
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
