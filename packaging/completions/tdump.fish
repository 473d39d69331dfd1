# SPDX-License-Identifier: BSD-2-Clause
# fish completion for tdump(8) and ktrdump(8); classes are those of ktrctl(8).
set -l processes "(ktrctl list 2>/dev/null | string match -rg '^(\d+)')"
set -l classes "(echo all; ktrctl classes 2>/dev/null | string match -rg '^(\S+)')"
for tool in tdump ktrdump
	complete -c $tool -f
	complete -c $tool -s p -l pid -xa $processes -d 'A process'
	complete -c $tool -s M -l core -r -F -d 'A core, or an image of a machine'
	complete -c $tool -s N -l exec -r -F -d 'The executable that ran'
	complete -c $tool -s i -l input -r -F -d 'A file of rings'
	complete -c $tool -s o -l output -r -F -d 'Write to a file'
	complete -c $tool -s f -l file -d 'A column with file and line'
	complete -c $tool -s H -l thread -d 'A column with the thread'
	complete -c $tool -s t -l timestamp -d 'A column with the time stamp'
	complete -c $tool -s q -l quiet -d 'No header'
	complete -c $tool -s l -l follow -d 'Go on with what comes'
	complete -c $tool -s h -l help -d 'Show the options'
	complete -c $tool -l version -d 'Show the version'
end
complete -c ktrdump -s c -l cpu -d 'A column with the CPU'
complete -c ktrdump -s r -l relative -d 'Differences of time'
complete -c tdump -s R -l remote -x -d 'A machine behind gdb: HOST:PORT'
complete -c tdump -s k -l kernel -d 'The kernel, too'
complete -c tdump -s a -l absolute -d 'Time stamps'
complete -c tdump -s d -l decimal -d 'Times in decimal'
complete -c tdump -s c -l clocks -x -d 'Clocks a microsecond'
complete -c tdump -s v -l verbose -d 'All about an entry'
complete -c tdump -s K -l debugger -d 'As the debugger'
complete -c tdump -s r -l reverse -d 'Oldest first'
complete -c tdump -s s -l separate -d 'Ring after ring'
complete -c tdump -s m -l mask -xa "(__fish_append , $classes)" -d 'Of these classes'
complete -c tdump -s C -l cpus -x -d 'Of these CPUs'
complete -c tdump -s T -l tid -x -d 'Of this thread'
complete -c tdump -s z -l freeze -d 'Freeze the kernel'
complete -c tdump -s n -l no-cache -d 'Read each string again'
complete -c tdump -l save -r -F -d 'Save the rings'
complete -c tdump -l json -d 'JSON'
complete -c tdump -l chrome -d 'For Perfetto'
complete -c tdump -l color -xa 'always auto never' -d 'Colours'
