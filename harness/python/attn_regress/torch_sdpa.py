"""scaled_dot_product_attention of PyTorch, held to one of its ways or left to choose; the base of backends/torch/*.py."""

import os
import re
import sys
import tempfile

import torch
from torch.nn.functional import scaled_dot_product_attention

from .torch_backends import MASKED, calls, hidden_keys, lacks

# How each is asked why it cannot be taken (it warns of each reason, past Python's warnings; the math path always can).
QUESTIONS = {"flash": torch.backends.cuda.can_use_flash_attention, "efficient": torch.backends.cuda.can_use_efficient_attention,
             "cudnn": torch.backends.cuda.can_use_cudnn_attention}


def _warned(question):
    """The warnings that torch writes to stderr meanwhile."""
    with tempfile.TemporaryFile() as said:
        sys.stderr.flush()
        kept = os.dup(2)
        try:
            os.dup2(said.fileno(), 2)
            question()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        said.seek(0)
        return re.findall(r"Warning: (.*?)(?: \(function \w+\))?$", said.read().decode(errors="replace"), re.MULTILINE)


class Sdpa:
    way = None  # flash, efficient, math, cudnn; None = torch chooses
    can = MASKED | {"dropout", "dead_rows zero"}

    def supports(self, p):
        if self.way in ("efficient", "cudnn") and p.device == "cpu":
            return "PyTorch goes this way on a GPU only"
        return lacks(p, self.can)

    def prepare(self, p, t):
        # is_causal is anchored top left.
        diagonal = p.causal and p.window_left < 0 and p.window_right < 0 and "lengths" not in p.needs and (p.seq_q == p.seq_kv or p.alignment == "top_left")
        hidden = None if diagonal else hidden_keys(p, t)
        fixed = None if hidden is None else hidden.logical_not()
        of_case = t.mask if p.mask == "tensor" else None  # its contents may change between calls
        more = {"is_causal": diagonal, "scale": p.scale, "dropout_p": p.dropout, "enable_gqa": p.heads != p.heads_kv}

        def mask():
            if of_case is None or hidden is None:
                return fixed if of_case is None else of_case
            return of_case.masked_fill(hidden, 0 if of_case.dtype == torch.bool else float("-inf"))

        def forward(q, k, v):
            return scaled_dot_product_attention(q, k, v, mask(), **more)

        def explain(q, k, v):
            if self.way not in QUESTIONS or not q.is_cuda:
                return []
            params = torch.backends.cuda.SDPAParams(q, k, v, mask(), p.dropout, diagonal, more["enable_gqa"])
            return _warned(lambda: QUESTIONS[self.way](params, debug=True))

        return calls(p, t, forward, way=self.way, may_refuse=self.way is not None, explain=explain)  # what it chose itself must work
