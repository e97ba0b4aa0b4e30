#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads one of stallrig's exports with a reader that is not stallrig's and prints what it found.

read_export.py FORMAT FILE: a line a finding; any complaint of the reader is an exception.
"""
import csv
import json
import os
import re
import sys


def no_null(value):
    assert value is not None, "null"
    if isinstance(value, dict):
        value = value.values()
    if not isinstance(value, (str, int, float, bool)):
        for child in value:
            no_null(child)


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f, strict=True))
    for row in rows:
        assert None not in row and None not in row.values(), "a record of another length"
        print(row["kernel_label"], row["verdict"], row["trial"], row["worst_ms"], sep="|")


def read_junit(path):
    from junitparser import JUnitXml

    xml = JUnitXml.fromfile(path)
    for suite in xml:
        for case in suite:
            results = ",".join(type(r).__name__ for r in case.result) or "Passed"
            print(suite.name, results, suite.tests, suite.failures, suite.errors, sep="|")


def read_kcidb(path):
    import jsonschema

    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "kcidb-5.3.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.FormatChecker()
    ).validate(report)
    no_null(report)
    for kind in ("checkouts", "builds", "tests"):
        ids = [obj["id"] for obj in report[kind]]
        assert len(ids) == len(set(ids)), "an id twice"
        for obj in report[kind]:
            assert obj["id"].startswith(obj["origin"] + ":")
    builds = {b["id"]: b["checkout_id"] for b in report["builds"]}
    checkouts = {c["id"] for c in report["checkouts"]}
    for test in report["tests"]:
        assert builds[test["build_id"]] in checkouts
        print(test["path"], test["status"], test.get("number", {}).get("value"), sep="|")


def read_ktap(path):
    from tap.parser import Parser

    # nesting is KTAP's own: each level is a document of its own to a TAP reader
    with open(path, encoding="utf-8") as f:
        text = f.read()
    outer, inner = [], []
    for line in text.splitlines():
        (inner if line.startswith("  ") else outer).append(line)
    for line in outer + inner:
        assert re.match(r"^ *(KTAP version 1|1\.\.\d+|(not )?ok \d+ .*|#.*)$", line), line
    for line in Parser().parse_text("\n".join(outer[1:])):
        if line.category == "plan":
            print("plan", line.expected_tests, sep="|")
        elif line.category == "test":
            print(line.description, "ok" if line.ok else "not ok", line.directive.text, sep="|")
    results = [line for line in inner if "ok " in line and not line.lstrip().startswith("#")]
    print("nested", len(results), sep="|")


def read_lava(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            match = re.fullmatch(r"<LAVA_SIGNAL_(\S+) ([^>]+)>\n", line)
            assert match, line
            fields = dict(word.split("=", 1) for word in match.group(2).split(" "))
            print(match.group(1), fields["TEST_CASE_ID"], fields["RESULT"],
                  fields.get("MEASUREMENT"), sep="|")


def read_openmetrics(path):
    from prometheus_client import parser
    from prometheus_client.openmetrics import parser as openmetrics

    with open(path, encoding="utf-8") as f:
        text = f.read()
    strict = list(openmetrics.text_string_to_metric_families(text))
    plain = list(parser.text_string_to_metric_families(text))
    assert [f.name for f in strict] == [f.name for f in plain]
    for family in strict:
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
            print(sample.name, labels, sample.value, sep="|")


globals()["read_" + sys.argv[1]](sys.argv[2])
