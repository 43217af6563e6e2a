#!/usr/bin/env python3
"""Counts what ctest reported: `count_tests.py RESULTS.xml CTEST_STATUS` prints "passed failed skipped".

Only a test that asked to be skipped is skipped: ctest's JUnit file calls one whose program is missing so too. A
ctest that failed without a failed test, or that wrote no results, counts as one failure."""

import sys
import xml.etree.ElementTree as ElementTree


def outcome(test):
    if test.get("status") == "run":
        return "passed"
    if test.get("status") == "disabled":
        return "skipped"
    skipped = test.find("skipped")
    asked = skipped is not None and skipped.get("message", "").startswith("SKIP_")
    return "skipped" if asked else "failed"


def count(path, ctest_status):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        for test in ElementTree.parse(path).getroot().iter("testcase"):
            counts[outcome(test)] += 1
    except (OSError, ElementTree.ParseError) as error:
        print(f"no results of ctest: {error}", file=sys.stderr)
    empty = sum(counts.values()) == 0
    if counts["failed"] == 0 and (ctest_status != 0 or empty):
        counts["failed"] = 1
    return counts


if __name__ == "__main__":
    print(*count(sys.argv[1], int(sys.argv[2])).values())
