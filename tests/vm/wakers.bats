#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Wakers on each kernel.  Kernels differ in how a program sees that it runs in an interrupt.

load helpers

# The daemon has the tables of the program's files: chains of wakers that come before them are cut, and stay so.
setup_file() {
	vm_start --daemon
	vm pmccontrol --tunable kern.hwpmc.debugflags=sampling=read
	vm_sh 'pmc record --off-cpu --wakers --no-report -o /tmp/first waited lock 10 2000000'
	vm_until 60 "$VM_FILES_ARE_READ files_are_read"
}

# wakers CHECK WORK... - and the folded stacks in /tmp/folded
wakers() {
	local check=$1

	shift
	vm_sh 'rm -f /tmp/log; pmc record --off-cpu --wakers --no-report -o /tmp/log waited "$@" >/tmp/figures &&
		pmc filter -j /tmp/log /tmp/log.json && pmc report --folded - /tmp/log >/tmp/folded' "$@"
	vm_get /tmp/log.json "$BATS_TEST_TMPDIR/log.json"
	vm_get /tmp/figures "$BATS_TEST_TMPDIR/figures"
	python3 "$BATS_TEST_DIRNAME/../e2e/offcpu.py" "$check" "$BATS_TEST_TMPDIR/log.json" "$BATS_TEST_TMPDIR/figures"
}

@test "wakers: of a lock its holder, and where it let the lock go; of a sleep an interrupt" {
	wakers held lock 100 2000000
	vm_sh 'grep "main;.*take_lock;.*;hold;.*;\[woken by waited\]_\[k\];\[lock\]_\[k\] [0-9]*$" /tmp/folded ||
		{ cat /tmp/folded; exit 1; }'
	run vm pmc report --perf-data /tmp/perf.data /tmp/log
	[[ $status -ne 0 && $output == *"perf.data has no place for wakers"* ]]
	vm_sh '[ ! -e /tmp/perf.data ]'
	wakers timer sleep 10 2000000
	vm_sh 'grep "sleep_often;.*;\[woken by an interrupt\]_\[k\];\[sleep\]_\[k\] [0-9]*$" /tmp/folded || { cat /tmp/folded; exit 1; }'
}

# woken_from_outside COMMAND... - the folded stacks of a program that root's shell wakes; it is no target
# shellcheck disable=SC2016 # the guest's shell expands it
woken_from_outside() {
	vm_sh 'rm -rf /tmp/w; mkdir -m 777 /tmp/w; mkfifo -m 666 /tmp/w/fifo
		"$@" pmc record --off-cpu --wakers --no-report -c 1 -o /tmp/w/log cat /tmp/w/fifo & recorder=$!
		until pid=$(pidof cat) && grep -q "^State:.S" /proc/$pid/status && grep -q wait_for_partner /proc/$pid/wchan; do
			kill -0 $recorder || exit
			usleep 10000
		done
		echo >/tmp/w/fifo
		wait $recorder
		pmc report --folded - /tmp/w/log | grep woken' "$@"
}

@test "wakers: of a thread that is woken while it still leaves its CPU" {
	vm_sh 'pmc record --off-cpu --wakers -c 1 --no-report -o /tmp/met waited meet 10000 && pmc report --folded - /tmp/met >/tmp/folded'
	vm_sh 'grep "main;meet_often;.*\[woken by waited\]_\[k\];\[lock\]" /tmp/folded && ! grep "main;meet_often;.*\[waker unknown\]" /tmp/folded'
}

@test "wakers: a process that is not measured is named for root, without its callers, and for nobody else" {
	one_of_each
	run woken_from_outside
	echo "$output"
	grep -q ';\[cut: unknown mappings\];\[woken by sh\]_\[k\];\[sleep\]_\[k\] [0-9]*$' <<<"$output"
	run woken_from_outside stand -u 1000 -g 1000
	echo "$output"
	grep -q ';\[woken by another process\]_\[k\];\[sleep\]_\[k\] [0-9]*$' <<<"$output"
	run ! grep -q 'woken by sh' <<<"$output"
	# Of a waker that the user may measure, no kernel address is in the log.
	vm_sh 'cd /tmp/w; rm -f log; stand -u 1000 -g 1000 pmc record --off-cpu --wakers --no-report -o log waited lock 50 2000000 &&
		pmc report --folded - log >folded && pmcstat -R log >text'
	vm_sh 'grep "main;.*take_lock;.*\[kernel\]_\[k\];\[kernel\]_\[k\];.*;hold;.*;\[woken by waited\]" /tmp/w/folded || { cat /tmp/w/folded; exit 1; }'
	vm_sh 'grep -q "^waker .* \"waited\"" /tmp/w/text && ! grep "^\.\.\. *0xffff" /tmp/w/text'
}

@test "the kernel has not complained" {
	vm_clean_log
}
