# SPDX-License-Identifier: BSD-2-Clause
# fish completion for kgmon(8).
complete -c kgmon -f
complete -c kgmon -s b -d 'Start profiling'
complete -c kgmon -s h -d 'Stop profiling'
complete -c kgmon -s p -d 'Write gmon.out and gmon.kernel'
complete -c kgmon -s r -d 'Forget all samples'
complete -c kgmon -s s -d 'Show what the profile holds'
complete -c kgmon -s N -r -F -d 'Names of this file'
complete -c kgmon -l help -d 'Show the options'
complete -c kgmon -l version -d 'Show the version'
