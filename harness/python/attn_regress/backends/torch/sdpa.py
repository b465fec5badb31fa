"""scaled_dot_product_attention as PyTorch chooses by itself: which way it went shows in kernel_path."""

from ...torch_sdpa import Sdpa as Attention  # noqa: F401
