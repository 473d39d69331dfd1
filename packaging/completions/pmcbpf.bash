# SPDX-License-Identifier: BSD-2-Clause
# bash completion for the tools of pmcbpf.  Events, rows, tunables, classes and processes are those of the moment.
# shellcheck shell=bash disable=SC2207,SC2034 # words without blanks; arrays that generated lines fill

# By tool, or by tool and subcommand: the options that are offered; "OPTION=KIND" for each that takes an argument;
# the names of subcommands.
declare -gA _pmcbpf_options _pmcbpf_values _pmcbpf_commands
# @options@

# A reply as it is inserted: readline replaces only what follows the last unquoted ":" or "=", $before is ahead of it.
_pmcbpf_reply() {
	[[ $1 == "$before"* ]] || return 0
	local text=${1#"$before"}
	case $quote in
	\") text=${text//\\/\\\\} text=${text//\"/\\\"} text=${text//\$/\\\$} text=${text//\`/\\\`} ;;
	\') [[ $text != *\'* ]] || return 0 ;;
	*) [ -z "$text" ] || printf -v text %q "$text"; text=${text//\\,/,} ;;
	esac
	COMPREPLY+=("$text")
}

# _pmcbpf_lines [LIST]: those lines of the input that begin with $cur, whatever the case; with LIST, each is to follow
# $cur's last comma.  Any user may choose a process's name, so nothing here may expand one (compgen -W would).
_pmcbpf_lines() {
	local line list=
	[[ -z $1 || $cur != *,* ]] || list=${cur%,*},
	while read -r line; do
		[[ ${list,,}${line,,} != "${cur,,}"* ]] || _pmcbpf_reply "$list$line"
	done
}

_pmcbpf_words() { _pmcbpf_lines < <(compgen -W "$*" -- "$cur"); }

# _pmcbpf_files f|d [BEFORE]: files or folders; readline quotes them.
_pmcbpf_files() {
	local line
	while read -r line; do
		[[ $2$line != "$before"* ]] || COMPREPLY+=("${2:+${2#"$before"}}$line")
	done < <(compgen -"$1" -- "${cur#"$2"}")
	compopt -o filenames 2>/dev/null || true
}

_pmcbpf_events() { pmccontrol -L 2>/dev/null | sed -n 's/^\t//p'; }

# An event of a class, or the file of a probe, whose function is still to follow.
_pmcbpf_event() {
	if [[ $cur =~ ^(uprobe|uretprobe|usdt): ]]; then
		_pmcbpf_files f "${BASH_REMATCH[0]}"
		compopt -o nospace 2>/dev/null || true
	else
		_pmcbpf_lines < <(_pmcbpf_events)
	fi
}

# _pmcbpf_offer KIND: completes an argument.
_pmcbpf_offer() {
	case $1 in
	classes) _pmcbpf_lines list < <(printf '%s\n' all none; ktrctl classes 2>/dev/null | cut -d' ' -f1) ;;
	command) COMPREPLY=($(compgen -c -- "$cur")); compopt -o filenames 2>/dev/null || true ;;
	cpus) _pmcbpf_lines < <(echo '*'; seq 0 $(($(getconf _NPROCESSORS_CONF) - 1))) ;;
	dir) _pmcbpf_files d ;;
	eventlist) _pmcbpf_lines list < <(_pmcbpf_events) ;;
	events) _pmcbpf_event ;;
	file) _pmcbpf_files f ;;
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
		case ${words[cword - 1]} in
		entries | mark) ;;
		mask | compile) _pmcbpf_offer classes ;;
		stop) _pmcbpf_words oom panic signal: tp: ;;
		alq) _pmcbpf_offer file ;;
		*) _pmcbpf_words "${_pmcbpf_commands[ktrctl]} $(ktrctl debug.ktr 2>/dev/null | cut -d: -f1)" ;;
		esac ;;
	*) _pmcbpf_words "${_pmcbpf_options[$key]}" ;;
	esac
}

# _pmcbpf_split: the words up to the cursor, as a shell has them: bash cuts COMP_WORDS at ":" and "=", too.
_pmcbpf_split() {
	local line=${COMP_LINE:0:COMP_POINT} i word part='' blank
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]} blank=${line%%[![:space:]]*}
		line=${line#"$blank"}
		((i < COMP_CWORD)) || word=$line
		line=${line#*"$word"}
		if ((i)) && [[ -z $blank && ($word =~ ^[:=]+$ || $part =~ ^[:=]+$) ]]; then
			words[cword]+=$word
		else
			words[++cword]=$word at[cword]=$i
		fi
		part=$word
	done
	[[ ! $part =~ ^[:=]+$ ]] || part=
	cur=${words[cword]}
	before=${cur%"$part"} quote=${cur:0:1}
	if [[ $quote == [\"\'] ]]; then
		cur=${cur:1}
	else
		cur=${cur//\\/} before=${before//\\/} quote=
	fi
}

# _pmcbpf TOOL
_pmcbpf() {
	local key=${1##*/} words=() at=() cword=-1 cur before quote kind="" i=1

	COMPREPLY=()
	_pmcbpf_split
	if ((cword > 1)) && [ -n "${_pmcbpf_options["$key ${words[1]}"]}" ]; then
		key+=" ${words[1]}"
		i=2
	elif [ "$key" = pmc ] && ((cword > 1)); then
		return
	fi
	for (( ; i < cword; i++)); do
		if _pmcbpf_open "${words[i]}"; then
			((++i < cword)) || break
			kind=
		elif [[ ${words[i]} != -* && $key =~ ^(pmcstat|pmc (record|stat|stat-system))$ ]]; then
			# What follows is another program's command line.
			declare -F _command_offset >/dev/null && _command_offset "${at[i]}"
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

complete -F _pmcbpf pmcstat pmc pmcannotate ktrctl tdump ktrdump pmccontrol kgmon pctr
