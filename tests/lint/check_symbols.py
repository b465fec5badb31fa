"""Checks what was built: what the engine and the backends export, what the engine needs, and that the program links no CUDA."""

import argparse
import re
import subprocess
import sys

from lint import report

ENGINE_EXPORTS = {"attn_worker", "attn_note_library", "attn_note_memory", "attn_note_out_of_memory", "attn_stream", "attn_abi_layout",
                  "attn_self_test"}
PLUGIN_EXPORTS = {"attn_backends"}
# The engine enters interpreters of any make: it may need the C library and the loader, and no C++ library that could meet another of its kind.
ENGINE_NEEDS = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux[\w-]*)\.so\.\d+")
CUDA_LIBRARY = re.compile(r"lib(cuda|cudart|cupti|nv|cublas|cudnn)")
CUDA_SYMBOL = re.compile(r"(cuda|cu|cupti|nvml)[A-Z]\w*")


def lines_of(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


def exports(file):
    """Names of the dynamic symbols that the file defines. Type A is the name of a version, not a symbol."""
    fields = [line.split() for line in lines_of("nm", "-D", "--defined-only", file)]
    return {words[-1].split("@")[0] for words in fields if len(words) >= 2 and words[-2] != "A"}


def needs(file):
    return [match[1] for match in (re.search(r"\(NEEDED\).*\[(.*)\]", line) for line in lines_of("readelf", "-dW", file)) if match]


def export_faults(file, allowed):
    found = exports(file)
    faults = [f"{file}: exports {name}; allowed: {' '.join(sorted(allowed))}" for name in sorted(found - allowed)]
    return faults + [f"{file}: does not export {name}" for name in sorted(allowed - found)]


def engine_faults(file):
    faults = export_faults(file, ENGINE_EXPORTS)
    return faults + [f"{file}: needs {name}; only libc, libm and the loader are allowed" for name in needs(file) if not ENGINE_NEEDS.fullmatch(name)]


def program_faults(file):
    faults = [f"{file}: links {name}; the parent never touches CUDA" for name in needs(file) if CUDA_LIBRARY.match(name)]
    names = {line.split()[-1] for line in lines_of("nm", file) if line.strip()}
    return faults + [f"{file}: holds {name}; the parent never touches CUDA" for name in sorted(names) if CUDA_SYMBOL.fullmatch(name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--plugin", action="append", default=[])
    parser.add_argument("--program", action="append", default=[])
    options = parser.parse_args()
    if not options.engine + options.plugin + options.program:
        parser.error("name at least one file")
    faults = []
    for file in options.engine:
        faults += engine_faults(file)
    for file in options.plugin:
        faults += export_faults(file, PLUGIN_EXPORTS)
    for file in options.program:
        faults += program_faults(file)
    return report("symbols", faults)


if __name__ == "__main__":
    sys.exit(main())
