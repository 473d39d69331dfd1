# SPDX-License-Identifier: BSD-2-Clause
# Reads what pmcstat writes for other programs, from the formats' own descriptions, and prints what it finds:
# formats.py pprof|speedscope|callgrind|json|csv|svg FILE.  Anything that the format does not allow ends it.
import collections
import csv
import gzip
import json
import re
import sys
import xml.etree.ElementTree as xml


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        assert shift < 70, "a varint of more than ten bytes"


def message(data):
    """The fields of a protobuf message: number → values."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2), f"wire type {key & 7}"
        if key & 7 == 2:
            assert at + value <= len(data), "a field that is longer than its message"
            value, at = data[at:at + value], at + value
        fields[key >> 3].append(value)
    return fields


def varints(packed):
    values, at = [], 0
    for _ in range(len(packed)):
        if at < len(packed):
            value, at = varint(packed, at)
            values.append(value)
    return values


def pprof(path):
    profile = message(gzip.open(path).read())
    strings = [s.decode() for s in profile[6]]
    assert strings[0] == ""
    table = {field: {message(m)[1][0]: message(m) for m in profile[field]} for field in (3, 4, 5)}
    mappings, locations, functions = table[3], table[4], table[5]
    assert all(len(t) == len(profile[f]) and 0 not in t for f, t in table.items()), "ids that are not unique"
    types = [[strings[message(m)[f][0]] for f in (1, 2)] for m in profile[1]]
    print("types", " ".join("/".join(t) for t in types), "default", strings[profile[14][0]])
    print("first mapping", strings[mappings[1][5][0]])
    stacks = collections.Counter()
    for raw in profile[2]:
        sample = message(raw)
        names = []
        for number in varints(sample[1][0]):
            location = locations[number]
            assert not location[2] or location[2][0] in mappings
            for line in map(message, location[4]):
                names.append(strings[functions[line[1][0]][2][0]])
        values = varints(sample[2][0])
        assert len(values) == len(types)
        labels = {}
        for label in map(message, sample[3]):
            labels[strings[label[1][0]]] = strings[label[2][0]] if label[2] else label[3][0]
        key = labels["event"], labels.get("thread", "-"), ";".join(reversed(names))
        stacks.update({(key, i): v for i, v in enumerate(values)})
    for key in sorted({key for key, _ in stacks}):
        print(*key, *(stacks[key, i] for i in range(len(types))))


def speedscope(path):
    file = json.load(open(path))
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = file["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    for profile in file["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] in ("none", "nanoseconds", "bytes")
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
        print(f'{profile["name"]}: {profile["endValue"]}')
        for stack, weight in zip(profile["samples"], profile["weights"]):
            assert all(0 <= i < len(frames) for i in stack)
            print(" ", ";".join(frames[i]["name"] for i in stack), weight)


def callgrind(path):
    """Own costs, what is called from each function, and the sums the file states."""
    own, called, head, where = collections.Counter(), collections.Counter(), {}, {}
    call = None
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        field = re.fullmatch(r"(version|creator|positions|events|summary): ?(.*)", line)
        if field:
            head[field[1]] = field[2]
        elif re.fullmatch(r"(ob|fl|fn|cob|cfi|cfn)=.+", line):
            key, name = line.split("=", 1)
            assert not re.match(r"\(\d", name), "an abbreviation"
            where[key] = name
        elif re.fullmatch(r"calls=\d+ 0x[0-9a-f]+ \d+", line):
            call = where["cfn"]
        elif line:
            assert re.fullmatch(r"0x[0-9a-f]+ \d+( \d+)*", line), line
            costs = [int(word) for word in line.split()[2:]]
            assert len(costs) == len(head["events"].split())
            for i, cost in enumerate(costs):
                if call is None:
                    own[i, where["fn"]] += cost
                else:
                    called[i, where["fn"], call] += cost
            call = None
    assert head["version"] == "1" and head["positions"] == "instr line"
    summary = [int(word) for word in head["summary"].split()]
    for i, event in enumerate(head["events"].split()):
        assert sum(cost for (e, _), cost in own.items() if e == i) == summary[i]
        assert sum(cost for (e, f, _), cost in called.items() if (e, f) == (i, "root")) == summary[i]
        print(f"{event}: {summary[i]}")
        for (e, f), cost in sorted(own.items()):
            if e == i and cost:
                print(f"  {f} {cost}")
        for (e, f, g), cost in sorted(called.items()):
            if e == i and cost:
                print(f"  {f} > {g} {cost}")


def whole(path):
    """The JSON report: stacks and totals must say the same."""
    report = json.load(open(path, encoding="utf-8"))
    assert report["format"] == "pmcreport" and report["version"] == 1
    own, total = collections.Counter(), collections.Counter()
    function = [f["name"] or f["offset"] for f in report["functions"]]
    events = report["events"]
    for stack in report["stacks"]:
        chain = [report["frames"][i]["function"] for i in stack["frames"]]
        event = events[stack["event"]]["name"], stack["process"]
        own[event, chain[0]] += stack["samples"]
        total.update({(event, f): stack["samples"] for f in set(chain)})
    for row in report["totals"]:
        key = (events[row["event"]]["name"], row["process"]), row["function"]
        assert (own[key], total[key]) == (row["self"], row["total"])
    assert len(report["totals"]) == len(total)
    print("partial", report["partial"], "samples", sum(own.values()), "of", report["statistics"]["samples"])
    for (event, process), f in sorted(total, key=str):
        image = report["functions"][f]["image"]
        state = "-" if image is None else report["images"][image]["state"]
        print(event, ascii(report["processes"][process]["name"]), function[f], state,
              own[(event, process), f], total[(event, process), f])


def rows(path):
    table = list(csv.reader(open(path, encoding="utf-8", errors="replace", newline="")))
    assert all(len(row) == len(table[0]) for row in table)
    for row in table:
        print(ascii(row))


def svg(path):
    """A flame graph: frames lie within what called them, beside each other, and the root where a page opens."""
    space = "{http://www.w3.org/2000/svg}"
    root = xml.parse(path).getroot()
    assert root.tag == space + "svg" and root.get("viewBox")
    known = {space + tag for tag in "svg title style rect text tspan foreignObject g script".split()}
    known.add("{http://www.w3.org/1999/xhtml}div")
    for element in root.iter():
        assert element.tag in known, element.tag
        assert not any(key.lower().startswith("on") or "href" in key for key in element.keys())
    assert not re.search(r"(?:src|url|import)\s*[(=]|fetch|innerHTML|eval", open(path, encoding="utf-8").read())
    for words in root.iterfind(f"{space}text"):
        assert int(words.get("y")) < 118	# nothing but frames is further down
    above = []
    for g in root.iterfind(f".//{space}g[@data-depth]"):
        depth, start, n = (int(g.get("data-" + key)) for key in ("depth", "from", "samples"))
        title, rect = g.find(space + "title").text, g.find(space + "rect")
        assert title.startswith(g.get("data-name")) and f" ({n} samples, " in title
        del above[depth:]
        assert depth == len(above)
        if above:
            assert above[-1][0] <= start and start + n <= above[-1][1]
            above[-1][0] = start + n		# the next one begins behind it
        above.append([start, start + n])
        assert int(rect.get("y")) == 118 + 18 * depth and int(root.get("height")) >= 118 + 18 * (depth + 1)
        assert float(rect.get("width")) <= 1180 and len(g.find(space + "text").text or "") * 7 <= 1180
        print(depth, g.get("class").split()[1], ascii(g.get("data-name")), n)


{"pprof": pprof, "speedscope": speedscope, "callgrind": callgrind, "json": whole, "csv": rows,
 "svg": svg}[sys.argv[1]](sys.argv[2])
