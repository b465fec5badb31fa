# Finds after calls that went well that it cannot do what it did.
# expect: suite=plain status=failed reason="tired"
import by_definition
from attn_regress.errors import Unsupported


class Mutant(by_definition.Mutant):
    calls = 0

    def call(self):
        self.calls += 1
        if self.calls > 3:
            raise Unsupported("tired")
        return super().call()
