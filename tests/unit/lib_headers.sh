#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The public headers compile by themselves in every dialect that FreeBSD sources of 2005 to today use, without a
# warning, and with pmc_allocate() of five and of six arguments.

set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 failed=0
# shellcheck source=/dev/null
. "$(dirname "$0")/util/tap.bash"

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

CC=${CC:-gcc}
WARN=(-Wall -Wextra -Wstrict-prototypes -Werror)

cat >"$dir/source" <<'END'
#include <pmc.h>
#include <pmclog.h>
#include <sys/pmc.h>

#if PMC_VERSION >> 24 != 10
#error PMC_VERSION
#endif

int (*pointer)(const char *, enum pmc_mode, uint32_t, int, pmc_id_t *, uint64_t) = pmc_allocate;

int five_and_six(pmc_id_t *id)
{
	return pmc_allocate("cycles", PMC_MODE_TC, 0, PMC_CPU_ANY, id) +
	       pmc_allocate("cycles", PMC_MODE_TC, 0, PMC_CPU_ANY, id, 65536) +
	       PMCLOG_MAPPING_INSERT + PMCLOG_MAPPING_DELETE + (EDOOFUS == EPROGMISMATCH) + (int)sizeof(uintfptr_t) + PATH_MAX;
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

# All installed headers, except parts of another one that say so; OpenBSD's are below.
for file in lib/include/*.h lib/include/machine/*.h lib/include/sys/*.h; do
	header=${file#lib/include/}
	! sed -n 2p "$file" | grep -q '^/\* Part of <' || continue
	printf '#include <%s>\n#include <%s>\ntypedef int nothing;\n' "$header" "$header" >"$dir/source"
	for std in c99 gnu89 gnu17; do
		[ "$std" = gnu89 ] && pedantic=() || pedantic=(-pedantic)
		check "$header alone and twice, $std" "$CC" -x c -std=$std "${WARN[@]}" "${pedantic[@]}"
	done
done

# The symbol behind pmclog_read(), by PMC_API.
printf '#include <pmclog.h>\nint f(void *p, struct pmclog_ev *ev) { return pmclog_read(p, ev); }\n' >"$dir/source"
for api in 7:pmclog_read7 10:pmclog_read 12:pmclog_read12 13:pmclog_read12 14:pmclog_read; do
	for language in c c++; do
		check "PMC_API=${api%:*}, $language" "$CC" -x "$language" "-DPMC_API=${api%:*}" -Wall -Wextra -Werror
		n=$((n + 1))
		if nm "$dir/out.o" | grep -qw "U ${api#*:}"; then
			echo "ok $n - PMC_API=${api%:*}: it is ${api#*:}, $language"
		else
			echo "not ok $n - PMC_API=${api%:*}: it is not ${api#*:}, $language"
			failed=1
		fi
	done
done

cat >"$dir/source" <<'END'
#include <pmcformat.h>
#include <pmc.h>
std::string f(struct pmclog_ev *ev) { return event_to_json(ev) + "\n"; }
END
for std in c++98 c++17; do
	check "event_to_json(), $std" "$CC" -x c++ -std=$std -Wall -Wextra -Werror
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

# <machine/cpufunc.h> beside <machine/pctr.h>: in either order rdpmc() is pctr's, and (rdpmc)() the instruction.
calls()
{
	printf '#include <machine/%s.h>\n' "$@" >"$dir/source"
	cat >>"$dir/source" <<-'END'
		#if defined(__x86_64__) || defined(__aarch64__)
		#ifndef rdpmc
		#error rdpmc is a macro
		#endif
		unsigned long long own(void) { return (rdpmc)(0) + rdtsc(); }
		unsigned long long call(void) { return rdpmc(0); }
		#endif
	END
}
# asks NAME COUNT: how often the object refers to pctr's function
asks()
{
	local found
	n=$((n + 1))
	found=$(nm -u "$dir/out.o" | grep -c pctr_rdpmc)
	if [ "$found" -eq "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1: $found references to pctr_rdpmc"
		failed=1
	fi
}
for headers in "cpufunc:0" "cpufunc pctr:1" "pctr cpufunc:1" "pctr:1"; do
	# shellcheck disable=SC2086 # words
	calls ${headers%:*}
	check "rdpmc of ${headers%:*}, C" "$CC" -x c -std=c99 "${WARN[@]}" -pedantic -Wno-long-long
	asks "rdpmc of ${headers%:*}, C, is the right one" "${headers#*:}"
	have g++ "C++ with <machine/cpufunc.h>" || continue
	check "rdpmc of ${headers%:*}, C++" g++ -x c++ -std=gnu++98 -Wall -Wextra -Werror
	asks "rdpmc of ${headers%:*}, C++, is the right one" "${headers#*:}"
done

# The manual's example: the arm64 guests run it.
sed -n '/^\.Bd -literal/,/^\.Ed/{/^\./d;s/\\e/\\/g;p}' man/pmc_get_msr.3 >"$dir/source"
check "the example of pmc_get_msr(3)" "$CC" -x c -std=gnu99 "${WARN[@]}" -Wno-unused-parameter
# PCTR-05, PCTR-07, PCTR-17, PCTR-53: as OpenBSD's programs include them, in C and C++.
test_pctr()
{
	local std header

	cat >"$dir/source" <<-'END'
		#include <sys/types.h>
		#include <machine/cpu.h>
		#include <machine/pctr.h>
		pctrval all(int fd, struct pctrst *st, u_int fn);
		pctrval all(int fd, struct pctrst *st, u_int fn)
		{
			pctrval before = rdtsc();
			fn |= PCTR_EN | PCTR_U | PCTR_K | PCTR_E | PCTR_I | PCTR_UM_MESI | PCTR_UM_A | 3 << PCTR_CM_SHIFT;
			return (pctrval)ioctl(fd, PCIOCRD, st) + (pctrval)ioctl(fd, PCIOCS3, &fn) + rdpmc(0) + rdtsc() - before +
			       sizeof(_PATH_PCTR) + st->pctr_hwc[PCTR_NUM - 1];
		}
	END
	for std in gnu89 gnu99 gnu17; do
		check "pctr, C $std" "$CC" -x c -std=$std "${WARN[@]}" -Ilib/include/openbsd
	done
	check "pctr, C c99 -pedantic" "$CC" -x c -std=c99 -D_DEFAULT_SOURCE "${WARN[@]}" -pedantic -Ilib/include/openbsd
	for std in gnu++98 c++17; do
		check "pctr, C++ $std" g++ -x c++ -std=$std -Wall -Wextra -Werror -Ilib/include/openbsd
	done
	cat >"$dir/source" <<-'END'
		#include <sys/types.h>
		#include <sys/ioccom.h>
		#include <sys/sysctl.h>
		#include <machine/cpu.h>
		#include <machine/specialreg.h>
		#include <machine/pctr.h>
		#include <stdlib.h>
		#if CPUID_TSC != 0x10
		#error CPUID_TSC
		#endif
		int size[IOCPARM_LEN(PCIOCRD) == 56 && IOCGROUP(PCIOCRD) == 'c' ? 1 : -1];
		int all(const char *text, size_t len);
		int all(const char *text, size_t len)
		{
			int name[2] = { CTL_MACHDEP, CPU_CPUVENDOR };
			const char *error;
			char vendor[16];
			return sysctl(name, 2, vendor, &len, NULL, 0) + (int)strtonum(text, 0, 3, &error);
		}
	END
	check "OpenBSD's headers, C" "$CC" -x c -std=gnu17 "${WARN[@]}" -Ilib/include/openbsd
	check "OpenBSD's headers, C++" g++ -x c++ -Wall -Wextra -Werror -Ilib/include/openbsd
	for header in machine/pctr.h machine/cpu.h machine/specialreg.h sys/ioccom.h sys/sysctl.h stdlib.h; do
		printf '#include <%s>\n#include <%s>\ntypedef int nothing;\n' $header $header >"$dir/source"
		check "$header alone and twice" "$CC" -x c -std=gnu99 "${WARN[@]}" -Ilib/include/openbsd
	done
}
test_pctr

echo "1..$n"
exit $failed
