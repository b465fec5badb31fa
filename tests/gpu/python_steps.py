"""The steps of tests/gpu/run that need PyTorch on CUDA: each returns what to print, or raises Failed or Skipped."""

import csv
import json
import re
import shutil
import subprocess
import sys

from card import EXACT, ROOT, Skipped, expect, first_fault, rows

PYTHON = ["--python", sys.executable]
# Beyond the article's case: what each way must answer rightly or say that it cannot.
WAYS = """version: 1
suite: ways
defaults: {batch: 2, heads: 8, head_dim: 64, mask: causal}
cases:
  - {name: formats, seq: 512, dtype: [bf16, fp16, fp32]}
  - {name: grouped, heads_kv: 2, seq: 512, head_dim: 128, layout: bshd, dtype: bf16, then: merge_heads}
  - {name: decode, heads_kv: 2, seq_q: 1, seq_kv: 2048, head_dim: 128, dtype: bf16, alignment: bottom_right}
  - {name: chunk, seq_q: 128, seq_kv: 1024, dtype: bf16, alignment: bottom_right}
  - {name: window, seq: 512, dtype: bf16, window: {left: 63, right: 0}}
  - {name: softcap, seq: 512, dtype: bf16, softcap: 20}
  - {name: alibi, seq: 512, dtype: bf16, alibi: {slopes: default}}
  - {name: masked, seq: 512, dtype: bf16, mask: {tensor: random, shape: [B, 1, Sq, Skv], dtype: bool}}
  - {name: padded, seq: 256, dtype: bf16, mask: none, lengths: {q: [256, 100], kv: [256, 100]}}
  - {name: empty, seq: 64, dtype: bf16, mask: none, lengths: {q: [64, 0], kv: [64, 0]}, pass: [forward, backward]}
  - {name: odd, seq: 511, head_dim: 60, dtype: bf16}
  - {name: large, seq: 256, head_dim: 256, dtype: bf16}
  - {name: dropout, seq: 512, dtype: bf16, dropout: 0.125, pass: [forward, backward]}
  - {name: gradients, heads_kv: [2, 8], seq: 512, head_dim: 128, dtype: bf16, pass: [backward, forward_backward]}
  - {name: deterministic, seq: 512, dtype: bf16, pass: backward, deterministic: true}
  - {name: dead, seq_q: 200, seq_kv: 150, dtype: bf16, alignment: bottom_right}
backends: [torch.naive, torch.naive_inplace, torch.math, torch.efficient, torch.flash, torch.cudnn, torch.sdpa, torch.flex, torch.compile, triton, transformers.eager,
           transformers.sdpa, flash_attn]
waive:
  - {backend: torch.sdpa, cases: "^dead", reason: "PyTorch 2.11 takes cuDNN here, whose rows without a visible key are not 0", expires: 2099-12-31}
"""


def need_torch():
    why = subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available(), 'torch finds no GPU'"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if why.returncode != 0:
        raise Skipped(f"{sys.executable}: {why.stdout.decode(errors='replace').strip().splitlines()[-1]}")


def describe(row):
    """A row in a line, for a person who must find out what happened."""
    def range_text(name):
        low, high = (row["counts"][name] or {}).get("low"), (row["counts"][name] or {}).get("high")
        return f"{low}" if low == high else f"{low}..{high}"

    times = row.get("times") or {}
    parts = [f"{row['backend']:20} {row['verdict']['outcome']:12}"]
    if row["status"] == "ok":
        parts.append(f"{row['kernel_path'] or '-':9} " + " ".join(f"{name} {range_text(name)}" for name in ("kernels", "copies", "memsets", "launches", "synchronisations", "allocations")))
        parts += [f"{name[:-3]} {times[name] / 1e3:.1f} us" for name in ("device_ns", "host_ns", "first_ns", "second_ns") if times.get(name)]
        parts.append(f"capturable {row.get('capturable')} memory {row['memory']}")
    parts += [row["reason"][:300]] + [finding["message"][:300] for finding in row["verdict"]["findings"]]
    return "  ".join(part for part in parts if part)


def told(card, name, document):
    """Every row of a run, on the terminal and in a file: what went wrong on a card that is not at hand must be readable afterwards."""
    lines = []
    for case in dict.fromkeys(row["case_id"] for row in rows(document)):
        lines.append(case)
        for row in rows(document, case_id=case):
            lines.append("  " + describe(row))
            if row["status"] in ("failed", "crashed", "timed_out"):
                lines += ["    | " + line for line in row["output"].splitlines()[-12:]]
            if row["verdict"]["outcome"] == "regressed":
                lines += [f"    {kernel['kind']} {kernel['class']} x{kernel['count']} {kernel['bytes']} B {kernel['name'][:150]}" for kernel in row["kernels"]]
    (card.out / f"{name}.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)


def python(card):
    """The article through PyTorch, by the interpreter that runs this: counts and paths exactly, times to compare."""
    need_torch()
    code, document, _, seconds = card.measure("python", ["article"], *PYTHON, "--baseline", card.out / "no-baselines", seconds=400)
    told(card, "python", document)
    card.article = document
    libraries = {name: library for environment in document["environments"] for name, library in environment["libraries"].items()}
    print({name: libraries[name] for name in ("python", "torch", "triton", "cudnn", "cupti", "transformers") if name in libraries}, flush=True)
    expect(code == 0, first_fault(document))
    times = {row["backend"]: row["times"]["device_ns"] for row in rows(document) if row["status"] == "ok"}
    flash = times["torch.flash"]
    return f"{seconds:.0f} s; device time to torch.flash's: " + ", ".join(f"{name} {time / flash:.2f}" for name, time in times.items() if name.startswith("torch."))


def occupancy(card):
    """Of three fused kernels the share of warps, in percent, that Kineto estimates and that the hardware's counters show."""
    script = ROOT / "tests/gpu/occupancy.py"
    code, text, _ = card.shell("occupancy", [sys.executable, script])
    expect(code == 0, f"occupancy.py: exit {code}: {text[-300:]}")
    calls = json.loads(text.strip().splitlines()[-1])
    tool = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    code, text, _ = card.shell("occupancy-counters", [tool, "--clock-control", "none", "--csv", "--metrics", "sm__warps_active.avg.pct_of_peak_sustained_active",
                                                      "--kernel-name", "regex:flash|sdpa", sys.executable, script, "--call"])
    counted = [line[-1] for line in csv.reader(text.splitlines()) if "sm__warps_active.avg.pct_of_peak_sustained_active" in line]
    expect(len(counted) == len(calls), f"ncu told of {len(counted)} kernels: {text[-300:]}")
    return [{**call, "counted": float(value)} for call, value in zip(calls, counted)]


def python_claims(card):
    """What the article tells of an A100 (facts, section 1), beside what the step `python` measured on this card."""
    if card.article is None:
        raise Skipped("the step `python` did not run before it")
    document = card.article
    row = {each["backend"]: each for each in rows(document) if each["status"] == "ok"}
    time = {name: each["times"]["device_ns"] / 1e3 for name, each in row.items()}

    def count(name, pattern):
        """How many records of a call have such a name; `gemm.` and a kind stand for the gemms of that kind."""
        return sum(kernel["count"]["high"] for kernel in row[name]["kernels"] if f"gemm.{kernel['gemm_kind']}" == pattern or re.search(pattern, kernel["name"]))

    def made(name):
        counts = row[name]["counts"]
        return f"{counts['kernels']['high']} kernels, {counts['copies']['high']} copies, {counts['memsets']['high']} memsets"

    def plan(name):
        return ", ".join(f"{call} {row[name]['times'][f'{field}_ns'] / 1e3:.0f} us" for call, field in (("first call", "first"), ("second", "second"), ("then", "host")))

    torch_ways = [name for name in row if name.startswith("torch.")]
    fused = ["torch.efficient", "torch.flash", "torch.cudnn"]
    order = sorted([*fused, "torch.naive_inplace", "torch.math"], key=time.get)
    cudnn = row["torch.cudnn"]["times"]
    warps = occupancy(card)
    slower = time["torch.math"] / time["torch.naive_inplace"]
    safe = "isneginf|CompareEqFunctor"
    # Who said it, what, whether it should hold on this card (None: times of another card), whether it does, and what was measured.
    claims = [
        ("A1", "naive: 5 kernels and a memcpy of all scores", True, row["torch.naive"]["counts"]["copy_bytes"]["high"] == 2 * 8 * 16 * 1024 * 1024, made("torch.naive")),
        ("A2", "in place: the memcpy is gone", True, row["torch.naive_inplace"]["counts"]["copies"]["high"] == 0, made("torch.naive_inplace")),
        ("A3", "in place: 1.955 ms", None, None, f"{time['torch.naive_inplace']:.0f} us"),
        ("A4", "math: 20 kernels", True, row["torch.math"]["counts"]["kernels"]["high"] == 20, made("torch.math")),
        ("A4", "math takes 3.7 times as long as in place", False, abs(slower / 3.7 - 1) < 0.1, f"{slower:.2f} times"),
        ("A5", "math: its products are off the tensor cores, naive's are on them", True, count("torch.math", "gemm.fp32_simt") == 2 and count("torch.naive", "gemm.bf16") == 2,
         f"math {count('torch.math', 'gemm.fp32_simt')} in fp32, naive {count('torch.naive', 'gemm.bf16')} in bf16"),
        ("A6", "math alone makes the causal mask in every call", True, all(count(name, "triu_tril") == (name == "torch.math") for name in torch_ways),
         f"triu_tril {count('torch.math', 'triu_tril')} in math, {sum(count(name, 'triu_tril') for name in torch_ways if name != 'torch.math')} in all others"),
        ("A7", "math: a softmax that is safe against rows without a key", True, count("torch.math", safe) == 1 and count("torch.naive", safe) == 0,
         f"comparisons with -inf: math {count('torch.math', safe)}, naive {count('torch.naive', safe)}"),
        *[(claim, f"{name[6:]}: 1 kernel ({said} us)", True, row[name]["counts"]["kernels"]["high"] == 1 and row[name]["counts"]["copies"]["high"] == 0,
           f"{made(name)} ({time[name]:.1f} us)") for claim, name, said in zip(("A8", "A9", "A10"), fused, ("277.9", "146.8", "186.3"))],
        ("A10", "cuDNN seeks its plan in every call", False, max(cudnn["host_ns"], cudnn["second_ns"]) > 0.1 * cudnn["first_ns"], plan("torch.cudnn")),
        *[("A9, A10", f"{call['call'][6:]}: a profiler's occupancy is {call['estimate']} %", call["estimate"] > 5, abs(call["estimate"] - call["counted"]) < 5,
           f"{call['counted']:.1f} % by the hardware's counters") for call in warps],
        ("A11", "flash, then cuDNN, efficient, in place, math", False, order[0] == "torch.flash", ", ".join(f"{name[6:]} {time[name] / time['torch.flash']:.2f}" for name in order)),
        ("A12", "host time: efficient 117, flash 138, cuDNN 214 us", None, None, ", ".join(f"{name[6:]} {row[name]['times']['host_ns'] / 1e3:.1f}" for name in fused) + " us"),
    ]
    words = {None: "-", True: "yes", False: "no"}
    lines = [f"| {claim} | {said} | {words[holds]} | {here} |" for claim, said, _, holds, here in claims]
    (card.out / "claims.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)
    other = [line for line, (_, _, wanted, holds, _) in zip(lines, claims) if wanted != holds]
    expect(not other, "; ".join(other))
    return f"{sum(holds is True for *_, holds, _ in claims)} claims hold, {sum(holds is False for *_, holds, _ in claims)} do not"


def python_switched(card):
    """cuDNN put behind FlashAttention by PyTorch's own switch: another path, and it is said, by `ab` as by a baseline."""
    need_torch()
    code, document, _, _ = card.measure("switch-ab", ["article"], *PYTHON, "--backend", "torch.sdpa", "--b", "env:TORCH_CUDNN_SDPA_DEPRIORITIZED=1", command="ab")
    told(card, "switch-ab", document)
    first = rows(document, side="b")[0]["verdict"]["findings"][0]["message"]
    expect(code == 1 and first.startswith("kernel path changed: cudnn -> flash2"), f"ab: exit {code}, {first}")
    baselines = card.out / "switched-baselines"
    shutil.rmtree(baselines, ignore_errors=True)
    options = [*PYTHON, "--backend", "torch.sdpa", "--gates", EXACT, "--baseline", baselines]
    card.measure("switch-before", ["article"], *options, "--update-baseline")
    code, document, _, _ = card.measure("switch-after", ["article"], *options, environment={"TORCH_CUDNN_SDPA_DEPRIORITIZED": "1"})
    told(card, "switched", document)
    row = rows(document)[0]
    expect(code == 1 and row["kernel_path"] == "flash2" and "kernel_path" in json.dumps(row["verdict"]["findings"]), f"exit {code}, {describe(row)}")
    return row["verdict"]["findings"][0]["message"]


def python_ways(card):
    """Every shipped Python backend on what models ask: right, or unsupported with the library's own words."""
    need_torch()
    suite = card.out / "ways.yaml"
    suite.write_text(WAYS)
    code, document, _, seconds = card.measure("ways", [suite], *PYTHON, "--gates", EXACT, seconds=500)
    told(card, "ways", document)
    counts = {}
    for row in rows(document):
        counts[row["status"]] = counts.get(row["status"], 0) + 1
        expect(row["status"] != "unsupported" or row["reason"], f"{row['backend']} {row['case_id']} is unsupported without a reason")
    expect(code == 0, f"{counts}; {first_fault(document)}")
    return f"{seconds:.0f} s: " + ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


FALLBACK = """version: 1
suite: fallback
defaults: {batch: 1, heads: 6, heads_kv: 3, seq: 257, head_dim: 64}
cases:
  - {name: grouped, dtype: [fp32, bf16]}
  - {name: masked, dtype: bf16, heads_kv: 6, mask: [none, {tensor: all_true, shape: [B, 1, Sq, Skv], dtype: bool}]}
backends: [torch.sdpa, torch.flash, torch.math, transformers.sdpa]
expect:
  - {backend: torch.sdpa, cases: "^grouped", kernel_path: fused}
  - {backend: transformers.sdpa, cases: "^grouped:bf16", kernel_path: fused}   # whatever ways the backend before it allowed
"""


def python_fallback(card):
    """PyTorch takes a slow path without a word: it is said, and the way that was asked for says why it cannot."""
    need_torch()
    suite = card.out / "fallback.yaml"
    suite.write_text(FALLBACK)
    code, document, _, _ = card.measure("fallback", [suite], *PYTHON, "--gates", EXACT)
    told(card, "fallback", document)
    by = {(row["backend"], row["case_id"].partition("/")[0], "mask=" in row["case_id"]): row for row in rows(document)}
    fell = by["torch.sdpa", "grouped:fp32", False]
    expect(code == 1 and fell["kernel_path"] == "math" and fell["verdict"]["outcome"] == "regressed", f"exit {code}, fp32: {describe(fell)}")
    expect(by["torch.sdpa", "grouped:bf16", False]["verdict"]["outcome"] == "no_baseline", f"bf16: {describe(by['torch.sdpa', 'grouped:bf16', False])}")
    library = by["transformers.sdpa", "grouped:bf16", False]
    expect(library["status"] == "ok" and library["verdict"]["outcome"] == "no_baseline", f"after torch.math: {describe(library)}")
    refused = [row for row in rows(document, backend="torch.flash") if row["status"] == "unsupported"]
    expect(any("mask" in row["reason"] for row in refused), f"torch.flash with a mask: {[row['reason'] for row in refused]}")
    return f"fp32 with grouped heads: {fell['verdict']['reason']}; torch.flash: {next(row['reason'] for row in refused if 'mask' in row['reason'])}"


def python_faults(card):
    """Misbehaving Python backends."""
    need_torch()
    code, text, _ = card.shell("python-faults", [sys.executable, ROOT / "tests/backends/run.py", card.program, card.tree / "tests/gpu/backends/plugins", "--sources",
                                                 ROOT / "tests/gpu/backends", "--device", "cuda", "--jobs", "1", "--keep", card.out / "python", *PYTHON], seconds=550)
    print(text, flush=True)
    expect(code == 0, " | ".join(text.strip().splitlines()[-4:]))
    return text.strip().splitlines()[-1]


def python_users_file(card):
    """A user's file of a few lines: right, then with one fault after the other."""
    need_torch()
    code, text, _ = card.shell("users-file", [sys.executable, ROOT / "tests/backends/users_file.py", card.program, "--device", "cuda", *PYTHON], seconds=400)
    print(text, flush=True)
    expect(code == 0, " | ".join(text.strip().splitlines()[-3:]))
    return text.strip().splitlines()[-1]


def python_shipped_suite(card):
    """suites/pytorch.yaml: which way PyTorch takes by itself."""
    need_torch()
    code, document, _, seconds = card.measure("pytorch", ["pytorch"], *PYTHON, "--gates", EXACT + ",memory", seconds=300)
    told(card, "pytorch", document)
    expect(code == 0, first_fault(document))
    code, document, _, _ = card.measure("pytorch-ratios", ["pytorch"], *PYTHON, "--filter", "^plain.*q2048", seconds=300)
    expect(code == 0, f"time ratios: {first_fault(document)}")
    return f"{seconds:.0f} s: {sum(row['status'] == 'ok' for row in rows(document))} rows right"


STEPS = [python, python_claims, python_switched, python_ways, python_shipped_suite, python_fallback, python_users_file, python_faults]
