"""arrays.py's functions for torch, by DLPack."""

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


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def dtype_of(tensor):
    kind = (tensor.dtype.code, tensor.dtype.bits)
    if kind not in _DTYPES:
        raise Unsupported("8-bit floating point is not handed to torch yet")
    return _DTYPES[kind]


def view(tensor):
    """A DLTensor as a torch tensor that shares its memory, which the harness owns."""
    dtype_of(tensor)
    managed = _Managed(tensor, None, None)
    shared = torch.utils.dlpack.from_dlpack(_capsule(ctypes.addressof(managed), b"dltensor", None))
    shared.attn_managed = managed  # lives as long
    return shared


def give(name, array, tensor):
    """Points an output of the harness at `array`, wherever it lies."""
    wanted, shape = dtype_of(tensor), tuple(tensor.shape[:tensor.ndim])
    if not isinstance(array, torch.Tensor):
        raise TypeError(f"{name} is of type {type(array).__name__}; wanted is a torch tensor")
    if tuple(array.shape) != shape:
        raise ValueError(f"{name} has shape {tuple(array.shape)}; wanted is {shape}")
    if array.dtype != wanted:
        raise TypeError(f"{name} is {array.dtype}; wanted is {wanted}")
    if array.device.type != "cpu":
        raise ValueError(f"{name} lies on {array.device}; wanted is the CPU")
    tensor.data = array.data_ptr()
    tensor.byte_offset = 0
    for axis, stride in enumerate(array.stride()):
        if shape[axis] > 1:  # the stride of a single element says nothing
            tensor.strides[axis] = stride
