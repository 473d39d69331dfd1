# SPDX-License-Identifier: BSD-2-Clause
#
# Completions, of bash over the library of known counts.

load helpers

for tool in pmccontrol ktrctl tdump ktrdump pctr; do
	eval "$tool() { fake $tool \"\$@\"; }"
done

setup_file() { export COMPLETION=$BUILD/completions/pmcbpf.bash; }

@test "events, options, CPUs, rows, commands, classes behind a comma, files" {
	source "$COMPLETION"
	complete_line pmcstat -c ''
	[ "${COMPREPLY[0]} ${COMPREPLY[1]}" = '\* 0' ]
	offers '\* 0 1 2 3' pmccontrol -d ''
	offers '0 1 2 3' pctr -s ''
	: >some
	while IFS='|' read -r wanted words; do
		offers "$wanted" $words
	done <<-'LIST'
	CLOCK.HARD|pmcstat -p clock
	--exit-status|pmcstat --exit
	--statistics|pmccontrol --s
	kern.hwpmc.debugflags|pmccontrol --tunable kern.hwpmc.d
	--json|pmccontrol --tunable --
	stat-system|pmc stat-
	CLOCK.HARD|pmc list-events clock
	freeze|ktrctl fr
	debug.ktr.entries|ktrctl debug.ktr.e
	SYSC,SCHED|ktrctl mask SYSC,SCH
	--chrome|tdump --chr
	always auto|tdump --color a
	some|tdump -i so
	some|ktrdump -m so
	--version|pctr --v
	LIST
	complete_line pctr -s 0 -f "$(pctr -l | sed -n '1s/ .*//p')"
	[ "${#COMPREPLY[@]}" -ge 1 ]
}

# A daemon's list with tracepoints.
list_events() {
	pmccontrol() {
		printf '%s\n' SOFT $'\tPAGE_FAULT.MINOR' $'\tPAGE_FAULT.MAJOR' TRACEPOINT $'\tsched:sched_switch' \
			$'\tsched:sched_swap_numa' $'\tsched:sched_wakeup'
	}
}

@test "names with colons, as readline cuts them, escapes them or leaves them in quotes; lists of events" {
	source "$COMPLETION"
	list_events
	: >some
	while IFS='|' read -r wanted words; do
		offers "$wanted" $words
	done <<-'LIST'
	sched_switch|pmcstat -p sched : sched_swi
	sched_switch|pmc record -e sched : SCHED_SWI
	|pmc record -e SCHED : sched_swi
	sched_switch sched_swap_numa sched_wakeup|pmc list-events sched :
	sched:sched_switch|pmcstat -p sched\:sched_swi
	sched:sched_switch|pmcstat -p "sched:sched_swi
	sched:sched_switch|pmcstat -p 'sched:sched_swi
	sched:sched_switch sched:sched_swap_numa sched:sched_wakeup|pmcstat -p sch
	|pmcstat -p nosuch :
	some|pmcstat -p uprobe : so
	PAGE_FAULT.MINOR|pmcstat -p PAGE_FAULT.MI
	PAGE_FAULT.MINOR,PAGE_FAULT.MAJOR|pmc stat -j PAGE_FAULT.MINOR,PAGE_FAULT.MA
	sched_switch|pmc stat -j PAGE_FAULT.MAJOR,sched : sched_swi
	--exit-status|pmcstat -p sched : sched_switch --exit
	sched_wakeup|pmcstat -p sched : sched_switch -P sched : sched_w
	LIST
}

@test "what a person types, in an interactive bash" {
	{
		list_events
		declare -f pmccontrol
		printf '%s\n' "source '$COMPLETION'" "PS1='> '"
	} >rc
	gives 0 "pmcstat -p sched:sched_switch
pmcstat -p sched:sched_switch
pmcstat -p 'sched:sched_switch'
pmcstat -p sched:sched_switch --exit-status
pmc stat -j PAGE_FAULT.MINOR,PAGE_FAULT.MAJOR
pmcstat -p uprobe:rc" \
		python3 "$BATS_TEST_DIRNAME/typed.py" rc 'pmcstat -p sched:sched_swi' 'pmcstat -p sched\:sched_swi' \
		"pmcstat -p 'sched:sched_swi" 'pmcstat -p sched:sched_switch --exit' \
		'pmc stat -j PAGE_FAULT.MINOR,PAGE_FAULT.MA' 'pmcstat -p uprobe:r'
}

@test "every option of --help is offered, of pmc's subcommands as well" {
	source "$COMPLETION"
	for tool in pmcstat pmccontrol pmcannotate ktrctl tdump ktrdump; do
		offers_options -- $tool
	done
	offers_options - pctr
	for sub in $(fake pmc --help | awk '/^  [a-z]/ { print $1 }'); do
		offers_options - pmc "$sub"
	done
}

@test "a process's name is text, never a command" {
	source "$COMPLETION"
	cp "$(command -v sleep)" './$(touch evil)'
	'./$(touch evil)' 100 3>&- & pid=$!
	wait_for grep -q evil /proc/$pid/comm
	complete_line pmcstat -t '$(t'
	kill $pid
	[ "${COMPREPLY[*]}" = '\$\(touch\ evil\)' ]
	[ ! -e evil ]
}

@test "zsh and fish: every option, and valid syntax" {
	awk -F'\t' '$3 != "" && $5 != "" && $2 != "command" { print $3 }' "$BUILD/completions/tables" >names
	[ "$(wc -l <names)" -gt 100 ]
	while read -r name; do
		grep -qE -- "$name(}|')" "$BUILD/completions/pmcbpf.zsh" || { echo "zsh: $name" >&2; false; }
		grep -q -- " -l ${name#--} " "$BUILD/completions/pmcbpf.fish" || { echo "fish: $name" >&2; false; }
	done <names
	for shell in zsh fish; do
		! command -v $shell || $shell -n "$BUILD/completions/pmcbpf.$shell"
	done
}
