# Right in every case; one fused kernel where nothing but causal is asked. The others override a step.
# expect: suite=python status=ok
# expect: suite=python case="^plain" status=ok check="row['memory']['growth_bytes'] == 0 and row['memory']['source'] == 'allocator'" gates=numerics,memory
import torch
from torch.nn.functional import scaled_dot_product_attention


class Mutant:
    def prepare(self, p, t):
        self.p, self.t = p, t
        away = torch.arange(p.seq_q, device=t.q.device)[:, None] - torch.arange(p.seq_kv, device=t.q.device) + self.offset()
        self.hidden = (away < 0) | (away > self.left()) if p.window_left >= 0 else away < 0
        self.dead = self.hidden.all(-1, keepdim=True)
        if not p.backward:
            return self.call
        inputs = [x.detach().requires_grad_() for x in (t.q, t.k, t.v)]
        kept = []

        def forward():
            kept[:] = [self.attend(*inputs)]
            return kept[0].detach()

        return {"forward": forward, "backward": lambda: torch.autograd.grad(kept[0], inputs, t.dout, retain_graph=True)}

    def call(self):
        return self.output(self.attend(self.t.q, self.t.k, self.t.v))

    def attend(self, q, k, v):
        p = self.p
        if p.window_left < 0 and p.softcap == 0 and p.seq_q == p.seq_kv:
            return scaled_dot_product_attention(q, k, v, is_causal=True, scale=p.scale, enable_gqa=p.heads != p.heads_kv)
        scores = (q @ k.transpose(-2, -1)).float() * p.scale
        if p.softcap:
            scores = self.capped(scores)
        weights = torch.softmax(scores.masked_fill(self.hidden, float("-inf")), -1)
        return self.of_dead_rows(weights).to(v.dtype) @ v

    def offset(self):
        return self.p.seq_kv - self.p.seq_q if self.p.alignment == "bottom_right" else 0

    def left(self):
        return self.p.window_left

    def capped(self, scores):
        return self.p.softcap * torch.tanh(scores / self.p.softcap)

    def of_dead_rows(self, weights):
        return weights.masked_fill(self.dead, 0)

    def output(self, o):
        return o
