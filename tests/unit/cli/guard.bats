#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# No output takes the place of a log, a program, an input or another output, and what is refused or cut short costs
# nothing that was there.

load helpers

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	printf 'int hot(int n) { return n * n; }\nint warm(int n) { return n + n; }\nint main(void) { return hot(2) - warm(2); }\n' >demo.c
	gcc -g -O0 -fno-pie -no-pie -o demo demo.c
	python3 "$BATS_TEST_DIRNAME/mkprofile.py" "$PWD/demo" >log
}

# Each test has a log and a program of its own, which it may lose.
setup() {
	: "${BUILD:?the build directory}"
	cd "$BATS_TEST_TMPDIR" || return
	cp "$BATS_FILE_TMPDIR"/{log,demo,demo.c} .
	cp log build.log
	ln -s build.log link
	sums=$(sum_all)
	PATH=$BUILD/bin:$PATH
}

sum_all() { cksum log build.log demo demo.c; }

# refuses STATUS TEXT COMMAND...: prints only this line, and every file stays.
refuses() {
	local wanted=$1 text=$2
	shift 2
	run --separate-stderr "$@"
	[ "$status" -eq "$wanted" ] || { echo "$*: exit $status: $stderr" >&2; return 1; }
	[ "${stderr##*$'\n'}" = "${1##*/}: ERROR: $text" ] || { echo "$*: $stderr" >&2; return 1; }
	[ -z "$output" ]
	[ "$(sum_all)" = "$sums" ] || { echo "$*: a file has changed" >&2; return 1; }
}

a_log='"build.log" is a log and is not overwritten: name another file to write to, or remove it'

@test "an option with the log as its file: no report replaces a log, whatever its kind" {
	for option in --folded --flamegraph --pprof --speedscope --perf-data -G -F -m -a -M -o; do
		refuses 73 "$a_log" pmc report $option build.log
		refuses 73 "$a_log" pmcstat report $option build.log log
		refuses 73 "$a_log" pmcstat -R log $option build.log
	done
	for option in --json --csv; do
		refuses 73 "$a_log" pmc report $option=build.log log
		refuses 73 "$a_log" pmcstat -R log $option=build.log
	done
	refuses 73 "$a_log" pmc filter -j log build.log
	refuses 73 "$a_log" pmcstat -o build.log -p clock.hard true
	refuses 73 "${a_log/build.log/link}" pmc report --folded link log
}

@test "the log that is read is not an output, by any name, or from standard input" {
	ln build.log second
	read_log='is the log that is read; write to another file'
	for file in build.log link second ./build.log; do
		refuses 64 "\"$file\" $read_log" pmc report --pprof "$file" build.log
		refuses 64 "\"$file\" $read_log" pmc report -o "$file" build.log
		refuses 64 "\"$file\" $read_log" pmcstat -R build.log -o "$file"
		refuses 64 "\"$file\" $read_log" pmcstat -R build.log -G - -o "$file"
		refuses 64 "\"$file\" $read_log" pmc filter build.log "$file"
		refuses 1 "\"$file\" $read_log" pmcannotate --html "$file" build.log demo
	done
	refuses 64 "\"build.log\" $read_log" pmcstat -R - -o build.log <build.log
	refuses 64 "\"build.log\" $read_log" pmc report --folded build.log - <build.log
}

@test "programs, the kernel and source files that are read are not outputs" {
	program='"demo" is a program and is not overwritten: name another file to write to, or remove it'
	refuses 73 "$program" pmc report --folded demo log
	refuses 73 "$program" pmcstat -R log -o demo
	refuses 1 "$program" pmcannotate --html demo log "$BATS_FILE_TMPDIR/demo"
	refuses 64 '"demo" is the kernel that is read; write to another file' pmc report -k demo -o demo log
	sums=
	sum_all() { cksum <"$BATS_FILE_TMPDIR/demo.c"; }
	sums=$(sum_all)
	refuses 1 "\"$BATS_FILE_TMPDIR/demo.c\" is a source file that is read; write to another file" \
		pmcannotate --html "$BATS_FILE_TMPDIR/demo.c" log "$BATS_FILE_TMPDIR/demo"
}

@test "a log replaces logs and empty files only" {
	echo precious >notes
	for command in "pmcstat -O notes -P clock.hard true" "pmc filter log notes" "pmc record -o notes true"; do
		refuses 73 '"notes" is no log and is not overwritten: name another file, or remove it' $command
	done
	[ "$(<notes)" = precious ]
	: >empty
	pmc filter log empty
	cmp log empty
	pmc filter -p 20 log build.log
	[ "$(stat -c %s build.log)" -lt "$(stat -c %s log)" ]
}

@test "two outputs need two files, but a pipe takes both" {
	refuses 64 'two outputs go to "x": name a file for each' pmc report --folded x --csv=x log
	refuses 64 'two outputs go to "x": name a file for each' pmcstat -R log -o x -G x
	refuses 64 'two outputs go to "x": name a file for each' pmcstat -O x -o x -P clock.hard -p clock.hard true
	[ ! -e x ]
	[ "$(pmc report -q --folded /dev/stdout --csv=/dev/stdout log | wc -l)" -gt \
		"$(pmc report -q --folded - log | wc -l)" ]
}

@test "a wrong command line and a full disk leave the old report" {
	echo old >text
	run -64 pmcstat -o text -R log -p clock.hard
	run -71 pmcstat -o text -R no-such-log
	[ "$(<text)" = old ]
	for command in "pmcstat -R log -o text" "pmc report -o text log" "pmc report --flamegraph text log" \
		"pmc filter -j log text" "pmcannotate --html text log $BATS_FILE_TMPDIR/demo"; do
		run bash -c "ulimit -f 0; trap '' XFSZ; $command"
		[ "$status" -ne 0 ] || { echo "$command: $status" >&2; return 1; }
		[ "$(<text)" = old ] || { echo "$command has cost the old file" >&2; return 1; }
	done
	[ -z "$(find . -name '.*-*')" ]
	pmcstat -R log -o text
	grep -q callchain text
	# The text of a cut log goes as far as the log.
	head -c 600 log >short
	run -65 pmcstat -R short -o text
	pmcstat -R short 2>/dev/null | cmp - text
}
