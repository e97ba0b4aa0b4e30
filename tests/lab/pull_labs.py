#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`stallrig worker --pull-labs` with a service on loopback that speaks KernelCI's PULL_LABS: events,
job definitions, artifacts, results. It fails at random, the worker is killed at random; in the end
each job was done once and its result is there: pull_labs.py [SEED].

No machine is booted: what is tested is the way of a job, and its tests end without one (a kernel
that is not there, a kernel that no probe can be built for).
"""
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

from checks import check, equal, print_passed
from pull_service import TOKEN, Lab, Service, fetch_kernel

seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
print("seed", seed)
chance = random.Random(seed)
work = tempfile.mkdtemp(prefix="stallrig-pull-")


def nothing(name="nothing"):
    """A test whose job ends at once: there is no such kernel."""
    return {"id": name, "type": "stallrig", "parameters": "scenario=unplug-read kernel=nothing"}


def test_words(service, lab):
    """What is taken, what is left, and what is answered."""
    offers = {
        "taken": service.job("taken", [
            nothing(), {"id": "unplug-read", "type": "stallrig", "parameters": "kernel=no"},
            {"id": "smoke", "type": "ltp", "parameters": "tst_cmdfiles=smoketest"},
            {"id": "typo", "type": "stallrig", "parameters": "scenario=unplug-reed kernel=no"},
            {"id": "word", "type": "stallrig", "parameters": "scenario=unplug-read colour=red"},
            # cut in the middle of a character
            {"id": "w\u00f6rt\u001b[31m", "type": "stallrig", "parameters": "\u00e4" * 300},
            {"id": "cut", "type": "stallrig", "parameters": "x" + "\u00e4" * 300},
            {"id": "path", "type": "stallrig", "parameters": "scenario=../x kernel=no"},
            {"id": "dir", "type": "stallrig", "parameters": "scenario=unplug-read kernel=/no"}]),
        "only-others": service.job("only-others", [{"id": "a", "type": "boot"}]),
        "no-kernel": service.job("no-kernel", [{"id": "unplug-read", "type": "stallrig"}]),
    }
    for node, definition in offers.items():
        service.offer(node, definition)
    service.offer("of-last-week", service.job("of-last-week", [nothing()]), age_s=7 * 86400)
    service.offer("of-another-lab", service.job("of-another-lab", [nothing()]), runtime="lab-2")
    service.offer("of-another-rig", service.job("of-another-rig", [nothing()]), platform="rock")
    other = service.job("other-platform", [nothing()])
    other["environment"]["platform"] = "rock"
    service.offer("other-platform", other, platform="")
    service.offer("no-json", None, text="{")
    service.offer("no-tests", service.job("no-tests", []))
    service.offer("twice", service.job("twice", [nothing("a"), nothing("a")]))
    service.offer("gone-job", service.job("gone-job", [nothing()]))
    service.offer("many", service.job("many", [nothing(str(i)) for i in range(65)]))
    service.offer("most", service.job("most", [{"id": str(i), "type": "x"} for i in range(64)]))
    service.offer("no-callback", service.job("no-callback", [nothing()], callback={}))
    service.offer("../../etc", service.job("x", [nothing()]))
    del service.files["/jobs/gone-job.json"]  # gone before it was fetched
    lab.work()
    equal("who was answered", sorted(service.answers),
          sorted(["taken", "only-others", "no-kernel", "most"]))
    check("each once", all(len(a) == 1 for a in service.answers.values()))
    answer = service.answers["taken"][0]
    equal("summary", answer["summary"], {"total": 9, "failed": 8})
    equal("tests", {k: v["status"] for k, v in answer["tests"].items()},
          {"nothing": "error", "unplug-read": "error", "smoke": "skip", "typo": "error",
           "word": "error", "path": "error", "dir": "error", "w\u00f6rt\u001b[31m": "error",
           "cut": "error"})
    equal("rig", answer["metadata"]["system"], "bench")
    equal("whose fault", answer["error_code"], "Infrastructure")
    log = answer["artifacts"]["log"]
    for text in ("smoke: skip: this lab does tests of the type 'stallrig', not 'ltp'",
                 "typo: error: ", "'colour=red' is none of", "'../x' is no name of a scenario",
                 "nothing: error: failed (", "dir: error: parameters: 'kernel=/no' is none of"):
        check(f"'{text}' in {log}", text in log)
    answer = service.answers["only-others"][0]
    equal("skipped", answer["tests"], {"a": {"status": "skip"}})
    check("no error", "error_code" not in answer)
    answer = service.answers["no-kernel"][0]
    equal("no artifact", answer["error_msg"], "the job has no artifact 'kernel'")
    equal("jobs in the queue", len(lab.jobs()), 2)
    check("no escape is said", "\u001b" not in lab.said())
    for text in ("job no-json is left", "no-tests is left: it has no tests",
                 "gone-job is left: http://", "twice is left: two tests have the same id",
                 "many is left: it has no tests, or too many", "no-callback is left"):
        check(f"'{text}' is said", text in lab.said())
    # and nothing of it is done again
    lab.work()
    check("each once", all(len(a) == 1 for a in service.answers.values()))
    equal("jobs in the queue", len(lab.jobs()), 2)


def test_kernel(service, lab):
    """Artifacts become a kernel of the store, once for both jobs; a wrong checksum does not."""
    debian = fetch_kernel("debian:6.12")
    folder = debian["dir"]
    archive = os.path.join(work, "modules.tar.xz")
    with tarfile.open(archive, "w:xz", preset=0) as t:
        for name in ("modules.builtin", "modules.order"):
            t.add(os.path.join(folder, "modules", name),
                  f"lib/modules/{debian['release']}/{name}")
    sums = {}
    for key, path in (("kernel", os.path.join(folder, "image")),
                      ("config", os.path.join(folder, "config")), ("modules", archive)):
        with open(path, "rb") as f:
            service.files["/" + key] = f.read()
        sums[key] = hashlib.sha256(service.files["/" + key]).hexdigest()
    artifacts = {key: f"{service.base}/{key}" for key in sums}
    test = [{"id": "unplug-read", "type": "stallrig", "parameters": "trials=1"}]
    for node in ("kernel-1", "kernel-2"):
        service.offer(node, service.job(node, test, artifacts=artifacts,
                                        integrity={"sha256": sums}))
    other = dict(artifacts, kernel=artifacts["kernel"] + "?x")
    service.files["/kernel?x"] = service.files["/kernel"]
    service.offer("wrong-sum", service.job("wrong-sum", test, artifacts=other,
                                           integrity={"sha256": dict(sums, kernel="0" * 64)}))
    service.offer("gone", service.job("gone", test,
                                      artifacts=dict(artifacts, kernel=service.base + "/no")))
    lab.work()
    equal("fetched once", service.asked["/modules"], 1)
    check("no sum", "kernel: its SHA-256 is " in service.answers["wrong-sum"][0]["error_msg"])
    check("gone", "/no: status 404" in service.answers["gone"][0]["error_msg"])
    for node in ("kernel-1", "kernel-2"):
        answer = service.answers[node][0]
        # it is a kernel of this lab now; what is missing is what a probe is built with
        check(f"{answer}", "has no headers: its probe modules cannot be built"
              in answer["artifacts"]["log"])
    jobs = [j for j in lab.jobs() if j["kernel"].startswith("pulled-")]
    equal("one kernel for two jobs", len({j["kernel"] for j in jobs}), 1)
    equal("two jobs", len(jobs), 2)


def test_token(service, lab):
    """A wrong token loses nothing."""
    lab.set_token("another-token-of-this")
    service.offer("token", service.job("token", [nothing()]))
    p = lab.start()
    for _ in range(300):
        if "/node/token: status 401; tried again" in lab.said():
            break
        time.sleep(0.1)
    # two workers do not ask for the same jobs
    second = subprocess.run(lab.argv, env=lab.env, capture_output=True, text=True, timeout=60)
    equal("a second worker", second.returncode, 129)
    check(second.stderr, "asks there for jobs already" in second.stderr)
    p.send_signal(signal.SIGTERM)
    p.wait(timeout=60)
    check("no answer", "token" not in service.answers)
    lab.set_token(TOKEN)
    lab.work()
    equal("answers", len(service.answers["token"]), 1)


def test_storm(service, lab):
    """503 for each third request, kill -9 at random points."""
    service.fail_rate = 0.3
    before = len(lab.jobs())
    nodes = [f"storm-{i}" for i in range(12)]
    for node in nodes:
        service.offer(node, service.job(node, [nothing("a"), nothing("b")]))
    service.refused.add("storm-3")
    n_kills = 0
    for _ in range(40):
        p = lab.start()
        try:
            p.wait(timeout=chance.uniform(0.02, 0.6))
        except subprocess.TimeoutExpired:
            p.kill()
            n_kills += 1
        p.wait()
        with service.lock:
            if all(service.answers[n] or n in service.refused for n in nodes):
                break
    print(f"{n_kills} times killed, {sum(bool(service.answers[n]) for n in nodes)} jobs answered "
          "by then")
    lab.work()
    service.fail_rate = 0.0
    lab.work()
    for node in nodes:
        answers = service.answers[node]
        if node in service.refused:
            equal(f"answers of {node}", len(answers), 0)
            continue
        check(f"{node} has an answer", answers)
        # posted again after a stop between the answer and the note of it, but the same
        check(f"{node} has one answer: {answers}", all(a == answers[0] for a in answers))
        equal(f"tests of {node}", sorted(answers[0]["tests"]), ["a", "b"])
    jobs = lab.jobs()
    equal("jobs, each once", len(jobs) - before, 2 * len(nodes))
    equal("all have ended", {j["state"] for j in jobs if j["kernel"] == "nothing"},
          {"failed"})


service = Service(chance)
try:
    lab = Lab(service, work)
    test_words(service, lab)
    test_kernel(service, lab)
    test_token(service, lab)
    test_storm(service, lab)
    print_passed()
finally:
    service.shutdown()
    shutil.rmtree(work, ignore_errors=True)
