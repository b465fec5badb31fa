"""The worker of a Python backend: `INTERPRETER worker.py --engine FILE --backend FILE --class NAME`, started by attn-regress itself.

Requests come on descriptor 3 and records go to descriptor 4, as with the native worker; the engine answers them and calls the class.
"""

import argparse
import ctypes
import fcntl
import importlib.util
import json
import os
import platform
import sys
import traceback

from attn_regress import abi
from attn_regress.arrays import OLDEST, mend
from attn_regress.errors import told

REQUESTS, RECORDS = 3, 4


def moved_away(descriptor):
    """A descriptor at a number that the code under test will not hit by chance; /dev/null is left in its place."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 200)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)
    return moved


def load_class(file, name):
    """The class `name` of a file of the user's, whose folder may hold further modules."""
    sys.path.insert(0, os.path.dirname(file))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def open_engine(path):
    engine = ctypes.CDLL(path)
    engine.attn_worker.argtypes = [ctypes.POINTER(abi.attn_backend_list), ctypes.c_int, ctypes.c_int]
    engine.attn_abi_layout.restype = ctypes.c_char_p
    engine.attn_note_library.argtypes = [ctypes.c_char_p] * 3
    engine.attn_note_library.restype = None
    fault = abi.mismatch(json.loads(engine.attn_abi_layout()))
    if fault:
        raise RuntimeError(f"the Python worker and {path} are not of one build: {fault}")
    return engine


def note_libraries(engine):
    """The interpreter, and what of the field the user's file has imported."""
    engine.attn_note_library(b"python", platform.python_version().encode(), sys.executable.encode())
    for name in ("numpy", "torch", "triton", "transformers", "flash_attn"):
        module = sys.modules.get(name)
        if module is not None:
            engine.attn_note_library(name.encode(), str(getattr(module, "__version__", "")).encode(), str(getattr(module, "__file__", "")).encode())


def list_of(backend):
    tables = (ctypes.POINTER(abi.attn_backend) * 1)(ctypes.pointer(backend.table))
    return abi.attn_backend_list(ctypes.sizeof(abi.attn_backend_list), abi.ABI_VERSION, 1, 0, tables)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--class", required=True, dest="name")
    options = parser.parse_args()
    requests, records = moved_away(REQUESTS), moved_away(RECORDS)
    file = os.path.abspath(options.backend)
    try:
        if sys.version_info < OLDEST:
            raise ImportError(f"{sys.executable} is Python {sys.version.split()[0]}; {'.'.join(map(str, OLDEST))} or newer is needed: {mend()}")
        engine = open_engine(options.engine)
        from attn_regress.backend import Backend  # imports torch or NumPy
        backend = Backend(load_class(file, options.name), file, options.name)
    except BaseException as error:
        traceback.print_exc()
        status = "unsupported" if isinstance(error, ImportError) else "failed"  # what this interpreter lacks, or what is wrong with the file
        record = {"record": "measurement", "status": status, "reason": f"cannot load the backend: {told(error, file)}"}
        os.write(records, json.dumps(record).encode() + b"\n")
        return 0
    note_libraries(engine)
    return engine.attn_worker(ctypes.byref(list_of(backend)), requests, records)


if __name__ == "__main__":
    sys.exit(main())
