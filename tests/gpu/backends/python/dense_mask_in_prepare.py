# Builds a mask of all scores before the first call, and gives back most of what it took for it: a call's own peak does not show it.
# expect: suite=prepare_slope case=q1024[.] gates=numerics,memory status=ok exit=1 check="row['memory']['prepare_source'] == 'allocator' and row['memory']['prepare_peak_bytes'] >= 5 * 1024 * 1024"
# expect: suite=prepare_slope case=q2048[.] gates=numerics,memory status=ok verdict=regressed exit=1 verdict_reason="^prepare_peak_bytes [0-9]+ at seq 1024, [0-9]+ at 2048: it grows with seq to the power (1[.]9|2[.])[0-9]*, expected at most 1[.]2$"
import by_definition
import torch


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        self.hidden = torch.ones(p.seq_q, p.seq_kv, device=t.q.device).triu(1) > 0
        self.p, self.t, self.dead = p, t, self.hidden.all(-1, keepdim=True)
        return self.call

    def attend(self, q, k, v):
        scores = (q @ k.transpose(-2, -1)).float() * self.p.scale
        return self.of_dead_rows(torch.softmax(scores.masked_fill(self.hidden, float("-inf")), -1)).to(v.dtype) @ v
