#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The kernel's trace rings, as the daemon comes and goes: names, what the kernel refuses, the file of tunables.

load helpers
load ktr

setup() {
	need_root
	TRACE=$BATS_TEST_TMPDIR/trace
	OTHERS=()
}

teardown() {
	stop_daemon || true
	kill -KILL "${OTHERS[@]}" 2>/dev/null || true
	[ -z "${first_pid:-}" ] || kill -KILL "$first_pid" 2>/dev/null || true
}

@test "a killed daemon leaves its rings; the next one replaces them, a clean end removes them" {
	command -v bpftool >/dev/null || PATH=$PATH:/usr/sbin
	start_ktr -o ktr.compile=INIT
	ktr mark=last-words
	at=$(pin)
	stop_daemon KILL || true
	bpftool -j map dump pinned "$at" | python3 -c 'import json, sys
words = b"".join(bytes(int(b, 16) for b in s["value"]) for s in json.load(sys.stdin))
assert b"last-words" in words and words.startswith(b"KTRRGN1\0")'
	start_ktr -o ktr.compile=INIT
	[ ! -e "$at" ] || ! bpftool -j map dump pinned "$at" | python3 -c 'import json, sys
words = b"".join(bytes(int(b, 16) for b in s["value"]) for s in json.load(sys.stdin))
sys.exit(b"last-words" not in words)'
	at=$(pin)
	[ -e "$at" ]
	[ "$at" = /sys/fs/bpf/pmcbpf/ktr ] || skip "another pmcbpfd on this machine has the usual name"
	# a second daemon has a place of its own
	first=$PMCBPF_SOCKET first_pid=$DAEMON_PID
	mkdir "$BATS_TEST_TMPDIR/other"
	PMCBPF_SOCKET=$BATS_TEST_TMPDIR/other/pmc.sock
	pmcbpfd -f -s "$PMCBPF_SOCKET" -o ktr.compile=INIT >"$DAEMON_LOG.2" 2>&1 3>&- &
	DAEMON_PID=$!
	wait_for daemon_answers
	field_is entries 1024
	[ "$(pin)" = "/sys/fs/bpf/pmcbpf/ktr-$DAEMON_PID" ]
	other=$(pin)
	stop_daemon
	[ ! -e "$other" ]
	[ -e "$at" ]
	PMCBPF_SOCKET=$first DAEMON_PID=$first_pid first_pid=
	stop_daemon
	[ ! -e "$at" ]
}

# another_daemon NAME: with rings; its pid is in $OTHER, the path of its pin in $OTHER_PIN.
another_daemon() {
	mkdir "$BATS_TEST_TMPDIR/$1"
	PMCBPF_SOCKET=$BATS_TEST_TMPDIR/$1/pmc.sock
	pmcbpfd -f -s "$PMCBPF_SOCKET" -o ktr.compile=INIT >"$DAEMON_LOG.$1" 2>&1 3>&- &
	OTHER=$!
	OTHERS+=("$OTHER")
	wait_for daemon_answers
	field_is entries 1024
	OTHER_PIN=$(DAEMON_PID=$OTHER pin)
}

@test "the rings of a killed daemon are removed by the next one that makes rings, and no others" {
	command -v bpftool >/dev/null || PATH=$PATH:/usr/sbin
	start_ktr -o ktr.compile=INIT
	first=$(pin)
	[ -e "$first" ]
	another_daemon second
	second=$OTHER_PIN
	[ -e "$second" ]
	kill -KILL "$OTHER"
	wait_for process_gone "$OTHER"
	# A daemon whose pid belongs to another process by now.
	bpftool map create /sys/fs/bpf/pmcbpf/ktr-1 type array key 4 value 4 entries 1 name left
	another_daemon third
	[ ! -e "$second" ]
	[ ! -e /sys/fs/bpf/pmcbpf/ktr-1 ]
	[ -e "$first" ]
	[ -e "$OTHER_PIN" ]
	another_daemon fourth
	[ -e "$first" ]
	[ "$(ls -d /sys/fs/bpf/pmcbpf/ktr-"${OTHERS[1]}" "$OTHER_PIN" | wc -l)" -eq 2 ]
	kill "${OTHERS[1]}" "$OTHER"
	wait_for process_gone "$OTHER"
	[ ! -e "$OTHER_PIN" ]
}

@test "the BPF file system: another user's folder or link is left alone, and reported" {
	# with a BPF file system of its own
	pmcbpfd() {
		exec unshare -m bash -c 'mount -t bpf bpf /sys/fs/bpf && cd /sys/fs/bpf && mkdir other &&
			ln -s here other/ktr && eval "$THEIRS" && exec pmcbpfd "$@"' pmcbpfd "$@"
	}
	for theirs in 'ln -s other pmcbpf' 'mkdir pmcbpf; chown 65534 pmcbpf'; do
		export THEIRS=$theirs
		start_ktr -o ktr.compile=INIT
		wait_for grep -qE '/sys/fs/bpf/pmcbpf.*remove (it|what is there)$' "$DAEMON_LOG"
		ktr mark=works read | grep -q ' works$'
		[ "$(readlink "/proc/$DAEMON_PID/root/sys/fs/bpf/other/ktr")" = here ]
		[ ! -e "/proc/$DAEMON_PID/root/sys/fs/bpf/pmcbpf/ktr" ]
		stop_daemon
		rm "$DAEMON_LOG"
	done
	# a folder with wrong permissions gets the right ones
	export THEIRS='mkdir -m 777 pmcbpf'
	start_ktr -o ktr.compile=INIT
	[ -e "/proc/$DAEMON_PID/root/sys/fs/bpf/pmcbpf/ktr" ]
	[ "$(stat -c %a "/proc/$DAEMON_PID/root/sys/fs/bpf/pmcbpf")" = 700 ]
}

@test "KTR-26: a class that the verifier refuses is left out and reported; the others are there" {
	export LD_PRELOAD=$BUILD/tests/refuse.so REFUSE=on_sys_enter
	start_ktr -o ktr.compile=SYSC,PROC,SIG -o ktr.stop=none
	unset LD_PRELOAD
	field_is compile 1400
	field_is missing 2000
	wait_for grep -q 'the kernel refused the programs of class SYSC: Permission denied: on_sys_enter;is not for me$' "$DAEMON_LOG"
	attached_is 'sched_process_exec sched_process_exit sched_process_fork signal_deliver signal_generate task_newtask task_rename '
	trace true
	grep -q 'fork parent' "$TRACE"
	# once is enough
	ktr ktr.mask=PROC ktr.compile=SYSC,PROC
	[ "$(grep -c refused "$DAEMON_LOG")" -eq 1 ]
}

@test "invalid tunables at the start are reported, and the daemon runs without rings" {
	start_ktr -o ktr.compile=PROC -o ktr.size=128 -o ktr.stop=tp:no_such_point
	wait_for grep -q 'ktr.stop: this kernel has no tracepoint "no_such_point"' "$DAEMON_LOG"
	field_is entries 0
	[ "$(pmccontrol --tunable ktr.compile)" = none ]
	[ "$(pmccontrol --tunable ktr.size)" = 65536 ]
	ktr ktr.compile=PROC
	field_is compile 1000
}

@test "SIGHUP: the file's tunables take effect, and an invalid one is reported" {
	echo 'ktr.compile="PROC"' >"$BATS_TEST_TMPDIR/conf"
	start_ktr -c "$BATS_TEST_TMPDIR/conf"
	field_is compile 1000
	printf 'ktr.compile="SIG"\nktr.stop="tp:no_such_point"\n' >"$BATS_TEST_TMPDIR/conf"
	kill -HUP "$DAEMON_PID"
	wait_for grep -q 'no tracepoint "no_such_point"' "$DAEMON_LOG"
	# all of it or nothing
	wait_for tunable_is ktr.stop panic
	[ "$(pmccontrol --tunable ktr.compile)" = PROC ]
	field_is compile 1000
	echo 'ktr.compile="SIG"' >"$BATS_TEST_TMPDIR/conf"
	kill -HUP "$DAEMON_PID"
	wait_for field_is compile 400
	# a bad line: nothing changes
	echo 'ktr.size="77"' >"$BATS_TEST_TMPDIR/conf"
	kill -HUP "$DAEMON_PID"
	wait_for grep -q 'a power of two from 64' "$DAEMON_LOG"
	field_is entries 1024
	# every one of them
	printf 'ktr.%s\n' 'compile="SIG,PROC"' 'cpumask="0"' 'mask="PROC"' 'size="128"' 'stop="oom"' 'unprivileged="1"' \
		>"$BATS_TEST_TMPDIR/conf"
	kill -HUP "$DAEMON_PID"
	wait_for field_is entries 2
	field_is compile 1400
	field_is mask 1000
	[[ $(ktr header) == *' cpumask 1 '* ]]
	[ "$(pmccontrol --tunable ktr.stop)" = oom ]
	[ "$(pmccontrol --tunable ktr.unprivileged)" = 1 ]
}
