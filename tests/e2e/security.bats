#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The page pmcbpf-security(7): its examples work, and its tunables exist.

load helpers

setup() {
	in_tmpdir_with_daemon
	PAGE=$BATS_TEST_DIRNAME/../../man/pmcbpf-security.7
}

# example N: the Nth literal text of the page.
example() {
	awk -v n="$1" '/^\.Ed/ { on = 0 } on { print } /^\.Bd -literal/ { on = ++i == n }' "$PAGE"
}

@test "pmcbpf-security(7): the example's configuration is valid" {
	example 1 >example.conf
	[ "$(grep -c '^[a-z._]*="[0-9]*"$' example.conf)" -eq 5 ]
	stop_daemon
	start_daemon -c "$PWD/example.conf"
	while IFS='="' read -r name _ value _; do
		run pmccontrol --tunable "$name"
		status_is 0
		[[ $output == *"$value"* ]]
	done <example.conf
}

@test "pmcbpf-security(7): the example's commands have the described effects" {
	local n=0

	while read -r _ command; do
		n=$((n + 1))
		run bash -c "$command"
		echo "$command: $output"
		status_is 0
	done < <(example 2 | grep '^# ')
	[ $n -eq 4 ]
	run pmccontrol --tunable user.share
	[[ $output == *10* ]]
	# Now not even the same user may attach to another process.
	"${nobody[@]}" sleep 1000 3>&- &
	TARGET=$!
	wait_for is_program "$TARGET" sleep
	run run_as_nobody wireclient hello alloc 3 15 0x2000b any 0 attach "$TARGET"
	kill "$TARGET"
	[[ $output == *"attach EPERM"*"security.bsd.unprivileged_proc_debug"* ]]
}

@test "pmcbpf-security(7): the daemon has the tunables that the page names" {
	local name n=0

	while read -r name; do
		n=$((n + 1))
		run pmccontrol --tunable "$name"
		status_is 0
	done < <(sed -n '/^\.Sh ADMINISTRATION/,/^\.Sh EXAMPLES/s/^\.It Va //p' "$PAGE" | tr ',' '\n' | tr -d ' ')
	[ $n -eq 9 ]
}
