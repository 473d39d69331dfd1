# SPDX-License-Identifier: BSD-2-Clause
"""
ktr(4)'s view from a debugger: in gdb, "source ktr-gdb.py", then "ktr t" or "ktr show".  Works on a
process and on a core; what it prints is what tdump -K prints.  While a process is looked at, it traces
nothing, so that looking does not push out what is looked for.
"""
import re
import struct
import time

import gdb

HEADER = struct.Struct("=8s6IQ2IQ2IQ2I6Q16s256s")	# <sys/ktr_region.h>
SITE = struct.Struct("=iiIIII")
ENTRY = struct.Struct("=QIIQ5Q")
PAGE, SLOT, TEXT_BIT = 4096, 64, 1 << 63
NOTE_AT = 4032			# in the header's page, behind the header: our text
NOTE = b"disable tracing for kdebug\0"
SIGNED = {1: 8, 3: 16, 5: 32}
UNSIGNED = {2: 8, 4: 16, 6: 32}
CONVERSION = re.compile(r"%(?:%|([-0#+ ]*)(\d*)(?:\.\d*)?(?:[hlLjztq]*)([diuxXopcsaAeEfFgG]))")


def visible(raw):
	text = raw.decode("utf-8", "backslashreplace")
	return "".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in text)


class Region:
	def __init__(self):
		self.inferior = gdb.selected_inferior()
		self.base = self.find()
		(magic, version, self.hdrsize, entsize, self.entries, self.ncpu, self.flags, self.stride, _, self.clock,
		 self.frequency, _, self.pid, self.mask_address, _, _, *stamps) = HEADER.unpack(
			self.read(self.base, HEADER.size))
		self.first_clock, self.first_ns = stamps[0:2]
		# Without a rate the debugger's entry has the time of the one before.
		self.clocks_a_ns = self.frequency / 1e9 or (stamps[3] and (stamps[3] - stamps[0]) /
							    (stamps[4] - stamps[1] or 1))
		if (magic != b"KTRRGN1\0" or version != 1 or entsize != SLOT or not 0 < self.ncpu <= 1024 or
		    not 0 < self.entries <= 1 << 24 or self.entries & self.entries - 1):
			raise gdb.GdbError("ktr: the header of the trace rings is damaged")

	def read(self, at, size):
		return bytes(self.inferior.read_memory(at, size))

	# A core has no /proc, but a note that says the same.
	def find(self):
		for line in gdb.execute("info proc mappings", to_string=True).splitlines():
			words = line.split()
			if "/memfd:ktr" in line and words[0].startswith("0x") and int(words[3], 0) == 0:
				return int(words[0], 0)
		raise gdb.GdbError("ktr: this program has no trace rings: it is not linked with libktr, "
				   "or runs with KTR_SIZE=0 or KTR_FILE")

	def string(self, at, most):
		text = b""
		try:
			while len(text) < most and b"\0" not in text:
				text += self.read(at + len(text), min(64 - (at + len(text)) % 64, most - len(text)))
		except gdb.MemoryError:
			return None
		return text.split(b"\0")[0]

	def ring(self, cpu):
		return self.base + self.hdrsize + cpu * self.stride

	def head(self, cpu):
		return struct.unpack("=Q", self.read(self.ring(cpu), 8))[0]

	# All entries, newest first: (time, cpu, index, tid, desc, words), the words None if it is torn.
	def all(self):
		found = []
		for cpu in range(self.ncpu):
			head = self.head(cpu)
			if not head:
				continue
			raw = self.read(self.ring(cpu) + SLOT, self.entries * SLOT)
			low = max(0, head - max(self.entries - 1, 1))
			for number in range(low, head):
				index = number & self.entries - 1
				stamp, seq, tid, desc, *words = ENTRY.unpack_from(raw, index * SLOT)
				if seq == number + 1 & 0xffffffff:
					found.append((stamp, cpu, number, index, tid, desc, words))
		found.sort(key=lambda e: e[:3], reverse=True)
		return found

	# (format, types, file, line) of a descriptor.
	def point(self, desc):
		if desc & TEXT_BIT:
			return self.string(desc & ~TEXT_BIT, 1024), 0, b"", 0
		try:
			fmt, file, line, _, types, _ = SITE.unpack(self.read(desc, SITE.size))
		except gdb.MemoryError:
			return None, 0, b"", 0
		return self.string(desc + fmt, 1024), types, self.string(desc + 4 + file, 256) or b"", line

	def text(self, fmt, types, words):
		if fmt is None:
			return "--- trace entry corrupt ---"
		state = [0]

		def convert(match):
			flags, width, letter = match.groups()
			if not letter:
				return "%"
			if state[0] == 5:
				return match.group()
			word, kind = words[state[0]], types >> 4 * state[0] & 15
			state[0] += 1
			if letter in "aAeEfFgG" or kind == 10 and letter != "s":
				return "<fp?>"
			if letter == "s":
				text = self.string(word, 79)
				return "(null)" if text is None else visible(text)
			if letter == "c":
				return visible(bytes([word & 255]))
			if kind in SIGNED:
				word &= (1 << SIGNED[kind]) - 1
				word -= (word >> SIGNED[kind] - 1) << SIGNED[kind]
			elif kind in UNSIGNED:
				word &= (1 << UNSIGNED[kind]) - 1
			size = 1 << (32 if kind in SIGNED or kind in UNSIGNED else 64)
			word %= size
			if letter in "di":
				word -= size if word >= size // 2 else 0
				letter = "d"
			if letter == "p":
				return "%#x" % word
			return "%" + flags + width + letter.replace("u", "d"), word

		pieces, last = [], 0
		for match in CONVERSION.finditer(fmt.decode("latin1")):
			pieces.append(visible(fmt[last:match.start()]))
			last = match.end()
			made = convert(match)
			pieces.append(made[0] % made[1] if isinstance(made, tuple) else made)
		return "".join(pieces) + visible(fmt[last:])

	# The debugger's own entry, as BSD/OS's has it; then nothing is traced until the process goes on.
	def stop(self):
		pid = self.inferior.pid
		mask = self.read(self.mask_address, 4)
		if mask == bytes(4):
			return
		tid = gdb.selected_thread().ptid[1] or pid
		with open("/proc/%d/task/%d/stat" % (pid, tid)) as stat:
			cpu = min(int(stat.read().rsplit(")", 1)[1].split()[36]), self.ncpu - 1)
		newest = max([entry[0] for entry in self.all()], default=0)
		now = self.first_clock + int((time.monotonic_ns() - self.first_ns) * self.clocks_a_ns)
		number = self.head(cpu)
		self.inferior.write_memory(self.base + NOTE_AT, NOTE)
		self.inferior.write_memory(self.ring(cpu) + SLOT + (number & self.entries - 1) * SLOT, ENTRY.pack(
			max(now, newest), number + 1 & 0xffffffff, tid, TEXT_BIT | self.base + NOTE_AT, 0, 0, 0, 0, 0))
		self.inferior.write_memory(self.ring(cpu), struct.pack("=Q", number + 1))
		self.inferior.write_memory(self.mask_address, bytes(4))

		# On when the process goes on, in whatever way; by then gdb itself cannot write.
		ways = [getattr(gdb.events, name) for name in ("cont", "connection_removed", "gdb_exiting")
			if hasattr(gdb.events, name)]

		def go_on(event):
			for way in ways:
				way.disconnect(go_on)
			try:
				with open("/proc/%d/mem" % pid, "r+b", buffering=0) as memory:
					memory.seek(self.mask_address)
					memory.write(mask)
			except OSError as error:
				print("ktr: tracing stays off: %s" % error)
		for way in ways:
			way.connect(go_on)


def region():
	found = Region()
	if found.inferior.connection.type == "native":
		found.stop()
	return found


class Ktr(gdb.Command):
	"""Trace rings, ktr(4)."""

	def __init__(self):
		super().__init__("ktr", gdb.COMMAND_DATA, prefix=True)


class KtrTrace(gdb.Command):
	"""ktr t [N]: the newest N entries, all without N, as the debugger of BSD/OS shows them."""

	def __init__(self):
		super().__init__("ktr t", gdb.COMMAND_DATA)

	def invoke(self, argument, from_tty):
		if argument and not argument.isdigit():
			raise gdb.GdbError("ktr t: \"%s\" is not a number of entries" % argument)
		rings = region()
		entries = rings.all()
		width = max(3, len("%x" % (rings.entries - 1)))
		if entries:
			print("Newest entry at clock %x" % entries[0][0])
		newer = entries[0][0] if entries else 0
		for stamp, cpu, _, index, _, desc, words in entries[:int(argument) if argument else None]:
			fmt, types, _, _ = rings.point(desc)
			print("%*x %*x %8x: %s" % (len("%x" % (rings.ncpu - 1)), cpu, width, index, newer - stamp,
						   rings.text(fmt, types, words)))
			newer = stamp


class KtrShow(gdb.Command):
	"""ktr show [/v] [/V]: all entries, with the thread; /v: time, file and line, too; /V: time differences."""

	def __init__(self):
		super().__init__("ktr show", gdb.COMMAND_DATA)

	def invoke(self, argument, from_tty):
		options = argument.replace("/", " ").split()
		if any(set(option) - set("avV") for option in options):
			raise gdb.GdbError("ktr show: takes /v and /V")
		options = "".join(options)
		rings = region()
		entries = rings.all()
		newer = entries[0][0] if entries else 0
		for stamp, cpu, _, index, tid, desc, words in entries:
			fmt, types, file, line = rings.point(desc)
			row = "%d (tid=%d, cpu=%d) " % (index, tid, cpu)
			if "V" in options:
				row += "-%d " % (newer - stamp)
			elif "v" in options:
				row += "%d " % stamp
			if "v" in options and file:
				row += "%s.%d: " % (visible(re.sub(b"^(\\.\\./)+", b"", file)), line)
			print(row + rings.text(fmt, types, words))
			newer = stamp


Ktr()
KtrTrace()
KtrShow()
