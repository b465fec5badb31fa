"""Checks that a run whose database finds no more room ends with its table, the fault and a nonzero exit code.

    full_disk.py PROGRAM SUITE
"""
import pathlib
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile

ENOUGH_FOR_NO_RUN = 4096  # bytes, beside a first run of one case


def run(program, suite, folder, cases, limit=None):
    command = [program, "run", suite, "--device", "cpu", "--backend", "flash", "--gates", "numerics", "--filter", cases, "--db", folder / "history.db",
               "--json", folder / "out.json", "--baseline", folder / "baselines", "--color", "never"]
    bounded = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, preexec_fn=bounded)


def main():
    program, suite = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        history = folder / "history.db"
        whole = run(program, suite, folder, "^ramp:.*scale=0/")
        done = run(program, suite, folder, "^(tiles|masks|inputs)", history.stat().st_size + ENOUGH_FOR_NO_RUN)
        said = done.stdout + done.stderr
        summary = re.search(r"^(\d+) of (\d+) rows of run (\S+) kept in (.*)\n", said, re.MULTILINE)
        measured = re.findall(r"^\[\d+/(\d+)\]", said, re.MULTILINE)[-1]
        with sqlite3.connect(history) as database:
            kept = database.execute("SELECT count(*) FROM measurements WHERE run_id = ?", [summary[3] if summary else ""]).fetchone()[0]
    faults = [f"exit code {whole.returncode} with room"] if whole.returncode != 0 else []
    if done.returncode != 4:
        faults.append(f"exit code {done.returncode}; wanted is 4")
    for text in ("tiles:fp32/b1/h1/q1.k1/d16", "warning: the run is not stored as a whole: ", "history.db: ", "exit 4: the run could not be stored as a whole"):
        if text not in said:
            faults.append(f"not said: {text!r}")
    if not summary or (int(summary[1]), summary[2], summary[4]) != (kept, measured, str(history)) or not 0 < kept < int(measured):
        faults.append(f"kept are {kept} of {measured} rows in {history}, said is {summary and summary[0]!r}")
    sys.exit("\n".join(faults + [said[-3000:]]) if faults else 0)


if __name__ == "__main__":
    main()
