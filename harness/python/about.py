"""Says in a line what Python backends would find in an interpreter: `INTERPRETER about.py`. Exit code 3: not what they need."""

import importlib
import os
import platform
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # which Python does not do by itself where PYTHONSAFEPATH is set
from attn_regress.arrays import LIBRARIES, OLDEST, mend  # noqa: E402


LACKING = 3  # no code that an interpreter ends with by itself


def main():
    said, found = [f"{sys.executable}, Python {platform.python_version()}"], []
    for name in LIBRARIES:
        try:
            said.append(f"{name} {importlib.import_module(name).__version__}")
            found.append(name)
        except Exception as error:  # whatever a broken installation throws
            said.append(f"no {name}" if isinstance(error, ModuleNotFoundError) and error.name == name else f"{name} cannot be imported ({error})")
    text = ", ".join(said)
    if sys.version_info < OLDEST:
        text += f"; {'.'.join(map(str, OLDEST))} or newer is needed: {mend()}"
    elif not found:
        text += f": {mend('one')}"
    print(" ".join(text.split()))
    return 0 if found and sys.version_info >= OLDEST else LACKING


if __name__ == "__main__":
    sys.exit(main())
