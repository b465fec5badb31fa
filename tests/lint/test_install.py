"""ci/install, quickstart and .ci/run on machines made of stand-ins: with and without packages, root, sudo, a working apt."""

import os
import shutil
import subprocess
import unittest

from planted import PlantedTree

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL_TOOLS = ["bash", "env", "dirname", "sed", "sort", "head", "tail", "mkdir", "cat", "grep"]
LIBRARIES = ["libyaml-cpp-dev", "libsqlite3-dev", "nlohmann-json3-dev", "libfmt-dev", "libcli11-dev", "libopenblas-dev"]
TEST_LIBRARIES = ["libgtest-dev", "libgmock-dev", "libbenchmark-dev", "python3-numpy"]


class Install(PlantedTree):
    """PATH holds only what a test puts there; `packages` lists what is installed, `apt.calls` what apt-get was asked."""

    def setUp(self):
        super().setUp()
        os.makedirs(f"{self.root}/bin")
        os.makedirs(f"{self.root}/ci")
        for name in ["install", "quickstart"]:
            shutil.copy(f"{PROJECT}/ci/{name}", f"{self.root}/ci/{name}")
        for name in REAL_TOOLS:
            os.symlink(shutil.which(name), f"{self.root}/bin/{name}")
        self.tool("dpkg-query", f'grep -qx "${{@: -1}}" {self.root}/packages && echo -n installed')
        self.tool("id", "echo 0")
        self.apt("for word; do echo $word >>$root/packages; done")
        for name in ["g++", "ninja", "python3"]:
            self.tool(name, "")
        self.tool("cmake", "echo cmake version 3.25.1")
        self.packages(LIBRARIES + TEST_LIBRARIES)

    def tool(self, name, body):
        self.write(f"bin/{name}", f"#!{self.root}/bin/bash\nroot={self.root}\n{body}\n")
        os.chmod(f"{self.root}/bin/{name}", 0o755)

    def apt(self, install):
        self.tool("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>$root/apt.calls\ncase "$*" in *update*) ;; *) {install} ;; esac')

    def remove(self, *names):
        for name in names:
            os.remove(f"{self.root}/bin/{name}")

    def packages(self, names):
        self.write("packages", "".join(name + "\n" for name in names))

    def apt_calls(self):
        if not os.path.exists(f"{self.root}/apt.calls"):
            return []
        with open(f"{self.root}/apt.calls", encoding="utf-8") as file:
            return file.read().splitlines()

    def run_script(self, *command):
        return subprocess.run([f"{self.root}/bin/bash", *command], cwd="/", env={"PATH": f"{self.root}/bin"}, capture_output=True, text=True, check=False)

    def install(self, what="quickstart"):
        return self.run_script(f"{self.root}/ci/install", what)

    def test_when_everything_is_there_apt_is_not_touched_and_nothing_said(self):
        self.remove("apt-get")
        done = self.install("test")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_only_what_is_missing_is_installed_and_named(self):
        self.packages(LIBRARIES[1:])
        done = self.install()
        self.assertEqual((done.returncode, done.stderr), (0, "attn-regress: installing libyaml-cpp-dev\n"))
        calls = self.apt_calls()
        self.assertEqual(len(calls), 2, calls)
        self.assertIn("update", calls[0])
        self.assertRegex(calls[1], r"^noninteractive .*install -y --no-install-recommends libyaml-cpp-dev$")

    def test_a_second_run_has_nothing_to_do(self):
        self.packages([])
        self.assertEqual(self.install("test").returncode, 0)
        calls = self.apt_calls()
        self.assertEqual(self.install("test").stderr, "")
        self.assertEqual(self.apt_calls(), calls)

    def test_the_tests_need_more_packages_than_the_program(self):
        self.packages(LIBRARIES)
        self.assertEqual(self.install().stderr, "")
        self.assertIn(f"installing {' '.join(TEST_LIBRARIES)}\n", self.install("test").stderr)

    def test_a_missing_tool_is_installed_as_its_package(self):
        self.remove("ninja")
        self.assertIn("installing ninja-build\n", self.install().stderr)

    def test_without_root_sudo_is_used(self):
        self.packages(LIBRARIES[1:])
        self.tool("id", "echo 1000")
        self.tool("sudo", 'echo "sudo $*" >>$root/apt.calls; shift; "$@"')
        self.assertEqual(self.install().returncode, 0)
        self.assertIn("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get", "\n".join(self.apt_calls()))

    def test_without_root_and_sudo_the_command_to_run_by_hand_is_shown(self):
        self.packages(LIBRARIES[2:])
        self.tool("id", "echo 1000")
        for sudo in [None, "exit 1"]:
            with self.subTest(sudo):
                if sudo:
                    self.tool("sudo", sudo)
                done = self.install()
                self.assertEqual(done.returncode, 4)
                self.assertIn("sudo apt-get update && sudo apt-get install -y libyaml-cpp-dev libsqlite3-dev\n", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(self.apt_calls(), [])

    def test_apt_is_asked_twice_before_it_counts_as_failed(self):
        self.packages([])
        self.apt("echo E: no such host; exit 100")
        done = self.install()
        self.assertEqual(done.returncode, 3)
        self.assertIn("E: no such host", done.stderr)
        self.assertEqual(len(self.apt_calls()), 4)

    def test_a_second_try_that_succeeds_is_enough(self):
        self.packages(LIBRARIES[1:])
        self.apt("[[ -e $root/tried ]] || { echo >$root/tried; exit 100; }")
        self.assertEqual(self.install().returncode, 0)

    def test_an_old_cmake_is_named(self):
        self.tool("cmake", "echo cmake version 3.18.4")
        done = self.install()
        self.assertEqual(done.returncode, 4)
        self.assertIn("CMake 3.18.4 found", done.stderr)

    def test_a_cmake_that_apt_brings_may_be_too_old(self):
        self.remove("cmake")
        self.apt(f"printf '#!{self.root}/bin/bash\\necho cmake version 3.18.4' >$root/bin/cmake; {shutil.which('chmod')} +x $root/bin/cmake")
        done = self.install()
        self.assertEqual(done.returncode, 4)
        self.assertIn("installing cmake\n", done.stderr)
        self.assertIn("CMake 3.18.4 found", done.stderr)

    def test_elsewhere_than_on_debian_the_needs_are_told_and_the_build_goes_on(self):
        self.remove("dpkg-query", "apt-get")
        done = self.install()
        self.assertEqual(done.returncode, 0)
        self.assertIn("libcli11-dev", done.stderr)

    def quickstart(self, *arguments):
        return self.run_script(f"{self.root}/ci/quickstart", *arguments)

    def built(self, build_body, program_body=""):
        self.tool("../ci/build", build_body)
        self.tool("../build/bin/attn-regress", program_body)

    def test_quickstart_without_a_suite_is_a_usage_error(self):
        done = self.quickstart()
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn("usage: ci/quickstart SUITE", done.stderr)

    def test_quickstart_hands_on_arguments_exit_code_and_working_directory(self):
        self.built("", 'echo "$PWD $# $2"; exit 5')
        done = self.quickstart("suites/a b.yaml", "--gates", "numerics")
        self.assertEqual((done.returncode, done.stdout), (5, "/ 3 --gates\n"))

    def test_quickstart_stops_when_the_build_fails(self):
        self.built("exit 3", "echo ran")
        done = self.quickstart("a.yaml")
        self.assertEqual((done.returncode, done.stdout), (3, ""))

    def test_quickstart_stops_when_it_cannot_install(self):
        self.built("", "echo ran")
        self.packages([])
        self.tool("id", "echo 1000")
        done = self.quickstart("a.yaml")
        self.assertEqual((done.returncode, done.stdout), (4, ""))


if __name__ == "__main__":
    unittest.main()
