# SPDX-License-Identifier: BSD-2-Clause
#
# pmccontrol over a library whose rows and figures are known.

load helpers

pmccontrol() { fake pmccontrol "$@"; }

wrong() {
	local code=$1 message=$2
	shift 2
	run pmccontrol "$@"
	status_is "$code"
	[ "${lines[0]}" = "pmccontrol: $message" ] || { echo "got: $output" >&2; false; }
	[ ! -s calls ]
}

@test "usage: six lines after the first, exit 64" {
	run pmccontrol
	status_is 64
	[ "${lines[0]}" = "Usage:" ]
	[ ${#lines[@]} -eq 7 ]
	run pmccontrol -l operand
	status_is 64
	[ "${lines[0]}" = "Usage:" ]
}

@test "wrong command lines: the historic texts and exit codes" {
	wrong 64 'Unrecognized option "-x"' -x
	[ "${lines[1]}" = "Usage:" ]
	wrong 64 'Unrecognized option "--frob"' --frob
	wrong 64 "Missing argument to option '-c'" -c
	wrong 64 "Missing argument to option '-e'" -e
	wrong 65 '"x" is not a valid CPU id' -c x -e 1
	wrong 65 '"-1" is not a valid CPU id' -c -1 -e 1
	wrong 65 '"**" is not a valid PMC id' -e '**'
	wrong 65 '"" is not a valid PMC id' -d ''
	wrong 65 '"99999999999999999999" is not a valid PMC id' -d 99999999999999999999
	wrong 64 'No PMCs specified to enable or disable' -c 1
	wrong 65 'CPU id too large: "2"' -c 2 -e 1
	wrong 65 'PMC id too large: "4"' -e 1 -e 4
	wrong 64 'option --json is used only with -L, -l, -s, --doctor and --tunable' --json -e 1
	wrong 64 'option --tunable is used only once' --tunable a --tunable b
	wrong 64 'option --tunable is used only once' --tunable=a --tunable
}

@test "two different commands: a message, exit 64" {
	wrong 64 'options -l and -L may not be used together' -l -L
	wrong 64 'options -s and -e may not be used together' -s -e 1
	wrong 64 'options -d and -l may not be used together' -d 1 -l
	wrong 64 'options -c and -s may not be used together' -c 1 -s
	wrong 64 'options --doctor and -l may not be used together' --doctor -l
	wrong 64 'options -l and --tunable may not be used together' -l --tunable
	wrong 64 'options --tunable and -e may not be used together' --tunable -e 1
}

@test "--help and --version: stdout, exit 0" {
	run --separate-stderr pmccontrol --help
	status_is 0
	[ -z "$stderr" ]
	[[ $output == *--list-events* && $output == *--json* && $output == *--disable* ]]
	run --separate-stderr pmccontrol --version
	status_is 0
	[[ $output =~ ^pmccontrol\ \(pmcbpf\)\ [0-9]+\.[0-9]+ ]]
}

@test "-l: the state of every row of every CPU" {
	FAKEPMC_NCPU=1 run pmccontrol -l
	status_is 0
	says '1 INTEL_HASWELL CPUs present, with 4 PMCs per CPU
#CPU 0:
#N  NAME             CLASS  STATE    ROW-DISP
 0  SOFT0            SOFT   ENABLED  FREE      
 1  SOFT1            SOFT   DISABLED FREE      
 2  TSC              TSC    ENABLED  STANDALONE (pid 77) TSC                             
 3  IAP-0            IAP    ENABLED  STANDALONE (pid 812) 0x10123                          (reload count 65536)'
}

@test "-l skips offline CPUs and continues the numbering" {
	FAKEPMC_NCPU=3 run pmccontrol -l
	status_is 0
	[ "${lines[0]}" = '3 INTEL_HASWELL CPUs present, with 4 PMCs per CPU' ]
	[ "$(grep -c '^#CPU' <<<"$output")" -eq 2 ]
	[[ $output == *'#CPU 1:'* ]]
	FAKEPMC_NCPU=3 run pmccontrol -l --json
	python3 -c 'import json, sys
assert [cpu["cpu"] for cpu in json.load(sys.stdin)["cpus"]] == [0, 2]' <<<"$output"
}

@test "-l --json has the same facts" {
	FAKEPMC_NCPU=1 run pmccontrol --json -l
	status_is 0
	python3 -c 'import json, sys
all = json.load(sys.stdin)
assert (all["cputype"], all["ncpu"], all["npmc"]) == ("INTEL_HASWELL", 1, 4)
rows = all["cpus"][0]["rows"]
assert rows[1] == {"row": 1, "name": "SOFT1", "class": "SOFT", "enabled": False,
                   "disposition": "FREE", "owner": None}
assert rows[2]["owner"] == {"pid": 77, "event": "TSC", "mode": "SC"}
assert rows[3]["owner"] == {"pid": 812, "event": "0x10123", "mode": "SS", "reload_count": 65536}
' <<<"$output"
}

@test "-L: classes at the margin, events behind a tab" {
	run pmccontrol -L
	status_is 0
	says $'SOFT\n\tCLOCK.HARD\n\tLOCK "FAILED"\nTSC\n\tTSC\n\tLOCK "FAILED"'
	run pmccontrol -L --json
	status_is 0
	python3 -c 'import json, sys
assert json.load(sys.stdin)["classes"][0] == {"class": "SOFT", "events": ["CLOCK.HARD", "LOCK \"FAILED\""]}
' <<<"$output"
}

@test "-s: hwpmc's figures, and ours" {
	run pmccontrol -s
	status_is 0
	says 'interrupts processed:                    2
non-PMC interrupts:                      1
sampling stalls due to space shortages:  3
system calls:                            4
system calls with errors:                5
buffer requests:                         6
buffer requests failed:                  7
sampling log sweeps:                     4000000000
call chains that lack callers:           5000000000'
	run pmccontrol -s --json
	python3 -c 'import json, sys
stats = json.load(sys.stdin)
assert len(stats) == 9 and stats["intr_processed"] == 2 and stats["chains_cut"] == 5000000000 and stats["log_sweeps"] == 4000000000' <<<"$output"
}

@test "--tunable: the list as lines of pmcbpf.conf, and as JSON" {
	run pmccontrol --tunable
	status_is 0
	says 'kern.hwpmc.nsamples="512"  # read-only
kern.hwpmc.debugflags="pmc=* md=read"'
	for words in '--tunable --json' '--json --tunable'; do
		# shellcheck disable=SC2086 # words
		run pmccontrol $words
		status_is 0
		python3 -c 'import json, sys
assert json.load(sys.stdin)["tunables"] == [
	{"name": "kern.hwpmc.nsamples", "value": "512", "writable": False},
	{"name": "kern.hwpmc.debugflags", "value": "pmc=* md=read", "writable": True}]' <<<"$output"
	done
}

@test "--tunable NAME: only the value; NAME=VALUE sets, and prints nothing" {
	for words in '--tunable=x.y' '--tunable x.y'; do
		# shellcheck disable=SC2086 # words
		run pmccontrol $words
		status_is 0
		says 'pmc=* md=read'
	done
	run pmccontrol --tunable x.y --json
	status_is 0
	python3 -c 'import json, sys
assert json.load(sys.stdin)["writable"] is True' <<<"$output"
	[ "$(cat calls)" = $'get x.y\nget x.y\nget x.y' ]
	: >calls
	for words in '--tunable x.y=pmc=*' '--tunable=x.y=pmc=*' '--tunable x.y=' '--tunable ='; do
		# shellcheck disable=SC2086 # words
		run pmccontrol $words
		status_is 0
		[ -z "$output" ]
	done
	[ "$(cat calls)" = $'set x.y to pmc=*\nset x.y to pmc=*\nset x.y to \nset  to ' ]
	run pmccontrol --tunable x.y z
	status_is 64
}

@test "-e and -d: in order, for the preceding -c, * for all" {
	run pmccontrol -c 1 -d 2 -e 3 -c '*' -e 0
	status_is 0
	run cat calls
	says "disable 1 2
enable 1 3
enable 0 0
enable 1 0"
	: >calls
	run pmccontrol -c 1 -d '*'
	status_is 0
	run cat calls
	says "disable 1 0
disable 1 1
disable 1 2
disable 1 3"
	: >calls
	run pmccontrol -e 1
	run cat calls
	says "enable 0 1
enable 1 1"
}

@test "CPU numbers beyond 127 are valid" {
	export FAKEPMC_NCPU=300
	run pmccontrol -c 299 -d 1
	status_is 0
	[ "$(cat calls)" = "disable 299 1" ]
	run pmccontrol -c 300 -d 1
	status_is 65
	says 'pmccontrol: CPU id too large: "300"'
}

@test "an offline CPU is skipped by *, refused by number" {
	FAKEPMC_FAIL=disable:1:6 run pmccontrol -d 1
	status_is 0
	FAKEPMC_FAIL=disable:1:6 run pmccontrol -c 1 -d 1
	status_is 71
	says 'pmccontrol: Disable of PMC 1 on CPU 1 failed: because the test wants it [No such device or address]'
}

@test "a failing library: the text, the reason, the exit code, and nothing on stdout" {
	while IFS='|' read -r fail code text args; do
		# shellcheck disable=SC2086 # words
		FAKEPMC_FAIL=$fail run --separate-stderr pmccontrol $args
		status_is "$code"
		[ -z "$output" ]
		[[ $stderr == "pmccontrol: $text: because the test wants it ["*"]" ]] ||
			{ echo "$fail: $stderr" >&2; false; }
	done <<-'LIST'
	init:1:2|69|Initialization of the pmc(3) library failed|-l
	cpuinfo:1:6|71|Unable to determine CPU information|-L
	pmcinfo:2:1|71|Unable to get PMC status for CPU 1|-l
	pmcinfo:1:1|71|Unable to get PMC status for CPU 0|-l --json
	names:2:22|71|ERROR: Cannot find information for event class "TSC"|-L
	stats:1:38|71|ERROR: cannot retrieve driver statistics|-s
	enable:2:16|71|Enable of PMC 2 on CPU 1 failed|-e 2
	list:1:38|71|Cannot list the tunables|--tunable
	get:1:22|65|Cannot read a.b|--tunable a.b --json
	get:1:38|71|Cannot read a.b|--tunable a.b
	set:1:22|65|Cannot set a.b|--tunable a.b=c=d
	set:1:1|71|Cannot set a.b|--tunable a.b=1
	LIST
}

full_disk() { fake pmccontrol "$@" >/dev/full; }

@test "a full disk is reported" {
	for command in -l -L -s --doctor --tunable --help; do
		run full_disk $command
		status_is 71
		[[ $output == *'cannot write to standard output: No space left on device' ]]
	done
}

# This machine's own gates come first; BTF may be missing where unit tests run.
@test "REQ-133 --doctor: a line for each gate, the daemon's last" {
	export PMCBPF_SOCKET=$BATS_TEST_TMPDIR/none
	run --separate-stderr pmccontrol --doctor
	[ -z "$stderr" ]
	[[ ${lines[0]} =~ ^(ok|closed)\ +kernel:\ Linux\ [0-9]+\. ]]
	[ "${lines[-2]}" = 'ok      rows: all "free"' ]
	[ "${lines[-1]}" = 'limits  daemon: old; get a new one' ]
	grep -q '^closed  socket: no pmcbpfd answers at .*/none; start it as root' <<<"$output"
	for line in "${lines[@]}"; do
		[[ $line =~ ^(ok|limits|closed)\ +[^:]+:\  ]]
	done
}

@test "--doctor --json has the same facts; closed gates: exit 69" {
	FAKEPMC_CLOSED=1 run --separate-stderr pmccontrol --doctor --json
	status_is 69
	[ -z "$stderr" ]
	python3 -c 'import json, sys
all = json.load(sys.stdin)
assert all["ok"] is False
assert all["gates"][-2] == {"name": "rows", "state": "ok", "finding": "all \"free\"", "remedy": None}
assert all["gates"][-1] == {"name": "daemon", "state": "closed", "finding": "old",
                            "remedy": "get a new one"}' <<<"$output"
}

@test "--doctor without a daemon, or with an older one: the local gates, and the reason" {
	FAKEPMC_FAIL=init:1:2 run --separate-stderr pmccontrol --doctor
	status_is 69
	[[ ${lines[0]} == *" kernel: Linux "* ]]
	[ "${lines[-1]}" = "closed  daemon: because the test wants it" ]
	FAKEPMC_FAIL=gates:1:22 run --separate-stderr pmccontrol --doctor
	status_is 69
	[ "${lines[-1]}" = "closed  daemon: because the test wants it; install library and daemon of one release" ]
}
