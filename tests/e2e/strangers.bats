#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Users without any privilege attack a daemon: others are answered meanwhile, and everything is given back.

load helpers

setup() {
	need_root
}

# play ATTACK... [OPTION]...: each is in place until both observers have been answered so often; a request that is
# answered at all has been within the patience, and no time is compared with anything.
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

@test "a file system that does not answer, as a log of a client that is gone, hangs nobody else" {
	play fuse-log
}

@test "connections that say nothing, come and go or flood leave room for others" {
	play silent comers flood
}

@test "processes with many threads, mappings, mounts and descriptors in an epoll set hang nobody" {
	play threads mappings mounts epoll
}

@test "sampling PMCs one after the other, and a stopped child of the daemon, hang nobody" {
	play sampling stopped-child
}

@test "thousands of random messages and descriptors of forty kinds: every answer is one, nothing is left" {
	# Rows and log buffers that strangers have are refused to others.
	play random --without fuse,linger --messages 6000 --seed 13 --ignore-refusals
}

@test "strangers ends by SIGTERM and leaves no process and no file behind" {
	local out=$BATS_TEST_TMPDIR/out pid

	open_tmpdir
	mkdir -m 755 "$BATS_TEST_TMPDIR/tmp"
	# A session of its own: all that it starts is in there.
	TMPDIR=$BATS_TEST_TMPDIR/tmp setsid strangers -d "$BUILD/sbin/pmcbpfd" --attacks random --without fuse,linger \
		--seconds 600 >"$out" 2>&1 3>&- &
	pid=$!
	wait_for grep -q '^random: seed' "$out"
	pgrep -s "$pid" -x pmcbpfd
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	status_is 1
	mapfile -t lines <"$out"
	[[ ${lines[-1]} == "strangers: 0 passed, 1 failed" ]]
	refute pgrep -s "$pid"
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/tmp")" ]
}
