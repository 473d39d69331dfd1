# SPDX-License-Identifier: BSD-2-Clause
#
# pmcannotate: logs of known hits in programs compiled here; objdump is the oracle for instructions.

load helpers

annotate() { "$BUILD/bin/pmcannotate" "$@"; }

# A program whose name no shell would survive unquoted.
PROGRAM=$'a b\n"c" $(touch evil) & <d>'

setup_file() {
	export DIR=$BATS_FILE_TMPDIR MKHITS=$BATS_TEST_DIRNAME/mkhits.py
	cd "$DIR" || return
	cat >hot.c <<-'C'
	static inline __attribute__((always_inline)) unsigned mix(unsigned x)
	{
		x ^= x << 13;
		return x ^ x >> 17; /* "<&> */
	}

	__attribute__((noinline)) unsigned grind(unsigned n)
	{
		unsigned x = 1;

		for (unsigned i = 0; i < n; i++)
			x = mix(x);
		return x;
	}

	int main(int argc, char *argv[])
	{
		return (int)grind((unsigned)argc);
	}
	C
	cat >hot.cc <<-'C'
	namespace deep {
	template <typename T> __attribute__((noinline)) T twice(T n)
	{
		return n * 2;
	}
	}
	int main(int argc, char **)
	{
		return deep::twice<int>(argc);
	}
	C
	gcc -O1 -g -Wl,--build-id -o "$PROGRAM" hot.c
	gcc -O2 -g -Wl,--build-id -DOTHER -o other hot.c
	gcc -O1 -g -Wl,--build-id=none -o plain hot.c
	gcc -O1 -s -Wl,--build-id -o stripped hot.c
	g++ -O1 -g -Wl,--build-id -o cxx hot.cc
}

# id FILE: its build id
id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }

# hits FILE [EVENT:WHERE[*COUNT]]...: a log with these samples; WHERE is an offset, or NAME+N
hits() {
	local file=$1 word words=() name rest at
	shift
	for word; do
		name=${word#*:}
		if [[ $name == *+* ]]; then
			rest=${name#*+}
			name=${name%%+*}
			at=$(nm "$file" | awk -v name="$name" '$3 == name { print $1 }')
			word="${word%%:*}:$((16#$at + ${rest%\**}))*${rest#*\*}"
		fi
		words+=("$word")
	done
	python3 "$MKHITS" "$(realpath "$file")" "$(id "$file")" "${words[@]}" >log
}

# instructions NAME: objdump's "address hits", one on each line
addresses() { objdump -d --no-show-raw-insn "$1" | awk -v f="<$2>:" '$2 == f { on = 1; next } /^$/ { on = 0 }
	on { sub(":", "", $1); print $1 }'; }

@test "the functions, most samples first, each instruction with its share of all samples" {
	hits "$DIR/$PROGRAM" CLOCK:grind+0*10 CLOCK:main+0*30 CLOCK:-*60
	begins 0 'Profile trace for function: main() [30.00%]' annotate -a log "$DIR/$PROGRAM"
	[[ ${lines[1]} =~ ^'30.00%'$'\t''|     '[0-9a-f]+: ]]
	[ "$(grep -c '^Profile trace' <<<"$output")" -eq 2 ]
	grep -qx 'Profile trace for function: grind() \[10.00%\]' <<<"$output"
	[ "$(grep -c '^[0-9]' <<<"$output")" -eq 2 ]
	# An empty line behind each.
	annotate -a log "$DIR/$PROGRAM" | awk '/^$/ { n++ } END { exit n != 2 }'
	# Nothing in the name was executed.
	[ ! -e evil ]
}

@test "every instruction of a function, as objdump prints it" {
	hits "$DIR/$PROGRAM" CLOCK:grind+0*1
	cp "$DIR/$PROGRAM" file
	addresses file grind >theirs
	[ "$(wc -l <theirs)" -ge 8 ]
	annotate -a log "$DIR/$PROGRAM" | sed -n 's/^[^|]*|  *\([0-9a-f]*\):\t.*/\1/p' >ours
	cmp ours theirs
	# All bytes of an instruction in one line; by default objdump makes two lines of long ones, which compilers
	# use to align.
	objdump -d --insn-width=16 file | awk -F'\t' '/<grind>:/ { on = 1 } /^$/ { on = 0 } on && NF > 1 { gsub(/ /, "", $2); print $2 }' >bytes
	annotate -a log "$DIR/$PROGRAM" | awk -F'\t' 'NF > 3 { gsub(/ /, "", $3); print $3 }' | cmp - bytes
	# A call has its target.
	hits "$DIR/$PROGRAM" CLOCK:main+0*1
	annotate -a log "$DIR/$PROGRAM" | grep -q 'call.* <grind>$'
}

@test "the shares of a log match its addresses, counted separately" {
	words=()
	cp "$DIR/$PROGRAM" file
	n=0
	for at in $(addresses file grind) $(addresses file main); do
		n=$((n + 1))
		words+=("CLOCK:$((16#$at))*$((n * 7))")
		echo "$at $((n * 7))" >>counted
	done
	hits "$DIR/$PROGRAM" "${words[@]}" CLOCK:-*100
	awk '{ n[$1] = $2; sum += $2 } END { for (a in n) printf "%s %.2f%%\n", a, 100 * n[a] / (sum + 100) }' counted |
		sort >wanted
	annotate -a -l 0 log "$DIR/$PROGRAM" | sed -n 's/^\([0-9.]*%\)\t| *\([0-9a-f]*\):\t.*/\2 \1/p' | sort >shown
	cmp shown wanted
}

@test "source before its instructions, with their sum; inlined functions by name and place" {
	cp "$DIR/$PROGRAM" file
	mapfile -t all < <(addresses file grind)
	n=${#all[@]}
	hits "$DIR/$PROGRAM" "${all[@]/#/CLOCK:0x}"
	annotate log "$DIR/$PROGRAM" >out
	grep -q $'^[0-9.]*%\t| x \\^= x << 13;$' out
	grep -qx $'\t| mix, inlined at .*hot.c:12:' out
	# Each chunk's line has the sum of its instructions, and all of the code is there once.
	[ "$(grep -c $'| *[0-9a-f]*:\t' out)" -eq "$n" ]
	awk -F'[%\t]' '/^Profile/ || /\| mix,/ || /\| grind:/ { next }
		/\| *[0-9a-f]+:\t/ { left -= $1; next }
		$1 != "" { if (left > 0.05 || left < -0.05) bad = 1; left = $1 }
		END { exit bad || left > 0.05 || left < -0.05 }' out
	# Lines alone: all code of a line in one place.
	annotate --lines log "$DIR/$PROGRAM" >lines
	[ "$(grep -c 'x ^= x << 13' lines)" -eq 1 ]
	refute grep -q $'| *[0-9a-f]*:\t' lines
	awk -F% '/^[0-9]/ { sum += $1 } END { exit sum < 99.9 || sum > 100.1 }' lines
}

refute() { ! "$@" || { echo "unexpected success: $*" >&2; return 1; }; }

@test "C++ names are demangled; --function takes one without its arguments" {
	at=$(nm "$DIR/cxx" | awk '/twice/ { print $1 }')
	python3 "$MKHITS" "$DIR/cxx" "$(id "$DIR/cxx")" CLOCK:$((16#$at))*1 CLOCK:-*999 >log
	run -0 annotate log "$DIR/cxx"
	says "pmcannotate: no function of \"$DIR/cxx\" has 0.5% of the samples: -l shows those with less"
	begins 0 'Profile trace for function: int deep::twice<int>(int) [0.10%]' annotate -l 0.1 log "$DIR/cxx"
	run annotate --function 'int deep::twice<int>' log "$DIR/cxx"
	[ "${lines[0]}" = 'Profile trace for function: int deep::twice<int>(int) [0.10%]' ]
	run -1 annotate --function main log "$DIR/cxx"
	says "pmcannotate: no sample lies in a function \"main\" of \"$DIR/cxx\""
}

@test "several events are columns, --event chooses one" {
	hits "$DIR/$PROGRAM" FAULT:grind+0*1 CLOCK:grind+0*1 CLOCK:main+0*3
	begins 0 'Columns: CLOCK FAULT' annotate -a log "$DIR/$PROGRAM"
	[ "${lines[1]}" = 'Profile trace for function: grind() [ 25.00% 100.00%]' ]
	grep -q $'^ 75.00%        \t|  ' <<<"$output"
	begins 0 'Profile trace for function: grind() [100.00%]' annotate -a --event fault log "$DIR/$PROGRAM"
	run -1 annotate --event nothing log "$DIR/$PROGRAM"
	says 'pmcannotate: Impossible to generate an analysis: the log has no samples of "nothing", but of: CLOCK, FAULT'
}

@test "--html: a page that quotes all text, and lists its functions" {
	hits "$DIR/$PROGRAM" CLOCK:grind+0*1 CLOCK:main+0*3
	annotate --html page.html log "$DIR/$PROGRAM"
	python3 - "$PROGRAM" <<'PYTHON'
import html.parser, sys
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links, self.text, self.bars = set(), set(), [], [], []
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        self.ids.add(attrs.get("id"))
        assert not {"src", "onclick"} & set(attrs), attrs
        if tag == "a":
            self.links.append(attrs["href"])
        self.bars += [attrs["style"]] if "style" in attrs else []
    def handle_data(self, data):
        self.text.append(data)
page = Page()
page.feed(open("page.html").read())
text = "".join(page.text)
assert page.tags <= set("html meta title style h1 h2 p nav ol li a table tr th td".split()), page.tags
assert page.links == ["#f0", "#f1"] and {"f0", "f1"} <= page.ids, page.links
assert 'return x ^ x >> 17; /* "<&> */' in text
assert sys.argv[1].replace("\n", "?") in text
assert "main [75.00%]" in text and "grind [25.00%]" in text
assert page.bars.count("--w:100%") >= 2, page.bars
assert "http" not in text
PYTHON
	annotate --html - log "$DIR/$PROGRAM" | cmp - page.html
	run -1 annotate --html /nowhere/page log "$DIR/$PROGRAM"
	run -1 annotate --html /dev/full log "$DIR/$PROGRAM"
	says 'pmcannotate: ERROR: cannot write to "/dev/full": No space left on device'
}

@test "source in another folder, missing, or newer than the binary" {
	mkdir moved
	sed 's/unsigned x = 1/unsigned MOVED = 1/' "$DIR/hot.c" >moved/hot.c
	touch -d '2001-01-01' moved/hot.c
	hits "$DIR/$PROGRAM" CLOCK:grind+0*1
	annotate --source moved log "$DIR/$PROGRAM" 2>said | grep -q 'MOVED = 1'
	[ ! -s said ]
	touch moved/hot.c -d '+1 day'
	annotate --source moved log "$DIR/$PROGRAM" 2>&1 >/dev/null |
		grep -qx 'pmcannotate: WARNING: the source file ".*/hot.c" is newer than the binary: lines may have moved'
	run -0 --separate-stderr annotate --source "$BATS_TEST_TMPDIR/none" log "$DIR/$PROGRAM"
	[ "$(grep -c 'cannot be read below' <<<"$stderr")" -eq 1 ]
	grep -q "hot.c:12$" <<<"$output"
	grep -q $'^100.00%\t|  *[0-9a-f]*:\t' <<<"$output"
}

@test "another build of the binary is refused, unless --force; a missing build id is reported" {
	hits "$DIR/$PROGRAM" CLOCK:grind+0*1
	mkdir there
	cp "$DIR/other" "there/$PROGRAM"
	run -1 annotate log "there/$PROGRAM"
	[[ $output == 'pmcannotate: Impossible to generate an analysis: the log is of another build of '*"(build id $(id "$DIR/$PROGRAM")) than "*"($(id "$DIR/other")): give that one, or --force" ]]
	run -0 --separate-stderr annotate -a --force log "there/$PROGRAM"
	[[ $stderr == *'another build'*'what follows may be wrong' ]]
	[[ $output == 'Profile trace for function: '* ]]
	run -1 annotate log "$DIR/cxx"
	[[ $output == *"no sample lies in \"$DIR/cxx\"; most lie in "* ]]
	# The same build is accepted by any name.
	cp "$DIR/$PROGRAM" renamed
	run -0 --separate-stderr annotate -a log renamed
	[ -z "$stderr" ]
	python3 "$MKHITS" "$DIR/plain" - CLOCK:$((16#$(nm "$DIR/plain" | awk '$3 == "grind" { print $1 }')))*1 >log
	run -0 --separate-stderr annotate -a log "$DIR/plain"
	[[ $stderr == *'has no build id of'* ]]
	[ "${lines[0]}" = 'Profile trace for function: grind() [100.00%]' ]
}

@test "a stripped binary: addresses for names, with its instructions" {
	at=$(nm "$DIR/plain" | awk '$3 == "grind" { print $1 }')
	entry=$(readelf -h "$DIR/stripped" | awk '/Entry point/ { print $NF }')
	python3 "$MKHITS" "$DIR/stripped" "$(id "$DIR/stripped")" CLOCK:$((entry + 4))*3 CLOCK:$((entry))*1 >log
	run -0 --separate-stderr annotate log "$DIR/stripped"
	[ "${lines[0]}" = "$(printf 'Profile trace for function: 0x%x() [100.00%%]' "$((entry))")" ]
	[[ ${lines[1]} == "25.00%"$'\t'"| "*"$(printf %x "$((entry))"):"* ]]
	[[ $stderr == *'has no symbols: its functions are addresses' ]]
}

@test "missing files, ELF without code, damaged and hostile files: a line and status 1" {
	hits "$DIR/$PROGRAM" CLOCK:grind+0*1
	for file in /nowhere /dev/null / log "$DIR/hot.c"; do
		run -1 annotate log "$file"
		[ ${#lines[@]} -eq 1 ] && [[ $output == 'pmcannotate: Impossible to '*"\"$file\""* ]]
	done
	gcc -c -o object.o "$DIR/hot.c"
	gives_like 1 '*it is not linked*' annotate log object.o
	run -1 annotate /nowhere "$DIR/$PROGRAM"
	run -1 annotate "$DIR/hot.c" "$DIR/$PROGRAM"
	# Cut at many places; and whole, with bytes inverted.
	DIR=$DIR PROGRAM=$PROGRAM python3 - <<-'PYTHON'
	import os
	program = os.environ["PROGRAM"]
	whole = open(os.environ["DIR"] + "/" + program, "rb").read()
	for at in 16, 63, 64, 200, 900, 4100, 4500, 8000, len(whole) - 3000, len(whole) - 100:
	    turned = bytearray(whole)
	    for i in range(20 + at % 97, len(whole), 211):
	        turned[i] ^= 0xff
	    for how, data in ("cut", whole[:at]), ("turned", turned):
	        os.mkdir(f"{how}-{at}")
	        open(f"{how}-{at}/{program}", "wb").write(data)
	PYTHON
	for damaged in cut-* turned-*; do
		run annotate --force log "$damaged/$PROGRAM"
		[ "$status" -le 1 ] || { echo "$damaged: $status $output" >&2; false; }
	done
	[ "$damaged" != 'turned-*' ]
}

@test "a cut log: its samples are shown, with status 1" {
	hits "$DIR/$PROGRAM" CLOCK:grind+0*3
	head -c $(($(stat -c %s log) - 20)) log >short
	run -1 --separate-stderr annotate -a short "$DIR/$PROGRAM"
	[ "${lines[0]}" = 'Profile trace for function: grind() [100.00%]' ]
	[[ $stderr == *'what follows is of the log up to there'* ]]
}

@test "a log without its end is reported, and so is a kernel that is not there" {
	hits "$DIR/$PROGRAM" CLOCK:grind+0*3
	head -c -16 log >open
	run -0 --separate-stderr annotate -a open "$DIR/$PROGRAM"
	[ "${lines[0]}" = 'Profile trace for function: grind() [100.00%]' ]
	[ "$stderr" = 'pmcannotate: WARNING: "open" has no end: this listing is partial, it shows what was recorded before' ]
	gives 1 'pmcannotate: ERROR: Cannot locate kernel "/nonexistent": No such file or directory' \
		annotate -k /nonexistent log "$DIR/$PROGRAM"
	gives 1 'pmcannotate: ERROR: "/dev/null": Unsupported file type.' annotate -k /dev/null log "$DIR/$PROGRAM"
}

@test "a wrong command line prints one line, and as in FreeBSD is no failure" {
	for words in '' 'log' '-h' 'a b c' '-l'; do
		run -0 annotate $words
		[[ ${lines[-1]} == 'usage: pmcannotate '* ]]
	done
	gives 1 'pmcannotate: "101" is no percentage' annotate -l 101 log file
}

@test "a kernel: its own functions and instructions; another build's are refused" {
	cat >kernel.c <<-'C'
	__attribute__((section("__ksymtab"), used)) static volatile long exported = 1;
	void _text(void)
	{
	}
	void schedule(void)
	{
		for (;;)
			exported++;
	}
	void _start(void)
	{
		schedule();
	}
	C
	[ "$(uname -m)" != x86_64 ] || model=-mcmodel=kernel
	gcc -O1 -g -static -nostdlib -no-pie -fno-pie ${model:-} -Wl,--build-id -Wl,-Ttext=0xffffffff81000000 \
		-Wl,--section-start=__ksymtab=0xffffffff81200000 \
		-Wl,--section-start=.note.gnu.build-id=0xffffffff81300000 -o vmlinux kernel.c
	text=$(nm vmlinux | awk '$3 == "_text" { print $1 }')
	at=$(nm vmlinux | awk '$3 == "schedule" { print $1 }')
	python3 "$MKHITS" '[kernel.kallsyms]' "$(id vmlinux)" CLOCK:$((16#$at - 16#$text))*1 >log
	run -0 --separate-stderr annotate log vmlinux
	[ "${lines[0]}" = 'Profile trace for function: schedule() [100.00%]' ]
	grep -q $'^100.00%\t| *'"$at"':' <<<"$output"
	grep -q 'exported++;$' <<<"$output"
	python3 "$MKHITS" '[kernel.kallsyms]' "$(id "$DIR/other")" CLOCK:0*1 >log
	run -1 annotate log vmlinux
	[[ $output == *'another build of "[kernel.kallsyms]"'* ]]
}
