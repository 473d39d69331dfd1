# SPDX-License-Identifier: BSD-2-Clause
# fish completion for pmccontrol(8).
set -l rows "(echo '*'; pmccontrol -l 2>/dev/null | string match -rg '^ (\d+)' | sort -nu)"
complete -c pmccontrol -f
complete -c pmccontrol -s L -l list-events -d 'List events'
complete -c pmccontrol -s l -l list -d 'List rows'
complete -c pmccontrol -s s -l statistics -d 'Show statistics'
complete -c pmccontrol -s c -l cpu -x -d 'CPU of what follows'
complete -c pmccontrol -s e -l enable -x -a $rows -d 'Enable a row'
complete -c pmccontrol -s d -l disable -x -a $rows -d 'Disable a row'
complete -c pmccontrol -l doctor -d 'What stands in the way of counting'
set -l tunables "(pmccontrol --tunable 2>/dev/null | string replace -r '=.*' '')"
complete -c pmccontrol -l tunable -xa $tunables -d 'List, show or set tunables'
complete -c pmccontrol -l json -d 'Output as JSON'
complete -c pmccontrol -s h -l help -d 'Show the options'
complete -c pmccontrol -l version -d 'Show the version'
