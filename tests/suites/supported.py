"""Checks that every case of the given suites is supported by one of the suite's backends at least.

    supported.py PROGRAM SUITE...

It reads what `attn-regress list --device cpu` prints: a line per case, and below it an indented one per backend with its status.
"""
import re
import subprocess
import sys

# "  naive    unsupported  ..." below "name:bf16/b1/...  8.59 GFLOP, 12 MiB, needs ..."
BACKEND = re.compile(r"^ +\S+ +(ok|skipped|unsupported|failed|crashed|timed_out|cannot_measure)\b")
TOO_SMALL = re.compile(r"needs \d+ MiB of workspace")  # it is this machine that cannot, not the backend
HEADING = re.compile(r"^(\S+:\S+)  .*, needs ")


def unsupported_cases(text):
    """Ids of the cases that no backend supports, and how many cases there are."""
    cases = {}
    current = None
    for line in text.splitlines():
        if heading := HEADING.match(line):
            current = cases.setdefault(heading[1], [])
        elif not line.strip():
            current = None
        elif current is not None and (backend := BACKEND.match(line)):
            current.append((backend[1], line.strip()))
    return {case: rows for case, rows in cases.items() if not any(status in ("ok", "skipped") or TOO_SMALL.search(row) for status, row in rows)}, len(cases)


def main():
    program, *suites = sys.argv[1:]
    faults = 0
    for suite in suites:
        done = subprocess.run([program, "list", suite, "--device", "cpu", "--color", "never"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        bad, count = unsupported_cases(done.stdout)
        if done.returncode != 0 or count == 0:
            sys.exit(f"{suite}: exit code {done.returncode}, {count} cases read: {done.stderr[-2000:]}")
        print(f"{suite}: {count} cases, {len(bad)} of them supported by no backend")
        for case, rows in bad.items():
            print(f"  {case}: {rows[0][1] if rows else 'no backend is listed'}")
        faults += len(bad)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
