# SPDX-License-Identifier: BSD-2-Clause
"""Descriptors that cannot be closed in less than 25 s, for pctrd's socket: linger.py FILE.

As a user without privilege: one in a request, one behind a message that ends the connection, one in a connection that
is closed at once.  To be started while pctrd is stopped: so the messages have the last references.  Prints "sent", the
answer to the request, how long the answer to the message is, "ready", and stays until it is killed.
"""
import array
import os
import signal
import socket
import struct
import sys

REQUEST = struct.pack("<4I", 0x52544350, 0x80386301, 0, 0)
peers = []


def lingering():
    listener, s = socket.socket(), socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    s.connect(listener.getsockname())
    peers.append(listener.accept()[0])
    s.setblocking(False)
    try:
        while True:
            s.send(bytes(65536))
    except BlockingIOError:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 25))
    return s


def send(path, before):
    c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    c.connect(path)
    if before:
        c.send(before)
    with lingering() as s:
        c.sendmsg([REQUEST], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
    return c


os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
path = sys.argv[1] + ".sock"
request, message = send(path, b""), send(path, b"no request")
send(path, b"no request").close()
print("sent", flush=True)
print(struct.unpack_from("<i", request.recv(100))[0], flush=True)
try:
    print(len(message.recv(100)), flush=True)
except ConnectionResetError:
    print(0, flush=True)
print("ready", flush=True)
signal.pause()
