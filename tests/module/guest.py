#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a shell script in a small QEMU guest that has the probe modules. For tests and measurements.

  guest.py --kernel NAME --test SCRIPT --log FILE [--timeout S] [--append TEXT] [--build DIR]
  guest.py --image FILE --headers DIR --release NAME --test …       a kernel that is not in the store

Status 0 if the guest came to the end of the script and no check in it failed.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STALLRIG = os.path.join(os.environ.get("STALLRIG_BUILD", os.path.join(ROOT, "build")), "stallrig")
MODULES = ("latency-mon.ko", "wq-stall.ko", "classic_mon.ko")


def kernel(spec):
    """The build in the kernel store that spec names: name, release, dir and more."""
    for _ in range(2):
        r = subprocess.run([STALLRIG, "kernel", "show", spec, "--json"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
        if r.returncode == 0:
            return json.loads(r.stdout)
        subprocess.run([STALLRIG, "kernel", "fetch", spec], stdout=subprocess.DEVNULL)
    sys.exit(f"guest.py: {r.stderr.strip()}")


def build(headers, folder):
    """Builds the probe modules and the classic monitor of this tree into folder, once; returns it.

    A warning is an error here."""
    if all(os.path.exists(os.path.join(folder, m)) for m in MODULES):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "module"), folder,
                    ignore=shutil.ignore_patterns("*.o", "*.ko", ".*", "*.mod*", "lm_features.h"))
    shutil.copy(os.path.join(HERE, "classic_mon.c"), folder)
    with open(os.path.join(folder, "Kbuild"), "a", encoding="utf-8") as f:
        f.write("obj-m += classic_mon.o\n")
    r = subprocess.run(["make", "-C", folder, f"KDIR={headers}", "CONFIG_DEBUG_INFO_BTF_MODULES=",
                        "W=1", "KCFLAGS=-Werror"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        sys.exit(f"guest.py: the modules do not build against {headers}:\n{r.stdout[-3000:]}")
    return folder


def initramfs(out, modules, release, test, modprobe_tree=False, files=()):
    """files: (source, path in the guest). The modules lie in / and, if asked, where modprobe looks."""
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(os.path.join(top, "bin"))
        shutil.copy("/bin/busybox", os.path.join(top, "bin", "busybox"))
        shutil.copy(os.path.join(HERE, "init"), os.path.join(top, "init"))
        os.chmod(os.path.join(top, "init"), 0o755)
        shutil.copy(test, os.path.join(top, "test.sh"))
        for m in MODULES:
            shutil.copy(os.path.join(modules, m), top)
            subprocess.run(["strip", "-g", os.path.join(top, m)], check=True)
        if modprobe_tree:
            tree = os.path.join(top, "lib", "modules", release, "extra")
            os.makedirs(tree)
            for m in MODULES[:2]:
                shutil.copy(os.path.join(top, m), tree)
            subprocess.run(["depmod", "-b", top, release], check=True, stderr=subprocess.DEVNULL,
                           env=dict(os.environ, PATH=os.environ["PATH"] + ":/sbin:/usr/sbin"))
        for source, path in files:
            os.makedirs(os.path.join(top, os.path.dirname(path)), exist_ok=True)
            shutil.copy(source, os.path.join(top, path))
        names = subprocess.run(["find", "."], cwd=top, stdout=subprocess.PIPE, check=True).stdout
        with open(out, "wb") as f:
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=top, input=names, stdout=f,
                           check=True)


def boot(image, initrd, log, timeout, append="", cpus=2, memory_mb=512):
    """Boots and waits for the guest to switch itself off; its console goes to the file log."""
    argv = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-accel", "tcg,thread=multi",
            # names the threads of the virtual CPUs, for vcpu.py
            "-name", "guest,debug-threads=on", "-cpu", "max", "-smp", str(cpus), "-m", str(memory_mb), "-display", "none",
            "-no-reboot", "-kernel", image, "-initrd", initrd, "-serial", "file:" + log,
            # the whole log of the test stays in the guest, which looks through it at the end
            "-append", f"console=ttyS0 panic=-1 loglevel=3 log_buf_len=8M edd=off "
            # a busy host may run no timer while the kernel checks that there is one
            f"no_timer_check {append}"]
    q = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    try:
        q.wait(timeout)
    except subprocess.TimeoutExpired:
        print(f"guest.py: not done after {timeout} s", file=sys.stderr)
    finally:
        if q.poll() is None:
            q.kill()
            q.wait()
    return read_log(log)


def read_log(log):
    with open(log, encoding="utf-8", errors="replace", newline="") as f:
        return f.read().replace("\r\n", "\n")


def fields(line):
    return dict(p.split("=", 1) for p in line.split() if "=" in p)


def outcome(text):
    """(passed, [failed]) of the checks; a guest that did not come to the end is a failed one."""
    passed = len(re.findall(r"^ok: ", text, re.M))
    bad = re.findall(r"^FAILED: .*", text, re.M)
    if "### end of test" not in text:
        bad.append("FAILED: the guest did not come to the end of its script; last lines:\n" +
                   "\n".join(text.split("\n")[-15:]))
    return passed, bad


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--kernel")
    ap.add_argument("--image")
    ap.add_argument("--headers")
    ap.add_argument("--release")
    ap.add_argument("--test", required=True)
    ap.add_argument("--file", action="append", default=[], help="goes to / of the guest")
    ap.add_argument("--memory", type=int, default=512, metavar="MB")
    ap.add_argument("--log", required=True)
    ap.add_argument("--timeout", type=float, default=300)
    ap.add_argument("--append", default="")
    ap.add_argument("--build", metavar="DIR", help="where the modules are built, or lie already")
    a = ap.parse_args()

    if a.kernel:
        k = kernel(a.kernel)
        a.image = os.path.join(k["dir"], "image")
        a.headers = os.path.join(k["dir"], "headers")
        a.release = k["release"]
    with tempfile.TemporaryDirectory() as tmp:
        modules = build(a.headers, a.build or os.path.join(tmp, "build"))
        initrd = os.path.join(tmp, "initrd")
        initramfs(initrd, modules, a.release, a.test, modprobe_tree=True,
                  files=[(f, os.path.basename(f)) for f in a.file])
        text = boot(a.image, initrd, a.log, a.timeout, a.append, memory_mb=a.memory)
    passed, bad = outcome(text)
    for b in bad:
        print(f"{a.release}: {b}", file=sys.stderr)
    print(f"{a.release}: {passed} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
