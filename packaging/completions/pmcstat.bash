# SPDX-License-Identifier: BSD-2-Clause
# bash completion for pmcstat(8) and pmccontrol(8); events are those of the running daemon.
# shellcheck shell=bash disable=SC2207 # words without blanks

_pmc_events() {
	pmccontrol -L 2>/dev/null | sed -n 's/^\t//p'
}

_pmc_cpus() {
	printf '%s\n' '*'
	seq 0 $(($(getconf _NPROCESSORS_CONF) - 1))
}

# _pmc_lines: those lines of the input that begin with $cur, whatever the case.  Names of processes are
# anybody's choice, so nothing here may expand them (compgen -W would).
_pmc_lines() {
	local line
	while read -r line; do
		[[ ${line,,} != "${cur,,}"* ]] || COMPREPLY+=("$(printf '%q' "$line")")
	done
}

_pmcstat() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
	local options='-C -c -d -l -o -p -q -s -t -v -w --cpus --csv --cumulative --descendants
		--duration --exit-status --help --interval --json --output --process-pmc --quiet
		--system-pmc --target --verbose --version'

	COMPREPLY=()
	# The command's own words are the command's business.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-[cloptsw] | --cpus | --duration | --output | --process-pmc | --target | --system-pmc | --interval)
			((i++)) ;;
		-*) ;;
		*)
			declare -F _command_offset >/dev/null && _command_offset "$i"
			return ;;
		esac
	done
	case $prev in
	-p | -s | --process-pmc | --system-pmc) _pmc_lines < <(_pmc_events) ;;
	-c | --cpus) _pmc_lines < <(_pmc_cpus) ;;
	-t | --target) _pmc_lines < <(ps -eo pid=; ps -eo comm= | sort -u) ;;
	-o | --output) COMPREPLY=($(compgen -f -- "$cur")) ;;
	-l | -w | --duration | --interval) ;;
	*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "$options" -- "$cur"))
		else
			COMPREPLY=($(compgen -c -- "$cur"))
		fi ;;
	esac
}

_pmccontrol() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	-c | --cpu) _pmc_lines < <(_pmc_cpus) ;;
	-e | -d | --enable | --disable)
		_pmc_lines < <(echo '*'; pmccontrol -l 2>/dev/null | awk '/^ / { print $1 }' | sort -nu) ;;
	*) COMPREPLY=($(compgen -W '-L -c -d -e -l -s --cpu --disable --enable --help --json --list
		--list-events --statistics --version' -- "$cur")) ;;
	esac
}

complete -o filenames -F _pmcstat pmcstat
complete -F _pmccontrol pmccontrol
