"""Compares two sides from end to end: what is said, what is stored, what the exit code is.

    ab.py PROGRAM PLANTED READS_VARIABLE [--python INTERPRETER] [--only TEXT]

PLANTED and READS_VARIABLE are plugins, INTERPRETER one that has NumPy.
"""
import argparse
import json
import os
import pathlib
import shlex
import sqlite3
import subprocess
import sys
import tempfile

EXACT = ["--gates", "numerics,kernels,copies,kernel_path"]
BUILT_IN = "backends: [naive, flash]"
VARIABLE = "backends: [{name: mine, plugin: ./mine.so}]"
PYTHON = "backends: [{name: mine, python: mine.py:Mine, interpreter: /no/such/interpreter}]"
ATTENTION = """
import numpy as np

class {name}:
    arrays = "numpy"
    def prepare(self, p, t):
        def call():
            s = t.q @ t.k.swapaxes(-1, -2) * t.q.dtype.type(p.scale)
            w = np.exp(s - s.max(-1, keepdims=True))
            return {factor} * (w / w.sum(-1, keepdims=True) @ t.v)
        return call
"""


class Comparison:
    def __init__(self, done, folder):
        self.code, self.said = done.returncode, done.stdout + done.stderr
        file = folder / "out.json"
        self.json = json.loads(file.read_text()) if file.exists() else None
        self.rows = {(row["backend"], row["case"]["name"], row["side"]): row for row in self.json["rows"]} if self.json else {}
        if self.json:
            file.unlink()

    def verdicts(self, backend="mine", case="one"):
        return tuple(self.rows[backend, case, side]["verdict"]["outcome"] for side in "ab")

    def findings(self, backend="mine", case="one"):
        return [finding["message"] for finding in self.rows[backend, case, "b"]["verdict"]["findings"]]

    def environment(self, side, backend="mine", case="one"):
        return self.json["environments"][self.rows[backend, case, side]["environment"]]


class Fixture:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        (self.folder / "mine.so").write_bytes(options.reads_variable.read_bytes())

    def suite(self, backends, cases=("one",), more=""):
        lines = ["version: 1", "suite: sides", "defaults: {batch: 1, heads: 2, head_dim: 16, seq: 48, dtype: fp32, cache: warm}", "cases:"]
        lines += [f"  - name: {case}" for case in cases] + [backends, more]
        (self.folder / "suite.yaml").write_text("\n".join(lines) + "\n")

    def program(self, *words, **variables):
        kept = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "ATTN_REGRESS_DB", "ATTN_TEST_FAULT", "ATTN_TEST_LOG")}
        return subprocess.run([self.options.program, *map(str, words)], cwd=self.folder, env=kept | variables, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300)

    def ab(self, *words, **variables):
        return Comparison(self.program("ab", "suite.yaml", "--device", "cpu", "--db", "h.db", "--json", "out.json", *words, **variables), self.folder)

    def sql(self, statement):
        with sqlite3.connect(self.folder / "h.db") as database:
            return database.execute(statement).fetchall()


def same(found, wanted, of=""):
    if found != wanted:
        raise AssertionError(f"{of}: found {found!r}, wanted {wanted!r}")


def holds(text, *wanted):
    for part in wanted:
        if part not in text:
            raise AssertionError(f"{part!r} is not in:\n{text}")


def another_path_is_said_first(fixture):
    fixture.suite(BUILT_IN)
    found = fixture.ab(*EXACT, "--b", f"plugin=naive={fixture.options.planted}:planted.path")
    same(found.code, 1)
    same(found.verdicts("naive"), ("pass", "regressed"))
    same(found.findings("naive")[0].split(":")[:2], ["kernel path changed", " naive -> math"])
    holds(found.said, "sides (b is held against a)\n  a  as it stands\n  b  plugin=naive=", "kernel path changed: naive -> math: ", "exit 1: failed in 1 row", "side a, by itself: 1 pass, 1 skipped")
    same(len(found.json["comparison"]["differences"]), 1)
    holds(found.json["comparison"]["differences"][0], "naive: backend libchain.so ", " -> libplanted.so:planted.path ")
    same(found.verdicts("flash"), ("skipped", "skipped"))
    holds(found.rows["flash", "one", "b"]["reason"], "the same on both sides")


def an_extra_copy_is_named_and_can_be_run_again(fixture):
    fixture.suite(BUILT_IN)
    found = fixture.ab(*EXACT, "--backend", "naive", "--b", f"plugin={fixture.options.planted}:planted.copy")
    same(found.code, 1)
    holds(found.findings("naive")[0], "copies 1, baseline 0: +1 memcpy cpu_memcpy_scores ")
    command = shlex.split(found.rows["naive", "one", "b"]["reproduce"])
    same(command[:3], ["attn-regress", "ab", "suite.yaml"])
    again = fixture.program(*command[1:], "--db", "h.db", "--json", "out.json")
    same(again.returncode, 1)
    same(Comparison(again, fixture.folder).findings("naive"), found.findings("naive"))


def a_slower_build_is_measured_by_turns_until_it_is_clear(fixture):
    fixture.suite(BUILT_IN)
    (fixture.folder / "suite.yaml").write_text((fixture.folder / "suite.yaml").read_text().replace("seq: 48", "seq: 384"))
    found = fixture.ab("--backend", "naive", "--b", f"plugin={fixture.options.planted}:planted.slow")
    a, b = (found.rows["naive", "one", side] for side in "ab")
    same(len(a["blocks"]), len(b["blocks"]), "blocks")
    if len(b["blocks"]) < 3:
        raise AssertionError("judged on fewer blocks than a failure needs")
    finding = b["verdict"]["findings"][0]
    same(finding["metric"], "device_ns")
    if not (finding["low"] <= finding["ratio"] <= finding["high"] and finding["ratio"] > 1.3):
        raise AssertionError(f"no interval: {finding}")
    same((b["verdict"]["outcome"], found.code) in (("regressed", 1), ("undecided", 5)), True, b["verdict"]["outcome"])  # undecided: the machine was too busy
    same(b["baseline"]["device_ns"], a["times"]["device_ns"])
    same([row["control"] for row in found.json["rows"]], [False, False])  # turns do what control rows are for


def another_path_is_timed_all_the_same(fixture):
    fixture.suite(BUILT_IN)
    found = fixture.ab("--backend", "naive", "--b", f"plugin={fixture.options.planted}:planted.path")
    same((found.verdicts("naive"), found.code), (("pass", "regressed"), 1))
    findings, blocks = found.rows["naive", "one", "b"]["verdict"]["findings"], found.rows["naive", "one", "b"]["blocks"]
    same(findings[0]["metric"], "kernel_path")
    times = [finding for finding in findings if finding["metric"] == "device_ns"]
    same(len(times), 1, "findings of the time")
    same(times[0]["low"] <= times[0]["ratio"] <= times[0]["high"], True, "interval")
    same(times[0]["outcome"] != "undecided" or len(blocks) == 5, True, f"given up after {len(blocks)} blocks")


def a_variable_is_recorded_and_differs(fixture):
    fixture.suite(VARIABLE)
    found = fixture.ab(*EXACT, "--b", "env:ATTN_TEST_FAULT=copy", ATTN_TEST_LOG="/dev/null")
    same(found.code, 1)
    same(found.verdicts(), ("pass", "regressed"))
    same(found.json["comparison"]["differences"], ["mine: ATTN_TEST_FAULT unset -> copy"])
    same([found.environment(side)["switches"].get("ATTN_TEST_FAULT") for side in "ab"], [None, "copy"])
    inherited = fixture.ab(*EXACT, "--b", "env:ATTN_TEST_FAULT=", ATTN_TEST_FAULT="copy")
    same(inherited.verdicts(), ("pass", "improved"))
    same([inherited.environment(side)["switches"]["ATTN_TEST_FAULT"] for side in "ab"], ["copy", ""])


def both_sides_take_turns_row_by_row_in_fresh_processes(fixture):
    fixture.suite(VARIABLE, ("one", "two"))
    log = fixture.folder / "log"
    found = fixture.ab("--gates", "numerics,latency", "--a", "env:ATTN_TEST_FAULT=left", "--b", "env:ATTN_TEST_FAULT=right", "--b", f"env:ATTN_TEST_LOG={log}", "--a",
                       f"env:ATTN_TEST_LOG={log}")
    turns = log.read_text().split()
    same(turns[:8], ["left", "right"] * 2 + ["right", "left"] * 2)
    for case in ("one", "two"):
        same(len(found.rows["mine", case, "a"]["blocks"]), len(found.rows["mine", case, "b"]["blocks"]), case)
        holds(found.findings(case=case)[0], "device_ns ", " -> ", "x (")
    same(len(turns), sum(len(row["blocks"]) for row in found.rows.values()))


def equal_sides_measure_nothing_and_say_so(fixture):
    fixture.suite(VARIABLE)
    log = fixture.folder / "log"
    (fixture.folder / "elsewhere").mkdir()
    (fixture.folder / "elsewhere" / "mine.so").write_bytes(fixture.options.reads_variable.read_bytes())
    for settings in (["--a", "plugin=mine.so", "--b", "plugin=mine.so"], ["--b", "plugin=elsewhere/mine.so"], ["--a", "env:X=1", "--b", "env:X=1"]):
        found = fixture.ab(*settings, ATTN_TEST_LOG=str(log))
        same((found.code, found.verdicts()), (5, ("skipped", "skipped")), settings)
        holds(found.said, "NOTHING DIFFERS BETWEEN THEM", "warning: THE TWO SIDES ARE THE SAME", "nothing was judged")
        same(log.exists(), False, "something was measured")


def the_exit_code_is_side_bs(fixture):
    fixture.suite(VARIABLE)
    for a, b, verdicts, code in (("wrong", "", ("wrong", "improved"), 0), ("", "wrong", ("pass", "wrong"), 1),
                                 ("crash", "", ("crashed", "improved"), 0), ("", "crash", ("pass", "crashed"), 1), ("", "none", ("pass", "regressed"), 1),
                                 ("none", "", ("unsupported", "improved"), 0)):
        found = fixture.ab(*EXACT, "--a", f"env:ATTN_TEST_FAULT={a}", "--b", f"env:ATTN_TEST_FAULT={b}")
        same((found.verdicts(), found.code), (verdicts, code), (a, b))
        if code == 0:
            holds(found.said, f"side a, by itself: 1 {verdicts[0]}")
    fixture.suite(VARIABLE, more="expect:\n  - {backend: mine, copies: 0}")
    found = fixture.ab(*EXACT, "--a", "env:ATTN_TEST_FAULT=copy", "--b", "env:ATTN_TEST_FAULT=")
    same((found.verdicts(), found.code), (("regressed", "improved"), 0))
    holds(found.said, "regressed  mine on side a  one:")


def nothing_is_taken_for_what_the_suite_gives(fixture):
    fixture.suite(VARIABLE)
    plain = fixture.program("run", "suite.yaml", "--device", "cpu", "--db", "h.db", "--baseline", "baselines", *EXACT)
    same(plain.returncode, 0, plain.stderr)
    compared = fixture.ab(*EXACT, "--b", "env:ATTN_TEST_FAULT=copy")
    same(compared.code, 1)
    same(fixture.sql("SELECT backend, copies FROM v_latest"), [("mine", 0)])
    same(fixture.sql("SELECT DISTINCT run_id FROM v_series WHERE metric = 'copies'"), fixture.sql("SELECT run_id FROM runs WHERE comparison IS NULL"))
    same(fixture.sql("SELECT side, copies_high FROM measurements WHERE side IS NOT NULL ORDER BY side"), [("a", 0), ("b", 1)])
    same(fixture.sql("SELECT DISTINCT side FROM v_kernels WHERE kind = 'memcpy'"), [("b",)])
    same({row[0] for row in fixture.sql("SELECT side FROM v_regressions")}, {"b"})
    run_id = fixture.sql("SELECT run_id FROM runs WHERE comparison IS NOT NULL")[0][0]
    accepted = fixture.program("baseline", "accept", "--reason", "new", "--db", "h.db", "--baseline", "baselines")
    same(accepted.returncode, 0, accepted.stderr)
    for line in (fixture.folder / "baselines").rglob("*.json"):
        same('"ATTN_TEST_FAULT"' in line.read_text(), False, "a side's setting in the baselines")
    refused = fixture.program("baseline", "accept", "--run", run_id, "--reason", "new", "--db", "h.db", "--baseline", "baselines")
    same(refused.returncode, 4)
    holds(refused.stderr, "compared two sides")
    holds(fixture.program("history", "--db", "h.db").stdout, run_id, "b env:ATTN_TEST_FAULT=copy")


def what_makes_no_sense_is_refused(fixture):
    fixture.suite(BUILT_IN)
    for words, wanted in (([], "neither --a nor --b says anything"), (["--a", ""], "--a: found \"\"; allowed are: python=INTERPRETER"),
                          (["--b", "pyhton=x"], "did you mean python?"), (["--b", "python=/no/such/python"], "no program that can be run"),
                          (["--b", "plugin=naive=/no/such.so"], "there is no file"), (["--b", "plugin=mine.so"], "several backends run"),
                          (["--b", "plugin=nave=mine.so"], "did you mean naive?"), (["--b", "env:1=2"], "allowed is env:NAME=VALUE"),
                          (["--b", "env:\x1b[31m=2"], "allowed is env:NAME=VALUE"), (["--b", "git:main"], "allowed are: python="),
                          (["--b", "env:X=1", "--update-baseline"], "unknown option")):
        found = fixture.ab(*words)
        same(found.code, 4, words)
        holds(found.said, wanted)
        same("\x1b" in found.said, False, "a control character reached the terminal")
    same((fixture.folder / "h.db").exists(), False, "a database of nothing")


def python_files_and_interpreters_are_compared(fixture):
    if not fixture.options.python:
        return print("no interpreter with NumPy: python files and interpreters are not compared")
    python = pathlib.Path(fixture.options.python).absolute()
    (fixture.folder / "mine.py").write_text(ATTENTION.format(name="Mine", factor=1))
    (fixture.folder / "other.py").write_text(ATTENTION.format(name="Mine", factor=2))
    fixture.suite(PYTHON)
    found = fixture.ab(*EXACT, "--a", f"python={python}", "--b", f"python={python}", "--b", "plugin=other.py")
    same((found.verdicts(), found.code), (("pass", "wrong"), 1), found.said)
    holds(found.json["comparison"]["differences"][0], "backend mine.py:Mine ", " -> other.py:Mine ")
    link = fixture.folder / "elsewhere"
    link.mkdir()
    (link / "python").symlink_to(python)
    found = fixture.ab(*EXACT, "--a", f"python={python}", "--b", "python=elsewhere/python")
    same((found.verdicts(), found.code), (("pass", "pass"), 0), found.said)
    holds(found.json["comparison"]["differences"][0], "mine: interpreter ", f" -> {link}/python")
    same(fixture.ab(*EXACT, "--a", f"python={python}", "--b", f"python={python}").code, 5)
    for folder in ("lo", "hi"):
        (fixture.folder / folder).mkdir()
        script = fixture.folder / folder / "py"
        script.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {python} "$@"\n')
        script.chmod(0o755)
    found = fixture.ab(*EXACT, "--a", "python=lo/py", "--b", "python=hi/py")
    same((found.verdicts(), found.json["comparison"]["differences"]), (("pass", "pass"), [f"mine: interpreter {fixture.folder}/lo/py -> {fixture.folder}/hi/py"]), found.said)


def two_of_one_file_differ(fixture):
    fixture.suite(BUILT_IN)
    found = fixture.ab(*EXACT, "--backend", "naive", *(f"--{side}=plugin={fixture.options.planted}:planted.{name}" for side, name in (("a", "copy"), ("b", "path"))))
    same((found.verdicts("naive"), found.code), (("pass", "regressed"), 1), found.said)
    holds(found.json["comparison"]["differences"][0], "naive: backend libplanted.so:planted.copy ", " -> libplanted.so:planted.path ")
    if not fixture.options.python:
        return print("no interpreter with NumPy: two classes of one file are not compared")
    python = pathlib.Path(fixture.options.python).absolute()
    (fixture.folder / "mine.py").write_text(ATTENTION.format(name="Mine", factor=1) + ATTENTION.format(name="Double", factor=2))
    fixture.suite(PYTHON.replace("/no/such/interpreter", str(python)))
    found = fixture.ab(*EXACT, "--b", "plugin=mine.py:Double")
    same((found.verdicts(), found.code), (("pass", "wrong"), 1), found.said)
    holds(found.json["comparison"]["differences"][0], "mine: backend mine.py:Mine ", " -> mine.py:Double ")


def what_never_came_up_names_no_consequence_as_its_cause(fixture):
    if not fixture.options.python:
        return print("no interpreter with NumPy: a class that is not there is not compared")
    (fixture.folder / "mine.py").write_text(ATTENTION.format(name="Mine", factor=1))
    fixture.suite(PYTHON.replace("/no/such/interpreter", str(pathlib.Path(fixture.options.python).absolute())))
    found = fixture.ab(*EXACT, "--b", "plugin=mine.py:Nobody")
    same((found.verdicts(), found.code), (("pass", "failed"), 1), found.said)
    holds(found.said, "mine.py:Mine ", "mine.py:Nobody ")
    same("not loaded" in found.said, False, found.said)


def who_declines_after_it_ran_has_failed(fixture):
    if not fixture.options.python:
        return print("no interpreter with NumPy: nobody declines late")
    declining = ATTENTION.format(name="Mine", factor=1).replace("    def prepare(self, p, t):\n", """    def prepare(self, p, t):
        import os, attn_regress
        with open("opened", "a+") as file:
            file.write("x")
            if file.tell() > {most}:
                raise attn_regress.Unsupported("not today")
""")
    fixture.suite(PYTHON.replace("/no/such/interpreter", str(pathlib.Path(fixture.options.python).absolute())))
    for most, status, code in ((0, "unsupported", 5), (1, "failed", 1)):
        (fixture.folder / "opened").unlink(missing_ok=True)
        (fixture.folder / "mine.py").write_text(declining.replace("{most}", str(most)))
        done = fixture.program("run", "suite.yaml", "--device", "cpu", "--db", "h.db", "--json", "out.json", "--gates", "numerics,latency")
        row = json.loads((fixture.folder / "out.json").read_text())["rows"][0]
        same((row["status"], done.returncode), (status, code), row["reason"])
    holds(row["reason"], "ran in another process of this run, then declined: ", "not today")


TESTS = [another_path_is_said_first, an_extra_copy_is_named_and_can_be_run_again, a_slower_build_is_measured_by_turns_until_it_is_clear, another_path_is_timed_all_the_same, a_variable_is_recorded_and_differs,
         both_sides_take_turns_row_by_row_in_fresh_processes, equal_sides_measure_nothing_and_say_so, the_exit_code_is_side_bs, nothing_is_taken_for_what_the_suite_gives,
         what_makes_no_sense_is_refused, two_of_one_file_differ, what_never_came_up_names_no_consequence_as_its_cause, who_declines_after_it_ran_has_failed, python_files_and_interpreters_are_compared]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("planted", type=pathlib.Path)
    parser.add_argument("reads_variable", type=pathlib.Path)
    parser.add_argument("--python")
    parser.add_argument("--only", default="", help="only tests whose name holds this")
    options = parser.parse_args()
    options.program, options.planted, options.reads_variable = (each.absolute() for each in (options.program, options.planted, options.reads_variable))
    failed = 0
    for test in TESTS:
        if options.only not in test.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Fixture(options, folder))
                print(f"ok      {test.__name__}", flush=True)
            except AssertionError as fault:
                failed += 1
                print(f"FAILED  {test.__name__}: {fault}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
