#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the kernel functions that a log names with /proc/kallsyms: named.py <TEXT-OF-LOG.

Every kernel address of a sample has to be in a function that the log names, as the kernel does, once.
BPF programs, which have gone meanwhile, are not looked at.  Prints how many addresses there were."""
import bisect
import collections
import re
import sys

known = collections.defaultdict(set)
with open("/proc/kallsyms") as f:
    for line in f:
        address, kind, name, *module = line.split()
        if kind in "tTwW":
            known[int(address, 16)].add("".join(module or ["[kernel.kallsyms]"]) + name)
starts = sorted(known)
end = next(a for a, names in known.items() if "[kernel.kallsyms]_etext" in names)

told, seen, bad, depth = {}, set(), [], 0
for line in sys.stdin:
    word = line.split()
    if word[0] == "callchain":
        depth = 0
    elif word[0] == "...":
        if int(word[1], 16) >> 63:
            seen.add(int(word[1], 16) - (depth > 0))
        depth += 1
    elif m := re.match(r'map-in +-1 0x([0-9a-f]+) "(\[.*\].+)"', line):
        if int(m[1], 16) in told:
            bad.append("twice: " + line)
        told[int(m[1], 16)] = m[2]

for start, name in told.items():
    if not name.startswith("[bpf]") and name not in known[start]:
        bad.append(f"0x{start:x} is not {name}")
for address in seen:
    start = starts[bisect.bisect(starts, address) - 1]
    if address < end and start not in told:
        bad.append(f"0x{address:x} has no name, it is in {known[start]}")
print(len(seen))
sys.exit("\n".join(bad) if bad else 0)
