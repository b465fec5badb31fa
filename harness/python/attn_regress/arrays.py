"""The harness's tensors as arrays of the user's library, and results as the harness's outputs; nothing is copied in either direction.

numpy_arrays and torch_arrays have VERSION, view(tensor), and Output(name, tensor) with give(array).
"""

import importlib
import importlib.util
import sys

OLDEST = (3, 9)  # Python
LIBRARIES = ("torch", "numpy")


def mend(lacking=None):
    """What to do about an interpreter that lacks a library, or is too old."""
    install = f"install {lacking} there, or " if lacking else ""
    return f"{install}name another Python (`interpreter:` of the suite's entry, or VIRTUAL_ENV)"


def library_of(class_):
    """The module for a backend's class: what its attribute `arrays` names, else the first of LIBRARIES that the interpreter has."""
    wanted = getattr(class_, "arrays", None)
    if wanted is not None and wanted not in LIBRARIES:
        raise ValueError(f"arrays is {wanted!r}; allowed are: {', '.join(LIBRARIES)}")
    for name in [wanted] if wanted else LIBRARIES:
        if importlib.util.find_spec(name):
            return importlib.import_module(f".{name}_arrays", __package__)
    raise ImportError(f"{sys.executable} has no {wanted or ' and no '.join(LIBRARIES)}: {mend(wanted or 'one')}")
