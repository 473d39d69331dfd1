#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the tools say of words that they do not know, and of -h.
# shellcheck disable=SC2154 # bats sets status, output, stderr and lines

load helpers

# first STATUS LINE COMMAND...: the first line on standard error.
first() {
	local wanted=$1 line=$2
	shift 2
	run --separate-stderr "$@"
	[ "$status" -eq "$wanted" ] || { echo "$*: exit $status: $stderr" >&2; return 1; }
	[ "${stderr%%$'\n'*}" = "$line" ] || { echo "$*: $stderr" >&2; return 1; }
}

setup_file() {
	printf 'int hot(int n)\n{\n\treturn n * n;\n}\nint warm(int n)\n{\n\treturn n + n;\n}\nint main(void)\n{\n\treturn hot(2) - warm(2);\n}\n' |
		gcc -x c -g -O0 -fno-pie -no-pie -o "$BATS_FILE_TMPDIR/demo" -
	python3 "$BATS_TEST_DIRNAME/mkprofile.py" "$BATS_FILE_TMPDIR/demo" >"$BATS_FILE_TMPDIR/log"
}
LOG() { echo "$BATS_FILE_TMPDIR/log"; }

bin() { "$BUILD/bin/$1" "${@:2}"; }

@test "a mistyped option: the nearest one is named" {
	first 64 "pmc: unrecognized option '--flamgraph' (did you mean \"--flamegraph\"?)" bin pmc report --flamgraph x
	first 64 "pmcstat: unrecognized option '--exit-statu5' (did you mean \"--exit-status\"?)" bin pmcstat --exit-statu5=1
	first 0 "pmcannotate: unrecognized option '--htlm' (did you mean \"--html\"?)" bin pmcannotate --htlm
	first 64 "pmccontrol: Unrecognized option \"--tunabel\" (did you mean \"--tunable\"?)" bin pmccontrol --tunabel
	first 64 "pmc: unrecognized option '--zzzzzz'" bin pmc record --zzzzzz
}

@test "an existing option with a wrong argument" {
	first 64 "pmcstat: option '--no-' is ambiguous; possibilities: '--no-callchain' '--no-symbols' '--no-inlines'" \
		bin pmcstat --no-
	first 64 "pmcstat: option '--log' requires an argument" bin pmcstat --log
	first 64 "pmcstat: option requires an argument -- 'O'" bin pmcstat -O
	first 64 "pmcstat: option '--top' doesn't allow an argument" bin pmcstat --top=1
	first 64 "pmcstat: invalid option -- 'x'" bin pmcstat -x
	first 64 "pmcstat: invalid option -- 'y'" bin pmcstat -qy
}

@test "a mistyped subcommand" {
	first 64 'pmc: ERROR: there is no subcommand "recrod" (did you mean "record"?)' bin pmc recrod
	first 64 'pmc: ERROR: there is no subcommand "reprot" (did you mean "report"?)' bin pmc reprot
	first 64 'pmc: ERROR: there is no subcommand "list" (did you mean "list-events"?)' bin pmc list
	first 64 'pmc: ERROR: there is no subcommand "nosuch"' bin pmc nosuch
}

@test "-h is --help" {
	for words in pmc "pmc stat" "pmc stat-system" "pmc record" "pmc report" "pmc filter" "pmc summary" \
		"pmc list-events" pmcstat "pmcstat report" pmccontrol ktrctl tdump pctr; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr bin $words -h
		status_is 0
		# shellcheck disable=SC2086
		[ "$output" = "$(bin $words --help)" ] || { echo "$words -h: $output" >&2; return 1; }
		[ -z "$stderr" ]
	done
	bin pmcstat --help | grep -q -- '^  -h, --help '
	refute_letter() { ! bin pmcannotate --help | grep -q -- '-h, --help'; }
	refute_letter
}

@test "--json and --csv take - for standard output, as all outputs do" {
	for kind in json csv; do
		bin pmc report -q --$kind "$(LOG)" >want
		[ -s want ]
		bin pmc report -q --$kind - "$(LOG)" | cmp - want
		bin pmc report -q --$kind=- "$(LOG)" | cmp - want
		bin pmcstat -q -R "$(LOG)" --$kind - | cmp - want
	done
}

@test "a reader that stops early: no message, and the status of SIGPIPE" {
	# The reader has left before there is any output.
	mkfifo pipe
	left() {
		exec 9<>pipe 8>pipe 9>&-
		run --separate-stderr bash -c 'exec "$@" >&8 8>&-' left "$BUILD/bin/$1" "${@:2}"
		exec 8>&-
		[ "$status" -eq 141 ] || { echo "$*: exit $status: $stderr" >&2; return 1; }
		[[ $stderr != *[Pp]ipe* ]] || { echo "$*: $stderr" >&2; return 1; }
	}
	left pmc report -q "$(LOG)"
	left pmc report -q --folded - "$(LOG)"
	left pmcstat -R "$(LOG)"
	left pmcstat -q -R "$(LOG)" -G -
	left pmc summary "$(LOG)"
	left pmc filter -j "$(LOG)" -
	left pmcannotate "$(LOG)" "$BATS_FILE_TMPDIR/demo"
	left pmcstat --help
	left pmc report --help
}

@test "wrong values are named as such" {
	first 64 'pmcstat: ERROR: Illegal threshold "abc": a percentage from 0 to 100.' bin pmcstat -R "$(LOG)" -G - -f threshold=abc
	first 64 'pmc: ERROR: Illegal frequency value "0".' bin pmc record -F 0 true
	first 64 'pmc: ERROR: Illegal count value "0".' bin pmc record -c 0 true
	for sub in report summary; do
		run bin pmc $sub one two
		status_is 64
		[ "${lines[-1]}" = 'pmc: ERROR: one log at a time: "one" or "two"' ] || { echo "$output" >&2; return 1; }
	done
}
