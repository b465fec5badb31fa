# Anchors the diagonal top left, whatever is asked.
# expect: suite=alignment case=bottom_right status=wrong reason="top.left"
# expect: suite=alignment case=^top_left status=ok exit=1
# edges: ^anchors => top.left
import dataclasses

import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        return super().prepare(dataclasses.replace(p, alignment="top_left"), t)
