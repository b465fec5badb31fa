"""Runs the program on every misbehaving backend of a folder and checks what comes of it.

    run.py PROGRAM PLUGINS [--sources FOLDER] [--device cpu|cuda] [--python INTERPRETER] [--jobs N] [--keep FOLDER] [--edges SUITE] [NAME...]

FOLDER holds the backends' sources (*.cc, *.cu) and their suites/; default is this one. With --device cuda and no GPU nothing is run: exit code 77, skipped.
With --python the backends are the classes `Mutant` of FOLDER/python/*.py, run by an interpreter that has NumPy, and on a GPU torch.

What must come of a backend stands in its own first lines, one `// expect:` (in Python `# expect:`) a line, words as a shell splits them:

    suite=NAME        suites/NAME.yaml of the folder, whose backends are `mutant` (this one) and `good`
    backend=NAME      rows that are meant; default mutant
    case=REGEX        ... only those whose case id matches; default all
    status=A|B        status of every one of these rows
    verdict=A|B       its verdict; default the status, and for ok: pass or no_baseline
    reason=REGEX      found in the row's reason
    verdict_reason=REGEX, output=REGEX    found in the verdict's reason, in what the backend printed
    warning=REGEX     found in just one of the run's warnings
    check=EXPRESSION  Python, true of `row` (the row of --json) and `times` (its times)
    exit=A|B          exit code; default what DESIGN's table says of the status
    gates=A,B         --gates; default the exact ones, which need no time
    seconds=N         the whole run takes no longer; default 30, on a GPU 60
    how=option        the suite's `mutant` is another file, and `--plugin mutant=FILE` replaces it
    how=baseline      ... after a run with the other file, which is the baseline
    how=again         the second of two runs, the first of which is the baseline

    // list: REGEX    what `attn-regress list` prints of it
    // edges: CASES => REASON   with --edges, which runs nothing else: of SUITE's cases that match CASES some row is `wrong` or copies too much, and its reason
                                matches REASON. No other case is run: what a part of the suite finds, the whole finds
    // edges: nothing           ... and here the whole suite is run and has no such row

Of every run is checked, besides: the program itself lived, the rows of `good` are ok, database and JSON agree, JUnit is XML, and nothing a backend said
reaches a terminal, a CI service or a browser as anything but text.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
EXACT_GATES = "numerics,kernels,copies,kernel_path"
KEYS = {"suite", "backend", "case", "status", "verdict", "reason", "verdict_reason", "output", "warning", "check", "exit", "gates", "seconds", "how"}
EXIT_SKIPPED = 77
# --timeout of every run, and of one in which it must run out: short, but a busy machine is slow, and a GPU has to be woken first.
PATIENCE = {"cpu": ("20s", "2s"), "cuda": ("60s", "12s")}
SECONDS = {"cpu": 30, "cuda": 60}
MOST_SECONDS = {"cpu": 60, "cuda": 150}  # for a run of the program, whatever its expectations say
MOST_SECONDS_OF_EDGES = 400
REPORTS = {"--json": "out.json", "--junit": "out.xml", "--markdown": "out.md", "--html": "out.html"}
EXIT_OF_STATUS = {"ok": "0", "unsupported": "0", "skipped": "0", "cannot_measure": "5"}
# Everything below blank but newline and tab, and DEL; C1 controls and bidi marks once decoded.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
COMMAND_TO_CI = re.compile(r"^\s*::\w+.*FORGED", re.MULTILINE)
HARMFUL_HTML = re.compile(r"<script>\s*alert|copy_kernel<script>", re.IGNORECASE)


class Fault(Exception):
    pass


def expectations(source):
    """(line number, {key: value}) of every expectation in a source file, and the regular expressions for `list`."""
    expects, lists = [], []
    for number, line in enumerate(source.read_text().splitlines(), 1):
        line = line.removeprefix("// ").removeprefix("# ")
        if line.startswith("list: "):
            lists.append(line.removeprefix("list: "))
        if not line.startswith("expect: "):
            continue
        pairs = [word.partition("=") for word in shlex.split(line.removeprefix("expect: "))]
        expect = {key: value for key, _, value in pairs}
        unknown = expect.keys() - KEYS
        if unknown or "suite" not in expect or "status" not in expect:
            sys.exit(f"{source}:{number}: unknown keys {sorted(unknown)}, or no suite or status")
        expects.append((number, expect))
    if not expects:
        sys.exit(f"{source}: states no expectation")
    return expects, lists


def groups(source):
    """Expectations that one run of the program can answer together."""
    found = {}
    expects, lists = expectations(source)
    for number, expect in expects:
        key = (expect["suite"], expect.get("gates", EXACT_GATES), expect.get("how", "suite"))
        found.setdefault(key, []).append((number, expect))
    return found, lists


def allowed(text):
    return text.split("|")


class Setting:
    """A folder with a suite, the plugins that it names and whatever the program writes."""

    def __init__(self, options, folder, source, suite, how="suite"):
        self.program, self.device, self.folder = options.program, options.device, pathlib.Path(folder)
        text = (options.sources / "suites" / f"{suite}.yaml").read_text()
        plugin = options.plugins / f"{source.stem}.so"
        self.how, self.more = how, ["--plugin", f"mutant={plugin}"] if how in ("option", "baseline") else []
        if options.python:
            text = text.replace("plugin: ./mutant.so", f"python: ./mutant.py:Mutant, interpreter: {options.python}")
            shutil.copyfile(source, self.folder / "mutant.py")
            shutil.copyfile(source.with_name("by_definition.py"), self.folder / "by_definition.py")
            if self.device == "cpu":  # under its own name a library of the working folder would be found by others
                shutil.copyfile(options.plugins / "python" / "libcuda.so.1", self.folder / "stub_driver.so")
        else:
            shutil.copyfile(options.plugins / "good.so" if self.more else plugin, self.folder / "mutant.so")
        shutil.copyfile(options.plugins / "good.so", self.folder / "good.so")
        (self.folder / "suite.yaml").write_text(text)
        self.reports = options.reports

    def record_baseline(self, *arguments):
        """The run that comes before the one that is checked, where there is one."""
        if self.how not in ("baseline", "again"):
            return
        replaced, self.more = self.more, []
        self.run(*arguments, "--update-baseline")
        self.more = replaced

    def run(self, *arguments):
        seconds = MOST_SECONDS[self.device]
        environment = {key: value for key, value in os.environ.items() if key not in ("GITHUB_ACTIONS", "FORCE_COLOR", "ATTN_REGRESS_DB")}
        environment["ATTN_TEST_FOLDER"] = str(self.folder)  # for what a backend leaves to its next process
        command = [self.program, *arguments, "--device", self.device, *self.more]
        start = time.monotonic()
        try:
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Fault(f"the program did not end within {seconds} s: {shlex.join(map(str, command))}")
        self.said = done.stdout.decode(errors="surrogateescape") + done.stderr.decode(errors="surrogateescape")
        self.took = time.monotonic() - start
        if done.returncode < 0:
            raise Fault(f"the program was ended by signal {-done.returncode}")
        return done


def check_harmless(name, text):
    text = text.encode(errors="surrogateescape").decode(errors="strict")
    found = CONTROL.search(text)
    if found:
        raise Fault(f"{name} holds the control character {found[0]!r}: ...{text[max(0, found.start() - 60):found.end() + 20]!r}")
    if COMMAND_TO_CI.search(text):
        raise Fault(f"{name} holds a command to a CI service: {COMMAND_TO_CI.search(text)[0]!r}")


def check_files(setting):
    check_harmless("the terminal output", setting.said)
    for name in setting.reports.values():
        text = (setting.folder / name).read_text(encoding="utf-8", errors="strict")
        check_harmless(name, text if name != "out.json" else CONTROL.sub(lambda match: match[0] if match[0] < " " else "", text))
        if name in ("out.md", "out.html") and HARMFUL_HTML.search(text):
            raise Fault(f"{name} holds a script of the backend's")
        if name == "out.xml":
            xml.etree.ElementTree.fromstring(text)


def check_database(setting, rows):
    with sqlite3.connect(setting.folder / "history.db") as database:
        stored = {row[:3]: row[3:] for row in database.execute("select suite, case_id, backend, status, reason, verdict from v_latest")}
    for row in rows:
        in_json = (row["status"], row["reason"], row["verdict"]["outcome"])
        in_database = stored.get((row["suite"], row["case_id"], row["backend"]))
        if in_database is None:
            raise Fault(f"the database has no row {row['case_id']} {row['backend']}")
        if (in_database[0], in_database[1] or "", in_database[2]) != in_json:
            raise Fault(f"JSON says {in_json} of {row['case_id']} {row['backend']}, the database {in_database}")


def check_row(expect, row):
    def matches(what, text, pattern):
        if not re.search(pattern, text or "", re.DOTALL):
            raise Fault(f"{what} of {row['case_id']} is {text!r}; expected was something like {pattern!r}")

    if row["status"] not in allowed(expect["status"]):
        raise Fault(f"{row['case_id']} is {row['status']} ({row['reason']!r}); expected was {expect['status']}")
    verdicts = expect.get("verdict") or {"ok": "pass|no_baseline"}.get(row["status"], row["status"])
    if row["verdict"]["outcome"] not in allowed(verdicts):
        raise Fault(f"{row['case_id']} was judged {row['verdict']['outcome']} ({row['verdict']['reason']!r}); expected was {verdicts}")
    if row["status"] != "ok" and not row["reason"]:
        raise Fault(f"{row['case_id']} is {row['status']} without a reason")
    matches("reason", row["reason"], expect.get("reason", ""))
    matches("the verdict's reason", row["verdict"]["reason"], expect.get("verdict_reason", ""))
    matches("output", row["output"], expect.get("output", ""))
    if "check" in expect and not eval(expect["check"], {"row": row, "times": row.get("times")}):
        raise Fault(f"{row['case_id']} does not fit {expect['check']}: counts {row['counts']}, times {row.get('times')}, memory {row['memory']}, "
                    f"kernel_path {row['kernel_path']}, kernels {row['kernels']}")


def check_expectation(expect, document, code, took, seconds):
    codes = expect.get("exit") or "|".join(EXIT_OF_STATUS.get(status, "1") for status in allowed(expect["status"]))
    if str(code) not in allowed(codes):
        raise Fault(f"exit code {code}; expected was {codes}")
    if took > float(expect.get("seconds", seconds)):
        raise Fault(f"took {took:.1f} s")
    if "warning" in expect and sum(bool(re.search(expect["warning"], warning)) for warning in document["warnings"]) != 1:
        raise Fault(f"not one of the warnings is like {expect['warning']!r}, or more than one: {document['warnings']}")
    rows = [row for row in document["rows"] if row["backend"] == expect.get("backend", "mutant") and re.search(expect.get("case", ""), row["case_id"])]
    if not rows:
        raise Fault("no such row")
    for row in rows:
        check_row(expect, row)


def run_group(options, source, key, expects):
    """Faults of one run, as text."""
    suite, gates, how = key
    place = f"{source.name}:{expects[0][0]}"
    with tempfile.TemporaryDirectory(prefix="attn-backends-", ignore_cleanup_errors=True) as folder:
        try:
            setting = Setting(options, folder, source, suite, how)
            reports = [word for pair in options.reports.items() for word in pair]
            patience = PATIENCE[options.device]["timed_out" in str(expects)]
            words = ["run", "suite.yaml", "--db", "history.db", "--timeout", patience, "--prepare-timeout", patience, "--gates", gates]
            setting.record_baseline(*words)
            done = setting.run(*words, *reports)
            if not (setting.folder / "out.json").exists():
                raise Fault(f"no JSON was written (exit code {done.returncode}): {setting.said[-2000:]}")
            document = json.loads((setting.folder / "out.json").read_text())
            check_files(setting)
            check_database(setting, [row for row in document["rows"] if not row["control"]])
            for row in document["rows"]:
                if row["backend"] == "good" and (row["status"], row["verdict"]["outcome"]) not in (("ok", "pass"), ("ok", "no_baseline")):
                    raise Fault(f"the neighbour was harmed: {row['status']} {row['reason']!r} {row['verdict']}")
            for row in document["rows"]:
                # A control row comes with every run; there is nothing of its own to run again.
                if not row["control"] and row["status"] not in ("ok", "unsupported", "skipped") and not row["reproduce"].startswith("attn-regress"):
                    raise Fault(f"{row['case_id']} names no command that reproduces it")
        except (Fault, OSError, ValueError, KeyError, sqlite3.Error, xml.etree.ElementTree.ParseError) as fault:
            return [f"{place}: {type(fault).__name__ if not isinstance(fault, Fault) else 'run'}: {fault}"]
        finally:
            if options.keep:
                shutil.copytree(folder, options.keep / f"{source.stem}.{suite}", dirs_exist_ok=True)
        faults = []
        for number, expect in expects:
            try:
                check_expectation(expect, document, done.returncode, setting.took, SECONDS[options.device])
            except (Fault, KeyError, TypeError, ValueError) as fault:
                faults.append(f"{source.name}:{number}: {type(fault).__name__ if not isinstance(fault, Fault) else 'expect'}: {fault}")
        return faults


def run_list(options, source, patterns):
    with tempfile.TemporaryDirectory(prefix="attn-backends-", ignore_cleanup_errors=True) as folder:
        try:
            setting = Setting(options, folder, source, "plain")
            done = setting.run("list", "suite.yaml")
            check_harmless("what list prints", setting.said)
            for pattern in patterns:
                if not re.search(pattern, done.stdout.decode(errors="replace"), re.DOTALL):
                    raise Fault(f"list does not show {pattern!r}: {setting.said}")
        except (Fault, UnicodeError) as fault:
            return [f"{source.name}: list: {fault}"]
    return []


def edges_line(source):
    return next((line.partition("edges: ")[2] for line in source.read_text().splitlines() if line.startswith(("// edges: ", "# edges: "))), None)


def run_edges(options, source, wanted):
    """Whether the suite alone finds what is wrong with the backend, which takes the place of `flash`: more is expected of that than of `naive`."""
    cases, _, reason = wanted.partition(" => ")
    if not reason and wanted != "nothing":
        return [f"{source.name}: edges: {wanted!r} is neither `CASES => REASON` nor `nothing`"]
    with tempfile.TemporaryDirectory(prefix="attn-edges-", ignore_cleanup_errors=True) as folder:
        suite, more = options.edges, ["--plugin", f"flash={options.plugins / source.stem}.so"]
        if options.python:
            shutil.copyfile(source, pathlib.Path(folder) / "mutant.py")
            shutil.copyfile(source.with_name("by_definition.py"), pathlib.Path(folder) / "by_definition.py")
            backends = f"backends: [{{name: flash, python: mutant.py:Mutant, interpreter: {options.python}}}]"
            suite, more = pathlib.Path(folder) / "edges.yaml", []
            suite.write_text(re.sub(r"^backends:.*$", backends, options.edges.read_text(), flags=re.MULTILINE).partition("\nexpect:")[0] + "\n")
        command = [options.program, "run", suite, "--filter=-big", *(["--filter", cases] if reason else []), "--backend", "flash", *more,
                   "--device", options.device, "--gates", "numerics,copies", "--db", "history.db", "--baseline", "baselines", "--json", "out.json"]
        try:
            subprocess.run(command, cwd=folder, capture_output=True, timeout=MOST_SECONDS_OF_EDGES, stdin=subprocess.DEVNULL)
            rows = [row for row in json.loads((pathlib.Path(folder) / "out.json").read_text())["rows"] if not row["control"]]
        except (subprocess.TimeoutExpired, OSError, ValueError) as fault:
            return [f"{source.name}: edges: {type(fault).__name__}: {fault}"]
    odd = [row for row in rows if row["status"] not in ("ok", "wrong", "unsupported", "skipped")]
    if odd:
        return [f"{source.name}: edges: {row['case_id']} is {row['status']}: {row['reason']}" for row in odd[:3]]
    failed = [(row["case_id"], row["reason"] or row["verdict"]["reason"]) for row in rows if row["verdict"]["outcome"] in ("wrong", "regressed")]
    if not reason:
        ran = any(row["status"] == "ok" for row in rows)
        return [f"{source.name}: edges: {case_id}: {why}" for case_id, why in failed[:3]] + ([] if ran else [f"{source.name}: edges: no row is ok"])
    if any(re.search(reason, why) for _, why in failed):
        return []
    return [f"{source.name}: edges: {len(failed)} of {len(rows)} rows fail, none because of {reason!r}: {[why[:100] for _, why in failed[:3]]}"]


def no_gpu(options):
    """Why there is no GPU to run on, in the program's words; empty when there is one, or when that is not what fails."""
    with tempfile.TemporaryDirectory(prefix="attn-backends-", ignore_cleanup_errors=True) as folder:
        setting = Setting(options, folder, options.sources / ("python/by_definition.py" if options.python else "good.cu"), "plain")
        setting.run("run", "suite.yaml", "--db", "history.db", "--gates", "numerics", "--json", "out.json")
        rows = json.loads((setting.folder / "out.json").read_text())["rows"]
        reasons = {row["reason"] for row in rows if row["status"] == "cannot_measure"}
        return next((reason for reason in reasons if re.search(r"\bno GPU\b", reason)), "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("plugins", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--sources", type=pathlib.Path, default=HERE, metavar="FOLDER")
    parser.add_argument("--device", choices=PATIENCE, default="cpu")
    parser.add_argument("--python", metavar="INTERPRETER", help="run the Python backends with this one, which has NumPy")
    parser.add_argument("--jobs", type=int, help="runs at a time; default twice the CPUs, and on a GPU, which one run has to itself, 1")
    parser.add_argument("--keep", type=pathlib.Path, help="copy what every run left into this folder")
    parser.add_argument("--edges", type=pathlib.Path, metavar="SUITE", help="only: does this suite find what is wrong with each backend?")
    options = parser.parse_intermixed_args()  # names may stand behind options
    options.program, options.plugins, options.sources = options.program.resolve(), options.plugins.resolve(), options.sources.resolve()
    options.jobs = options.jobs or (2 * (os.cpu_count() or 1) if options.device == "cpu" else 1)
    known = subprocess.run([options.program, "run", "--help"], capture_output=True, text=True, check=True).stdout
    options.reports = {option: file for option, file in REPORTS.items() if option in known}

    sources = sorted(options.sources.glob("python/*.py" if options.python else "*.c[cu]"))
    sources = [source for source in sources if not options.names or source.stem in options.names]
    unknown = set(options.names) - {source.stem for source in sources}
    if unknown or not sources:
        sys.exit(f"no such backend in {options.sources}: {' '.join(sorted(unknown)) or '*.cc, *.cu, python/*.py'}")
    if options.device == "cuda" and (why := no_gpu(options)):
        print(f"backends: skipped, {why}")
        return EXIT_SKIPPED
    work = []
    if options.edges:
        options.edges = options.edges.resolve()
        work = [(source, run_edges, (wanted,)) for source in sources if (wanted := edges_line(source))]
    for source in [] if options.edges else sources:
        found, lists = groups(source)
        work += [(source, run_group, (key, expects)) for key, expects in found.items()]
        if lists:
            work.append((source, run_list, (lists,)))
    work.sort(key=lambda item: not item[0].stem.startswith("hang_"))  # those that wait go first
    start, faults = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in concurrent.futures.as_completed([pool.submit(body, options, source, *arguments) for source, body, arguments in work]):
            for fault in result.result():
                faults.append(fault)
                print(fault, flush=True)
    print(f"backends: {len(sources)} files, {len(work)} runs, {len(faults)} faults, {time.monotonic() - start:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
