"""The transformers library's eager attention: repeat_kv, two products and a softmax in fp32."""

import torch

from ...transformers_attention import OfLibrary


class Attention(OfLibrary):
    def mask(self, p, hidden, dtype):
        """As the library makes it: additive, the least finite number where a key is hidden."""
        return None if hidden is None else torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill(hidden, torch.finfo(dtype).min)
