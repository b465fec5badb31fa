"""The worker of Python backends: `INTERPRETER worker.py --engine FILE --backend FILE --class NAME`, started by attn-regress itself. Without a class, `--backend` is the
folder of the backends that come with it, which all share the worker.

Requests come on descriptor 3 and records go to descriptor 4, as with the native worker; the engine answers them and calls the class.
"""

import argparse
import ctypes
import fcntl
import functools
import gc
import glob
import importlib.machinery
import importlib.util
import json
import os
import platform
import signal
import sys
import traceback
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)  # which Python does not do by itself where PYTHONSAFEPATH is set
from attn_regress import abi  # noqa: E402
from attn_regress.arrays import OLDEST, mend  # noqa: E402
from attn_regress.errors import Lacking, told  # noqa: E402

sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]  # the user's modules may be called as ours are

REQUESTS, RECORDS = 3, 4
RENEWED, RENEWED_BYTE = 2, b"r"  # of attn_worker, and what the copy says so with
PR_SET_PDEATHSIG = 1


def moved_away(descriptor):
    """A descriptor at a number that the code under test will not hit by chance; /dev/null is left in its place."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 200)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)
    return moved


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Compiles what stands in the file now: a cache in __pycache__ is told from it by whole seconds and the size alone, and would be left in the user's folder."""

    def get_code(self, name):
        path = self.get_filename(name)
        return self.source_to_code(self.get_data(path), path)


def load_class(file, name):
    """The class `name` of a file of the user's, whose folder may hold further modules. Neither they nor the file take the place of installed ones."""
    folder = os.path.dirname(file)
    sys.path.append(folder)
    sys.path_importer_cache[folder] = importlib.machinery.FileFinder(
        folder, (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES), (SourceLoader, importlib.machinery.SOURCE_SUFFIXES))
    module_name = "attn_user_" + os.path.splitext(os.path.basename(file))[0]
    spec = importlib.util.spec_from_file_location(module_name, file, loader=SourceLoader(module_name, file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        defined = [each for each, value in vars(module).items() if isinstance(value, type) and value.__module__ == module_name]
        raise AttributeError(f"{os.path.basename(file)} defines no {name}" + (f"; it defines: {', '.join(defined)}" if defined else ""))
    return getattr(module, name)


def lacks_a_library(error, file):
    """Whether an exception while loading says what the interpreter has not, rather than what is wrong with the user's files."""
    if isinstance(error, (Lacking, ModuleNotFoundError)):
        return True
    path = getattr(error, "path", None)  # of the module that has no such name
    return isinstance(error, ImportError) and bool(path) and not os.path.abspath(path).startswith(os.path.dirname(file) + os.sep)


def shipped_class(module):
    from attn_regress.errors import Unsupported
    try:
        return importlib.import_module("attn_regress.backends." + module).Attention
    except ImportError as error:
        lacking = error.name if isinstance(error, ModuleNotFoundError) else f"a newer {(error.name or 'library').partition('.')[0]}"
        raise Unsupported(f"{sys.executable}: {error}: {mend(lacking)}") from error


def open_engine(path):
    engine = ctypes.CDLL(path)
    engine.attn_worker.argtypes = [ctypes.POINTER(abi.attn_backend_list), ctypes.c_int, ctypes.c_int]
    engine.attn_abi_layout.restype = ctypes.c_char_p
    engine.attn_note_library.argtypes = [ctypes.c_char_p] * 3
    engine.attn_note_library.restype = None
    engine.attn_note_memory.argtypes = [ctypes.c_int64] * 2
    engine.attn_note_memory.restype = None
    engine.attn_note_out_of_memory.argtypes = [ctypes.c_uint64]
    engine.attn_note_out_of_memory.restype = None
    engine.attn_stream.restype = ctypes.c_void_p
    fault = abi.mismatch(json.loads(engine.attn_abi_layout()))
    if fault:
        raise RuntimeError(f"the Python worker and {path} are not of one build: {fault}")
    return engine


def has_cuda_context():
    """Whether something in this process uses a GPU already, by the driver's own word."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        return False  # nobody has opened it
    count, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return False  # nobody has initialised it
    return any(driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active)) == 0 and active.value for device in range(count.value))


def backends_of(place, name, engine):
    """The backends of a user's class, or those of the folder that comes with the harness."""
    from attn_regress.arrays import library_of  # imports torch or NumPy in the end, which may be missing
    from attn_regress.backend import Backend
    if name:
        class_ = load_class(place, name)
        arrays = library_of(getattr(class_, "arrays", None))
        devices, lse = getattr(class_, "devices", arrays.DEVICES), getattr(class_, "lse", False)
        if not isinstance(devices, (list, tuple, set)) or not devices or any(device not in arrays.DEVICES for device in devices):
            raise ValueError(f"devices is {devices!r}; wanted is a list of: {', '.join(arrays.DEVICES)}")
        if not isinstance(lse, bool):
            raise ValueError(f"lse is {lse!r}; wanted is True or False")
        return [Backend(name, lambda: class_, place, arrays, list(dict.fromkeys(devices)), engine, lse)]
    arrays = library_of("torch")
    found = []
    for file in sorted(glob.glob(os.path.join(place, "**", "*.py"), recursive=True)):
        module = os.path.relpath(file, place)[:-len(".py")].replace(os.sep, ".")
        found.append(Backend(module, functools.partial(shipped_class, module), file, arrays, arrays.DEVICES, engine))
    return found


def note_libraries(engine):
    """The interpreter, and what of the field it has."""
    import importlib.metadata  # Python 3.7, which is refused in words, has none
    engine.attn_note_library(b"python", platform.python_version().encode(), sys.executable.encode())
    for name in ("numpy", "torch", "triton", "transformers", "flash_attn"):
        module = sys.modules.get(name)
        if module is not None:
            engine.attn_note_library(name.encode(), str(getattr(module, "__version__", "")).encode(), str(getattr(module, "__file__", "")).encode())
            continue
        try:  # a backend may import it later
            version, spec = importlib.metadata.version(name), importlib.util.find_spec(name)
        except (ImportError, ValueError):
            continue
        engine.attn_note_library(name.encode(), str(version or "").encode(), str(spec and spec.origin or "").encode())
    with open("/proc/self/maps") as maps:
        cudnn = sorted({line.rstrip("\n").split(maxsplit=5)[5] for line in maps if "/libcudnn.so" in line})
    if cudnn:  # as loaded: one on LD_LIBRARY_PATH may stand before the wheel's
        ask = ctypes.CDLL(cudnn[0]).cudnnGetVersion
        ask.restype = ctypes.c_size_t
        number = ask()
        major = 10000 if number >= 90000 else 1000  # of 91900 = 9.19.0 and 8907 = 8.9.7
        engine.attn_note_library(b"cudnn", f"{number // major}.{number % major // 100}.{number % 100}".encode(), cudnn[0].encode())


def threads():
    return len(os.listdir("/proc/self/task"))


def fork():
    with warnings.catch_warnings():  # Python's, of living threads
        warnings.simplefilter("ignore")
        return os.fork()


def why_no_fork():
    """Why this process cannot be copied as it is after the imports; None when it can."""
    if threads() > 1:
        # What starts threads while it is imported and knows of forks, as OpenBLAS does, ends them before one and starts them again when they are needed.
        copy = fork()
        if copy == 0:
            os._exit(0)
        os.waitpid(copy, 0)
    if threads() > 1:
        return f"{threads()} threads live"
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("/dev/nvidia"):
                return "the GPU is open"
        except OSError:
            pass  # that of the listing itself
    return None


def in_a_copy():
    """Returns in a copy of this process, which has only the imports behind it, as often as the parent wants one. Ends as the last copy ends. The result: where a copy
    that is to be renewed writes a byte, because the user's code may end with any code; None where this process is no copy."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a file that ignores it would leave nothing to wait for
    while True:
        why = why_no_fork()
        if why:
            print(f"attn-regress: {why} after the imports: every block of calls starts the interpreter anew", file=sys.stderr, flush=True)
            return None
        said, say = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        copy = fork()
        if copy == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.close(said)
            return say
        os.close(say)
        _, status = os.waitpid(copy, 0)
        code = os.waitstatus_to_exitcode(status)
        try:
            renewed = code == RENEWED and os.read(said, 1) == RENEWED_BYTE
        except BlockingIOError:  # a child of the copy's holds the other end
            renewed = False
        os.close(said)
        if code < 0:
            if code != -signal.SIGKILL:
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        if not renewed:
            os._exit(code)


def list_of(backends):
    tables = [ctypes.pointer(table) for backend in backends for table in backend.tables]
    return abi.attn_backend_list(ctypes.sizeof(abi.attn_backend_list), abi.ABI_VERSION, len(tables), 0, (ctypes.POINTER(abi.attn_backend) * len(tables))(*tables))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--class", dest="name")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # what is printed before a crash is not lost, nor printed by every copy
    requests, records = moved_away(REQUESTS), moved_away(RECORDS)
    file = os.path.abspath(options.backend)
    try:
        if sys.version_info < OLDEST:
            raise Lacking(f"{sys.executable} is Python {sys.version.split()[0]}; {'.'.join(map(str, OLDEST))} or newer is needed: {mend()}")
        engine = open_engine(options.engine)
        backends = backends_of(file, options.name, engine)
        if has_cuda_context():
            raise RuntimeError("the file uses the GPU while it is imported, before the worker has chosen one: make tensors and ask for devices in prepare")
    except BaseException as error:
        traceback.print_exc()
        status = "unsupported" if lacks_a_library(error, file) else "failed"
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        advice = f"; {sys.executable} has no {missing}: {mend(missing)}" if missing else ""
        record = {"record": "measurement", "status": status, "reason": f"cannot load the backend: {told(error, file)}{advice}".encode("utf-8", "replace").decode()}
        os.write(records, json.dumps(record).encode() + b"\n")
        return 0
    try:
        note_libraries(engine)
    except Exception:  # what is not known of a library is no reason to measure nothing
        traceback.print_exc()
    say = in_a_copy()
    gc.disable()  # from here on it runs between calls only
    code = engine.attn_worker(ctypes.byref(list_of(backends)), requests, records)
    if code == RENEWED:  # exit handlers may take their time, and the next one waits
        if say is not None:
            os.write(say, RENEWED_BYTE)
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
