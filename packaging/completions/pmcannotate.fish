# SPDX-License-Identifier: BSD-2-Clause
# fish completion for pmcannotate(8); events are those of the running daemon.
set -l events "(pmccontrol -L 2>/dev/null | string replace -rf '^\t' '')"
complete -c pmcannotate -s a -l assembly -d 'Instructions only'
complete -c pmcannotate -l lines -d 'Source lines only'
complete -c pmcannotate -s l -l limit -x -d 'Leave out functions with less'
complete -c pmcannotate -l function -x -d 'This function only'
complete -c pmcannotate -l event -x -a $events -d 'Samples of this event only'
complete -c pmcannotate -s k -l kernel -r -d 'The kernel'
complete -c pmcannotate -l source -x -a '(__fish_complete_directories)' -d 'Where source files lie'
complete -c pmcannotate -l html -r -d 'A page for a browser'
complete -c pmcannotate -l force -d 'Also of another build'
complete -c pmcannotate -s h -d 'Show the usage'
complete -c pmcannotate -l help -d 'Show the options'
complete -c pmcannotate -l version -d 'Show the version'
