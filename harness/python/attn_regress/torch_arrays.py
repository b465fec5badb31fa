"""arrays.py for torch: tensors by DLPack, on a CPU or a GPU."""

import ctypes
import re

import torch
import torch.utils.dlpack

from . import abi
from .arrays import mend
from .errors import Unsupported

VERSION = "torch " + torch.__version__
DEVICES = ("cpu", "cuda")
# Its allocator for the CPU, libraries and compilers have no exception of their own for it.
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|out of memory|_ALLOC_FAILED")

# By DLPack's code and bits.
_DTYPES = {(0, 32): torch.int32, (2, 16): torch.float16, (2, 32): torch.float32, (4, 16): torch.bfloat16, (6, 8): torch.bool}


class _Managed(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("dl_tensor", abi.DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# Never freed: torch reads a tensor's deleter when the last tensor that shares its memory dies, whenever that is.
_managed = []
_streams = {}  # torch's name for the harness's stream, by device; made once


def is_out_of_memory(error):
    return isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or isinstance(error, RuntimeError) and bool(_OUT_OF_MEMORY.search(str(error)))


def wanted_bytes(error):
    tried = re.search(r"Tried to allocate ([\d.]+) ([KMGT]?)i?B", str(error))
    if not tried or not torch.cuda.is_initialized():
        return 0
    return torch.cuda.memory_allocated() + int(float(tried[1]) * 1024 ** " KMGT".index(tried[2] or " "))


def lacks(device_type):
    if device_type == abi.DEVICE_CUDA and torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA: {mend('one with it')}"
    return None


def begin(device, stream):
    if device.device_type != abi.DEVICE_CUDA:
        return
    if device.device_id not in _streams:
        _streams[device.device_id] = torch.cuda.ExternalStream(stream, device=torch.device("cuda", device.device_id))
    torch.cuda.init()  # so that its allocator can be asked before `prepare`
    torch.cuda.set_device(device.device_id)
    torch.cuda.set_stream(_streams[device.device_id])


def memory():
    if not torch.cuda.is_initialized():
        return None
    held, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return held, peak


def end():
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()  # the harness takes its tensors from the driver


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
        self._name, self._tensor, self._dtype = name, tensor, dtype_of(tensor)
        self._shape = torch.Size(tensor.shape[:tensor.ndim])
        # As Tensor.get_device says it: -1 = the CPU.
        self._device = tensor.device.device_id if tensor.device.device_type == abi.DEVICE_CUDA else -1

    def give(self, array):
        """Points the output at `array`, wherever it lies."""
        self._check(array)
        self._tensor.data = array.data_ptr()
        for axis, stride in enumerate(array.stride()):
            if self._shape[axis] > 1:  # the stride of a single element says nothing
                self._tensor.strides[axis] = stride

    def _check(self, array):
        if not isinstance(array, torch.Tensor):
            raise TypeError(f"{self._name} is of type {type(array).__name__}; wanted is a torch tensor")
        if array.shape != self._shape:
            raise ValueError(f"{self._name} has shape {tuple(array.shape)}; wanted is {tuple(self._shape)}")
        if array.dtype is not self._dtype:
            raise TypeError(f"{self._name} is {array.dtype}; wanted is {self._dtype}")
        if array.get_device() != self._device:
            raise ValueError(f"{self._name} lies on {array.device}; wanted is {'the CPU' if self._device < 0 else f'cuda:{self._device}'}")
