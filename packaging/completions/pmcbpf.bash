# SPDX-License-Identifier: BSD-2-Clause
# bash completion for the tools of pmcbpf.  Events, rows, tunables, classes and processes are those of the moment.
# shellcheck shell=bash disable=SC2207,SC2034 # words without blanks; arrays that generated lines fill

# By tool, or by tool and subcommand: the options that are offered; "OPTION=KIND" for each that takes an argument;
# the names of subcommands.
declare -gA _pmcbpf_options _pmcbpf_values _pmcbpf_commands
# @options@

# _pmcbpf_lines: those lines of the input that begin with $cur, whatever the case.  Any user may choose a process's
# name, so nothing here may expand one (compgen -W would).
_pmcbpf_lines() {
	local line
	while read -r line; do
		[[ ${line,,} != "${cur,,}"* ]] || COMPREPLY+=("$(printf '%q' "$line")")
	done
}

_pmcbpf_words() { COMPREPLY=($(compgen -W "$*" -- "$cur")); }

# The last of several classes with commas between them.
_pmcbpf_classes() {
	local before=
	[[ $cur != *,* ]] || before=${cur%,*},
	COMPREPLY=($(compgen -P "$before" -W "all none $(ktrctl classes 2>/dev/null | cut -d' ' -f1)" -- "${cur##*,}"))
}

# _pmcbpf_offer KIND: completes an argument.
_pmcbpf_offer() {
	case $1 in
	classes) _pmcbpf_classes ;;
	command) COMPREPLY=($(compgen -c -- "$cur")) ;;
	cpus) _pmcbpf_lines < <(echo '*'; seq 0 $(($(getconf _NPROCESSORS_CONF) - 1))) ;;
	dir) COMPREPLY=($(compgen -d -- "$cur")) ;;
	events) _pmcbpf_lines < <(pmccontrol -L 2>/dev/null | sed -n 's/^\t//p') ;;
	file) COMPREPLY=($(compgen -f -- "$cur")) ;;
	pctr_cpu) _pmcbpf_words "$(seq 0 $(($(nproc --all) - 1)))" ;;
	pctr_ctr) _pmcbpf_words 0 1 2 3 ;;
	pctr_funct) _pmcbpf_words "$(pctr -l 2>/dev/null | awk '/^[0-9a-f]/ { print $1 }')" ;;
	pid) _pmcbpf_words "$(ktrctl list 2>/dev/null | awk '$1 + 0 { print $1 }')" ;;
	process) _pmcbpf_lines < <(ps -eo pid=; ps -eo comm= | sort -u) ;;
	row) _pmcbpf_lines < <(echo '*'; pmccontrol -l 2>/dev/null | awk '/^ / { print $1 }' | sort -nu) ;;
	tunable)
		_pmcbpf_lines < <(pmccontrol --tunable 2>/dev/null | cut -d= -f1)
		[ -z "$cur" ] || [ ${#COMPREPLY[@]} -gt 0 ] || _pmcbpf_words --json ;;
	when) _pmcbpf_words always auto never ;;
	esac
}

# _pmcbpf_kind OPTION: sets $kind, if the option takes an argument.
_pmcbpf_kind() {
	local value
	for value in ${_pmcbpf_values[$key]}; do
		[[ $value != "$1="* ]] || kind=${value#*=}
	done
	[ -n "$kind" ]
}

# _pmcbpf_open WORD: sets $kind, if the word is an option whose argument is the next word.  Letters may stand together.
_pmcbpf_open() {
	local i
	kind=
	if [[ $1 == --* ]]; then
		_pmcbpf_kind "$1"
	elif [[ $1 == -* ]]; then
		for ((i = 1; i < ${#1}; i++)); do
			_pmcbpf_kind "-${1:i:1}" && break
		done
		((i == ${#1} - 1)) || kind=
	fi
	[ -n "$kind" ]
}

# The first words of a line that are no options.
_pmcbpf_operand() {
	case $key in
	'pmcstat report' | 'pmc report' | 'pmc filter' | 'pmc summary' | pmcannotate) _pmcbpf_offer file ;;
	'pmc list-events') _pmcbpf_offer events ;;
	pmcstat | 'pmc '*) _pmcbpf_offer command ;;
	pmc) _pmcbpf_words "${_pmcbpf_commands[pmc]} ${_pmcbpf_options[pmc]}" ;;
	ktrctl)
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		entries | mark) ;;
		mask | compile) _pmcbpf_offer classes ;;
		stop) _pmcbpf_words oom panic signal: tp: ;;
		alq) _pmcbpf_offer file ;;
		*) _pmcbpf_words "${_pmcbpf_commands[ktrctl]} $(ktrctl debug.ktr 2>/dev/null | cut -d: -f1)" ;;
		esac ;;
	*) _pmcbpf_words "${_pmcbpf_options[$key]}" ;;
	esac
}

# _pmcbpf TOOL
_pmcbpf() {
	local key=${1##*/} cur=${COMP_WORDS[COMP_CWORD]} kind="" i=1

	COMPREPLY=()
	if ((COMP_CWORD > 1)) && [ -n "${_pmcbpf_options["$key ${COMP_WORDS[1]}"]}" ]; then
		key+=" ${COMP_WORDS[1]}"
		i=2
	elif [ "$key" = pmc ] && ((COMP_CWORD > 1)); then
		return
	fi
	for (( ; i < COMP_CWORD; i++)); do
		if _pmcbpf_open "${COMP_WORDS[i]}"; then
			((++i < COMP_CWORD)) || break
			kind=
		elif [[ ${COMP_WORDS[i]} != -* && $key =~ ^(pmcstat|pmc (record|stat|stat-system))$ ]]; then
			# What follows is another program's command line.
			declare -F _command_offset >/dev/null && _command_offset "$i"
			return
		fi
	done
	if [ -n "$kind" ]; then
		_pmcbpf_offer "$kind"
	elif [[ $cur == -* ]]; then
		_pmcbpf_words "${_pmcbpf_options[$key]}"
	else
		_pmcbpf_operand
	fi
}

complete -o filenames -F _pmcbpf pmcstat pmc pmcannotate ktrctl tdump ktrdump
complete -F _pmcbpf pmccontrol kgmon pctr
