# SPDX-License-Identifier: BSD-2-Clause
"""Addresses in a log that its owner may not know: "leaks.py LOG", or "leaks.py -p SELF... <TEXT-OF-LOG".

Of the kernel it looks at the bytes of all records, whatever they are.  Of processes it takes what
pmcstat -R says of them, and from each file SELF what one of them has said of itself: its lines of
/proc/self/stat and /proc/self/maps.  Prints what it finds, and fails if that is nothing."""
import array
import sys

found = []
HEADER = 16  # bytes, in today's format


def records(log):
    """The records' contents: without their headers, whose stamps of time are no addresses."""
    at = 0
    while at < len(log):
        length = int.from_bytes(log[at:at + 2], "little")
        if length < HEADER or at + length > len(log):
            sys.exit(f"{at}: no record of a log")
        yield array.array("I", log[at + HEADER:at + length // 4 * 4])
        at += length


def kernel(name):
    with open(name, "rb") as f:
        log = f.read()
    for words in records(log):
        for at in range(len(words) - 1):
            # The lower half of a user address may look like the upper half of a kernel address.
            above = words[at + 2] if at + 2 < len(words) else 0
            if words[at + 1] >> 16 == 0xffff and not 0x5000 <= above < 0x8000:
                found.append(f"{words[at + 1] << 32 | words[at]:#x}")


def selves(names):
    ranges = {}
    for name in names:
        pid = None
        with open(name) as f:
            for line in f:
                first = line.split()[0]
                if "-" not in first:
                    pid = first
                    continue
                start, end = (int(x, 16) for x in first.split("-"))
                ranges.setdefault(pid, []).append((start, end, line.strip()))
    return ranges


def processes(ranges):
    pid = None
    for line in sys.stdin:
        words = line.split()
        address = None
        if words[0] == "callchain":
            pid = words[1]
        elif words[0] == "...":
            address = words[1]
        elif words[0] == "map-in":
            pid, address = words[1:3]
        elif words[0] == "exec":
            pid, address = words[2:4]
        for start, end, what in ranges.get(pid, []) if address else []:
            # A mapping begins where a mapping begins.  Some thousand processes have mappings that
            # overlap those of their next program by chance.
            last = start + 1 if words[0] == "map-in" else end
            if start <= int(address, 16) < last:
                found.append(f"{line.strip()}: process {pid} says {what}")


if sys.argv[1] == "-p":
    said = selves(sys.argv[2:])
    print(f"{len(said)} processes")
    processes(said)
else:
    kernel(sys.argv[1])
print("\n".join(found[:5]))
print(f"{len(found)} found")
sys.exit(not found)
