"""Tests of the runner itself: a golden test that could not fail would be worth nothing."""

import os
import tempfile
import unittest

import golden

RIGHT = """A greeting.
=== file name.txt
world
=== command
echo "hello $(cat name.txt)"; echo oops >&2; exit 3
=== stdout
hello world
=== stderr
oops
=== exit 3
"""


class GoldenTest(unittest.TestCase):
    def check(self, text, approve=False):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.golden")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            difference = golden.check(path, "", approve)
            with open(path, encoding="utf-8") as file:
                return difference, file.read()

    def test_the_right_output_passes(self):
        self.assertEqual(self.check(RIGHT), ("", RIGHT))

    def test_another_output_error_or_code_fails(self):
        for right, wrong in (("hello world\n", "hello moon\n"), ("oops\n=== exit", "ouch\n=== exit"), ("=== exit 3", "=== exit 0"), ("=== stderr\noops\n", "")):
            with self.subTest(wrong=wrong):
                difference, after = self.check(RIGHT.replace(right, wrong))
                self.assertIn("@@", difference)
                self.assertEqual(after, RIGHT.replace(right, wrong))

    def test_approving_writes_what_came_out(self):
        self.assertEqual(self.check(RIGHT.replace("hello world\n", "hello moon\n"), approve=True), ("", RIGHT))

    def test_a_section_that_is_none_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no section"):
            self.check(RIGHT.replace("=== stdout", "=== output"))

    def test_a_file_without_a_command_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no `=== command`"):
            self.check("A greeting.\n")


if __name__ == "__main__":
    unittest.main()
