# SPDX-License-Identifier: BSD-2-Clause
# A log of samples in one file: mkhits.py PATH ID [EVENT:OFFSET[*COUNT]]... - the build id in hex, or "-" for none.
# OFFSET is in the file; "-" stands for an address that no mapping explains.
import os
import struct
import sys

from logrecord import initialize, record

START = 0x555500000000


path, build_id = os.fsencode(sys.argv[1]) + b"\0", sys.argv[2]
note = b""
if build_id != "-":
    build_id = bytes.fromhex(build_id)
    note = b"\0" * (-len(path) % 4) + struct.pack("<III4s", 4, len(build_id), 3, b"GNU\0") + build_id
kernel = path.startswith(b"[kernel")
start = 0xffffffff81000000 if kernel else START

out = initialize()
events = sorted({word.split(":")[0] for word in sys.argv[3:]})
for number, event in enumerate(events):
    out += record(17, struct.pack("<IIII64s", number + 1, 0, 0x80, 0, event.encode()))
out += record(20, struct.pack("<iI20s", 10, 0, b"load"))
out += record(14, struct.pack("<iIQ", -1 if kernel else 10, 0, start) + path + note)
for word in sys.argv[3:]:
    event, hits = word.split(":")
    offset, _, count = hits.partition("*")
    pc = 0x1000 if offset == "-" else start + int(offset, 0)
    out += record(16, struct.pack("<IIIIQQ", 10, 10, events.index(event) + 1, 0 if kernel else 1, pc,
                                  start + 1)) * int(count or 1)
sys.stdout.buffer.write(out + record(1, b""))
