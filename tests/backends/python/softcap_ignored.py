# Ignores the softcap.
# expect: suite=softcap status=wrong reason="softcap ignored"
# edges: ^softcap => softcap ignored
import dataclasses

import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        return super().prepare(dataclasses.replace(p, softcap=0.0), t)
