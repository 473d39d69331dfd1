#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/summary and tests/vm/matrix: what they count, and the lines that show progress.  TAP.

set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=/dev/null
. util/tap.bash

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
failed=0
unset PMCBPF_PROGRESS PMCBPF_VM_KERNELS

# --- summary ----------------------------------------------------------------------------------------

# A make whose suites write progress beside their TAP.
cat >"$dir/make" <<'EOF'
#!/usr/bin/env bash
case $2 in
check-slow)
	echo 1..2
	echo 'ok 1 first'
	echo '   a-guest first.bats: 1 ok, 0 not ok, 7 s' >&"$PMCBPF_PROGRESS"
	echo 'ok 2 second # skip no reason'
	echo 1..1
	echo 'ok 1 of another file' ;;
check-bad)
	echo 1..2
	echo '   a-guest bad.bats: 9 ok, 9 not ok, 9 s' >&"$PMCBPF_PROGRESS"
	echo 'not ok 1 it'
	exit 1 ;;
esac
EOF
chmod +x "$dir/make"
out=$(MAKE="$dir/make" ../summary "$dir/logs" 'slow bad' slow)
# shellcheck disable=SC2001 # a number in the middle
result "summary: a suite's progress is shown while it runs, and counts for nothing" "0
== slow (output: $dir/logs/slow.log)
   a-guest first.bats: 1 ok, 0 not ok, 7 s
    skipped 1: no reason
   2 passed, 0 failed, 1 skipped, N s
2 passed, 0 failed, 1 skipped" "$?
$(sed 's/skipped, [0-9]* s$/skipped, N s/' <<<"$out")"
result "summary: progress is not in the log" "" "$(grep guest "$dir/logs/slow.log")"
out=$(MAKE="$dir/make" ../summary "$dir/logs" 'slow bad' slow bad)
result "summary: what was planned and never reported has failed; the last line sums up" \
	"1 2 passed, 2 failed, 1 skipped" "$? $(tail -n 1 <<<"$out")"

# The sums of several runs in one line, as .ci/run ends: what did not get that far has failed.
mkdir -p "$dir/ci/.ci" "$dir/ci/packaging"
cp ../../.ci/run "$dir/ci/.ci"
cat >"$dir/ci/make" <<EOF
#!/usr/bin/env bash
case \$*\$BREAK in
check) MAKE=$dir/make $PWD/../summary $dir/logs 'slow bad' slow bad ;;
check-install) MAKE=$dir/make $PWD/../summary $dir/logs 'slow bad' slow ;;
check-installbroken) echo no network; exit 2 ;;
*) MAKE=$dir/make $PWD/../summary $dir/logs 'slow bad' slow ;;
esac
EOF
chmod +x "$dir/ci/make"
ci() {
	out=$(PATH=$dir/ci:$PATH BREAK=${1-} "$dir/ci/.ci/run")
	status=$?
	tail -n 1 <<<"$out"
	return $status
}
result "ci: the last line sums both runs" "4 passed, 2 failed, 2 skipped 1" "$(ci) $?"
result "ci: all is well only if both runs are" "4 passed, 0 failed, 2 skipped 0" "$(ci well) $?"
result "ci: a run that ends before its sums has failed" "2 passed, 1 failed, 1 skipped 1" "$(ci broken) $?"

# --- matrix -----------------------------------------------------------------------------------------

# The script beside fake kernels, and a fake bats whose results are known.
mkdir "$dir/vm"
cp ../vm/matrix "$dir/vm"
printf '#!/bin/sh\nprintf "one\\ntwo\\n"\n' >"$dir/vm/fetch"
cat >"$dir/bats" <<'EOF'
#!/usr/bin/env bash
# A guest that it starts would keep such a descriptor open.
[ -z "${PMCBPF_PROGRESS:-}" ] || echo 'bats has PMCBPF_PROGRESS'
for fd in /proc/self/fd/*; do
	[ "$(readlink "$fd")" != "$PROGRESS_FILE" ] || echo "bats has progress as $fd"
done
echo 1..2
echo "ok 1 $BATS_TEST_NAME_PREFIX${2##*/} in 3ms"
case $PMCBPF_VM_KERNEL$2 in
two*b.bats) echo 'not ok 2 it'; exit 1 ;;
*) echo 'ok 2 that' ;;
esac
EOF
chmod +x "$dir/vm/fetch" "$dir/bats"
: >"$dir/a.bats"
: >"$dir/b.bats"
export PROGRESS_FILE=$dir/progress
out=$(PATH=$dir:$PATH PMCBPF_PROGRESS=19 "$dir/vm/matrix" "$dir/a.bats" "$dir/b.bats" 19>"$PROGRESS_FILE")
result "matrix: it fails where a file does" 1 $?
result "matrix: a line for each guest and file as it ends" "   one a.bats: 2 ok, 0 not ok, N s
   one b.bats: 2 ok, 0 not ok, N s
   two a.bats: 2 ok, 0 not ok, N s
   two b.bats: 1 ok, 1 not ok, N s" "$(sed 's/[0-9]* s$/N s/' "$PROGRESS_FILE")"
result "matrix: the output is that of all files, with what failed at its end" "1..2
ok 1 one: a.bats in 3ms
ok 2 that
1..2
ok 1 one: b.bats in 3ms
ok 2 that
# N s: one
1..2
ok 1 two: a.bats in 3ms
ok 2 that
1..2
ok 1 two: b.bats in 3ms
not ok 2 it
# N s: two
matrix: 2 guests, N s; failed: two" "$(sed -E 's/^(#) [0-9]+ s: ([a-z]*).*/\1 N s: \2/; s/[0-9]+ s;/N s;/' <<<"$out")"
PATH=$dir:$PATH "$dir/vm/matrix" --kernel one "$dir/a.bats" 2>"$dir/stderr" >/dev/null
result "matrix: by hand the lines are on standard error" "0    one a.bats: 2 ok, 0 not ok, N s" \
	"$? $(sed 's/[0-9]* s$/N s/' "$dir/stderr")"

echo "1..$n"
exit $failed
