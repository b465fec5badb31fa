"""torch.naive through torch.compile."""

import torch

from ...torch_backends import calls
from .naive import Attention as Naive


class Attention(Naive):
    def prepare(self, p, t):
        return calls(p, t, torch.compile(self.forward_of(p, t), dynamic=False), compiles=True)
