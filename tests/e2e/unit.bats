#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The daemon in the sandbox of its systemd unit, and in one that takes too much away.  `make check-sandbox` runs other
# files of tests in the unit's sandbox, too.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
	need_unit
	PMCBPF_UNIT=$BATS_TEST_DIRNAME/../../packaging/systemd/pmcbpfd.service
}

teardown() { stop_daemon; }

# unit SED...: a changed unit file
unit() {
	sed "$@" "$PMCBPF_UNIT" >changed.service
	PMCBPF_UNIT=$BATS_TEST_TMPDIR/changed.service
}

# gate NAME: its state, finding and remedy
gate() { pmccontrol --doctor | grep -E "^[a-z]+ +$1: "; }

# in_daemon COMMAND...: as root, with the daemon's mounts and network, and this shell's other rights
in_daemon() { nsenter -t "$DAEMON_PID" -m -n "$@"; }

# needs_syslog: this kernel shows its addresses to CAP_SYSLOG only
needs_syslog() {
	[ "$(</proc/sys/kernel/kptr_restrict)" -eq 1 ] || { [ "$(</proc/sys/kernel/kptr_restrict)" -eq 0 ] &&
		[ "$(</proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; }
}

record() {
	# shellcheck disable=SC2016 # the other shell expands it
	pmc record -a -o log -- sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); : </proc/self/stat; done' >/dev/null
	pmc report log >report 2>said
}

@test "the launcher applies every directive of the unit, and refuses unknown ones" {
	run python3 "$BATS_TEST_DIRNAME/under_unit.py" <(sed 's/^KeyringMode=.*/&\nProtectMoon=yes/' "$PMCBPF_UNIT") \
		"$BUILD/sbin" "$BATS_TEST_TMPDIR" -V
	status_is 1
	[[ $output == *"under_unit: ProtectMoon: not known here; "* ]]
	for change in 's/^\(ProtectSystem\)=.*/\1=full/' 's/^\(DevicePolicy\)=.*/\1=strict/' \
		's/^\(RestrictNamespaces\)=.*/\1=moon/' 's/^\(SystemCallFilter\)=@d/\1=~@d/' 's/^\(CapabilityBoundingSet\)=/\1=CAP_MOON /'; do
		run python3 "$BATS_TEST_DIRNAME/under_unit.py" <(sed "$change" "$PMCBPF_UNIT") "$BUILD/sbin" "$BATS_TEST_TMPDIR" -V
		status_is 1
		[[ $output == "under_unit: "*" is not known here"* ]] || { echo "$change: $output"; false; }
	done
}

@test "the daemon runs in the unit's sandbox: capabilities, mounts, devices, network, system calls" {
	start_daemon
	wait_for grep -qx READY=1 "$UNIT_RUN/notified"
	grep -qP '^NoNewPrivs:\t1$' "/proc/$DAEMON_PID/status"
	grep -qP '^Seccomp:\t2$' "/proc/$DAEMON_PID/status"
	python3 -c 'import os, sys
for path in "/", "/usr", "/proc", "/sys", "/dev", "/tmp", sys.argv[2]:
    assert os.statvfs(sys.argv[1] + path).f_flag & os.ST_NOSUID, path' "/proc/$DAEMON_PID/root" "$UNIT_RUN/pmcbpf"
	grep -qP '^Umask:\t0077$' "/proc/$DAEMON_PID/status"
	[ "$(<"/proc/$DAEMON_PID/comm")" = pmcbpfd ]
	# CAP_SYS_MODULE, CAP_SYS_BOOT and CAP_SYS_TIME.
	(((16#$(sed -n 's/^CapBnd:\t//p' "/proc/$DAEMON_PID/status") & (1 << 16 | 1 << 22 | 1 << 25)) == 0))
	[ "$(readlink "/proc/$DAEMON_PID/ns/net")" != "$(readlink /proc/self/ns/net)" ]
	[ "$(readlink "/proc/$DAEMON_PID/ns/uts")" != "$(readlink /proc/self/ns/uts)" ]
	refute in_daemon test -e "$BATS_TEST_TMPDIR"
	refute in_daemon sh -c 'for dir in / /usr /etc /var /run /root /proc/sys/kernel /sys/fs/cgroup; do
		touch $dir/pmcbpf-test 2>/dev/null && echo $dir && rm $dir/pmcbpf-test; done | grep .'
	[ -z "$(in_daemon ls -A /root /home /lib/modules 2>/dev/null | grep -v ':$')" ]
	refute in_daemon dd if=/dev/kmsg count=1 status=none
	refute in_daemon dd if=/proc/kcore count=1 status=none of=/dev/null
	in_daemon sh -c 'touch /tmp/a && rm /tmp/a && : >/dev/null && head -c1 /dev/urandom >/dev/null'
	[ -z "$(in_daemon find /dev -maxdepth 1 -type b -size 0 ! -perm 0)" ]
	[ "$(in_daemon cat /proc/net/dev | grep -c :)" -eq 1 ]
}

# reloaded N: the daemon has reported so many ends of reloads
reloaded() { [ "$(grep -cx READY=1 "$UNIT_RUN/notified")" -gt "$1" ]; }

@test "a reload is reported to the service manager: its begin with the time, and its end" {
	start_daemon
	wait_for grep -qx READY=1 "$UNIT_RUN/notified"
	kill -HUP "$DAEMON_PID"
	wait_for reloaded 1
	[ "$(sed -E 's/^(MONOTONIC_USEC)=[0-9]{6,}$/\1=TIME/' "$UNIT_RUN/notified" | grep -v WATCHDOG | tail -n 3)" = "RELOADING=1
MONOTONIC_USEC=TIME
READY=1" ]
}

@test "root's recording of all CPUs has the kernel's names in the unit's sandbox, and the doctor agrees" {
	start_daemon
	[ "$(</proc/sys/kernel/kptr_restrict)" -le 1 ] || skip "this kernel hides its addresses (kernel.kptr_restrict)"
	gate 'names of the kernel' | grep -qx 'ok      names of the kernel: your logs have addresses and names of the kernel'
	record
	grep -qE '^ *[0-9.]+% .* \[kernel.kallsyms\]$' report
	refute grep -q 'samples .* of the kernel' said
	refute grep -qE ' \[kernel\]$' report
	# A service that users query: what the kernel hides from them stays hidden.
	run_as_nobody pmccontrol --doctor >gates
	[ "$(</proc/sys/kernel/perf_event_paranoid)" -le 1 ] ||
		grep -q '^limits  names of the kernel: your logs show all of the kernel as one address (' gates
}

# hides STATE: the doctor and the report name the missing part
hides() {
	start_daemon
	gate 'names of the kernel' | tee gate
	grep -q "^limits  names of the kernel: none: $1" gate
	refute grep -q 'pmccontrol --doctor says why$' "$DAEMON_LOG"
	record
	grep -q 'pmccontrol --doctor says why$' "$DAEMON_LOG"
	grep -qE 'WARNING: no names for [0-9]+ samples \([0-9.]+%\) of the kernel: .*CAP_SYSLOG.*"pmccontrol --doctor"' said
	refute grep -q 'only addresses' said
	grep -qE '^ *[0-9.]+% .* \[kernel\]$' report
	refute grep -q ' 0xffff.* (no mapping)$' report
}

@test "a unit without CAP_SYSLOG: doctor and report name it" {
	needs_syslog || skip "here the kernel shows its addresses to all, or to nobody"
	unit 's/ CAP_SYSLOG$//'
	hides 'the kernel hides its addresses from pmcbpfd, which has no CAP_SYSLOG '
	grep -q '; start pmcbpfd with CAP_SYSLOG: ' gate
}

@test "a unit that hides /proc/kallsyms: doctor and report name it" {
	unit 's|^InaccessiblePaths=|&/proc/kallsyms |'
	hides 'pmcbpfd cannot read /proc/kallsyms (it is empty): a sandbox hides it'
	grep -q 'ProtectKernelTunables=' gate
}
