# Lays its output out anew, and `then: merge_heads` must do so once more.
# expect: suite=python case="^merged" status=ok verdict=regressed exit=1 verdict_reason="copies 2|kernels 3"
import by_definition


class Mutant(by_definition.Mutant):
    def output(self, o):
        return o.contiguous()
