"""What is asked, in the suite's words: the `p` of a backend's `supports` and `prepare`."""

from dataclasses import dataclass, field

from . import abi


# Tensors are (batch, heads, seq, head_dim) whatever the layout's strides, ragged ones (thd) (tokens, heads, head_dim), and keys in pages (pages, heads_kv,
# page_size, head_dim).
@dataclass(frozen=True)
class Problem:
    name: str             # the case's id
    needs: frozenset      # all that a right answer takes, in the words of `attn-regress list`: {"fp16", "gqa", "causal", "lengths"}
    batch: int
    heads: int
    heads_kv: int
    seq_q: int
    seq_kv: int
    head_dim: int
    head_dim_v: int
    dtype: str            # of q and the output: fp32 fp16 bf16 fp8_e4m3 fp8_e5m2
    dtype_kv: str         # of k and v
    layout: str           # bhsd bshd sbhd packed_qkv thd
    mask: str             # none causal tensor
    causal: bool
    alignment: str        # top_left bottom_right: of causal and the window
    window_left: int      # tokens besides the own one; -1 = unbounded
    window_right: int
    softcap: float        # 0 = none
    scale: float          # always the resolved number
    alibi: bool           # the slopes are t.alibi
    page_size: int        # tokens; 0 = not paged
    dead_rows: str        # zero nan mean: what a row gets that sees no key
    dropout: float        # probability
    dropout_seed: int
    backward: bool        # gradients are asked for
    backward_alone: bool  # ... again and again of one forward pass
    deterministic: bool
    device: str           # cpu cuda:0
    options: dict = field(default_factory=dict)  # of the suite's entry; empty in `supports`


def problem_of(asked, facts, options):
    """A Problem of an attn_problem and attn_device_facts."""
    needs = frozenset(word for bit, word in enumerate(abi.CAPABILITIES) if asked.needs >> bit & 1)
    return Problem(
        name=asked.name.decode(), needs=needs, batch=asked.batch, heads=asked.heads, heads_kv=asked.heads_kv, seq_q=asked.seq_q, seq_kv=asked.seq_kv,
        head_dim=asked.head_dim, head_dim_v=asked.head_dim_v, dtype=abi.DTYPES[asked.dtype], dtype_kv=abi.DTYPES[asked.dtype_kv],
        layout=abi.LAYOUTS[asked.layout], mask=abi.MASK_KINDS[asked.mask_kind], causal=abi.MASK_KINDS[asked.mask_kind] == "causal",
        alignment=abi.ALIGNMENTS[asked.alignment], window_left=asked.window_left, window_right=asked.window_right, softcap=asked.softcap, scale=asked.scale,
        alibi="alibi" in needs, page_size=asked.page_size, dead_rows=abi.DEAD_ROWS[asked.dead_rows], dropout=asked.dropout,
        dropout_seed=asked.dropout_seed, backward=getattr(asked, "pass") != abi.FORWARD, backward_alone=getattr(asked, "pass") == abi.BACKWARD,
        deterministic=bool(asked.deterministic),
        device="cpu" if facts.device_type == abi.DEVICE_CPU else f"cuda:{facts.device_id}", options=options)
