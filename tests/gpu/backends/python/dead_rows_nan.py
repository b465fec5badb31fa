# expect: suite=python case="^dead" status=wrong reason="NaN|nan"
import by_definition


class Mutant(by_definition.Mutant):
    def of_dead_rows(self, weights):
        return weights
