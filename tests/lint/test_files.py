"""check_files.py finds each kind of fault in a tree that has just that one, and none in a healthy tree."""

import unittest

import check_files
from planted import PlantedTree

HEADER = "#pragma once\n// What it is for,\n// in one sentence.\n"


class Files(PlantedTree):
    def setUp(self):
        super().setUp()
        self.write("harness/core/case.hpp", HEADER)
        self.write("tests/golden/data.txt", "\t \n")
        self.write("README.md", "text\n")

    def faults(self):
        return check_files.check(self.root)[0]

    def test_a_healthy_tree_has_no_fault(self):
        self.assertEqual(check_files.check(self.root), ([], []))

    def test_a_header_without_pragma_once(self):
        self.write("harness/core/a.hpp", "// Says something.\n#pragma once\n")
        self.assert_one_fault(self.faults(), "harness/core/a.hpp:1", "#pragma once")

    def test_a_header_that_does_not_say_what_it_is_for(self):
        self.write("harness/core/a.hpp", "#pragma once\n\n#include <string>\n")
        self.assert_one_fault(self.faults(), "harness/core/a.hpp:2", "what the file is for")

    def test_a_header_whose_sentence_has_no_end(self):
        self.write("harness/core/a.hpp", "#pragma once\n// Cases\n\n// A case.\n")
        self.assert_one_fault(self.faults(), "full stop")

    def test_a_tab(self):
        self.write("kernels/a.cc", "int a;\n\tint b;\n")
        self.assert_one_fault(self.faults(), "kernels/a.cc:2: a tab")

    def test_blanks_at_the_end_of_a_line(self):
        self.write("ci/run", "echo \n")
        self.assert_one_fault(self.faults(), "ci/run:1: blanks")

    def test_a_last_line_without_end(self):
        self.write("ci/run", "echo")
        self.assert_one_fault(self.faults(), "ci/run:1: the last line")

    def test_a_long_file_is_a_warning_and_a_very_long_one_a_fault(self):
        self.write("kernels/a.cc", "int a;\n" * 350)
        self.write("kernels/b.cc", "int b;\n" * 351)
        faults, warnings = check_files.check(self.root)
        self.assertEqual(faults, [])
        self.assert_one_fault(warnings, "kernels/b.cc: 351 lines")
        self.write("kernels/b.cc", "int b;\n" * 601)
        self.assert_one_fault(self.faults(), "kernels/b.cc: 601 lines")


if __name__ == "__main__":
    unittest.main()
