# SPDX-License-Identifier: BSD-2-Clause
#
# pmcstat over the library of known counts: the Kth read of the Hth PMC gives H * 1000 * K.

load helpers

pmcstat() { fake pmcstat "$@"; }

# --- the command line -------------------------------------------------------------------------

# wrong CODE MESSAGE OPTION...
wrong() {
	gives "$1" "pmcstat: ERROR: $2" pmcstat "${@:3}"
	[ ! -s calls ]
}

@test "bad values of options: the historic texts and exit codes" {
	wrong 64 'Illegal CPU specification "".' -c '' -s a
	wrong_all <<-'LIST'
	64|Illegal CPU specification "1,x".|-c 1,x -s a
	64|Illegal duration time value "0".|-l 0 -s a
	64|Illegal duration time value "1s".|-l 1s -s a
	64|Illegal wait interval value "-1".|-w -1 -s a
	64|Illegal wait interval value "nan".|-w nan -s a
	64|Illegal process id "99999999999999999999".|-t 99999999999999999999 -p a
	64|Illegal process id "0".|-t 0 -p a
	64|Illegal count value "0".|-n 0 -P a true
	64|Illegal count value "-5".|-n -5 -P a true
	64|Illegal count value "1x".|-n 1x -P a true
	64|Illegal count value "99999999999999999999".|-n 99999999999999999999 -P a true
	71|cannot open "/nowhere/x" for writing. (No such file or directory)|-o /nowhere/x -s a
	LIST
	gives_like 65 'pmcstat: ERROR: Failed to compile regex "a\[": *' pmcstat -t 'a[' -p a
}

# -t comes before -c, -d before -c.
@test "options that do not go together: the historic texts, in the historic order" {
	wrong_all <<-'LIST'
	64|options --json and --csv are mutually exclusive.|--json --csv -s a
	64|option -O may only be specified once.|-O a -O b
	64|option -R may only be specified once.|-R a -R b
	64|options -O and -R are mutually exclusive.|-O a -R b -t 1 -p c true
	64|options -T and -l are mutually exclusive.|-T -l 1 -P a true
	64|options -T and -O are mutually exclusive.|-T -O x -P a true
	64|options -g/-G/-m/-T require sampling PMCs or -R to be specified.|-T -p a true
	64|unknown option <skiplink=2>.|-T -f skiplink=2 -P a true
	64|option -R may not be used with a command line specification.|-R b -t 1 -p c true
	64|option -R may not be used with option -t.|-R b -t 1 -p c
	64|option -R may not be used with a PMC event specification.|-R b -p c;-R b -S c
	64|option --for-each-cgroup requires a -p.|-s a --for-each-cgroup b
	64|option --for-each-cgroup takes all its cgroups at once: "a,b".|--for-each-cgroup a --for-each-cgroup b -p c
	64|option --per-core is for the -s that follow it, before --per-socket.|--per-core --per-socket -s a
	64|the last -n changes nothing: it is for the -P and -S that follow it.|-P a -n 20000 true;-n 1 -S a -n 2
	64|the last -N changes nothing: it is for the -P and -S that follow it.|-N -P a -p b -N true
	64|the last -U changes nothing: it is for the -P and -S that follow it.|-P a -U true
	64|the last -C changes nothing: it is for the -p and -s that follow it.|-C -p a -C true;-s a -C
	64|the last -d changes nothing: it is for the -p and -P that follow it.|-p a -d true;-p a -d -t tid:1;-p a -d -t cgroup:/
	64|the last -E changes nothing: it is for the -p that follow it.|-p a -E true;-E -P a true
	64|the last -W changes nothing: it is for the -p that follow it.|-p a -W true
	64|options --from-exec and --from-fork are mutually exclusive.|--from-exec --from-fork -p a true;--from-fork --from-exec -p a true
	64|rows go to one file: "a" or "b".|-o a --csv=b -p c true;-o a --json=b -s c
	64|option -t requires a process mode PMC to be specified.|-t 1 -s a;-c 0 -d -t 1 -s a;-t 1 -E -W -S a
	64|options -d, -E, -p, -P, and -W require a command line or target process.|-p a;-d -s a;-c 0 -d -p a;-P a;-E -s a;-W -C -n 5 -s a
	64|options -d, -E, and -W require a process mode PMC to be specified.|-d -s a true;-E -C -n 5 -c 0 -S a true;-W -s a true
	64|option -c requires at least one system mode PMC to be specified.|-c 0 -p a true;-c 0 -C -n 5 -P a true
	64|option --exit-status requires a command line.|--exit-status -s a
	64|options -C, -W and -o require at least one counting mode PMC to be specified.|-C -P a true;-W -O x -P a true
	64|options -N, -n and -O require at least one sampling mode PMC to be specified.|-n 5 -O x -p a true;-N -s a
	64|option -U requires at least one sampling mode PMC to be specified.|-U -p a true
	64|option -O is used only with options -E, -P, -S and -W.|-O x -p a true;-O x -s a -s b
	64|option -O is required if counting and sampling PMCs are specified together.|-p a -P a true;-s a -S a
	LIST
	# A refused command line has opened nothing.
	[ ! -e x ]
}

@test "a -c after all events has no effect, and is reported" {
	gives_like 0 $'pmcstat: WARNING: -c 0 changes nothing: it is for the -s and -S that follow it\n*' \
		pmcstat -l 0.01 -s a -c 0
	run pmcstat -q -l 0.01 -s a -c 0
	[[ $output != *WARNING* ]]
	run pmcstat -l 0.01 -c 0 -s a
	[[ $output != *WARNING* ]]
}

@test "no PMC: the usage screen, exit 64; after an unknown option as well" {
	for args in "" "true" "-t 1" "-d" "-c 0"; do
		gives_like 64 'usage: pmcstat *' pmcstat $args
	done
	run -64 pmcstat -x
	[[ ${lines[1]} == "usage: pmcstat "* ]]
}

@test "a message is one line whatever the name holds, and ends with the reason however long it is" {
	export FAKEPMC_FAIL=allocate:1:22
	gives_like 71 '*"a[?]b[?][[]31m"*' pmcstat -s $'a\nb\e[31m'
	[ ${#lines[@]} -eq 1 ]
	gives_like 71 '*: because the test wants it [[]Invalid argument]' pmcstat -s "$(printf 'x%.0s' {1..5000})"
	[ ${#output} -lt 2100 ]
}

@test "closed standard descriptors: rows are not misdirected, and the command finds them closed" {
	pmcstat -o file -p hw-a sh -c 'ls /proc/self/fd | wc -l >fds' <&- >&- 2>&-
	[ "$(wc -l <file)" -eq 2 ]
	pmcstat -p hw-a true <&- >&- 2>&-
}

# --- calls of the library ----------------------------------------------------------------------

@test "-c, -C and -d apply to the PMCs that follow; -d does not apply to system PMCs" {
	run -0 pmcstat -p a -d -p b -s c -c 1 -C -s d -d -p e -c 0-1 -s f true
	gives 0 "allocate a mode 3 flags 0x80 cpu -1
allocate b mode 3 flags 0x82 cpu -1
$(nproc_lines c)
allocate d mode 1 flags 0x80 cpu 1
allocate e mode 3 flags 0x80 cpu -1
allocate f mode 1 flags 0x80 cpu 0
allocate f mode 1 flags 0x80 cpu 1" grep allocate calls
}

@test "-L and -u: names of events, and of the hardware's" {
	run -0 pmcstat -L
	diff <(echo "$output") <(fake pmc list-events)
	gives 0 $'TSC:\tsee pmc.tsc(3)' pmcstat -u tsc
	FAKEPMC_FAIL=init:1:2 run -69 pmcstat -L
}

nproc_lines() {
	local cpu
	for cpu in $(seq 0 $(($(nproc --all) - 1))); do
		echo "allocate $1 mode 1 flags 0x80 cpu $cpu"
	done
}

@test "allocate, attach, start, only then the command; stop and release at the end" {
	run -0 pmcstat -p a -c 0 -s b sh -c 'echo "command $$" >>calls'
	pid=$(sed -n 's/^command //p' calls)
	gives 0 "allocate a mode 3 flags 0x80 cpu -1
allocate b mode 1 flags 0x80 cpu 0
attach-exec 1 $pid
start 1
start 2
command $pid
stop 1
release 1
stop 2
release 2" cat calls
}

@test "the command is counted from its exec on, -t processes at once; --from-exec, --from-fork: all in the same way" {
	sleep 100 3>&- &
	target=$!
	for from in '' --from-exec --from-fork; do
		: >calls
		run -0 pmcstat $from -t $target -p a sh -c 'echo $$ >pid'
		grep attach calls >"attached$from"
		sed -i "s/ $target\$/ target/; s/ $(cat pid)\$/ command/" "attached$from"
	done
	kill $target
	[ "$(cat attached)" = $'attach-exec 1 command\nattach 1 target' ]
	[ "$(cat attached--from-exec)" = $'attach-exec 1 command\nattach-exec 1 target' ]
	[ "$(cat attached--from-fork)" = $'attach 1 command\nattach 1 target' ]
	for tool in 'pmcstat -s a' 'pmc stat-system' 'pmc record -a'; do
		gives_like 64 '*: ERROR: options --from-exec and --from-fork require a process mode PMC to be specified.*' \
			fake $tool --from-exec true
	done
}

@test "every -t counts: numbers and names, each process once" {
	cp "$(command -v sleep)" alpha_p && cp alpha_p beta_p
	./alpha_p 100 3>&- & a=$!
	./beta_p 100 3>&- & b=$!
	wait_for grep -q alpha_p /proc/$a/comm
	wait_for grep -q beta_p /proc/$b/comm
	run pmcstat -l 0.01 -p x -t '^alpha_p$' -t beta_ -t $a -t 2147483647
	kill $a $b
	status_is 0
	run grep attach calls
	[[ $output == *"attach 1 $a"* && $output == *"attach 1 $b"* ]]
	[ "$(grep -c "attach 1 $a$" <<<"$output")" -eq 1 ]
}

@test "no matching process: 65; a process that has ended: nothing attached, 65" {
	run -65 pmcstat -p a -t 'no such name'
	[[ $output == 'pmcstat: ERROR: No matching target processes. No process has a name '*' that matches "'*'"' ]]
	export FAKEPMC_FAIL=attach:1:3
	gives 65 'pmcstat: ERROR: No processes were attached to. There is no process 2147483647' pmcstat -p a -t 2147483647
}

@test "a failing library: the text, the reason, errno's text, the exit code" {
	# function:call:errno|code|text
	while IFS='|' read -r fail code text; do
		FAKEPMC_FAIL=$fail run pmcstat -p 'a,usr' -c 1 -s b touch ran
		status_is "$code"
		[[ $output == "pmcstat: ERROR: $text: because the test wants it ["*"]" ]] ||
			{ echo "$fail: $output" >&2; false; }
	done <<-'LIST'
	init:1:2|69|Initialization of the pmc(3) library failed
	npmc:1:22|71|Cannot determine the number of PMCs on CPU 0
	allocate:1:22|71|Cannot allocate process-mode pmc with specification "a,usr"
	allocate:2:1|71|Cannot allocate system-mode pmc with specification "b"
	start:1:16|71|Cannot start pmc 0xf01 "a"
	start:2:16|71|Cannot start pmc 0xf02 "b"
	LIST
	[ ! -e ran ]
	FAKEPMC_FAIL=attach:1:1 run -71 pmcstat -p a touch ran
	[[ $output =~ ^'pmcstat: ERROR: cannot attach pmc "a" to process '[0-9]+': because the test wants it [Operation not permitted]'$ ]]
	[ ! -e ran ]
}

@test "a count that cannot be read: one line, exit 71, and the command runs to its end" {
	local code=0
	# The first row is printed before the command ends.
	FAKEPMC_FAIL=read:2:38 pmcstat -w 0.05 -p a sh -c 'until grep -q 1000 err; do sleep 0.01; done; touch ran' 2>err ||
		code=$?
	[ "$code" -eq 71 ]
	output=$(<err) says '#                  p/a 
                  1000 pmcstat: ERROR: Cannot read pmc "a": because the test wants it [Function not implemented]'
	[ -e ran ]
}

# --- rows -------------------------------------------------------------------------------------

@test "the table: on stderr, or in the -o file with the same bytes" {
	printf '# p/hw-instructions          s/01/cycles \n               1000                 2000 \n' >want
	pmcstat -p hw-instructions -c 1 -s cycles,usr true >out 2>err
	[ ! -s out ]
	cmp want err
	gives 0 '' pmcstat -o file -p hw-instructions -c 1 -s cycles,usr true
	cmp want file
}

@test "a row at every interval and one at the end; -C shows totals" {
	run -0 pmcstat -w 0.1 -o file -p hw-a -C -p hw-b "${until_rows[@]}" 3
	head -n 5 file >rows
	output=$(<rows) says '#          p/hw-a          p/hw-b 
             1000            2000 
             1000            4000 
             1000            6000 
             1000            8000 '
}

# A command that ends after so many rows; a busy machine may be late for some, and write more meanwhile.
until_rows=(sh -c 'until [ "$(wc -l <file)" -gt $0 ]; do sleep 0.01; done')

@test "the time stamp counter counts from the start, not from boot" {
	run -0 pmcstat -w 0.1 -o file -c 0 -s tsc -C -s tsc -s hw-a "${until_rows[@]}" 1
	head -n 3 file >rows
	output=$(<rows) says '#             s/00/tsc             s/00/tsc       s/00/hw-a 
                  1000                 2000            3000 
                  1000                 4000            6000 '
}

@test "-l ends the measurement with a last row and terminates the command" {
	# -q: without a message about a command that got no CPU within its grace period.
	gives 0 '#          p/hw-a 
             1000 ' pmcstat -q -l 3 -p hw-a sh -c 'trap ": >told; exit" TERM; while :; do sleep 0.01; done'
	wait_for test -e told
}

# rows N OPTION...: N rows, except those that a busy machine skips, which it does not do each time.
rows() {
	local end=$((SECONDS + 60))
	lines=()
	until [ ${#lines[@]} -eq $(($1 + 1)) ]; do
		[ $SECONDS -lt $end ]
		begins 0 '#       s/00/hw-a ' pmcstat "${@:2}" -c 0 -s hw-a
		((${#lines[@]} >= 2 && ${#lines[@]} <= $1 + 1))
		[ "$(tail -n +2 <<<"$output" | sort -u)" = '             1000 ' ]
	done
}

@test "-l shorter, longer and so many times -w, without a command: so many rows, the last at the end" {
	rows 4 -l 0.35 -w 0.1
	# A row for every tick plus one for the end would be four.
	rows 3 -l 0.9 -w 0.3
	for times in '-l 0.05 -w 100' '-l 0.3 -w 0.3'; do
		run -0 pmcstat $times -c 0 -s hw-a
		[ ${#lines[@]} -eq 2 ]
	done
}

@test "the header is repeated after 256 rows of a file" {
	background pmcstat -o file -w 0.001 -c 0 -s hw-a
	rows_are() { [ "$(wc -l <file)" -gt "$1" ]; }
	wait_for test -e file
	wait_for rows_are 258
	kill -INT $pid
	wait $pid
	[ "$(grep -n '^#' file | cut -d: -f1 | head -2 | tr '\n' ' ')" = "1 258 " ]
}

@test "a terminal gets a header on every screen, and no newline until the next row" {
	run -0 script -qec "stty rows 4; LD_PRELOAD='$(sanitizer) $BUILD/tests/fakepmc.so' $BUILD/bin/pmcstat -l 3 -w 0.1 -c 0 -s hw-a" /dev/null
	[[ "$(tr -d '\r' <<<"$output" | cut -c1 | tr -d '\n')" == "#   #   "* ]]
}

@test "SIGINT and SIGTERM: a last row, exit 0; a command gets SIGTERM and is counted, one that ignores SIGINT is left and named" {
	for signal in INT TERM; do
		rm -f file
		: >calls
		background pmcstat -o file -w 100 -c 0 -s hw-a
		wait_for grep -q start calls
		kill -$signal $pid
		wait $pid
		[ "$(wc -l <file)" -eq 2 ]
	done
	background pmcstat -o file -w 100 -p hw-a sh -c 'trap ": >told; exit 5" TERM; : >up; while :; do sleep 0.01; done'
	wait_for test -e up
	kill -TERM $pid
	wait $pid
	wait_for test -e told	# at once, if it has a CPU
	[ "$(wc -l <file)" -eq 2 ]
	rm up
	background pmcstat -o file -w 100 -p hw-a sh -c 'trap "" INT; echo $$ >up; while [ ! -e stop ]; do sleep 0.01; done; touch stopped' 2>err
	wait_for test -s up
	kill -INT $pid
	wait $pid
	[ "$(cat err)" = "pmcstat: WARNING: the command still runs as process $(cat up)" ]
	[ "$(wc -l <file)" -eq 2 ]
	touch stop
	wait_for test -e stopped
}

@test "the measurement ends with its last target" {
	sleep 100 3>&- & a=$!
	sleep 100 3>&- & b=$!
	background pmcstat -o file -w 100 -p hw-a -t $a -t $b
	wait_for grep -q start calls
	kill $a
	sleep 0.1
	kill -0 $pid
	kill $b
	wait $pid
	[ "$(wc -l <file)" -eq 2 ]
}

@test "--json: a valid object for each row, with name, scope, CPU and value" {
	run -0 pmcstat --json -w 0.1 -o file -p $'hw-a"\x01\xff' -c 1 -s b,usr "${until_rows[@]}" 0
	python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert 0.09 < rows[0]["time"] < rows[1]["time"] < 60
for row in rows:
    assert row["counters"] == [
        {"name": "hw-a\"\x01\ufffd", "spec": "hw-a\"\x01\ufffd", "scope": "process", "cpu": None,
         "cumulative": False, "value": 1000},
        {"name": "b", "spec": "b,usr", "scope": "system", "cpu": 1, "cumulative": False, "value": 2000}]
' <file
}

# --- the command ------------------------------------------------------------------------------

@test "--json and --csv with a file: rows go there, as with -o" {
	run -0 pmcstat --csv=rows -p a true
	says ''
	[ "$(head -n 1 rows)" = time,p/a ]
	pmcstat --json=rows -p a true
	output=$(<rows)
	json_is '[c["name"] for c in x["counters"]] == ["a"]'
	[ "$(pmcstat --csv=- -p a true | head -n 1)" = time,p/a ]
}

@test "exit status: the command's, 0 for a terminated one unless --exit-status is given" {
	run -0 pmcstat -p a true
	run -7 --separate-stderr pmcstat -o counts -p a sh -c 'echo out; echo err >&2; exit 7'
	[ "$output $stderr" = "out err" ]
	for option in -q --exit-status; do
		run -3 pmcstat $option -p a sh -c 'exit 3'
		run -137 pmcstat $option -p a sh -c 'kill -9 $$'
	done
	run -0 pmcstat -l 0.05 -p a sleep 100
	run -143 pmcstat --exit-status -l 0.05 -p a sleep 100
}

@test "a command that cannot be executed: one line, exit 71, no row" {
	gives 71 'pmcstat: ERROR: execvp "nosuchcommand" failed: No such file or directory' pmcstat -p a nosuchcommand
	touch plain
	gives 71 'pmcstat: ERROR: execvp "./plain" failed: Permission denied' pmcstat -p a ./plain
}

@test "the command's options and descriptors are its own, and it finds signals as pmcstat found them" {
	begins 0 "-C --json -l 3" pmcstat -q -p a -- sh -c 'echo "$@"; ls /proc/self/fd | wc -l' x -C --json -l 3
	bare=$(sh -c 'ls /proc/self/fd | wc -l')
	[ "${lines[1]}" -eq "$bare" ]
	want=$(grep -E 'Sig(Blk|Ign)' /proc/self/status)
	gives 0 "$want" pmcstat -o /dev/null -p a grep -E 'Sig(Blk|Ign)' /proc/self/status
}

# --- trouble with the output ------------------------------------------------------------------

@test "a full disk: one line, exit 71, and the command runs to its end" {
	run -71 pmcstat -w 0.05 -o /dev/full -p a sh -c 'sleep 0.3; touch ran'
	says 'pmcstat: ERROR: cannot write to "/dev/full": No space left on device'
	[ -e ran ]
	run -71 pmcstat -w 0.05 -o /dev/full -c 0 -s a
}

@test "a closed output: one line, exit 71, and the command runs to its end" {
	mkfifo pipe
	background pmcstat -w 0.05 -o pipe -p a sh -c 'until [ -e left ]; do sleep 0.01; done; touch ran' 2>err
	head -n 1 pipe
	touch left
	code=0
	wait $pid || code=$?
	[ $code -eq 71 ]
	[ "$(cat err)" = 'pmcstat: ERROR: cannot write to "pipe": Broken pipe' ]
	[ -e ran ]
}

@test "a reader that stops blocks neither rows nor the command; a signal ends the wait" {
	mkfifo pipe
	sleep 100 <pipe 3>&- & reader=$!
	# Wide rows, so that the pipe is full soon on a busy machine as well.
	# shellcheck disable=SC2046 # words
	background pmcstat -w 0.001 -o pipe $(printf -- '-p hw-%s ' {a..z}{0..3}) sh -c 'sleep 4; touch ran' 2>err
	wait_for grep -q release calls	# the command has ended and is collected
	[ -e ran ]
	[ -z "$(pgrep -P $pid)" ]
	kill -TERM $pid
	code=0
	wait $pid || code=$?
	kill $reader
	[ $code -eq 71 ]
	[[ $(cat err) =~ ^'pmcstat: ERROR: nobody reads "pipe": '[0-9]+' bytes were not written'$ ]]
}

@test "a reader that resumes gets every row, and the sum of all counts" {
	mkfifo pipe
	(exec <pipe; wait_for grep -q release calls; cat >all) 3>&- & reader=$!
	# shellcheck disable=SC2046 # words
	run -0 pmcstat --csv -w 0.001 -o pipe $(printf -- '-p hw-%s ' {a..z}{0..3}) sh -c 'sleep 4'
	wait $reader
	# More than a pipe holds.
	[ "$(wc -c <all)" -gt 65536 ]
	awk -F, 'NR == 1 { next } NF != 105 { bad++ } { rows++; sum += $2 }
		END { exit !(rows && sum == rows * 1000 && !bad) }' all
}

@test "a group's probes: commas of a path separate no members, those behind the function do" {
	run -0 pmcstat -p '{uprobe:w,y:fn,hw-a}' -p '{hw-b,USDT:l,m:p:n,usr,uretprobe:w,f,g:h}' true
	sed -n 's/^allocate \([^ ]*\).*/\1/p' calls >members
	diff members - <<-'end'
		uprobe:w,y:fn
		hw-a
		hw-b
		USDT:l,m:p:n,usr
		uretprobe:w,f,g:h
	end
}

@test "CPUs of several kinds: an event of processes is counted on each, and summed; in groups; samples have no sum" {
	run -0 pmcstat -p tsc -p '{kind,a}' -p kind2 true
	[ "$(xargs -n 1 <<<"${lines[0]#\#}" | xargs)" = "p/tsc p/kind p/big/kind/ p/little/kind/ p/a p/kind2 p/big/kind2/ p/little/kind2/" ]
	[ "$(xargs <<<"${lines[1]}")" = "1000 5000 2000 3000 4000 11000 5000 6000" ]
	grep -E '^group|^commit' calls >groups
	diff groups - <<-'end'
		group 1 leader 2
		group 1 add 3
		group 1 add 4
		commit 1
	end
	rm calls
	run pmcstat -P kind -O log true
	[ "$(grep -c '^allocate' calls)" -eq 2 ]
	grep -q '^allocate little/kind/ mode 2 ' calls
	run -0 fake pmc stat -j kind true
	[[ $output == *" 13000  kind"* ]] || { echo "$output"; false; }
}
