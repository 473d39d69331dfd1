#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares a report (CSV on standard input) with what the program says of itself: accuracy.py FIGURES.

Each share has to be within a third of itself: time that a host takes from a virtual machine is on
the clocks and in no sample.  Prints each comparison."""
import csv
import sys

own = {name: int(ns) for name, ns in (line.split() for line in open(sys.argv[1]))}
sampled, objects = {}, {}
for row in csv.DictReader(sys.stdin):
    if row["process"] == "hot":
        sampled[row["function"]] = sampled.get(row["function"], 0) + int(row["total"])
        objects[row["function"]] = row["object"]

bad = []
all_ns, n = sum(own.values()), sum(sampled.get(name, 0) for name in own)
if n < 1000:
    sys.exit(f"{n} samples are too few to say anything: {sampled}")
for name, ns in own.items():
    share, found = ns / all_ns, sampled.get(name, 0) / n
    bound = share / 3
    line = f"{name} of {objects.get(name)}: {share:.4f} by its clock, {found:.4f} of {n} samples"
    print(line)
    if abs(share - found) > bound:
        bad.append(f"{line}: more than {bound:.4f} apart")
# Inlined code takes nearly all of the time of its function, and never more.
if not 0.95 * sampled.get("outside", 0) <= sampled.get("tight", 0) <= sampled.get("outside", 0):
    bad.append("tight and outside differ")
sys.exit("\n".join(bad) if bad else 0)
