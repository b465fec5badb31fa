"""The harness's tensors as arrays of the user's library, and results as the harness's outputs; nothing is copied in either direction.

numpy_arrays and torch_arrays have:

    VERSION, DEVICES        of the library; kinds of device that its arrays may lie on
    is_out_of_memory(error) whether it says that memory ran out
    wanted_bytes(error)     bytes that the backend wanted in all when such a one came, as far as is known; 0 = not known
    lacks(device_type)      why this copy of the library cannot use such a device; None when it can
    begin(device, stream)   makes the harness's device and stream the library's current ones; of attn_device_facts
    view(tensor)            an input
    Output(name, tensor)    an output; give(array) points it at an array
    memory()                bytes that the library's allocator holds, and the most since it was asked last; None where the engine sees all memory itself
    end()                   gives back what is held for later
"""

import importlib
import importlib.util
import sys

OLDEST = (3, 9)  # Python
LIBRARIES = ("torch", "numpy")


def mend(lacking=None):
    """What to do about an interpreter that lacks a library, or is too old."""
    install = f"install {lacking} there, or " if lacking else ""
    return f"{install}name another Python (--python, `interpreter:` of the suite's entry, or VIRTUAL_ENV)"


def library_of(wanted=None):
    """The module for the library of that name, else for the first of LIBRARIES that the interpreter has."""
    if wanted is not None and wanted not in LIBRARIES:
        raise ValueError(f"arrays is {wanted!r}; allowed are: {', '.join(LIBRARIES)}")
    for name in [wanted] if wanted else LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:  # a mere folder of that name has none
            return importlib.import_module(f".{name}_arrays", __package__)
    raise ImportError(f"{sys.executable} has no {wanted or ' and no '.join(LIBRARIES)}: {mend(wanted or 'one')}")
