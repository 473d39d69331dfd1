# SPDX-License-Identifier: BSD-2-Clause
"""
A machine behind gdb's remote protocol, with the answers of QEMU's stub: gdbstub.py MEMORY [WORD]...  The first half of
the file is memory from 0 on, the rest from 4 GiB on.  It prints its port, serves one connection, and then prints a
line for each request: its text up to the first comma, and how often it came in a row.

Words: acks (it goes on to acknowledge packets), packed (runs of equal digits are shortened), virtual (it has no mode for
physical addresses), nowhere (its monitor does not know its memory), silent (it has no monitor), holes (there is no
memory at 4 GiB), odd and letters (memory is not pairs of digits), long (more memory than requested), ends (it closes the
connection at the first request for memory).
"""
import itertools
import re
import socket
import sys

HIGH = 1 << 32
RAM = """FlatView #0
 AS "memory", root: system
 Root memory region: system
  0000000000000000-%016x (prio 0, ram): pc.ram
  00000000fec00000-00000000fec00fff (prio 0, i/o): ioapic
  %016x-%016x (prio 0, ram): pc.ram @%016x

FlatView #1
 AS "cpu-memory-0", root: system
  0000000000000000-%016x (prio 0, ram): pc.ram
"""

memory = open(sys.argv[1], "rb").read()
words = sys.argv[2:]
half = len(memory) // 2 // 4096 * 4096
ram = RAM % (half - 1, HIGH, HIGH + len(memory) - half - 1, half, half // 2 - 1)
asked = []


def packed(text):
	"""A run of four and more: the first, "*", and how many follow; never with "#" or "$" as the number."""
	def short(run):
		first, more = run[0][0], len(run[0]) - 1
		more = 5 if more in (6, 7) else more
		return first + "*" + chr(29 + more) + first * (len(run[0]) - 1 - more)

	return re.sub(r"0{4,98}", short, text)


def read(at, size):
	if at >= HIGH and "holes" in words:
		return "E14"
	at = at - HIGH + half if at >= HIGH else at
	text = memory[at:at + size].hex()
	if "odd" in words:
		return text[1:]
	if "letters" in words:
		return "xx" + text[2:]
	if "long" in words:
		return text + "00"
	return packed(text) if "packed" in words else text


def answers(text):
	if text.startswith("qSupported"):
		return ["T05thread:01;", "PacketSize=1000;qXfer:features:read+"]
	if text == "QStartNoAckMode":
		return ["" if "acks" in words else "OK"]
	if text == "Qqemu.PhyMemMode:1":
		return ["" if "virtual" in words else "OK"]
	if text.startswith("qRcmd,"):
		assert bytes.fromhex(text[6:]) == b"info mtree -f"
		if "silent" in words:
			return [""]
		shown = "no such command\r\n" if "nowhere" in words else ram.replace("\n", "\r\n")
		pieces = [shown[i:i + 100] for i in range(0, len(shown), 100)]
		return ["O" + piece.encode().hex() for piece in pieces] + ["OK"]
	if text.startswith("m"):
		return [read(*(int(number, 16) for number in text[1:].split(",")))]
	return ["OK"]


server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
peer, _ = server.accept()
data, quiet = b"", False
while True:
	more = peer.recv(65536)
	if not more:
		break
	data += more
	while True:
		packet = re.match(rb"\+*\$([^#]*)#(..)", data)
		if not packet:
			break
		data = data[packet.end():]
		text = packet[1].decode()
		assert sum(packet[1]) & 255 == int(packet[2], 16)
		asked.append(text.split(",")[0] if text[0] != "m" else "m")
		if text[0] == "m" and "ends" in words:
			peer.close()
			sys.exit()
		out = b"" if quiet else b"+"
		for answer in answers(text):
			body = answer.encode()
			out += b"$%s#%02x" % (body, sum(body) & 255)
		peer.sendall(out)
		quiet = quiet or text == "QStartNoAckMode" and "acks" not in words
for text, run in itertools.groupby(asked):
	print(text, len(list(run)))
