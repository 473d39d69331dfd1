# SPDX-License-Identifier: BSD-2-Clause
#
# pmc over the library of known counts: the only read of the Hth PMC gives H * 1000.

load helpers

pmc() { fake pmc "$@"; }

@test "no subcommand, and an unknown one: the list, exit 64" {
	run pmc
	status_is 64
	[[ ${lines[0]} == 'usage: pmc SUBCOMMAND '* ]]
	run pmc play
	status_is 64
	[ "${lines[0]}" = 'pmc: ERROR: there is no subcommand "play"' ]
	run --separate-stderr pmc --help
	status_is 0
	[[ $output == *list-events* ]]
	run pmc --version
	status_is 0
	[[ $output == 'pmc (pmcbpf) '* ]]
	for name in stat stat-system filter summary list-events; do
		run --separate-stderr pmc $name --help
		status_is 0
		[[ $output == "usage: pmc $name "* ]]
		run pmc $name --nonsense
		status_is 64
	done
}

@test "list-events: names of every class, selections, and a missing argument" {
	run pmc list-events
	status_is 0
	says $'\tCLOCK.HARD\n\tLOCK "FAILED"\n\tTSC\n\tLOCK "FAILED"'
	run pmc list-events tsc
	says $'\tTSC'
	run pmc list-events failed
	says $'\tLOCK "FAILED"\n\tLOCK "FAILED"'
	for option in -u -U -f --desc --long-desc --full; do
		run pmc list-events $option
		status_is 64
		says 'pmc: ERROR: event or event substring required when option provided'
	done
	# No match is an error, and a class's name is recognised.
	run pmc list-events NOPE
	status_is 64
	says 'pmc: ERROR: no event or class of this machine matches "NOPE"; "pmc list-events" lists the events, "pmccontrol -L" by class'
	run pmc list-events soft
	status_is 64
	says 'pmc: ERROR: no event matches "soft", which is a class; "pmccontrol -L" lists the events of each'
	FAKEPMC_FAIL=init:1:2 run pmc list-events
	status_is 69
	[[ $output == 'pmc: ERROR: Initialization of the pmc(3) library failed: '* ]]
}

@test "stat: the default events, with ratios" {
	run pmc stat true
	status_is 0
	[[ ${lines[0]} =~ ^\ *[0-9]+\ \ page\ faults$'\t\t#\t'[0-9.]+\ M/sec$ ]]
	[[ ${lines[1]} == *'  voluntary csw'$'\t\t#\t'* ]]
	[[ ${lines[2]} == *'  involuntary csw'$'\t#\t'* ]]
	[ "$(printf '%s\n' "${lines[@]:3:6}")" = "\
            1000  cycles
            2000  instructions		#	2.000 inst/cycle
            3000  branches
            4000  branch-misses		#	133.333%
            5000  cache-references	#	2.500 refs/inst
            6000  cache-misses		#	120.000%" ]
	[[ ${lines[9]} =~ ^\ +[0-9]+\.[0-9][0-9]\ \ real$'\t\t\t#\t'[0-9.]+%\ cpu$ ]]
	[[ ${lines[11]} == *'  sys'* ]]
	[ "$(grep -c '^allocate .* mode 3 flags 0x2 ' calls)" -eq 6 ]
	[ "$(grep -c ^release calls)" -eq 6 ]
}

@test "stat: the times are the command's" {
	run pmc stat sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; sleep 0.3'
	[[ $output =~ \ ([0-9.]+)\ \ real ]]
	real=${BASH_REMATCH[1]}
	[[ $output =~ \ ([0-9.]+)\ \ user ]]
	awk -v real="$real" -v user="${BASH_REMATCH[1]}" \
		'BEGIN { exit !(user >= 0.02 && real >= user + 0.29) }'
}

@test "stat -j: chosen events replace the last ones, and have no ratio" {
	run pmc stat -j a,b true
	status_is 0
	[ "$(printf '%s\n' "${lines[@]:6:3}")" = "\
            4000  branch-misses		#	133.333%
            5000  a
            6000  b" ]
	run pmc stat --events=a,b,c,d,e true
	status_is 64
	[[ ${lines[0]} == *'-j takes at most 4 events'* ]]
	FAKEPMC_FAIL=allocate:6:22 run pmc stat -j a,b true
	status_is 64
	[[ $output == 'pmc: ERROR: b not recognized on host: '* ]]
}

@test "stat: events that the machine lacks are named, the rest is counted" {
	FAKEPMC_FAIL=allocate:3:22 run pmc stat true
	status_is 0
	[ "${lines[0]}" = 'pmc: not counted: branches, branch-misses, cache-references, cache-misses: because the test wants it' ]
	[ "${lines[5]}" = $'            2000  instructions\t\t#\t2.000 inst/cycle' ]
	[[ ${lines[6]} == *'  real'* ]]
}

@test "stat -d: the counts every second too" {
	pmc stat -d sh -c 'until grep -q 1000 said; do sleep 0.01; done' >said 2>&1
	[ "$(head -n 1 said)" = '            1000  cycles' ]
	[[ $(<said) == *$'\n            2000  cycles\n'*real* ]]
}

@test "stat-system: counts of all CPUs, added up" {
	n=$(getconf _NPROCESSORS_ONLN)
	run pmc stat-system true
	status_is 0
	[ "$(grep -c '^allocate unhalted-cycles mode 1 flags 0x0 ' calls)" -eq "$n" ]
	[[ ${lines[3]} =~ ^\ +([0-9]+)\ \ cycles$ ]]
	[ "${BASH_REMATCH[1]}" -eq $((n * (n + 1) / 2 * 1000)) ]
	FAKEPMC_FAIL=allocate:1:1 run pmc stat-system true
	status_is 64
	[[ $output == 'pmc: ERROR: system mode counters can only be used as root: '* ]]
}

@test "stat: the exit status, and commands that cannot run" {
	run pmc stat sh -c 'exit 3'
	status_is 3
	run pmc stat --exit-status sh -c 'exit 3'
	status_is 3
	run pmc stat sh -c 'kill -TERM $$'
	status_is 143
	run pmc stat /nowhere
	status_is 71
	[[ $output == *'ERROR: execvp "/nowhere" failed: No such file or directory'* ]]
	run pmc stat -d
	status_is 64
	[ "${lines[0]}" = 'pmc: ERROR: a command is needed' ]
}
