"""One fused kernel in Triton, of ours: online softmax over tiles of keys, with softcap and a band of visible keys; three more kernels for the gradients.

Every tile is masked, whether its keys are all visible or not, which costs it against hand-made kernels.
"""

import os

import torch
import triton
import triton.language as tl

from ..torch_backends import calls, lacks

CAN = frozenset({"fp32", "fp16", "bf16", "gqa", "causal", "top_left", "bottom_right", "window", "softcap", "scale", "backward", "deterministic", "strides", "dead_rows zero"})
UNBOUNDED = 1 << 30
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


@triton.jit
def tile(base, rows, stride_row, columns, stride_column, seq, dim):
    """(rows, columns) of one head, zeros outside."""
    at = base + rows.to(tl.int64)[:, None] * stride_row + columns[None, :] * stride_column
    return tl.load(at, mask=(rows[:, None] < seq) & (columns[None, :] < dim), other=0.0)


@triton.jit
def scores_of(q, k, rows, keys, seq_q, seq_kv, scale, softcap, low, high, CAPPED: tl.constexpr, PRECISION: tl.constexpr):
    """The scores (rows, keys), -inf where a row does not see a key, and the derivative of the softcap."""
    scores = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
    slope = tl.full(scores.shape, 1.0, tl.float32)
    if CAPPED:
        bent = 2 / (1 + tl.exp(-2 * scores / softcap)) - 1  # tanh
        slope = 1 - bent * bent
        scores = bent * softcap
    away = rows[:, None] - keys[None, :]
    seen = (rows[:, None] < seq_q) & (keys[None, :] < seq_kv) & (away >= low) & (away <= high)
    return tl.where(seen, scores, float("-inf")), slope


@triton.jit
def _attn_fwd(q, k, v, o, lse, scale, softcap, low, high, heads, group, seq_q, seq_kv, dim,
              q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, o_b, o_h, o_s, o_d,
              CAPPED: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr, COLUMNS: tl.constexpr):
    first = tl.program_id(0) * ROWS
    b, h = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows, columns = first + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    k_base, v_base = k + b * k_b + h // group * k_h, v + b * v_b + h // group * v_h
    queries = tile(q + b * q_b + h * q_h, rows, q_s, columns, q_d, seq_q, dim)
    most = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, COLUMNS], tl.float32)
    start = tl.maximum(first - high, 0) // KEYS * KEYS
    for key in range(start, tl.minimum(seq_kv, first + ROWS - low), KEYS):
        keys = key + tl.arange(0, KEYS)
        scores, _ = scores_of(queries, tile(k_base, keys, k_s, columns, k_d, seq_kv, dim), rows, keys, seq_q, seq_kv, scale, softcap, low, high, CAPPED, PRECISION)
        new = tl.maximum(most, tl.max(scores, 1))
        safe = tl.where(new == float("-inf"), 0.0, new)
        weights = tl.exp(scores - safe[:, None])
        shrink = tl.exp(most - safe)
        total = total * shrink + tl.sum(weights, 1)
        values = tile(v_base, keys, v_s, columns, v_d, seq_kv, dim)
        sums = sums * shrink[:, None] + tl.dot(weights.to(values.dtype), values, input_precision=PRECISION)
        most = new
    dead = total == 0
    sums = sums / tl.where(dead, 1.0, total)[:, None]
    at = o + b * o_b + h * o_h + rows.to(tl.int64)[:, None] * o_s + columns[None, :] * o_d
    tl.store(at, sums.to(o.dtype.element_ty), mask=(rows[:, None] < seq_q) & (columns[None, :] < dim))
    # +inf gives a row that sees nothing weights of 0 in the backward pass.
    tl.store(lse + tl.program_id(1).to(tl.int64) * seq_q + rows, tl.where(dead, float("inf"), most + tl.log(tl.where(dead, 1.0, total))), mask=rows < seq_q)


@triton.jit
def _attn_bwd_delta(o, dout, delta, heads, seq_q, dim, o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    b, h = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    out = tile(o + b * o_b + h * o_h, rows, o_s, columns, o_d, seq_q, dim).to(tl.float32)
    gradient = tile(dout + b * do_b + h * do_h, rows, do_s, columns, do_d, seq_q, dim).to(tl.float32)
    tl.store(delta + tl.program_id(1).to(tl.int64) * seq_q + rows, tl.sum(out * gradient, 1), mask=rows < seq_q)


@triton.jit
def _attn_bwd_dq(q, k, v, dout, lse, delta, dq, scale, softcap, low, high, heads, group, seq_q, seq_kv, dim,
                 q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, do_b, do_h, do_s, do_d, dq_b, dq_h, dq_s, dq_d,
                 CAPPED: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr, COLUMNS: tl.constexpr):
    first = tl.program_id(0) * ROWS
    b, h = (tl.program_id(1) // heads).to(tl.int64), (tl.program_id(1) % heads).to(tl.int64)
    rows, columns = first + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    k_base, v_base = k + b * k_b + h // group * k_h, v + b * v_b + h // group * v_h
    queries = tile(q + b * q_b + h * q_h, rows, q_s, columns, q_d, seq_q, dim)
    gradient = tile(dout + b * do_b + h * do_h, rows, do_s, columns, do_d, seq_q, dim)
    of_row = tl.program_id(1).to(tl.int64) * seq_q + rows
    norm = tl.load(lse + of_row, mask=rows < seq_q, other=float("inf"))
    mean = tl.load(delta + of_row, mask=rows < seq_q, other=0.0)
    sums = tl.zeros([ROWS, COLUMNS], tl.float32)
    start = tl.maximum(first - high, 0) // KEYS * KEYS
    for key in range(start, tl.minimum(seq_kv, first + ROWS - low), KEYS):
        keys = key + tl.arange(0, KEYS)
        key_tile = tile(k_base, keys, k_s, columns, k_d, seq_kv, dim)
        scores, slope = scores_of(queries, key_tile, rows, keys, seq_q, seq_kv, scale, softcap, low, high, CAPPED, PRECISION)
        weights = tl.exp(scores - norm[:, None])
        dweights = tl.dot(gradient, tl.trans(tile(v_base, keys, v_s, columns, v_d, seq_kv, dim)), input_precision=PRECISION)
        dscores = weights * (dweights - mean[:, None]) * slope * scale
        sums += tl.dot(dscores.to(key_tile.dtype), key_tile, input_precision=PRECISION)
    at = dq + b * dq_b + h * dq_h + rows.to(tl.int64)[:, None] * dq_s + columns[None, :] * dq_d
    tl.store(at, sums.to(dq.dtype.element_ty), mask=(rows[:, None] < seq_q) & (columns[None, :] < dim))


@triton.jit
def _attn_bwd_dkv(q, k, v, dout, lse, delta, dk, dv, scale, softcap, low, high, heads, group, seq_q, seq_kv, dim,
                  q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, do_b, do_h, do_s, do_d, dk_b, dk_h, dk_s, dk_d, dv_b, dv_h, dv_s, dv_d,
                  CAPPED: tl.constexpr, PRECISION: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr, COLUMNS: tl.constexpr):
    first = tl.program_id(0) * KEYS
    heads_kv = heads // group
    b, h_kv = (tl.program_id(1) // heads_kv).to(tl.int64), (tl.program_id(1) % heads_kv).to(tl.int64)
    keys, columns = first + tl.arange(0, KEYS), tl.arange(0, COLUMNS)
    key_tile = tile(k + b * k_b + h_kv * k_h, keys, k_s, columns, k_d, seq_kv, dim)
    values = tile(v + b * v_b + h_kv * v_h, keys, v_s, columns, v_d, seq_kv, dim)
    of_keys = tl.zeros([KEYS, COLUMNS], tl.float32)
    of_values = tl.zeros([KEYS, COLUMNS], tl.float32)
    start = tl.maximum(first + low, 0) // ROWS * ROWS
    for member in range(group):
        h = h_kv * group + member
        for row in range(start, tl.minimum(seq_q, first + KEYS + high), ROWS):
            rows = row + tl.arange(0, ROWS)
            queries = tile(q + b * q_b + h * q_h, rows, q_s, columns, q_d, seq_q, dim)
            gradient = tile(dout + b * do_b + h * do_h, rows, do_s, columns, do_d, seq_q, dim)
            of_row = (b * heads + h) * seq_q + rows
            norm = tl.load(lse + of_row, mask=rows < seq_q, other=float("inf"))
            mean = tl.load(delta + of_row, mask=rows < seq_q, other=0.0)
            scores, slope = scores_of(queries, key_tile, rows, keys, seq_q, seq_kv, scale, softcap, low, high, CAPPED, PRECISION)
            weights = tl.exp(scores - norm[:, None])
            of_values += tl.dot(tl.trans(weights.to(gradient.dtype)), gradient, input_precision=PRECISION)
            dweights = tl.dot(gradient, tl.trans(values), input_precision=PRECISION)
            dscores = weights * (dweights - mean[:, None]) * slope * scale
            of_keys += tl.dot(tl.trans(dscores.to(queries.dtype)), queries, input_precision=PRECISION)
    inside = (keys[:, None] < seq_kv) & (columns[None, :] < dim)
    rows64 = keys.to(tl.int64)[:, None]
    tl.store(dk + b * dk_b + h_kv * dk_h + rows64 * dk_s + columns[None, :] * dk_d, of_keys.to(dk.dtype.element_ty), mask=inside)
    tl.store(dv + b * dv_b + h_kv * dv_h + rows64 * dv_s + columns[None, :] * dv_d, of_values.to(dv.dtype.element_ty), mask=inside)


class Kernels:
    """The kernels' launches for one problem."""

    def __init__(self, p):
        self.p = p
        # A row sees the keys j with low <= i - j <= high.
        offset = p.seq_kv - p.seq_q if p.alignment == "bottom_right" else 0
        right = 0 if p.causal else p.window_right
        low = -offset - right if right >= 0 else -UNBOUNDED
        high = p.window_left - offset if p.window_left >= 0 else UNBOUNDED
        self.numbers = (p.scale, p.softcap or 1.0, low, high, p.heads, p.heads // p.heads_kv, p.seq_q, p.seq_kv, p.head_dim)
        columns = max(16, triton.next_power_of_2(p.head_dim))
        self.tiles = {"ROWS": 128 if columns <= 128 and p.dtype != "fp32" else 64 if columns <= 128 else 32, "KEYS": 64 if columns <= 128 else 32, "COLUMNS": columns}
        self.small = {"ROWS": 64 if columns <= 64 else 32, "KEYS": 64 if columns <= 64 else 32, "COLUMNS": columns}
        self.how = {"CAPPED": p.softcap != 0, "PRECISION": "ieee"}
        self.launch = {"num_warps": 4 if columns <= 64 else 8, "num_stages": 2}

    def forward(self, q, k, v):
        o = torch.empty_like(q)
        lse = torch.empty((self.p.batch, self.p.heads, self.p.seq_q), dtype=torch.float32, device=q.device)
        grid = (triton.cdiv(self.p.seq_q, self.tiles["ROWS"]), self.p.batch * self.p.heads)
        _attn_fwd[grid](q, k, v, o, lse, *self.numbers, *q.stride(), *k.stride(), *v.stride(), *o.stride(), **self.how, **self.tiles, **self.launch)
        return o, lse

    def backward(self, q, k, v, o, lse, dout):
        p, tiles = self.p, self.small
        delta, dq, dk, dv = torch.empty_like(lse), torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        by_row = (triton.cdiv(p.seq_q, tiles["ROWS"]), p.batch * p.heads)
        by_key = (triton.cdiv(p.seq_kv, tiles["KEYS"]), p.batch * p.heads_kv)
        strides = (*q.stride(), *k.stride(), *v.stride(), *dout.stride())
        _attn_bwd_delta[by_row](o, dout, delta, p.heads, p.seq_q, p.head_dim, *o.stride(), *dout.stride(), ROWS=tiles["ROWS"], COLUMNS=tiles["COLUMNS"])
        _attn_bwd_dq[by_row](q, k, v, dout, lse, delta, dq, *self.numbers, *strides, *dq.stride(), **self.how, **tiles, **self.launch)
        _attn_bwd_dkv[by_key](q, k, v, dout, lse, delta, dk, dv, *self.numbers, *strides, *dk.stride(), *dv.stride(), **self.how, **tiles, **self.launch)
        return dq, dk, dv


class WithGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, kernels):
        o, lse = kernels.forward(q, k, v)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.kernels = kernels
        return o

    @staticmethod
    def backward(ctx, dout):
        return (*ctx.kernels.backward(*ctx.saved_tensors, dout), None)


class Attention:
    def supports(self, p):
        if p.device == "cpu" and not INTERPRETED:
            return "needs a GPU (TRITON_INTERPRET=1 runs it on a CPU)"
        if p.batch * p.heads > 65535:
            return "more than 65535 heads in a batch"
        return lacks(p, CAN)

    def prepare(self, p, t):
        kernels = Kernels(p)
        if p.backward:
            return calls(p, t, lambda q, k, v: WithGradients.apply(q, k, v, kernels), compiles=True)
        return calls(p, t, lambda q, k, v: kernels.forward(q, k, v)[0], compiles=True)
