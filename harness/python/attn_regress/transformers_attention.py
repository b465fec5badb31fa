"""Attention functions of the transformers library, called as its models call them: on a Llama layer of a config with the case's heads."""

import torch
from transformers import AttentionInterface, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, eager_attention_forward

from .torch_backends import calls, hidden_keys, lacks

CAN = frozenset({"fp32", "fp16", "bf16", "gqa", "causal", "top_left", "bottom_right", "window", "scale", "lengths", "backward", "deterministic", "dropout", "strides"})


class OfLibrary:
    name = None  # of the function in the library's AttentionInterface; None = the model's own

    def mask(self, p, hidden, dtype):
        """What the library hands the function as a mask, made of the keys that are hidden (or None)."""
        raise NotImplementedError

    def supports(self, p):
        return lacks(p, CAN)

    def prepare(self, p, t):
        config = LlamaConfig(hidden_size=p.heads * p.head_dim, num_attention_heads=p.heads, num_key_value_heads=p.heads_kv, head_dim=p.head_dim, attention_dropout=p.dropout)
        with torch.device("meta"):
            layer = LlamaAttention(config, 0)
        layer.is_causal, layer.scaling = p.causal, p.scale
        layer.train(p.backward or p.dropout > 0)
        function = AttentionInterface()[self.name] if self.name else eager_attention_forward
        mask = self.mask(p, hidden_keys(p, t), t.q.dtype)

        def forward(q, k, v):
            output, _ = function(layer, q, k, v, mask, dropout=p.dropout, scaling=p.scale)
            return output.transpose(1, 2)  # (batch, seq, heads, head_dim) there

        return calls(p, t, forward)
