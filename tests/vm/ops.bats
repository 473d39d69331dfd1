#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The table of operations and what they are answered, tests/ops.tsv, as on this machine's kernel in tests/e2e.

load helpers

@test "every operation of the table is answered as it says" {
	vm_put "$VM_DIR/../ops" /tmp/ops
	vm_put "$VM_DIR/../ops.tsv" /tmp/ops.tsv
	# shellcheck disable=SC2016 # the guest's shell expands it
	run vm_sh 'export PMCBPF_SOCKET=/run/pmcbpf/pmc.sock; failed=0
		for group in $(sed /^#/d /tmp/ops.tsv | cut -f1 | uniq); do
			[ $group = tsc ] && [ $(uname -m) != x86_64 ] || sh /tmp/ops /tmp/ops.tsv $group || failed=1
		done; exit $failed'
	echo "$output"
	status_is 0
	vm_clean_log
}
