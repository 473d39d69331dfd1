#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Users without any privilege attack a daemon: others are answered meanwhile, and everything is given back.

load helpers

setup() { need_root; }

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

@test "descriptors that hang whoever closes, looks at or maps them hang nobody else" {
	play linger linger-log fuse-close fuse-stat fuse-log overlay-fuse-map
}

# With small buffers the attacker's share is full after some thousand records.
@test "logs that nobody reads leave buffers and threads for others" {
	play pipe-log pipe-gone pty-log -o kern.hwpmc.logbuffersize=4
}

@test "rows, PMCs that sample and children of one user leave some for others" {
	play soft-rows samplers children
}

@test "attaching to many processes, and letting go of them, hangs nobody" {
	play descendants release
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
	play random --messages 6000 --seed 13
}

# Names of those in $namespace; one may end meanwhile.
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
	# A mount namespace of its own: all that it starts is in there.
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
