"""check_symbols.py against libraries built here: one as it must be, and one for each fault."""

import os
import subprocess
import unittest

import check_symbols
from planted import PlantedTree

EXPORT = 'extern "C" __attribute__((visibility("default"))) '
ENGINE = "".join(f"{EXPORT}int {name}() {{ return 1; }}\n" for name in sorted(check_symbols.ENGINE_EXPORTS))
PLUGIN = EXPORT + "int attn_backends() { return 1; }\n"


class Symbols(PlantedTree):
    def build(self, source, *options):
        self.write("source.cpp", source)
        file = os.path.join(self.root, "built.so")
        compiler = [os.environ.get("CXX", "c++"), "-fvisibility=hidden", "-fPIC", "-o", file, os.path.join(self.root, "source.cpp")]
        subprocess.run([*compiler, *options], check=True)
        return file

    def library(self, source, *options):
        return self.build(source, "-shared", "-nodefaultlibs", "-lc", *options)

    def test_a_good_engine_has_no_fault(self):
        self.assertEqual(check_symbols.engine_faults(self.library(ENGINE)), [])

    def test_an_engine_that_exports_more(self):
        self.assert_one_fault(check_symbols.engine_faults(self.library(ENGINE + EXPORT + "int stray() { return 3; }\n")), "exports stray")

    def test_an_engine_that_exports_less(self):
        faults = check_symbols.engine_faults(self.library(ENGINE.replace(EXPORT + "int attn_worker", "int attn_worker")))
        self.assert_one_fault(faults, "does not export attn_worker")

    def test_an_engine_that_needs_a_cpp_library(self):
        self.assert_one_fault(check_symbols.engine_faults(self.library(ENGINE, "-Wl,--no-as-needed", "-lstdc++")), "needs libstdc++.so.6")

    def test_a_good_plugin_has_no_fault(self):
        self.assertEqual(check_symbols.export_faults(self.library(PLUGIN), check_symbols.PLUGIN_EXPORTS), [])

    def test_a_plugin_that_leaks_a_template(self):
        source = PLUGIN + 'namespace std __attribute__((visibility("default"))) { template <class T> int leak(T) { return 0; } }\nint use() { return std::leak(1); }\n'
        faults = check_symbols.export_faults(self.library(source), check_symbols.PLUGIN_EXPORTS)
        self.assert_one_fault(faults, "exports _ZSt4leakIiEiT_")

    def test_the_name_of_a_version_is_no_export(self):
        self.write("map", "ATTN_1 { global: attn_backends; local: *; };\n")
        file = self.library(PLUGIN, "-Wl,--version-script=" + os.path.join(self.root, "map"))
        self.assertEqual(check_symbols.export_faults(file, check_symbols.PLUGIN_EXPORTS), [])

    def test_a_good_program_has_no_fault(self):
        self.assertEqual(check_symbols.program_faults(self.build("int curious; int main() {}\n")), [])

    def test_a_program_that_links_cuda(self):
        self.library("int cuInit() { return 0; }\n", "-Wl,-soname,libcudart.so.12")
        os.rename(os.path.join(self.root, "built.so"), os.path.join(self.root, "libcudart.so"))
        faults = check_symbols.program_faults(self.build("int main() {}\n", "-Wl,--no-as-needed", "-L" + self.root, "-lcudart"))
        self.assert_one_fault(faults, "links libcudart.so.12")

    def test_a_program_that_holds_the_static_runtime(self):
        faults = check_symbols.program_faults(self.build('extern "C" int cudaGetDeviceCount() { return 0; }\nint main() {}\n'))
        self.assert_one_fault(faults, "holds cudaGetDeviceCount")


if __name__ == "__main__":
    unittest.main()
