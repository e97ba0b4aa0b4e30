#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`stallrig worker --pull-labs` with a service on loopback that speaks KernelCI's PULL_LABS: events,
job definitions, artifacts, results. It fails at random, the worker is killed at random; in the end
each job was done once and its result is there: pull_labs.py [SEED].

No machine is booted: what is tested is the way of a job, and its tests end without one (a kernel
that is not there, a kernel that no probe can be built for).
"""
import collections
import hashlib
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

from checks import STALLRIG, TOP, check, equal, print_passed

TOKEN = "a-token-of-this-test"
seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
print("seed", seed)
chance = random.Random(seed)
work = tempfile.mkdtemp(prefix="stallrig-pull-")


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + ".000000"


class Service(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server_address[1]}"
        self.lock = threading.Lock()
        self.now = time.time()
        self.events = []
        self.files = {}
        self.answers = collections.defaultdict(list)  # by node
        self.asked = collections.Counter()
        self.fail_rate = 0.0
        self.refused = set()  # nodes whose results it does not want
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def offer(self, node, definition, platform="bench", runtime="lab-1", text=None, age_s=0):
        self.now += 1
        self.files[f"/jobs/{node}.json"] = (text or json.dumps(definition)).encode()
        self.events.append({
            "timestamp": stamp(self.now - age_s),
            "data": {"data": {"platform": platform, "runtime": runtime}},
            "node": {"id": node, "kind": "job", "state": "done",
                     "artifacts": {"job_definition": f"{self.base}/jobs/{node}.json"}}})

    def job(self, node, tests, **more):
        return dict({"artifacts": {}, "tests": tests,
                     "environment": {"platform": "bench", "arch": "x86_64"},
                     "callback": {"url": f"{self.base}/node/{node}", "token_name": "t"}}, **more)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def send(self, status, body=b""):
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):  # the worker was killed
            pass

    def fails(self):
        with self.server.lock:
            path = self.path.split("?")[0]
            self.server.asked[path] += 1
            return chance.random() < self.server.fail_rate

    def do_GET(self):
        if self.fails():
            self.send(503)
        elif self.path.startswith("/latest/events?"):
            query = dict(pair.split("=") for pair in self.path.split("?")[1].split("&"))
            equal("the query", {k: query[k] for k in ("state", "kind", "recursive")},
                  {"state": "done", "kind": "job", "recursive": "true"})
            since = query["from"].replace("%3A", ":")
            found = [e for e in self.server.events if e["timestamp"] >= since]
            self.send(200, json.dumps(found[:int(query["limit"])]).encode())
        elif self.path in self.server.files:
            self.send(200, self.server.files[self.path])
        else:
            self.send(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        node = self.path.split("/")[-1]
        if self.headers.get("Authorization") != TOKEN:
            self.send(401)
        elif self.fails():
            self.send(503)
        elif node in self.server.refused:
            self.send(404)
        else:
            with self.server.lock:
                self.server.answers[node].append(json.loads(body))
            # a result that came is a result, also if nobody hears that it did
            self.send(500 if chance.random() < self.server.fail_rate / 3 else 202, b"{}")


class Lab:
    def __init__(self, service):
        self.rigs = os.path.join(work, "rigs")
        self.token = os.path.join(work, "token")
        os.mkdir(self.rigs)
        with open(os.path.join(TOP, "fixtures", "rigs", "virtual-x86.yaml"),
                  encoding="utf-8") as f:
            text = f.read().replace("name: virtual-x86", "name: bench")
        with open(os.path.join(self.rigs, "bench.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        self.set_token(TOKEN)
        self.env = dict(os.environ, STALLRIG_STATE=os.path.join(work, "state"),
                        STALLRIG_CACHE=os.path.join(work, "cache"), STALLRIG_RIGS=self.rigs)
        self.argv = [STALLRIG, "worker", "--rig", "bench", "--lease", "3s", "--until-empty",
                     "--pull-labs", service.base + "/latest", "--pull-poll", "1s",
                     "--pull-token-file", self.token, "--pull-runtime", "lab-1"]

    def set_token(self, token):
        with open(self.token, "w", encoding="utf-8") as f:
            f.write(token + "\n")
        os.chmod(self.token, 0o600)

    def start(self):
        self.log = open(os.path.join(work, "log"), "a+", encoding="utf-8")
        return subprocess.Popen(self.argv, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=self.log)

    def work(self, timeout=240):
        p = self.start()
        try:
            p.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            raise SystemExit(f"FAIL: the worker does not end:\n{self.said()}") from None
        if p.returncode:
            raise SystemExit(f"FAIL: the worker ended with {p.returncode}:\n{self.said()}")

    def said(self):
        with open(os.path.join(work, "log"), encoding="utf-8") as f:
            return f.read()

    def jobs(self):
        out = subprocess.run([STALLRIG, "queue", "--all", "--last", "1000", "--json", "-"], env=self.env,
                             capture_output=True, text=True, check=True).stdout
        return json.loads(out)["jobs"]


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
    subprocess.run([STALLRIG, "kernel", "fetch", "debian:6.12"], capture_output=True, check=True)
    listed = json.loads(subprocess.run([STALLRIG, "kernel", "list", "--json"],
                                       capture_output=True, text=True, check=True).stdout)
    debian = next(k for k in listed["kernels"] if k["name"].startswith("debian-6.12")
                  and k["arch"] == "x86_64")
    folder = os.path.join(os.environ.get("STALLRIG_CACHE")
                          or os.path.join(os.environ.get("XDG_CACHE_HOME")
                                          or os.path.expanduser("~/.cache"), "stallrig"),
                          "kernels", debian["name"])
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


service = Service()
try:
    lab = Lab(service)
    test_words(service, lab)
    test_kernel(service, lab)
    test_token(service, lab)
    test_storm(service, lab)
    print_passed()
finally:
    service.shutdown()
    shutil.rmtree(work, ignore_errors=True)
