# SPDX-License-Identifier: BSD-2-Clause
# mkprofile.py PROGRAM: a log of today's format with samples in PROGRAM's functions hot and warm, which
# main calls, in the kernel, and in a process whose names and addresses nobody likes.
import struct
import subprocess
import sys

from logrecord import initialize, record

WORK, KERNEL, BASE = 0x000f2000, 0xffffffff81000000, 0x7f0000000000
FAULT, PERIOD = 0xfff20f02, 1000


def map_in(pid, start, path):
    return record(14, struct.pack("<iIQ", pid, 0, start) + path + b"\0")


def chain(pid, tid, pmc, *addresses):
    user = not addresses[0] >> 63
    return record(16, struct.pack("<IIII", pid, tid, pmc, user) + struct.pack(f"<{len(addresses)}Q", *addresses))


# Functions as offsets in the file, by its program headers.
elf = open(sys.argv[1], "rb").read()
at, size, count = struct.unpack_from("<32xQ14xHH", elf)
loads = []
for i in range(count):
    kind, offset, address, length = struct.unpack_from("<I4xQQ8xQ", elf, at + i * size)
    if kind == 1:
        loads.append((address, length, offset))
function = {}
for line in subprocess.run(["nm", sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
    value, kind, name = line.rsplit(" ", 2)
    if kind in "tT":
        for address, length, offset in loads:
            if address <= int(value, 16) < address + length:
                function[name] = BASE + int(value, 16) - address + offset
hot, warm, main = function["hot"] + 4, function["warm"] + 4, function["main"] + 8

out = initialize()
out += record(5, struct.pack("<IIIIQ", WORK, 0x01000001, 0x80, 0, PERIOD))
out += record(17, struct.pack("<IIII64s", FAULT, 0, 0x80, 0, b"PAGE_FAULT.ALL"))
out += record(20, struct.pack("<iI20s", 10, 0, b"work"))
out += record(18, struct.pack("<iiII20s", 11, 10, 0, 0, b"worker"))
out += record(20, struct.pack("<iI20s", 20, 0, b'<b>;"\n\xff]]>'))
out += map_in(-1, KERNEL, b"[kernel.kallsyms]") + map_in(-1, KERNEL + 0x1000, b"[kernel.kallsyms]schedule")
out += map_in(10, BASE, sys.argv[1].encode())
out += map_in(20, BASE, b'/none/<i>,"\n\xff]]>')
out += chain(10, 10, WORK, hot, main) * 600
out += chain(10, 11, WORK, warm, main) * 300
out += chain(10, 10, WORK, KERNEL + 0x1010, main) * 95
out += chain(20, 20, WORK, BASE + 0x10) * 5
out += chain(10, 10, FAULT, hot, main) * 7
out += record(1, b"")
sys.stdout.buffer.write(out)
