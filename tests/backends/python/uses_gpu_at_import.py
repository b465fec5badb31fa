# Makes a CUDA context while it is imported. The driver is a stub that says so.
# expect: suite=plain status=failed reason="^cannot load the backend: RuntimeError: the file uses the GPU while it is imported, .*: make tensors and ask for devices in prepare$"
import ctypes
import os

import by_definition

ctypes.CDLL(os.path.join(os.path.dirname(__file__), "stub_driver.so"))
Mutant = by_definition.Mutant
