#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What the headers declare, what the version maps and the packages list and what the libraries export are the same names.

set -u

library=${O:-build}/lib/libpmc-compat.so
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# The map: the names between "global:" and "local:" or "}".
sed -n 's/^\t\(pmc[a-z0-9]*_[a-z0-9_]*\);$/\1/p' lib/pmc/libpmc-compat.map | sort >"$dir/map"
nm -D --defined-only "$library" | sed -n 's/.* [TDBRW] \(pmc[a-z0-9]*_[a-z0-9_]*\)@@\(.*\)/\1 \2/p' | sort >"$dir/versions"
cut -d' ' -f1 "$dir/versions" >"$dir/library"
# The headers: declarations as the preprocessor leaves them, of functions whose name begins with pmc_ or pmclog_.
# Also those that an earlier release's function has, by PMC_API.
for api in 7 12 14; do
	printf '#include <pmc.h>\n#include <pmcformat.h>\n' |
		${CC:-gcc} -E -P -DPMC_NO_ARITY_MACRO -DPMC_API=$api -Ilib/include -
done | grep -oE '\bpmc(log)?_[a-z0-9_]*( *\(|")' | tr -d ' ("' | sort -u >"$dir/headers"

same()
{
	if diff "$dir/$2" "$dir/$3" >"$dir/diff"; then
		echo "ok $1 - $2 and $3 list the same names"
	else
		echo "not ok $1 - $2 and $3 differ"
		sed 's/^/# /' "$dir/diff"
		failed=1
	fi
}

same 1 map library
same 2 headers map
ours=$(sed -n 's/ PMCBPF_1.0$//p' "$dir/versions" | tr '\n' ' ')
if [ "$ours" = "pmc_allocate5 pmc_allocate_group pmc_attach_cgroup pmc_attach_exec pmc_attach_thread pmc_errstr pmc_event_kinds pmc_event_unit pmc_gates pmc_get_chains pmc_get_cut_chains pmc_get_overflows pmc_group_add pmc_group_commit pmc_group_create pmc_group_read pmc_group_release pmc_kgmon pmc_ktr_control pmc_ktr_info pmc_ktr_open pmc_policy pmc_read_pair pmc_set_signal pmc_sysctlbyname pmc_tunable_get pmc_tunable_list pmc_tunable_set pmclog_errstr pmclog_field pmclog_json pmclog_read12 pmclog_read7 pmclog_value " ]; then
	echo "ok 3 - only additions have the version PMCBPF_1.0"
else
	echo "not ok 3 - PMCBPF_1.0: $ours"
	failed=1
fi
if [ "$(nm -D --defined-only "$library" | grep -cv ' pmc_\| pmclog_\| A ')" -eq 0 ]; then
	echo "ok 4 - nothing else is exported"
else
	echo "not ok 4 - other names are exported"
	nm -D --defined-only "$library" | grep -v ' pmc_\| pmclog_\| A ' | sed 's/^/# /'
	failed=1
fi
soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" = libpmc-compat.so.0 ]; then
	echo "ok 5 - soname"
else
	echo "not ok 5 - soname is $soname"
	failed=1
fi

# libpctr: without versions, or programs that mean the C library's ioctl would not find it there.
pctr=${O:-build}/lib/libpctr.so
sed -n 's/^\t\([a-z_]*\);$/\1/p' lib/pctr/libpctr.map | sort >"$dir/pctr-map"
nm -D --defined-only "$pctr" | sed 's/.* //' | grep -v '^_' | sort >"$dir/pctr-library"
printf '#include <machine/pctr.h>\n#include <stdlib.h>\n#include <sys/ioctl.h>\n#include <sys/sysctl.h>\n' |
	${CC:-gcc} -E -P -Ilib/include/openbsd -Ilib/include - | grep -oE '\bpctr_[a-z]+"? *\(|"pctr_[a-z]+"|\bioctl\b' |
	tr -d '"( ' | sort -u >"$dir/pctr-headers"
same 6 pctr-map pctr-library
same 7 pctr-headers pctr-map
soname=$(readelf -d "$pctr" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" = libpctr.so.0 ]; then
	echo "ok 8 - soname of libpctr"
else
	echo "not ok 8 - soname is $soname"
	failed=1
fi
# What packages list, with the release in which each name came.
n=9
for lib in libpmc-compat libktr libpctr; do
	sed -nE 's/^\t([a-z_][a-z0-9_]*);$/\1/p' lib/*/$lib.map | sort >"$dir/$lib.map"
	sed -nE 's/^ ([a-z_][a-z0-9_]*)@.*/\1/p' packaging/debian/${lib}0.symbols | sort >"$dir/$lib.symbols"
	same $n $lib.map $lib.symbols
	n=$((n + 1))
done
# Where it traps, the library's handler steps over the instruction in that section only.
if objdump -d -j .text "$library" | grep -qE 'rdpmc|pmevcntr|pmccntr'; then
	echo "not ok 12 - an instruction outside of pmc_counter reads a counter"
	failed=1
else
	echo "ok 12 - only the section pmc_counter has instructions that read counters"
fi
echo 1..12
exit $failed
