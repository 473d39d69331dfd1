# SPDX-License-Identifier: BSD-2-Clause
# reportlog.py LIBRARY MEMCPY PROGRAM COPY_IN MAIN - a log of 200 samples in the functions
# at these offsets: 120 in memcpy, 90 of them called by copy_in that main called, 80 in main.
import struct
import sys

from logrecord import initialize, record

PMC, PID, LIB, EXE = 0xfff20f02, 10, 0x7f0000000000, 0x550000000000
library, program = sys.argv[1], sys.argv[3]
memcpy, copy_in, main = (int(sys.argv[i], 16) for i in (2, 4, 5))
now = 0


def mapped(start, path):
    return record(14, struct.pack("<iIQ", PID, 0, start) + path.encode() + b"\0")


def sample(cpu, *pcs):
    global now
    now += 10**7
    return record(16, struct.pack("<IIII%dQ" % len(pcs), PID, PID + cpu, PMC, cpu << 16 | 1, *pcs), now)


out = initialize()
out += record(17, struct.pack("<IIII64s", PMC, 0, 0x80, 0, b"CPU_CLK_UNHALTED_CORE"))
out += record(9, struct.pack("<iIQQ", PID, PMC, 0, 0) + program.encode() + b"\0")
out += mapped(LIB, library) + mapped(EXE, program)
for i in range(90):
    out += sample(0, LIB + memcpy + 1, EXE + copy_in + 2, EXE + main + 2)
for i in range(30):
    out += sample(0, LIB + memcpy + 1)
for i in range(80):
    out += sample(1, EXE + main + 1)
out += record(1, b"", now)
sys.stdout.buffer.write(out)
