# Returns (batch, seq, heads, head_dim).
# expect: suite=plain status=failed reason="^run: ValueError: o has shape \(2, 6, 2, 8\); wanted is \(2, 2, 6, 8\)$"
import by_definition


class Mutant(by_definition.Mutant):
    def output(self, dense, which="q"):
        return super().output(dense, which).swapaxes(1, 2)
