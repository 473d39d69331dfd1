# SPDX-License-Identifier: BSD-2-Clause
"""
A process with a trace region, made without libktr: region.py [FIELD=VALUE]... [file=PATH] [named=NAME].
Fields are those of struct ktr_region; any value goes.  It says "ready", then obeys lines on its standard
input, each with a line of answer: mask, saved_mask, verbose, cpumask (values), write RING N, open RING
(an entry that is being written), clear, exec, end.
"""
import ctypes
import mmap
import os
import struct
import sys

HEADER = struct.Struct("=8s6IQ2IQ2IQ2I6Q16s256sI20s2I16Q")
NAMES = ("magic version hdrsize entsize entries ncpu flags stride generation clock frequency compile pid "
	 "mask_address formats formats_offset").split()

options = dict(word.split("=", 1) for word in sys.argv[1:])
path, name = options.pop("file", None), options.pop("named", "ktr")
mask = ctypes.c_uint32(0x2001)
entries, ncpu = int(options.get("entries", "8"), 0), int(options.get("ncpu", "2"), 0)
stride = 64 + 64 * entries
fields = dict(magic=b"KTRRGN1\0", version=1, hdrsize=4096, entsize=64, entries=entries, ncpu=ncpu, flags=0,
	      stride=stride, generation=0, clock=1, frequency=0, compile=0xffff7fff, pid=os.getpid(),
	      mask_address=ctypes.addressof(mask), formats=0, formats_offset=0)
size = int(options.pop("size", "0"), 0) or 4096 + min(ncpu, 64) * min(stride, 1 << 20)
for key, value in options.items():
	fields[key] = value.encode().ljust(8, b"\0") if key == "magic" else int(value, 0)
header = bytearray(HEADER.pack(*(fields[key] for key in NAMES), *([0] * 6), b"region.py", b"", 0, b"", 0, 0,
			       3, *([0] * 15)))
VERBOSE, SAVED, CPUMASK = HEADER.size - 136, HEADER.size - 132, HEADER.size - 128

fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600) if path else os.memfd_create(name)
os.ftruncate(fd, size)
region = mmap.mmap(fd, size)
region[:len(header)] = bytes(header)
# With Yama, only ancestors may read memory otherwise.
ctypes.CDLL(None).prctl(0x59616d61, -1)

def head(ring):
	return struct.unpack_from("=Q", region, 4096 + ring * stride)[0]

def write(ring, whole=True):
	number = head(ring)
	base = 4096 + ring * stride
	struct.pack_into("=QIIQ5Q", region, base + 64 + number % entries * 64, 1000 + number,
			 number + 1 & 0xffffffff if whole else 0, os.getpid(), 0, number, ring, 0, 0, 0)
	struct.pack_into("=QI", region, base, number + 1, ring)

def obey(word, *args):
	if word == "mask":
		return hex(mask.value)
	if word in ("saved_mask", "verbose", "cpumask"):
		at, form = {"saved_mask": (SAVED, "=I"), "verbose": (VERBOSE, "=I"),
			    "cpumask": (CPUMASK, "=Q")}[word]
		return hex(struct.unpack_from(form, region, at)[0])
	if word == "write":
		for _ in range(int(args[1])):
			write(int(args[0]))
	elif word == "open":
		write(int(args[0]), False)
	elif word == "clear":
		for ring in range(ncpu):
			struct.pack_into("=Q", region, 4096 + ring * stride, 0)
	elif word == "exec":
		print("done", flush=True)
		os.execlp("sleep", "sleep", "60")
	elif word == "end":
		sys.exit()
	else:
		sys.exit("region.py: what is %s?" % word)
	return "done"

print("ready", flush=True)
for line in sys.stdin:
	print(obey(*line.split()), flush=True)
