#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat -T: as plain text, on a terminal with keys, sizes and ends of every kind, and over logs of before.

load helpers

setup() { in_tmpdir_with_daemon; }

teardown() {
	# After a failed test: it would run for minutes, beside all later ones.
	pkill -KILL -f "${forever[*]}" || true
	stop_daemon
}

# seen REGEX: on the last screen, or in the output of the last command.
seen() {
	grep -Eq -- "$1" <<<"$output" || { echo "no \"$1\" in: $output" >&2; return 1; }
}

# ended STATUS: so, and the terminal is as it was.
ended() {
	seen "^status $1\$"
	seen '^cooked$'
}

# on_terminal ROWSxCOLS STEP... -- COMMAND...: with Debian's python3, whose packages those are.
on_terminal() {
	run -0 env -u NO_COLOR /usr/bin/python3 "$BATS_TEST_DIRNAME/terminal.py" "$@"
}

# Runs until it is killed, with a unique argument; every sample has the same chain.
forever=(deep 3 $((1000000000000 + $$)) 0 0)
# ... and for about a second.
second=(deep 3 3000000000 0 0)
nobody_runs() { ! pgrep -f "${forever[*]}"; }
top=(pmcstat -n 1 -P CLOCK.HARD -T)

@test "plain text: a screen for each interval, with functions, callers and paths" {
	pmcstat -T -w 0.3 -o text -n 1 -P CLOCK.HARD "${forever[@]}" 3>&- &
	local measuring=$!
	screens() { [ "$(grep -c '^PMC:' text)" -ge 2 ]; }
	wait_for screens
	pkill -KILL -P $measuring
	status=0
	wait $measuring || status=$?
	[ "$status" -eq 137 ]
	output=$(<text)
	seen '^PMC: \[CLOCK\.HARD\] Samples: [1-9][0-9]* \(100\.0%\) , 0 unresolved$'
	seen '^%SAMP IMAGE      FUNCTION             CALLERS$'
	seen '^([ 1][ 0-9][0-9]\.[0-9]) deep       leaf                 outer:100\.0$'
	[ "$(sed -n 2p text)" = "" ]
	# As many screens as separators between them.
	[ "$(grep -c '^PMC:' text)" -ge 2 ]
	[ "$(grep -c '^---$' text)" -eq $(($(grep -c '^PMC:' text) - 1)) ]
	refute grep -q $'[\001-\010\033]' text
}

@test "more samples than a pipe holds, in every interval: pmcstat does not deadlock with itself" {
	run -0 --separate-stderr pmcstat -T -w 0.3 -n 50000 -P CPU_CLOCK deep 3 6000000000 0 0
	[ "$(grep -c '^PMC: \[CPU_CLOCK\]' <<<"$output")" -ge 2 ]
	# A tenth of the samples without loss; losses are another test's subject.
	[ "$(sed -n 's/.*Samples: \([0-9]*\) .*/\1/p' <<<"$output" | awk '{ n += $1 } END { print n }')" -ge 2000 ]
}

@test "a closed output ends it, and the command runs to its end" {
	run -0 bash -c '"$@" -w 0.1 sh -c "deep 3 1000000000 0 0; touch ended" | head -n 1' - "${top[@]}"
	[ -f ended ]
}

@test "keys: views, PMCs, sums, pause, help; the terminal is restored" {
	on_terminal 24x132 wait='deep +leaf +outer:100.0' colours raw \
		type=n wait='Key: n => call tree' wait='CALLTREE' wait='main( outer)+ leaf$' \
		type=n wait='=> processes' wait='^100\.0 +[0-9]+ deep +leaf:100' \
		type=n wait='=> threads' wait='TID' type=n wait='=> callers' \
		type=p wait='PMC: .PAGE_FAULT.ALL' type=p wait='PMC: .CLOCK.HARD' \
		type=c wait='Key: c => a: add up' type=a wait='=> samples add up' \
		wait='Samples: [0-9]{4}' type='\x20' wait='=> paused' type='\x20' wait='=> goes on' \
		type='\x1b[A' type='/nothing\r' wait='Key: / => nothing$' type='/\x1b' wait='deep +leaf' \
		type=? wait='^q +quit' type=x wait='deep +leaf' type=q end raw \
		-- pmcstat -n 1 -P CLOCK.HARD -P PAGE_FAULT.ALL -T -w 0.4 "${forever[@]}"
	seen '^colours .*red'
	seen '^raw$'
	ended 0
	wait_for nobody_runs
}

@test "sizes: two lines, twenty columns, and back" {
	on_terminal 24x80 wait='deep +leaf' size=2x20 wait='\APMC: \[CLOCK\.HARD\] Sa\n\Z' \
		size=5x20 wait='\APMC: \[CLOCK\.HARD\] Sa\n.*\n%SAMP IMAGE      FUN\n.*deep       lea\n' \
		size=1x4 wait='\APMC:\Z' size=40x132 wait='deep +leaf +outer:100.0' type=q end \
		-- "${top[@]}" -w 0.3 "${forever[@]}"
	seen '^status 0$'
}

@test "without colours" {
	run -0 env NO_COLOR=1 /usr/bin/python3 "$BATS_TEST_DIRNAME/terminal.py" 24x80 wait='deep +leaf' \
		colours type=q end -- "${top[@]}" -w 0.3 "${forever[@]}"
	seen '^colours$'
}

@test "the command's output is kept until the end, and the last screen stays" {
	on_terminal 24x60 end raw -- "${top[@]}" --exit-status sh -c \
		'read -r x; echo "read gives $?"; echo wrong >&2; deep 3 300000000 0 0; exit 3'
	seen '^status 3$'
	seen '^PMC: \[CLOCK.HARD\] Samples: '
	seen '^read gives 1$'
	seen '^wrong$'
	seen '^cooked$'
	# Of much output, the last part.
	on_terminal 24x60 end -- "${top[@]}" sh -c 'seq 100000'
	seen '^100000$'
	# A failed exec is reported once the terminal is restored.
	on_terminal 24x60 end raw -- "${top[@]}" ./not-there
	seen '^status 71$'
	seen 'execvp "\./not-there" failed'
	seen '^cooked$'
}

@test "ends: ^C, SIGTERM, SIGHUP; the command ends as well" {
	local how
	for how in 'type=\x03' kill=TERM kill=HUP; do
		on_terminal 12x60 wait='deep +leaf' "$how" end raw -- "${top[@]}" -w 0.3 "${forever[@]}"
		ended 0
	done
	wait_for nobody_runs
}

@test "^Z restores the terminal, and continuing redraws" {
	on_terminal 12x60 wait='deep +leaf' 'type=\x1a' wait='\[stopped\]' raw continue \
		wait='\APMC: .CLOCK.HARD. .*\n.*\n%SAMP' type=n wait=CALLTREE raw type=q end raw \
		-- "${top[@]}" -w 0.3 "${forever[@]}"
	[ "$(grep -Ex 'raw|cooked' <<<"$output" | paste -sd' ')" = "cooked raw cooked" ]
	seen '^status 0$'
}

@test "the daemon dies: the terminal is restored, and a line gives the reason" {
	on_terminal 12x100 wait='deep +leaf' "run=kill -KILL $DAEMON_PID" end raw -- "${top[@]}" -w 0.3 "${forever[@]}"
	DAEMON_PID=
	seen '^status 71$'
	seen 'pmcstat: ERROR: '
	seen '^cooked$'
}

@test "an unusable terminal is refused before the command runs" {
	TERMINAL_TYPE=dumb on_terminal 12x100 end raw -- "${top[@]}" touch ran
	seen '^status 69$'
	seen 'cannot draw on a terminal of type "dumb": set TERM'
	[ ! -e ran ]
}

@test "recorded logs: whole, growing, from a pipe on a terminal, cut, and empty" {
	pmcstat -n 1 -P CLOCK.HARD -O log "${second[@]}"
	run -0 pmcstat -R log -T -w 0.01
	[ "$(grep -c '^PMC:' <<<"$output")" -eq 1 ]
	seen ' deep       leaf                 outer:100\.0'
	run -0 pmcstat -R log -T -A -f threshold=60
	seen '^ ?[0-9.]+ deep       0x[0-9a-f]+ +'
	run -0 pmcstat -R log -T --process nobody
	seen 'Samples: 0 '
	# It grows: the first half is seen before the second is there.
	mkfifo pipe
	pmcstat -R pipe -T -w 0.1 -o grown 3>&- &
	local reader=$! half=$(($(stat -c %s log) / 2))
	exec {to}>pipe
	head -c $half log >&$to
	wait_for grep -q ' deep       leaf' grown
	tail -c +$((half + 1)) log >&$to
	exec {to}>&-
	wait "$reader"
	[ "$(grep -c '^---$' grown)" -ge 1 ]
	on_terminal 12x80 wait='The end of the log; q quits' wait='deep +leaf' type=q end raw -- sh -c 'cat log | pmcstat -R - -T'
	ended 0
	head -c 3001 log >short
	run -65 --separate-stderr pmcstat -R short -T
	[[ $output == "PMC: [CLOCK.HARD] "* && $stderr == *"the log ends in the middle of a record."* ]]
	run -65 --separate-stderr pmcstat -R /dev/null -T
	[[ -z $output && $stderr == *"the log is empty."* ]]
}

@test "cut chains: the second line has the number of samples" {
	pmccontrol --tunable kern.hwpmc.callchaindepth=2
	pmcstat -q -n 1 -P PAGE_FAULT.ALL -O log deep 30 0 100 0
	on_terminal 12x80 wait='Call chains that are cut: 1[0-9][0-9] of 1[0-9][0-9] samples' type=q end raw -- \
		sh -c 'cat log | pmcstat -R - -T'
	seen '^status 0$'
}
