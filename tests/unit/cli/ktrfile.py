# SPDX-License-Identifier: BSD-2-Clause
"""
Makes files of trace rings, from <sys/ktr_region.h>'s words and not from its code: ktrfile.py FILE [FIELD=VALUE]...
with lines on standard input:
	format ID CLASSES ARGTYPES NAME TEXT	the kernel's trace point (any makes the region the kernel's)
	head CPU N				the number of the CPU's next entry
	entry CPU TIME TID DESC [WORD]...	one more; DESC is a format's ID or, of programs, an address
	text CPU TIME TID ID WORD...		the same; words are text, 8 bytes each (\\x escapes; - none)
	open CPU				one that is being written
	torn CPU				one whose number is another's
	maps LINE				behind the rings: a line of /proc/PID/maps
	raw CPU SLOT WORD...			8 words, as they are
Fields are the header's.  image=GAP writes bare pages for a memory image instead, GAP bytes of zeros between.
"""
import random
import struct
import sys

PAGE, SLOT = 4096, 64
path, *words = sys.argv[1:]
opts = dict(word.split("=", 1) for word in words)
image = opts.pop("image", None)
field = {k: int(v, 0) for k, v in opts.items() if k not in ("magic", "comm", "exe", "build_id")}
entries, ncpu = field.get("entries", 1024), field.get("ncpu", 1)
generation = field.get("generation", 1)
formats, maps, rings, heads, exact = [], [], {}, {}, []

def desc_of(cpu, desc):
	if not formats:
		return desc
	return 0x4b54 << 48 | cpu << 32 | generation << 16 | desc

def put(cpu, time, tid, desc, args, seq=None):
	number = heads.get(cpu, 0)
	args = (args + [0xdead] * 5)[:5]
	entry = struct.pack("=QIIQ5Q", time, (number + 1 if seq is None else seq) & 0xffffffff, tid,
			    desc_of(cpu, desc), *[a & 0xffffffffffffffff for a in args])
	rings.setdefault(cpu, {})[number % entries] = entry
	heads[cpu] = number + 1

for line in sys.stdin:
	word, *rest = line.split()
	if word == "format":
		ident, classes, types, name, text = line.rstrip("\n").split(None, 5)[1:]
		formats.append(struct.pack("=IHHII32s80s", 0x4652544b, int(ident, 0), generation, int(classes, 0),
					   int(types, 0), name.encode(), text.encode()))
	elif word == "head":
		heads[int(rest[0])] = int(rest[1], 0)
	elif word == "entry":
		cpu, time, tid, desc, *args = (int(x, 0) for x in rest)
		put(cpu, time, tid, desc, args)
	elif word == "text":
		cpu, time, tid, desc = (int(x, 0) for x in rest[:4])
		args = [struct.unpack("=Q", x.replace("-", "").encode().decode("unicode_escape").encode("latin1").ljust(8, b"\0"))[0]
			for x in rest[4:]]
		put(cpu, time, tid, desc, args)
	elif word == "open":
		put(int(rest[0]), 0, 0, 0, [], 0)
	elif word == "torn":
		put(int(rest[0]), 5, 5, 1, [], 0x12345678)
	elif word == "maps":
		maps.append(line[5:])
	elif word == "raw":
		rings.setdefault(int(rest[0]), {})[int(rest[1])] = struct.pack("=8Q", *(int(x, 0) for x in rest[2:]))

table = b"".join(formats)
hdrsize = field.get("hdrsize", PAGE + (len(table) + PAGE - 1) // PAGE * PAGE)
stride = field.get("stride", SLOT + SLOT * entries)
get = lambda name, default: field.get(name, default)
header = struct.pack(
	"=8s6IQIIQIIQII", opts.get("magic", "KTRRGN1").encode(), get("version", 1), hdrsize, get("entsize", 64),
	entries, ncpu, get("flags", 1 if formats else 2), stride, generation, get("clock", 4 if formats else 1),
	get("frequency", 0), 0xffffffff, get("pid", 4711), 0, get("formats", len(formats)),
	get("formats_offset", PAGE if formats else 0))
header += struct.pack("=6Q", *(get(x, 0) for x in ("clock0", "mono0", "real0", "clock1", "mono1", "real1")))
header += opts.get("comm", "program").encode().ljust(16, b"\0") + opts.get("exe", "").encode().ljust(256, b"\0")
build_id = bytes.fromhex(opts.get("build_id", ""))
header += struct.pack("=I", len(build_id)) + build_id.ljust(20, b"\0") + bytes(8)

def ring(cpu):
	head = struct.pack("=QII", heads.get(cpu, 0), cpu, 0).ljust(SLOT, b"\0")
	return head + b"".join(rings.get(cpu, {}).get(i, bytes(SLOT)) for i in range(entries))

with open(path, "wb") as out:
	body = header.ljust(PAGE, b"\0") + table
	body = body.ljust(hdrsize, b"\0") + b"".join(ring(cpu) for cpu in range(ncpu))
	if image is None:
		out.write(body)
		if maps:
			out.write(bytes(-out.tell() % PAGE) + "".join(maps).encode() + b"\0")
	else:
		# Pages of a region are anywhere in a machine's memory, in any order.
		pages = [body[at:at + PAGE].ljust(PAGE, b"\0") for at in range(0, len(body), PAGE)]
		random.Random(5).shuffle(pages)
		for page in pages:
			out.write(bytes(int(image, 0)) + page)
