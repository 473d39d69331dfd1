# SPDX-License-Identifier: BSD-2-Clause
#
# pmc over the library of known counts: the only read of the Hth PMC gives H * 1000.

load helpers

pmc() { fake pmc "$@"; }

@test "no subcommand, and an option that there is not: exit 64" {
	gives_like 64 'usage: pmc SUBCOMMAND *' pmc
	for name in stat stat-system filter summary list-events; do
		run -64 pmc $name --nonsense
	done
}

@test "list-events: names of every class, selections, and a missing argument" {
	gives 0 $'\tCLOCK.HARD\n\tLOCK "FAILED"\n\tTSC\n\tLOCK "FAILED"' pmc list-events
	gives 0 $'\tTSC' pmc list-events tsc
	gives 0 $'\tLOCK "FAILED"\n\tLOCK "FAILED"' pmc list-events failed
	for spelling in clock-hard clock_hard 'clock hard' clock-hards; do
		gives 0 $'\tCLOCK.HARD' pmc list-events "$spelling"
		gives_like 0 *$'CLOCK.HARD:\tsee pmc.soft(3)' pmc list-events -u "$spelling"
	done
	for option in -u -U -f --desc --long-desc --full; do
		gives 64 'pmc: ERROR: event or event substring required when option provided' pmc list-events $option
	done
	# No match is an error, and a class's name is recognised.
	gives 64 'pmc: ERROR: no event or class of this machine matches "NOPE"; "pmc list-events" lists the events, "pmccontrol -L" by class' \
		pmc list-events NOPE
	gives 64 'pmc: ERROR: no event matches "soft", which is a class; "pmccontrol -L" lists the events of each' \
		pmc list-events soft
	FAKEPMC_FAIL=init:1:2 gives_like 69 'pmc: ERROR: Initialization of the pmc(3) library failed: *' pmc list-events
}

@test "stat: the default events, with ratios" {
	run -0 pmc stat true
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
	# They are a group, and its leader stands for all.
	[ "$(grep -E '^(group|commit|start|release)' calls | tr '\n' ' ')" = \
		"$(printf 'group 1 %s ' 'leader 1' 'add 2' 'add 3' 'add 4' 'add 5' 'add 6')commit 1 start 1 release 1 " ]
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
	run -0 pmc stat -j a,b true
	[ "$(printf '%s\n' "${lines[@]:6:3}")" = "\
            4000  branch-misses		#	133.333%
            5000  a
            6000  b" ]
	gives_like 64 '*-j takes at most 4 events*' pmc stat --events=a,b,c,d,e true
	FAKEPMC_FAIL=allocate:6:22 gives_like 64 'pmc: ERROR: b not recognized on host: *' pmc stat -j a,b true
}

@test "stat -j: events with qualifiers, terms and filters" {
	pmc stat -j 'page-faults,usr,cpu/event=0x1,umask=2/,s:e,filter=cpus & CPUS{0-3},TASK_CLOCK' true 2>/dev/null
	[ "$(awk '$1 == "allocate" { sub("allocate ", ""); sub(" mode .*", ""); print }' calls | tail -4)" = \
		$'page-faults,usr\ncpu/event=0x1,umask=2/\ns:e,filter=cpus & CPUS{0-3}\nTASK_CLOCK' ]
	gives_like 64 $'pmc: ERROR: an event without a name in the list of -j\n*' pmc stat -j a,,b true
	gives_like 64 $'pmc: ERROR: an event without a name in the list of -j\n*' pmc stat -j a, true
	gives_like 64 'pmc: ERROR: "{a": pmc stat counts *' pmc stat -j '{a,b}' true
	gives_like 64 'pmc: ERROR: -j takes at most *' pmc stat -j "$(seq -s, 40)" true
}

@test "record: --report and --no-report, and the starts of counting, exclude each other" {
	gives_like 64 '*options --report and --no-report are mutually exclusive.' pmc record --report --no-report true
	gives_like 64 '*options --from-exec and --from-fork are mutually exclusive.' pmc record --from-exec --from-fork true
	gives_like 64 '*options --from-exec and --from-fork are mutually exclusive.*' pmc stat --from-exec --from-fork true
}

@test "stat: events that the machine lacks are named, the rest is counted" {
	FAKEPMC_FAIL=allocate:3:22 run -0 pmc stat true
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
	run -0 pmc stat-system true
	[ "$(grep -c '^allocate unhalted-cycles mode 1 flags 0x0 ' calls)" -eq "$n" ]
	[[ ${lines[3]} =~ ^\ +([0-9]+)\ \ cycles$ ]]
	[ "${BASH_REMATCH[1]}" -eq $((n * (n + 1) / 2 * 1000)) ]
	FAKEPMC_FAIL=allocate:1:1 run -64 pmc stat-system true
	[[ $output == 'pmc: ERROR: system mode counters can only be used as root: '* ]]
}

@test "stat: the exit status, and commands that cannot run" {
	run -3 pmc stat sh -c 'exit 3'
	run -3 pmc stat --exit-status sh -c 'exit 3'
	run -143 pmc stat sh -c 'kill -TERM $$'
	gives_like 71 '*ERROR: execvp "/nowhere" failed: No such file or directory*' pmc stat /nowhere
	begins 64 'pmc: ERROR: a command is needed' pmc stat -d
}
