"""Attention step by step as PyTorch falls back to it: in fp32 for 16-bit inputs."""

from ...torch_sdpa import Sdpa


class Attention(Sdpa):
    way = "math"
