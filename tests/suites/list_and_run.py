"""Checks that `list` and `run` say the same of every row: what is unsupported, what is skipped because it costs too much.

    list_and_run.py PROGRAM SUITE FILTER MAX_COST
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from supported import BACKEND, HEADING


def said_by_list(text):
    rows, current = {}, None
    for line in text.splitlines():
        if heading := HEADING.match(line):
            current = heading[1]
        elif not line.strip():
            current = None
        elif current and (backend := BACKEND.match(line)):
            rows[current, backend[1]] = backend[2]
    return rows


def main():
    program, suite, filter_, max_cost = sys.argv[1:]
    common = [suite, "--filter", filter_, "--max-cost", max_cost, "--device", "cpu", "--color", "never"]
    listed = said_by_list(subprocess.run([program, "list", *common], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        more = ["--gates", "numerics", "--db", folder / "history.db", "--json", folder / "out.json", "--baseline", folder / "baselines"]
        subprocess.run([program, "run", *common, *more], capture_output=True, stdin=subprocess.DEVNULL)
        ran = {(row["case_id"], row["backend"]): row["status"] for row in json.loads((folder / "out.json").read_text())["rows"]}
    faults = [f"{row}: list says {listed.get(row)}, run {ran.get(row)}" for row in sorted(listed.keys() | ran.keys()) if listed.get(row) != ran.get(row)]
    counts = collections.Counter(ran.values())
    faults += [f"no row is {status}: this says nothing" for status in ("ok", "unsupported", "skipped") if not counts[status]]
    print(dict(counts))
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
