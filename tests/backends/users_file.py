"""A user's file of a few lines, right at first, then with one fault planted after the other: the clean one passes, each fault fails with its diagnosis.

    users_file.py PROGRAM [--device cpu|cuda] [--python INTERPRETER] [NAME...]

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
# The answers, in cases that each need one argument; and one case whose cost is held against a baseline of the clean file.
ANSWERS = """version: 1
suite: answers
defaults: {{batch: 1, heads: 2, head_dim: 64, dtype: {dtype}, mask: causal, cache: warm}}
cases:
  - {{name: plain, seq: 64}}
  - {{name: window, seq: 64, window: {{left: 7, right: 0}}}}
  - {{name: softcap, seq: 64, softcap: 2, inputs: large_logits}}
  - {{name: aligned, seq_q: 16, seq_kv: 40, alignment: bottom_right}}
  - {{name: dead, seq_q: 40, seq_kv: 16, alignment: bottom_right}}
backends: [{{name: mine, python: mine.py:Written}}]
"""
COST = """version: 1
suite: cost
cases: [{{name: cost, {sizes}, head_dim: 64, dtype: {dtype}, mask: causal, layout: bshd, then: merge_heads, cache: warm}}]
backends: [{{name: mine, python: mine.py:Fused}}]
"""
CALL = "        def call():\n"
CACHED = """        answer = []
        def cached():
            if not answer:
                answer.append(call())
            return answer[0]
        return cached
"""
# Name: suite, what is replaced, by what, and what is to be said. Pairs are torch's and NumPy's; None: NumPy cannot show it.
FAULTS = {
    "window one key too wide": ("answers", "i - p.window_left", "i - p.window_left - 1", "window"),
    "softcap ignored": ("answers", "if p.softcap else s", "if False else s", "softcap ignored"),
    "top-left for bottom-right": ("answers", 'p.alignment == "bottom_right"', "False", "top_left|top left|alignment"),
    "NaN in a dead row": ("answers", (".masked_fill(dead, 0)", "np.where(dead, 1, w.sum(-1, keepdims=True))"), ("", "w.sum(-1, keepdims=True)"), "dead rows nan"),
    "a cached answer": ("answers", "        return call\n", CACHED, "cached answer|other inputs"),
    "K and V expanded": ("cost", ("q, k, v = t.q, t.k, t.v", None), "q, k, v = t.q, t.k.repeat_interleave(4, 1), t.v.repeat_interleave(4, 1)", r"copies 2, baseline 0"),
    "a contiguous output": ("cost", ("enable_gqa=True)", None), "enable_gqa=True).contiguous()", r"copies 2, baseline 0"),
    "widened to fp32": ("cost", ("q, k, v = t.q, t.k, t.v", None), "q, k, v = t.q.float(), t.k.float(), t.v.float()", r"kernel path changed: \w+ -> math"),
    "a millisecond asleep": ("cost", CALL, CALL + "            time.sleep(0.001)\n", r"(host|device)_ns .* -> [1-9]"),
    "memory that grows": ("cost", CALL, (CALL + "            kept.append(torch.empty(1 << 18, device='cuda'))\n", CALL + "            kept.append(np.ones(1 << 16))\n"), "grow"),
    "a plan in every call": ("cost", CALL, CALL + "            time.sleep(0.04)\n", r"as slow as the first: a plan may be made in every call"),
}


class File:
    def __init__(self, options, folder):
        self.options, self.folder, self.numpy = options, pathlib.Path(folder), options.device == "cpu"
        words = {"dtype": "fp32", "sizes": "batch: 1, heads: 2, seq: 64"} if self.numpy else {"dtype": "bf16", "sizes": "batch: 2, heads: 8, heads_kv: 2, seq: 256"}
        for name, suite in (("answers", ANSWERS), ("cost", COST)):
            (self.folder / f"{name}.yaml").write_text(suite.format(**words))

    def write(self, old="", new=""):
        text = NUMPY if self.numpy else TORCH
        assert old in text, f"{old!r} is no part of the file"
        (self.folder / "mine.py").write_text(text.replace(old, new))

    def run(self, suite, *more):
        gates = ["--gates", "numerics,kernels,copies,kernel_path"] if suite == "answers" else []
        done = subprocess.run([self.options.program, "run", f"{suite}.yaml", "--device", self.options.device, "--python", self.options.python, *gates, *more, "--baseline",
                               "baselines", "--db", "history.db", "--json", "out.json"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        rows = [row for row in json.loads((self.folder / "out.json").read_text())["rows"] if not row["control"]]
        said = [finding["message"] for row in rows for finding in row["verdict"]["findings"]] + [row["reason"] for row in rows if row["status"] != "ok"]
        return done.returncode, said, done.stdout

    def clean(self):
        self.write()
        for suite, more in (("answers", []), ("cost", ["--update-baseline"]), ("cost", [])):
            code, said, text = self.run(suite, *more)
            if code != 0:
                return f"the clean file: {suite}: exit {code}: {said or text}"
        return None

    def fault(self, suite, old, new, wanted):
        self.write(old, new)
        code, said, text = self.run(suite)
        if code != 1 or not any(re.search(wanted, each, re.DOTALL) for each in said):
            return f"exit {code}, {said or text[-800:]}; expected was something like {wanted!r}"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.program = options.program.resolve()
    with tempfile.TemporaryDirectory(prefix="attn-user-") as folder:
        file = File(options, folder)
        failed = [fault for fault in [file.clean()] if fault]
        planted = 0
        for name, (suite, old, new, wanted) in FAULTS.items():
            here = [each[file.numpy] if isinstance(each, tuple) else each for each in (old, new)]
            if here[0] is None or (options.names and name not in options.names):
                continue
            planted += 1
            fault = file.fault(suite, *here, wanted)
            print(f"{name}: {fault or 'found'}", flush=True)
            failed += [f"{name}: {fault}"] if fault else []
    print("\n".join([*failed, f"{planted} faults planted, {len(failed)} faults of this test"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
