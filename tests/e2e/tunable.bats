#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# pmccontrol --tunable: hwpmc's variables while the daemon runs.

load helpers

setup() {
	need_root
	CONF=$BATS_TEST_TMPDIR/pmcbpf.conf
	echo '# nothing' >"$CONF"
	start_daemon -c "$CONF"
}

teardown() { stop_daemon || true; }

# value NAME VALUE: NAME has this value
value() { [ "$(pmccontrol --tunable "$1")" = "$2" ]; }

nobody_may_count_cpus() { run_as_nobody wireclient hello alloc 1 15 0x2000b 0 0 | grep -q '^alloc 0 '; }

@test "kern.hwpmc.logversion is 10 or 3: another number is refused, at the start and at run time" {
	for n in 77 4 0 -1; do
		run pmccontrol --tunable kern.hwpmc.logversion=$n
		[ "$status" -ne 0 ]
		[[ $output == *"is 10 (today's format) or 3 (for readers on FreeBSD 6 to 11), not \"$n\""* ]]
	done
	value kern.hwpmc.logversion 10
	run timeout 20 pmcbpfd -f -s "$BATS_TEST_TMPDIR/other.sock" -o kern.hwpmc.logversion=77
	[ "$status" -ne 0 ] && [ "$status" -ne 124 ]
	[[ $output == *'kern.hwpmc.logversion is 10'*'not "77"'* ]]
}

@test "REQ-103 REQ-104 REQ-106 REQ-108 REQ-109 REQ-111: names and defaults, for any user" {
	run run_as_nobody pmccontrol --tunable
	[ "$status" -eq 0 ]
	[ "$output" = 'kern.hwpmc.callchaindepth="128"
kern.hwpmc.debugflags=""
kern.hwpmc.hashsize="16"  # read-only
kern.hwpmc.logbuffersize="256"  # read-only
kern.hwpmc.logversion="10"
kern.hwpmc.mtxpoolsize="32"  # read-only
kern.hwpmc.nbuffers="'$((32 * $(getconf _NPROCESSORS_ONLN)))'"  # read-only
kern.hwpmc.nbuffers_pcpu="32"  # read-only
kern.hwpmc.nsamples="512"  # read-only
kern.hwpmc.offcpurate="10000"
kern.hwpmc.softevents="16"  # read-only
kern.hwpmc.unwind="1"
kern.hwpmc.unwind_memory="64"  # read-only
ktr.compile="none"
ktr.cpumask="all"
ktr.mask="~SPL,~CLK"
ktr.size="65536"
ktr.stop="panic"
ktr.unprivileged="0"
msr.list="/etc/pmcbpf/msr.list"  # read-only
policy.dir="/etc/pmcbpf/policy.d"  # read-only
security.bsd.unprivileged_proc_debug="1"
security.bsd.unprivileged_syspmcs="0"
socket.group=""  # read-only
user.greeting="10"
user.reserve="10"
user.share="25"' ]
	run run_as_nobody pmccontrol --tunable --json
	python3 -c 'import json, sys
t = {t["name"]: t for t in json.load(sys.stdin)["tunables"]}
assert len(t) == 27
assert t["kern.hwpmc.nsamples"] == {"name": "kern.hwpmc.nsamples", "value": "512", "writable": False}
assert t["kern.hwpmc.debugflags"]["writable"] is True' <<<"$output"
	# The processor's name can be read, and is not a setting.
	run run_as_nobody pmccontrol --tunable kern.hwpmc.cpuid
	[ "$status" -eq 0 ]
	[ -n "$output" ]
	run pmccontrol --tunable kern.hwpmc.cpuid=GenuineIntel-6-5E-3
	[ "$status" -ne 0 ]
	[[ $output == *"cannot be set"* ]]
	run run_as_nobody pmccontrol --tunable kern.hwpmc.nbuffers
	[ "$output" = $((32 * $(getconf _NPROCESSORS_ONLN))) ]
}

@test "REQ-113 REQ-116: the list is a configuration file, which applies from the start" {
	pmccontrol --tunable | sed 's/hashsize="16"/hashsize="8"/; s/syspmcs="0"/syspmcs="1"/
		s/debugflags=""/debugflags="pmc=* cpu=select"/' >"$BATS_TEST_TMPDIR/list"
	stop_daemon
	start_daemon -c "$BATS_TEST_TMPDIR/list"
	pmccontrol --tunable | cmp - "$BATS_TEST_TMPDIR/list"
	nobody_may_count_cpus
}

@test "REQ-109 REQ-110 REQ-115: unprivileged_syspmcs opens and closes system counting at once" {
	refute nobody_may_count_cpus
	run pmccontrol --tunable security.bsd.unprivileged_syspmcs=1
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	value security.bsd.unprivileged_syspmcs 1
	nobody_may_count_cpus
	pmccontrol --tunable security.bsd.unprivileged_syspmcs=0
	refute nobody_may_count_cpus
	grep -qE 'unprivileged_syspmcs="0", which was "1": set by process [0-9]+$' "$DAEMON_LOG"
	# Any number will do, as with hwpmc's.
	for number in -7:-7 0x10:16; do
		pmccontrol --tunable security.bsd.unprivileged_syspmcs=${number%:*}
		value security.bsd.unprivileged_syspmcs ${number#*:}
	done
	pmccontrol --tunable kern.hwpmc.debugflags=$'pmc=*\n  owner=find'
	value kern.hwpmc.debugflags 'pmc=*   owner=find'
}

@test "REQ-111 REQ-112 REQ-117: unprivileged_proc_debug=0 forbids other processes at once, not one's own" {
	measure() {
		# The target prints its pid after its exec, which an attach would be refused for.
		run_as_nobody bash -c 'read -r pid < <(exec sh -c "echo \$\$; kill -STOP \$\$" 3>&-); wireclient hello alloc 3 15 0x20004 any 0 \
			attach $pid attach 0 start; kill -KILL $pid'
	}
	run measure
	[ "$(grep -c '^attach 0$' <<<"$output")" -eq 2 ]
	pmccontrol --tunable security.bsd.unprivileged_proc_debug=0
	run measure
	grep -q '^attach EPERM -- .*unprivileged_proc_debug' <<<"$output"
	[ "$(grep -c '^attach 0$' <<<"$output")" -eq 1 ]
	grep -q '^start 0' <<<"$output"
}

@test "only the super-user sets: EPERM, exit 71, nothing changes" {
	run run_as_nobody pmccontrol --tunable security.bsd.unprivileged_syspmcs=1
	[ "$status" -eq 71 ]
	[ ${#lines[@]} -eq 1 ]
	[[ $output == 'pmccontrol: Cannot set security.bsd.unprivileged_syspmcs: '*CAP_PERFMON*'[Operation not permitted]' ]]
	value security.bsd.unprivileged_syspmcs 0
}

@test "a root of its own user namespace may not set" {
	[ "$(cat /proc/sys/kernel/unprivileged_userns_clone 2>/dev/null || echo 1)" = 1 ] || skip "no user namespaces"
	unshare -r true || skip "no user namespaces"
	run unshare -r pmccontrol --tunable security.bsd.unprivileged_syspmcs=1
	[ "$status" -eq 71 ]
	value security.bsd.unprivileged_syspmcs 0
}

@test "REQ-114: a read-only tunable: EPERM names the file in use and the line to write" {
	run pmccontrol --tunable kern.hwpmc.nsamples=1024
	[ "$status" -eq 71 ]
	[ "$output" = "pmccontrol: Cannot set kern.hwpmc.nsamples: kern.hwpmc.nsamples holds from start to end; write kern.hwpmc.nsamples=\"1024\" to $CONF and start pmcbpfd anew [Operation not permitted]" ]
	value kern.hwpmc.nsamples 512
}

@test "REQ-114: the message has the full path of a file given relative to another folder" {
	stop_daemon
	cd "$BATS_TEST_TMPDIR"
	start_daemon -c ./pmcbpf.conf
	run pmccontrol --tunable kern.hwpmc.hashsize=1
	grep -qF "to $(realpath "$CONF") and" <<<"$output"
}

@test "an unknown name and a malformed value: EINVAL, exit 65, the fault and a remedy" {
	run pmccontrol --tunable kern.hwpmc.nosuch=1
	[ "$status" -eq 65 ]
	[ "$output" = 'pmccontrol: Cannot set kern.hwpmc.nosuch: no tunable is called "kern.hwpmc.nosuch"; pmcbpf.conf(5) lists them [Invalid argument]' ]
	run pmccontrol --tunable $'kern.hwpmc.nosuch\x1b'
	[ "$status" -eq 65 ]
	[[ $output == *'"kern.hwpmc.nosuch?"'* ]]
	run pmccontrol --tunable security.bsd.unprivileged_syspmcs=yes
	[ "$status" -eq 65 ]
	[ "$output" = 'pmccontrol: Cannot set security.bsd.unprivileged_syspmcs: security.bsd.unprivileged_syspmcs takes a number, not "yes" [Invalid argument]' ]
	for malformed in '' '1 ' 1x 99999999999 0x; do
		run pmccontrol --tunable security.bsd.unprivileged_syspmcs="$malformed"
		[ "$status" -eq 65 ]
	done
	value security.bsd.unprivileged_syspmcs 0
}

@test "SIGHUP: the file overrides values set at run time" {
	pmccontrol --tunable security.bsd.unprivileged_syspmcs=1
	pmccontrol --tunable kern.hwpmc.debugflags=pmc=find
	printf '%s\n' 'security.bsd.unprivileged_proc_debug="0"' 'kern.hwpmc.nsamples="7"' >"$CONF"
	kill -HUP "$DAEMON_PID"
	wait_for value security.bsd.unprivileged_proc_debug 0
	value kern.hwpmc.nsamples 512
	value security.bsd.unprivileged_syspmcs 0
	value kern.hwpmc.debugflags ''
}

@test "no daemon: exit 69 and how to start the daemon" {
	stop_daemon
	run run_as_nobody pmccontrol --tunable
	[ "$status" -eq 69 ]
	[ ${#lines[@]} -eq 1 ]
	[[ $output == 'pmccontrol: Initialization of the pmc(3) library failed: '*pmcbpfd* ]]
}
