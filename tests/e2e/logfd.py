#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Becomes a command that has a descriptor 9 of a kind for its log, as another user.

logfd.py UID KIND COMMAND...

pipe      a pipe that is full
pty       a terminal whose other end nobody reads
linger    a connection of TCP whose peer does not read what has been sent; it takes more, and its end
          waits for the peer (SO_LINGER, 600 s)
unix      a connection of AF_UNIX; the ids of the first message's sender, as its reader sees them,
          go to ./seen: pid uid gid
netlink, packet, datagram     sockets of other kinds

A process that holds the other end is left behind: its pid is in ./holder."""
import fcntl
import os
import signal
import socket
import struct
import sys

LOG = 9


def fill(fd):
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, bytes(4096))
    except BlockingIOError:
        os.set_blocking(fd, True)


def full_pipe():
    reader, writer = os.pipe()
    fill(writer)
    return writer, reader


def full_pty():
    master, slave = os.openpty()
    fill(slave)
    return slave, master


def lingering_connection():
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    log = socket.socket()
    log.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 100000)
    log.connect(listener.getsockname())
    peer = listener.accept()[0]
    listener.close()
    log.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
    log.send(bytes(50000), socket.MSG_DONTWAIT)
    return log.detach(), peer.detach()


def watched_connection():
    log, reader = socket.socketpair()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return log.detach(), reader.detach()


def report_sender(fd):
    size = struct.calcsize("iII")
    _, control, _, _ = socket.socket(fileno=fd).recvmsg(4096, socket.CMSG_SPACE(size))
    with open("seen.new", "w", encoding="ascii") as f:
        f.write("%d %d %d\n" % struct.unpack("iII", control[0][2][:size]))
    os.rename("seen.new", "seen")


def other(family, kind):
    return socket.socket(family, kind).detach(), None


KINDS = {
    "pipe": full_pipe,
    "pty": full_pty,
    "linger": lingering_connection,
    "unix": watched_connection,
    "netlink": lambda: other(socket.AF_NETLINK, socket.SOCK_RAW),
    "packet": lambda: other(socket.AF_PACKET, socket.SOCK_RAW),
    "datagram": lambda: other(socket.AF_INET, socket.SOCK_DGRAM),
}


def hold(kind, log, peer):
    holder = os.fork()
    if holder:
        with open("holder", "a", encoding="ascii") as f:
            f.write(f"{holder}\n")
        return
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(log)
    if kind == "unix":
        report_sender(peer)
    while True:
        signal.pause()


def main():
    uid, kind, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    log, peer = KINDS[kind]()
    hold(kind, log, peer)
    os.dup2(log, LOG)
    os.set_inheritable(LOG, True)
    fcntl.fcntl(LOG, fcntl.F_SETFD, 0)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.execvp(command[0], command)


main()
