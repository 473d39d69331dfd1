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

# gives STATUS TEXT COMMAND...: this exit status, and exactly this output.
gives() {
	run "-$1" "${@:3}"
	says "$2"
}

# gives_like STATUS PATTERN COMMAND...: this exit status, and an output that matches.
gives_like() {
	run "-$1" "${@:3}"
	# shellcheck disable=SC2053 # a pattern
	[[ $output == $2 ]] || { printf 'wanted: %s\ngot:    %s\n' "$2" "$output" >&2; return 1; }
}

# wrong_all: a line "STATUS|MESSAGE|WORDS; WORDS..." for each message; `wrong` is the file's.
wrong_all() {
	local code message cases words
	while IFS='|' read -r code message cases; do
		IFS=';' read -ra cases <<<"$cases"
		for words in "${cases[@]}"; do
			wrong "$code" "$message" $words
		done
	done
}

# complete_line WORD...: what bash would offer for the last word, in COMPREPLY; COMPLETION is sourced first.  A ":" is a
# word, as it is to readline, and blanks are not beside it.
complete_line() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMP_LINE="$* "
	COMP_LINE=${COMP_LINE// : /:}
	COMP_LINE=${COMP_LINE% }
	COMP_POINT=${#COMP_LINE}
	COMPREPLY=()
	_pmcbpf "$1"
}

# offers TEXT WORD...: this is what it would offer.
offers() {
	complete_line "${@:2}"
	[ "${COMPREPLY[*]}" = "$1" ] || { echo "${*:2}: ${COMPREPLY[*]}" >&2; return 1; }
}

# offers_options BEGINNING TOOL [SUBCOMMAND]: each option of its --help that begins so.
offers_options() {
	local option
	complete_line "${@:2}" "$1"
	for option in $(fake "${@:2}" --help | grep -oE '^ +(-., *)?--?[A-Za-z-]+' | grep -oE -- "$1[A-Za-z-]+"); do
		[[ " ${COMPREPLY[*]} " == *" $option "* ]] || { echo "${*:2}: $option" >&2; return 1; }
	done
}

# begins STATUS LINE COMMAND...: this exit status, and this first line.
begins() {
	run "-$1" "${@:3}"
	[ "${lines[0]}" = "$2" ] || { printf 'wanted: %s\ngot:    %s\n' "$2" "$output" >&2; return 1; }
}

# json_is EXPRESSION: true of x, which is the output.
json_is() {
	python3 -c 'import json, sys
x = json.load(sys.stdin)
assert eval(sys.argv[1]), x' "$1" <<<"$output"
}
