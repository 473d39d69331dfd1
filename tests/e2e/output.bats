#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Root's tools in a folder of another user: what they write goes to new files there, and not to what the other user's
# links lead to.

load helpers

setup() {
	in_tmpdir_with_daemon
	pmcstat -n 1 -P clock.hard -O log "$BUILD/tests/load" spins=20000000 >/dev/null
	THEIRS=$BATS_TEST_TMPDIR/theirs
	install -d -o 65534 -g 65534 "$THEIRS"
}

teardown() {
	[ -z "${TRACED:-}" ] || kill -KILL "$TRACED"
	stop_daemon
}

# trap_at NAME: makes a link to root's file there, as the other user.
trap_at() {
	echo precious >precious
	chmod 600 precious
	run_as_nobody ln -sfn "$BATS_TEST_TMPDIR/precious" "$THEIRS/$1"
}

# not_followed COMMAND...: it fails with a line that names the link.
not_followed() {
	run --separate-stderr "$@"
	[ "$status" -ne 0 ] && [[ $stderr == *" is a link of user 65534's, in a folder where others can write: "* ]] &&
		[ "$(<precious)" = precious ] || { echo "$*: exit $status: $output $stderr" >&2; return 1; }
}

@test "links of the folder's owner are not followed by any output" {
	trap_at out
	out=$THEIRS/out
	for option in --folded --flamegraph --pprof --speedscope --perf-data --call-graph --callgrind --json= --csv= -o \
		--pc-lines --chain-lines; do
		case $option in
		*=) not_followed pmc report -q "$option$out" log ;;
		*) not_followed pmc report -q "$option" "$out" log ;;
		esac
	done
	not_followed pmc filter log "$out"
	not_followed pmcannotate --html "$out" log "$BUILD/tests/load"
	not_followed pmcstat -O "$out" -P clock.hard true
	not_followed pmcstat -o "$out" -p clock.hard true
	not_followed pmcstat -R log -G "$out"
	# Writing through a dangling link would create a file.
	run_as_nobody ln -sfn "$BATS_TEST_TMPDIR/new" "$out"
	not_followed pmc report -q -o "$out" log
	not_followed pmc record -o "$out" true
	[ ! -e new ]
}

@test "nor are links in place of the folders of pmc report -g" {
	pmc report -q -g log
	image=$(cd CLOCK.HARD && ls load.gmon)
	run_as_nobody mkdir "$THEIRS/CLOCK.HARD"
	trap_at "CLOCK.HARD/$image"
	not_followed pmc report -q -g -D "$THEIRS" log
	run_as_nobody rm -r "$THEIRS/CLOCK.HARD"
	mkdir root
	run_as_nobody ln -s "$BATS_TEST_TMPDIR/root" "$THEIRS/CLOCK.HARD"
	not_followed pmc report -q -g -D "$THEIRS" log
	[ -z "$(ls -A root)" ]
	run_as_nobody rm "$THEIRS/CLOCK.HARD"
	pmc report -q -g -D "$THEIRS" log
	cmp "$THEIRS/CLOCK.HARD/$image" "CLOCK.HARD/$image"
}

@test "tdump and ktrctl alq create new files, too" {
	mkfifo to from
	KTR_FILE=rings traced <to >from 2>/dev/null 3>&- &
	TRACED=$!
	exec {TO}>to {FROM}<from
	printf s >&"$TO"
	read -r -N 1 -t $PATIENCE _ <&"$FROM"
	trap_at out
	not_followed tdump -i rings -o "$THEIRS/out"
	not_followed tdump -i rings --save "$THEIRS/out"
	run -73 ktrctl -p "$TRACED" alq "$THEIRS/out"
	[ "$(<precious)" = precious ]
	# The other user's file is replaced; a hard link to root's file is not written to.
	run_as_nobody touch "$THEIRS/file"
	cp rings first
	ln first "$THEIRS/second"
	ktrctl -p "$TRACED" alq -l 0.01 "$THEIRS/file"
	ktrctl -p "$TRACED" alq -l 0.01 "$THEIRS/second"
	tdump -i rings --save "$THEIRS/saved"
	[ "$(stat -c '%u %a' "$THEIRS"/{file,saved,second} | sort -u)" = "0 600" ]
	cmp rings first
	# Rings replace rings only, text does not replace rings, and no output is an input.
	for writer in "tdump -i rings --save" "ktrctl -p $TRACED alq"; do
		run -73 $writer precious
		[[ $output == *'"precious" is no trace and is not overwritten'* ]]
	done
	run -73 tdump -i rings -o "$THEIRS/saved"
	[[ $output == *'saved" is a trace and is not overwritten'* ]]
	run -64 tdump -i rings --save rings
	[[ $output == *'"rings" is the file that is read; write to another file' ]]
	run -64 tdump -i rings -o ./rings
	cmp rings first
	[ "$(<precious)" = precious ]
}

@test "an old file stays until the new one is complete; its other hard links stay for good" {
	echo old >report
	ln report second
	inode=$(stat -c %i report)
	run pmc report -q -o report no-such-log
	[ "$status" -ne 0 ]
	[ "$(stat -c %i report)" = "$inode" ]
	run bash -c "ulimit -f 0; trap '' XFSZ; pmc report -q -o report log"
	[ "$status" -ne 0 ]
	[ "$(<report)" = old ]
	pmc report -q -o report log
	grep -q load report
	[ "$(<second)" = old ]
	[ -z "$(find . -name '.*-*' ! -name .)" ]
}

@test "no output is written over the log that is read" {
	cp log before
	run -64 pmc report -q -o log log
	[[ $output == *'"log" is the log that is read; write to another file' ]]
	run -64 pmc report -q --folded log log
	run -64 pmc report -q --perf-data ./log log
	run -64 pmcstat -R log -o log
	ln -s log link
	run -64 pmc filter log link
	cmp log before
}

@test "/dev/stdout, FIFOs and /dev/null are written to as they are" {
	pmc report -q --folded folded log
	pmc report -q --folded /dev/stdout log | cmp - folded
	mkfifo fifo
	pmc report -q --folded fifo log &
	cmp fifo folded
	wait $!
	[ -p fifo ]
	pmc report -q --folded /dev/null log
	[ -c /dev/null ]
	pmcstat -O /dev/null -P clock.hard true
	pmcstat -o /dev/stderr -p clock.hard true 2>&1 | grep -q 'p/clock.hard'
}
