# SPDX-License-Identifier: BSD-2-Clause
# Records of logs, for the scripts here that make some.
import struct


def record(kind, payload, now=1000):
    payload += b"\0" * (-len(payload) % 4)
    return struct.pack("<IIQ", 0xee << 24 | kind << 16 | 16 + len(payload), 0, now) + payload


def initialize():
    return record(3, struct.pack("<IIQqq64s", 0x0a000000, 0x98, 10**9, 1700000000, 0, b"cpu"))
