# SPDX-License-Identifier: BSD-2-Clause
"""offcpu.py CHECK LOG.json FIGURES: compares the waits of a log with what tests/e2e/waited printed.

A log in which waits are missing because the kernel hid a switch ends with status 75.
"""
import json
import sys

WAIT = 0x8000000000000100
REASONS = {1: "sleep", 2: "disk", 3: "lock", 4: "run queue", 5: "preempted"}


class Log:
    """The samples and sums of each PMC, and names of functions."""

    def __init__(self, path):
        self.samples, self.counts, self.functions = {}, {}, []
        values, wakers = {}, {}
        for line in open(path, encoding="utf-8"):
            record = json.loads(line)
            kind, pmc = record["type"], record.get("pmcid")
            if kind == "values":
                values[pmc] = record
            elif kind == "waker":
                wakers[pmc] = record
            elif kind == "callchain":
                self.add(record, values.pop(pmc), wakers.pop(pmc, None))
            elif kind == "waits":
                sums = self.counts.setdefault(pmc, dict.fromkeys(FIELDS, 0))
                for field in FIELDS:
                    sums[field] += int(record[field])

    def add(self, chain, values, waker):
        pcs = [int(pc, 16) for pc in chain["pc"]]
        self.samples.setdefault(chain["pmcid"], []).append({
            "time": int(chain["tsc"]), "tid": int(chain["tid"]), "pid": int(chain["pid"]),
            "ns": int(values["values"]["period"]), "reason": REASONS[pcs[0] - WAIT], "pcs": pcs[1:],
            "waker": waker})

    def sum(self, pmc, **which):
        return sum(s["ns"] for s in self.samples.get(pmc, [])
                   if all(s[key] == value for key, value in which.items()))


FIELDS = ("below", "below_ns", "dropped", "dropped_ns", "unknown")


def unless_unknown(log, pmc):
    if log.counts.get(pmc, {}).get("unknown"):
        sys.exit(75)


def only(log):
    (pmc,) = set(log.samples) | set(log.counts)
    unless_unknown(log, pmc)
    return pmc


def inside(log, pmc, figures):
    """The waits of the program's first thread that ended while it worked."""
    tid, begin, end = figures[:3]
    return [s for s in log.samples[pmc] if s["tid"] == tid and begin <= s["time"] <= end]


def total(waits, reason):
    return sum(s["ns"] for s in waits if s["reason"] == reason)


def queue(log, figures):
    """Time on run queues is the scheduler's own, to the nanosecond."""
    waits = inside(log, only(log), figures)
    assert total(waits, "run queue") <= figures[4], waits
    assert total(waits, "preempted") or total(waits, "run queue") == figures[4], (waits, figures)


def reason(log, figures, name):
    """At least as long as the program asked for, and no longer than it took.  The kernel's clock of a sleep
    runs before the thread is off the CPU, which is late if it is preempted on the way."""
    waits = inside(log, only(log), figures)
    late = total(waits, "preempted")
    late += figures[5] if late else 0
    assert figures[3] - late <= total(waits, name) <= figures[2] - figures[1], (waits, figures)


def share(log, figures):
    """While one of two threads runs for 100 ms of CPU time, the other has none."""
    pmc = only(log)
    both = log.sum(pmc, reason="run queue", pid=figures[0]) + log.sum(pmc, reason="preempted",
                                                                       pid=figures[0])
    assert both >= 100000000, log.samples


def crowd(log, figures):
    """Each thread has waited, unless the kernel hid a switch of it, for most of its sleep, to which it
    comes late if it is preempted, and for no longer than the program ran.  100 of these threads have no
    entry of their own in the kernel's table."""
    (pmc,) = log.samples
    threads = {}
    for s in log.samples[pmc]:
        if s["pid"] == figures[0]:
            threads[s["tid"]] = threads.get(s["tid"], 0) + s["ns"]
    assert max(threads.values()) <= figures[2] - figures[1], threads
    slept = sum(ns >= figures[3] // 2000 * 9 // 10 for ns in threads.values())
    assert 2001 - log.counts[pmc]["unknown"] <= slept <= 2001, (slept, log.counts)
    unless_unknown(log, pmc)


def short(log, figures):
    """Shorter waits than the threshold are counted, with their time."""
    pmc = only(log)
    assert pmc not in log.samples, log.samples
    assert log.counts[pmc]["below_ns"] >= figures[3] and log.counts[pmc]["below"], log.counts


def dropped(log, figures):
    """More waits than the rate allows are counted, with their time."""
    pmc = only(log)
    counts = log.counts[pmc]
    assert counts["dropped"] and counts["below"] == 0, counts
    assert log.sum(pmc) + counts["dropped_ns"] >= figures[3], counts
    rates = {}
    for s in log.samples[pmc]:
        if s["reason"] != "run queue":
            rates[s["time"] // 1000000000] = rates.get(s["time"] // 1000000000, 0) + 1
    assert sum(rates.values()) <= 4 * (2 + (figures[2] - figures[1]) // 1000000000), rates


def equal(log, figures):
    """Whatever the threshold, the waits add up to the same time, but for that of the PMCs' starts."""
    first, second = sorted(set(log.samples) | set(log.counts), key=lambda pmc: -log.sum(pmc))
    unless_unknown(log, first)
    unless_unknown(log, second)
    assert not log.counts.get(first, {}).get("below"), log.counts
    starts = [s for s in log.samples[first] if s["time"] < figures[1]]
    more = log.sum(first) - log.sum(second) - log.counts[second]["below_ns"]
    assert log.counts[second]["below"], log.counts
    assert 0 <= more <= sum(s["ns"] for s in starts), (more, starts)


def wakers(log, figures, reason_of, kind):
    """The wakers of the first thread's long waits."""
    waits = [s for s in inside(log, only(log), figures) if s["reason"] == reason_of and s["ns"] >= 1000000]
    assert len(waits) >= 5, waits
    for s in waits:
        assert s["waker"] and int(s["waker"]["kind"]) == kind, s["waker"]
    return waits


def held(log, figures):
    """A lock: the other thread of the program."""
    for s in wakers(log, figures, "lock", 1):
        w = s["waker"]
        assert int(w["pid"]) == s["pid"] and int(w["tid"]) != s["tid"] and w["tdname"] == "waited" and w["pc"], w


def timer(log, figures):
    """A sleep: an interrupt, of which nothing else is known."""
    for s in wakers(log, figures, "sleep", 2):
        w = s["waker"]
        assert int(w["pid"]) == int(w["tid"]) == 0 and not w["tdname"] and not w["pc"], w


def main():
    with open(sys.argv[3], encoding="utf-8") as file:
        figures = [int(word) for word in file.read().split()]
    log = Log(sys.argv[2])
    check = sys.argv[1]
    if check in REASONS.values():
        reason(log, figures, check)
    else:
        globals()[check](log, figures)


main()
