# SPDX-License-Identifier: BSD-2-Clause
# bash completion for ktrctl(8); commands and classes are those that it lists itself.
# shellcheck shell=bash disable=SC2207 # words without blanks

_ktrctl_commands() {
	ktrctl --help 2>/dev/null | awk '/^       [a-z]+ / { print $1 }'
	ktrctl debug.ktr 2>/dev/null | cut -d: -f1
}

# The last of several classes with commas between them.
_ktrctl_classes() {
	local before=
	[[ $cur != *,* ]] || before=${cur%,*},
	COMPREPLY=($(compgen -P "$before" -W "all none $(ktrctl classes 2>/dev/null | cut -d' ' -f1)" -- \
		"${cur##*,}"))
}

_ktrctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	-p | --pid) COMPREPLY=($(compgen -W "$(ktrctl list 2>/dev/null | awk '$1 + 0 { print $1 }')" -- "$cur")) ;;
	-l | --duration | --max | entries | mark) ;;
	mask | compile) _ktrctl_classes ;;
	stop) COMPREPLY=($(compgen -W 'oom panic signal: tp:' -- "$cur")) ;;
	alq) COMPREPLY=($(compgen -f -- "$cur")) ;;
	*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '-l -p --duration -h --help --json --max --pid --version' -- "$cur"))
		else
			COMPREPLY=($(compgen -W "$(_ktrctl_commands)" -- "$cur"))
		fi ;;
	esac
}

complete -o filenames -F _ktrctl ktrctl
