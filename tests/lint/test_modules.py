"""check_modules.py finds each kind of fault in a tree that has just that one, and none in a healthy tree."""

import unittest

import check_modules
from planted import PlantedTree

TABLE = """
module abi
module base
module core  abi base
module yaml  base
module suite core yaml
module kernels abi
header yaml-cpp/* yaml
header sqlite3.h  sqlite
header benchmark/* report tests/speed
header gtest/* tests
header fmt/* *
header poll.h time.h *
"""


class Modules(PlantedTree):
    def setUp(self):
        super().setUp()
        self.write("tests/lint/modules.txt", TABLE)
        self.write("harness/abi/CMakeLists.txt", "attn_module(abi)\n")
        self.write("harness/abi/abi.h", "#include <poll.h>\n")
        self.write("harness/base/CMakeLists.txt", "attn_module(base LINK yaml_is_no_module)\n")
        self.write("harness/base/error.hpp", "#include <string>\n#include <fmt/format.h>\n")
        self.write("harness/core/CMakeLists.txt", "attn_module(core USES abi base)\n")
        self.write("harness/core/case.hpp", '#include "base/error.hpp"\n#include "abi/abi.h"\n')
        self.write("harness/yaml/CMakeLists.txt", "attn_module(yaml USES base LINK yaml-cpp)\n")
        self.write("harness/yaml/reader.cpp", "#include <yaml-cpp/yaml.h>\n")
        self.write("harness/suite/CMakeLists.txt", "attn_module(suite USES core yaml)  # and nothing of kernels\n")
        self.write("harness/suite/suite.cpp", '#include "core/case.hpp"\n#include "base/error.hpp"\n')
        self.write("kernels/chain.cc", '#include "abi/abi.h"\n#include "loops.hpp"\n')
        self.write("kernels/loops.hpp", "\n")
        self.write("tests/unit/yaml/reader_test.cpp", "#include <yaml-cpp/yaml.h>\n#include <gtest/gtest.h>\n")

    def faults(self):
        return check_modules.check(self.root)

    def test_a_healthy_tree_has_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_an_include_upwards(self):
        self.write("harness/base/up.cpp", '\n#  include "core/case.hpp"\n')
        self.assert_one_fault(self.faults(), "harness/base/up.cpp:2", "base may not include core/case.hpp")

    def test_an_include_of_an_allowed_module_that_cmake_does_not_declare(self):
        self.write("harness/suite/CMakeLists.txt", "attn_module(suite USES yaml)\n")
        self.assert_one_fault(self.faults(), "suite may not include core/case.hpp")

    def test_a_declared_use_that_the_table_does_not_allow(self):
        self.write("harness/yaml/CMakeLists.txt", "attn_module(yaml\n  USES base core)\n")
        self.assert_one_fault(self.faults(), "harness/yaml/CMakeLists.txt", "yaml may not use core")

    def test_a_linked_module_that_the_table_does_not_allow(self):
        for linked in ["attn_core", "$<LINK_LIBRARY:WHOLE_ARCHIVE,attn_core>"]:
            with self.subTest(linked):
                self.write("harness/yaml/CMakeLists.txt", f"attn_module(yaml USES base)\ntarget_link_libraries(attn_yaml PRIVATE attn_options {linked})\n")
                self.assert_one_fault(self.faults(), "yaml may not use core")

    def test_a_circle_in_the_table(self):
        self.write("tests/lint/modules.txt", TABLE.replace("module base", "module base yaml"))
        faults = self.faults()
        self.assertEqual(len(faults), 2, faults)
        self.assertIn("module base uses itself", faults[0])

    def test_a_circle_in_what_cmake_declares(self):
        self.write("harness/base/CMakeLists.txt", "attn_module(base USES core)\n")
        faults = "\n".join(self.faults())
        self.assertIn("base may not use core", faults)
        self.assertIn("harness/base/CMakeLists.txt: module base uses itself in a circle", faults)

    def test_a_module_without_a_line_in_the_table(self):
        self.write("harness/extra/CMakeLists.txt", "attn_module(extra)\n")
        self.assert_one_fault(self.faults(), "module extra has no line")

    def test_a_library_in_the_wrong_module(self):
        self.write("harness/suite/direct.cpp", "#include <yaml-cpp/yaml.h>\n")
        self.assert_one_fault(self.faults(), "suite may not include <yaml-cpp/yaml.h>: it belongs to yaml")

    def test_a_library_in_the_wrong_test(self):
        self.write("tests/unit/core/case_test.cpp", "#include <benchmark/benchmark.h>\n")
        self.assert_one_fault(self.faults(), "it belongs to report tests/speed")

    def test_a_library_that_nobody_owns(self):
        self.write("harness/core/new.cpp", "#include <boost/any.hpp>\n")
        self.assert_one_fault(self.faults(), "<boost/any.hpp> belongs to nobody")

    def test_a_kernel_that_uses_more_than_the_abi(self):
        self.write("kernels/flash.cc", '#include "base/error.hpp"\n')
        self.assert_one_fault(self.faults(), "kernels may not include base/error.hpp")

    def test_a_missing_file(self):
        self.write("harness/core/lost.cpp", '#include "core/lost.hpp"\n')
        self.assert_one_fault(self.faults(), 'no file "core/lost.hpp"')


if __name__ == "__main__":
    unittest.main()
