#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# ktr(4) and ktr(9) name what there is: options, variables of the environment, classes, macros.

set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 failed=0

# same NAME : the lines of $dir/page and $dir/source are the same set
same()
{
	n=$((n + 1))
	if diff <(sort -u "$dir/page") <(sort -u "$dir/source") >"$dir/diff" && [ -s "$dir/page" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1 (< page, > source)"
		sed 's/^/# /' "$dir/diff"
		failed=1
	fi
}

# column N : of the table of OPTIONS
column()
{
	sed -n '/^\.Sh OPTIONS/,/^\.El/s/^\.It //p' man/ktr.4 | awk -F ' Ta ' -v n="$1" 'NR > 1 { print $n }' |
		sed -n 's/^D[v]\{0,1\} //; s/^[EV][va] //; /^[A-Za-z]/p'
}

# KTR-78: one table of options, environment and tunables.
test_options()
{
	column 1 | sed 's/^Dv //' >"$dir/page"
	grep -hoE '^#(if|ifdef|ifndef|elif).*' lib/include/sys/ktr*.h | grep -oE '\bKTR(_[A-Z0-9]+)*\b' |
		grep -vxE 'KTR_CLASSES|KTR_LAYOUT' >"$dir/source"
	same "options in the table are those of the header"
	column 2 >"$dir/page"
	sed -n 's/.*asked("\(KTR_[A-Z_]*\)").*/\1/p' lib/ktr/ktrwish.c >"$dir/source"
	same "the environment in the table is what the library reads"
	{ column 1 | sed 's/^Dv //'; column 2; } | sort -u >"$dir/source"
	sed -n '/^\.Bl -tag -width Ds/,/^\.Sh DIAGNOSTICS/s/^\.It [DE]v //p' man/ktr.4 >"$dir/page"
	same "each of them is described"
	column 3 >"$dir/page"
	printf 'ktr.%s\n' compile cpumask mask size stop unprivileged >"$dir/source"
	same "tunables"
}

# KTR-20: classes and their bits.
test_classes()
{
	sed -n '/^\.Ss Classes/,/^\.El/s/^\.It Dv \(KTR_[A-Z0-9]*\) Ta \(0x[0-9a-f]*\).*/\1 \2/p' man/ktr.4 >"$dir/page"
	{ printf '#include <stdio.h>\n#include <sys/ktr_class.h>\n#define X(name, bit) printf("KTR_" #name " 0x%%x\\n", 1u << bit);\n'
		echo 'int main(void) { KTR_CLASSES(X) return 0; }'; } >"$dir/classes.c"
	${CC:-gcc} -Ilib/include -o "$dir/classes" "$dir/classes.c" && "$dir/classes" >"$dir/source"
	same "classes and their bits"
}

# Macros and functions, by the first of each kind.
test_macros()
{
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh RETURN/p' man/ktr.9 | grep -oE '\b(C|I)?TR[06]\b|\bKTR_[A-Z]*0\b|\bktr_[a-z]*\b|\b(SEG_)?C?ATR[A-Z_]*\b' |
		grep -vE '^ktr_(mask|version|entries)$' >"$dir/page"
	{ grep -hoE '^#define (C|I)?TR[06]|^#define KTR_[A-Z]*0\b|^#define (SEG_)?C?ATR[A-Z_]*' lib/include/sys/ktr.h \
		lib/include/sys/ktr_event.h lib/include/sys/ktr_asm.h | sed 's/#define //'
		grep -oE '\bktr_(freeze|thaw|resize)\b' lib/ktr/libktr.map; } >"$dir/source"
	same "macros and functions"
}

test_options
test_classes
test_macros
echo "1..$n"
exit $failed
