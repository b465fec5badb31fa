"""Checks that every case of the given suites is supported by one of the suite's backends at least.

    supported.py PROGRAM [--filter FILTER] [--by NAME,NAME...]... SUITE...

With `--by`, one backend of each list supports every case: lists of backends that have no kernel in common are independent witnesses of an answer.
It reads what `attn-regress list --device cpu` prints: a line per case, and below it an indented one per backend with its status.
"""
import argparse
import re
import subprocess
import sys

# "  naive    unsupported  ..." below "name:bf16/b1/...  8.59 GFLOP, 12 MiB, needs ..."
BACKEND = re.compile(r"^ +(\S+) +(ok|skipped|unsupported|failed|crashed|timed_out|cannot_measure)\b")
HEADING = re.compile(r"^(\S+:\S+)  .*, needs ")
NOTHING_IS_SKIPPED = ["--max-cost", "1000000000GFLOP"]


def supporters(text):
    """Of each case's id, the backends that support it and what is said of those that do not."""
    cases = {}
    current = None
    for line in text.splitlines():
        if heading := HEADING.match(line):
            current = cases.setdefault(heading[1], (set(), []))
        elif not line.strip():
            current = None
        elif current is not None and (backend := BACKEND.match(line)):
            if backend[2] == "ok":
                current[0].add(backend[1])
            else:
                current[1].append(line.strip())
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--filter")
    parser.add_argument("--by", action="append", default=[], type=lambda names: set(names.split(",")))
    parser.add_argument("suites", nargs="+")
    options = parser.parse_args()
    faults = 0
    for suite in options.suites:
        command = [options.program, "list", suite, "--device", "cpu", "--color", "never", *NOTHING_IS_SKIPPED]
        if options.filter:
            command.append(f"--filter={options.filter}")
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        cases = supporters(done.stdout)
        if done.returncode != 0 or not cases:
            sys.exit(f"{suite}: exit code {done.returncode}, {len(cases)} cases read: {done.stderr[-2000:]}")
        bad = {case: reasons for case, (names, reasons) in cases.items() if not names or not all(names & wanted for wanted in options.by)}
        print(f"{suite}: {len(cases)} cases, {len(bad)} of them without support")
        for case, reasons in bad.items():
            print(f"  {case}: {reasons[0] if reasons else 'no backend is listed'}")
        faults += len(bad)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
