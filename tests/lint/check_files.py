"""Checks the form of the files: heads of headers, no tabs or trailing blanks, and how long they are."""

import re
import sys

from lint import DATA_FOLDERS, project_files, read, report, root_argument

HEADERS = (".hpp", ".h", ".cuh")
CODE = HEADERS + (".cpp", ".cc", ".c", ".cu", ".py", ".cmake", ".sh", ".sql")
LONG = 350
TOO_LONG = 600


def head_fault(lines):
    """What is wrong with the first lines of a header, or None."""
    if not lines or lines[0] != "#pragma once":
        return 1, "a header begins with `#pragma once`"
    if len(lines) < 2 or not re.match(r"// \S", lines[1]):
        return 2, "after `#pragma once` comes a comment: one sentence that says what the file is for"
    sentence = ""
    for line in lines[1:]:
        if not re.match(r"// \S", line):
            break
        sentence += line[2:]
    if not re.search(r"\w.*[.?](\s|$)", sentence):
        return 2, "the sentence that says what the file is for ends with a full stop"
    return None


def blank_faults(path, lines):
    faults = []
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            faults.append(f"{path}:{number}: a tab; indent with blanks")
        elif line != line.rstrip():
            faults.append(f"{path}:{number}: blanks at the end of the line")
    return faults


def check(root):
    faults, warnings = [], []
    for path in project_files(root):
        text = None if path.startswith(DATA_FOLDERS) else read(root, path)
        if text is None:
            continue
        lines = text.split("\n")
        faults += blank_faults(path, lines)
        if text and not text.endswith("\n"):
            faults.append(f"{path}:{len(lines)}: the last line has no end")
        if path.endswith(HEADERS):
            fault = head_fault(lines)
            if fault:
                faults.append(f"{path}:{fault[0]}: {fault[1]}")
        count = text.count("\n")
        if path.endswith(CODE) and count > TOO_LONG:
            faults.append(f"{path}: {count} lines, {TOO_LONG} are allowed: find what hides in it")
        elif path.endswith(CODE) and count > LONG:
            warnings.append(f"{path}: {count} lines; past {LONG} ask what hides in it")
    return faults, warnings


if __name__ == "__main__":
    sys.exit(report("files", *check(root_argument())))
