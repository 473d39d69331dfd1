#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What pmcstat -R, pmcstat report and pmc report make of a log of known samples.

load helpers

# Functions of 16 bytes, so that names follow from addresses.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	mkdir -p root/lib root/usr/local/bin
	functions memcpy | gcc -shared -nostdlib -x assembler -o root/lib/libc.so.7 -
	functions copy_in main | gcc -shared -nostdlib -x assembler -o root/usr/local/bin/demo -
	python3 "$BATS_TEST_DIRNAME/reportlog.py" /lib/libc.so.7 "$(at lib/libc.so.7 memcpy)" \
		/usr/local/bin/demo "$(at usr/local/bin/demo copy_in)" \
		"$(at usr/local/bin/demo main)" >log
}

functions() {
	local name
	echo .text
	for name in "$@"; do
		printf '.globl %s\n.type %s, %%function\n%s: .zero 16\n.size %s, 16\n' \
			"$name" "$name" "$name" "$name"
	done
}

# at FILE SYMBOL - its offset in the file.
at() {
	local address offset start
	address=$((16#$(nm "root/$1" | awk -v name="$2" '$3 == name { print $1 }')))
	read -r start offset < <(readelf -SW "root/$1" |
		awk '{ sub(/.*\]/, "") } $1 == ".text" { print $3, $4 }')
	printf '%x' $((address - 16#$start + 16#$offset))
}

LOG() { echo "$BATS_FILE_TMPDIR/log"; }
refute() { ! "$@" || { echo "unexpected success: $*" >&2; return 1; }; }
pmcstat() { "$BUILD/bin/pmcstat" "$@"; }
analyse() { pmcstat -q -R "$(LOG)" -r "$BATS_FILE_TMPDIR/root" "$@"; }
# log_of WORD...: wordlog.py's, as the file `words`
log_of() { PYTHONPATH=$BATS_TEST_DIRNAME python3 "$BATS_TEST_DIRNAME/wordlog.py" "$@" >words; }
report() { pmcstat report -q -r "$BATS_FILE_TMPDIR/root" "$@" "$(LOG)"; }

# wrong STATUS TEXT ARGUMENT...: with this one line.
wrong() {
	run "-$1" --separate-stderr pmcstat "${@:3}"
	[ "$stderr" = "pmcstat: ERROR: $2" ] || { echo "$stderr"; return 1; }
}

@test "-G: callers of the sampled functions, in FreeBSD's form" {
	run -0 analyse -G -
	diff - <(analyse -G -) <<-'END'
		@ CPU_CLK_UNHALTED_CORE [200 samples]

		60.00%  [120]      memcpy @ /lib/libc.so.7
		 75.00%  [90]        copy_in @ /usr/local/bin/demo
		  100.0%  [90]         main

		40.00%  [80]       main @ /usr/local/bin/demo

	END
	analyse -G - -z 1 | diff - <(analyse -G - | sed '/^ /d')
}

@test "-m: a line for each sample with a name" {
	analyse -m lines
	[ "$(wc -l <lines)" -eq 200 ]
	[ "$(sort lines | uniq -c | awk '{ print $1, $3 }' | sort | xargs)" = "120 memcpy 80 main" ]
	# pc, and the function around it
	while read -r pc _ start end; do
		((pc == start + 1 && end == start + 16))
	done < <(sort -u lines)
	[ -z "$(pmcstat -q -R "$(LOG)" -m - 2>/dev/null)" ]
}

@test "-a: a line for each frame of each sample" {
	analyse -a lines
	[ "$(grep -c '^--$' lines)" -eq 200 ]
	[ "$(head -4 lines | cut -d' ' -f2- | xargs)" = 'memcpy ??:0 copy_in ??:0 main ??:0 --' ]
	[ "$(wc -l <lines)" -eq $((90 * 4 + 30 * 2 + 80 * 2)) ]
	pmcstat -q -R "$(LOG)" -a - 2>/dev/null | grep -q '^0x7f00[0-9a-f]* <unknown> ??:0$'
}

@test "statistics follow, with -v also the zeros, with -q none" {
	run --separate-stderr pmcstat -R "$(LOG)" -r "$BATS_FILE_TMPDIR/root" -G graph
	[ "$output" = "CONVERSION STATISTICS:
 #exec/elf                                1
 #samples/total                           200" ]
	run --separate-stderr pmcstat -v -R "$(LOG)" -r "$BATS_FILE_TMPDIR/root" -G graph
	[ "${#lines[@]}" -eq 10 ]
	[ -z "$(analyse -G graph)" ]
	# They do not mix with output that programs read.
	run --separate-stderr pmcstat report -r "$BATS_FILE_TMPDIR/root" --folded - "$(LOG)"
	[ "${#lines[@]}" -eq 3 ]
	[[ $stderr == *"CONVERSION STATISTICS:"* ]]
}

@test "report: functions, by default of pmc.log" {
	run -71 "$BUILD/bin/pmc" report
	[ "$output" = 'pmc: ERROR: there is no "pmc.log" here: name a log, or make one with "pmc record"' ]
	cp "$(LOG)" pmc.log
	"$BUILD/bin/pmc" report -q -r "$BATS_FILE_TMPDIR/root" >out
	tail -5 out | diff - /dev/fd/3 3<<-'END'
		CPU_CLK_UNHALTED_CORE: 200 samples
		   SELF   TOTAL    SAMPLES FUNCTION IMAGE
		 60.00%  60.00%        120 memcpy   libc.so.7
		 40.00%  85.00%         80 main     demo
		  0.00%  45.00%          0 copy_in  demo
	END
	head -7 out | grep -q '^# samples: 200$'
	diff <(tail -n +2 out) <(report | tail -n +2)
	cat "$(LOG)" | pmcstat report -q -r "$BATS_FILE_TMPDIR/root" - | tail -n +2 | diff <(tail -n +2 out) -
}

@test "samples are chosen by event, process, thread, CPU and time" {
	chosen() { report "$@" | awk '/^# chosen/ { print $3 }'; }
	[ -z "$(chosen)" ]
	[ "$(chosen --event CPU_CLK_UNHALTED_CORE)" = "" ]
	[ "$(chosen --process 11 2>/dev/null)" = 0 ]
	[ "$(chosen --process '^de')" = "" ]
	[ "$(chosen --thread 11)" = 80 ]
	[ "$(chosen -c 0)" = 120 ]
	[ "$(chosen --time 0.905:1.2)" = 30 ]
	[ "$(chosen --time :0.9)" = 90 ]
	[ "$(chosen --time 1.205:)" = 80 ]
	run -64 --separate-stderr report --event OTHER
	[ -z "$output" ]
	[[ $stderr == *'has no event "OTHER", but: CPU_CLK_UNHALTED_CORE' ]]
	gives_like 64 '*has no event "NOSUCH", *' report --event CPU_CLK_UNHALTED_CORE --event NOSUCH
	[ "$(analyse -G - -c 1 | head -1)" = "@ CPU_CLK_UNHALTED_CORE [80 samples]" ]
}

@test "several outputs in one pass, also from a log that can be read once" {
	cat "$(LOG)" | pmcstat -q -R - -r "$BATS_FILE_TMPDIR/root" -G graph -a lines \
		--folded folded --json=json --flamegraph flame.svg --pprof pprof
	analyse -G - | diff graph -
	[ "$(grep -c memcpy lines)" -eq 120 ]
	analyse -a - | diff lines -
	[ "$(awk '{ n += $NF } END { print n }' folded)" -eq 200 ]
	python3 -c 'import json; json.load(open("json"))'
	for file in flame.svg pprof; do [ -s $file ]; done
	# Addresses need no names from a file.
	analyse -A -G - | grep -q '^60.00%  \[120\]      0x[0-9a-f]* @ /lib/libc.so.7$'
}

@test "options that exclude each other" {
	cp "$(LOG)" LOG
	wrong 65 'Failed to compile regex "(": Unmatched ( or \(' report --process '(' "$(LOG)"
	wrong 64 'option -m and -g | -G are mutually exclusive' -R log -m x -G y
	wrong 64 'option -m and -g | -G are mutually exclusive' -R log -m x -g
	wrong_all <<-'LIST'
	64|option -m requires an input file|-m x -P clock true
	64|option -a requires an input file|-a x -P clock true
	64|option -R may not be used with a command line specification.|-R log -G x true
	64|options -g/-G/-m/-T require sampling PMCs or -R to be specified.|-p clock -G x true
	64|option -e requires gprof mode to be specified.|-R log -G x -e
	64|option -k is only used with -g/-R/-m/-T.|-k / -p clock true
	64|option -D is only used with -g.|-R log -G x -D .
	64|Need -g/-G/-m/-T.|-R log -f threshold=1;-R log -f skiplink=1
	64|option -f threshold= is only used with -G, -T and the list of functions: other outputs have all samples.|-R log -f threshold=1 --folded x;report --csv -f threshold=1 log;report --flamegraph x -f threshold=1 log
	64|option -f skiplink= is only used with -T.|report -f skiplink=1 log;-R log -G x -f skiplink=0
	64|option --gnu is only used with -g.|report --gnu log;-R log --gnu;-R log -G x --gnu
	64|options -A, -I, -r, -z, --wall and --no-inlines are for -g/-G or another output of samples, and for -T.|-R LOG -A;-R LOG -I;-R LOG -z 3;-R LOG -r .;-R LOG --wall;-R LOG --no-inlines
	64|option -k is only used with -g/-R/-m/-T.|-R LOG -k none
	64|with -R, option -c chooses samples for -g/-G or another output of them, and for -T.|-R LOG -c 0
	64|with -R, option -w is only used with -T.|-R LOG -w 1;-R LOG -G x -w 1
	64|option -R may not be used with options -l and --for-each-cgroup.|-R LOG -l 1;-R LOG --for-each-cgroup a
	64|options -C, -W and -o require at least one counting mode PMC to be specified.|-R LOG -C
	64|options stand before the log: "--wall" before "log"|report log --wall
	64|unknown option <frob>.|-R log -G x -f frob
	64|Illegal threshold "x": a percentage from 0 to 100.|-R log -G x -f threshold=x
	64|Illegal callchain depth "0".|-R log -G x -z 0
	64|Illegal thread id "x".|-R log -G x -i x
	64|Illegal time window "3:2": FROM:TO, in seconds.|-R log -G x --time 3:2
	64|Illegal time window "x": FROM:TO, in seconds.|-R log -G x --time x
	71|Cannot stat "none": No such file or directory|-g -D none
	64|"/dev/null" is not a directory.|-g -D /dev/null
	71|Cannot stat "none": No such file or directory|report -r none log
	71|Cannot locate kernel "none": No such file or directory|-R LOG -G x -k none
	64|"/dev/null": Unsupported file type.|-R LOG -G x -k /dev/null
	71|Cannot open "none" for reading: No such file or directory.|report none
	LIST
}

@test "-f threshold= is for the list of functions too, before and behind an output; -M alone writes no files of -g" {
	report -f threshold=70 | grep -q '(2 more below 70%)\|(. functions\? below 70%)'
	refute grep -q below <(report -f threshold=0)
	diff <(analyse -f threshold=50 -G -) <(analyse -G - -f threshold=50)
	[ "$(analyse -f threshold=50 -G - | grep -c '^[0-9]')" -eq 1 ]
	mkdir here
	cd here
	analyse -M map
	grep -q '"/lib/libc.so.7" => "libc.so.7.gmon" CPU_CLK_UNHALTED_CORE/120' map
	[ "$(ls)" = map ]
	analyse -M map -g
	[ -s CPU_CLK_UNHALTED_CORE/libc.so.7.gmon ]
	# CPUs, where samples are chosen.
	[ "$(analyse -c 1 --folded - | awk '{ n += $NF } END { print n }')" -eq 80 ]
}

@test "an output that cannot be written" {
	wrong 71 'cannot open "none/x" for writing. (No such file or directory)' -R "$(LOG)" -G none/x
	wrong 71 'cannot write to "/dev/full": No space left on device' -q -R "$(LOG)" --folded /dev/full
	wrong 71 'cannot write to "/dev/full": No space left on device' report -q -o /dev/full "$(LOG)"
	# A closed pipe.
	run bash -c '{ sleep 0; "$0" report -q "$1" 2>err; echo $? >code; } | true' "$BUILD/bin/pmcstat" "$(LOG)"
	[ "$(cat code)" -eq 0 ] || { [ "$(cat code)" -eq 141 ] && [ ! -s err ]; }
}

@test "a log that is cut anywhere: what comes before is reported, and said to be a part; the damage is told once" {
	size=$(stat -c %s "$(LOG)")
	pmcstat -R "$(LOG)" >whole
	for n in 1 15 16 100 112 113 208 300 500 1000 5000 $((size - 20)) $((size - 16)) $((size - 1)); do
		head -c "$n" "$(LOG)" >part
		run --separate-stderr pmcstat -R part
		[ -z "$output" ] || [ "$output" = "$(head -n "$(wc -l <<<"$output")" whole)" ]
		run --separate-stderr pmcstat report part
		case $n in
		112 | 208 | $((size - 16))) [ "$status" -eq 0 ] ;;
		*) [ "$status" -eq 65 ] && [[ $stderr == *"event parsing failed (record "* ]] ;;
		esac
		[ "$n" -lt 112 ] || [[ $stderr == *'"part" has no end: this report is partial'* ]]
		[ "$n" -lt 112 ] || [[ $output == *"# end: missing, this is a part"* ]]
	done
	# A byte of a header that is wrong.
	cp "$(LOG)" part
	printf '\x7f' | dd of=part bs=1 seek=$((112 + 2)) conv=notrunc status=none
	run -65 --separate-stderr pmcstat -R part
	[ "$output" = "$(head -n 1 whole)" ]
	[[ $stderr == "pmcstat: ERROR: event parsing failed (record 2, offset 0x70): "* ]]
	# … and a file that is not a log is rejected.
	printf 'PERFILE2%0200d' 0 >perf.data
	: >empty
	for words in 'report /bin/sh' '-R perf.data' '-R empty' '-R -'; do
		run -65 --separate-stderr pmcstat $words <empty
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == "pmcstat: ERROR: event parsing failed (record 1, offset 0x0): "* || $words == *perf* ]]
	done
	wrong 71 'Cannot open "." for reading: Is a directory.' -R .
	# HOST:PORT is waited on: a port without a number, and a host that is not this one.
	gives_like 71 '*Cannot open "127.0.0.1:no.port" for reading: *' pmcstat -R 127.0.0.1:no.port
	gives_like 71 '*Cannot open "192.0.2.1:0" for reading: Cannot assign requested address.' pmcstat -R 192.0.2.1:0
	gives_like 65 '*perf.data*perf report*' pmcstat -R perf.data
	head -c 5000 "$(LOG)" >part
	run -65 --separate-stderr pmcstat report -q --perf-data perf.data -m lines part
	[ "$(grep -c "event parsing failed" <<<"$stderr")" -eq 1 ]
	[ -s perf.data ]
}

@test "missing names are reported, with the remedy" {
	run -0 --separate-stderr pmcstat report "$(LOG)"
	[[ $stderr == *"no names for 120 samples (60.0%): "*"/lib/libc.so.7"* ]]
	[[ $output == *"#samples/unknown-function                200"* ]]
	# Text, warnings and JSON count the same.
	[ "$(sed -n 's/.*no names for \([0-9]*\) samples.*/\1/p' <<<"$stderr" | awk '{ n += $1 } END { print n }')" -eq 200 ]
	pmcstat report --json -q "$(LOG)" | python3 -c '
import json, sys
s = json.load(sys.stdin)["statistics"]
assert s["unknown_function"] == 200 and s["exec_unknown"] == 1, s'
	pmcstat report --json -q -r "$BATS_FILE_TMPDIR/root" "$(LOG)" | python3 -c '
import json, sys
s = json.load(sys.stdin)["statistics"]
assert s["unknown_function"] == 0 and s["exec_elf"] == 1, s'
}

@test "functions of a jitdump that a process has mapped, if it belongs to somebody trusted" {
	mkdir -p jit/tmp
	python3 "$BATS_TEST_DIRNAME/jitdump.py" jit/tmp/jit-10.dump jit.log
	folded() { pmcstat -R jit.log -r jit --folded - 2>told; }
	folded | diff - <(cat <<-'END'
		java;[jit-10.dump] 0x7f0000000082_[j] 1
		java;[jit-10.dump] 0x7f00000000c3_[j] 1
		java;Lcom/Example:.run_[j] 1
		java;newer_[j] 1
	END
	)
	grep -q "jit-10.dump: 1 records are not a jitdump's" told
	head -c 20 jit/tmp/jit-10.dump >short
	mv short jit/tmp/jit-10.dump
	[ "$(folded | grep -c '0x7f00000000')" -eq 4 ]
	if [ "$(id -u)" = 0 ]; then
		python3 "$BATS_TEST_DIRNAME/jitdump.py" jit/tmp/jit-10.dump jit.log
		chown 12345 jit/tmp/jit-10.dump
		[ "$(folded | grep -c '0x7f00000000')" -eq 4 ]
		grep -q 'belongs to user 12345' told
	fi
}

@test "--wall: time is added up once, and has to be there" {
	log_of CPU_CLOCK=1000 TASK_CLOCK=1000 OFFCPU_TIME=0 1 3:500 end
	pmcstat report -q --wall words | grep -qx 'WALL_TIME: 1500 ns'
	log_of CPU_CLOCK=1000 TASK_CLOCK=1000 OFFCPU_TIME=0 1 3:500 2 end
	wrong 64 '"CPU_CLOCK" and "TASK_CLOCK" measure the same time, so --wall takes one of them: pmc filter --drop -e TASK_CLOCK makes a log without the other' report --wall --folded x words
	[ ! -e x ]
	"$BUILD/bin/pmc" filter --drop -e TASK_CLOCK words one
	pmcstat report -q --wall one | grep -qx 'WALL_TIME: 1500 ns'
	# The same clock on several CPUs.
	log_of CPU_CLOCK=1000 CPU_CLOCK=1000 1 2 end
	pmcstat report -q --wall words | grep -qx 'WALL_TIME: 2000 ns'
	log_of PAGE_FAULT.ALL=10 1 end
	wrong 64 '"words" has no event that is time, which --wall puts on one scale: pmc record --wall samples some' report --wall words
}

@test "--flamegraph: a picture has one unit" {
	log_of PAGE_FAULT.ALL=10 CPU_CLOCK=0 1 1 2:500 end
	wrong 64 '--flamegraph: the events of "words" have different units, which give no sum: choose one by --event, or all time by --wall --event WALL_TIME' report --folded folded --flamegraph x.svg words
	[ ! -e x.svg ] && [ ! -e folded ]
	pmcstat report -q --event PAGE_FAULT.ALL --flamegraph x.svg words
	grep -q '<title>all (2 samples, 100.00%)</title>' x.svg
	pmcstat report -q --wall --event WALL_TIME --flamegraph x.svg words
	grep -q '<title>all (500 ns, 100.00%)</title>' x.svg
	grep -q 'data-unit="ns"' x.svg
	# Weights of different events are no sum, times are, and so are samples.
	log_of PAGE_FAULT.ALL=0 CONTEXT_SWITCHES=0 1:10 2:20 end
	wrong 64 '--flamegraph: the events of "words" have different units, which give no sum: choose one by --event, or all time by --wall --event WALL_TIME' report --flamegraph x.svg words
	log_of CPU_CLOCK=0 OFFCPU_TIME=0 1:10 2:20 end
	pmcstat report -q --flamegraph x.svg words
	grep -q '<title>all (30 ns, 100.00%)</title>' x.svg
	log_of CPU_CLOCK=10 PAGE_FAULT.ALL=10 1 2 end
	pmcstat report -q --flamegraph x.svg words
	grep -q '<title>all (2 samples, 100.00%)</title>' x.svg
}
