"""cuDNN's attention, as PyTorch calls it."""

from ...torch_sdpa import Sdpa


class Attention(Sdpa):
    way = "cudnn"
    can = Sdpa.can - {"dead_rows zero"}  # seen with cuDNN 9.19: such rows are neither 0 nor NaN
