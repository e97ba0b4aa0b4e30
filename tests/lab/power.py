#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Power control between labs, with what labs really use: labgrid's drivers switch a rig of
`stallrig serve`, and rigs with an http switch are driven by another stallrig's server and by
pdudaemon. What is switched at the end is always a file.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from checks import STALLRIG, TOP, check, equal, print_passed

TOKEN = "a-token-of-this-test"
SWITCH = """\
    switch:
      driver: {driver}
      min_off_ms: 0
      settle_ms: 0
      safe_state: on
"""
work = tempfile.mkdtemp(prefix="stallrig-power-")
children = []


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def contents(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class Lab:
    """A host with rigs: a state folder and rig files of its own."""

    def __init__(self, name):
        self.top = os.path.join(work, name)
        self.rigs = os.path.join(self.top, "rigs")
        os.makedirs(self.rigs)
        self.env = dict(os.environ, STALLRIG_STATE=os.path.join(self.top, "state"),
                        STALLRIG_RIGS=self.rigs)

    def add_rig(self, name, driver, keys):
        with open(os.path.join(TOP, "fixtures", "rigs", "virtual-x86.yaml"),
                  encoding="utf-8") as f:
            text = f.read().replace("name: virtual-x86", "name: " + name)
        text = text[:text.index("    switch:")] + SWITCH.format(driver=driver)
        text += "".join(f"      {key}: {json.dumps(value)}\n" for key, value in keys.items())
        write(os.path.join(self.rigs, name + ".yaml"), text)

    def run(self, status, *args):
        p = subprocess.run([STALLRIG, *args], env=self.env, capture_output=True, text=True,
                           timeout=120)
        equal(f"{' '.join(args)}\n{p.stdout}{p.stderr}", p.returncode, status)
        return p.stdout + p.stderr


def start(argv, env, ready):
    """Starts a server; returns it and what ready(its output so far) returned."""
    log = os.path.join(work, f"log-{len(children)}")
    with open(log, "w", encoding="utf-8") as f:
        p = subprocess.Popen(argv, env=env, stdout=f, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL)
    children.append(p)
    for _ in range(600):
        found = ready(contents(log))
        if found:
            return p, found
        if p.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"FAIL: {argv} does not start:\n{contents(log)}")


def stop(p):
    p.send_signal(signal.SIGTERM)
    p.wait(timeout=60)


def http(method, url, token=None, body=None, headers=None):
    request = urllib.request.Request(url, method=method, headers=headers or {},
                                     data=None if body is None else body.encode())
    if token:
        request.add_header("Authorization", "Bearer " + token)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def labgrid_driver(resource, driver, **keys):
    import labgrid
    import labgrid.driver.powerdriver as drivers
    import labgrid.resource.power as ports

    target = labgrid.Target("dut")
    getattr(ports, resource)(target, name=None, **keys)
    d = getattr(drivers, driver)(target, name=None, delay=1.0)
    target.activate(d)
    return d


def test_labgrid(base, outlet, near):
    import requests

    # requests, which labgrid asks with, finds the token there: no address has to hold it
    os.environ["NETRC"] = write(os.path.join(work, "netrc"),
                                f"machine 127.0.0.1 login ann password {TOKEN}\n", 0o600)
    rest = labgrid_driver("NetworkPowerPort", "NetworkPowerDriver", model="rest", index="0",
                          host=base + "api/v1/rigs/bench/switch/value")
    rest.off()
    equal("off by labgrid", contents(outlet), "0")
    equal("what labgrid reads", rest.get(), False)
    rest.on()
    equal("on by labgrid", contents(outlet), "1")
    equal("what labgrid reads", rest.get(), True)
    write(outlet, "0")
    equal("moved by another hand", rest.get(), False)
    before = os.stat(outlet).st_mtime_ns
    rest.cycle()
    equal("cycled by labgrid", contents(outlet), "1")
    check("it was written", os.stat(outlet).st_mtime_ns > before)

    pdu = labgrid_driver("PDUDaemonPort", "PDUDaemonDriver", pdu="bench", index=1,
                         host=base.split("//")[1].rstrip("/"))
    pdu.off()
    equal("off by labgrid's pdudaemon driver", contents(outlet), "0")
    pdu.on()
    equal("on by labgrid's pdudaemon driver", contents(outlet), "1")
    pdu.cycle()
    equal("cycled by labgrid's pdudaemon driver", contents(outlet), "1")
    lines = contents(outlet + ".log").split()
    equal("the last two changes", lines[-2:], ["0", "1"])

    # the client learns of a refusal
    near.run(0, "lock", "bench", "--for", "1h", "--as", "bob")
    for act in (pdu.off, rest.get):
        try:
            act()
        except requests.HTTPError as e:
            equal("status while bob holds it", e.response.status_code, 409)
            check("who holds it", "held by bob" in e.response.text)
        else:
            check("refused while bob holds it", False)
    near.run(0, "unlock", "bench", "--as", "bob", "--force")
    near.run(0, "lock", "bench", "--for", "1h", "--as", "ann")
    pdu.off()
    equal("ann's own lock does not keep ann away", contents(outlet), "0")
    near.run(0, "unlock", "bench", "--as", "ann")
    pdu.on()
    actions = json.loads(http("GET", base + "api/v1/actions", TOKEN)[1])["actions"]
    equal("in whose name", (actions[0]["who"], actions[0]["action"]),
          ("ann", "switch on rig bench"))
    del os.environ["NETRC"]


def test_words(base, outlet):
    """The interfaces' words, and who may not use them."""
    value = base + "api/v1/rigs/bench/switch/value"
    power = base + "power/control/"
    write(outlet, "1")
    before = contents(outlet + ".log")
    equal("GET", http("GET", value, TOKEN), (200, "1"))
    equal("no token", http("GET", value)[0], 401)
    equal("no token", http("PUT", value, body="0")[0], 401)
    equal("no token", http("GET", power + "off?hostname=bench&port=1")[0], 401)
    equal("another token", http("PUT", value, TOKEN + "x", "0")[0], 401)
    basic = {"Authorization": "Basic YW5uOmEtdG9rZW4tb2YtdGhpcy10ZXN0"}
    equal("Basic", http("GET", value, headers=basic), (200, "1"))
    for field in ("Origin", "Sec-Fetch-Site"):  # a browser that repeats what it knows
        url = power + "off?hostname=bench&port=1"
        equal(field, http("GET", url, headers=dict(basic, **{field: "http://x"}))[0], 401)
    equal("another body", http("PUT", value, TOKEN, "on"), (400, "the body must be 0 or 1\n"))
    for query, status, says in (
            ("on?hostname=bench", 400, "port"),
            ("on?port=1", 400, "hostname"),
            ("on?hostname=bench&port=2", 404, "no port 2"),
            ("on?hostname=bench&port=stick9", 409, "no port 'stick9'"),
            ("on?hostname=../x&port=1", 404, "no name"),
            ("on?hostname=bench&port=1&delay=3", 400, "only reboot"),
            ("reboot?hostname=bench&port=1&delay=61", 400, "delay"),
            ("on?alias=a&hostname=bench&port=1", 400, "alias"),
            ("explode?hostname=bench&port=1", 404, "explode")):
        found = http("GET", power + query, TOKEN)
        equal(query, found[0], status)
        check(f"{query}: {found[1]}", says in found[1])
    equal("HEAD", http("HEAD", power + "off?hostname=bench&port=1", TOKEN)[0], 405)
    equal("nothing of it switched", contents(outlet + ".log"), before)
    stuck = base + "api/v1/rigs/stuck/switch/value"
    status, text = http("PUT", stuck, TOKEN, "0")
    equal("a switch that does not switch: " + text, (status, "turn_off" in text), (502, True))
    equal("one that cannot say", http("GET", stuck, TOKEN),
          (502, "The switch does not say whether it is on\n"))
    equal("a name of a stick", http("GET", power + "off?hostname=bench&port=stick0", TOKEN),
          (200, "OK - accepted request\n"))
    equal("PUT", http("PUT", value, TOKEN, "1"), (200, "1"))
    equal("it switched", contents(outlet), "1")
    actions = json.loads(http("GET", base + "api/v1/actions", TOKEN)[1])["actions"]
    check("questions are no actions", not any("status" in a["action"] and a["is_ok"]
                                              for a in actions))


def test_two_stallrigs(base, outlet, far, server):
    """The http driver of one stallrig and the server of another."""
    token = write(os.path.join(work, "far-token"), TOKEN + "\n", 0o600)
    wrong = write(os.path.join(work, "wrong-token"), "another-token-of-this\n", 0o600)
    value = base + "api/v1/rigs/bench/switch/value"
    far.add_rig("rest", "http", {"protocol": "rest", "url": value, "token_file": token})
    far.add_rig("wrong", "http", {"protocol": "rest", "url": value, "token_file": wrong})
    far.add_rig("output", "http", {
        "protocol": "output", "url": value.replace("//", f"//ann:{TOKEN}@"), "on_body": "1",
        "off_body": "0", "on_match": "1", "off_match": "0"})
    far.add_rig("pdu", "http", {
        "protocol": "pdudaemon", "url": base.replace("//", f"//ann:{TOKEN}@"), "pdu": "bench",
        "outlet": "1"})
    for rig in ("rest", "output", "pdu"):
        for state, written in (("off", "0"), ("on", "1")):
            said = far.run(0, "switch", state, rig)
            check(said, f"{rig}/stick0: {state}" in said)
            equal(f"{state} by the rig {rig}", contents(outlet), written)
        if rig != "pdu":
            write(outlet, "0")
            check("status", ": off" in far.run(0, "switch", "status", rig))
            write(outlet, "1")
            check("status", ": on" in far.run(0, "switch", "status", rig))
    said = far.run(129, "switch", "off", "wrong")
    check(said, "/switch/value: status 401: " in said and "Authorization" in said)
    equal("it did not switch", contents(outlet), "1")
    stop(server)
    for rig in ("rest", "pdu"):
        said = far.run(130, "switch", "off", rig)
        check(said, f"http://{base.split('//')[1]}" in said and TOKEN not in said)


def test_pdudaemon(far):
    """The http driver and the real pdudaemon."""
    outlet = os.path.join(work, "pdudaemon-outlet")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    conf = write(os.path.join(work, "pdudaemon.conf"), json.dumps({
        "daemon": {"hostname": "127.0.0.1", "port": port, "listener": "http",
                   "logging_level": "INFO"},
        "pdus": {"rack 3": {"driver": "localcmdline", "cmd_on": f"echo %s on >{outlet}",
                            "cmd_off": f"echo %s off >{outlet}"}}}))
    server, _ = start(["pdudaemon", "--conf", conf], dict(os.environ),
                      lambda log: "Listening on" in log)
    url = f"http://127.0.0.1:{port}"
    far.add_rig("lava", "http", {"protocol": "pdudaemon", "url": url, "pdu": "rack 3",
                                 "outlet": "7"})
    far.add_rig("lost", "http", {"protocol": "pdudaemon", "url": url, "pdu": "rack 4",
                                 "outlet": "7"})
    for state in ("off", "on", "off"):
        far.run(0, "switch", state, "lava")
        for _ in range(300):  # it does it later
            if os.path.exists(outlet) and contents(outlet) == f"7 {state}\n":
                break
            time.sleep(0.1)
        equal("what pdudaemon did", contents(outlet), f"7 {state}\n")
    said = far.run(130, "switch", "on", "lost")
    check(said, f"{url}/power/control/on: status 500: Invalid request" in said)
    stop(server)


def main():
    near = Lab("near")
    far = Lab("far")
    outlet = write(os.path.join(work, "outlet"), "1")
    write(outlet + ".log", "")
    near.add_rig("bench", "exec", {
        "turn_on": ["sh", "-c", f"printf 1 >{outlet}; echo 1 >>{outlet}.log"],
        "turn_off": ["sh", "-c", f"printf 0 >{outlet}; echo 0 >>{outlet}.log"],
        "status": ["grep", "-q", "1", outlet]})
    near.add_rig("stuck", "exec", {"turn_on": ["false"], "turn_off": ["false"]})
    near.run(0, "lock", "bench", "--for", "1h")  # a store to serve, which knows the rig
    near.run(0, "unlock", "bench")
    token = write(os.path.join(work, "token"), TOKEN + "\n", 0o600)
    server, base = start([STALLRIG, "serve", "--port", "0", "--token-file", token], near.env,
                         lambda log: log.split("\n")[0] if "\n" in log else None)
    test_words(base, outlet)
    test_labgrid(base, outlet, near)
    test_two_stallrigs(base, outlet, far, server)
    test_pdudaemon(far)
    print_passed()


try:
    main()
finally:
    for child in children:
        if child.poll() is None:
            child.kill()
            child.wait()
    shutil.rmtree(work, ignore_errors=True)
