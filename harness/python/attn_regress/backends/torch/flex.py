"""FlexAttention, compiled for the case."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from ...torch_backends import MASKED, calls, hidden_keys, lacks


class Attention:
    def supports(self, p):
        return lacks(p, MASKED - {"bool mask", "additive mask", "deterministic"} | {"softcap", "alibi", "dead_rows zero"})

    def prepare(self, p, t):
        causal, left, right, softcap = p.causal, p.window_left, p.window_right, p.softcap
        lengths_q, lengths_kv, slopes = (getattr(t, name, None) for name in ("lengths_q", "lengths_kv", "alibi"))

        def keys(b):
            return p.seq_kv if lengths_kv is None else lengths_kv[b]

        def away(b, row, key):
            offset = 0 if p.alignment != "bottom_right" else keys(b) - (p.seq_q if lengths_q is None else lengths_q[b])
            return row - key + offset

        def visible(b, _head, row, key):
            seen = key < keys(b)
            if causal:
                seen = seen & (away(b, row, key) >= 0)
            if left >= 0:
                seen = seen & (away(b, row, key) <= left)
            if right >= 0:
                seen = seen & (away(b, row, key) >= -right)
            return seen

        def changed(score, b, head, row, key):
            if softcap:
                score = softcap * torch.tanh(score / softcap)
            return score if slopes is None else score - slopes[head] * torch.abs(away(b, row, key))

        block_mask = None
        if hidden_keys(p, t) is not None:
            block_mask = create_block_mask(visible, p.batch if lengths_kv is not None else None, None, p.seq_q, p.seq_kv, device=t.q.device)
        compiled = torch.compile(flex_attention, dynamic=False)
        more = {"score_mod": changed if softcap or p.alibi else None, "block_mask": block_mask, "scale": p.scale, "enable_gqa": p.heads != p.heads_kv}
        return calls(p, t, lambda q, k, v: compiled(q, k, v, **more), compiles=True)
