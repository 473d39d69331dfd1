# SPDX-License-Identifier: BSD-2-Clause
#
# pmccontrol over a library whose rows and figures are known.

load helpers

pmccontrol() { fake pmccontrol "$@"; }

# wrong STATUS MESSAGE OPTION...
wrong() {
	run "-$1" pmccontrol "${@:3}"
	[ "${lines[0]}" = "pmccontrol: $2" ] || { echo "got: $output" >&2; false; }
	[ ! -s calls ]
}

@test "usage: seven lines after the first, exit 64" {
	run -64 pmccontrol
	[ "${lines[0]} ${#lines[@]}" = "Usage: 8" ]
	gives_like 64 'Usage:*' pmccontrol -l operand
	run -64 pmccontrol -x
	[ "${lines[1]}" = "Usage:" ]
}

@test "wrong command lines: the historic texts and exit codes" {
	wrong 65 '"**" is not a valid PMC id' -e '**'
	wrong 65 '"" is not a valid PMC id' -d ''
	wrong_all <<-'LIST'
	64|Unrecognized option "-x"|-x
	64|Unrecognized option "--frob"|--frob
	64|Missing argument to option '-c'|-c
	64|Missing argument to option '-e'|-e
	65|"x" is not a valid CPU id|-c x -e 1
	65|"-1" is not a valid CPU id|-c -1 -e 1
	65|"99999999999999999999" is not a valid PMC id|-d 99999999999999999999
	64|No PMCs specified to enable or disable|-c 1
	65|CPU id too large: "2"|-c 2 -e 1
	65|PMC id too large: "4"|-e 1 -e 4
	64|option --json is used only with -L, -l, -s, --doctor, --policy and --tunable|--json -e 1
	64|option --tunable is used only once|--tunable a --tunable b;--tunable=a --tunable
	64|options -l and -L may not be used together|-l -L
	64|options -s and -e may not be used together|-s -e 1
	64|options -d and -l may not be used together|-d 1 -l
	64|options -c and -s may not be used together|-c 1 -s
	64|options --doctor and -l may not be used together|--doctor -l
	64|options --policy and -s may not be used together|--policy -s
	64|options -l and --tunable may not be used together|-l --tunable
	64|options --tunable and -e may not be used together|--tunable -e 1
	LIST
}

@test "-l: the state of every row of every CPU but those that are offline, as JSON as well" {
	FAKEPMC_NCPU=1 run -0 pmccontrol -l
	says '1 INTEL_HASWELL CPUs present, with 4 PMCs per CPU
#CPU 0:
#N  NAME             CLASS  STATE    ROW-DISP
 0  SOFT0            SOFT   ENABLED  FREE      
 1  SOFT1            SOFT   DISABLED FREE      
 2  TSC              TSC    ENABLED  STANDALONE (pid 77) TSC                             
 3  IAP-0            IAP    ENABLED  STANDALONE (pid 812) 0x10123                          (reload count 65536)'
	FAKEPMC_NCPU=3 begins 0 '3 INTEL_HASWELL CPUs present, with 4 PMCs per CPU' pmccontrol -l
	[ "$(grep -c '^#CPU' <<<"$output")" -eq 2 ]
	[[ $output == *'#CPU 1:'* ]]
	FAKEPMC_NCPU=3 run pmccontrol -l --json
	json_is '[cpu["cpu"] for cpu in x["cpus"]] == [0, 2]'
	FAKEPMC_NCPU=1 run -0 pmccontrol --json -l
	json_is '(x["cputype"], x["ncpu"], x["npmc"]) == ("INTEL_HASWELL", 1, 4)'
	output=$(python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["cpus"][0]["rows"]))' <<<"$output")
	json_is 'x[1] == {"row": 1, "name": "SOFT1", "class": "SOFT", "enabled": False, "disposition": "FREE", "owner": None}'
	json_is 'x[2]["owner"] == {"pid": 77, "event": "TSC", "mode": "SC"}'
	json_is 'x[3]["owner"] == {"pid": 812, "event": "0x10123", "mode": "SS", "reload_count": 65536}'
}

@test "-L: classes at the margin, events behind a tab" {
	gives 0 $'SOFT\n\tCLOCK.HARD\n\tLOCK "FAILED"\nTSC\n\tTSC\n\tLOCK "FAILED"' pmccontrol -L
	run -0 pmccontrol -L --json
	json_is 'x["classes"][0] == {"class": "SOFT", "events": ["CLOCK.HARD", "LOCK \"FAILED\""]}'
}

@test "-s: hwpmc's figures, and ours" {
	gives 0 'interrupts processed:                    2
non-PMC interrupts:                      1
sampling stalls due to space shortages:  3
system calls:                            4
system calls with errors:                5
buffer requests:                         6
buffer requests failed:                  7
sampling log sweeps:                     4000000000
call chains that lack callers:           5000000000
call chains:                             9000000000
call chains whose end is known:          7000000000
whole call chains:                       3000000000
call chains by frame pointers in part:   3
call chains completed afterwards:        70
call chains for which that was too late: 8
cut: not recorded                        1000000000
cut: no table yet                        3999999999
cut: unreadable stack                    1' pmccontrol -s
	run pmccontrol -s --json
	json_is 'len(x) == 16 and (x["chains_completed"], x["chains_late"]) == (70, 8) and x["cuts"] == {"not_recorded": 10**9, "table": 3999999999, "stack": 1} and x["chains_whole"] == 3 * 10**9 and x["intr_processed"] == 2 and x["chains_cut"] == 5 * 10**9 and x["log_sweeps"] == 4 * 10**9'
}

@test "--tunable: the list as lines of pmcbpf.conf, and as JSON; NAME: the value alone; NAME=VALUE sets, and says nothing" {
	gives 0 'kern.hwpmc.nsamples="512"  # read-only
kern.hwpmc.debugflags="pmc=* md=read"' pmccontrol --tunable
	for words in '--tunable --json' '--json --tunable'; do
		run -0 pmccontrol $words
		json_is 'x["tunables"] == [{"name": "kern.hwpmc.nsamples", "value": "512", "writable": False},
			{"name": "kern.hwpmc.debugflags", "value": "pmc=* md=read", "writable": True}]'
	done
	for words in '--tunable=x.y' '--tunable x.y'; do
		gives 0 'pmc=* md=read' pmccontrol $words
	done
	run -0 pmccontrol --tunable x.y --json
	json_is 'x["writable"] is True'
	[ "$(cat calls)" = $'get x.y\nget x.y\nget x.y' ]
	: >calls
	for words in '--tunable x.y=pmc=*' '--tunable=x.y=pmc=*' '--tunable x.y=' '--tunable ='; do
		run -0 pmccontrol $words
		[ -z "$output" ]
	done
	[ "$(cat calls)" = $'set x.y to pmc=*\nset x.y to pmc=*\nset x.y to \nset  to ' ]
	run -64 pmccontrol --tunable x.y z
}

# calls_of CALLS OPTION...: what the library is asked.
calls_of() {
	: >calls
	run -0 pmccontrol "${@:2}"
	gives 0 "$1" cat calls
}

@test "-e and -d: in order, for the -c before them, * for all CPUs, of which those that are offline are passed over" {
	calls_of $'disable 1 2\nenable 1 3\nenable 0 0\nenable 1 0' -c 1 -d 2 -e 3 -c '*' -e 0
	calls_of $'disable 1 0\ndisable 1 1\ndisable 1 2\ndisable 1 3' -c 1 -d '*'
	calls_of $'enable 0 1\nenable 1 1' -e 1
	# CPU numbers beyond 127 are as good as others.
	export FAKEPMC_NCPU=300
	calls_of 'disable 299 1' -c 299 -d 1
	gives 65 'pmccontrol: CPU id too large: "300"' pmccontrol -c 300 -d 1
	FAKEPMC_FAIL=disable:1:6 run -0 pmccontrol -d 1
	FAKEPMC_FAIL=disable:1:6 run -71 pmccontrol -c 1 -d 1
	says 'pmccontrol: Disable of PMC 1 on CPU 1 failed: because the test wants it [No such device or address]'
}

@test "a failing library: the text, the reason, the exit code, and nothing on stdout" {
	while IFS='|' read -r fail code text args; do
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
		gives_like 71 '*cannot write to standard output: No space left on device' full_disk $command
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
	FAKEPMC_CLOSED=1 run -69 --separate-stderr pmccontrol --doctor --json
	[ -z "$stderr" ]
	json_is 'x["ok"] is False and x["gates"][-2:] == [
		{"name": "rows", "state": "ok", "finding": "all \"free\"", "remedy": None},
		{"name": "daemon", "state": "closed", "finding": "old", "remedy": "get a new one"}]'
}

@test "--doctor without a daemon, or with an older one: the local gates, and the reason" {
	FAKEPMC_FAIL=init:1:2 run -69 --separate-stderr pmccontrol --doctor
	[[ ${lines[0]} == *" kernel: Linux "* ]]
	[ "${lines[-1]}" = "closed  daemon: because the test wants it" ]
	FAKEPMC_FAIL=gates:1:22 run -69 --separate-stderr pmccontrol --doctor
	[ "${lines[-1]}" = "closed  daemon: because the test wants it; install library and daemon of one release" ]
}

@test "--policy: all rules for root, what holds for others, both in the form of the files; as JSON" {
	FAKEPMC_ROOT=1 run -0 pmccontrol --policy
	says 'pmcs="8"  # /etc/pmcbpf/policy.d/50-site.conf:3'
	FAKEPMC_ROOT=0 run -0 pmccontrol --policy
	says '# no rules: the tunables decide, see pmcbpf.policy(5)'
	run -0 pmccontrol --policy
	says 'modes="TC,TS"  # security.bsd.unprivileged_syspmcs
kernel="yes"  # default
pmcs="8"  # /etc/pmcbpf/policy.d/50-site.conf:3'
	run -0 pmccontrol --policy --json
	json_is 'x["policy"][0] == {"rule": "modes=\"TC,TS\"", "tunable": "security.bsd.unprivileged_syspmcs"}'
	json_is 'x["policy"][1] == {"rule": "kernel=\"yes\"", "tunable": None}'
	json_is 'x["policy"][2] == {"rule": "pmcs=\"8\"", "file": "/etc/pmcbpf/policy.d/50-site.conf", "line": 3}'
}
