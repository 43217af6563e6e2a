#!/usr/bin/env python3
"""Feeds count_tests ctest's results, good and bad, and expects true counts."""

import pathlib
import tempfile
import unittest

import count_tests

PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message=""/></testcase>'
SKIPPED = '<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
MISSING = '<testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase>'
DISABLED = '<testcase name="e" status="disabled"/>'


class CountTests(unittest.TestCase):
    def expect(self, cases, ctest_status, passed, failed, skipped):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "results.xml")
            if cases is not None:
                results.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
            self.assertEqual(
                count_tests.count(results, ctest_status),
                {"passed": passed, "failed": failed, "skipped": skipped},
            )

    def test_counts_each_outcome(self):
        self.expect([PASSED, PASSED, FAILED, SKIPPED, DISABLED], 8, 2, 1, 2)

    def test_a_missing_program_is_a_failure(self):
        self.expect([PASSED, MISSING], 8, 1, 1, 0)

    def test_a_failed_ctest_without_a_failed_test_is_a_failure(self):
        self.expect([PASSED], 8, 1, 1, 0)

    def test_no_results_are_a_failure(self):
        self.expect(None, 0, 0, 1, 0)

    def test_no_tests_are_a_failure(self):
        self.expect([], 0, 0, 1, 0)


if __name__ == "__main__":
    unittest.main()
