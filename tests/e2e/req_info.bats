#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What anybody may ask: CPUs, classes, rows and their owners, statistics, versions; and the time stamp counter.

load helpers

FAULTS=0x20004

setup() {
	need_root
	start_daemon
	client root
}

@test "REQ-084, REQ-085: the highest CPU number + 1, and all rows of all classes" {
	highest=$(tr ',-' '\n\n' </sys/devices/system/cpu/possible | tail -n 1)
	ask root cpuinfo
	[[ $reply =~ ncpu=([0-9]+)\ npmc=([0-9]+)\ nclass=([0-9]+) ]]
	npmc=${BASH_REMATCH[2]} nclass=${BASH_REMATCH[3]}
	[ "${BASH_REMATCH[1]}" -eq $((highest + 1)) ]
	ask root classes
	read -r -a class <<<"${reply#classes 0 }"
	[ "${#class[@]}" -eq "$nclass" ]
	rows=0
	for c in "${class[@]}"; do
		# NUMBER:FIRST+ROWS, without a gap
		[[ $c =~ ^[0-9]+:([0-9]+)\+([0-9]+)$ ]]
		[ "${BASH_REMATCH[1]}" -eq $rows ]
		rows=$((rows + BASH_REMATCH[2]))
	done
	[ $rows -eq "$npmc" ]
	for ((row = 0; row < npmc; row++)); do
		expect root 'info 0 * FREE owner=-1 *' info 0 $row
	done
}

@test "REQ-088, REQ-146, REQ-073, D8: rows as they are, for any user; with the owner if there is one" {
	client user run_as_nobody
	client other
	expect user 'info EINVAL -- no CPU -1*' info 4294967295 0
	expect user 'info 0 SOFT0 enabled FREE owner=-1 mode=0 event=0x0 flags=0x0 reload=0 ' info 0 0
	expect root 'alloc 0 *' alloc 3 15 $FAULTS any 0
	expect user "info 0 SOFT0 enabled THREAD owner=${CLIENT[root]} mode=3 event=0x20004 *" info 0 0
	expect other 'alloc 0 0xfff30f00' alloc 3 15 $FAULTS any 0
	# Two owners: none is named, and unknown fields are zero.
	expect user 'info 0 SOFT0 enabled THREAD owner=-1 mode=0 event=0x0 flags=0x0 reload=0 ' info 0 0
	expect root 'release 0' release
	expect user "info 0 SOFT0 enabled THREAD owner=${CLIENT[other]} *" info 0 0
	# ATTACH_DONE, and ATTACHED_TO_OWNER as well
	expect other 'attach 0' attach "${CLIENT[user]}"
	expect user 'info 0 SOFT0 * flags=0x40000 *' info 0 0
	expect other 'attach 0' attach 0
	expect user 'info 0 SOFT0 * flags=0x50000 *' info 0 0
	expect other 'detach 0' detach 0
	expect user 'info 0 SOFT0 * flags=0x40000 *' info 0 0
	# System scope is shown from its allocation on, on its CPU.
	expect root 'alloc 0 0x00010f01' alloc 1 15 $FAULTS 0 0
	expect user "info 0 SOFT1 enabled STANDALONE owner=${CLIENT[root]} mode=1 *" info 0 1
	cpu=$(lscpu -p=CPU --online | grep -v '^#' | sed -n 2p)
	[ -z "$cpu" ] || expect user 'info 0 SOFT1 enabled STANDALONE owner=-1 mode=0 *' info "$cpu" 1
}

# stats: the eight counters, in stats[].
stats() {
	ask root counters
	read -r -a stats <<<"${reply#counters 0 }"
}

@test "C-16, REQ-086: every request counts, every failure does; a query counts itself and changes nothing else" {
	stats
	before=("${stats[@]}")
	stats
	[ "${stats[3]}" -eq $((before[3] + 1)) ]
	[ "${stats[4]}" -eq "${before[4]}" ]
	# Two successes, five failures: unknown, short, and three refusals.
	ask root alloc 3 15 $FAULTS any 0 op 99 0 op 7 5 stop start write 1 id 1 release
	stats
	[ "${stats[3]}" -eq $((before[3] + 1 + 7 + 1)) ]
	[ "${stats[4]}" -eq $((before[4] + 5)) ]
	# Another client's as well.
	client user run_as_nobody
	ask user cpuinfo admin 0 0 0
	stats
	[ "${stats[3]}" -eq $((before[3] + 1 + 7 + 1 + 2 + 1)) ]
	[ "${stats[4]}" -eq $((before[4] + 6)) ]
	# No PMC samples or logs.
	[ "${stats[*]:0:3} ${stats[*]:5:3}" = "0 0 0 0 0 0" ]
}

@test "REQ-087, REQ-188, C-18: the daemon's version; a newer client is refused, an older one is not" {
	run wireclient hello version 0x0a000000
	[[ $output == *"version 0"* ]]
	expect root 'version EPROTO -- *update pmcbpf*' version 0x0a040000
	expect root 'version EPROTO -- *update pmcbpf*' version 0x0b000000
	expect root 'version 0' version 0x0a03ffff
	expect root 'version 0' version 0x03010000
}

@test "REQ-118, REQ-122: user space may read the time stamp counter, and the PMC reads the same" {
	[ "$(uname -m)" = x86_64 ] || skip "an x86 counter"
	client user run_as_nobody
	expect root 'start 0' alloc 1 0 0x1000 0 0 start
	for ((i = 0; i < 5; i++)); do
		expect user 'rdtsc *' rdtsc
		earlier=${reply#rdtsc }
		count_of root
		expect user 'rdtsc *' rdtsc
		[ "$earlier" -lt "$count" ]
		[ "$count" -lt "${reply#rdtsc }" ]
	done
	expect root 'release 0' release
	expect user 'rdtsc *' rdtsc
}

@test "REQ-144: an argument of the wrong length is a bad address, before any other error" {
	# For each operation its size - 1, its size, its size + 1, and 0.
	for op in 4:4 5:8 6:16 7:120 8:8 9:8 11:8 12:16 13:16 14:8 15:8 18:8; do
		expect root 'op EFAULT -- *takes *' op "${op%:*}" $((${op#*:} - 1))
		expect root 'op EFAULT -- *takes *' op "${op%:*}" $((${op#*:} + 1))
		expect root 'op EFAULT -- *takes *' op "${op%:*}" 0
	done
	expect root 'op EFAULT -- *' op 2 1
	expect root 'op EFAULT -- *' op 3 1
	expect root 'cpuinfo 0 *' cpuinfo
}
