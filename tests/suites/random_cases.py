"""Checks that no shipped backend is ever called wrong: small random cases, gradients and dropout among them, whose few rows leave the judge little to go by.

    random_cases.py PROGRAM [--cases N] [--seed N]...
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

BACKENDS = ["naive", "math", "flash"]


def case(draw, number):
    """One line of a suite."""
    heads_kv = draw.choice([1, 2, 3])
    fields = {
        "name": f"random{number}",
        "batch": draw.choice([1, 2, 4]),
        "heads": heads_kv * draw.choice([1, 1, 2, 3]),
        "heads_kv": heads_kv,
        "head_dim": draw.choice([1, 2, 3, 4, 8, 16, 33]),
        "head_dim_v": draw.choice([1, 2, 5, 16]),
        "seq_q": draw.choice([1, 2, 5, 16, 33]),
        "seq_kv": draw.choice([2, 3, 5, 17, 40]),
        "dtype": draw.choice(["fp32", "fp32", "fp16", "bf16"]),
        "pass": draw.choice(["forward", "forward_backward", "forward_backward"]),
        "dead_rows": draw.choice(["zero", "nan", "mean"]),
        "inputs": draw.choice(["normal", "skewed", "negative_logits", "large_logits"]),
        "scale": draw.choice(["default", "default", -0.2, 0, 3, 10]),
        "alignment": draw.choice(["top_left", "bottom_right"]),
        "cache": "warm",
    }
    kind = draw.choice(["none", "causal", "rows_dead", "random", "window"])
    if kind == "causal":
        fields["mask"] = "causal"
    elif kind == "window":
        fields["window"] = "{left: %d, right: %d}" % (draw.choice([-1, 0, 3]), draw.choice([-1, 0, 3]))
    elif kind != "none":
        fields["mask"] = "{tensor: %s, shape: [B, 1, Sq, Skv], dtype: %s}" % (kind, draw.choice(["bool", "dtype, fill: min", "dtype, fill: -inf"]))
    if draw.random() < 0.2:
        fields["alibi"] = "{slopes: %s}" % draw.choice(["default", str([draw.choice([-1, 0.5, 100]) for _ in range(fields["heads"])])])
    if draw.random() < 0.2:
        fields["softcap"] = draw.choice([0.5, 5, 50])
        fields["scale"] = "default"  # products far beyond the cap that cancel to less round by more than their capped scores tell
    if draw.random() < 0.25:
        fields["dropout"] = draw.choice([0.1, 0.5])
    return "  - {%s}" % ", ".join(f"{key}: {value}" for key, value in fields.items())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=240)
    parser.add_argument("--seed", type=int, action="append")
    options = parser.parse_args()
    faults = [check(options, seed) for seed in options.seed or [1, 2]]
    sys.exit(1 if any(faults) else 0)


def check(options, seed):
    """Whether something is wrong with a suite of that seed."""
    draw = random.Random(seed)
    lines = ["version: 1", "suite: random", f"backends: [{', '.join(BACKENDS)}]", "cases:"] + [case(draw, number) for number in range(options.cases)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "random.yaml").write_text("\n".join(lines) + "\n")
        command = [options.program, "run", folder / "random.yaml", "--device", "cpu", "--gates", "numerics", "--seed", str(seed), "--db", folder / "history.db",
                   "--baseline", folder / "baselines", "--json", folder / "out.json", "--color", "never"]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if not (folder / "out.json").exists():
            sys.exit(f"exit code {done.returncode}: {done.stderr[-2000:]}")
        rows = json.loads((folder / "out.json").read_text())["rows"]
    off = [row for row in rows if row["status"] not in ("ok", "unsupported")]  # flash has no dropout of a dead row's mean
    for row in off:
        print(f"{row['backend']} {row['case_id']}: {row['status']}, {row['reason']}")
    print(f"{len(rows)} rows, {len(off)} of them off, seed {seed}")
    return bool(off) or len(rows) < options.cases * len(BACKENDS)


if __name__ == "__main__":
    main()
