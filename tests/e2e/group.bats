#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# socket.group: a site chooses the group that may speak to the daemon at all.

load helpers

setup() {
	need_root
	# A group without members, by any name that it has here.
	GROUP=$(getent group games | cut -d: -f1)
	[ -n "$GROUP" ] || skip "there is no group games"
	GID=$(getent group "$GROUP" | cut -d: -f3)
	b=$(public_build)
}

# hello_as OPTION...: of setpriv
hello_as() {
	LD_LIBRARY_PATH=$b/lib setpriv --reuid 65534 --inh-caps=-all --bounding-set=-all "$@" \
		"$b/tests/wireclient" hello
}

@test "members of the group and root connect, others do not" {
	# Under a restrictive umask.
	umask 0
	start_daemon -o socket.group="$GROUP"
	[ "$(stat -c '%a %u %g' "$PMCBPF_SOCKET")" = "660 0 $GID" ]
	run hello_as --regid "$GID" --clear-groups
	[[ $output == "hello 0"* ]]
	run hello_as --regid 65534 --groups "$GID"
	[[ $output == "hello 0"* ]]
	run hello_as --regid 65534 --clear-groups
	[[ $output != *"hello 0"* ]]
	run run_as_nobody pmccontrol -l
	[ "$status" -ne 0 ]
	[[ $output == *"it serves members of a group (socket.group in pmcbpf.conf)"* ]]
	run -71 pmccontrol --tunable socket.group=root
	[[ $output == *"socket.group holds from start to end"* ]]
	[ "$(pmccontrol --tunable socket.group)" = "$GROUP" ]
}

@test "without the option any user connects" {
	umask 0077
	start_daemon -o socket.group=
	[ "$(stat -c '%a %g' "$PMCBPF_SOCKET")" = "666 0" ]
	run run_as_nobody wireclient hello
	[[ $output == "hello 0"* ]]
}

@test "an unknown group is refused by name" {
	for name in no-such-group ' ' 4711 ../x; do
		run -1 pmcbpfd -f -s "$BATS_TEST_TMPDIR/s" -o socket.group="$name"
		[[ $output == *"socket.group=\"$name\": there is no such group"* ]]
		[ ! -e "$BATS_TEST_TMPDIR/s" ]
	done
}

@test "a folder with the set-group-id bit is refused" {
	mkdir "$BATS_TEST_TMPDIR/run"
	chgrp 65534 "$BATS_TEST_TMPDIR/run"
	chmod 2755 "$BATS_TEST_TMPDIR/run"
	run -1 pmcbpfd -f -s "$BATS_TEST_TMPDIR/run/s" -o socket.group="$GROUP"
	[[ $output == *"gets the group of its folder; chmod g-s that"* ]]
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/run")" ]
}

@test "a socket from the service manager has the manager's permissions" {
	run wireclient activate "$BATS_TEST_TMPDIR/given" "$BUILD/sbin/pmcbpfd" -f -o socket.group="$GROUP"
	[[ $output == *"SocketGroup= and SocketMode=0660"* ]]
}
