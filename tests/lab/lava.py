#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/exports.md says of a lab with LAVA, held against LAVA itself: its schemas (Debian's lava-common)
judge device, job and test definition; its device templates (out of Debian's lava-server, which is fetched
and not installed) render the device; and what the commands and steps say is done.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import yaml
from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from lava_common.schemas.test import testdef

from checks import STALLRIG, TOP, check, equal, print_passed

SCHEMA = "/usr/share/lava-common/lava-schema.py"
work = tempfile.mkdtemp(prefix="stallrig-lava-")


def write(name, text, mode=0o644):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def documented():
    """The device, the job and the test definition of the document."""
    with open(os.path.join(TOP, "docs", "exports.md"), encoding="utf-8") as f:
        text = f.read()
    blocks = re.findall(r"^```(jinja|yaml)\n(.*?)^```$", text, re.M | re.S)
    equal("blocks", [kind for kind, _ in blocks], ["jinja", "yaml", "yaml"])
    return [block for _, block in blocks]


def templates():
    """LAVA's device types, of the version that the registry has."""
    cache = os.environ.get("STALLRIG_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "stallrig")
    policy = subprocess.run(["apt-cache", "policy", "lava-server"], capture_output=True, text=True, check=True)
    version = re.search(r"Candidate: (\S+)", policy.stdout).group(1)
    folder = os.path.join(cache, "lava-templates", version)
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        deb = os.path.join(work, "deb")
        os.mkdir(deb)
        if subprocess.run(["apt-get", "download", "-q", "lava-server"], cwd=deb, capture_output=True,
                          check=False).returncode:
            subprocess.run(["apt-get", "update", "-qq"], capture_output=True, check=True)
            subprocess.run(["apt-get", "download", "-q", "lava-server"], cwd=deb, capture_output=True, check=True)
        subprocess.run(["dpkg-deb", "-x", glob.glob(deb + "/*.deb")[0], deb + "/x"], check=True)
        shutil.copytree(deb + "/x/usr/share/lava-server/device-types", f"{folder}.{os.getpid()}")
        os.rename(f"{folder}.{os.getpid()}", folder)
    return folder


def lava_says(kind, text, *options):
    """What LAVA's own checker complains about; "" = nothing."""
    path = write("checked", text)
    r = subprocess.run([SCHEMA, kind, path, *options], capture_output=True, text=True, check=False)
    complaints = [line for line in r.stdout.split("\n") if line.startswith("  -> ")]
    equal(r.stdout + r.stderr, bool(r.returncode), bool(complaints))
    return "\n".join(complaints)


def bench():
    """A rig whose switch is a file; stallrig in the PATH of who runs the commands."""
    os.makedirs(os.path.join(work, "rigs"))
    os.makedirs(os.path.join(work, "bin"))
    outlet = os.path.join(work, "outlet")
    with open(os.path.join(TOP, "fixtures", "rigs", "virtual-x86.yaml"), encoding="utf-8") as f:
        text = f.read().replace("name: virtual-x86", "name: bench1")
    text = text[:text.index("    switch:")] + f"""\
    switch:
      driver: exec
      turn_on: [sh, -c, 'echo 1 >{outlet}']
      turn_off: [sh, -c, 'echo 0 >{outlet}']
      status: [grep, -q, '1', '{outlet}']
      min_off_ms: 0
      settle_ms: 0
      safe_state: on
"""
    write("rigs/bench1.yaml", text)
    write("outlet", "1\n")
    os.symlink(os.path.realpath(STALLRIG), os.path.join(work, "bin", "stallrig"))
    return outlet, dict(os.environ, PATH=os.path.join(work, "bin") + ":" + os.environ["PATH"],
                        STALLRIG_STATE=os.path.join(work, "state"), STALLRIG_RIGS=os.path.join(work, "rigs"))


def test_device(device, job):
    folder = templates()
    equal("LAVA on the device", lava_says("device", device, "--path", folder), "")
    check("LAVA sees a mistake", lava_says("device", device.replace("'do'", "'does'"), "--path", folder))
    loader = SandboxedEnvironment(autoescape=False, loader=FileSystemLoader([folder]))
    users = yaml.safe_load(loader.from_string(device).render())["commands"]["users"]
    used = [a["command"]["name"] for a in yaml.safe_load(job)["actions"] if "command" in a]
    check(f"{used} of {list(users)}", used and set(used) <= set(users))
    outlet, env = bench()
    for name, key, wanted in (("usb_unplug", "do", "0"), ("usb_plug", "do", "1"), ("usb_unplug", "do", "0"),
                              ("usb_unplug", "undo", "1")):
        r = subprocess.run(["sh", "-c", users[name][key]], env=env, capture_output=True, text=True, check=False)
        equal(f"{name} {key}: {r.stderr}", r.returncode, 0)
        with open(outlet, encoding="ascii") as f:
            equal(f"{name} {key}", f.read().strip(), wanted)
    return env


def test_job(job):
    equal("LAVA on the job", lava_says("job", job, "--strict"), "")
    check("LAVA sees a mistake", lava_says("job", job.replace("monitors:", "monitor:"), "--strict"))
    tests = [a["test"] for a in yaml.safe_load(job)["actions"] if "test" in a]
    monitor = next(t["monitors"][0] for t in tests if "monitors" in t)
    # what LAVA would read out of a console on which the stall really is
    with open(os.path.join(TOP, "fixtures", "recordings", "unplug-delay-classic.log"), encoding="utf-8", errors="replace") as f:
        console = f.read()
    found = [(m["test_case_id"], int(m["measurement"])) for m in re.finditer(monitor["pattern"], console, re.M)]
    check(f"{found}", ("DELAY", 6782) in found)
    check("it ends", re.search(monitor["end"], console))
    check("it begins", re.search(monitor["start"], "usb 1-1: USB disconnect, device number 11"))


def test_definition(text, env):
    definition = yaml.safe_load(text)
    testdef.validate(definition)
    steps = definition["run"]["steps"]
    equal("steps", [step.split()[:2] for step in steps], [["stallrig", "run"], ["stallrig", "report"]])
    # a run without a rig to stand for the first step, whose words are read all the same
    r = subprocess.run(["sh", "-c", steps[0].replace(" || true", "")], capture_output=True, text=True, check=False,
                       env=dict(env, RIG="bench1", KERNEL="nosuch"))
    check(r.stderr, r.returncode == 129 and "kernel 'nosuch'" in r.stderr)
    for words in (["submit", "--replay", os.path.join(TOP, "fixtures", "runs", "cut-short")],
                  ["worker", "--rig", "bench1", "--until-empty"]):
        subprocess.run([STALLRIG, *words], env=env, capture_output=True, check=True)
    r = subprocess.run(["sh", "-ec", steps[1]], env=env, capture_output=True, text=True, check=True)
    # the pattern of LAVA's dispatcher
    signals = re.findall(r"<LAVA_SIGNAL_(\S+) ([^>]+)>", r.stdout)
    equal(r.stdout, len(signals), 1)
    fields = dict(word.split("=", 1) for word in signals[0][1].split())
    run = json.loads(subprocess.run([STALLRIG, "report", "--last", "--json", "-"], env=env, capture_output=True,
                                    check=True).stdout)["runs"][0]
    equal("signal", signals[0][0], "TESTCASE")
    equal("result", fields["RESULT"], {"PASS": "pass", "FAIL": "fail", "UNTESTABLE": "skip"}.get(run["verdict"],
                                                                                           "unknown"))


try:
    device, job, definition = documented()
    test_job(job)
    env = test_device(device, job)
    test_definition(definition, env)
    print_passed()
finally:
    shutil.rmtree(work, ignore_errors=True)
