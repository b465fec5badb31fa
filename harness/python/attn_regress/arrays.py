"""The harness's tensors as arrays of the user's library, and results as the harness's outputs; nothing is copied in either direction.

torch tensors where torch can be imported, else NumPy arrays. Either module has VERSION, view(tensor) and give(name, array, tensor).
"""

import importlib.util

if importlib.util.find_spec("torch"):
    from .torch_arrays import VERSION, give, view
elif importlib.util.find_spec("numpy"):
    from .numpy_arrays import VERSION, give, view
else:
    import sys

    raise ImportError(f"{sys.executable} has neither torch nor NumPy")

__all__ = ["VERSION", "give", "view"]
