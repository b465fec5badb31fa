"""Finds what belongs to one developer's machine and not to the project: absolute paths and hosts of package registries."""

import re
import sys

from lint import project_files, read, report, root_argument

# A path counts only where it begins: `$root/work/` and `ci/work/` are relative to something.
FORBIDDEN = [
    (re.compile(r"(?<![\w.$~})\]*-])/(?:work|root|Users)/[\w.]"), "an absolute path of somebody's machine"),
    (re.compile(r"(?<![\w.$~})\]*-])/home/[\w.]"), "a path of somebody's home"),
    (re.compile(r"\b(?:deb|archive|security|snapshot|ports|mirror|registry|index|proxy|files|static)\.[\w-]+\.(?:org|com|io|net|dev)\b"),
     "the host of a package registry"),
    (re.compile(r"\bpypi\.\w+"), "the host of a package registry"),
]


def check(root):
    faults = []
    for path in project_files(root):
        text = read(root, path)
        # The patterns themselves and what the self-test plants are here.
        if text is None or path.startswith("tests/lint/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, what in FORBIDDEN:
                match = pattern.search(line)
                if match:
                    faults.append(f"{path}:{number}: `{match[0]}` is {what}")
    return faults


if __name__ == "__main__":
    sys.exit(report("words", check(root_argument())))
