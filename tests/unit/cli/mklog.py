# SPDX-License-Identifier: BSD-2-Clause
# A small log of today's format, made of bytes: two PMCs of one event (with a period) on two CPUs, one
# of another without, three processes, one of them never named.
import struct
import sys

from logrecord import initialize, record

A0, A1, B = 0x000f2000, 0x001f2001, 0xfff20f02


def sample(pid, tid, pmc, cpu):
    return record(16, struct.pack("<IIIIQQ", pid, tid, pmc, cpu << 16 | 1, 0x401000, 0x402000))


def dyn(pmc, name):
    return record(17, struct.pack("<IIII64s", pmc, 0, 0x80, 0, name))


out = initialize()
for pmc in (A0, A1):
    out += record(5, struct.pack("<IIIIQ", pmc, 0x01000001, 0x80, 0, 1000))
out += dyn(B, b"CLOCK.PROF")
out += record(9, struct.pack("<iIQQ", 10, B, 0, 0) + b"/usr/bin/alpha\0")
out += record(20, struct.pack("<iI20s", 20, 0, b"beta"))
out += record(18, struct.pack("<iiII20s", 21, 20, 0, 0, b"worker"))
out += record(11, struct.pack("<ii", 10, 11))
out += sample(10, 10, A0, 0) * 3 + sample(11, 11, A1, 1) + sample(20, 21, A1, 1) * 2
out += sample(20, 20, B, 1) + sample(30, 30, B, 0) * 2
out += record(1, b"")
sys.stdout.buffer.write(out)
