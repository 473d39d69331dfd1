# SPDX-License-Identifier: BSD-2-Clause
"""held_file.py DIRECTORY FILE: mounts a file system with one file, "image", that has FILE's content.  Its first page is read at once;
a read of a later page has no answer: "held" is printed, and the reader waits until this program is killed."""

import ctypes
import os
import stat
import struct
import sys

FORGET, GETATTR, LOOKUP, OPEN, READ, RELEASE, INIT, BATCH_FORGET = 2, 3, 1, 14, 15, 18, 26, 42
REQUEST = struct.Struct("<IIQQIIIHH")
ROOT, IMAGE, PAGE, VALID, ENOSYS = 1, 2, 65536, 3600, 38

directory, file = sys.argv[1:]
with open(file, "rb") as f:
    content = f.read()
fuse = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"held", os.fsencode(directory), b"fuse", 0, f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()):
    sys.exit(f"{directory}: mount: {os.strerror(ctypes.get_errno())}")


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack("<6Q10I", node, len(content), 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation, node, body):
    if operation == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0, *[0] * 7)
    if operation == LOOKUP:
        return struct.pack("<4Q2I", IMAGE, 0, VALID, VALID, 0, 0) + attributes(IMAGE)
    if operation == GETATTR:
        return struct.pack("<Q2I", VALID, 0, 0) + attributes(node)
    if operation == OPEN:
        return bytes(16)
    if operation == READ:
        at, size = struct.unpack_from("<8xQI", body)
        return content[at : at + size]
    return b"" if operation == RELEASE else None


print("ready", flush=True)
while True:
    request = os.read(fuse, 1 << 20)
    _, operation, unique, node, *_ = REQUEST.unpack_from(request)
    body = request[REQUEST.size :]
    if operation in (FORGET, BATCH_FORGET):
        continue
    if operation == READ and struct.unpack_from("<8xQ", body)[0] >= PAGE:
        print("held", flush=True)
        continue
    reply = answer(operation, node, body)
    error, reply = (0, reply) if reply is not None else (-ENOSYS, b"")
    os.write(fuse, struct.pack("<IiQ", 16 + len(reply), error, unique) + reply)
