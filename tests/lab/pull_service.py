# SPDX-License-Identifier: GPL-2.0-or-later
"""A service on loopback that speaks KernelCI's PULL_LABS (events, job definitions, artifacts, results),
and a worker that asks it for jobs.
"""
import collections
import http.server
import json
import os
import re
import subprocess
import threading
import time

from checks import STALLRIG, TOP, equal

TOKEN = "a-token-of-this-test"


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + ".000000"


class Service(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, chance):
        super().__init__(("127.0.0.1", 0), Handler)
        self.chance = chance
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
            return self.server.chance.random() < self.server.fail_rate

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
            self.send(500 if self.server.chance.random() < self.server.fail_rate / 3 else 202, b"{}")


class Lab:
    """A worker for the rig `bench`; changes: of lines of its description."""

    def __init__(self, service, work, changes=(), **env):
        self.work_dir = work
        self.rigs = os.path.join(work, "rigs")
        self.token = os.path.join(work, "token")
        os.mkdir(self.rigs)
        with open(os.path.join(TOP, "fixtures", "rigs", "virtual-x86.yaml"),
                  encoding="utf-8") as f:
            text = f.read().replace("name: virtual-x86", "name: bench")
        for was, becomes in changes:
            text = re.sub(was, becomes, text, flags=re.M)
        with open(os.path.join(self.rigs, "bench.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        self.set_token(TOKEN)
        self.env = dict(os.environ, STALLRIG_STATE=os.path.join(work, "state"),
                        STALLRIG_CACHE=os.path.join(work, "cache"), STALLRIG_RIGS=self.rigs,
                        **env)
        self.argv = [STALLRIG, "worker", "--rig", "bench", "--lease", "3s", "--until-empty",
                     "--pull-labs", service.base + "/latest", "--pull-poll", "1s",
                     "--pull-token-file", self.token, "--pull-runtime", "lab-1"]

    def set_token(self, token):
        with open(self.token, "w", encoding="utf-8") as f:
            f.write(token + "\n")
        os.chmod(self.token, 0o600)

    def start(self):
        self.log = open(os.path.join(self.work_dir, "log"), "a+", encoding="utf-8")
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
        with open(os.path.join(self.work_dir, "log"), encoding="utf-8") as f:
            return f.read()

    def jobs(self):
        out = subprocess.run([STALLRIG, "queue", "--all", "--last", "1000", "--json", "-"], env=self.env,
                             capture_output=True, text=True, check=True).stdout
        return json.loads(out)["jobs"]


def fetch_kernel(spec):
    """What the kernel store says of it, in the cache of this user."""
    subprocess.run([STALLRIG, "kernel", "fetch", spec], capture_output=True, check=True)
    return json.loads(subprocess.run([STALLRIG, "kernel", "show", spec, "--json"], capture_output=True,
                                     text=True, check=True).stdout)
