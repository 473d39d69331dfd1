#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What protects the programs and libraries as they are built: position independent code, nothing to write to once it
# is linked, no executable stack, checked stacks and checked functions of the C library.  TAP.

set -u

build=${O:-build}
tests=0 failed=0

# result NAME FILE...: the files that lack it
result()
{
	local name=$1

	tests=$((tests + 1))
	shift
	if [ $# -eq 0 ]; then
		echo "ok $tests - $name"
	else
		echo "not ok $tests - $name: not of $*"
		failed=1
	fi
}

programs=("$build"/sbin/{pmcbpfd,pctrd} "$build"/bin/{pmcstat,pmccontrol,pmc,pmcannotate,kgmon,ktrctl,tdump,pctr})
libraries=("$build"/lib/lib{pmc-compat,ktr,pctr}.so.0)
all=("${programs[@]}" "${libraries[@]}")

# lacking OPTION PATTERN FILE...: those of which `readelf OPTION` does not print it
lacking()
{
	local option=$1 pattern=$2 file

	shift 2
	for file; do
		readelf -W "$option" "$file" 2>/dev/null | grep -qE -- "$pattern" || echo "$file"
	done
}

# having OPTION PATTERN FILE...: those of which it does
having()
{
	local option=$1 pattern=$2 file

	shift 2
	for file; do
		! readelf -W "$option" "$file" 2>/dev/null | grep -qE -- "$pattern" || echo "$file"
	done
}

# shellcheck disable=SC2046,SC2016 # names of files without blanks; $ORIGIN is the linker's
{
	result "position independent" $(lacking -h 'Type: +DYN' "${all[@]}") $(lacking -d 'FLAGS_1.* PIE' "${programs[@]}")
	result "relocations are read-only" $(lacking -l 'GNU_RELRO' "${all[@]}")
	result "all symbols are bound at the start" $(lacking -d 'FLAGS_1.* NOW' "${all[@]}")
	result "no executable stack" $(lacking -l 'GNU_STACK .* RW  ' "${all[@]}")
	result "no code that can be written to" $(having -l 'LOAD .* RWE ' "${all[@]}")
	result "no relocations in code" $(having -d '\(TEXTREL\)' "${all[@]}")
	# The tools find the library beside them; any folder searched earlier could belong to another user.
	result "no search path" $(having -d '\(RPATH\)' "${all[@]}") \
		$(having -d '\(RUNPATH\)' "$build/sbin/pmcbpfd" "${libraries[@]}") \
		$(readelf -d "${programs[@]}" | grep '(RUNPATH)' | grep -vF '[$ORIGIN/../lib]')
	result "stack protector" $(lacking --dyn-syms '__stack_chk_fail' "${all[@]}")
	if nm -D "$build/sbin/pmcbpfd" | grep -qE ' (__asan|__ubsan|__tsan)_'; then
		tests=$((tests + 1))
		echo "ok $tests - checked functions of the C library # SKIP a sanitizer has its own"
	else
		result "checked functions of the C library" $(lacking --dyn-syms '__[a-z]+_chk' "${all[@]}")
	fi
}
echo "1..$tests"
exit $failed
