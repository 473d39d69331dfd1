# SPDX-License-Identifier: BSD-2-Clause
# fish completion for ktrctl(8); commands and classes are those that it lists itself.
set -l commands "(ktrctl --help 2>/dev/null | string match -rg '^       ([a-z]+) ')"
set -l processes "(ktrctl list 2>/dev/null | string match -rg '^(\d+)')"
set -l classes "(echo all; echo none; ktrctl classes 2>/dev/null | string match -rg '^(\S+)')"
complete -c ktrctl -f
complete -c ktrctl -n __fish_use_subcommand -a $commands
complete -c ktrctl -n '__fish_seen_subcommand_from mask compile' -a "(__fish_append , $classes)"
complete -c ktrctl -n '__fish_seen_subcommand_from stop' -a 'oom panic signal: tp:'
complete -c ktrctl -n '__fish_seen_subcommand_from alq' -F
complete -c ktrctl -s p -l pid -x -a $processes -d 'Of a process'
complete -c ktrctl -s l -l duration -x -d 'alq: end after seconds'
complete -c ktrctl -l max -x -d 'alq: end with so many bytes'
complete -c ktrctl -l json -d 'Output as JSON'
complete -c ktrctl -s h -l help -d 'Show the commands'
complete -c ktrctl -l version -d 'Show the version'
