# SPDX-License-Identifier: BSD-2-Clause
"""Frames for pctrd's socket that no libpctr sends: hostile.py FILE ROUNDS [SEED].

Every length from 0 to 128, random bytes behind a right or wrong magic, none, one or three descriptors of
other files, connections that are closed before the reply or never say anything.  Each frame that pctrd
answers must have an answer of one reply's size; what was asked for is printed as counts.
"""
import array
import os
import random
import socket
import struct
import sys

MAGIC, RD, SET = 0x52544350, 0x80386301, 0x40046308
REPLY = 64


def frame(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(rng.randrange(129))
    request = rng.choice([RD, RD, RD, SET, SET + 4, 0xFFFFFFFF, rng.getrandbits(32)])
    whole = struct.pack("<4I", MAGIC, request, rng.getrandbits(32), rng.choice([0, 1, 1 << 20, 0xFFFFFFFF]))
    if kind == 1:
        return whole[: rng.randrange(16)]
    return whole + (rng.randbytes(rng.randrange(1, 64)) if kind == 2 else b"")


def send(s, data, fds):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    s.sendmsg([data], rights, socket.MSG_NOSIGNAL)


def main():
    path, rounds = sys.argv[1], int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 7)
    null, right = os.open("/dev/null", os.O_RDWR), os.open(path, os.O_RDONLY)
    path_only = os.open(path, os.O_PATH)
    silent, counts = [], {"answered": 0, "refused": 0, "dropped": 0}
    for _ in range(rounds):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(60)
        s.connect(path + ".sock")
        if rng.randrange(16) == 0 and len(silent) < 4:
            silent.append(s)
            continue
        try:
            send(s, frame(rng), rng.choice([[], [null], [right], [right], [right], [path_only], [null, right, null]]))
            if rng.randrange(4):
                reply = s.recv(4096)
                if reply and len(reply) != REPLY:
                    sys.exit(f"a reply of {len(reply)} bytes")
                error = struct.unpack_from("<i", reply)[0] if reply else 0
                counts["dropped" if not reply else "refused" if error else "answered"] += 1
        except (BrokenPipeError, ConnectionResetError):
            counts["dropped"] += 1
        s.close()
    print(" ".join(f"{name}={n}" for name, n in counts.items()))


main()
