#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The public headers compile by themselves in every dialect that FreeBSD sources of 2005 to today use, without a
# warning, and with pmc_allocate() of five and of six arguments.

set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 failed=0

# check NAME COMPILER FLAGS... : compiles $dir/source; "!NAME" must not compile.
check()
{
	local name=$1 want=0
	shift
	[ "${name#!}" = "$name" ] || want=1
	n=$((n + 1))
	if "$@" -Ilib/include -c -o "$dir/out.o" "$dir/source" >"$dir/log" 2>&1; then
		got=0
	else
		got=1
	fi
	if [ $got -eq $want ] && { [ $want -eq 1 ] || [ ! -s "$dir/log" ]; }; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$dir/log"
		failed=1
	fi
}

have()
{
	command -v "$1" >/dev/null && return
	n=$((n + 1))
	echo "ok $n - $2 # SKIP $1 is not installed"
	return 1
}

CC=${CC:-gcc}
WARN=(-Wall -Wextra -Wstrict-prototypes -Werror)

cat >"$dir/source" <<'END'
#include <pmc.h>
#include <sys/pmc.h>

#if PMC_VERSION >> 24 != 10
#error PMC_VERSION
#endif

int (*pointer)(const char *, enum pmc_mode, uint32_t, int, pmc_id_t *, uint64_t) = pmc_allocate;

int five_and_six(pmc_id_t *id)
{
	return pmc_allocate("cycles", PMC_MODE_TC, 0, PMC_CPU_ANY, id) +
	       pmc_allocate("cycles", PMC_MODE_TC, 0, PMC_CPU_ANY, id, 65536) +
	       (EDOOFUS == EPROGMISMATCH) + (int)sizeof(uintfptr_t) + PATH_MAX;
}
END
for std in gnu89 gnu99 gnu11 gnu17; do
	check "C $std" "$CC" -x c -std=$std "${WARN[@]}"
done
check "C c99 -pedantic" "$CC" -x c -std=c99 -D_POSIX_C_SOURCE=200809L "${WARN[@]}" -pedantic
if have clang-14 "clang"; then
	check "clang C c99 -pedantic" clang-14 -x c -std=c99 -D_POSIX_C_SOURCE=200809L "${WARN[@]}" -pedantic
	check "clang C gnu89" clang-14 -x c -std=gnu89 "${WARN[@]}"
fi

for header in pmc.h sys/pmc.h; do
	printf '#include <%s>\n#include <%s>\ntypedef int nothing;\n' $header $header >"$dir/source"
	check "$header alone and twice" "$CC" -x c -std=c99 "${WARN[@]}" -pedantic
done

cat >"$dir/source" <<'END'
#include <pmc.h>
int f(pmc_id_t *id) { return pmc_allocate("a", PMC_MODE_TC, 0, PMC_CPU_ANY, id); }
int (*pointer)(const char *, enum pmc_mode, uint32_t, int, pmc_id_t *) = pmc_allocate;
END
check "PMC_API=10: five arguments" "$CC" -x c -DPMC_API=10 "${WARN[@]}"
check "PMC_API=7: five arguments" "$CC" -x c -DPMC_API=7 "${WARN[@]}"
check "!PMC_API=14: not five arguments" "$CC" -x c -DPMC_API=14 "${WARN[@]}"

cat >"$dir/source" <<'END'
#include <pmc.h>
int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *pmcid, uint64_t count)
{
	return !spec + (int)mode + (int)flags + cpu + !pmcid + (int)count;
}
END
check "PMC_NO_ARITY_MACRO: a test double defines pmc_allocate" "$CC" -x c -DPMC_NO_ARITY_MACRO "${WARN[@]}"

for arguments in '"a", PMC_MODE_TC, 0, 0' '"a", PMC_MODE_TC, 0, 0, id, 1, 2'; do
	printf '#include <pmc.h>\nint f(pmc_id_t *id) { return pmc_allocate(%s) + !id; }\n' "$arguments" >"$dir/source"
	check "!pmc_allocate($arguments)" "$CC" -x c "${WARN[@]}"
done

cat >"$dir/source" <<'END'
#include <pmc.h>
int f(pmc_id_t *id)
{
	uint32_t bit = 2;
	return pmc_allocate("a", PMC_MODE_TC, 0, PMC_CPU_ANY, id) +
	       pmc_allocate("a", PMC_MODE_TC, 0, PMC_CPU_ANY, id, 1) +
	       !pmc_name_of_capability(bit) + !pmc_name_of_capability(PMC_CAP_USER);
}
END
for cxx in g++ clang++-14; do
	have $cxx "C++ with $cxx" || continue
	for std in gnu++98 c++17; do
		check "C++ $std with $cxx" $cxx -x c++ -std=$std -Wall -Wextra -Werror
	done
done

echo "1..$n"
exit $failed
