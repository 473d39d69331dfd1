#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Python frames on each kernel, of Debian's interpreter: the same program and checks as tests/e2e/python.bats.

load helpers

setup_file() {
	local arch tree

	VM_KERNEL=${PMCBPF_VM_KERNEL:-6.1-x86}
	arch=$(vm_kernel_field 2)
	tree=$("$VM_DIR/fetch" userland "$arch" python)
	mkdir -p "$BATS_FILE_TMPDIR/overlay"
	cp -a "$tree/usr" "$BATS_FILE_TMPDIR/overlay"
	vm_start --overlay "$BATS_FILE_TMPDIR/overlay"
	vm_put "$BATS_TEST_DIRNAME/../e2e/calls.py" /tmp/calls.py
	# The kernel would lower the rate of samples to what an emulated CPU takes.
	vm_sh 'echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent'
	vm_daemon -o kern.hwpmc.debugflags=sampling=read
	record waiting
	vm_until 60 "$VM_FILES_ARE_READ files_are_read"
}

# record "MODE [ROUNDS]" [OPTION...] - samples of calls.py in /tmp/log
record() {
	local mode=$1

	shift
	vm_sh 'mode=$1; shift; export LD_LIBRARY_PATH=$(echo /usr/lib/*-linux-gnu)
		rm -f /tmp/log; pmc record --no-report -o /tmp/log "$@" python3.11 /tmp/calls.py $mode' "$mode" "$@"
}

# calls_are MODE - as calls_check.py wants them
calls_are() {
	vm_sh 'pmc report -q --chain-lines /tmp/chains /tmp/log'
	vm_get /tmp/chains "$BATS_TEST_TMPDIR/chains"
	python3 "$BATS_TEST_DIRNAME/../e2e/calls_check.py" "$1" <"$BATS_TEST_TMPDIR/chains"
}

@test "Python: the functions that run, from the module to the leaf" {
	record 'main 4' -e CPU_CLOCK -F 200
	calls_are main
}

@test "Python: at each hit of a tracepoint" {
	record waiting -e syscalls:sys_enter_clock_nanosleep -c 1
	calls_are waiting
	[ "$(grep -c '^0x[0-9a-f]* nap (calls.py) ' "$BATS_TEST_TMPDIR/chains")" -eq 40 ]
}

@test "Python: the kernel has not complained" {
	vm_clean_log
}
