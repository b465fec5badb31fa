"""A user's file of a few lines, and the same with a fault planted: the clean one passes, each fault fails with its diagnosis.

    users_file.py PROGRAM [--device cpu|cuda] [--python INTERPRETER]

With --device cpu the interpreter has NumPy, whose calls are timed and checked but not counted; with cuda it has torch.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Faults are planted by replacing one piece of these.
TORCH = '''import time
import torch
from torch.nn import functional as F

class Written:
    def prepare(self, p, t):
        i = torch.arange(p.seq_q, device=t.q.device)[:, None] + (p.seq_kv - p.seq_q if p.alignment == "bottom_right" else 0)
        j = torch.arange(p.seq_kv, device=t.q.device)
        hidden = (j > i) | ((j < i - p.window_left) & (p.window_left >= 0))
        dead = hidden.all(-1, keepdim=True)
        def call():
            s = t.q @ t.k.mT * p.scale
            s = p.softcap * torch.tanh(s / p.softcap) if p.softcap else s
            return s.masked_fill(hidden, -torch.inf).softmax(-1).masked_fill(dead, 0) @ t.v
        return call

class Fused:
    def prepare(self, p, t):
        kept = []
        def call():
            q, k, v = t.q, t.k, t.v
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=p.scale, enable_gqa=True)
        return call
'''
NUMPY = '''import time
import numpy as np

class Written:
    arrays = "numpy"
    def prepare(self, p, t):
        i = np.arange(p.seq_q)[:, None] + (p.seq_kv - p.seq_q if p.alignment == "bottom_right" else 0)
        j = np.arange(p.seq_kv)
        hidden = (j > i) | ((j < i - p.window_left) & (p.window_left >= 0))
        dead = hidden.all(-1, keepdims=True)
        kept = []
        def call():
            s = t.q @ t.k.swapaxes(-1, -2) * t.q.dtype.type(p.scale)
            s = p.softcap * np.tanh(s / p.softcap) if p.softcap else s
            w = np.exp(np.where(hidden, -np.inf, s - s.max(-1, keepdims=True)))
            return w / np.where(dead, 1, w.sum(-1, keepdims=True)) @ t.v
        return call
Fused = Written
'''
# The answers, in cases that need one argument each; and one case whose cost is held against a baseline of the clean file.
ANSWERS = """version: 1
suite: answers
defaults: {{batch: 1, heads: 2, head_dim: 64, dtype: {dtype}, mask: causal, cache: warm}}
cases:
  - {{name: plain, seq: 64}}
  - {{name: window, seq: 64, window: {{left: 7, right: 0}}}}
  - {{name: softcap, seq: 64, softcap: 2, inputs: large_logits}}
  - {{name: aligned, seq_q: 16, seq_kv: 40, alignment: bottom_right}}
  - {{name: dead, seq_q: 40, seq_kv: 16, alignment: bottom_right}}
"""
COST = """version: 1
suite: cost
cases: [{{name: cost, {sizes}, head_dim: 64, dtype: {dtype}, mask: causal, layout: bshd, then: merge_heads, cache: warm}}]
"""
CALL = "        def call():\n"
FUSED = TORCH[TORCH.index("            q, k, v = "):TORCH.rindex("        return call")]
CACHED = """        answer = []
        def cached():
            if not answer:
                answer.append(call())
            return answer[0]
        return cached
"""
# Backend's name: suite, what is replaced, by what, and what is to be said. Pairs are torch's and NumPy's; None: NumPy cannot show it.
FAULTS = {
    "window_too_wide": ("answers", "i - p.window_left", "i - p.window_left - 1", "window one key too wide"),
    "softcap_ignored": ("answers", "if p.softcap else s", "if False else s", "softcap ignored"),
    "top_left": ("answers", 'p.alignment == "bottom_right"', "False", "top_left|top left|alignment"),
    "nan_in_dead_rows": ("answers", (".masked_fill(dead, 0)", "np.where(dead, 1, w.sum(-1, keepdims=True))"), ("", "w.sum(-1, keepdims=True)"), "dead rows nan"),
    "cached_answer": ("answers", "        return call\n", CACHED, "cached answer|other inputs"),
    "expanded_kv": ("cost", ("q, k, v = t.q, t.k, t.v", None), "q, k, v = t.q, t.k.repeat_interleave(4, 1), t.v.repeat_interleave(4, 1)", r"copies 2, baseline 0"),
    "contiguous_output": ("cost", ("enable_gqa=True)", None), "enable_gqa=True).contiguous()", r"copies 2, baseline 0"),
    "widened": ("cost", (FUSED, None), FUSED.replace("t.q, t.k, t.v", "t.q.float(), t.k.float(), t.v.float()").replace("gqa=True)", "gqa=True).to(t.q.dtype)"),
                r"kernel path changed: \w+ -> math"),
    "sleeps": ("cost", CALL, CALL + "            time.sleep(0.001)\n", r"(host|device)_ns \S+ [un]s -> 1\.\d+ ms"),
    "grows": ("cost", CALL, (CALL + "            kept.append(torch.empty(1 << 18, device='cuda'))\n", CALL + "            kept.append(np.ones(1 << 16))\n"), "grow"),
    "plans_in_every_call": ("cost", CALL, CALL + "            time.sleep(0.04)\n", r"a plan[^:]* in every call"),
}


class Folder:
    """The suites and the files of a user: one file for each backend, which is named after the fault that is planted in it."""

    def __init__(self, options, path):
        self.options, self.path, self.numpy = options, pathlib.Path(path), options.device == "cpu"
        self.faults = {}
        for name, (suite, old, new, wanted) in FAULTS.items():
            old, new = (each[self.numpy] if isinstance(each, tuple) else each for each in (old, new))
            if old is not None:
                self.faults[name] = (suite, old, new, wanted)
        words = {"dtype": "fp32", "sizes": "batch: 1, heads: 2, seq: 64"} if self.numpy else {"dtype": "bf16", "sizes": "batch: 2, heads: 8, heads_kv: 2, seq: 256"}
        for suite, text, kind in (("answers", ANSWERS, "Written"), ("cost", COST, "Fused")):
            backends = [f"  - {{name: {name}, python: {name}.py:{kind}}}" for name in ["clean", *self.names(suite)]]
            (self.path / f"{suite}.yaml").write_text(text.format(**words) + "backends:\n" + "\n".join(backends) + "\n")
        self.write("clean", "", "")

    def names(self, suite):
        return [name for name, fault in self.faults.items() if fault[0] == suite]

    def write(self, name, old, new):
        text = NUMPY if self.numpy else TORCH
        assert old in text, f"{old!r} is no part of the file"
        (self.path / f"{name}.py").write_text(text.replace(old, new))

    def write_all(self, suite, planted):
        for name in self.names(suite):
            self.write(name, *(self.faults[name][1:3] if planted else ("", "")))

    def run(self, suite, *more):
        """The exit code, what was said of each backend's rows that failed, and all that was printed."""
        gates = ["--gates", "numerics,kernels,copies,kernel_path"] if suite == "answers" else []
        done = subprocess.run([self.options.program, "run", f"{suite}.yaml", "--device", self.options.device, "--python", self.options.python, *gates, *more, "--baseline",
                               "baselines", "--db", "history.db", "--json", "out.json"], cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = {}
        for row in json.loads((self.path / "out.json").read_text())["rows"]:
            if not row["control"] and row["verdict"]["outcome"] not in ("pass", "no_baseline", "improved"):
                said.setdefault(row["backend"], []).extend([row["reason"], *(finding["message"] for finding in row["verdict"]["findings"])])
        return done.returncode, said, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    options.program = options.program.resolve()
    failed = []

    def held(condition, text):
        print(f"{'ok' if condition else 'FAULT'}: {text}", flush=True)
        if not condition:
            failed.append(text)

    with tempfile.TemporaryDirectory(prefix="attn-user-") as path:
        folder = Folder(options, path)
        for suite, runs in (("answers", [()]), ("cost", [("--update-baseline",), ()])):
            folder.write_all(suite, planted=False)
            for more in runs:
                code, said, text = folder.run(suite, *more)
                held(code == 0, f"clean files: {suite} {' '.join(more)}: exit {code} {said or (text[-800:] if code else '')}")
            folder.write_all(suite, planted=True)
            code, said, text = folder.run(suite)
            held(code == 1 and "clean" not in said, f"faults planted: {suite}: exit {code}, of the clean file: {said.get('clean', 'nothing')}")
            for name in folder.names(suite):
                wanted, found = folder.faults[name][3], said.get(name, [])
                held(any(re.search(wanted, each, re.DOTALL) for each in found), f"{name}: " + (next((each for each in found if re.search(wanted, each, re.DOTALL)), f"{found}; expected was {wanted!r}")))
    print(f"{len(folder.faults)} faults planted, {len(failed)} faults of this test")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
