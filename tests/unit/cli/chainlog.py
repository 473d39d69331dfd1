# SPDX-License-Identifier: BSD-2-Clause
# chainlog.py CHAIN...: a log with a sample for each argument, COUNT:FLAGS:ADDRESS,ADDRESS,...; flags are those of
# PMC_CC_F_*, the end of the chain included.  The program is mapped at 0x550000000000.
import struct
import sys

from logrecord import initialize, record

PMC, PID, EXE = 0xfff20f02, 10, 0x550000000000

out = initialize()
out += record(17, struct.pack("<IIII64sQ", PMC, 0, 0x180, 0, b"CLOCK.PROF", 1))
out += record(9, struct.pack("<iIQQ", PID, PMC, 0, 0) + b"/none/demo\0")
out += record(14, struct.pack("<iIQ", PID, 0, EXE) + b"/none/demo\0")
for chain in sys.argv[1:]:
    count, flags, pcs = chain.split(":")
    pcs = [int(pc, 0) for pc in pcs.split(",")]
    pcs = [pc if pc >> 63 else EXE + pc for pc in pcs]
    out += record(16, struct.pack("<IIII%dQ" % len(pcs), PID, PID, PMC, int(flags, 0), *pcs)) * int(count)
out += record(1, b"")
sys.stdout.buffer.write(out)
