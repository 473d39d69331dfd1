#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the daemon gives up when it is up, however it was started, and that it can do all with the rest.

load helpers

setup() {
	bats_require_minimum_version 1.5.0
	need_root
	ROOT=$BATS_TEST_DIRNAME/../..
}

teardown() {
	part_all
	stop_daemon KILL || true
}

# capabilities WORD...: the names in the daemon's list whose lines have one of the words, OWN or CLIENT
capabilities() { sed -nE "s/^\t(${1// /|})\(CAP_([A-Z_]+), .*/\2/p" "$ROOT/loader/caps.c"; }

# mask NAME...: of those that this shell has, as it could not give others to a daemon
mask() {
	local name number all=0 here
	for name; do
		number=$(sed -nE "s/^#define CAP_$name[ \t]+([0-9]+)$/\1/p" /usr/include/linux/capability.h)
		all=$((all | 1 << number))
	done
	here=$((16#$(sed -n 's/^CapBnd:\t//p' /proc/self/status)))
	printf '%016x\n' $((all & here))
}

# What setpriv takes away for the unit's bounding set: all others that this kernel has.
taken_by_unit() {
	local name number last unit
	last=$(</proc/sys/kernel/cap_last_cap)
	unit=" $(sed -nE 's/^CapabilityBoundingSet=//p' "$ROOT/packaging/systemd/pmcbpfd.service" | tr '\n' ' ')"
	while read -r name number; do
		[ "$number" -gt "$last" ] || [[ $unit == *" $name "* ]] || printf -- '-%s,' "${name#CAP_}"
	done < <(sed -nE 's/^#define (CAP_[A-Z_]+)[ \t]+([0-9]+)$/\1 \2/p' /usr/include/linux/capability.h) |
		tr '[:upper:]' '[:lower:]' | sed 's/,$//'
}

# confined: all threads of the daemon have the table's capabilities, those that write logs of files none, and
# nothing grants them others
confined() {
	local all own status none=0000000000000000
	mapfile -t all < <(capabilities 'OWN CLIENT')
	mapfile -t own < <(capabilities OWN)
	[ ${#own[@]} -gt 5 ] && [ ${#all[@]} -gt ${#own[@]} ]
	for status in "/proc/$DAEMON_PID/task"/*/status; do
		[ "$(sed -nE 's/^Cap(Prm|Eff):\t//p' "$status" | sort -u)" != $none ] || continue
		[ "$(awk '$1 ~ /^(Cap...|NoNewPrivs):/ { print $1, $2 }' "$status")" = "CapInh: 0000000000000000
CapPrm: $(mask "${all[@]}")
CapEff: $(mask "${own[@]}")
CapBnd: $(mask "${all[@]}")
CapAmb: 0000000000000000
NoNewPrivs: 1" ] || { cat "$status" >&2; return 1; }
	done
}

@test "started by hand: the table's capabilities, in every thread; no core, files for root only" {
	start_daemon -o ktr.compile=SCHED
	client a
	expect a 'log 0*' log "$BATS_TEST_TMPDIR/log"
	expect a 'alloc 0*' alloc 3 15 0x20004 any 0
	expect a 'start 0*' start
	[ "$(find "/proc/$DAEMON_PID/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]
	confined
	grep -qE '^Max core file size +0 ' "/proc/$DAEMON_PID/limits"
	grep -qP '^Umask:\t0077$' "/proc/$DAEMON_PID/status"
	# Both are for all users, whatever else is made from then on.
	[ "$(stat -c %a "$PMCBPF_SOCKET")" = 666 ]
}

@test "started as the unit starts it: the same" {
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	setpriv --bounding-set="$(taken_by_unit)" --inh-caps=-all pmcbpfd -f -s "$PMCBPF_SOCKET" 3>&- &
	DAEMON_PID=$!
	wait_for daemon_answers
	confined
}

# docker COMMAND...: root of a container that shares the host's ids
docker() {
	setpriv --bounding-set=-all,+chown,+dac_override,+fsetid,+fowner,+mknod,+net_raw,+setgid,+setuid,+setfcap,+setpcap,+net_bind_service,+sys_chroot,+kill,+audit_write"${MORE:-}" \
		--inh-caps=-all "$@"
}

@test "a client with the capabilities of a container's root may attach to its own processes" {
	start_daemon
	run docker wireclient hello heir 1 alloc 3 15 0x20004 any 0 attach heir
	[[ $output == *$'\nattach 0'* ]] || { echo "$output" >&2; false; }
	# Also with capabilities that the daemon does not have: the client's own descriptor is the proof.
	MORE=,+sys_time run docker wireclient hello heir 1 alloc 3 15 0x20004 any 0 attach heir
	[[ $output == *$'\nattach 0'* ]] || { echo "$output" >&2; false; }
}

# What a daemon does with the unit's bounding set from the start: files of this folder that use most of it.
@test "all works with the unit's bounding set" {
	local build=$BATS_TEST_TMPDIR/build
	mkdir -p "$build/sbin"
	open_tmpdir
	ln -s "$BUILD"/{bin,lib,tests} "$build"
	cat >"$build/sbin/pmcbpfd" <<-END
		#!/bin/sh
		[ "\$(id -u)" -eq 0 ] || exec '$BUILD/sbin/pmcbpfd' "\$@"
		exec setpriv --bounding-set='$(taken_by_unit)' --inh-caps=-all '$BUILD/sbin/pmcbpfd' "\$@"
	END
	chmod 755 "$build/sbin/pmcbpfd"
	BUILD=$build run bats --tap "$BATS_TEST_DIRNAME"/{access,names,ktr_daemon}.bats
	status_is 0
	[ "$(grep -c "^ok" <<<"$output")" -ge 15 ]
	[[ $output != *"not ok"* ]]
}
