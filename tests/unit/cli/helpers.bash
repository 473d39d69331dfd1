# SPDX-License-Identifier: BSD-2-Clause
#
# Tools over the library of known counts.
# shellcheck disable=SC2154,SC2034 # bats sets status and output, tests use pid

bats_require_minimum_version 1.5.0
unset "${!LC_@}" LANG LANGUAGE	# messages and numbers as they are compared
export PYTHONDONTWRITEBYTECODE=1	# running the sources leaves no files among them

setup() {
	: "${BUILD:?the build directory}"
	cd "$BATS_TEST_TMPDIR" || return
	export FAKEPMC_LOG=$BATS_TEST_TMPDIR/calls
	: >calls
}

# The address sanitizer of such a build must be the first library.
sanitizer() { ldd "$BUILD/bin/pmcstat" | awk '/libasan/ { print $3 }'; }

# Runs a tool with the fake library; its child processes run without it.
fake() {
	local tool=$1
	shift
	LD_PRELOAD="$(sanitizer) $BUILD/tests/fakepmc.so" "$BUILD/bin/$tool" "$@"
}

# The same in the background, as process $pid itself and not of a shell around it.
background() {
	local tool=$1
	shift
	LD_PRELOAD="$(sanitizer) $BUILD/tests/fakepmc.so" "$BUILD/bin/$tool" "$@" 3>&- &
	pid=$!
}

# wait_for COMMAND...: until it succeeds; any expected event comes within a minute on the slowest machine.
wait_for() {
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "never: $*" >&2; return 1; }
		sleep 0.02
	done
}

# status_is CODE: shows the output if the status differs.
status_is() {
	[ "$status" -eq "$1" ] || { echo "exit $status, not $1: $output" >&2; return 1; }
}

# says TEXT: the output is exactly this.
says() {
	[ "$output" = "$1" ] || { printf 'wanted: %s\ngot:    %s\n' "$1" "$output" >&2; return 1; }
}
