# SPDX-License-Identifier: GPL-2.0-or-later
"""What the lab's tests in Python share: where things are, and checks that are counted."""
import os

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STALLRIG = os.path.join(os.environ.get("STALLRIG_BUILD", os.path.join(TOP, "build")), "stallrig")
_passed = [0]
# requests and curl would ask a proxy for loopback, too
for _name in list(os.environ):
    if _name.lower().endswith("_proxy"):
        del os.environ[_name]


def check(what, is_true):
    if not is_true:
        raise SystemExit(f"FAIL: {what}")
    _passed[0] += 1


def equal(what, found, wanted):
    check(f"{what}: {found!r}, expected {wanted!r}", found == wanted)


def print_passed():
    print(f"{_passed[0]} passed, 0 failed")
