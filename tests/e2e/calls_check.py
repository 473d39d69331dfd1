# SPDX-License-Identifier: BSD-2-Clause
"""Checks the samples of calls.py: calls_check.py MODE <CHAINS, in which a chain ends with --."""
import re
import sys

mode = sys.argv[1]
chains, chain = [], []
for line in sys.stdin:
    if line == "--\n":
        chains.append(chain)
        chain = []
    else:
        chain.append(line.rstrip("\n").split(" ", 1)[1])
assert chains, "no samples"


def python_part(chain):
    """Function and line of the program's frames, the outermost first; C: native frames between them."""
    part = []
    for frame in reversed(chain):
        found = re.match(r"(\S+) \(calls\.py\) /\S*calls\.py:(\d+)$", frame)
        if found:
            part.append((found[1], int(found[2])))
        elif part and part[-1] != "C":
            part.append("C")
    return part[:-1] if part and part[-1] == "C" else part


source = open(__file__.replace("_check", "")).read().split("\n")


def line_of(text):
    return 1 + next(i for i, line in enumerate(source) if text in line)


SPIN = range(line_of("def spin"), line_of("def compare"))
OUTER = ("outer", line_of("sorted([1]"))
CALLS = [("main", line_of("Thing().method()")), ("Thing.method", line_of("next(generate())")),
         ("generate", line_of("yield outer()")), OUTER, ("compare", line_of("return spin("))]
spinning = [python_part(chain) for chain in chains if any(frame.startswith("spin (calls.py)") for frame in chain)]
missing = [chain for chain in chains if any("[cut: Python frames]" in frame for frame in chain)]

if mode == "passing":
    seen = set()
    for chain in chains:
        for frame in chain:
            found = re.match(r"f(\d+) \(file(\d+)\.py\) file(\d+)\.py:(\d+)$", frame)
            if found:
                number, line = int(found[1]), int(found[4])
                assert found[1] == found[2] == found[3] and number + 1 <= line <= number + 4, frame
                seen.add(number)
            assert "[unknown]" not in frame or "python" not in frame, frame
    assert len(seen) >= 50, seen
elif mode == "waiting":
    naps = [python_part(chain) for chain in chains if any(frame.startswith("nap (calls.py)") for frame in chain)]
    want = [("waiting", line_of("        nap()")), ("nap", line_of("time.sleep("))]
    assert len(naps) >= 10 and all(part[0][0] == "<module>" and part[1:] == want for part in naps), naps
elif mode == "broken":
    assert len(missing) >= 50, len(missing)
    for chain in missing:
        assert not any(frame.startswith(("compare ", "outer ")) for frame in chain), chain
        assert any("_start" in frame or "Py_BytesMain" in frame for frame in chain), chain
else:
    assert len(spinning) >= 50, len(spinning)
    wrong = 0
    for part in spinning:
        assert part[-1][0] == "spin" and part[-1][1] in SPIN, part
        # Frames that share a call of the interpreter's loop have nothing between them.
        have = [call for call in part if call != "C"]
        if have[-len(CALLS) - 1:-1] != CALLS:
            wrong += 1
        at = part.index(OUTER)
        assert part[at + 1] == "C" and part[at + 2][0] == "compare", part
        if mode == "main":
            assert have[0][0] == "<module>", part
    assert not wrong, (wrong, len(spinning), spinning[0])
    assert len(missing) * 50 <= len(chains), (len(missing), len(chains))
