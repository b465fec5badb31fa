# A window of one key too few on the left (off by one).
# expect: suite=window case=^window status=wrong reason="window"
# edges: ^window => window
import by_definition


class Mutant(by_definition.Mutant):
    def visible(self):
        return super().visible() & ((self.distances() < self.p.window_left) | (self.p.window_left < 0) | (self.distances() == 0))
