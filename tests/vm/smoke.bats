#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The guests are what the other tests take them for.

load helpers

setup_file() {
	vm_start
}

@test "the kernel is the one named in the matrix" {
	run vm uname -r
	[ "$status" -eq 0 ]
	[ "$output" = "$VM_RELEASE" ]
}

@test "the kernel describes its types" {
	vm test -s /sys/kernel/btf/vmlinux
}

@test "tracefs, bpffs and cgroup2 are mounted" {
	vm test -e /sys/kernel/tracing/events/sched/sched_switch/id
	run vm_sh 'mount -t bpf; mount -t cgroup2'
	[[ $output == *"on /sys/fs/bpf type bpf"* ]]
	[[ $output == *"on /sys/fs/cgroup type cgroup2"* ]]
}

@test "both CPUs are up" {
	run vm nproc
	[ "$output" = 2 ]
}

@test "arguments, output, errors and status pass unchanged" {
	run --separate-stderr vm_sh 'printf "%s|" "$@"; echo oops >&2; exit 42' \
		'a  b' '$HOME"' $'new\nline' $'\e[n' ''
	[ "$status" -eq 42 ]
	[ "$output" = $'a  b|$HOME"|new\nline|\e[n||' ]
	[ "$stderr" = oops ]
}

@test "a signal and a missing command have the shell's statuses" {
	run vm_sh 'kill -SEGV $$'
	[ "$status" -eq 139 ]
	run -127 vm /no/such/command
	[[ $output == *"/no/such/command: No such file"* ]]
}

@test "a command over its time limit is killed, a server in the background is not" {
	pid=$(vm_spawn /tmp/server.log sleep 1000)
	VM_TIMEOUT=1 run vm sleep 1001
	[ "$status" -eq 124 ]
	run vm pidof sleep
	[ "$output" = "$pid" ]
	vm kill "$pid"
	vm_until 60 '! kill -0 $1' "$pid"
}

@test "files keep their bytes and permissions both ways" {
	head -c 20000 /dev/urandom >"$BATS_TEST_TMPDIR/there"
	chmod 751 "$BATS_TEST_TMPDIR/there"
	vm_put "$BATS_TEST_TMPDIR/there" /tmp/file
	run vm stat -c %a /tmp/file
	[ "$output" = 751 ]
	vm_get /tmp/file "$BATS_TEST_TMPDIR/back"
	cmp "$BATS_TEST_TMPDIR/there" "$BATS_TEST_TMPDIR/back"
}

@test "dynamically linked programs find their libraries" {
	run vm pmcbpf-libs
	[ "$status" -eq 0 ]
	[[ $output == "libbpf "*" libelf "*" libdw "*" zlib "*" libpfm "*" libinih "* ]]
}

@test "commands can run as an unprivileged user" {
	run vm su alice -c 'id -un; id -u'
	[ "$output" = $'alice\n1000' ]
}

@test "arm64: instructions of a program that is preempted are counted exactly" {
	vm_require_arch arm64
	vm_sh 'ls -d /sys/bus/event_source/devices/armv8*'
	vm_one_cpu
	rival=$(vm_spawn /dev/null sh -c 'while :; do :; done')
	run vm_sh 'for i in 1 2 3; do pmu_probe loop 10000000; done'
	vm kill "$rival"
	vm_all_cpus
	echo "$output"
	[ "${#lines[@]}" -eq 3 ]
	for line in "${lines[@]}"; do
		read -r first second twice <<<"$line"
		[ "$first" -gt 20000000 ]
		[ "$first" -eq "$second" ]
		[ $((twice - first)) -eq 20000000 ]
	done
}

@test "arm64: the PMU has seven counters" {
	vm_require_arch arm64
	run vm pmu_probe rows
	[ "$output" = 7 ]
}

@test "the kernel has not complained" {
	vm_clean_log
}
