# SPDX-License-Identifier: BSD-2-Clause
#
# Tools over the library of known counts.
# shellcheck disable=SC2154,SC2034 # bats sets status and output, tests use pid

bats_require_minimum_version 1.5.0
unset "${!LC_@}" LANG LANGUAGE	# messages and numbers as they are compared
export PYTHONDONTWRITEBYTECODE=1	# the sources stay as they are

setup() {
	: "${BUILD:?the build directory}"
	cd "$BATS_TEST_TMPDIR" || return
	export FAKEPMC_LOG=$BATS_TEST_TMPDIR/calls
	: >calls
}

# The address sanitizer of such a build wants to be the first library of all.
sanitizer() { ldd "$BUILD/bin/pmcstat" | awk '/libasan/ { print $3 }'; }

# A tool with the library of known counts; what it starts runs without.
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

# wait_for COMMAND...: until it succeeds; what comes at all comes within a minute on the slowest machine.
wait_for() {
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "never: $*" >&2; return 1; }
		sleep 0.02
	done
}

# status_is CODE: with the output shown when it is another.
status_is() {
	[ "$status" -eq "$1" ] || { echo "exit $status, not $1: $output" >&2; return 1; }
}

# says TEXT: the output is exactly this.
says() {
	[ "$output" = "$1" ] || { printf 'wanted: %s\ngot:    %s\n' "$1" "$output" >&2; return 1; }
}
