#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What the headers declare, what the version map lists and what the library exports are the same names.

set -u

library=${O:-build}/lib/libpmc-compat.so
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# The map: the names between "global:" and "local:" or "}".
sed -n 's/^\t\(pmc_[a-z0-9_]*\);$/\1/p' lib/libpmc-compat.map | sort >"$dir/map"
nm -D --defined-only "$library" | sed -n 's/.* [TDBRW] \(pmc_[a-z0-9_]*\)@@\(.*\)/\1 \2/p' | sort >"$dir/versions"
cut -d' ' -f1 "$dir/versions" >"$dir/library"
# The headers: declarations as the preprocessor leaves them, of functions whose name begins with pmc_.
echo '#include <pmc.h>' | ${CC:-gcc} -E -P -DPMC_NO_ARITY_MACRO -Ilib/include - |
	grep -o '\bpmc_[a-z0-9_]* *(' | tr -d ' (' | sort -u >"$dir/headers"

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
if [ "$ours" = "pmc_allocate5 pmc_errstr " ]; then
	echo "ok 3 - only additions have the version PMCBPF_1.0"
else
	echo "not ok 3 - PMCBPF_1.0: $ours"
	failed=1
fi
if [ "$(nm -D --defined-only "$library" | grep -cv ' pmc_\| A ')" -eq 0 ]; then
	echo "ok 4 - nothing else is exported"
else
	echo "not ok 4 - other names are exported"
	nm -D --defined-only "$library" | grep -v ' pmc_\| A ' | sed 's/^/# /'
	failed=1
fi
soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" = libpmc-compat.so.0 ]; then
	echo "ok 5 - soname"
else
	echo "not ok 5 - soname is $soname"
	failed=1
fi
echo 1..5
exit $failed
