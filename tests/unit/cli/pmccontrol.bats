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

@test "usage: four lines after the first, exit 64" {
	run pmccontrol
	status_is 64
	[ "${lines[0]}" = "Usage:" ]
	[ ${#lines[@]} -eq 5 ]
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
	wrong 64 'option --json is used only with -L, -l and -s' --json -e 1
}

@test "two different commands: a message, exit 64" {
	wrong 64 'options -l and -L may not be used together' -l -L
	wrong 64 'options -s and -e may not be used together' -s -e 1
	wrong 64 'options -d and -l may not be used together' -d 1 -l
	wrong 64 'options -c and -s may not be used together' -c 1 -s
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

@test "-l passes over CPUs that are offline and goes on counting" {
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

@test "-s: eight figures" {
	run pmccontrol -s
	status_is 0
	says 'interrupts processed:                    2
non-PMC interrupts:                      1
sampling stalls due to space shortages:  3
system calls:                            4
system calls with errors:                5
buffer requests:                         6
buffer requests failed:                  7
sampling log sweeps:                     4000000000'
	run pmccontrol -s --json
	python3 -c 'import json, sys
stats = json.load(sys.stdin)
assert len(stats) == 8 and stats["intr_processed"] == 2 and stats["log_sweeps"] == 4000000000' <<<"$output"
}

@test "-e and -d: in order, for the -c before them, * for all" {
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

@test "CPU numbers beyond 127 are as good as others" {
	export FAKEPMC_NCPU=300
	run pmccontrol -c 299 -d 1
	status_is 0
	[ "$(cat calls)" = "disable 299 1" ]
	run pmccontrol -c 300 -d 1
	status_is 65
	says 'pmccontrol: CPU id too large: "300"'
}

@test "an offline CPU is passed over by *, refused by number" {
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
	LIST
}

@test "a full disk is told" {
	for command in -l -L -s --help; do
		run bash -c 'LD_PRELOAD=$BUILD/tests/fakepmc.so "$BUILD/bin/pmccontrol" "$1" >/dev/full' - $command
		status_is 71
		[[ $output == *'cannot write to standard output: No space left on device' ]]
	done
}
