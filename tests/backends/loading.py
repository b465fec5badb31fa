"""How a user's Python file is found and loaded, from end to end.

    loading.py PROGRAM INTERPRETER

INTERPRETER has NumPy.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SUITE = """version: 1
suite: loading
cases: [{name: one, batch: 1, heads: 2, seq: 16, head_dim: 8, dtype: fp32, cache: warm}]
backends: [{name: mine, python: FILE:Mine}]
"""
MINE = """import numpy as np
class Mine:
    def prepare(self, p, t):
        def call():
            s = t.q @ t.k.swapaxes(-1, -2) * t.q.dtype.type(p.scale)
            w = np.exp(s - s.max(-1, keepdims=True))
            return factor * (w / w.sum(-1, keepdims=True) @ t.v)
        return call
"""


class Folder:
    def __init__(self, program, interpreter, path):
        self.program, self.interpreter, self.path = program, interpreter, pathlib.Path(path)

    def write(self, name, text):
        """With a time of long ago: files come out of archives and image layers."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_600_000_000, 1_600_000_000))

    def row(self, file="mine.py", interpreter=None, **environment):
        (self.path / "suite.yaml").write_text(SUITE.replace("FILE", file))
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        command = [self.program, "run", "suite.yaml", "--python", interpreter or self.interpreter, "--device", "cpu", "--gates", "numerics", "--db", "x.db", "--json", "x.json"]
        done = subprocess.run(command, cwd=self.path, env={**kept, **environment}, capture_output=True, text=True, timeout=60)
        document = json.loads((self.path / "x.json").read_text())
        (row,) = [row for row in document["rows"] if not row["control"]]
        return row["status"], f"exit {done.returncode}, {row['status']}: {row['reason']}\n{row['output']}", document["environments"]


def an_edit_of_equal_size_and_time_is_seen(folder):
    folder.write("factor.py", "factor = 1\n")
    folder.write("mine.py", "from factor import factor\n" + MINE)
    first, said, _ = folder.row()
    assert first == "ok", said
    folder.write("factor.py", "factor = 2\n")
    second, said, _ = folder.row()
    assert second == "wrong", said
    assert not list(folder.path.rglob("__pycache__")), "bytecode was left in the user's folder"


def installed_modules_and_ours_are_not_in_the_way(folder):
    folder.write("worker.py", "factor = 1\n")
    folder.write("numpy/readme.txt", "a folder of that name\n")
    folder.write("platform.py", "raise RuntimeError('not the installed one')\n")
    folder.write("triton.py", "from worker import factor\n" + MINE)
    status, said, environments = folder.row("triton.py")
    assert status == "ok", said
    assert "triton" not in environments[0]["libraries"] or str(folder.path) not in environments[0]["libraries"]["triton"]["path"], environments


def a_safe_path_does_no_harm(folder):
    folder.write("mine.py", "factor = 1\n" + MINE)
    status, said, _ = folder.row(PYTHONSAFEPATH="1")
    assert status == "ok", said


def a_folder_with_a_space_does_no_harm(folder):
    folder.write("mine.py", "factor = 1\n" + MINE)
    wrapper = folder.path / "my venv" / "python"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {folder.interpreter} "$@"\n')
    wrapper.chmod(0o755)
    status, said, _ = folder.row(interpreter=str(wrapper))
    assert status == "ok", said


def what_is_wrong_with_the_files_is_no_lack_of_the_interpreter(folder):
    folder.write("other.py", "")
    for text, wanted in (("from other import factor\n", "cannot import name 'factor'"), ("from . import other\n", "relative import"),
                         ("class Mine:\n    devices = 3\n", "devices is 3"), ("class Mine:\n    devices = ['gpu']\n", "devices is ['gpu']"),
                         ("class Mine:\n    lse = 'yes'\n", "lse is 'yes'"), ("class Nobody: pass\n", "it defines: Nobody")):
        folder.write("mine.py", text)
        status, said, _ = folder.row()
        assert status == "failed" and wanted in said, said


def main():
    program, interpreter = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    faults = 0
    for test in (an_edit_of_equal_size_and_time_is_seen, installed_modules_and_ours_are_not_in_the_way, a_safe_path_does_no_harm, a_folder_with_a_space_does_no_harm,
                 what_is_wrong_with_the_files_is_no_lack_of_the_interpreter):
        with tempfile.TemporaryDirectory(prefix="attn-loading-") as path:
            try:
                test(Folder(program, interpreter, path))
                print(f"ok: {test.__name__}")
            except AssertionError as fault:
                print(f"FAULT: {test.__name__}: {fault}")
                faults += 1
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
