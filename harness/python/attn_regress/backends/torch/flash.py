"""FlashAttention as PyTorch carries it."""

from ...torch_sdpa import Sdpa


class Attention(Sdpa):
    way = "flash"
