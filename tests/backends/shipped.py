"""Runs the Python backends that come with the program, on a CPU.

    shipped.py PROGRAM FOLDER [--python INTERPRETER]

FOLDER holds their files. Without --python: every file is a backend that a suite may name, and an interpreter that has no torch says so. With it: each answers
rightly or says what it cannot. Exit code 77, skipped: that interpreter has no torch.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SUITE = """version: 1
suite: shipped
defaults: {batch: 2, heads: 4, head_dim: 32, dtype: fp32, mask: causal}
cases:
  - {name: formats, seq: 65, dtype: [fp32, bf16, fp16]}
  - {name: grouped, heads_kv: 2, seq_q: 33, seq_kv: 70, alignment: [bottom_right, top_left]}
  - {name: decode, heads_kv: 1, seq_q: 1, seq_kv: 70, alignment: bottom_right, layout: bshd}
  - {name: window, seq: 65, window: {left: 9, right: 0}}
  - {name: softcap, seq: 49, softcap: 5}
  - {name: alibi, seq: 49, alibi: {slopes: default}}
  - {name: masked, seq: 49, mask: {tensor: random, shape: [B, 1, Sq, Skv], dtype: bool}}
  - {name: padded, seq: 49, mask: none, lengths: {q: [49, 20], kv: [49, 20]}}
  - {name: dropout, seq: 64, dropout: 0.25, pass: [forward, backward]}
  - {name: gradients, heads_kv: 2, seq: 49, pass: [backward, forward_backward]}
  - {name: dead, seq_q: 40, seq_kv: 30, alignment: bottom_right, dead_rows: [zero, nan]}
backends: [NAMES]
"""
ANSWERS = {"torch.naive", "torch.naive_inplace", "torch.math", "torch.sdpa"}  # wherever torch is; others need a compiler, a GPU or another package


def run(program, names, interpreter, *options):
    with tempfile.TemporaryDirectory(prefix="attn-shipped-") as folder:
        folder = pathlib.Path(folder)
        (folder / "suite.yaml").write_text(SUITE.replace("NAMES", ", ".join(names)))
        command = [program, "run", "suite.yaml", "--python", interpreter, "--device", "cpu", "--gates", "numerics", "--db", "x.db", "--json", "x.json", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1500)
        if not (folder / "x.json").exists():
            sys.exit(f"no JSON (exit code {done.returncode}): {done.stderr}")
        return done.returncode, [row for row in json.loads((folder / "x.json").read_text())["rows"] if not row["control"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--python")
    options = parser.parse_args()
    program = options.program.resolve()
    names = sorted(str(file.relative_to(options.folder).with_suffix("")).replace("/", ".") for file in options.folder.rglob("*.py"))
    faults = []
    if not options.python:
        with tempfile.TemporaryDirectory(prefix="attn-shipped-") as folder:
            bare = pathlib.Path(folder) / "python"  # without its packages
            bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
            bare.chmod(0o755)
            code, rows = run(program, names, str(bare), "--filter", "decode")
        faults += [f"{row['backend']}: {row['status']}: {row['reason']}" for row in rows if row["status"] != "unsupported" or "has no torch: install torch there" not in row["reason"]]
        faults += [] if code == 5 else [f"exit code {code}; nothing was judged"]
        faults += [f"{name} has no row" for name in names if name not in {row["backend"] for row in rows}]
    elif subprocess.run([options.python, "-c", "import torch"], capture_output=True).returncode != 0:
        print(f"shipped: skipped, {options.python} has no torch")
        return 77
    else:
        code, rows = run(program, names, options.python)
        for row in rows:
            if row["status"] not in ("ok", "unsupported") or not (row["status"] == "ok" or row["reason"]):
                faults.append(f"{row['backend']} {row['case_id']}: {row['status']}: {row['reason']}")
        right = {row["backend"] for row in rows if row["status"] == "ok"}
        faults += [f"{name} answers nothing" for name in sorted(ANSWERS - right)]
    print("\n".join(faults + [f"shipped: {len(names)} backends, {len(rows)} rows, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
