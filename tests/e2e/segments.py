# SPDX-License-Identifier: BSD-2-Clause
"""segments.py ELF: adds hundreds of segments without code, so that the kernel needs milliseconds for an exec of it."""

import struct
import sys

PT_LOAD, RW, PAGE = 1, 6, 65536
PHDR = struct.Struct("<IIQQQQQQ")
MOST = 400  # the kernel reads at most 1170

with open(sys.argv[1], "r+b") as elf:
    image = bytearray(elf.read())
    at, count = struct.unpack_from("<Q", image, 32)[0], struct.unpack_from("<H", image, 56)[0]
    table = [PHDR.unpack_from(image, at + i * PHDR.size) for i in range(count)]
    end = max(p[3] + p[6] for p in table if p[0] == PT_LOAD)
    end += 16 * PAGE - end % PAGE
    for i in range(MOST - count):
        table.append((PT_LOAD, RW, 0, end + i * PAGE, end + i * PAGE, 1, PAGE // 2, PAGE))
    image += bytes(-len(image) % 8)
    struct.pack_into("<Q", image, 32, len(image))
    struct.pack_into("<H", image, 56, len(table))
    elf.seek(0)
    elf.write(image + b"".join(PHDR.pack(*p) for p in table))
