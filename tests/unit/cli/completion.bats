# SPDX-License-Identifier: BSD-2-Clause
#
# Completions, of bash over the library of known counts.

load helpers

pmccontrol() { fake pmccontrol "$@"; }

# complete_line WORD...: bash's completions of the last word.
complete_line() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_pmcbpf "$1"
}

setup_file() {
	COMPLETION=$BUILD/completions/pmcbpf.bash
	export COMPLETION
}

@test "events, options, CPUs, rows" {
	source "$COMPLETION"
	complete_line pmcstat -p clock
	[ "${COMPREPLY[*]}" = CLOCK.HARD ]
	complete_line pmcstat --exit
	[ "${COMPREPLY[*]}" = --exit-status ]
	complete_line pmcstat -c ''
	[ "${COMPREPLY[0]} ${COMPREPLY[1]}" = '\* 0' ]
	complete_line pmccontrol -d ''
	[ "${COMPREPLY[*]}" = '\* 0 1 2 3' ]
	complete_line pmccontrol --s
	[ "${COMPREPLY[*]}" = --statistics ]
	complete_line pmccontrol --tunable kern.hwpmc.d
	[ "${COMPREPLY[*]}" = kern.hwpmc.debugflags ]
	complete_line pmccontrol --tunable --
	[ "${COMPREPLY[*]}" = --json ]
}

@test "every option of --help is offered" {
	source "$COMPLETION"
	for tool in pmcstat pmccontrol pmcannotate; do
		complete_line $tool --
		for option in $(fake $tool --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--[a-z-]+'); do
			[[ " ${COMPREPLY[*]} " == *" $option "* ]] || { echo "$tool $option" >&2; false; }
		done
	done
}

@test "pmc: subcommands, and all of their options" {
	source "$COMPLETION"
	complete_line pmc stat-
	[ "${COMPREPLY[*]}" = stat-system ]
	complete_line pmc list-events clock
	[ "${COMPREPLY[*]}" = CLOCK.HARD ]
	for sub in $(fake pmc --help | awk '/^  [a-z]/ { print $1 }'); do
		complete_line pmc "$sub" -
		for option in $(fake pmc "$sub" --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--?[a-zA-Z-]+'); do
			[[ " ${COMPREPLY[*]} " == *" $option "* ]] || { echo "$sub $option" >&2; false; }
		done
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
