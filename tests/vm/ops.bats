#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The table of operations and what they are answered, tests/ops.tsv, as on this machine's kernel in tests/e2e; the tools
# as they are installed, of users and without a daemon.

load helpers

@test "every operation has the results in the table" {
	vm_put "$VM_DIR/../ops" /tmp/ops
	vm_put "$VM_DIR/../ops.tsv" /tmp/ops.tsv
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock; failed=0
		for group in $(sed /^#/d /tmp/ops.tsv | cut -f1 | uniq); do
			[ $group = tsc ] && [ $(uname -m) != x86_64 ] || sh /tmp/ops /tmp/ops.tsv $group || failed=1
		done; exit $failed'
	echo "$output"
	status_is 0
}

# as USER COMMAND... - in the guest
as() {
	# shellcheck disable=SC2016 # the guest's shell expands it
	vm_sh 'user=$1; shift; exec su "$user" -c "$*"' "$@"
}

@test "an unprivileged user measures commands and processes of her own" {
	run as alice 'pmcstat --csv -C -p PAGE_FAULT.ALL -d -p TASK_CLOCK true'
	status_is 0
	[[ ${lines[-1]} =~ ^[0-9.]+,[1-9][0-9]*,[1-9][0-9]*$ ]]
	run as alice 'sleep 1000 & pmcstat -l 0.1 -p PAGE_FAULT.ALL -t $!; s=$?; kill $!; exit $s'
	status_is 0
}

@test "no daemon: root gets a private one for the duration of the command" {
	vm_daemon_stop
	run vm pmcstat -q --csv -C -p PAGE_FAULT.ALL true
	status_is 0
	[[ ${lines[-1]} =~ ^[0-9.]+,[1-9][0-9]*$ ]]
	vm_until 60 '! pidof pmcbpfd'
	run vm ls /run/pmcbpf/pmc.sock
	[ "$status" -ne 0 ]
}

@test "the kernel has not complained" {
	vm_clean_log
}
