"""arrays.py for torch, on a CPU, by DLPack."""

import ctypes

import torch
import torch.utils.dlpack

from . import abi
from .errors import Unsupported

VERSION = "torch " + torch.__version__

# By DLPack's code and bits.
_DTYPES = {(0, 32): torch.int32, (2, 16): torch.float16, (2, 32): torch.float32, (4, 16): torch.bfloat16, (6, 8): torch.bool}


class _Managed(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("dl_tensor", abi.DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# Never freed: torch reads a tensor's deleter when the last tensor that shares its memory dies, whenever that is.
_managed = []


def dtype_of(tensor):
    kind = (tensor.dtype.code, tensor.dtype.bits)
    if kind not in _DTYPES:
        raise Unsupported("8-bit floating point is not handed to torch yet")
    return _DTYPES[kind]


def view(tensor):
    """A DLTensor as a torch tensor that shares its memory, which the harness owns."""
    dtype_of(tensor)
    _managed.append(_Managed(tensor, None, None))
    return torch.utils.dlpack.from_dlpack(_new_capsule(ctypes.addressof(_managed[-1]), b"dltensor", None))


class Output:
    """An output of the harness that may lie in a tensor of the backend's."""

    def __init__(self, name, tensor):
        self._name, self._tensor, self._dtype, self._shape = name, tensor, dtype_of(tensor), tuple(tensor.shape[:tensor.ndim])
        self._strides = tuple(tensor.strides[:tensor.ndim])

    def give(self, array):
        """Points the output at `array`, wherever it lies."""
        self._check(array)
        tensor, strides = self._tensor, array.stride()
        tensor.data = array.data_ptr()
        tensor.byte_offset = 0
        if strides != self._strides:
            for axis, stride in enumerate(strides):
                if self._shape[axis] > 1:  # the stride of a single element says nothing
                    tensor.strides[axis] = stride

    def _check(self, array):
        if not isinstance(array, torch.Tensor):
            raise TypeError(f"{self._name} is of type {type(array).__name__}; wanted is a torch tensor")
        if array.shape != self._shape:
            raise ValueError(f"{self._name} has shape {tuple(array.shape)}; wanted is {self._shape}")
        if array.dtype != self._dtype:
            raise TypeError(f"{self._name} is {array.dtype}; wanted is {self._dtype}")
        if array.device.type != "cpu":
            raise ValueError(f"{self._name} lies on {array.device}; wanted is the CPU")
