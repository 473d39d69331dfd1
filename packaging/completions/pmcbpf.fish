# SPDX-License-Identifier: BSD-2-Clause
# fish completion for the tools of pmcbpf.  Events, rows, tunables, classes and processes are those of the moment.
# Each tool has a name of this file's; the first that is read completes all.
functions -q __pmcbpf_events; and exit

# __pmcbpf_KIND lists what an argument may be.
function __pmcbpf_classes
	__fish_append , (echo all; echo none; ktrctl classes 2>/dev/null | string match -rg '^(\S+)')
end
function __pmcbpf_cpus; echo '*'; seq 0 (math (getconf _NPROCESSORS_CONF) - 1); end
function __pmcbpf_dir; __fish_complete_directories; end
function __pmcbpf_eventlist; __fish_append , (__pmcbpf_events); end
function __pmcbpf_events; pmccontrol -L 2>/dev/null | string replace -rf '^\t' ''; end
function __pmcbpf_pctr_cpu; seq 0 (math (nproc --all) - 1); end
function __pmcbpf_pctr_ctr; seq 0 3; end
function __pmcbpf_pctr_funct; pctr -l 2>/dev/null | string match -rg '^([0-9a-f]+)  (.*)' | paste - -; end
function __pmcbpf_pid; ktrctl list 2>/dev/null | string match -rg '^(\d+)'; end
function __pmcbpf_process; __fish_complete_pids; end
function __pmcbpf_row; echo '*'; pmccontrol -l 2>/dev/null | string match -rg '^ (\d+)' | sort -nu; end
function __pmcbpf_tunable; pmccontrol --tunable 2>/dev/null | string replace -r '=.*' ''; end
function __pmcbpf_when; printf '%s\n' always auto never; end

for tool in pmccontrol kgmon ktrctl pctr tdump ktrdump
	complete -c $tool -f
end
complete -c pmcstat -xa '(__fish_complete_subcommand --fcs-skip=1)'
complete -c pmc -n '__fish_seen_subcommand_from record stat stat-system' -xa '(__fish_complete_subcommand --fcs-skip=2)'
complete -c pmc -n '__fish_seen_subcommand_from list-events' -xa '(__pmcbpf_events)'
complete -c ktrctl -n '__fish_seen_subcommand_from mask compile' -xa '(__pmcbpf_classes)'
complete -c ktrctl -n '__fish_seen_subcommand_from stop' -a 'oom panic signal: tp:'
complete -c ktrctl -n '__fish_seen_subcommand_from alq' -F
# @options@
