#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the tools say of words that they do not know, and of -h.

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

@test "words that are not known: the nearest one is named; and what is wrong with an option that exists" {
	while IFS='|' read -r code line words; do
		first "$code" "$line" bin $words
	done <<-'LIST'
	64|pmc: unrecognized option '--flamgraph' (did you mean "--flamegraph"?)|pmc report --flamgraph x
	64|pmcstat: unrecognized option '--exit-statu5' (did you mean "--exit-status"?)|pmcstat --exit-statu5=1
	0|pmcannotate: unrecognized option '--htlm' (did you mean "--html"?)|pmcannotate --htlm
	64|pmccontrol: Unrecognized option "--tunabel" (did you mean "--tunable"?)|pmccontrol --tunabel
	64|pmc: unrecognized option '--zzzzzz'|pmc record --zzzzzz
	64|pmcstat: option '--no-' is ambiguous; possibilities: '--no-callchain' '--no-symbols' '--no-inlines'|pmcstat --no-
	64|pmcstat: option '--log' requires an argument|pmcstat --log
	64|pmcstat: option requires an argument -- 'O'|pmcstat -O
	64|pmcstat: option '--top' doesn't allow an argument|pmcstat --top=1
	64|pmcstat: invalid option -- 'x'|pmcstat -x
	64|pmcstat: invalid option -- 'y'|pmcstat -qy
	64|pmc: ERROR: there is no subcommand "recrod" (did you mean "record"?)|pmc recrod
	64|pmc: ERROR: there is no subcommand "reprot" (did you mean "report"?)|pmc reprot
	64|pmc: ERROR: there is no subcommand "list" (did you mean "list-events"?)|pmc list
	64|pmc: ERROR: there is no subcommand "nosuch"|pmc nosuch
	64|pmc: ERROR: Illegal frequency value "0".|pmc record -F 0 true
	64|pmc: ERROR: Illegal count value "0".|pmc record -c 0 true
	64|pmc: ERROR: options -c and -F are mutually exclusive.|pmc record -c 5 -F 5 true
	LIST
	[ ! -e pmc.log ]
	for sub in report summary; do
		run -64 bin pmc $sub one two
		[ "${lines[-1]}" = 'pmc: ERROR: one log at a time: "one" or "two"' ] || { echo "$output" >&2; return 1; }
	done
}

@test "--help and --version: standard output alone, exit 0, each of these words at its place" {
	while IFS='|' read -r tool name begin words; do
		run -0 --separate-stderr bin $tool --help
		[[ $output == "$begin"* && -z $stderr ]] || { echo "$tool: $output $stderr" >&2; return 1; }
		for word in $words; do
			grep -qE -- "(^|[ ,])$word([ =[]|\$)" <<<"$output" || { echo "$tool: no $word" >&2; return 1; }
		done
		[ "$tool" = "$name" ] || continue	# a subcommand has none
		run -0 --separate-stderr bin $tool --version
		[[ $output =~ ^"$name (pmcbpf) "[0-9]+\.[0-9]+ && -z $stderr ]] || { echo "$tool: $output" >&2; return 1; }
	done <<-'LIST'
	pmcstat|pmcstat|usage: pmcstat |--cpus --cumulative --descendants --duration --output --process-pmc --quiet --system-pmc --target --verbose --interval --help --version --json --csv --exit-status
	pmccontrol|pmccontrol||--list-events --json --disable
	pmc|pmc|usage: pmc |list-events
	pmc stat|pmc|usage: pmc stat |
	pmc stat-system|pmc|usage: pmc stat-system |
	pmc filter|pmc|usage: pmc filter |
	pmc summary|pmc|usage: pmc summary |
	pmc list-events|pmc|usage: pmc list-events |
	pmcannotate|pmcannotate||
	ktrctl|ktrctl||list mask compile entries freeze thaw clear mark stop classes alq test
	tdump|tdump|Usage:|
	ktrdump|ktrdump|usage: ktrdump |
	pctr|pctr|usage: pctr [-|-w
	LIST
	run -71 bash -c '"$BUILD/bin/pmcstat" --version >/dev/full'
}

@test "-h is --help" {
	for words in pmc "pmc stat" "pmc stat-system" "pmc record" "pmc report" "pmc filter" "pmc summary" \
		"pmc list-events" pmcstat "pmcstat report" pmccontrol ktrctl tdump pctr; do
		run -0 --separate-stderr bin $words -h
		[ "$output$stderr" = "$(bin $words --help)" ] || { echo "$words -h: $output" >&2; return 1; }
	done
	bin pmcstat --help | grep -q -- '^  -h, --help '
	run ! grep -q -- '-h, --help' <(bin pmcannotate --help)
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
	for words in 'pmc report -q LOG' 'pmc report -q --folded - LOG' 'pmcstat -R LOG' 'pmcstat -q -R LOG -G -' 'pmc summary LOG' \
		'pmc filter -j LOG -' "pmcannotate LOG $BATS_FILE_TMPDIR/demo" 'pmcstat --help' 'pmc report --help'; do
		left ${words/LOG/$(LOG)}
	done
}
