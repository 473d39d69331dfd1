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

# without N PATTERN FILE...: those whose code does not have it N times
without()
{
	local n=$1 pattern=$2 file

	shift 2
	for file; do
		[ "$(objdump -d --no-show-raw-insn "$file" 2>/dev/null | grep -cE -- "$pattern")" -ge "$n" ] || echo "$file"
	done
}

# Flags of the compiler that leave no mark in the file's headers, only in its code.
case $(readelf -h "$build/sbin/pmcbpfd" | sed -n 's/^ *Machine: *//p') in
*X86-64*)
	branch='[[:space:]]endbr64' page='[[:space:]]or[a-z]* +.0x0,(0x[0-9a-f]+)?\(%rsp\)' ;;
*AArch64*)
	branch='[[:space:]](paciasp|bti)' page='[[:space:]]str[[:space:]]+xzr, \[sp(, #[0-9]+)?\]' ;;
*)
	branch='' page='' ;;
esac
# shellcheck disable=SC2046 # names of files without blanks
if [ -z "$branch" ] || ! command -v objdump >/dev/null; then
	for name in "targets of branches are marked" "large stack frames are touched page by page"; do
		tests=$((tests + 1))
		echo "ok $tests - $name # SKIP no objdump, or an architecture without a known mark"
	done
else
	# The C library's own start has some as well.
	result "targets of branches are marked" $(without 5 "$branch" "${all[@]}")
	# The others have no frame of a page.
	result "large stack frames are touched page by page" \
		$(without 1 "$page" "$build"/sbin/{pmcbpfd,pctrd} "$build"/bin/{pmc,pmcstat,pmcannotate,tdump})
fi
echo "1..$tests"
exit $failed
