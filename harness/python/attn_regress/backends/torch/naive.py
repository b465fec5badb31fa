"""Attention as one writes it down: all scores in memory, the hidden ones filled in a copy of them (`masked_fill`)."""

import torch

from ...torch_backends import MASKED, calls, distances, hidden_keys, lacks


class Attention:
    fill = staticmethod(torch.Tensor.masked_fill)

    def supports(self, p):
        return lacks(p, MASKED | {"softcap", "alibi", "dropout", "dead_rows nan"})

    def prepare(self, p, t):
        return calls(p, t, self.forward_of(p, t))

    def forward_of(self, p, t):
        """(q, k, v) -> o, with everything that does not change between calls made already."""
        hidden, group, fill = hidden_keys(p, t), p.heads // p.heads_kv, self.fill
        bias = -t.alibi[:, None, None] * distances(p, t).abs() if p.alibi else None
        mask = t.mask if p.mask == "tensor" else None

        def forward(q, k, v):
            if group > 1:
                k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            scores = q @ k.transpose(-2, -1)
            scores = scores * p.scale
            if p.softcap:
                scores = p.softcap * torch.tanh(scores / p.softcap)
            if bias is not None:
                scores = scores + bias.to(scores.dtype)
            if mask is not None:
                scores = fill(scores, mask.logical_not(), float("-inf")) if mask.dtype == torch.bool else scores + mask
            if hidden is not None:
                scores = fill(scores, hidden, float("-inf"))
            weights = torch.softmax(scores, -1)
            if p.dropout:
                weights = torch.nn.functional.dropout(weights, p.dropout)
            return weights @ v

        return forward
