# Gives all gradients from one function: a backward pass alone cannot be timed.
# expect: suite=backward case=pass=forward_backward status=ok
# expect: suite=backward case=pass=backward status=unsupported reason="^a backward pass alone needs " exit=0
import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        parts = super().prepare(p, t)
        return lambda: {"o": parts["forward"](), **parts["backward"]()}
