# SPDX-License-Identifier: BSD-2-Clause
#
# What pmcstat -R writes for other programs is what they read: gprof, callgrind_annotate, pprof, a browser,
# and formats.py, which knows the formats from their descriptions.  The log: mkprofile.py.

load helpers

setup_file() {
	export TOOLS=$BATS_TEST_DIRNAME LC_ALL=C.UTF-8
	cd "$BATS_FILE_TMPDIR" || return
	cat >work.c <<-'C'
		volatile unsigned long sink;
		__attribute__((noinline)) void hot(void) { for (int i = 0; i < 100; i++) sink += i; }
		__attribute__((noinline)) void warm(void) { for (int i = 0; i < 100; i++) sink ^= i; }
		int main(void) { hot(); warm(); return 0; }
	C
	"${CC:-cc}" -g -O1 -pie -fPIE -o work work.c
	"${CC:-cc}" -g -O1 -no-pie -fno-pie -o fixed work.c
	python3 "$TOOLS/mkprofile.py" "$PWD/work" >log
	python3 "$TOOLS/mkprofile.py" "$PWD/fixed" >fixed.log
	export WORK=$PWD/work
}

# needs TOOL USE: without it only formats.py tests the format.
needs() {
	command -v "$1" >/dev/null || skip "$1 is not installed: packaging/deps $2"
}

# report OPTION...: of the log
report() { "$BUILD/bin/pmcstat" -q -R "$BATS_FILE_TMPDIR/${log:-log}" "$@"; }

# read_as FORMAT FILE: by formats.py
read_as() { python3 "$TOOLS/formats.py" "$@"; }

# read_back FORMAT OPTIONS TEXT: what formats.py reads in the file `out` that they write.
read_back() {
	report $2
	gives 0 "$3" read_as "$1" out
}

@test "folded: lines for flame graph tools" {
	gives 0 $'PAGE_FAULT.ALL;work;main;hot 7
event-0x1000001;<b>:":\xef\xbf\xbd]]>;[<i>,":\xef\xbf\xbd]]>] 0x10 5
event-0x1000001;work;main;hot 600
event-0x1000001;work;main;schedule_[k] 95
event-0x1000001;work;main;warm 300' report --folded -
}

@test "pprof: a profile.proto that is consistent, samples and events" {
	read_back pprof "--pprof out" "types samples/count event-0x1000001/count default samples"$'\n'"first mapping $WORK"$'
PAGE_FAULT.ALL - main;hot 7 0
event-0x1000001 - [<i>,"?\xef\xbf\xbd]]>] 0x10 5 5000
event-0x1000001 - main;hot 600 600000
event-0x1000001 - main;schedule 95 95000
event-0x1000001 worker main;warm 300 300000'
}

@test "pprof itself reads the file" {
	needs go extra
	report --pprof out
	HOME=$PWD run -0 go tool pprof -symbolize=none -sample_index=event-0x1000001 -top out
	[[ $output == *'1000000, 100% of 1000000 total'* ]] || { echo "$output"; false; }
	[[ $output =~ 600000\ 60\.00%\ +60\.00%\ +600000\ 60\.00%\ +hot ]] || { echo "$output"; false; }
}

@test "speedscope: an event, and each of its threads" {
	report --speedscope out
	run -0 read_as speedscope out
	# With a period of 1000; the log has none of the page faults.
	[[ $output == 'event-0x1000001: 1000000
  work;main;hot 600000
  work;main;schedule 95000
  work;main;warm 300000'* ]] || { echo "$output"; false; }
	[[ $output == *'event-0x1000001, work/worker (11): 300000
  work;main;warm 300000'* ]]
	[[ $output == *'PAGE_FAULT.ALL: 7
  work;main;hot 7' ]]
}

@test "callgrind: own costs and the costs of calls add up to the summary" {
	read_back callgrind "-F out" 'event_0x1000001_0: 1000
  0x10 5
  hot 600
  schedule 95
  warm 300
  main > hot 600
  main > schedule 95
  main > warm 300
  root > 0x10 5
  root > main 995
PAGE_FAULT_ALL_1: 7
  hot 7
  main > hot 7
  root > main 7'
}

@test "callgrind_annotate reads it: the same sums, with source lines" {
	needs callgrind_annotate test
	report -F out
	run -0 callgrind_annotate --threshold=100 out
	[[ $output =~ 1,000\ \(100\.0%\)\ +7\ \(100\.0%\)\ +PROGRAM\ TOTALS ]] || { echo "$output"; false; }
	[[ $output =~ 600\ \(60\.00%\)\ +7\ \(100\.0%\)\ +"$BATS_FILE_TMPDIR"/work\.c:hot ]] ||
		{ echo "$output"; false; }
}

# flat GMON PROGRAM: "NAME SAMPLES" of gprof's flat profile, and arcs "CALLER CALLED COUNT"
flat() {
	gprof -b -p "$2" "$1" | awk 'rows && NF { print $NF, $3 } /cumulative/ { rows = 1 } rows && !NF { exit }' |
		sed 1d
	gprof -b -q "$2" "$1" | awk '/^\[/ { name = $(NF - 1) } /\// && !/^\[/ { arc = $NF }
		/^\[/ && caller { print caller, name, count; } { caller = "" }
		/\// && !/^\[/ { caller = $(NF - 1); count = $(NF - 2) }' | sort
}

@test "gprof: GNU gprof reads the output of --gnu, for programs at any address or at a fixed one" {
	needs gprof build
	local program
	for program in work fixed; do
		[ $program = work ] && log=log || log=fixed.log
		report -g --gnu
		gives 0 'hot 600.00
warm 300.00
main hot 600/600
main warm 300/300' flat "event-0x1000001/$program.gmon" "$BATS_FILE_TMPDIR/$program"
	done
}

@test "gprof: FreeBSD's layout, which GNU gprof takes for ticks of 10 ms" {
	needs gprof build
	report -M map -g
	gives 0 'hot 6.00
warm 3.00
main hot 600/600
main warm 300/300' flat event-0x1000001/work.gmon "$WORK"
	run cat map
	says $'MAP:\n "[kernel.kallsyms]" => "[kernel.kallsyms].gmon" event-0x1000001/95\n'" \"$WORK\""$' => "work.gmon" event-0x1000001/900 PAGE_FAULT.ALL/7
 "/none/<i>,"?\xef\xbf\xbd]]>" => "<i>,"?\xef\xbf\xbd]]>.gmon" event-0x1000001/5'
	report -g -M - | cmp map
}

@test "gprof: a folder that cannot be created is reported" {
	echo >event-0x1000001
	run -73 report -g
	says 'pmcstat: ERROR: cannot create a gmon file for "'"$WORK"'": Not a directory'
}

@test "json and csv: totals equal the stacks' sums; names are quoted" {
	read_back json "--json=out" $'partial False samples 1007 of 1007
PAGE_FAULT.ALL \'work\' hot open 7 7
PAGE_FAULT.ALL \'work\' main open 0 7
event-0x1000001 \'work\' hot open 600 600
event-0x1000001 \'work\' warm open 300 300
event-0x1000001 \'work\' schedule open 95 95
event-0x1000001 \'work\' main open 0 995
event-0x1000001 \'<b>;"\\n\\ufffd]]>\' 0x10 missing 5 5'
	report --csv=out
	run -0 read_as csv out
	[ "${#lines[@]}" -eq 8 ]
	[ "${lines[1]}" = "['event-0x1000001', 'work', '10', 'hot', '$WORK', '600', '600', '60.00', '60.00']" ]
	[ "${lines[5]}" = "['event-0x1000001', '<b>;\"\\n\\ufffd]]>', '20', '0x10', '/none/<i>,\"\\n\\ufffd]]>', '5', '5', '0.50', '0.50']" ]
}

@test "a cut log makes a report that is marked as partial" {
	head -c -16 "$BATS_FILE_TMPDIR/log" >cut.log
	"$BUILD/bin/pmcstat" -q -R cut.log --json=json --flamegraph out.svg --pprof pprof || true
	run read_as json json
	[[ $output == 'partial True samples 1007 of 1007'* ]]
	grep -q 'partial: the log has no proper end' out.svg
	gzip -dc pprof | grep -aq 'partial: '
}

@test "cut chains: every report has the number of samples, and so do formats with a field for it" {
	# Of the 7 of the first event.
	python3 - "$BATS_FILE_TMPDIR/log" >cut.log <<-'PYTHON'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at = 0
		while at < len(data):
		    head, = struct.unpack_from("<I", data, at)
		    if head >> 16 & 255 == 16 and struct.unpack_from("<I", data, at + 24)[0] == 0xfff20f02:
		        data[at + 28] |= 4
		    at += head & 0xffff
		sys.stdout.buffer.write(data)
	PYTHON
	words='WARNING: the call chains of 7 of the 1007 samples in "cut.log" are cut: their outermost callers are missing. '
	for option in "-G graph" "-F calls" "-m lines" "-a pairs" --gprof "--folded folded" "--flamegraph svg" "--pprof pprof" \
		"--speedscope scope" "--perf-data data" "--json=json" "--csv=csv" ""; do
		run --separate-stderr "$BUILD/bin/pmcstat" -R cut.log $option
		[[ $stderr == *"$words"* ]] || { echo "$option: $stderr"; false; }
	done
	run --separate-stderr "$BUILD/bin/pmcannotate" cut.log "$WORK"
	[[ $stderr == *"$words"* ]]
	run --separate-stderr "$BUILD/bin/pmc" report cut.log
	[[ $stderr == *"$words"* && $output == *'# cut chains: 7, '* ]]
	grep -q '>cut: the outermost callers of 7 samples are missing<' svg
	gzip -dc pprof | grep -aq 'cut call chains: 7 of 1007 samples'
	python3 -c 'import json
assert json.load(open("json"))["statistics"]["chains_cut"] == 7 == json.load(open("scope"))["chains_cut"]'
	# Only shown samples count, and a whole log is not mentioned.
	run --separate-stderr "$BUILD/bin/pmcstat" -R cut.log --event event-0x1000001 --folded folded
	[[ $stderr != *' are cut'* ]]
	run --separate-stderr "$BUILD/bin/pmcstat" -R "$BATS_FILE_TMPDIR/log" --folded folded
	[[ $stderr != *' are cut'* ]]
}

@test "flamegraph: the root is at the top, frames hang from their callers, names are text" {
	report --flamegraph out.svg
	run -0 read_as svg out.svg
	says $'0 process \'all\' 1007
1 process \'PAGE_FAULT.ALL\' 7
2 process \'work\' 7
3 user \'main\' 7
4 user \'hot\' 7
1 process \'event-0x1000001\' 1000
2 process \'<b>;"?\\ufffd]]>\' 5
3 user \'[<i>,"?\\ufffd]]>] 0x10\' 5
2 process \'work\' 995
3 user \'main\' 995
4 user \'hot\' 600
4 kernel \'schedule\' 95
4 user \'warm\' 300'
}

@test "flamegraph: well-formed" {
	needs xmllint unit
	report --flamegraph out.svg
	xmllint --noout out.svg
}

# frame NAME SAMPLES: what the browser has made of it
frame() { grep -m1 "data-samples=\"$2\" data-name=\"$1\"" dom; }

# browse URL: the document as the browser has it in the end
browse() {
	local browser=chromium-headless-shell

	command -v $browser >/dev/null || browser=chromium
	timeout 300 $browser --headless --no-sandbox --disable-gpu --disable-breakpad --no-first-run \
		--disable-background-networking --disable-extensions --window-size=820,600 \
		--user-data-dir="$PWD/browser" --virtual-time-budget=5000 --dump-dom "file://$PWD/$1" \
		>dom 2>errors 3>&- </dev/null || { cat errors; false; }
}

@test "flamegraph: a browser zooms, and finds matches of a search" {
	command -v chromium >/dev/null || needs chromium-headless-shell test
	report --flamegraph out.svg
	browse 'out.svg#search=MAIN|^(sched|hot)&zoom=8'
	# Frame 8 is work's: as wide as the window, and so are its callers; other processes are hidden.
	[[ $(frame work 995) == *'width="799.4"'* ]] || { cat dom; false; }
	[[ $(frame all 1007) == *'class="frame process around"'*'width="799.4"'* ]]
	[[ $(frame main 7) == *'display: none'* ]]
	[[ $(frame warm 300) =~ width=\"([0-9.]+)\" ]]
	awk -v got="${BASH_REMATCH[1]}" 'BEGIN { exit !(got > 240.5 && got < 241) }'
	# The pattern has capitals: main does not match.
	[[ $(frame schedule 95) == *'class="frame kernel match"'* ]]
	[[ $(frame main 995) != *match* ]]
	grep -q '<output id="matched">matched: 702 samples, 69.71%</output>' dom
	run ! grep -Eq '<(b|i)>' dom
}

@test "flamegraph: keys search, move between frames, zoom and invert it" {
	command -v chromium >/dev/null || needs chromium-headless-shell test
	report --flamegraph out.svg
	# Without a charset the browser guesses one from what it has read so far.
	{ echo '<!DOCTYPE html><meta charset="utf-8">'; sed 1d out.svg; cat "$TOOLS/flamekeys.html"; } >page.html
	browse page.html
	run sed -n '/^<pre id="keys">/,/^<\/pre>/{s/^<pre id="keys">//; /^<\/pre>/!p}' dom
	says '/: INPUT
Escape: BODY
ArrowDown: PAGE_FAULT.ALL
ArrowRight: event-0x1000001
ArrowDown: &lt;b&gt;;"?'$'\xef\xbf\xbd'']]&gt;
ArrowRight: work
ArrowDown: main
ArrowUp: work
Enter: #zoom=8 6 hidden
Escape:  0 hidden
i: all at 190'
}
