"""PyTorch's memory-efficient attention, of xFormers and CUTLASS."""

from ...torch_sdpa import Sdpa


class Attention(Sdpa):
    way = "efficient"
