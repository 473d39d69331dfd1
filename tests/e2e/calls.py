# SPDX-License-Identifier: BSD-2-Clause
"""Calls of several kinds, for python.bats: calls.py main|thread|fork|passing|broken|waiting [ROUNDS]."""
import os
import sys
import threading
import time


ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def compare(x):
    return spin(300000)


def outer():
    return sorted([1], key=compare)


def generate():
    yield outer()


class Thing:
    def method(self):
        return next(generate())


def main():
    for _ in range(ROUNDS):
        Thing().method()


def passing():
    for i in range(1, 400):
        names = {}
        lines = "\n" * i + f"def f{i}(n):\n    for x in range(n):\n        x * x\n    return n\n"
        exec(compile(lines, f"file{i}.py", "exec"), names)
        names[f"f{i}"](20000)


def broken():
    import ctypes

    name = ctypes.c_uint64.from_address(id(compare.__code__) + 128)
    kept, name.value = name.value, 0x123456
    for _ in range(20):
        outer()
    name.value = kept


def nap():
    time.sleep(0.005)


def waiting():
    for _ in range(40):
        nap()


if sys.argv[1] == "thread":
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
elif sys.argv[1] == "fork":
    if os.fork() == 0:
        main()
        os._exit(0)
    os.wait()
else:
    globals()[sys.argv[1]]()
