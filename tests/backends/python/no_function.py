# Computes in prepare and returns the answer instead of a function.
# expect: suite=plain status=failed reason="^open: TypeError: prepare returned ndarray; wanted is a function, or "
import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        return super().prepare(p, t)()
