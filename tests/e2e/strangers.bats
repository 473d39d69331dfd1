#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Users without any privilege attack a daemon: others are answered meanwhile, and everything is given back.

load helpers

setup() { need_root; }

# play ATTACK... [OPTION]...: each attack stays in place until both observers have been answered a number of times;
# a reply that comes at all comes within the patience, and no times are compared.
play() {
	local attacks=()

	while [ $# -gt 0 ] && [[ $1 != -* ]]; do
		attacks+=("$1")
		shift
	done
	run strangers -d "$BUILD/sbin/pmcbpfd" --attacks "$(IFS=,; echo "${attacks[*]}")" --scale 5 --requests 60 \
		--patience 120 "$@"
	echo "$output"
	status_is 0
	[[ ${lines[-1]} == "strangers: "*" passed, 0 failed" ]]
}

@test "descriptors that hang a process that closes, inspects or maps them block no other client" {
	play linger linger-log fuse-close fuse-stat fuse-log overlay-fuse-map
}

# With small buffers the attacker's share is full after some thousand records.
@test "logs without a reader leave buffers and threads for others" {
	play pipe-log pipe-gone pty-log -o kern.hwpmc.logbuffersize=4
}

@test "one user's rows, sampling PMCs and children leave some for others" {
	play soft-rows samplers children
}

@test "attaching to many processes, and detaching, blocks no other client" {
	play descendants release
}

@test "connections that are silent, flap or flood leave room for others" {
	play silent comers flood
}

@test "processes with many threads, mappings, mounts and descriptors in an epoll set block no other client" {
	play threads mappings mounts epoll
}

@test "a sequence of sampling PMCs, and a stopped child of the daemon, block no other client" {
	play sampling stopped-child
}

@test "thousands of random messages and descriptors of forty kinds: every reply is valid, nothing is left behind" {
	# Tables for unwinding stay while their files are known, and their maps with them.
	play random --messages 6000 --seed 13 -o kern.hwpmc.unwind=0
}

# Command names of the processes in $namespace; one may end meanwhile.
processes() {
	local p

	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/ns/mnt")" != "$namespace" ] || cat "$p/comm" || :
	done
}

@test "strangers ends by SIGTERM and leaves no process and no file behind" {
	local out=$BATS_TEST_TMPDIR/out pid namespace

	open_tmpdir
	mkdir -m 755 "$BATS_TEST_TMPDIR/tmp"
	TMPDIR=$BATS_TEST_TMPDIR/tmp strangers -d "$BUILD/sbin/pmcbpfd" --attacks random --seconds 600 \
		>"$out" 2>&1 3>&- &
	pid=$!
	wait_for grep -q '^random: seed' "$out"
	# A mount namespace of its own, which contains all that it starts.
	namespace=$(readlink /proc/$pid/ns/mnt)
	processes | grep -qx pmcbpfd
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	status_is 1
	mapfile -t lines <"$out"
	[[ ${lines[-1]} == "strangers: 0 passed, 1 failed" ]]
	[ -z "$(processes)" ]
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/tmp")" ]
}
