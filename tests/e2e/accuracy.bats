#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What reports say of a program that knows where its time went: shares, names, and that nothing is
# lost where there are none.

load helpers
HOT="$BUILD/tests/hot $BUILD/tests/hot_library.so"

# Room for all samples if the daemon gets no CPU time: a burst of losses would distort the shares.
setup() { in_tmpdir_with_daemon "${ROOM[@]}"; }

teardown() {
	[ -z "${PROGRAM:-}" ] || rm -f "/tmp/perf-$PROGRAM.map"
	[ -z "${GATE:-}" ] || exec {GATE}>&-
	stop_daemon KILL || true
}

# table [OPTION...]: the report of ./log in ./table, a row for each function; messages in ./warnings
table() { pmcstat report --csv=table "$@" log 2>warnings; }

# The pid of the program in ./log.
program() { pmcstat -q -R log | awk '$1 == "exec" && /\/hot"/ { print $3; exit }'; }

# object FUNCTION - the object that the table shows for it
object() { awk -F, -v f="$1" '$2 == "hot" && $4 == f { print $5 }' table; }

# All samples of the log are self samples of some row.
complete() {
	local samples
	samples=$(pmcstat -q -R log | grep -c '^callchain')
	[ "$samples" -ge 1000 ]
	[ "$(awk -F, 'NR > 1 { n += $6 } END { print n }' table)" -eq "$samples" ]
}

@test "shares match the program's own clocks: plain, inlined, recursive, loaded, generated and threaded code" {
	# shellcheck disable=SC2086 # two words
	pmcstat -q -n 100000 -P CPU_CLOCK -O log $HOT 600 >figures
	PROGRAM=$(program)
	table
	complete
	python3 "$BATS_TEST_DIRNAME/accuracy.py" figures <table
	[ "$(object plain)" = "$BUILD/tests/hot" ]
	[ "$(object tight)" = "$BUILD/tests/hot" ]
	[ "$(object in_library)" = "$BUILD/tests/hot_library.so" ]
	[ "$(object jit_code)" = "/tmp/perf-$PROGRAM.map" ]
	# Without any of these files: addresses and objects, for as many samples.
	mkdir elsewhere
	table -r elsewhere
	complete
	grep "no names for .*$BUILD/tests/hot: No such file" warnings
	[ -z "$(object plain)$(object jit_code)" ]
	awk -F, -v hot="$BUILD/tests/hot" '$5 == hot && $4 ~ /^0x[0-9a-f]+$/ { n += $6 } END { exit !(n > 1000) }' table
}

@test "a process in another root and PID namespace is resolved through them while it lives" {
	mkfifo gate said
	# Its /tmp has the program and the map of generated code; ours has neither.
	cat >contained <<-'SH'
	mount -t tmpfs tmpfs /mnt
	cp "$1/hot" "$1/hot_library.so" /mnt
	mount --move /mnt /tmp
	exec /tmp/hot /tmp/hot_library.so 600 nap
	SH
	exec {GATE}<>gate
	pmcstat -q -d -n 100000 -w 0.2 -P CPU_CLOCK -O log unshare -m -p -f --kill-child \
		sh "$PWD/contained" "$BUILD/tests" <gate >said 2>errors 3>&- {GATE}>&- &
	recorder=$!
	while read -r line; do
		echo "$line" >>figures
		[[ "$line" != threaded* ]] || break
	done <said
	# A live log contains the records written so far: all of the work, once a fork follows it.
	worked() { pmcstat -q -R log | awk '/^exec .*\/hot"/ { hot = $3 } /^fork/ && $2 == hot { n++ } END { exit !n }'; }
	wait_for worked
	table
	python3 "$BATS_TEST_DIRNAME/accuracy.py" figures <table
	[ "$(object plain)" = /tmp/hot ]
	[[ "$(object jit_code)" == /tmp/perf-*.map ]]
	exec {GATE}>&-
	GATE=
	wait "$recorder"
	table
	complete
	grep 'no names for .* /tmp/hot: No such file' warnings
	[ -z "$(object plain)$(object jit_code)" ]
}
