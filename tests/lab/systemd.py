#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The shipped units under a real systemd, which is process 1 of a container that has this machine's files as
its own, with what is installed and written on top of them: a worker that hangs is killed by the watchdog and
comes back, a dropped kernel starts the night of its plan, a timer starts the next one, all as the user that
comes with the units. What is done in there is tests/lab/systemd_inside.sh.

Needs root. All mounts are in a name space of their own and go with it.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import uuid

from checks import STALLRIG, TOP, check, print_passed
from pull_service import fetch_kernel

HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = """[Unit]
Description=what the test does
Requires=basic.target
After=basic.target
[Service]
Type=oneshot
ExecStart=/bin/bash /test/inside.sh
ExecStopPost=/bin/systemctl --no-block poweroff --force
StandardOutput=file:/test/said
StandardError=file:/test/said
TimeoutStartSec=900
"""
# of the machine's own services none is wanted
TARGET = """[Unit]
Description=the test
Requires=test.service basic.target
AllowIsolate=yes
"""


def enter_own_namespace():
    """Runs this program again where its mounts are nobody else's business."""
    if os.environ.get("STALLRIG_TEST_NAMESPACE"):
        return
    own = ["unshare", "--mount", "--propagation=private"]
    if os.geteuid() or subprocess.run(own + ["true"], capture_output=True, check=False).returncode:
        print("left out: no root, or no mount name spaces: a container cannot be made here")
        sys.exit(77)
    os.environ["STALLRIG_TEST_NAMESPACE"] = "1"
    os.execvp(own[0], own + [sys.executable, os.path.abspath(__file__)])


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def make_top(top, kernel):
    """What is in the container and not on this machine."""
    subprocess.run(["cmake", "--install", os.path.dirname(STALLRIG)], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, DESTDIR=top))
    test = os.path.join(top, "test")
    shutil.copytree(os.path.join(TOP, "fixtures", "runs", "cut-short"), os.path.join(test, "run"))
    os.mkdir(os.path.join(test, "kernel"))
    for name in ("image", "config"):
        shutil.copy(os.path.join(kernel["dir"], name), os.path.join(test, "kernel", name))
    shutil.copy(os.path.join(HERE, "systemd_inside.sh"), os.path.join(test, "inside.sh"))
    units = os.path.join(top, "etc", "systemd", "system")
    write(os.path.join(units, "test.service"), UNIT)
    write(os.path.join(units, "test.target"), TARGET)
    write(os.path.join(top, "etc", "fstab"), "")
    write(os.path.join(top, "etc", "machine-id"), uuid.uuid4().hex + "\n")
    write(os.path.join(top, "etc", "stallrig", "stallrig.env"),
          "STALLRIG_PLANS=/test/plans\n")
    write(os.path.join(test, "plans", "p.yaml"), "name: p\nrigs: [virtual-x86]\nscenarios: [unplug-read]\n"
          "kernels: [{folder: /var/lib/stallrig/drop/p}]\nsettle_seconds: 2\n")


def boot(work):
    """Until the container ends; what was said in it."""
    root = os.path.join(work, "root")
    argv = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--resolv-conf=off",
            "--timezone=off", f"--machine=stallrig-{os.getpid()}", "--directory=" + root, "--tmpfs=/tmp",
            "--tmpfs=/var/tmp", "--tmpfs=/var/log", "--boot", "--", "--unit=test.target", "--show-status=0"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("STALLRIG_")}
    r = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace", timeout=1000, check=False)
    said = os.path.join(root, "test", "said")
    if not os.path.exists(said):
        raise SystemExit(f"FAIL: the container did not come up:\n{r.stdout}")
    with open(said, encoding="utf-8", errors="replace") as f:
        return f.read().split("\n")


def main():
    enter_own_namespace()
    kernel = fetch_kernel("debian:6.12")
    work = tempfile.mkdtemp(prefix="stallrig-systemd-")
    try:
        subprocess.run(["mount", "-t", "tmpfs", "stallrig-test", work], check=True)
        for folder in ("top", "up", "work", "root"):
            os.mkdir(os.path.join(work, folder))
        make_top(os.path.join(work, "top"), kernel)
        subprocess.run(["mount", "-t", "overlay", "stallrig-test", os.path.join(work, "root"), "-o",
                        f"lowerdir={work}/top:/,upperdir={work}/up,workdir={work}/work"], check=True)
        lines = boot(work)
        for line in lines:
            if line.startswith(("ok: ", "FAILED: ")):
                check("\n".join(lines[-80:]), line.startswith("ok: "))
        check("the test came to its end:\n" + "\n".join(lines[-80:]), "### end of test" in lines)
        print_passed()
    finally:
        # the mounts go with the name space; what they lie on is empty
        subprocess.run(["umount", "--lazy", "--recursive", work], check=False)
        os.rmdir(work)


main()
