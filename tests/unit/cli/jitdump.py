# SPDX-License-Identifier: BSD-2-Clause
# jitdump.py DUMP LOG - a jitdump of three functions, one record that contradicts itself and an incomplete one, and the
# log of a process that has mapped it, with a sample in each function and one elsewhere.
import struct
import sys

from logrecord import initialize, record

BASE = 0x7f0000000000


def load(address, size, name):
    body = struct.pack("<IIQQQQ", 10, 10, address, address, size, 0) + name + b"\0" + b"\x90" * size
    return struct.pack("<IIQ", 0, 16 + len(body), 1) + body


dump = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 10, 0, 0)
dump += load(BASE, 16, b"old") + load(BASE + 64, 16, b"Lcom/Example;.run")
dump += struct.pack("<IIQ", 2, 24, 1) + bytes(8)
dump += load(BASE, 16, b"newer") + load(BASE + 128, 0, b"empty") + load(BASE + 192, 16, b"late")[:-3]
open(sys.argv[1], "wb").write(dump)

out = initialize()
out += record(17, struct.pack("<IIII64sQ", 1, 0, 0x80, 0, b"CLOCK.PROF", 1))
out += record(9, struct.pack("<iIQQ", 10, 1, 0, 0) + b"/none/java\0")
out += record(14, struct.pack("<iIQ", 10, 0, BASE - 0x10000) + b"/tmp/jit-10.dump\0")
for offset in (3, 64, 130, 195):
    out += record(16, struct.pack("<IIIIQ", 10, 10, 1, 1, BASE + offset))
open(sys.argv[2], "wb").write(out + record(1, b""))
