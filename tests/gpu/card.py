"""What every step of tests/gpu/run stands on: the program on this machine's GPU, and what its runs said."""

import json
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXACT = "numerics,kernels,copies,kernel_path"


class Failed(Exception):
    pass


class Skipped(Exception):
    """What a step needs is not there."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


class Card:
    """The program on this machine's first GPU, with its files in a folder of their own."""

    def __init__(self, tree, out):
        self.tree, self.out = tree, out
        self.program = tree / "bin" / "attn-regress"
        self.plugins = tree / "lib" / "attn-regress"
        self.article = None  # what the step `python` measured

    def shell(self, name, command, seconds=300, **more):
        environment = {**os.environ, **more.pop("environment", {})}
        start = time.monotonic()
        try:
            done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, env=environment, cwd=ROOT, **more)
            code, text = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            code, text = 124, (late.stdout or b"").decode(errors="replace") + f"\nended after {seconds} s"
        (self.out / f"{name}.log").write_text(" ".join(map(str, command)) + "\n" + text)
        return code, text, time.monotonic() - start

    def measure(self, name, suites, *options, command="run", prefix=(), database=None, **more):
        """Measures suites; returns exit code, the JSON document, the text and the seconds."""
        document = self.out / f"{name}.json"
        document.unlink(missing_ok=True)
        files = [suite if isinstance(suite, pathlib.Path) else ROOT / "suites" / f"{suite}.yaml" for suite in suites]
        words = [*prefix, self.program, command, *files, "--device", "cuda", "--db", self.out / f"{database or name}.db", "--json", document, *options]
        code, text, seconds = self.shell(name, words, **more)
        expect(document.exists(), f"no JSON (exit {code}): {text[-400:]}")
        return code, json.loads(document.read_text()), text, seconds


def rows(document, **fields):
    return [row for row in document["rows"] if not row["control"] and all(row[key] == value for key, value in fields.items())]


def faults(document):
    return [f"{row['backend']} {row['case_id']}: {row['verdict']['outcome']}: {row['verdict']['reason']}" for row in rows(document)
            if row["verdict"]["outcome"] not in ("pass", "no_baseline", "improved", "unsupported")]


def first_fault(document):
    found = faults(document)
    return found[0] if found else "no row failed"
