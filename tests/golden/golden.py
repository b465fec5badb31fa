"""Runs golden tests: commands with their input files and the output they must give, all in one file.

    What the test shows, in a sentence.
    === file bad.yaml
    version: 2
    === command
    attn-regress run bad.yaml
    === stdout
    === stderr
    attn-regress: bad.yaml:1:10: found 2; this program reads version 1
    === exit 4

The command runs in a shell, in an empty folder that holds the files, without the variables that change what the program prints. A section for an output that
stays empty may be left out. With ATTN_APPROVE=1 the outputs in the file become what came out; read the difference before committing it.
"""

import argparse
import difflib
import os
import subprocess
import sys
import tempfile

TIMEOUT_S = 60
MARK = "=== "


class Golden:
    def __init__(self, text):
        self.head = ""
        self.files = {}
        self.command = None
        self.expected = {"stdout": "", "stderr": "", "exit": "0"}
        self._read(text)

    def _read(self, text):
        title, body = None, []
        for line in text.splitlines(keepends=True) + [MARK]:
            if line.startswith(MARK):
                self._take(title, "".join(body))
                title, body = line[len(MARK):].strip(), []
            else:
                body.append(line)
        if self.command is None:
            raise ValueError("there is no `=== command`")

    def _take(self, title, body):
        if title is None:
            self.head = body
        elif title == "command":
            self.command = body
        elif title in ("stdout", "stderr"):
            self.expected[title] = body
        elif title.startswith("exit "):
            self.expected["exit"] = title.split()[1]
        elif title.startswith("file "):
            self.files[title.split(None, 1)[1]] = body
        else:
            raise ValueError(f"`{MARK}{title}` is no section; allowed are: file NAME, command, stdout, stderr, exit N")

    def text(self, found):
        parts = [self.head]
        parts += [f"{MARK}file {name}\n{body}" for name, body in self.files.items()]
        parts.append(f"{MARK}command\n{self.command}")
        parts += [f"{MARK}{name}\n{found[name]}" for name in ("stdout", "stderr") if found[name]]
        parts.append(f"{MARK}exit {found['exit']}\n")
        return "".join(part if part.endswith("\n") else part + "\n" for part in parts)

    def run(self, search_path):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "ATTN_REGRESS_DB") and not name.startswith("GIT_")}
        environment["PATH"] = search_path + os.pathsep + environment.get("PATH", "")
        with tempfile.TemporaryDirectory() as folder:
            # A work tree above the temporary folder is none of ours.
            environment["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.path.realpath(folder))
            for name, body in self.files.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                    file.write(body)
            done = subprocess.run(["sh", "-c", self.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
        return {"stdout": done.stdout.decode("utf-8", "surrogateescape"), "stderr": done.stderr.decode("utf-8", "surrogateescape"),
                "exit": str(done.returncode)}


def check(path, search_path, approve):
    """The differences as text; empty when there are none or they were approved."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        golden = Golden(file.read())
    found = golden.run(search_path)
    before, after = golden.text(golden.expected), golden.text(found)
    if before == after:
        return ""
    if approve:
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(after)
        return ""
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"{path} (expected)", f"{path} (found)"))


def main():
    parser = argparse.ArgumentParser(description="Runs golden tests; ATTN_APPROVE=1 writes what came out into them.")
    parser.add_argument("--path", required=True, help="folders of the programs, in front of PATH")
    parser.add_argument("goldens", nargs="+")
    arguments = parser.parse_args()
    failed = False
    for path in arguments.goldens:
        difference = check(path, arguments.path, os.environ.get("ATTN_APPROVE") == "1")
        if difference:
            failed = True
            sys.stdout.buffer.write(difference.encode("utf-8", "surrogateescape"))
            print("ATTN_APPROVE=1 accepts what was found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
