#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_log.py LOG - what the guest of tests/module/all.sh left on its console and in its snapshot.

Reads the formats from docs/latency-mon.md anew: it shares no code with the writers or the agent.
"""
import base64
import collections
import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile
from urllib.parse import unquote

from guest import STALLRIG, fields, read_log

AGENT = os.path.join(os.path.dirname(STALLRIG), "stallrig-agent")

KINDS = ("normal", "highpri", "unbound", "bh", "kthread")
n_passed = 0
n_failed = 0


def check(what, is_true, details=""):
    global n_passed, n_failed
    if is_true:
        n_passed += 1
    else:
        n_failed += 1
        print(f"FAILED: {what} {details}", file=sys.stderr)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def between(text, begin, end):
    at = text.index(begin + "\n") + len(begin) + 1
    return text[at:text.index(end, at)]


def check_lines(text):
    """Extended lines of one load: form, CRC, numbers without gaps, live ages that double."""
    part = between(text, "### live begins", "### live ends")
    lines = [re.sub(r"^\[ *\d+\.\d+\] ", "", line) for line in part.split("\n") if "DELAY:" in line]
    form = re.compile(r"DELAY: (\d+) cpu=(\d+) probe=(\w+) seq=(\d+) us=(\d+) due_ns=(\d+) "
                      r"live=([01]) crc=([0-9a-f]{8})")
    check("there are extended lines", len(lines) > 8, len(lines))
    seqs = []
    live = []
    for line in lines:
        m = form.fullmatch(line)
        check("the extended form is exact", m, line)
        if not m:
            continue
        check("the CRC is right", int(m[8], 16) == crc32c(line[:line.index(" crc=")].encode()), line)
        check("ms is us/1000", int(m[1]) == int(m[5]) // 1000, line)
        seqs.append(int(m[4]))
        if (m[2], m[3]) == ("1", "normal"):
            live.append((int(m[7]), int(m[5]), int(m[6])))
    check("seq has no gaps", seqs == list(range(1, len(seqs) + 1)), seqs)
    # the 4 s stall: the sample whose end is the longest
    ends = [x for x in live if not x[0]]
    check("the stall ends with a line", ends)
    if not ends:
        return
    end = max(ends, key=lambda x: x[1])
    check("the end has the whole length", end[1] >= 3985000, end)
    # the due time of a live line is that of its sample, or, taken by the neighbour, an estimate of it
    ages = [us for is_live, us, due in live if is_live and abs(due - end[2]) < 20e6 and us <= end[1]]
    check("a stall is told while it lasts", len(ages) >= 3, ages)
    check("live lines go up by powers of two", ages == sorted(ages) and
          all(int(b / 60000).bit_length() > int(a / 60000).bit_length()
              for a, b in zip(ages, ages[1:])), ages)


def check_classic(raw):
    part = between(raw, "### classic begins\r", "### classic ends").split("\n")[:-1]
    seq = int(re.search(r"### classic ends, seq=(\d+)", raw)[1])
    check("classic prints something", part)
    check("classic is byte for byte 'DELAY: %lld'",
          all(re.fullmatch(r"DELAY: [1-9]\d*\r", line) for line in part), part)
    check("classic has a line for each number", len(part) == seq, (part, seq))
    # the bound probes of the stalled CPU
    long = [line for line in part if line.startswith("DELAY: ") and int(line[7:]) >= 385]
    check("classic tells the length", len(long) >= 3, part)


def check_text(text):
    """events, worst, hist and state as text."""
    events = [fields(x) for x in between(text, "### read-out", "### worst").strip().split("\n")]
    worst = [fields(x) for x in between(text, "### worst", "### hist").strip().split("\n")]
    hist = [fields(x) for x in between(text, "### hist", "### state").strip().split("\n")]
    numbers = [int(e["n"]) for e in events]
    check("events are in order", numbers == sorted(numbers), numbers)
    lengths = [int(e["us"]) for e in worst]
    check("worst is sorted", lengths == sorted(lengths, reverse=True), lengths)
    for e in events + worst:
        parts = int(e["irq_us"]) + int(e["sched_us"]) + int(e["wq_us"])
        check("irq + sched + wq is the delay", abs(parts - int(e["us"])) <= 2, e)
        check("run is due + delay",
              abs(int(e["run_ns"]) - int(e["due_ns"]) - int(e["us"]) * 1000) < 1000, e)
        check("a held pool is not held longer than its delay and a tick",
              int(e["held_us"]) <= int(e["us"]) + 12000, e)
    for h in hist:
        low, end = int(h["low_ns"]), int(h["end_ns"])
        check("a bucket is 1/32 wide", end - low == 1 or (end - low) * 32 <= low, h)
    check("the stalls are in the histogram", sum(
        int(h["count"]) for h in hist if h["cpu"] == "1" and h["probe"] == "normal" and
        int(h["end_ns"]) > 135e6) >= 3)


def check_snapshot(text):
    b = gzip.decompress(base64.b64decode(between(text, "### snapshot", "### end")))
    states = [[fields(x) for x in between(text, "### " + part, "### " + end).strip().split("\n")]
              for part, end in (("before", "after"), ("after", "text"))]
    events = {int(e["n"]): e for e in map(fields, between(text, "### text", "### snapshot")
                                          .strip().split("\n"))}
    check("the CRC is right", crc32c(b[:-4]) == struct.unpack("<I", b[-4:])[0])
    (magic, version, header_size, probe_size, event_size, n_probes, buckets, sub, recent, worst,
     period, threshold, hz, resolution, console) = struct.unpack_from("<8s14I", b)
    _, n_events, lost, clock = struct.unpack_from("<4Q", b, 64)
    check("magic and version", (magic, version) == (b"LMSNAP\r\n", 1), (magic, version))
    check("sizes", (header_size, probe_size, event_size, buckets, sub) == (96, 104, 216, 1216, 32))
    check("parameters", (period, threshold, hz, console, lost) == (10000, 60000000, 250, 0, 0))
    check("timer resolution", resolution == int(states[0][0]["timer_res_ns"]))
    check("clock", int(states[0][0]["clock_ns"]) - 8e6 <= clock <= int(states[1][0]["clock_ns"]) + 8e6)
    at = header_size
    check("probes", n_probes == len(states[0]) - 1, n_probes)
    totals = collections.Counter()
    for before, after in zip(states[0][1:], states[1][1:]):
        cpu, kind, flags, zero = struct.unpack_from("<4I", b, at)
        (beats, missed, over, _, longest, due, run, _, irq, sched, wq) = \
            struct.unpack_from("<11Q", b, at + 16)
        counts = struct.unpack_from(f"<{buckets}Q", b, at + probe_size)
        at += probe_size + 8 * buckets
        check("which probe", (cpu, KINDS[kind], zero) == (int(before["cpu"]), before["probe"], 0))
        check("flags", flags & ~2 == int(before["online"]) | 4 * int(before["sched_known"]), flags)
        totals.update({(KINDS[kind], i): n for i, n in enumerate(counts) if n})
        check("buckets add up to the beats", sum(counts) == beats, (sum(counts), beats))
        for key, value in (("beats", beats), ("missed", missed), ("over", over),
                           ("max_us", longest // 1000), ("irq_max_us", irq // 1000),
                           ("sched_max_us", sched // 1000), ("wq_max_us", wq // 1000)):
            check(f"{key} lies between the states", int(before[key]) <= value <= int(after[key]),
                  (before[key], value, after[key]))
        check("the longest ran when it ran", run - due == longest or longest == 0)
    for i in range(recent + worst):
        number, cpu, kind, run_cpu, flags, pid, held_pid = struct.unpack_from("<Q6I", b, at)
        total, due, run, irq, sched, self_ns, held, mono = struct.unpack_from("<8Q", b, at + 32)
        func = b[at + 96:at + 160].split(b"\0")[0].decode()
        module = b[at + 160:at + 216].split(b"\0")[0].decode()
        at += event_size
        check("irq and sched are not more than the delay", irq + sched <= total)
        check("run is due + total", run == due + total)
        e = events.get(number)
        if not e:
            check("only worst may be older than the ring", i >= recent)
            continue
        mine = {"cpu": cpu, "probe": KINDS[kind], "us": total // 1000, "due_ns": due, "run_ns": run,
                "irq_us": irq // 1000, "pid": pid, "func": func, "sched_us": sched // 1000,
                "sched_known": flags & 1, "wq_us": (total - irq - sched) // 1000,
                "self_us": self_ns // 1000, "held_us": held // 1000, "held_pid": held_pid,
                "mod": module, "run_cpu": run_cpu, "cut": flags >> 1, "due_mono_ns": mono}
        for key, value in mine.items():
            check(f"event {number}: {key} is that of the text", str(value) == e[key], (value, e[key]))
    check("the stalls are in it", recent >= 3 and n_events >= 3 and worst >= 3)
    check("nothing is left over", at + 4 == len(b), (at, len(b)))
    check_agent(b, sub, totals)


def low_ns(index, sub):
    shift = max(0, index // sub - 1)
    return (index - shift * sub) << shift


def ask(agent, seq, request):
    """The lines and the last frame of an answer."""
    text = f"@sr {seq} {request}"
    agent.stdin.write(f"{text} {crc32c(text.encode()):08x}\n")
    agent.stdin.flush()
    lines = [""]
    for frame in agent.stdout:
        words = frame.split()[1:-1]
        if words[1] in ("part", "data"):
            lines[-1] += unquote(words[3])
        if words[1] == "data":
            lines.append("")
        if words[1] in ("ok", "err"):
            return lines[:-1], words[1:]
    return lines, ["none"]


def check_agent(snapshot, sub, totals):
    """The agent reads the same samples from it."""
    with tempfile.TemporaryDirectory() as root:
        path = os.path.join(root, "sys/kernel/debug/latency_mon")
        os.makedirs(path)
        with open(os.path.join(path, "snapshot"), "wb") as f:
            f.write(snapshot)
        with subprocess.Popen([AGENT, "-r", root, "-l", "stdio"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as agent:
            check("the agent answers", ask(agent, 1, "hello check 1")[1][0] == "ok")
            for seq, kind in enumerate(KINDS, 2):
                lines, last = ask(agent, seq, f"probe-samples probe={kind}")
                mine = [f"{low_ns(i, sub)},{low_ns(i + 1, sub)},{n}"
                        for (k, i), n in sorted(totals.items()) if k == kind]
                theirs = [r for line in lines for r in line.split(";")[1:]]
                check(f"the agent reads all samples of {kind}", mine == theirs, (mine, theirs))
                check(f"the agent counts the samples of {kind}",
                      f"samples={sum(n for (k, _), n in totals.items() if k == kind)}" in last, last)
            agent.stdin.close()


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace", newline="") as f:
        raw = f.read()
    text = read_log(sys.argv[1])
    for part, argument in ((check_lines, text), (check_classic, raw), (check_text, text),
                           (check_snapshot, text)):
        try:
            part(argument)
        except (ValueError, KeyError, TypeError, struct.error, OSError, EOFError) as e:
            check(part.__name__, False, repr(e))
    print(f"{n_passed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
