# SPDX-License-Identifier: BSD-2-Clause
# What the bats files about the kernel's trace rings share.
# shellcheck shell=bash

# With room for the entries of the whole machine.
BIG=ktr.size=4194304

ktr() { ktrread "$@"; }

# One ring for each possible CPU.
rings() { echo $(($(sed 's/.*[-,]//' /sys/devices/system/cpu/possible) + 1)); }

# start_ktr OPTION...: a daemon with these options that has set up its trace rings.
start_ktr() {
	start_daemon "$@"
	ktr info >/dev/null
}

# How often the daemon itself hooks an exec: twice where a program may be left out (bpf/count/maps.bpf.h).
own_execs() {
	if [ "$(printf '%s\n' 6.19 "$(uname -r)" | sort -V | head -n 1)" = 6.19 ]; then echo 2; else echo 1; fi
}

# attached: the tracepoints that the daemon's rings have programs on, without its other programs.
attached() {
	grep -hs '^tp_name:' "/proc/$DAEMON_PID/fdinfo"/* | cut -f2 | grep -v '^cpuhp_' | sort |
		awk -v execs="$(own_execs)" -v renames=1 '
			$0 == "sched_process_exec" && execs-- > 0 { next }
			$0 == "task_rename" && renames-- > 0 { next }
			{ print }'
}
attached_is() { [ "$(attached | tr '\n' ' ')" = "$1" ]; }

# This daemon's pin; others may have one.
pin() {
	local at=/sys/fs/bpf/pmcbpf/ktr
	[ ! -e "$at-$DAEMON_PID" ] || at=$at-$DAEMON_PID
	echo "$at"
}

# field NAME: a field of the output of `info`
field() { ktr info | grep -o "\b$1 [^ ]*" | cut -d' ' -f2; }
field_is() { [ "$(field "$1")" = "$2" ]; }

tunable_is() { [ "$(pmccontrol --tunable "$1")" = "$2" ]; }

# Nothing has been overwritten since the rings were cleared.
whole() { awk '!($1 in seen) && $2 { exit 1 } { seen[$1] }' "$TRACE"; }

# trace COMMAND...: the entries made while it runs; TID is its pid.  It runs again if large rings were still too
# small for the entries of the whole machine.
trace() {
	local entries try
	entries=$(field entries)
	for ((try = 0; try < 10; try++)); do
		ktr clear
		"$@" >/dev/null 2>&1 3>&- &
		TID=$!
		wait $TID || true
		ktr freeze read thaw >"$TRACE"
		refute grep -q ^torn "$TRACE" || return
		[ "$entries" -ge 65536 ] && ! whole || return 0
	done
}

# by_tid TID: its texts, oldest first; entries of one CPU with the same time stay in order
by_tid() { sort -s -k 3,3n "$TRACE" | awk -v tid="$1" '$4 == tid { $1 = $2 = $3 = $4 = $5 = $6 = ""; print substr($0, 7) }'; }
texts() { cut -d' ' -f7- "$TRACE"; }
