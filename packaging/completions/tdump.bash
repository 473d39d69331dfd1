# SPDX-License-Identifier: BSD-2-Clause
# bash completion for tdump(8) and ktrdump(8); options are those that they list themselves.
# shellcheck shell=bash disable=SC2207 # words without blanks

# The letters and the long names of the options of --help.
_tdump_options() {
	"$1" --help 2>/dev/null | grep -oE '^  (-.,|   ) --[a-z-]+|^  -.' | grep -oE -- '--?[A-Za-z-]+'
}

# The last of several classes with commas between them.
_tdump_classes() {
	local before=
	[[ $cur != *,* ]] || before=${cur%,*},
	COMPREPLY=($(compgen -P "$before" -W "all $(ktrctl classes 2>/dev/null | cut -d' ' -f1)" -- \
		"${cur##*,}"))
}

_tdump() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	-p | --pid) COMPREPLY=($(compgen -W "$(ktrctl list 2>/dev/null | awk '$1 + 0 { print $1 }')" -- "$cur")) ;;
	-[MNeio] | --core | --exec | --input | --output | --save) COMPREPLY=($(compgen -f -- "$cur")) ;;
	--color) COMPREPLY=($(compgen -W 'always auto never' -- "$cur")) ;;
	-m | --mask)
		if [ "$1" = ktrdump ]; then
			COMPREPLY=($(compgen -f -- "$cur"))
		else
			_tdump_classes
		fi ;;
	-[CRT] | --cpus | --remote | --tid | --clocks) ;;
	*) COMPREPLY=($(compgen -W "$(_tdump_options "$1")" -- "$cur")) ;;
	esac
}

complete -o filenames -F _tdump tdump ktrdump
