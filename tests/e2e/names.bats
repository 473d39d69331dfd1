#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The names of kernel functions in logs, beside what /proc/kallsyms says of the same addresses.

load helpers

setup() {
	need_root
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	[ -z "${PARANOID:-}" ] || echo "$PARANOID" >/proc/sys/kernel/perf_event_paranoid
	[ -z "${KPTR:-}" ] || echo "$KPTR" >/proc/sys/kernel/kptr_restrict
	stop_daemon KILL || true
}

# named MINIMUM - the log's names of kernel functions are right, and cover at least so many addresses
named() {
	pmcstat -q -R log >text
	python3 "$BATS_TEST_DIRNAME/named.py" <text >addresses
	echo "$(<addresses) addresses"
	[ "$(<addresses)" -ge "$1" ]
	[[ "$(tail -n 1 text)" == closelog* ]]
}

kernel_hides() { [ "$(cat /proc/sys/kernel/kptr_restrict)" -ge 2 ]; }

@test "the log names every kernel function that was sampled, in both formats" {
	! kernel_hides || skip "this kernel hides its addresses (kernel.kptr_restrict)"
	start_daemon
	# Page faults in the kernel, and switches, which have deep kernel stacks.
	pmcstat -q -n 1 -P CONTEXT_SWITCHES -n 1 -P PAGE_FAULT.ALL -O log load switches=300 reads=300
	named 5
	grep -q '"\[kernel.kallsyms\]schedule"' text
	stop_daemon TERM
	start_daemon -o kern.hwpmc.logversion=3
	pmcstat -q -n 1 -P CONTEXT_SWITCHES -O log load switches=300
	named 5
	grep -q '"\[kernel.kallsyms\]schedule"' text
}

@test "the log of an unprivileged user has them as well, if he may see the addresses" {
	! kernel_hides || skip "this kernel hides its addresses (kernel.kptr_restrict)"
	PARANOID=$(</proc/sys/kernel/perf_event_paranoid) KPTR=$(</proc/sys/kernel/kptr_restrict)
	echo 1 >/proc/sys/kernel/perf_event_paranoid
	echo 0 >/proc/sys/kernel/kptr_restrict
	start_daemon
	open_tmpdir
	mkdir -m 777 open
	cp "$BUILD/tests/load" open
	chmod 755 open/load
	run_as_nobody pmcstat -q -n 1 -P CONTEXT_SWITCHES -O open/log open/load switches=300
	ln -s open/log log
	named 5
}

@test "a reader without a kernel's symbols takes them from the log" {
	! kernel_hides || skip "this kernel hides its addresses (kernel.kptr_restrict)"
	start_daemon
	pmcstat -q -n 1 -P CONTEXT_SWITCHES -O log load switches=300
	pmcstat report --csv=here log
	unshare -m sh -c 'mount --bind /dev/null /proc/kallsyms && pmcstat report --csv=there log'
	cmp here there
	grep -q '^CONTEXT_SWITCHES,load,[0-9]*,schedule,\[kernel.kallsyms\],' there
}
