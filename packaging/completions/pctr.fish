# SPDX-License-Identifier: BSD-2-Clause
# fish completion for pctr(1); events are those that it lists itself.
set -l events "(pctr -l 2>/dev/null | string match -rg '^([0-9a-f]+)  (.*)' | paste - -)"
complete -c pctr -f
complete -c pctr -s l -d 'List events'
complete -c pctr -s s -x -a '0 1 2 3' -d 'Set a counter'
complete -c pctr -s f -x -a $events -d 'Event'
complete -c pctr -s m -x -d 'Unit mask'
complete -c pctr -s t -x -d 'Threshold'
complete -c pctr -s u -d 'Count user mode'
complete -c pctr -s k -d 'Count the kernel'
complete -c pctr -s e -d 'Count edges'
complete -c pctr -s i -d 'Invert the threshold'
complete -c pctr -s M -d 'Modified lines'
complete -c pctr -s E -d 'Exclusive lines'
complete -c pctr -s S -d 'Shared lines'
complete -c pctr -s I -d 'Invalid lines'
complete -c pctr -s A -d 'Any agent of the bus'
complete -c pctr -s C -x -d 'Read that CPU'
complete -c pctr -s a -d 'Read the sums of all CPUs'
complete -c pctr -s w -x -d 'Read again and again'
complete -c pctr -s T -d 'Test readings'
complete -c pctr -s h -l help -d 'Show the options'
complete -c pctr -l version -d 'Show the version'
