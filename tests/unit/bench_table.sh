#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What tests/bench/run says of figures, goals and what was left out.  TAP.

set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=/dev/null
. util/tap.bash

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
failed=0

# A benchmark of known figures; without root, run asks sudo.
cat >"$dir/bench" <<'EOF'
#!/bin/sh
printf 'figure\tone\tns\t30\t30\t30\tperf\t100\t100\t100\tratio\t0.5\n'
printf 'figure\ttwo\tns\t80\t80\t80\tperf\t100\t100\t100\tratio\t0.5\n'
printf 'left\treport: python3 not found here\n'
printf 'figure\tthree\tms\t7\t7\t7\t-\t-\t-\t-\tvalue\t5\n'
printf 'note\tno PMU\n'
printf 'left\tsample: measured beside perf\n'
printf 'figure\tfour\tus\t9\t9\t9\tbare\t5\t5\t5\tdifference\t3\n'
printf 'figure\tfive\tus\t9\t9\t9\t-\t-\t-\t-\tnone\t0\n'
[ ! -e broken ]
EOF
printf '#!/bin/sh\nexec "$@"\n' >"$dir/sudo"
chmod +x "$dir/bench" "$dir/sudo"
measure() { (cd "$dir" && PATH=$dir:$PATH "$OLDPWD/../bench/run" --bench ./bench --daemon none --json json 2>&1); }

out=$(measure)
result "missed goals and what was left out are no failure, and are named at the end" "0
note: no PMU
left out: report: python3 not found here
left out: sample: measured beside perf
goal missed: two: 80.0 ns, 0.80 x perf; goal <= 0.5 x
goal missed: three: 7.00 ms; goal <= 5
goal missed: four: 9.00 us, bare takes 5.00; goal <= +3
5 figures; 1 goals met, 3 missed; 2 left out" "$?
$(tail -n 7 <<<"$out")"
result "the file for programs has them, too" "ok over over over none
report: python3 not found here; sample: measured beside perf" "$(python3 -c 'import json, sys
all = json.load(open(sys.argv[1]))
print(*[f["verdict"] or "none" for f in all["figures"]])
print(*all["left_out"], sep="; ")' "$dir/json")"
: >"$dir/broken"
out=$(measure)
result "a measurement that fails is an error" "1 bench: the measurement failed" "$? $(tail -n 1 <<<"$out")"

echo "1..$n"
exit $failed
