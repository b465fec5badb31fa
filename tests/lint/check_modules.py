"""Proves the graph of the modules: what CMake declares is allowed by modules.txt, and what is included is declared."""

import fnmatch
import os
import re
import sys

from lint import project_files, read, report, root_argument

SOURCES = (".hpp", ".h", ".cuh", ".cpp", ".cc", ".c", ".cu")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TABLE = "tests/lint/modules.txt"


class Table:
    """modules.txt: `uses` by module, and (pattern, owners) of headers in the file's order."""

    def __init__(self, text):
        self.uses = {}
        self.headers = []
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if not words:
                continue
            if words[0] == "module":
                self.uses[words[1]] = set(words[2:])
            elif words[0] == "header" and words[-1] == "*":
                self.headers += [(pattern, ["*"]) for pattern in words[1:-1]]
            elif words[0] == "header":
                self.headers.append((words[1], words[2:]))
            else:
                raise ValueError(f"{TABLE}: `{words[0]}` found, `module` and `header` are known")

    def owners(self, header):
        return next((owners for pattern, owners in self.headers if fnmatch.fnmatchcase(header, pattern)), None)


def closure(graph, start):
    """Everything that can be reached from `start`, itself included."""
    found, open_ends = set(), [start]
    while open_ends:
        module = open_ends.pop()
        if module not in found:
            found.add(module)
            open_ends += graph.get(module, ())
    return found


def cycles(graph):
    return sorted(module for module in graph if any(module in closure(graph, used) for used in graph[module]))


def declared_uses(text, module):
    """The modules that a CMakeLists.txt names: after USES, and as attn_NAME in what it links."""
    text = re.sub(r"#.*", "", text)
    uses = set()
    for arguments in re.findall(r"attn_module\(([^)]*)\)", text):
        words = arguments.split()
        keyword = None
        for word in words[1:]:
            if word in ("USES", "LINK"):
                keyword = word
            elif keyword == "USES":
                uses.add(word)
    for arguments in re.findall(r"target_link_libraries\(([^)]*)\)", text):
        uses |= set(re.findall(r"\battn_([a-z]+)\b", arguments.partition(" ")[2]))
    return uses - {module, "options"}


def place_of(path):
    """The module of a file of harness/ or kernels/, `tests/FOLDER` of a test, None of anything else."""
    parts = path.split("/")
    if parts[0] == "harness" and len(parts) > 2:
        return parts[1]
    if parts[0] == "kernels":
        return "kernels"
    if parts[0] == "tests" and len(parts) > 2:
        return f"tests/{parts[1]}"
    return None


def may_include(owners, place, path):
    """A unit test of a module may use what its module owns."""
    names = {place}
    if place.startswith("tests/"):
        names.add("tests")
        if place == "tests/unit":
            names.add(path.split("/")[2])
        if place == "tests/kernels":
            names.add("kernels")
    return "*" in owners or bool(names & set(owners))


def check(root):
    table = Table(read(root, TABLE))
    files = project_files(root, untracked=True)
    present = set(files)
    faults = [f"{TABLE}: module {module} uses itself, over {', '.join(sorted(table.uses[module]))}" for module in cycles(table.uses)]

    declared = {}
    for path in files:
        match = re.fullmatch(r"harness/([^/]+)/CMakeLists\.txt", path)
        if not match:
            continue
        module = match[1]
        if module not in table.uses:
            faults.append(f"{path}: module {module} has no line in {TABLE}")
            continue
        declared[module] = declared_uses(read(root, path), module)
        for used in sorted(declared[module] - closure(table.uses, module)):
            faults.append(f"{path}: {module} may not use {used}; allowed: {' '.join(sorted(table.uses[module])) or 'nothing'}")
    declared["kernels"] = table.uses.get("kernels", set())
    faults += [f"harness/{module}/CMakeLists.txt: module {module} uses itself in a circle" for module in cycles(declared)]

    for path in files:
        place = place_of(path)
        if place is None or not path.endswith(SOURCES):
            continue
        for number, line in enumerate(read(root, path).splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                fault = include_fault(table, declared, present, path, place, *match.groups())
                if fault:
                    faults.append(f"{path}:{number}: {fault}")
    return faults


def include_fault(table, declared, present, path, place, bracket, header):
    if bracket == '"':
        beside = f"{os.path.dirname(path)}/{header}"
        if os.path.normpath(beside) in present and place_of(os.path.normpath(beside)) == place:
            return None
        module = header.split("/")[0]
        if module in table.uses and f"harness/{header}" in present:
            if place.startswith("tests/") or module in closure(declared, place):
                return None
            return f"{place} may not include {header}: it uses {' '.join(sorted(closure(declared, place) - {place})) or 'nothing'}"
        if place.startswith("tests/"):
            return None
        return f'no file "{header}" in harness/ or beside this one; a library is included with <>'
    if re.fullmatch(r"[a-z_0-9]+", header):
        return None
    owners = table.owners(header)
    if owners is None:
        return f"<{header}> belongs to nobody in {TABLE}: say there which module owns that library"
    if not may_include(owners, place, path):
        return f"{place} may not include <{header}>: it belongs to {' '.join(owners)}"
    return None


if __name__ == "__main__":
    sys.exit(report("modules", check(root_argument())))
