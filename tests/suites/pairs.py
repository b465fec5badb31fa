"""Checks that every two arguments meet in some case of a suite.

    pairs.py PROGRAM [--filter FILTER] SUITE

A library picks a kernel by one argument and forgets another there, so each argument alone says little. Arguments are read from the case ids: what differs from
its default, an enumeration by its value (layout=thd). What cannot be combined stands in CANNOT, with the reason; a pair there that a case has is a fault too.
"""
import argparse
import itertools
import re
import subprocess
import sys

from supported import HEADING

# Arguments that the head of an id holds.
SHAPES = {
    "16 bits": lambda parts: parts["dtype"] in ("fp16", "bf16"),
    "gqa": lambda parts: "." in parts["h"],
    "head_dim_v": lambda parts: "." in parts["d"],
    "seq_q > 1": lambda parts: parts["q"] > 1,
    "seq_q < seq_kv": lambda parts: parts["q"] < parts["k"],
    "seq_q > seq_kv": lambda parts: parts["q"] > parts["k"],
}
ENUMERATIONS = ("align", "dead", "pass", "page_order", "then")
LAYOUTS = ("bshd", "sbhd", "packed_qkv", "thd")
WHOLE = ("causal", "window", "softcap", "scale", "alibi", "lengths_q", "lengths_kv", "page", "strides", "grad", "deterministic", "dropout", "inputs", "kv")
IGNORED = {"cache"}  # of no argument of the backend

ONE_FIELD = "two values of one field"
SQUARE = "packed_qkv is one tensor: as many queries as keys, of one size and dtype, not in pages and not strided"
CACHE = "pages are a cache for decoding, without gradients"
ONE_OF = (("causal", "bool mask", "additive mask"), ("causal", "mask by head"), [f"layout={name}" for name in LAYOUTS], ("align=top_left", "align=bottom_right"),
          ("dead=nan", "dead=mean"), ("pass=backward", "pass=forward_backward"), ("seq_q < seq_kv", "seq_q > seq_kv"))
CANNOT = {
    **{frozenset(pair): ONE_FIELD for values in ONE_OF for pair in itertools.combinations(values, 2)},
    **{frozenset(("layout=packed_qkv", other)): SQUARE for other in ("seq_q < seq_kv", "seq_q > seq_kv", "head_dim_v", "kv", "page", "page_order=shuffled", "strides")},
    **{frozenset((paged, other)): CACHE for paged in ("page", "page_order=shuffled") for other in ("pass=backward", "pass=forward_backward", "grad")},
    frozenset(("dropout", "dead=mean")): "dropout of the mean of a dead row has no second witness: flash does not write it",
}


def arguments(case):
    """The names of what differs from its default in a case id."""
    dtype, batch, heads, sizes, head_dim, *more = case.split(":", 1)[1].split("/")
    q, k = re.fullmatch(r"q(\d+)\.k(\d+)", sizes).groups()
    parts = {"dtype": dtype, "h": heads, "q": int(q), "k": int(k), "d": head_dim}
    found = {name for name, holds in SHAPES.items() if holds(parts)} | ({"batch"} if batch != "b1" else set())
    for part in more:
        key, _, value = part.partition("=")
        if part in LAYOUTS:
            found.add(f"layout={part}")
        elif key == "mask":
            found.add("bool mask" if ".bool." in value else "additive mask")
            found |= {"mask by head"} if value.split(".")[1][1] == "h" else set()
        elif key in ENUMERATIONS:
            found.add(f"{key}={value}")
        elif key in WHOLE:
            found.add(key)
        elif key not in IGNORED:
            sys.exit(f"{case}: {part!r} is no argument that this script knows")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--filter")
    parser.add_argument("suite")
    options = parser.parse_args()
    command = [options.program, "list", options.suite, "--device", "cpu", "--color", "never"] + ([f"--filter={options.filter}"] if options.filter else [])
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    cases = {heading[1]: arguments(heading[1]) for heading in map(HEADING.match, done.stdout.splitlines()) if heading}
    if done.returncode != 0 or not cases:
        sys.exit(f"{options.suite}: exit code {done.returncode}, {len(cases)} cases read: {done.stderr[-2000:]}")
    met = {frozenset(pair) for found in cases.values() for pair in itertools.combinations(found, 2)}
    names = sorted(set().union(*cases.values()))
    wanted = {frozenset(pair) for pair in itertools.combinations(names, 2)} - CANNOT.keys()
    missing, odd = wanted - met, CANNOT.keys() & met
    print(f"{options.suite}: {len(cases)} cases, {len(names)} arguments, {len(wanted)} pairs, {len(missing)} of them in no case")
    for pair in sorted(map(sorted, missing)):
        print(f"  in no case: {' x '.join(pair)}")
    for pair in sorted(map(sorted, odd)):
        print(f"  said to be impossible ({CANNOT[frozenset(pair)]}), and there is a case: {' x '.join(pair)}")
    sys.exit(1 if missing or odd else 0)


if __name__ == "__main__":
    main()
