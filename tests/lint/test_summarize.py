"""ci/summarize.py on results as ctest 3.25 writes them: what counts as passed, failed, skipped, and the exit code."""

import contextlib
import importlib.util
import io
import json
import os
import unittest
from xml.sax.saxutils import escape

from planted import PlantedTree

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ci", "summarize.py")
spec = importlib.util.spec_from_file_location("summarize", SCRIPT)
summarize = importlib.util.module_from_spec(spec)
spec.loader.exec_module(summarize)

SKIPPED = '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'


class Summarize(PlantedTree):
    def summary(self, *tests, status=0, labels=None):
        """tests: (name, status, inner XML, output)."""
        cases = "".join(f'<testcase name="{name}" time="0.5" status="{what}">{inner}<system-out>{escape(output)}</system-out></testcase>'
                        for name, what, inner, output in tests)
        self.write("a/tests.xml", f'<?xml version="1.0" encoding="UTF-8"?><testsuite name="x">{cases}</testsuite>')
        listing = [{"name": name, "properties": [{"name": "LABELS", "value": value}]} for name, value in (labels or {}).items()]
        self.write("a/tests.json", json.dumps({"tests": listing}))
        return self.main(status)

    def main(self, status):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = summarize.main(f"{self.root}/a/tests.xml", f"{self.root}/a/tests.json", status)
        return code, printed.getvalue().splitlines()

    def test_a_good_run(self):
        code, lines = self.summary(("a", "run", "", ""), ("b", "notrun", SKIPPED, "no device"))
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))

    def test_a_failed_test_is_named_with_its_output(self):
        code, lines = self.summary(("a", "run", "", ""), ("b", "fail", '<failure message=""/>', "expected 1 <\nfound 2"), status=8)
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("FAILED b (0.5 s)", lines)
        self.assertIn("    expected 1 <", lines)
        self.assertIn("    b", lines)

    def test_long_output_is_shown_from_its_end(self):
        _, lines = self.summary(("b", "fail", "", "\n".join(f"line {number}" for number in range(100))), status=8)
        self.assertIn("    (40 lines more above)", lines)
        self.assertIn("    line 99", lines)
        self.assertNotIn("    line 39", lines)

    def test_a_test_that_was_not_built_or_whose_fixture_failed_is_no_skip(self):
        for message in ["Unable to find executable", "Fixture dependency failed", "Required Files Missing"]:
            with self.subTest(message):
                code, lines = self.summary(("a", "run", "", ""), ("b", "notrun", f'<skipped message="{message}"/>', message), status=8)
                self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_test_that_fails_and_prints_a_skip_has_failed(self):
        code, _ = self.summary(("a", "run", "", ""), ("b", "notrun", SKIPPED, "[  SKIPPED ] x\n[  FAILED  ] y"))
        self.assertEqual(code, 1)

    def test_disabled_tests_and_skip_codes_are_skipped(self):
        code, lines = self.summary(("a", "run", "", ""), ("b", "disabled", "", "Disabled"), ("c", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/>', ""))
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 2 skipped"))

    def test_nothing_passed_is_no_success(self):
        code, lines = self.summary(("b", "notrun", SKIPPED, ""))
        self.assertEqual((code, lines[-1]), (5, "0 passed, 0 failed, 1 skipped"))

    def test_missing_results_are_no_success(self):
        for status, expected in [(0, 5), (8, 3)]:
            code, lines = self.main(status)
            self.assertEqual((code, lines[-1]), (expected, "0 passed, 0 failed, 0 skipped"))

    def test_a_bad_end_of_ctest_that_no_test_explains_is_no_success(self):
        code, lines = self.summary(("a", "run", "", ""), status=8)
        self.assertEqual(code, 3)
        self.assertIn("ctest ended with 8 although no test failed", lines)

    def test_the_table_counts_each_label_and_tests_without_one(self):
        labels = {"a": ["unit"], "b": ["gpu", "unit"], "c": ["own"]}
        _, lines = self.summary(("a", "run", "", ""), ("b", "notrun", SKIPPED, ""), ("c", "fail", "", ""), ("d", "run", "", ""), labels=labels)
        rows = {" ".join(line.split()) for line in lines}
        self.assertLessEqual({"label passed failed skipped", "unit 1 0 1", "gpu 0 0 1", "own 0 1 0", "no label 1 0 0"}, rows)


if __name__ == "__main__":
    unittest.main()
