#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks a server for everything that docs/openapi.json describes and holds each answer against its
schema: api.py URL TOKEN. A key that is not described is an error too, and so is a path that no
answer was got for.
"""
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

import jsonschema

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
failures = []
checks = 0


def ask(url, token, form=None, method=None):
    data = urllib.parse.urlencode(form).encode() if isinstance(form, dict) else form
    request = urllib.request.Request(url, data=data, method=method)
    if token:
        request.add_header("Authorization", "Bearer " + token)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.headers.get_content_type(), reply.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers.get_content_type(), e.read()


def strict(schema):
    """What is not described is not allowed. Parts of an allOf stay open: the whole is closed."""
    if isinstance(schema, list):
        return [strict(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {k: v if k == "allOf" else strict(v) for k, v in schema.items()}
    if "allOf" in schema:
        schema["allOf"] = [
            {"$ref": part["$ref"].replace("/schemas/", "/open/")} if "$ref" in part
            else opened(part) for part in schema["allOf"]]
        schema["unevaluatedProperties"] = False
    elif "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def opened(schema):
    return {k: strict(v) for k, v in schema.items()}


def validate(doc, what, status, kind, body, responses):
    global checks
    checks += 1
    response = responses.get(str(status), responses.get("default"))
    if response is None:
        failures.append(f"{what}: status {status} is not described")
        return
    if kind not in response["content"]:
        failures.append(f"{what}: {kind} is not described")
        return
    if kind != "application/json":
        return
    schema = dict(strict(response["content"][kind]["schema"]))
    parts = doc["components"]["schemas"]
    schema["components"] = {"schemas": strict(parts),
                            "open": {name: opened(part) for name, part in parts.items()}}
    validator = jsonschema.Draft202012Validator(schema)
    for e in list(validator.iter_errors(json.loads(body)))[:5]:
        failures.append(f"{what}: at /{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}")


def names(base, token):
    """A value for each parameter of a path."""
    runs = json.loads(ask(base + "api/v1/runs", token)[2])["runs"]
    run = next(r for r in runs if r.get("valid"))
    other = next(r for r in runs if r["id"] != run["id"])
    bisects = json.loads(ask(base + "api/v1/bisects", token)[2]).get("bisects", [])
    return {"run": run["id"], "runs": f"{other['id']}..{run['id']}", "trial": run["id"] + ".1",
            "class": run["rig_class"], "scenario": run["scenario"], "rig": run["rig"],
            "boot": "1", "file": "console.raw", "job": "1", "verb": "on",
            "bisect": bisects[0]["id"] if bisects else "none"}


def main():
    base, token = sys.argv[1:3]
    with open(os.path.join(TOP, "docs", "openapi.json"), encoding="utf-8") as f:
        doc = json.load(f)
    values = names(base, token)
    for path, operations in doc["paths"].items():
        if path.endswith("/events"):  # a stream: tests/web/dashboard.mjs listens to it
            continue
        url = path.lstrip("/")
        for key, value in values.items():
            url = url.replace("{%s}" % key, urllib.parse.quote(value))
        if "{" in url:
            failures.append(f"{path}: no value for its parameters")
            continue
        for method, operation in operations.items():
            form = {"post": {"for": "1h", "as": "ann", "state": "on"}, "put": b"1"}.get(method)
            status, kind, body = ask(base + url, token, form, method.upper())
            what = f"{method} {url}"
            if status == 404 and operation["operationId"] not in ("recording", "cancel", "bisect"):
                failures.append(f"{what}: not there")
            validate(doc, what, status, kind, body, operation["responses"])
            if form is not None or operation["operationId"] in ("switchValue", "pdudaemon"):
                status, kind, body = ask(base + url, None, form, method.upper())
                if status != 401:
                    failures.append(f"{what} without a token: {status}")
                validate(doc, what + " without a token", status, kind, body,
                         operation["responses"])
    for f in failures:
        print("FAIL:", f, file=sys.stderr)
    print(f"{checks} answers held against docs/openapi.json, {len(failures)} complaints")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
