"""arrays.py for NumPy, on a CPU."""

import ctypes
import math

import numpy

from .errors import Unsupported

VERSION = "numpy " + numpy.__version__
DEVICES = ("cpu",)
# By DLPack's code and bits.
_DTYPES = {(0, 32): numpy.int32, (1, 8): numpy.uint8, (2, 16): numpy.float16, (2, 32): numpy.float32, (6, 8): numpy.bool_}


def is_out_of_memory(error):
    return isinstance(error, MemoryError)


def wanted_bytes(error):
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)  # NumPy's own; Python's tells nothing
    return math.prod(shape) * dtype.itemsize if shape is not None and dtype is not None else 0


def lacks(_device_type):
    return None


def begin(_device, _stream):
    pass


def memory():
    return None


def end():
    pass


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


class Output:
    """An output of the harness that may lie in an array of the backend's."""

    def __init__(self, name, tensor):
        self._name, self._tensor, self._dtype, self._shape = name, tensor, dtype_of(tensor), tuple(tensor.shape[:tensor.ndim])

    def give(self, array):
        """Points the output at `array`, wherever it lies."""
        self._check(array)
        tensor = self._tensor
        tensor.data, tensor.byte_offset = array.__array_interface__["data"][0], 0
        for axis, stride in enumerate(array.strides):
            if self._shape[axis] > 1:  # the stride of a single element says nothing
                tensor.strides[axis], rest = divmod(stride, self._dtype.itemsize)
                if rest:
                    raise ValueError(f"{self._name} has strides of {array.strides} bytes; wanted are multiples of {self._dtype.itemsize}")

    def _check(self, array):
        if not isinstance(array, numpy.ndarray):
            raise TypeError(f"{self._name} is of type {type(array).__name__}; wanted is a NumPy array")
        if array.shape != self._shape:
            raise ValueError(f"{self._name} has shape {array.shape}; wanted is {self._shape}")
        if array.dtype != self._dtype:
            raise TypeError(f"{self._name} is {array.dtype}; wanted is {self._dtype}")
