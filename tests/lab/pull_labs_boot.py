#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A job of KernelCI's PULL_LABS from its offer to its answer: the kernel that the service offers is
fetched, becomes a kernel of this lab with a probe built for it, is booted on the virtual rig, has its
stick pulled, and the service gets the verdict with its numbers.

What is offered is Debian's kernel with the modules that the rig needs, and its headers put together as the
build tree of a kernel is.
"""
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import tempfile

from checks import STALLRIG, TOP, check, equal, print_passed
from pull_service import Lab, Service, fetch_kernel

work = tempfile.mkdtemp(prefix="stallrig-pull-boot-")


def sh(text, **env):
    subprocess.run(["bash", "-ec", text], env=dict(os.environ, **env), check=True)


def make_artifacts(service, kernel):
    """The files that the job names, and their sums."""
    sh("""
mkdir -p "$out/m/lib/modules/$release" "$out/h"
rsync -a --include=/kernel/drivers/{char,scsi,usb,virtio}/ --exclude=/kernel/{net,sound} \\
	'--exclude=/kernel/drivers/*/' --exclude=/build --exclude=/source "$dir/modules/" "$out/m/lib/modules/$release/"
tar -cf "$out/modules" -C "$out/m" lib
common=$(echo "$headers"/../linux-headers-*-common)
cp -a "$common/." "$out/h/"
find "$out/h/arch" -mindepth 1 -maxdepth 1 ! -name x86 -exec rm -rf {} +
rm -rf "$out/h/scripts" "$out/h/tools"
for part in .config Module.symvers include arch; do cp -aL "$headers/$part" "$out/h/"; done
cp -aL "$headers/scripts" "$headers/tools" "$out/h/"
tar -cf "$out/headers" -C "$out/h" .
cp "$dir/image" "$out/kernel"
cp "$dir/config" "$out/config"
""", out=work, dir=kernel["dir"], release=kernel["release"],
       headers=os.path.realpath(os.path.join(kernel["dir"], "headers")))
    sums = {}
    for key in ("kernel", "config", "modules", "headers"):
        with open(os.path.join(work, key), "rb") as f:
            service.files["/" + key] = f.read()
        sums[key] = hashlib.sha256(service.files["/" + key]).hexdigest()
    return sums


def scenario():
    """A busy host shall not decide: what is tested is the way of the verdict."""
    folder = os.path.join(work, "scenarios")
    os.mkdir(folder)
    with open(os.path.join(TOP, "hil", "scenarios", "unplug-read.yaml"), encoding="utf-8") as f:
        text = f.read()
    for was, becomes in ((r"^name: .*", "name: short"), (r"noise_max_ms: .*", "noise_max_ms: 5000"),
                         (r"stall_tolerance_ms: .*", "stall_tolerance_ms: 1000"),
                         (r"^  max_ms: 50$", "  max_ms: 5000"), (r"attribution_ms: .*", "attribution_ms: 10000"),
                         (r"max_invalid: .*", "max_invalid: 30")):
        text, n = re.subn(was, becomes, text, flags=re.M)
        check(f"{was} is in the scenario", n)
    with open(os.path.join(folder, "short.yaml"), "w", encoding="utf-8") as f:
        f.write(text)
    return folder


service = Service(random.Random(1))
try:
    kernel = fetch_kernel("debian:6.12")
    sums = make_artifacts(service, kernel)
    lab = Lab(service, work, STALLRIG_SCENARIOS=scenario(), STALLRIG_HOST_LOAD="/dev/null",
              changes=((r"^    size_mib: .*", "    size_mib: 48"), (r"^    file_mib: .*", "    file_mib: 32")))
    service.offer("real", service.job(
        "real", [{"id": "unplug", "type": "stallrig", "parameters": "scenario=short trials=2"},
                 {"id": "boot", "type": "boot"}],
        artifacts={key: f"{service.base}/{key}" for key in sums}, integrity={"sha256": sums}))
    lab.work(timeout=900)
    equal("answers", {node: len(a) for node, a in service.answers.items()}, {"real": 1})
    answer = service.answers["real"][0]
    check(f"{answer}\n{lab.said()}", "error_code" not in answer)
    equal(f"summary; {answer['artifacts']['log']}", answer["summary"], {"total": 2, "failed": 0})
    equal("the boot test", answer["tests"]["boot"], {"status": "skip"})
    test = answer["tests"]["unplug"]
    equal("status", test["status"], "pass")
    equal("trials", test["metrics"]["valid_trials"], 2)
    check(f"{test}", test["metrics"]["worst_ms"] >= test["metrics"]["p50_ms"] >= 0 and test["duration_ms"] > 0)
    check(answer["artifacts"]["log"],
          re.match(r"unplug: pass: PASS none-over: 0 of 2 \(\d+ boots?\) over 5000 ms", answer["artifacts"]["log"]))
    # and it is the kernel that was offered
    run = json.loads(subprocess.run([STALLRIG, "report", "--last", "--json", "-"], env=lab.env,
                                    capture_output=True, text=True, check=True).stdout)["runs"][0]
    check(run["kernel"], run["kernel"].startswith("pulled-"))
    show = json.loads(subprocess.run([STALLRIG, "kernel", "show", run["kernel"], "--json"], env=lab.env,
                                     capture_output=True, text=True, check=True).stdout)
    equal("image", show["image_sha256"], sums["kernel"])
    equal("release", show["release"], kernel["release"])
    print_passed()
finally:
    service.shutdown()
    shutil.rmtree(work, ignore_errors=True)
