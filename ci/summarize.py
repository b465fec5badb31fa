"""Tells what a ctest run gave: the failing tests with their output, a table per label, and one line `N passed, N failed, N skipped`."""

import json
import os
import sys
import xml.etree.ElementTree as xml
from collections import Counter

# In the order of the table; a test may carry other labels or several, and then counts in each of their rows.
LABELS = ["unit", "golden", "backends", "fuzz", "gpu", "speed", "lint"]
OUTPUT_LINES = 60


def outcome(test):
    """One of passed, failed, skipped. ctest calls a missing executable `notrun` too: only a test that asked for it is skipped."""
    status = test.get("status")
    output = test.findtext("system-out") or ""
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    if status == "notrun" and "[  FAILED  ]" not in output:
        skipped = test.find("skipped")
        reason = skipped.get("message", "") if skipped is not None else ""
        if reason.startswith(("SKIP_REGULAR_EXPRESSION", "SKIP_RETURN_CODE")):
            return "skipped"
    return "failed"


def labels_by_test(listing):
    """ctest's JUnit file of 3.25 has no labels; its listing has."""
    found = {}
    for test in listing.get("tests", []):
        for entry in test.get("properties", []):
            if entry["name"] == "LABELS":
                found[test["name"]] = entry["value"]
    return found


def table(results, labels):
    """results: (name, outcome) of every test."""
    rows = {}
    for name, what in results:
        for label in labels.get(name) or ["no label"]:
            rows.setdefault(label, Counter())[what] += 1
    order = [label for label in LABELS if label in rows] + sorted(label for label in rows if label not in LABELS)
    width = max([len("label")] + [len(label) for label in order])
    lines = [f"{'label':<{width}}  {'passed':>7}  {'failed':>7}  {'skipped':>7}"]
    for label in order:
        count = rows[label]
        lines.append(f"{label:<{width}}  {count['passed']:>7}  {count['failed']:>7}  {count['skipped']:>7}")
    return lines


def failure(test):
    lines = (test.findtext("system-out") or "").rstrip().splitlines()
    hidden = len(lines) - OUTPUT_LINES
    if hidden > 0:
        lines = [f"({hidden} lines more above)"] + lines[hidden:]
    return [f"FAILED {test.get('name')} ({float(test.get('time', 0)):.1f} s)"] + ["    " + line for line in lines]


def main(results_file, listing_file, ctest_status):
    if not os.path.exists(results_file):
        print(f"ctest left no results and ended with {ctest_status}" if ctest_status else "no test ran")
        print("0 passed, 0 failed, 0 skipped")
        return 3 if ctest_status else 5
    tests = xml.parse(results_file).getroot().findall("testcase")
    with open(listing_file, encoding="utf-8") as file:
        labels = labels_by_test(json.load(file))
    results = [(test.get("name"), outcome(test)) for test in tests]
    count = Counter(what for _, what in results)
    lines = [""]
    for test in tests:
        if outcome(test) == "failed":
            lines += failure(test) + [""]
    if count["failed"]:
        lines.append("failed:")
        lines += [f"    {name}" for name, what in results if what == "failed"]
        lines.append("")
    lines += table(results, labels)
    lines.append("")
    # A run that ctest calls bad for a reason that no test shows must not look good.
    unexplained = ctest_status != 0 and not count["failed"] and count["passed"] > 0
    if unexplained:
        lines.append(f"ctest ended with {ctest_status} although no test failed")
    lines.append(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    print("\n".join(lines))
    if count["failed"]:
        return 1
    if unexplained:
        return 3
    return 0 if count["passed"] else 5


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
