"""What the shipped PyTorch backends share: what of a problem they say no to, the keys that it hides, and calls with gradients by autograd."""

import re
import warnings

import torch

from .errors import Unsupported
from .torch_arrays import is_out_of_memory

OLDEST_TORCH = (2, 5)  # which knows `enable_gqa` and cuDNN's way
if tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2]) < OLDEST_TORCH:
    raise ImportError(f"torch {torch.__version__} is too old for the backends that come with attn-regress; {'.'.join(map(str, OLDEST_TORCH))} or newer is needed", name="torch")

# What any function over a matrix of scores, or with a mask of them, can do.
MASKED = frozenset({"fp32", "fp16", "bf16", "gqa", "head_dim_v", "causal", "top_left", "bottom_right", "window", "scale", "bool mask", "additive mask", "lengths",
                    "backward", "deterministic", "strides"})
# How each way of scaled_dot_product_attention is let and kept from being taken.
_WAYS = {"flash": torch.backends.cuda.enable_flash_sdp, "efficient": torch.backends.cuda.enable_mem_efficient_sdp, "math": torch.backends.cuda.enable_math_sdp,
         "cudnn": torch.backends.cuda.enable_cudnn_sdp}
# How torch and flash_attn say that something cannot be done, where they have no exception of their own for it.
_REFUSALS = re.compile("No available kernel|Invalid backend|No viable backend|does not have a deterministic implementation|cuDNN Frontend error|"
                       "No valid execution plans|not support|only supports?|is not deterministic because", re.IGNORECASE)
_DEVICE_FAULT = "CUDA error"  # what the device found wrong while it worked is no refusal, whatever its words


def lacks(p, can):
    """Why a backend that can do that much says no; None when it does not."""
    more = p.needs - can
    return "cannot do: " + ", ".join(sorted(more)) if more else None


def distances(p, t):
    """From key j to the own key of row i: (seq_q, seq_kv), or (batch, 1, seq_q, seq_kv) where it is not the same in every sequence."""
    device = t.q.device
    rows, keys = torch.arange(p.seq_q, device=device)[:, None], torch.arange(p.seq_kv, device=device)
    if p.alignment != "bottom_right":
        return rows - keys
    offset = p.seq_kv - p.seq_q
    if "lengths" in p.needs:
        offset = _lengths(p, t, "kv") - _lengths(p, t, "q")
    return rows - keys + offset


def hidden_keys(p, t):
    """What causal, window and lengths hide: bool, broadcasts to the scores; None when every key is visible in every row."""
    hidden = torch.zeros((p.seq_q, p.seq_kv), dtype=torch.bool, device=t.q.device)
    away = distances(p, t)
    if p.causal:
        hidden = hidden | (away < 0)
    if p.window_left >= 0:
        hidden = hidden | (away > p.window_left)
    if p.window_right >= 0:
        hidden = hidden | (away < -p.window_right)
    if "lengths" in p.needs:
        hidden = hidden | (torch.arange(p.seq_kv, device=t.q.device) >= _lengths(p, t, "kv"))
    return hidden if bool(hidden.any()) else None


def _lengths(p, t, which):
    lengths = getattr(t, "lengths_" + which, None)
    if lengths is None:
        return p.seq_q if which == "q" else p.seq_kv
    return lengths[:, None, None, None]


def calls(p, t, forward, way=None, compiles=False, may_refuse=True, explain=None):
    """What `prepare` returns: `forward(q, k, v)`, and its gradients apart where they are asked for. `way`: the one that scaled_dot_product_attention may take; None =
    all. What compiles on its first call makes it here, where that counts as preparing. `may_refuse`: what torch cannot do is unsupported; else it has failed.
    `explain(q, k, v)`: torch's reasons why it cannot."""
    # Of the process, whatever the backend before left: a context around every call would be in its time.
    for name, enable in _WAYS.items():
        enable(way in (None, name))
    if torch.are_deterministic_algorithms_enabled() != p.deterministic:  # the call itself imports a compiler
        torch.use_deterministic_algorithms(p.deterministic)
    guarded = _Refusing if may_refuse else (lambda function, _=None: function)
    forward = guarded(_seeded(p, t, forward) if p.dropout else forward, explain)
    made = _with_gradients(p, t, forward, guarded) if p.backward else lambda: forward(t.q, t.k, t.v)
    if compiles:
        for call in made.values() if p.backward else [made]:
            call()
    return made


def _with_gradients(p, t, forward, guarded):
    inputs = [x.detach().requires_grad_() for x in (t.q, t.k, t.v)]
    kept = []  # the output with its graph

    def with_graph():
        kept.clear()  # two graphs would hold twice the memory
        kept.append(forward(*inputs))
        return kept[0].detach()

    def gradients():
        if p.backward_alone:
            return torch.autograd.grad(kept[0], inputs, t.dout, retain_graph=True)
        return torch.autograd.grad(kept.pop(), inputs, t.dout)  # as in training: what was saved is given back on the way

    return {"forward": with_graph, "backward": guarded(gradients)}


def _seeded(p, t, forward):
    """Every call drops the same weights, those of the case's seed."""
    generator = torch.cuda.default_generators[t.q.device.index] if t.q.is_cuda else torch.default_generator

    def with_seed(q, k, v):
        generator.manual_seed(p.dropout_seed)
        return forward(q, k, v)

    return with_seed


class _Refusing:
    """A function whose first call may find that torch has no way to do it; torch says why in warnings."""

    def __init__(self, function, explain=None):
        self._function, self._explain, self._call = function, explain, self._first

    def __call__(self, *arguments):
        return self._call(*arguments)

    def _first(self, *arguments):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                result = self._function(*arguments)
            except (RuntimeError, NotImplementedError) as error:
                if is_out_of_memory(error) or str(error).startswith(_DEVICE_FAULT) or not _REFUSALS.search(str(error)):
                    raise
                more = self._explain(*arguments) if self._explain else []
                raise Unsupported(_reasons([str(each.message) for each in said] + more + [str(error)])) from None
        self._call = self._function
        return result


def _reasons(texts):
    """torch's words without the places in its own source, each once."""
    texts = [" ".join(re.sub(r"\(Triggered internally at.*?\)\.?", "", text.partition("\n")[0]).split()) for text in texts]
    return "; ".join(dict.fromkeys(text for text in texts if text)).replace(":; ", ": ")
