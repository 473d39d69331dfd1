#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What <sys/ktr.h> makes of trace points: in every dialect, by every compiler, with every option; what is not
# compiled in leaves nothing.  How many instructions a point takes is counted, not timed.

set -u

out=${O:-build}
n=0 failed=0
# shellcheck source=/dev/null
. "$(dirname "$0")/util/tap.bash"
# Programs are linked with the library here; the tests inspect its calls and its start.
as_users_get_it "$out/lib/libktr.a"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset KTR_SIZE KTR_ENTRIES KTR_MASK KTR_CLOCK KTR_FORK KTR_FREEZE_ON KTR_VERBOSE KTR_CPUMASK KTR_FILE
CC=${CC:-gcc}

# compiles COMMAND... : of $dir/source; prints "yes" and nothing else, or errors
compiles()
{
	"$@" -Ilib/include -Itests -c -o "$dir/out.o" "$dir/source" 2>"$dir/log" && echo yes
	head -n 20 "$dir/log"
}

# refused WORD COMMAND... : does not compile, and an error names WORD
refused()
{
	local word=$1
	shift
	if "$@" -Ilib/include -c -o "$dir/out.o" "$dir/source" 2>"$dir/log"; then
		echo "compiled"
	else
		grep -q "error.*$word" "$dir/log" && { echo yes; return; }
		head -n 20 "$dir/log"
	fi
}

every_macro='
#include <sys/ktr.h>
extern int dev; extern char *text; extern const char *format; extern unsigned long address;
enum kind { KIND }; extern enum kind kind; extern signed char small; extern double real;
void points(void);
void points(void)
{
	CTR0(KTR_DEV, "none"); CTR1(KTR_DEV, "lpopen(dev=%x)", dev); CTR2(KTR_DEV, "%s %d", text, small);
	CTR3(KTR_DEV | KTR_NET, "%lx " "%d %f", address, 3, real);
	CTR4(KTR_DEV, "%d%d%d%d", 1, 2, 3, 4); CTR5(KTR_CT1, "%d%d%d%d%d", 1, 2, 3, 4, 5);
	TR0("none"); TR1("%s", text); TR5("%d%d%d%d%d", 1, 2, 3, 4, 5); ITR0("none"); ITR1("%d", 1);
	CTR1(KTR_SPL, "%d", dev); CTR1(KTR_DEV, format, dev); CTR1(KTR_DEV, "%d", (int)kind);
	if (dev) TR0("one"); else TR0("other");
	KTR_STATE0(KTR_SCHED, "thread", text, "on"); KTR_STATE3(KTR_SCHED, "thread", text, "on", "a:%d", 1, "b:%d",
		2, KTR_ATTR_LINKED, text); KTR_COUNTER1(KTR_SCHED, "n", text, 1, "a:%d", 1);
	KTR_POINT0(KTR_SCHED, "thread", text, "here"); KTR_START0(KTR_SCHED, "thread", text, text);
	KTR_STOP0(KTR_SCHED, "thread", text, 3); KTR_STOP_IF(dev == 3);
}'

# KTR-41, KTR-43, KTR-45, KTR-51, KTR-F03, KTR-F12: C and C++, old and new, without a warning.
test_dialects()
{
	local compiler std flags

	# shellcheck disable=SC2001 # C++ casts otherwise
	printf '%s\n' "${every_macro//(int)kind/kind}" >"$dir/source"
	for compiler in "$CC" clang-14; do
		have "$compiler" "C with $compiler" || continue
		for std in gnu89 gnu99 gnu11 gnu2x; do
			for flags in "-O0" "-O2 -fPIC"; do
				# shellcheck disable=SC2086 # are words
				result "C $std, $compiler $flags" yes \
					"$(compiles "$compiler" -x c -std="$std" $flags -DKTR -DKTR_SIZE=4096 -Wall -Wextra -pedantic -Werror)"
			done
		done
	done
	for compiler in g++ clang++-14; do
		have "$compiler" "C++ with $compiler" || continue
		for std in c++98 gnu++98 c++11 gnu++17 c++20; do
			result "C++ $std, $compiler" yes "$(compiles "$compiler" -x c++ -std="$std" -O2 -DKTR -DKTR_SIZE=4096 \
				-Wall -Wextra -pedantic -Wold-style-cast -Werror)"
		done
	done
}

# KTR-38: without KTR nothing of it is left: no symbol, no text, no section; KTR_COMPILE is 0.
test_without_ktr()
{
	printf '%s\n' "$every_macro" >"$dir/source"
	result "compiles without KTR" yes "$(compiles "$CC" -x c -O0 -Wall)"
	result "no symbol is referred to" "points" "$(nm "$dir/out.o" | awk '{ print $NF }' | tr '\n' ' ' | sed 's/ $//; s/^dev points$/points/')"
	result "no format is left" 0 "$(strings "$dir/out.o" | grep -c 'lpopen\|KTRGRAPH\|none')"
	result "no site is left" 0 "$(readelf -S "$dir/out.o" | grep -c ktr_sites)"
	printf '#include <sys/ktr.h>\n#if KTR_COMPILE & KTR_SMP\n#error compiled in\n#endif\n' >"$dir/source"
	result "KTR_COMPILE is 0 for assembly" yes "$(compiles "$CC" -x assembler-with-cpp)"
}

# size FLAGS... : the machine code of 100 points; then the size of their "formats", "sites"
code()
{
	for i in $(seq 100); do
		echo "	CTR3(KTR_NET, \"point $i %d %d %d\", a, b, $i);"
	done | { printf '#include <sys/ktr.h>\nvoid f(int a, int b);\nvoid f(int a, int b)\n{\n\t(void)a; (void)b;\n'
		cat
		echo '}'; } >"$dir/source"
	"$CC" -x c -O2 -Ilib/include "$@" -c -o "$dir/out.o" "$dir/source" || return
	size -A "$dir/out.o" | awk '$1 == ".text" { text = $2 } $1 == "ktr_sites" { sites = $2 }
		END { printf "%d %d ", text, sites }'
	strings "$dir/out.o" | grep -c '^point '
}

# KTR-25, KTR-26, KTR-27: classes that KTR_COMPILE has no bit of cost nothing.
test_what_is_not_compiled_in_costs_nothing()
{
	local none

	none=$(code)
	result "KTR_COMPILE without the class is as no KTR" "$none" "$(code -DKTR '-DKTR_COMPILE=(~KTR_NET)')"
	result "KTR_COMPILE=0 is as no KTR" "$none" "$(code -DKTR -DKTR_COMPILE=0)"
	result "... when not optimized" "$(code -O0)" "$(code -O0 -DKTR -DKTR_COMPILE=0)"
	result "~0 compiles all in: sites and formats" "2400 100" "$(code -DKTR -DKTR_COMPILE=~0 | cut -d' ' -f2,3)"
	result "sites need no relocation when linked" 0 "$("$CC" -shared -fPIC -x c -O2 -Ilib/include -DKTR -o "$dir/out.so" \
		"$dir/source" && readelf -rW "$dir/out.so" | grep -c ktr_sites)"
}

# KTR-10, KTR-12, KTR-14, KTR-25, KTR-F02: what must not compile.
test_refusals()
{
	printf '#include <sys/ktr.h>\nvoid f(int c);\nvoid f(int c) { CTR6(KTR_DEV, "", 1, 2, 3, 4, 5, c); }\n' >"$dir/source"
	result "CTR6 is refused" yes "$(refused KTR_CTR6 "$CC" -x c -DKTR)"
	result "CTR6 with KTR_CTR6" yes "$(compiles "$CC" -x c -DKTR -DKTR_CTR6 -Wno-format-extra-args -Wno-format-zero-length)"
	printf '#include <sys/ktr.h>\nvoid f(int c);\nvoid f(int c) { CTR0(c, ""); }\n' >"$dir/source"
	result "a class that is not constant is refused" yes "$(refused constant "$CC" -x c -DKTR -O2)"
	echo '#include <sys/ktr.h>' >"$dir/source"
	result "KTR_SIZE: no power of two" yes "$(refused 'KTR_SIZE is not a power of two' "$CC" -x c -DKTR -DKTR_SIZE=1000)"
	result "KTR_SIZE: too large" yes "$(refused 'KTR_SIZE is more than' "$CC" -x c -DKTR -DKTR_SIZE=2147483648)"
	result "KTR_ENTRIES: no power of two" yes "$(refused 'KTR_ENTRIES is not' "$CC" -x c -DKTR -DKTR_ENTRIES=3)"
	result "KTR_SIZE against KTR_ENTRIES" yes "$(refused '64 times' "$CC" -x c -DKTR -DKTR_ENTRIES=4 -DKTR_SIZE=64)"
	printf '#include <sys/ktr.h>\nvoid f(void);\nvoid f(void) { KTR_EVENT4(KTR_DEV, "g", "i", "%%s", "s", "%%d", 1, "%%d", 2, "%%d", 3, "%%d", 4); }\n' \
		>"$dir/source"
	result "KTR_EVENT4 drops with a warning" yes "$(refused 'fourth attribute' "$CC" -x c -DKTR -Werror)"
	result "KTR_EVENT4 with KTR_CTR6" yes "$(compiles "$CC" -x c -DKTR -DKTR_CTR6 -Wall -Werror)"
}

# KTR-44, KTR-46: compilers compare formats with arguments.
test_formats_are_checked()
{
	printf '#include <sys/ktr.h>\nvoid f(long l);\nvoid f(long l) { CTR1(KTR_DEV, "%%d", l); }\n' >"$dir/source"
	result "a long for %d" yes "$(refused format= "$CC" -x c -DKTR -Wall -Werror)"
	printf '#include <sys/ktr.h>\nvoid f(long l);\nvoid f(long l) { CTR1(KTR_DEV, "%%d%%d", 1); (void)l; }\n' >"$dir/source"
	result "an argument that is missing" yes "$(refused format= "$CC" -x c -DKTR -Wall -Werror)"
}

# program FLAGS... : tests/ktr/show with these options, run; its first line's fields
program()
{
	local fields=$1
	shift
	"$CC" -D_GNU_SOURCE -O2 -Ilib/include "$@" -o "$dir/show" tests/ktr/show.c "$out/lib/libktr.a" || return
	"$dir/show" clk 1 >"$dir/shown"
	for field in $fields; do
		head -n1 "$dir/shown" | grep -oE "\\b$field=[^ ]*"
	done | tr '\n' ' '
}

# KTR-11, KTR-13, KTR-40, KTR-42, KTR-78, KTR-F01, KTR-F04, KTR-F05: options of one file reach the library.
test_options_reach_the_library()
{
	result "KTR_SIZE" "entries=64 " "$(program entries -DKTR_SIZE=4096)"
	result "KTR_SIZE, an expression" "entries=128 " "$(program entries '-DKTR_SIZE=(2*4096)')"
	result "KTR_ENTRIES" "entries=16 " "$(program entries -DKTR_ENTRIES=16)"
	result "the page's least KTR_SIZE" "entries=1 " "$(program entries -DKTR_SIZE=32)"
	result "the environment counts more" "entries=2048 " "$(KTR_SIZE=131072 program entries -DKTR_SIZE=4096)"
	result "KTR_COMPILE" "compile=0xffffffff " "$(program compile -DKTR_COMPILE=~0)"
	result "KTR_MASK" "700 " "$(program - -DKTR_MASK=KTR_CLK; sed 1d "$dir/shown" | tr '\n' ' ')"
	result "KTR_OLDCPU: no counter, no rseq" "clock=coarse rseq=0 " "$(program 'clock rseq' -DKTR_OLDCPU)"
	result "... traces" "101 700 1 " "$(KTR_MASK=all taskset -c "$cpu" "$dir/show" clk 1 | sed 1d | tr '\n' ' ')"
	result "KTR_CPUMASK" "cpumask=0x2 " "$(program cpumask -DKTR_CPUMASK=2,0xff)"
	result "KTR_VERBOSE" "verbose=1 " "$(program verbose -DKTR_VERBOSE=1 2>/dev/null)"
	printf '#define KTR\n#define KTR_DEFINE_OPTIONS\n#undef KTR_SIZE\n#define KTR_SIZE 128\n#include <sys/ktr.h>\n' >"$dir/options.c"
	result "KTR_DEFINE_OPTIONS chooses the file" "entries=2 " "$(program entries -DKTR_SIZE=4096 -x c "$dir/options.c" -x none)"
	"$CC" -D_GNU_SOURCE -O2 -Ilib/include -DKTR_SIZE=256 -fvisibility=hidden -o "$dir/show" tests/ktr/show.c -L"$out/lib" -lktr \
		-Wl,-rpath,"$(realpath "$out/lib")"
	result "to the shared library as well" 4 "$("$dir/show" | sed -n 's/entries=\([0-9]*\).*/\1/p')"
}

# Every way to link, by both compilers: formats are found, entries are made.
test_linking()
{
	local compiler flags

	for compiler in "$CC" clang-14; do
		have "$compiler" "linking with $compiler" || continue
		for flags in "-static" "-static-pie -fPIC" "-no-pie -fno-pic" "-pie -fPIE -O2" "-O0" "-O2 -flto" "-O2 -Wl,--gc-sections -ffunction-sections"; do
			# shellcheck disable=SC2086 # are words
			"$compiler" -Ilib/include $flags -w -o "$dir/page" tests/ktr/page.c "$out/lib/libktr.a" 2>"$dir/log"
			result "$compiler $flags" "lpopen(dev=3)" "$(KTR_VERBOSE=1 "$dir/page" 2>&1 | sed -n '1s/cpu[0-9]* //p'; cat "$dir/log")"
		done
	done
}

# A plugin brings libktr along, which stays when the plugin goes; its objects are in the file.
test_plugins()
{
	printf '#define KTR\n#include <sys/ktr.h>\nvoid f(int);\nvoid f(int i) { CTR1(KTR_DEV, "plugin %%d", i); }\n' >"$dir/plugin.c"
	cat >"$dir/main.c" <<-'END'
		#include <dlfcn.h>
		int main(int argc, char *argv[])
		{
			void *plugin = dlopen(argv[1], RTLD_NOW);
			void (*f)(int) = plugin ? dlsym(plugin, "f") : 0;

			if (!f)
				return argc;
			f(7);
			dlclose(plugin);
			plugin = dlopen(argv[1], RTLD_NOW);
			f = dlsym(plugin, "f");
			f(8);
			return 0;
		}
	END
	"$CC" -shared -fPIC -O2 -Ilib/include -o "$dir/plugin.so" "$dir/plugin.c" -L"$out/lib" -lktr \
		-Wl,-rpath,"$(realpath "$out/lib")"
	"$CC" -w -o "$dir/main" "$dir/main.c" -ldl
	KTR_FILE=$dir/trace "$dir/main" "$dir/plugin.so"
	result "a plugin's trace points" "7 8 " "$("$out/tests/ktr/show" -f "$dir/trace" | sed 1d | tr '\n' ' ')"
	result "the plugin is among the objects" 1 "$(strings "$dir/trace" | grep -c 'r--p 00000000 .*/plugin.so$')"
}

# KTR-42, KTR-54, KTR-55, KTR-56, KTR-57, KTR-58, KTR-59, KTR-60: assembly, with the page's example.
test_assembly()
{
	local expected="10 asm_points.S: AP_STARTED, unit id=%x: 42
1 asm_points.S: none: 0
10 asm_points.S: in data %d: 2
1 asm_points.S: by %fs %d: 3
1 asm_points.S: in data %d: 4"

	result "assembly" "$expected" "$(taskset -c "$cpu" "$out/tests/ktr/asm")"
	result "assembly, atomically" "$expected" "$(GLIBC_TUNABLES=glibc.pthread.rseq=0 taskset -c "$cpu" "$out/tests/ktr/asm")"
	result "assembly, nothing is traced" "" "$(KTR_SIZE=0 "$out/tests/ktr/asm" || true)"
	for flags in -static "-static-pie -fPIC" "-no-pie"; do
		# shellcheck disable=SC2086 # are words
		"$CC" -D_GNU_SOURCE -Ilib/include $flags -o "$dir/asm" tests/ktr/asm.c tests/ktr/asm_points.S "$out/lib/libktr.a"
		result "assembly $flags" "$expected" "$(taskset -c "$cpu" "$dir/asm")"
	done
}

# path FUNCTION: instructions to its first return, if nothing on the way calls, locks or traps
path()
{
	objdump -d --no-show-raw-insn "$out/lib/libktr.so.0" | awk -v f="<$1>:" '
		$2 == f { on = 1; next }
		on && /\t(call|lock|syscall|cpuid|rdtscp|mfence|lfence)/ { print "calls: " $0; exit }
		on { n++ }
		on && /\tret/ { print n; exit }'
}

# KTR-02, KTR-03, KTR-51: how many instructions a point takes, on and off.
test_instructions()
{
	local w0 w5 off

	[ "$(uname -m)" = x86_64 ] || return
	w0=$(path __ktr_w0)
	w5=$(path __ktr_w5)
	result "an entry takes at most 40 instructions ($w5)" yes "$([ "$w5" -le 40 ] && echo yes)"
	result "without arguments at most 30 ($w0), and fewer" yes "$([ "$w0" -le 30 ] && [ "$w0" -lt "$w5" ] && echo yes)"
	printf '#include <sys/ktr.h>\nvoid f(int a);\nvoid f(int a) { CTR5(KTR_NET, "%%d%%d%%d%%d%%d", a, 2, 3, 4, 5); }\n' >"$dir/source"
	compiles "$CC" -x c -O2 -fno-asynchronous-unwind-tables -fcf-protection=none -DKTR >/dev/null
	off=$(objdump -d --no-show-raw-insn "$dir/out.o" | awk '/<f>:/ { on = 1; next } on && NF { n++ } on && /\tret/ { print n; exit }')
	result "off: at most 3 instructions besides the return ($((off - 1)))" yes "$([ $((off - 1)) -le 3 ] && echo yes)"
	cat >"$dir/source" <<-'END'
		#define KTR
		#include <stdio.h>
		#include <sys/ktr.h>
		#include <sys/ptrace.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			int status, steps = 0;
			pid_t pid = fork();

			if (!pid) {
				ktr_mask = 0;
				ptrace(PTRACE_TRACEME, 0, 0, 0);
				__asm__ volatile("int3");
				CTR5(KTR_NET, "%d%d%d%d%d", (int)pid, 2, 3, 4, 5);
				__asm__ volatile("int3");
				_exit(0);
			}
			waitpid(pid, &status, 0);
			do {
				steps++;
				ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
				waitpid(pid, &status, 0);
			} while (WIFSTOPPED(status) && (ptrace(PTRACE_PEEKTEXT, pid,
				ptrace(PTRACE_PEEKUSER, pid, 16 * 8, 0) - 1, 0) & 0xff) != 0xcc && steps < 100);
			ptrace(PTRACE_KILL, pid, 0, 0);
			waitpid(pid, &status, 0);
			printf("%d\n", steps - 1);
			return 0;
		}
	END
	"$CC" -x c -O2 -Ilib/include -o "$dir/steps" "$dir/source" -x none "$out/lib/libktr.a"
	off=$("$dir/steps")
	result "off: at most 4 instructions are executed ($off)" yes "$([ "$off" -ge 1 ] && [ "$off" -le 4 ] && echo yes)"
}

# KTR-01: tracing makes no system call and interprets no format: 10000 points, as many calls as one.
test_no_system_calls()
{
	have strace "system calls" || return
	KTR_ENTRIES=1 strace -o "$dir/one" "$out/tests/ktr/show" 1 >/dev/null 2>&1
	KTR_ENTRIES=1 strace -o "$dir/many" "$out/tests/ktr/show" 10000 >/dev/null 2>&1
	result "no system call in a point" "$(wc -l <"$dir/one")" "$(wc -l <"$dir/many")"
}

# The version map and the library export the same names.
test_exports()
{
	result "exports" "$(sed -n 's/^\t\([a-z_0-9]*\);$/\1/p' lib/ktr/libktr.map | sort)" \
		"$(nm -D --defined-only "$out/lib/libktr.so" | sed -n 's/.* [TDBRVW] \(.*\)@@KTR_1.0$/\1/p' | sort)"
	result "soname" libktr.so.0 "$(readelf -d "$out/lib/libktr.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')"
}

cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
test_dialects
test_without_ktr
test_what_is_not_compiled_in_costs_nothing
test_refusals
test_formats_are_checked
test_options_reach_the_library
test_linking
test_plugins
test_assembly
test_instructions
test_no_system_calls
test_exports
echo "1..$n"
exit $failed
