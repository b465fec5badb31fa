"""The Python worker of attn-regress: a Python class measured in its own interpreter, by the same engine and phases as a native plugin."""

from .errors import Unsupported

__all__ = ["Unsupported"]
