#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the daemon gives up when it is up, however it was started, and that it can do all with the rest.

load helpers

setup() {
	need_root
	ROOT=$BATS_TEST_DIRNAME/../..
}

teardown() {
	part_all
	[ -z "${PCTRD_PID:-}" ] || kill -KILL "$PCTRD_PID"
	stop_daemon KILL || true
}

# capabilities WORD...: capabilities in the daemon's list whose lines contain one of the words OWN, CLIENT
capabilities() { sed -nE "s/^\t(${1// /|})\(CAP_([A-Z_]+), .*/\2/p" "$ROOT/loader/base/caps.c"; }

# mask NAME...: a mask of those that this shell has, since it cannot pass on others
mask() {
	local name number all=0 here
	for name; do
		number=$(sed -nE "s/^#define CAP_${name}[ \t]+([0-9]+)$/\1/p" /usr/include/linux/capability.h)
		all=$((all | 1 << number))
	done
	here=$((16#$(sed -n 's/^CapBnd:\t//p' /proc/self/status)))
	printf '%016x\n' $((all & here))
}

# setpriv's argument for the unit's bounding set: drops all other capabilities of this kernel.
taken_by_unit() {
	local name number last unit
	last=$(</proc/sys/kernel/cap_last_cap)
	unit=" $(sed -nE 's/^CapabilityBoundingSet=//p' "$ROOT/packaging/systemd/pmcbpfd.service" | tr '\n' ' ')"
	while read -r name number; do
		[ "$number" -gt "$last" ] || [[ $unit == *" $name "* ]] || printf -- '-%s,' "${name#CAP_}"
	done < <(sed -nE 's/^#define (CAP_[A-Z_]+)[ \t]+([0-9]+)$/\1 \2/p' /usr/include/linux/capability.h) |
		tr '[:upper:]' '[:lower:]' | sed 's/,$//'
}

# confined: all of the daemon's threads have the table's capabilities, those that write logs to files none, and
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

# helpers_confined MASK PARENT NAME: the spawner and the helpers, which read what clients have written, have no others
helpers_confined() {
	local pid found=0
	for pid in $(descendants "$2"); do
		[ "$(<"/proc/$pid/comm")" = "$3" ] || continue
		[ "$(awk '$1 ~ /^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs):/ { print $2 }' "/proc/$pid/status" | tr '\n' ' ')" = \
			"0000000000000000 $1 $1 0000000000000000 1 " ] || { cat "/proc/$pid/status" >&2; return 1; }
		found=$((found + 1))
	done
	[ "$found" -ge 2 ]
}

# descendants PID
descendants() {
	local child
	for child in $(cat "/proc/$1/task"/*/children); do
		echo "$child"
		descendants "$child"
	done
}

@test "started by hand: the table's capabilities, in every thread; no core dumps, files for root only" {
	start_daemon -o ktr.compile=SCHED
	client a
	expect a 'log 0*' log "$BATS_TEST_TMPDIR/log"
	expect a 'alloc 0*' alloc 3 15 0x20004 any 0
	expect a 'start 0*' start
	[ "$(find "/proc/$DAEMON_PID/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]
	confined
	grep -qE '^Max core file size +0 ' "/proc/$DAEMON_PID/limits"
	grep -qP '^Umask:\t0077$' "/proc/$DAEMON_PID/status"
	# Both are open to all users, whatever the umask.
	[ "$(stat -c %a "$PMCBPF_SOCKET")" = 666 ]
	wait_for helpers_confined "$(mask CHECKPOINT_RESTORE DAC_READ_SEARCH SYS_PTRACE)" "$DAEMON_PID" pmcbpfd-helper
}

@test "started as the unit does: the same" {
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	setpriv --bounding-set="$(taken_by_unit)" --inh-caps=-all pmcbpfd -f -s "$PMCBPF_SOCKET" 3>&- &
	DAEMON_PID=$!
	wait_for daemon_answers
	confined
}

@test "pctrd keeps its unit's capabilities, started either way" {
	local unit=CAP_PERFMON\ CAP_SYS_PTRACE dir=$BATS_TEST_TMPDIR/run mask
	grep -qx "CapabilityBoundingSet=$unit" "$ROOT/packaging/systemd/pctrd.service"
	start_daemon
	pctrd -f -d "$dir" --no-node -o pctr.soft=1 3>&- &
	PCTRD_PID=$!
	PCTR_DEVICE=$dir/pctr wait_for pctr
	PCTR_DEVICE=$dir/pctr pctr -s 0 -f c0
	mask=$(mask PERFMON SYS_PTRACE)
	[ "$(awk '$1 ~ /^(Cap...|NoNewPrivs):/ { print $2 }' "/proc/$PCTRD_PID/status" | tr '\n' ' ')" = \
		"0000000000000000 $mask $mask $mask 0000000000000000 1 " ]
	wait_for helpers_confined 0000000000000000 "$PCTRD_PID" pctrd-helper
	[ "$(stat -c %a "$dir/pctr" "$dir/pctr.sock" "$dir" | tr '\n' ' ')" = "644 666 755 " ]
	kill "$PCTRD_PID"
	wait "$PCTRD_PID"
	PCTRD_PID=
	[ -z "$(ls -A "$dir")" ]
}

# allowed: the system calls that the unit's list allows
allowed() {
	local word
	for word in $(sed -n 's/^SystemCallFilter=//p' "$ROOT/packaging/systemd/pmcbpfd.service"); do
		case $word in
		@*) systemd-analyze syscall-filter "$word" | sed -nE 's/^ +([a-z0-9_]+)$/\1/p' ;;
		*) echo "$word" ;;
		esac
	done | sort -u
}

@test "every system call of the daemon is in its unit's list" {
	command -v strace >/dev/null || skip "strace is not installed"
	command -v systemd-analyze >/dev/null || skip "systemd is not installed"
	open_tmpdir
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/pmc.sock
	strace -D -f -q -e signal=none -o "$BATS_TEST_TMPDIR/calls" \
		pmcbpfd -f -s "$PMCBPF_SOCKET" -o ktr.compile=SCHED 3>&- &
	DAEMON_PID=$!
	wait_for daemon_answers
	run_as_nobody wireclient hello heir 1 alloc 3 15 0x20004 any 0 attach heir start read
	pmcstat -P clock.hard -O "$BATS_TEST_TMPDIR/log" "$BUILD/tests/load" spins=10000000
	kill -HUP "$DAEMON_PID"
	stop_daemon
	traced_all() { grep -q '+++ exited with 0' "$BATS_TEST_TMPDIR/calls"; }
	wait_for traced_all
	sed -nE 's/^[0-9]+ +(<... )?([a-z0-9_]+)(\(| resumed).*/\2/p' "$BATS_TEST_TMPDIR/calls" | sort -u >"$BATS_TEST_TMPDIR/called"
	grep -q perf_event_open "$BATS_TEST_TMPDIR/called"
	[ -z "$(comm -23 "$BATS_TEST_TMPDIR/called" <(allowed) | tee /dev/stderr)" ]
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
	# Also with capabilities that the daemon lacks: the client's own descriptor is the proof.
	MORE=,+sys_time run docker wireclient hello heir 1 alloc 3 15 0x20004 any 0 attach heir
	[[ $output == *$'\nattach 0'* ]] || { echo "$output" >&2; false; }
}

@test "the build id of a program that only its user may read is in a log" {
	local dir=$BATS_TEST_TMPDIR/own
	start_daemon
	install -d -m 700 -o 65534 "$dir"
	install -m 500 -o 65534 "$BUILD/tests/load" "$dir/load"
	"${nobody[@]}" "$dir/load" -w >"$BATS_TEST_TMPDIR/out" 3>&- &
	TARGET=$!
	wait_for grep -q ready "$BATS_TEST_TMPDIR/out"
	pmcstat -P clock.hard -t $TARGET -l 0.1 -O "$BATS_TEST_TMPDIR/log"
	kill -KILL $TARGET
	id=$(readelf -n "$dir/load" | sed -n 's/ *Build ID: //p')
	[ -n "$id" ]
	pmc filter -j "$BATS_TEST_TMPDIR/log" - | grep '/own/load"' | grep -q "\"$id\""
}

# A daemon with the unit's bounding set from the start; the sandbox of the unit runs the other files that use most of it.
@test "everything works with the unit's bounding set" {
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
	BUILD=$build run bats --tap "$BATS_TEST_DIRNAME"/{access,ktr_daemon}.bats
	status_is 0
	[ "$(grep -c "^ok" <<<"$output")" -ge 15 ]
	[[ $output != *"not ok"* ]]
}
