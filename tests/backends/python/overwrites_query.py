# Scales the queries in place, and so the next call's too.
# expect: suite=plain status=wrong reason="wrote into its inputs"
import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        self.t.q[...] *= 0.5
        return super().call()
