# Expands K and V to all heads, which the fused kernels do not need.
# expect: suite=python case="^grouped" status=ok verdict=regressed exit=1 verdict_reason="copies 2|kernels 3"
import by_definition


class Mutant(by_definition.Mutant):
    def attend(self, q, k, v):
        group = q.shape[1] // k.shape[1]
        return super().attend(q, k.repeat_interleave(group, 1) if group > 1 else k, v.repeat_interleave(group, 1) if group > 1 else v)
