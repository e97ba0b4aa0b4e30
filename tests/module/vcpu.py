# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host does to the virtual CPUs of a guest of guest.py: how long they run, and when not."""
import bisect
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# How far from a time a mark is looked for: long enough that one of them was read at once on a busy
# host, too short for a drift between the clocks.
NEAR_NS = 60 * 10**9


def qemu(log):
    """The process whose console is the file log; None if there is none (yet)."""
    r = subprocess.run(["pgrep", "-f", "file:" + log], stdout=subprocess.PIPE, text=True)
    for pid in r.stdout.split():
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                if f.read().startswith("qemu"):
                    return int(pid)
        except FileNotFoundError:
            pass
    return None


def threads(pid):
    """Thread numbers of the virtual CPUs, in their order."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as f:
            words = f.read().split()
        if len(words) == 2 and words[0] == "CPU":
            found[int(words[1].split("/")[0])] = int(tid)
    return [found[cpu] for cpu in sorted(found)]


def run_ns(pid):
    """CPU time of the virtual CPUs so far."""
    total = 0
    for tid in threads(pid):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="utf-8") as f:
            total += int(f.read().split()[0])
    return total


class Away:
    """When a virtual CPU was not run, in the guest's own time: the host gave its processor to
    another, or QEMU kept it waiting for a lock, or it was idle. Called as the watch= of a run; then
    asked. Takes each switch with perf (Debian: linux-perf); where there
    is none or it may not, nothing is known. The guest's script says now and then
    "### mark CLOCK_MONOTONIC-ns"."""

    def __init__(self, n_cpus=2):
        self.n_cpus = n_cpus
        self.gaps = []      # of each virtual CPU: (begin, end) by the host's CLOCK_MONOTONIC
        self.marks = []     # (guest's ns, host's ns - guest's ns)

    def __call__(self, log, stop):
        if not shutil.which("perf"):
            print("no perf: what the host does is not recorded", file=sys.stderr)
            return
        with tempfile.TemporaryDirectory() as tmp, open(log, "rb") as console:
            data = os.path.join(tmp, "perf.data")
            perf = None
            text = b""
            while not stop.is_set():
                if not perf:
                    pid = qemu(log)
                    tids = threads(pid) if pid else []
                    if len(tids) == self.n_cpus:
                        perf = subprocess.Popen(
                            ["perf", "record", "-q", "-o", data, "-e", "dummy:u",
                             "--switch-events", "-k", "CLOCK_MONOTONIC", "-t",
                             ",".join(map(str, tids))], stdin=subprocess.DEVNULL)
                *lines, text = (text + console.read()).split(b"\n")
                now = time.monotonic_ns()
                for line in lines:
                    if line.startswith(b"### mark "):
                        guest_ns = int(line.split()[2])
                        self.marks.append((guest_ns, now - guest_ns))
                time.sleep(0.005)
            if perf:
                perf.send_signal(signal.SIGINT)
                perf.wait()
                self.read(data, tids)

    def read(self, data, tids):
        self.gaps = [[] for _ in tids]
        out = {}
        with subprocess.Popen(["perf", "script", "-i", data, "--show-switch-events",
                               "--show-lost-events", "-F", "tid,time", "--ns"],
                              stdout=subprocess.PIPE, text=True) as p:
            for line in p.stdout:
                words = line.split()
                if "PERF_RECORD_LOST" in line:
                    raise RuntimeError(f"perf has lost switches: {line}")
                if len(words) < 4 or words[2] != "PERF_RECORD_SWITCH":
                    continue
                seconds, ns = words[1].rstrip(":").split(".")
                now = int(seconds) * 10**9 + int(ns)
                tid = int(words[0])
                if words[3] == "OUT":
                    out[tid] = now
                    continue
                begin = out.pop(tid, None)
                if begin is not None:
                    self.gaps[tids.index(tid)].append((begin, now))

    def offset_ns(self, guest_ns):
        """The host's CLOCK_MONOTONIC minus the guest's: of the marks nearby the least, for each is
        read a little later than it was written. None if there is no mark."""
        low = bisect.bisect_left(self.marks, (guest_ns - NEAR_NS,))
        high = bisect.bisect_right(self.marks, (guest_ns + NEAR_NS,))
        return min((offset for _, offset in self.marks[low:high]), default=None)

    def gaps_ns(self, cpu, begin_ns, end_ns):
        """The lengths of the times without a run that reach into the time between two of the
        guest's; None if that is not known."""
        offset = self.offset_ns(begin_ns)
        if offset is None or cpu >= len(self.gaps):
            return None
        gaps = self.gaps[cpu]
        at = bisect.bisect_right(gaps, begin_ns + offset, key=lambda g: g[1])
        found = []
        while at < len(gaps) and gaps[at][0] < end_ns + offset:
            found.append(gaps[at][1] - gaps[at][0])
            at += 1
        return found
