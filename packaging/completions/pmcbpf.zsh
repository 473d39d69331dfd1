#compdef pmcstat pmccontrol pmcannotate pmc kgmon ktrctl pctr tdump ktrdump
# SPDX-License-Identifier: BSD-2-Clause
# zsh completion for the tools of pmcbpf.  Events, rows, tunables, classes and processes are those of the moment.

# _pmcbpf_KIND completes an argument.
_pmcbpf_classes() { _values -s , class all none ${(f)"$(ktrctl classes 2>/dev/null | cut -d' ' -f1)"} }
_pmcbpf_cpus() { compadd '*' {0..$(($(getconf _NPROCESSORS_CONF) - 1))} }
_pmcbpf_dir() { _files -/ }
_pmcbpf_eventlist() { _sequence _pmcbpf_events }
_pmcbpf_events() { compadd "$@" -- ${(f)"$(pmccontrol -L 2>/dev/null | sed -n 's/^\t//p')"} }
_pmcbpf_file() { _files }
_pmcbpf_none() { _message argument }
_pmcbpf_pctr_cpu() { compadd {0..$(($(nproc --all) - 1))} }
_pmcbpf_pctr_ctr() { compadd 0 1 2 3 }
_pmcbpf_pctr_funct() {
	local -a events
	events=(${(f)"$(pctr -l 2>/dev/null | sed -n 's/^\([0-9a-f]*\)  /\1:/p')"})
	_describe event events
}
_pmcbpf_pid() { compadd -- ${(f)"$(ktrctl list 2>/dev/null | awk '$1 + 0 { print $1 }')"} }
_pmcbpf_process() { _pids }
_pmcbpf_row() { compadd '*' ${(f)"$(pmccontrol -l 2>/dev/null | awk '/^ / { print $1 }' | sort -nu)"} }
_pmcbpf_tunable() { compadd -S '' -- ${(f)"$(pmccontrol --tunable 2>/dev/null | cut -d= -f1)"} }
_pmcbpf_when() { compadd always auto never }

_pmcbpf_subcommands() { _describe subcommand subcommands }
_pmcbpf_ktrctl() {
	case $words[(r)(mask|compile|stop|alq)] in
	mask | compile) _pmcbpf_classes ;;
	stop) compadd oom panic signal: tp: ;;
	alq) _files ;;
	esac
}

local key=$service
local -a specs subcommands operands
if [[ $service == (pmc|pmcstat) && CURRENT -gt 2 ]] && [[ $service == pmc || $words[2] == report ]]; then
	key+=" $words[2]"
	shift words
	((CURRENT--))
fi
case $key in
# @options@
esac
case $key in
pmcstat | 'pmc record' | 'pmc stat' | 'pmc stat-system')
	operands=('(-)1:command: _command_names -e' '*::arguments: _normal') ;;
pmcannotate | *' report' | 'pmc filter' | 'pmc summary') operands=('*:file:_files') ;;
'pmc list-events') operands=('1:event:_pmcbpf_events') ;;
pmc) operands=('1:subcommand:_pmcbpf_subcommands') ;;
ktrctl) operands=('1:command:_pmcbpf_subcommands' '2:operand:_pmcbpf_ktrctl') ;;
esac
_arguments -s -S $specs $operands
