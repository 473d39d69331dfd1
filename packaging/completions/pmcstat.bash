# SPDX-License-Identifier: BSD-2-Clause
# bash completion for pmcstat(8), pmccontrol(8), pmcannotate(8) and pmc(8); events are those of the running daemon.
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

# One of these options, or the command to measure.
_pmc_option_or_command() {
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$1" -- "$cur"))
	else
		COMPREPLY=($(compgen -c -- "$cur"))
	fi
}

# What can be made of a log.
_pmc_analyses='-A -D -F -G -I -M -a -e -f -g -i -k -m -r -z --call-graph --callgrind --chain-lines --depth
	--event --flamegraph --folded --gnu --gprof --gprof-dir --gprof-map --kernel --no-inlines --no-symbols
	--offsets --pc-lines --perf-data --plugin-option --pprof --process --root --speedscope --thread --time
	--wide'

_pmc_report() {
	case $prev in
	--event) _pmc_lines < <(_pmc_events) ;;
	-[ciz] | --cpus | --depth | --process | --thread | --time) ;;
	*)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W "-c -o -q -v --cpus --csv -h --help --json --output --quiet
				--verbose $_pmc_analyses" -- "$cur"))
		else
			COMPREPLY=($(compgen -f -- "$cur"))
		fi ;;
	esac
}

_pmcstat() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
	local options="-C -E -L -N -O -P -R -S -T -U -W -c -d -l -n -o -p -q -s -t -u -v -w --cpus --csv --cumulative
		--descendants --describe --duration --exit-status --from-exec --from-fork -h --help --interval --json --list-events --log --log-exits
		--log-switches --no-callchain --output --process-pmc --process-sampling --quiet --rate
		--read-log --system-pmc --system-sampling --target --top --user-callchain --verbose --version $_pmc_analyses"

	COMPREPLY=()
	if [ "$COMP_CWORD" -gt 1 ] && [ "${COMP_WORDS[1]}" = report ]; then
		_pmc_report
		return
	fi
	# The command's own words are the command's business.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-[DFGMOPRSacfiklmnoprstuwz] | --call-graph | --callgrind | --chain-lines | --depth | --event | \
			--flamegraph | --folded | --gprof-dir | --gprof-map | --kernel | --pc-lines | --perf-data | \
			--plugin-option | --pprof | --process | --root | --speedscope | --thread | --time | --cpus | --describe | --duration | --interval | --log | --output | --process-pmc | \
			--process-sampling | --rate | --read-log | --system-pmc | --system-sampling | --target)
			((i++)) ;;
		-*) ;;
		*)
			declare -F _command_offset >/dev/null && _command_offset "$i"
			return ;;
		esac
	done
	case $prev in
	-[PSps] | --process-pmc | --process-sampling | --system-pmc | --system-sampling) _pmc_lines < <(_pmc_events) ;;
	-c | --cpus) _pmc_lines < <(_pmc_cpus) ;;
	-t | --target) _pmc_lines < <(ps -eo pid=; ps -eo comm= | sort -u) ;;
	-[DFGMORakmor] | --call-graph | --callgrind | --chain-lines | --flamegraph | --folded | --gprof-dir | \
		--gprof-map | --kernel | --log | --output | --pc-lines | --perf-data | --pprof | --read-log | \
		--root | --speedscope) COMPREPLY=($(compgen -f -- "$cur")) ;;
	-[lnuw] | --describe | --duration | --interval | --rate) ;;
	*) _pmc_option_or_command "$options" ;;
	esac
}

_pmccontrol() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	--tunable)
		_pmc_lines < <(pmccontrol --tunable 2>/dev/null | cut -d= -f1)
		[ -z "$cur" ] || [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -W '--json' -- "$cur")) ;;
	-c | --cpu) _pmc_lines < <(_pmc_cpus) ;;
	-e | -d | --enable | --disable)
		_pmc_lines < <(echo '*'; pmccontrol -l 2>/dev/null | awk '/^ / { print $1 }' | sort -nu) ;;
	*) COMPREPLY=($(compgen -W '-L -c -d -e -l -s --cpu --disable --doctor --enable -h --help --json --list
		--list-events --statistics --tunable --version' -- "$cur")) ;;
	esac
}

# What follows the options is another program's command line.  Arguments: the options that take a word.
_pmc_other_command() {
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-*) [[ " $* " == *" ${COMP_WORDS[i]} "* ]] && ((i++)) ;;
		*)
			declare -F _command_offset >/dev/null && _command_offset "$i"
			return 0 ;;
		esac
	done
	return 1
}

_pmc_stat() {
	_pmc_other_command -j --events && return
	case $prev in
	-j | --events) _pmc_lines < <(_pmc_events) ;;
	*) _pmc_option_or_command '-d -j --display --events --exit-status --from-exec --from-fork -h --help' ;;
	esac
}

_pmc_record() {
	_pmc_other_command -e -c -F -p -l -o --event --count --frequency --process --duration --output && return
	case $prev in
	-e | --event) _pmc_lines < <(_pmc_events) ;;
	-p | --process) _pmc_lines < <(ps -eo pid=; ps -eo comm= | sort -u) ;;
	-o | --output) COMPREPLY=($(compgen -f -- "$cur")) ;;
	-[cFl] | --count | --frequency | --duration) ;;
	*) _pmc_option_or_command '-F -N -a -c -e -g -l -o -p --all-cpus --callchain --count --duration --event
		--exit-status --frequency --from-exec --from-fork -h --help --no-callchain --no-report --output --process --report' ;;
	esac
}

_pmc() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W 'filter list-events record report stat stat-system summary -h --help --version' -- "$cur"))
		return
	fi
	case ${COMP_WORDS[1]} in
	record) _pmc_record ;;
	stat | stat-system) _pmc_stat ;;
	report) _pmc_report ;;
	filter | summary)
		if [[ $cur != -* ]]; then
			COMPREPLY=($(compgen -f -- "$cur"))
		elif [ "${COMP_WORDS[1]}" = summary ]; then
			COMPREPLY=($(compgen -W '-f -k --full -h --help --topk' -- "$cur"))
		else
			COMPREPLY=($(compgen -W '-P -T -c -e -j -p -t -x --cpus --drop --events -h --help --json
				--keep --lwps --pids --processes --threads' -- "$cur"))
		fi ;;
	list-events)
		if [[ $cur == -* ]]; then
			COMPREPLY=($(compgen -W '-f -u -U --desc --full -h --help --long-desc' -- "$cur"))
		else
			_pmc_lines < <(_pmc_events)
		fi ;;
	esac
}

_pmcannotate() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	--event) _pmc_lines < <(_pmc_events) ;;
	--source) COMPREPLY=($(compgen -d -- "$cur")) ;;
	-l | --limit | --function) ;;
	*)
		if [[ $cur == -* && $prev != -k && $prev != --kernel && $prev != --html ]]; then
			COMPREPLY=($(compgen -W '-a -h -k -l --assembly --event --force --function --help --html
				--kernel --limit --lines --source --version' -- "$cur"))
		else
			COMPREPLY=($(compgen -f -- "$cur"))
		fi ;;
	esac
}

complete -o filenames -F _pmcannotate pmcannotate
complete -o filenames -F _pmcstat pmcstat
complete -o filenames -F _pmc pmc
complete -F _pmccontrol pmccontrol
