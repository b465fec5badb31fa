# Asks for more memory than the card has.
# expect: suite=python status=unsupported exit=5 reason="^out of memory: CUDA out of memory. Tried to allocate .* free; take a smaller case, or a device with more memory$"
import torch


class Mutant:
    def prepare(self, p, t):
        scores = torch.empty(1 << 40, dtype=torch.uint8, device=t.q.device)
        return lambda: scores
