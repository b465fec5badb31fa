"""The flash-attn package (FlashAttention 2), where it is installed."""

import flash_attn

from ..torch_backends import calls, lacks

CAN = frozenset({"fp16", "bf16", "gqa", "causal", "bottom_right", "window", "softcap", "scale", "alibi", "ragged (thd)", "backward", "deterministic", "dropout", "strides",
                 "dead_rows zero"})


class Attention:
    def supports(self, p):
        return "needs a GPU" if p.device == "cpu" else lacks(p, CAN)

    def prepare(self, p, t):
        more = {"softmax_scale": p.scale, "causal": p.causal, "window_size": (p.window_left, p.window_right), "softcap": p.softcap, "dropout_p": p.dropout,
                "alibi_slopes": t.alibi if p.alibi else None, "deterministic": p.deterministic}
        if p.layout == "thd":
            starts = {"cu_seqlens_q": t.starts_q, "cu_seqlens_k": t.starts_kv, "max_seqlen_q": p.seq_q, "max_seqlen_k": p.seq_kv}
            return calls(p, t, lambda q, k, v: flash_attn.flash_attn_varlen_func(q, k, v, **starts, **more))

        def forward(q, k, v):  # (batch, seq, heads, head_dim) there
            return flash_attn.flash_attn_func(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), **more).transpose(1, 2)

        return calls(p, t, forward)
