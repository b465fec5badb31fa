"""check_words.py finds what belongs to one machine, and lets relative paths and other hosts be."""

import subprocess
import unittest

import check_words
from planted import PlantedTree

FORBIDDEN = ["/home/ann/src", "see /work/main/x", '"/root/.cache"', "/Users/ann", "https://registry.example.org/a", "deb.example.net", "-i pypi.example"]
ALLOWED = ["$root/work/x", "ci/work/x", "${dir}/root/x", "/opt/venv/bin", "example.org", "~/home/x", "a/home/b", "s/\\(root\\)/root/x", "the archive. Org"]


class Words(PlantedTree):
    def test_each_forbidden_word_is_found(self):
        for text in FORBIDDEN:
            with self.subTest(text):
                self.write("a.txt", f"fine\n{text}\n")
                self.assert_one_fault(check_words.check(self.root), "a.txt:2")

    def test_allowed_words_are_no_fault(self):
        self.write("a.txt", "\n".join(ALLOWED))
        self.assertEqual(check_words.check(self.root), [])

    def test_only_tracked_files_count_in_a_repository(self):
        self.write("tracked.txt", "/home/ann/a\n")
        self.write("notes.txt", "/home/ann/b\n")
        try:
            subprocess.run(["git", "init", "-q", self.root], check=True)
        except OSError:
            self.skipTest("git is not installed")
        subprocess.run(["git", "-C", self.root, "add", "tracked.txt"], check=True)
        self.assert_one_fault(check_words.check(self.root), "tracked.txt:1")


if __name__ == "__main__":
    unittest.main()
