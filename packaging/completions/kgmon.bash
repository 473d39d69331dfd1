# SPDX-License-Identifier: BSD-2-Clause
# bash completion for kgmon(8); options are those that it lists itself.
# shellcheck shell=bash disable=SC2207 # words without blanks

_kgmon() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	-*N) COMPREPLY=($(compgen -f -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "$(kgmon --help 2>/dev/null | grep -v refused | grep -oE '^ +--?[A-Za-z]+')" -- "$cur")) ;;
	esac
}

complete -F _kgmon kgmon
