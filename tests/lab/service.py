#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a service manager hears of the long-running commands, on a real notify socket, and what
systemd says of the shipped units.
"""
import contextlib
import glob
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

from checks import STALLRIG, check, equal, print_passed

PROGRAM = os.path.realpath(STALLRIG)  # systemd wants absolute paths
work = tempfile.mkdtemp(prefix="stallrig-service-")
PATIENCE_S = 60  # for what must come; how fast is not tested
ENV = dict(os.environ, STALLRIG_STATE=os.path.join(work, "state"), STALLRIG_CACHE=os.path.join(work, "cache"),
           STALLRIG_PLANS=os.path.join(work, "plans"))


class Manager:
    """The end of the socket where systemd is."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.address = address
        self.heard = []

    def listen(self, seconds):
        """Whether something was heard within that time."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return False
        self.heard += self.socket.recv(4096).decode().split("\n")
        return True

    def wait_for(self, word, n=1):
        until = time.monotonic() + PATIENCE_S
        while sum(line.startswith(word) for line in self.heard) < n:
            check(f"'{word}' is heard {n} times, not only {self.heard}", time.monotonic() < until)
            self.listen(1)

    def drain(self):
        while self.listen(0):
            pass
        self.heard = []


@contextlib.contextmanager
def service(manager, *words, watchdog_us=None, pid_of=None, **env):
    env = dict(ENV, NOTIFY_SOCKET=manager.address, **env)
    if watchdog_us:
        env["WATCHDOG_USEC"] = str(watchdog_us)
    if pid_of:
        env["WATCHDOG_PID"] = str(pid_of)
    log = os.path.join(work, "log")
    with open(log, "w", encoding="utf-8") as f:
        p = subprocess.Popen([STALLRIG, *words], env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=f, text=True)
    try:
        yield p
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()
        p.stdout.close()


def said():
    with open(os.path.join(work, "log"), encoding="utf-8") as f:
        return f.read()


def test_worker():
    """Ready when it takes jobs, alive while it waits, silent when it hangs, stopping when it is told."""
    m = Manager(os.path.join(work, "notify"))
    with service(m, "worker", "--rig", "virtual-x86", watchdog_us=200000) as p:
        m.wait_for("READY=1")
        check(said(), ": store " in said())
        m.wait_for("WATCHDOG=1", 3)
        m.wait_for("STATUS=worker ")
        equal("ready once", m.heard.count("READY=1"), 1)
        os.kill(p.pid, signal.SIGSTOP)
        while open(f"/proc/{p.pid}/stat", encoding="ascii").read().split()[2] != "T":
            time.sleep(0.01)
        m.drain()
        check("one that hangs says nothing", not m.listen(1))
        os.kill(p.pid, signal.SIGCONT)
        m.wait_for("WATCHDOG=1")
        p.send_signal(signal.SIGTERM)
        m.wait_for("STOPPING=1")
        equal("exit status", p.wait(timeout=PATIENCE_S), 130)
    m.drain()
    # signs of life that are wanted of another process
    with service(m, "worker", "--rig", "virtual-x86", watchdog_us=20000, pid_of=1) as p:
        m.wait_for("READY=1")
        m.listen(1)
        equal("none", [line for line in m.heard if line.startswith("WATCHDOG")], [])


def test_serve():
    """Ready when the port answers; an address of the abstract name space."""
    m = Manager(f"@stallrig-test-{os.getpid()}")
    with service(m, "serve", "--port", "0", watchdog_us=500000) as p:
        m.wait_for("READY=1")
        url = p.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as page:
            equal("status", page.status, 200)
        m.wait_for("STATUS=" + url)
        m.wait_for("WATCHDOG=1", 2)
        p.send_signal(signal.SIGTERM)
        m.wait_for("STOPPING=1")
        equal("exit status", p.wait(timeout=PATIENCE_S), 0)


def test_nightly():
    """The plan's program is started without the manager's words."""
    m = Manager(os.path.join(work, "night"))
    told = os.path.join(work, "told")
    tell = os.path.join(work, "tell")
    with open(tell, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\nenv >{told}\n")
    os.chmod(tell, 0o755)
    os.makedirs(os.path.join(work, "drop"))
    os.makedirs(ENV["STALLRIG_PLANS"])
    with open(os.path.join(ENV["STALLRIG_PLANS"], "p.yaml"), "w", encoding="ascii") as f:
        f.write(f"name: p\nrigs: [virtual-x86]\nscenarios: [unplug-read]\nkernels: [{{folder: {work}/drop}}]\n"
                f"notify: {tell}\n")
    with service(m, "nightly", "p", watchdog_us=1000000) as p:
        m.wait_for("READY=1")
        m.wait_for("STATUS=night-ended: there was nothing to run")
        m.wait_for("STOPPING=1")
        equal("exit status", p.wait(timeout=PATIENCE_S), 0)
    with open(told, encoding="utf-8") as f:
        names = {line.split("=")[0] for line in f}
    check(f"{names}", "STALLRIG_STATE" in names)
    equal("inherited", names & {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}, set())


def test_words():
    """What is wrong with the manager's words is said; without them nothing changes."""
    for env, words in (({"NOTIFY_SOCKET": "relative"}, "NOTIFY_SOCKET: 'relative' is no address"),
                       ({"NOTIFY_SOCKET": "/" + "x" * 120}, "is no address of a socket"),
                       ({"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "soon"}, "WATCHDOG_USEC: 'soon'")):
        r = subprocess.run([STALLRIG, "worker", "--rig", "virtual-x86", "--until-empty"], env=dict(ENV, **env),
                           capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        equal(r.stderr, r.returncode, 129)
        check(f"{words} in {r.stderr}", words in r.stderr)
    # a manager that has gone is no reason to stop
    r = subprocess.run([STALLRIG, "worker", "--rig", "virtual-x86", "--until-empty"],
                       env=dict(ENV, NOTIFY_SOCKET="/nowhere", WATCHDOG_USEC="1000"), capture_output=True,
                       text=True, check=False, timeout=PATIENCE_S)
    equal(r.stderr, r.returncode, 0)


def test_journal():
    """Errors have the priority of errors in the journal, and only there."""
    path = os.path.join(work, "stream")
    for stream, begin in (("{0.st_dev}:{0.st_ino}", "<3>stallrig: "), ("1:{0.st_ino}", "stallrig: ")):
        with open(path, "w", encoding="ascii") as f:
            subprocess.run([STALLRIG, "nightly", "nosuch"], stderr=f, check=False,
                           env=dict(ENV, JOURNAL_STREAM=stream.format(os.fstat(f.fileno()))))
        with open(path, encoding="ascii") as f:
            text = f.read()
        check(text, text.startswith(begin))


def test_units():
    """systemd has nothing to say against the units, with this build's program in them."""
    shipped = glob.glob(os.path.join(os.path.dirname(STALLRIG), "systemd", "*"))
    equal("units", sorted(os.path.basename(u) for u in shipped),
          ["stallrig-nightly@.path", "stallrig-nightly@.service", "stallrig-nightly@.timer",
           "stallrig-serve.service", "stallrig-worker@.service"])
    folder = os.path.join(work, "units")
    os.mkdir(folder)
    for unit in shipped:
        with open(unit, encoding="ascii") as f:
            text = f.read()
        if unit.endswith(".service"):
            check(unit, "\nExecStart=/" in text)
        lines = [f"ExecStart={PROGRAM} " + line.split(" ", 1)[1] if line.startswith("ExecStart=") else line
                 for line in text.split("\n")]
        with open(os.path.join(folder, os.path.basename(unit)), "w", encoding="ascii") as f:
            f.write("\n".join(lines))

    def verify():
        r = subprocess.run(["systemd-analyze", "verify", "--man=no", *glob.glob(folder + "/*")],
                           capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        # units of the machine that the test runs on are not ours
        return [line for line in r.stderr.split("\n") if "stallrig" in line]

    equal("complaints", verify(), [])
    # and it would have
    with open(os.path.join(folder, "stallrig-serve.service"), "a", encoding="ascii") as f:
        f.write("\n[Service]\nWatchdog=1\n")
    check("a wrong key is complained about", any("Watchdog" in line for line in verify()))


try:
    for test in (test_worker, test_serve, test_nightly, test_words, test_journal, test_units):
        test()
    print_passed()
finally:
    shutil.rmtree(work, ignore_errors=True)
