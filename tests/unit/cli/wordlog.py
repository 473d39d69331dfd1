# SPDX-License-Identifier: BSD-2-Clause
# wordlog.py WORD... - a log made of words: NAME=RATE is another PMC, numbered from 1, N a sample of PMC N, N:PERIOD one
# with a period of its own, "end" the log's end.
import struct
import sys

from logrecord import initialize, record

out, pmcs = initialize(), 0
for word in sys.argv[1:]:
    if "=" in word:
        name, rate = word.split("=")
        pmcs += 1
        out += record(17, struct.pack("<IIII64sQ", pmcs, 0, 0x80, 0, name.encode(), int(rate)))
    elif word == "end":
        out += record(1, b"")
    else:
        pmc, _, period = word.partition(":")
        if period:
            out += record(0x41, struct.pack("<IIQ", int(pmc), 1, int(period)))
        out += record(16, struct.pack("<IIIIQ", 7, 7, int(pmc), 1, 0x401000))
sys.stdout.buffer.write(out)
