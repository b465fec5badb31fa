"""scaled_dot_product_attention of PyTorch, held to one of its ways or left to choose; the base of backends/torch/*.py."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from .torch_backends import MASKED, calls, hidden_keys, lacks

WAYS = {"flash": torch.backends.cuda.enable_flash_sdp, "efficient": torch.backends.cuda.enable_mem_efficient_sdp, "math": torch.backends.cuda.enable_math_sdp,
        "cudnn": torch.backends.cuda.enable_cudnn_sdp}


class Sdpa:
    way = None  # a word of WAYS; None = torch chooses

    def supports(self, p):
        return lacks(p, MASKED | {"dropout", "dead_rows zero"})

    def prepare(self, p, t):
        for way, enable in WAYS.items():  # until the next prepare: a context around every call would be in its time
            enable(self.way in (None, way))
        # is_causal is anchored top left.
        diagonal = p.causal and p.window_left < 0 and p.window_right < 0 and "lengths" not in p.needs and (p.seq_q == p.seq_kv or p.alignment == "top_left")
        hidden = None if diagonal else hidden_keys(p, t)
        fixed = None if hidden is None else hidden.logical_not()
        of_case = t.mask if p.mask == "tensor" else None  # its contents may change between calls
        more = {"is_causal": diagonal, "scale": p.scale, "dropout_p": p.dropout, "enable_gqa": p.heads != p.heads_kv}

        def forward(q, k, v):
            mask = fixed
            if of_case is not None:
                mask = of_case if hidden is None else of_case.masked_fill(hidden, 0 if of_case.dtype == torch.bool else float("-inf"))
            return scaled_dot_product_attention(q, k, v, mask, **more)

        return calls(p, t, forward, may_refuse=self.way is not None)  # what it chose itself must work
