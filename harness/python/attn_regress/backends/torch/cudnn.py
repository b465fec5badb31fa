"""cuDNN's attention, as PyTorch calls it."""

from ...torch_sdpa import Sdpa


class Attention(Sdpa):
    way = "cudnn"
