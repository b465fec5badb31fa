# Sees one key too many.
# expect: suite=python case="^window" status=wrong reason="window"
import by_definition


class Mutant(by_definition.Mutant):
    def left(self):
        return self.p.window_left + 1
