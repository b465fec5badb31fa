# Finds out in prepare that it cannot.
# expect: suite=plain status=unsupported reason="^no plan for 6 rows$"
from attn_regress import Unsupported

import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        raise Unsupported(f"no plan for {p.seq_q} rows")
