#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The notify programs that are shipped, against a real SMTP server and a webhook on loopback; told by
a plan that is carried out, and with words that try to be something else.
"""
import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading

from aiosmtpd.controller import Controller

from checks import STALLRIG, TOP, check, equal, print_passed

work = tempfile.mkdtemp(prefix="stallrig-notify-")
HOOKS = os.path.join(TOP, "hil", "notify")
ENV = dict(os.environ, STALLRIG_STATE=os.path.join(work, "state"), STALLRIG_CACHE=os.path.join(work, "cache"))
NEWS = {"what": "new-fail", "plan": "nightly", "night": 7, "rig": "bench1", "scenario": "unplug-read",
        "kernel_label": "debian-6.1.0-58-amd64", "run": "20261128-111754-a3f2", "verdict": "FAIL",
        "worst_ms": 812.3, "text": "debian-6.1.0-58-amd64 on bench1: FAIL; worst 812 ms, was 4 ms"}


class Post:
    """What the mail server does with a mail."""

    def __init__(self):
        self.mails = []
        self.refused = None

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address == self.refused:
            return "550 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, envelope.content.decode()))
        return "250 OK"


class Chat(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), ChatHandler)
        self.posts = []
        self.status = 200
        threading.Thread(target=self.serve_forever, daemon=True).start()


class ChatHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"ok")


def tell(hook, news, **env):
    return subprocess.run([os.path.join(HOOKS, hook)], input=json.dumps(news), env=dict(ENV, **env),
                          capture_output=True, text=True, check=False, timeout=60)


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def secret(name, text, mode=0o600):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + "\n")
    os.chmod(path, mode)
    return path


def test_mail(post, server):
    env = {"STALLRIG_MAIL_TO": "lab@example.org,boss@example.org", "STALLRIG_MAIL_SERVER": server,
           "STALLRIG_MAIL_FROM": "rig@example.org"}
    r = tell("mail", NEWS, **env)
    equal(r.stderr, r.returncode, 0)
    sender, to, text = post.mails.pop()
    equal("sender", sender, "rig@example.org")
    equal("to", to, ["lab@example.org", "boss@example.org"])
    for line in ("X-Stallrig: new-fail", "worst_ms: 812.3", "run: 20261128-111754-a3f2"):
        check(f"'{line}' in {text}", line in text.split("\r\n"))
    # no word of a kernel becomes a header
    hostile = dict(NEWS, text="kernel\nBcc: all@example.org\r\n\r\nbody \u00e9\u0000" + "x" * 3000,
                   kernel_label="a\r\n.\r\nMAIL FROM:<x>")
    r = tell("mail", hostile, **env)
    equal(r.stderr, r.returncode, 0)
    sender, to, text = post.mails.pop()
    equal("to", to, ["lab@example.org", "boss@example.org"])
    check(text, "Bcc" not in [line.split(":")[0] for line in text.split("\r\n")])
    equal("one mail", post.mails, [])
    # what goes wrong is said
    post.refused = "boss@example.org"
    r = tell("mail", NEWS, **env)
    check(f"{r}", r.returncode == 1 and "refused boss@example.org" in r.stderr)
    equal("who gets it all the same", post.mails.pop()[1], ["lab@example.org"])
    post.refused = None
    r = tell("mail", NEWS, **dict(env, STALLRIG_MAIL_TLS="starttls"))
    check(f"{r}", r.returncode == 1 and "STARTTLS" in r.stderr)
    r = tell("mail", NEWS, **dict(env, STALLRIG_MAIL_SERVER=f"127.0.0.1:{closed_port()}"))
    check(f"{r}", r.returncode == 1 and "Connection refused" in r.stderr)
    r = tell("mail", NEWS, **dict(env, STALLRIG_MAIL_LOGIN=secret("login", "u:p", 0o644)))
    check(f"{r}", r.returncode == 1 and "chmod 600" in r.stderr)
    r = tell("mail", NEWS, **dict(env, STALLRIG_MAIL_LOGIN="/nowhere"))
    check(f"{r}", r.returncode == 1 and r.stderr == "[Errno 2] No such file or directory: '/nowhere'\n")
    r = tell("mail", NEWS)
    check(f"{r}", r.returncode == 1 and "STALLRIG_MAIL_TO is not set" in r.stderr)


def test_chat(chat, address):
    env = {"STALLRIG_CHAT_URL_FILE": secret("hook", address + "/hooks/secret"),
           "STALLRIG_CHAT_PAGES": "http://lab:8087/"}
    r = tell("chat", NEWS, **env)
    equal(r.stderr, r.returncode, 0)
    path, kind, body = chat.posts.pop()
    equal("path", path, "/hooks/secret")
    equal("type", kind, "application/json")
    check(f"{body}", "new-fail: debian-6.1.0-58-amd64 on bench1: FAIL" in body["text"])
    check(f"{body}", body["text"].endswith("\nhttp://lab:8087/runs/20261128-111754-a3f2"))
    r = tell("chat", dict(NEWS, text="@channel <!here> \u001b[31m"), **env)
    text = chat.posts.pop()[2]["text"]
    check(text, "@channel" not in text and "<" not in text and "\u001b" not in text)
    r = tell("chat", NEWS, **dict(env, STALLRIG_CHAT_KINDS="fixed, quarantine"))
    equal("posts of a kind that is not wanted", (r.returncode, chat.posts), (0, []))
    # what goes wrong is said, and the secret is not
    for change in ({"status": 403}, {"port": closed_port()}, {"url": "secret"}):
        chat.status = change.get("status", 200)
        bad = f"http://127.0.0.1:{change['port']}/hooks/secret" if "port" in change else address + "/hooks/secret"
        r = tell("chat", NEWS, **dict(env, STALLRIG_CHAT_URL_FILE=secret("bad", change.get("url", bad))))
        check(f"{r}", r.returncode == 1 and "the chat" in r.stderr and "secret" not in r.stderr)
    chat.status = 200
    chat.posts.clear()
    r = tell("chat", NEWS, STALLRIG_CHAT_URL_FILE=secret("open", address, 0o644))
    check(f"{r}", r.returncode == 1 and "chmod 600" in r.stderr)


def test_nightly(post, server, chat, address):
    """A plan that is carried out tells both; one that cannot tell goes on and says so."""
    os.makedirs(os.path.join(work, "drop"))
    for hook, wanted in (("mail", post.mails), ("chat", chat.posts)):
        plan = os.path.join(work, hook + ".yaml")
        with open(plan, "w", encoding="utf-8") as f:
            f.write(f"name: {hook}\nrigs: [virtual-x86]\nscenarios: [unplug-read]\n"
                    f"kernels: [{{folder: {work}/drop}}]\nnotify: {os.path.realpath(HOOKS)}/{hook}\n")
        env = dict(ENV, STALLRIG_MAIL_TO="lab@example.org", STALLRIG_MAIL_SERVER=server,
                   STALLRIG_CHAT_URL_FILE=secret("hook", address))
        r = subprocess.run([STALLRIG, "nightly", plan], env=env, capture_output=True, text=True,
                           check=False, timeout=120)
        equal(r.stderr, r.returncode, 0)
        check(f"{wanted}", len(wanted) == 1 and "there was nothing to run" in str(wanted))
        r = subprocess.run([STALLRIG, "nightly", plan], env=ENV, capture_output=True, text=True,
                           check=False, timeout=120)
        equal(r.stderr, r.returncode, 0)
        check(r.stderr, "is not set: no" in r.stderr)


post, chat = Post(), Chat()
mail = Controller(post, hostname="127.0.0.1", port=closed_port())
mail.start()
try:
    server = f"127.0.0.1:{mail.port}"
    address = f"http://127.0.0.1:{chat.server_address[1]}"
    test_mail(post, server)
    test_chat(chat, address)
    test_nightly(post, server, chat, address)
    print_passed()
finally:
    mail.stop()
    chat.shutdown()
    shutil.rmtree(work, ignore_errors=True)
