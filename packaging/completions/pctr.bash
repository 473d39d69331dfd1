# SPDX-License-Identifier: BSD-2-Clause
# bash completion for pctr(1); options and events are those that it lists itself.
# shellcheck shell=bash disable=SC2207 # words without blanks

_pctr() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	-*s) COMPREPLY=($(compgen -W '0 1 2 3' -- "$cur")) ;;
	-*f) COMPREPLY=($(compgen -W "$(pctr -l 2>/dev/null | awk '/^[0-9a-f]/ { print $1 }')" -- "$cur")) ;;
	-*C) COMPREPLY=($(compgen -W "$(seq 0 $(($(nproc --all) - 1)))" -- "$cur")) ;;
	-*[mtw]) ;;
	*) COMPREPLY=($(compgen -W "$(pctr --help 2>/dev/null | grep -oE '^ +--?[A-Za-z]+')" -- "$cur")) ;;
	esac
}

complete -F _pctr pctr
