#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""typed.py RCFILE KEYS...: the line that an interactive bash has after each KEYS and a tab.

The file defines PS1 as "> "."""
import os
import pty
import select
import sys

QUIET = 1  # seconds without output: bash waits for keys
LIMIT = 60


def read(fd, until):
    text = b""
    while select.select([fd], [], [], QUIET if until in text else LIMIT)[0]:
        text += os.read(fd, 65536)
    return text


def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "dumb"
        os.execvp("bash", ["bash", "--noprofile", "--rcfile", sys.argv[1], "-i"])
    read(fd, b"> ")
    for keys in sys.argv[2:]:
        os.write(fd, keys.encode() + b"\t")
        shown = b""
        for char in read(fd, keys[-1].encode()).replace(b"\a", b""):
            shown = shown[:-1] if char == 8 else shown + bytes([char])
        print(shown.decode().rstrip())
        os.write(fd, b"\x03")
        read(fd, b"> ")
    os.close(fd)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
