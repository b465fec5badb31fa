# expect: suite=python case="^softcap" status=wrong reason="softcap ignored"
import by_definition


class Mutant(by_definition.Mutant):
    def capped(self, scores):
        return scores
