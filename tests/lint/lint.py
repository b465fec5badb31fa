"""What the checks of this folder share: the files of the project, and how a fault is told."""

import os
import subprocess
import sys

# Written by no hand of this project, or data whose bytes are the point.
DATA_FOLDERS = ("tests/golden/", "tests/fuzz/corpus/", "baselines/")
SKIPPED_FOLDERS = {".git", ".attn-regress", "__pycache__"}


def project_files(root, untracked=False):
    """Paths below `root`, sorted, with /: what git tracks (and would track), or where there is no git all that is not built."""
    command = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"]
    if untracked:
        command += ["--cached", "--others", "--exclude-standard"]
    if os.path.exists(os.path.join(root, ".git")):
        try:
            listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
            return sorted(path for path in listed.split("\0") if path and os.path.isfile(os.path.join(root, path)))
        except (OSError, subprocess.CalledProcessError):
            pass
    found = []
    for folder, folders, files in os.walk(root):
        below = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS and not (below == "." and name.startswith("build"))]
        found += [os.path.normpath(os.path.join(below, name)) for name in files]
    return sorted(found)


def read(root, path):
    """The text of a file, or None if it is not text."""
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def report(what, faults, warnings=()):
    """Prints them and gives the exit code."""
    for warning in warnings:
        print(f"warning: {warning}")
    for fault in faults:
        print(f"error: {fault}")
    print(f"{what}: {len(faults)} faults, {len(warnings)} warnings")
    return 1 if faults else 0


def root_argument():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(f"usage: {sys.argv[0]} ROOT_OF_THE_PROJECT")
    return sys.argv[1]
