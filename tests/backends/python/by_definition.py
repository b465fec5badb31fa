# Attention by its definition, in NumPy and single precision: right in every case that NumPy has the numbers for. The others override a step.
# expect: suite=plain status=ok
# expect: suite=window status=ok
# expect: suite=softcap status=ok
# expect: suite=dead_rows status=ok
# expect: suite=rows_and_pages status=ok
# expect: suite=backward status=ok
# expect: suite=prepare_slope gates=numerics,memory status=ok seconds=60
# expect: suite=dtypes case=":fp(32|16)/" status=ok
# expect: suite=dtypes case=":(bf16|fp8)" status=unsupported reason="^NumPy has no (bf16|8-bit floating point)$" exit=0
# edges: nothing

import numpy


class Mutant:
    arrays = "numpy"

    def supports(self, p):
        return "dropout is not written" if p.dropout else None

    def prepare(self, p, t):
        self.p, self.t = p, t
        return {"forward": self.call, "backward": self.gradients} if p.backward else self.call

    def call(self):
        return self.output(self.attend())

    def attend(self):
        """(batch, heads, seq_q, head_dim_v), zeros in rows of padding."""
        return numpy.where(self.rows()[..., None], self.weights() @ self.of_group(self.dense("v")), 0)

    def weights(self):
        scores = self.scores(self.dense("q"), self.of_group(self.dense("k")))
        visible = self.visible()
        scores = numpy.where(visible, scores, -numpy.inf)
        most = scores.max(-1, keepdims=True)
        weights = numpy.exp(scores - numpy.where(numpy.isfinite(most), most, 0))
        total = weights.sum(-1, keepdims=True)
        return numpy.where(total > 0, weights / numpy.where(total > 0, total, 1), numpy.where(self.rows()[..., None], self.dead_weights(), numpy.float32(0)))

    def gradients(self):
        p = self.p
        q, k, v, dout = (self.dense(name) for name in ("q", "k", "v", "dout"))
        weights, k, v = self.weights(), self.of_group(k), self.of_group(v)
        dweights = dout @ v.swapaxes(-1, -2)
        dscores = weights * (dweights - (dweights * weights).sum(-1, keepdims=True))
        if p.dead_rows != "nan":
            dscores = numpy.where(self.visible(), dscores, 0)  # the weights of a row that sees no key depend on no score
        if p.softcap:
            dscores = dscores * (1 - numpy.tanh(q @ k.swapaxes(-1, -2) * numpy.float32(p.scale) / p.softcap) ** 2)
        dscores = dscores * numpy.float32(p.scale)
        over_group = lambda x: x.reshape(p.batch, p.heads_kv, -1, *x.shape[2:]).sum(2)  # noqa: E731
        return {"dq": self.output(dscores @ k), "dk": self.output(over_group(dscores.swapaxes(-1, -2) @ q), "kv"),
                "dv": self.output(over_group(weights.swapaxes(-1, -2) @ dout), "kv")}

    def scores(self, q, k):
        p = self.p
        scores = q @ k.swapaxes(-1, -2) * numpy.float32(p.scale)
        if p.softcap:
            scores = p.softcap * numpy.tanh(scores / p.softcap)
        if p.alibi:
            scores = scores - self.t.alibi[:, None, None] * abs(self.distances())
        if p.mask == "tensor" and self.t.mask.dtype != bool:
            scores = scores + self.t.mask.astype(numpy.float32)
        return scores

    def visible(self):
        p, distances = self.p, self.distances()
        visible = self.rows()[..., None] & self.keys()[:, :, None]
        if p.causal:
            visible = visible & (distances >= 0)
        if p.window_left >= 0:
            visible = visible & (distances <= p.window_left)
        if p.window_right >= 0:
            visible = visible & (distances >= -p.window_right)
        if p.mask == "tensor":
            visible = visible & (self.t.mask if self.t.mask.dtype == bool else self.t.mask > -numpy.inf)
        return visible

    def dead_weights(self):
        """What weighs the values in a row that sees no key."""
        if self.p.dead_rows == "mean":
            return self.keys()[:, :, None] / numpy.maximum(self.lengths("kv"), 1).astype(numpy.float32)[:, None, None, None]
        return numpy.float32(numpy.nan if self.p.dead_rows == "nan" else 0)

    def distances(self):
        """From key j to the own key of row i: (batch, 1, seq_q, seq_kv)."""
        offsets = self.lengths("kv") - self.lengths("q") if self.p.alignment == "bottom_right" else numpy.zeros(self.p.batch, int)
        return (numpy.arange(self.p.seq_q)[:, None] - numpy.arange(self.p.seq_kv) + offsets[:, None, None])[:, None]

    def lengths(self, which):
        lengths = getattr(self.t, "lengths_" + which)
        return numpy.full(self.p.batch, self.p.seq_q if which == "q" else self.p.seq_kv) if lengths is None else lengths

    def rows(self):
        return (numpy.arange(self.p.seq_q) < self.lengths("q")[:, None])[:, None]  # (batch, 1, seq_q)

    def keys(self):
        return (numpy.arange(self.p.seq_kv) < self.lengths("kv")[:, None])[:, None]  # (batch, 1, seq_kv)

    def of_group(self, rows):
        return rows.repeat(self.p.heads // self.p.heads_kv, axis=1)

    def dense(self, name):
        """Rows of any layout as (batch, heads, seq, columns) in fp32; zeros where there is none, because padding may hold anything."""
        p, tensor, which = self.p, getattr(self.t, name), "kv" if name in "kv" else "q"
        lengths = self.lengths(which)
        if p.page_size and which == "kv":
            pages = [tensor[self.t.page_table[b, : -(-n // p.page_size)]].swapaxes(1, 2).reshape(-1, tensor.shape[1], tensor.shape[3])[:n]
                     for b, n in enumerate(lengths)]
        elif p.layout == "thd":
            pages = [tensor[start:start + n] for start, n in zip(getattr(self.t, "starts_" + which), lengths)]
        else:
            pages = [tensor[b, :, :n].swapaxes(0, 1) for b, n in enumerate(lengths)]
        dense = numpy.zeros((p.batch, tensor.shape[1], p.seq_q if which == "q" else p.seq_kv, tensor.shape[-1]), numpy.float32)
        for b, rows in enumerate(pages):
            dense[b, :, : len(rows)] = rows.swapaxes(0, 1)
        return dense

    def output(self, dense, which="q"):
        dense = dense.astype((self.t.q if which == "q" else self.t.k).dtype)
        if self.p.layout != "thd":
            return dense
        return numpy.concatenate([dense[b, :, :n].swapaxes(0, 1) for b, n in enumerate(self.lengths(which))])
