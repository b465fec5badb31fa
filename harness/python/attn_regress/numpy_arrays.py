"""arrays.py's functions for NumPy, on a CPU."""

import ctypes

import numpy

from .errors import Unsupported

VERSION = "numpy " + numpy.__version__

# By DLPack's code and bits.
_DTYPES = {(0, 32): numpy.int32, (1, 8): numpy.uint8, (2, 16): numpy.float16, (2, 32): numpy.float32, (6, 8): numpy.bool_}


def dtype_of(tensor):
    kind = (tensor.dtype.code, tensor.dtype.bits)
    if kind not in _DTYPES:
        raise Unsupported(f"NumPy has no {'bf16' if kind == (4, 16) else '8-bit floating point'}")
    return numpy.dtype(_DTYPES[kind])


def view(tensor):
    """A DLTensor of this machine's memory as an array that shares it."""
    dtype, shape = dtype_of(tensor), tensor.shape[:tensor.ndim]
    strides = [stride * dtype.itemsize for stride in tensor.strides[:tensor.ndim]]
    if 0 in shape:
        return numpy.empty(shape, dtype)
    extent = sum((count - 1) * stride for count, stride in zip(shape, strides)) + dtype.itemsize
    memory = (ctypes.c_char * extent).from_address(tensor.data + tensor.byte_offset)
    return numpy.ndarray(shape, dtype, memory, 0, strides)


def give(name, array, tensor):
    """Points an output of the harness at `array`, wherever it lies."""
    wanted, shape = dtype_of(tensor), tuple(tensor.shape[:tensor.ndim])
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"{name} is of type {type(array).__name__}; wanted is a NumPy array")
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; wanted is {shape}")
    if array.dtype != wanted:
        raise TypeError(f"{name} is {array.dtype}; wanted is {wanted}")
    tensor.data = array.ctypes.data
    tensor.byte_offset = 0
    for axis, stride in enumerate(array.strides):
        if shape[axis] > 1:  # the stride of a single element says nothing
            tensor.strides[axis] = stride // wanted.itemsize
