# SPDX-License-Identifier: BSD-2-Clause
"""
What a file of rings holds that region.py's entries were written to: readregion.py FILE prints "entries N",
then for each ring its head, lost, and of every entry the number that it had in the process.
"""
import mmap
import struct
import sys

with open(sys.argv[1], "rb") as file:
	data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
magic, version, hdrsize, entsize, entries, ncpu = struct.unpack_from("=8s5I", data)
stride, = struct.unpack_from("=Q", data, 32)
assert (magic, version, entsize) == (b"KTRRGN1\0", 1, 64) and stride == 64 + 64 * entries
assert entries & entries - 1 == 0 and len(data) >= hdrsize + ncpu * stride
print("entries", entries)
for ring in range(ncpu):
	base = hdrsize + ring * stride
	head, _, _, lost = struct.unpack_from("=QIIQ", data, base)
	slots = [struct.unpack_from("=QIIQ2Q", data, base + 64 + 64 * i) for i in range(head)]
	assert [slot[1] for slot in slots] == list(range(1, head + 1)), slots
	assert all(slot[5] == ring for slot in slots)
	print(head, lost, *(slot[4] for slot in slots))
