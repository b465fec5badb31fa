"""The transformers library's way to scaled_dot_product_attention."""

from ...transformers_attention import OfLibrary


class Attention(OfLibrary):
    name = "sdpa"

    def mask(self, p, hidden, dtype):
        """As the library makes it: none where is_causal says it all, else bool."""
        plain = p.causal and p.window_left < 0 and p.window_right < 0 and "lengths" not in p.needs and p.seq_q == p.seq_kv
        return None if plain or hidden is None else hidden.logical_not()[(None,) * (4 - hidden.dim())]
